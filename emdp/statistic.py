"""An exact, private value on its way from an engine to the mechanism that adds noise to it."""

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["Statistic"]


class Statistic:
    """Exact values computed from a private table; printing one shows nothing.

    Only :mod:`emdp.session` opens it, after the ledger was charged (style.md, "Folder tree"). Values are exact
    fractions, so that the rounding before the noise is the only rounding (EMD 8.5).

    >>> Statistic([Fraction(1, 2)])
    Statistic(hidden)
    """

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[Fraction]) -> None:
        self._values = tuple(values)

    def open(self) -> tuple[Fraction, ...]:
        """Return the exact values: for the session alone."""
        return self._values

    def __repr__(self) -> str:
        return "Statistic(hidden)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Statistic holds private values and is never pickled; release it through a session.")
