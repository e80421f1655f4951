"""Frequent strings of an unknown list by a trusted curator: noise on the counts of strings that occur, and a threshold.

Setting. ``n`` public users; a string's frequency ``f_x`` is the mean over users of its share of the user's records.
Every user's histogram becomes ``c`` slots: on a circle of the user's records ``c`` points at equal distances are
turned by a uniform offset, and each slot is the string that its point meets. So a user has ``g_x`` slots of a string,
``floor(c h_x)`` or ``ceil(c h_x)`` for a share ``h_x``, with mean ``c h_x``; slots of records without a string are
dropped. With ``T_x`` the sum over users, every string with ``T_x >= 1`` gets ``Z_x`` of the discrete Laplace law of
scale ``b``, and ``(x, T_x + Z_x)`` is released where ``T_x + Z_x >= tau``.

Theorem (privacy). Let ``q = exp(-1/b)``, ``2 c/b <= epsilon``, ``tau > c``, ``q^tau max(c/q, q^-c)/(1 + q) <= delta``
and ``2 delta (2 + epsilon) <= epsilon``. Replacing all records of a user by any others keeps the release ``(epsilon,
delta)``-indistinguishable, whatever the numbers of records and of different strings.

Proof. Fix all slots; the claim for any slots ``g`` and ``g'`` of the two bags gives it for random ones, since the
other users' slots have the same law. Let ``U`` be the strings that occur with ``g`` alone, ``A <= c`` its slots of
them, ``U', A'`` likewise, and ``B`` the strings that occur either way. *New strings.* One with ``a`` slots passes with
probability ``p(a) = q^(tau - a)/(1 + q)``, as ``tau > a``. ``p(a)/a`` is largest at ``a = 1`` or ``a = c``, since
``exp(a/b)/a`` falls and then rises. So, however the slots are spread over strings, one of ``U`` passes with at most
``c max(p(1), p(c)/c) <= delta``. *The others.* Counts of ``B`` differ by at most ``2 c - A - A'`` in the 1-norm. So
for an event ``S``, with ``P_B`` the chance that the strings of ``B`` alone make an outcome of ``S``: ``P(S) <= delta +
P_B(S) <= delta + exp((2 c - A - A')/b) P_B(S)'``, while ``P(S)' >= P_B(S)' prod (1 - p(g'_x))`` over ``U'``. Each
factor is at least ``exp(-g'_x/b)``: ``p(a) <= a delta/c``, and ``1 - exp(-t) >= t/(1 + t)`` with ``t = a/b <=
epsilon/2``, so ``delta <= epsilon/(2 (2 + epsilon))`` is enough, ``b`` being within a factor ``1 + 2^-50`` of ``2
c/epsilon``. Hence ``P(S) <= delta + exp((2 c - A)/b) P(S)' <= delta + e^epsilon P(S)'``.

A bound on the slots is what this rests on: with shares in place of slots, a user could bring in any number of strings
of a tiny share each, and the chances that one of them passes add up without bound.

Theorem (what is found). Let ``1 <= s <= tau``. But for the sum of four probabilities, every released estimate ``(T_x +
Z_x)/(c n)`` is within ``w = (t + k)/(c n)`` of ``f_x``, and every string with ``f_x >= tau/(c n) + w`` is released:

1. ``(c n/s) e^(2 - s)``: a string with ``c n f_x < s/e^2`` has ``T_x >= s``;
2. ``2 (e^2 c n/s) exp(-2 t^2/n)``: another one has ``|T_x - c n f_x| > t``;
3. ``c n max(q^(tau - 1), q^(tau - s)/s)/(1 + q)``: a string with ``T_x < s`` is released;
4. ``(c n/s) P(|Z| > k)``: one with ``T_x >= s`` has larger noise.

Proof. Frequencies add up to at most 1, counts to at most ``c n``, which bounds the numbers of strings. 1: ``T_x`` is a
sum of independent indicators of mean ``mu = c n f_x``, so ``P(T_x >= s) <= (e mu/s)^s <= (mu/s) e^(2 - s)``
(Chernoff). 2: Hoeffding, a user's slots of a string having two neighbouring values. 3 and 4: the law of the noise. If
none happens, a released string has ``T_x >= s``, hence ``c n f_x >= s/e^2``, and both deviations are small.
"""

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.weights import Integers
from emdp.noise.choices import draw_below
from emdp.noise.discrete_laplace import (
    MAX_BULK_SCALE,
    MIN_BULK_SCALE,
    discrete_laplace_quantile,
    draw_discrete_laplace_bulk,
)
from emdp.privacy.rounding import as_decimal, float_at_least

__all__ = ["StableHistogram", "best_histogram"]

MOST_SLOTS = 2**12
"""Most slots of a user: more of them make the threshold higher and nothing else better."""

MOST_USERS = 2**40

MARGIN = 2.0**-40
"""Relative margin of logarithms of probabilities, above the error of their evaluation."""


@dataclass(frozen=True)
class StableHistogram:
    """Noise on the slots of strings that occur, and a threshold.

    Raises
    ------
    UsageError
        If an argument is malformed, or ``2 delta (2 + epsilon) > epsilon``.

    Guarantee
    ---------
    ``(epsilon, delta)``-DP for replacing a user: the module's first theorem.

    >>> histogram = StableHistogram(100_000, 1.0, 1e-9, slots=64)
    >>> histogram.threshold, round(histogram.complete_above, 5)
    (3512, 0.00098)
    """

    users: int  # `n`, public
    # epsilon, delta: User-level price, both above 0.
    epsilon: float
    delta: float
    slots: int  # `c`, slots of a user
    failure: float = 0.01  # In (0, 1): what is said of the strings that are found fails with at most this probability

    def __post_init__(self) -> None:
        if check_count("users", self.users) > MOST_USERS:
            raise UsageError(f"users must be at most 2^40, got {self.users}; release parts of the users.")
        if check_count("slots", self.slots) > MOST_SLOTS:
            raise UsageError(f"slots must be at most {MOST_SLOTS}, got {self.slots}; pass fewer.")
        check_unit_interval("failure", self.failure)
        epsilon, delta = check_positive("epsilon", self.epsilon), check_unit_interval("delta", self.delta)
        # Above the theorem's condition by more than the roundings of both sides.
        if 2.0 * delta * (2.0 + epsilon) * (1.0 + MARGIN) > epsilon:
            raise UsageError(
                f"delta must be at most epsilon/(4 + 2 epsilon), got {delta:g} at epsilon = {epsilon:g}; pass one far "
                "below 1/users."
            )
        if not MIN_BULK_SCALE <= 2.0 * self.slots / epsilon <= MAX_BULK_SCALE / 2:
            raise UsageError(f"epsilon = {epsilon:g} does not fit {self.slots} slots; pass one between 1e-6 and 40.")

    @cached_property
    def scale(self) -> float:
        """``b``, in slots: rounded up, so that ``2 c/b <= epsilon``."""
        return float_at_least(2 * self.slots / as_decimal(self.epsilon))

    @property
    def private_threshold(self) -> int:
        """The least ``tau`` of the theorem on privacy, rounded up."""
        most = max(math.log(self.slots) + 1.0 / self.scale, self.slots / self.scale)
        needed = most - math.log(self.delta) - self._log_normaliser
        return max(math.ceil(self.scale * (needed + MARGIN * (1.0 + abs(needed)))), self.slots + 1)

    @cached_property
    def threshold(self) -> int:
        """``tau``, in slots: what privacy asks for and, if that is more, what keeps chance finds away."""
        threshold = self.private_threshold
        while not self._is_rare(threshold, -(-threshold // 2), self.failure / 4.0):
            threshold += 1 + threshold // 64
        return threshold

    @property
    def total(self) -> int:
        """``c n``: the slots of all users."""
        return self.slots * self.users

    @property
    def complete_above(self) -> float:
        """The frequency from which strings are released, but for ``failure``; rounded up."""
        return self.complete_at(self.failure)

    def complete_at(self, failure: float) -> float:
        """Return the frequency from which strings are released, but for a probability; rounded up."""
        return (self.threshold / self.total + self.half_width(failure)) * (1.0 + MARGIN)

    def half_width(self, failure: float) -> float:
        """Return ``w``, rounded up: how far off any released estimate is, but for a probability.

        Infinite where the threshold is too low for so small a probability.
        """
        share = check_unit_interval("failure", failure) / 4.0
        least = -(-self.threshold // 2)
        while not self._is_rare(self.threshold, least, share):
            if least == 1:
                return math.inf
            least = -(-least // 2)
        # The logarithm of how many strings there can be of so many slots.
        log_many = math.log(self.total / least) - math.log(share)
        shift = math.sqrt(0.5 * self.users * (log_many + 2.0 + math.log(2.0)))
        noise = discrete_laplace_quantile(math.exp(-max(log_many, 0.0)) * (1.0 - MARGIN), self.scale)
        return (shift + noise) / self.total * (1.0 + MARGIN)

    @property
    def standard_deviation(self) -> float:
        """Deviation of an estimate, at most: noise, and half a slot of every user."""
        noise = math.sqrt(2.0) * self.scale
        return math.hypot(noise, 0.5 * math.sqrt(self.users)) / self.total

    def draw_slots(self, bags: Bags) -> Integers:
        """Return how many of its user's slots each entry of some bags has, exactly as the module says; private.

        Parameters
        ----------
        bags : Bags
            Whole users; codes are not looked at. A record without a string is an entry too.
        """
        if not bags.users:
            return np.zeros(0, dtype=np.int64)
        owners = np.repeat(np.arange(bags.users), np.diff(bags.offsets))
        ends = np.cumsum(bags.counts)
        before = np.concatenate(([0], ends[bags.offsets[1:-1] - 1]))
        sizes = ends[bags.offsets[1:] - 1] - before
        if int(sizes.max()) > 2**62 // (2 * self.slots):
            raise UsageError("counts of a user must sum to less than 2^49; pass fewer records.")
        turned = draw_below(sizes)
        # Points at offset, offset + size, ...: how many lie before the end of an entry, stretched by c.
        passed = -((turned[owners] - self.slots * (ends - before[owners])) // sizes[owners])
        earlier = np.concatenate(([0], passed[:-1]))
        earlier[bags.offsets[:-1]] = 0
        return np.asarray(passed - earlier, dtype=np.int64)

    def draw_counts(self, counts: npt.ArrayLike) -> Integers:
        """Return the counts of strings that occur with noise, those below the threshold as -1: this spends.

        Noise is independent: strings may be divided between several calls, in one of which each has all its slots.

        Parameters
        ----------
        counts : array-like of int64
            ``T_x >= 1`` of each string that occurs, in an order that tells nothing of the data.
        """
        exact = np.asarray(counts, dtype=np.int64)
        noisy = exact + draw_discrete_laplace_bulk(self.scale, exact.size)
        return np.where(noisy >= self.threshold, noisy, -1).astype(np.int64)

    @property
    def _log_normaliser(self) -> float:
        return math.log1p(math.exp(-1.0 / self.scale))

    def _is_rare(self, threshold: int, least: int, share: float) -> bool:
        """Return whether the first and the third probability of the second theorem are at most ``share`` each."""
        goal = math.log(share) - MARGIN * (1.0 - math.log(share))
        many = math.log(self.total) - math.log(least)
        passed = max(math.log(self.total) - (threshold - 1) / self.scale, many - (threshold - least) / self.scale)
        return many + 2.0 - least <= goal and passed - self._log_normaliser <= goal


def best_histogram(users: int, epsilon: float, delta: float, failure: float) -> StableHistogram:
    """Return the histogram with the number of slots for which the rarest strings are found.

    >>> best_histogram(100_000, 1.0, 1e-9, 0.01).slots
    1024
    """
    found = [StableHistogram(users, epsilon, delta, 2**power, failure) for power in range(MOST_SLOTS.bit_length())]
    return min(found, key=lambda histogram: histogram.complete_above)
