"""Axes: round ends, few ticks, and how the ticks are written."""

import math
from collections.abc import Iterable

from emdp.base.classes import dataclass
from emdp.pictures.style import text_width

__all__ = ["ROOM", "Scale", "covering"]

ROOM = 0.04
"""Room at the ends of an axis without a common zero."""


_TINY = 1e-200
"""Below it a number is drawn as 0: a fraction of it may be none."""


@dataclass(frozen=True)
class Scale:
    """A linear axis."""

    # low, high: Data units at its beginning (left or bottom) and end; `low > high` runs backwards.
    low: float
    high: float
    ticks: tuple[float, ...] = ()  # Where it has ticks; none: the axis is not drawn
    format: str = ".6~f"  # How they are written, in the language of d3-format

    @property
    def label_room(self) -> float:
        """Pixels for the longest label with its tick, beside an upright axis.

        >>> covering([0.0, 8.0]).label_room < covering([1e-12]).label_room < 90
        True
        """
        return max(36.0, 10 + max((text_width(_written(tick, self.format)) for tick in self.ticks), default=0.0))


def covering(values: Iterable[float], *, zero: bool = False, ticks: int = 4, room: float = 0.0) -> Scale:
    """Return an axis with round ends that covers all values, and 0 if asked for.

    ``room`` is the share of the values' range that stays free at both ends, so that nothing there looks cut off.

    >>> covering([0.3, 7.2]).ticks
    (0.0, 2.0, 4.0, 6.0, 8.0)
    >>> covering([5.0], zero=True).low, covering([]).high, covering([40.7401, 40.7412]).ticks[0]
    (0.0, 1.0, 40.74)
    """
    found = [*values, *([0.0] if zero else [])] or [0.0, 1.0]
    low, high = (0.0 if abs(end) < _TINY else end for end in (min(found), max(found)))
    # Equal up to rounding, or exactly: there is no difference to show.
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        spread = 0.1 * max(abs(low), abs(high)) or 1.0
        low, high = (low, high + spread) if zero or high == 0 else (low - spread, high + spread)
    low, high = low - room * (high - low), high + room * (high - low)
    step = _round_step((high - low) / ticks)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    places = tuple(float(f"{place * step:.12g}") for place in range(first, last + 1))
    return Scale(places[0], places[-1], places, _format(places, step))


def _written(tick: float, form: str) -> str:
    digits, kind = int(form[1:-2]), form[-1]
    # With a prefix a number has at most three digits before the point.
    return f"{'0' * digits}.k-" if kind == "s" else f"{tick:.{digits}{kind}}"


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9)) * power


def _format(places: tuple[float, ...], step: float) -> str:
    largest = max(map(abs, places))
    digits = max(0, math.floor(math.log10(largest) + 1e-9) - math.floor(math.log10(step) + 1e-9))
    if largest < 1e-3 or largest >= 1e15:
        return f".{digits}~e"
    if largest >= 1e5:
        # Whole thousands, millions, ...: up to two more digits than steps tell apart.
        return f".{digits + 3}~s"
    return f".{max(0, -math.floor(math.log10(step) + 1e-9))}~f"
