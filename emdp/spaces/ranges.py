"""Public ranges of a space's columns as plain data, and nodes of a grid along them."""

import math

from emdp.base.classes import dataclass
from emdp.base.decimals import as_decimal
from emdp.base.errors import InternalError

__all__ = ["GridLine", "PointKind", "Span", "line_of"]

PointKind = str
"""Form of a point in SQL: ``"number"``, ``"place"`` (``POINT(..)``), ``"vector"`` (``VECTOR[..]``), ``"label"``, or
``""`` where there is no way."""


@dataclass(frozen=True)
class Span:
    """The numbers that a column of the domain may hold.

    >>> Span("x", 0.0, 4.0).holds(4.0), Span("hour", 0.0, 24.0, goes_round=True).holds(24.0)
    (True, False)
    """

    column: str
    # low, high: The first and the last number; finite.
    low: float
    high: float
    goes_round: bool = False  # Whether `high` is `low` again: the span is then `[0, high)`, and `low` is 0

    def __post_init__(self) -> None:
        if self.goes_round and self.low != 0.0:
            raise InternalError(f"the span of {self.column!r} goes round and does not begin at 0; please report this.")

    def holds(self, value: float) -> bool:
        """Say whether a number lies in the span."""
        return bool(self.low <= value < self.high if self.goes_round else self.low <= value <= self.high)

    def moved_in(self, value: float) -> float:
        """Return a number of the span: the remainder where it goes round, else the nearer end.

        >>> Span("hour", 0.0, 24.0, goes_round=True).moved_in(25.5), Span("x", 0.0, 4.0).moved_in(-1.0)
        (1.5, 0.0)
        """
        return value % self.high if self.goes_round else min(max(value, self.low), self.high)


@dataclass(frozen=True)
class GridLine:
    """Nodes of a grid along one column: ``start + k step`` for ``k`` below ``size``.

    A line that goes round has ``size * step`` equal to the period of its column, and begins at 0.
    """

    column: str
    start: float
    step: float
    size: int
    goes_round: bool = False


def line_of(span: Span, step: float) -> GridLine:
    """Return nodes along a span at a pitch: from its first number to the first node at or beyond its last.

    A span that goes round has as many nodes of one pitch as make it at most ``step``, at least 3.

    >>> line_of(Span("x", 0.0, 2.1), 0.7).size, line_of(Span("hour", 0.0, 24.0, goes_round=True), 5.0).step
    (4, 4.8)
    """
    # Decimals, as the owner wrote them: 2.1 has exactly three steps of 0.7, which the binary numbers have not.
    gaps = math.ceil((as_decimal(span.high) - as_decimal(span.low)) / as_decimal(step))
    if not span.goes_round:
        return GridLine(span.column, span.low, step, gaps + 1)
    size = max(3, gaps)
    return GridLine(span.column, 0.0, span.high / size, size, goes_round=True)
