"""Several means over the users who are somewhere: each by the best way for one, at its part of the budget.

Theorem. Ways for single means, each ``(epsilon_i, delta_i)`` at user level, together are ``(sum epsilon_i, sum
delta_i)``: in the local model by what a user sends in all, in the shuffle model if the messages of each mean are mixed
by themselves, in the central one in any case. *Proof.* Each is ``(epsilon_i, delta_i)`` whatever the others released;
adaptive composition. ∎ Every one gets the same part of epsilon and delta, rounded down.

A joint range of a vector (:mod:`emdp.mechanisms.user_vector`) would cost less, and turns coordinates into one another:
a user without a vector is at no place of a turned one, so that it is not made here.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.crowd import Crowd, GatheredUsers, Groups, Question, Sums
from emdp.mechanisms.user_mean.base import UserMeanMechanism, UserMeanSetting
from emdp.mechanisms.user_mean.choice import best_of
from emdp.mechanisms.user_mean.somewhere import SomewhereMean, SomewhereRelease
from emdp.privacy.rounding import as_decimal, float_down, float_up

__all__ = ["SeveralMeans", "SeveralReleases", "divided", "several_means"]


@dataclass(frozen=True, eq=False)
class SeveralReleases:
    """Released means, one after the other."""

    parts: tuple[SomewhereRelease, ...]
    mechanism: "SeveralMeans"

    @property
    def value(self) -> tuple[Fraction | None, ...]:
        """The means; None of which nothing is known, the share of users being within its own noise."""
        return tuple(None if part.is_unknown else part.value for part in self.parts)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Intervals that users were clipped to."""
        return tuple(part.range for part in self.parts)

    @property
    def share(self) -> Fraction:
        """Noisy share of users who have a mean, as the first one tells it."""
        return self.parts[0].share

    def interval(self, place: int, level: float) -> tuple[float, float]:
        """Return ends that hold a mean with probability at least ``level``; see :class:`UserMeanRelease`."""
        return self.parts[place].interval(level)


@dataclass(frozen=True, eq=False)
class SeveralMeans:
    """Ways of several means, each of users some of whom have no numbers.

    Raises
    ------
    UsageError
        If they cost more than the setting has.

    >>> from emdp.mechanisms.user_mean.range_bins import ABSENT
    >>> whole = UserMeanSetting(1000, 0.0, 1.0, 2.0, elsewhere=True)
    >>> way = several_means(whole, divided(whole, [(0.0, 1.0), (0.0, 4.0)], [None] * 2, [0.0] * 2))[0]
    >>> way.epsilon, way.parts[1].setting.epsilon
    (2.0, 1.0)
    """

    is_exact: ClassVar[bool] = False

    # Of all of them: its epsilon, delta and failure are divided; its bounds are those of the first.
    setting: UserMeanSetting
    parts: tuple[SomewhereMean, ...]  # A way for each

    def __post_init__(self) -> None:
        if not self.parts or any(not isinstance(part, SomewhereMean) for part in self.parts):
            raise UsageError("parts must be ways of means of users who may be elsewhere; pass several_means(setting).")
        self.check_budget()

    @property
    def name(self) -> str:
        """Names of the ways."""
        return f"{len(self.parts)} means apart: {', '.join(dict.fromkeys(part.name for part in self.parts))}"

    @property
    def theorem(self) -> str:
        return f"{self.parts[0].theorem}; of {len(self.parts)} means the parts add up"

    @property
    def epsilon(self) -> float:
        """Sum over the means, rounded up."""
        return self._added(lambda part: part.epsilon)

    @property
    def delta(self) -> float:
        """Sum over the means, rounded up."""
        return self._added(lambda part: part.delta)

    @property
    def slack_epsilon(self) -> float:
        """Sum over the means, rounded up."""
        return self._added(lambda part: part.slack_epsilon)

    @property
    def slack_delta(self) -> float:
        """Sum over the means, rounded up; within ``delta``."""
        return self._added(lambda part: part.slack_delta)

    @property
    def epsilon0(self) -> float | None:
        """Epsilon of all messages of a user for who sees them with the sender; None in the central model."""
        if any(part.epsilon0 is None for part in self.parts):
            return None
        return self._added(lambda part: part.epsilon0 or 0.0)

    @property
    def is_apart(self) -> bool:
        """Whether messages must be mixed apart: of several means they always must."""
        return self.setting.model == "shuffle"

    @property
    def missed_range(self) -> float:
        """Bound on the probability that some range is missed."""
        return min(1.0, math.fsum(part.missed_range for part in self.parts))

    @property
    def users_needed(self) -> int:
        """Users at which no range is missed more often than was asked."""
        return max(part.users_needed for part in self.parts)

    @property
    def deviation(self) -> float:
        """Root of the expected squared 2-norm of the error where no range is missed."""
        return math.hypot(*(part.deviation for part in self.parts))

    @property
    def expected_error(self) -> float:
        """Root of the expected squared 2-norm of the error, whether or not ranges are missed."""
        return math.hypot(*(part.expected_error for part in self.parts))

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return what is public of the first mean's way, and that the others have as much."""
        apart = f"each of {len(self.parts)} means has the same part of epsilon and delta, and a way of its own"
        return (*self.parts[0].facts(unit), ("means", apart))

    def check_budget(self) -> None:
        """Raise ``UsageError`` if more would be spent than the setting has: a matter of public numbers alone."""
        for spent, whole, name in (
            (self.epsilon, self.setting.epsilon, "epsilon"),
            (self.delta, self.setting.delta, "delta"),
        ):
            if as_decimal(spent) > as_decimal(whole):
                raise UsageError(f"{name} of the means comes to {spent}, above {whole}; divide the budget otherwise.")

    def release(self, blocks: Iterator[Integers], exponents: Sequence[int], neutral: Sequence[int]) -> SeveralReleases:
        """Draw all means from users' own, shape (rows, d) each, those who are left being ``neutral``: this spends."""
        rows, users = [np.asarray(block, dtype=np.int64) for block in blocks], self.setting.users
        present = sum(map(len, rows))
        if present > users or any(block.shape[1:] != (len(self.parts),) for block in rows):
            raise InternalError("the engine's means are of other users or columns than planned; please report it.")
        rest = np.repeat(np.array([list(neutral)], dtype=np.int64), users - present, axis=0)
        return self.ask(GatheredUsers(iter([np.concatenate([*rows, rest])]), users), exponents)

    def ask(self, crowd: Crowd, exponents: Sequence[int]) -> SeveralReleases:
        """Draw all means from whoever holds the users' own: this spends."""
        self.check_budget()
        found = []
        for place, (part, exponent) in enumerate(zip(self.parts, exponents, strict=True)):
            own = _Asked(crowd.mapped(partial(_column, place=place)), is_last=place == len(self.parts) - 1)
            released = part.ask(own, exponent)
            if not isinstance(released, SomewhereRelease):
                raise InternalError("a mean of users who may be elsewhere has no share; please report it.")
            found.append(released)
        return SeveralReleases(tuple(found), self)

    def _added(self, cost: Callable[[SomewhereMean], float]) -> float:
        return float_up(sum((as_decimal(cost(part)) for part in self.parts), Fraction(0)))


@dataclass(frozen=True, eq=False, repr=False)
class _Asked:
    """A crowd that is asked again afterwards, unless this is the last mean."""

    crowd: Crowd
    is_last: bool

    @property
    def users(self) -> int:
        return self.crowd.users

    def added(self, question: Question, groups: Groups | None = None, *, is_last: bool = False) -> Sums:
        return self.crowd.added(question, groups, is_last=is_last and self.is_last)

    def mapped(self, change: Callable[[Integers], Integers]) -> "_Asked":
        return _Asked(self.crowd.mapped(change), self.is_last)


def _column(values: Integers, place: int) -> Integers:
    return values[:, place : place + 1]


def divided(
    whole: UserMeanSetting,
    bounds: Sequence[tuple[float, float]],
    spreads: Sequence[float | None],
    between: Sequence[float],
) -> tuple[UserMeanSetting, ...]:
    """Return the settings of several means that have the same parts of a whole's epsilon, delta and failure."""
    count = len(bounds)
    return tuple(
        UserMeanSetting(
            whole.users, low, high, float_down(as_decimal(whole.epsilon) / count),
            float_down(as_decimal(whole.delta) / count), whole.model, spread, apart, whole.records,
            float_down(as_decimal(whole.failure) / count), whole.error, elsewhere=True,
        )
        for (low, high), spread, apart in zip(bounds, spreads, between, strict=True)
    )  # fmt: skip


def several_means(whole: UserMeanSetting, settings: Sequence[UserMeanSetting]) -> tuple[SeveralMeans, ...]:
    """Return ways of several means: without ranges, with one for each where each has one, and the best of each.

    Parameters
    ----------
    settings : sequence of UserMeanSetting
        Of each; see :func:`divided`.
    """
    # Loaded where it is needed: it knows all ways of one mean.
    from emdp.mechanisms.user_mean.plan import user_mean_candidates

    each: list[tuple[UserMeanMechanism, ...]] = [user_mean_candidates(setting) for setting in settings]
    chosen = []
    for is_ranged in (False, True):
        fitting = [[way for way in ways if (way.missed_range > 0) == is_ranged] for ways in each]
        if all(fitting):
            chosen.append([best_of(ways) for ways in fitting])
    best = [best_of(ways) for ways in each]
    if best not in chosen:
        chosen.append(best)
    found = []
    for own in chosen:
        parts = tuple(way for way in own if isinstance(way, SomewhereMean))
        if len(parts) == len(own):
            found.append(SeveralMeans(whole, parts))
    return tuple(found)
