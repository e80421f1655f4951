"""A mean over users whose messages somebody mixes: local randomizers, stronger than they could be without.

Theorem. Every round's messages are mixed by somebody who is trusted to do that, so that only how often each message
came is seen; what is computed here is a function of that.

1. *One round, or users split.* ``n_i`` users send one ``epsilon_0``-LDP message in round ``i``. A user is in one round,
   so the whole is ``(epsilon, delta)``-DP at user level if the shuffle of ``n_i`` messages is, for every ``i``.
2. *Budget split.* All users send one message in each round; given the outcome of round one the second round's
   randomizer is the same for all. The rounds compose adaptively, as shuffles of ``n`` messages each.

3. *Several signs.* The message about the mean may be ``T`` signs, each mixed by itself: that round is ``T`` rounds of
one
   question, priced together. A message about the bin is a row and a sign, and has the pair of place-sign messages.

Proof. 3: given the number the signs are independent, each is randomized response, and the accountant's rounds may
depend on earlier ones, so may be alike. 1: let the user be in round one. Given the outcome, what the other users send
in round two has a law that does not depend on the user. In round two: the outcome of round one is independent of the
user, and given it the shuffle theorem holds. Who is in which round is drawn without the data, and mixing over it does
not raise a divergence (joint convexity). 2 is adaptive composition.

Whoever sees messages with their senders still has pure LDP with ``epsilon0``. The epsilon and delta are numeric
(:mod:`emdp.privacy.shuffle.users`), never the published ``O(.)``; the bounds for one bit are used for one-bit messages
alone. How epsilon and users are divided is chosen by what the Gaussian limit says of strengths; what is chosen is then
made as strong as the accountant allows. Source: local-shuffle-userlevel.md 2.3 and 5, multimessage-shuffle.md 1.
"""

import math
from dataclasses import replace
from functools import cached_property, lru_cache

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.crowd import Crowd
from emdp.mechanisms.scalar.best import best_scalar
from emdp.mechanisms.scalar.one_bit import Signs
from emdp.mechanisms.scalar.randomizer import LARGEST_SCALAR_EPSILON, NUMBER_BITS, SMALLEST_SCALAR_EPSILON
from emdp.mechanisms.user_mean.base import (
    UserMeanMechanism,
    UserMeanRelease,
    UserMeanSetting,
    best_part,
    is_worth_a_range,
)
from emdp.mechanisms.user_mean.choice import preference
from emdp.mechanisms.user_mean.local import BudgetSplit, LocalUserMean, OneRound, ScalarMaker, TwoRounds, UserSplit
from emdp.privacy.rounding import as_decimal
from emdp.privacy.shuffle.planes import enough_messages
from emdp.privacy.shuffle.renyi_rounds import ShuffleRound, likely_epsilon0
from emdp.privacy.shuffle.users import UserShuffleBound, shuffle_epsilon0, shuffle_total

__all__ = ["ShuffledUserMean", "shuffle_candidates"]

_FEWEST = 2
# Messages that can be mixed.

_STEPS, _FIRST_STEP, _NARROW = 40, 0.01, 2e-3
# Most steps to the strongest second round beside the first, the first of them, and how near is near enough; relative.

_MOST_SIGNS, _ENOUGH = 64, 2.25
# Most signs of a user about the mean, and the variance over that of ever more signs at which more are not sent.

_LEAST = 2 * SMALLEST_SCALAR_EPSILON


@dataclass(frozen=True, eq=False, kw_only=True)
class ShuffledUserMean(UserMeanMechanism):
    """A local way, with the guarantee that mixing its messages gives.

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

    inner: LocalUserMean  # The local way; its setting has the model "shuffle"

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
        return self._worst.epsilon

    @property
    def delta(self) -> float:
        return max(bound.delta for bound in self.bounds)

    @property
    def epsilon0(self) -> float:
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
        mixed = (
            f"epsilon0 {self.epsilon0:.6g} of a user's own messages; mixed {self.epsilon:.6g} ({self._worst.method})"
        )
        sent = f"{self.bits_per_user} of a user in all, at most"
        return (*self.inner.facts(unit), ("shuffle", mixed), ("bits", sent))

    @property
    def is_apart(self) -> bool:
        return (self.inner.signs or 1) > 1 or isinstance(self.inner, BudgetSplit)

    @property
    def bits_per_user(self) -> int:
        """Bits that a user sends, places among them."""
        told = NUMBER_BITS if self.inner.signs is None else self.inner.signs
        row = (self.inner.stage.size - 1).bit_length() if isinstance(self.inner, TwoRounds) else 0
        both = isinstance(self.inner, BudgetSplit)
        return row + told if both else max(row, told)

    def ask(self, crowd: Crowd, exponent: int) -> UserMeanRelease:
        return replace(self.inner.ask(crowd, exponent), mechanism=self)

    def ends(self, release: UserMeanRelease, tail: float) -> tuple[float, float]:
        """Return the local way's ends."""
        return self.inner.ends(release, tail)


def shuffle_candidates(setting: UserMeanSetting) -> tuple[ShuffledUserMean, ...]:
    """Return the ways of a setting in the shuffle model: those of the local one, as strong as mixing allows.

    One round by the best randomizer of one message, and by signs that are mixed apart, as many as help; where bins
    allow it a tuned split of the budget and of the users, the mean by signs.

    >>> ways = shuffle_candidates(UserMeanSetting(5000, 0.0, 1.0, 0.5, 1e-6, "shuffle"))
    >>> [(way.name, way.inner.signs, way.epsilon <= 0.5) for way in ways]
    [('one round, mixed', None, True), ('one round, mixed', 28, True)]
    """
    users, epsilon, delta = setting.users, setting.epsilon, setting.delta
    if users < _FEWEST:
        raise UsageError(f"users must be at least {_FEWEST} in the shuffle model, got {users}; use the local one.")
    signs = _signs(setting, users)
    found: list[LocalUserMean] = [
        OneRound(setting=setting, second=_strength(epsilon, users, delta, "any")),
        OneRound(setting=setting, second=_strength(epsilon, users, delta, "binary", signs.messages), scalar=signs),
    ]
    if is_worth_a_range(setting):
        found.append(_budget_split(setting))
        if users >= 2 * _FEWEST:
            found.append(_user_split(setting))
    return tuple(ShuffledUserMean(inner=way) for way in found)


def _mixed(way: LocalUserMean) -> tuple[UserShuffleBound, ...]:
    """Return the accountant's bounds for those who are in one round, or for all, who are in both."""
    kind = "any" if way.signs is None else "binary"
    second = ShuffleRound(way.second, way.senders, kind, rounds=way.signs or 1)
    if not isinstance(way, TwoRounds):
        return (shuffle_total((second,), way.setting.delta),)
    first = ShuffleRound(way.first, way.finders, "place-sign")
    rounds = ((first, second),) if isinstance(way, BudgetSplit) else ((first,), (second,))
    return tuple(shuffle_total(each, way.setting.delta) for each in rounds)


@lru_cache(maxsize=256)
def _strength(epsilon: float, users: int, delta: float, kind: str, rounds: int = 1) -> float:
    """Return how strong a message of some mixed rounds may be, within what randomizers accept."""
    found = min(shuffle_epsilon0(epsilon, users, delta, rounds, randomizer=kind), LARGEST_SCALAR_EPSILON)
    if found < SMALLEST_SCALAR_EPSILON:
        raise UsageError(f"epsilon must be larger for local messages, got {epsilon}; ask for at least 1e-5.")
    return found


def _likely(setting: UserMeanSetting, users: int, kind: str, rounds: int = 1, share: float = 1.0) -> float:
    """Return about the same, of a share of what is spent: what divisions are chosen by."""
    part = ShuffleRound(1.0, users, kind, rounds=rounds)
    found = likely_epsilon0(max(setting.epsilon, _LEAST), setting.delta, part, share)
    return min(max(found, _LEAST), LARGEST_SCALAR_EPSILON)


def _signs(setting: UserMeanSetting, users: int) -> Signs:
    """Return as many signs as help.

    >>> _signs(UserMeanSetting(5000, 0.0, 1.0, 0.5, 1e-6, "shuffle"), 5000)
    Signs(messages=28)
    """
    count = enough_messages(math.tanh(0.5 * _likely(setting, users, "binary")), _ENOUGH)
    return Signs(min(count, _MOST_SIGNS))


def _laws(setting: UserMeanSetting, users: int) -> tuple[tuple[ScalarMaker, str, int], ...]:
    """Return laws of the message about the mean: maker, what the accountant knows of it, and number of messages."""
    signs = _signs(setting, users)
    return (signs, "binary", signs.messages), (best_scalar, "any", 1)


def _budget_split(setting: UserMeanSetting) -> LocalUserMean:
    """Return the budget split of least expected error: about the bin what the Gaussian limit says, then what is
    left."""
    users = setting.users

    def way(part: float, law: tuple[ScalarMaker, str, int]) -> BudgetSplit:
        scalar, kind, rounds = law
        first = _likely(setting, users, "place-sign", share=part)
        second = _likely(setting, users, kind, rounds, 1.0 - part)
        return BudgetSplit(setting=setting, first=first, second=second, scalar=scalar)

    laws = _laws(setting, users)
    best = min((way(best_part(lambda part, law=law: way(part, law)), law) for law in laws), key=preference)  # type: ignore[misc]
    return _fitted(best)


def _fitted(way: BudgetSplit) -> BudgetSplit:
    """Return a budget split that the accountant allows, its second round near the strongest."""
    good, bad, step = 0.0, math.inf, _FIRST_STEP
    for _ in range(_STEPS):
        if as_decimal(_mixed(way)[0].epsilon) <= as_decimal(way.setting.epsilon):
            good = way.second
            if bad < good * (1 + _NARROW) or good >= LARGEST_SCALAR_EPSILON:
                break
            trial = good * (1 + step) if bad == math.inf else 0.5 * (good + bad)
        else:
            bad = way.second
            trial = bad * (1 - step) if good == 0.0 else 0.5 * (good + bad)
            if good > 0 and bad < good * (1 + _NARROW):
                break
            # where so little is left, the first round was too strong
            way = replace(way, first=max(way.first * (1 - step), _LEAST)) if step > 0.5 else way
        step = min(2 * step, 0.9) if good == 0.0 else step
        way = replace(way, second=min(max(trial, _LEAST), LARGEST_SCALAR_EPSILON))
    return replace(way, second=max(good, _LEAST))


def _user_split(setting: UserMeanSetting) -> LocalUserMean:
    """Return the user split of least expected error, each round at all of epsilon and delta."""

    def way(chosen: int, law: tuple[ScalarMaker, str, int], *, is_exact: bool = False) -> UserSplit:
        (scalar, kind, rounds), rest = law, setting.users - chosen
        if is_exact:
            first = _strength(setting.epsilon, chosen, setting.delta, "place-sign")
            second = _strength(setting.epsilon, rest, setting.delta, kind, rounds)
        else:
            first, second = _likely(setting, chosen, "place-sign"), _likely(setting, rest, kind, rounds)
        return UserSplit(setting=setting, first=first, second=second, scalar=scalar, chosen=chosen)

    def chosen(part: float) -> int:
        return min(max(_FEWEST, round(part * setting.users)), setting.users - _FEWEST)

    laws = _laws(setting, setting.users)
    tried = [(chosen(best_part(lambda part, law=law: way(chosen(part), law))), law) for law in laws]  # type: ignore[misc]
    return way(*min(tried, key=lambda one: preference(way(*one))), is_exact=True)
