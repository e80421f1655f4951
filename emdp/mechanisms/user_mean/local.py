"""A mean over users in the local model: in one round, or in two, the first of which finds a range for the second.

Theorem. A user's messages are pure ``epsilon``-LDP at user level, whatever the records, if

1. *one round:* the message is that of an ``epsilon``-LDP randomizer of the own mean;
2. *two rounds, budget split:* the first message is ``epsilon_1``-LDP, the second, whose randomizer depends on all
   first messages, ``epsilon_2``-LDP for every such outcome, and ``epsilon_1 + epsilon_2 <= epsilon``;
3. *two rounds, users split:* each user sends one message, the first for some, the second for the others, each
   ``epsilon``-LDP, and who does which is drawn without a look at the data.

Proof. A user's mean is a function of its records, so 1 is post-processing. 2 is sequential composition: given the
first messages, the interval of the second round is a constant, to which its randomizer clips. In 3 a user is in one
round; the other's messages do not depend on its records except through the interval, which is public.

Error, where the interval holds all means: the randomizer's exact variance at the interval's length, ``6 tau`` at most,
over the number of messages; with users split also ``(1/n_2 - 1/n) s^2``, the variance of a mean of ``n_2`` of ``n``
users drawn without replacement, ``s^2 = between^2 + spread^2/m``. That sampling error is a sum ``sum_u a_u (y_u -
mu)`` with ``sum a_u^2 = 1/n_2 - 1/n``, hence sub-Gaussian with that parameter, which the interval of an answer uses.

Source: local-shuffle-userlevel.md 2.1.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.crowd import Crowd, Groups
from emdp.mechanisms.scalar.best import best_scalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar, Signs
from emdp.mechanisms.scalar.randomizer import LARGEST_SCALAR_EPSILON, SMALLEST_SCALAR_EPSILON, ScalarRandomizer
from emdp.mechanisms.user_mean.base import (
    HIGHEST_LEVEL,
    UserMeanMechanism,
    UserMeanRelease,
    UserMeanSetting,
    best_part,
    is_worth_a_range,
)
from emdp.mechanisms.user_mean.crowd_questions import Messages, find_ranges
from emdp.mechanisms.user_mean.range_stage import HadamardRange
from emdp.noise.choices import draw_permutation
from emdp.privacy.rounding import as_decimal, float_down, float_up

__all__ = ["BudgetSplit", "LocalUserMean", "OneRound", "ScalarMaker", "UserSplit", "local_candidates"]

ScalarMaker = Callable[[float, float, float], ScalarRandomizer]

_LEAST_SPLIT = 1e-4
# Epsilon below which no range is looked for: it would take 10^9 users.


@lru_cache(maxsize=4096)
def unit_variance(scalar: ScalarMaker, strength: float) -> float:
    """Return the largest variance of one message about a number in an interval of length 1.

    >>> round(unit_variance(best_scalar, 0.5), 3)
    4.168
    """
    return scalar(0.0, 1.0, strength).variance()


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalUserMean(UserMeanMechanism):
    """Common part of the three ways."""

    setting: UserMeanSetting
    second: float  # Epsilon of the message about the mean, or of each of its signs, from 1e-6 to 30
    scalar: ScalarMaker = best_scalar  # From `low`, `high` and an epsilon to the randomizer of that message

    @property
    def epsilon0(self) -> float:
        return self.epsilon

    @property
    def signs(self) -> int | None:
        """Number of signs that the message about the mean is, each of epsilon ``second``; None of another law."""
        return self.scalar.messages if isinstance(self.scalar, Signs) else 1 if self.scalar is OneBitScalar else None

    @property
    def told(self) -> Fraction:
        """Epsilon of the message about the mean."""
        return as_decimal(self.second) * (self.signs or 1)

    @property
    @abstractmethod
    def senders(self) -> int:
        """Number of users that send a message about their mean."""

    @property
    @abstractmethod
    def nominal(self) -> tuple[float, float]:
        """An interval as long as the longest that the message may be about."""

    @property
    def deviation(self) -> float:
        """Root of the largest variance over the number of messages, and the sampling error."""
        low, high = self.nominal
        square = unit_variance(self.scalar, self.second) * (high - low) ** 2 / self.senders
        return math.sqrt(square + self._sampling**2)

    @property
    def _sampling(self) -> float:
        # Deviation of the mean of those who send from that of all.
        part = 1.0 / self.senders - 1.0 / self.setting.users
        return (self.setting.deviation or 0.0) * math.sqrt(max(0.0, part))

    def ends(self, release: UserMeanRelease, tail: float) -> tuple[float, float]:
        """Return the randomizer's own ends, widened by the sampling error of users who do not send."""
        scalar = self.scalar(*release.range, self.second)
        own = tail
        if self._sampling:
            noise = math.sqrt(scalar.variance() / self.senders)
            own *= noise / (noise + self._sampling)
        low, high = scalar.interval(float(release.value), self.senders, min(1.0 - own, HIGHEST_LEVEL))
        width = self._sampling * math.sqrt(2.0 * math.log(2.0 / (tail - own))) if self._sampling else 0.0
        return low - width, high + width

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        low, high = self.nominal
        scalar = self.scalar(low, high, self.second)
        sent = scalar.name if self.signs in (None, 1) else f"{self.signs} bits, each mixed apart"
        return (("mean", f"{sent}, epsilon {self.second:.6g}, of {self.senders} users, on {high - low:.6g}"),)

    def _told(self, crowd: Crowd, exponent: int, window: tuple[float, float], groups: Groups | None = None) -> Fraction:
        """Draw the last message of everybody, or of one group, and return what they estimate: this spends."""
        scalar = self.scalar(*window, self.second)
        (total,) = crowd.added(Messages((scalar,), (0,), (exponent,)), groups, is_last=True)
        return scalar.estimate(int(total), self.senders)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneRound(LocalUserMean):
    """One message from every user, on the bounds.

    >>> setting = UserMeanSetting(10_000, 0.0, 1.0, 1.0, model="local")
    >>> mechanism = OneRound(setting=setting, second=1.0)
    >>> release = mechanism.release(iter([np.full(10_000, 2**39)]), exponent=40, neutral=0)
    >>> abs(float(release.value) - 0.5) < 8 * mechanism.deviation, release.range
    (True, (0.0, 1.0))
    """

    theorem: ClassVar[str] = "one epsilon-LDP message on each user's mean, clipped to its bounds (LSU 1.2)"
    name: ClassVar[str] = "one round"
    missed_range: ClassVar[float] = 0.0
    users_needed: ClassVar[int] = 1

    @cached_property
    def epsilon(self) -> float:
        return self.scalar(self.setting.low, self.setting.high, self.second).epsilon

    @property
    def senders(self) -> int:
        return self.setting.users

    @property
    def nominal(self) -> tuple[float, float]:
        return float(self.setting.low), float(self.setting.high)

    @property
    def expected_error(self) -> float:
        return self.deviation

    def ask(self, crowd: Crowd, exponent: int) -> UserMeanRelease:
        return UserMeanRelease(self, self._told(crowd, exponent, self.nominal), self.nominal)


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoRounds(LocalUserMean):
    """Common part of the two ways with a range."""

    first: float  # Epsilon of the message about the bin, from 1e-6 to 30

    def __post_init__(self) -> None:
        if not is_worth_a_range(self.setting):
            raise UsageError("setting must have a spread and at least three bins for two rounds; use OneRound.")

    @property
    @abstractmethod
    def finders(self) -> int:
        """Number of users that send a message about their bin."""

    @cached_property
    def stage(self) -> HadamardRange:
        """Round one."""
        return HadamardRange(self.setting.bins, self.finders, self.first, self.setting.elsewhere)

    @property
    def nominal(self) -> tuple[float, float]:
        """``6 tau`` around the middle of the bounds."""
        return self.setting.middle_window

    @property
    def missed_range(self) -> float:
        return min(1.0, self.setting.gamma + self.stage.wrong_bin(self.finders))

    @property
    def users_needed(self) -> int:
        return self.stage.users_needed(self.setting.failure - self.setting.gamma)

    @property
    def expected_error(self) -> float:
        """The plan rule of LSU 2.1."""
        return self.setting.unconditional(self.deviation**2, self.stage.wrong_bin(self.setting.tolerated(self.finders)))

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        bins = self.setting.bins
        first = f"{self.stage.name}, epsilon {self.first:.6g}, of {self.finders} users; {bins.count} bins"
        return (("range", f"{first} of {2 * bins.radius:.6g}"), *super().facts(unit))


@dataclass(frozen=True, eq=False, kw_only=True)
class BudgetSplit(TwoRounds):
    """Two messages from every user, which share epsilon.

    >>> setting = UserMeanSetting(2000, -50, 50, 2.0, model="local", spread=1.0, records=100, failure=0.1)
    >>> BudgetSplit(setting=setting, first=1.0, second=1.0).missed_range < 0.051
    True
    """

    theorem: ClassVar[str] = (
        "one-bit Hadamard bin, then an LDP message on 6 tau; the epsilons add up (LSU 2.1, corrected)"
    )
    name: ClassVar[str] = "range, then mean, every user in both rounds"

    @property
    def epsilon(self) -> float:
        return float_up(as_decimal(self.stage.epsilon) + self.told)

    @property
    def finders(self) -> int:
        return self.setting.users

    @property
    def senders(self) -> int:
        return self.setting.users

    def ask(self, crowd: Crowd, exponent: int) -> UserMeanRelease:
        (found,) = find_ranges(crowd, (self.stage,), columns=(0,), exponents=(exponent,))
        value = self._told(crowd, exponent, found.window)
        return UserMeanRelease(self, value, found.window, found.near, found.near_error)


@dataclass(frozen=True, eq=False, kw_only=True)
class UserSplit(TwoRounds):
    """One message from every user: about the bin from ``chosen`` of them, drawn at random, about the mean from others.

    >>> setting = UserMeanSetting(2000, -50, 50, 1.0, model="local", spread=1.0, records=100, failure=0.1)
    >>> UserSplit(setting=setting, first=1.0, second=1.0, chosen=727).senders
    1273
    """

    theorem: ClassVar[str] = (
        "one-bit Hadamard bin of some users, an LDP message on 6 tau of the others (LSU 2.1, user split)"
    )
    name: ClassVar[str] = "range, then mean, every user in one round"

    chosen: int  # From 1 to one less than all users

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.chosen < self.setting.users:
            raise UsageError(f"chosen must be from 1 to {self.setting.users - 1}, got {self.chosen}; split the users.")

    @property
    def epsilon(self) -> float:
        """The larger of the two rounds: a user is in one."""
        return max(self.stage.epsilon, float_up(self.told))

    @property
    def finders(self) -> int:
        return self.chosen

    @property
    def senders(self) -> int:
        return self.setting.users - self.chosen

    def ask(self, crowd: Crowd, exponent: int) -> UserMeanRelease:
        """Deal the users out, and draw the one message of each: this spends."""
        first, second = np.split(draw_permutation(crowd.users), [self.chosen])
        (found,) = find_ranges(crowd, (self.stage,), columns=(0,), exponents=(exponent,), groups=(first,))
        value = self._told(crowd, exponent, found.window, (second,))
        return UserMeanRelease(self, value, found.window, found.near, found.near_error)


def local_candidates(
    setting: UserMeanSetting, epsilon: float, scalar: ScalarMaker = best_scalar
) -> tuple[LocalUserMean, ...]:
    """Return the ways at one local epsilon: one round, and where bins allow it both splits, even and tuned.

    Parameters
    ----------
    setting : UserMeanSetting
        Its own epsilon is not looked at.
    epsilon : float
        Of a user's messages together; cut to what randomizers accept.
    scalar : callable
        Maker of the randomizer of means.

    >>> setting = UserMeanSetting(2000, -50, 50, 2.0, model="local", spread=1.0, records=100)
    >>> [round(way.expected_error, 3) for way in local_candidates(setting, 2.0)]
    [1.141, 0.072, 0.061, 0.041]
    """
    whole = min(epsilon, LARGEST_SCALAR_EPSILON)
    found: list[LocalUserMean] = [OneRound(setting=setting, second=whole, scalar=scalar)]
    if not is_worth_a_range(setting) or whole < _LEAST_SPLIT:
        return tuple(found)

    def budget(part: float) -> LocalUserMean:
        first = max(float_down(as_decimal(whole) * as_decimal(part)), SMALLEST_SCALAR_EPSILON)
        stage = HadamardRange(setting.bins, setting.users, first, setting.elsewhere)
        rest = as_decimal(epsilon) - as_decimal(stage.epsilon)
        second = min(float_down(rest), LARGEST_SCALAR_EPSILON)
        return BudgetSplit(setting=setting, first=first, second=second, scalar=scalar)

    def users(part: float) -> LocalUserMean:
        chosen = min(max(1, round(part * setting.users)), setting.users - 1)
        return UserSplit(setting=setting, first=whole, second=whole, chosen=chosen, scalar=scalar)

    found += [budget(0.5), budget(best_part(budget))]
    if setting.users >= 2:
        found.append(users(best_part(users)))
    return tuple(found)
