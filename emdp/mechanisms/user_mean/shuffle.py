"""A mean over users whose messages somebody mixes: local randomizers, stronger than they could be without.

Theorem. Every round's messages are mixed by somebody who is trusted to do that, so that only how often each message
came is seen; what is computed here is a function of that.

1. *One round, or users split.* ``n_i`` users send one ``epsilon_0``-LDP message in round ``i``. A user is in one round,
   so the whole is ``(epsilon, delta)``-DP at user level if the shuffle of ``n_i`` messages is, for every ``i``.
2. *Budget split.* All users send one message in each round; given the outcome of round one the second round's
   randomizer is the same for all. The rounds compose adaptively, as shuffles of ``n`` messages each.

Proof. 1: let the user be in round one. Given the outcome, what the other users send in round two has a law that does
not depend on the user. In round two: the outcome of round one is independent of the user, and given it the shuffle
theorem holds. Who is in which round is drawn without the data, and mixing over it does not raise a divergence (joint
convexity). 2 is adaptive composition.

Whoever sees messages with their senders still has pure LDP with ``epsilon0``. The epsilon and delta are numeric
(:mod:`emdp.privacy.shuffle.users`), never the published ``O(.)``; the bounds for one bit are used for one-bit messages
alone. Source: local-shuffle-userlevel.md 2.3 and 5.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from emdp.base.errors import UsageError
from emdp.mechanisms.crowd import Crowd
from emdp.mechanisms.scalar.best import best_scalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.scalar.randomizer import LARGEST_SCALAR_EPSILON, SMALLEST_SCALAR_EPSILON
from emdp.mechanisms.user_mean.base import (
    UserMeanMechanism,
    UserMeanRelease,
    UserMeanSetting,
    best_part,
    is_worth_a_range,
)
from emdp.mechanisms.user_mean.local import BudgetSplit, LocalUserMean, OneRound, ScalarMaker, TwoRounds, UserSplit
from emdp.privacy.rounding import as_decimal, float_down
from emdp.privacy.shuffle.users import ShuffleRound, UserShuffleBound, shuffle_epsilon0, shuffle_total

__all__ = ["ShuffledUserMean", "shuffle_candidates"]

_FEWEST = 2
# Messages that can be mixed.

_GRID = (0.002, 0.02, 0.1, 0.4, 1.0)
# Parts of the users, or of epsilon, at which strengths are computed; between them they are interpolated, to choose by.

_STEPS = 5
# Halvings of what two rounds together may leave of epsilon.

_CHOICES: tuple[tuple[str, ScalarMaker], ...] = (("any", best_scalar), ("binary", OneBitScalar))
# Accountant, and the best randomizer that it accepts.


@dataclass(frozen=True, eq=False, kw_only=True)
class ShuffledUserMean(UserMeanMechanism):
    """A local way, with the guarantee that mixing its messages gives.

    Parameters
    ----------
    inner : LocalUserMean
        The local way; its setting has the model "shuffle".

    Raises
    ------
    UsageError
        If mixing does not bring its messages down to the setting's epsilon and delta.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level for whoever sees mixed messages, by the theorem of this file; ``epsilon0``-LDP
    for whoever sees a user's own.

    >>> setting = UserMeanSetting(10_000, 0.0, 1.0, 0.5, 1e-6, "shuffle")
    >>> way = ShuffledUserMean(inner=OneRound(setting=setting, second=3.0))
    >>> 0.2 < way.epsilon < 0.33, way.epsilon0
    (True, 3.0)
    """

    inner: LocalUserMean

    def __post_init__(self) -> None:
        if as_decimal(self.epsilon) > as_decimal(self.setting.epsilon):
            raise UsageError(
                f"inner must have epsilon = {self.setting.epsilon} once it is mixed, got {self.epsilon}; weaken it."
            )

    @property
    def setting(self) -> UserMeanSetting:  # type: ignore[override]
        return self.inner.setting

    @property
    def name(self) -> str:
        return f"{self.inner.name}, mixed"

    @property
    def theorem(self) -> str:
        """The source of the guarantee, in one line."""
        return f"{self.inner.theorem}; mixed: {self._worst.theorem}"

    @cached_property
    def bounds(self) -> tuple[UserShuffleBound, ...]:
        """Bounds of the accountant for users in one round each, or for all users in both."""
        return _mixed(self.inner)

    @property
    def _worst(self) -> UserShuffleBound:
        return max(self.bounds, key=lambda bound: bound.epsilon)

    @property
    def epsilon(self) -> float:
        """Epsilon of the mixed messages, rounded up."""
        return self._worst.epsilon

    @property
    def delta(self) -> float:
        """Delta of the mixed messages."""
        return max(bound.delta for bound in self.bounds)

    @property
    def epsilon0(self) -> float:
        """Epsilon of a user's own messages, before they are mixed."""
        return self.inner.epsilon

    @property
    def missed_range(self) -> float:
        return self.inner.missed_range

    @property
    def users_needed(self) -> int:
        return self.inner.users_needed

    @property
    def deviation(self) -> float:
        return self.inner.deviation

    @property
    def expected_error(self) -> float:
        return self.inner.expected_error

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return the rounds and what mixing does."""
        mixed = (
            f"epsilon0 {self.epsilon0:.6g} of a user's own messages; mixed {self.epsilon:.6g} ({self._worst.method})"
        )
        return (*self.inner.facts(unit), ("shuffle", mixed))

    def ask(self, crowd: Crowd, exponent: int) -> UserMeanRelease:
        """Draw all messages and return what only their counts enter: this spends."""
        return replace(self.inner.ask(crowd, exponent), mechanism=self)

    def ends(self, release: UserMeanRelease, tail: float) -> tuple[float, float]:
        """Return the local way's ends."""
        return self.inner.ends(release, tail)


def shuffle_candidates(setting: UserMeanSetting) -> tuple[ShuffledUserMean, ...]:
    """Return the ways of a setting in the shuffle model: those of the local one, as strong as mixing allows.

    One round by the best randomizer, and by one bit, whose bound is sharper; where bins allow it an even split of the
    budget, and a tuned split of budget and of users, each by either randomizer.

    >>> ways = shuffle_candidates(UserMeanSetting(5000, 0.0, 1.0, 0.5, 1e-6, "shuffle"))
    >>> [(way.name, 2.5 < way.epsilon0 < 5.0, way.epsilon <= 0.5) for way in ways]
    [('one round, mixed', True, True), ('one round, mixed', True, True)]
    """
    users, epsilon, delta = setting.users, setting.epsilon, setting.delta
    if users < _FEWEST:
        raise UsageError(f"users must be at least {_FEWEST} in the shuffle model, got {users}; use the local one.")
    found: list[LocalUserMean] = [
        OneRound(setting=setting, second=_strength(epsilon, users, delta, kind), scalar=scalar)
        for kind, scalar in _CHOICES
    ]
    if is_worth_a_range(setting):
        each = min(shuffle_epsilon0(epsilon, users, delta, 2), LARGEST_SCALAR_EPSILON)
        found += [BudgetSplit(setting=setting, first=each, second=each), *_budget_splits(setting)]
        if users >= 2 * _FEWEST:
            found += _user_splits(setting)
    return tuple(ShuffledUserMean(inner=way) for way in found)


def _mixed(way: LocalUserMean) -> tuple[UserShuffleBound, ...]:
    """Return the accountant's bounds for those who are in one round, or for all, who are in both."""
    second = ShuffleRound(way.second, way.senders, "binary" if way.scalar is OneBitScalar else "any")
    if not isinstance(way, TwoRounds):
        return (shuffle_total((second,), way.setting.delta),)
    first = ShuffleRound(way.first, way.finders)
    rounds = ((first, second),) if isinstance(way, BudgetSplit) else ((first,), (second,))
    return tuple(shuffle_total(each, way.setting.delta) for each in rounds)


@lru_cache(maxsize=256)
def _strength(epsilon: float, users: int, delta: float, kind: str) -> float:
    """Return how strong a message of one mixed round may be, within what randomizers accept."""
    found = min(shuffle_epsilon0(epsilon, users, delta, randomizer=kind), LARGEST_SCALAR_EPSILON)
    if found < SMALLEST_SCALAR_EPSILON:
        raise UsageError(f"epsilon must be larger for local messages, got {epsilon}; ask for at least 1e-5.")
    return found


def _curve(strength: Callable[[float], float]) -> Callable[[float], float]:
    """Return a strength as a function of the part of users or of epsilon: interpolated, and proportional below.

    Strengths grow with a falling power of the part, so that chords between logarithms stay below.
    """
    places, values = [math.log(part) for part in _GRID], [math.log(strength(part)) for part in _GRID]

    def at(part: float) -> float:
        found = math.exp(float(np.interp(math.log(part), places, values))) * min(1.0, part / _GRID[0])
        return max(found, SMALLEST_SCALAR_EPSILON)

    return at


def _budget_splits(setting: UserMeanSetting) -> Iterator[LocalUserMean]:
    """Yield budget splits at half of delta each, tuned for randomizers of any kind."""
    half = float_down(as_decimal(setting.delta) / 2)

    def exact(part: float, kind: str) -> float:
        share = float_down(as_decimal(setting.epsilon) * as_decimal(part))
        return _strength(max(share, 2 * SMALLEST_SCALAR_EPSILON), setting.users, half, kind)

    curve = _curve(lambda part: exact(part, "any"))
    part = best_part(lambda part: BudgetSplit(setting=setting, first=curve(part), second=curve(1.0 - part)))
    for kind, scalar in _CHOICES:
        way = BudgetSplit(setting=setting, first=exact(part, "any"), second=exact(1.0 - part, kind), scalar=scalar)
        yield _raised(way, _strength(setting.epsilon, setting.users, setting.delta, kind)) if kind == "any" else way


def _raised(way: BudgetSplit, most: float) -> BudgetSplit:
    """Return a budget split whose second round is stronger, where the accountant finds room for it in both together."""
    low, high = way.second, max(most, way.second)
    for _ in range(_STEPS):
        stronger = replace(way, second=0.5 * (low + high))
        if as_decimal(_mixed(stronger)[0].epsilon) <= as_decimal(way.setting.epsilon):
            way, low = stronger, stronger.second
        else:
            high = stronger.second
    return way


def _user_splits(setting: UserMeanSetting) -> Iterator[LocalUserMean]:
    """Yield user splits, each round at all of epsilon and delta, tuned for randomizers of any kind."""

    def exact(users: int, kind: str) -> float:
        return _strength(setting.epsilon, users, setting.delta, kind)

    def chosen(part: float) -> int:
        return min(max(_FEWEST, round(part * setting.users)), setting.users - _FEWEST)

    curve = _curve(lambda part: exact(max(_FEWEST, int(part * setting.users)), "any"))

    def way(part: float) -> UserSplit:
        return UserSplit(setting=setting, first=curve(part), second=curve(1.0 - part), chosen=chosen(part))

    finders = chosen(best_part(way))
    for kind, scalar in _CHOICES:
        first, second = exact(finders, "any"), exact(setting.users - finders, kind)
        yield UserSplit(setting=setting, first=first, second=second, scalar=scalar, chosen=finders)
