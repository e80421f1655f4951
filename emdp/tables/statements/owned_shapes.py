"""Groups, windows, marks and unions of rows with owners as SQL, each within the rows of one user.

The owner stands first in every GROUP BY, every PARTITION BY, and in the condition under every EXISTS: here, and not
because a statement says so (:mod:`emdp.questions.owned.relations`).
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.questions.owned.relations import Grouped, Marked, United, Windowed
from emdp.questions.owned.summaries import Window
from emdp.rows.nodes import Column
from emdp.rows.types import Kind
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.owned_summaries import Layers, comparable, summary_layers, window_layers
from emdp.tables.statements.rows import DUCKDB_ROWS, RowsWriting

__all__ = ["OWNER", "OwnedRows", "grouped_rows", "marked_rows", "same_owner", "united_rows", "windowed_rows"]

OWNER = "owner"
"""Name of the column that says whose row it is."""


@dataclass(frozen=True, eq=False)
class OwnedRows:
    """Rows under construction: what follows FROM, conditions, what columns are called, and whose rows they are.

    Of rows of a list of users the owner is text, ``has_text_owner``; else it is what the private table holds.
    """

    source: Sql
    owner: Sql | None
    known: Mapping[Column, Sql]
    joins: tuple[exp.Join, ...] = ()
    conditions: tuple[Sql, ...] = ()
    has_text_owner: bool = False

    def column(self, column: Column) -> Sql:
        return self.known[column].copy()

    def select(self, named: Mapping[str, Sql]) -> exp.Select:
        made = sql.select(named, self.source)
        for join in self.joins:
            made = made.join(join, copy=False)
        return made.where(sql.both(self.conditions), copy=False) if self.conditions else made


def same_owner(left: OwnedRows, right: OwnedRows) -> Sql:
    """Return whether two rows are of one user."""
    if left.owner is None or right.owner is None:
        raise InternalError("rows that nobody owns were compared by their owner; please report this.")
    owners = left.owner.copy(), right.owner.copy()
    if left.has_text_owner or right.has_text_owner:
        return sql.compare(sql.cast(owners[0], "TEXT"), "=", sql.cast(owners[1], "TEXT"))
    return sql.compare(owners[0], "=", owners[1])


def grouped_rows(relation: Grouped, inner: OwnedRows, writing: RowsWriting = DUCKDB_ROWS) -> OwnedRows:
    """Return a row for each user and values of the keys; of public rows for the values alone."""
    layers = [summary_layers(summary, inner.column, writing) for _, summary in relation.summaries]
    keys = {f"column_{place}": comparable(node, inner.column, writing) for place, (_, node) in enumerate(relation.keys)}
    held = {**_owned(inner.owner), **keys}
    rows = inner.select({**held, **_arguments(layers)}).subquery("ungrouped", copy=False)
    kept = {name: sql.column(name) for name in held}
    if not kept:
        raise InternalError("public rows were to be grouped without a key; please report this.")
    grouped = sql.select({**kept, **_raw(layers)}, rows)
    grouped = grouped.group_by(*(own.copy() for own in kept.values()), copy=False)
    name = f"grouped_{relation.alias}"
    values = {f"value_{place}": value for place, value in enumerate(_values(layers))}
    made = sql.select({**{own: sql.column(own) for own in kept}, **values}, grouped.subquery("groups", copy=False))
    known = {
        Column(relation.alias, own, node.kind): sql.column(f"column_{place}", name)
        for place, (own, node) in enumerate(relation.keys)
    }
    known |= {
        Column(relation.alias, own, summary.kind): sql.column(f"value_{place}", name)
        for place, (own, summary) in enumerate(relation.summaries)
    }
    return _renamed(made, name, known, inner)


def windowed_rows(relation: Windowed, inner: OwnedRows, writing: RowsWriting = DUCKDB_ROWS) -> OwnedRows:
    """Return the rows with values among rows of the same user."""
    layers = [window_layers(window, inner.column, writing) for _, window in relation.windows]
    held, names = _held(inner)
    partitions: dict[str, Sql] = {}
    orders: dict[str, Sql] = {}
    for place, (_, window) in enumerate(relation.windows):
        partitions |= {
            f"partition_{place}_{own}": writing.row_expression(node, inner.column)
            for own, node in enumerate(window.partition)
        }
        orders |= {
            f"order_{place}_{own}": writing.row_expression(node, inner.column)
            for own, (node, _, _) in enumerate(window.order)
        }
    rows = inner.select({**held, **_arguments(layers), **partitions, **orders}).subquery("unwindowed", copy=False)
    ties = _ties(names)
    windows = {
        f"raw_{place}_{own}": _window(relation.windows[place][1], place, raw, ties)
        for place, own, raw in _each_raw(layers)
    }
    kept = {name: sql.column(name) for name in held}
    seen = sql.select({**kept, **windows}, rows).subquery("windows", copy=False)
    name = f"windowed_{relation.alias}"
    values = {f"value_{place}": value for place, value in enumerate(_values(layers))}
    made = sql.select({**{own: sql.column(own) for own in held}, **values}, seen)
    known = {column: sql.column(own, name) for column, own in names.items()}
    known |= {
        Column(relation.alias, own, window.kind): sql.column(f"value_{place}", name)
        for place, (own, window) in enumerate(relation.windows)
    }
    return _renamed(made, name, known, inner)


def marked_rows(relation: Marked, inner: OwnedRows, other: OwnedRows, writing: RowsWriting = DUCKDB_ROWS) -> OwnedRows:
    """Return the rows with a column more: whether the other relation has a row that fits, of the same user if owned."""
    conditions = [] if other.owner is None else [same_owner(inner, other)]
    if relation.condition is not None:
        known = {**inner.known, **other.known}
        conditions.append(writing.row_expression(relation.condition, lambda column: known[column].copy()))
    found = other.select({"one": sql.integer(1)})
    if conditions:
        found = found.where(sql.both(conditions), copy=False)
    held, names = _held(inner)
    name = f"marked_{relation.alias}"
    made = inner.select({**held, "found": exp.Exists(this=found)})
    columns = {column: sql.column(own, name) for column, own in names.items()}
    return _renamed(made, name, {**columns, relation.found: sql.column("found", name)}, inner)


def united_rows(relation: United, inner: OwnedRows, other: OwnedRows, writing: RowsWriting = DUCKDB_ROWS) -> OwnedRows:
    """Return the rows of both, one after the other."""
    is_text = inner.has_text_owner or other.has_text_owner
    sides = []
    for rows, columns in ((inner, relation.columns), (other, relation.others)):
        owner = rows.owner if rows.owner is None or not is_text else sql.cast(rows.owner.copy(), "TEXT")
        named = {
            f"column_{place}": writing.row_expression(node, rows.column) for place, (_, node) in enumerate(columns)
        }
        sides.append(rows.select({**_owned(owner), **named}))
    name = f"united_{relation.alias}"
    known = {
        Column(relation.alias, own, node.kind): sql.column(f"column_{place}", name)
        for place, (own, node) in enumerate(relation.columns)
    }
    union = exp.Union(this=sides[0], expression=sides[1], distinct=False)
    owner = None if inner.owner is None else sql.column(OWNER, name)
    return OwnedRows(exp.Subquery(this=union, alias=_alias(name)), owner, known, has_text_owner=is_text)


def _window(window: Window, place: int, raw: Sql, ties: Sequence[Sql]) -> Sql:
    partition = [sql.column(OWNER), *(sql.column(f"partition_{place}_{own}") for own in range(len(window.partition)))]
    order = [
        exp.Ordered(this=sql.column(f"order_{place}_{own}"), desc=is_descending, nulls_first=is_first)
        for own, (_, is_descending, is_first) in enumerate(window.order)
    ]
    if window.needs_total_order:
        order += [exp.Ordered(this=own.copy(), desc=False, nulls_first=False) for own in ties]
    spec = None
    if window.frame is not None:
        (start, start_side), (end, end_side) = _end(window.frame[0], "PRECEDING"), _end(window.frame[1], "FOLLOWING")
        spec = exp.WindowSpec(kind="ROWS", start=start, start_side=start_side, end=end, end_side=end_side)
    ordered = exp.Order(expressions=order) if order else None
    return exp.Window(this=raw, partition_by=partition, order=ordered, spec=spec, over="OVER")


def _end(offset: int | None, side: str) -> tuple[str | Sql, str | None]:
    if offset is None:
        return "UNBOUNDED", side
    if offset == 0:
        return "CURRENT ROW", None
    return sql.integer(abs(offset)), "PRECEDING" if offset < 0 else "FOLLOWING"


def _ties(names: Mapping[Column, str]) -> list[Sql]:
    """Return what makes an order of rows total: all columns, and of a DOUBLE its text, which tells -0.0 from 0.0."""
    found = []
    for column, name in names.items():
        found.append(sql.column(name))
        if column.kind is Kind.DOUBLE:
            found.append(sql.cast(sql.column(name), "TEXT"))
    return found


def _held(inner: OwnedRows) -> tuple[dict[str, Sql], dict[Column, str]]:
    """Return all columns of rows, the owner among them, and what they are called."""
    columns = sorted(inner.known, key=lambda column: (column.table, column.name))
    names = {column: f"column_{place}" for place, column in enumerate(columns)}
    return {**_owned(inner.owner), **{name: inner.column(column) for column, name in names.items()}}, names


def _owned(owner: Sql | None) -> dict[str, Sql]:
    return {} if owner is None else {OWNER: owner.copy()}


def _arguments(layers: Sequence[Layers]) -> dict[str, Sql]:
    return {f"argument_{place}": own.argument for place, own in enumerate(layers) if own.argument is not None}


def _each_raw(layers: Sequence[Layers]) -> list[tuple[int, int, Sql]]:
    return [
        (place, number, raw)
        for place, own in enumerate(layers)
        for number, raw in enumerate(own.aggregates(sql.column(f"argument_{place}")))
    ]


def _raw(layers: Sequence[Layers]) -> dict[str, Sql]:
    return {f"raw_{place}_{number}": raw for place, number, raw in _each_raw(layers)}


def _values(layers: Sequence[Layers]) -> list[Sql]:
    numbers: dict[int, list[Sql]] = {}
    for place, number, _ in _each_raw(layers):
        numbers.setdefault(place, []).append(sql.column(f"raw_{place}_{number}"))
    return [own.value(numbers[place]) for place, own in enumerate(layers)]


def _renamed(made: exp.Select, name: str, known: Mapping[Column, Sql], inner: OwnedRows) -> OwnedRows:
    owner = None if inner.owner is None else sql.column(OWNER, name)
    return OwnedRows(made.subquery(name, copy=False), owner, known, has_text_owner=inner.has_text_owner)


def _alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))
