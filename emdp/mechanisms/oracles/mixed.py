"""Frequency oracles whose messages somebody mixes: as strong as the law of their mixed messages allows.

An oracle of a known law (:mod:`emdp.privacy.blanket.sets`) is priced by it, at the integers that it draws with; any
other as a randomizer of which only its strength is known, by the exact clone pair (EMD 3, ``m = 1``). What is promised
is one of: epsilon of any two users; epsilon of users whose normalised histograms differ by ``apart`` in total variation
at most; alpha of d_EM-DP on 0/1 distances, whatever the users' numbers of records.
"""

import math
from collections.abc import Callable
from typing import Literal

from emdp.base.checks import check_choice, check_count, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, UsageError
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.strength import LARGEST_EPSILON
from emdp.privacy import shuffle_alpha, shuffle_alpha0, shuffle_epsilon0
from emdp.privacy.blanket.sets import SetLaw

__all__ = ["BINARY", "GENERIC", "MIXED", "Mixed", "mix"]

MIXED = "one message a user, mixed: exact blanket of the oracle's sets (emdp.privacy.blanket.sets)"
GENERIC = "one message a user, shuffled: exact clone steps for m = 1 (EMD 3)"
BINARY = "one message of two outputs a user, mixed: its exact divergence (emdp.privacy.shuffle.binary)"
"""Sources of the guarantee, in one line."""

Unit = Literal["epsilon", "alpha"]
_TOLERANCE = 5e-4
"""Relative width at which the search for a strength ends."""
_HALVINGS = 2
"""Steps back from a strength that is shown to fit to one that is not."""


@dataclass(frozen=True, eq=False)
class Mixed:
    """An oracle and what its mixed messages guarantee."""

    oracle: FrequencyOracle  # Its `epsilon` is what holds where whoever mixes tells who sent what
    reached: float  # The level that was asked for, as it is met, rounded up
    theorem: str


def mix(
    kind: type[FrequencyOracle],
    items: int,
    users: int,
    level: float,
    delta: float,
    *,
    unit: Unit = "epsilon",
    apart: float = 1.0,
) -> Mixed:
    """Return the strongest oracle of a kind whose mixed messages meet a promise.

    Parameters
    ----------
    level : float
        Epsilon or alpha, above 0.
    delta : float
        In (0, 1).
    unit : {"epsilon", "alpha"}
        Epsilon of users at most ``apart``, or alpha of d_EM-DP on 0/1 distances.
    apart : float
        In (0, 1]; with ``unit="alpha"`` it must be 1.

    Raises
    ------
    UsageError
        If an argument is out of its range.
    RefusedError
        If there is no such oracle.

    Guarantee
    ---------
    ``(reached, delta)`` of the multiset of all messages, ``reached <= level``; ``oracle.epsilon`` of one message.

    References
    ----------
    shuffle-known-randomizers.md 3, its table.

    >>> from emdp.mechanisms.oracles.krr import KRROracle
    >>> found = mix(KRROracle, 1000, 10_000, 0.5, 1e-6)
    >>> round(found.oracle.epsilon, 2), found.reached <= 0.5, round(found.oracle.variance() ** 0.5, 6)
    (5.81, True, 0.001099)
    """
    wanted, chance = check_positive("level", level), check_unit_interval("delta", delta)
    near = check_unit_interval("apart", apart, one=True)
    check_count("users", users)
    if check_choice("unit", unit, ("epsilon", "alpha")) == "alpha" and near < 1.0:
        raise UsageError("apart must be 1 where the unit is alpha, which is of all distances; leave it out.")
    weakest = min(math.log1p(wanted) * (1 - 2.0**-50) if unit == "alpha" else wanted, LARGEST_EPSILON)
    oracle = kind(items, users, weakest)
    if oracle.sets is None:
        return _generic(oracle, wanted, chance, unit)

    def fits(law: SetLaw, is_rough: bool) -> bool:
        if unit == "alpha":
            return law.fits_alpha(wanted, users, chance, is_rough=is_rough)
        return law.fits(wanted, users, chance, near, is_rough=is_rough)

    if unit == "alpha":
        # What costs ln(1 + alpha) at every distance is enough; what costs more than alpha at distance 1 is too much.
        least, most = (_roughly(oracle, LARGEST_EPSILON, level, chance).requested for level in (weakest, wanted))
        oracle = _strongest(oracle.at(least), most, lambda law: fits(law, True))
    else:
        oracle = _strongest(oracle, LARGEST_EPSILON, lambda law: fits(law, True))
    oracle = _checked(oracle, weakest, lambda law: fits(law, False))
    if unit == "epsilon" and near == 1.0 and oracle.sets is not None and oracle.sets.is_binary and users > 1:
        binary = shuffle_epsilon0(wanted, users, chance, randomizer="binary")
        if oracle.requested < binary <= LARGEST_EPSILON:
            return Mixed(oracle.at(binary), wanted, BINARY)
    return Mixed(oracle, wanted, MIXED)


def _roughly(oracle: FrequencyOracle, most: float, level: float, delta: float) -> FrequencyOracle:
    return _strongest(oracle, most, lambda law: law.fits(level, oracle.users, delta, is_rough=True))


def _strongest(oracle: FrequencyOracle, most: float, fits: Callable[[SetLaw], bool]) -> FrequencyOracle:
    """Return a stronger oracle that fits, close below a strength that does not; the one given is taken to fit."""

    def at(strength: float) -> FrequencyOracle | None:
        found = _at(oracle, strength)
        return found if found is not None and found.sets is not None and fits(found.sets) else None

    good, bad, best = oracle.requested, 0.0, oracle
    while good < most and not bad:
        trial = min(2 * good, most)
        found = at(trial)
        good, best, bad = (good, best, trial) if found is None else (trial, found, 0.0)
    while bad - good > _TOLERANCE * good:
        middle = (good + bad) / 2
        found = at(middle)
        good, best, bad = (good, best, middle) if found is None else (middle, found, bad)
    return best


def _at(oracle: FrequencyOracle, strength: float) -> FrequencyOracle | None:
    """Return the oracle at another strength, None where there is none."""
    try:
        return oracle.at(strength)
    except EmdpError:
        return None


def _checked(oracle: FrequencyOracle, weakest: float, fits: Callable[[SetLaw], bool]) -> FrequencyOracle:
    """Return an oracle near the given one that is shown to fit, close below one that is not; the weakest fits."""

    def shown(one: FrequencyOracle) -> bool:
        return one.requested <= weakest or (one.sets is not None and fits(one.sets))

    good, bad, step = oracle, 0.0, _TOLERANCE / 2
    while not shown(good):
        bad, step = good.requested, 2 * step
        good = oracle.at(max(oracle.requested * (1 - step), weakest))
    while not bad and good.requested < LARGEST_EPSILON:
        # the approximation may lie on the other side, too
        strength = min(good.requested * (1 + step), LARGEST_EPSILON)
        trial = _at(oracle, strength)
        good, bad, step = (trial, 0.0, 2 * step) if trial is not None and shown(trial) else (good, strength, step)
    for _ in range(_HALVINGS if bad else 0):
        middle = _at(oracle, (good.requested + bad) / 2)
        good, bad = (middle, bad) if middle is not None and shown(middle) else (good, (good.requested + bad) / 2)
    return good


def _generic(oracle: FrequencyOracle, wanted: float, delta: float, unit: Unit) -> Mixed:
    """Return an oracle of which only the strength is known; users that are near are any users here."""
    epsilon = math.log1p(wanted) * (1 - 2.0**-50) if unit == "alpha" else wanted
    stronger = oracle.at(min(shuffle_alpha0(epsilon, 1, oracle.users, delta, 1.0), LARGEST_EPSILON))
    reached = shuffle_alpha(stronger.epsilon, 1, oracle.users, delta, 1.0)
    return Mixed(stronger, min(math.expm1(reached) * (1 + 1e-15), wanted) if unit == "alpha" else reached, GENERIC)
