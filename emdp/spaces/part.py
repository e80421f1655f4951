"""Common part of all spaces but ``Product``: reading a frame, the ``on_invalid`` rule, weights, a repr."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import polars as pl

from emdp.base.checks import check_positive, shown
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, InvalidItemError, UsageError
from emdp.base.frames import columns_of
from emdp.spaces.base import Floats, Mask, Space
from emdp.spaces.values import is_sequence, is_text

__all__ = ["SMALLEST_DIAMETER", "Part", "Weighted", "check_columns", "check_diameter", "check_unit", "numeric_items"]

SMALLEST_DIAMETER = 1e-150
"""Distances of vectors are computed to within 1e-150 (rounding.py): squares of smaller ones underflow a double."""


@dataclass(frozen=True)
class Weighted:
    """A part of a product with its weight, made by ``part.weighted(weight)`` and accepted by ``Product``.

    Parameters
    ----------
    space : Space
        The part.
    weight : float
        Its positive, finite weight; only ratios of weights matter (EMD 2, "Product spaces").

    Raises
    ------
    UsageError
        If the space is none, or the weight is not positive and finite.
    """

    space: Space
    weight: float

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise UsageError(f"space must be a Space, not {type(self.space).__name__}; weigh a space.")
        object.__setattr__(self, "weight", check_positive("weight", self.weight))


class Part(Space):
    """A space that can be a part of a product: everything but ``Product`` itself."""

    def weighted(self, weight: float) -> Weighted:
        """Return the space with a weight, for ``Product``.

        >>> from emdp.spaces import Interval
        >>> Interval("x", 0, 1).weighted(2).weight
        2.0
        """
        return Weighted(self, weight)

    def __repr__(self) -> str:
        """Return the call that makes the space."""
        arguments = (f"{name}={value!r}" for name, value in self.to_json().items() if name != "kind")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def valid_mask(self, frame: object) -> Mask:
        return self._inside(self._read(frame))

    def encode(self, frame: object) -> Floats:
        items = self._read(frame)
        invalid: Mask = np.logical_not(self._inside(items))
        count = int(invalid.sum())
        if count == 0:
            return items
        if self.on_invalid == "error":
            raise InvalidItemError(
                f"{count} of {len(items)} rows have no item of the {self.kind} space in "
                f"{_listed(self.columns)}; repair them or choose another on_invalid."
            )
        if self.on_invalid == "elsewhere":
            raise InvalidItemError(
                f"{count} of {len(items)} rows have no item of the {self.kind} space in {_listed(self.columns)} and "
                "are elsewhere, which this space is not told; read the table with elsewhere=1, or pass "
                "emdp.spaces.Elsewhere(space)."
            )
        if self.on_invalid == "clamp":
            items[invalid] = self._clamped(items[invalid])
            invalid = np.asarray(np.isnan(items).any(axis=1), dtype=np.bool_)
        items[invalid] = self.neutral_item
        return items

    def items_at(self, units: Floats) -> Floats:
        """Return the encoded items at points of the unit cube, stretched to the range of each column."""
        if not self.spans:
            return super().items_at(units)
        lows, highs = np.array([span.low for span in self.spans]), np.array([span.high for span in self.spans])
        items: Floats = lows + units * (highs - lows)
        outside: Mask = np.logical_not(self._inside(items))
        if outside.any():
            items[outside] = self._clamped(items[outside])
        return items

    @abstractmethod
    def _read(self, frame: object) -> Floats:
        """Return a fresh array of encoded items, NaN where there is no value or an unknown one."""

    @abstractmethod
    def _inside(self, items: Floats) -> Mask:
        """Say of each row of ``_read`` whether it is an item of the domain."""

    def _clamped(self, items: Floats) -> Floats:
        """Return invalid rows of ``_read`` moved into the domain, NaN where only the neutral item is left."""
        raise InternalError(f"{self.noun} has no clamp, yet was made with one; please report this.")

    def _set(self, **fields: object) -> None:
        """Set fields of the frozen dataclass from its ``__init__``."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)


def numeric_items(frame: object, columns: Sequence[str]) -> Floats:
    """Return numeric columns of a frame side by side as float64, NaN for NULL, shape (rows, columns).

    Raises
    ------
    UsageError
        If a column is missing or holds no numbers.

    >>> numeric_items({"x": [1, None]}, ["x"]).tolist()
    [[1.0], [nan]]
    """
    found = columns_of("the frame", frame, columns)
    for name, series in found.items():
        if not (series.dtype.is_numeric() or series.dtype == pl.Null):
            raise UsageError(f"column {name!r} must hold numbers, not {series.dtype}; cast it, or name another column.")
    return np.column_stack([series.cast(pl.Float64).to_numpy() for series in found.values()])


def check_columns(name: str, columns: object) -> tuple[str, ...]:
    """Return column names as a tuple, or raise if they are not distinct, non-empty strings.

    >>> check_columns("columns", ["a", "b"])
    ('a', 'b')
    """
    if not is_sequence(columns) or len(columns) == 0:
        raise UsageError(f"{name} must be a sequence of column names, got {shown(columns)}; pass a list of strings.")
    for column in columns:
        if not is_text(column) or not column:
            raise UsageError(f"{name} must hold column names, got {shown(column)}; pass non-empty strings.")
    if len(set(columns)) < len(columns):
        raise UsageError(f"{name} names a column twice in {shown(list(columns))}; name each once.")
    return tuple(columns)


def check_unit(unit: object) -> str | None:
    """Return the name of a natural unit, or raise if it is neither None nor a non-empty string.

    >>> check_unit("minutes")
    'minutes'
    """
    if unit is None or (isinstance(unit, str) and is_text(unit) and unit):
        return unit
    raise UsageError(f"unit must be a string such as 'minutes', got {shown(unit)}; pass one or leave it out.")


def check_diameter(diameter: object, domain_diameter: float) -> float:
    """Return the declared diameter, or the domain's where none is declared.

    Raises
    ------
    UsageError
        If the declared one is not positive and finite, none is declared and the domain's is 0, or the one of
        the two that counts is below ``SMALLEST_DIAMETER``.

    >>> check_diameter(None, 10.0), check_diameter(3, 10.0)
    (10.0, 3.0)
    """
    if diameter is None and domain_diameter <= 0:
        raise UsageError("all items of the domain are at distance 0, so diameter must be given; pass diameter=.")
    name = "the domain's diameter" if diameter is None else "diameter"
    number = check_positive(name, domain_diameter if diameter is None else diameter)
    if number < SMALLEST_DIAMETER:
        raise UsageError(f"{name} must be at least {SMALLEST_DIAMETER}, got {number}; use a larger unit of distances.")
    return number


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns))
