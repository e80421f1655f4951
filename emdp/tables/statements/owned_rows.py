"""Relations with owners as SQL: their rows, whose they are, and what their columns are called there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from sqlglot import exp

from emdp.base.errors import InternalError, UsageError
from emdp.questions.owned.relations import Derived, Filtered, Joined, Private, Public, Relation
from emdp.rows.nodes import Column
from emdp.spaces import Space, Words
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.compile import USER, item_rows, name_in_items
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.rows import DUCKDB_ROWS, RowsWriting

__all__ = ["OWNER", "OwnedRows", "RowsMaker", "public_type"]

OWNER = "owner"
"""Name of the column that says whose row it is."""

MOST_LABELS = 1_000
"""Labels of a column that are written into a statement."""

PUBLIC_TYPES: Mapping[Any, str] = {
    pl.Int8: "TINYINT",
    pl.Int16: "SMALLINT",
    pl.Int32: "INTEGER",
    pl.Int64: "BIGINT",
    pl.UInt8: "UTINYINT",
    pl.UInt16: "USMALLINT",
    pl.UInt32: "UINTEGER",
    pl.UInt64: "UBIGINT",
    pl.Boolean: "BOOLEAN",
    pl.String: "VARCHAR",
    pl.Date: "DATE",
    pl.Float32: "FLOAT",
    pl.Float64: "DOUBLE",
    pl.Categorical: "VARCHAR",
    pl.Enum: "VARCHAR",
}
"""Types of columns of public tables, times and decimals aside."""


@dataclass(frozen=True, eq=False)
class OwnedRows:
    """Rows under construction: what follows FROM, conditions, what columns are called, and whose rows they are."""

    source: Sql
    owner: Sql | None
    known: Mapping[tuple[str, str], Sql]
    joins: tuple[exp.Join, ...] = ()
    conditions: tuple[Sql, ...] = ()

    def column(self, column: Column) -> Sql:
        return self.known[column.table, column.name].copy()

    def select(self, named: Mapping[str, Sql]) -> exp.Select:
        made = sql.select(named, self.source)
        for join in self.joins:
            made = made.join(join, copy=False)
        return made.where(sql.both(self.conditions), copy=False) if self.conditions else made


@dataclass(frozen=True, eq=False)
class RowsMaker:
    """Relations to rows."""

    table: TableFacts
    public: Mapping[str, pl.DataFrame]
    used: Mapping[str, tuple[str, ...]]
    writing: RowsWriting = DUCKDB_ROWS
    lookups: dict[str, pl.DataFrame] = field(default_factory=dict)

    def rows(self, relation: Relation) -> OwnedRows:
        if isinstance(relation, Private):
            return self._private(relation)
        if isinstance(relation, Public):
            return self._public(relation)
        inner = self.rows(relation.relation)
        if isinstance(relation, Filtered):
            condition = self.writing.row_expression(relation.condition, inner.column)
            return OwnedRows(inner.source, inner.owner, inner.known, inner.joins, (*inner.conditions, condition))
        if isinstance(relation, Derived):
            return self._derived(relation, inner)
        return self._joined(relation, inner)

    def _joined(self, relation: Joined, inner: OwnedRows) -> OwnedRows:
        other = self.rows(relation.other)
        if other.joins or other.conditions:
            raise InternalError("a public relation with conditions of its own must be derived; please report this.")
        both = OwnedRows(inner.source, inner.owner, {**inner.known, **other.known})
        condition = (
            exp.true() if relation.condition is None else self.writing.row_expression(relation.condition, both.column)
        )
        join = exp.Join(this=other.source, side="LEFT" if relation.is_left else "", on=condition)
        return OwnedRows(inner.source, inner.owner, both.known, (*inner.joins, join), inner.conditions)

    def _derived(self, relation: Derived, inner: OwnedRows) -> OwnedRows:
        name = f"derived_{relation.alias}"
        named = {
            f"column_{place}": self.writing.row_expression(node, inner.column)
            for place, (_, node) in enumerate(relation.columns)
        }
        known = {
            (relation.alias, own): sql.column(f"column_{place}", name)
            for place, (own, _) in enumerate(relation.columns)
        }
        owner = None
        if inner.owner is not None:
            named[OWNER], owner = inner.owner.copy(), sql.column(OWNER, name)
        return OwnedRows(inner.select(named).subquery(name, copy=False), owner, known)

    def _private(self, relation: Private) -> OwnedRows:
        name = f"private_{relation.alias}"
        rows, values = _private_rows(self.table, self.used.get(relation.alias, ()), self.writing)
        named = {f"column_{place}": value for place, value in enumerate(values.values())}
        made = sql.select({OWNER: sql.column(USER), **named}, rows.subquery("records", copy=False))
        known = {(relation.alias, own): sql.column(f"column_{place}", name) for place, own in enumerate(values)}
        return OwnedRows(made.subquery(name, copy=False), sql.column(OWNER, name), known)

    def _public(self, relation: Public) -> OwnedRows:
        name = f"public_{relation.alias}"
        frame = self.public[relation.source]
        own = self.used.get(relation.alias, ())
        kept = [frame.get_column(column).alias(f"column_{place}") for place, column in enumerate(own)]
        # Rows count, also where nobody names a column of them.
        self.lookups[name] = pl.DataFrame(kept or [pl.Series("none", [1] * len(frame), dtype=pl.Int64)])
        known = {
            (relation.alias, column): self.writing.read_as(
                sql.column(f"column_{place}", name), public_type(frame.schema[column])
            )
            for place, column in enumerate(own)
        }
        return OwnedRows(exp.to_table(name), None, known)


def public_type(dtype: Any) -> str:
    """Return the DuckDB type of a column of a public table.

    >>> public_type(pl.Int32()), public_type(pl.Datetime("us"))
    ('INTEGER', 'TIMESTAMP')
    """
    if isinstance(dtype, pl.Datetime):
        return "TIMESTAMP WITH TIME ZONE" if dtype.time_zone else "TIMESTAMP"
    if isinstance(dtype, pl.Decimal):
        return f"DECIMAL({dtype.precision},{dtype.scale})"
    return PUBLIC_TYPES.get(dtype.base_type(), str(dtype))


def _private_rows(table: TableFacts, names: Sequence[str], writing: RowsWriting) -> tuple[exp.Select, dict[str, Sql]]:
    """Return the records with their user, and what the columns are read as: those of the space after its rule."""
    space = table.space
    if any(isinstance(part, Words) for part in space.parts):
        raise UsageError(
            "records of a table of texts are words, which user-level statements do not read; ask EMD_PRIVACY."
        )
    cleaned = {
        name: (index, part)
        for index, part in enumerate(space.parts)
        for name in part.columns
        if name in names and (part.on_invalid != "error" or table.source.is_text) and part.labels is None
    }
    others = {name: f"own_{place}" for place, name in enumerate(names) if name not in cleaned}
    rows = item_rows(table, sorted({index for index, _ in cleaned.values()}), others=others)
    values: dict[str, Sql] = {}
    for name in names:
        if name in cleaned:
            index, part = cleaned[name]
            values[name] = sql.column(name_in_items(index, name, part))
        else:
            values[name] = _label(writing.read_as(sql.column(others[name]), table.schema[name]), name, space)
    return rows, values


def _label(value: Sql, name: str, space: Space) -> Sql:
    """Return a column; of a listed part with a rule for invalid items its neutral label for them."""
    part = next((own for own in space.parts if name in own.columns and own.labels is not None), None)
    if part is None or part.on_invalid == "error":
        return value
    labels = list(part.labels or ())
    if len(labels) > MOST_LABELS or not all(type(label) is str for label in labels):
        raise UsageError(
            f"column {name!r} has a rule for invalid labels that is not applied here; declare "
            "on_invalid='error', or clean it."
        )
    neutral = part.decode(part.neutral_item)[name][0]
    is_known = exp.In(this=value, expressions=[sql.text(label) for label in labels])
    return sql.case([(is_known, value.copy())], sql.text(neutral))
