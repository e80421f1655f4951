"""Encoders of users' strings: sums over the users of one worker, for :mod:`emdp.estimators.strings.search`.

A worker sends strings that users of its partition have, each once with a sum, or a tally of messages about prefixes;
never a string with its user. Counts of strings for a curator are settled on workers too: of those below the threshold
nothing is sent.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.estimators.crowds import USERS
from emdp.mechanisms.oracles.bags import Bags, entry_shares
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.strings.prefix_search import HeavyHitterSearch, Strings, chosen_bags
from emdp.mechanisms.strings.stable_histogram import StableHistogram
from emdp.questions.reading import TextBlock

__all__ = ["COUNT", "SHARE", "VALUE", "PrefixEncoder", "ShareEncoder", "SlotEncoder"]

VALUE, COUNT, SHARE = "value", "count", "share"


@dataclass(frozen=True, eq=False)
class ShareEncoder:
    """Adds up the users' shares of every string: exact, for the test switch alone."""

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """A string and the sum of its shares."""
        return {VALUE: pl.String(), SHARE: pl.Float64()}

    @property
    def keys(self) -> tuple[str, ...]:
        return (VALUE,)

    def encode(self, block: TextBlock, parts: Integers | None = None) -> Iterator[pl.DataFrame]:
        del parts
        shares = pl.Series(SHARE, entry_shares(block.counts, block.offsets))
        yield _by_string(pl.DataFrame([block.texts.alias(VALUE), shares]))


@dataclass(frozen=True, eq=False)
class SlotEncoder:
    """Deals every user's slots to strings, and counts them; noise and threshold come where all users' counts are."""

    histogram: StableHistogram

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """A string and how many slots it has; under null the number of users."""
        return {VALUE: pl.String(), COUNT: pl.Int64()}

    @property
    def keys(self) -> tuple[str, ...]:
        return (VALUE,)

    def encode(self, block: TextBlock, parts: Integers | None = None) -> Iterator[pl.DataFrame]:
        """Draw the slots of a block's users: private still."""
        del parts
        slots = self.histogram.draw_slots(Bags(block.offsets, np.arange(len(block.counts)), block.counts))
        found = _by_string(pl.DataFrame([block.texts.alias(VALUE), pl.Series(COUNT, slots, dtype=pl.Int64)]))
        # Which strings have no slot nobody needs to know.
        yield found.filter(pl.col(COUNT) > 0)
        yield pl.DataFrame({VALUE: [None], COUNT: [len(block.users)]}, schema=dict(self.schema))

    def settle(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Return the strings whose slots, with noise, reach the threshold, and the row of the number of users.

        Parameters
        ----------
        sums : polars.DataFrame
            Slots of all users, of some of the strings, each once: the noise of each is its own.
        """
        named = sums.drop_nulls(VALUE).sort(VALUE)
        noisy = self.histogram.draw_counts(named.get_column(COUNT).to_numpy())
        passed = named.with_columns(pl.Series(COUNT, noisy)).filter(pl.col(COUNT) >= 0)
        return pl.concat([passed, sums.filter(pl.col(VALUE).is_null())])


@dataclass(frozen=True, eq=False)
class PrefixEncoder:
    """Draws one record of every user of a level, and the message about it, and counts the messages."""

    keys: ClassVar[tuple[str, ...]] = ("place",)

    search: HeavyHitterSearch
    level: int  # The level, from 0: of the users to whom it was dealt
    candidates: Strings  # Of the level
    oracle: FrequencyOracle  # Of the level

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """A place of the tally, or -1 for all users, and how many."""
        return {"place": pl.Int64(), COUNT: pl.Int64()}

    def encode(self, block: TextBlock, parts: Integers | None = None) -> Iterator[pl.DataFrame]:
        """Draw the messages of those users of a block to whom ``parts`` gives the level."""
        asked = np.ones(len(block.users), dtype=np.bool_) if parts is None else parts == self.level
        bags = chosen_bags(Bags(block.offsets, np.arange(len(block.counts)), block.counts), asked)
        words = block.texts.gather(bags.draw_items()).fill_null("").cast(pl.Binary).to_list()
        tally = self.tally(np.array(words, dtype=f"S{self.search.length}"))
        places = np.flatnonzero(tally)
        columns = {"place": np.append(places, USERS), COUNT: np.append(tally[places], len(block.users))}
        yield pl.DataFrame(columns, schema=dict(self.schema))

    def tally(self, words: Strings) -> Integers:
        """Draw the tally of the messages of users of the level, one word each."""
        return self.oracle.draw_tally(Bags.of_items(self.search.codes(words, self.candidates)))

    def added(self, frames: Iterator[pl.DataFrame]) -> tuple[Integers, int]:
        """Return the tally of some outputs, and of how many users they are."""
        total, users = self.tally(np.zeros(0, dtype=f"S{self.search.length}")), 0
        for frame in frames:
            places, counts = frame.get_column("place").to_numpy(), frame.get_column(COUNT).to_numpy()
            users += int(counts[places == USERS].sum())
            np.add.at(total, places[places != USERS], counts[places != USERS])
        return total, users


def _by_string(frame: pl.DataFrame) -> pl.DataFrame:
    """Add up the rows of each string; records without one are left out."""
    return frame.drop_nulls(VALUE).group_by(VALUE).agg(pl.all().sum())
