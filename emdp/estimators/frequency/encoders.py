"""Encoders of users' histograms and messages: sums over the users of one block, or of all blocks of a worker.

Both add up over users, in any order: shares are integers, and so are tallies of messages. So workers send sums, which
:mod:`emdp.estimators.frequency.histograms` puts together with the users without records.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import polars as pl

from emdp.base.arrays import Floats, Integers
from emdp.base.classes import dataclass
from emdp.mechanisms.oracles.bags import Bags, entry_shares
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.questions.reading import BagBlock

__all__ = ["CHOSEN", "DRAWN", "TALLY", "AverageEncoder", "OracleEncoder", "draw_tally"]

AT_ONCE = 2**22
"""Users whose messages are drawn together: an oracle's work may grow with the number of draws, not of users alone."""

CHOSEN, TALLY, DRAWN = 0, 1, 2
"""Kinds of rows of an :class:`OracleEncoder`: users who chose an item and have sent nothing yet; one number of the flat
tally; users whose messages are in it."""


@dataclass(frozen=True, eq=False)
class AverageEncoder:
    """Adds up the users' normalised histograms, each share rounded to a multiple of ``2**-bits``; it draws nothing.

    Its output is private still: noise is added where all sums are together.
    """

    keys: ClassVar[tuple[str, ...]] = ("code",)

    items: int
    bits: int  # Bits below 1 of a user's share; the sums over all users stay below `2**62`

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """An item's code and the sum of its shares in units of ``2**-bits``; under code -1 the number of users."""
        return {"code": pl.Int64(), "sum": pl.Int64()}

    def encode(self, block: BagBlock) -> Iterator[pl.DataFrame]:
        sums = np.zeros(self.items, dtype=np.int64)
        np.add.at(
            sums, block.codes, np.rint(np.ldexp(entry_shares(block.counts, block.offsets), self.bits)).astype(np.int64)
        )
        codes = np.flatnonzero(sums)
        columns = {"code": np.append(codes, -1), "sum": np.append(sums[codes], len(block.users))}
        yield pl.DataFrame(columns, schema=dict(self.schema))


@dataclass(frozen=True, eq=False)
class OracleEncoder:
    """Draws one record of every user, and then the tally of all messages about them.

    Every oracle's message is that of one uniform record of its user, and tallies of different users add up. So their
    sum has one law, whether messages are drawn on a worker or where the chosen records are put together.
    """

    keys: ClassVar[tuple[str, ...]] = ("what", "place")
    """Kind of the row, and its item or place."""

    oracle: FrequencyOracle
    # Whether the sum of users' shares of each item is kept, for the exact statistic under the test switch.
    keep_exact: bool = False
    messages: int = 1  # How many messages each user sends, each of a record drawn afresh

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """Kind of the row, code of its item or place in the tally, count and, if kept, the item's sum of shares."""
        kept = {"share": pl.Float64()} if self.keep_exact else {}
        return {"what": pl.Int64(), "place": pl.Int64(), "count": pl.Int64(), **kept}

    def encode(self, block: BagBlock) -> Iterator[pl.DataFrame]:
        """Draw one record of each of a block's users for each message, and count which items they are."""
        bags, counts = Bags(block.offsets, block.codes, block.counts), np.zeros(self.oracle.items, dtype=np.int64)
        for _ in range(self.messages):
            counts += np.bincount(bags.draw_items(), minlength=self.oracle.items)
        if not self.keep_exact:
            codes = np.flatnonzero(counts)
            yield self._rows(CHOSEN, codes, counts[codes])
            return
        shares = np.bincount(
            block.codes, weights=entry_shares(block.counts, block.offsets), minlength=self.oracle.items
        )
        codes = np.flatnonzero(shares)
        yield self._rows(CHOSEN, codes, counts[codes], shares[codes].astype(np.float64))

    def finish(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Draw the tally of the messages of all users of a worker, unless it is longer than they are many."""
        users = int(sums.get_column("count").sum())
        if len(draw_tally(self.oracle, *_nobody())) > users:
            return sums
        codes = sums.get_column("place").to_numpy()
        tally = draw_tally(self.oracle, codes, sums.get_column("count").to_numpy())
        places = np.flatnonzero(tally)
        parts = [
            self._rows(TALLY, places, tally[places]),
            self._rows(DRAWN, np.zeros(1, dtype=np.int64), np.array([users])),
        ]
        if self.keep_exact:
            shares = sums.get_column("share").to_numpy()
            parts.append(self._rows(CHOSEN, codes, np.zeros(len(codes), dtype=np.int64), shares))
        return pl.concat(parts)

    def _rows(self, what: int, places: Integers, counts: Integers, shares: Floats | None = None) -> pl.DataFrame:
        columns = {"what": np.full(len(places), what), "place": places, "count": counts}
        if self.keep_exact:
            columns["share"] = np.zeros(len(places)) if shares is None else shares
        return pl.DataFrame(columns, schema=dict(self.schema))


def draw_tally(oracle: FrequencyOracle, codes: Integers, counts: Integers) -> Integers:
    """Return a draw of the tally of the messages of ``counts[e]`` users for the item ``codes[e]``: this spends.

    >>> from emdp.mechanisms.oracles.krr import KRROracle
    >>> int(draw_tally(KRROracle(3, 10, 1.0), np.array([2, 0]), np.array([4, 5])).sum())
    9
    """
    tally = oracle.draw_tally(Bags.of_items(_nobody()[0]))
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, AT_ONCE):
        # Of each item those users who are within this run of all users.
        own = np.diff(np.clip(np.append(0, ends), start, start + AT_ONCE))
        tally = tally + oracle.draw_tally(Bags.of_items(np.repeat(codes, own)))
    return tally


def _nobody() -> tuple[Integers, Integers]:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
