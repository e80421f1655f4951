"""``FROM a, b, c WHERE ..``: tables in any order, put into one in which every join has rows with one owner.

Such a list is a product of all its tables, of which WHERE leaves what fits; nothing depends on their order. The first
table whose rows have owners begins. Tables with owners follow that a condition of WHERE, or of ON, joins by a key of
one user (:func:`emdp.sql.owned.scopes.equates_users`); then the public ones, those first that are compared with what
is there. Equalities become conditions of the joins, and WHERE is applied after all of them as it stands.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.questions.owned.relations import Joined, Relation
from emdp.rows.building import call
from emdp.rows.nodes import Call, Column, Node, columns
from emdp.sql.context import identifier, is_comma, unwrapped
from emdp.sql.owned.remedies import by_one_user
from emdp.sql.owned.scopes import Scope, conjuncts, equates_users

__all__ = ["has_commas", "joined_in_order"]

Table: TypeAlias = tuple[str, Mapping[str, Column]]


def has_commas(select: exp.Select) -> bool:
    """Return whether FROM lists tables with commas."""
    return any(is_comma(join) for join in select.args.get("joins") or ())


def joined_in_order(scopes: Sequence[Scope], select: exp.Select) -> Scope:
    """Return the rows of listed tables that WHERE may leave.

    Raises
    ------
    SqlError
        If there is a LEFT join among them, or rows would have two owners, or none has one.
    """
    context, tables = scopes[0].context, tuple(table for scope in scopes for table in scope.tables)
    every = Scope(context, scopes[0].relation, tables, {})
    equal = tuple(_equalities(every, select))
    pending = list(scopes)
    first = next((scope for scope in scopes if scope.relation.is_owned), None)
    if first is None:
        raise context.refusal(
            select.args["from_"].this,
            "this lists public tables alone, and an answer is about the private one",
            remedy=f"add {identifier(context.names.table)} to FROM",
            code="join-side",
        )
    pending.remove(first)
    relation: Relation = first.relation
    names = _names(first)
    while pending:
        # Of equal preference the first one that is written.
        other = max(pending, key=lambda scope: (_preference(relation, names, scope, equal), -pending.index(scope)))
        own = _between(equal, names, _names(other))
        condition = None
        for one in own:
            condition = one if condition is None else call("and", condition, one)
        if other.relation.is_owned and not equates_users(condition, relation, other.relation):
            table = next(iter(other.tables))[0]
            raise context.refusal(
                select.args["from_"].this,
                f"this joins records of {table} with those of other tables, so that a row may belong to two users",
                remedy=by_one_user(Scope(context, relation, _tables(tables, names), {}), other, "WHERE"),
                code="two-users",
            )
        relation = Joined(relation, other.relation, condition)
        names |= _names(other)
        pending.remove(other)
    return Scope(context, relation, tables, {})


def _equalities(every: Scope, select: exp.Select) -> Iterator[Node]:
    """Yield the conditions of ON, which are checked here, and those of WHERE that say that two columns are equal."""
    for join in select.args.get("joins") or ():
        if join.side or join.args.get("using"):
            raise every.context.refusal(
                join.this,
                "a list of tables with commas takes joins ON a condition alone",
                remedy="write JOIN .. ON in place of the commas",
                code="comma-join",
            )
        if join.args.get("on") is not None:
            yield from conjuncts(every.reader.condition(join.args["on"]))
    where = select.args.get("where")
    for part in () if where is None else _parts(where.this):
        try:
            node = every.reader.read(part)
        except SqlError:
            # Whatever it is, WHERE itself is read where all is known.
            continue
        if isinstance(node, Call) and node.function == "equal":
            yield node


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    node = unwrapped(node)
    if isinstance(node, exp.And):
        yield from _parts(node.this)
        yield from _parts(node.expression)
    elif isinstance(node, exp.EQ) and all(isinstance(side, exp.Column) for side in (node.this, node.expression)):
        yield node


def _names(scope: Scope) -> set[str]:
    return {column.table for column in scope.columns}


def _between(equal: Sequence[Node], names: set[str], others: set[str]) -> list[Node]:
    """Return the conditions that compare tables that are there with one that comes."""
    found = []
    for node in equal:
        tables = {column.table for column in columns(node)}
        if tables <= names | others and tables & others and tables & names:
            found.append(node)
    return found


def _tables(tables: Sequence[Table], names: set[str]) -> tuple[Table, ...]:
    return tuple(own for own in tables if any(column.table in names for column in own[1].values()))


def _preference(relation: Relation, names: set[str], scope: Scope, equal: Sequence[Node]) -> int:
    own = _between(equal, names, _names(scope))
    if scope.relation.is_owned:
        return 3 if any(equates_users(node, relation, scope.relation) for node in own) else 0
    return 2 if own else 1
