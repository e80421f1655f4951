"""Totals under a cap, read as true totals: intervals without an end that the cap may move past the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from emdp.estimators.columns.values import NO_END, Draw, Estimate, OutputColumn

__all__ = ["TRUE_TOTALS", "OneSided", "true_total"]

TRUE_TOTALS = (
    "users above {cap} records count as {cap}: an interval of a count or sum is for the true total of all records, "
    "and has no upper end, since nothing bounds what such users hold (of numbers below 0 no lower end, of both signs "
    'none); answer.interval(of="capped") has both ends of the capped total'
)
"""Note of answers with counts and sums under a cap."""


@dataclass(frozen=True)
class OneSided:
    """A column of capped totals, read as one of true totals: an end that the cap may move past the truth is left out.

    Theorem. Let every value that is summed up be at least 0. Then a user's capped total is at most the true one, and
    so is their sum over users. So the lower end of an interval of the capped total is a lower end for the true total
    with at least the same coverage; of an upper end nothing can be said, since a user may own any number of records.
    With values of at most 0 it is the other way round. With values of both signs neither holds: a cap may remove more
    of what is above 0 than of what is below, or less.
    """

    column: OutputColumn
    has_low: bool
    has_high: bool

    @property
    def is_linear(self) -> bool:
        """Whether the capped total is one released number."""
        return self.column.is_linear

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def is_noisy(self) -> bool:
        """Whether the column has noise."""
        return self.column.is_noisy

    @property
    def dtype(self) -> Any:
        """The column's type."""
        return self.column.dtype

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        """Return the value and the ends that hold for the true total."""
        return [
            Estimate(one.value, one.low if self.has_low else NO_END, one.high if self.has_high else NO_END)
            for one in self.column.estimates(draw, group, level)
        ]

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        """Return the capped totals, which are what the noise was added to."""
        return self.column.exact(values, cells, group)


def true_total(column: OutputColumn, low: float, high: float) -> OutputColumn:
    """Return a capped total of values in a range with the ends that hold for the true total.

    >>> from emdp.estimators.columns.values import Known
    >>> one = true_total(Known("n", (Fraction(7),)), 0.0, 5.0)
    >>> one.has_low, one.has_high
    (True, False)
    """
    return OneSided(column, has_low=low >= 0, has_high=high <= 0)
