"""The rows of an item-wise release: outputs with their counts, unbiased frequencies with intervals, or points.

Intervals. The estimate of item ``x`` is the mean of ``N`` independent values ``B[Y, x]`` in a range of width ``R``,
of mean variance ``V`` (:mod:`emdp.mechanisms.items.finite`), so by Bernstein's inequality it is within ``R
L/(3N) + sqrt((R L/(3N))^2 + 2 V L/N)``, ``L = ln(2/tail)``, but for a probability of ``tail``. Before the release
``V`` is the largest over items; where records are sampled each value has the variance of the randomizer's mean
besides, at most that of an indicator, 1/4. After it the released counts bound ``V``: the squares ``Z = B[Y, x]^2``
are independent in ``[0, M]``, and their mean is below its expectation ``E`` by ``sqrt(2 E M l/N)`` with probability
``e^-l`` at most (the lower tail of sums of non-negative variables; Maurer 2003). Hence ``V <= E <= (sqrt(mean Z + M
l/(2N)) + sqrt(M l/(2N)))^2`` but for ``e^-l``, for which a tenth of the tail is set aside; the smaller of the two
bounds counts.
"""

import math
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.randomizer import Randomizer
from emdp.questions.columns import PlannedColumn
from emdp.questions.shape import Shape
from emdp.spaces import Categories, Clusters, Distances, Grid, Space
from emdp.spaces.base import Floats

__all__ = ["CountRows", "FrameRows", "item_rows"]

COUNT, USER, OUTPUT = "count", "user", "output"
"""Columns of how many outputs there are of each kind, of the users' numbers, and of outputs that are no items."""

SPARE = 0.1
"""Share of an interval's tail that its variance may take."""

RAW = "frequencies are unbiased and not adjusted: some may be below 0, and their sum off 1"
MULTISET = (
    "the released multiset is the guarantee's: whatever is computed from it costs nothing more; each output is one "
    "randomized record, no person"
)
OTHER_OUTPUTS = (
    "count is of outputs, not of items; answer.noise.randomizer.estimate(answer.frame['count']) has the items' shares"
)
UNSTABLE = "the outputs do not determine the items' shares stably, so there are counts alone; use another randomizer"


def item_rows(
    randomizer: Randomizer, name: str, *, total: int, is_sampled: bool, is_local: bool
) -> "CountRows | FrameRows":
    """Return the maker of rows of a release.

    Parameters
    ----------
    is_sampled, is_local : bool
        Whether records are sampled; whether each user's outputs stay apart.
    """
    rows: CountRows | FrameRows
    if isinstance(randomizer, FiniteRandomizer) and not is_local:
        rows = CountRows(randomizer, name, total, is_sampled)
        own, taken = rows.outputs.columns, [COUNT, name, f"{name}_low", f"{name}_high"]
    else:
        outputs = pl.DataFrame(randomizer.outputs_frame()) if isinstance(randomizer, FiniteRandomizer) else None
        rows = FrameRows(outputs, randomizer.space)
        own = list(randomizer.space.columns) if outputs is None else outputs.columns
        taken = [USER] if outputs is None else [USER, COUNT]
    are_items = own == list(randomizer.space.columns)
    if len({*own, *taken}) < len(own) + len(taken) or (are_items and OUTPUT in own):
        raise UsageError(
            f"the item columns {', '.join(map(repr, own))} and name={name!r} give a column of the answer twice; "
            f"{'rename the column in the table' if name not in own else 'pass another name='}."
        )
    return rows


@dataclass(frozen=True, eq=False)
class CountRows:
    """Rows of outputs: what each is, how many there are and, where outputs are items, the estimated share."""

    randomizer: FiniteRandomizer
    name: str
    total: int
    is_sampled: bool  # Whether records were sampled

    @cached_property
    def outputs(self) -> pl.DataFrame:
        """Columns that describe each output, one row an output."""
        return pl.DataFrame(self.randomizer.outputs_frame())

    @cached_property
    def is_estimated(self) -> bool:
        """Whether there are frequencies: outputs are items, and determine shares."""
        if self.outputs.columns != list(self.randomizer.space.columns):
            return False
        try:
            self.randomizer.estimate_variance()
        except RefusedError:
            return False
        return True

    @property
    def shape(self) -> Shape:
        """Cells of a grid, listed values, or rows."""
        return shape_of(self.randomizer.space) if self.is_estimated else Shape("rows", tuple(self.outputs.columns))

    @property
    def notes(self) -> tuple[str, ...]:
        if self.is_estimated:
            return (MULTISET, RAW)
        are_items = self.outputs.columns == list(self.randomizer.space.columns)
        return (MULTISET, UNSTABLE if are_items else OTHER_OUTPUTS)

    @property
    def planned(self) -> tuple[PlannedColumn, ...]:
        """The column of frequencies, where there is one."""
        if not self.is_estimated:
            return ()
        deviation = math.sqrt(float(self._variance.max()) / self.total)
        column = PlannedColumn(
            name=self.name,
            expression=f"share of each item, unbiased from {self.randomizer.name}",
            lipschitz=self.randomizer.alpha0,
            low=0.0,
            high=1.0,
            noise_scale=deviation,
            expected_error=deviation * math.sqrt(2.0 / math.pi),
            interval_95=float(self._half_widths(0.05).max()),
            note="the widest of all items; lipschitz is the randomizer's alpha0",
        )
        return (column,)

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the outputs with their counts and, where there are, frequencies with intervals."""
        counts = np.array([int(count) for count in released[0]], dtype=np.int64)
        frame = self.outputs.with_columns(pl.Series(COUNT, counts))
        if not self.is_estimated:
            return frame
        values = self.randomizer.estimate(counts)
        widths = self._half_widths((1.0 - level) / (len(values) if together else 1), counts)
        return frame.with_columns(
            pl.Series(self.name, values),
            pl.Series(f"{self.name}_low", values - widths),
            pl.Series(f"{self.name}_high", values + widths),
        )

    def exact(self, statistics: Any) -> pl.DataFrame:
        items = pl.DataFrame(self.randomizer.space.decode(self.randomizer.items.items))
        return items.with_columns(pl.Series(self.name, [float(share) for share in statistics[0]]))

    def largest_error(self, level: float) -> float:
        """Return the error that no estimate exceeds, with that probability; from public numbers alone."""
        return float(self._half_widths((1.0 - level) / len(self.outputs)).max())

    @cached_property
    def _variance(self) -> Floats:
        return self.randomizer.estimate_variance() + (0.25 if self.is_sampled else 0.0)

    def _half_widths(self, tail: float, counts: Integers | None = None) -> Floats:
        low, high = self.randomizer.estimate_range()
        variance = self._variance
        if counts is not None:
            variance = np.minimum(variance, self._variance_seen(counts, SPARE * tail, np.maximum(low**2, high**2)))
            tail *= 1.0 - SPARE
        log = math.log(2.0 / tail)
        linear = (high - low) * log / (3.0 * self.total)
        return np.asarray(linear + np.sqrt(linear**2 + 2.0 * variance * log / self.total), dtype=np.float64)

    def _variance_seen(self, counts: Integers, tail: float, most: Floats) -> Floats:
        """Return what the released counts say of the mean variances, but for a probability of ``tail`` each."""
        squares = (counts / float(self.total)) @ np.square(self.randomizer.right_inverse)
        spare = most * math.log(1.0 / tail) / (2.0 * self.total)
        return np.asarray((np.sqrt(squares + spare) + np.sqrt(spare)) ** 2, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class FrameRows:
    """Rows as they were drawn: outputs by user with their counts, or points."""

    planned: ClassVar[tuple[PlannedColumn, ...]] = ()

    outputs: pl.DataFrame | None  # What each output of a finite randomizer is; None for points
    space: Space

    @property
    def shape(self) -> Shape:
        return Shape("rows")

    @property
    def notes(self) -> tuple[str, ...]:
        return (MULTISET,)

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the rows; outputs under the space's column names."""
        del level, together
        drawn: pl.DataFrame = released[0]
        if self.outputs is None:
            return drawn
        codes = drawn.get_column(OUTPUT)
        named = [self.outputs.get_column(name).gather(codes) for name in self.outputs.columns]
        return pl.DataFrame([drawn.get_column(USER), *named, drawn.get_column(COUNT)])

    def exact(self, statistics: Any) -> pl.DataFrame:
        """Refuse: the records themselves are not kept."""
        raise UsageError("the exact records behind a release of messages are not kept; compare with table.bag(user).")


def shape_of(space: Space) -> Shape:
    """Return how the items of a finite space lie.

    >>> shape_of(Categories("kind", ["bar", "cafe"])).coordinates
    ('kind',)
    """
    if isinstance(space, Grid) and len(space.columns) <= 2:
        centres = pl.DataFrame(space.decode(space.all_items))
        steps = tuple(_step(centres.get_column(name)) for name in space.columns)
        if all(step > 0 for step in steps):
            return Shape("cells", (), space.columns, steps, is_map=space.inner.is_map)
    if isinstance(space, Categories | Clusters | Distances):
        return Shape("values", (), space.columns)
    return Shape("rows", space.columns)


def _step(centres: pl.Series) -> float:
    values = centres.unique().sort()
    return float(values[1] - values[0]) if len(values) > 1 else 0.0
