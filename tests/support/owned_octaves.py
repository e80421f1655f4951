"""Octaves of one user's rows as the engine counts them, for tests of caps that are chosen from octaves."""

from collections.abc import Iterable

import duckdb

import emdp
from emdp.questions.owned.octaves import OwnedOctaves
from emdp.tables.engines.duckdb.execution import DIALECT
from emdp.tables.statements.owned import owned_coordinates, owned_statement

__all__ = ["bins_of"]


def bins_of(octaves: OwnedOctaves, keys: Iterable[str | None]) -> list[int]:
    """Return the octaves of one user whose rows have these keys ``k``, by the statement itself."""
    table = emdp.read({"u": [1], "k": ["a"]}, user="u", space=emdp.Categories("k", ["a", "b", "c"]), users=1, name="t")
    statement = owned_statement(table, octaves)
    connection = duckdb.connect()
    for name, frame in statement.lookups.items():
        connection.register(name, frame)
    connection.execute("CREATE TABLE source_rows (u BIGINT, k VARCHAR)")
    for key in keys:
        connection.execute("INSERT INTO source_rows VALUES (1, ?)", [key])
    # Rows of nobody count nowhere.
    connection.execute("INSERT INTO source_rows VALUES (NULL, 'a'), (NULL, 'z')")
    found = owned_coordinates(octaves, connection.execute(statement.query.sql(DIALECT, identify=True)).fetchall())
    octaves.check(1, found)
    return [int(count) for count in found]
