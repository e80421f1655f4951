"""Choice of the best way to release the mean of users' vectors, by public numbers alone.

Ways differ in five things: with ranges or without; in the coordinates as they are or turned at random, where a radius
is known; with one coordinate a user or all; with epsilon divided between the two rounds or the users; and in the noise.
Without a range, messages about a ball are sides of random directions (:mod:`emdp.mechanisms.user_vector.directions`).
Each is priced by its expected error, missed ranges included, and those that miss the target failure come last.

Where epsilon or the users are divided, the part of round one is that of least expected error, on a grid of odds; the
division into halves is there as well, for comparison. With a shuffler all messages of a plan are equally strong, each
as strong as the numeric bounds allow, which takes a second or so to find: hence few plans. Candidates all spend at
most what the setting has.

One coordinate. With ``D = R = 1`` the theorems of :mod:`emdp.mechanisms.user_vector.central` and
:mod:`emdp.mechanisms.user_vector.local` are those of :mod:`emdp.mechanisms.user_mean.central` and
:mod:`emdp.mechanisms.user_mean.local`: a sensitivity of ``w/n`` in both norms, ``w = 6 tau`` at most, ``epsilon_1 +
epsilon_2`` for two rounds and the larger for two groups, over the same ranges and scalar randomizers; one round has
the same noise and the same error. The planners differ: at equal numbers the expected error of one is within 4 % of the
other's, to either side, since grids of parts and the margin of :func:`best_of` differ, and numbers may use a noisy
histogram, which is not here. With a shuffler numbers keep their own planner, which is sharper: it gives both rounds
messages of different strength (:mod:`emdp.mechanisms.user_mean.shuffle`), where all messages of a plan are equally
strong here. 20,000 users of 100 records in [-50, 50], spread 1, between 0.5, epsilon 1, delta 1e-6: an expected error
of 0.0091 there, 0.0217 here.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from emdp.base.errors import RefusedError
from emdp.mechanisms.scalar.randomizer import LARGEST_SCALAR_EPSILON, SMALLEST_SCALAR_EPSILON
from emdp.mechanisms.user_mean.choice import best_of, preference
from emdp.mechanisms.user_vector.base import UserVectorMechanism, UserVectorRelease
from emdp.mechanisms.user_vector.central import CentralUserVector
from emdp.mechanisms.user_vector.directions import direction_ways
from emdp.mechanisms.user_vector.local import LocalUserVector
from emdp.mechanisms.user_vector.setting import Frame, UserVectorSetting, ball_of, frames_of
from emdp.privacy.rounding import as_decimal, float_down, split
from emdp.privacy.shuffle.users import shuffle_epsilon0

__all__ = [
    "UserVectorMechanism",
    "UserVectorRelease",
    "UserVectorSetting",
    "best_user_vector",
    "user_vector_candidates",
]

Way = TypeVar("Way", bound=UserVectorMechanism)

_ODDS = tuple(0.6 * step for step in range(-12, 5))
# Logarithms of odds of round one's part: from 1 in 1,300 to 11 in 12.

_PARTS = (0.1, 0.25)
# Parts of the users who are asked for ranges, where messages are shuffled: each takes a search of its own.

_FINE = 6
# Steps of the second search, to each side of the best.


def best_user_vector(setting: UserVectorSetting) -> UserVectorMechanism:
    """Return the best of :func:`user_vector_candidates`.

    >>> setting = UserVectorSetting(40_000, (-10.0,) * 16, (10.0,) * 16, 2.0, model="local", spread=(1.0,) * 16,
    ...                             records=100)
    >>> best = best_user_vector(setting)
    >>> best.name, round(best.expected_error, 3), best.missed_range < 0.01
    ('range from some users, mean from the others; one coordinate a user', 0.167, True)
    """
    return best_of(user_vector_candidates(setting))


@lru_cache(maxsize=64)
def user_vector_candidates(setting: UserVectorSetting) -> tuple[UserVectorMechanism, ...]:
    """Return all ways that the setting allows, those without ranges first.

    Raises
    ------
    RefusedError
        If users' messages would have to be weaker than randomizers go.

    >>> setting = UserVectorSetting(100, (0.0, 0.0), (1.0, 1.0), 1.0, model="local")
    >>> [way.name for way in user_vector_candidates(setting)]
    ['the mean at once; one coordinate a user', 'the mean at once; all coordinates']
    """
    if setting.model == "central":
        return _central(setting)
    ways = _shuffled if setting.model == "shuffle" else _local
    messages = (way for frame in frames_of(setting) for way in ways(setting, frame))
    found: tuple[UserVectorMechanism, ...] = (*direction_ways(setting), *messages)
    if not found:
        raise RefusedError(f"epsilon = {setting.epsilon} is too small for {setting.dimension} coordinates; ask more.")
    return found


def _central(setting: UserVectorSetting) -> tuple[UserVectorMechanism, ...]:
    found: list[UserVectorMechanism] = []
    ball = ball_of(setting)
    for is_gaussian in (False, True) if setting.delta > 0 else (False,):
        frames = frames_of(setting)
        if is_gaussian and ball is not None:
            frames = (*(frame for frame in frames if not frame.is_cut), ball)
        for frame in frames:
            if frame.ranged:
                found.append(_tuned(_central_maker(setting, frame, is_gaussian)).tightened())
            else:
                found.append(CentralUserVector(setting, frame, 0.0, float(setting.epsilon), is_gaussian))
    return tuple(found)


def _central_maker(setting: UserVectorSetting, frame: Frame, is_gaussian: bool) -> Callable[[float], CentralUserVector]:
    def make(part: float) -> CentralUserVector:
        choices = len(frame.ranged)
        first = min(float_down(as_decimal(setting.epsilon) * as_decimal(part) / choices), LARGEST_SCALAR_EPSILON)
        second = float_down(as_decimal(setting.epsilon) - choices * as_decimal(first))
        return CentralUserVector(setting, frame, first, second, is_gaussian)

    return make


def _local(setting: UserVectorSetting, frame: Frame) -> list[LocalUserVector]:
    whole, found = min(float(setting.epsilon), LARGEST_SCALAR_EPSILON), []
    for is_sampled in _reports(setting, frame):
        if whole < 4.0 * (1 if is_sampled else frame.width) * SMALLEST_SCALAR_EPSILON:
            continue
        if not frame.ranged:
            found.append(LocalUserVector(setting, frame, "one round", is_sampled, (0.0, whole), 0))
            continue
        budget = _budget_maker(setting, frame, is_sampled, whole)
        found += [budget(0.5), _tuned(budget)]
        if setting.users >= 2:
            found.append(_tuned(_users_maker(setting, frame, is_sampled, whole)))
    return found


def _shuffled(setting: UserVectorSetting, frame: Frame) -> list[LocalUserVector]:
    found = []
    for is_sampled in _reports(setting, frame) if setting.users >= 4 else ():
        # one bit, which has a pair of its own, or what is best of what has not
        for is_bit in (True,) if frame.is_turned else (False, True):
            found += _mixed(setting, frame, is_sampled=is_sampled, is_bit=is_bit)
    return found


def _mixed(setting: UserVectorSetting, frame: Frame, *, is_sampled: bool, is_bit: bool) -> list[LocalUserVector]:
    users, found = setting.users, []
    first, second = (1, 1) if is_sampled else (len(frame.ranged), frame.width)
    if not frame.ranged:
        strength = _strength(setting, users, second, is_bit=is_bit)
        pair = 0.0, strength
        return [LocalUserVector(setting, frame, "one round", is_sampled, pair, 0, is_bit)] if strength > 0 else []
    whole = _strength(setting, users, first + second, is_bit=is_bit)
    if whole > 0:
        strengths = split(whole, (first, second))
        pair = strengths[0], strengths[1]
        found.append(LocalUserVector(setting, frame, "two rounds", is_sampled, pair, users, is_bit))
    for part in _PARTS:
        early = min(max(round(part * users), 2), users - max(2, second))
        pair = _strength(setting, early, first), _strength(setting, users - early, second, is_bit=is_bit)
        if min(pair) > 0 and users - early >= frame.width:
            found.append(LocalUserVector(setting, frame, "two groups", is_sampled, pair, early, is_bit))
    return found


def _reports(setting: UserVectorSetting, frame: Frame) -> tuple[bool, ...]:
    """Return whether users may report one coordinate, and whether all of them."""
    return (True, False) if frame.width > 1 and setting.users >= 2 * frame.width else (False,)


def _strength(setting: UserVectorSetting, users: int, messages: int, *, is_bit: bool = True) -> float:
    """Return epsilon of so many equal messages of each user that are shuffled; 0 if it is too small for one."""
    kind = "place-sign" if is_bit else "any"
    each = min(_message_strength(float(setting.epsilon), users, setting.delta, messages, kind), LARGEST_SCALAR_EPSILON)
    return float_down(as_decimal(each) * messages) if each >= 2.0 * SMALLEST_SCALAR_EPSILON else 0.0


@lru_cache(maxsize=1024)
def _message_strength(epsilon: float, users: int, delta: float, messages: int, kind: str) -> float:
    return shuffle_epsilon0(epsilon, users, delta, rounds=messages, randomizer=kind)


def _budget_maker(
    setting: UserVectorSetting, frame: Frame, is_sampled: bool, whole: float
) -> Callable[[float], LocalUserVector]:
    def make(part: float) -> LocalUserVector:
        least = (1 if is_sampled else frame.width) * 2.0 * SMALLEST_SCALAR_EPSILON
        first = min(max(float_down(as_decimal(whole) * as_decimal(part)), least), whole - least)
        second = float_down(as_decimal(whole) - as_decimal(first))
        return LocalUserVector(setting, frame, "two rounds", is_sampled, (first, second), setting.users)

    return make


def _users_maker(
    setting: UserVectorSetting, frame: Frame, is_sampled: bool, whole: float
) -> Callable[[float], LocalUserVector]:
    def make(part: float) -> LocalUserVector:
        least = frame.width if is_sampled else 1
        first = min(max(round(part * setting.users), least), setting.users - least)
        return LocalUserVector(setting, frame, "two groups", is_sampled, (whole, whole), first)

    return make


def _tuned(make: Callable[[float], Way]) -> Way:
    """Return the best of the ways that give round one a part in (0, 1)."""

    def at(odds: float) -> Way:
        return make(1.0 / (1.0 + math.exp(-odds)))

    best = min(_ODDS, key=lambda odds: preference(at(odds)))
    step = (_ODDS[1] - _ODDS[0]) / _FINE
    return min((at(best + place * step) for place in range(1 - _FINE, _FINE)), key=preference)
