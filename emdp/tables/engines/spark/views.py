"""Views of rows over tables of Spark, from the same nodes as those over files (:mod:`emdp.tables.views`)."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from emdp.base.frames import DAY_MICROSECONDS
from emdp.rows.nodes import Column, Node
from emdp.rows.types import Kind
from emdp.rows.view import RowView
from emdp.tables.base import check_types
from emdp.tables.engines.spark.names import check_functions
from emdp.tables.engines.spark.rows import DIALECT, read_as, row_expression
from emdp.tables.engines.spark.source import SparkSource
from emdp.tables.statements.fragments import Sql

__all__ = ["SparkViewSource"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SparkViewSource(SparkSource):
    """Rows of a view of a DataFrame or table of Spark.

    Parameters
    ----------
    view : RowView
        What it makes of each row.
    types : mapping of str to str
        Columns of the table and their DuckDB types, for which the view was written.
    kinds : mapping of Kind to str
        DuckDB's type of each kind.
    """

    view: RowView
    types: Mapping[str, str] = field(repr=False)
    kinds: Mapping[Kind, str] = field(repr=False)

    def __repr__(self) -> str:
        return f"SparkViewSource({self.default_name!r})"

    def schema(self) -> dict[str, str]:
        return {name: self.kinds[node.kind] for name, node in self.view.columns}

    def check_files(self, columns: Sequence[str]) -> None:
        del columns
        check_types(super().schema(), self.types, self.view.reads)

    def fingerprint(self) -> str:
        told = f"{super().fingerprint()} {self.view.digest}"
        return f"view:{hashlib.sha256(told.encode()).hexdigest()}"

    @property
    def view_digest(self) -> str | None:
        return self.view.digest

    def rows(self, schema: Mapping[str, str]) -> Any:
        return self._made(super().rows(self._read()), schema)

    def no_rows(self, schema: Mapping[str, str]) -> Any:
        return self._made(super().no_rows(self._read()), schema)

    def _read(self) -> dict[str, str]:
        return {name: self.types[name] for name in self.view.reads}

    def _made(self, rows: Any, schema: Mapping[str, str]) -> Any:
        """Return the declared columns of the view, times and dates in microseconds as those of any source."""
        made = {name: self._text(node) for name, node in self.view.columns if name in schema}
        condition = None if self.view.condition is None else self._text(self.view.condition)
        check_functions(rows.sparkSession, " ".join([*made.values(), condition or ""]))
        if condition is not None:
            rows = rows.where(condition)
        return rows.selectExpr(
            *(f"{text} AS {exp.to_identifier(name, quoted=True).sql(DIALECT)}" for name, text in made.items())
        )

    def _text(self, node: Node) -> str:
        def column(own: Column) -> Sql:
            return read_as(exp.column(own.name, quoted=True), self.types[own.name])

        text = row_expression(node, column).sql(DIALECT, identify=True)
        return f"TRY_MULTIPLY({text}, {DAY_MICROSECONDS}L)" if node.kind is Kind.DATE else text
