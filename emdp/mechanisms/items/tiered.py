"""Tiers of k-ary randomised response: one message a user for everybody, and a key for each stronger reader.

**Setting** (tiers-and-recoverability.md 1 and 2). Levels ``eps_1 > ... > eps_d``. With ``x`` one of ``k`` items and
``U_1, ..., U_d`` independent, the message is ``Y = x + U_1 + ... + U_d mod k``, for everybody: tier ``d``. The reader
of tier ``j < d`` gets the key ``L_j = U_(j+1) + ... + U_d`` of each message, and so ``Y_j = Y - L_j = x + U_1 + ... +
U_j``. ``U_j`` is any number but 0 with weight ``b_j`` of ``2^62`` each. For ``k = 2`` it is the published scheme of one
bit.

**Theorem.** Let ``t_j`` be the product of ``1 - k b_i/2^62`` over ``i <= j``. (a) ``Y_j`` is k-ary randomised response:
the item with probability ``t_j + (1 - t_j)/k``, any other with ``(1 - t_j)/k``, so ``eps_j``-LDP with ``e^eps_j = 1 + k
t_j/(1 - t_j)``, which is attained. (b) Readers of a set ``S`` of tiers together have what the strongest of them has,
``eps_(min S)``: not the sum. (c) Who has no key has tier ``d``.

*Proof.* (a) The law of ``U_j`` is ``1 - k b_j/2^62`` times the point 0, and the rest uniform; sums modulo ``k`` keep
this form, and the weights of the points multiply. (b) With ``i = min S`` the readers know ``Y_i`` and sums of the ``U``
beyond ``i``, which are independent of ``x`` and of ``U_1, ..., U_i``: post-processing of ``Y_i``. ∎

``b_j`` is the least integer for which the ``eps_j`` of what is drawn is at most what was asked for: no guarantee rests
on a rounded number. A key is used for one message: two messages with one key tell the difference of the two items, so
that :meth:`TieredResponse.encode` draws new keys for each call.

**When not.** For one reader take ``KRR``. Where a curator has the items anyway, frequencies of a listed column with
``alpha=emdp.tiers(..)`` err far less, and need no keys.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count
from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.strength import check_epsilon, epsilon_of_ratio, inside_numerator
from emdp.mechanisms.weights import LARGEST_ITEMS, TOTAL, Floats, Integers
from emdp.noise.choices import draw_below
from emdp.noise.coins import draw_coins
from emdp.privacy.rounding import as_decimal

__all__ = ["TieredResponse"]


@dataclass(frozen=True)
class TieredResponse:
    """Messages of single items for several readers, each with an epsilon of its own.

    Parameters
    ----------
    items : int
        ``k``, from 2 to 4096.
    epsilons : tuple of float
        Levels, falling, the strongest reader's first; from 1e-6 to 40.

    Raises
    ------
    UsageError
        If an argument is malformed.
    RefusedError
        If two levels are too near for integer weights.

    Guarantee
    ---------
    Readers of tier ``j`` and of weaker ones together: ``epsilon(j)``-LDP of the item, by the theorem of this file.

    >>> response = TieredResponse(4, (2.0, 1.0, 0.5))
    >>> messages, keys = response.encode(np.array([0, 1, 2, 3]))
    >>> len(keys), response.decode(messages, keys[0], 1).shape, [response.epsilon(tier) for tier in (1, 2, 3)]
    (2, (4,), [2.0, 1.0, 0.5])
    """

    items: int
    epsilons: tuple[float, ...]

    name: ClassVar[str] = "tiered k-ary randomised response"
    theorem: ClassVar[str] = "readers of several tiers pay for the strongest alone (tiers-and-recoverability.md 2)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", check_count("items", self.items, minimum=2))
        if self.items > LARGEST_ITEMS:
            raise UsageError(f"items must be at most {LARGEST_ITEMS}, got {self.items}; merge items into groups.")
        if isinstance(self.epsilons, str) or not isinstance(self.epsilons, Sequence) or not self.epsilons:
            raise UsageError("epsilons must be numbers, the strongest reader's first; pass such as (2, 1).")
        levels = tuple(check_epsilon(level) for level in self.epsilons)
        if any(not weaker < stronger for stronger, weaker in pairwise(levels)):
            raise UsageError("epsilons must fall from tier to tier; put the strongest reader's first.")
        object.__setattr__(self, "epsilons", levels)
        if any(weight < 1 for weight in self.weights):
            raise RefusedError("epsilons are too near one another for 62-bit probabilities; take levels further apart.")

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """``b_j`` of each tier."""
        found: list[int] = []
        kept = Fraction(1)
        for level in self.epsilons:
            same = inside_numerator(as_decimal(level), 1, self.items - 1)
            alone = -((same - TOTAL) // (self.items - 1))
            wanted = 1 - Fraction(self.items * alone, TOTAL)
            found.append(math.ceil(TOTAL * (1 - wanted / kept) / self.items))
            kept *= 1 - Fraction(self.items * found[-1], TOTAL)
        return tuple(found)

    def kept(self, tier: int) -> Fraction:
        """Return ``t_j``: the part of a tier's law that is the item itself."""
        self._check_tier(tier)
        found = Fraction(1)
        for weight in self.weights[:tier]:
            found *= 1 - Fraction(self.items * weight, TOTAL)
        return found

    def epsilon(self, tier: int) -> float:
        """Return the epsilon of a tier's readers, rounded up."""
        kept = self.kept(tier)
        return epsilon_of_ratio(1 + self.items * kept / (1 - kept))

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
            For each stronger tier, in order, shape (n,): for that tier's readers alone.
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
        if (keys is None) != (tier == len(self.epsilons)):
            raise UsageError("keys belong to each tier but the last one, which has none; pass the tier's own.")
        if keys is None:
            return sent
        used = self._checked("keys", keys)
        if used.shape != sent.shape:
            raise UsageError(f"keys must be as many as the {sent.size} messages, got {used.size}; pass one for each.")
        return np.asarray((sent - used) % self.items, dtype=np.int64)

    def estimate(self, decoded: npt.NDArray[Any], tier: int) -> Floats:
        """Return unbiased estimates of the items' shares from what a tier's readers have, shape (items,)."""
        found = self._checked("decoded", decoded)
        if not found.size:
            raise UsageError("decoded is empty; pass the messages of some users.")
        kept = float(self.kept(tier))
        shares = np.bincount(found, minlength=self.items) / found.size
        return np.asarray((shares - (1.0 - kept) / self.items) / kept, dtype=np.float64)

    def standard_error(self, users: int, tier: int) -> float:
        """Return the largest standard deviation of a rare item's estimate from so many users, for one tier."""
        kept = float(self.kept(tier))
        chance = (1.0 - kept) / self.items
        return math.sqrt(chance * (1.0 - chance) / check_count("users", users)) / kept

    def _draw(self, weight: int, size: int) -> Integers:
        found = np.zeros(size, dtype=np.int64)
        moves = np.flatnonzero(draw_coins((self.items - 1) * weight, size))
        found[moves] = 1 + draw_below(np.full(moves.size, self.items - 1, dtype=np.int64))
        return found

    def _check_tier(self, tier: int) -> None:
        if type(tier) is not int or not 1 <= tier <= len(self.epsilons):
            raise UsageError(f"tier must be a number from 1 to {len(self.epsilons)}, got {tier!r}; pass one of these.")

    def _checked(self, name: str, values: npt.NDArray[Any]) -> Integers:
        given = np.asarray(values)
        if given.ndim != 1 or given.dtype.kind not in "iu" or ((given < 0) | (given >= self.items)).any():
            raise UsageError(f"{name} must be a list of whole numbers from 0 to {self.items - 1}; pass those.")
        return np.asarray(given, dtype=np.int64)
