"""One statement that is read of many small tables: DuckDB plans it once, and not for each table again."""

import itertools
from collections.abc import Sequence
from typing import Any

import duckdb

from emdp.tables.engines.duckdb.execution import DIALECT

__all__ = ["ManyTables"]

PLANNED = 8
"""Of so many tables one is also read as a session does, with all that DuckDB does to make a statement fast."""


class ManyTables:
    """A statement, and a table of records of these columns, as ``"u BIGINT, k VARCHAR"``, that is written anew."""

    def __init__(self, statement: Any, columns: str) -> None:
        self.text = statement.query.sql(DIALECT, identify=True)
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute(f"CREATE TABLE source_rows ({columns})")
        self.places = f"({', '.join('?' * (columns.count(',') + 1))})"
        self.plain = self.connection.cursor()
        for name, frame in statement.lookups.items():
            # What is registered is seen by one connection alone.
            self.connection.register(name, frame)
            self.plain.register(name, frame)
        self.connection.execute("PRAGMA disable_optimizer")
        self.connection.execute(f"PREPARE planned AS {self.text}")
        self.count = 0

    def rows(self, records: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Return what the statement gives of a table of these records."""
        self.connection.execute("DELETE FROM source_rows")
        if records:
            places = ", ".join([self.places] * len(records))
            self.connection.execute(f"INSERT INTO source_rows VALUES {places}", list(itertools.chain(*records)))
        found = self.connection.execute("EXECUTE planned").fetchall()
        if self.count % PLANNED == 0:
            assert sorted(map(repr, self.plain.execute(self.text).fetchall())) == sorted(map(repr, found))
        self.count += 1
        return found

    @property
    def columns(self) -> list[str]:
        """Names of what was read last."""
        return [name for name, *_ in self.connection.description]
