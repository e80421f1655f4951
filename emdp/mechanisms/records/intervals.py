"""Quantiles of records at several levels, each with an interval, of one group of records or several.

Half of the price is for the quantiles, which are found by halves, the other half in equal parts for the ends of the
intervals, two choices for each level.

*Theorem.* That is ``epsilon``-DP. *Proof.* Theorem 2 of :mod:`emdp.mechanisms.records.quantiles` for the quantiles, at
``epsilon/2``. The ends of one level in all groups cost half of what an interval of that module with its quantile does
at its price ``epsilon/m`` (theorems 3 and 4): ``m`` times ``epsilon/(2 m)``. Basic composition. ∎
"""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy.typing as npt

from emdp.base.classes import dataclass
from emdp.mechanisms.contribution.moves import check_kind
from emdp.mechanisms.records.quantiles import QuantileInterval, RecordQuantiles
from emdp.privacy.events.table import Event, GuaranteeEvent
from emdp.privacy.guarantees.kinds import Guarantee, Neighbours
from emdp.privacy.rounding import split

__all__ = ["QuantileIntervals"]

Place = tuple[int, int | None, int | None]
"""Cell of a quantile, and the cells at whose outer edges its interval ends."""


@dataclass(frozen=True)
class QuantileIntervals:
    """Quantiles of records with intervals.

    Parameters
    ----------
    levels, epsilon, neighbours, cap, groups
        As of :class:`emdp.mechanisms.records.quantiles.RecordQuantiles`.

    Guarantee
    ---------
    ``epsilon``-DP at user level: the module's theorem.

    >>> found = QuantileIntervals((0.25, 0.75), 300.0, "remove", 1, 0.05).release([[900, 1000, 1, 1000, 900]])
    >>> [[place[0] for place in level] for level in found]
    [[1], [3]]
    """

    levels: tuple[float, ...]
    epsilon: float
    neighbours: Neighbours
    cap: int
    failure: float  # In (0, 1): each interval misses the quantile of the weighted records with at most this probability
    groups: int = 1
    slack_epsilon: ClassVar[float] = 0.0
    slack_delta: ClassVar[float] = 0.0
    is_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        # Both check what they are made of.
        _ = self.quantiles, self.intervals

    @cached_property
    def quantiles(self) -> RecordQuantiles:
        """What releases the quantiles, for half of the price."""
        half = split(self.epsilon, (1.0, 1.0))[0]
        return RecordQuantiles(self.levels, half, self.neighbours, self.cap, self.groups)

    @cached_property
    def intervals(self) -> tuple[QuantileInterval, ...]:
        """What releases the ends of each level, for half of its own price."""
        shares = split(self.epsilon, (1.0,) * len(self.levels))
        return tuple(
            QuantileInterval(level, share, self.neighbours, self.cap, self.failure, self.groups)
            for level, share in zip(self.levels, shares, strict=True)
        )

    @property
    def theorem(self) -> str:
        return f"{self.quantiles.theorem}; choices of two more for each interval"

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        shown = ", ".join(f"{level:g}" for level in self.levels)
        return (("quantiles", f"levels {shown}, half of the price for them and the rest for the ends of intervals"),)

    def event(self, kind: Guarantee | None = None) -> Event:
        """Return the event to charge before the release."""
        found = check_kind(kind, self.neighbours)
        return GuaranteeEvent(found.at_level(self.epsilon, 0.0), mechanism=self.theorem)

    def release(self, weights: Sequence[npt.ArrayLike]) -> tuple[tuple[Place, ...], ...]:
        """Return, for each level, the places of each group: this spends.

        Parameters
        ----------
        weights : sequence of array-like of int
            As of :meth:`emdp.mechanisms.records.quantiles.RecordQuantiles.release_groups`.
        """
        middles = self.quantiles.release_groups(weights)
        return tuple(
            tuple(
                (middles[group][number], *one.release_ends(own, middles[group][number]))
                for group, own in enumerate(weights)
            )
            for number, one in enumerate(self.intervals)
        )
