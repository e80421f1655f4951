"""Octaves of one user's rows as the engine counts them, for tests of caps that are chosen from octaves."""

from collections.abc import Iterable
from functools import lru_cache

from owned_bags import ManyTables

import emdp
from emdp.questions.owned.octaves import OwnedOctaves
from emdp.tables.statements.owned import owned_coordinates, owned_statement

__all__ = ["bins_of"]


@lru_cache(1)
def _tables_of(octaves: OwnedOctaves) -> ManyTables:
    table = emdp.read({"u": [1], "k": ["a"]}, user="u", space=emdp.Categories("k", ["a", "b", "c"]), users=1, name="t")
    return ManyTables(owned_statement(table, octaves), "u BIGINT, k VARCHAR")


def bins_of(octaves: OwnedOctaves, keys: Iterable[str | None]) -> list[int]:
    """Return the octaves of one user whose rows have these keys ``k``, by the statement itself."""
    # Rows of nobody count nowhere.
    rows = _tables_of(octaves).rows([*((1, key) for key in keys), (None, "a"), (None, "z")])
    found = owned_coordinates(octaves, rows)
    octaves.check(1, found)
    return [int(count) for count in found]
