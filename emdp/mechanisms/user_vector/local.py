"""The mean of users' vectors from messages: ranges of the coordinates first, then the mean inside them.

Round one (local-shuffle-userlevel.md 2.1, 2.2). A user sends, about one coordinate or about each, the bin of its value
by one-bit Hadamard response (:mod:`emdp.mechanisms.oracles.hadamard_bit`). A coordinate's range is ``3 tau`` around the
centre of its best bin, within the bounds. Round two. With the ranges public, a user sends its value, clipped to the
range, by a scalar randomizer (:mod:`emdp.mechanisms.scalar.randomizer`) about one coordinate or about each. What a
message counts for is measured *from the middle of the range*: the published estimator measures from 0 and pays ``(d -
1) ||y||^2/n`` more.

Theorem. Let a round's messages about one coordinate be pure ``e``-LDP. A user's messages of that round are ``e``-LDP
where it reports one coordinate that was chosen without the data, and ``D e``-LDP where it reports all ``D``. Both
rounds together are ``(e1 + e2)``-LDP where all users take part in both (*two rounds*), and ``max(e1, e2)``-LDP where
users are divided beforehand (*two groups*). Nothing is assumed of the data.

Proof. Sequential composition for one user: the randomizers of round two depend on round one through ranges that are
public. A user of one group sends nothing in the other.

Shuffle. If a shuffler hides who sent what, each round is one shuffle (``D`` where all coordinates are reported, each
with messages of its own) of the users' pure messages, coordinates chosen independently by each user so that all have
one randomizer; what they guarantee together is :func:`emdp.privacy.shuffle.users.shuffle_total`. A user of one of two
groups is in one round alone, so that the larger epsilon counts. Every user keeps the guarantee above against the
shuffler. A message about a bin is a place (coordinate and row, drawn without the data) and a sign, and so is one bit
about a sampled coordinate: they have the pair of :mod:`emdp.privacy.shuffle.place_sign`. Bounds for two outputs are
used where a message is one bit about one coordinate, never for others; other laws are priced by their strength alone.

Wrong bins. The bound ``(k - 1) phi^N`` of :mod:`emdp.mechanisms.user_mean.range_stage` is for any ``N`` users whose
values meet at most two bins, so for users chosen without the data. In the local model users are dealt out evenly. Where
each chooses one of ``R`` coordinates itself, ``N`` is binomial; the bound's mean is ``(k - 1) (1 - (1 - phi)/R)^n``.

Error. Round two's estimate is unbiased for the mean of the clipped values. Its variance is that of the scalar
randomizer over the ``N`` users who report the coordinate, and ``(1/N - 1/n) s^2`` for their choice, ``s`` the
sub-Gaussian parameter of users' values. One bit counts for ``h c`` exactly, ``h`` half of the range and ``c = (e^e +
1)/(e^e - 1)``, so that ``h^2 c^2/N`` bounds both parts of its variance: ``9 tau^2 D^2 c^2/n`` for the squared 2-norm of
the error with ``N = n/D``. In a turned frame, where one bit is used, each user chooses the coordinate itself and the
sum is divided by ``n/D``, not by who came: a message moves a coordinate of the answer by ``sqrt(D) h c/n``, users are
independent, and Hoeffding's bound is ``sqrt(2 ln(2/tail))`` times that of the deviation. Elsewhere an interval is the
scalar randomizer's for half of the tail, widened by ``s sqrt(2 ln(4/tail) (1/N - 1/n))`` for the choice of users: a sum
``sum_u a_u (y_u - mu)`` with ``sum a_u^2 = 1/N - 1/n``; or, where nothing is known of the spread, ``h`` for ``s`` and
``1/N`` in the bracket (Hoeffding 1963, samples without replacement).
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import ClassVar, Literal

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.crowd import Crowd
from emdp.mechanisms.scalar.best import best_scalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.scalar.randomizer import NUMBER_BITS, ScalarRandomizer
from emdp.mechanisms.user_mean.base import HIGHEST_LEVEL
from emdp.mechanisms.user_mean.crowd_questions import Messages, find_ranges
from emdp.mechanisms.user_mean.range_stage import HadamardRange, hadamard_failure, least_users
from emdp.mechanisms.user_vector.base import UserVectorMechanism, UserVectorRelease
from emdp.mechanisms.user_vector.rotation import draw_rotation
from emdp.noise.choices import draw_below, draw_permutation
from emdp.privacy.rounding import as_decimal, float_down, float_up
from emdp.privacy.shuffle.users import ShuffleRound, shuffle_total

__all__ = ["LocalUserVector", "Rounds"]

Rounds = Literal["one round", "two rounds", "two groups"]
Maker = Callable[[float, float, float], ScalarRandomizer]


@dataclass(frozen=True, eq=False)
class LocalUserVector(UserVectorMechanism):
    """Messages of all users and the mean they estimate; see :class:`UserVectorMechanism`.

    Guarantee
    ---------
    Pure user-level ``epsilon0``-LDP; after shuffling ``(epsilon, delta)``. The module's text has the proof.

    >>> from emdp.mechanisms.user_vector.setting import UserVectorSetting, frames_of
    >>> setting = UserVectorSetting(5000, (0.0, -50.0), (9.0, 50.0), 2.0, model="local", spread=(1.0, 1.0), records=100)
    >>> _, frame = frames_of(setting)
    >>> mechanism = LocalUserVector(setting, frame, "two rounds", True, (1.0, 1.0), 5000)
    >>> released = mechanism.release(iter([np.full((5000, 2), 7 * 2**40)]), (40, 40), (0, 0))
    >>> abs(float(released.value[1]) - 7.0) < 1.0, mechanism.epsilon, round(mechanism.deviation, 3)
    (True, 2.0, 0.097)
    """

    rounds: Rounds  # Without ranges, or with them: from everybody, or from some users alone
    is_sampled: bool  # Whether a user reports one coordinate in a round instead of all
    strengths: tuple[float, float]  # Epsilon of all messages of a user in each round, the first 0 for one round
    first: int  # Users of round one
    is_one_bit: bool = False  # Whether round two is to send one bit even where another scalar randomizer is better

    def __post_init__(self) -> None:
        users, width = self.setting.users, self.frame.width
        check_count("first", self.first, minimum=0 if self.rounds == "one round" else 1)
        if self.second < (width if self.is_sampled else 1) or self.first > users:
            raise UsageError(f"users must be {width} or more in round two of {users} users; report all coordinates.")
        if (self.rounds == "one round") != (not self.frame.ranged):
            raise UsageError("rounds must be 'one round' exactly in a frame without ranges; pass a frame of that kind.")

    @property
    def name(self) -> str:
        rounds = {
            "one round": "the mean at once",
            "two rounds": "range, then mean",
            "two groups": "range from some users, mean from the others",
        }[self.rounds]
        turned = ", turned at random" if self.frame.is_turned else ""
        return f"{rounds}; {'one coordinate a user' if self.is_sampled else 'all coordinates'}{turned}"

    @property
    def theorem(self) -> str:
        shuffled = ", shuffled (LSU 2.3)" if self.is_mixed else ""
        return f"range by one-bit Hadamard response, mean by a scalar randomizer, pure LDP (LSU 2.2){shuffled}"

    @property
    def is_mixed(self) -> bool:
        """Whether messages go through a shuffler."""
        return self.setting.model == "shuffle"

    @property
    def second(self) -> int:
        """Users of round two."""
        return self.setting.users - self.first if self.rounds == "two groups" else self.setting.users

    @property
    def reported(self) -> tuple[int, int]:
        """Number of messages that a user sends in each round."""
        ranged = 0 if self.rounds == "one round" else len(self.frame.ranged)
        return (min(ranged, 1), 1) if self.is_sampled else (ranged, self.frame.width)

    @property
    def is_apart(self) -> bool:
        return self.is_mixed and (max(self.reported) > 1 or self.rounds == "two rounds")

    @property
    def message_epsilons(self) -> tuple[float, float]:
        """Epsilon of one message of each round, from its integers, rounded up; 0 where none is sent."""
        ranged, (first, second) = self._ranged, self._shares
        found = HadamardRange(self.frame.bins[ranged[0]], 1, first).epsilon if ranged else 0.0
        # One bit has the same integers for every range; other laws keep to what they are asked for.
        is_bit = set(self._makers) == {OneBitScalar}
        return min(first, found), min(second, OneBitScalar(0.0, 1.0, second).epsilon) if is_bit else second

    @property
    def epsilon0(self) -> float:
        rounds = [
            as_decimal(own) * count for own, count in zip(self.message_epsilons, self.reported, strict=True) if count
        ]
        return float_up(max(rounds) if self.rounds == "two groups" else sum(rounds, Fraction(0)))

    @property
    def epsilon(self) -> float:
        return self._shuffled[0] if self.is_mixed else self.epsilon0

    @property
    def delta(self) -> float:
        return self._shuffled[1] if self.is_mixed else 0.0

    slack_epsilon: ClassVar[float] = 0.0
    slack_delta: ClassVar[float] = 0.0

    @property
    def users_needed(self) -> int:
        if not self._ranged:
            return 1
        target = self.setting.failure - self.setting.gamma
        return least_users(lambda users: min(1.0, math.fsum(self._wrong(users))), target)

    @property
    def planned_counts(self) -> tuple[int, ...]:
        """Least number of users that report each coordinate in round two: for predictions."""
        senders = self.second if self.rounds == "two groups" else self.setting.users
        return (senders // self.frame.width if self.is_sampled else senders,) * self.frame.width

    def wrong_bins(self, *, tolerant: bool = False) -> tuple[float, ...]:
        return self._wrong(self.setting.tolerated(self.first) if tolerant else self.first)

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """Variance of the estimate of each coordinate of the frame, at most, where ranges are not missed."""
        return tuple(self._variance(place, maker) for place, maker in enumerate(self._makers))

    @property
    def deviation(self) -> float:
        return math.sqrt(self.frame.share * math.fsum(self.variances))

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        first, second = self.message_epsilons
        shown = [("messages", self.name), ("mean", f"{self.reported[1]} a user at epsilon {second:.6g} each")]
        if self.is_mixed:
            sent = f"pure; {self._bits} bits in all, at most"
            shown.append(("before mixing", f"epsilon {self.epsilon0:.6g} of all messages of a user, {sent}"))
        if self._ranged:
            most = max(self.frame.bins[place].count for place in self._ranged)
            told = f"{self.reported[0]} a user at epsilon {first:.6g} each, from {self.first} users, up to {most} bins"
            shown += [("range", told), ("missed range", f"with probability {self.missed_range:.3g} at most")]
        return tuple(shown)

    @property
    def _bits(self) -> int:
        ranged, place = self._ranged, (self.frame.width - 1).bit_length() if self.is_sampled else 0
        row = (HadamardRange(self.frame.bins[ranged[0]], 1, self._shares[0]).size - 1).bit_length() if ranged else 0
        told = 1 if set(self._makers) == {OneBitScalar} else NUMBER_BITS
        sent = [count * (own + place) for count, own in zip(self.reported, (row, told), strict=True) if count]
        return max(sent) if self.rounds == "two groups" else int(math.fsum(sent))

    def ask(self, crowd: Crowd, exponents: Sequence[int]) -> UserVectorRelease:
        """Draw the messages of all users and the mean they tell: this spends; see the base class.

        Which coordinates a user reports is drawn first, from no data.
        """
        self.check_budget()
        rotation = None
        if self.frame.is_turned and self.setting.radius is not None:
            rotation = draw_rotation(self.frame.width, self.setting.centres, self.setting.radius)
            crowd = crowd.mapped(partial(rotation.turn, exponents=tuple(exponents)))
            exponents = (rotation.exponent,) * self.frame.width
        late = draw_permutation(self.setting.users)
        if self.rounds == "two groups":
            early, late = np.split(late, [self.first])
        else:
            early = draw_permutation(self.setting.users)
        windows = self._found(crowd, exponents, early)
        estimates, counts = self._estimates(crowd, exponents, late, windows)
        value = tuple(estimates) if rotation is None else rotation.back([float(one) for one in estimates])
        return UserVectorRelease(value, tuple(windows), self, tuple(counts))

    def ends(self, released: UserVectorRelease, coordinate: int, tail: float) -> tuple[float, float]:
        value = float(released.value[coordinate])
        if self.frame.is_turned:
            half = self._turned_half(tail)
            return value - half, value + half
        count, users = released.counts[coordinate], self.setting.users
        if count == 0:
            return -math.inf, math.inf
        law = self._makers[coordinate](*released.ranges[coordinate], self._shares[1])
        if count == users:
            return law.interval(value, count, min(1.0 - tail, HIGHEST_LEVEL))
        part = 1.0 / count - (1.0 / users if self.setting.spread is not None else 0.0)
        half = self.frame.spreads[coordinate] * math.sqrt(2.0 * math.log(4.0 / tail) * part)
        low, high = law.interval(value, count, min(1.0 - 0.5 * tail, HIGHEST_LEVEL))
        return low - half, high + half

    def _turned_half(self, tail: float) -> float:
        noise = math.fsum(self.variances) / self.frame.width
        if self.is_sampled or self.rounds != "two groups":
            return math.sqrt(2.0 * math.log(2.0 / tail) * noise)
        # All bits of a user are of one vector of the ball, so that the choice of users counts by itself.
        return math.sqrt(2.0 * math.log(4.0 / tail)) * (
            math.sqrt(noise) + self.frame.spreads[0] / math.sqrt(self.second)
        )

    @cached_property
    def _shuffled(self) -> tuple[float, float]:
        # Epsilon and delta of all rounds, of which a user of two groups is in one.
        second_kind = "any"
        if set(self._makers) == {OneBitScalar}:
            second_kind = "place-sign" if self.is_sampled and self.frame.width > 1 else "binary"
        users, kinds = (self.first, self.second), ("place-sign", second_kind)
        parts = zip(self.message_epsilons, users, kinds, self.reported, strict=True)
        rounds = [ShuffleRound(own, asked, kind, rounds=count) for own, asked, kind, count in parts if count]
        groups = [(part,) for part in rounds] if self.rounds == "two groups" else [tuple(rounds)]
        bounds = [shuffle_total(group, self.setting.delta) for group in groups]
        return max(bound.epsilon for bound in bounds), max(bound.delta for bound in bounds)

    @property
    def _ranged(self) -> tuple[int, ...]:
        return () if self.rounds == "one round" else self.frame.ranged

    @property
    def _shares(self) -> tuple[float, float]:
        first, second = (
            float_down(as_decimal(strength) / count) if count else 0.0
            for strength, count in zip(self.strengths, self.reported, strict=True)
        )
        return first, second

    @property
    def _reporting(self) -> float:
        # Users who report a coordinate in round two. For a binomial N, 1/N <= 1/(N+1) + 3/((N+1)(N+2)) has the mean
        # 1/(n p) (1 + 3/(n p)) at most.
        width, users = self.frame.width, self.second
        if not self.is_sampled:
            return float(users)
        if self.frame.is_turned:
            return users / width
        return users / width / (1.0 + 3.0 * width / users) if self.is_mixed else float(users // width)

    @cached_property
    def _makers(self) -> tuple[Maker, ...]:
        best = type(best_scalar(0.0, 1.0, self._shares[1]))
        if self.frame.is_turned or self.is_one_bit or best is OneBitScalar:
            return (OneBitScalar,) * self.frame.width
        return tuple(
            min((OneBitScalar, best), key=lambda maker, place=place: self._variance(place, maker))  # type: ignore[misc]
            for place in range(self.frame.width)
        )

    def _variance(self, place: int, maker: Maker) -> float:
        low, high = self.frame.windows[place]
        own = _unit_variance(maker, self._shares[1]) * (high - low) ** 2 / self._reporting
        if maker is OneBitScalar:
            return own
        part = 1.0 / self._reporting - (1.0 / self.setting.users if self.setting.spread is not None else 0.0)
        return own + self.frame.spreads[place] ** 2 * max(0.0, part)

    def _wrong(self, users: int) -> tuple[float, ...]:
        ranged, chances = self._ranged, [0.0] * self.frame.width
        for place in ranged:
            bins = self.frame.bins[place].count
            if self.is_sampled and self.is_mixed:
                step = hadamard_failure(2, 1, self._factor)
                chances[place] = min(1.0, (bins - 1) * math.exp(users * math.log1p((step - 1.0) / len(ranged))))
            else:
                asked = users // len(ranged) if self.is_sampled else users
                chances[place] = hadamard_failure(bins, asked, self._factor)
        return tuple(chances)

    @cached_property
    def _factor(self) -> float:
        return HadamardRange(self.frame.bins[self._ranged[0]], 1, self._shares[0]).factor

    def _found(self, crowd: Crowd, exponents: Sequence[int], users: Integers) -> list[tuple[float, float]]:
        """Round one: return the range of every coordinate."""
        windows = [(own.low, own.high) for own in self.frame.bins]
        groups = self._dealt(users, len(self._ranged), is_free=self.is_mixed)
        asked = [(place, group) for place, group in zip(self._ranged, groups, strict=True) if len(group)]
        columns = [place for place, _ in asked]
        found = find_ranges(
            crowd,
            [HadamardRange(self.frame.bins[place], len(group), self._shares[0]) for place, group in asked],
            columns=columns,
            exponents=[exponents[place] for place in columns],
            groups=[group for _, group in asked],
        )
        for place, one in zip(columns, found, strict=True):
            windows[place] = one.window
        return windows

    def _estimates(
        self, crowd: Crowd, exponents: Sequence[int], users: Integers, windows: list[tuple[float, float]]
    ) -> tuple[list[Fraction], list[int]]:
        """Round two: return the estimate of every coordinate, and how many messages were about it."""
        estimates, counts = [], []
        is_free = self.is_mixed or self.frame.is_turned
        groups = self._dealt(users, self.frame.width, is_free=is_free)
        laws = tuple(make(*window, self._shares[1]) for make, window in zip(self._makers, windows, strict=True))
        asked = Messages(laws, tuple(range(self.frame.width)), tuple(exponents))
        totals = crowd.added(asked, groups, is_last=True)
        for group, window, law, total in zip(groups, windows, laws, totals, strict=True):
            middle = (Fraction(window[0]) + Fraction(window[1])) / 2
            value = law.estimate(int(total), len(group)) if len(group) else middle
            if self.is_sampled and self.frame.is_turned:
                value = middle + (value - middle) * len(group) * self.frame.width / len(users)
            estimates.append(value)
            counts.append(len(group))
        return estimates, counts

    def _dealt(self, users: Integers, parts: int, *, is_free: bool) -> list[Integers]:
        """Return who reports each of the coordinates: all, or a random part that is as large as the others."""
        if not self.is_sampled:
            return [users] * parts
        if not is_free or parts == 0:
            return [users[place::parts] for place in range(parts)]
        chosen = draw_below(np.full(len(users), parts, dtype=np.int64))
        return [users[chosen == place] for place in range(parts)]


@lru_cache(maxsize=4096)
def _unit_variance(maker: Maker, strength: float) -> float:
    return maker(0.0, 1.0, strength).variance()
