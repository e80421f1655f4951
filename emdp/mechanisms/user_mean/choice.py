"""The choice among ways of releasing a mean over users: by what is expected of them, from public numbers alone."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

__all__ = ["NEARLY", "best_of", "preference"]

NEARLY = 1.1
"""Expected errors that count as equal: a tenth is worth one round less, or being told how many users are near."""


class Target(Protocol):
    """Aim of a way."""

    @property
    def failure(self) -> float:
        """Largest probability that a range misses somebody."""


class Way(Protocol):
    """A way that is compared with others."""

    @property
    def setting(self) -> Target:
        """Aim of the way."""

    @property
    def missed_range(self) -> float:
        """Bound on the probability that its range misses somebody."""

    @property
    def expected_error(self) -> float:
        """Root of the expected squared error, missed ranges included."""


Kind = TypeVar("Kind", bound=Way)


def preference(way: Way) -> tuple[bool, float]:
    """Return what ways are ordered by: whether the target failure is missed, then the expected error."""
    return way.missed_range > way.setting.failure, way.expected_error


def best_of(ways: Sequence[Kind]) -> Kind:
    """Return the first of those whose error is within a tenth of the least.

    Ways that miss the target failure are left out where others do not. Ways are listed with fewer rounds first, and a
    noisy histogram, which also tells how many users are near the range, before the median.

    Parameters
    ----------
    ways : sequence
        At least one.
    """
    sure = [way for way in ways if not preference(way)[0]] or list(ways)
    least = min(way.expected_error for way in sure)
    return next(way for way in sure if way.expected_error <= NEARLY * least)
