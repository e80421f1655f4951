"""``BoxPart``: what spaces share whose domain is a range for each numeric column, some of which may go round."""

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from emdp.base.checks import shown
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, FunctionBounds, Mask
from emdp.spaces.formulas import NUMPY
from emdp.spaces.part import Part, numeric_items
from emdp.spaces.ranges import PointKind, Span
from emdp.spaces.rounding import check_coordinate
from emdp.spaces.values import is_sequence

__all__ = ["BoxPart"]


class BoxPart(Part):
    """A space whose domain is the box of its ``spans``; items are encoded as the numbers of its columns.

    A space of this kind gives ``spans``, ``neutral_item``, ``distance_formula``, ``distance_bounds`` and ``to_json``;
    validity, clamping, points and distances follow from them, here and in SQL. Under ``on_invalid="clamp"`` a number
    moves to the nearer end of its span, or is reduced modulo the period where the span goes round; an item with a
    NULL or a NaN, or with an infinity in a column that goes round, becomes the neutral item as a whole.
    """

    is_box: ClassVar[bool] = True

    @property
    @abstractmethod
    def spans(self) -> tuple[Span, ...]:
        """The range of each column, in their order."""

    @property
    def point_kind(self) -> PointKind:
        """A number for one column, else a vector."""
        return "number" if len(self.columns) == 1 else "vector"

    @property
    def tried_points(self) -> tuple[Any, ...]:
        """The neutral item, as an analyst writes it."""
        numbers = tuple(self.neutral_item[0].tolist())
        return (numbers[0] if len(numbers) == 1 else numbers,)

    def _read(self, frame: object) -> Floats:
        return numeric_items(frame, self.columns)

    def _inside(self, items: Floats) -> Mask:
        inside = np.ones(len(items), dtype=np.bool_)
        for values, span in zip(items.T, self.spans, strict=True):
            inside &= (values >= span.low) & (values < span.high if span.goes_round else values <= span.high)
        return inside

    def _clamped(self, items: Floats) -> Floats:
        return np.column_stack([_moved_in(values, span) for values, span in zip(items.T, self.spans, strict=True)])

    def encode_point(self, point: Any) -> Floats:
        """Return a number (for several columns a sequence of them) as an encoded point, shape (1, columns).

        It may lie outside the domain, but for columns that go round, which are reduced modulo their period.
        """
        if len(self.columns) == 1:
            values = [check_coordinate("point", point)]
        elif not is_sequence(point) or len(point) != len(self.columns):
            raise UsageError(f"point must be {len(self.columns)} numbers, got {shown(point)}; pass a sequence of them.")
        else:
            values = [check_coordinate("point", value) for value in point]
        placed = [
            _moved_in(np.array([value]), span)[0] if span.goes_round else value
            for value, span in zip(values, self.spans, strict=True)
        ]
        return np.array([placed])

    def decode(self, items: Floats) -> dict[str, list[Any]]:
        return {name: items[:, place].tolist() for place, name in enumerate(self.columns)}

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        matrix = self.distance_formula(NUMPY, tuple(left.T[:, :, None]), tuple(right.T[:, None, :]))
        return np.array(np.broadcast_to(matrix, (len(left), len(right))))

    def column_bounds(self, column: str) -> FunctionBounds:
        """Return what is known of a column that goes round: infinite constant, as it jumps where it closes."""
        span = self.spans[self._place(column)]
        if not span.goes_round:
            return super().column_bounds(column)
        return FunctionBounds(math.inf, span.low, span.high, 0.0)

    def column_values(self, items: Floats, column: str) -> Floats:
        return items[:, self._place(column)]

    def _place(self, column: str) -> int:
        if column not in self.columns:
            listed = repr(self.columns[0]) if len(self.columns) == 1 else repr(list(self.columns))
            which = "that one" if len(self.columns) == 1 else "one of them"
            raise UsageError(f"the space has no column {column!r}, only {listed}; name {which}.")
        return self.columns.index(column)


def _moved_in(values: Floats, span: Span) -> Floats:
    """Return numbers of a span: clamped, or reduced modulo its period; NaN where there is no remainder."""
    if not span.goes_round:
        return np.clip(values, span.low, span.high)
    reduced = np.mod(np.where(np.isfinite(values), values, np.nan), span.high)
    # The remainder of a tiny negative number rounds up to the period itself.
    return np.where(reduced >= span.high, 0.0, reduced)
