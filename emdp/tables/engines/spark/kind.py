"""Spark as the table of engines knows it: its DataFrames, and tables that are named ``"spark::visits"``."""

import sys
from typing import TYPE_CHECKING

from emdp.tables.base import Source
from emdp.tables.engines.kind import EngineKind

if TYPE_CHECKING:
    from emdp.tables.engines.base import Engine
    from emdp.tables.facts import TableFacts
    from emdp.tables.statements.rules import Breach

__all__ = ["KIND", "SparkOpener"]


class SparkOpener:
    """Opens DataFrames and tables of Spark; Spark is loaded with the first one."""

    def is_frame(self, source: object) -> bool:
        """Say whether something is a Spark DataFrame.

        >>> SparkOpener().is_frame({"x": [1]})
        False
        """
        module = sys.modules.get("pyspark.sql")
        return module is not None and isinstance(source, module.DataFrame)

    def open_frame(self, frame: object) -> Source:
        from emdp.tables.engines.spark.source import open_frame

        return open_frame(frame)

    def open_table(self, table: str) -> Source:
        from emdp.tables.engines.spark.source import SparkSource

        return SparkSource(table=table, default_name=table.rsplit(".", maxsplit=1)[-1])

    def is_same(self, one: object, other: object) -> bool:
        from emdp.tables.engines.spark.source import is_same_rows

        return is_same_rows(one, other)

    def comparable(self, one: str, other: str) -> tuple[str, str]:
        """Return as many last parts of the names as both have.

        Spark looks for a name without its database in the current one, which may be that of the other.

        >>> SparkOpener().comparable("visits", "city.visits")
        ('visits', 'visits')
        """
        depth = min(one.count("."), other.count(".")) + 1
        return ".".join(one.split(".")[-depth:]), ".".join(other.split(".")[-depth:])


def _make() -> "Engine":
    from emdp.tables.engines.spark.engine import SparkEngine

    return SparkEngine()


def _broken_links(table: "TableFacts") -> "tuple[Breach, ...]":
    from emdp.tables.engines.spark.links import broken_links

    return broken_links(table)


KIND = EngineKind(_make, SparkOpener(), _broken_links)
