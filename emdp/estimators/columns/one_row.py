"""Answers of one row: a value of each name, with an interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from emdp.questions.shape import Shape

__all__ = ["OneRow"]


@dataclass(frozen=True, eq=False)
class OneRow:
    """One row without keys; subclasses give its intervals.

    Parameters
    ----------
    names : tuple of str
        Column of each value.
    """

    names: tuple[str, ...]

    @property
    def shape(self) -> Shape:
        return Shape("rows")

    def exact(self, statistics: Sequence[Any]) -> pl.DataFrame:
        return pl.DataFrame({name: [float(value)] for name, value in zip(self.names, statistics[0], strict=True)})
