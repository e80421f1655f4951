"""The mean of users' vectors in a ball at once, by sides of random directions, in the local or the shuffle model.

Where a radius is known and no range is looked for, a user's vector is the mean of records within ``r`` of the middle of
the bounds, and is clipped to that ball. Coordinates of it that were turned at random would have to be cut at ``r
sqrt(2 ln(2 n D/beta)/D)``, so that bits of them err by ``2 ln(2 n D/beta) D r^2 c^2/n`` in the squared 2-norm; sides of
directions err by ``(pi/2) d r^2 c^2/n`` and cut nothing. In the shuffle model a user sends ``T``, each mixed apart.

Theorem. In the local model a user's message is pure ``epsilon``-LDP (:mod:`emdp.mechanisms.vector.direction`). In the
shuffle model all reports together are ``(epsilon, delta)``-DP at user level by ``T`` rounds of place-sign messages
(:mod:`emdp.mechanisms.vector.mixed_directions`), and ``T epsilon'``-LDP for whoever sees a user's own. Nothing is
assumed of the data.

Proof. A user's vector enters nothing but its reports. Where it is, in fixed point and less the public middle, is
computed from that user's numbers alone; what follows is the randomizer's theorem, for any vector.

Error. The estimate is unbiased for the mean of the clipped vectors, ``M^2/(n T)`` in the squared 2-norm at most. One
coordinate is the average of ``N = n T`` independent terms ``M s u_j``, each with a variance of at most ``M^2/d`` (``u``
is uniform on the sphere) and at least ``M^2/d - r^2``, within ``M + r`` of its mean. Its interval is the shorter of
Bernstein's and that of Berry and Esseen (:mod:`emdp.mechanisms.tails`), where ``E|X|^3 <= sqrt(V) (m_4 + r)^2``,
``m_4^4 = 3 M^4/(d (d + 2))`` the fourth moment of ``M u_j``.

How many. By the normal limit of the pairs the error of ``T`` reports is ``1/(1 - t)`` times that of ever more, so that
more are not sent than bring that to 2.25, nor than :data:`MOST_REPORTS`, nor than all users' directions take a minute.
"""

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.crowd import Crowd, Groups, Sums
from emdp.mechanisms.tails import bernstein_half, normal_half
from emdp.mechanisms.user_vector.base import UserVectorMechanism, UserVectorRelease
from emdp.mechanisms.user_vector.setting import UserVectorSetting, ball_of
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.mechanisms.vector.mixed_directions import MixedDirections
from emdp.privacy.rounding import as_decimal, float_down
from emdp.privacy.shuffle.planes import enough_messages
from emdp.privacy.shuffle.renyi_rounds import ShuffleRound, likely_epsilon0
from emdp.privacy.shuffle.users import UserShuffleBound, shuffle_epsilon0, shuffle_total

__all__ = ["MOST_REPORTS", "DirectionUserVector", "SideSums", "direction_ways"]

MOST_REPORTS = 64
"""Most reports of a user that are chosen."""

_MOST_NUMBERS = 2**30
# Normal quantiles that all users' directions take in all: about a minute.

_ENOUGH = 2.25
_STRONGEST = 30.0
_LEAST = 1e-5
_AT_ONCE = 2**14
_MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class SideSums:
    """Tallies of users' reports, a question to a crowd.

    >>> asked = SideSums(VectorDirection(2, 1.0, 1.0, 10), (0.0, 0.0), (4, 4))
    >>> asked.sums(np.zeros((10, 2), dtype=np.int64), None).shape
    (2,)
    """

    law: VectorDirection
    centres: tuple[float, ...]  # Middle of the ball
    exponents: tuple[int, ...]  # Of the fixed point of users' numbers

    @property
    def size(self) -> int:
        return self.law.dimension

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        """Draw the reports, and return their tally: this spends."""
        if groups is not None:
            values = values[np.concatenate(groups)]
        total, scales = np.zeros(self.size, dtype=object), -np.array(self.exponents, dtype=np.int64)
        for first in range(0, len(values), _AT_ONCE):
            part = np.ldexp(values[first : first + _AT_ONCE].astype(np.float64), scales) - np.array(self.centres)
            total = total + self.law.tally(self.law.encode(part)).astype(object)
        return total


@dataclass(frozen=True, eq=False)
class DirectionUserVector(UserVectorMechanism):
    """Sides of directions of all users, and the mean they estimate; see :class:`UserVectorMechanism`.

    Raises
    ------
    UsageError
        If the setting has no radius, or trusts a curator.

    Guarantee
    ---------
    Pure user-level ``epsilon0``-LDP; after shuffling ``(epsilon, delta)``. The module's text has the proof.

    >>> setting = UserVectorSetting(5000, (-1.0, -1.0), (1.0, 1.0), 2.0, model="local", radius=1.0)
    >>> (way,) = direction_ways(setting)
    >>> released = way.release(iter([np.full((5000, 2), 2**39)]), (40, 40), (0, 0))
    >>> abs(float(released.value[1]) - 0.5) < 0.3, way.epsilon, round(way.deviation, 3)
    (True, 2.0, 0.029)
    """

    name: ClassVar[str] = "the mean at once; sides of random directions"

    strength: float  # Epsilon of all of a user's reports in the local model; of one of them in the shuffle model
    reports: int

    slack_epsilon: ClassVar[float] = 0.0
    slack_delta: ClassVar[float] = 0.0
    users_needed: ClassVar[int] = 1
    theorem: ClassVar[str] = "sides of random directions of a ball, place-sign messages (one-bit-and-sampling.md 3a)"

    def __post_init__(self) -> None:
        if self.setting.radius is None or self.setting.model == "central":
            raise UsageError("setting must have a radius, and a model of messages; use bits of coordinates otherwise.")
        check_count("reports", self.reports)

    @property
    def is_mixed(self) -> bool:
        """Whether messages go through a shuffler."""
        return self.setting.model == "shuffle"

    @cached_property
    def law(self) -> VectorDirection:
        """The randomizer."""
        ball = self.setting.dimension, float(self.setting.radius or 0.0), self.strength, self.setting.users
        return MixedDirections(*ball, reports=self.reports) if self.is_mixed else VectorDirection(*ball)

    @property
    def epsilon0(self) -> float:
        return self.law.epsilon

    @property
    def epsilon(self) -> float:
        return self._shuffled.epsilon if self.is_mixed else self.law.epsilon

    @property
    def delta(self) -> float:
        return self._shuffled.delta if self.is_mixed else 0.0

    @property
    def is_apart(self) -> bool:
        return self.is_mixed and self.law.reports > 1

    @property
    def deviation(self) -> float:
        return math.sqrt(self.law.squared_error())

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        sent = f"{self.law.reports} directions a user, {self.law.bits} bits in all"
        shown: list[tuple[str, str]] = [("messages", self.name), ("mean", sent)]
        if self.is_mixed:
            shown.append(("before mixing", f"epsilon {self.epsilon0:.6g} of all messages of a user, pure"))
        return tuple(shown)

    def wrong_bins(self, *, tolerant: bool = False) -> tuple[float, ...]:
        """Return zeros: no range is looked for."""
        del tolerant
        return (0.0,) * self.frame.width

    def ask(self, crowd: Crowd, exponents: Sequence[int]) -> UserVectorRelease:
        """Draw the reports of all users and the mean they tell: this spends; see the base class."""
        self.check_budget()
        centres = self.setting.centres
        tally = crowd.added(SideSums(self.law, centres, tuple(exponents)), is_last=True)
        told = self.law.decode(np.array(tally, dtype=np.int64), self.setting.users)
        value = tuple(float(one) + centre for one, centre in zip(told, centres, strict=True))
        return UserVectorRelease(value, self.frame.windows, self)

    def ends(self, released: UserVectorRelease, coordinate: int, tail: float) -> tuple[float, float]:
        value, half = float(released.value[coordinate]), self._half(tail) * (1 + _MARGIN)
        return value - half, value + half

    @cached_property
    def _shuffled(self) -> UserShuffleBound:
        law = self.law
        own = law.each_epsilon if isinstance(law, MixedDirections) else law.epsilon
        sent = ShuffleRound(own, self.setting.users, "place-sign", rounds=law.reports)
        return shuffle_total((sent,), self.setting.delta)

    def _half(self, tail: float) -> float:
        size, radius, length = self.law.dimension, float(self.setting.radius or 0.0), self.law.length
        terms, variance, skew = self.setting.users * self.law.reports, length**2 / size, math.inf
        least = variance - radius**2
        if least > 0.0:
            fourth = length * (3.0 / (size * (size + 2.0))) ** 0.25
            skew = math.sqrt(variance) * (fourth + radius) ** 2 / least**1.5
        return min(bernstein_half(variance, length + radius, terms, tail), normal_half(variance, skew, terms, tail))


def direction_ways(setting: UserVectorSetting) -> tuple[DirectionUserVector, ...]:
    """Return the way of a setting with a radius, as strong as it may be; none without one, or where it is too weak.

    >>> setting = UserVectorSetting(1000, (-1.0,) * 300, (1.0,) * 300, 1.0, 1e-5, "shuffle", radius=1.0)
    >>> (way,) = direction_ways(setting)
    >>> way.reports, way.deviation**2 < 0.1
    (26, True)
    """
    frame, users = ball_of(setting), setting.users
    if frame is None or setting.model == "central":
        return ()
    if setting.model == "local":
        whole = min(float(setting.epsilon), _STRONGEST)
        return () if whole < _LEAST else (DirectionUserVector(setting, frame, whole, 1),)
    if users < 2:
        return ()
    reports = _reports(setting)
    each = min(_each(float(setting.epsilon), users, setting.delta, reports), _STRONGEST)
    return () if each < _LEAST else (DirectionUserVector(setting, frame, float_down(as_decimal(each)), reports),)


def _reports(setting: UserVectorSetting) -> int:
    likely = likely_epsilon0(float(setting.epsilon), setting.delta, ShuffleRound(1.0, setting.users, "place-sign"))
    count = enough_messages(math.tanh(0.5 * likely), _ENOUGH)
    affordable = _MOST_NUMBERS // (setting.users * setting.dimension)
    return max(1, min(count, MOST_REPORTS, affordable))


@lru_cache(maxsize=256)
def _each(epsilon: float, users: int, delta: float, reports: int) -> float:
    return shuffle_epsilon0(epsilon, users, delta, reports, randomizer="place-sign")
