"""Columns of an answer from released coordinates: means, ratios of two releases, known numbers, and their rows.

Everything here is post-processing of released and public numbers. Intervals come from the exact law of the noise: of
one coordinate, or of a numerator and its denominator together (a Fieller set).
"""

import math
from collections.abc import Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import polars as pl

from emdp.base.classes import dataclass
from emdp.mechanisms import AdditiveMechanism
from emdp.mechanisms.central.additive import independent_tail
from emdp.questions.assumed import came_out
from emdp.questions.columns import Released
from emdp.questions.shape import Shape

__all__ = [
    "NO_END",
    "UNBOUNDED",
    "Coordinate",
    "Draw",
    "Estimate",
    "Known",
    "Mean",
    "OutputColumn",
    "Rows",
    "level_below",
]


class Estimate(NamedTuple):
    """A value of the answer and the ends of its interval; no value, and infinite ends, where nothing can be said."""

    value: Fraction | None
    low: float
    high: float


REMARK_LEVEL = 0.95
"""Coverage of the interval by which a share is said to be smaller than was assumed."""

UNBOUNDED = Estimate(None, -math.inf, math.inf)
"""Estimate of a ratio whose denominator, a share, is not larger than its own noise: nothing is known of it."""


NO_END = math.nan
"""Stands for an end of an interval of which nothing can be said, whatever the noise: NULL in an answer."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Released coordinates of one group of users, with their noise."""

    values: tuple[Fraction, ...]  # Released coordinates, in the statistic's own units
    cells: int  # Coordinates of each value of the aggregation
    mechanism: AdditiveMechanism
    simultaneous: bool = False  # Whether half-widths are such that all coordinates hold at once
    widths: dict[float, float] = field(default_factory=dict, repr=False)

    def half_width(self, level: float) -> float:
        """Return the half-width of a coordinate's interval in the noise's unit."""
        if level not in self.widths:
            known = self.mechanism.simultaneous_half_width if self.simultaneous else self.mechanism.interval_half_width
            self.widths[level] = known(level)
        return self.widths[level]


@dataclass(frozen=True)
class Coordinate:
    """Number of a column for each cell: a coordinate of one value of the aggregation, or a public number."""

    index: int | None  # Number of the value; None where it is the same on every table
    scale: float = 1.0  # What the value was multiplied by before noise
    known: tuple[Fraction, ...] = ()  # Without an index, the number in each cell

    def numbers(self, values: Sequence[Fraction], cells: int) -> Sequence[Fraction]:
        """Return the number in each cell."""
        if self.index is None:
            return self.known[:cells]
        return values[self.index * cells : (self.index + 1) * cells]

    def half_width(self, draw: Draw, level: float) -> float:
        """Return the half-width of its interval, in its own unit, rounded up."""
        if self.index is None or draw.mechanism.is_exact:
            return 0.0
        return math.nextafter(draw.half_width(level) / self.scale, math.inf)


class OutputColumn(Protocol):
    """A column of an answer, made of released coordinates."""

    @property
    def name(self) -> str:
        """The column's name."""

    @property
    def is_noisy(self) -> bool:
        """Whether its values carry noise, so that its intervals may miss."""

    @property
    def is_linear(self) -> bool:
        """Whether each value is one coordinate plus a public number, so that its interval is the coordinate's."""

    @property
    def dtype(self) -> Any:
        """Type of the column and of its ends."""

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        """Return the value and interval in each cell, for the group of users of that number."""

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        """Return the value in each cell from exact coordinates."""


@dataclass(frozen=True)
class Known:
    """A public number for each group of users, such as how many they are.

    >>> Known("users", (Fraction(7),)).estimates(None, 0, 0.95)
    [Estimate(value=Fraction(7, 1), low=7.0, high=7.0)]
    """

    name: str
    numbers: tuple[Fraction, ...]
    cells: int = 1
    is_noisy = False
    is_linear = True
    dtype = pl.Int64

    def estimates(self, draw: Draw | None, group: int, level: float) -> list[Estimate]:
        """Return the number, which is certain."""
        number = self.numbers[group]
        return [Estimate(number, float(number), float(number))] * self.cells

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        return [self.numbers[group]] * cells


@dataclass(frozen=True)
class Mean:
    """A coordinate, or the quotient of two, plus a public centre.

    With a filter or groups ``c``, ``E[e c]/E[c]`` is released as ``m + E[(e - m) c]/E[c]`` with a public number ``m``:
    the same, since ``E[(e - m) c] = E[e c] - m E[c]``. In the middle of ``e``'s range ``|e - m|`` is at most half the
    range, so that a record entering or leaving the chosen ones moves the numerator by at most that: half as much as
    ``e - low`` would, and less than ``e`` itself wherever its range does not lie evenly around 0.

    Without a denominator the interval is the coordinate's: exact, never cut. A quotient has the Fieller set of the two
    noises, cut to the public range of ``e`` (which holds the exact value, so no coverage is lost) together with the
    value; where the denominator is within its own noise there is no value, and no bound.

    Parameters
    ----------
    name : str
        The column's name.
    centre : Fraction
        The public number ``m``.
    numerator : Coordinate
        ``E[(e - m) c]``.
    denominator : Coordinate or None
        ``E[c]``.
    low, high : float
        Public range of a quotient plus centre.
    """

    name: str
    centre: Fraction
    numerator: Coordinate
    denominator: Coordinate | None = None
    low: float = -math.inf
    high: float = math.inf
    dtype = pl.Float64

    @property
    def is_noisy(self) -> bool:
        return any(part is not None and part.index is not None for part in (self.numerator, self.denominator))

    @property
    def is_linear(self) -> bool:
        """Whether there is no denominator."""
        return self.denominator is None

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        above = self.numerator.numbers(draw.values, draw.cells)
        if self.denominator is None:
            width = self.numerator.half_width(draw, level)
            return [Estimate(self.centre + value, *_around(self.centre + value, width)) for value in above]
        below = self.denominator.numbers(draw.values, draw.cells)
        if self.denominator.index is None or self.numerator.index is None:
            return [self._with_one_known(*pair, draw, level) for pair in zip(above, below, strict=True)]
        # Loaded where it is needed.
        from emdp.estimators.columns.fieller import PairLaw, ratio_intervals

        law = PairLaw.of(draw.mechanism, self.numerator.scale, self.denominator.scale)
        lows, highs = ratio_intervals([float(top) for top in above], [float(share) for share in below], law, level)
        return [
            UNBOUNDED if math.isnan(low) else self._cut(top / share, low, high)
            for top, share, low, high in zip(above, below, lows.tolist(), highs.tolist(), strict=True)
        ]

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        """Return the value in each cell; None where nobody has a record in it."""
        above = self.numerator.numbers(values, cells)
        if self.denominator is None:
            return [self.centre + value for value in above]
        below = self.denominator.numbers(values, cells)
        return [self.centre + top / share if share > 0 else None for top, share in zip(above, below, strict=True)]

    def _with_one_known(self, above: Fraction, below: Fraction, draw: Draw, level: float) -> Estimate:
        # One of the two is the same on every table, so that the other's interval is all there is.
        width = Fraction(self.denominator.half_width(draw, level)) if self.denominator is not None else Fraction(0)
        least, most = below - width, below + width
        if least <= 0:
            return UNBOUNDED
        slack = Fraction(self.numerator.half_width(draw, level))
        ends = [top / share for top in (above - slack, above + slack) for share in (least, most)]
        return self._cut(above / below, _down(min(ends)), _up(max(ends)))

    def _cut(self, ratio: Fraction, low: float, high: float) -> Estimate:
        centre = float(self.centre)
        ends = math.nextafter(low + centre, -math.inf), math.nextafter(high + centre, math.inf)
        value = min(max(self.centre + ratio, Fraction(self.low)), Fraction(self.high))
        return Estimate(value, *(min(max(end, self.low), self.high) for end in ends))


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of an answer: one for each group of users and each cell, the cells running faster.

    Parameters
    ----------
    keys : tuple of (str, tuple)
        Key columns, each with its value in every row.
    columns : tuple of OutputColumn
        The items.
    mechanisms : tuple of AdditiveMechanism
        The noise of each group of users.
    cells : int
        Rows of each group of users.
    names : tuple of str
        Key columns and items in the order of the answer.
    expected : float, optional
        What the preview took the denominators of quotients to be.
    is_count : bool
        Whether these are numbers of records in place of shares.
    """

    keys: tuple[tuple[str, tuple[Any, ...]], ...]
    columns: tuple[OutputColumn, ...]
    mechanisms: tuple[AdditiveMechanism, ...]
    cells: int
    names: tuple[str, ...]
    expected: float | None = None
    is_count: bool = False

    @property
    def sortable(self) -> tuple[str, ...]:
        """Columns by which rows can be sorted: keys, items, and the ends of the items' intervals."""
        return (*self.names, *(f"{column.name}{end}" for column in self.columns for end in ("_low", "_high")))

    @property
    def shape(self) -> Shape:
        return Shape("rows", keys=tuple(name for name, _ in self.keys))

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the answer with intervals; see :class:`emdp.questions.columns.Finisher`.

        Together, coordinates that are answers themselves have the joint law of their noise. Quotients and variances
        have intervals of level ``1 - (1 - level)/k``, ``k`` the number of all intervals (Bonferroni).
        """
        draws = [
            Draw(values, self.cells, mechanism) for values, mechanism in zip(released, self.mechanisms, strict=True)
        ]
        if together:
            draws, level = self._together(draws, level)
        made: dict[str, list[pl.Series]] = {}
        for column in self.columns:
            found = [estimate for group, draw in enumerate(draws) for estimate in column.estimates(draw, group, level)]
            made[column.name] = [
                _series(column.name, [estimate.value for estimate in found], column.dtype),
                _series(f"{column.name}_low", [estimate.low for estimate in found], column.dtype),
                _series(f"{column.name}_high", [estimate.high for estimate in found], column.dtype),
            ]
        return self._framed(made)

    def of_capped(self) -> "Rows":
        """Return the same rows with intervals of capped totals, which have both ends, in place of true ones."""
        return replace(self, columns=tuple(getattr(column, "column", column) for column in self.columns))

    def remarks(self, released: Released) -> tuple[str, ...]:
        """Say where quotients came out worse than previewed, since fewer records were chosen than was assumed."""
        below = next((part for column in self.columns if (part := _denominator(column)) is not None), None)
        if below is None or self.expected is None:
            return ()
        found = []
        for values, mechanism in zip(released, self.mechanisms, strict=True):
            width = below.half_width(Draw(values, self.cells, mechanism), REMARK_LEVEL)
            found += [(float(share), _up(share + Fraction(width))) for share in below.numbers(values, self.cells)]
        return came_out(self.expected, found, is_count=self.is_count)

    def exact(self, statistics: Released) -> pl.DataFrame:
        made: dict[str, list[pl.Series]] = {}
        for column in self.columns:
            found = [
                value for group, values in enumerate(statistics) for value in column.exact(values, self.cells, group)
            ]
            made[column.name] = [_series(column.name, found, column.dtype)]
        return self._framed(made)

    def _together(self, draws: list[Draw], level: float) -> tuple[list[Draw], float]:
        noisy = [column for column in self.columns if column.is_noisy]
        if all(column.is_linear for column in noisy):
            # Groups of users have independent noise: each may miss with the tail that leaves level for all.
            level = level_below(independent_tail(1.0 - level, len(draws)))
            return [Draw(draw.values, draw.cells, draw.mechanism, simultaneous=True) for draw in draws], level
        return draws, level_below((1.0 - level) / (len(noisy) * self.cells * len(draws)))

    def _framed(self, made: dict[str, list[pl.Series]]) -> pl.DataFrame:
        for name, values in self.keys:
            made[name] = [_key_series(name, values)]
        return pl.DataFrame([series for name in self.names for series in made[name]])


def level_below(tail: float) -> float:
    """Return ``1 - tail`` rounded up, short of 1: the level of an interval that misses with at most that tail.

    >>> level_below(0.05) >= 0.95, level_below(0.0) < 1
    (True, True)
    """
    return min(math.nextafter(1.0 - tail, 1.0), math.nextafter(1.0, 0.0))


def _denominator(column: OutputColumn) -> Coordinate | None:
    """Return the released number that a column divides by, if it does."""
    found: Coordinate | None = getattr(getattr(column, "second", column), "denominator", None)
    return None if found is None or found.index is None else found


def _around(value: Fraction, width: float) -> tuple[float, float]:
    if width == 0 and float(value) == value:
        return float(value), float(value)
    return _down(value - Fraction(width)), _up(value + Fraction(width))


def _down(number: Fraction) -> float:
    return math.nextafter(float(number), -math.inf)


def _up(number: Fraction) -> float:
    return math.nextafter(float(number), math.inf)


def _series(name: str, values: Sequence[Fraction | float | None], dtype: Any) -> pl.Series:
    if dtype == pl.Int64:
        return pl.Series(name, [None if value is None else int(value) for value in values], dtype=dtype)
    numbers = (None if value is None or math.isnan(value) else float(value) for value in values)
    return pl.Series(name, list(numbers), dtype=dtype)


def _key_series(name: str, values: Sequence[Any]) -> pl.Series:
    try:
        return pl.Series(name, values)
    except TypeError:
        # Values of several types, such as the text that stands for "none of these": shown as text.
        return pl.Series(name, [None if value is None else str(value) for value in values])
