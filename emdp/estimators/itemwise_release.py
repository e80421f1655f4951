"""The draw of an item-wise release: from what an engine read to a multiset of outputs.

On a finite space the outputs of all records of one item are one multinomial draw, so that the cost does not depend on
the number of records (EMD 3, "Sampling it fast"). Unequal users are first brought to ``samples`` records each, drawn
with replacement from their own (EMD 5). In the local model each user's multiset stays apart, under a number dealt out
at random where users have no public list. Outputs leave sorted or counted: a multiset has no order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.errors import InternalError
from emdp.estimators.messages import MessageRelease
from emdp.expressions.columns import Released
from emdp.expressions.reading import BagBlock, PointBlock
from emdp.mechanisms.finite_randomizer import FiniteRandomizer
from emdp.mechanisms.oracle_bags import Bags
from emdp.mechanisms.planar_laplace import PlanarLaplace
from emdp.mechanisms.randomizer import Randomizer
from emdp.noise.choices import draw_indices, draw_permutation, draw_sample_counts
from emdp.spaces import neutral_code

__all__ = ["ItemwiseRelease"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

AT_ONCE = 2**21
"""Items randomized at once, about."""


@dataclass(frozen=True, eq=False)
class ItemwiseRelease(MessageRelease):
    """Draws the outputs of every record, or of the sampled ones.

    Parameters
    ----------
    randomizer : Randomizer
        What every item goes through.
    size : int
        Public number of items of every user: declared, or sampled.
    is_sampled : bool
        Whether ``size`` records are drawn from each user, with replacement.
    is_local : bool
        Whether each user's outputs stay apart.
    accounted : str
        Which theorem gives alpha, in one line.
    slack_epsilon : float
        What rounding of the items costs, additively.
    """

    randomizer: Randomizer
    size: int
    is_sampled: bool
    is_local: bool
    accounted: str
    slack_epsilon: float = 0.0

    @property
    def theorem(self) -> str:
        """The guarantee's source, in one line."""
        return f"{self.accounted}; {self.randomizer.theorem}"

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return the randomizer as an answer's derivation shows it."""
        del unit
        drawn = "drawn with replacement" if self.is_sampled else "declared and checked"
        return (
            ("randomizer", self.randomizer.explain()),
            ("records", f"{self.size} of every user, {drawn}; drawn exactly from integer weights"),
        )

    def release(self, read: Any, *, users: int, keep_exact: bool) -> tuple[Any, Released | None]:
        """Draw the outputs: this spends.

        Returns
        -------
        released : tuple
            Counts of all outputs, shape (outputs,); or one frame: of outputs and ``count`` by ``user``, or of points.
        exact : tuple or None
            The share of each item in the average user's records, for a pooled release on a finite space.
        """
        if not isinstance(self.randomizer, FiniteRandomizer):
            return (self._points(read, users),), () if keep_exact else None
        if self.is_local:
            return (self._local(self.randomizer, read, users),), () if keep_exact else None
        counts, shares = self._pooled(self.randomizer, read, users, keep_exact=keep_exact)
        outputs = tuple(map(Fraction, self.randomizer.release(counts).tolist()))
        return (outputs,), None if shares is None else (shares,)

    def _pooled(
        self, randomizer: FiniteRandomizer, read: Any, users: int, *, keep_exact: bool
    ) -> tuple[Integers, tuple[Fraction, ...] | None]:
        """Return how many of the items that are randomized are which, and the exact shares if wanted."""
        if not self.is_sampled:
            total = users * self.size
            if int(read.sum()) != total:
                raise InternalError("the records are not as many as was declared and checked; please report it.")
            return read, tuple(Fraction(int(count), total) for count in read) if keep_exact else None
        counts = np.zeros(randomizer.items.count, dtype=np.int64)
        shares = np.zeros(randomizer.items.count)
        present = 0
        for block in read:
            sampled = draw_sample_counts(block.counts, block.offsets, self.size)
            np.add.at(counts, block.codes, sampled)
            present += len(block.users)
            if keep_exact:
                shares += Bags(block.offsets, block.codes, block.counts).shares(len(shares)) * len(block.users)
        neutral = neutral_code(randomizer.space)
        counts[neutral] += (users - present) * self.size
        shares[neutral] += users - present
        return counts, tuple(Fraction(float(share)) / users for share in shares) if keep_exact else None

    def _local(self, randomizer: FiniteRandomizer, read: Iterator[BagBlock], users: int) -> pl.DataFrame:
        """Return each user's histogram of outputs, as rows (user, output, count)."""
        found, seen = [], []
        for block in read:
            counts = block.counts
            if self.is_sampled:
                counts = draw_sample_counts(counts, block.offsets, self.size)
            own = np.repeat(block.users, np.diff(block.offsets))
            found.append(self._histograms(randomizer, own, block.codes, counts))
            seen.append(block.users)
        present = np.concatenate(seen) if seen else np.empty(0, dtype=np.int64)
        absent = np.setdiff1d(np.arange(users, dtype=np.int64), present)
        codes = np.full(len(absent), neutral_code(randomizer.space), dtype=np.int64)
        found.append(self._histograms(randomizer, absent, codes, np.full(len(absent), self.size, dtype=np.int64)))
        frame = pl.concat(found)
        return _renumbered(frame, users)

    def _histograms(
        self, randomizer: FiniteRandomizer, owners: Integers, codes: Integers, counts: Integers
    ) -> pl.DataFrame:
        """Randomize ``counts`` copies of each entry and count the outputs of each owner."""
        parts = []
        for start, end in _slices(counts):
            each = slice(start, end)
            outputs = randomizer.draw(np.repeat(codes[each], counts[each]))
            whose = np.repeat(owners[each], counts[each])
            parts.append(pl.DataFrame({"user": whose, "output": outputs.astype(np.int64)}))
        whole = pl.concat(parts) if parts else pl.DataFrame(schema={"user": pl.Int64, "output": pl.Int64})
        return whole.group_by("user", "output").agg(pl.len().cast(pl.Int64).alias("count"))

    def _points(self, read: Iterator[PointBlock], users: int) -> pl.DataFrame:
        """Return the randomized points, sorted, under the space's column names."""
        space = self.randomizer.space
        frames, seen = [], []
        for block in read:
            items, owners = self._chosen(block)
            if block.users is not None:
                seen.append(block.users)
            frames.append(self._drawn(items, owners))
        if self.is_sampled:
            present = np.concatenate(seen) if seen else np.empty(0, dtype=np.int64)
            absent = np.setdiff1d(np.arange(users, dtype=np.int64), present)
            for start in range(0, len(absent), max(1, AT_ONCE // self.size)):
                owners = np.repeat(absent[start : start + max(1, AT_ONCE // self.size)], self.size)
                frames.append(self._drawn(np.repeat(space.neutral_item, len(owners), axis=0), owners))
        frame = pl.concat(frames)
        if len(frame) != users * self.size:
            raise InternalError("the records are not as many as was declared and checked; please report it.")
        return _renumbered(frame, users) if self.is_local else frame.drop("user", strict=False).sort(space.columns)

    def _chosen(self, block: PointBlock) -> tuple[Floats, Integers | None]:
        if block.users is None or block.offsets is None:
            return block.items, None
        sizes = np.diff(block.offsets)
        if not self.is_sampled:
            return block.items, np.repeat(block.users, sizes)
        drawn = np.concatenate([own.reshape(-1) for own in draw_indices(sizes, self.size)])
        owners = np.repeat(block.users, self.size)
        return block.items[np.repeat(block.offsets[:-1], self.size) + drawn], owners

    def _drawn(self, items: Floats, owners: Integers | None) -> pl.DataFrame:
        if not isinstance(self.randomizer, PlanarLaplace):
            raise InternalError(f"{type(self.randomizer).__name__} draws no points; please report it.")
        points = pl.DataFrame(self.randomizer.space.decode(self.randomizer.draw(items)))
        return points if owners is None else points.with_columns(pl.Series("user", owners, dtype=pl.Int64))


def _slices(counts: Integers) -> Iterator[tuple[int, int]]:
    """Cut entries into runs of about ``AT_ONCE`` items."""
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, done + AT_ONCE, side="right")))
        yield start, end
        start = end


def _renumbered(frame: pl.DataFrame, users: int) -> pl.DataFrame:
    """Give users numbers that tell nothing of where they stood in the table, and sort."""
    numbers = draw_permutation(users)
    own = frame.get_column("user").to_numpy()
    others = [name for name in frame.columns if name != "user"]
    return frame.with_columns(pl.Series("user", numbers[own])).select("user", *others).sort("user", *others)
