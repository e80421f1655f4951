"""FROM, JOIN and WHERE of a statement to a relation whose rows have owners, and what names in it mean."""

from collections.abc import Sequence
from dataclasses import field, replace

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError
from emdp.questions.names import Names
from emdp.questions.owned.relations import OF_USERS, Joined, Private, Public, Relation, UserList, names_user
from emdp.rows.building import call
from emdp.rows.nodes import Call, Column, Node
from emdp.rows.types import Kind
from emdp.sql.context import Context, identifier, listed, near, one_by_name
from emdp.sql.owned.around import Around
from emdp.sql.owned.commas import has_commas, joined_in_order
from emdp.sql.owned.exists import rows_where
from emdp.sql.owned.remedies import by_one_user
from emdp.sql.owned.scopes import Scope, Tables, conjuncts, equates_users
from emdp.sql.owned.stages import Stages
from emdp.sql.owned.subqueries import read_subquery

__all__ = ["Scope", "Sources"]


@dataclass(frozen=True, eq=False)
class Sources:
    """Reads one statement's tables: FROM and WITH, joins in their order, then WHERE."""

    context: Context
    stages: Stages
    taken: set[str] = field(default_factory=set)

    @property
    def around(self) -> Around:
        """What tells answers from private rows."""
        return Around(self, self.stages)

    def apart(self) -> "Sources":
        return Sources(self.context, self.stages)

    def answer(self, query: exp.Expr, alias: str, tables: Tables, *, is_listed: bool = False) -> Scope | None:
        made = self.around.answer(query, alias, tables)
        return None if made is None else self.stages.scope(made, self.name(alias), alias, is_listed=is_listed)

    def value(self, query: exp.Expr, tables: Tables) -> Scope:
        made = self.around.value(query, "value", tables)
        name = self.name("value")
        return self.stages.scope(made, name, name, is_single=True)

    def name(self, alias: str) -> str:
        found, number = alias, 1
        while found.lower() in self.taken:
            number += 1
            found = f"{alias}_{number}"
        self.taken.add(found.lower())
        return found

    def rows(self, select: exp.Select, tables: Tables) -> Scope:
        scope, known = self.tables(select, tables)
        where = select.args.get("where")
        return scope if where is None else rows_where(self, scope, where.this, known)

    def tables(self, select: exp.Select, tables: Tables) -> tuple[Scope, Tables]:
        known = self.around.known(select, tables)
        if has_commas(select):
            nodes = (select.args["from_"].this, *(join.this for join in select.args["joins"]))
            scopes = [self.source(node, known) for node in nodes]
            for place, scope in enumerate(scopes):
                self._check_alias(scopes[:place], scope, nodes[place])
            return joined_in_order(scopes, select), known
        scope = self.source(select.args["from_"].this, known)
        for join in select.args.get("joins") or ():
            scope = self._joined(scope, join, known)
        return scope, known

    def subquery(self, query: exp.Expr, alias: str, tables: Tables) -> Scope:
        found = self.answer(query, alias, tables)
        if found is not None:
            return found
        try:
            return read_subquery(self, query, alias, tables)
        except SqlError:
            # Of public tables any SQL is read, and its rows are known.
            made = self.around.free(query, alias, tables)
            if made is None:
                raise
            return self.stages.scope(made, self.name(alias), alias)

    def source(self, node: exp.Expr, tables: Tables) -> Scope:
        context = self.context
        if isinstance(node, exp.Subquery):
            return self._named(node, node.alias or "sub-query", tables)
        if not isinstance(node, exp.Table):
            raise context.refusal(
                node, "this is no table", remedy="write FROM and the name of a declared table", code="unknown-table"
            )
        name, names = node.name, context.names
        alias = node.alias or name
        if name.lower() in tables:
            _check_no_names(context, node)
            return self._named(tables[name.lower()], alias, tables.of(name.lower()))
        _check_no_names(context, node)
        found = one_by_name(name, names.private)
        if len(found) == 1:
            own = self.name(alias)
            columns = {column: Column(own, column, kind) for column, kind in names.private[found[0]].kinds.items()}
            return Scope(context, _private(own, found[0], names), ((alias, columns),), {})
        found = one_by_name(name, names.public)
        if len(found) == 1:
            own = self.name(alias)
            columns = {column: Column(own, column, kind) for column, kind in names.public_kinds[found[0]].items()}
            return Scope(context, Public(own, found[0]), ((alias, columns),), {})
        known = [*names.private, *tables, *names.public]
        alike = near(name, known)
        raise context.refusal(
            node,
            f"there is no table {name}",
            remedy=f"write {' or '.join(map(identifier, alike))}" if alike else f"the tables are {listed(known)}",
            code="unknown-table",
        )

    def _named(self, node: exp.Expr, alias: str, tables: Tables) -> Scope:
        """Return a sub-query's rows, with the names that ``AS alias (name, ..)`` gives its columns."""
        given = node.args.get("alias")
        written: list[exp.Expr] = [] if given is None else given.args.get("columns") or []
        names = [name.name for name in written]
        if not names:
            return self.subquery(node.this, alias, tables)
        made = self.around.answer(node.this, alias, tables)
        if made is not None:
            return self.stages.scope(made, self.name(alias), alias, names=self.around.named_columns(made, given))
        scope = self.subquery(_with_aliases(node.this, names), alias, tables)
        held = scope.tables[0][1]
        if len(names) > len(held) or len({name.lower() for name in names}) < len(names):
            raise self.context.refusal(
                written[-1],
                f"{alias} has other columns than are named",
                remedy="write AS in its select list",
                code="column-aliases",
            )
        columns = dict(zip([*names, *list(held)[len(names) :]], held.values(), strict=True))
        return replace(scope, tables=((alias, columns),))

    def _check_alias(self, scopes: Sequence[Scope], other: Scope, node: exp.Expr) -> None:
        alias = other.tables[0][0]
        if any(own.lower() == alias.lower() for scope in scopes for own, _ in scope.tables):
            raise self.context.refusal(
                node,
                f"{alias} is already a table of this SELECT",
                remedy="give it an alias",
                code="duplicate-alias",
            )

    def _joined(self, scope: Scope, join: exp.Join, tables: Tables) -> Scope:
        context = self.context
        other = self.source(join.this, tables)
        self._check_alias([scope], other, join.this)
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
        relation = _as_users(context, scope.relation, other.relation, condition)
        refusal = _ownership(replace(scope, relation=relation), other, condition, join)
        if refusal is not None:
            raise refusal
        is_left = str(join.side).upper() == "LEFT"
        return replace(both, relation=Joined(relation, other.relation, condition, is_left), shared=shared)


def _with_aliases(query: exp.Expr, names: Sequence[str]) -> exp.Expr:
    """Return a query in which entries without a name have the ones that stand for them outside."""
    made = query.copy()
    first = made
    while isinstance(first, exp.Union | exp.Subquery | exp.Paren):
        first = first.this
    for entry, name in zip(list(first.expressions), names, strict=False):
        if not isinstance(entry, exp.Alias | exp.Column | exp.Star):
            named = exp.Alias(this=entry.copy(), alias=exp.to_identifier(name, quoted=True))
            named.meta.update(entry.meta)
            entry.replace(named)
    return made


def _check_no_names(context: Context, node: exp.Table) -> None:
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise context.refusal(
            node,
            "names for the columns of a table stand in a sub-query",
            remedy=f"write (SELECT .. AS name FROM {identifier(node.name)}) in its place",
            code="column-aliases",
        )


def _private(alias: str, table: str, names: Names) -> Private:
    """Return a private table with the columns that say whose its rows are."""
    keys = names.private[table].keys
    user = next((column for column, key in keys.items() if key == OF_USERS), "")
    others = tuple((column, key) for column, key in keys.items() if column != user)
    return Private(alias, user, "" if table == names.table else table, others)


def _as_users(context: Context, left: Relation, right: Relation, condition: Node | None) -> Relation:
    """Return a public table before records as rows of the users that it names, where it is joined by the user."""
    if not isinstance(left, Public) or not right.is_owned or context.names.user_frame is None:
        return left
    for one in conjuncts(condition):
        if isinstance(one, Call) and one.function == "equal":
            for own, other in (one.arguments, one.arguments[::-1]):
                is_key = isinstance(own, Column) and own.table == left.alias and own.kind in (Kind.TEXT, Kind.BIGINT)
                if isinstance(own, Column) and is_key and names_user(right, other):
                    return UserList(left, own)
    return left


def _ownership(scope: Scope, other: Scope, condition: Node | None, join: exp.Join) -> SqlError | None:
    """Return the refusal of a join that gives rows two owners, or none, if it does."""
    context, left, right = scope.context, scope.relation, other.relation
    table, user = identifier(context.names.table), identifier(context.names.user)
    if left.is_owned and right.is_owned:
        if equates_users(condition, left, right):
            return None
        return context.refusal(
            join.this,
            "this joins records of the private table with one another, so that a row may belong to two users",
            remedy=f"join a public table, or {by_one_user(scope, other, 'ON')}",
            code="two-users",
        )
    if not left.is_owned and right.is_owned:
        side = "a public row without a record would depend on all users" if join.side else "rows are read user by user"
        remedy = f"write FROM {table} first, then JOIN the public table"
        if join.side:
            remedy += f"; a public table of users is joined ON its key = {user}, where users= is a table"
        return context.refusal(
            join.this,
            f"the private table stands on the right of a join, where {side}",
            remedy=remedy,
            code="join-side",
        )
    if not left.is_owned:
        return context.refusal(
            join.this,
            "this joins public tables before the private one",
            remedy=f"write FROM {table} first, then JOIN them",
            code="join-side",
        )
    return None
