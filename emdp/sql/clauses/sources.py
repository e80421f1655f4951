"""FROM: the private table, sub-queries and WITH that keep one row a record, and the filters that come with them."""

from collections.abc import Mapping

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError
from emdp.sql.clauses.aggregates import is_aggregate
from emdp.sql.clauses.conditions import where_conditions
from emdp.sql.clauses.joins import joined
from emdp.sql.context import Context, identifier, near, one_by_name, unwrapped
from emdp.sql.names.checking import checked
from emdp.sql.names.columns import Computed, Condition, Resolved
from emdp.sql.names.scope import Scope, Source, private_sources
from emdp.sql.values.scalar import Scalars

__all__ = ["scope_of"]

Filter = tuple[Condition, exp.Expr]


@dataclass(frozen=True, eq=False)
class Derived:
    """A sub-query that keeps one row a record."""

    columns: Mapping[str, Resolved]
    filters: tuple[Filter, ...]


def scope_of(context: Context, select: exp.Select, outer: Mapping[str, Derived] | None = None) -> Scope:
    """Return what names mean under the FROM, WITH and JOIN of a SELECT."""
    tables = dict(outer or {})
    with_ = select.args.get("with_")
    own: set[str] = set()
    for cte in () if with_ is None else with_.expressions:
        name = cte.alias.lower()
        if name in own:
            raise context.refusal(
                cte, f"two sub-queries are named {cte.alias}", remedy="give one another name", code="duplicate-name"
            )
        own.add(name)
        tables[name] = _derived(context, cte.this, tables)
    scope = _first(context, select.args["from_"].this, tables)
    for join in select.args.get("joins") or ():
        if isinstance(join.this, exp.Table) and join.this.name.lower() in tables:
            raise context.refusal(
                join.this,
                "only a declared public table can be joined, no sub-query",
                remedy="join the public table itself, and filter its columns in WHERE",
                code="join-table",
            )
        scope = joined(context, scope, join)
    return scope


def _first(context: Context, node: exp.Expr, tables: Mapping[str, Derived]) -> Scope:
    names = context.names
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
        derived = _derived(context, node.this, tables)
        return Scope(context, (Source(node.alias or "(sub-query)", derived.columns),), derived.filters)
    if node.name.lower() in tables:
        derived = tables[node.name.lower()]
        return Scope(context, (Source(node.alias or node.name, derived.columns),), derived.filters)
    if one_by_name(node.name, [names.table]):
        return Scope(context, private_sources(names, node.alias or names.table))
    raise _unknown_table(context, node, tables)


def _unknown_table(context: Context, node: exp.Expr, tables: Mapping[str, Derived]) -> SqlError:
    names = context.names
    if one_by_name(node.name, names.public):
        return context.refusal(
            node,
            f"{node.name} is a public table, and an answer is about the private one",
            remedy=f"write FROM {identifier(names.table)} JOIN {identifier(node.name)} USING (..)",
            code="public-table",
        )
    if one_by_name(node.name, names.linked):
        own = identifier(names.table)
        only = "this aggregate" if context.is_user_level else "EMD_PRIVACY"
        other = "COUNT, SUM or AVG" if context.is_user_level else "WITH USER_PRIVACY OPTIONS (epsilon = 1.0)"
        return context.refusal(
            node,
            f"{node.name} is linked to {names.table}, and {only} is of {names.table} alone",
            remedy=f"write {other}, or FROM {own}",
            code="linked-table",
        )
    known = [names.table, *tables, *names.public]
    alike = near(node.name, known)
    return context.refusal(
        node,
        f"there is no table {node.name}",
        remedy=f"write {' or '.join(map(identifier, alike))}"
        if alike
        else f"the private table is {identifier(names.table)}",
        code="unknown-table",
    )


def _derived(context: Context, select: exp.Select, tables: Mapping[str, Derived]) -> Derived:
    for name in ("group", "order", "limit", "offset"):
        if select.args.get(name) is not None:
            raise _no_rows(context, select.args[name])
    scope = scope_of(context, select, tables)
    where = select.args.get("where")
    own = () if where is None else where_conditions(Scalars(context, scope), where.this)
    columns: dict[str, Resolved] = {}
    for node in select.expressions:
        for name, meaning in _output(context, scope, node):
            if one_by_name(name, columns):
                raise context.refusal(
                    node,
                    f"the sub-query has two columns {name}",
                    remedy="give one an alias",
                    code="duplicate-name",
                )
            columns[name] = meaning
    return Derived(columns, (*scope.filters, *own))


def _output(context: Context, scope: Scope, node: exp.Expr) -> list[tuple[str, Resolved]]:
    if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
        return _all_columns(context, scope, node)
    inner = unwrapped(node.this if isinstance(node, exp.Alias) else node)
    for part in inner.walk():
        if isinstance(part, exp.Anonymous) and is_aggregate(part.name):
            raise _no_rows(context, part)
    meaning = scope.column(inner)
    if meaning is not None:
        return [(node.alias or (inner.name if isinstance(inner, exp.Column) else context.text(inner)), meaning)]
    if not isinstance(node, exp.Alias):
        raise context.refusal(
            node,
            f"{context.text(node)} has no name in the sub-query",
            remedy=f"write {context.text(node)} AS name",
            code="subquery-name",
        )
    expression = Scalars(context, scope).number(inner)
    checked(context, expression, inner)
    return [(node.alias, Computed(node.alias, expression))]


def _all_columns(context: Context, scope: Scope, node: exp.Expr) -> list[tuple[str, Resolved]]:
    sources = scope.sources
    if isinstance(node, exp.Column):
        sources = tuple(source for source in sources if source.name.lower() == node.table.lower())
    if not sources:
        raise context.refusal(node, "this names no table's columns", remedy="write * or table.*", code="star")
    return [
        (name, meaning) for source in sources for name, meaning in source.columns.items() if name not in source.keys
    ]


def _no_rows(context: Context, node: exp.Expr) -> SqlError:
    return context.refusal(
        node,
        "a sub-query that does not keep one row a record mixes the records of several users",
        remedy="use a sub-query for columns and WHERE alone, as in FROM (SELECT price * 2 AS p FROM "
        f"{context.names.table} WHERE ..), and aggregate outside",
        code="subquery-mixes-users",
    )
