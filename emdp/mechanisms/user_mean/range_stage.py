"""Round one: which bin the users' means lie in, locally by one-bit Hadamard messages, centrally by a private choice.

*Local.* Every user sends the one-bit Hadamard message of the own bin (:mod:`emdp.mechanisms.oracles.hadamard_bit`), for
any bin ``epsilon``-LDP; the bin with the largest estimate wins. Rows of the matrix beyond ``k`` belong to no bin and
are never looked at.

Failure. Let the means meet one bin, or two. With ``p`` the chance of a true sign and ``q = 1 - p``, some other bin wins
with probability at most ``(k - 1) phi^n``, ``phi`` the larger of

    phi_2 = min over x > 1 of (1 + p/x^2 + q x^2 + x + 1/x)/4,    phi_1 = 1/2 + sqrt(p q).

Proof. Let bin ``j`` win over the occupied ``a`` and ``b``. Then also over ``(z_a + z_b)/2``, so ``sum_u X_u <= 0`` for
``X_u = c s (H[a, i]/2 + H[b, i]/2 - H[j, i])``, ``(i, s)`` the message of ``u``, ``c = 1/(p - q)``. For a user in ``a``
put ``s = s' H[a, i]``, where ``s'`` is 1 with probability ``p``, else -1: ``X_u = c s' (1 + e - 2 e')/2`` with ``e =
H[a, i] H[b, i]`` and ``e' = H[a, i] H[j, i]``. Those are two different rows, neither of them the first, so over ``i``
they are independent fair signs. In ``b`` the same, with the two exchanged. So all ``X_u`` have one law, whatever the
shares of the two bins: ``c s'`` times 0, 2, -1 or 1, equally likely. They are independent, and Chernoff's bound is ``(E
exp(-t X))^n`` for any ``t > 0``; with ``x = exp(c t)`` that is ``phi_2``. Where all are in ``a``, ``X_u = c s' (1 -
e')`` gives ``(1 + p/x^2 + q x^2)/2``, least at ``x^4 = p/q``: ``phi_1``. There are at most ``k - 1`` other bins.

Bernstein's inequality for the same ``X_u`` (mean 1/2, second moment ``3 c^2/2``, ``|X_u| <= 2 c``) gives no less than
that, ``(k - 1) exp(-n/(12 c^2 - 2 + (8 c + 2)/3))``, and that is below the bound of local-shuffle-userlevel.md 2.1,
``(k - 1) exp(-n/(16 c^2 + (4 c + 2)/3))``, which compares with the fuller bin alone. It is here as
:func:`published_failure`, for comparison; it asks for a third more users.

*Central, median.* ``cost_i = max(users below bin i, users above it)`` changes by at most 1 when a user is replaced.
Permute-and-flip (McKenna and Sheldon 2020): go through the bins in random order, take bin ``i`` with probability
``exp(-(epsilon/2) (cost_i - min cost))``. It is ``epsilon``-DP, and no worse than the exponential mechanism (Levy et
al. 2021), whose normaliser would have to be rounded.

Proof. With ``z_i = exp(-(epsilon/2) cost_i)`` and arrival at independent uniform times, substituted to ``t``: ``P(r) =
z_r * integral from 0 to 1/max z of prod over i != r of (1 - t z_i) dt``. It is unchanged if all ``z`` are multiplied
by a number. It falls in every ``z_i``, ``i != r``, by integrand and limit; hence it grows in ``z_r``, being 1 minus the
others. On a neighbour ``z_r`` is lower by a factor ``e^(-epsilon/2)`` at worst and the others higher by its inverse:
by scaling the same as ``z_r`` lower by ``e^-epsilon`` and the others as they were, where the formula loses at most
``e^-epsilon``, as the limit does not fall. Each coin is drawn exactly, from rational bounds of the exponential.

Failure: bins that hold nobody and are not between two that do have all users on one side, cost ``n``. The median's bin
has at most ``n/2`` on either. A bin ``r`` that is not the best has ``P(r) <= p_r * integral (1 - t) dt = p_r/2``, so a
wrong bin wins with probability at most ``(k - 1) exp(-(epsilon/2) ceil(n/2))/2``.

*Elsewhere.* Users who have no number are in one more bin, which is not chosen. Centrally: replacing a user moves two
counts by 1 still, and each ``cost_i``, of users below and above, by at most 1. Locally they send the message of that
bin, row ``e``. *Failure* with ``m`` of them beside ``n`` others: for such a user ``X_u = c s' (e_a/2 + e_b/2 - e_j)``,
``e_i = H[e, .] H[i, .]``, of mean 0. The three are independent fair signs, or ``e_j = e_a e_b``; so ``E exp(-t X)`` is
at most the larger of ``(x^2 + 1/x^2 + 2 x + 2/x + 2)/8`` and ``(p (1 + 2/x + x^2) + q (1 + 2 x + 1/x^2))/4``, and ``(2
+ x^2 + 1/x^2)/4`` where all others are in one bin. ``k - 1`` times ``n`` and ``m`` such factors, at any ``x``, is one.

*Central, histogram.* Each bin's count plus discrete Laplace noise of scale ``w = 2/epsilon``: replacing a user moves
two counts by 1. The largest wins, and the same counts tell how many users are near it. The difference of two draws has
``P(D >= m) = ((1 - r)/(1 + r))^2 r^m ((m + (1 + r^2)/(1 - r^2))/(1 - r) + r/(1 - r)^2)``, ``r = e^(-1/w)``, which with
``m = ceil(n/2)``, times ``k - 1``, bounds the failure.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.user_mean.range_bins import ABSENT, RangeBins
from emdp.noise.binomial import MAX_ITEMS
from emdp.noise.discrete_laplace import draw_discrete_laplace_bulk
from emdp.noise.flips import draw_permute_and_flip
from emdp.privacy.rounding import as_decimal, float_at_least

__all__ = [
    "FoundRange",
    "HadamardRange",
    "HistogramRange",
    "MedianRange",
    "RangeStage",
    "crowded_failure",
    "hadamard_failure",
    "least_users",
    "published_failure",
]

_CLEAR = 1.0 + 2.0**-40
# Above the rounding of a failure bound.


def hadamard_failure(bins: int, users: int, factor: float) -> float:
    """Return the bound on a wrong bin in the local model, by the module's theorem.

    Parameters
    ----------
    bins : int
        ``k``, at least 2.
    users : int
        ``n``, who all send a message.
    factor : float
        ``c``, above 1: ``(e^epsilon + 1)/(e^epsilon - 1)``.

    >>> round(hadamard_failure(64, 687, 2.163953), 5)
    0.0002
    """
    # Any x gives a bound; the least need not be found exactly.
    return min(1.0, (bins - 1) * math.exp(users * _log_phi(factor) * (2.0 - _CLEAR)) * _CLEAR)


def crowded_failure(bins: int, users: int, absent: int, factor: float) -> float:
    """Return the bound on a wrong bin in the local model where some of those who send a message have no number.

    >>> crowded_failure(64, 2000, 0, 2.163953) < crowded_failure(64, 2000, 500, 2.163953) < 1e-7
    True
    """
    p, q = 0.5 + 0.5 / factor, 0.5 - 0.5 / factor
    x = 1.0 + np.geomspace(2.0**-20, 1.0, 400)
    free = (x**2 + x**-2 + 2 * x + 2 / x + 2) / 8
    tied = (p * (1 + 2 / x + x**2) + q * (1 + 2 * x + x**-2)) / 4
    both = users * np.log((1 + p / x**2 + q * x**2 + x + 1 / x) / 4) + absent * np.log(np.maximum(free, tied))
    one = users * np.log((1 + p / x**2 + q * x**2) / 2) + absent * np.log((2 + x**2 + x**-2) / 4)
    worst = max(float(both.min()), float(one.min()))
    # What the logarithms round is below 2^-50 a user.
    return min(1.0, (bins - 1) * math.exp(min(worst + (users + absent) * 2.0**-48, 0.0)) * _CLEAR)


def published_failure(bins: int, users: int, factor: float) -> float:
    """Return the Bernstein bound of local-shuffle-userlevel.md 2.1: never below :func:`hadamard_failure`.

    >>> round(published_failure(64, 687, 2.163953), 4)
    0.0099
    """
    return min(1.0, (bins - 1) * math.exp(-users / (16.0 * factor**2 + (4.0 * factor + 2.0) / 3.0)) * _CLEAR)


def least_users(failure: Callable[[int], float], target: float) -> int:
    """Return the least number of users, up to 2^40, with ``failure(users) <= target``, for a falling bound.

    >>> least_users(lambda users: 2.0**-users, 0.01)
    7
    """
    target = check_unit_interval("target", target)
    high = 1
    while failure(high) > target and high < MAX_ITEMS:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if failure(middle) <= target else (middle, high)
    return high


@dataclass(frozen=True)
class FoundRange:
    """Result of round one."""

    place: int
    window: tuple[float, float]
    near: float | None = None  # Estimated share of users in the bin and its two neighbours, cut to [0, 1]
    near_error: float | None = None  # Bound on the standard error of `near` for a bin that is fixed beforehand


@dataclass(frozen=True, eq=False)
class RangeStage(ABC):
    """A way to choose a bin."""

    name: ClassVar[str]

    bins: RangeBins  # At least two
    users: int  # `n`, who all take part
    requested: float  # The largest epsilon it may cost, positive
    elsewhere: bool = False  # Whether users may have no number: they are in one more bin

    def __post_init__(self) -> None:
        check_count("users", self.users)
        check_positive("requested", self.requested)

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Cost of the stage, rounded up; at most ``requested``."""

    @abstractmethod
    def wrong_bin(self, users: int) -> float:
        """Return the bound on the probability of a bin that no user's mean is in, among so many users."""

    @property
    def size(self) -> int:
        """Number of sums: one a bin, unless messages are counted."""
        return self.bins.count + self.elsewhere

    def sums(self, values: Integers, exponent: int) -> Integers:
        """Return the sums over some users that a bin is chosen from, shape (size,): users in each bin, unless drawn.

        Parameters
        ----------
        values : numpy.ndarray of int64, shape (rows,)
            Means times ``2**exponent``.
        """
        return np.bincount(self.places(values, exponent), minlength=self.bins.count + self.elsewhere).astype(
            np.int64, copy=False
        )

    def places(self, values: Integers, exponent: int) -> Integers:
        """Return each user's bin, the one after the last for those who have no number."""
        found = self.bins.place(values, exponent)
        if self.elsewhere:
            found[values == ABSENT] = self.bins.count
        return found

    @abstractmethod
    def found(self, sums: Integers) -> FoundRange:
        """Choose a bin from the sums over all ``users``: this spends."""

    def find(self, values: Integers, exponent: int) -> FoundRange:
        """Choose a bin from the means of all ``users``, as ``sums`` has them: this spends."""
        return self.found(self.sums(values, exponent))

    def users_needed(self, target: float) -> int:
        """Return how many users it takes for a wrong bin to have at most the probability ``target``."""
        return least_users(self.wrong_bin, target)

    def _check_users(self, sums: Integers) -> None:
        if sums.shape != (self.size,) or int(sums.sum()) != self.users:
            raise InternalError("round one got another number of users than was planned; please report it.")

    def _somewhere(self, last: float) -> float:
        """Return the estimated share of users who have a number, from that of the last bin; at least a hundredth."""
        return max(1.0 - last, 0.01) if self.elsewhere else 1.0

    def _neighbourhood(self, place: int) -> slice:
        return slice(max(0, place - 1), min(self.bins.count, place + 2))


class HadamardRange(RangeStage):
    """A bit of a Hadamard row from every user: local, pure.

    >>> stage = HadamardRange(RangeBins(0.0, 64.0, 0.5), 5000, 1.0)
    >>> found = stage.find(np.full(5000, 7), exponent=0)
    >>> found.place, found.window, stage.users_needed(0.01)
    (7, (6.0, 9.0), 475)
    """

    name: ClassVar[str] = "one-bit Hadamard"

    @cached_property
    def oracle(self) -> OneBitHadamardOracle:
        """The randomizer of bins."""
        return OneBitHadamardOracle(self.bins.count + self.elsewhere, self.users, self.requested)

    @property
    def epsilon(self) -> float:
        return self.oracle.epsilon

    @cached_property
    def factor(self) -> float:
        """``c``: what a message counts for."""
        return float(1 / (2 * self.oracle.chances[0] - 1))

    def wrong_bin(self, users: int) -> float:
        """Return :func:`hadamard_failure`; with ``elsewhere`` all other users of the stage have no number."""
        if self.elsewhere:
            return crowded_failure(self.bins.count, users, max(self.users - users, 0), self.factor)
        return hadamard_failure(self.bins.count, users, self.factor)

    @property
    def size(self) -> int:
        """Number of messages to choose from."""
        return self.oracle.outputs

    def sums(self, values: Integers, exponent: int) -> Integers:
        """Draw the messages of some users, and return how often each was sent: this spends."""
        return self.oracle.draw_tally(Bags.of_items(self.places(values, exponent)))

    def found(self, sums: Integers) -> FoundRange:
        """Take the real bin with the largest estimate from all users' messages; the first of equal ones."""
        self._check_users(sums)
        shares = self.oracle.decode(sums)
        some = self._somewhere(float(shares[-1]))
        place = int(np.argmax(shares[: self.bins.count]))
        around = self._neighbourhood(place)
        near = min(max(float(shares[around].sum()) / some, 0.0), 1.0)
        # The second moment of a sum over orthogonal rows is c^2 for each.
        error = self.factor * math.sqrt((around.stop - around.start) / self.users) / some
        return FoundRange(place, self.bins.window(place), near, error)


class MedianRange(RangeStage):
    """Permute-and-flip on the distance from the median: central, pure.

    >>> MedianRange(RangeBins(0.0, 64.0, 0.5), 1000, 0.5).find(np.full(1000, 7), exponent=0).place
    7
    """

    name: ClassVar[str] = "median bin by permute-and-flip"

    @property
    def epsilon(self) -> float:
        """Exactly what was asked for."""
        return self.requested

    def wrong_bin(self, users: int) -> float:
        """Return ``(k - 1) exp(-(epsilon/2) ceil(n/2))/2``."""
        gap = (users + 1) // 2
        return min(1.0, 0.5 * (self.bins.count - 1) * math.exp(-0.5 * self.requested * gap) * _CLEAR)

    def found(self, sums: Integers) -> FoundRange:
        self._check_users(sums)
        sums = sums[: self.bins.count]
        upto = np.cumsum(sums)
        costs = np.maximum(upto - sums, upto[-1] - upto)
        place = draw_permute_and_flip(costs, as_decimal(self.requested) / 2)
        return FoundRange(place, self.bins.window(place))


class HistogramRange(RangeStage):
    """Discrete Laplace noise on every bin's count: central, pure, and it tells how many users are near.

    >>> found = HistogramRange(RangeBins(0.0, 64.0, 0.5), 1000, 0.5).find(np.full(1000, 7), exponent=0)
    >>> found.place, found.near > 0.9
    (7, True)
    """

    name: ClassVar[str] = "noisy histogram"

    @cached_property
    def scale(self) -> float:
        """``w = 2/epsilon``, rounded up."""
        return float_at_least(2 / as_decimal(self.requested))

    @property
    def epsilon(self) -> float:
        """``2/w`` is at most what was asked for."""
        return self.requested

    def wrong_bin(self, users: int) -> float:
        gap, ratio = (users + 1) // 2, math.exp(-1.0 / self.scale)
        rest = -math.expm1(-1.0 / self.scale)
        spread = (1.0 + ratio**2) / (rest * (1.0 + ratio))
        tail = (rest / (1.0 + ratio)) ** 2 * ((gap + spread) / rest + ratio / rest**2)
        return min(1.0, (self.bins.count - 1) * tail * math.exp(-gap / self.scale) * _CLEAR)

    def found(self, sums: Integers) -> FoundRange:
        """Draw the noisy counts and take the largest; the first of equal ones."""
        self._check_users(sums)
        noisy = sums + draw_discrete_laplace_bulk(self.scale, self.size)
        place = int(np.argmax(noisy[: self.bins.count]))
        some = self.users * self._somewhere(float(noisy[-1]) / self.users)
        around = self._neighbourhood(place)
        near = min(max(float(noisy[around].sum()) / some, 0.0), 1.0)
        error = self.scale * math.sqrt(2.0 * (around.stop - around.start)) / some
        return FoundRange(place, self.bins.window(place), near, error)


@lru_cache(maxsize=1024)
def _log_phi(factor: float) -> float:
    right = 0.5 + 0.5 / factor
    wrong = 0.5 - 0.5 / factor
    low, high = 1.0, 2.0
    while high - low > 2.0**-30:
        # The derivative, -2 p/x^3 + 2 q x + 1 - 1/x^2, grows with x and is not negative at 2.
        x = 0.5 * (low + high)
        low, high = (x, high) if -2.0 * right / x**3 + 2.0 * wrong * x + 1.0 - x**-2 < 0 else (low, x)
    both = 0.25 * (right * math.expm1(-2.0 * math.log(high)) + wrong * math.expm1(2.0 * math.log(high)))
    both += 0.25 * (high + 1.0 / high - 2.0)
    one = math.sqrt(right * wrong) - 0.5
    return max(math.log1p(both), math.log1p(one))
