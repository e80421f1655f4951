"""Views of an owner's files as sources: what :mod:`emdp.rows.view` makes of each row, computed where rows are read.

The view is compiled from nodes, like a statement's own functions of a row: allow-listed and deterministic, each that
may fail in a TRY of its own, under names that nothing in a file can mean otherwise. Sources are CSV and Parquet files
and frames, and what Spark reads (:mod:`emdp.tables.engines.spark.views`). A DuckDB file, which may hold macros, has
views of its own.

A table's identity has the view's text, and its data version the text and the files' facts: another view of the same
files is other data, and is held to in the ledger like the space (:mod:`emdp.budgets.declarations`).
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.rows.nodes import Column
from emdp.rows.types import Kind
from emdp.rows.view import RowView
from emdp.tables.base import Source, check_types, create_view, quote_name
from emdp.tables.source import CsvSource, FrameSource, ParquetSource
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.rows import kind_of_type, read_as, row_expression

__all__ = ["ViewSource", "source_kinds", "view_source"]

TYPES: Mapping[Kind, str] = {kind: "VARCHAR" if kind is Kind.TEXT else kind.value for kind in Kind}
"""DuckDB's type of each kind."""

SPARK = "spark"
"""Name of the engine whose views are written in its own words."""


def source_kinds(schema: Mapping[str, str]) -> dict[str, Kind]:
    """Return the columns of a source that a view reads, each with what its values are read as."""
    read = {name: kind_of_type(kind) for name, kind in schema.items()}
    return {name: kind for name, kind in read.items() if kind is not None}


def view_source(source: Source, view: RowView, types: Mapping[str, str]) -> Source:
    """Return the rows of a view of a source.

    Raises
    ------
    UsageError
        If no view can be of the source.
    """
    if source.engine != SPARK:
        return ViewSource(source, view, types)
    from emdp.tables.engines.spark.source import SparkSource
    from emdp.tables.engines.spark.views import SparkViewSource

    if not isinstance(source, SparkSource):
        raise InternalError("a view of Spark was of no source of Spark; please report it.")
    own = {"given": source.given, "table": source.table, "default_name": source.default_name, "version": source.version}
    return SparkViewSource(**own, view=view, types=types, kinds=TYPES)


@dataclass(frozen=True, eq=False)
class ViewSource(Source):
    """Rows of a view."""

    source: Source
    view: RowView
    types: Mapping[str, str]  # Columns of the source and their DuckDB types, for which the view was written

    def __post_init__(self) -> None:
        if not isinstance(self.source, CsvSource | ParquetSource | FrameSource):
            raise UsageError(
                "view is of CSV or Parquet files, or of Spark; name a view of the DuckDB file as the source itself."
            )

    @property
    def default_name(self) -> str:  # type: ignore[override]
        """Name of the table in SQL where the caller gives none."""
        return self.source.default_name

    @property
    def is_opened_anew(self) -> bool:  # type: ignore[override]
        return self.source.is_opened_anew

    def paths(self) -> list[str]:
        return self.source.paths()

    def schema(self) -> dict[str, str]:
        return {name: TYPES[node.kind] for name, node in self.view.columns}

    def check_files(self, columns: Sequence[str]) -> None:
        del columns
        self.source.check_files(self.view.reads)
        check_types(self.source.schema(), self.types, self.view.reads)

    def folder_columns(self) -> tuple[str, ...]:
        return self.source.folder_columns()

    def fingerprint(self) -> str:
        told = f"{self.source.fingerprint()} {self.view.digest}"
        return f"view:{hashlib.sha256(told.encode()).hexdigest()}"

    @property
    def view_digest(self) -> str | None:
        return self.view.digest

    def marks(self) -> tuple[list[str], list[str], list[str]]:
        return self.source.marks()

    def places(self) -> list[str]:
        return self.source.places()

    def attach(self, connection: Any, view: str = "source_rows") -> list[str]:
        inner = f"{view}_files"
        allowed = self.source.attach(connection, inner)
        known = {name: read_as(sql.column(name), self.types[name]) for name in self.view.reads}

        def column(own: Column) -> sql.Sql:
            return known[own.name].copy()

        made = {name: row_expression(node, column) for name, node in self.view.columns}
        select = sql.select(made, exp.to_table(inner))
        if self.view.condition is not None:
            select = select.where(row_expression(self.view.condition, column))
        create_view(connection, f"({select.sql('duckdb', identify=True)}) AS {quote_name('cleaned')}", view)
        return allowed
