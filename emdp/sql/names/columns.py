"""Meanings of a column's name, and results of a condition on columns.

A condition on one finite part is a set of its values. SQL's logic has three values, for a public table may hold NULL:
``holds`` and ``fails`` are the values where the condition is true and false, and it is unknown elsewhere. A filter
keeps ``holds`` alone, whatever stands around it: NOT swaps the two sets, AND intersects ``holds`` and unites ``fails``.
"""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.expressions.nodes.base import Constant, Expression
from emdp.expressions.nodes.categories import CategoryIs
from emdp.spaces import Space
from emdp.spaces.listed.finite import FinitePart

__all__ = [
    "Computed",
    "Condition",
    "Factor",
    "HiddenColumn",
    "ItemColumn",
    "LookupColumn",
    "PartCondition",
    "Resolved",
    "UserColumn",
    "UserCondition",
    "UserKey",
    "Values",
    "indicator",
]

MOST_VALUES = 1_000
"""Most values of an indicator that could be written as 1 minus that of all other values."""


@dataclass(frozen=True)
class ItemColumn:
    """A column of the item space: ``name`` is a column of ``part``."""

    name: str
    part: Space

    @property
    def finite(self) -> FinitePart | None:
        """The part, where it is a list of values."""
        return self.part if isinstance(self.part, FinitePart) else None

    @property
    def goes_round(self) -> bool:
        """Whether the column closes to a circle, so that as a number it jumps."""
        span = self.part.span_of(self.name)
        return span is not None and span.goes_round


@dataclass(frozen=True, eq=False)
class LookupColumn:
    """A column of a public table that is joined on a finite part: a public function of the part's value."""

    name: str
    part: FinitePart  # The part that its table is joined on
    dtype: pl.DataType
    # Returns its value (or None) for each listed value of the part that has a row.
    load: Callable[[], Mapping[Any, Any]]

    @property
    def finite(self) -> FinitePart | None:
        """The part that its table is joined on."""
        return self.part


@dataclass(frozen=True)
class UserKey:
    """The column that says whose record a row is."""

    name: str


@dataclass(frozen=True, eq=False)
class UserColumn:
    """A public column of the listed users: one value each, in the order of ``Names.user_frame``."""

    name: str
    values: pl.Series


@dataclass(frozen=True)
class HiddenColumn:
    """A column of the private table that the item space does not hold."""

    name: str


@dataclass(frozen=True, eq=False)
class Computed:
    """An expression that a sub-query names."""

    name: str
    expression: Expression


Resolved = ItemColumn | LookupColumn | UserKey | UserColumn | HiddenColumn | Computed


@dataclass(frozen=True)
class Values:
    """A set of items of one finite part: some listed values, or all items but some listed values.

    >>> small, rest = Values(frozenset("ab")), ~Values(frozenset("bc"))
    >>> sorted((small & rest).named), (small | rest).is_rest
    (['a'], True)
    """

    named: frozenset[Any] = frozenset()
    is_rest: bool = False  # Whether the set is all the others, a neutral item that is no listed value among them

    def __invert__(self) -> "Values":
        return Values(self.named, not self.is_rest)

    def __and__(self, other: "Values") -> "Values":
        if self.is_rest and other.is_rest:
            return Values(self.named | other.named, True)
        if self.is_rest or other.is_rest:
            rest, some = (self, other) if self.is_rest else (other, self)
            return Values(some.named - rest.named)
        return Values(self.named & other.named)

    def __or__(self, other: "Values") -> "Values":
        return ~(~self & ~other)

    def __contains__(self, value: object) -> bool:
        return (value in self.named) != self.is_rest

    def is_empty_in(self, part: FinitePart) -> bool:
        """Say whether no item of the part is in the set."""
        if not self.is_rest:
            return not self.named
        return len(self.named) == len(part.labels) and not has_unlisted(part)


@dataclass(frozen=True)
class PartCondition:
    """A condition on one finite part, true of ``holds`` and false of ``fails``, disjoint; see the module's text."""

    part: FinitePart
    holds: Values
    fails: Values

    def negated(self) -> "PartCondition":
        """Return NOT of it."""
        return PartCondition(self.part, self.fails, self.holds)

    def both(self, other: "PartCondition") -> "PartCondition":
        """Return the conjunction with a condition on the same part."""
        return PartCondition(self.part, self.holds & other.holds, self.fails | other.fails)


@dataclass(frozen=True, eq=False)
class UserCondition:
    """A condition on public user columns: true, false or unknown (null) for each listed user."""

    values: pl.Series


@dataclass(frozen=True)
class Factor:
    """A weight of a record, in [0, 1]: a condition that holds more or less."""

    expression: Expression


Condition = PartCondition | UserCondition | Factor


def has_unlisted(part: FinitePart) -> bool:
    """Say whether the neutral item is no listed value, such as the mean vector of an embedding."""
    return part.neutral_code >= len(part.labels)


def indicator(part: FinitePart, values: Values) -> Expression:
    """Return 1 at the items of a set, 0 elsewhere.

    >>> from emdp.spaces import Categories
    >>> kinds = Categories("kind", ["cafe", "bar", "pub"])
    >>> indicator(kinds, Values(frozenset(["pub", "bar"])))
    category_is('bar', 'pub', column='kind')
    >>> indicator(kinds, ~Values(frozenset(["pub", "bar"])))
    category_is('cafe', column='kind')
    """
    if values.is_empty_in(part):
        return Constant(0.0)
    if (~values).is_empty_in(part):
        return Constant(1.0)
    if not values.is_rest:
        return CategoryIs(_in_order(part, values), part.columns)
    if has_unlisted(part) or len(part.labels) - len(values.named) > MOST_VALUES:
        return 1 - CategoryIs(_in_order(part, ~values), part.columns)
    return CategoryIs(tuple(label for label in part.labels if label in values), part.columns)


def _in_order(part: FinitePart, values: Values) -> tuple[Any, ...]:
    return tuple(sorted(values.named, key=part.code_of))
