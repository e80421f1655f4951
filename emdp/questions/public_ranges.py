"""Public ranges of what an engine gives: a net under statements that would mean something else than they should.

Every statistic has a range that is known before it is computed, and the noise is for values within. One outside says
that an engine did not compute what it was asked; then nothing is released. Ranges are those of the analysis of
expressions, with its bound on rounding, and :data:`ROUNDING` more.
"""

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.expressions.analysis.checker import analyse
from emdp.expressions.cells.aggregation import Aggregation
from emdp.expressions.nodes.base import Expression
from emdp.expressions.numbers.fixed_point import fixed_point_exponent
from emdp.questions.reading import Reading
from emdp.spaces import Grid, Space
from emdp.spaces.items import count_items

__all__ = ["BlockRange", "block_range", "check_statistic"]

ROUNDING = 2.0**-32
"""Allowed distance of a computed value from its range, relative to the largest absolute one: more than any sum in fixed
point is off by (``fixed_point.py``), and far less than noise."""

Block = TypeVar("Block")


def check_statistic(aggregation: Aggregation, space: Space, users: int, statistic: Sequence[Fraction]) -> None:
    """Check the coordinates of one group of users, and for each value their sum over the cells.

    A mean over users of means over records lies in the range of its expression. Over cells the weights of a record are
    at least 0 and add up to at most 1, so that each coordinate, and their sum, lies between 0 and an end of the range.
    Under a cap a user's weights add up to at most the cap.

    Raises
    ------
    InternalError
        If one lies outside.

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Interval
    >>> check_statistic(Aggregation((col("x"),)), Interval("x", 0, 10), 5, [Fraction(3)])
    """
    if len(statistic) != aggregation.dimension:
        raise _outside()
    most = 1 if aggregation.cap is None else users * aggregation.cap
    for place, value in enumerate(aggregation.values):
        low, high = _range_of(value, space)
        if aggregation.axes or aggregation.cap is not None:
            low, high = min(low, 0.0), max(high, 0.0)
        found = [float(one) for one in statistic[place * aggregation.cells : (place + 1) * aggregation.cells]]
        if not all(low * most <= one <= high * most for one in (*found, math.fsum(found))):
            raise _outside()


@dataclass(frozen=True)
class BlockRange:
    """Public range of what a reading gives of users or records, block by block."""

    what: str  # As in `emdp.questions.reading.Reading`
    # low, high: Of each column: of means in fixed point, of codes of items, of encoded items. Empty for texts.
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    # Whether a row may be an item that is elsewhere: NaN in all columns.
    elsewhere: bool = field(default=False, repr=False)

    def checked(self, block: Block) -> Block:
        """Return a block as it is.

        Raises
        ------
        InternalError
            If a value lies outside, or an item or text stands there without a record.
        """
        name = {"means": "means", "bags": "codes", "points": "items"}.get(self.what)
        if name is not None:
            self.check(getattr(block, name))
        if self.what in {"bags", "texts"}:
            _check_records(block.counts)  # type: ignore[attr-defined]  # of these blocks alone
        return block

    def check(self, values: Any, records: Any = None) -> None:
        """Check numbers, shape (rows, columns) or (rows,), and how many records each row is of, where it is of some."""
        rows = values.reshape(len(values), len(self.low))
        inside = ((rows >= np.array(self.low)) & (rows <= np.array(self.high))).all(axis=1)
        if self.elsewhere:
            inside |= np.isnan(rows).all(axis=1)
        if not inside.all():
            raise _outside()
        if records is not None:
            _check_records(records)


def block_range(reading: Reading, space: Space) -> BlockRange:
    """Return the public range of what a reading gives.

    >>> from emdp.spaces import Categories
    >>> block_range(Reading("bags"), Categories("kind", ["bar", "cafe"]))
    BlockRange(what='bags', low=(0.0,), high=(1.0,))
    """
    if reading.what == "texts":
        return BlockRange("texts")
    if reading.what in {"bags", "counts"}:
        return BlockRange(reading.what, (0.0,), (float((count_items(space) or 1) - 1),))
    if reading.what == "means":
        units = [2.0 ** fixed_point_exponent(analyse(value, space)) for value in reading.expressions]
        ranges = [_range_of(value, space) for value in reading.expressions]
        ends = [(low * unit, high * unit) for (low, high), unit in zip(ranges, units, strict=True)]
    else:
        ends = [end for part in space.parts for end in _ends_of(part)]
    low, high = zip(*ends, strict=True)
    return BlockRange(reading.what, low, high, reading.what == "points" and space.elsewhere is not None)


def _range_of(value: Expression, space: Space) -> tuple[float, float]:
    known = analyse(value, space)
    low, high = known.computed_low, known.computed_high
    # Elsewhere every value is 0.
    return _widened(low, high) if space.elsewhere is None else _widened(min(low, 0.0), max(high, 0.0))


def _ends_of(part: Space) -> list[tuple[float, float]]:
    """Return the range of each column of a part's encoded items, its neutral item among them."""
    if part.labels is not None or isinstance(part, Grid):
        (neutral,) = part.neutral_item[0].tolist()
        last = float((count_items(part) or 1) - 1)
        return [(min(0.0, neutral), max(last, neutral))]
    bounds = [part.column_bounds(name) for name in part.columns]
    return [_widened(known.low - known.rounding, known.high + known.rounding) for known in bounds]


def _widened(low: float, high: float) -> tuple[float, float]:
    more = ROUNDING * max(abs(low), abs(high))
    return low - more, high + more


def _check_records(counts: Any) -> None:
    if (counts < 1).any():
        raise _outside()


def _outside() -> InternalError:
    return InternalError(
        "a statistic lay outside of its public range, so nothing is shown; what was charged stays charged; please "
        "report it."
    )
