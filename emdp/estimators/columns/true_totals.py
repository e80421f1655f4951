"""Totals under a cap, read as true totals.

Their intervals lack an end that the cap may move past the truth; where what the cap leaves out was estimated, that end
is moved out by twice the estimate.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from emdp.base.classes import dataclass
from emdp.estimators.columns.values import NO_END, Draw, Estimate, OutputColumn

__all__ = [
    "AMOUNT_TOTALS",
    "GIVEN_AMOUNTS",
    "MEASURED_TOTALS",
    "TRUE_TOTALS",
    "Measured",
    "OneSided",
    "among_somewhere",
    "measured_total",
    "true_total",
]

TRUE_TOTALS = (
    "users above {cap} records count as {cap}: an interval of a count or sum is for the true total of all records, "
    "and has no upper end, since nothing bounds what such users hold (of numbers below 0 no lower end, of both signs "
    'none); answer.interval(of="capped") has both ends of the capped total'
)
"""Note of answers with counts and sums under a cap."""

MEASURED_TOTALS = (
    "users with more records than {cap} count as {cap}: an interval of a count or sum is for the true total of all "
    "records. How many are left out so is estimated from noisy numbers of users by octave of their records, and "
    "twice the estimate, of all groups together, is added to the outer end (which is left out where no octave stands "
    "out from its noise): that end rests on the shape of the tail, "
    'since a handful of users may hold any number; answer.interval(of="capped") has both ends of the capped total'
)
"""The same where what the cap leaves out was estimated."""

AMOUNT_TOTALS = (
    "users whose records add more than {cap}, in records of the largest amounts, count as that: an interval of a sum "
    "is for the true total of all records. What is left out so is estimated from noisy numbers of users by octave of "
    "what they add, and twice the estimate, of all groups and columns together, is added to the outer end (which is "
    "left out where no octave stands out from its noise): that end rests on the shape of the tail, "
    'since a handful of users may hold any number; answer.interval(of="capped") has both ends of the capped total'
)
"""The same where the cap is on amounts."""

GIVEN_AMOUNTS = (
    "users whose records add more than {cap}, in records of the largest amounts, count as that: an interval of a sum "
    "is for the true total of all records, and has no upper end, since nothing bounds what such users hold (of numbers "
    'below 0 no lower end, of both signs none); answer.interval(of="capped") has both ends of the capped total'
)
"""The same where that cap is given."""

SOMEWHERE = {
    "every record counts": "every record that is somewhere counts",
    "none is left out": "none that is somewhere is left out",
    "total of all records": "total of the records that are somewhere",
    "records are those": "records are those that are somewhere and",
}
"""What is said of all records, and the same of a table whose space sends some elsewhere."""


def among_somewhere(text: str) -> str:
    """Return the words said of the records of a plan, for a table whose space sends some of them elsewhere.

    >>> among_somewhere("every record counts, those of one user together as at most 5")
    'every record that is somewhere counts, those of one user together as at most 5'
    """
    for said, meant in SOMEWHERE.items():
        text = text.replace(said, meant)
    return text


@dataclass(frozen=True)
class _OfCapped:
    """A column of capped totals, of which the ends of intervals alone are read otherwise."""

    column: OutputColumn

    @property
    def is_linear(self) -> bool:
        """Whether the capped total is one released number."""
        return self.column.is_linear

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def is_noisy(self) -> bool:
        return self.column.is_noisy

    @property
    def dtype(self) -> Any:
        return self.column.dtype

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        """Return the capped totals, which are what the noise was added to."""
        return self.column.exact(values, cells, group)


@dataclass(frozen=True)
class OneSided(_OfCapped):
    """A column of capped totals, read as one of true totals: an end that the cap may move past the truth is left out.

    Theorem. Let every value that is summed up be at least 0. Then a user's capped total is at most the true one, and
    so is their sum over users. So the lower end of an interval of the capped total is a lower end for the true total
    with at least the same coverage; of an upper end nothing can be said, since a user may own any number of records.
    With values of at most 0 it is the other way round. With values of both signs neither holds: a cap may remove more
    of what is above 0 than of what is below, or less.
    """

    has_low: bool
    has_high: bool

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        """Return the value and the ends that hold for the true total."""
        return [
            Estimate(one.value, one.low if self.has_low else NO_END, one.high if self.has_high else NO_END)
            for one in self.column.estimates(draw, group, level)
        ]


def true_total(column: OutputColumn, low: float, high: float) -> OutputColumn:
    """Return a capped total of values in a range with the ends that hold for the true total.

    >>> from emdp.estimators.columns.values import Known
    >>> one = true_total(Known("n", (Fraction(7),)), 0.0, 5.0)
    >>> one.has_low, one.has_high
    (True, False)
    """
    return OneSided(column, has_low=low >= 0, has_high=high <= 0)


@dataclass(frozen=True)
class Measured(_OfCapped):
    """A column of capped totals, read as one of true totals with an estimate of what the cap leaves out.

    Let the cap leave out records of total weight ``c``, whose values lie in ``[low, high]``. Then the true total is the
    capped one plus a number in ``[c min(low, 0), c max(high, 0)]``. With an interval ``[l, h]`` of the capped total the
    true one is in ``[l + c min(low, 0), h + c max(high, 0)]``. ``c`` is an estimate, and twice it is taken here: that
    end's coverage is measured, not proven; an end that the values cannot move has the coverage of the noise.
    """

    # below, above: How much farther the ends lie, at least 0.
    below: float
    above: float

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        """Return the value of the capped total and ends for the true one."""
        return [
            Estimate(one.value, _moved(one.low, -self.below), _moved(one.high, self.above))
            for one in self.column.estimates(draw, group, level)
        ]


def measured_total(column: OutputColumn, low: float, high: float, cut: float) -> OutputColumn:
    """Return a capped total of values in a range with ends for the true total, by an estimate of what is left out.

    >>> from emdp.estimators.columns.values import Known
    >>> one = measured_total(Known("n", (Fraction(7),)), 0.0, 5.0, 3.0)
    >>> one.below, one.above
    (0.0, 30.0)
    """
    return Measured(column, 2.0 * cut * max(0.0, -low), 2.0 * cut * max(0.0, high))


def _moved(end: float, by: float) -> float:
    return math.nextafter(end + by, math.copysign(math.inf, by)) if by else end
