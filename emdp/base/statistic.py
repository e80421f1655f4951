"""Exact, private values on their way from an engine to the mechanism that adds noise to them, or randomizes them."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Generic, NoReturn, TypeVar

__all__ = ["Hidden", "HiddenBlocks", "Statistic"]

Value = TypeVar("Value")
Block = TypeVar("Block")


class Statistic:
    """Exact values computed from a private table; printing one shows nothing.

    Only :mod:`emdp.sessions.releasing` opens it, after the ledger was charged, and the second reading of a release that
    goes on there :mod:`emdp.estimators.owned.automatic`. Values are exact fractions, so that the rounding before the
    noise is the only rounding (EMD 8.5).

    >>> Statistic([Fraction(1, 2)])
    Statistic(hidden)
    """

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[Fraction]) -> None:
        self._values = tuple(values)

    def open(self) -> tuple[Fraction, ...]:
        """Return the exact values: for the session alone."""
        return self._values

    def part(self, places: Sequence[int]) -> "Statistic":
        """Return the values at some places, hidden as these are."""
        return Statistic([self._values[place] for place in places])

    def __repr__(self) -> str:
        return "Statistic(hidden)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Statistic holds private values and is never pickled; release it through a session.")


class Hidden(Generic[Value]):
    """A private value, such as an array of counts; printing it shows nothing, and only the session opens it.

    >>> Hidden([1, 2, 3])
    Hidden(hidden)
    """

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        self._value = value

    def open(self) -> Value:
        """Return the value: for the session alone."""
        return self._value

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} holds a private value and is never pickled; release it.")


class HiddenBlocks(Generic[Block]):
    """Private values that come block by block, so that they need not fit into memory; printing it shows nothing.

    Nothing is read before it is opened, and every opening reads anew.

    >>> blocks = HiddenBlocks(lambda: iter([1, 2]))
    >>> blocks
    HiddenBlocks(hidden)
    """

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], Iterator[Block]]) -> None:
        self._read = read

    def open(self) -> Iterator[Block]:
        """Return an iterator of the blocks: for the session alone."""
        return self._read()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} gives private values and is never pickled; release them.")
