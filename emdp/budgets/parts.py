"""Data of periods: that no file is read as two of them, which a budget per period would count apart."""

from collections.abc import Iterable, Sequence
from typing import Any

from emdp.base.errors import LedgerError
from emdp.budgets.declarations import UNCOUNTED, Declaration, begun
from emdp.ledger import Entry
from emdp.ledger.entries import of_kinds

__all__ = ["begun_part", "check_parts"]


def begun_part(
    entries: Sequence[Entry], wanted: Declaration, version: str, marks: Sequence[str], part: str | None
) -> dict[str, Any] | None:
    """Return what :func:`emdp.budgets.declarations.begun` does, with the period that the data are of, and all marks.

    Parameters
    ----------
    entries, wanted, version, marks
        As there.
    part : str or None
        The period, where a budget per period counts it.
    """
    payload = begun(entries, wanted, version, marks)
    if part is None:
        return payload
    known = [own.payload for own in of_kinds(entries, "validated") if own.payload.get("part") == part]
    if payload is None and any(own.get("data_version") == version for own in known):
        return None
    own = {"data_version": version, "users": wanted.users, "records": wanted.records, "period": wanted.period}
    return {"begins": True, **own, **(payload or {}), "marks": list(marks), "part": part}


def check_parts(
    entries: Iterable[Entry], part: str | None, name: str, marks: Iterable[str], version: str = UNCOUNTED[0]
) -> None:
    """Check that data of one period are not data of another.

    Parameters
    ----------
    entries : iterable of Entry
        Those of the table; what :func:`emdp.budgets.declarations.begun` wrote says of which part data were.
    part : str or None
        The period that the data are said to be of; None: any, so that nothing is counted apart.
    marks : iterable of str
        Marks of the data's files as they are now, and of where they are.
    version : str
        The data version: data without files, such as a frame, are known by it. A declared one may be that of several
        periods.
    """
    own = set(marks)
    for entry in of_kinds(entries, "validated") if part is not None else ():
        payload = entry.payload
        other, known = payload.get("part"), payload.get("marks")
        if other in (None, part) or not isinstance(known, list):
            continue
        is_same = not version.startswith(UNCOUNTED) and payload.get("data_version") == version
        if is_same or own & set(known):
            raise LedgerError(
                f"the data of table {name!r} for period {part} were read, at least in part, for {other}, and a budget "
                "per period would count one record twice; name periods that have no file in common."
            )
