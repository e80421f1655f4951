"""The rows of an answer by keys that nobody listed: those that passed a threshold, with what was released of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, cast

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.columns.values import Draw, Estimate, OutputColumn, Rows
from emdp.mechanisms import AdditiveMechanism
from emdp.mechanisms.keys.numbers import NumberedKeys
from emdp.privacy.rounding import float_at_least
from emdp.questions.shape import Shape
from emdp.rows.types import Kind

__all__ = ["Found", "FoundRows", "PeopleCount"]

DTYPES: Mapping[Kind, Any] = {
    Kind.BOOLEAN: pl.Boolean,
    Kind.BIGINT: pl.Int64,
    Kind.TEXT: pl.String,
    Kind.DATE: pl.Date,
    Kind.TIMESTAMP: pl.Datetime("us"),
}
"""Types of key columns, also where no key was found."""


class Found(NamedTuple):
    """Released keys and numbers.

    Attributes
    ----------
    keys : tuple of tuple
        For each key column its value in every row.
    values : tuple of Fraction
        For each drawn number its values in the rows, one number after another; the number of users last.
    """

    keys: tuple[tuple[Any, ...], ...]
    values: tuple[Fraction, ...]


@dataclass(frozen=True)
class PeopleCount:
    """The number of users of each key, as the threshold saw it.

    A user counts in at most ``L`` keys, so that the interval is for the true number from below alone.
    """

    name: str
    index: int
    keys: NumberedKeys
    dtype = pl.Float64
    is_noisy = True
    is_linear = False

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        width = Fraction(self.keys.half_width(level))
        return [
            Estimate(value, -float_at_least(width - value), float_at_least(value + width))
            for value in draw.values[self.index * draw.cells : (self.index + 1) * draw.cells]
        ]

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        return [*values[self.index * cells : (self.index + 1) * cells]]


@dataclass(frozen=True, eq=False)
class FoundRows:
    """Rows of keys that passed, in the order of the keys."""

    keys: tuple[tuple[str, Kind], ...]
    columns: tuple[OutputColumn, ...]
    mechanism: AdditiveMechanism | None  # Noise of the numbers that are no numbers of users, if there are any
    names: tuple[str, ...]

    @property
    def shape(self) -> Shape:
        return Shape("rows", keys=tuple(name for name, _ in self.keys))

    @property
    def sortable(self) -> tuple[str, ...]:
        """Columns that ORDER BY may name: all of the frame."""
        return (*self.names, *(f"{column.name}{end}" for column in self.columns for end in ("_low", "_high")))

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the keys with their numbers and intervals.

        Raises
        ------
        UsageError
            If all intervals are to hold together: which keys there are depends on the noise.
        """
        if together:
            raise UsageError(
                "coverage must be 'each' where noise decides which groups are shown; list the groups in WHERE for "
                "intervals that hold together."
            )
        return self._typed(self._rows(released).frame((released.values,), level))

    def exact(self, statistics: Any) -> pl.DataFrame:
        """Return the same rows from exact numbers: keys that did not pass are not shown here either."""
        return self._typed(self._rows(statistics).exact((statistics.values,)))

    def of_capped(self) -> "FoundRows":
        """Return the same rows with intervals of capped totals in place of true ones."""
        return replace(self, columns=tuple(getattr(column, "column", column) for column in self.columns))

    def _rows(self, released: Found) -> Rows:
        keys = tuple((name, values) for (name, _), values in zip(self.keys, released.keys, strict=True))
        # Numbers of users look up their own noise; where there is nothing else, no column asks for the other.
        mechanism = cast(AdditiveMechanism, self.mechanism)
        return Rows(keys, self.columns, (mechanism,), len(released.keys[0]), self.names)

    def _typed(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(frame.get_column(name).cast(DTYPES[kind]) for name, kind in self.keys)
