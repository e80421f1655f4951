"""Common part of finite spaces: a list of values, codes for them, indicators of one value."""

import math
from abc import abstractmethod
from collections import Counter
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.base.checks import shown
from emdp.base.errors import UsageError
from emdp.base.frames import columns_of
from emdp.spaces.base import Floats, FunctionBounds, Mask
from emdp.spaces.part import Part
from emdp.spaces.ranges import PointKind
from emdp.spaces.rounding import quotient_up
from emdp.spaces.values import is_sequence, is_text

__all__ = ["FinitePart", "Label", "check_labels"]

Label = str | int | bool

LARGEST_INT = 2**63 - 1
"""Integer labels must fit the 64-bit integers of a column."""


class FinitePart(Part):
    """A space of listed values in one column; an item is encoded as the position of its value.

    Attributes
    ----------
    values : tuple
        The listed values, distinct and all strings, all integers or all Booleans.
    """

    point_kind: ClassVar[PointKind] = "label"

    values: tuple[Any, ...]

    @property
    def column(self) -> str:
        """The column."""
        return self.columns[0]

    @property
    def labels(self) -> tuple[Any, ...]:
        return self.values

    @property
    @abstractmethod
    def neutral_code(self) -> int:
        """Code of the neutral item: the position of a listed value, or the number of values."""

    @property
    def neutral_item(self) -> Floats:
        return np.array([[float(self.neutral_code)]])

    @property
    def all_items(self) -> Floats:
        """Every encoded item of the domain, the neutral one included, shape (items, 1)."""
        return np.arange(max(len(self.values), self.neutral_code + 1), dtype=np.float64)[:, None]

    def items_at(self, units: Floats) -> Floats:
        """Return listed values at points of the unit interval, each of as many as any other."""
        return np.minimum(np.floor(units * len(self.values)), len(self.values) - 1.0)

    @cached_property
    def _codes(self) -> dict[Any, int]:
        return {value: code for code, value in enumerate(self.values)}

    def code_of(self, label: object) -> int:
        """Return the position of a listed value."""
        value = _plain(label)
        if type(value) is not type(self.values[0]) or value not in self._codes:
            raise UsageError(
                f"{shown(label)} is none of the {len(self.values)} values of {self.column!r}; pass a listed one."
            )
        return self._codes[value]

    def codes(self, items: Floats) -> npt.NDArray[np.intp]:
        """Return encoded items as integer codes, shape (n,)."""
        return items[:, 0].astype(np.intp)

    def _read(self, frame: object) -> Floats:
        series = columns_of("the frame", frame, self.columns)[self.column]
        keys = _matching(series, self.values[0])
        listed = pl.Series(self.values, dtype=keys.dtype)
        places = pl.Series(range(len(self.values)), dtype=pl.Float64)
        found = keys.replace_strict(listed, places, default=None, return_dtype=pl.Float64)
        return np.array(found.to_numpy(), dtype=np.float64).reshape(-1, 1)

    def _inside(self, items: Floats) -> Mask:
        return ~np.isnan(items[:, 0])

    def encode_point(self, point: Any) -> Floats:
        return np.array([[float(self.code_of(point))]])

    def decode(self, items: Floats) -> dict[str, list[Any]]:
        """Return encoded items as values under the column's name; an unlisted neutral item as None."""
        named = (*self.values, None)
        return {self.column: [named[code] for code in self.codes(items)]}

    def label_bounds(self, label: Any) -> FunctionBounds:
        """Return what is known of the indicator of one value.

        Constant ``diameter``/(smallest distance to another item); infinite where another item is at distance
        0, or cannot be told from one.
        """
        code = self.code_of(label)
        if code not in self._indicators:
            # Found once a value: it takes the distances to all others.
            self._indicators[code] = self._indicator_of(code)
        return self._indicators[code]

    def label_values(self, items: Floats, label: Any) -> Floats:
        return np.asarray(items[:, 0] == self.code_of(label), dtype=np.float64)

    @cached_property
    def _indicators(self) -> dict[int, FunctionBounds]:
        return {}

    def _indicator_of(self, code: int) -> FunctionBounds:
        row = self.natural_distances(self.all_items, np.array([[float(code)]]))[:, 0]
        others = np.delete(row, code)
        if len(others) == 0:
            return FunctionBounds(1.0, 0.0, 1.0, 0.0)
        smallest = float(others.min())
        nearest = smallest - self._distance_error(smallest)
        lipschitz = quotient_up(self.diameter, nearest) if nearest > 0 else math.inf
        return FunctionBounds(lipschitz, 0.0, 1.0, 0.0)

    def _distance_error(self, distance: float) -> float:
        """Bound on the error of a computed natural distance."""
        del distance
        return 0.0


def check_labels(name: str, values: object, *, distinct: bool = True) -> tuple[Any, ...]:
    """Return listed values as a tuple, or raise if empty, of mixed types or, if ``distinct``, repeated.

    Strings must be text that UTF-8 can write, integers of 64 bits.

    >>> check_labels("values", ["cafe", "bar"])
    ('cafe', 'bar')
    """
    if not (is_sequence(values) or isinstance(values, pl.Series)):
        raise UsageError(f"{name} must be a sequence of values, got {type(values).__name__}; pass a list.")
    labels = tuple(_plain(value) for value in values)
    if not labels:
        raise UsageError(f"{name} is empty; list at least one value.")
    for label in labels:
        if type(label) is not type(labels[0]) or not isinstance(label, str | int):
            raise UsageError(
                f"{name} must be all strings, all integers or all Booleans, got {shown(label)}; pass one type."
            )
        if isinstance(label, str) and not is_text(label):
            raise UsageError(f"{name} must hold text, got {shown(label)} with a lone surrogate; repair it.")
        if isinstance(label, int) and not -LARGEST_INT <= label <= LARGEST_INT:
            raise UsageError(f"{name} must hold 64-bit integers, got {shown(label)}; pass smaller ones or strings.")
    if distinct and len(set(labels)) < len(labels):
        twice, count = Counter(labels).most_common(1)[0]
        raise UsageError(f"{name} lists {shown(twice)} {count} times; list each value once.")
    return labels


def _plain(value: object) -> object:
    """Return numpy's scalars as Python's, everything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _matching(series: pl.Series, example: Label) -> pl.Series:
    """Return a column in the type of the listed values, NULL where it has no such value, or raise."""
    dtype = series.dtype
    target: type[pl.DataType] = pl.String
    wanted, fits = "strings", dtype in (pl.String, pl.Categorical, pl.Enum)
    if isinstance(example, bool):
        wanted, target, fits = "Booleans", pl.Boolean, dtype == pl.Boolean
    elif isinstance(example, int):
        wanted, target, fits = "integers", pl.Int64, dtype.is_integer()
    if not fits and dtype != pl.Null:
        raise UsageError(
            f"column {series.name!r} must hold {wanted} like the listed values, not {dtype}; "
            "cast it, or list values of its type."
        )
    return series.cast(target, strict=False)
