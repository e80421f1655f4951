"""The draw of an item-wise release: from what an engine read to a multiset of outputs.

On a finite space the outputs of all records of one item are one multinomial draw, so that the cost does not depend on
the number of records (EMD 3, "Sampling it fast"). Unequal users are first brought to ``samples`` records each, drawn
with replacement from their own (EMD 5). In the local model each user's multiset stays apart, under a number dealt out
at random. Outputs leave sorted or counted: a multiset has no order.

Sampled records, outputs of users and points are drawn block by block (:mod:`emdp.estimators.itemwise.encoders`),
perhaps on other machines; what is left for one place is to add the users without records, and to merge.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.estimators.itemwise.encoders import AT_ONCE, HistogramEncoder, PointEncoder, SampleEncoder
from emdp.estimators.messages import MessageRelease
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.planar_laplace import PlanarLaplace
from emdp.mechanisms.items.randomizer import Randomizer
from emdp.noise.choices import draw_permutation
from emdp.questions.columns import Released
from emdp.spaces import neutral_code

__all__ = ["ItemwiseRelease"]

Encoder = HistogramEncoder | PointEncoder | SampleEncoder

OTHER_TOTAL = "the records are not as many as was declared and checked; please report it."


@dataclass(frozen=True, eq=False)
class ItemwiseRelease(MessageRelease):
    """Draws the outputs of every record, or of the sampled ones."""

    randomizer: Randomizer
    size: int  # Public number of items of every user: declared, or sampled
    is_sampled: bool  # Whether `size` records are drawn from each user, with replacement
    is_local: bool  # Whether each user's outputs stay apart
    accounted: str  # Which theorem gives alpha, in one line
    slack_epsilon: float = 0.0  # What rounding of the items costs, additively

    @property
    def theorem(self) -> str:
        return f"{self.accounted}; {self.randomizer.theorem}"

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        drawn = "drawn with replacement" if self.is_sampled else "declared and checked"
        return (
            ("randomizer", self.randomizer.explain()),
            ("records", f"{self.size} of every user, {drawn}; drawn exactly from integer weights"),
        )

    def encoder(self, *, keep_exact: bool) -> Encoder | None:
        """Return the encoder of every block; None where the records of each item are counted, whoever's they are."""
        if not isinstance(self.randomizer, FiniteRandomizer):
            if not isinstance(self.randomizer, PlanarLaplace):
                raise InternalError(f"{type(self.randomizer).__name__} draws no points; please report it.")
            return PointEncoder(self.randomizer, self.size, self.is_sampled, self.is_local)
        if self.is_local:
            return HistogramEncoder(self.randomizer, self.size, self.is_sampled)
        return SampleEncoder(self.size, keep_exact) if self.is_sampled else None

    def release(self, read: Any, *, users: int, keep_exact: bool) -> tuple[Any, Released | None]:
        """Draw the outputs: this spends.

        Returns
        -------
        released : tuple
            Counts of all outputs, shape (outputs,); or one frame: of outputs and ``count`` by ``user``, or of points.
        exact : tuple or None
            The share of each item in the average user's records, for a pooled release on a finite space.
        """
        encoder = self.encoder(keep_exact=keep_exact)
        if encoder is not None:
            frames = chain.from_iterable(map(encoder.encode, read))
            return self.merge(frames, users=users, keep_exact=keep_exact)
        total = users * self.size
        if int(read.sum()) != total:
            raise InternalError(OTHER_TOTAL)
        shares = tuple(Fraction(int(count), total) for count in read) if keep_exact else None
        return self._pooled(read, shares)

    def merge(self, frames: Iterator[pl.DataFrame], *, users: int, keep_exact: bool) -> tuple[Any, Released | None]:
        """Return the release, made from what the encoder made of all blocks, in any order.

        Users without records are drawn for here, with the neutral item.
        """
        encoder = self.encoder(keep_exact=keep_exact)
        if isinstance(encoder, PointEncoder):
            return (self._points(encoder, frames, users),), () if keep_exact else None
        if isinstance(encoder, HistogramEncoder):
            return (self._histograms(encoder, frames, users),), () if keep_exact else None
        return self._pooled(*self._sampled(frames, users, keep_exact=keep_exact))

    def _pooled(self, counts: Integers, shares: tuple[Fraction, ...] | None) -> tuple[Any, Released | None]:
        """Return the outputs of all items together, and the items' exact shares where they are kept."""
        randomizer = self._finite
        outputs = tuple(map(Fraction, randomizer.release(counts).tolist()))
        return (outputs,), None if shares is None else (shares,)

    def _sampled(
        self, frames: Iterator[pl.DataFrame], users: int, *, keep_exact: bool
    ) -> tuple[Integers, tuple[Fraction, ...] | None]:
        """Return how many sampled records are which item, and the exact shares if wanted."""
        items, neutral = self._finite.items.count, neutral_code(self._finite.space)
        counts = np.zeros(items, dtype=np.int64)
        shares = np.zeros(items)
        for frame in frames:
            codes = frame.get_column("code").to_numpy()
            np.add.at(counts, codes, frame.get_column("count").to_numpy())
            if keep_exact:
                np.add.at(shares, codes, frame.get_column("share").to_numpy())
        absent = self._absent(int(counts.sum()), users)
        counts[neutral] += absent * self.size
        shares[neutral] += absent
        return counts, tuple(Fraction(float(share)) / users for share in shares) if keep_exact else None

    def _histograms(self, encoder: HistogramEncoder, frames: Iterator[pl.DataFrame], users: int) -> pl.DataFrame:
        """Return each user's histogram of outputs, as rows (user, output, count)."""
        found = pl.concat([pl.DataFrame(schema=dict(encoder.schema)), *frames])
        own, present = _dense(found)
        absent = self._absent(int(found.get_column("count").sum()), users, present)
        owners = np.arange(present, users, dtype=np.int64)
        codes = np.full(absent, neutral_code(encoder.randomizer.space), dtype=np.int64)
        rest = encoder.histograms(owners, codes, np.full(absent, self.size, dtype=np.int64))
        return _renumbered(pl.concat([own, rest]), users)

    def _points(self, encoder: PointEncoder, frames: Iterator[pl.DataFrame], users: int) -> pl.DataFrame:
        """Return the randomized points, sorted, under the space's column names."""
        space = self.randomizer.space
        found = pl.concat([pl.DataFrame(schema=dict(encoder.schema)), *frames])
        own, present = _dense(found) if self.is_local else (found, len(found) // self.size)
        absent = self._absent(len(found), users, present)
        parts = [own]
        step = max(1, AT_ONCE // self.size)
        for start in range(users - absent, users, step):
            owners = np.repeat(np.arange(start, min(start + step, users), dtype=np.int64), self.size)
            parts += encoder.moved(owners, np.repeat(space.neutral_item, len(owners), axis=0))
        whole = pl.concat(parts)
        items = whole.drop("user", strict=False).to_numpy()
        points = pl.DataFrame(space.decode(items))
        if not self.is_local:
            return points.sort(space.columns)
        return _renumbered(points.with_columns(whole.get_column("user")), users)

    @property
    def _finite(self) -> FiniteRandomizer:
        if not isinstance(self.randomizer, FiniteRandomizer):
            raise InternalError("outputs were counted that are points; please report it.")
        return self.randomizer

    def _absent(self, outputs: int, users: int, present: int | None = None) -> int:
        """Return how many public users have no output yet, every other one having as many as is public."""
        found = outputs // self.size if present is None else present
        if outputs != found * self.size or found > users or (found < users and not self.is_sampled):
            raise InternalError(OTHER_TOTAL)
        return users - found


def _dense(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return rows whose users are numbered 0, 1, ... without gaps, and how many users there are."""
    numbers, own = np.unique(frame.get_column("user").to_numpy(), return_inverse=True)
    return frame.with_columns(pl.Series("user", own, dtype=pl.Int64)), len(numbers)


def _renumbered(frame: pl.DataFrame, users: int) -> pl.DataFrame:
    """Give users numbers that tell nothing of where they stood in the table, and sort."""
    numbers = draw_permutation(users)
    own = frame.get_column("user").to_numpy()
    others = [name for name in frame.columns if name != "user"]
    return frame.with_columns(pl.Series("user", numbers[own])).select("user", *others).sort("user", *others)
