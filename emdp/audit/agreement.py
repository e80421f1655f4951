"""Answers of whole sessions (checks, ledger, engine) against draws in bulk: what is audited is what is answered."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from emdp.audit.findings import Agreement
from emdp.audit.neighbours import Neighbours
from emdp.audit.plans import audited
from emdp.audit.releases import first_numbers
from emdp.questions.resolution import Query
from emdp.sessions.measuring import is_measure
from emdp.sessions.planning import Planned
from emdp.sessions.session import Session
from emdp.sessions.store import Store
from emdp.tables import Table

__all__ = ["compared_sessions"]

BULK_SHARE = 4
"""Draws in bulk for each answer of a session."""

NOTHING = -1e300
"""Stands for an answer without a number where answers are compared."""


def compared_sessions(
    label: str, request: str | Query, planned: Planned, tables: Neighbours, public: Mapping[str, object], count: int
) -> Agreement:
    """Compare so many answers of a whole session on the first table with draws in bulk.

    Parameters
    ----------
    public : mapping
        Public tables by name.
    """
    from scipy.stats import ks_2samp

    answered = _answers(request, planned, tables.first, public, count)
    drawn = audited(planned.plan).values(tables, BULK_SHARE * count)
    # An answer without a number, such as one that found nothing, is a value like others, below all of them.
    both = [np.where(np.isfinite(values), values, NOTHING).T for values in (answered, drawn)]
    found = [ks_2samp(*block).pvalue for block in zip(*both, strict=True)]
    return Agreement(label, len(answered), len(drawn), min(float(len(found) * min(found)), 1.0))


def _answers(
    request: str | Query, planned: Planned, table: Table, public: Mapping[str, object], count: int
) -> list[tuple[float, ...]]:
    """Return the numbers of each answer of a session with a ledger and a budget of its own."""
    event = planned.plan.event
    guarantee = event.guarantee
    delta = min(2.0 * guarantee.delta * (count + 1) + event.slack[1], 0.5)
    level = 2.0 * guarantee.level * (count + 1) + event.slack[0] * (count + 1)
    budget: Any = guarantee.at_level(max(level, 1e-9), delta)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "audit.ledger"
        with Session(table, budget=budget, ledger=ledger, public=dict(public) or None) as session:
            # A measure is bought once, and the second answer would be the first again: each is released anew here.
            asked, store = session._planned(request), Store(session)
            if any(is_measure(one) for one in asked):
                return [first_numbers(planned.plan, store.release(asked)[0][0].frame) for _ in range(count)]
            ask: Callable[[Any], Any] = session.sql if isinstance(request, str) else session.answer
            return [first_numbers(planned.plan, ask(request).frame) for _ in range(count)]
