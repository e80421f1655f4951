"""Releases of the average of the users' normalised histograms: noise on it, or one message a user.

Both read every user's histogram over the items of a finite space, in blocks of whole users; who has no record has the
neutral item. For the average, a user's share of an item is rounded to a multiple of ``2**-bits``, so that sums are
exact integers whatever the order (EMD 8.5); the bits leave room for the number of users. Replacement of one user
moves the average by at most ``2/n`` in the 1-norm and ``sqrt(2)/n`` in the 2-norm, and by ``d_em/w`` times that where
the smallest distance of two items is ``w``, since the total variation distance is at most ``d_em/w`` (EMD 6 and 2).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.estimators.frequency_geometry import Geometry
from emdp.estimators.frequency_regions import Norm, message_radius, noise_radius, oracle_errors
from emdp.estimators.messages import MessageRelease, WrappedRelease
from emdp.expressions.columns import Released
from emdp.expressions.reading import BagBlock
from emdp.mechanisms import AdditiveMechanism, LaplaceMechanism
from emdp.mechanisms.oracle import FrequencyOracle
from emdp.mechanisms.oracle_bags import Bags
from emdp.noise.bulk_laplace import draw_discrete_laplace_bulk
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.spaces.base import Floats

__all__ = ["HistogramRelease", "OracleRelease", "share_bits"]

Integers = npt.NDArray[np.int64]

SUM_BITS = 62
"""Sums over users stay below ``2**62``."""

MOST_BITS = 52
"""A quotient of doubles errs by up to ``2**-54``: with more bits that would be more than half of the last one."""

AT_ONCE = 2**22
"""Users whose messages are drawn together: an oracle's work may grow with the number of draws, not of users alone."""


def share_bits(users: int) -> int:
    """Return the bits below 1 that a user's share keeps; it is within ``2**-bits`` of the exact one.

    Rounded to a double and then to a multiple of ``2**-bits`` it is off by at most ``2**-54 + 2**-(bits + 1)``.

    >>> share_bits(1_000_000), share_bits(3)
    (42, 52)
    """
    return min(SUM_BITS - users.bit_length(), MOST_BITS)


@dataclass(frozen=True, eq=False)
class HistogramRelease(WrappedRelease):
    """Noise on the average of the users' normalised histograms.

    Parameters
    ----------
    mechanism : AdditiveMechanism
        Laplace or Gaussian noise of ``items`` coordinates.
    neutral : int
        Code of the item of a user without records.
    """

    mechanism: AdditiveMechanism
    neutral: int

    @property
    def theorem(self) -> str:
        """The guarantee's source, in one line."""
        return f"{self.mechanism.theorem}; the averaged histogram moves by 2/n under replacement (EMD 6)"

    def intervals(self, values: Floats, level: float, together: bool) -> tuple[Floats, Floats]:
        """Return the ends of intervals from the exact law of the noise."""
        width = self.mechanism.simultaneous_half_width(level) if together else self.mechanism.interval_half_width(level)
        return values - width, values + width

    def radius(self, level: float, norm: Norm, geometry: Geometry) -> float:
        """Return the radius of a ball that holds the exact shares; see :mod:`emdp.estimators.frequency_regions`."""
        return noise_radius(self.mechanism, level, norm, geometry)

    def release(
        self, read: Iterator[BagBlock], *, users: int, keep_exact: bool
    ) -> tuple[tuple[Floats], Released | None]:
        """Average, round, add noise: this spends."""
        bits, items = share_bits(users), self.mechanism.dimension
        sums, present = np.zeros(items, dtype=np.int64), 0
        for block in read:
            sizes = np.add.reduceat(block.counts, block.offsets[:-1])
            shares = np.ldexp(block.counts / np.repeat(sizes, np.diff(block.offsets)), bits)
            np.add.at(sums, block.codes, np.rint(shares).astype(np.int64))
            present += len(block.users)
        sums[self.neutral] += (users - present) << bits
        steps = _on_grid(sums.tolist(), users, round(-math.log2(self.mechanism.grid)) - bits) + self._draw(items)
        released = (steps.astype(np.float64) * self.mechanism.grid,)
        exact = sums / float(users) * 2.0**-bits
        return released, (exact,) if keep_exact else None  # type: ignore[return-value]  # floats for Fractions

    def _draw(self, items: int) -> Integers:
        if isinstance(self.mechanism, LaplaceMechanism):
            return draw_discrete_laplace_bulk(self.mechanism.noise_units, items)
        return np.array(draw_discrete_gaussian(self.mechanism.noise_units, items), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class OracleRelease(MessageRelease):
    """One message of every user, and the shares that all messages together estimate.

    Parameters
    ----------
    oracle : FrequencyOracle
        The randomizer of users.
    neutral : int
        Code of the item of a user without records.
    accounted : str
        Which theorem gives the guarantee, where messages are shuffled; empty in the local model.
    """

    oracle: FrequencyOracle
    neutral: int
    accounted: str = ""

    @property
    def theorem(self) -> str:
        """The guarantee's source, in one line."""
        return f"{self.accounted}; {self.oracle.theorem}" if self.accounted else self.oracle.theorem

    @property
    def slack_epsilon(self) -> float:
        """0: messages are drawn from integer probabilities."""
        return 0.0

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return the oracle as an answer's derivation shows it."""
        del unit
        return (("oracle", self.oracle.explain()),)

    def intervals(self, values: Floats, level: float, together: bool) -> tuple[Floats, Floats]:
        """Return the ends of intervals that hold the exact shares with at least that probability."""
        low, high = self.oracle.intervals(values, level, together=together)
        return np.minimum(low, values), np.maximum(high, values)

    def radius(self, level: float, norm: Norm, geometry: Geometry) -> float:
        """Return the radius of a ball that holds the exact shares; see :mod:`emdp.estimators.frequency_regions`."""
        del geometry
        return message_radius(oracle_errors(self.oracle), level, norm)

    def release(
        self, read: Iterator[BagBlock], *, users: int, keep_exact: bool
    ) -> tuple[tuple[Floats], Released | None]:
        """Draw the messages of all users and decode them: this spends."""
        tally: Any = 0
        shares = np.zeros(self.oracle.items)
        chosen: list[Integers] = []
        waiting = present = 0
        for block in read:
            bags = Bags(block.offsets, block.codes, block.counts)
            # Every oracle's message is that of one uniform record.
            chosen.append(bags.draw_items())
            present, waiting = present + bags.users, waiting + bags.users
            if waiting >= AT_ONCE:
                tally, chosen, waiting = tally + self._tally(chosen), [], 0
            if keep_exact:
                shares += bags.shares(self.oracle.items) * bags.users
        chosen.append(np.full(users - present, self.neutral, dtype=np.int64))
        shares[self.neutral] += users - present
        released = (self.oracle.decode(tally + self._tally(chosen)),)
        return released, (shares / users,) if keep_exact else None  # type: ignore[return-value]

    def _tally(self, chosen: list[Integers]) -> Integers:
        return self.oracle.draw_tally(Bags.of_items(np.concatenate(chosen)))


def _on_grid(sums: list[int], users: int, shift: int) -> Integers:
    """Return ``sums 2**shift/users``, rounded to the nearest whole steps of the grid, exactly."""
    up, under = max(shift, 0), users << max(-shift, 0)
    # floor(a/b + 1/2)
    return np.array([((value << (up + 1)) + under) // (2 * under) for value in sums], dtype=np.int64)
