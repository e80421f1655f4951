"""``ORDER BY``, ``LIMIT`` and ``OFFSET`` of an answer: post-processing of what was released."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from emdp.errors import UsageError
from emdp.expressions.columns import Finisher, Released
from emdp.expressions.select import Order

__all__ = ["Ordered", "ordered"]


@dataclass(frozen=True)
class Ordered:
    """A finisher whose rows are sorted and cut after noise.

    Sorting looks at released numbers and public keys alone, so it costs nothing. Rows that are equal in every key
    keep their natural order. Which rows a limit keeps depends on the noise: the intervals of the rows that are left
    hold each with the level stated before that choice, all of them after it where they were asked for together.

    Parameters
    ----------
    finisher : Finisher
        What makes the rows, in their natural order.
    order : tuple of Order
        Keys, the most important first.
    limit : int or None
        Most rows kept.
    offset : int
        Rows left out before these.
    """

    finisher: Finisher
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the finisher's rows, sorted and cut."""
        rows = self.finisher.frame(released, level, together=together)
        if self.order:
            rows = rows.sort(
                [key.column for key in self.order],
                descending=[key.is_descending for key in self.order],
                nulls_last=[key.nulls_last for key in self.order],
                maintain_order=True,
            )
        return rows.slice(self.offset, self.limit)

    def exact(self, statistics: Released) -> pl.DataFrame:
        """Return all rows in their natural order: the order of the answer is that of its noisy values."""
        return self.finisher.exact(statistics)


def ordered(
    finisher: Finisher, order: Sequence[Order], *, limit: int | None, offset: int, columns: Sequence[str]
) -> Finisher:
    """Return a finisher with a statement's order, limit and offset; the same one where there are none.

    Parameters
    ----------
    finisher : Finisher
        What makes the rows.
    order : sequence of Order
        Keys of ``ORDER BY``.
    limit : int or None
        At least 0.
    offset : int
        At least 0.
    columns : sequence of str
        The columns that may be ordered by: keys and items.

    Raises
    ------
    UsageError
        If a key is no such column, or a number is negative.
    """
    for key in order:
        if key.column not in columns:
            raise UsageError(
                f"order names {key.column!r}, which is no column of the answer; use one of {list(columns)}."
            )
    if offset < 0 or (limit is not None and limit < 0):
        raise UsageError(f"limit and offset must be at least 0, got {limit} and {offset}; pass numbers of rows.")
    return Ordered(finisher, tuple(order), limit, offset) if order or limit is not None or offset else finisher
