"""Renyi divergences of shuffled user-level messages, for many rounds: sharp, published and lower bounds; conversions.

**Setting** (LSU 5). ``n`` users send one message each through the same ``epsilon0``-LDP randomizer and the multiset is
released; neighbours differ in one user, ``n`` is public. Bounds of Renyi divergence of an order ``a > 1`` add up over
rounds in which each randomizer may depend on the earlier releases, and :func:`renyi_epsilon` turns the sum into
``(epsilon, delta)``. Every upper bound is capped at the pure one, ``epsilon0``.

**Sampled rounds.** A secret uniform sample of ``k`` of the ``n`` users sends, or each with a chance of its own: the
pair of the ``k`` that send, moved by ``k/n`` and mirrored (:mod:`emdp.privacy.shuffle.sampled`).

**Binary and place-sign rounds.** See :mod:`emdp.privacy.shuffle.place_sign` for the clone probability ``2/(e^epsilon0 +
1)``.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from emdp.base.checks import check_choice, check_count, check_finite, check_positive, check_unit_interval
from emdp.base.errors import UsageError
from emdp.privacy.binomial_tails import log_pmf
from emdp.privacy.shuffle.grid import LARGEST_ALPHA0
from emdp.privacy.shuffle.place_sign import place_sign_law
from emdp.privacy.shuffle.renyi_law import RatioLaw, joined_law, ratio_law

__all__ = [
    "ORDERS",
    "clone_law",
    "renyi_clones",
    "renyi_delta",
    "renyi_epsilon",
    "renyi_shuffle",
    "renyi_shuffle_bound",
    "renyi_shuffle_lower",
    "renyi_subsampled",
    "renyi_subsampled_lower",
    "sampled_tilt",
]

ORDERS: tuple[float, ...] = (
    *(1 + step / 8 for step in range(1, 8)),
    *(float(order) for order in range(2, 65)),
    *(float(math.ceil(64 * 1.04**step)) for step in range(1, 190)),
)
"""Orders that are tried: every whole number to 64, then 4 % apart up to 1e5."""
_UP = 1 + 1e-9
"""Factor that covers the rounding of a closed formula in logarithms."""


def renyi_shuffle(order: float, n: int, epsilon0: float, *, blocks: int = 100) -> float:
    """Return an upper bound of the Renyi divergence by the exact mixture of LSU 5.1; :func:`renyi_clones` is sharper.

    Parameters
    ----------
    order : float
        Above 1.
    n : int
        Users, at least 2.
    epsilon0 : float
        Of the local randomizer, in (0, 12].
    blocks : int
        Parts that the number of clones is cut into: 100 lose less than 0.5 %.

    Raises
    ------
    UsageError
        If an argument is out of its range.

    >>> round(renyi_shuffle(4.0, 200, 1.0, blocks=400), 7)
    0.0287598
    """
    order, n, epsilon0 = _check(order, n, epsilon0)
    law = ratio_law(n - 1, epsilon0, _general_clone(epsilon0), kind="mixture", blocks=check_count("blocks", blocks))
    return law.renyi(order)


def renyi_clones(
    order: float,
    n: int,
    epsilon0: float,
    *,
    randomizer: str = "any",
    sampled: int | None = None,
    blocks: int = 100,
) -> float:
    """Return an upper bound of the Renyi divergence by the exact clone pair.

    For many users it is the mixture's over ``cosh(epsilon0/2)^2``; at orders far above those that matter the mixture's
    may be the smaller one.

    Parameters
    ----------
    order, n, epsilon0, blocks
        As in :func:`renyi_shuffle`.
    randomizer : str
        "any", or "binary" or "place-sign" as in :class:`emdp.privacy.shuffle.users.ShuffleRound`.
    sampled : int, optional
        How many of the ``n`` users send, a secret uniform sample; all by default.

    >>> round(renyi_clones(8.0, 1000, 1.0), 5), round(renyi_shuffle(8.0, 1000, 1.0), 5)
    (0.0093, 0.01166)
    """
    order, n, epsilon0 = _check(order, n, epsilon0)
    check_choice("randomizer", randomizer, ("any", "binary", "place-sign"))
    return clone_law(n, epsilon0, randomizer, _check_sampled(sampled, n), blocks).renyi(order)


@lru_cache(maxsize=256)
def clone_law(
    n: int,
    epsilon0: float,
    randomizer: str,
    sampled: int | None,
    blocks: int = 100,
    participation: float | None = None,
    records: int = 1,
) -> RatioLaw:
    """Return the clone pair's law of a round, its arguments checked by the caller; of one of a user's records."""

    def whole(count: int, cut: int) -> RatioLaw:
        if randomizer != "any":
            return place_sign_law(epsilon0, count, blocks=cut)
        return ratio_law(count - 1, epsilon0, _general_clone(epsilon0), blocks=cut)

    def part(count: int) -> float:
        return min(count / (n * records) * (1 + 1e-15), 1.0)

    if participation is not None:
        return joined_law(n, participation, part, whole).mirrored(1.0)
    return whole(sampled, blocks).mirrored(part(sampled)) if sampled is not None and sampled < n else whole(n, blocks)


def sampled_tilt(epsilon0: float, n: int, sampled: int) -> float:
    """Return ``ln(1 + (k/n) (e^epsilon0 - 1))``, rounded up: the pure epsilon of a sampled round.

    >>> round(sampled_tilt(1.0, 10, 1), 4), sampled_tilt(0.5, 10, 10)
    (0.1586, 0.5)
    """
    if sampled >= n:
        return epsilon0
    return min(math.log1p(sampled / n * math.expm1(epsilon0)) * (1 + 1e-14), epsilon0)


def renyi_shuffle_bound(order: float, n: int, epsilon0: float) -> float:
    """Return the published upper bound, LSU Theorem 5.3.1 (UB1); of an order between whole numbers by convexity.

    ``(a - 1) D_a`` is convex in ``a``, so between whole orders the chord is a bound.

    >>> round(renyi_shuffle_bound(2.0, 1000, 0.5), 9)
    0.000842061
    """
    order, n, epsilon0 = _check(order, n, epsilon0)
    copies = math.floor((n - 1) / (2 * math.exp(epsilon0)) * (1 - 1e-14)) + 1
    square = 2 * math.log(2 * math.sinh(epsilon0)) - math.log(2 * copies)
    first = 2 * math.log(2 * math.sinh(epsilon0 / 2)) - math.log(copies)

    def log_terms(whole: int) -> list[float]:
        return [*_series(whole, first, square, 0.0), epsilon0 * whole - (n - 1) / (8 * math.exp(epsilon0))]

    return _between(order, log_terms, epsilon0)


def renyi_subsampled(order: float, n: int, k: int, epsilon0: float) -> float:
    """Return the published upper bound of a secret sample of ``k`` of ``n`` users, LSU Theorem 5.4.1.

    ``renyi_clones(order, n, epsilon0, sampled=k)`` is another bound, proved in this module.

    Raises
    ------
    UsageError
        If an argument is out of its range, or ``k`` is above ``n``.

    >>> renyi_subsampled(8.0, 10**6, 1000, 2.0) < 1.341e-6
    True
    """
    order, n, epsilon0 = _check(order, n, epsilon0)
    sampled = _check_sampled(k, n)
    rate = math.log(sampled / n)
    copies = math.floor((sampled - 1) / (2 * math.exp(epsilon0)) * (1 - 1e-14)) + 1
    square = 2 * math.log(2 * math.sinh(epsilon0)) + math.log(2 / copies)
    first = 2 * math.log(2 * math.sinh(epsilon0 / 2)) + math.log(4 / copies)
    reach = sampled / n * 2 * math.sinh(epsilon0)

    def log_terms(whole: int) -> list[float]:
        # (1 + v)^a - 1 - a v, with what its rounding may have taken
        growth = whole * math.log1p(reach)
        rest = growth
        if growth < 600:
            rest = math.log(math.expm1(growth) - whole * reach + 1e-15 * (math.expm1(growth) + whole * reach))
        return [*_series(whole, first, square, rate), rest - (sampled - 1) / (8 * math.exp(epsilon0))]

    return _between(order, log_terms, sampled_tilt(epsilon0, n, sampled))


def renyi_shuffle_lower(order: float, n: int, epsilon0: float) -> float:
    """Return a lower bound of the worst Renyi divergence: binary randomized response, all others alike (LSU 5.1).

    >>> round(renyi_shuffle_lower(2.0, 1000, 0.5), 9)
    0.000255219
    """
    order, n, epsilon0 = _check(order, n, epsilon0)
    return _lower(order, n, epsilon0, 1.0)


def renyi_subsampled_lower(order: float, n: int, k: int, epsilon0: float) -> float:
    """Return a lower bound for a secret sample of ``k`` of ``n`` users (LSU 5.4).

    >>> renyi_subsampled_lower(8.0, 10**6, 1000, 2.0) > 2.2097e-8
    True
    """
    order, n, epsilon0 = _check(order, n, epsilon0)
    sampled = _check_sampled(k, n)
    return _lower(order, sampled, epsilon0, sampled / n)


def renyi_epsilon(rdp: Callable[[float], float], delta: float, orders: Sequence[float] = ORDERS) -> float:
    """Return the epsilon at ``delta`` of what has Renyi divergences ``rdp`` (LSU 5.2), rounded up, at least 0.

    Parameters
    ----------
    rdp : callable
        From an order above 1 to an upper bound of the divergence of that order, in both directions.
    delta : float
        In (0, 1).
    orders : sequence of float
        Orders to try: any set is safe.

    Raises
    ------
    UsageError
        If ``delta`` or an order is out of its range.

    >>> round(renyi_epsilon(lambda order: 0.01 * order, 1e-5), 6)
    0.545813
    """
    log_delta = math.log(check_unit_interval("delta", delta))
    found = min(
        rdp(order) + math.log1p(-1 / order) - (log_delta + math.log(order)) / (order - 1)
        for order in _check_orders(orders)
    )
    return max(found + 1e-12 * abs(found) + 1e-15, 0.0)


def renyi_delta(rdp: Callable[[float], float], epsilon: float, orders: Sequence[float] = ORDERS) -> float:
    """Return the delta at ``epsilon`` of what has Renyi divergences ``rdp`` (LSU 5.2), rounded up, at most 1.

    Parameters
    ----------
    rdp, orders
        As in :func:`renyi_epsilon`.
    epsilon : float
        At least 0.

    >>> f"{renyi_delta(lambda order: 0.01 * order, 0.545813):.4e}"
    '1.0000e-05'
    """
    level = check_finite("epsilon", epsilon)
    if level < 0:
        raise UsageError(f"epsilon must be at least 0, got {level}; pass a number that is not negative.")
    found = min(
        (order - 1) * (rdp(order) - level) - math.log(order - 1) + order * math.log1p(-1 / order)
        for order in _check_orders(orders)
    )
    return math.exp(min(found + 1e-12 * abs(found) + 1e-14, 0.0))


def _series(whole: int, first: float, square: float, rate: float) -> list[float]:
    """Return logarithms of the terms 2 to ``whole`` of a theorem's sum, each index with ``e^rate`` to its power."""
    logs = [math.log(whole * (whole - 1) / 2) + first + 2 * rate]
    for index in range(3, whole + 1):
        choose = math.lgamma(whole + 1) - math.lgamma(index + 1) - math.lgamma(whole - index + 1)
        logs.append(choose + math.log(index) + math.lgamma(index / 2) + index / 2 * square + index * rate)
    return logs


def _between(order: float, log_terms: Callable[[int], list[float]], largest: float) -> float:
    """Return the bound at an order from ``ln`` of the terms of ``e^((a-1) D_a) - 1`` at whole orders."""

    def total(whole: int) -> float:
        if whole == 1:
            return 0.0
        logs = log_terms(whole)
        peak = max(logs)
        excess = peak + math.log(math.fsum(math.exp(value - peak) for value in logs)) + 1e-9
        return math.log1p(math.exp(excess)) if excess < 600 else excess + 1e-9

    above = math.ceil(order)
    part = above - order
    chord = total(above) if part == 0 else part * total(above - 1) + (1 - part) * total(above)
    return min(chord / (order - 1) * _UP, largest)


def _lower(order: float, n: int, epsilon0: float, rate: float) -> float:
    """Return ``ln E (1 + rate X)^order/(order - 1)``, ``X`` of randomized response; left-out terms lower it."""
    chance = 1 / (math.exp(epsilon0) + 1)
    mean, reach = n * chance, 14 * math.sqrt(n * chance * (1 - chance)) + order + 24
    counts = np.arange(max(math.floor(mean - reach), 0), min(math.ceil(mean + reach), n) + 1, dtype=np.float64)
    values = rate * 2 * math.sinh(epsilon0) * ((counts - mean) / n)
    growth = order * np.log1p(values)
    rise = np.expm1(np.minimum(growth, 600.0)) - order * values
    terms = rise - 1e-15 * (np.abs(rise) + order * np.abs(values))
    with np.errstate(divide="ignore"):
        logs = log_pmf(n, counts, chance, 1 - chance) + np.log(np.maximum(terms, 0.0))
    peak = float(logs.max())
    excess = peak + math.log(float(np.exp(logs - peak).sum())) - 1e-7
    total = math.log1p(math.exp(excess)) if excess < 600 else excess
    return total / (order - 1) * (1 - 1e-12)


def _general_clone(epsilon0: float) -> float:
    return math.exp(-epsilon0) * (1 - 4e-16)


def _check(order: object, n: object, epsilon0: object) -> tuple[float, int, float]:
    number = check_finite("order", order)
    if number <= 1:
        raise UsageError(f"order must be above 1, got {number}; pass a Renyi order such as 8.")
    strength = check_positive("epsilon0", epsilon0)
    if strength > LARGEST_ALPHA0:
        raise UsageError(f"epsilon0 must be at most {LARGEST_ALPHA0}, got {strength}; pass a smaller number.")
    return number, check_count("n", n, minimum=2), strength


def _check_sampled(sampled: object, n: int) -> int:
    if sampled is None:
        return n
    number = check_count("k", sampled)
    if number > n:
        raise UsageError(f"k must be at most n = {n}, got {number}; pass how many of the users are sampled.")
    return number


def _check_orders(orders: Sequence[float]) -> list[float]:
    numbers = [check_finite("order", order) for order in orders]
    if not numbers or min(numbers) <= 1:
        raise UsageError("orders must hold numbers above 1, at least one; pass Renyi orders such as 2 to 64.")
    return numbers
