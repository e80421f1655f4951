"""JOIN with a declared public table, on a categorical key or on the user: public columns beside the private ones.

A public table that has at most one row a key is a public function of the key, so a join on a finite part gives a
function of that part, and a join on the user gives public columns of users. Two rows of one key would count a record
twice, which is refused.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

import polars as pl
from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.spaces.listed.finite import FinitePart
from emdp.sql.context import Context, identifier, listed, near, one_by_name, unwrapped
from emdp.sql.names.columns import (
    ItemColumn,
    LookupColumn,
    PartCondition,
    Resolved,
    UserColumn,
    UserKey,
    Values,
    has_unlisted,
)
from emdp.sql.names.scope import Scope, Source

__all__ = ["joined", "public_table"]

TEXTS = (pl.String, pl.Categorical, pl.Enum)


def joined(context: Context, scope: Scope, join: exp.Join) -> Scope:
    """Return the scope with one more public table.

    Raises
    ------
    SqlError
        If the table is not public, the key is none, a key has two rows, or a row is missing where it may not be.
    """
    is_left = str(join.side).upper() == "LEFT"
    name, frame = public_table(context, join.this)
    alias = join.this.alias or name
    if one_by_name(alias, (source.name for source in scope.sources)):
        raise context.refusal(
            join.this, f"{alias} is already a table of this SELECT", remedy="give it an alias", code="duplicate-alias"
        )
    private, column = _key(context, scope, join, alias, frame)
    if isinstance(private, ItemColumn) and private.finite is not None:
        return _on_part(context, scope, join, (alias, frame, column), private, is_left=is_left)
    if isinstance(private, UserKey):
        return _on_user(context, scope, join, (alias, frame, column), is_left=is_left)
    raise context.refusal(
        _condition(join),
        "this joins on neither the user column nor a categorical column of the item space",
        remedy=f"join on {_keys(context)}",
        code="join-key",
    )


def public_table(context: Context, node: exp.Expr) -> tuple[str, pl.DataFrame]:
    """Return a declared public table by its name."""
    names = context.names
    if not isinstance(node, exp.Table):
        raise context.refusal(
            node,
            "only a declared public table can be joined",
            remedy=f"name one of the public tables: {listed(map(identifier, names.public))}",
            code="join-table",
        )
    found = one_by_name(node.name, names.public)
    if len(found) == 1:
        return found[0], names.public[found[0]]
    if one_by_name(node.name, [names.table]):
        raise context.refusal(
            node,
            f"{node.name} joined with itself pairs records, of one user or of several",
            remedy="ask for an expression of one record",
            code="self-join",
        )
    alike = near(node.name, names.public)
    raise context.refusal(
        node,
        f"{node.name} is no public table",
        remedy=f"write {' or '.join(map(identifier, alike))}"
        if alike
        else f"the public tables are: {listed(map(identifier, names.public))}",
        code="unknown-table",
    )


def _key(
    context: Context, scope: Scope, join: exp.Join, alias: str, frame: pl.DataFrame
) -> tuple[Resolved | None, str]:
    """Return what the private key means, and the public table's column."""
    using = join.args.get("using") or []
    if len(using) == 1:
        name = using[0].name
        return scope.column(exp.Column(this=using[0].copy())), _public_column(context, using[0], name, frame)
    test = unwrapped(join.args["on"]) if join.args.get("on") is not None else None
    if not isinstance(test, exp.EQ):
        raise context.refusal(
            _condition(join),
            "a join needs one key, equal on both sides",
            remedy=f"write USING (column) or ON {context.names.table}.column = {alias}.column",
            code="join-condition",
        )
    sides = [unwrapped(test.this), unwrapped(test.expression)]
    public = [side for side in sides if isinstance(side, exp.Column) and _is_of(side, scope, alias, frame)]
    if len(public) != 1 or not all(isinstance(side, exp.Column) for side in sides):
        raise context.refusal(
            test,
            f"this does not compare a column of the records with one of {alias}",
            remedy=f"write ON {context.names.table}.column = {alias}.column",
            code="join-condition",
        )
    other = sides[1] if public[0] is sides[0] else sides[0]
    return scope.column(other), _public_column(context, public[0], public[0].name, frame)


def _is_of(column: exp.Column, scope: Scope, alias: str, frame: pl.DataFrame) -> bool:
    if column.table:
        return column.table.lower() == alias.lower()
    is_private = any(one_by_name(column.name, source.columns) for source in scope.sources)
    return not is_private and bool(one_by_name(column.name, frame.columns))


def _public_column(context: Context, node: exp.Expr, name: str, frame: pl.DataFrame) -> str:
    found = one_by_name(name, frame.columns)
    if len(found) == 1:
        return found[0]
    raise context.refusal(
        node,
        f"the public table has {'no' if not found else 'several'} column{'' if not found else 's'} {name}",
        remedy=f"its columns are {listed(map(identifier, frame.columns))}",
        code="unknown-column",
    )


def _condition(join: exp.Join) -> exp.Expr:
    on = join.args.get("on")
    return on if isinstance(on, exp.Expr) else join


def _keys(context: Context) -> str:
    finite = [part.columns[0] for part in context.names.space.parts if isinstance(part, FinitePart)]
    return listed(map(identifier, [context.names.user, *finite]))


Joining = tuple[str, pl.DataFrame, str]


def _on_part(
    context: Context, scope: Scope, join: exp.Join, table: Joining, private: ItemColumn, *, is_left: bool
) -> Scope:
    alias, frame, column = table
    part = private.finite
    if part is None:
        raise _mismatch(context, join, column, "values", private.name)
    wanted = _wanted(part)
    if not _matches(frame.schema[column], wanted):
        raise _mismatch(context, join, column, wanted, private.name)
    rows = _rows_of(context, join, frame.get_column(column), part, alias)
    missing = [label for label in part.labels if label not in rows]
    if not rows or (is_left and (missing or has_unlisted(part))):
        raise _missing(context, join, alias, part, missing)
    columns: dict[str, Resolved] = {
        name: private if name == column else LookupColumn(name, part, frame.schema[name], _loader(frame, rows, name))
        for name in frame.columns
    }
    filters = scope.filters
    if missing or has_unlisted(part):
        present = Values(frozenset(rows))
        filters = (*filters, (PartCondition(part, present, ~present), join))
    return replace(scope, sources=(*scope.sources, Source(alias, columns, frozenset([column]))), filters=filters)


def _rows_of(context: Context, join: exp.Join, keys: pl.Series, part: FinitePart, alias: str) -> dict[Any, int]:
    """Return the row of each listed value that has one."""
    labels = frozenset(part.labels)
    rows: dict[Any, int] = {}
    for row, key in enumerate(keys.to_list()):
        if key in labels and rows.setdefault(key, row) != row:
            raise _several(context, join, alias, [key])
    return rows


def _loader(frame: pl.DataFrame, rows: Mapping[Any, int], name: str) -> Callable[[], Mapping[Any, Any]]:
    @cache
    def load() -> Mapping[Any, Any]:
        series = frame.get_column(name)
        values = (series.cast(pl.Float64) if isinstance(series.dtype, pl.Decimal) else series).to_list()
        return {label: values[row] for label, row in rows.items()}

    return load


def _on_user(context: Context, scope: Scope, join: exp.Join, table: Joining, *, is_left: bool) -> Scope:
    alias, frame, column = table
    users = context.names.user_frame
    if users is None:
        raise context.refusal(
            _condition(join),
            "a join on the user needs the public list of users, and only their number is public",
            remedy="have the owner declare users as a list or a table",
            code="join-users",
        )
    dtype = frame.schema[column]
    if not (dtype.is_integer() or dtype in TEXTS):
        raise _mismatch(context, join, column, "texts or whole numbers", context.names.user)
    keys = users.get_column(context.names.user).alias(column)
    texts = frame.get_column(column).cast(pl.String)
    mark = next(name for name in _marks() if name not in frame.columns)
    found = pl.Series(mark, [True], dtype=pl.Boolean).new_from_index(0, len(frame))
    own = pl.DataFrame([texts, *(frame.get_column(name) for name in frame.columns if name != column), found])
    aligned = keys.to_frame().join(own, on=column, how="left", maintain_order="left")
    if len(aligned) > len(keys):
        raise _several(context, join, alias, _twice(aligned.get_column(column)))
    missing = aligned.get_column(mark).null_count()
    if missing and not is_left:
        raise context.refusal(
            _condition(join),
            f"{alias} has no row for {missing} of {len(keys)} public users, and JOIN would leave them out",
            remedy="complete the table, or write LEFT JOIN, which keeps them with NULL",
            code="join-users-missing",
        )
    columns: dict[str, Resolved] = {
        name: UserKey(name) if name == column else UserColumn(name, aligned.get_column(name)) for name in frame.columns
    }
    return replace(scope, sources=(*scope.sources, Source(alias, columns, frozenset([column]))))


def _wanted(part: FinitePart) -> str:
    example = part.labels[0]
    return "truth values" if isinstance(example, bool) else "whole numbers" if isinstance(example, int) else "texts"


def _matches(dtype: pl.DataType, wanted: str) -> bool:
    if wanted == "texts":
        return dtype in TEXTS
    return dtype == pl.Boolean if wanted == "truth values" else dtype.is_integer()


def _mismatch(context: Context, join: exp.Join, column: str, wanted: str, private: str) -> SqlError:
    return context.refusal(
        _condition(join),
        f"the public column {column} does not hold {wanted} as {private} does, and nothing is cast unasked",
        remedy="cast it in the public table",
        code="join-types",
    )


def _marks() -> Iterator[str]:
    return (f"found_{number}" for number in count())


def _twice(keys: pl.Series) -> list[Any]:
    return keys.filter(keys.is_duplicated()).unique(maintain_order=True).to_list()


def _several(context: Context, join: exp.Join, alias: str, twice: list[Any]) -> SqlError:
    return context.refusal(
        _condition(join),
        f"{alias} has several rows for {listed(twice)}, and a record would count once for each",
        remedy="leave one row a key in the public table",
        code="join-many",
    )


def _missing(context: Context, join: exp.Join, alias: str, part: FinitePart, missing: list[Any]) -> SqlError:
    if len(missing) == len(part.labels):
        return context.refusal(
            _condition(join),
            f"{alias} has no row for any value of {part.columns[0]}",
            remedy="join on the column that holds these values",
            code="join-missing",
        )
    what = f"the values {listed(missing)}" if missing else "the neutral item, which is none of the values"
    return context.refusal(
        _condition(join),
        f"{alias} has no row for {what} of {part.columns[0]}, whose records would be left with NULL",
        remedy="complete the table, or write JOIN, which leaves those records out",
        code="join-missing",
    )
