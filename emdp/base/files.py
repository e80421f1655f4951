"""Texts that users name by a path: from regular files alone, and of a bounded size.

Whatever lies under a name, a command must neither hang nor fill the memory: no pipe that nobody writes to, no device
without an end. What is opened is looked at, not what the name meant a moment before.
"""

import csv
import errno
import io
import os
import stat
import tomllib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TextIO

from emdp.base.errors import UsageError

if TYPE_CHECKING:
    from gzip import GzipFile

__all__ = [
    "LARGEST_QUERY",
    "LARGEST_TEXT",
    "ends_without_end",
    "flush",
    "open_regular",
    "read_bounded",
    "read_header",
    "read_text",
    "read_toml",
]

LARGEST_TEXT = 16 * 2**20
"""Bytes of a catalog, a report's definition or a manifest: a list of a million users fits."""

LARGEST_QUERY = 2**20
"""Bytes, or characters, of a text of SQL."""

LONGEST_HEADER = 2**18
"""Characters of the first row of a CSV file: names of some ten thousand columns."""

BLOCK = 2**18
"""Bytes that are held at a time of what is only looked through."""


def flush(path: str | os.PathLike[str]) -> None:
    """Wait until a file, or the names in a folder, are on disk.

    Raises
    ------
    OSError
        If it cannot be opened or flushed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     flush(folder)
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; nothing else is waited for.

    Raises
    ------
    OSError
        If it cannot be opened, or is a folder, a pipe or a device.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is a pipe or a device, no file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bounded(path: str | os.PathLike[str], most: int = LARGEST_TEXT) -> bytes:
    """Return the content of a regular file.

    Raises
    ------
    OSError
        If it cannot be read, is no regular file, or is longer.
    """
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EINVAL, f"it has more than {most:,} bytes")
    return content


def read_text(path: str | os.PathLike[str], most: int = LARGEST_TEXT, *, encoding: str = "utf-8") -> str:
    r"""Return the text of a regular file, its lines ended by ``\n``; see :func:`read_bounded`.

    Raises
    ------
    OSError
        As :func:`read_bounded` does.
    UnicodeDecodeError
        If it is no text in that encoding.
    """
    return read_bounded(path, most).decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def read_toml(name: str, path: str | os.PathLike[str], remedy: str) -> dict[str, Any]:
    """Return what a TOML file says."""
    shown = f"{name} {str(path)!r}"
    try:
        return tomllib.loads(read_text(path))
    except FileNotFoundError:
        raise UsageError(f"{shown} does not exist; pass the path of {remedy}.") from None
    except RecursionError:
        raise UsageError(f"{shown} nests lists too deep; write fewer brackets.") from None
    except OSError as error:
        raise UsageError(f"{shown} cannot be read ({error.strerror}); pass {remedy}.") from None
    except ValueError as error:
        # Beside its own errors tomllib raises those of integers of thousands of digits; a path may hold a NUL.
        raise UsageError(f"{shown} cannot be read as TOML ({_reason(error)}); correct it.") from None


def _reason(error: ValueError) -> str:
    """Return what is wrong with a text, in characters that a terminal shows as they are."""
    text = "it holds a number of too many digits or is no path"
    if isinstance(error, tomllib.TOMLDecodeError | UnicodeDecodeError):
        text = str(error)
    return "".join(character if character.isprintable() else " " for character in text)


def ends_without_end(content: "IO[bytes] | GzipFile", most: int) -> bool:
    """Say whether so many bytes, or more, come after the last end of a line; what is read is not kept.

    >>> ends_without_end(io.BytesIO(b"a\\nbc"), 2), ends_without_end(io.BytesIO(b"a\\nbc"), 3)
    (True, False)
    """
    since = 0
    while block := content.read(BLOCK):
        last = max(block.rfind(b"\n"), block.rfind(b"\r"))
        since = since + len(block) if last < 0 else len(block) - last - 1
    return since >= most


def read_header(content: "IO[bytes] | GzipFile", delimiter: str = ",") -> list[str] | None:
    """Return the names in the first row of a CSV file; None where it is empty.

    Raises
    ------
    OSError
        If the row is longer than any header.
    UnicodeError, csv.Error
        If it is no row of text in UTF-8.
    """
    # Rows after the first are decoded with it, and are for the engine to judge.
    stream = io.TextIOWrapper(content, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        header = next(csv.reader(_header_lines(stream), delimiter=delimiter), None)
        "".join(header or ()).encode()
        return header
    finally:
        # Closing the stream would close what the caller opened.
        stream.detach()


def _header_lines(stream: TextIO) -> Iterator[str]:
    left = LONGEST_HEADER
    while line := stream.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise OSError(errno.EINVAL, "its first row is too long")
        yield line
