"""Entries of a report that read released measures: free, planned when the entries before them have released these.

A report is checked before anything is released, so that such an entry is checked on no rows first: a measure that an
entry before it releases has the columns of that one, any other those of the space, and has to be in the ledger when the
report runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from emdp.base.errors import UsageError
from emdp.ledger import Entry
from emdp.questions.columns import unordered
from emdp.questions.names import Names
from emdp.reports.definition import Entry as Defined
from emdp.sessions.measuring import Awaited, awaited
from emdp.sessions.planning import Planned
from emdp.sessions.session import Session
from emdp.sql import measures_named, reads_measures, stated_level, with_level

__all__ = ["as_read", "awaited_entry", "is_reading", "level_and_text", "reading_problems", "ready", "useless_keys"]

PROBE = 1.0
"""Level with which a statement is read whose own is not settled yet."""

Plans = Sequence[Planned | None]
"""Plans of entries, where they have one."""


def is_reading(query: str) -> bool:
    """Say whether an entry's query reads measures, and so has no level."""
    return reads_measures(query)


def level_and_text(query: str) -> tuple[float | None, str]:
    """Return the level that a query states, and a text that has one in any case; none of what reads measures.

    Raises
    ------
    SqlError
        If it has no header that can be read.
    """
    if is_reading(query):
        return None, query
    level = stated_level(query)
    return level, query if level is not None else with_level(query, PROBE)


def useless_keys(entry: Defined) -> Iterator[tuple[str, str]]:
    """Return what an entry says of a price that it has not: the key, and what is wrong."""
    for key in ("weight", "target_error", "tier"):
        if getattr(entry, key) is not None:
            yield key, f"{key} has no use, for the query reads released measures and costs nothing; leave it out"


def awaited_entry(query: str, names: Names, before: Plans, after: Plans) -> Awaited:
    """Return the plan of an entry on no rows, between those before and after it.

    Raises
    ------
    EmdpError
        If its statement is refused, or a measure that it reads is released by an entry below it alone.
    """
    known, later = _released(before), _released(after)
    for name in measures_named(query):
        if name.lower() in later and name.lower() not in known:
            raise UsageError(
                f"the measure {name} is released by an entry below this one; move this entry behind that one."
            )
    return awaited(query, names, known)


def as_read(session: Session, entry: Any) -> Any:
    """Return a checked entry planned with what the session read; what reads measures waits for these."""
    return entry if entry.planned.is_awaited else replace(entry, planned=session.replanned(entry.planned))


def ready(session: Session, planned: Planned) -> Planned:
    """Return an entry's plan as it can be asked now: of what reads measures with these as they were released."""
    return session.replanned(planned) if planned.is_awaited else planned


def reading_problems(stated: Mapping[str, Any], entries: Sequence[Entry], table: str) -> Iterator[str]:
    """Return in what an entry of a manifest that reads measures disagrees with a ledger, which has no entry of it."""
    reads = stated["reads"]
    if not isinstance(reads, list) or not all(type(own) is int for own in reads) or not is_reading(stated["query"]):
        yield "reads: stands beside a query that reads no measures, or is no list of numbers"
        return
    charge = stated["charge"]
    if charge is None or charge["sequence"] not in reads or not stated["reused"]:
        yield "reads: has not the charge that the entry names, or the entry is said to have paid"
    for own in reads:
        paid = [one for one in entries if one.sequence == own and one.kind == "charge" and one.table == table]
        kept = [one for one in entries if one.kind == "answer" and one.payload.get("charge") == own]
        if not paid or not any("measure" in str(one.payload.get("query", "")).lower() for one in kept):
            yield f"reads: entry {own} of the ledger is no charge of a measure of this table"


def _released(plans: Plans) -> dict[str, tuple[str, ...]]:
    """Return the columns of the measures that entries release, by name."""
    found = {}
    for planned in plans:
        rows: Any = None if planned is None else unordered(planned.plan.finisher)
        if hasattr(rows, "fitted"):
            away = ("elsewhere",) if rows.has_away else ()
            found[str(rows.name).lower()] = (*rows.items, *away)
    return found
