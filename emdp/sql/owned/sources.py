"""FROM, JOIN and WHERE of a statement to a relation whose rows have owners, and what names in it mean."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.questions.owned.relations import Derived, Filtered, Joined, Private, Public, Relation, relations
from emdp.rows.building import call
from emdp.rows.nodes import Column, Node
from emdp.sql.context import Context, identifier, listed, near, one_by_name
from emdp.sql.owned.scalars import Reader

__all__ = ["Scope", "check_names", "read_from"]

Tables = Mapping[str, exp.Select]
"""Sub-queries of WITH by name, in small letters."""


@dataclass(frozen=True, eq=False)
class Scope:
    """A relation, and its columns by the name of their table.

    Parameters
    ----------
    context : Context
        The statement.
    relation : Relation
        The rows.
    tables : tuple of (str, mapping of str to Column)
        Tables in the order of the text.
    hidden : frozenset of str
        Columns that USING makes one: they need no name of a table.
    """

    context: Context
    relation: Relation
    tables: tuple[tuple[str, Mapping[str, Column]], ...]
    shared: Mapping[str, Column]

    @property
    def reader(self) -> Reader:
        """What reads scalar SQL here."""
        return Reader(self.context, self.column)

    def column(self, node: exp.Column) -> Column:
        """Return what a column of the tree means.

        Raises
        ------
        SqlError
            If no table has it, or two have.
        """
        name, table = node.name, node.table
        tables = [own for own in self.tables if not table or own[0].lower() == table.lower()]
        if table and not tables:
            raise self.context.refusal(
                node,
                f"there is no table {table} in this statement",
                remedy=f"write {' or '.join(identifier(own) for own, _ in self.tables)}",
                code="unknown-table",
            )
        if not table and name.lower() in self.shared:
            return self.shared[name.lower()]
        found = [own[key] for _, own in tables for key in one_by_name(name, own)]
        if len(found) == 1:
            return found[0]
        if found:
            raise self.context.refusal(
                node, f"{name} is a column of several tables", remedy="write the table before it", code="ambiguous"
            )
        if one_by_name(name, self.context.names.user_columns):
            raise self.context.refusal(
                node,
                f"{name} is a public column of users, which stands in WHERE and GROUP BY of plain columns alone",
                remedy="declare the list of users as a public table, and join it on "
                f"{identifier(self.context.names.user)}",
                code="user-column",
            )
        every = [key for _, own in tables for key in own]
        alike = near(name, every)
        raise self.context.refusal(
            node,
            f"there is no column {name}",
            remedy=f"write {' or '.join(map(identifier, alike))}" if alike else f"the columns are {listed(every)}",
            code="unknown-column",
        )


def read_from(context: Context, select: exp.Select, outer: Tables | None = None) -> Scope:
    """Return the relation of a SELECT: its FROM and WITH, joins in their order, then WHERE.

    Raises
    ------
    SqlError
        If a table is unknown, or rows would have no owner, or two.
    """
    tables = dict(outer or {})
    with_ = select.args.get("with_")
    for cte in () if with_ is None else with_.expressions:
        if cte.alias.lower() in tables:
            raise context.refusal(
                cte, f"two sub-queries are named {cte.alias}", remedy="give one another name", code="duplicate-name"
            )
        tables[cte.alias.lower()] = _plain(context, cte.this)
    scope = _source(context, select.args["from_"].this, tables)
    for join in select.args.get("joins") or ():
        scope = _joined(context, scope, join, tables)
    where = select.args.get("where")
    if where is None:
        return scope
    condition = scope.reader.condition(where.this)
    return Scope(context, Filtered(scope.relation, condition), scope.tables, scope.shared)


def check_names(scope: Scope, written: exp.Expr) -> None:
    """Check that no name stands for two relations, one of them within a sub-query: columns are known by these names.

    Raises
    ------
    SqlError
        If one does.
    """
    seen: set[str] = set()
    for relation in relations(scope.relation):
        if isinstance(relation, Filtered | Joined):
            continue
        if relation.alias.lower() in seen:
            raise scope.context.refusal(
                written,
                f"{relation.alias} names two tables of the statement, one of them in a sub-query",
                remedy=f"give the sub-query another name, such as {identifier(relation.alias + '_rows')}",
                code="duplicate-alias",
            )
        seen.add(relation.alias.lower())


def _source(context: Context, node: exp.Expr, tables: Tables) -> Scope:
    if isinstance(node, exp.Subquery):
        return _derived(context, _plain(context, node.this), node.alias or "sub-query", tables)
    if not isinstance(node, exp.Table):
        raise context.refusal(
            node, "this is no table", remedy="write FROM and the name of a declared table", code="unknown-table"
        )
    name, names = node.name, context.names
    alias = node.alias or name
    if name.lower() in tables:
        inner = {key: own for key, own in tables.items() if key != name.lower()}
        return _derived(context, tables[name.lower()], alias, inner)
    if one_by_name(name, [names.table]):
        columns = {own: Column(alias, own, kind) for own, kind in names.kinds.items()}
        return Scope(context, Private(alias), ((alias, columns),), {})
    found = one_by_name(name, names.public)
    if len(found) == 1:
        columns = {own: Column(alias, own, kind) for own, kind in names.public_kinds.get(found[0], {}).items()}
        return Scope(context, Public(alias, found[0]), ((alias, columns),), {})
    known = [names.table, *tables, *names.public]
    alike = near(name, known)
    raise context.refusal(
        node,
        f"there is no table {name}",
        remedy=f"write {' or '.join(map(identifier, alike))}" if alike else f"the tables are {listed(known)}",
        code="unknown-table",
    )


def _plain(context: Context, node: exp.Expr) -> exp.Select:
    if not isinstance(node, exp.Select):
        raise context.refusal(node, "a sub-query is one SELECT", remedy="write it as one SELECT", code="set-operation")
    return node


def _derived(context: Context, select: exp.Select, alias: str, tables: Tables) -> Scope:
    """Return the rows of a sub-query that has one for each row of what it reads."""
    for clause in ("group", "having", "order", "limit", "offset", "distinct"):
        if select.args.get(clause) is not None:
            raise context.refusal(
                select.args[clause],
                "a sub-query with this clause does not keep one row a record, and may mix users",
                remedy="use it outside, in the statement itself",
                code="subquery-mixes-users",
            )
    inner = read_from(context, select, tables)
    columns: dict[str, Node] = {}
    for entry in select.expressions:
        for name, node in _outputs(context, inner, entry):
            if one_by_name(name, columns):
                raise context.refusal(
                    entry, f"the sub-query has two columns {name}", remedy="give one an alias", code="duplicate-name"
                )
            columns[name] = node
    made = Derived(inner.relation, alias, tuple(columns.items()))
    return Scope(
        context, made, ((alias, {name: Column(alias, name, node.kind) for name, node in columns.items()}),), {}
    )


def _outputs(context: Context, scope: Scope, entry: exp.Expr) -> list[tuple[str, Node]]:
    is_table = isinstance(entry, exp.Column) and isinstance(entry.this, exp.Star)
    if is_table or isinstance(entry, exp.Star):
        wanted = entry.table.lower() if isinstance(entry, exp.Column) else ""
        return [
            (name, own)
            for table, held in scope.tables
            if not wanted or table.lower() == wanted
            for name, own in held.items()
        ]
    body = entry.this if isinstance(entry, exp.Alias) else entry
    if not entry.alias and not isinstance(body, exp.Column):
        raise context.refusal(
            entry,
            "a column of a sub-query needs a name",
            remedy=f"write {context.text(entry)} AS name",
            code="subquery-name",
        )
    return [(entry.alias or body.name, scope.reader.read(body))]


def _joined(context: Context, scope: Scope, join: exp.Join, tables: Tables) -> Scope:
    other = _source(context, join.this, tables)
    alias = other.tables[0][0]
    if any(own.lower() == alias.lower() for own, _ in scope.tables):
        raise context.refusal(
            join.this, f"{alias} is already a table of this SELECT", remedy="give it an alias", code="duplicate-alias"
        )
    refusal = _ownership(context, scope, other, join)
    if refusal is not None:
        raise refusal
    both = Scope(context, scope.relation, (*scope.tables, *other.tables), scope.shared)
    condition: Node | None = None
    shared = dict(scope.shared)
    if join.args.get("on") is not None:
        condition = both.reader.condition(join.args["on"])
    for key in join.args.get("using") or ():
        left = scope.column(exp.column(key.name))
        right = other.column(exp.column(key.name))
        test = call("equal", left, right)
        condition = test if condition is None else call("and", condition, test)
        shared[key.name.lower()] = left
    is_left = str(join.side).upper() == "LEFT"
    return Scope(context, Joined(scope.relation, other.relation, condition, is_left), both.tables, shared)


def _ownership(context: Context, scope: Scope, other: Scope, join: exp.Join) -> SqlError | None:
    """Return the refusal of a join that gives rows two owners, or none, if it does."""
    if other.relation.is_owned and scope.relation.is_owned:
        return context.refusal(
            join.this,
            "this joins records of the private table with one another, so that a row may belong to two users",
            remedy="join a public table, or ask for an expression of one record",
            code="two-users",
        )
    if not scope.relation.is_owned and other.relation.is_owned:
        side = "a public row without a record would depend on all users" if join.side else "rows are read user by user"
        return context.refusal(
            join.this,
            f"the private table stands on the right of a join, where {side}",
            remedy=f"write FROM {identifier(context.names.table)} first, then JOIN the public table",
            code="join-side",
        )
    if not scope.relation.is_owned:
        return context.refusal(
            join.this,
            "this joins public tables before the private one",
            remedy=f"write FROM {identifier(context.names.table)} first, then JOIN them",
            code="join-side",
        )
    if not isinstance(other.relation, Public):
        return context.refusal(
            join.this,
            "a sub-query cannot be joined",
            remedy="join the public table itself, and filter in ON",
            code="join-table",
        )
    return None
