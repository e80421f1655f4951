"""The frozen question: aggregates of a relation whose rows have owners."""

import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Literal

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.questions.means import VectorNoise
from emdp.questions.owned.parts import names_every_user
from emdp.questions.owned.relations import Relation
from emdp.questions.owned.totals import Key
from emdp.questions.price import Price, check_price
from emdp.questions.select import Order
from emdp.rows.nodes import Node

__all__ = ["ANSWER", "OWNED_KINDS", "TOTAL_KINDS", "Computed", "OwnedItem", "OwnedKind", "OwnedSelect"]

ANSWER = "answer"
"""Table of the columns that :class:`Computed` reads: keys and aggregates by their names."""

OwnedKind = Literal["rows", "count", "sum", "avg", "variance", "stddev", "users", "quantile", "distinct"]
TOTAL_KINDS: tuple[OwnedKind, ...] = ("rows", "count", "sum", "avg", "variance", "stddev", "users")
"""Kinds that are made of sums with noise."""

OWNED_KINDS: tuple[OwnedKind, ...] = (*TOTAL_KINDS, "quantile", "distinct")
"""``rows`` COUNT(*); ``count`` values that are there; ``sum``, ``avg``, ``variance``, ``stddev`` of such values;
``users``
people who have a row; ``quantile`` of values; ``distinct`` how many different values there are."""


@dataclass(frozen=True)
class OwnedItem:
    """An aggregate of a select list."""

    kind: OwnedKind  # One of `OWNED_KINDS`
    name: str
    node: Node | None = None  # Function of a row; None for `rows` and `users`
    # low, high: Finite range that values are clamped to, for `sum`, `avg`, `variance` and `stddev`.
    low: float = 0.0
    high: float = 1.0
    text: str = ""
    level: float | None = None  # Of a quantile, in (0, 1)
    condition: Node | None = None  # Of `users`: people who have a row for which it is true
    # Of `avg`: the weight of a row, `SUM(weight * node) / SUM(weight)`; None where all weigh the same.
    weight: Node | None = None
    most: float = 1.0  # Largest weight: those above it are clamped to it, and those below 0 to 0
    # Whether the range is chosen from what noisy numbers of users show (`OwnedSelect.ranged`): values may lie beyond
    # it, so that no interval of the true value has an end.
    is_ranged: bool = False

    def __post_init__(self) -> None:
        if self.is_ranged and self.kind not in ("sum", "avg", "variance", "stddev"):
            raise UsageError("is_ranged is for sums, means and variances; leave it out.")
        if self.weight is not None and (self.kind != "avg" or not 0.0 < self.most < math.inf):
            raise UsageError("weight is for avg, with a finite most above 0; leave it out, or pass these.")
        if (self.level is None) == (self.kind == "quantile") or (self.condition is not None and self.kind != "users"):
            raise UsageError("level belongs to a quantile, and a condition to users; pass them there alone.")
        if self.kind not in OWNED_KINDS or (self.node is None) != (self.kind in ("rows", "users")):
            raise UsageError(
                f"node does not fit an aggregate of kind {self.kind!r}; pass one for count, sum and means."
            )
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise UsageError(f"low and high must be finite and low below high, got {self.low}, {self.high}; clamp it.")


@dataclass(frozen=True)
class Computed:
    """A column that is computed of an answer's keys and aggregates, after the noise."""

    name: str
    node: Node  # A function of columns of the table `ANSWER`; aggregates are DOUBLE
    text: str = ""
    is_users: bool = False  # Whether it is the public number of users: an aggregate without noise


@dataclass(frozen=True, eq=False)
class OwnedSelect:
    """A statement over rows that each belong to one user, under a user-level guarantee.

    Parameters
    ----------
    order, limit, offset, text, noise
        As in :class:`emdp.questions.select.Select`.
    """

    relation: Relation  # Owned
    items: tuple[OwnedItem, ...]  # At least one; distinct names
    price: Price  # For the whole statement, of kind `epsilon`
    # Groups of rows, by public lists or, where a key has none, by thresholds on numbers of users.
    keys: tuple[Key, ...] = ()
    cap: int | None = None  # `max_records_per_user`: needed by all but `users` and `distinct`, or chosen
    # `max_groups_per_user`: groups in which a user counts at most, all together. Of keys without a list it is how many
    # groups of a user are kept, chosen by the user's own rows.
    groups_cap: int | None = None
    public: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # The public tables that the relation names
    # Order of the answer's columns; keys and items by default, each that is not named before them.
    columns: tuple[str, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    text: str = ""
    noise: VectorNoise = "auto"
    # Whether a tenth of epsilon buys the numbers of users by octave of their records: the cap is chosen from them where
    # none is given, and what it leaves out is estimated.
    measures_cap: bool = False
    # `max_distinct_per_user`: values of a user that a count of different values counts at most; None to choose it.
    distinct_cap: int | None = None
    # What is computed of the noisy values: columns of the answer, what it is ordered by, `having`.
    computed: tuple[Computed, ...] = ()
    hidden: frozenset[str] = frozenset()  # Keys, items and computed columns that are no columns of the answer
    having: str = ""  # A BOOLEAN computed column: rows for which it is not true are left out. Empty for none.
    is_distinct: bool = False  # Whether of rows with equal values one is kept
    # `max_records_per_group`: largest weight of a user's rows in a group, with `groups_cap` and without `cap`.
    group_rows: int | None = None
    # Whether a tenth of epsilon buys the numbers of users by octave of their groups, from which `groups_cap` is chosen,
    # which is None then.
    measures_groups: bool = False
    # Whether `cap` is on what a user's records add to sums, in units of `2**-AMOUNT_BITS` of the largest record.
    amounts: bool = False
    # Arguments of items with `is_ranged` whose ranges a tenth of epsilon buys; what items have of it stands for none.
    ranged: tuple[Node, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the answer is keys and aggregates, as they are."""
        return not (self.computed or self.hidden or self.having or self.is_distinct)

    @property
    def plain(self) -> "OwnedSelect":
        """The question of its keys and aggregates as they are, all rows in their natural order."""
        return replace(
            self,
            columns=(),
            order=(),
            limit=None,
            offset=0,
            computed=(),
            hidden=frozenset(),
            having="",
            is_distinct=False,
        )

    def __post_init__(self) -> None:
        check_price(self.price, "epsilon", is_removable=True)
        if self.price.is_by_removal and names_every_user(self.relation):
            raise UsageError(
                "neighbours must be 'replace' where a list of users has a row for users without records, since "
                "removing a user leaves that row; leave neighbours out, or read the private table first."
            )
