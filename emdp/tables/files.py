"""Files by their public metadata: which ones a pattern names, and whether they may have changed."""

import glob
import hashlib
import os
from pathlib import Path

from emdp.errors import UsageError

__all__ = ["expand_paths", "files_fingerprint"]


def expand_paths(pattern: str, suffixes: tuple[str, ...]) -> list[str]:
    """Return the files that a path, a folder or a pattern names now: absolute, sorted, at least one.

    Raises
    ------
    UsageError
        If it names none, a folder cannot be read, or a file's name would be read as a pattern again.
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
    paths = sorted(os.path.abspath(path) for path in found if path.lower().endswith(suffixes))
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


def _plain(paths: list[str]) -> list[str]:
    # DuckDB reads a path as a pattern again, so such a name could stand for other files.
    for path in paths:
        if glob.has_magic(path):
            raise UsageError(f"source {path!r} has one of *, ? and [ in its name; rename the file.")
    return paths
