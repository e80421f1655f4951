"""Numbers of different values of a column by listed groups, by the greedy assignment of values to users.

Which user has which value is read in one scan (:mod:`emdp.questions.owned.grids`); each value is counted for one user,
at most ``l`` values a user over all groups together, and the counts get noise (:mod:`emdp.mechanisms.records.counts`).
A count is at most the true number of values, so that its interval has a lower end alone.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.columns.values import NO_END
from emdp.estimators.contract import Records
from emdp.estimators.owned.fixed import FixedRows
from emdp.estimators.owned.frame_plan import FramePlan
from emdp.estimators.owned.quantiles import fixed_keys
from emdp.mechanisms.records.counts import DistinctCounts, DistinctRelease
from emdp.mechanisms.records.distinct import assign_distinct
from emdp.questions.columns import PlannedColumn
from emdp.questions.owned.grids import OwnedPairs
from emdp.questions.owned.question import OwnedItem, OwnedSelect

__all__ = ["DistinctPlan", "plan_distinct"]

ASSUMED_CAP = 10
"""Values of a user that a preview assumes where their number is chosen after the charge."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DistinctPlan(FramePlan):
    """A priced release of numbers of different values; ``counts`` is what draws."""

    aggregation: OwnedPairs
    counts: DistinctCounts

    @property
    def mechanisms(self) -> tuple[DistinctCounts, ...]:
        return (self.counts,)

    @property
    def weighing(self) -> str:
        most = "as many as a private choice says" if self.counts.cap is None else f"at most {self.counts.cap}"
        return f"every value counts for one user, of one user {most}"

    def drawn(
        self, frame: pl.DataFrame, records: Records, *, keep_exact: bool
    ) -> tuple[DistinctRelease, tuple[int, ...] | None]:
        del records
        users, values, cells = (frame.get_column(name).to_numpy() for name in ("user_place", "value_place", "cell"))
        released = self.counts.release(users, values, cells.astype(np.int64))
        if not keep_exact:
            return released, None
        taken = assign_distinct(users, values, released.cap)
        counts = np.bincount(cells[taken].astype(np.int64), minlength=self.aggregation.cells)
        return released, tuple(counts.tolist())


@dataclass(frozen=True)
class _Counts:
    """Noisy counts with the interval of their noise."""

    counts: DistinctCounts
    has_high: bool = False

    def estimates(self, released: DistinctRelease, level: float, *, together: bool) -> list[tuple[float, float, float]]:
        each = 1.0 - (1.0 - level) / self.counts.groups if together else level
        width = self.counts.half_width(released.cap, min(each, math.nextafter(1.0, 0.0)))
        return [(value, value - width, value + width if self.has_high else NO_END) for value in released.counts]

    def exact(self, places: Sequence[int]) -> list[float | None]:
        return [float(count) for count in places]

    def of_capped(self) -> Self:
        return replace(self, has_high=True)


def plan_distinct(query: OwnedSelect) -> DistinctPlan:
    """Return the plan of a statement of one number of different values."""
    (item,) = query.items
    if item.node is None:
        raise UsageError("node must be given for a number of different values; pass one.")
    wanted = OwnedPairs(query.relation, query.keys, item.node, query.public)
    counts = DistinctCounts(query.price.level, query.price.neighbours, wanted.cells, query.distinct_cap)
    cap = query.distinct_cap
    how = "as many as a choice with a fifth of the price says" if cap is None else f"at most {cap}"
    return DistinctPlan(
        aggregation=wanted,
        counts=counts,
        event=counts.event(query.price.promise()),
        columns=(_preview(item, counts),),
        choice="discrete Laplace noise on numbers of values, each counted for one user.",
        finisher=FixedRows(fixed_keys(query.keys), item.name, _Counts(counts)),
        notes=(
            f"each different value is counted for one user, of one user in all groups together {how}: their number is "
            "at most the true one, so that an interval has no upper end",
        ),
    )


def _preview(item: OwnedItem, counts: DistinctCounts) -> PlannedColumn:
    cap = ASSUMED_CAP if counts.cap is None else counts.cap
    deviation = counts.standard_deviation(cap)
    return PlannedColumn(
        name=item.name,
        expression=str(item.node),
        lipschitz=math.inf,
        low=0.0,
        high=math.inf,
        noise_scale=deviation,
        expected_error=counts.scale(cap),
        interval_95=counts.half_width(cap, 0.95),
        note=f"errors of noise alone if {cap} values of a user are counted" if counts.cap is None else "",
        written=item.text,
    )
