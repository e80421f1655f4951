"""Public lists of keys as tables that are joined: which rows of users and groups are in listed cells."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from sqlglot import exp

from emdp.questions.owned.totals import Key
from emdp.rows.types import Kind
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql

__all__ = ["CELL", "in_cells", "lists", "on_lists"]

CELL = "cell"

DTYPES: Mapping[Kind, Any] = {
    Kind.BOOLEAN: pl.Boolean,
    Kind.BIGINT: pl.Int64,
    Kind.TEXT: pl.String,
    Kind.DATE: pl.Date,
    Kind.TIMESTAMP: pl.Datetime("us"),
}
"""Types of listed keys."""


def lists(keys: Sequence[Key]) -> dict[str, pl.DataFrame]:
    """Return the lists of keys under the names by which they are joined."""
    return {f"listed_{place}": _listed(key) for place, key in enumerate(keys) if key.is_listed}


def in_cells(by_user: exp.Select, keys: Sequence[Key]) -> exp.Select:
    """Return the rows of a user and group with the number of their cell; of groups that are not listed none."""
    kept = [name for name in by_user.named_selects if not name.startswith("key_")]
    cell: Sql | None = None
    made = sql.select({name: sql.column(name) for name in kept}, by_user.subquery("by_user", copy=False))
    for place, key in enumerate(keys):
        name = f"listed_{place}"
        index = sql.column("place", name)
        cell = index if cell is None else sql.add(sql.multiply(cell, sql.integer(len(key.values))), index)
        made = made.join(_listed_join(place, key), copy=False)
    return made.select(exp.alias_(sql.integer(0) if cell is None else cell, CELL, quoted=True), copy=False)


def on_lists(by_user: exp.Select, keys: Sequence[Key]) -> exp.Select:
    """Return the rows of a user and group whose listed keys are on their lists, with their keys."""
    made = sql.select(
        {name: sql.column(name, "by_user") for name in by_user.named_selects}, by_user.subquery("by_user", copy=False)
    )
    for place, key in enumerate(keys):
        if key.is_listed:
            made = made.join(_listed_join(place, key), copy=False)
    return made


def _listed_join(place: int, key: Key) -> exp.Join:
    """Return the join of rows ``by_user`` with the list of a key, which leaves out what is not listed."""
    name = f"listed_{place}"
    sides = sql.column(f"key_{place}", "by_user"), sql.column("value", name)
    kind = exp.NullSafeEQ if None in key.values else exp.EQ
    return exp.Join(this=exp.to_table(name), on=kind(this=sides[0], expression=sides[1]))


def _listed(key: Key) -> pl.DataFrame:
    values = pl.Series("value", list(key.values), dtype=DTYPES[key.node.kind])
    return pl.DataFrame([values, pl.Series("place", range(len(values)), dtype=pl.Int64)])
