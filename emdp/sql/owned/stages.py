"""Stages of a statement: sub-queries whose answers are noisy tables, which the rest of the statement reads."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.questions.owned.parts import relations
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.relations import Filtered, Joined, Marked, Public, Relation
from emdp.questions.owned.stages import DTYPES, FreeSelect, Stage, answer_schema
from emdp.rows.nodes import Call, Column, Node
from emdp.rows.types import Kind
from emdp.sql.context import Context
from emdp.sql.owned.scopes import Scope, Tables, conjuncts

__all__ = ["Stages", "bare", "number_of", "numbered"]

_NUMBER = "emdp_query"
"""Key in ``meta`` of a SELECT or set operation; copies of a node keep it."""


def numbered(tree: exp.Expr) -> None:
    """Give every SELECT and set operation of a tree its number."""
    for number, node in enumerate(tree.find_all(exp.Select, exp.SetOperation)):
        node.meta[_NUMBER] = number


def number_of(query: exp.Expr) -> int:
    """Return the number of a query: one for it and for its copies."""
    found: int = query.meta[_NUMBER]
    return found


def bare(query: exp.Expr) -> exp.Expr:
    """Return a SELECT or set operation without the parentheses around it."""
    while isinstance(query, exp.Subquery | exp.Paren):
        query = query.this
    return query


@dataclass(frozen=True, eq=False)
class Made:
    """A stage, and the table that it makes."""

    stage: Stage
    kinds: Mapping[str, Kind]
    main: tuple[str, ...]  # Those of them that its select list has, without ends of intervals
    empty: pl.DataFrame  # The table without rows


@dataclass(eq=False)
class Stages:
    """The stages of one statement, as they are found."""

    context: Context
    ask: Callable[[exp.Select, Tables, "Stages"], OwnedSelect]  # Makes the question of a SELECT over private rows
    # By the number of their query, in the order in which they are computed.
    made: dict[int, Made] = field(default_factory=dict)
    # By number whether a SELECT sums up rows of several users, where that was looked at.
    mixing: dict[int, bool] = field(default_factory=dict)
    # Numbers of the sub-queries that stand for one value and may have several rows.
    unsure: set[int] = field(default_factory=set)

    @property
    def private(self) -> list[Stage]:
        """The stages that read private rows."""
        return [own.stage for own in self.made.values() if own.stage.is_private]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables of all stages, without rows."""
        return {own.stage.name: own.empty for own in self.made.values()}

    def is_closed(self, node: exp.Expr) -> bool:
        """Say whether a node of a tree is a stage, or a sub-query that is one."""
        inner = bare(node)
        return isinstance(inner, exp.Select | exp.SetOperation) and number_of(inner) in self.made

    def private_stage(self, query: exp.Select, label: str, tables: Tables) -> Made:
        """Return the stage of a SELECT that sums up private rows."""
        question = self.ask(query, tables, self)
        kinds = answer_schema(question)
        ends = {f"{name}{end}" for name in kinds for end in ("_low", "_high")}
        return self._add(query, label, question, kinds, tuple(name for name in kinds if name not in ends))

    def free_stage(self, query: exp.Expr, label: str, question: FreeSelect, kinds: Mapping[str, Kind]) -> Made:
        """Return the stage of a query over public tables and earlier stages."""
        return self._add(query, label, question, kinds, tuple(kinds))

    def _add(
        self,
        query: exp.Expr,
        label: str,
        question: OwnedSelect | FreeSelect,
        kinds: Mapping[str, Kind],
        main: tuple[str, ...],
    ) -> Made:
        taken = {name.lower() for name in self.context.names.public}
        taken |= {cte.alias.lower() for cte in self.context.statement.tree.root().find_all(exp.CTE)}
        taken |= {own.stage.name.lower() for own in self.made.values()}
        place = len(self.made) + 1
        while f"stage_{place}" in taken:
            place += 1
        empty = pl.DataFrame(schema={name: DTYPES[kind] for name, kind in kinds.items()})
        made = Made(Stage(f"stage_{place}", label, question), kinds, main, empty)
        self.made[number_of(query)] = made
        return made

    def scope(
        self,
        made: Made,
        name: str,
        alias: str,
        *,
        is_listed: bool = False,
        is_single: bool = False,
        names: Mapping[str, str] | None = None,
    ) -> Scope:
        """Return the table of a stage under a name of the statement.

        Parameters
        ----------
        name : str
            Name that no other relation has.
        is_listed : bool
            Whether the columns of its select list are wanted alone.
        is_single : bool
            Whether it stands for one value.
        names : mapping of str to str, optional
            What the text calls its columns, where it does so itself.
        """
        wanted = made.main if is_listed or is_single else made.kinds
        called = {} if names is None else names
        columns = {called.get(column, column): Column(name, column, made.kinds[column]) for column in wanted}
        return Scope(self.context, Public(name, made.stage.name, is_single), ((alias, columns),), {})

    def source_of(self, node: Node, relation: Relation) -> tuple[str, str] | None:
        """Return the column of a stage's table that lists a key: the key itself, or what IN compares it with."""
        names = {own.stage.name for own in self.made.values()}
        known = {own.alias: own for own in relations(relation) if isinstance(own, Public) and own.source in names}
        if isinstance(node, Column) and node.table in known and not known[node.table].is_single:
            return known[node.table].source, node.name
        marked = {own.found: own for own in relations(relation) if isinstance(own, Marked)}
        for condition in _conditions(relation):
            own = marked.get(condition) if isinstance(condition, Column) else None
            if own is None or not isinstance(own.condition, Call) or own.condition.function != "equal":
                continue
            for left, right in (own.condition.arguments, own.condition.arguments[::-1]):
                if left == node and isinstance(right, Column) and right.table in known and right.kind is node.kind:
                    return known[right.table].source, right.name
        return None


def _conditions(relation: Relation) -> Iterator[Node]:
    """Yield what every row that is left fulfils."""
    while isinstance(relation, Filtered | Marked | Joined):
        if isinstance(relation, Filtered):
            yield from conjuncts(relation.condition)
        relation = relation.relation
