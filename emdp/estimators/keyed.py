"""Releases of one message a user with a key for each stronger reader: what is drawn, kept and estimated.

Messages are kept, not only added up, since their keys belong to them one by one. They are put in a secret random order
first: users without records send theirs last, so that the order would tell who has none.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.estimators.crowds import OTHER_USERS, neutral_units
from emdp.estimators.messages import WrappedRelease
from emdp.mechanisms.local.tiered_bits import TieredBits
from emdp.mechanisms.oracles.bags import Bags, entry_shares
from emdp.mechanisms.oracles.tiered import TieredOracle
from emdp.noise import rng
from emdp.noise.choices import draw_permutation
from emdp.questions.columns import Released
from emdp.questions.keyed import KeyedMessages

__all__ = ["MOST_MEANS", "KeyedEncoder", "KeyedMeans", "KeyedRelease", "KeyedShares"]

Drawn = tuple[Integers, Integers, tuple[Integers, ...]]
"""Places, messages, and the keys of all tiers but the last, of some users."""

MESSAGE, EXACT = 0, 1
"""Kinds of rows of a :class:`KeyedEncoder`: one message; a part of the exact statistic, under the test switch."""

NAME_BYTES = 16
"""Length of a release's random name."""

MOST_MEANS = 62
"""Most means of one release: the bits of a user are the bits of one number until all users' have come."""


class KeyedRelease(WrappedRelease):
    """Common part of such releases.

    Attributes
    ----------
    facts_of_release : mapping
        What is public, ready for JSON: enough to estimate from messages.
    """

    epsilon0: ClassVar[None] = None
    """None: nothing is mixed."""

    facts_of_release: Mapping[str, Any]
    mechanism: Any

    @property
    def tiers(self) -> int:
        """Number of tiers."""
        return len(self.mechanism.tiers)

    @property
    @abstractmethod
    def symbols(self) -> int:
        """Number of symbols."""

    @property
    @abstractmethod
    def exact_size(self) -> int:
        """Number of sums that the exact statistic is made of."""

    @abstractmethod
    def drawn(self, block: Any) -> Drawn:
        """Draw the messages of a block's users: this spends."""

    @abstractmethod
    def drawn_absent(self, count: int) -> Drawn:
        """Draw the messages of so many users without records: this spends."""

    @abstractmethod
    def drawn_known(self, count: int) -> Integers:
        """Draw messages whose true symbols are 0, for an audit."""

    @abstractmethod
    def opened(self, sent: Integers, keys: Integers) -> Integers:
        """Return what was sent, less its keys."""

    def of_each(self, places: Integers, numbers: Sequence[Integers]) -> tuple[Integers, list[Integers]]:
        """Return the places and numbers that users in a random order send, of all that were drawn of them."""
        return places, list(numbers)

    def laid_out(self, places: Integers, numbers: Sequence[Integers]) -> tuple[Integers, list[Integers]]:
        """Return what users in a random order send, one symbol a place."""
        return self.of_each(places, numbers)

    @abstractmethod
    def exact_parts(self, block: Any) -> tuple[Integers, npt.NDArray[np.float64]]:
        """Return places and numbers of which the exact statistic is the sum over users."""

    @abstractmethod
    def exact(self, sums: npt.NDArray[np.float64], absent: int, users: int) -> Any:
        """Return the exact statistic from those sums by place."""

    @abstractmethod
    def estimate(self, places: Integers, symbols: Integers, tier: int) -> Any:
        """Return what a tier's readers estimate, as the finisher of its rows takes it."""

    def encoder(self, *, keep_exact: bool) -> "KeyedEncoder":
        return KeyedEncoder(self, keep_exact)

    def release(self, read: Iterator[Any], *, users: int, keep_exact: bool) -> tuple[Any, Released | None]:
        """Draw the messages of all users: this spends."""
        frames = chain.from_iterable(map(self.encoder(keep_exact=keep_exact).encode, read))
        return self.merge(frames, users=users, keep_exact=keep_exact)

    def merge(self, frames: Iterator[pl.DataFrame], *, users: int, keep_exact: bool) -> tuple[Any, Released | None]:
        """Return what ``release`` does, from the outputs of all blocks in any order: this spends.

        Users without records send their message here.
        """
        parts: list[Drawn] = []
        present, sums = 0, np.zeros(self.exact_size)
        for frame in frames:
            if keep_exact:
                rows = frame.filter(pl.col("what") == EXACT)
                np.add.at(sums, rows.get_column("place").to_numpy(), rows.get_column("exact").to_numpy())
            own = frame.filter(pl.col("what") == MESSAGE)
            keys = tuple(own.get_column(f"key {tier}").to_numpy() for tier in range(1, self.tiers))
            parts.append((own.get_column("place").to_numpy(), own.get_column("sent").to_numpy(), keys))
            present += len(own)
        if present > users:
            raise InternalError(OTHER_USERS)
        parts.append(self.drawn_absent(users - present))
        order = draw_permutation(users)
        drawn, *numbers = (
            np.concatenate(list(columns))[order] for columns in zip(*((a, b, *own) for a, b, own in parts), strict=True)
        )
        places, (sent, *keys_in_order) = self.laid_out(drawn, numbers)
        messages = KeyedMessages(
            rng.random_bytes(NAME_BYTES).hex(), self.facts_of_release, places, sent, tuple(keys_in_order), self.symbols
        )
        exact = self.exact(sums, users - present, users) if keep_exact else None
        return (self.estimate(places, messages.decoded(1), 1), messages), exact

    def lowered(self, released: Any, tier: int) -> tuple[Any]:
        """Return what a weaker tier's readers estimate from their messages."""
        messages: KeyedMessages = released[1]
        return (self.estimate(messages.places, messages.decoded(tier), tier),)


@dataclass(frozen=True, eq=False)
class KeyedMeans(KeyedRelease):
    """Bits of users about their own means: of all, or of one that is dealt out.

    All bits of a user are drawn, as the bits of one number, wherever the records are. Which one a user sends is dealt
    out when all have come, in a random order, and the others are dropped.
    """

    symbols: ClassVar[int] = 2

    mechanism: TieredBits  # The randomizer, of at most `MOST_MEANS` means
    neutral: tuple[float, ...]  # The means of a user without records
    exponents: tuple[int, ...]  # Fixed-point exponent of each mean
    facts_of_release: Mapping[str, Any]  # See `KeyedRelease`

    @property
    def exact_size(self) -> int:
        return len(self.exponents)

    def drawn(self, block: Any) -> Drawn:
        if tuple(block.exponents) != self.exponents:
            raise InternalError("the engine's means have another unit than was planned; please report it.")
        return self._sent(block.means)

    def drawn_absent(self, count: int) -> Drawn:
        row = np.array([neutral_units(self.neutral, self.exponents)], dtype=np.int64)
        return self._sent(np.repeat(row, count, axis=0))

    def drawn_known(self, count: int) -> Integers:
        sent, _ = self.mechanism.moved(np.zeros((count, self.exact_size), dtype=np.int64))
        return _packed(sent)

    def opened(self, sent: Integers, keys: Integers) -> Integers:
        return sent ^ keys

    def of_each(self, places: Integers, numbers: Sequence[Integers]) -> tuple[Integers, list[Integers]]:
        if not self.mechanism.tiers[0].is_dealt:
            return places, list(numbers)
        dealt = np.arange(len(places)) % self.exact_size
        return dealt, [own >> dealt & 1 for own in numbers]

    def laid_out(self, places: Integers, numbers: Sequence[Integers]) -> tuple[Integers, list[Integers]]:
        if self.mechanism.tiers[0].is_dealt:
            return self.of_each(places, numbers)
        means = np.arange(self.exact_size)
        return np.repeat(means, len(places)), [(own >> means[:, None] & 1).ravel() for own in numbers]

    def exact_parts(self, block: Any) -> tuple[Integers, npt.NDArray[np.float64]]:
        sums = np.ldexp(block.means, -np.array(self.exponents, dtype=np.intc)).sum(axis=0)
        return np.arange(self.exact_size), sums

    def exact(self, sums: npt.NDArray[np.float64], absent: int, users: int) -> Any:
        both = zip(sums.tolist(), self.neutral, strict=True)
        return (tuple(Fraction(own + absent * neutral) / users for own, neutral in both),)

    def estimate(self, places: Integers, symbols: Integers, tier: int) -> tuple[Fraction, ...]:
        return self.mechanism.estimate(places, symbols, tier)

    def _sent(self, means: Integers) -> Drawn:
        sent, keys = self.mechanism.encode(means, self.exponents)
        return np.zeros(len(means), dtype=np.int64), _packed(sent), tuple(map(_packed, keys))


def _packed(bits: Integers) -> Integers:
    """Return the bits of each row as one number, the first as the lowest."""
    return np.asarray((bits << np.arange(bits.shape[1])).sum(axis=1))


@dataclass(frozen=True, eq=False)
class KeyedShares(KeyedRelease):
    """One message a user about the item of one record."""

    mechanism: TieredOracle
    neutral: int  # Code of the item of a user without records
    facts_of_release: Mapping[str, Any]  # See `KeyedRelease`

    @property
    def symbols(self) -> int:
        return self.mechanism.moves.items

    @property
    def exact_size(self) -> int:
        return self.mechanism.items

    def drawn(self, block: Any) -> Drawn:
        return self.mechanism.encode(Bags(block.offsets, block.codes, block.counts).draw_items())

    def drawn_absent(self, count: int) -> Drawn:
        return self.mechanism.encode(np.full(count, self.neutral, dtype=np.int64))

    def drawn_known(self, count: int) -> Integers:
        return self.mechanism.moves.encode(np.zeros(count, dtype=np.int64))[0]

    def opened(self, sent: Integers, keys: Integers) -> Integers:
        return (sent - keys) % self.symbols

    def exact_parts(self, block: Any) -> tuple[Integers, npt.NDArray[np.float64]]:
        return block.codes, entry_shares(block.counts, block.offsets)

    def exact(self, sums: npt.NDArray[np.float64], absent: int, users: int) -> Any:
        sums[self.neutral] += absent
        return (sums / users,)

    def estimate(self, places: Integers, symbols: Integers, tier: int) -> Any:
        return self.mechanism.estimate(places, symbols, tier)


@dataclass(frozen=True, eq=False)
class KeyedEncoder:
    """Draws the message of every user of a block, and its keys."""

    keys: ClassVar[tuple[str, ...]] = ()

    releaser: KeyedRelease
    keep_exact: bool = False  # Whether rows of the exact statistic stand beside them, for the test switch

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """Kind of the row, place, message, keys, and a number of the exact statistic."""
        keys = [f"key {tier}" for tier in range(1, self.releaser.tiers)]
        return dict.fromkeys(("what", "place", "sent", *keys), pl.Int64()) | {"exact": pl.Float64()}

    def encode(self, block: Any) -> Iterator[pl.DataFrame]:
        yield self._frame(MESSAGE, *self.releaser.drawn(block))
        if self.keep_exact:
            places, numbers = self.releaser.exact_parts(block)
            nothing = np.zeros(len(places), dtype=np.int64)
            yield self._frame(EXACT, places, nothing, (nothing,) * (self.releaser.tiers - 1), numbers)

    def _frame(
        self,
        what: int,
        places: Integers,
        sent: Integers,
        keys: tuple[Integers, ...],
        exact: npt.NDArray[np.float64] | None = None,
    ) -> pl.DataFrame:
        columns = [np.full(len(sent), what), places, sent, *keys, np.zeros(len(sent)) if exact is None else exact]
        return pl.DataFrame(dict(zip(self.schema, columns, strict=True)), schema=dict(self.schema))
