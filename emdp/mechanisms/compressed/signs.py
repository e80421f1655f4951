"""Mean of users' vectors by a sign of a sampled place in each of several shuffled rounds: few bits, no curator.

**Setting** (SQKR shuffled, algorithm 4 of Chen, Song, Ozgur and Kairouz, corrected). In each of ``T`` rounds, each with
a shuffler and a permutation of its own, every user draws a place and tells the sign of that coordinate by randomized
response: one plane and one block of :mod:`emdp.mechanisms.vector.cube`, ``ceil(log2 D) + 1`` bits. The estimate is the
mean of all decoded messages.

**Theorem.** All rounds together are ``(epsilon, delta)``-DP at user level, in the shuffle model. *Proof.* A message is
a place, whose law is independent of data, and a sign of probability ``1/2 + t v/2``: a place-sign message, and all
users run the same randomizer. Its pair (:mod:`emdp.privacy.shuffle.place_sign`) bounds each round, and the accountant
of :mod:`emdp.privacy.shuffle.users` composes ``T`` of them. ∎ The printed encoder draws the false answer from all
strings, the true one included, and is not ``epsilon0``-LDP: at ``epsilon0 = 1`` it has 1.862 (compressed-estimation.md
6.1; tested).
"""

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_unit_interval
from emdp.base.errors import UsageError
from emdp.mechanisms.strength import check_epsilon
from emdp.mechanisms.vector.one_bit import VectorOneBit
from emdp.mechanisms.vector.planes import VectorPlanes
from emdp.mechanisms.vector.randomizer import VectorRandomizer, check_norm
from emdp.mechanisms.vector.rotated import VectorRotated
from emdp.mechanisms.weights import Floats, Integers
from emdp.noise.choices import draw_permutation
from emdp.privacy import GuaranteeEvent, UserDP
from emdp.privacy.calibration import gaussian_sigma
from emdp.privacy.shuffle.users import shuffle_epsilon0

__all__ = ["SignRounds"]

MOST_ROUNDS = 256


class SignRounds:
    """A place and a sign of each user's vector in each of several shuffled rounds.

    Parameters
    ----------
    dimension : int
        ``d``.
    radius : float
        Of the ball that vectors are clipped to.
    users : int
        ``n``, public.
    epsilon, delta : float
        Of all rounds together, at user level; delta above 0.
    bits : int
        Bits that a user sends at most, in all rounds; at least ``ceil(log2 D) + 1``.
    norm : {1, 2, inf}
        Of the ball: Hadamard rows, coordinates after a public rotation, or coordinates.

    Attributes
    ----------
    rounds : int
        ``T``: as many as the bits allow, 256 at most.
    epsilon0 : float
        Of one message by itself.
    law : VectorRandomizer
        Of one message.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level, shuffle model, replacing a user's vector by any other, if every round is
    shuffled by itself and no two messages of a user can be linked; pure ``T epsilon0``-LDP of one user's messages
    without any shuffler.

    >>> law = SignRounds(8, 1.0, 1000, 1.0, 1e-6, bits=16)
    >>> law.rounds, law.bits, law.decode(law.tally(law.encode(np.zeros((1000, 8))))).shape
    (4, 16, (8,))
    """

    name: ClassVar[str] = "a place and a sign in each of several shuffled rounds"
    theorem: ClassVar[str] = "place-sign pair of each round, composed (shuffle-known-randomizers.md 2)"

    def __init__(
        self,
        dimension: int,
        radius: float,
        users: int,
        epsilon: float,
        delta: float,
        *,
        bits: int,
        norm: float = math.inf,
    ) -> None:
        self.dimension, self.users = check_count("dimension", dimension), check_count("users", users)
        self.epsilon, self.delta = check_epsilon(epsilon), check_unit_interval("delta", delta)
        self.norm = check_norm(norm)
        if self.norm not in (1.0, 2.0, math.inf):
            raise UsageError(f"norm must be 1, 2 or math.inf, got {norm!r}; take a ball that holds the other one.")
        width = (self.dimension - 1).bit_length()
        self.rounds = min(check_count("bits", bits) // (width + 1), MOST_ROUNDS)
        if self.rounds == 0:
            raise UsageError(f"bits must be at least {width + 1}, a place and a sign, got {bits}; pass more.")
        self.bits = self.rounds * (width + 1)
        self.epsilon0 = shuffle_epsilon0(
            self.epsilon, self.users, self.delta, rounds=self.rounds, randomizer="place-sign"
        )
        self._radius = radius
        self.law = self._law(radius)

    def encode(self, vectors: npt.ArrayLike) -> Integers:
        """Return some users' messages, on their side, shape (users of the block, rounds): a column a shuffler."""
        return np.hstack([self.law.encode(vectors) for _ in range(self.rounds)])

    def mixed(self, messages: npt.NDArray[Any]) -> Integers:
        """Return messages with each round in a fresh order: what the shufflers do, each with one column."""
        given = np.asarray(messages)
        return np.column_stack([given[draw_permutation(len(given)), place] for place in range(self.rounds)])

    def tally(self, messages: npt.NDArray[Any]) -> Integers:
        """Return what :meth:`decode` needs of some messages; tallies of blocks add up."""
        given = np.asarray(messages)
        if given.ndim != 2 or given.shape[1] != self.rounds:
            raise UsageError(f"messages must be rows of {self.rounds}, one a round; pass what encode returned.")
        return self.law.tally(given.reshape(-1, 1))

    def decode(self, tally: npt.NDArray[Any]) -> Floats:
        """Return the estimate of the mean of all users' clipped vectors, from the sum of tallies."""
        return self.law.decode(tally, self.users * self.rounds)

    def squared_error(self) -> float:
        """Return the largest mean squared 2-norm of the error, over all vectors; a bound after a rotation."""
        return self.law.squared_error()

    def event(self) -> GuaranteeEvent:
        """Return what a ledger keeps of one release."""
        kind = UserDP(self.epsilon, self.delta, model="shuffle")
        return GuaranteeEvent(kind, f"{self.name}, {self.bits} bits a user")

    def explain(self) -> str:
        """Return the mechanism in one line, with the error beside that of a curator's noise."""
        longest = self._radius * (math.sqrt(self.dimension) if math.isinf(self.norm) else 1.0)
        best = math.sqrt(self.dimension) * gaussian_sigma(self.epsilon, self.delta, 2 * longest / self.users)
        return (
            f"{self.name}: {self.rounds} rounds, {self.bits} bits a user, each message epsilon {self.epsilon0:.4g} by "
            f"itself, epsilon = {self.epsilon:g}, delta = {self.delta:g} once mixed, root mean squared error at most "
            f"{math.sqrt(self.squared_error()):.4g}; a curator who has the vectors reaches {best:.4g}; {self.theorem}"
        )

    def _law(self, radius: float) -> VectorRandomizer:
        ball = (self.dimension, radius, self.epsilon0, self.users * self.rounds)
        if self.norm == 1.0:
            return VectorOneBit(*ball, blocks=1)
        if self.norm == 2.0:
            return VectorRotated(*ball, planes=1, blocks=1)
        return VectorPlanes(*ball, planes=1, blocks=1)
