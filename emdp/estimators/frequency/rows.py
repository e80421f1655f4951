"""The rows of estimated shares: one item of a finite space each, with an interval and, if asked for, an adjusted share.

Adjusted shares are a distribution near the estimates: the nearest one in the 2-norm, or one near in the unit of
``d_em`` (:mod:`emdp.transport.projection`). They are post-processing of what was released, so they cost nothing, and
stand beside the unbiased estimates, whose intervals they do not change.
"""

import math
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import polars as pl

from emdp.base.checks import check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.frequency.geometry import Geometry, geometry_of_items
from emdp.estimators.frequency.heavy_hitters import top_items
from emdp.estimators.frequency.regions import MessageErrors, Norm, check_norm, message_radius, randomizer_spread
from emdp.estimators.itemwise.rows import COUNT, RAW, CountRows, shape_of
from emdp.questions.columns import TopItems
from emdp.questions.item_frequencies import Adjustment
from emdp.questions.shape import Shape
from emdp.spaces import Grid, Space, count_items, finite_items
from emdp.spaces.base import Floats
from emdp.transport.kr_norm import MOST_PAIRS
from emdp.transport.projection import project_d_em
from emdp.transport.simplex import project_to_simplex

__all__ = ["PooledRows", "ShareRows", "check_adjustable", "check_columns", "top_rows"]

Intervals = Callable[[Floats, float, bool], tuple[Floats, Floats]]
"""Function of estimates, a level and whether all intervals hold together; returns the ends of intervals."""

Radius = Callable[[float, Norm, Geometry], float]
"""Function of a level, a norm and the items' geometry; returns the radius of a ball that holds the exact shares."""

ADJUSTED, CERTAIN = "_adjusted", "_is_certain"
"""Suffixes of a column's name for adjusted shares, and for the items that surely are among the top."""

SIMPLEX = "adjusted shares are the nearest distribution in the 2-norm: they are biased, and have no intervals"
NEAR = "adjusted shares are a distribution near the estimates in the unit of d_em: biased, without intervals"


@dataclass(frozen=True, eq=False)
class ShareRows:
    """Rows of frequencies: one an item, with its estimated share and the ends of its interval."""

    space: Space  # A finite item space
    name: str
    intervals: Intervals
    adjust: Adjustment = "none"  # Which distribution stands in `<name>_adjusted`
    radius: Radius | None = None

    @cached_property
    def items(self) -> pl.DataFrame:
        listed = finite_items(self.space)
        return pl.DataFrame() if listed is None else pl.DataFrame(self.space.decode(listed))

    @property
    def shape(self) -> Shape:
        """Cells of a grid, listed values, or rows."""
        return shape_of(self.space)

    @property
    def notes(self) -> tuple[str, ...]:
        return (RAW, *_adjustment_notes(self.adjust))

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the items with shares, intervals and adjusted shares."""
        values = np.asarray(released[0], dtype=np.float64)
        low, high = self.intervals(values, level, together)
        rows = self.items.with_columns(
            pl.Series(self.name, values), pl.Series(f"{self.name}_low", low), pl.Series(f"{self.name}_high", high)
        )
        return _with_adjusted(rows, self.space, self.name, self.adjust)

    def exact(self, statistics: Any) -> pl.DataFrame:
        return self.items.with_columns(pl.Series(self.name, np.asarray(statistics[0], dtype=np.float64)))

    def top(self, released: Any, count: int, failure: float) -> TopItems:
        """Return the items with the largest estimates; see :func:`top_rows`."""
        return top_rows(self.frame(released, _level(failure), together=True), self.name, count, failure)

    def region(self, level: float, norm: str) -> float:
        """Return the radius of a ball around the estimates; see :mod:`emdp.estimators.frequency.regions`."""
        if self.radius is None:
            raise UsageError("these shares have no region; ask for their intervals.")
        return self.radius(level, check_norm(norm), geometry_of_items(self.space))


@dataclass(frozen=True, eq=False)
class PooledRows:
    """The rows of an item-wise release, in the local model with the outputs of all users added up."""

    rows: CountRows
    name: str
    adjust: Adjustment  # Which distribution stands in `<name>_adjusted`
    is_local: bool  # Whether what is released is a frame of outputs by user
    shows_counts: bool = True  # Whether the rows say how many outputs there were of each item, too

    @property
    def shape(self) -> Shape:
        return self.rows.shape

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes besides those of the release."""
        return (*((RAW,) if self.is_local else ()), *_adjustment_notes(self.adjust))

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the items with counts of outputs, shares, intervals and adjusted shares."""
        rows = self.rows.frame((self._counts(released),), level, together=together)
        if not self.shows_counts:
            rows = rows.drop(COUNT)
        return _with_adjusted(rows, self.rows.randomizer.space, self.name, self.adjust)

    def exact(self, statistics: Any) -> pl.DataFrame:
        """Return the exact shares; they are not kept in the local model."""
        if self.is_local:
            raise UsageError("the exact records behind local messages are not kept; compare with table.bag(user).")
        return self.rows.exact(statistics)

    def top(self, released: Any, count: int, failure: float) -> TopItems:
        """Return the items with the largest estimates; see :func:`top_rows`."""
        return top_rows(self.frame(released, _level(failure), together=True), self.name, count, failure)

    def region(self, level: float, norm: str) -> float:
        """Return the radius of a ball around the estimates; see :mod:`emdp.estimators.frequency.regions`."""
        variance, change_2, change_1 = randomizer_spread(self.rows.randomizer)
        errors = MessageErrors(
            size=len(self.rows.outputs),
            messages=self.rows.total,
            # Records that are sampled differ, too: the sum of the variances of indicators is below 1.
            variance=variance + (1.0 if self.rows.is_sampled else 0.0),
            change_2=change_2,
            change_1=change_1,
            largest=self.rows.largest_error,
        )
        return message_radius(errors, level, check_norm(norm))

    def _counts(self, released: Any) -> Any:
        if not self.is_local:
            return released[0]
        drawn: pl.DataFrame = released[0]
        outputs = drawn.get_column("output").to_numpy()
        counts = np.zeros(len(self.rows.outputs), dtype=np.int64)
        np.add.at(counts, outputs, drawn.get_column(COUNT).to_numpy())
        return counts


def top_rows(frame: pl.DataFrame, name: str, count: int, failure: float) -> TopItems:
    """Return the rows with the largest estimates and what surely holds of them, but for a probability.

    Parameters
    ----------
    frame : polars.DataFrame
        All items, with intervals that hold together but for ``failure``.
    count : int
        How many rows, at most all.
    failure : float
        In (0, 1).
    """
    values, low, high = (frame.get_column(name + end).to_numpy() for end in ("", "_low", "_high"))
    # Ends are sums rounded to the nearest double, so they hold one step further out; those cut off at 0 and 1 do as is.
    low = np.where(low == 0.0, low, np.nextafter(low, -np.inf))
    high = np.where(high == 1.0, high, np.nextafter(high, np.inf))
    found = top_items(values, low, high, count=count, failure=failure)
    rows = frame[found.codes].with_columns(pl.Series(name + CERTAIN, found.is_certain))
    return TopItems(rows, found.complete_above, found.none_below, found.failure)


def check_columns(space: Space, name: str, adjust: Adjustment) -> None:
    """Raise ``UsageError`` if a column of shares is named like a column of the items.

    >>> from emdp.spaces import Categories
    >>> check_columns(Categories("kind", ["bar", "cafe"]), "frequency", "none")
    """
    ends = ("", "_low", "_high", CERTAIN, *(() if adjust == "none" else (ADJUSTED,)))
    if {name + end for end in ends} & set(space.columns):
        raise UsageError(
            f"the item columns {', '.join(map(repr, space.columns))} and name={name!r} give a column of the answer "
            "twice; pass another name=, or rename the column in the table."
        )


def check_adjustable(space: Space, adjust: Adjustment) -> None:
    """Raise ``UsageError`` if estimates on a space may not be adjusted so, whatever they will be.

    >>> from emdp.spaces import Categories
    >>> check_adjustable(Categories("kind", ["bar", "cafe"]), "d_em")
    """
    if adjust != "d_em" or space.structure != "general" or isinstance(space, Grid):
        return
    items = count_items(space) or 0
    # As many pairs of a positive and a negative estimate as there can be.
    if (items // 2) * (items - items // 2) > MOST_PAIRS:
        raise UsageError(
            f"adjust='d_em' is found for at most {math.isqrt(4 * MOST_PAIRS)} items of {space.noun}, and it "
            f"has {items}; pass adjust='simplex'."
        )


def _level(failure: float) -> float:
    """Return the coverage that leaves at most a probability of failure."""
    return math.nextafter(1.0 - check_unit_interval("failure", failure), 1.0)


def _adjustment_notes(adjust: Adjustment) -> tuple[str, ...]:
    return () if adjust == "none" else (SIMPLEX,) if adjust == "simplex" else (NEAR,)


def _with_adjusted(rows: pl.DataFrame, space: Space, name: str, adjust: Adjustment) -> pl.DataFrame:
    if adjust == "none":
        return rows
    values = rows.get_column(name).to_numpy()
    if adjust == "simplex":
        return rows.with_columns(pl.Series(name + ADJUSTED, project_to_simplex(values)))
    return rows.with_columns(pl.Series(name + ADJUSTED, _near_in_d_em(space, values.tobytes())))


@lru_cache(maxsize=4)
def _near_in_d_em(space: Space, values: bytes) -> Floats:
    """Return the adjusted shares; remembered, since an answer's frame is made anew whenever it is looked at."""
    items = finite_items(space)
    if items is None:
        raise InternalError("a space was finite and is no more; please report this.")
    return project_d_em(np.frombuffer(values, dtype=np.float64), space, items).values
