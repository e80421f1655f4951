"""One bit a user and mean, for several readers: a sign for everybody, and a key for each stronger reader.

Theorem (tiers-and-recoverability.md 1 and 2). Let ``q`` be the user's mean, less the middle of its range, ``|q| <= B``.
The user draws a bit that is 1 with probability ``1/2 + q/(2B)`` and sends it by the moves of
:mod:`emdp.mechanisms.items.moves` with ``k = 2``, whose parts are ``t_1 > ... > t_d``. The readers of tier ``j``, with
those of weaker tiers, have what one bit of :mod:`emdp.mechanisms.local.one_bit` with ``t_j`` tells, and so its
guarantee: ``(alpha_j, 0)`` unbounded local d_EM-DP, or ``epsilon_j`` at user level. Readers of several tiers have that
of the strongest.

Proof. A bit that is sent as it is with ``t_j + (1 - t_j)/2``, and else turned, is 1 with probability ``1/2 + t_j
q/(2B)``. What weaker readers have is a random function of it. ∎

Several means. Bits and moves of each are drawn apart from those of the others, so that what readers have of them costs
them the sum of what each costs at the level of their strongest; where a user sends the bit of one mean alone, dealt out
whatever the data, it costs the largest. One key for two means would tell everybody whether their bits are alike.

``t_j`` that is drawn is at most the one of its level (:func:`emdp.mechanisms.items.moves.move_weights`), and within
``2^-60`` of it, so that estimates and intervals are those of one bit a user at that level. The first bit's probability
is within ``2^-48`` of the formula, as there; moves make that error smaller, so the slack of a level covers it.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.items.moves import GivenMoves, move_weights
from emdp.mechanisms.local.one_bit import LocalOneBit
from emdp.mechanisms.weights import Integers
from emdp.noise.choices import draw_bernoulli

__all__ = ["TieredBits"]

_BITS = 62


@dataclass(frozen=True, eq=False)
class TieredBits:
    """Bits of all users about their means, and what each tier's readers make of them.

    Raises
    ------
    UsageError
        If they are of unlike means, or their levels do not fall.
    RefusedError
        If two levels are too near.

    >>> from emdp.mechanisms.local.one_bit import OneBitCoordinate
    >>> bits = TieredBits(tuple(LocalOneBit((OneBitCoordinate(0.0, 1.0, rate),), 4) for rate in (8.0, 1.0)))
    >>> messages, keys = bits.encode(np.array([[0], [256], [512], [1024]]), (10,))
    >>> messages.shape, len(keys), bits.tier(keys and 1).users
    ((4, 1), 1, 4)
    """

    theorem: ClassVar[str] = (
        "one bit a user and a key for each stronger reader, who cost together what the strongest does "
        "(tiers-and-recoverability.md 1; EMD 4)"
    )
    is_exact: ClassVar[bool] = False
    slack_delta: ClassVar[float] = 0.0

    # Bits at each level, the strongest reader's first: of the same coordinates, ranges and users.
    tiers: tuple[LocalOneBit, ...]

    def __post_init__(self) -> None:
        shapes = {
            (own.users, own.is_dealt, own.messages, *((one.low, one.high, one.error) for one in own.coordinates))
            for own in self.tiers
        }
        if len(shapes) != 1 or self.tiers[0].messages != 1:
            raise UsageError("tiers must be one bit a user of the same means, at several levels; pass such.")
        if any(not weaker < stronger for own in self._strengths for stronger, weaker in pairwise(own)):
            raise UsageError("tiers must be of falling strength; put the strongest reader's first.")
        # Refused here if two levels are too near.
        len(self.moves)

    @cached_property
    def moves(self) -> tuple[GivenMoves, ...]:
        """The moves of each mean's bits."""
        return tuple(GivenMoves(2, move_weights(2, map(Fraction, own))) for own in self._strengths)

    @property
    def slack_epsilon(self) -> float:
        """Additive epsilon of the strongest readers, rounded up."""
        return self.tiers[0].slack_epsilon

    @property
    def _strengths(self) -> list[tuple[float, ...]]:
        return list(zip(*((one.strength for one in own.coordinates) for own in self.tiers), strict=True))

    def tier(self, number: int) -> LocalOneBit:
        """Return the law of what a tier's readers have, which is that of one bit a user."""
        return self.tiers[number - 1]

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        turned = [1 - self.moves[0].kept(tier) for tier in range(1, len(self.tiers) + 1)]
        flips = ", ".join(f"{float(own / 2):.6g}" for own in turned)
        what = "a bit" if len(self.moves) == 1 else "a bit of the first mean"
        return (*self.tiers[0].facts(unit), ("tiers", f"{what} is turned with probability {flips} for tier 1 and on"))

    def encode(self, means: npt.NDArray[Any], exponents: Sequence[int]) -> tuple[Integers, tuple[Integers, ...]]:
        """Return a bit for each user and mean, for everybody, and the keys of all tiers but the last: this spends.

        Where each user sends the bit of one mean alone, no other one of a user may leave the caller.

        Parameters
        ----------
        means : numpy.ndarray of int64
            Shape (users, d): each user's means times ``2**exponent``.
        exponents : sequence of int
            One a mean, as of the plan.
        """
        bits = np.empty(means.shape, dtype=np.int64)
        for place, own in enumerate(self.tiers[0].coordinates):
            values = np.ldexp(np.asarray(means[:, place], dtype=np.int64).astype(np.float64), -exponents[place])
            chance = 0.5 + 0.5 * np.clip((values - own.centre) / own.half, -1.0, 1.0)
            bits[:, place] = draw_bernoulli(np.rint(np.ldexp(chance, _BITS)).astype(np.int64), _BITS)
        return self.moved(bits)

    def moved(self, bits: Integers) -> tuple[Integers, tuple[Integers, ...]]:
        """Return given bits as they are sent, with their keys, shape (users, d) each: every one has keys of its own."""
        sent = [own.encode(bits[:, place]) for place, own in enumerate(self.moves)]
        keys = (np.stack(own, axis=1) for own in zip(*(own for _, own in sent), strict=True))
        return np.stack([own for own, _ in sent], axis=1), tuple(keys)

    def estimate(self, places: npt.NDArray[Any], bits: npt.NDArray[Any], tier: int) -> tuple[Fraction, ...]:
        """Return the unbiased estimates of the means from bits that a tier's readers have, each with its mean's number.

        Raises
        ------
        InternalError
            If a mean has another number of bits than users send.
        """
        law = self.tier(tier)
        asked, ones = (
            np.bincount(own, minlength=len(self.moves)).tolist() for own in (places, places[np.asarray(bits) == 1])
        )
        if asked != [law.asked(place) for place in range(len(self.moves))]:
            raise InternalError("messages of some users are missing; please report it.")
        return law.decode(ones, asked)
