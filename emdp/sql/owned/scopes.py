"""Meanings of column names within one SELECT of a statement over rows with owners."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Protocol

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.questions.owned.relations import Relation, owner_key
from emdp.rows.nodes import Call, Column, Node
from emdp.sql.context import Context, identifier, listed, near, one_by_name
from emdp.sql.owned.scalars import Reader

__all__ = ["Reads", "Scope", "Tables", "conjuncts", "equates_users", "owners", "stand_in"]


@dataclass(frozen=True, eq=False)
class Tables:
    """Sub-queries of WITH that a place of the text may name, in small letters."""

    # Each with what its own text may name: what stands before it, wherever it is read.
    held: Mapping[str, tuple[exp.Expr, "Tables"]] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.held

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def __getitem__(self, name: str) -> exp.Expr:
        return self.held[name][0]

    def of(self, name: str) -> "Tables":
        """Return what the text of a sub-query may name."""
        return self.held[name][1]

    def with_of(self, query: exp.Expr) -> "Tables":
        """Return what may be named after the WITH of a query: its entries in the place of outer ones of their names."""
        known, with_ = self, query.args.get("with_")
        for cte in () if with_ is None else with_.expressions:
            # Copies: what a node stands in is where it is written over.
            own = exp.Subquery(this=cte.this.copy(), alias=cte.args["alias"].copy())
            known = Tables({**known.held, cte.alias.lower(): (own, known)})
        return known


_COLUMN = "emdp_column"
"""Key in ``meta`` of what stands in a tree for a column that was made for a part of it."""


@dataclass(frozen=True, eq=False)
class Scope:
    """A relation, and its columns by the name of their table."""

    context: Context
    relation: Relation
    tables: tuple[tuple[str, Mapping[str, Column]], ...]  # Tables in the order of the text, by their names there
    # Columns that USING makes one, by names in small letters: they need no name of a table.
    shared: Mapping[str, Column]
    outer: "Scope | None" = None  # Of a sub-query within a condition, where names are looked up that it has not itself

    @property
    def reader(self) -> Reader:
        """Reader of scalar SQL in this scope."""
        return Reader(self.context, self.column)

    @property
    def columns(self) -> frozenset[Column]:
        """All columns of the tables."""
        return frozenset(column for _, held in self.tables for column in held.values())

    def column(self, node: exp.Column) -> Column:
        """Return what a column of the tree means."""
        made = node.meta.get(_COLUMN)
        if isinstance(made, Column):
            return made
        name, table = node.name, node.table
        tables = [own for own in self.tables if not table or own[0].lower() == table.lower()]
        if table and not tables:
            if self.outer is not None:
                return self.outer.column(node)
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
        if self.outer is not None and not table:
            return self.outer.column(node)
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


class Reads(Protocol):
    """Readers of the parts of a SELECT, handed to one another: FROM has sub-queries, and these have FROM."""

    @property
    def context(self) -> Context:
        """The statement."""

    def name(self, alias: str) -> str:
        """Return a name of a relation that no other one of the statement has."""

    def apart(self) -> "Reads":
        """Return what reads for a look ahead, whose names count for nothing."""

    def source(self, node: exp.Expr, tables: Tables) -> Scope:
        """Return a table or sub-query of FROM."""

    def answer(self, query: exp.Expr, alias: str, tables: Tables, *, is_listed: bool = False) -> Scope | None:
        """Return the table of a sub-query that is an answer; None for rows with owners, and rows of public tables."""

    def value(self, query: exp.Expr, tables: Tables) -> Scope:
        """Return the table of a sub-query that stands for one value."""

    def tables(self, select: exp.Select, tables: Tables) -> tuple[Scope, Tables]:
        """Return the relation of FROM and JOIN, and the sub-queries that WITH names from here on."""

    def rows(self, select: exp.Select, tables: Tables) -> Scope:
        """Return the relation of FROM, JOIN and WHERE."""

    def subquery(self, query: exp.Expr, alias: str, tables: Tables) -> Scope:
        """Return the rows of a sub-query under a name."""


def stand_in(node: exp.Expr, column: Column) -> exp.Column:
    """Return what stands in a tree for a part of it that has become a column."""
    made = exp.column(column.name)
    made.meta.update(node.meta)
    made.meta[_COLUMN] = column
    return made


def conjuncts(node: Node | None) -> tuple[Node, ...]:
    """Return the conditions that must all be true."""
    if isinstance(node, Call) and node.function == "and":
        return tuple(own for argument in node.arguments for own in conjuncts(argument))
    return () if node is None else (node,)


def owners(scope: Scope) -> dict[tuple[str, str], str]:
    """Return columns of a scope that say whose a row is, as they are written: by what they are keys of."""
    found: dict[tuple[str, str], str] = {}
    for alias, held in scope.tables:
        for name, column in held.items():
            key = owner_key(scope.relation, column, is_compared=True)
            if key is not None:
                found.setdefault(key, f"{identifier(alias)}.{identifier(name)}")
    return found


def equates_users(condition: Node | None, left: Relation, right: Relation) -> bool:
    """Return whether a condition is true only of rows of one user, since it equates columns that are one key."""
    return any(
        isinstance(one, Call)
        and one.function == "equal"
        and any(
            owner_key(left, own, is_compared=True) is not None
            and owner_key(left, own, is_compared=True) == owner_key(right, other, is_compared=True)
            for own, other in (one.arguments, one.arguments[::-1])
        )
        for one in conjuncts(condition)
    )
