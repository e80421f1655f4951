"""Opening a ledger by its path: the one place that decides which store keeps it.

SQLite is loaded only when a ledger is opened.
"""

import os
from pathlib import Path

from emdp.errors import LedgerError, UsageError
from emdp.ledger.base import Ledger

__all__ = ["local_path", "open_ledger", "read_ledger"]


def open_ledger(path: str | os.PathLike[str], *, create: bool = True, test: bool = False) -> Ledger:
    """Open the ledger at ``path`` for charging, and make it first if there is none.

    Parameters
    ----------
    path : str or path-like
        A file on a local disk, any suffix. A new one is readable by its owner alone.
    create : bool
        Whether a missing file is made.
    test : bool
        Whether the caller runs under the test switch; the ledger must have been made under it, or not, alike.

    Raises
    ------
    LedgerError
        If the file is empty, damaged, no ledger, not writable, not a plain local file, or made under the
        other setting of the test switch; if it is missing and ``create`` is false. Nothing is ever reset.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/city.ledger") as ledger:
    ...     entry = ledger.append("charge", "visits", {"query": "..."})
    ...     entry.sequence, ledger.head() == (2, entry.hash), ledger.verify(entry.hash) == ledger.head()
    (2, True, True)
    """
    from emdp.ledger.place import create_file
    from emdp.ledger.sqlite import SqliteLedger

    place = local_path(path)
    if create and not os.path.lexists(place):
        create_file(place, test=test)
    ledger = SqliteLedger(place, writable=True)
    if ledger.is_test != test:
        made = "under the test switch (not private)" if ledger.is_test else "without the test switch"
        raise LedgerError(f"ledger {place} was made {made}; use another file on this side of the switch.")
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
    emdp.errors.LedgerError: ledger /nowhere/city.ledger does not exist; check the path, or put the file back.
    """
    from emdp.ledger.sqlite import SqliteLedger

    return SqliteLedger(local_path(path), writable=False)


def local_path(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a ledger, or raise for what is no local file.

    >>> local_path("/srv/city.ledger").name
    'city.ledger'
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(text := os.fspath(path), str):
        raise UsageError(f"ledger must be a path, not {type(path).__name__}; pass a string or a Path.")
    if "://" in text:
        # An address may hold a password.
        raise LedgerError(
            f"ledger {text.partition('://')[0]}://... is an address, and this version keeps ledgers in "
            "local files only; pass the path of a file."
        )
    if text in {"", ":memory:"} or "\0" in text:
        raise LedgerError(f"ledger {text!r} names no file, and a ledger must outlive the process; pass a path.")
    return Path(text).absolute()
