"""Quantiles of records, by listed groups: a choice among the places of a public grid, and an interval.

One scan gives users' weights on the grid (:mod:`emdp.questions.owned.grids`): of each user, over all groups and places,
whole numbers of ``2^-20`` that add up to at most ``C``. The choice and its proofs are those of
:mod:`emdp.mechanisms.records.quantiles`: of one group its theorems 1 and 3, of several theorem 4.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, product
from typing import Any

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.columns.sizes import ASSUMED_USERS
from emdp.estimators.contract import Records
from emdp.estimators.owned.fixed import FixedRows
from emdp.estimators.owned.frame_plan import FramePlan
from emdp.estimators.owned.joined import JoinedRows
from emdp.mechanisms.records.intervals import QuantileIntervals
from emdp.mechanisms.records.quantiles import QuantileInterval
from emdp.privacy.rounding import as_decimal
from emdp.questions.columns import PlannedColumn
from emdp.questions.owned.grids import OwnedWeights
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.totals import UNIT_BITS, Key

__all__ = ["QuantilePlan", "plan_quantile"]

FAILURE = 0.05
"""What an interval is released for: intervals of a higher level are the whole range."""

MOST_GROUPS = 100
"""Most groups of a quantile: a choice among all places of the grid for each, thrice."""

LARGEST_WEIGHT = 2**62
"""Weight of a place is cut here, which moves it by no more than before: more than any table has."""

Place = tuple[int, int | None, int | None]


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantilePlan(FramePlan):
    """A priced release of quantiles in each group; ``interval`` is what draws: of one level, or of several."""

    aggregation: OwnedWeights
    interval: QuantileInterval | QuantileIntervals

    @property
    def mechanisms(self) -> tuple[QuantileInterval | QuantileIntervals, ...]:
        return (self.interval,)

    @property
    def weighing(self) -> str:
        return f"every record counts, those of one user together as at most {self.aggregation.cap}"

    def drawn(
        self, frame: pl.DataFrame, records: Records, *, keep_exact: bool
    ) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
        """Return the places of each group's quantile and interval, by level where there are several: this spends."""
        del records
        weights = [self._weights(frame.filter(pl.col("cell") == cell)) for cell in range(self.aggregation.cells)]
        if isinstance(self.interval, QuantileIntervals):
            exact = tuple(tuple(_exact(own, level) for own in weights) for level in self.interval.levels)
            return self.interval.release(weights), exact if keep_exact else None
        released, level = tuple(self.interval.release(own) for own in weights), self.interval.level
        return released, tuple(_exact(own, level) for own in weights) if keep_exact else None

    def _weights(self, frame: pl.DataFrame) -> "np.ndarray[Any, np.dtype[np.int64]]":
        weights = np.zeros(self.aggregation.size, dtype=np.int64)
        pairs = zip(frame.get_column("place").to_list(), frame.get_column("weight").to_list(), strict=True)
        for place, weight in pairs:
            # Whole numbers above the range stand at its end, as the clamp has it.
            own = min(place, self.aggregation.size - 1)
            weights[own] = min(int(weights[own]) + int(weight), LARGEST_WEIGHT)
        return weights


def _exact(weights: "np.ndarray[Any, np.dtype[np.int64]]", level: float) -> int:
    upto = list(accumulate(weights.tolist()))
    return bisect_left(upto, math.ceil(as_decimal(level) * upto[-1]))


@dataclass(frozen=True)
class _Values:
    """Places of a grid as values of an answer."""

    low: float
    high: float
    step: float
    is_whole: bool

    def estimates(self, released: Sequence[Place], level: float, *, together: bool) -> list[tuple[float, float, float]]:
        # One interval was released, for one level: a higher one has the range, which holds everything.
        is_held = level <= 1.0 - FAILURE and (not together or len(released) == 1)
        half = 0.0 if self.is_whole else 0.5 * self.step
        found = []
        for middle, first, last in released:
            low = self.low if first is None or not is_held else max(self.low, self._outward(first, -half))
            high = self.high if last is None or not is_held else min(self.high, self._outward(last, half))
            value = self._value(middle)
            found.append((value, min(low, value), max(high, value)))
        return found

    def exact(self, places: Sequence[int]) -> list[float | None]:
        return [self._value(place) for place in places]

    def _value(self, place: int) -> float:
        return min(self.high, self.low + place * self.step)

    def _outward(self, place: int, half: float) -> float:
        moved = self._value(place) + half
        if not half:
            return moved
        # Rounding of the place and of these sums is far below a part in 2^40 of the range.
        return moved + math.copysign((abs(self.low) + abs(self.high)) * 2.0**-40, half)


def plan_quantile(query: OwnedSelect, *, users: int | None) -> QuantilePlan:
    """Return the plan of a statement of one quantile, or of several levels of one expression."""
    item = query.items[0]
    if query.cap is None or item.node is None or item.level is None:
        raise UsageError("max_records_per_user must be given for quantiles of records; add max_records_per_user = 50.")
    wanted = OwnedWeights(query.relation, query.keys, item.node, item.low, item.high, query.cap, query.public)
    if wanted.cells > MOST_GROUPS:
        raise UsageError(f"a quantile has at most {MOST_GROUPS} groups, got {wanted.cells}; make fewer groups.")
    price, most = query.price, query.cap << UNIT_BITS
    items = sorted(query.items, key=lambda own: own.level or 0.0)
    interval: QuantileInterval | QuantileIntervals
    each: tuple[QuantileInterval, ...]
    if len(items) == 1:
        interval = QuantileInterval(item.level, price.level, price.neighbours, most, FAILURE, groups=wanted.cells)
        each, how = (interval,), f"a choice among {wanted.size} values by their rank, and of two for an interval."
    else:
        levels = tuple(own.level or 0.0 for own in items)
        interval = QuantileIntervals(levels, price.level, price.neighbours, most, FAILURE, wanted.cells)
        each, rounds = interval.intervals, interval.quantiles.rounds
        how = (
            f"choices among {wanted.size} values by their rank, {len(items)} levels in {rounds} rounds, and intervals."
        )
    values = _Values(wanted.low, wanted.high, wanted.step, wanted.is_whole)
    rows = tuple(FixedRows(fixed_keys(query.keys), own.name, values) for own in items)
    keys = tuple(key.name for key in query.keys)
    return QuantilePlan(
        aggregation=wanted,
        interval=interval,
        event=interval.event(price.promise()),
        columns=tuple(_preview(own, wanted, one, users) for own, one in zip(items, each, strict=True)),
        choice=how,
        finisher=rows[0] if len(rows) == 1 else JoinedRows(rows, keys, (*keys, *(own.name for own in items))),
        notes=(
            f"quantiles weigh records of at most {query.cap} a user; their intervals are for these records, and of "
            "levels above 0.95 they are the whole range",
        ),
    )


def fixed_keys(keys: Sequence[Key]) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Return the key columns of an answer with one row for each combination of listed values."""
    rows = list(product(*(key.values for key in keys)))
    return tuple((key.name, tuple(row[place] for row in rows)) for place, key in enumerate(keys))


def _preview(item: OwnedItem, wanted: OwnedWeights, interval: QuantileInterval, users: int | None) -> PlannedColumn:
    count = (users or ASSUMED_USERS) * wanted.cap * 0.5 / wanted.cells
    share = min(1.0, interval.rank_error(wanted.size) / 2**UNIT_BITS / count)
    width = max(share * (item.high - item.low), wanted.step)
    return PlannedColumn(
        name=item.name,
        expression=str(item.node),
        lipschitz=math.inf,
        low=item.low,
        high=item.high,
        noise_scale=float(Fraction(width)),
        expected_error=width,
        interval_95=width,
        note=f"errors at most, if {count:.6g} records are counted in a group and values are spread evenly",
        written=item.text,
    )
