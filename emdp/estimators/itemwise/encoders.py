"""Encoders of item-wise releases: sampled records, users' histograms of outputs, or moved points of one block.

Every encoder is a :class:`emdp.questions.reading.BlockEncoder`: public facts alone, so that it can be sent to where
the records are. A user's records all stand in one block where users matter; hence blocks are independent of one
another, and the law of all outputs is the same however records were divided into blocks.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import ClassVar

import numpy as np
import polars as pl

from emdp.base.arrays import Floats, Integers
from emdp.base.classes import dataclass
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.planar_laplace import PlanarLaplace
from emdp.mechanisms.oracles.bags import entry_shares
from emdp.noise.choices import draw_indices, draw_sample_counts
from emdp.questions.reading import BagBlock, PointBlock
from emdp.spaces.items import filled_items

__all__ = ["AT_ONCE", "HistogramEncoder", "PointEncoder", "SampleEncoder"]

AT_ONCE = 2**18
"""Items randomized at once, about: some megabytes."""


@dataclass(frozen=True, eq=False)
class SampleEncoder:
    """Draws records of every user, with replacement, and counts which items they are (EMD 5).

    Its output is private still: the counts go through the randomizer where all of them are together, since one draw
    for all records of an item is cheaper than one for each.
    """

    keys: ClassVar[tuple[str, ...]] = ("code",)

    size: int
    # Whether the sum of users' shares of each item is kept, for the exact statistic under the test switch.
    keep_exact: bool = False

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """An item's code, how many records it is, and perhaps the sum of shares."""
        kept = {"share": pl.Float64()} if self.keep_exact else {}
        return {"code": pl.Int64(), "count": pl.Int64(), **kept}

    def encode(self, block: BagBlock) -> Iterator[pl.DataFrame]:
        codes, place = np.unique(block.codes, return_inverse=True)
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, place, draw_sample_counts(block.counts, block.offsets, self.size))
        columns = {"code": codes, "count": counts}
        if self.keep_exact:
            shares = entry_shares(block.counts, block.offsets)
            columns["share"] = np.bincount(place, weights=shares, minlength=len(codes))
        yield pl.DataFrame(columns, schema=dict(self.schema))


@dataclass(frozen=True, eq=False)
class HistogramEncoder:
    """Randomizes the records of every user, or sampled ones, and counts the outputs of each user."""

    keys: ClassVar[tuple[str, ...]] = ()
    """Columns to count by: none, since a user's outputs all come out of one block, counted."""

    randomizer: FiniteRandomizer
    size: int
    is_sampled: bool  # Whether they are drawn with replacement; otherwise every user has exactly so many

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """A user's number, an output's code, how often it came out."""
        return {"user": pl.Int64(), "output": pl.Int64(), "count": pl.Int64()}

    def encode(self, block: BagBlock) -> Iterator[pl.DataFrame]:
        counts = block.counts
        if self.is_sampled:
            counts = draw_sample_counts(counts, block.offsets, self.size)
        sizes = np.add.reduceat(counts, block.offsets[:-1])
        for first, last in _runs(sizes):
            entries = slice(int(block.offsets[first]), int(block.offsets[last]))
            owners = np.repeat(block.users[first:last], np.diff(block.offsets[first : last + 1]))
            yield self.histograms(owners, block.codes[entries], counts[entries])

    def histograms(self, owners: Integers, codes: Integers, counts: Integers) -> pl.DataFrame:
        """Randomize ``counts[e]`` copies of the item ``codes[e]`` of ``owners[e]``, and count each owner's outputs."""
        parts = [pl.DataFrame(schema=dict(self.schema))]
        for start, end in _runs(counts):
            each = slice(start, end)
            outputs = self.randomizer.draw(np.repeat(codes[each], counts[each]))
            drawn = pl.DataFrame({"user": np.repeat(owners[each], counts[each]), "output": outputs.astype(np.int64)})
            parts.append(drawn.group_by("user", "output").agg(pl.len().cast(pl.Int64).alias("count")))
        return pl.concat(parts).group_by("user", "output").agg(pl.col("count").sum())


@dataclass(frozen=True, eq=False)
class PointEncoder:
    """Moves every record by planar Laplace noise, or sampled ones."""

    keys: ClassVar[tuple[str, ...]] = ()
    """Columns to count by: none, since every output counts."""

    randomizer: PlanarLaplace
    size: int
    is_sampled: bool  # Whether they are drawn with replacement; otherwise every user has exactly so many
    is_local: bool  # Whether each output keeps its user's number

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The columns of an encoded output, and perhaps its user's number."""
        # Numbered, since a space may have a column called as ours is.
        items = {f"item_{number}": pl.Float64() for number in range(self.randomizer.space.width)}
        return {"user": pl.Int64(), **items} if self.is_local else items

    def encode(self, block: PointBlock) -> Iterator[pl.DataFrame]:
        """Draw the outputs of a block's records, or of sampled ones."""
        if block.users is None or block.offsets is None:
            yield from self.moved(None, block.items)
            return
        sizes, items, offsets = np.diff(block.offsets), block.items, block.offsets
        if not self.is_sampled:
            yield from self.moved(np.repeat(block.users, sizes), items)
            return
        if self.randomizer.space.slots is not None:
            sizes, items = filled_items(self.randomizer.space, sizes, items)
            offsets = np.concatenate([[0], np.cumsum(sizes)])
        first = 0
        for chosen in draw_indices(sizes, self.size):
            last = first + len(chosen)
            rows = offsets[first:last, None] + chosen
            yield from self.moved(np.repeat(block.users[first:last], self.size), items[rows.reshape(-1)])
            first = last

    def moved(self, owners: Integers | None, items: Floats) -> Iterator[pl.DataFrame]:
        """Draw one output for each encoded item."""
        for start in range(0, len(items), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            points = self.randomizer.draw(items[part])
            frame = pl.DataFrame({f"item_{number}": points[:, number] for number in range(points.shape[1])})
            if self.is_local and owners is not None:
                frame = frame.with_columns(pl.Series("user", owners[part]))
            yield frame.select(list(self.schema))


def _runs(counts: Integers) -> Iterator[tuple[int, int]]:
    """Cut entries into runs of about ``AT_ONCE`` items, of one entry at least."""
    ends = np.cumsum(counts)
    cuts = [0]
    while cuts[-1] < len(counts):
        done = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, done + AT_ONCE, side="right"))))
    yield from pairwise(cuts)
