"""Names of columns: what each means under a FROM clause, and the refusals of those that mean nothing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError
from emdp.expressions.nodes.base import Expression
from emdp.questions.names import Names
from emdp.sql.context import Context, identifier, listed, near, one_by_name, quoted, unwrapped
from emdp.sql.names.columns import Condition, HiddenColumn, ItemColumn, Resolved, UserColumn, UserKey
from emdp.sql.refusals.unsupported import aggregates

__all__ = ["COMPONENTS", "Numbers", "Scope", "Source", "private_sources"]

COMPONENTS: Mapping[str, str] = {
    "hour": 'Cycle("hour({})", 24)',
    "minute": 'Cycle("minute({})", 60)',
    "day": 'Interval("day({})", 1, 31)',
    "dow": 'Cycle("dow({})", 7)',
    "isodow": 'Categories("isodow({})", [1, 2, 3, 4, 5, 6, 7])',
    "month": 'Interval("month({})", 1, 12)',
    "quarter": 'Categories("quarter({})", [1, 2, 3, 4])',
    "year": 'Interval("year({})", 2020, 2030)',
    "week": 'Interval("week({})", 1, 53)',
    "doy": 'Interval("doy({})", 1, 366)',
    "epoch": 'Interval("epoch({})", 1.7e9, 1.8e9)',
    "time": 'Cycle("time({})", 24)',
}
"""Components of a timestamp that a space may declare, each with how it would be declared."""

CLOCK = ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
"""Names that DuckDB reads as functions of the clock."""


@dataclass(frozen=True, eq=False)
class Source:
    """A table of the FROM clause."""

    name: str
    columns: Mapping[str, Resolved]
    # Columns that are equal to one of an earlier table, and found there unless this table is named.
    keys: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Scope:
    """Meanings of names in one SELECT."""

    context: Context
    sources: tuple[Source, ...]
    # What sub-queries and joins leave of the records and users, and where they say so.
    filters: tuple[tuple[Condition, exp.Expr], ...] = ()

    def column(self, node: exp.Expr) -> Resolved | None:
        """Return what a column, or a declared component of a timestamp, means; None for any other expression."""
        inner = unwrapped(node)
        if isinstance(inner, exp.Column):
            return self._named(inner)
        if isinstance(inner, exp.Extract):
            return self._component(inner, inner.this.name, inner.expression)
        if isinstance(inner, exp.Anonymous) and len(inner.expressions) == 1 and inner.name.lower() in COMPONENTS:
            return self._component(inner, inner.name, inner.expressions[0])
        return None

    def _named(self, node: exp.Column) -> Resolved:
        found: list[tuple[str, Resolved, str]] = []
        for source in self._sources_of(node):
            matches = one_by_name(node.name, source.columns)
            if not node.table:
                matches = tuple(match for match in matches if match not in source.keys)
            found += [(match, source.columns[match], source.name) for match in matches]
        exact = [entry for entry in found if entry[0] == node.name] or found
        if not exact:
            raise self._unknown(node)
        if len(exact) > 1:
            raise self._ambiguous(node, exact)
        return exact[0][1]

    def _ambiguous(self, node: exp.Column, found: Sequence[tuple[str, Resolved, str]]) -> SqlError:
        names = [f"{identifier(table)}.{identifier(match)}" for match, _, table in found]
        hidden = [isinstance(meaning, HiddenColumn) for _, meaning, _ in found]
        usable = [name for name, is_hidden in zip(names, hidden, strict=True) if not is_hidden]
        of_users = any(isinstance(meaning, UserColumn) for _, meaning, _ in found)
        if len(set(names)) == len(names):
            remedy = f"write {' or '.join(usable or names)}"
            shown = listed(names)
        else:
            table = found[0][2]
            shown = (
                f"{names[0]} of the records and {names[0]} of the users" if of_users else listed(dict.fromkeys(names))
            )
            remedy = (
                "rename it in the table of users"
                if of_users
                else f"give the two tables other aliases than {identifier(table)}"
            )
        return self.context.refusal(
            node, f"{node.name} may mean {len(found)} columns, {shown}", remedy=remedy, code="ambiguous-column"
        )

    def _sources_of(self, node: exp.Column) -> tuple[Source, ...]:
        if not node.table:
            return self.sources
        aliases = one_by_name(node.table, dict.fromkeys(source.name for source in self.sources))
        if len(aliases) == 1:
            return tuple(source for source in self.sources if source.name == aliases[0])
        raise self.context.refusal(
            node,
            f"{node.table} is no table of this SELECT",
            remedy=f"name one of {listed(dict.fromkeys(source.name for source in self.sources))}",
            code="unknown-qualifier",
        )

    def _unknown(self, node: exp.Column) -> Exception:
        if node.name.lower() in CLOCK and not node.this.quoted:
            return self.context.refusal(
                node,
                f"{node.name} changes from moment to moment, so that the same statement would not mean the same again",
                remedy="write a constant",
                code="clock",
            )
        if node.name.upper() in aggregates() and not node.this.quoted and not node.table:
            word = node.name.upper()
            return self.context.refusal(
                node,
                f"{word} is an aggregate, and lacks its parentheses",
                remedy=f"write {word}({'*' if word == 'COUNT' else '' if word == 'SHARE' else '..'})",
                code="aggregate-parentheses",
            )
        reachable = {name: meaning for source in self._sources_of(node) for name, meaning in source.columns.items()}
        # The user column may be counted and joined on; elsewhere it means nothing.
        left_out = HiddenColumn if node.find_ancestor(exp.Distinct, exp.Join) else HiddenColumn | UserKey
        usable = [name for name, meaning in reachable.items() if not isinstance(meaning, left_out)]
        value = _spelt_value(node.name, [reachable[name] for name in usable]) if _is_compared(node) else None
        if value is not None:
            remedy = f"write {quoted(value)}, since a text stands in single quotes"
        elif alike := near(node.name, usable):
            remedy = f"write {' or '.join(map(identifier, alike))}"
        else:
            remedy = f"the columns to use are {listed(map(identifier, usable))}"
        return self.context.refusal(node, f"there is no column {node.name}", remedy=remedy, code="unknown-column")

    def meant_by(self, node: exp.Expr) -> str | None:
        """Return the column, as it is written, whose name stands in the single quotes of a text; None for others."""
        if not isinstance(node, exp.Literal) or not node.is_string:
            return None
        found = [name for source in self.sources for name in one_by_name(node.name, source.columns)]
        return identifier(found[0]) if found else None

    def component(self, node: exp.Expr) -> tuple[str, Resolved] | None:
        """Return the unit of a component of a timestamp, as it is written, and its column; None for all else."""
        inner = unwrapped(node)
        unit, operand = "", inner
        if isinstance(inner, exp.Extract):
            unit, operand = inner.this.name.lower(), inner.expression
        elif isinstance(inner, exp.Anonymous) and len(inner.expressions) == 1:
            unit, operand = inner.name.lower(), inner.expressions[0]
        column = self.column(operand) if unit in COMPONENTS else None
        return None if column is None else (unit, column)

    def _component(self, node: exp.Expr, unit: str, operand: exp.Expr) -> Resolved:
        component = unit.lower()
        inner = self.column(operand)
        if component not in COMPONENTS:
            raise self.context.refusal(
                node,
                f"{unit} is no component that a space may declare",
                remedy=f"use one of {listed(COMPONENTS)}",
                code="extract-component",
            )
        if not isinstance(inner, HiddenColumn | ItemColumn):
            raise self.context.refusal(
                operand,
                f"{self.context.text(operand)} is no column of timestamps",
                remedy=f"write EXTRACT({component.upper()} FROM column) of a column of the records",
                code="extract-operand",
            )
        space = self.context.names.space
        for name in one_by_name(f"{component}({inner.name})", space.columns):
            return item_column(self.context.names, name)
        of_column = (f"({inner.name.lower()})", f"({inner.name.lower()}, '")
        others = [identifier(name) for name in space.columns if any(own in name.lower() for own in of_column)]
        raise self.context.refusal(
            node,
            f"the item space has no component {component}({inner.name}), so nothing bounds it",
            remedy=(f"use {' or '.join(others)}, or " if others else "")
            + f"have the table's owner declare it as a part of the space, such as "
            f"{COMPONENTS[component].format(inner.name)}",
            code="extract",
        )


def _is_compared(node: exp.Column) -> bool:
    """Say whether a literal could stand in the place of a name."""
    parent = node.parent
    takes_values = isinstance(parent, exp.Anonymous) and parent.name.upper() in ("DISTANCE", "SIMILARITY")
    return takes_values or isinstance(parent, exp.Predicate | exp.If)


def _spelt_value(name: str, columns: Iterable[Resolved]) -> str | None:
    """Return the public text among the values of some columns that a name spells, which lacks its quotes."""
    texts: dict[str, None] = {}
    for column in columns:
        if isinstance(column, ItemColumn) and column.finite is not None:
            texts |= dict.fromkeys(label for label in column.finite.labels if isinstance(label, str))
        elif isinstance(column, UserColumn) and column.values.dtype == pl.String:
            texts |= dict.fromkeys(column.values.drop_nulls())
    return next(iter(one_by_name(name, texts)), None)


class Numbers(Protocol):
    """Protocol: translation of numeric expressions, as conditions need it."""

    @property
    def context(self) -> Context:
        """The statement."""

    @property
    def scope(self) -> Scope:
        """Meanings of names."""

    def number(self, node: exp.Expr) -> Expression:
        """Return a numeric expression of the text."""


def private_sources(names: Names, alias: str) -> tuple[Source, ...]:
    """Return the private table under an alias: its own columns, then the public ones of its users."""
    frame = names.user_frame
    users: dict[str, Resolved] = {} if frame is None else {
        name: UserColumn(name, frame.get_column(name)) for name in names.user_columns
    }  # fmt: skip
    own: dict[str, Resolved] = {}
    for name in (*names.space.columns, *names.columns):
        if name == names.user:
            own[name] = UserKey(name)
        elif name in names.space.columns:
            own[name] = item_column(names, name)
        elif name not in users:
            own[name] = HiddenColumn(name)
    own.setdefault(names.user, UserKey(names.user))
    return (Source(alias, own), Source(alias, users))


def item_column(names: Names, name: str) -> ItemColumn:
    """Return a column of the item space with its part."""
    return next(ItemColumn(name, part) for part in names.space.parts if name in part.columns)
