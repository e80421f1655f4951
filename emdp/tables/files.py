"""Files by their public metadata: which ones a pattern names, whether they may have changed, who may write them."""

import glob
import hashlib
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from emdp.errors import EmdpError, UsageError

__all__ = ["expand_paths", "files_fingerprint", "folder_keys", "read_lock"]


def expand_paths(pattern: str, suffixes: tuple[str, ...]) -> list[str]:
    """Return the files that a path, a folder or a pattern names now: absolute, sorted, at least one.

    Raises
    ------
    UsageError
        If it names none, a folder cannot be read or has what a writer left behind, or a file's name would be read
        as a pattern again.
    """
    if os.path.isdir(pattern):
        try:
            found = [str(path) for path in Path(pattern).rglob("*") if path.is_file()]
        except OSError:
            raise UsageError(f"source {pattern!r} has a folder that cannot be read; name a folder of data.") from None
    elif os.path.isfile(pattern):
        return _plain([pattern])
    else:
        found = [path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]
    found = [path for path in found if path.lower().endswith(suffixes)]
    if os.path.isdir(pattern):
        _check_finished(pattern, found)
    paths = sorted(map(os.path.abspath, found))
    if not paths:
        raise UsageError(f"source {pattern!r} names no file; check the path.")
    return _plain(paths)


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
    try:
        import fcntl

        command = fcntl.F_OFD_SETLK
    except (ImportError, AttributeError):
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
