"""Files that appear whole: their name holds the old content or the new one, whatever interrupts."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

__all__ = ["write_whole"]

KEPT = 40
"""Characters of a name that stand in that of the unfinished file, too."""


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file so that its name holds the old content or the new one, whatever interrupts.

    Parameters
    ----------
    path : Path
        In a folder that exists. A link of that name is replaced, not followed.

    Raises
    ------
    OSError
        If it cannot be written; nothing of it is left then.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "x.csv", b"a").read_bytes()
    b'a'
    """
    # A name as long as the system takes must leave room for what is added to it.
    unfinished = path.with_name(f".{path.name[:KEPT]}.{os.getpid()}.part")
    unfinished.unlink(missing_ok=True)
    try:
        # "x": a link that somebody put there is not followed.
        with unfinished.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):
            shutil.copymode(path, unfinished)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path
