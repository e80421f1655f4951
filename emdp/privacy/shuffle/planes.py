"""Strengths of messages that count for unlike amounts: bit planes, each mixed apart, as strong as they may be together.

A user sends ``R`` signs of ``epsilon_k`` about each of ``m`` things that count for ``g_k`` each, all mixed apart. What
they have together is :func:`emdp.privacy.shuffle.users.shuffle_total` of place-sign rounds, whatever the ``epsilon_k``
are. How they are divided is a choice: by the normal limit a round adds about ``4 sinh^2(epsilon_k/2)/n`` to ``mu^2``
while the error is ``sum_k g_k^2/sinh^2(epsilon_k/2)``, which is least where ``sinh(epsilon_k/2)`` is in proportion to
the root of ``g_k`` (multimessage-shuffle.md 2). One scale is searched. The guarantee rests on the accountant's answer
for the strengths that are found, not on the limit.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.errors import UsageError
from emdp.privacy.calibration import LARGEST_ALPHA, gaussian_mu
from emdp.privacy.rounding import as_decimal, float_down, float_up
from emdp.privacy.shuffle.grid import LARGEST_ALPHA0
from emdp.privacy.shuffle.renyi_product import LARGEST_ROUNDS, product_epsilon
from emdp.privacy.shuffle.renyi_rounds import SMALLEST_EPSILON0, ShuffleRound
from emdp.privacy.shuffle.users import shuffle_total

__all__ = ["enough_messages", "likely_strengths", "plane_strengths"]

_SCALES = (1e-18, 1e18)
_STEPS, _TOLERANCE = 24, 1e-3
# Of the search for a scale: most steps, and the relative width of epsilon at which it ends.

_CLONES = 2.5
# Clones that a message is expected to have, times ln(1/delta): with far fewer its epsilon is its own.

_LONG = 1000
# Users from which the search tries the product of the pairs alone.


def enough_messages(strength: float, excess: float) -> int:
    """Return how many equal messages of a user, each mixed apart, bring the error near its least; no bound, a choice.

    By the normal limit ``T`` messages of strength ``t = tanh(epsilon0/2)`` add ``T t^2/(1 - t)`` times a constant to
    ``mu^2``, and have an error of ``1/(T t^2)``: ``1/(1 - t)`` above its least, for the same ``mu``.

    Parameters
    ----------
    strength : float
        ``t`` of a single message, in [0, 1).
    excess : float
        Error over that of ever more messages, above 1, at which more are not sent.

    >>> enough_messages(0.9, 2.25), enough_messages(0.1, 2.25)
    (12, 1)
    """
    weakest = 1.0 - 1.0 / excess
    return max(math.ceil(strength**2 / (1.0 - strength) * (1.0 - weakest) / weakest**2), 1)


@lru_cache(maxsize=256)
def plane_strengths(epsilon: float, n: int, delta: float, gains: tuple[float, ...], rounds: int) -> tuple[float, ...]:
    """Return the epsilon of one sign about each thing, rounded down.

    Parameters
    ----------
    epsilon : float
        Of all signs together, above 0.
    n : int
        Public number of users, at least 2.
    delta : float
        In (0, 1).
    gains : tuple of float
        What each counts for, above 0.
    rounds : int
        ``R``: signs of a user about each.

    Returns
    -------
    tuple of float
        ``shuffle_total`` of ``rounds`` place-sign rounds of each has an epsilon of at most ``epsilon``. At most 12
        unless composition gives more.

    >>> [round(own, 2) for own in plane_strengths(1.0, 1000, 1e-5, (0.5, 0.25, 0.125, 0.125), 1)]
    [3.03, 2.42, 1.88, 1.88]
    """
    wanted, chance = check_positive("epsilon", epsilon), check_unit_interval("delta", delta)
    check_count("n", n, minimum=2)
    check_count("rounds", rounds)
    if not gains or min(gains) <= 0:
        raise UsageError("gains must be numbers above 0, one or more; pass what each sign counts for.")
    composed = (float_down(as_decimal(wanted) / (len(gains) * rounds)),) * len(gains)
    if composed[0] >= LARGEST_ALPHA0:
        return composed
    most = _strongest(n, chance)
    low, high = (math.log(end) for end in _SCALES)
    best, last, point = composed, None, _likely_scale(wanted, n, chance, gains, rounds)
    for step in range(_STEPS):
        own = _at(math.exp(point), gains, most)
        found = _epsilon(own, n, chance, rounds)
        value = math.log(found / wanted)
        is_good = as_decimal(found) <= as_decimal(wanted)
        if is_good:
            best, low = own, point
        else:
            high = point
        if (is_good and value > -_TOLERANCE) or high - low < _TOLERANCE or (is_good and min(own) >= most):
            break
        slope = 0.5
        if last is not None and point != last[0]:
            slope = min(max((value - last[1]) / (point - last[0]), 0.1), 5.0)
        last = point, value
        point += (-0.5 * _TOLERANCE - value) / slope
        if not low < point < high or step > _STEPS // 2:
            point = 0.5 * (low + high)
    return best


def likely_strengths(epsilon: float, n: int, delta: float, gains: Sequence[float], rounds: int) -> tuple[float, ...]:
    """Return about the same by the normal limit: no bound, for choices alone.

    >>> [round(own, 1) for own in likely_strengths(1.0, 1000, 1e-5, (0.5, 0.25, 0.125, 0.125), 1)]
    [3.1, 2.5, 1.9, 1.9]
    """
    return _at(math.exp(_likely_scale(epsilon, n, delta, tuple(gains), rounds)), gains, _strongest(n, delta))


def _strongest(n: int, delta: float) -> float:
    """Return a strength at which clones enough are expected for there never to be few of them."""
    return min(max(math.log(2.0 * n / (_CLONES * math.log(1.0 / delta))), 1.0), LARGEST_ALPHA0)


def _at(scale: float, gains: Sequence[float], most: float) -> tuple[float, ...]:
    return tuple(
        min(max(2.0 * math.asinh(0.5 * math.sqrt(scale * gain)), 2 * SMALLEST_EPSILON0), most) for gain in gains
    )


def _likely_scale(epsilon: float, n: int, delta: float, gains: tuple[float, ...], rounds: int) -> float:
    """Return the logarithm of the scale at which the pairs' normal limit has this epsilon."""
    wanted = gaussian_mu(min(epsilon, LARGEST_ALPHA), delta) ** 2 * n / (4 * rounds)
    most = _strongest(n, delta)
    low, high = (math.log(end) for end in _SCALES)
    for _ in range(50):
        middle = 0.5 * (low + high)
        signs = [math.tanh(0.5 * own) for own in _at(math.exp(middle), gains, most)]
        is_low = math.fsum(t * t / max(1.0 - t, 1e-300) for t in signs) < wanted
        low, high = (middle, high) if is_low else (low, middle)
    return low


def _epsilon(strengths: tuple[float, ...], n: int, delta: float, rounds: int) -> float:
    parts = [ShuffleRound(own, n, "place-sign", rounds=rounds) for own in strengths]
    if n < _LONG or len(parts) * rounds > LARGEST_ROUNDS:
        return shuffle_total(parts, delta).epsilon
    whole = float_up(sum((as_decimal(part.pure) * rounds for part in parts), Fraction(0)))
    return min(whole, product_epsilon([(part.law(), rounds) for part in parts], delta))
