"""Releases of the average of the users' normalised histograms: noise on it, or one message a user.

Both read every user's histogram over the items of a finite space, in blocks of whole users; who has no record has the
neutral item. For the average, a user's share of an item is rounded to a multiple of ``2**-bits``, so that sums are
exact integers whatever the order (EMD 8.5); the bits leave room for the number of users. Replacement of one user
moves the average by at most ``2/n`` in the 1-norm and ``sqrt(2)/n`` in the 2-norm, and by ``d_em/w`` times that where
the smallest distance of two items is ``w``, since the total variation distance is at most ``d_em/w`` (EMD 6 and 2).
"""

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.estimators.frequency.encoders import CHOSEN, TALLY, AverageEncoder, OracleEncoder, draw_tally
from emdp.estimators.frequency.geometry import Geometry
from emdp.estimators.frequency.regions import Norm, message_radius, noise_radius, oracle_errors
from emdp.estimators.messages import MessageRelease, WrappedRelease
from emdp.mechanisms import AdditiveMechanism, LaplaceMechanism
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.noise.discrete_laplace import draw_discrete_laplace_bulk
from emdp.privacy.rounding import as_decimal, float_up
from emdp.questions.columns import Released
from emdp.questions.reading import BagBlock
from emdp.spaces.base import Floats

__all__ = ["HistogramRelease", "OracleRelease", "share_bits"]

SUM_BITS = 62
"""Sums over users stay below ``2**62``."""

MOST_BITS = 52
"""A quotient of doubles errs by up to ``2**-54``: with more bits that would be more than half of the last one."""


def share_bits(users: int) -> int:
    """Return the bits below 1 that a user's share keeps; it is within ``2**-bits`` of the exact one.

    Rounded to a double and then to a multiple of ``2**-bits`` it is off by at most ``2**-54 + 2**-(bits + 1)``.

    >>> share_bits(1_000_000), share_bits(3)
    (42, 52)
    """
    return min(SUM_BITS - users.bit_length(), MOST_BITS)


@dataclass(frozen=True, eq=False)
class HistogramRelease(WrappedRelease):
    """Noise on the average of the users' normalised histograms."""

    epsilon0: ClassVar[None] = None
    """Epsilon of one message: None, since nobody sends one."""

    mechanism: AdditiveMechanism  # Laplace or Gaussian noise of `items` coordinates
    neutral: int  # Code of the item of a user without records
    bits: int  # Bits below 1 that a user's share keeps: `share_bits` of the number of users
    # Whether the released shares stand a second time behind them, as whole steps of the grid: weaker tiers are made of
    # these, since doubles may not hold all of their digits.
    keeps_steps: bool = False

    @property
    def theorem(self) -> str:
        return f"{self.mechanism.theorem}; the averaged histogram moves by 2/n under replacement (EMD 6)"

    def intervals(self, values: Floats, level: float, together: bool) -> tuple[Floats, Floats]:
        """Return the ends of intervals from the exact law of the noise."""
        width = self.mechanism.simultaneous_half_width(level) if together else self.mechanism.interval_half_width(level)
        return values - width, values + width

    def radius(self, level: float, norm: Norm, geometry: Geometry) -> float:
        """Return the radius of a ball that holds the exact shares; see :mod:`emdp.estimators.frequency.regions`."""
        return noise_radius(self.mechanism, level, norm, geometry)

    def encoder(self, *, keep_exact: bool) -> AverageEncoder:
        del keep_exact
        return AverageEncoder(self.mechanism.dimension, self.bits)

    def release(
        self, read: Iterator[BagBlock], *, users: int, keep_exact: bool
    ) -> tuple[tuple[Any, ...], Released | None]:
        """Average, round, add noise: this spends."""
        frames = chain.from_iterable(map(self.encoder(keep_exact=keep_exact).encode, read))
        return self.merge(frames, users=users, keep_exact=keep_exact)

    def merge(
        self, frames: Iterator[pl.DataFrame], *, users: int, keep_exact: bool
    ) -> tuple[tuple[Any, ...], Released | None]:
        bits, items = self.bits, self.mechanism.dimension
        sums, present = np.zeros(items, dtype=np.int64), 0
        for frame in frames:
            codes, own = (frame.get_column(name).to_numpy() for name in ("code", "sum"))
            present += int(own[codes < 0].sum())
            np.add.at(sums, codes[codes >= 0], own[codes >= 0])
        sums[self.neutral] += _absent(present, users) << bits
        steps = _on_grid(sums.tolist(), users, round(-math.log2(self.mechanism.grid)) - bits) + self._draw(items)
        released = (steps.astype(np.float64) * self.mechanism.grid, *([steps] * self.keeps_steps))
        exact = sums / float(users) * 2.0**-bits
        return released, (exact,) if keep_exact else None  # type: ignore[return-value]  # floats for Fractions

    def _draw(self, items: int) -> Integers:
        if isinstance(self.mechanism, LaplaceMechanism):
            return draw_discrete_laplace_bulk(self.mechanism.noise_units, items)
        return np.array(draw_discrete_gaussian(self.mechanism.noise_units, items), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class OracleRelease(MessageRelease):
    """Release of shares by an oracle: one message of every user, and what all of them together estimate."""

    slack_epsilon: ClassVar[float] = 0.0
    """Cost of rounding: 0, since messages are drawn from integer probabilities."""

    oracle: FrequencyOracle
    neutral: int  # Code of the item of a user without records
    accounted: str = ""  # Which theorem gives the guarantee, where messages are shuffled; empty in the local model
    # How many messages each user sends, each mixed by itself: the oracle is one of as many users as there are messages.
    messages: int = 1

    @property
    def epsilon0(self) -> float:
        """Epsilon of a user's messages, unmixed."""
        return float_up(as_decimal(self.oracle.epsilon) * self.messages)

    @property
    def theorem(self) -> str:
        return f"{self.accounted}; {self.oracle.theorem}" if self.accounted else self.oracle.theorem

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        told: tuple[tuple[str, str], ...] = (("oracle", self.oracle.explain()),)
        bits = self.messages * self.oracle.message_bits
        if self.messages > 1:
            told += (("messages", f"{self.messages} of each user, each mixed apart: {bits} bits a user"),)
        elif self.accounted:
            told += (("message", f"{bits} {'bit' if bits == 1 else 'bits'} a user"),)
        return told

    def intervals(self, values: Floats, level: float, together: bool) -> tuple[Floats, Floats]:
        """Return the ends of intervals that hold the exact shares with at least that probability."""
        low, high = self.oracle.intervals(values, level, together=together)
        return np.minimum(low, values), np.maximum(high, values)

    def radius(self, level: float, norm: Norm, geometry: Geometry) -> float:
        """Return the radius of a ball that holds the exact shares; see :mod:`emdp.estimators.frequency.regions`."""
        del geometry
        return message_radius(oracle_errors(self.oracle), level, norm)

    def encoder(self, *, keep_exact: bool) -> OracleEncoder:
        return OracleEncoder(self.oracle, keep_exact, self.messages)

    def release(
        self, read: Iterator[BagBlock], *, users: int, keep_exact: bool
    ) -> tuple[tuple[Floats], Released | None]:
        """Draw the messages of all users and decode them: this spends."""
        frames = chain.from_iterable(map(self.encoder(keep_exact=keep_exact).encode, read))
        return self.merge(frames, users=users, keep_exact=keep_exact)

    def merge(
        self, frames: Iterator[pl.DataFrame], *, users: int, keep_exact: bool
    ) -> tuple[tuple[Floats], Released | None]:
        """Return the release, made from the outputs of all blocks in any order: this spends.

        Messages of users whose records were chosen, and none drawn, are drawn here, and those of users without records.
        """
        chosen = np.zeros(self.oracle.items, dtype=np.int64)
        shares = np.zeros(self.oracle.items)
        tally, present = draw_tally(self.oracle, chosen[:0], chosen[:0]), 0
        for frame in frames:
            what, places, counts = (frame.get_column(name).to_numpy() for name in ("what", "place", "count"))
            np.add.at(tally, places[what == TALLY], counts[what == TALLY])
            np.add.at(chosen, places[what == CHOSEN], counts[what == CHOSEN])
            present += int(counts[what != TALLY].sum())
            if keep_exact:
                np.add.at(shares, places[what == CHOSEN], frame.get_column("share").to_numpy()[what == CHOSEN])
        absent = _absent(present, users * self.messages)
        chosen[self.neutral] += absent
        shares[self.neutral] += absent / self.messages
        codes = np.flatnonzero(chosen)
        released = (self.oracle.decode(tally + draw_tally(self.oracle, codes, chosen[codes])),)
        return released, (shares / users,) if keep_exact else None  # type: ignore[return-value]


def _absent(present: int, users: int) -> int:
    """Return how many public users came with no records."""
    if present > users:
        raise InternalError("more users came from the engine than there are; please report it.")
    return users - present


def _on_grid(sums: list[int], users: int, shift: int) -> Integers:
    """Return ``sums 2**shift/users``, rounded to the nearest whole steps of the grid, exactly."""
    up, under = max(shift, 0), users << max(-shift, 0)
    # floor(a/b + 1/2)
    return np.array([((value << (up + 1)) + under) // (2 * under) for value in sums], dtype=np.int64)
