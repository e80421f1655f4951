"""The families of questions: one table of what asks them, and of what they are when every name is looked up.

A family is one line here, a planner in :data:`emdp.estimators.dispatch.PLANNERS`, a method of :class:`emdp.Session`
where it is asked by name, and a reader in :mod:`emdp.sql.translate` where it has aggregates. A test compares them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.questions.facts import Shares
from emdp.questions.heavy_hitters import HeavyHitters
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.itemwise import Itemwise
from emdp.questions.linear_fit import LinearFit
from emdp.questions.means import Mean, VectorMean
from emdp.questions.measures import Measure
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.stages import FreeSelect, StagedSelect
from emdp.questions.select import FrequencyQuery, QuantileQuery, Select
from emdp.questions.user_mean import UserMean

__all__ = ["ALONE", "FAMILIES", "FUNCTIONS", "Family", "family_of"]

SEVERAL_ROWS = "gives several rows"


@dataclass(frozen=True)
class Family:
    """A family of questions.

    Parameters
    ----------
    questions : tuple of type
        What a planner of the family takes: frozen questions whose names are looked up.
    functions : tuple of str
        Functions of :mod:`emdp` that ask it, and methods of a session by the same names.
    aggregates : tuple of str
        Aggregates of SQL that ask it and stand alone in a select list.
    alone : str
        Why they stand alone.
    has_removal : bool
        Whether a planner of the family knows noise for the removal of a user; the others rest on the number of users.
    """

    name: str
    questions: tuple[type[Any], ...]
    functions: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    alone: str = ""
    has_removal: bool = False


FAMILIES: tuple[Family, ...] = (
    Family("select", (Select,), has_removal=True),
    Family("owned", (OwnedSelect, StagedSelect, FreeSelect), has_removal=True),
    Family("means", (Mean, VectorMean), ("mean", "vector_mean")),
    Family("cells", (FrequencyQuery,), ("frequencies",), ("FREQUENCY",), SEVERAL_ROWS),
    Family("measures", (Measure,), ("measure",), ("MEASURE",), SEVERAL_ROWS),
    Family("items", (ItemFrequencies,)),
    Family("quantiles", (QuantileQuery,), ("quantiles",), ("QUANTILE", "MEDIAN"), SEVERAL_ROWS),
    Family("itemwise", (Itemwise,), ("itemwise",)),
    Family("strings", (HeavyHitters,), ("heavy_hitters",)),
    Family("shares", (Shares,), ("shares",), ("SHARES",), SEVERAL_ROWS),
    Family("user_mean", (UserMean,), ("user_mean",), ("USER_MEAN",), "has rounds of its own"),
    Family("fit", (LinearFit,)),
)
"""All families. Means with ``by`` or ``where`` are of ``select``, as most aggregates are; totals over rows with owners,
of any function of a row, are of ``owned``; frequencies of all items of a
finite space are of ``items``; models are asked for by :mod:`emdp.learn`."""

FUNCTIONS: tuple[str, ...] = tuple(function for family in FAMILIES for function in family.functions)
"""Functions and methods that ask."""

ALONE: Mapping[str, Family] = MappingProxyType(
    {aggregate: family for family in FAMILIES for aggregate in family.aggregates}
)
"""The family of each aggregate that stands alone."""

_OF_TYPE: Mapping[type[Any], Family] = {question: family for family in FAMILIES for question in family.questions}


def family_of(query: object) -> Family:
    """Return the family of a question.

    Raises
    ------
    UsageError
        If it is none.

    >>> from emdp.questions import user_mean
    >>> family_of(user_mean("x", epsilon=1.0)).aggregates
    ('USER_MEAN',)
    """
    found = _OF_TYPE.get(type(query))
    if found is None:
        *others, last = FUNCTIONS
        raise UsageError(
            f"query must be made by emdp.{', '.join(others)} or {last}, not {type(query).__name__}; make one of these, "
            "or pass SQL."
        )
    return found
