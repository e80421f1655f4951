"""``ORDER BY``, ``LIMIT`` and ``OFFSET`` of an answer: post-processing of what was released."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.questions.columns import Finisher, Released
from emdp.questions.select import Order, Select
from emdp.questions.shape import Shape

__all__ = ["SHOWN_LEVEL", "Ordered", "is_ordered_by_noise", "ordered", "positions"]

SHOWN_LEVEL = 0.95
"""Coverage of the intervals of an answer's frame, by whose columns it is ordered."""


@dataclass(frozen=True)
class Ordered:
    """A finisher whose rows are sorted and cut after noise.

    Sorting looks at released numbers and public keys alone, so it costs nothing. Rows that are equal in every key
    keep their natural order. Order and choice are those of the answer's own frame at every level: a quotient may have
    a value at one level and none at another, and intervals of any level must belong to the rows of the answer. Which
    rows a limit keeps depends on the noise: the intervals of the rows that are left hold each with the level stated
    before that choice, all of them after it where they were asked for together.
    """

    finisher: Finisher  # What makes the rows, in their natural order
    order: tuple[Order, ...] = ()  # Keys, the most important first
    limit: int | None = None  # Most rows kept
    offset: int = 0  # Rows left out before these

    @property
    def shape(self) -> Shape:
        return self.finisher.shape

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the finisher's rows, sorted and cut."""
        return self.arranged(lambda own, every: self.finisher.frame(released, own, together=every), level, together)

    def arranged(self, make: Callable[[float, bool], pl.DataFrame], level: float, together: bool) -> pl.DataFrame:
        """Return rows that a function makes of a level and whether all intervals hold at once, sorted and cut."""
        rows = make(level, together)
        if self.order:
            is_shown = level == SHOWN_LEVEL and not together
            shown = rows if is_shown else make(SHOWN_LEVEL, False)
            rows = rows[positions(shown, self.order)]
        return rows.slice(self.offset, self.limit)

    def of_capped(self) -> Finisher:
        """Return the same rows with intervals of capped totals in place of true ones."""
        inner = getattr(self.finisher, "of_capped", None)
        return self if inner is None else replace(self, finisher=inner())

    def exact(self, statistics: Released) -> pl.DataFrame:
        """Return all rows in their natural order: the order of the answer is that of its noisy values."""
        return self.finisher.exact(statistics)


def positions(rows: pl.DataFrame, order: Sequence[Order]) -> list[int]:
    """Return the numbers of rows in the order of ``ORDER BY``; equal ones as they stand.

    >>> positions(pl.DataFrame({"a": [3, 1, 2]}), [Order("a", is_descending=True)])
    [0, 2, 1]
    """
    # Under plain names: polars reads a star or a regular expression in a name to sort by.
    keys = {f"key{place}": rows.get_column(key.column) for place, key in enumerate(order)}
    return (
        pl.DataFrame(keys)
        .with_row_index("row")
        .sort(
            list(keys),
            descending=[key.is_descending for key in order],
            nulls_last=[key.nulls_last for key in order],
            maintain_order=True,
        )
        .get_column("row")
        .to_list()
    )


def is_ordered_by_noise(query: Select) -> bool:
    """Say whether noise decides where a row of a statement stands: not where public keys tell the rows apart first."""
    keys = {*(query.people.columns if query.people is not None else ()), *(group.name for group in query.groups)}
    public = keys | {
        f"{item.name}{end}" for item in query.items if item.kind == "users" for end in ("", "_low", "_high")
    }
    for key in query.order:
        if key.column not in public:
            return bool(keys)
        keys.discard(key.column)
    return False


def ordered(
    finisher: Finisher, order: Sequence[Order], *, limit: int | None, offset: int, columns: Sequence[str]
) -> Finisher:
    """Return a finisher with a statement's order, limit and offset; the same one where there are none.

    Parameters
    ----------
    order : sequence of Order
        Keys of ``ORDER BY``.
    limit : int or None
        At least 0.
    offset : int
        At least 0.
    columns : sequence of str
        The columns that may be ordered by: keys and items.
    """
    for key in order:
        if key.column not in columns:
            raise UsageError(
                f"order names {key.column!r}, which is no column of the answer; use one of {list(columns)}."
            )
    if offset < 0 or (limit is not None and limit < 0):
        raise UsageError(f"limit and offset must be at least 0, got {limit} and {offset}; pass numbers of rows.")
    return Ordered(finisher, tuple(order), limit, offset) if order or limit is not None or offset else finisher
