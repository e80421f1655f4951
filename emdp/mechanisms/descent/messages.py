"""Descent from users' messages: in each round some users tell about their gradients, in a private message each.

Theorem (users dealt out). Users are dealt to ``T`` rounds at random, without looking at data; whoever is in a round
sends in that round alone, by a mechanism that is ``(epsilon, delta)``-DP for these ``k`` users, whatever the weights
are. Then all rounds together are ``(epsilon, delta)``-DP, in the local model each user's message pure ``epsilon``-LDP.

Proof. Fix the deal and two tables that differ in a user of round ``r``. Rounds before ``r`` have the same law on both.
Given their outcome, round ``r`` is ``(epsilon, delta)``-DP. Rounds after it ask users that the tables agree in, at
weights that are a function of earlier outcomes: post-processing, by a random function that does not depend on that
user. The deal is public, so that averaging over it changes nothing.

Theorem (users in all rounds, shuffled). Every user sends a pure ``epsilon0``-LDP message in each of ``T`` rounds, each
shuffled by itself. All of them guarantee what :func:`emdp.privacy.shuffle.users.shuffle_epsilon` says for ``rounds=T``,
where each round's randomizer may depend on earlier releases. Without a shuffler ``T`` messages at ``epsilon/T``
are never better than one at ``epsilon`` of a ``T``-th of the users, so that there users are always dealt out.

Theorem (users drawn anew in each round, shuffled). In each of ``T`` rounds a secret uniform sample of ``k`` of the
users sends one message each (CLDP-SGD), or each user with probability ``q`` by himself (dss-SGD). All rounds guarantee
what ``shuffle_epsilon`` says for ``rounds=T`` and ``sampled=k`` or ``participation=q``
(:mod:`emdp.privacy.shuffle.sampled`). Who is drawn must stay secret: whoever draws is trusted for that.

*Reports apart.* A message of one report is a place and a sign, and priced as that
(:mod:`emdp.privacy.shuffle.place_sign`). Of directions a shuffled message of ``s`` reports is ``s`` messages, each
mixed by itself: ``s`` place-sign rounds of the one question (multimessage-shuffle.md 1). Where users are drawn, these
would have one sample in common, and be no rounds: messages have one report there.

*Users who join* are ``K``, a public number, of which ``q n`` are expected. The estimate is the sum of what they tell
over ``q n``, not over ``K``: unbiased, and 0 where nobody joins. To the error of the messages, ``E K/(q n)^2`` of one
message's, it adds ``(1-q)/(q n)`` of the mean square of the gradients, at most ``C^2``.

A round of users dealt out is either a one-shot report of the gradient (:mod:`emdp.mechanisms.vector.randomizer`, the
ball of radius ``C``), or range-then-mean for the users of the round (:mod:`emdp.mechanisms.user_vector.plan` with ``n =
k`` and the failure probability ``0.01/T``; case B with ``L = C``, and case A with ``sigma = C``, since a coordinate is
within ``C`` of 0): what is expected to be nearer. Up to ``T - 1`` users who are left over by the deal are in no round.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.base.checks import check_count, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.crowd import Crowd, Groups, Sums
from emdp.mechanisms.descent.rounds import Descent
from emdp.mechanisms.strength import epsilon_of_ratio
from emdp.mechanisms.user_vector.base import UserVectorMechanism
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.mechanisms.vector.randomizer import VectorRandomizer
from emdp.noise.choices import draw_bernoulli, draw_permutation
from emdp.privacy import Event, GuaranteeEvent, UserDP
from emdp.privacy.rounding import as_decimal, float_up
from emdp.privacy.shuffle.users import ShuffleRound, UserShuffleBound, shuffle_total

__all__ = ["FEWEST_JOINING", "MessageDescent", "rounded_participation"]

PARTICIPATION_BITS = 40
PARTICIPATION_STEP = 2.0**-PARTICIPATION_BITS
"""Probabilities of joining are multiples of this, so that they are drawn as they are accounted for."""

FEWEST_JOINING = 20
"""Fewest users who are expected to join a round: of fewer, rounds of very few users would be what is paid for."""


def rounded_participation(share: float) -> float:
    """Return the multiple of 2^-40 next to a probability.

    >>> rounded_participation(0.5), rounded_participation(0.1) == 0.1
    (0.5, False)
    """
    return round(share / PARTICIPATION_STEP) * PARTICIPATION_STEP


@dataclass(frozen=True, eq=False)
class MessageDescent(Descent):
    """Messages of users, in the local or the shuffle model; see :class:`Descent`.

    Raises
    ------
    UsageError
        If there are too few users for so many rounds, or users were to send in several rounds without a shuffler.

    Guarantee
    ---------
    ``(epsilon, delta)`` user-level in the setting's model, for all rounds together. The module's text has the proof.
    """

    slack_epsilon: ClassVar[float] = 0.0
    """0: the messages' probabilities are exact."""
    slack_delta: ClassVar[float] = 0.0

    # How the users of a round tell their gradients, made for that many users.
    law: VectorRandomizer | UserVectorMechanism
    is_dealt: bool = True  # Whether each user is in one round alone, or in all of them
    sampled: int | None = None  # `k`: how many users a round draws, in secret. Nobody is dealt then.
    # `q`: with what probability a user joins a round, a multiple of `PARTICIPATION_STEP`; the law is made for all users
    # then.
    participation: float | None = None

    def __post_init__(self) -> None:
        check_count("rounds", self.rounds)
        if self.setting.model == "central":
            raise UsageError("model must be 'local' or 'shuffle' for messages, got 'central'; use CentralDescent.")
        if not self.is_dealt and (self.setting.model == "local" or isinstance(self.law, UserVectorMechanism)):
            raise UsageError("users must be dealt to rounds unless one-shot messages are shuffled; pass is_dealt=True.")
        if self.sampled is not None or self.participation is not None:
            self._check_drawn()
        wanted = self.setting.users if self.participation is not None else self.users_a_round
        if self.users_a_round < 1 or self.law_users != wanted:
            raise UsageError(
                f"rounds must leave the users that a round is made for, {self.law_users} of them, got {self.rounds} "
                f"rounds of {self.setting.users} users; ask for fewer rounds."
            )

    def _check_drawn(self) -> None:
        if self.is_dealt or not isinstance(self.law, VectorRandomizer) or self.law.reports != 1:
            raise UsageError("users who are drawn must not be dealt, and send one report each; pass is_dealt=False.")
        if self.sampled is not None and check_count("sampled", self.sampled, minimum=2) > self.setting.users:
            raise UsageError(f"sampled must be at most the {self.setting.users} users, got {self.sampled}; pass fewer.")
        if self.participation is not None:
            share = check_unit_interval("participation", self.participation)
            if self.sampled is not None or share % PARTICIPATION_STEP:
                raise UsageError("participation must stand alone, a multiple of 2^-40; use rounded_participation.")
            if share * self.setting.users < FEWEST_JOINING:
                raise UsageError(
                    f"participation must let {FEWEST_JOINING} users join or more, got {share:.6g} of "
                    f"{self.setting.users}; pass a larger one."
                )

    @property
    def name(self) -> str:
        if self.sampled is not None:
            return f"{self.sampled} users drawn anew in every round; {self.law.name}"
        if self.participation is not None:
            return f"every user joins a round with probability {self.participation:.6g}; {self.law.name}"
        return f"{'users dealt to the rounds' if self.is_dealt else 'everybody in every round'}; {self.law.name}"

    @property
    def theorem(self) -> str:
        rounds = "disjoint users a round (parallel composition)" if self.is_dealt else "shuffled rounds (LSU 5)"
        if self.sampled is not None or self.participation is not None:
            rounds = "shuffled rounds of users drawn in secret (sampling-and-descent.md 1)"
        return f"{rounds}; {self.law.theorem}"

    @property
    def law_users(self) -> int:
        """Number of users for which the law of a round is made."""
        return self.law.users if isinstance(self.law, VectorRandomizer) else self.law.setting.users

    @property
    def users_a_round(self) -> int:
        """``k``: all users, the ``T``-th part of them, or those who are drawn; of those who join, how many to
        expect."""
        if self.participation is not None:
            return round(self.participation * self.setting.users)
        return self.setting.users // self.rounds if self.is_dealt else self.sampled or self.setting.users

    @property
    def choosing(self) -> float:
        own = self.setting
        if self.participation is not None:
            return own.clip * math.sqrt((1 - self.participation) / (self.participation * own.users))
        if self.sampled is not None:
            # of the mean over all users, without replacement
            return own.clip * math.sqrt((own.users - self.sampled) / (self.sampled * max(own.users - 1, 1)))
        return super().choosing

    @cached_property
    def event(self) -> Event:
        level, delta = self.law.epsilon, 0.0
        if isinstance(self.law, UserVectorMechanism):
            delta = self.law.delta
        elif self.shuffled is not None:
            level, delta = self.shuffled.epsilon, self.shuffled.delta
        return GuaranteeEvent(UserDP(level, delta, model=self.setting.model), f"descent: {self.name}")  # type: ignore[arg-type]

    @cached_property
    def shuffled(self) -> UserShuffleBound | None:
        """Bound of shuffled one-shot messages; None in the local model and for range-then-mean."""
        return None if self.told is None else shuffle_total((self.told,), self.setting.delta)

    @property
    def told(self) -> ShuffleRound | None:
        """What all shuffled one-shot messages are for the accountant."""
        law = self.law
        if self.setting.model == "local" or isinstance(law, UserVectorMechanism):
            return None
        users = self.users_a_round if self.is_dealt else self.setting.users
        rounds, epsilon0, kind = 1 if self.is_dealt else self.rounds, law.epsilon, "any"
        if law.reports == 1:
            kind = "place-sign"
        elif isinstance(law, VectorDirection):
            # each report is mixed apart
            epsilon0, kind, rounds = epsilon_of_ratio(law.strength.ratio), "place-sign", rounds * law.reports
        return ShuffleRound(epsilon0, users, kind, self.sampled, rounds, self.participation)

    @property
    def is_apart(self) -> bool:
        """Whether a user sends several messages in all, each mixed by itself."""
        return self.shuffled is not None and (not self.is_dealt or self.law_reports > 1)

    @property
    def law_reports(self) -> int:
        """Number of reports of a user in a round; of range-then-mean, which says it elsewhere, 1."""
        return self.law.reports if isinstance(self.law, VectorRandomizer) else 1

    @property
    def unmixed(self) -> float | None:
        """Epsilon of one user's messages of all rounds, for whoever sees them unmixed; None where that is not asked."""
        if self.shuffled is None:
            return None
        return float_up(as_decimal(self.law.epsilon) * (1 if self.is_dealt else self.rounds))

    @property
    def bits_per_user(self) -> float | None:
        """Bits that a user sends in expectation, places among them; None for range-then-mean."""
        if not isinstance(self.law, VectorRandomizer):
            return None
        rounds: float = 1 if self.is_dealt else self.rounds
        rounds *= self.users_a_round / self.setting.users if self.sampled or self.participation else 1
        return rounds * self.law.bits

    @property
    def noise(self) -> float:
        if isinstance(self.law, VectorRandomizer):
            return math.sqrt(self.law.squared_error() / (self.participation or 1.0))
        return self.law.expected_error

    @property
    def strength(self) -> str:
        if isinstance(self.law, VectorRandomizer):
            mixed = "" if self.shuffled is None else f", shuffled ({self.shuffled.method})"
            sent = f", {self.bits_per_user:.6g} bits a user in all rounds"
            return f"one message a user at epsilon {self.law.epsilon:.6g}, {self.law.reports} reports each{mixed}{sent}"
        return f"{self.law.name}; a range is missed with probability {self.law.missed_range:.2g} at most"

    def _dealt(self) -> Sequence[Integers | None]:
        users, size = self.setting.users, self.users_a_round
        if self.sampled is not None:
            return [draw_permutation(users)[:size] for _ in range(self.rounds)]
        if self.participation is not None:
            chances = np.full(users, round(self.participation / PARTICIPATION_STEP))
            return [np.flatnonzero(draw_bernoulli(chances, PARTICIPATION_BITS)) for _ in range(self.rounds)]
        if not self.is_dealt:
            return (None,) * self.rounds
        return np.split(draw_permutation(self.setting.users)[: self.rounds * size], self.rounds)

    def _ask(self, crowd: Crowd) -> Floats:
        exponent, dimension = self.setting.exponent, self.setting.dimension
        if isinstance(self.law, VectorRandomizer):
            if crowd.users == 0:
                return np.zeros(dimension)
            asked = _Told(self.law, exponent)
            tally = crowd.added(asked).astype(np.int64).reshape(asked.shape)
            part = 1.0 if self.participation is None else crowd.users / (self.participation * self.setting.users)
            return self.law.decode(tally, crowd.users) * part
        released = self.law.ask(crowd, (exponent,) * dimension)
        return np.array([float(one) for one in released.value])


@dataclass(frozen=True, eq=False)
class _Told:
    """Asks every user for one message about the own gradient."""

    law: VectorRandomizer
    exponent: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a tally."""
        return self.law.tally(np.zeros((0, self.law.reports), dtype=np.int64)).shape

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        """Draw the messages, and return their tally."""
        del groups
        messages = self.law.encode(np.ldexp(values.astype(np.float64), -self.exponent))
        return self.law.tally(messages).reshape(-1)
