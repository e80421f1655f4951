"""Places of a ledger file, and its creation: whole and durable, or not at all."""

import os
import sqlite3
import stat
import uuid
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from emdp.base.errors import LedgerError, LedgerResourceError, resource_error
from emdp.base.files import flush
from emdp.ledger.beside import check_no_side_file
from emdp.ledger.chain import FIRST_PREVIOUS_HASH
from emdp.ledger.faults import ledger_error
from emdp.ledger.schema import APPEND, KEEP, MOVE_HEAD, SIDE_FILES, create_content, create_schema, prepare
from emdp.ledger.start import first_link
from emdp.ledger.stored import Snapshot

__all__ = ["check_place", "create_copy", "create_file", "is_immutable", "is_writable"]

_TEMPORARY = ".emdp-ledger-"
"""Beginning of a ledger's name while it is being made."""


def check_place(path: Path) -> os.stat_result:
    """Return the status of an existing ledger file, or raise unless it is a plain file under one name.

    Raises
    ------
    LedgerError
        If it is missing, a symbolic link, a folder or a device, empty, known by two names (each would have a
        log of its own), or has a rollback journal beside it (a ledger never makes one).
    """
    # Never open() the file here: closing it would drop the locks of this process's SQLite connections to it.
    try:
        status = os.lstat(path)
        if status.st_nlink > 1:
            _remove_temporary_names(path, status)
            status = os.lstat(path)
        journal = os.path.lexists(f"{path}-journal")
    except FileNotFoundError:
        raise LedgerError(f"ledger {path} does not exist; check the path, or put the file back.") from None
    except OSError as error:
        raise LedgerError(f"ledger {path} cannot be reached ({error.strerror}); check path and permissions.") from error
    except ValueError:
        # Half of a surrogate pair, or a NUL, which no file system takes.
        raise LedgerError(f"ledger {str(path)!r} is no path; name a file.") from None
    if not stat.S_ISREG(status.st_mode):
        raise LedgerError(f"ledger {path} is a link, a folder or a device; pass the path of the file itself.")
    if status.st_size == 0:
        raise LedgerError(f"ledger {path} is empty; put back the last good copy, or name a new file.")
    if status.st_nlink > 1:
        raise LedgerError(f"ledger {path} has a second name (a hard link), which breaks its locks; remove one.")
    if journal:
        raise LedgerError(f"ledger {path} has a foreign file {path.name}-journal beside it; move that away.")
    return status


def is_writable(path: Path) -> bool:
    """Say whether this process may write the file and make files beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)


def is_immutable(path: Path) -> bool:
    """Say whether this process cannot write the file and no log lies beside it, so that it needs no locks."""
    return not is_writable(path) and not os.path.lexists(f"{path}-wal")


def create_file(path: Path, *, test: bool) -> None:
    """Make a ledger that holds its first entry, unless ``path`` exists by the time it is ready.

    The file is made and flushed under another name in the same folder, then linked to ``path``: a crash
    leaves a whole ledger or none, and of two processes that create at once one wins.

    Raises
    ------
    LedgerError
        If the folder is missing or cannot be written, or a log of a lost ledger lies beside ``path``.
    """
    _create(path, lambda place: _write_first_entry(place, test=test))


def create_copy(path: Path, snapshot: Snapshot) -> bool:
    """Make a ledger that holds the entries and texts of another one; return whether ``path`` was still free.

    Raises
    ------
    LedgerError
        As :func:`create_file` does.
    """
    return _create(path, partial(_write_snapshot, snapshot=snapshot))


def _create(path: Path, write: Callable[[Path], None]) -> bool:
    check_no_side_file(path)
    for suffix in SIDE_FILES:
        # A process that has just created the ledger has a log of it open: then the ledger exists.
        if os.path.lexists(f"{path}{suffix}") and not os.path.lexists(path):
            raise LedgerError(
                f"ledger {path} is missing while {path.name}{suffix} is left of it, with charges perhaps; "
                "put the ledger back, or name another file."
            )
    try:
        # The name is known before the file is made, so that no signal can come between.
        temporary = os.path.join(path.parent, f"{_TEMPORARY}{uuid.uuid4().hex}")
        try:
            # Closed before the file has its name: a close drops this process's locks on it, another thread's too.
            os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            write(Path(temporary))
            made = _link(temporary, path)
        finally:
            for suffix in ("", "-shm", *SIDE_FILES):
                with suppress(FileNotFoundError):
                    os.unlink(f"{temporary}{suffix}")
        flush(path.parent)
        return made
    except (OSError, sqlite3.Error) as error:
        if _is_shortage(path, error):
            raise LedgerResourceError(
                f"ledger {path} cannot be created, for the disk is full or fails; make room on it and ask again."
            ) from error
        reason = error.strerror if isinstance(error, OSError) else error
        raise LedgerError(
            f"ledger {path} cannot be created ({reason}); choose a writable folder on a local disk."
        ) from error


def _is_shortage(path: Path, error: OSError | sqlite3.Error) -> bool:
    if isinstance(error, OSError):
        return resource_error(error) is not None
    return isinstance(ledger_error(path, error), LedgerResourceError)


def _remove_temporary_names(path: Path, status: os.stat_result) -> None:
    # Left by a process that was killed, or has not come, between linking the new file and removing its first
    # name.
    for other in path.parent.glob(f"{_TEMPORARY}*"):
        with suppress(FileNotFoundError):
            if os.path.samestat(os.lstat(other), status):
                os.unlink(other)


def _link(temporary: str, path: Path) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    return True


def _write_first_entry(path: Path, *, test: bool) -> None:
    _write_snapshot(path, ((first_link(test=test),), ()))


def _write_snapshot(path: Path, snapshot: Snapshot) -> None:
    links, texts = snapshot
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None)) as connection:
        prepare(connection)
        # Nobody knows of it yet: it is flushed once, when it is whole.
        connection.execute("PRAGMA synchronous = OFF")
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        connection.execute("BEGIN IMMEDIATE")
        create_schema(connection, FIRST_PREVIOUS_HASH)
        for link in links:
            connection.execute(APPEND, link)
            connection.execute(MOVE_HEAD, (link.sequence, link.hash))
        if texts:
            create_content(connection)
            connection.executemany(KEEP, texts)
        connection.execute("COMMIT")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if mode != "wal" or busy or os.path.lexists(f"{path}-wal"):
        raise LedgerError(f"folder {path.parent} cannot hold a write-ahead log; choose a folder on a local disk.")
    flush(path)
