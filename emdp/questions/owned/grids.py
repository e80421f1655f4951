"""Statistics for quantiles of records: users' weights on a grid of values, and the values that users have.

**Weights.** A user with ``k`` rows that have a value and are in listed groups, ``k`` over the cap ``C``, counts each
with weight ``C/k``. A row's place on the grid is that of its value, clamped to the range: ``round((v - a)/w 2^16)`` of
a number in ``[a, a + w]``, or ``v - a`` of a whole number where there are few. A user adds to each group and place the
number of its rows there times the weight, in units of ``2^-20``, rounded down: together at most ``C``.

**Pairs.** Which user has which value of a column, in which listed group, once each. The order of users is one of a hash
of each user alone, the order of values one of the values.
"""

import math
from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.questions.owned.groups import OwnedGroups, OwnedKeys
from emdp.questions.owned.relations import Relation
from emdp.questions.owned.totals import MOST_CAP, Key
from emdp.rows.nodes import Node
from emdp.rows.types import Kind

__all__ = ["GRID_BITS", "OwnedFrame", "OwnedPairs", "OwnedWeights"]

GRID_BITS = 16
"""A grid has ``2**GRID_BITS`` steps."""


@dataclass(frozen=True, eq=False)
class OwnedWeights:
    """Weights on a grid; the module says which."""

    relation: Relation  # Owned
    keys: tuple[Key, ...]  # Listed; cells are the combinations of their values, the last key running fastest
    node: Node  # A number of a row
    # low, high: Its range, `low < high`.
    low: float
    high: float
    cap: int  # `C`
    public: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # The public tables that the relation names

    def __post_init__(self) -> None:
        _check(self.relation, self.keys)
        if not 1 <= self.cap < MOST_CAP:
            raise UsageError(f"cap must be from 1 to {MOST_CAP - 1}, got {self.cap}; pass such a number.")
        if not self.node.kind.is_number or not (math.isfinite(self.high - self.low) and self.low < self.high):
            raise UsageError("node must be a number with low below high, both finite; clamp it.")

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Functions of a row that are read beside the keys."""
        return (self.node,)

    @property
    def is_whole(self) -> bool:
        """Whether each place of the grid is a whole number of the range."""
        ends = self.low.is_integer() and self.high.is_integer() and self.high - self.low <= 2**GRID_BITS
        return ends and self.node.kind is Kind.BIGINT

    @property
    def top(self) -> float:
        """Value of the grid's last place that a row may have before it is clamped."""
        return self.low + 2**GRID_BITS if self.is_whole else self.high

    @property
    def size(self) -> int:
        """Number of places of the grid."""
        return int(self.high - self.low) + 1 if self.is_whole else 2**GRID_BITS + 1

    @property
    def step(self) -> float:
        """Distance of two places."""
        return 1.0 if self.is_whole else (self.high - self.low) / 2**GRID_BITS

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(len(key.values) for key in self.keys)


@dataclass(frozen=True, eq=False)
class OwnedPairs:
    """Which user has which value; the module says more."""

    relation: Relation
    keys: tuple[Key, ...]
    node: Node
    public: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self.relation, self.keys)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Functions of a row that are read beside the keys."""
        return (self.node,)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(len(key.values) for key in self.keys)


OwnedFrame: TypeAlias = OwnedGroups | OwnedKeys | OwnedWeights | OwnedPairs
"""What an engine computes as a table of as many rows as the data make: exact, private, hidden."""


def _check(relation: Relation, keys: tuple[Key, ...]) -> None:
    if not relation.is_owned:
        raise UsageError("relation must be one whose rows have owners; read the private table.")
    if not all(key.is_listed for key in keys):
        raise UsageError("keys must have public lists; list them in WHERE.")
