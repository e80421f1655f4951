"""Relations with owners as SQL: their rows, whose they are, and what their columns are called there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.questions.owned.parts import relations
from emdp.questions.owned.relations import (
    Derived,
    Filtered,
    Grouped,
    Joined,
    Marked,
    Private,
    Public,
    Relation,
    United,
    UserList,
    Windowed,
)
from emdp.rows.nodes import Call, Column, Node, parts, replaced
from emdp.spaces import Space, Words
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.bags import BROKEN, DIGEST, broken_test, finite_parts, label_tables, record_hash
from emdp.tables.statements.compile import elsewhere_parts, item_rows, label_text, lookup_join, name_in_items
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.owned_links import with_owner
from emdp.tables.statements.owned_shapes import (
    OWNER,
    OwnedRows,
    grouped_rows,
    marked_rows,
    same_owner,
    united_rows,
    windowed_rows,
)
from emdp.tables.statements.rows import DUCKDB_ROWS, RowsWriting
from emdp.tables.statements.spelled import Columns

__all__ = ["OWNER", "OwnedRows", "RowsMaker", "local_times", "public_type"]

THERE = "is_there"
"""Name of a column of public tables that is never NULL."""

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
class RowsMaker:
    """Relations to rows; with ``is_checked`` no record is left out or doubled (:mod:`.owned_rules`)."""

    table: TableFacts
    public: Mapping[str, pl.DataFrame]
    used: Mapping[str, tuple[Column, ...]]
    as_written: RowsWriting = DUCKDB_ROWS
    times: Mapping[Node, Column] = field(default_factory=dict)
    lookups: dict[str, pl.DataFrame] = field(default_factory=dict)
    is_checked: bool = False

    @property
    def writing(self) -> RowsWriting:
        """How functions of a row are written where local times of private columns are columns (:func:`local_times`)."""
        if not self.times:
            return self.as_written
        own = self.as_written

        def row_expression(node: Node, columns: Columns) -> Sql:
            return own.row_expression(replaced(node, self.times), columns)

        def summand(node: Node, columns: Columns, low: float, high: float, bits: int) -> Sql:
            return own.summand(replaced(node, self.times), columns, low, high, bits)

        return replace(own, row_expression=row_expression, summand=summand)

    def rows(self, relation: Relation) -> OwnedRows:
        if isinstance(relation, Private):
            return self._private(relation)
        if isinstance(relation, Public):
            return self._public(relation)
        if isinstance(relation, UserList):
            return self._user_list(relation)
        inner = self.rows(relation.relation)
        if isinstance(relation, Filtered):
            condition = self.writing.row_expression(relation.condition, inner.column)
            return replace(inner, conditions=(*inner.conditions, condition))
        if isinstance(relation, Derived):
            return self._derived(relation, inner)
        if isinstance(relation, Grouped):
            return grouped_rows(relation, inner, self.writing)
        if isinstance(relation, Windowed):
            return windowed_rows(relation, inner, self.writing)
        other = self.rows(relation.other)
        if isinstance(relation, Marked):
            return marked_rows(relation, inner, other, self.writing)
        if isinstance(relation, United):
            return united_rows(relation, inner, other, self.writing)
        return self._joined(relation, inner, other)

    def _joined(self, relation: Joined, inner: OwnedRows, other: OwnedRows) -> OwnedRows:
        if other.joins or other.conditions:
            raise InternalError("a relation with conditions of its own must be derived; please report this.")
        both = replace(inner, known={**inner.known, **other.known})
        conditions = [] if other.owner is None else [same_owner(inner, other)]
        if relation.condition is not None:
            conditions.append(self.writing.row_expression(relation.condition, both.column))
        condition = sql.both(conditions) if conditions else exp.true()
        if self.is_checked and not relation.is_left and isinstance(relation.other, Public):
            there = sql.negate(sql.is_null(sql.column(THERE, f"public_{relation.other.alias}")))
            both = replace(both, conditions=(*both.conditions, there))
        is_left = relation.is_left or self.is_checked
        join = exp.Join(this=other.source, side="LEFT" if is_left else "", on=condition)
        return replace(both, joins=(*inner.joins, join))

    def _derived(self, relation: Derived, inner: OwnedRows) -> OwnedRows:
        name = f"derived_{relation.alias}"
        named = {
            f"column_{place}": self.writing.row_expression(node, inner.column)
            for place, (_, node) in enumerate(relation.columns)
        }
        known = {
            Column(relation.alias, own, node.kind): sql.column(f"column_{place}", name)
            for place, (own, node) in enumerate(relation.columns)
        }
        owner = None
        if inner.owner is not None:
            named[OWNER], owner = inner.owner.copy(), sql.column(OWNER, name)
        made = inner.select(named).subquery(name, copy=False)
        return OwnedRows(made, owner, known, has_text_owner=inner.has_text_owner)

    def _private(self, relation: Private) -> OwnedRows:
        name = f"private_{relation.alias}"
        used = self.used.get(relation.alias, ())
        own = self.table.private_tables()[relation.source or self.table.name]
        rows, values = _private_rows(own, [column.name for column in used], self.writing, is_checked=self.is_checked)
        named = {f"column_{place}": value for place, value in enumerate(values.values())}
        if self.is_checked:
            named |= {BROKEN: broken_test(own.space), DIGEST: record_hash(own.space)}
        made = with_owner(self.table, own, named, rows)
        if self.is_checked:
            finite = finite_parts(own.space, range(len(own.space.parts)))
            self.lookups.update(label_tables(own.space, finite))
            for index in finite:
                made = made.join(lookup_join(index), copy=False)
        places = {own: place for place, own in enumerate(values)}
        known = {column: sql.column(f"column_{places[column.name]}", name) for column in used}
        times = {call: column for call, column in self.times.items() if column.table == relation.alias}
        if times:
            # A layer of their own: what a time is read as is long, and named at each transition.
            held: dict[str, Sql] = {own: sql.column(own) for own in (OWNER, *named)}
            for place, (call, column) in enumerate(times.items()):
                held[f"time_{place}"] = self.as_written.row_expression(
                    call, lambda own: sql.column(f"column_{places[own.name]}")
                )
                known[column] = sql.column(f"time_{place}", name)
            made = sql.select(held, made.subquery(f"{name}_as_read", copy=False))
        return OwnedRows(made.subquery(name, copy=False), sql.column(OWNER, name), known)

    def _public(self, relation: Public) -> OwnedRows:
        name = f"public_{relation.alias}"
        frame = self.public[relation.source]
        own = self.used.get(relation.alias, ())
        kept = [frame.get_column(column.name).alias(f"column_{place}") for place, column in enumerate(own)]
        # Rows count, also where nobody names a column of them.
        if self.is_checked or not kept:
            kept.append(pl.Series(THERE, [1] * len(frame), dtype=pl.Int64))
        self.lookups[name] = pl.DataFrame(kept)
        known = {
            column: self.writing.read_as(sql.column(f"column_{place}", name), public_type(frame.schema[column.name]))
            for place, column in enumerate(own)
        }
        return OwnedRows(exp.to_table(name), None, known)

    def _user_list(self, relation: UserList) -> OwnedRows:
        if self.table.users.keys is None:
            raise UsageError("users must be a table where a list of users is read; declare it.")
        rows = self._public(relation.public)
        return replace(rows, owner=sql.cast(rows.column(relation.key), "TEXT"), has_text_owner=True)


def local_times(nodes: Iterable[Node], relation: Relation) -> dict[Node, Column]:
    """Return the local times of columns of private tables among functions of a row, each with a column that names it.

    One is a nest of some hundred transitions, and what uses it may name it several times.
    """
    private = {one.alias for one in relations(relation) if isinstance(one, Private)}
    found: dict[Node, Column] = {}
    for part in (part for node in nodes for part in parts(node)):
        if isinstance(part, Call) and part.function == "local_time":
            instant, zone = part.arguments
            if isinstance(instant, Column) and instant.table in private:
                # No statement names a column so.
                found[part] = Column(instant.table, f"{instant.name}\0{zone}", part.kind)
    return found


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


def _private_rows(
    table: TableFacts, names: Sequence[str], writing: RowsWriting, *, is_checked: bool = False
) -> tuple[exp.Select, dict[str, Sql]]:
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
    gone = elsewhere_parts(space)
    for index in gone:
        if space.parts[index].labels is not None:
            others.setdefault(space.parts[index].columns[0], f"label_{index}")
    parts = {*(index for index, _ in cleaned.values()), *_continuous(space, gone)}
    every = range(len(space.parts)) if is_checked else sorted(parts)
    rows = item_rows(table, every, flags=is_checked, others=others)
    for index in gone:
        rows = _without_absent(rows, index, space.parts[index], others)
    values: dict[str, Sql] = {}
    for name in names:
        if name in cleaned:
            index, part = cleaned[name]
            values[name] = sql.column(name_in_items(index, name, part))
        else:
            value = writing.read_as(sql.column(others[name]), table.schema[name])
            # Whose row it is stands in the user's column as it is, whatever item a rule makes of it.
            values[name] = value if name == table.user else _label(value, name, space)
    return rows, values


def _continuous(space: Space, indexes: Iterable[int]) -> list[int]:
    return [index for index in indexes if space.parts[index].labels is None]


def _without_absent(rows: exp.Select, index: int, part: Space, others: Mapping[str, str]) -> exp.Select:
    """Leave out the records that a part takes elsewhere: whatever is asked of the rows, they are none of them."""
    test: Sql
    if part.labels is None:
        test = sql.column(f"valid_{index}")
    else:
        if len(part.labels) > MOST_LABELS:
            raise UsageError(
                f"column {part.columns[0]!r} lists more than {MOST_LABELS} values, and a record of none of them is "
                "elsewhere, which is not looked up here; ask EMD_PRIVACY, or declare on_invalid='error'."
            )
        label = sql.cast(sql.column(others[part.columns[0]]), "TEXT")
        test = exp.In(this=label, expressions=[sql.text(label_text(own)) for own in part.labels])
    return exp.select("*").from_(rows.subquery("all_records", copy=False)).where(test, copy=False)


def _label(value: Sql, name: str, space: Space) -> Sql:
    """Return a column; of a listed part with a rule for invalid items its neutral label for them."""
    part = next((own for own in space.parts if name in own.columns and own.labels is not None), None)
    if part is None or part.on_invalid in ("error", "elsewhere"):
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
