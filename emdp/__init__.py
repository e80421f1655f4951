"""emdp: private analytics over tables in which every person has many records.

A user's records are protected by metric differential privacy under the earth-mover distance (d_EM-DP): the less of
a person's data moves, and the shorter the way, the better it is hidden. Start with :func:`read`, :func:`protect` and
:class:`Session`; ``emdp demo`` shows all of it on generated tables.
"""

import sys
from typing import TYPE_CHECKING

if sys.platform in {"win32", "emscripten", "wasi"}:
    from emdp.base.errors import UnsupportedError

    raise UnsupportedError(
        "emdp runs on Linux and macOS, since its ledger rests on file locks and durable renames that this system "
        "lacks; on Windows, run it in WSL 2."
    )

from emdp.base.lazy import lazy_names

if TYPE_CHECKING:
    from emdp import privacy as privacy
    from emdp import randomizers as randomizers
    from emdp import testing as testing
    from emdp.answers import Answer as Answer
    from emdp.answers import Preview as Preview
    from emdp.base.errors import BudgetExceededError as BudgetExceededError
    from emdp.base.errors import DataRuleError as DataRuleError
    from emdp.base.errors import EmdpError as EmdpError
    from emdp.base.errors import InternalError as InternalError
    from emdp.base.errors import InvalidItemError as InvalidItemError
    from emdp.base.errors import LedgerError as LedgerError
    from emdp.base.errors import NotLipschitzError as NotLipschitzError
    from emdp.base.errors import RefusedError as RefusedError
    from emdp.base.errors import SolverError as SolverError
    from emdp.base.errors import SqlError as SqlError
    from emdp.base.errors import UsageError as UsageError
    from emdp.catalog.catalog import Catalog as Catalog
    from emdp.catalog.catalog import load_catalog as load_catalog
    from emdp.disclosure.asked import consequences as consequences
    from emdp.expressions import Expression as Expression
    from emdp.expressions.functions import *  # noqa: F403
    from emdp.privacy import ELSEWHERE as ELSEWHERE
    from emdp.privacy import BoundedReduction as BoundedReduction
    from emdp.privacy import Change as Change
    from emdp.privacy import DiscreteEmdDP as DiscreteEmdDP
    from emdp.privacy import EmdDP as EmdDP
    from emdp.privacy import Guarantee as Guarantee
    from emdp.privacy import UserDP as UserDP
    from emdp.privacy import epsilon_of as epsilon_of
    from emdp.privacy import protect as protect
    from emdp.questions import Frequencies as Frequencies
    from emdp.questions import HeavyHitters as HeavyHitters
    from emdp.questions import Itemwise as Itemwise
    from emdp.questions import Mean as Mean
    from emdp.questions import Measure as Measure
    from emdp.questions import Quantiles as Quantiles
    from emdp.questions import Shares as Shares
    from emdp.questions import UserMean as UserMean
    from emdp.questions import VectorMean as VectorMean
    from emdp.questions import frequencies as frequencies
    from emdp.questions import heavy_hitters as heavy_hitters
    from emdp.questions import itemwise as itemwise
    from emdp.questions import mean as mean
    from emdp.questions import measure as measure
    from emdp.questions import quantiles as quantiles
    from emdp.questions import shares as shares
    from emdp.questions import user_mean as user_mean
    from emdp.questions import vector_mean as vector_mean
    from emdp.questions.tiers import tiers as tiers
    from emdp.sessions.session import Session as Session
    from emdp.sessions.session import read as read
    from emdp.spaces import Categories as Categories
    from emdp.spaces import Clusters as Clusters
    from emdp.spaces import Cycle as Cycle
    from emdp.spaces import Distances as Distances
    from emdp.spaces import Embedding as Embedding
    from emdp.spaces import Geo as Geo
    from emdp.spaces import Grid as Grid
    from emdp.spaces import Interval as Interval
    from emdp.spaces import Product as Product
    from emdp.spaces import Space as Space
    from emdp.spaces import Vector as Vector
    from emdp.spaces import Words as Words
    from emdp.tables import Table as Table
    from emdp.transport import d_em as d_em
    from emdp.transport import d_em_bounds as d_em_bounds
    from emdp.transport import d_em_pairs as d_em_pairs
    from emdp.transport import plan as plan
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp": "privacy randomizers testing",
            "emdp.answers": "Answer Preview",
            "emdp.catalog.catalog": "Catalog load_catalog",
            "emdp.disclosure.asked": "consequences",
            "emdp.base.errors": (
                "BudgetExceededError DataRuleError EmdpError InternalError InvalidItemError LedgerError "
                "NotLipschitzError RefusedError SolverError SqlError UsageError"
            ),
            "emdp.expressions": "Expression",
            "emdp.expressions.functions": "*",
            "emdp.questions": (
                "Frequencies HeavyHitters Itemwise Mean Measure Quantiles Shares UserMean VectorMean frequencies "
                "heavy_hitters itemwise mean measure quantiles shares user_mean vector_mean"
            ),
            "emdp.privacy": "ELSEWHERE BoundedReduction Change DiscreteEmdDP EmdDP Guarantee UserDP epsilon_of protect",
            "emdp.questions.tiers": "tiers",
            "emdp.sessions.session": "Session read",
            "emdp.spaces": "Categories Clusters Cycle Distances Embedding Geo Grid Interval Product Space Vector Words",
            "emdp.tables": "Table",
            "emdp.transport": "d_em d_em_bounds d_em_pairs plan",
        },
    )

__version__ = "0.1.0"
