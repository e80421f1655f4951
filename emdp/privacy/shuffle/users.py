"""Shuffled user-level messages: the epsilon of one or many rounds, and how strong the local randomizer may be.

**Setting** (LSU 5). In a round each of ``n`` users sends one message through the same randomizer, which is
``epsilon0``-LDP at the level of users (whatever a user holds), and only the multiset of messages is seen. Neighbours
differ in one user; ``n``, the number of messages of the round, is public. Rounds may differ in all of this, and what a
round asks, its randomizer among it, may depend on earlier releases. Several messages of a user in one round are as many
rounds with shufflers of their own. What only has an ``(epsilon0, delta0)`` or a Renyi guarantee is not covered.

**Guarantee.** The release of all rounds is user-level ``(epsilon, delta)``-DP. Each method is one theorem, and the best
one counts:

- *composition*: the sum of the ``epsilon0``, at ``delta = 0``: every message is pure LDP, shuffling is post-processing.
- *exact clone pair*: each round at ``delta/rounds`` (:mod:`emdp.privacy.shuffle.clone_pair` with one item that moves by
  1).
- *place-sign pair*: as above, place-sign rounds by their own pair (:mod:`emdp.privacy.shuffle.place_sign`).
- *exact binary*: as above, binary rounds by their own exact divergence (:mod:`emdp.privacy.shuffle.binary`).
- *sets of the oracle*: as above, rounds by one known oracle by its own blanket (:mod:`emdp.privacy.blanket.sets`).
- *closed form*: Feldman, McMillan, Talwar 2020, under its condition (LSU 5.3); never better than the clone pair.
- *clone product*: the hockey-stick divergence of all clone pairs together, up to 256 rounds
  (:mod:`emdp.privacy.shuffle.renyi_product`).
- *Renyi clones*: the clone pairs' Renyi divergences, added up (:mod:`emdp.privacy.shuffle.renyi`).

*Adaptive composition.* Fix the data but for one user, and two values of that user. Given the earlier releases a round's
randomizer, and with it its clone pair, is fixed, and its bound, at ``(epsilon_i, delta_i)`` or by the pair, holds
whatever they were. So ``sum epsilon_i`` at ``sum delta_i`` (basic composition), the sums of Renyi divergences (chain
rule) and the product of the pairs hold for all rounds together. The parameters ``epsilon0``, ``n``, kind and number of
rounds are fixed beforehand: a total that depends on the releases needs a filter (:mod:`emdp.privacy.account.filter`).

*Sampled rounds.* Only a secret uniform sample of ``k`` of the ``n`` users sends, or each user joins with a probability:
:mod:`emdp.privacy.shuffle.sampled`, of one round by its exact form, of several by mirrored pairs. The pure epsilon of a
round of ``k`` is ``ln(1 + (k/n)(e^epsilon0 - 1))``, of one that users join ``epsilon0``, since everybody may.

Numbers are rounded to the safe side. Epsilon does not fall when ``epsilon0`` or the rounds rise, nor rise when ``n`` or
``delta`` does, to 1 part in 100 (the cells of the sums; 1e-6 for one round of any randomizer).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from emdp.base.checks import check_finite, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.blanket.sets import SetLaw
from emdp.privacy.rounding import as_decimal, float_down, float_up
from emdp.privacy.shuffle.clones import clone_alpha0, gaussian_guess
from emdp.privacy.shuffle.grid import LARGEST_ALPHA0
from emdp.privacy.shuffle.renyi import ORDERS, renyi_epsilon
from emdp.privacy.shuffle.renyi_law import RatioLaw
from emdp.privacy.shuffle.renyi_product import LARGEST_ROUNDS, product_epsilon
from emdp.privacy.shuffle.renyi_rounds import (
    SMALLEST_EPSILON0,
    ShuffleRound,
    binary_round_epsilon,
    clone_round_epsilon,
    closed_form_epsilon,
    likely_epsilon0,
    place_sign_round_epsilon,
    pure_strength,
    quick_epsilon,
    set_round_epsilon,
    steep_epsilon0,
)

__all__ = [
    "ShuffleRound",
    "UserShuffleBound",
    "UserShuffleMethod",
    "shuffle_epsilon",
    "shuffle_epsilon0",
    "shuffle_total",
]

_STRIDE = 8
"""Every so many orders are tried first, then all around the best."""
_TOLERANCE = 2e-4
"""Relative width at which the search for ``epsilon0`` ends."""
_LONG = 1000
"""Users from which a search tries one method alone, which is the best of so many."""
_SECANT_STEPS, _SEARCH_STEPS, _JOINED_STEP = 10, 40, 4e-3
"""Steps of the secant, and of all: bisection where epsilon hardly depends on ``epsilon0``; and the first relative step
down from what as many sampled users may send, where their number is random."""


@dataclass(frozen=True)
class UserShuffleMethod:
    """Bound of one method."""

    method: str
    epsilon: float | None  # Of all rounds together, rounded up; None where the method is not valid or not of use
    delta: float  # What holds with this epsilon: 0 by composition, else the delta that was asked for
    reason: str  # Why there is no epsilon; empty where there is one
    theorem: str


@dataclass(frozen=True)
class UserShuffleBound:
    """The smallest epsilon, and what every method says.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee of all rounds together, user-level, replace-one, ``n`` public.
    method, theorem : str
        The method that gives it, and its source.
    methods : tuple of UserShuffleMethod
        All methods, the best first, those without an epsilon last.
    """

    epsilon: float
    delta: float
    method: str
    theorem: str
    methods: tuple[UserShuffleMethod, ...]


def shuffle_epsilon(
    epsilon0: float,
    n: int,
    delta: float,
    rounds: int = 1,
    *,
    randomizer: str | SetLaw = "any",
    sampled: int | None = None,
    participation: float | None = None,
) -> UserShuffleBound:
    """Return the user-level epsilon of shuffled messages, rounded up.

    Parameters
    ----------
    epsilon0, n, rounds, randomizer, sampled, participation
        As in :class:`ShuffleRound`.
    delta : float
        Of all rounds together, in [0, 1); 0 leaves composition.

    Raises
    ------
    UsageError
        If an argument is out of its range.

    References
    ----------
    LSU 5.3 and technical-notes 1.3 (known answer below).

    >>> bound = shuffle_epsilon(1.0, 10**4, 1e-6)
    >>> round(bound.epsilon, 6), bound.method
    (0.053005, 'exact clone pair')
    >>> shuffle_epsilon(1.0, 10**4, 1e-6, randomizer="binary").method
    'exact binary'
    >>> round(shuffle_epsilon(1.0, 10**4, 1e-6, randomizer="place-sign").epsilon, 6)
    0.043206
    """
    return shuffle_total((ShuffleRound(epsilon0, n, randomizer, sampled, rounds, participation),), delta)


def shuffle_total(strengths: Sequence[ShuffleRound], delta: float) -> UserShuffleBound:
    """Return the user-level epsilon of several rounds of shuffled messages together, adaptive ones too.

    Parameters
    ----------
    strengths : sequence of ShuffleRound
        The rounds, at least one, fixed beforehand.
    delta : float
        Of all of them together, in [0, 1); 0 leaves composition.

    Raises
    ------
    UsageError
        If there is no round, or ``delta`` is out of its range.

    >>> rounds = ShuffleRound(1.0, 10**5), ShuffleRound(1.0, 10**5, randomizer="binary")
    >>> round(shuffle_total(rounds, 1e-6).epsilon, 4)
    0.0203
    """
    parts = tuple(strengths)
    if not parts or not all(isinstance(part, ShuffleRound) for part in parts):
        raise UsageError("strengths must be one ShuffleRound or more; pass one for each round.")
    chance = check_unit_interval("delta", delta, zero=True)
    found = [_composition(parts)]
    if chance > 0:
        parts = tuple(replace(part, epsilon0=max(part.epsilon0, SMALLEST_EPSILON0)) for part in parts)
        found += [_clones(parts, chance), _binary(parts, chance), _closed_form(parts, chance)]
        if any(part.randomizer == "place-sign" for part in parts):
            found.append(_place_sign(parts, chance))
        if any(isinstance(part.randomizer, SetLaw) for part in parts):
            found.append(_sets(parts, chance))
        found += _together(parts, chance)
    methods = tuple(sorted(found, key=lambda method: math.inf if method.epsilon is None else method.epsilon))
    best = methods[0]
    assured = math.inf if best.epsilon is None else best.epsilon
    return UserShuffleBound(assured, best.delta, best.method, best.theorem, methods)


def shuffle_epsilon0(
    epsilon: float,
    n: int,
    delta: float,
    rounds: int = 1,
    *,
    randomizer: str = "any",
    sampled: int | None = None,
    participation: float | None = None,
) -> float:
    """Return the largest ``epsilon0`` of each round's messages for a wanted epsilon of all, rounded down: the inverse.

    Parameters
    ----------
    epsilon : float
        Wanted, above 0.
    n, delta, rounds, randomizer, sampled, participation
        As in :func:`shuffle_epsilon`.

    Returns
    -------
    float
        ``shuffle_epsilon(result, ...).epsilon <= epsilon``; within 1 part in 1000 of the largest. At most 12 unless
        composition gives more.

    Raises
    ------
    UsageError
        If an argument is out of its range.

    >>> round(shuffle_epsilon0(0.1, 10**5, 1e-6), 2), shuffle_epsilon0(0.1, 10**5, 0.0)
    (3.12, 0.1)
    """
    wanted = check_finite("epsilon", epsilon)
    if wanted <= 0:
        raise UsageError(f"epsilon must be above 0, got {wanted}; pass a positive number.")
    chance = check_unit_interval("delta", delta, zero=True)
    part = ShuffleRound(1.0, n, randomizer, sampled, rounds, participation)
    pure = pure_strength(wanted, part)
    if chance == 0 or pure >= LARGEST_ALPHA0:
        return pure
    if rounds == 1 and randomizer == "any" and not part.is_sampled and not part.is_joined:
        return max(clone_alpha0(wanted, 1, n, chance, 1.0), pure)
    return _search(wanted, chance, part, pure)


def _composition(parts: tuple[ShuffleRound, ...]) -> UserShuffleMethod:
    total = _sum(parts, [part.pure for part in parts])
    return UserShuffleMethod("composition", total, 0.0, "", "each message is pure LDP: epsilon0 adds up, delta = 0")


def _clones(parts: tuple[ShuffleRound, ...], delta: float) -> UserShuffleMethod:
    share = _share(parts, delta)
    total = _sum(parts, [clone_round_epsilon(part, share) for part in parts])
    theorem = "exact clone pair of each round at delta/rounds (LSU 5.3; emdp.privacy.shuffle.clone_pair)"
    return UserShuffleMethod("exact clone pair", total, delta, "", theorem)


def _place_sign(parts: tuple[ShuffleRound, ...], delta: float) -> UserShuffleMethod:
    share = _share(parts, delta)
    total = _sum(parts, [place_sign_round_epsilon(part, share) for part in parts])
    theorem = "pair of a place and a sign, clones 2/(e^epsilon0 + 1) (emdp.privacy.shuffle.place_sign)"
    return UserShuffleMethod("place-sign pair", total, delta, "", theorem)


def _sets(parts: tuple[ShuffleRound, ...], delta: float) -> UserShuffleMethod:
    share = _share(parts, delta)
    total = _sum(parts, [set_round_epsilon(part, share) for part in parts])
    theorem = "exact blanket of the sets of each round's oracle (emdp.privacy.blanket.sets)"
    return UserShuffleMethod("sets of the oracle", total, delta, "", theorem)


def _binary(parts: tuple[ShuffleRound, ...], delta: float) -> UserShuffleMethod:
    theorem = "exact divergence of shuffled randomized response over all others (emdp.privacy.shuffle.binary)"
    if all(part.randomizer != "binary" for part in parts):
        reason = "it holds for binary randomizers only"
        return UserShuffleMethod("exact binary", None, delta, reason, theorem)
    share = _share(parts, delta)
    total = _sum(parts, [binary_round_epsilon(part, share) for part in parts])
    return UserShuffleMethod("exact binary", total, delta, "", theorem)


def _closed_form(parts: tuple[ShuffleRound, ...], delta: float) -> UserShuffleMethod:
    theorem = "Feldman, McMillan, Talwar 2020, Thm 3.1, under its condition on epsilon0 (LSU 5.3)"
    share = _share(parts, delta)
    found = [
        None if part.is_sampled or part.is_joined else closed_form_epsilon(part.epsilon0, part.n, share)
        for part in parts
    ]
    valid = [value for value in found if value is not None]
    if len(valid) < len(parts):
        reason = "not everybody sends, or its epsilon0 is above ln(n/(16 ln(2/delta)))"
        return UserShuffleMethod("closed form", None, delta, reason, theorem)
    return UserShuffleMethod("closed form", _sum(parts, valid), delta, "", theorem)


def _together(parts: tuple[ShuffleRound, ...], delta: float) -> list[UserShuffleMethod]:
    """Return what the methods say that take all rounds as one."""
    product = "hockey-stick divergence of the product of the clone pairs (emdp.privacy.shuffle.renyi_product)"
    renyi = "Renyi divergences of the exact clone pairs, added up (after LSU 5.1; emdp.privacy.shuffle.renyi)"
    rounds, reason = sum(part.rounds for part in parts), "one round: the exact pair itself is sharper"
    if rounds == 1:
        return [
            UserShuffleMethod("clone product", None, delta, reason, product),
            UserShuffleMethod("Renyi clones", None, delta, reason, renyi),
        ]
    laws = [part.law() if part.is_amplified else None for part in parts]
    found = [UserShuffleMethod("Renyi clones", _renyi_epsilon(parts, laws, delta), delta, "", renyi)]
    whole = [(law, part.rounds) for law, part in zip(laws, parts, strict=True) if law is not None]
    total, reason = math.inf, f"there are more than {LARGEST_ROUNDS} rounds, or one that no shuffling amplifies"
    if rounds <= LARGEST_ROUNDS and len(whole) == len(parts):
        total, reason = product_epsilon(whole, delta), "delta is below 1e-30"
    assured = total if total < math.inf else None
    return [*found, UserShuffleMethod("clone product", assured, delta, "" if assured is not None else reason, product)]


def _renyi_epsilon(parts: tuple[ShuffleRound, ...], laws: Sequence[RatioLaw | None], delta: float) -> float:
    known: dict[float, float] = {}

    def rdp(order: float) -> float:
        if order not in known:
            terms = [part.pure if law is None else law.renyi(order) for part, law in zip(parts, laws, strict=True)]
            known[order] = _sum(parts, terms)
        return known[order]

    coarse = range(0, len(ORDERS), _STRIDE)
    start = min(coarse, key=lambda index: renyi_epsilon(rdp, delta, ORDERS[index : index + 1]))
    return renyi_epsilon(rdp, delta, ORDERS[max(start - _STRIDE, 0) : start + _STRIDE + 1])


def _sum(parts: tuple[ShuffleRound, ...], values: Sequence[float]) -> float:
    """Return the sum over all rounds, rounded up."""
    return float_up(sum((as_decimal(v) * part.rounds for part, v in zip(parts, values, strict=True)), Fraction(0)))


def _share(parts: tuple[ShuffleRound, ...], delta: float) -> float:
    return max(float_down(as_decimal(delta) / sum(part.rounds for part in parts)), 5e-324)


def _search(epsilon: float, delta: float, part: ShuffleRound, pure: float) -> float:
    """Return a checked ``epsilon0`` close below one that fails: a secant on logarithms, kept in a bracket."""
    if part.is_joined:
        return max(_near(epsilon, delta, part), pure)
    good, bad = pure, LARGEST_ALPHA0
    if part.is_sampled or (part.kind == "place-sign" and part.rounds > 1):
        point = likely_epsilon0(epsilon, delta, part)
    else:
        point = gaussian_guess(epsilon, 1, max(part.n // part.rounds, 2), 1.0, delta)
    if part.n >= _LONG:

        def is_good(own: float) -> bool:
            return as_decimal(_found(replace(part, epsilon0=own), delta)) <= as_decimal(epsilon)

        if steep := steep_epsilon0(part, delta, point, is_good):
            return max(steep, pure)
    last, slope = (0.0, 0.0), 1.5
    for step in range(_SEARCH_STEPS):
        point = point if good < point < bad and step < _SECANT_STEPS else math.sqrt(good * bad)
        found = _found(replace(part, epsilon0=point), delta)
        value = math.log(found / epsilon) if found > 0 else -math.inf
        # compared as decimals, as the guarantee is
        if as_decimal(found) <= as_decimal(epsilon):
            good = point
        else:
            bad = point
        if (good == point and value > -_TOLERANCE) or bad < good * (1 + _TOLERANCE):
            break
        if last[0] and abs(value - last[1]) > 1e-9 and point != last[0] and math.isfinite(value):
            slope = min(max((value - last[1]) / math.log(point / last[0]), 0.5), 50.0)
        last = (point, value) if math.isfinite(value) else (0.0, 0.0)
        point *= math.exp((-_TOLERANCE / 2 - value) / slope) if math.isfinite(value) else 2.0
    return good


def _near(epsilon: float, delta: float, part: ShuffleRound) -> float:
    """Return a checked ``epsilon0`` of rounds that users join, from that of as many who are sampled; 0 if none is."""
    expected = min(max(round(part.n * (part.participation or 1.0)), 2), part.n)
    fixed = replace(part, participation=None, sampled=expected)
    point, step = _search(epsilon, delta, fixed, pure_strength(epsilon, fixed)), _JOINED_STEP
    while point > SMALLEST_EPSILON0:
        found = _found(replace(part, epsilon0=point), delta)
        if as_decimal(found) <= as_decimal(epsilon):
            return point
        point, step = point * (1 - step), 2 * step if step < 0.5 else step
    return 0.0


def _found(part: ShuffleRound, delta: float) -> float:
    """Return the epsilon of a strength that is tried; of many users, whose sums are long, by one method."""
    quick = quick_epsilon(part, delta) if part.n >= _LONG else math.inf
    return quick if quick < math.inf else shuffle_total((part,), delta).epsilon
