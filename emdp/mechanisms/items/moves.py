"""Moves of symbols that readers with keys undo in part: what all tiers of messages are made of.

**Setting.** A symbol ``x`` of ``k`` is sent as ``x + U_1 + ... + U_d mod k``, with independent moves ``U_j``: any
number but 0 with weight ``b_j`` of ``2^62`` each. The key of tier ``j < d`` is ``U_(j+1) + ... + U_d``.

**Theorem.** With its key a tier has ``x + U_1 + ... + U_j``: ``x`` with probability ``t_j + (1 - t_j)/k``, any other
symbol with ``(1 - t_j)/k``, ``t_j`` the product of ``1 - k b_i/2^62`` over ``i <= j``. What readers of several tiers
have together is a random function, which does not depend on ``x``, of what the strongest of them has. *Proof.* The law
of ``U_j`` is ``1 - k b_j/2^62`` times the point 0, and the rest uniform; sums modulo ``k`` keep this form, and the
weights of the points multiply. With ``i`` the strongest, the others' symbols are its own plus sums of ``U_(i+1), ...,
U_d``, which are independent of ``x`` and of ``U_1, ..., U_i``. ∎

So whatever a symbol costs of which the part ``t_j`` is the truth, the readers of tier ``j`` and of weaker ones cost
together. Moves are drawn for each message, once: two messages with one key tell the difference of their symbols.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.weights import TOTAL, Integers
from emdp.noise.choices import draw_below
from emdp.noise.coins import draw_coins

__all__ = ["GivenMoves", "TieredMoves", "move_weights"]


class TieredMoves:
    """Moves of one alphabet; subclasses say their weights.

    Attributes
    ----------
    items : int
        ``k``, at least 2.
    weights : tuple of int
        ``b_j`` of each tier, the strongest reader's first.
    """

    items: int
    weights: tuple[int, ...]

    def kept(self, tier: int) -> Fraction:
        """Return ``t_j``: the part of a tier's law that is the item itself."""
        self._check_tier(tier)
        found = Fraction(1)
        for weight in self.weights[:tier]:
            found *= 1 - Fraction(self.items * weight, TOTAL)
        return found

    def encode(self, items: npt.NDArray[Any]) -> tuple[Integers, tuple[Integers, ...]]:
        """Return a message for each item, for everybody, and the keys of tiers 1 to ``d - 1``.

        Parameters
        ----------
        items : numpy.ndarray of integers
            From 0 to ``items - 1``, shape (n,).

        Returns
        -------
        messages : numpy.ndarray of int64
            Shape (n,): what the weakest tier's readers have.
        keys : tuple of numpy.ndarray of int64
            For each stronger tier, in order, shape (n,): for that tier's readers alone. They are drawn here, anew in
            each call, so that no key serves two messages.
        """
        given = self._checked("items", items)
        moves = [self._draw(weight, given.size) for weight in self.weights]
        keys = []
        later = np.zeros(given.size, dtype=np.int64)
        for move in reversed(moves[1:]):
            later = (later + move) % self.items
            keys.append(later)
        return np.asarray((given + moves[0] + later) % self.items, dtype=np.int64), tuple(reversed(keys))

    def decode(self, messages: npt.NDArray[Any], keys: npt.NDArray[Any] | None, tier: int) -> Integers:
        """Return what the readers of a tier have: the messages less their keys; the last tier has no keys.

        Raises
        ------
        UsageError
            If a message or key is none, they are not as many, or the tier has none.
        """
        self._check_tier(tier)
        sent = self._checked("messages", messages)
        if (keys is None) != (tier == len(self.weights)):
            raise UsageError("keys belong to each tier but the last one, which has none; pass the tier's own.")
        if keys is None:
            return sent
        used = self._checked("keys", keys)
        if used.shape != sent.shape:
            raise UsageError(f"keys must be as many as the {sent.size} messages, got {used.size}; pass one for each.")
        return np.asarray((sent - used) % self.items, dtype=np.int64)

    def _draw(self, weight: int, size: int) -> Integers:
        found = np.zeros(size, dtype=np.int64)
        moves = np.flatnonzero(draw_coins((self.items - 1) * weight, size))
        found[moves] = 1 + draw_below(np.full(moves.size, self.items - 1, dtype=np.int64))
        return found

    def _check_tier(self, tier: int) -> None:
        if type(tier) is not int or not 1 <= tier <= len(self.weights):
            raise UsageError(f"tier must be a number from 1 to {len(self.weights)}, got {tier!r}; pass one of these.")

    def _checked(self, name: str, values: npt.NDArray[Any]) -> Integers:
        given = np.asarray(values)
        if given.ndim != 1 or given.dtype.kind not in "iu" or ((given < 0) | (given >= self.items)).any():
            raise UsageError(f"{name} must be a list of whole numbers from 0 to {self.items - 1}; pass those.")
        return given.astype(np.int64)


@dataclass(frozen=True)
class GivenMoves(TieredMoves):
    """Moves with given weights.

    Raises
    ------
    UsageError
        If they are not.

    >>> moves = GivenMoves(2, (2**59, 2**60))
    >>> [float(moves.kept(tier)) for tier in (1, 2)]
    [0.75, 0.375]
    """

    items: int  # `k`, from 2
    weights: tuple[int, ...]  # `b_j`: from 1, and at most `2^62/k`

    theorem: ClassVar[str] = "readers of several tiers have what the strongest has (tiers-and-recoverability.md 2)"

    def __post_init__(self) -> None:
        check_count("items", self.items, minimum=2)
        if not self.weights or any(type(one) is not int or not 1 <= one * self.items <= TOTAL for one in self.weights):
            raise UsageError("weights must be whole numbers from 1 to 2^62/items; pass what move_weights returned.")


def move_weights(items: int, parts: Iterable[Fraction]) -> tuple[int, ...]:
    """Return the least weights for which no tier keeps more of the truth than its part.

    Parameters
    ----------
    items : int
        ``k``.
    parts : iterable of Fraction
        ``t_j`` that a tier may have, falling, each in (0, 1).

    Raises
    ------
    RefusedError
        If two tiers are too near one another, or one keeps too little, for integer weights.

    >>> move_weights(2, [Fraction(3, 4), Fraction(3, 8)]) == (2**59, 2**60)
    True
    """
    wanted = tuple(parts)
    found: list[int] = []
    now = Fraction(1)
    for stronger, part in pairwise((Fraction(1), *wanted)):
        if not 0 < part < stronger or now <= 0:
            now = Fraction(0)
            break
        found.append(math.ceil(TOTAL * (1 - Fraction(part) / now) / items))
        now *= 1 - Fraction(items * found[-1], TOTAL)
    if not now > 0:
        raise RefusedError("epsilons are too near one another for 62-bit probabilities; take levels further apart.")
    return tuple(found)
