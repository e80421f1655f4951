"""Resolved statements: what a checked SQL text, or a Python query with ``by`` or ``where``, comes down to.

Every name is resolved here: groups are public lists of values, chosen users are public keys, a filter on items is a
factor in [0, 1]. What is computed and how sensitive it is follows in the estimators.
"""

from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions.cells.aggregation import LabelAxis, UserGroups
from emdp.expressions.nodes.base import Expression
from emdp.questions.item_kinds import KINDS
from emdp.questions.means import CellNoise, MeanModel, Messages, VectorNoise
from emdp.questions.price import Price

__all__ = [
    "FrequencyQuery",
    "Grid",
    "GroupColumn",
    "Item",
    "Order",
    "People",
    "QuantileQuery",
    "Select",
]


@dataclass(frozen=True)
class Item:
    """An aggregate of a select list."""

    kind: str  # One of `emdp.questions.item_kinds.KINDS`
    name: str
    expression: Expression | None = None  # Function of one record; None for `share`, `users`, `count`
    weight: float = 1.0  # Share of the statement's alpha, relative to the other items' (`WEIGHT(AVG(e), 2)`); above 0
    text: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS or not self.weight > 0:
            raise UsageError(f"kind must be one of {', '.join(KINDS)}, with a weight above 0; pass such an item.")
        if (self.expression is not None) != KINDS[self.kind].has_expression:
            raise UsageError(f"expression does not fit an item of kind {self.kind!r}; pass one for avg, part, sum.")


@dataclass(frozen=True)
class GroupColumn:
    """Groups of records by the listed value of a finite part, one row of the answer each, empty groups included."""

    name: str
    values: tuple[Any, ...]  # The key shown for each cell of the axis, distinct
    axis: LabelAxis


@dataclass(frozen=True, eq=False)
class People:
    """Groups of the public users that count."""

    groups: UserGroups
    # Public user columns that they are grouped by; empty for a mere choice of users (one group).
    columns: tuple[str, ...] = ()
    values: tuple[tuple[Any, ...], ...] = ((),)  # For each group its values of `columns`
    text: str = ""


@dataclass(frozen=True)
class Order:
    """A key of ``ORDER BY``: a column of the answer."""

    column: str
    is_descending: bool = False
    nulls_last: bool = True


@dataclass(frozen=True, eq=False)
class Select:
    """A statement with a list of aggregates.

    Parameters
    ----------
    model, messages
        As in :class:`emdp.questions.means.Mean`: who is trusted, and how many bits of each mean a user sends.
    """

    items: tuple[Item, ...]  # At least one; distinct names
    price: Price
    groups: tuple[GroupColumn, ...] = ()
    people: People | None = None  # Chosen or grouped users; all public users by default
    where: Expression | None = None  # Factor `c` in [0, 1] of a filter on items
    # `max_records_per_user`, under `epsilon` alone: `count` and `sum` need it, `avg` then weighs records.
    cap: int | None = None
    # Order of the answer's columns, group columns and items by name; the natural order by default.
    columns: tuple[str, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0  # Rows of the answer to leave out first
    text: str = ""
    # The share of the records that a row is expected to be about, for previews alone; assumed by default
    # (`emdp.questions.assumed`).
    expected_share: float | None = None
    # Law of the noise where the analyst asked for one: estimators refuse one that does not fit.
    noise: VectorNoise = "auto"
    model: MeanModel = "central"
    messages: Messages = "auto"


@dataclass(frozen=True)
class Grid:
    """Square cells of a continuous part, by a partition of unity (EMD 6).

    Parameters
    ----------
    step : float
        Pitch in the part's natural unit (km of a ``Geo``), above 0.
    column : str, optional
        A column of the part, where several parts are continuous.
    """

    step: float
    column: str | None = None


@dataclass(frozen=True, eq=False)
class FrequencyQuery:
    """A smoothed histogram over a grid, or the frequencies of listed values.

    Parameters
    ----------
    price, noise, people, order, limit, offset, text
        As in :class:`Select`.
    """

    cells: Grid | LabelAxis
    price: Price
    people: People | None = None
    name: str = "frequency"
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    text: str = ""
    written: str = ""
    noise: CellNoise = "auto"


@dataclass(frozen=True, eq=False)
class QuantileQuery:
    """Quantiles of an expression among the (chosen) records, every user weighing the same.

    Parameters
    ----------
    price, noise, people, where, order, limit, offset, text, expected_share
        As in :class:`Select`; the pitch that is chosen follows the share, too.
    """

    expression: Expression
    levels: tuple[float, ...]  # Quantiles wanted, in (0, 1)
    price: Price
    people: People | None = None
    where: Expression | None = None
    # Width of the ramps of the smoothed distribution function, in the expression's unit; chosen from public numbers by
    # default.
    step: float | None = None
    name: str = "quantile"
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    text: str = ""
    written: str = ""
    expected_share: float | None = None
    noise: VectorNoise = "auto"
