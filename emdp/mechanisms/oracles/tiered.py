"""Frequency oracles for several readers: a message for everybody, and a key for each stronger reader.

Theorem (tiers-and-recoverability.md 1 and 2). A user draws one record uniformly. (a) *k-ary*: its item is sent by the
moves of :mod:`emdp.mechanisms.items.moves`. (b) *One bit*: a uniform row ``j`` of the Hadamard matrix is sent as it is,
and the bit ``popcount(x & j) mod 2`` of the item ``x`` by moves with ``k = 2``. Readers of tier ``j``, with those of
weaker tiers, have the message of :class:`~emdp.mechanisms.oracles.krr.KRROracle`, or of
:class:`~emdp.mechanisms.oracles.hadamard_bit.OneBitHadamardOracle`, at ``epsilon_j``, and the guarantee of
:mod:`emdp.mechanisms.oracles.oracle`: ``epsilon_j``-LDP at user level and ``(exp(epsilon_j) - 1, 0)`` on 0/1 distances.
Readers of several tiers have that of the strongest.

Proof. Moves with the part ``t_j = (e^epsilon_j - 1)/(e^epsilon_j + k - 1)`` are k-ary randomised response, which is
(a), and with ``k = 2`` a turned sign, which is (b); the row does not depend on the item. What weaker readers have is a
random function of it. ∎

A tier's chance of the truth is at most the oracle's own (:class:`emdp.mechanisms.items.tiered.TieredResponse`), and
within ``2^-60`` of it: estimates, variances and intervals are those of the oracle.
"""

from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_choice
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.mechanisms.items.tiered import TieredResponse
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.mechanisms.oracles.symbol import SymbolOracle
from emdp.mechanisms.weights import Floats, Integers
from emdp.noise.choices import draw_below

__all__ = ["TIERED_METHODS", "TieredMethod", "TieredOracle"]

TieredMethod = Literal["krr", "hadamard"]
TIERED_METHODS: tuple[TieredMethod, ...] = ("krr", "hadamard")
"""Names of the oracles that have tiers."""


@dataclass(frozen=True, eq=False)
class TieredOracle:
    """Messages of all users about one record each, and what each tier's readers make of them.

    Raises
    ------
    UsageError
        If an argument is malformed.
    RefusedError
        If two levels are too near.

    >>> oracle = TieredOracle("hadamard", 3, 5, (2.0, 1.0))
    >>> places, messages, keys = oracle.encode(np.array([0, 1, 2, 2, 2]))
    >>> oracle.estimate(places, oracle.moves.decode(messages, keys[0], 1), 1).shape
    (3,)
    """

    is_exact: ClassVar[bool] = False
    slack_epsilon: ClassVar[float] = 0.0
    """0: messages are drawn from integer probabilities."""
    slack_delta: ClassVar[float] = 0.0

    method: TieredMethod  # The item itself, or one bit of it
    # items, users: As of `emdp.mechanisms.oracles.oracle.FrequencyOracle`; at most 4096 items with `"krr"`.
    items: int
    users: int
    epsilons: tuple[float, ...]  # Levels, falling, from 1e-6 to 40

    theorem: ClassVar[str] = (
        "one message a user and a key for each stronger reader, who cost together what the strongest does "
        "(tiers-and-recoverability.md 1, 2; local-shuffle-userlevel.md 1.3, 3.2)"
    )

    def __post_init__(self) -> None:
        check_choice("method", self.method, TIERED_METHODS)
        # Both check what they are made of.
        len(self.tiers), len(self.moves.weights)

    @cached_property
    def tiers(self) -> tuple[SymbolOracle, ...]:
        """The oracle of each tier."""
        kind = KRROracle if self.method == "krr" else OneBitHadamardOracle
        return tuple(kind(self.items, self.users, level) for level in self.epsilons)

    @cached_property
    def moves(self) -> TieredResponse:
        """The moves of the items or bits."""
        return TieredResponse(self.items if self.method == "krr" else 2, self.epsilons)

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        return tuple((f"tier {tier}", own.explain()) for tier, own in enumerate(self.tiers, 1))

    def encode(self, items: Integers) -> tuple[Integers, Integers, tuple[Integers, ...]]:
        """Return for each user a public place, a message for everybody, and the keys of all tiers but the last.

        Parameters
        ----------
        items : numpy.ndarray of int64
            One record of each user: this spends.
        """
        if self.method == "krr":
            return np.zeros(items.size, dtype=np.int64), *self.moves.encode(items)
        rows = draw_below(np.full(items.size, self.tiers[0].inside, dtype=np.int64))
        return rows, *self.moves.encode((np.bitwise_count(items & rows) & 1).astype(np.int64))

    def estimate(self, places: npt.NDArray[Any], symbols: npt.NDArray[Any], tier: int) -> Floats:
        """Return unbiased estimates of the shares from what a tier's readers have of all users, shape (items,)."""
        oracle = self.tiers[tier - 1]
        own = symbols if self.method == "krr" else 2 * places + symbols
        if own.size != self.users:
            raise InternalError("messages of some users are missing; please report it.")
        return oracle.decode(np.bincount(own, minlength=oracle.outputs).astype(np.int64))
