"""The rows of estimated shares: one item of a finite space each, with an interval."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from emdp.estimators.item_rows import RAW, shape_of
from emdp.expressions.shape import Shape
from emdp.spaces import Space, finite_items
from emdp.spaces.base import Floats

__all__ = ["ShareRows"]

Intervals = Callable[[Floats, float, bool], tuple[Floats, Floats]]
"""From estimates, a level and whether all hold together, to the ends of intervals."""


@dataclass(frozen=True, eq=False)
class ShareRows:
    """One row an item: what it is, its estimated share, the ends of its interval.

    Parameters
    ----------
    space : Space
        A finite item space.
    name : str
        Column of the shares.
    intervals : callable
        See ``Intervals``.
    """

    space: Space
    name: str
    intervals: Intervals

    @cached_property
    def items(self) -> pl.DataFrame:
        """All items."""
        listed = finite_items(self.space)
        return pl.DataFrame() if listed is None else pl.DataFrame(self.space.decode(listed))

    @property
    def shape(self) -> Shape:
        """Cells of a grid, listed values, or rows."""
        return shape_of(self.space)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of the rows."""
        return (RAW,)

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the items with shares and intervals."""
        values = np.asarray(released[0], dtype=np.float64)
        low, high = self.intervals(values, level, together)
        return self.items.with_columns(
            pl.Series(self.name, values), pl.Series(f"{self.name}_low", low), pl.Series(f"{self.name}_high", high)
        )

    def exact(self, statistics: Any) -> pl.DataFrame:
        """Return the exact shares."""
        return self.items.with_columns(pl.Series(self.name, np.asarray(statistics[0], dtype=np.float64)))
