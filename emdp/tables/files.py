"""Files by their public metadata: which ones a pattern names, whether they may have changed, who may write them."""

import fcntl
import glob
import hashlib
import os
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from emdp.base.errors import EmdpError, UsageError

__all__ = [
    "LOGS",
    "NAMED_LOGS",
    "check_no_log",
    "expand_paths",
    "file_marks",
    "files_fingerprint",
    "folder_keys",
    "kind_of_named_log",
    "log_refusal",
    "place_marks",
    "read_lock",
    "state_marks",
]

LOGS = {"_delta_log": "Delta Lake", ".hoodie": "Hudi"}
"""Folders in which a table keeps the log of its files, and what the table is called."""

NAMED_LOGS = {
    "metadata": ("Iceberg", re.compile(r".*[.]metadata[.]json([.]gz)?|version-hint[.]text")),
    "snapshot": ("Paimon", re.compile(r"snapshot-.*")),
}
"""The same of folders whose name others use, too: what the table is called, and what a file of its log is called."""

DUCKLAKE, DUCKLAKE_PREFIX = "DuckLake", "ducklake-"
"""DuckLake's log is a database elsewhere; its files are called so."""


def expand_paths(pattern: str, suffixes: tuple[str, ...], *, may_have_log: bool = False) -> list[str]:
    """Return the files that a path, a folder or a pattern names now: absolute, sorted, at least one.

    Parameters
    ----------
    suffixes : tuple of str
        How the files of a folder or pattern end.
    may_have_log : bool
        Whether files of this kind may be those of a table with a log of its own, which is refused.

    Raises
    ------
    UsageError
        If it names none, a folder cannot be read or has what a writer left behind, the files are those of a table
        with a log, or a file's name would be read as a pattern again.
    """
    if os.path.isdir(pattern):
        try:
            found = [str(path) for path in Path(pattern).rglob("*") if path.is_file()]
        except OSError:
            raise UsageError(f"source {pattern!r} has a folder that cannot be read; name a folder of data.") from None
    elif os.path.isfile(pattern):
        if may_have_log:
            check_no_log([os.path.abspath(pattern)])
        return _plain([pattern])
    else:
        found = [path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]
    found = [path for path in found if path.lower().endswith(suffixes)]
    if may_have_log:
        check_no_log(list(map(os.path.abspath, found)))
    if os.path.isdir(pattern):
        _check_finished(pattern, found)
    paths = sorted(map(os.path.abspath, found))
    if not paths:
        raise UsageError(f"source {pattern!r} names no file; check the path.")
    return _plain(paths)


def check_no_log(paths: list[str]) -> None:
    """Refuse files that belong to a table whose log says which of them, and which of their rows, still count.

    Such a log lies in a folder above the files. Read without it, rows that were deleted would count again.

    Raises
    ------
    UsageError
        Naming the table's folder and kind.

    >>> check_no_log(["/srv/visits/week=1/a.parquet"])
    """
    folders = {os.path.dirname(path) for path in paths}
    # A link to a file of a table is that file.
    folders |= {os.path.dirname(os.path.realpath(path)) for path in paths if os.path.islink(path)}
    folders |= set(map(os.path.realpath, folders))
    above = {str(parent) for folder in folders for parent in (Path(folder), *Path(folder).parents)}
    for folder in sorted(above):
        kind = _kind_of_log(folder)
        if kind is not None:
            raise log_refusal(folder, kind)
    for path in paths:
        if os.path.basename(path).startswith(DUCKLAKE_PREFIX):
            raise log_refusal(path, DUCKLAKE)


def log_refusal(place: str, kind: str) -> UsageError:
    """Return the words said of a table with a log of its own."""
    return UsageError(
        f"source is of the {kind} table {place!r}, whose log says which rows were deleted, and the files alone do not; "
        "write a snapshot of it to Parquet files elsewhere, or pass it as a frame of a library that reads the log "
        "(deltalake, pyiceberg)."
    )


def files_fingerprint(paths: list[str], extra: str = "") -> str:
    """Return a hash of the files' public metadata: names, sizes, times, places on the disk.

    >>> files_fingerprint(["/nowhere"]) == files_fingerprint(["/nowhere"])
    True
    """
    digest = hashlib.sha256(extra.encode())
    for path in paths:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            digest.update(f"{path}\0absent\n".encode())
            continue
        times = f"{status.st_mtime_ns}\0{status.st_ctime_ns}\0{status.st_ino}"
        digest.update(f"{path}\0{status.st_size}\0{times}\n".encode())
    return f"files:{digest.hexdigest()}"


def file_marks(paths: Iterable[str], tables: Iterable[str] = ("",)) -> tuple[list[str], list[str]]:
    """Return hashes of public facts by which files are known again under another name: marks to keep, and to look for.

    Three marks a file: where it is, all links resolved; which file it is (device, inode, size and time of change), so
    that a file that was moved is known; and its device and inode alone, by which a file of several names (hard links)
    is known after a change. The last is looked for only where there are several names, since numbers of deleted files
    are given out again. A copy is another file and shows none of them.

    Parameters
    ----------
    paths : iterable of str
        The files; what is absent has the mark of its place.
    tables : iterable of str
        Tables of a file that holds several, each with marks of its own.

    >>> kept, sought = file_marks(["/nowhere"])
    >>> kept == sought, [len(mark) for mark in kept]
    (True, [16])
    """
    kept, sought = [], []
    for path in paths:
        # Of another machine's address nothing is known but itself.
        facts, is_linked = [("path", os.path.realpath(path) if os.path.isabs(path) else path)], True
        with suppress(OSError):
            status = os.stat(path)
            facts += [("state", _state(status)), ("file", _place(status))]
            is_linked = status.st_nlink > 1
        for table in tables:
            marks = [_mark(*fact, table) for fact in facts]
            kept += marks
            sought += marks if is_linked else marks[:-1]
    return kept, sought


def state_marks(paths: Iterable[str], table: str = "") -> list[str]:
    """Return the marks of :func:`file_marks` that say which files in which state, whatever they are called now.

    >>> state_marks(["/nowhere"])
    []
    """
    found = []
    for path in paths:
        with suppress(OSError):
            found.append(_mark("state", _state(os.stat(path)), table))
    return found


def place_marks(paths: Iterable[str], table: str = "") -> list[str]:
    """Return marks of where files are, all links resolved, by which one period's data are known under another's name.

    >>> len(place_marks(["/nowhere"])), place_marks(["/nowhere"]) == place_marks(["/nowhere"], "visits_w1")
    (1, False)
    """
    return [_mark("place", os.path.realpath(path) if os.path.isabs(path) else path, table) for path in paths]


def _state(status: os.stat_result) -> str:
    return f"{_place(status)} {status.st_size} {status.st_mtime_ns}"


def _place(status: os.stat_result) -> str:
    return f"{status.st_dev} {status.st_ino}"


def _mark(*facts: str) -> str:
    # Half of a hash of this length never meets by chance, and a ledger keeps three a file.
    return hashlib.sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def folder_keys(paths: list[str]) -> tuple[str, ...]:
    """Return the names that folders such as ``week=2026-W47`` would give columns, where readers take them for one.

    >>> folder_keys(["/srv/week=2026-W47/hour=1/a.parquet", "/srv/week=2026-W48/hour=1/a.parquet"])
    ('week', 'hour')
    """
    parts = (part for path in paths for part in Path(path).parent.parts)
    return tuple(dict.fromkeys(part.partition("=")[0] for part in parts if "=" in part))


@contextmanager
def read_lock(path: str) -> Iterator[Callable[[], bool]]:
    """Open a file for a lock that shuts out the writers of other processes and lets in every reader.

    The lock belongs to this opening, not to the process: other openings and closings of the file in this process
    leave it alone. Where the system has no such lock (others than Linux), what else holds the file must do.

    Yields
    ------
    callable
        Tries to take the lock, and says whether it is held now. It is given back at the end.

    Raises
    ------
    EmdpError
        If the file cannot be opened, or its file system has no locks.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise EmdpError(f"source {path!r} cannot be opened ({error.strerror}); check that it may be read.") from None
    try:
        yield partial(_try_lock, path, descriptor)
    finally:
        os.close(descriptor)


def _try_lock(path: str, descriptor: int) -> bool:
    # macOS knows such locks too, and lays out otherwise what it is asked for.
    command = getattr(fcntl, "F_OFD_SETLK", None) if sys.platform == "linux" else None
    if command is None:
        return True
    # C's struct flock: kind and origin of the range, its start and length (0: to the end), and no process.
    wanted = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    try:
        fcntl.fcntl(descriptor, command, wanted)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise EmdpError(
            f"source {path!r} cannot be locked for reading ({error.strerror}); copy it to a local disk."
        ) from None
    return True


def _kind_of_log(folder: str) -> str | None:
    for name, kind in LOGS.items():
        if os.path.isdir(os.path.join(folder, name)):
            return kind
    return kind_of_named_log(lambda name: _names(os.path.join(folder, name)))


def kind_of_named_log(names_of: Callable[[str], Iterable[str]]) -> str | None:
    """Return what a table is called that has a folder of :data:`NAMED_LOGS`, by the names in a folder of it."""
    for folder, (kind, pattern) in NAMED_LOGS.items():
        if any(map(pattern.fullmatch, names_of(folder))):
            return kind
    return None


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _check_finished(folder: str, paths: list[str]) -> None:
    # Spark and others leave out such names, DuckDB would not: what stands there is half written or set aside.
    for path in paths:
        if any(part.startswith(("_", ".")) for part in Path(path).relative_to(folder).parts):
            raise UsageError(
                f"source {folder!r} has a data file under a name that begins with _ or a dot, as unfinished ones do; "
                "remove it, or name the files by a pattern."
            )


def _plain(paths: list[str]) -> list[str]:
    # DuckDB reads a path as a pattern again, so such a name could stand for other files.
    for path in paths:
        if glob.has_magic(path):
            raise UsageError(f"source {path!r} has one of *, ? and [ in its name; rename the file.")
    return paths
