"""DuckDB as the table of engines knows it: it reads files, and frames in memory, that no other engine has."""

from typing import TYPE_CHECKING

from emdp.tables.engines.kind import EngineKind

if TYPE_CHECKING:
    from emdp.tables.engines.base import Engine

__all__ = ["KIND"]


def _make() -> "Engine":
    from emdp.tables.engines.duckdb.engine import DuckDBEngine

    return DuckDBEngine()


KIND = EngineKind(_make)
