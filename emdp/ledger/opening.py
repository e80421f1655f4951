"""Opening a ledger by its path or address: the one place that decides which store keeps it.

SQLite, and what talks to PostgreSQL, is loaded only when a ledger is opened.
"""

import os
from pathlib import Path
from typing import Any

from emdp.base.errors import LedgerError, UsageError
from emdp.ledger.address import Address, place_of
from emdp.ledger.base import Ledger, SecretState
from emdp.ledger.start import first_link
from emdp.ledger.stored import Snapshot, StoredLedger

__all__ = ["copy_ledger", "ledger_exists", "need_psycopg", "open_ledger", "read_ledger", "secret_state"]


def open_ledger(path: str | os.PathLike[str], *, create: bool = True, test: bool = False) -> Ledger:
    """Open the ledger at ``path`` for charging, and make it first if there is none.

    Parameters
    ----------
    path : str or path-like
        A file on a local disk, any suffix; a new one is readable by its owner alone. Or the address of a PostgreSQL
        database, ``postgresql://user@host/database`` (extra ``postgres``), which holds one ledger for a team.
    create : bool
        Whether a missing ledger is made; in a database by whoever may make a schema there, who then owns it.
    test : bool
        Whether the caller runs under the test switch; the ledger must have been made under it, or not, alike.

    Raises
    ------
    LedgerError
        If the ledger is empty, damaged, none, not writable, not a plain local file, not reachable, or made under
        the other setting of the test switch; if it is missing and ``create`` is false. Nothing is ever reset.
    UsageError
        If the address is malformed, or the place looks like one and is none; if psycopg is not installed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/city.ledger") as ledger:
    ...     entry = ledger.append("charge", "visits", {"query": "..."})
    ...     entry.sequence, ledger.head() == (2, entry.hash), ledger.verify(entry.hash) == ledger.head()
    (2, True, True)
    """
    place = place_of(path)
    ledger = (
        _open_team(place, create=create, test=test)
        if isinstance(place, Address)
        else _open_file(place, create=create, test=test)
    )
    if ledger.is_test != test:
        made = "under the test switch (not private)" if ledger.is_test else "without the test switch"
        raise LedgerError(f"ledger {ledger.path} was made {made}; use another one on this side of the switch.")
    return ledger


def read_ledger(path: str | os.PathLike[str]) -> Ledger:
    """Open an existing ledger for reading, whether or not it was made under the test switch.

    Works for a file that the caller cannot write, such as an auditor's copy.

    Raises
    ------
    LedgerError
        If the file is missing, empty, damaged, no ledger, or not a plain local file.

    >>> read_ledger("/nowhere/city.ledger")
    Traceback (most recent call last):
        ...
    emdp.base.errors.LedgerError: ledger /nowhere/city.ledger does not exist; check the path, or put the file back.
    """
    return _read(path)


def ledger_exists(path: str | os.PathLike[str]) -> bool:
    """Say whether there is a ledger, or something else, at a path or address.

    Raises
    ------
    LedgerError
        If a server cannot be reached.

    >>> ledger_exists("/nowhere/city.ledger")
    False
    """
    place = place_of(path)
    if isinstance(place, Path):
        return os.path.lexists(place)
    need_psycopg()
    from emdp.ledger.postgres import exists_in

    return exists_in(place)


def copy_ledger(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> tuple[int, str, int]:
    """Copy a ledger, entry by entry, from a file to a database or back; both hold the same chain afterwards.

    The same hashes, the same ledger id, and the texts that the source still keeps. The target appears whole or not at
    all, and is read again and compared. From then on there are two ledgers, each of which could be charged up to the
    whole budget: whoever copies takes one of them out of use.

    Parameters
    ----------
    source, target : str or path-like
        Path or address; at the target there must be nothing yet.

    Returns
    -------
    (int, str, int)
        Sequence and hash of the last entry, and the number of texts.

    Raises
    ------
    LedgerError
        If the target exists or cannot be made, the source is damaged, or was charged meanwhile.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/city.ledger") as ledger:
    ...     copy_ledger(ledger.path, f"{folder}/copy.ledger")[:2] == ledger.head()
    True
    """
    place = place_of(target)
    if ledger_exists(target):
        raise LedgerError(f"ledger {_shown(place)} exists, and a copy goes to a new one; name another.")
    with _read(source) as opened:
        snapshot = opened.snapshot()
        if not _create(place, snapshot):
            raise LedgerError(f"ledger {_shown(place)} was made by somebody else meanwhile; name another.")
        with _read(target) as copied:
            if copied.snapshot() != snapshot:
                raise LedgerError(f"ledger {copied.path} is not what was copied to it; delete it, and copy again.")
            if opened.head() != copied.head():
                raise LedgerError(
                    f"ledger {opened.path} was charged while it was copied; delete {copied.path}, stop what charges, "
                    "and copy again."
                )
            return *copied.head(), len(snapshot[1])


def secret_state(ledger: Ledger) -> SecretState:
    """Return the state of streams beside a ledger, as secret as the data: in a file, or in a schema of the server.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/city.ledger") as ledger:
    ...     secret_state(ledger).check()
    """
    if "://" not in ledger.path:
        from emdp.ledger.state import StreamState

        return StreamState(ledger.path)
    need_psycopg()
    from emdp.ledger.postgres import PostgresLedger
    from emdp.ledger.postgres_state import PostgresState

    if not isinstance(ledger, PostgresLedger):
        raise UsageError("a stream needs a ledger in a file or in PostgreSQL; name one of these.")
    return PostgresState(ledger.address)


def need_psycopg() -> None:
    """Raise ``UsageError`` with the remedy unless psycopg is installed."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise UsageError(
            "ledger is the address of a PostgreSQL database, for which psycopg is missing; run "
            "pip install 'emdp[postgres]'."
        ) from None


def _open_file(place: Path, *, create: bool, test: bool) -> StoredLedger[Any]:
    from emdp.ledger.place import create_file
    from emdp.ledger.sqlite import SqliteLedger

    if create and not os.path.lexists(place):
        create_file(place, test=test)
    return SqliteLedger(place, writable=True)


def _open_team(address: Address, *, create: bool, test: bool) -> StoredLedger[Any]:
    need_psycopg()
    from emdp.ledger.postgres import PostgresLedger, create_in, exists_in

    if create and not exists_in(address):
        create_in(address, ((first_link(test=test),), ()))
    return PostgresLedger(address, writable=True)


def _create(place: Address | Path, snapshot: Snapshot) -> bool:
    if isinstance(place, Path):
        from emdp.ledger.place import create_copy

        return create_copy(place, snapshot)
    from emdp.ledger.postgres import create_in

    return create_in(place, snapshot)


def _read(path: str | os.PathLike[str]) -> StoredLedger[Any]:
    place = place_of(path)
    if isinstance(place, Address):
        need_psycopg()
        from emdp.ledger.postgres import PostgresLedger

        return PostgresLedger(place, writable=False)
    from emdp.ledger.sqlite import SqliteLedger

    return SqliteLedger(place, writable=False)


def _shown(place: Address | Path) -> str:
    return place.shown if isinstance(place, Address) else str(place)
