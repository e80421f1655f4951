"""Shuffled binary messages: the exact guarantee of binary randomized response, and its clone pair.

**Binary randomizers.** ``n`` users send one message each, ``x`` of the law ``(1 - l(x)) R0 + l(x) R1`` with
``0 <= l <= 1``, where ``R0`` and ``R1`` are within ``e^epsilon0`` of one another. Every ``epsilon0``-LDP randomizer
with two outputs is one: its laws lie between the two with the smallest and the largest chance of a 1. So is a bounded
number rounded at random to one of two ends, then flipped; a one-bit Hadamard message of an order of 4 or more is not.

*Reduction.* ``R0`` and ``R1`` are one post-processing ``K`` of the two laws of randomized response (2RR), which flips a
bit with probability ``p = 1/(e^epsilon0 + 1)``: they are ``epsilon0``-indistinguishable (Kairouz, Oh, Viswanath). So
a user draws a bit, 1 with probability ``l(x)``, sends it through 2RR and ``K``; ``K`` on each message of the shuffled
bits is post-processing of their multiset, and by joint convexity some fixed bits are the worst case. Left is the number
of ones, with ``t`` ones among the other ``n - 1`` bits:

    ``S = Bin(t, 1-p) + Bin(n-1-t, p)``,  released ``S + Bern(1-p)`` against ``S + Bern(p)``

and the other direction, which is the same with ``n - 1 - t`` for ``t`` (exchange 0 and 1).

**Exact divergence.** ``S`` is a sum of independent bits, so ``S(k-1)/S(k)`` rises with ``k``, and

    ``H(epsilon) = max_k a S(k-1) - (e^epsilon - 1) Pr[S >= k]``,  ``a = p (e^epsilon0 - e^epsilon)``.

*Proof.* ``Pr[S + Bern(1-p) = k] - e^epsilon Pr[S + Bern(p) = k] = a S(k-1) - b S(k)``, ``b = p (e^(epsilon0+epsilon)
- 1) = a + e^epsilon - 1``: it is positive from some ``k`` on, and the sum from ``k`` on telescopes to the above.

**Over all t.** LSU 5.3 takes the worst ``t`` to be 0 or ``n - 1``. That fails: ``t`` moves the mean, of which the
maximum's whole ``k`` misses now more, now less (``n = 5``, ``epsilon0 = 1``, ``epsilon = 0.18``: ``t = 3`` has 1.23
times the larger delta of those two; tested). Here every ``t`` is covered. *Lemma.* ``H`` does not rise when a user is
added whose message is independent of the rest: post-processing. So for all ``t`` in ``[t1, t2]`` ``H`` is at most that
of ``t1`` ones and ``n - 1 - t2`` zeros alone. Intervals are narrowed until they pass; at a width of :data:`SLACK` times
``n``, below 500 users at single ``t``, epsilon is raised instead.

**Clone pair.** Both laws of 2RR are ``2p`` times a fair coin plus a rest: the proof of
:mod:`emdp.privacy.shuffle.clone_pair` holds with ``2p = 2/(e^epsilon0 + 1)`` for the clone probability ``e^-epsilon0``.
Beyond binary ones it holds for the messages of :mod:`emdp.privacy.shuffle.place_sign`; for all others it is the case of
the erratum (technical-notes 1.4), and :func:`emdp.privacy.shuffle.users.shuffle_epsilon` never uses it there.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from emdp.base.arrays import Floats
from emdp.base.checks import check_count, check_positive, check_range, check_unit_interval
from emdp.base.errors import UsageError
from emdp.privacy.shuffle.clone_pair import CloneMixture
from emdp.privacy.shuffle.grid import LARGEST_ALPHA0, LARGEST_ITEMS
from emdp.privacy.shuffle.renyi_law import log_window

__all__ = ["LARGEST_EXACT", "SLACK", "binary_delta", "binary_epsilon", "pair_epsilon"]

SLACK = 2e-3
"""Largest relative addition to epsilon that covers all ``t``; 0 below 500 users."""
LARGEST_EXACT = 2 * 10**6
"""More users than this count as this many in :func:`binary_epsilon`, which is safe."""
_WIDE = 10**6
"""Number of users from which the slack is larger, for speed."""
_REACH, _COUNTS = 13.0, 24.0
"""Half-width of the windows: standard deviations, and counts more."""
_ROUNDING = 1e-8
"""Relative error allowed for in each sum: ten times what was seen (tests)."""
_TOLERANCE = 1e-6
"""Relative width at which a search for an epsilon ends, on the safe side."""


def binary_delta(epsilon: float, n: int, epsilon0: float, ones: int) -> float:
    """Return the divergence of one user's 1 against 0, ``ones`` of the others being 1: exact, rounded up.

    Parameters
    ----------
    epsilon : float
        At least 0.
    n : int
        Users, at least 2.
    epsilon0 : float
        In (0, 12].
    ones : int
        Others whose bit is 1, at most ``n - 1``.

    >>> round(binary_delta(0.5, 2, 1.0, 0), 6), binary_delta(1.0, 2, 1.0, 0)
    (0.077361, 0.0)
    """
    level, strength = check_range("epsilon", epsilon, 0.0, 1e6), check_range("epsilon0", epsilon0, 1e-9, LARGEST_ALPHA0)
    others = check_count("n", n, minimum=2) - 1
    if check_count("ones", ones, minimum=0) > others:
        raise UsageError(f"ones must be at most n - 1 = {others}, got {ones}; pass how many of the others have a 1.")
    return _Count(others - ones, ones, strength).delta(level)


def binary_epsilon(epsilon0: float, n: int, delta: float) -> float:
    """Return an epsilon of ``n`` shuffled binary messages: at most :data:`SLACK` above the exact one, never below.

    Parameters
    ----------
    epsilon0 : float
        In (0, 12].
    n : int
        Users, at least 2.
    delta : float
        In (0, 1).

    References
    ----------
    LSU 5.3: 0.1266 for the two extreme ``t``.

    >>> round(binary_epsilon(1.0, 1000, 1e-6), 4)
    0.1269
    """
    strength, chance = check_positive("epsilon0", epsilon0), check_unit_interval("delta", delta)
    users = min(check_count("n", n, minimum=2), LARGEST_EXACT)
    if strength > LARGEST_ALPHA0:
        raise UsageError(f"epsilon0 must be at most {LARGEST_ALPHA0}, got {strength}; pass a smaller number.")
    return _binary_epsilon(strength, users, chance)


@lru_cache(maxsize=1024)
def pair_epsilon(
    tilt: float, others: int, clone: float, rest: float, delta: float, least: float | None = None
) -> float:
    """Return the epsilon at ``delta`` of the pair of :mod:`emdp.privacy.shuffle.clone_pair`, rounded up; at most
    ``tilt``.

    Parameters
    ----------
    tilt : float
        Above 0: logarithm of the largest ratio of the two laws of the user who changes.
    others : int
        Number of other users.
    clone, rest : float
        Clone probability, rounded down, and 1 minus it.
    delta : float
        In (0, 1).
    least : float, optional
        What the second law of the user who changes gives the output that speaks for the first, the other laws being
        ``least e^tilt`` and 1 minus either; ``1/(e^tilt + 1)``, the pair that is its own mirror image, if None.

    >>> round(pair_epsilon(1.0, 999, math.exp(-1), -math.expm1(-1), 1e-6), 5)
    0.18241
    """
    # More users only lower it, and beyond this their numbers leave the integers of arrays.
    mixture, log_delta = CloneMixture(min(others, LARGEST_ITEMS - 1), clone, rest), math.log(delta)
    most = 1 / (1 + math.exp(-tilt)) if least is None else least * math.exp(tilt)

    def holds(epsilon: float) -> bool:
        if epsilon >= tilt:
            return True
        growth = math.expm1(epsilon)
        ratio = -math.expm1(epsilon - tilt) * most / growth
        return mixture.is_below(ratio * (1 + 1e-14), log_delta - math.log(growth) - 1e-9)

    low = tilt
    while holds(low / 2) and low > tilt * 2**-60:
        low /= 2
    good, bad = low, low / 2
    while good - bad > _TOLERANCE * good:
        middle = (good + bad) / 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


@lru_cache(maxsize=256)
def _binary_epsilon(epsilon0: float, n: int, delta: float) -> float:
    others = n - 1
    slack = SLACK if n < _WIDE else 3 * SLACK
    limit = math.floor(slack * others)
    found = max(count.epsilon(delta, 0.0) for count in (_Count(others, 0, epsilon0), _Count(0, others, epsilon0)))
    found *= 1 + (slack if limit > 0 else 0.0)
    # from the end where the third moment is worst, in steps as wide as pass
    zeros, width = 0, 2 * limit
    while zeros <= others:
        taken = min(width, others - zeros)
        count = _Count(zeros, others - zeros - taken, epsilon0)
        if count.delta(found) > delta:
            if taken > limit:
                width = max(taken // 2, limit)
                continue
            found = count.epsilon(delta, found)
        zeros, width = zeros + taken + 1, max(taken, limit) + max(taken, limit) // 4
    return min(found, epsilon0)


class _Count:
    """``S``, the number of ones of ``zeros`` and ``ones`` bits that pass 2RR, and the divergence that it hides."""

    def __init__(self, zeros: int, ones: int, epsilon0: float) -> None:
        chance, rest = 1 / (math.exp(epsilon0) + 1), 1 / (math.exp(-epsilon0) + 1)
        self._epsilon0, self._chance = epsilon0, chance
        self._mean, self._variance = ones * rest + zeros * chance, (ones + zeros) * chance * rest
        self._first_low, self._first, out = _window(ones, rest, chance)
        self._second_low, second, more = _window(zeros, chance, rest)
        self._out = out + more
        # reversed, so that sums over j of first(j) second(k - j) are dot products
        self._second = second[::-1]
        self._tails = np.cumsum(second[::-1])
        self._known: dict[int, float] = {}

    def epsilon(self, delta: float, start: float) -> float:
        """Return an epsilon that has this delta, close above one below ``start`` or one that has not."""
        good = self._epsilon0
        while good > start and self.delta(good / 2) <= delta and good > self._epsilon0 * 2**-60:
            good /= 2
        bad = max(good / 2, min(start, good))
        while good - bad > _TOLERANCE * good:
            middle = (good + bad) / 2
            good, bad = (middle, bad) if self.delta(middle) <= delta else (good, middle)
        return good

    def delta(self, epsilon: float) -> float:
        """Return ``H(epsilon)``, rounded up."""
        if epsilon >= self._epsilon0:
            return 0.0
        gain = self._chance * math.exp(epsilon) * math.expm1(self._epsilon0 - epsilon)
        loss = self._chance * math.expm1(self._epsilon0 + epsilon)

        def is_past(k: int) -> bool:
            return gain * self._mass(k - 1) >= loss * self._mass(k)

        low = self._first_low + self._second_low
        high = low + len(self._first) + len(self._second)
        guess = round(self._mean + self._variance * math.log(loss / gain)) if gain > 0 else high
        place = _first_true(is_past, min(max(guess, low), high), low, high)
        mass = self._mass(place - 1) * (1 + _ROUNDING) + self._out
        value = gain * mass - math.expm1(epsilon) * self._tail(place) * (1 - _ROUNDING)
        return max(value, gain * self._out, 0.0)

    def _mass(self, k: int) -> float:
        """Return ``S(k)``, but for what lies outside the windows."""
        if k not in self._known:
            # second(k - j) for j from first_low on, as a slice of the reversed window
            offset = len(self._second) - 1 - (k - self._first_low - self._second_low)
            start, stop = max(-offset, 0), min(len(self._first), len(self._second) - offset)
            inside = stop > start
            self._known[k] = float(self._first[start:stop] @ self._second[start + offset : stop + offset]) * inside
        return self._known[k]

    def _tail(self, k: int) -> float:
        """Return at most ``Pr[S >= k]``."""
        length, many = len(self._first), len(self._tails)
        # among the zeros there must be k - j ones: from the window's start on that is all of it
        base = k - self._first_low - self._second_low
        start, stop = max(base - many + 1, 0), min(max(base, 0), length)
        whole = float(self._first[stop:].sum()) * float(self._tails[-1])
        if stop <= start:
            return whole
        return whole + float(self._first[start:stop] @ self._tails[many - 1 - base + start : many - 1 - base + stop])


def _window(count: int, chance: float, rest: float) -> tuple[int, Floats, float]:
    """Return the first count of a window of ``Bin(count, chance)``, its masses, and what it leaves out at most."""
    if count == 0:
        return 0, np.ones(1), 0.0
    mean, reach = count * chance, _REACH * math.sqrt(count * chance * rest) + _COUNTS
    low, high = max(math.floor(mean - reach), 0), min(math.ceil(mean + reach), count)
    masses = np.exp(log_window(float(count), np.arange(low, high + 1, dtype=np.float64), chance))
    # the masses are log-concave: beyond an end they fall at least as fast as at it
    out, odds = 0.0, chance / rest
    if low > 0:
        ratio = low / ((count - low + 1) * odds)
        out += float(masses[0]) * ratio / (1 - ratio)
    if high < count:
        ratio = (count - high) * odds / (high + 1)
        out += float(masses[-1]) * ratio / (1 - ratio)
    return low, masses, out * (1 + 1e-6)


def _first_true(is_true: Callable[[int], bool], guess: int, low: int, high: int) -> int:
    """Return the first number of ``[low, high]`` from which on it is true, taken to be true at ``high``."""
    step = 1
    if guess >= high or is_true(guess):
        good = guess
        while good > low and is_true(max(good - step, low)):
            good, step = max(good - step, low), 2 * step
        if good == low:
            return low
        bad = max(good - step, low)
    else:
        bad = guess
        while bad + step < high and not is_true(bad + step):
            bad, step = bad + step, 2 * step
        good = min(bad + step, high)
    while good - bad > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if is_true(middle) else (good, middle)
    return good
