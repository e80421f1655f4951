"""Sources of rows: Parquet or CSV files, a table of a DuckDB file, or a frame in memory.

A source looks at public metadata only: names, types, sizes and times of files. It never reads a record, not even
to guess a type, so every column of a CSV file is text until the space says what it is.
"""

import csv
import glob
import gzip
import os
import uuid
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from emdp.base.checks import without_login
from emdp.base.classes import dataclass
from emdp.base.errors import DataRuleError, UsageError, raise_alone
from emdp.base.files import ends_without_end, open_regular, read_header
from emdp.base.frames import to_polars
from emdp.tables.base import (
    CLOSED,
    DUCKDB_SEPARATOR,
    Source,
    create_view,
    quote_list,
    quote_name,
    quote_text,
    type_name,
)
from emdp.tables.engines.duckdb.instances import describing
from emdp.tables.engines.duckdb.source import DEFAULT_WAIT, DuckDBSource
from emdp.tables.files import expand_paths, file_marks, files_fingerprint, folder_keys, place_marks, state_marks
from emdp.tables.headers import own_names, value_among
from emdp.tables.registry import frame_opener, named_table

__all__ = [
    "CLOSED",
    "DEFAULT_WAIT",
    "DUCKDB_SEPARATOR",
    "CsvSource",
    "DuckDBSource",
    "FrameSource",
    "ParquetSource",
    "Source",
    "open_source",
    "quote_name",
    "quote_text",
    "type_name",
]

CSV_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET_SUFFIXES = (".parquet", ".pq")

LONGEST_ROW = 2_000_000
"""Bytes of a row of a CSV file: what DuckDB takes at most by itself."""

LARGEST_MILLISECONDS = 2**53
"""Largest time from 1970, on either side; as microseconds it fits 64 bits (and lies 285,000 years away)."""


@dataclass(frozen=True)
class ParquetSource(Source):
    """Parquet files: one path, a folder with all below it, or a pattern such as ``visits/*/*.parquet``.

    Their columns are what stands in the files; ``week=2026-W47`` in a folder's name makes none.
    """

    pattern: str
    default_name: str
    is_opened_anew: ClassVar[bool] = True

    def paths(self) -> list[str]:
        """Return the files that the pattern names now, sorted."""
        return expand_paths(self.pattern, PARQUET_SUFFIXES, may_have_log=True)

    def schema(self) -> dict[str, str]:
        import duckdb

        with describing() as connection:
            relation = f"read_parquet({quote_list(self.paths()[:1])}, hive_partitioning = false)"
            try:
                rows = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
            except duckdb.Error:
                raise_alone(_unreadable(self.pattern, "a Parquet file"))
        return {row[0]: row[1] for row in rows}

    def check_files(self, columns: Sequence[str]) -> None:
        # DuckDB would convert a later file's columns to the first one's types, and round 0.6 and 1.4 to one user.
        paths = self.paths()
        if len(paths) == 1:
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            schemas = [pq.read_schema(path) for path in paths]
        except (pa.ArrowException, OSError):
            raise_alone(_unreadable(self.pattern, "a Parquet file"))
        first, *others = (dict(zip(schema.names, schema.types, strict=True)) for schema in schemas)
        for kinds in others:
            for column in columns:
                if kinds.get(column) != first.get(column):
                    raise DataRuleError(
                        f"source {self.pattern!r} has files that differ in column {column!r}; write all with the "
                        "same columns and types."
                    )

    def folder_columns(self) -> tuple[str, ...]:
        return _folder_columns(self.paths)

    def fingerprint(self) -> str:
        return files_fingerprint(self.paths())

    def marks(self) -> tuple[list[str], list[str], list[str]]:
        return (*file_marks(self.paths()), state_marks(self.paths()))

    def places(self) -> list[str]:
        return place_marks(self.paths())

    def attach(self, connection: Any, view: str = "source_rows") -> list[str]:
        paths = self.paths()
        create_view(connection, f"read_parquet({quote_list(paths)}, hive_partitioning = false)", view)
        return paths


@dataclass(frozen=True)
class CsvSource(Source):
    """CSV or TSV files; every column is text until the space converts it."""

    # pattern, default_name: As of every source.
    pattern: str
    default_name: str
    # Whether the first row of every file has the names of the columns; without one they are `column1`, `column2`, ...
    # None: it has, and a row that looks like a record is refused.
    header: bool | None = None
    is_text: ClassVar[bool] = True
    is_opened_anew: ClassVar[bool] = True

    def paths(self) -> list[str]:
        """Return the files that the pattern names now, sorted."""
        return expand_paths(self.pattern, CSV_SUFFIXES)

    def schema(self) -> dict[str, str]:
        names = self.names()
        self.check_names(names)
        return dict.fromkeys(names, "VARCHAR")

    def names(self) -> list[str]:
        """Return the names of the columns, as they stand in the first file or are given to it."""
        return self._header(self.paths()[0])

    def check_names(self, names: Iterable[str], *, where: str = "in its first row") -> None:
        """Refuse names that look like values, unless the owner has said whether there is a row of names.

        Raises
        ------
        UsageError
            Naming the place of the first one, and not the text, which may be a record's.
        """
        found = value_among(names) if self.header is None else None
        if found is not None:
            raise UsageError(
                f"source {self.pattern!r} seems to have a record where the names of its columns should be ({where}, "
                f"name {found[0]} looks like {found[1]}); pass header=False (--no-header, header = false in a catalog) "
                "if it has no row of names, or header=True (--header, header = true) if these are the names."
            )

    def check_files(self, columns: Sequence[str]) -> None:
        # Columns are read by position, so every file must have them in the first one's order.
        headers = [self._header(path) for path in self.paths()]
        for path in self.paths():
            self._check_end(path)
        if any(header != headers[0] for header in headers):
            raise DataRuleError(
                f"source {self.pattern!r} has files with different header rows; write all with the same columns."
            )

    def folder_columns(self) -> tuple[str, ...]:
        return _folder_columns(self.paths)

    def fingerprint(self) -> str:
        # One row more is a record then.
        return files_fingerprint(self.paths(), "" if self.header is not False else "no header")

    def marks(self) -> tuple[list[str], list[str], list[str]]:
        return (*file_marks(self.paths()), state_marks(self.paths()))

    def places(self) -> list[str]:
        return place_marks(self.paths())

    def attach(self, connection: Any, view: str = "source_rows") -> list[str]:
        paths = self.paths()
        names = list(self.schema())
        has_names = "false" if self.header is False else "true"
        columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in names)
        # DuckDB 2.0 pushes a TRY_CAST that is a column's only use into the CSV reader, where text that is no number
        # is an error; a comparison between the two (no text of a CSV file is chr(0)) keeps the cast, and its NULL,
        # where it was written.
        texts = ", ".join(f"NULLIF({quote_name(name)}, chr(0)) AS {quote_name(name)}" for name in names)
        create_view(
            connection,
            f"read_csv({quote_list(paths)}, auto_detect = false, header = {has_names}, delim = "
            f"{quote_text(self._delimiter())}, quote = '\"', escape = '\"', columns = {{{columns}}})",
            view,
            columns=texts,
        )
        return paths

    def _header(self, path: str) -> list[str]:
        try:
            with open_regular(path) as file, gzip.open(file) if path.endswith(".gz") else file as content:
                header = read_header(content, self._delimiter())
        except OSError as error:
            raise_alone(_unreadable(self.pattern, "a CSV file", error.strerror))
        except (EOFError, UnicodeError, csv.Error, zlib.error):
            raise_alone(_unreadable(self.pattern, "a CSV file"))
        if header and self.header is False:
            return own_names(len(header))
        if not header or len(set(header)) != len(header) or not all(header):
            raise UsageError(
                f"source {self.pattern!r} needs a header row of distinct, non-empty names; add one to the file, or "
                "pass header=False (--no-header, header = false in a catalog) if it has none."
            )
        return header

    def _check_end(self, path: str) -> None:
        # DuckDB 2.0 leaves out a last row that is longer than its buffer and has no end, and says nothing.
        try:
            with open_regular(path) as file:
                if path.endswith(".gz"):
                    with gzip.open(file) as content:
                        is_long = ends_without_end(content, LONGEST_ROW)
                else:
                    file.seek(max(0, os.fstat(file.fileno()).st_size - LONGEST_ROW))
                    is_long = ends_without_end(file, LONGEST_ROW)
        except (OSError, EOFError, zlib.error):
            raise_alone(_unreadable(self.pattern, "a CSV file"))
        if is_long:
            raise_alone(_unreadable(self.pattern, "a CSV file", "its last row has no end"))

    def _delimiter(self) -> str:
        return "\t" if ".tsv" in os.path.basename(self.pattern) else ","


@dataclass(frozen=True, eq=False)
class FrameSource(Source):
    """A frame in memory, held as an Arrow table."""

    is_opened_anew: ClassVar[bool] = True
    table: Any
    default_name: str = "data"
    version: str = field(default_factory=lambda: uuid.uuid4().hex)

    def schema(self) -> dict[str, str]:
        with describing() as connection:
            connection.register("source_frame", self.table)
            rows = connection.execute("DESCRIBE SELECT * FROM source_frame").fetchall()
        return {row[0]: row[1] for row in rows}

    def fingerprint(self) -> str:
        return f"frame:{self.version}"

    def attach(self, connection: Any, view: str = "source_rows") -> list[str]:
        connection.from_arrow(self.table).create_view(f"{view}_frame")
        create_view(connection, f"{view}_frame", view)
        return []


def open_source(source: object, *, wait: float = DEFAULT_WAIT, header: bool | None = None) -> Source:
    """Return the source that a caller named: a path, a pattern, ``"file.duckdb::table"``, ``"spark::table"``, a frame.

    Parameters
    ----------
    source : path or frame
        As for :func:`emdp.read`.
    wait : float
        Seconds to wait for a DuckDB file that another process has open for writing.
    header : bool, optional
        Of CSV files, whether their first row has the names of the columns.

    Raises
    ------
    UsageError
        If the address is remote, the file is absent, its kind is unknown, or a header is declared of no CSV file.

    >>> open_source({"user": [1], "x": [0.5]}).schema()
    {'user': 'BIGINT', 'x': 'DOUBLE'}
    """
    if header is not None and not isinstance(header, bool):
        raise UsageError(f"header must be True or False, not {type(header).__name__}; pass one, or leave it out.")
    opened = _opened(source, wait)
    if header is None:
        return opened
    if not isinstance(opened, CsvSource):
        raise UsageError("header says whether a CSV file has a row of names, and the source is none; leave it out.")
    return replace(opened, header=header)


def _opened(source: object, wait: float) -> Source:
    if isinstance(source, Source):
        return source
    if isinstance(source, os.PathLike | str):
        return _open_path(os.fspath(source), wait)
    opener = frame_opener(source)
    if opener is not None:
        return opener.open_frame(source)
    return FrameSource(_loadable(to_polars("source", source)).to_arrow())


def _open_path(text: str, wait: float) -> Source:
    shown = repr(without_login(text))
    if "://" in text:
        raise UsageError(
            f"source {shown} is a remote address; records must not travel, so copy the file here and pass its path."
        )
    named = named_table(text)
    if named is not None:
        opener, name = named
        return opener.open_table(name)
    path, separator, table = text.partition(DUCKDB_SEPARATOR)
    if separator:
        if not path or not table:
            raise UsageError(f"source {shown} must be FILE.duckdb::TABLE; name both the file and the table.")
        # DuckDB attaches what it reads there as a folder and a file in it.
        if os.sep == "/" and "\\" in os.path.abspath(path):
            raise UsageError(f"source {shown} has a backslash in its path, which DuckDB takes for a slash; rename it.")
        return DuckDBSource(os.path.abspath(path), table, default_name=table.split(".")[-1], wait=wait)
    lowered = text.lower()
    if lowered.endswith(CSV_SUFFIXES):
        return CsvSource(os.path.abspath(text), _default_name(text))
    if lowered.endswith(PARQUET_SUFFIXES) or os.path.isdir(text):
        return ParquetSource(os.path.abspath(text), _default_name(text))
    if not Path(text).suffix and not os.path.exists(text):
        raise UsageError(f"source {shown} does not exist; check the path.")
    raise UsageError(
        f"source {shown} is of no known kind; pass a .parquet or .csv file, a folder of Parquet files, "
        "FILE.duckdb::TABLE, or a frame."
    )


def _loadable(frame: pl.DataFrame) -> pl.DataFrame:
    # DuckDB reads zoned milliseconds as microseconds, and fails at times that do not fit; to it they are no times.
    for name, kind in frame.schema.items():
        if isinstance(kind, pl.Datetime) and kind.time_unit == "ms" and kind.time_zone:
            series = frame.get_column(name)
            fits = series.to_physical().is_between(-LARGEST_MILLISECONDS, LARGEST_MILLISECONDS)
            kept = series.zip_with(fits.fill_null(value=False), pl.Series([None], dtype=kind))
            frame = frame.with_columns(kept.dt.cast_time_unit("us").alias(name))
    return frame


def _default_name(text: str) -> str:
    """Return the stem of the file, or the name of the folder above patterns and folders such as week=2026-W47."""
    path = Path(text)
    stem = path.name.split(".")[0]
    if not glob.has_magic(path.name) and "=" not in stem:
        return stem
    above = (folder.name for folder in path.parents)
    return next((name for name in above if name and not glob.has_magic(name) and "=" not in name), "data")


def _folder_columns(paths: Callable[[], list[str]]) -> tuple[str, ...]:
    try:
        return folder_keys(paths())
    except UsageError:
        # The data may not be at hand, where the owner declared its columns.
        return ()


def _unreadable(pattern: str, kind: str, reason: str | None = None) -> DataRuleError:
    told = f" ({reason})" if reason else ""
    return DataRuleError(f"source {pattern!r} cannot be read as {kind}{told}; check that the file is whole.")
