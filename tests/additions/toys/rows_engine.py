"""A toy engine of lists of rows: DuckDB computes, over rows that this file keeps.

It is written as CONTRIBUTING.md, "How to add an engine", says: a source, an engine, an opener and a kind.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import polars as pl

from emdp.base.statistic import Statistic
from emdp.expressions.cells.aggregation import Aggregation
from emdp.tables.base import Source, create_view
from emdp.tables.engines.duckdb.engine import DuckDBEngine
from emdp.tables.engines.kind import EngineKind
from emdp.tables.facts import TableFacts

NAME = "rows"

TYPES = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}


@dataclass(frozen=True, eq=False)
class Rows:
    """A frame of the toy engine: rows in memory."""

    listed: Sequence[Mapping[str, Any]]


TABLES: dict[str, Rows] = {}
"""What ``"rows::visits"`` names."""


@dataclass(frozen=True, eq=False)
class RowsSource(Source):
    """Rows, as a source."""

    rows: Rows
    default_name: str = "data"
    version: str = field(default_factory=lambda: uuid.uuid4().hex)
    engine: ClassVar[str] = NAME

    def schema(self) -> dict[str, str]:
        return {name: TYPES[type(value)] for name, value in self.rows.listed[0].items()}

    def fingerprint(self) -> str:
        return f"{NAME}:{self.version}"

    def attach(self, connection: Any, view: str = "source_rows") -> list[str]:
        connection.register("listed_rows", pl.DataFrame(self.rows.listed).to_arrow())
        create_view(connection, "listed_rows", view)
        return []


class RowsEngine(DuckDBEngine):
    """DuckDB, with the number of aggregations that were computed."""

    asked: ClassVar[list[Aggregation]] = []

    def aggregate(self, table: TableFacts, aggregation: Aggregation) -> tuple[Statistic, ...]:
        self.asked.append(aggregation)
        return super().aggregate(table, aggregation)


class RowsOpener:
    """Opens rows, and the names of :data:`TABLES`."""

    def is_frame(self, source: object) -> bool:
        return isinstance(source, Rows)

    def open_frame(self, frame: object) -> Source:
        assert isinstance(frame, Rows)
        return RowsSource(frame)

    def open_table(self, table: str) -> Source:
        return RowsSource(TABLES[table], default_name=table)

    def is_same(self, one: object, other: object) -> bool:
        return isinstance(one, RowsSource) and isinstance(other, RowsSource) and one.rows is other.rows

    def comparable(self, one: str, other: str) -> tuple[str, str]:
        return one, other


KIND = EngineKind(RowsEngine, RowsOpener())
