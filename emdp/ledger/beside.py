"""The files of a ledger: itself and what lies beside it, which nothing else may be written over."""

import os
from pathlib import Path

from emdp.base.errors import LedgerError
from emdp.base.files import open_regular
from emdp.ledger.address import Address, place_of

__all__ = ["APPLICATION_ID", "check_no_side_file", "is_of_a_ledger", "ledger_files"]

APPLICATION_ID = 0x656D6470
"""SQLite's mark of whose file it is: "emdp" in ASCII."""

BESIDE = ("-wal", "-shm", "-journal", ".lock", ".state", ".state-journal")
"""Endings behind a ledger's path: SQLite's log, its index and the journal of other modes, the lock of reports, the
secret state of streams and its journal."""

MAGIC, MARK_PLACE = b"SQLite format 3\0", 68
"""First bytes of an SQLite file, and the place of its mark: four bytes, the highest first."""


def ledger_files(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the files that a ledger has, or may have: itself, its logs and its lock; none of one on a server.

    >>> ledger_files("/srv/city.ledger")[:2], ledger_files("postgresql://db/city")
    (('/srv/city.ledger', '/srv/city.ledger-wal'), ())
    """
    place = place_of(path)
    return () if isinstance(place, Address) else tuple(f"{place}{suffix}" for suffix in ("", *BESIDE))


def is_of_a_ledger(path: str | os.PathLike[str]) -> bool:
    """Say whether a path is that of a ledger's file, or would be that of its log or lock, by whatever name.

    >>> is_of_a_ledger("/nowhere/city.ledger-wal")
    False
    """
    real = os.path.realpath(path)
    return _is_ledger(real) or any(map(_is_ledger, _bases(real)))


def check_no_side_file(path: Path) -> None:
    """Raise ``LedgerError`` where a new ledger would be the log or the lock of another one."""
    for base in _bases(os.path.realpath(path)):
        if _is_ledger(base):
            raise LedgerError(f"ledger {path} has the name of a file of ledger {base}; name another.")


def _bases(real: str) -> list[str]:
    # File systems may not tell capitals apart, and then find the base by any.
    return [real[: -len(suffix)] for suffix in BESIDE if real.lower().endswith(suffix)]


def _is_ledger(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    if os.path.lexists(f"{path}-wal") or os.path.lexists(f"{path}-shm"):
        # In use, perhaps by this process, whose locks on it would go if it was opened and closed here.
        return True
    try:
        with open_regular(path) as file:
            head = file.read(MARK_PLACE + 4)
    except OSError:
        # What cannot be looked at is not written over.
        return True
    return head.startswith(MAGIC) and head[MARK_PLACE:] == APPLICATION_ID.to_bytes(4, "big")
