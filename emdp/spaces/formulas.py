"""The arithmetic in which a space states its distance once: numpy computes it here, and engines write it as SQL.

Each operation is one operation on doubles, in the order in which the space asks for it, so that numpy and the engine
agree. What the engine makes of them is ``emdp/tables/statements/kinds.py``.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np

from emdp.base.arrays import Floats

__all__ = ["NUMPY", "Arithmetic", "NumpyArithmetic"]

V = TypeVar("V")


class Arithmetic(Protocol[V]):
    """Operations on the numbers of one kind of values: arrays, or SQL."""

    def number(self, value: float) -> V:
        """Return a finite constant."""

    def subtract(self, left: V, right: V) -> V:
        """Return ``left - right``."""

    def multiply(self, left: V, right: V) -> V:
        """Return ``left * right``."""

    def absolute(self, value: V) -> V:
        """Return ``|value|``."""

    def root(self, value: V) -> V:
        """Return the square root of a value of at least 0."""

    def least(self, values: Iterable[V]) -> V:
        """Return the smallest of at least one value."""

    def greatest(self, values: Iterable[V]) -> V:
        """Return the largest of at least one value."""

    def total(self, values: Iterable[V]) -> V:
        """Return the sum of at least one value, in whatever order is quickest."""


class NumpyArithmetic:
    """The operations on arrays that broadcast.

    >>> NUMPY.least([NUMPY.number(3.0), np.array([1.0, 5.0])]).tolist()
    [1.0, 3.0]
    """

    def number(self, value: float) -> Floats:
        return np.asarray(value, dtype=np.float64)

    def subtract(self, left: Floats, right: Floats) -> Floats:
        return left - right

    def multiply(self, left: Floats, right: Floats) -> Floats:
        return left * right

    def absolute(self, value: Floats) -> Floats:
        return _array(np.abs(value))

    def root(self, value: Floats) -> Floats:
        return _array(np.sqrt(value))

    def least(self, values: Iterable[Floats]) -> Floats:
        return _array(reduce(np.minimum, values))

    def greatest(self, values: Iterable[Floats]) -> Floats:
        return _array(reduce(np.maximum, values))

    def total(self, values: Iterable[Floats]) -> Floats:
        """Return the sum, from left to right."""
        return _array(reduce(np.add, values))


NUMPY = NumpyArithmetic()


def _array(value: Any) -> Floats:
    return np.asarray(value, dtype=np.float64)
