"""Column of what is left of a share: 1 less a released one, by no noise of its own."""

import math
from collections.abc import Sequence
from fractions import Fraction

import polars as pl

from emdp.base.classes import dataclass
from emdp.estimators.columns.values import Coordinate, Draw, Estimate

__all__ = ["Rest"]


@dataclass(frozen=True)
class Rest:
    """The share of the records' weight that is elsewhere: 1 less the share that is somewhere.

    Its interval is that of the other share, turned round: exact, never cut.

    >>> Rest("elsewhere", Coordinate(0)).exact((Fraction(3, 4),), 1, 0)
    [Fraction(1, 4)]
    """

    name: str
    share: Coordinate  # What is taken from 1
    is_linear = True
    dtype = pl.Float64

    @property
    def is_noisy(self) -> bool:
        return self.share.index is not None

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        width = Fraction(self.share.half_width(draw, level))
        rests = self.exact(draw.values, draw.cells, group)
        return [Estimate(rest, _down(rest - width), _up(rest + width)) for rest in rests if rest is not None]

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        del group
        return [1 - value for value in self.share.numbers(values, cells)]


def _down(number: Fraction) -> float:
    return math.nextafter(float(number), -math.inf)


def _up(number: Fraction) -> float:
    return math.nextafter(float(number), math.inf)
