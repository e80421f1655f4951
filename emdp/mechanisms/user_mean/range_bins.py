"""Equal bins over the bounds of users' means, and the interval that a chosen bin stands for.

Setting. All users' means lie in a stretch of length ``2 tau`` somewhere in ``[low, high]``. Bins are half open, ``[low
+ 2 i tau, low + 2 (i + 1) tau)``, ``k = ceil((high - low)/(2 tau))`` of them, and ``high`` belongs to the last.

Lemma. The means meet at most two bins, which are neighbours, so one of the two holds at least half of the users. If the
chosen bin is one that holds a user, then all means lie within ``3 tau`` of its centre.

Proof. A stretch of length ``2 tau`` holds no two points of bins that are not neighbours and half open. Some mean is in
the chosen bin, all others are within ``2 tau`` of it, hence within ``2 tau`` of the bin's ends, ``tau`` away from its
centre.

Radius. Let user ``u``'s own mean be ``mu + D_u``, ``D_u`` sub-Gaussian with parameter ``between``, and let its ``m``
records given that be independent, sub-Gaussian with parameter ``spread`` around it. Then the users' computed means lie
within ``tau = s sqrt(2 ln(2 n/gamma)) + error``, ``s^2 = between^2 + spread^2/m``, of ``mu`` with probability at least
``1 - gamma``.

Proof. ``E exp(t (y_u - mu)) = E[exp(t D_u) E[exp(t (y_u - mu - D_u)) | D_u]] <= exp(t^2 s^2/2)``, so ``P(|y_u - mu| >
x) <= 2 exp(-x^2/(2 s^2))``, which is ``gamma/n`` at ``x = s sqrt(2 ln(2 n/gamma))``; a union bound over users; what is
computed is ``error`` away at most. The published radius has no 2 under the root and misses somebody in most runs
(local-shuffle-userlevel.md 2.1).

Privacy needs none of this: what a user sends about a bin is private whichever bin it is. A mean at the edge of two
bins may be put into either by the rounding of its fixed point or of the quotient, which matters to nobody's privacy;
where it moves a mean it does so by 1e-15 or so of the bounds.
"""

import math

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count, check_finite, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError

__all__ = ["ABSENT", "LARGEST_BINS", "RangeBins", "concentration_radius"]

ABSENT = -(2**63)
"""What a user who has no number, being elsewhere, comes with: below all that fixed point has."""

LARGEST_BINS = 2**20
"""Most bins: with a smaller radius they are made wider, which only widens the interval."""

_LEAST_PART = 2.0**-44
# Of the bounds' size: a radius that float64 still resolves there.


@dataclass(frozen=True)
class RangeBins:
    """Bins of width ``2 radius`` from ``low`` to ``high``.

    >>> bins = RangeBins(-50.0, 50.0, 0.4752)
    >>> bins.count, bins.padded
    (106, 128)
    >>> RangeBins(0.0, 10.0, 1.0).window(0), RangeBins(0.0, 10.0, 1.0).window(2)
    ((0.0, 4.0), (2.0, 8.0))
    """

    # low, high: Public bounds of a user's mean, `low < high`.
    low: float
    high: float
    radius: float  # `tau`, positive: half of a bin. It is raised where there would be more than `LARGEST_BINS` bins.

    def __post_init__(self) -> None:
        low, high = check_finite("low", self.low), check_finite("high", self.high)
        if not low < high or not math.isfinite(high - low):
            raise UsageError(f"high must be above low = {low}, got {high}; pass the bounds of a user's mean.")
        least = max((high - low) / (2 * LARGEST_BINS), _LEAST_PART * max(abs(low), abs(high)))
        object.__setattr__(self, "radius", max(check_positive("radius", self.radius), least))

    @property
    def count(self) -> int:
        """``k``: how many bins there are."""
        return max(1, math.ceil((self.high - self.low) / (2.0 * self.radius)))

    @property
    def padded(self) -> int:
        """The least power of two that is at least ``count``: rows of a Hadamard matrix, the last ones of no bin."""
        return 1 << (self.count - 1).bit_length()

    @property
    def widest(self) -> float:
        """Length of the longest interval that a bin stands for: ``6 tau``, or what the bounds leave of it."""
        return min(6.0 * self.radius, self.high - self.low)

    def place(self, values: Integers, exponent: int) -> Integers:
        """Return the bin of each mean, from 0 to ``count - 1``; means beyond the bounds are moved to them.

        Parameters
        ----------
        values : numpy.ndarray of int64, shape (users,)
            Means times ``2**exponent``.
        exponent : int
            Of the fixed point.
        """
        means = np.clip(np.ldexp(values.astype(np.float64), -exponent), self.low, self.high)
        places = np.floor((means - self.low) / (2.0 * self.radius)).astype(np.int64)
        return np.asarray(np.clip(places, 0, self.count - 1), dtype=np.int64)

    def window(self, place: int) -> tuple[float, float]:
        """Return the ends of the interval that a bin stands for: ``3 tau`` around its centre, within the bounds."""
        if not 0 <= place < self.count:
            raise UsageError(f"place must be from 0 to {self.count - 1}, got {place}; pass the number of a bin.")
        centre = self.low + (2 * place + 1) * self.radius
        return max(self.low, centre - 3.0 * self.radius), min(self.high, centre + 3.0 * self.radius)


def concentration_radius(deviation: float, users: int, gamma: float, *, error: float = 0.0) -> float:
    """Return ``tau``: all users' means are this near to the common one with probability at least ``1 - gamma``.

    Parameters
    ----------
    deviation : float
        ``s``, the sub-Gaussian parameter of a user's mean, positive.
    users : int
        ``n``.
    gamma : float
        In (0, 1).
    error : float
        Bound on |computed - exact| of a user's mean.

    References
    ----------
    local-shuffle-userlevel.md 2.1, corrected; the module's text proves it.

    >>> round(concentration_radius(0.1, 2000, 0.05), 4), round(concentration_radius(0.1, 500, 0.05), 4)
    (0.4752, 0.4451)
    """
    users, gamma = check_count("users", users), check_unit_interval("gamma", gamma)
    error = check_range("error", error, 0.0, math.inf)
    return check_positive("deviation", deviation) * math.sqrt(2.0 * math.log(2.0 * users / gamma)) + error
