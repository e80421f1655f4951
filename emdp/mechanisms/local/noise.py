"""Noise in the local model: every user adds noise to the mean of the own records, the curator averages the messages.

Theorem (EMD 2, "Noise", with ``n = 1``). If ``|q(K) - q(K')| <= l d_em`` for two bags of one user, then noise of
scale ``l/alpha`` on ``q(K)`` is ``(alpha, 0)`` unbounded local d_EM-DP; Gaussian noise likewise with its exact
profile. All that leaves a user is the message, so nobody need be trusted; averaging the messages is post-processing.
The grid and its slack are those of the mechanism (:mod:`emdp.mechanisms.central.additive`) for a single user.

Proof. It is the theorem of :mod:`emdp.mechanisms.central.laplace`, :mod:`emdp.mechanisms.central.k_norm` or
:mod:`emdp.mechanisms.central.gaussian` for the statistic ``q`` of a table of one user, of any number of records. The
others' messages are independent of that user's, and have the same law on both tables.

Error. The noise of the average is ``1/n`` times a sum of ``n`` independent draws: a normal law for Gaussian noise,
else a difference of Gamma variables (:mod:`emdp.noise.gamma_difference`). A discrete Laplace draw is the difference
of the integer parts of two exponential variables, so it is within one step of the continuous one, and the average
too. A K-norm draw on the lattice has a law within a factor ``exp(sqrt(d)/t)`` of the continuous one rounded
(:mod:`emdp.noise.k_norm`, ``t`` the scale in steps), so a tail of the sum of ``n`` of them is within ``exp(n
sqrt(d)/t)`` of the continuous tail.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count, check_unit_interval
from emdp.base.classes import dataclass
from emdp.mechanisms.central.additive import AdditiveMechanism
from emdp.mechanisms.central.gaussian import GaussianMechanism
from emdp.mechanisms.central.k_norm import KNormMechanism
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.noise.discrete_laplace import draw_discrete_laplace_bulk
from emdp.noise.gamma_difference import gamma_difference_mean_absolute, gamma_difference_quantile
from emdp.noise.k_norm import draw_planar

__all__ = ["LocalNoise", "exact_sums"]

_NORMAL_MARGIN = 1e-9
# Relative, added to a normal quantile: above its error and what the lattice changes.


@dataclass(frozen=True, eq=False)
class LocalNoise:
    """One mechanism for every user, and the average of their messages.

    Guarantee
    ---------
    That of ``mechanism``, unbounded and local.

    >>> from emdp.mechanisms.central.laplace import LaplaceMechanism
    >>> local = LocalNoise(LaplaceMechanism(sensitivity=1.0, alpha=2.0), users=10_000)
    >>> messages = local.encode(np.zeros((10_000, 1), dtype=np.int64), (51,))
    >>> messages.shape, abs(float(local.decode(exact_sums(messages))[0])) < 0.1
    ((10000, 1), True)
    """

    is_exact: ClassVar[bool] = False
    """False: a constant needs no messages."""

    mechanism: AdditiveMechanism  # The noise, calibrated to the change of one user's mean
    users: int

    def __post_init__(self) -> None:
        check_count("users", self.users)

    @property
    def theorem(self) -> str:
        return f"{self.mechanism.theorem}, by every user alone (local: n = 1)"

    @property
    def slack_epsilon(self) -> float:
        """Loss from rounding of one user's message, which is all that a neighbour changes; the mechanism's own."""
        return self.mechanism.slack_epsilon

    @property
    def slack_delta(self) -> float:
        return self.mechanism.slack_delta

    @property
    def variance(self) -> float:
        """Variance of each coordinate of the average."""
        return self.mechanism.standard_deviation**2 / self.users

    @property
    def noise_scale(self) -> float:
        """Scale of one user's noise."""
        return self.mechanism.scale

    def expected_absolute_error(self, coordinate: int) -> float:
        """Return the mean of |error| of a coordinate of the average."""
        del coordinate
        if isinstance(self.mechanism, GaussianMechanism):
            return math.sqrt(2.0 * self.variance / math.pi)
        return self.mechanism.scale * gamma_difference_mean_absolute(self._shape) / self.users

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        return tuple((name, f"{fact}, for every user alone") for name, fact in self.mechanism.facts(unit))

    def encode(self, means: Integers, exponents: Sequence[int]) -> Integers:
        """Return the users' messages, in grid steps.

        Parameters
        ----------
        means : numpy.ndarray of int64
            Shape (rows, dimension): each user's mean times ``2**exponent``.
        exponents : sequence of int
            One a coordinate.
        """
        steps = -round(math.log2(self.mechanism.grid))
        columns = [_shifted(means[:, j], steps - exponent) for j, exponent in enumerate(exponents)]
        return np.column_stack(columns) + self._draw(len(means))

    def decode(self, sums: Sequence[int]) -> tuple[Fraction, ...]:
        """Return the average message, from the exact sums of all users' messages."""
        return tuple(Fraction(total) * Fraction(self.mechanism.grid) / self.users for total in sums)

    def interval(self, coordinate: int, value: float, level: float) -> tuple[float, float]:
        """Return the ends of an interval that holds the exact value of a coordinate with probability ``level``."""
        del coordinate
        width = self._half_width(1.0 - check_unit_interval("level", level))
        return value - width, value + width

    @property
    def _shape(self) -> float:
        own = self.mechanism.dimension + 1 if isinstance(self.mechanism, KNormMechanism) else 2
        return 0.5 * self.users * own

    def _half_width(self, tail: float) -> float:
        margin = 2.0 * self.mechanism.grid
        if isinstance(self.mechanism, GaussianMechanism):
            from scipy.special import ndtri

            deviation = self.mechanism.scale / math.sqrt(self.users)
            return -float(ndtri(0.5 * tail)) * deviation * (1.0 + _NORMAL_MARGIN) + margin
        if isinstance(self.mechanism, KNormMechanism):
            tail *= math.exp(-self.users * math.sqrt(self.mechanism.dimension) / self.mechanism.noise_units)
        return self.mechanism.scale * gamma_difference_quantile(tail, self._shape) / self.users + margin

    def _draw(self, rows: int) -> Integers:
        scale, dimension = self.mechanism.noise_units, self.mechanism.dimension
        if isinstance(self.mechanism, KNormMechanism):
            drawn = draw_planar(scale, dimension, rows)
        elif isinstance(self.mechanism, GaussianMechanism):
            drawn = np.array(draw_discrete_gaussian(scale, rows * dimension), dtype=np.int64)
        else:
            drawn = draw_discrete_laplace_bulk(scale, rows * dimension)
        return drawn.reshape(rows, dimension)


def exact_sums(messages: Integers) -> list[int]:
    """Return the sum of each column, exactly, whatever its size.

    >>> exact_sums(np.array([[2**62, 1], [2**62, 2]]))
    [9223372036854775808, 3]
    """
    high = (messages >> 32).sum(axis=0, dtype=np.int64)
    low = (messages & 0xFFFFFFFF).sum(axis=0, dtype=np.int64)
    return [(int(above) << 32) + int(below) for above, below in zip(high, low, strict=True)]


def _shifted(values: Integers, bits: int) -> Integers:
    """Return integers times ``2**bits``, rounded to the nearest."""
    if bits >= 0:
        return np.left_shift(values, bits)
    if bits < -62:
        return np.zeros_like(values)
    return np.right_shift(values + (1 << (-bits - 1)), -bits)
