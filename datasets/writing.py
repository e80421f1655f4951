"""Writing a table chunk by chunk, as Parquet, CSV or a folder of parts; it appears once it is whole."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from emdp.base.errors import UsageError

__all__ = ["Append", "Progress", "Written", "check_out", "size_of", "table_writer"]

Progress = Callable[[int], None]
"""Called with the number of rows written so far, after each chunk."""

Append = Callable[[pa.Table], None]
"""Writes one chunk."""

COMPRESSION = "zstd"
"""Parquet's codec."""

KEPT = 40
"""Characters of a name that stand in that of the unfinished table, too."""

PARTS = "part-*.parquet"
"""The files of a table that is a folder."""


@dataclass(frozen=True)
class Written:
    """What a generator wrote: rows of the table, users on its public list, and bytes on disk."""

    rows: int
    users: int
    bytes: int


def check_out(name: str, out: str | os.PathLike[str], *, folder: bool = True, csv: bool = True) -> Path:
    """Return ``out`` as a path that a table can be written to, or raise.

    Parameters
    ----------
    name : str
        What the caller calls the path, for messages.
    out : path
        A ``.parquet`` file, a ``.csv`` file, or (no suffix, or an existing folder) a folder of Parquet parts.
    folder, csv : bool
        Whether these two layouts are possible.

    Raises
    ------
    UsageError
        If the suffix is another, the parent folder is missing, or a folder holds anything but parts.
    """
    try:
        path = Path(out).resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        path = Path(out).resolve()
    except (OSError, RuntimeError, ValueError):
        raise UsageError(f"{name} names nothing that the system can write, got {str(out)!r}; rename it.") from None
    suffixes = [".parquet"] + [".csv"] * csv
    is_folder = path.is_dir() or not path.suffix
    if not (folder if is_folder else path.suffix in suffixes):
        choices = " or ".join(suffixes) + (", or have no suffix (a folder)" if folder else "")
        raise UsageError(f"{name} must end in {choices}, got {str(out)!r}; rename it.")
    if not path.parent.is_dir():
        raise UsageError(f"{name} must lie in an existing folder, got {str(out)!r}; create the folder first.")
    if path.is_dir() and any(not entry.match(PARTS) for entry in path.iterdir()):
        raise UsageError(f"{name} is the folder {str(out)!r}, which holds other files than {PARTS}; name a new folder.")
    return path


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of the parts in a folder."""
    files = path.glob(PARTS) if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


@contextmanager
def table_writer(out: Path, schema: pa.Schema, *, dictionary: tuple[str, ...]) -> Iterator[Append]:
    """Open a table for writing and yield the function that appends a chunk: a row group, or a folder's part.

    The rows go to a hidden neighbour of ``out`` (for a folder that exists: inside it), which takes its name,
    replacing what stood there, when the block ends, and is removed when the block raises.

    Parameters
    ----------
    out : pathlib.Path
        Checked by :func:`check_out`.
    schema : pyarrow.Schema
        Columns of every chunk.
    dictionary : tuple of str
        The columns that Parquet stores as a dictionary: those of few values.
    """
    # A name as long as the system takes must leave room for what is added to it.
    partial = (out if out.is_dir() else out.parent) / f".{out.name[:KEPT]}.{os.getpid()}.partial"
    is_folder = out.is_dir() or not out.suffix
    opened = _open_parts if is_folder else _open_csv if out.suffix == ".csv" else _open_parquet
    try:
        with opened(partial, schema, dictionary) as append:
            yield append
        _publish(partial, out)
    finally:
        if partial.is_dir():
            shutil.rmtree(partial)
        else:
            partial.unlink(missing_ok=True)


@contextmanager
def _open_parquet(path: Path, schema: pa.Schema, dictionary: tuple[str, ...]) -> Iterator[Append]:
    options: dict[str, Any] = {"compression": COMPRESSION, "use_dictionary": list(dictionary)}
    with pq.ParquetWriter(path, schema, **options) as writer:
        yield lambda table: writer.write_table(table, row_group_size=max(table.num_rows, 1))


@contextmanager
def _open_csv(path: Path, schema: pa.Schema, dictionary: tuple[str, ...]) -> Iterator[Append]:
    with pa_csv.CSVWriter(path, schema) as writer:
        yield writer.write_table


@contextmanager
def _open_parts(path: Path, schema: pa.Schema, dictionary: tuple[str, ...]) -> Iterator[Append]:
    path.mkdir()
    count = 0

    def append(table: pa.Table) -> None:
        nonlocal count
        with _open_parquet(path / f"part-{count:04d}.parquet", schema, dictionary) as append_rows:
            append_rows(table)
        count += 1

    yield append


def _publish(partial: Path, out: Path) -> None:
    if not out.is_dir():
        partial.replace(out)
        return
    for part in out.glob(PARTS):
        part.unlink()
    for part in sorted(partial.iterdir()):
        part.replace(out / part.name)
