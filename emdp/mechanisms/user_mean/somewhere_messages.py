"""A mean over the users who are somewhere, from messages of every user, mixed or not.

Setting: that of :mod:`emdp.mechanisms.user_mean.somewhere`.

Theorem (messages). Deal the users out, without a look at the data: those of the first part send messages about ``v``,
in one round or two, in which a user without a number has the interval's lower end ``c``; those of the second one
message about whether they have a number. If either part is ``epsilon``-LDP, or ``(epsilon, delta)``-DP when its
messages are mixed, so is the whole. *Proof.* A user is in one part, and what the other part sends has a law that does
not depend on that user; who is in which part is drawn without the data, and mixing over it raises no divergence. ∎ Then
``E[first] = c + E[(v - c) 1]``, so ``R - c`` is the quotient of ``first - c`` and ``second``.

Intervals hold by the messages' laws and, for the deal, Serfling's inequality (1974) for means of ``k`` of ``n`` numbers
in an interval of length ``w``.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.crowd import Crowd, PartOfCrowd
from emdp.mechanisms.user_mean.base import HIGHEST_LEVEL, UserMeanSetting
from emdp.mechanisms.user_mean.choice import best_of
from emdp.mechanisms.user_mean.local import LocalUserMean, TwoRounds, local_candidates
from emdp.mechanisms.user_mean.range_bins import ABSENT
from emdp.mechanisms.user_mean.range_stage import RangeStage
from emdp.mechanisms.user_mean.shuffle import ShuffledUserMean, shuffle_candidates
from emdp.mechanisms.user_mean.somewhere import SomewhereMean, SomewhereRelease, uneven
from emdp.noise.choices import draw_permutation

__all__ = ["DealtSomewhere", "dealt_somewhere", "has_number"]

Inner = LocalUserMean | ShuffledUserMean

TOLD_APART = 3
"""One user in so many sends a message about having a number: near the best where half of the interval is its error."""

FEWEST = 4
"""Users whose messages can be dealt out and mixed."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DealtSomewhere(SomewhereMean):
    """Messages about their mean from some users, and about having one from the others, mixed or not.

    >>> setting = UserMeanSetting(9000, 0.0, 1.0, 2.0, model="local", elsewhere=True)
    >>> (way,) = dealt_somewhere(setting)
    >>> way.inner.setting.users, way.told.setting.users, way.epsilon <= 2.0
    (6000, 3000, True)
    """

    everybody: UserMeanSetting  # Of all users
    inner: Inner  # Messages of those who tell of their mean, of a setting with `elsewhere`
    told: Inner  # Messages of the others, in one round, on [0, 1]

    @property
    def whole(self) -> UserMeanSetting:
        return self.everybody

    @property
    def theorem(self) -> str:
        return f"users dealt out to a mean and a share; {self.inner.theorem}"

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def stage(self) -> RangeStage | None:
        way = _way(self.inner)
        return way.stage if isinstance(way, TwoRounds) else None

    @property
    def window(self) -> tuple[float, float]:
        return _way(self.inner).nominal

    @cached_property
    def epsilon(self) -> float:
        """The larger of the two parts: a user is in one."""
        return max(self.inner.epsilon, self.told.epsilon)

    @property
    def delta(self) -> float:
        return max(self.inner.delta, self.told.delta)

    @property
    def epsilon0(self) -> float | None:
        return max(_way(self.inner).epsilon0, _way(self.told).epsilon0)

    @property
    def is_apart(self) -> bool:
        return self.inner.is_apart or self.told.is_apart

    @property
    def missed_range(self) -> float:
        return self.inner.missed_range

    @property
    def users_needed(self) -> int:
        return math.ceil(self.inner.users_needed * self.setting.users / self.inner.setting.users)

    @property
    def deviation(self) -> float:
        """Deviation of the quotient where all are somewhere and the mean is in the middle of the interval."""
        return math.hypot(self.inner.deviation, self._besides)

    @property
    def expected_error(self) -> float:
        return math.hypot(self.inner.expected_error, self._besides)

    @property
    def _besides(self) -> float:
        low, high = self.window
        part = 1.0 / self.inner.setting.users - 1.0 / self.setting.users
        spread = 0.25 * (high - low) if self.setting.deviation is None else self.setting.deviation
        return math.hypot(0.5 * (high - low) * self.told.deviation, spread * math.sqrt(part))

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        users, way = self.told.setting.users, _way(self.told)
        share = f"of users who are somewhere: epsilon {way.epsilon:.6g}, {users} users"
        return (*self.inner.facts(unit), ("share", share))

    def ask(self, crowd: Crowd, exponent: int) -> SomewhereRelease:
        """Deal the users out, and draw the messages of both parts: this spends."""
        first, second = np.split(draw_permutation(crowd.users), [self.inner.setting.users])
        found = self.inner.ask(PartOfCrowd(crowd, first), exponent)
        told = self.told.ask(PartOfCrowd(crowd.mapped(has_number), second, is_last=True), 0)
        above = found.value - self._start(found.range, exponent)
        return self._quotient(found.range, exponent, above, told.value, (found.near, found.near_error))

    def spans(self, release: SomewhereRelease, tail: float) -> tuple[tuple[float, float], tuple[float, float]]:
        own, told = _way(self.inner), _way(self.told)
        low, high = release.range
        start, above = release.parts
        level = min(1.0 - tail / 4, HIGHEST_LEVEL)
        ends = own.scalar(low, high, own.second).interval(float(start + above), own.senders, level)
        off = uneven(own.senders, self.setting.users, high - low, tail / 4)
        numerator = tuple(float(Fraction(one) - start) for one in ends)
        share = told.scalar(0.0, 1.0, told.second).interval(float(release.share), told.senders, level)
        less = uneven(told.senders, self.setting.users, 1.0, tail / 4)
        return (numerator[0] - off, numerator[1] + off), (share[0] - less, min(share[1] + less, 1.0))

    def _start(self, window: tuple[float, float], exponent: int) -> Fraction:
        way = _way(self.inner)
        return way.scalar(*window, way.second).start


def has_number(values: Integers) -> Integers:
    """Return 1 for users who have a number, else 0."""
    return np.asarray(values != ABSENT, dtype=np.int64)


def dealt_somewhere(setting: UserMeanSetting) -> tuple[DealtSomewhere, ...]:
    """Return every way of a setting whose users may be elsewhere, the one without a range first."""
    users = setting.users
    if users < FEWEST:
        raise UsageError(
            f"users must be at least {FEWEST} in the {setting.model} model, got {users}; ask the central one."
        )
    other = max(users // TOLD_APART, 2)
    own = replace(setting, users=users - other)
    share = UserMeanSetting(other, 0.0, 1.0, setting.epsilon, setting.delta, setting.model, failure=setting.failure)
    if setting.model == "local":
        alone = best_of(local_candidates(share, setting.epsilon))
        return tuple(
            DealtSomewhere(everybody=setting, inner=way, told=alone) for way in local_candidates(own, setting.epsilon)
        )
    mixed = best_of(shuffle_candidates(share))
    return tuple(DealtSomewhere(everybody=setting, inner=way, told=mixed) for way in shuffle_candidates(own))


def _way(inner: Inner) -> LocalUserMean:
    return inner.inner if isinstance(inner, ShuffledUserMean) else inner
