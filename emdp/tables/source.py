"""Where rows come from: Parquet or CSV files, a table of a DuckDB file, or a frame in memory.

A source looks at public metadata only: names, types, sizes and times of files. It never reads a record, not even
to guess a type, so every column of a CSV file is text until the space says what it is.
"""

import csv
import glob
import gzip
import os
import uuid
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from emdp.errors import DataRuleError, UsageError, raise_alone
from emdp.frames import to_polars
from emdp.tables.base import (
    CLOSED,
    DUCKDB_SEPARATOR,
    Source,
    create_view,
    is_spark_frame,
    quote_list,
    quote_name,
    quote_text,
    spark_table,
    type_name,
)
from emdp.tables.duckdb_source import DEFAULT_WAIT, DuckDBSource
from emdp.tables.files import expand_paths, files_fingerprint, folder_keys
from emdp.tables.instances import describing

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

LARGEST_MILLISECONDS = 2**53
"""Of a time from 1970, on either side; as microseconds it fits 64 bits (and lies 285,000 years away)."""


@dataclass(frozen=True)
class ParquetSource(Source):
    """Parquet files: one path, a folder with all below it, or a pattern such as ``visits/*/*.parquet``.

    Their columns are what stands in the files; ``week=2026-W47`` in a folder's name makes none.
    """

    pattern: str
    default_name: str

    def paths(self) -> list[str]:
        """Return the files that the pattern names now, sorted."""
        return expand_paths(self.pattern, PARQUET_SUFFIXES)

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

    def attach(self, connection: Any) -> list[str]:
        paths = self.paths()
        create_view(connection, f"read_parquet({quote_list(paths)}, hive_partitioning = false)")
        return paths


@dataclass(frozen=True)
class CsvSource(Source):
    """CSV or TSV files with a header row; every column is text until the space converts it."""

    pattern: str
    default_name: str
    is_text: ClassVar[bool] = True

    def paths(self) -> list[str]:
        """Return the files that the pattern names now, sorted."""
        return expand_paths(self.pattern, CSV_SUFFIXES)

    def schema(self) -> dict[str, str]:
        return dict.fromkeys(self._header(self.paths()[0]), "VARCHAR")

    def check_files(self, columns: Sequence[str]) -> None:
        # Columns are read by position, so every file must have them in the first one's order.
        headers = [self._header(path) for path in self.paths()]
        if any(header != headers[0] for header in headers):
            raise DataRuleError(
                f"source {self.pattern!r} has files with different header rows; write all with the same columns."
            )

    def folder_columns(self) -> tuple[str, ...]:
        return _folder_columns(self.paths)

    def fingerprint(self) -> str:
        return files_fingerprint(self.paths())

    def attach(self, connection: Any) -> list[str]:
        paths = self.paths()
        names = list(self.schema())
        columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in names)
        # DuckDB 2.0 pushes a TRY_CAST that is a column's only use into the CSV reader, where text that is no number
        # is an error; a comparison between the two (no text of a CSV file is chr(0)) keeps the cast, and its NULL,
        # where it was written.
        texts = ", ".join(f"NULLIF({quote_name(name)}, chr(0)) AS {quote_name(name)}" for name in names)
        create_view(
            connection,
            f"read_csv({quote_list(paths)}, auto_detect = false, header = true, delim = "
            f"{quote_text(self._delimiter())}, quote = '\"', escape = '\"', columns = {{{columns}}})",
            columns=texts,
        )
        return paths

    def _header(self, path: str) -> list[str]:
        opener = gzip.open if path.endswith(".gz") else open
        try:
            with opener(path, "rt", encoding="utf-8-sig", newline="") as stream:
                header = next(csv.reader(stream, delimiter=self._delimiter()), None)
        except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error):
            raise_alone(_unreadable(self.pattern, "a CSV file"))
        if not header or len(set(header)) != len(header) or not all(header):
            raise UsageError(
                f"source {self.pattern!r} needs a header row of distinct, non-empty names; add one to the file."
            )
        return header

    def _delimiter(self) -> str:
        return "\t" if ".tsv" in os.path.basename(self.pattern) else ","


@dataclass(frozen=True, eq=False)
class FrameSource(Source):
    """A frame in memory, held as an Arrow table."""

    table: Any
    default_name: str = "data"
    version: str = field(default_factory=lambda: uuid.uuid4().hex)

    def schema(self) -> dict[str, str]:
        with describing() as connection:
            self.attach(connection)
            rows = connection.execute("DESCRIBE SELECT * FROM source_rows").fetchall()
        return {row[0]: row[1] for row in rows}

    def fingerprint(self) -> str:
        return f"frame:{self.version}"

    def attach(self, connection: Any) -> list[str]:
        connection.register("source_frame", self.table)
        create_view(connection, "source_frame")
        return []


def open_source(source: object, *, wait: float = DEFAULT_WAIT) -> Source:
    """Return the source that a caller named: a path, a pattern, ``"file.duckdb::table"``, ``"spark::table"``, a frame.

    Parameters
    ----------
    source : path or frame
        As for :func:`emdp.read`.
    wait : float
        Seconds to wait for a DuckDB file that another process has open for writing.

    Raises
    ------
    UsageError
        If the address is remote, the file is absent, or its kind is unknown.

    >>> open_source({"user": [1], "x": [0.5]}).schema()
    {'user': 'BIGINT', 'x': 'DOUBLE'}
    """
    if isinstance(source, os.PathLike | str):
        return _open_path(os.fspath(source), wait)
    if is_spark_frame(source):
        # Loaded where it is needed.
        from emdp.tables.spark_source import open_frame

        return open_frame(source)
    return FrameSource(_loadable(to_polars("source", source)).to_arrow())


def _open_path(text: str, wait: float) -> Source:
    if "://" in text:
        raise UsageError(
            f"source {text!r} is a remote address; records must not travel, so copy the file here and pass its path."
        )
    name = spark_table(text)
    if name is not None:
        from emdp.tables.spark_source import SparkSource

        return SparkSource(table=name, default_name=name.split(".")[-1])
    path, separator, table = text.partition(DUCKDB_SEPARATOR)
    if separator:
        if not path or not table:
            raise UsageError(f"source {text!r} must be FILE.duckdb::TABLE; name both the file and the table.")
        return DuckDBSource(os.path.abspath(path), table, default_name=table.split(".")[-1], wait=wait)
    lowered = text.lower()
    if lowered.endswith(CSV_SUFFIXES):
        return CsvSource(os.path.abspath(text), _default_name(text))
    if lowered.endswith(PARQUET_SUFFIXES) or os.path.isdir(text):
        return ParquetSource(os.path.abspath(text), _default_name(text))
    if not Path(text).suffix and not os.path.exists(text):
        raise UsageError(f"source {text!r} does not exist; check the path.")
    raise UsageError(
        f"source {text!r} is of no known kind; pass a .parquet or .csv file, a folder of Parquet files, "
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


def _unreadable(pattern: str, kind: str) -> DataRuleError:
    return DataRuleError(f"source {pattern!r} cannot be read as {kind}; check that the file is whole.")
