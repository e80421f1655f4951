"""The answer of a statement over rows with owners: its aggregates, and what is computed of these and of the keys.

An aggregate that stands in an expression, in HAVING or in ORDER BY is asked once, as a column of the joint draw that
the answer does not show. What is left around aggregates and keys is a function of the answer's rows, which are public.
"""

from collections.abc import Sequence
from dataclasses import field

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError
from emdp.questions.owned.question import ANSWER, Computed
from emdp.questions.owned.relations import Private
from emdp.rows.nodes import Column, Literal, Node, replaced
from emdp.rows.types import Kind
from emdp.sql.context import Context
from emdp.sql.owned.aggregates import OwnedAggregate, is_aggregate, read_aggregate
from emdp.sql.owned.scopes import Scope
from emdp.sql.owned.weighted import read_weighted
from emdp.sql.rows.reader import read_row

__all__ = ["Asked", "Outputs", "aggregate_in"]


@dataclass(frozen=True)
class Asked:
    """An aggregate of the joint draw."""

    name: str
    aggregate: OwnedAggregate
    body: exp.Expr  # Where it was written first
    is_hidden: bool  # Whether it is no column of the answer


@dataclass(eq=False)
class Outputs:
    """Columns of an answer, as they are found.

    Parameters
    ----------
    context, scope
        The statement, and what its rows are.
    """

    context: Context
    scope: Scope
    keys: Sequence[tuple[str, Node]]  # Name of each key, and what it is of a row
    taken: set[str]  # Names in small letters that are in use
    asked: list[Asked] = field(default_factory=list)
    computed: list[Computed] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    # By names in small letters what columns of the select list are of the answer.
    aliases: dict[str, Node] = field(default_factory=dict)
    # Aggregates that are public numbers, by names that no text has.
    constants: dict[str, Node] = field(default_factory=dict)

    def found(self, aggregate: OwnedAggregate) -> Asked | None:
        """Return an equal aggregate that is asked already."""
        return next((own for own in self.asked if own.aggregate == aggregate), None)

    def ask(self, body: exp.Expr, aggregate: OwnedAggregate, name: str = "") -> str:
        """Return the column of an aggregate: that of an equal one, or a new one, hidden where it has no name."""
        known = self.found(aggregate)
        if known is not None:
            return known.name
        self.asked.append(Asked(name or self.free("aggregate"), aggregate, body, not name))
        return self.asked[-1].name

    def column(self, body: exp.Expr, aggregate: OwnedAggregate, name: str = "") -> Node:
        """Return an aggregate as a column of the answer, asked once; of all users their public number.

        By replacement the number of users is public, so that counting them all has no noise and costs nothing, beside
        other aggregates as alone.
        """
        users = self.context.names.users
        relation = self.scope.relation
        is_of_all = aggregate.kind == "users" and aggregate.condition is None and not self.keys
        is_plain = isinstance(relation, Private) and not relation.source
        if is_of_all and is_plain and users is not None and not self.context.price.is_by_removal:
            return Literal(float(users), Kind.DOUBLE)
        return Column(ANSWER, self.ask(body, aggregate, name), Kind.DOUBLE)

    def free(self, base: str) -> str:
        """Return a name that nothing has yet."""
        number = 1
        while f"{base} {number}".lower() in self.taken:
            number += 1
        self.taken.add(f"{base} {number}".lower())
        return f"{base} {number}"

    def compute(self, written: exp.Expr, node: Node, name: str = "", *, is_users: bool = False) -> str:
        """Return the name of a computed column; a hidden one where none is given."""
        own = name or self.free("computed")
        self.computed.append(Computed(own, node, self.context.text(written), is_users))
        if not name:
            self.hidden.add(own)
        return own

    def read(self, node: exp.Expr) -> Node:
        """Return what an expression is of the answer's aggregates and keys.

        Raises
        ------
        SqlError
            If it reads a column of a record that is neither grouped by nor within an aggregate, or is none of the
            language's functions.
        """
        places: dict[str, Node] = {}
        placed = self._placed(node, places)

        def resolve(column: exp.Column) -> Column:
            found = places.get(column.name)
            if not isinstance(found, Column):
                raise self._not_grouped(column)
            return found

        named = {**self.aliases, **self.constants}
        meant: dict[Node, Node] = {Column(ALIAS, name, own.kind): own for name, own in named.items()}
        return replaced(read_row(placed, resolve, self.context.statement), meant)

    def _placed(self, node: exp.Expr, places: dict[str, Node]) -> exp.Expr:
        """Return a copy of a tree with columns of the answer in the places of aggregates, keys and aliases."""
        weighted = read_weighted(self.context, self.scope, node)
        if weighted is not None or is_aggregate(node):
            aggregate = weighted or read_aggregate(self.context, self.scope, node)
            made = self.column(node, aggregate)
            if not isinstance(made, Column):
                name = f"constant {len(self.constants)}"
                self.constants[name] = made
                made = Column(ALIAS, name, made.kind)
            return _put(node, made, places)
        key = None if aggregate_in(node) is not None else self.key_of(node)
        if key is not None:
            return _put(node, key, places)
        if isinstance(node, exp.Column):
            alias = self.aliases.get(node.name.lower()) if not node.table else None
            if alias is None:
                raise self._not_grouped(node)
            return _put(node, Column(ALIAS, node.name.lower(), alias.kind), places)
        copy = node.copy()
        for child, original in zip(list(copy.iter_expressions()), list(node.iter_expressions()), strict=True):
            if not isinstance(original, exp.DataType | exp.Identifier | exp.Var):
                child.replace(self._placed(original, places))
        return copy

    def key_of(self, node: exp.Expr) -> Column | None:
        """Return the key that an expression is, if it is one."""
        if isinstance(node, exp.Literal | exp.Boolean | exp.Null):
            return None
        try:
            value = self.scope.reader.read(node)
        except SqlError:
            return None
        return next((Column(ANSWER, name, value.kind) for name, own in self.keys if own == value), None)

    def nothing_asked(self, node: exp.Expr) -> SqlError:
        """Return the refusal of a select list that needs no record."""
        if self.constants or any(own.is_users for own in self.computed):
            return self.context.refusal(
                node,
                f"the number of all users is public ({self.context.names.users}), and nothing else is asked here",
                remedy="write SELECT COUNT(DISTINCT ..) FROM the table, without other clauses, or the number itself",
                code="public-number",
            )
        return self.context.refusal(
            node,
            "the select list has no aggregate, and records as they are have no guarantee",
            remedy="add one, such as COUNT(*), or GROUP BY what nobody listed for these values alone",
            code="no-aggregate",
        )

    def _not_grouped(self, node: exp.Expr) -> SqlError:
        if isinstance(node, exp.Column):
            # What no table has is unknown, rather than not grouped by.
            self.scope.column(node)
        text = self.context.text(node)
        return self.context.refusal(
            node,
            f"`{text}` has a value for each record, and an answer has one for each group",
            remedy=f"add GROUP BY {text}, or put it into an aggregate",
            code="not-grouped",
        )


ALIAS = "alias"
"""Table of columns that stand for entries of the select list until they are filled in."""


def aggregate_in(node: exp.Expr) -> exp.Expr | None:
    """Return the first aggregate in a tree."""
    return next((part for part in node.walk() if is_aggregate(part)), None)


def _put(node: exp.Expr, column: Column, places: dict[str, Node]) -> exp.Expr:
    name = f"c{len(places)}"
    places[name] = column
    made = exp.column(name)
    made.meta.update(node.meta)
    return made
