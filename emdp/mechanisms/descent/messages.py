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

A round of users dealt out is either a one-shot report of the gradient (:mod:`emdp.mechanisms.vector.randomizer`, the
ball of radius ``C``), or range-then-mean for the users of the round (:mod:`emdp.mechanisms.user_vector.plan` with ``n =
k`` and the failure probability ``0.01/T``; case B with ``L = C``, and case A with ``sigma = C``, since a coordinate is
within ``C`` of 0): what is expected to be nearer. Up to ``T - 1`` users who are left over by the deal are in no round.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from emdp.base.checks import check_count
from emdp.base.errors import UsageError
from emdp.mechanisms.crowd import Crowd, Groups, Sums
from emdp.mechanisms.descent.rounds import Descent, Floats, Integers
from emdp.mechanisms.user_vector.base import UserVectorMechanism
from emdp.mechanisms.vector.randomizer import VectorRandomizer
from emdp.noise.choices import draw_permutation
from emdp.privacy import Event, GuaranteeEvent, UserDP
from emdp.privacy.shuffle.users import UserShuffleBound, shuffle_epsilon

__all__ = ["MessageDescent"]


@dataclass(frozen=True, eq=False)
class MessageDescent(Descent):
    """Messages of users, in the local or the shuffle model; see :class:`Descent`.

    Parameters
    ----------
    law : VectorRandomizer or UserVectorMechanism
        How the users of a round tell their gradients, made for that many users.
    is_dealt : bool
        Whether each user is in one round alone, or in all of them.

    Raises
    ------
    UsageError
        If there are too few users for so many rounds, or all users were to send in all rounds without a shuffler.

    Guarantee
    ---------
    ``(epsilon, delta)`` user-level in the setting's model, for all rounds together. The module's text has the proof.
    """

    law: VectorRandomizer | UserVectorMechanism
    is_dealt: bool = True

    def __post_init__(self) -> None:
        check_count("rounds", self.rounds)
        if self.setting.model == "central":
            raise UsageError("model must be 'local' or 'shuffle' for messages, got 'central'; use CentralDescent.")
        if not self.is_dealt and (self.setting.model == "local" or isinstance(self.law, UserVectorMechanism)):
            raise UsageError("users must be dealt to rounds unless one-shot messages are shuffled; pass is_dealt=True.")
        if self.users_a_round < 1 or self.law_users != self.users_a_round:
            raise UsageError(
                f"rounds must leave the users that a round is made for, {self.law_users} of them, got {self.rounds} "
                f"rounds of {self.setting.users} users; ask for fewer rounds."
            )

    @property
    def name(self) -> str:
        return f"{'users dealt to the rounds' if self.is_dealt else 'everybody in every round'}; {self.law.name}"

    @property
    def theorem(self) -> str:
        dealt = "disjoint users a round (parallel composition)" if self.is_dealt else "shuffled rounds (LSU 5)"
        return f"{dealt}; {self.law.theorem}"

    @property
    def law_users(self) -> int:
        """Number of users for which the law of a round is made."""
        return self.law.users if isinstance(self.law, VectorRandomizer) else self.law.setting.users

    @property
    def users_a_round(self) -> int:
        """``k``: all users, or the ``T``-th part of them."""
        return self.setting.users // self.rounds if self.is_dealt else self.setting.users

    @cached_property
    def event(self) -> Event:
        """Guarantee of the messages of all rounds."""
        level, delta = self.law.epsilon, 0.0
        if isinstance(self.law, UserVectorMechanism):
            delta = self.law.delta
        elif self.shuffled is not None:
            level, delta = self.shuffled.epsilon, self.shuffled.delta
        return GuaranteeEvent(UserDP(level, delta, model=self.setting.model), f"descent: {self.name}")  # type: ignore[arg-type]

    @cached_property
    def shuffled(self) -> UserShuffleBound | None:
        """Bound of shuffled one-shot messages; None in the local model and for range-then-mean."""
        if self.setting.model == "local" or isinstance(self.law, UserVectorMechanism):
            return None
        rounds = 1 if self.is_dealt else self.rounds
        return shuffle_epsilon(self.law.epsilon, self.users_a_round, self.setting.delta, rounds=rounds)

    @property
    def noise(self) -> float:
        """Root of the expected squared 2-norm of what messages add to one round's gradient."""
        if isinstance(self.law, VectorRandomizer):
            return math.sqrt(self.law.squared_error())
        return self.law.expected_error

    @property
    def strength(self) -> str:
        if isinstance(self.law, VectorRandomizer):
            mixed = "" if self.shuffled is None else f", shuffled ({self.shuffled.method})"
            return f"one message a user at epsilon {self.law.epsilon:.6g}, {self.law.reports} reports each{mixed}"
        return f"{self.law.name}; a range is missed with probability {self.law.missed_range:.2g} at most"

    @property
    def slack_epsilon(self) -> float:
        """0: the messages' probabilities are exact."""
        return 0.0

    @property
    def slack_delta(self) -> float:
        """0: nothing is rounded."""
        return 0.0

    def _dealt(self) -> Sequence[Integers | None]:
        if not self.is_dealt:
            return (None,) * self.rounds
        size = self.users_a_round
        return np.split(draw_permutation(self.setting.users)[: self.rounds * size], self.rounds)

    def _ask(self, crowd: Crowd) -> Floats:
        exponent, dimension = self.setting.exponent, self.setting.dimension
        if isinstance(self.law, VectorRandomizer):
            asked = _Told(self.law, exponent)
            tally = crowd.added(asked).astype(np.int64).reshape(asked.shape)
            return self.law.decode(tally, crowd.users)
        released = self.law.ask(crowd, (exponent,) * dimension)
        return np.array([float(one) for one in released.value])


@dataclass(frozen=True, eq=False)
class _Told:
    """Asks every user for one message about the own gradient.

    Parameters
    ----------
    law : VectorRandomizer
        The randomizer of gradients.
    exponent : int
        Of their fixed point.
    """

    law: VectorRandomizer
    exponent: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a tally."""
        return self.law.tally(np.zeros((0, self.law.reports), dtype=np.int64)).shape

    @property
    def size(self) -> int:
        """Number of entries of a tally."""
        return math.prod(self.shape)

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        """Draw the messages, and return their tally."""
        del groups
        messages = self.law.encode(np.ldexp(values.astype(np.float64), -self.exponent))
        return self.law.tally(messages).reshape(-1)
