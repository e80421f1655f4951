"""DuckDB as the table of engines knows it: it reads files, and frames in memory, that no other engine has."""

from typing import TYPE_CHECKING

from emdp.tables.engines.kind import EngineKind

if TYPE_CHECKING:
    from emdp.tables.engines.base import Engine
    from emdp.tables.facts import TableFacts
    from emdp.tables.statements.rules import Breach

__all__ = ["KIND"]


def _make() -> "Engine":
    from emdp.tables.engines.duckdb.engine import DuckDBEngine

    return DuckDBEngine()


def _broken_links(table: "TableFacts") -> "tuple[Breach, ...]":
    from emdp.tables.engines.duckdb.links import broken_links

    return broken_links(table)


KIND = EngineKind(_make, broken_links=_broken_links)
