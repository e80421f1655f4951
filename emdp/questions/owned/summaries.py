"""Values of several rows of one user: aggregates of a group, and windows over it.

Theorem. Each is a function of the multiset of rows, whatever the order in which an engine reads them, so that it
depends on these rows alone (user-level-sql.md, 1.5 and trap 1).

Proof. COUNT, MIN, MAX, quantiles and BOOL_AND depend on the multiset by their definition: an argument that is -0.0 is
read as 0.0, so that equal values are one value, and NaN as NULL, as in the aggregates of a statement. Sums are of whole
numbers, which are added without rounding: a DOUBLE between ``-size`` and ``size`` is rounded to a multiple of
``2 size 2^-50`` first, so that sums of whole numbers are what they are. A window whose result is the same for rows that
its ORDER BY does not tell apart (``RANK``, aggregates up to the last peer) depends on the multiset. The others see an
order that is total: all columns of the rows stand behind ORDER BY, so that only equal rows change places.
"""

import math
from typing import Literal as Word

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.rows.nodes import Literal, Node
from emdp.rows.types import Kind

__all__ = ["FRAMED", "MOST_OFFSET", "RANKS", "SUMMARIES", "Summary", "SummaryFunction", "Window"]

SummaryFunction = Word["rows", "count", "distinct", "min", "max", "sum", "avg", "all", "any", "quantile", "median"]

SUMMARIES: tuple[SummaryFunction, ...] = (
    "rows", "count", "distinct", "min", "max", "sum", "avg", "all", "any", "quantile", "median",
)  # fmt: skip
"""``rows`` COUNT(*); ``distinct`` COUNT(DISTINCT e); ``all`` and ``any`` BOOL_AND and BOOL_OR; ``quantile`` a value of
the rows; the others by their names."""

COUNTS = ("rows", "count", "distinct")
SUMS = ("sum", "avg")

RANKS = ("row_number", "rank", "dense_rank")
SHIFTS = ("lag", "lead")
ENDS = ("first_value", "last_value")

FRAMED = ("rows", "count", "min", "max", "sum", "avg")
"""Summaries that a window may have."""

MOST_OFFSET = 1_000_000
"""Most rows that a frame or LAG reaches."""


@dataclass(frozen=True)
class Summary:
    """An aggregate of rows of one user."""

    function: SummaryFunction  # One of `SUMMARIES`
    argument: Node | None = None  # Function of a row; None for `rows`
    level: float = 0.5  # Of a quantile, from 0 to 1
    size: float | None = None  # For a sum or mean of DOUBLE a power of two: values beyond it count as `size` or `-size`

    def __post_init__(self) -> None:
        if self.function not in SUMMARIES or (self.argument is None) != (self.function == "rows"):
            raise UsageError(f"argument does not fit {self.function!r}; pass one, but none for 'rows'.")
        if not 0 <= self.level <= 1:
            raise UsageError(f"level must be from 0 to 1, got {self.level}; pass such a number.")
        kind = None if self.argument is None else self.argument.kind
        if self.function in ("all", "any") and kind is not Kind.BOOLEAN:
            raise UsageError("argument must be BOOLEAN; compare it with something.")
        if self.function in (*SUMS, "median") and (kind is None or not kind.is_number):
            raise UsageError("argument must be a number; cast it.")
        needs_size = self.function in SUMS and kind is Kind.DOUBLE
        if needs_size != (self.size is not None):
            raise UsageError("size belongs to sums of DOUBLE, and must be given there; clamp the argument.")
        if self.size is not None and not (math.isfinite(self.size) and math.frexp(self.size)[0] == 0.5):
            raise UsageError(f"size must be a power of two, got {self.size}; take the next one.")

    @property
    def kind(self) -> Kind:
        """Kind of the result."""
        if self.function in COUNTS or self.argument is None:
            return Kind.BIGINT
        return Kind.DOUBLE if self.function in ("avg", "median") else self.argument.kind


@dataclass(frozen=True)
class Window:
    """A value of a row among other rows of the same user."""

    # An aggregate of `FRAMED`, or one of `row_number`, `rank`, `dense_rank`, `lag`, `lead`, `first_value` and
    # `last_value`.
    value: Summary | str
    partition: tuple[Node, ...] = ()  # What rows have in common, besides their user
    order: tuple[tuple[Node, bool, bool], ...] = ()  # Node, whether descending, and whether NULL comes first
    # First and last row, counted from the row itself; None for all rows on that side. Without a frame an aggregate is
    # of all rows up to the last peer, or of all without an order.
    frame: tuple[int | None, int | None] | None = None
    argument: Node | None = None  # Of `lag`, `lead`, `first_value`, `last_value`
    offset: int = 1  # Of `lag` and `lead`
    default: Literal | None = None  # What `lag` and `lead` give where there is no such row

    def __post_init__(self) -> None:
        if isinstance(self.value, Summary):
            is_known = self.value.function in FRAMED and self.argument is None
        else:
            takes_none = self.value in RANKS and self.argument is None
            is_known = takes_none or (self.value in (*SHIFTS, *ENDS) and self.argument is not None)
        if not is_known:
            raise UsageError("value must be a function of windows with what it takes; pass another.")
        if self.frame is not None and (not self.takes_frame or not _is_frame(self.frame)):
            raise UsageError("frame must be two rows in their order, for an aggregate or an end; swap or leave it out.")
        if self.value == "last_value" and self.frame is None:
            raise UsageError("last_value must have a frame, since its last peer is open; pass one.")
        if not 0 <= self.offset <= MOST_OFFSET:
            raise UsageError(f"offset must be from 0 to {MOST_OFFSET}, got {self.offset}; pass such a number.")
        if self.default is not None and (self.value not in SHIFTS or self.default.kind is not self.kind):
            raise UsageError("default must be of the argument's kind, for lag or lead; cast it.")

    @property
    def takes_frame(self) -> bool:
        """Whether the result is of a frame."""
        return isinstance(self.value, Summary) or self.value in ENDS

    @property
    def needs_total_order(self) -> bool:
        """Whether the result depends on the order of peers."""
        return self.frame is not None or self.value in ("row_number", *SHIFTS, *ENDS)

    @property
    def kind(self) -> Kind:
        """Kind of the result."""
        if isinstance(self.value, Summary):
            return self.value.kind
        return Kind.BIGINT if self.argument is None else self.argument.kind

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Functions of a row that it reads."""
        own = self.value.argument if isinstance(self.value, Summary) else self.argument
        return (*self.partition, *(node for node, _, _ in self.order), *(() if own is None else (own,)))


def _is_frame(frame: tuple[int | None, int | None]) -> bool:
    first, last = frame
    is_near = all(end is None or abs(end) <= MOST_OFFSET for end in frame)
    return is_near and (first is None or last is None or first <= last)
