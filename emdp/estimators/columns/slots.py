"""Totals over slots: the share of all slots that records fill, times how many slots there are.

Let every bag be filled up to ``M`` records with the point elsewhere (:mod:`emdp.spaces.combined.elsewhere`), where
every function is 0. Of a user with at most ``M`` records the mean of ``f`` over the bag is the sum of ``f`` over the
records that are somewhere, over ``M``. So with ``n`` users the sum over all records is ``n M E[f]``, ``E`` the mean
over users; users with more than ``M`` records count as ``M``, each record alike. It is linear in the bags: per unit of
``d_em`` it changes by ``M`` times the constant of ``f`` on ``X+``, ``max(L, max|f|/rho)``, which for ``COUNT(*)`` is
``M/rho``. ``n`` and ``M`` are public, so the multiplication is post-processing.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import polars as pl

from emdp.base.classes import dataclass
from emdp.estimators.columns.true_totals import true_total
from emdp.estimators.columns.values import Draw, Estimate, OutputColumn

__all__ = ["OverSlots", "shown_total", "slot_notes"]

SLOTTED = (
    "counts and sums are of the records that are somewhere; users with more than {slots} of them, the slots that are "
    "declared, count as {slots}: an interval is for the true total of all records, and has no end where such users "
    'could move it; answer.interval(of="capped") has both ends of the capped total'
)
"""Note of answers with totals over slots."""

MEANS = (
    "means are over the records that are somewhere; users with more than {slots} of them, the slots that are declared, "
    "count as {slots} in them: an interval is for that mean, not for the plain mean of all records"
)
"""Note of answers with means in a table with slots."""


def slot_notes(slots: int, *, has_totals: bool, has_means: bool) -> list[str]:
    """Return the notes that an answer of a table with slots has on users above them.

    >>> [note[:16] for note in slot_notes(20, has_totals=True, has_means=True)]
    ['counts and sums ', 'means are over t']
    """
    return [note.format(slots=slots) for note, is_said in ((SLOTTED, has_totals), (MEANS, has_means)) if is_said]


@dataclass(frozen=True)
class OverSlots:
    """A column of means over slots, times the slots of each group of users.

    >>> from emdp.estimators.columns.values import Known
    >>> OverSlots(Known("n", (Fraction(1, 4),)), (80,)).exact((), 1, 0)
    [Fraction(20, 1)]
    """

    mean: OutputColumn
    slots: tuple[int, ...]  # Slots of all users of each group, `n M`
    dtype = pl.Float64

    @property
    def name(self) -> str:
        return self.mean.name

    @property
    def is_noisy(self) -> bool:
        return self.mean.is_noisy

    @property
    def is_linear(self) -> bool:
        """Whether the mean is one released number: a public multiple of it has the multiple of its interval."""
        return self.mean.is_linear

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        times = self.slots[group]
        return [
            Estimate(
                None if one.value is None else one.value * times,
                _down(one.low, times),
                _up(one.high, times),
            )
            for one in self.mean.estimates(draw, group, level)
        ]

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        found = self.mean.exact(values, cells, group)
        return [None if value is None else value * self.slots[group] for value in found]


def shown_total(column: OutputColumn, ranges: Sequence[tuple[float, float]]) -> OutputColumn:
    """Return a column with the ends that hold for true totals, where it is one of totals of values in the one range."""
    return true_total(column, *ranges[0]) if isinstance(column, OverSlots) else column


def _down(end: float, times: int) -> float:
    return math.nextafter(end * times, -math.inf) if end else 0.0


def _up(end: float, times: int) -> float:
    return math.nextafter(end * times, math.inf) if end else 0.0
