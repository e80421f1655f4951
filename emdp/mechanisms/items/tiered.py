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
that ``encode`` draws new keys for each call, and takes none. The moves themselves are those of
:mod:`emdp.mechanisms.items.moves`.

**When not.** For one reader take ``KRR``. Where a curator has the items anyway, frequencies of a listed column with
``alpha=emdp.tiers(..)`` err far less, and need no keys.
"""

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.items.moves import TieredMoves, move_weights
from emdp.mechanisms.strength import check_epsilon, epsilon_of_ratio, inside_numerator
from emdp.mechanisms.weights import LARGEST_ITEMS, TOTAL, Floats
from emdp.privacy.rounding import as_decimal

__all__ = ["TieredResponse"]


@dataclass(frozen=True)
class TieredResponse(TieredMoves):
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
    weights: tuple[int, ...] = field(init=False, repr=False, compare=False)

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
        object.__setattr__(self, "weights", move_weights(self.items, [self._wanted(level) for level in levels]))

    def epsilon(self, tier: int) -> float:
        """Return the epsilon of a tier's readers, rounded up."""
        kept = self.kept(tier)
        return epsilon_of_ratio(1 + self.items * kept / (1 - kept))

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

    def _wanted(self, level: float) -> Fraction:
        """Return the largest part of the item itself that costs a level."""
        same = inside_numerator(as_decimal(level), 1, self.items - 1)
        alone = -((same - TOTAL) // (self.items - 1))
        return 1 - Fraction(self.items * alone, TOTAL)
