"""Rows of one column by listed groups whose values are no sums with noise."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, Self

import polars as pl

from emdp.base.classes import dataclass
from emdp.questions.shape import Shape

__all__ = ["FixedRows", "Values"]


class Values(Protocol):
    """Maker of values and ends from released numbers."""

    def estimates(self, released: Any, level: float, *, together: bool) -> Sequence[tuple[float, float, float]]:
        """Return value and ends for each group; NaN for an end of which nothing can be said."""

    def exact(self, places: Any) -> Sequence[float | None]:
        """Return the exact value of each group."""


@dataclass(frozen=True, eq=False)
class FixedRows:
    """Rows of groups that the statement lists: one a group."""

    keys: tuple[tuple[str, tuple[Any, ...]], ...]
    name: str
    values: Values

    @property
    def shape(self) -> Shape:
        return Shape("rows", keys=tuple(name for name, _ in self.keys))

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        found = self.values.estimates(released, level, together=together)
        ends = zip(("", "_low", "_high"), zip(*found, strict=True), strict=True)
        return self._framed({f"{self.name}{end}": [*map(_or_null, values)] for end, values in ends})

    def exact(self, statistics: Any) -> pl.DataFrame:
        return self._framed({self.name: [*self.values.exact(statistics)]})

    def of_capped(self) -> Self:
        """Return the same rows with both ends of intervals, where they are for capped numbers."""
        inner = getattr(self.values, "of_capped", None)
        return self if inner is None else replace(self, values=inner())

    def _framed(self, columns: dict[str, list[float | None]]) -> pl.DataFrame:
        made = [pl.Series(name, list(values)) for name, values in self.keys]
        return pl.DataFrame([*made, *(pl.Series(name, own, dtype=pl.Float64) for name, own in columns.items())])


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value
