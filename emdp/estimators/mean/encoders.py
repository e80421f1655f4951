"""Encoder of users' messages about means in the local model, for :mod:`emdp.estimators.mean.local`."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.mechanisms.local.noise import LocalNoise
from emdp.mechanisms.local.one_bit import LocalOneBit
from emdp.questions.reading import MeanBlock

__all__ = ["ASKED", "EXACT", "MESSAGES", "USERS", "MeanEncoder", "added_up"]

MESSAGES, ASKED, EXACT, USERS = 0, 1, 2, 3
"""Kinds of sums: messages in grid steps, or bits that are +1; bits; exact means; users."""

LOW_BITS = 32
"""Bits of the lower part of a sum, which is kept apart so that neither part leaves 64 bits."""


@dataclass(frozen=True, eq=False)
class MeanEncoder:
    """Draws every user's message from the own mean, and adds the messages up."""

    keys: ClassVar[tuple[str, ...]] = ("what", "place")
    """Kind of the sum, and number of the coordinate."""

    # The randomizer. Where it asks a user for one coordinate alone, this is dealt out among all users before.
    mechanism: LocalNoise | LocalOneBit
    exponents: tuple[int, ...]  # Fixed-point exponent of each expression's mean
    keep_exact: bool = False  # Whether the exact means are added up as well, for the test switch

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """Kind of the sum, number of the coordinate, and the sums of the upper and of the lower parts."""
        return dict.fromkeys(("what", "place", "high", "low"), pl.Int64())

    def encode(self, block: MeanBlock, parts: Integers | None = None) -> Iterator[pl.DataFrame]:
        """Draw the messages of a block's users, of the coordinates in ``parts`` where these are dealt out."""
        if tuple(block.exponents) != self.exponents:
            raise InternalError("the engine's means have another unit than was planned; please report it.")
        yield self.summed(block.means, parts)

    def summed(self, means: Integers, parts: Integers | None = None) -> pl.DataFrame:
        """Draw one message for each row of means, shape (users, expressions), and add them up."""
        sums: dict[int, Integers] = {USERS: np.ones((len(means), 1), dtype=np.int64)}
        if isinstance(self.mechanism, LocalOneBit):
            if (parts is not None) is not self.mechanism.is_dealt:
                raise InternalError("coordinates were dealt out for a release that asks for all; please report it.")
            dealt = np.zeros(len(means), dtype=np.int64) if parts is None else parts
            shape = len(means), self.mechanism.width
            sums[MESSAGES], sums[ASKED] = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
            for _ in range(self.mechanism.draws):
                signs = self.mechanism.encode(means, self.exponents, dealt)
                sums[MESSAGES], sums[ASKED] = sums[MESSAGES] + (signs > 0), sums[ASKED] + (signs != 0)
        else:
            sums[MESSAGES] = self.mechanism.encode(means, self.exponents)
        if self.keep_exact:
            sums[EXACT] = means
        frames = [_rows(what, values) for what, values in sums.items()]
        return pl.concat(frames).cast(dict(self.schema))  # type: ignore[arg-type]


def added_up(frames: Iterator[pl.DataFrame], size: int, width: int | None = None) -> dict[int, list[int]]:
    """Return the exact sums of some outputs, by what they are: one a mean, or a column of signs.

    Parameters
    ----------
    width : int, optional
        Number of columns of signs, where it is another.
    """
    columns = size if width is None else width
    sums = {MESSAGES: [0] * columns, ASKED: [0] * columns, EXACT: [0] * size, USERS: [0]}
    for frame in frames:
        for what, place, high, low in frame.iter_rows():
            sums[what][place] += (high << LOW_BITS) + low
    return sums


def _rows(what: int, values: Integers) -> pl.DataFrame:
    size = values.shape[1]
    return pl.DataFrame(
        {
            "what": np.full(size, what),
            "place": np.arange(size),
            "high": (values >> LOW_BITS).sum(axis=0, dtype=np.int64),
            "low": (values & (2**LOW_BITS - 1)).sum(axis=0, dtype=np.int64),
        }
    )
