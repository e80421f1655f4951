"""Charges of a table as a frame, for whoever looks at a session's history."""

from collections.abc import Iterable

import polars as pl

from emdp.budgets.spending import event_of, field_of
from emdp.ledger import Entry

__all__ = ["HISTORY", "history_of"]

HISTORY = {
    "sequence": pl.Int64,
    "time": pl.String,
    "query": pl.String,
    "mechanism": pl.String,
    "alpha": pl.Float64,
    "delta": pl.Float64,
    "kind": pl.String,
    "hash": pl.String,
}
"""Columns of a history; ``alpha`` is the level of the event's own kind."""


def history_of(entries: Iterable[Entry]) -> pl.DataFrame:
    """Return charges, one row an event; see ``HISTORY``.

    >>> history_of([]).columns[:3]
    ['sequence', 'time', 'query']
    """
    rows = []
    for entry in entries:
        event = event_of(entry)
        rows.append(
            {
                "sequence": entry.sequence,
                "time": entry.time,
                "query": field_of(entry, "query"),
                "mechanism": event.shown_name,
                "alpha": event.guarantee.level,
                "delta": event.guarantee.delta,
                "kind": event.guarantee.kind_name,
                "hash": entry.hash,
            }
        )
    return pl.DataFrame(rows, schema=HISTORY)
