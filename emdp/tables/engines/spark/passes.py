"""Blocks of users that stay on Spark's workers, to be gone over as often as a release has rounds.

The rows of a statement are put into partitions of whole users and sorted by user, as for any reading
(:mod:`emdp.tables.engines.spark.items`); the blocks that a worker makes of them are kept there, in memory and on disk
(``MEMORY_AND_DISK``), until the release ends, however it ends. No message is drawn before that. Each pass is one job,
or one for as many partitions as there are cores, whose only stage reads what is kept: it draws what users send, adds it
up within the partition, and hands on the sums. So what holds of tasks that run twice holds of every pass. A preparer
may sample the records of users who have very many; should such a partition be lost and made anew, later passes have
another sample, which the guarantee of no pass rests on (a release whose passes must have one sample is drawn in one
place: :mod:`emdp.mechanisms.descent.moments`). Releases whose sums are settled on the workers keep their draws
in place of their blocks (:mod:`emdp.tables.engines.spark.draws`).

Places. Users are counted off partition by partition, in the order of their keys. Who is asked what is drawn on the
driver, one small integer a user, and every partition gets its own part. What is kept may be lost with a worker and
made anew: then the same users come into the same partition in the same order. This is not taken on trust: every pass
makes a digest of its partition's keys, and one that differs from the first pass's fails the release.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any

import polars as pl

from emdp.base.arrays import Integers
from emdp.base.errors import InternalError
from emdp.noise.rng import is_seeded, random_bytes
from emdp.questions.reading import SettlingEncoder, UserEncoder, UserPreparer
from emdp.tables.engines.spark.draws import settled_payloads
from emdp.tables.engines.spark.errors import hidden_errors, uninterrupted
from emdp.tables.engines.spark.shared import let_go, payload_of
from emdp.tables.engines.spark.wait import waited
from emdp.tables.engines.spark.work import Block, BlockWork, PassWork, Present, packed_parts, unpacked

__all__ = ["SEED_BYTES", "SparkBlocks"]

SEED_BYTES = 12
"""Of what partitions' seeds are made from, under the test switch."""


class SparkBlocks:
    """Blocks of a Spark table: an iterator that brings them to the driver, unless they are gone over where they are.

    Parameters
    ----------
    stream : callable
        Returns an iterator of the blocks, on the driver.
    once : callable
        From an encoder to an iterator of the sums of its output, of all blocks in a single pass.
    worked : callable
        From work to a context of a DataFrame of its payloads, of whole users, of which nothing is computed yet.
    work : BlockWork
        What payloads hold.
    """

    def __init__(
        self,
        *,
        stream: Callable[[], Iterator[Block]],
        once: Callable[[UserEncoder], Iterator[pl.DataFrame]],
        worked: Callable[[BlockWork], AbstractContextManager[Any]],
        work: BlockWork,
    ) -> None:
        self._stream, self._once, self._worked = stream, once, worked
        self._work = replace(work, keeps_keys=True, seed=None)
        self._blocks: Iterator[Block] | None = None
        self._opened = ExitStack()
        self._session: Any = None
        self._kept: Any = None
        self._known: list[Present] = []
        self._preparer: UserPreparer | None = None

    def __repr__(self) -> str:
        return "SparkBlocks(hidden)"

    def __iter__(self) -> "SparkBlocks":
        return self

    def __next__(self) -> Block:
        if self._blocks is None:
            self._blocks = self._stream()
        return next(self._blocks)

    def prepare(self, preparer: UserPreparer) -> None:
        if self._kept is not None or self._work.what != "points":
            raise InternalError("what are no points, or kept already, were to be prepared; please report it.")
        self._preparer = preparer

    def present(self) -> int:
        self._keep()
        return sum(own.users for own in self._known)

    def encode(
        self, encoder: UserEncoder, parts: Integers | None = None, *, is_last: bool = False
    ) -> Iterator[pl.DataFrame]:
        if is_last and parts is None and self._kept is None and self._preparer is None:
            yield from self._once(encoder)
            return
        self._keep()
        if parts is not None and len(parts) != self.present():
            raise InternalError("not every user was asked something or nothing; please report it.")
        work = replace(self._work, encoder=encoder, seed=_seed())
        ends = [0, *accumulate(own.users for own in self._known)]

        def asked(wave: range) -> PassWork:
            own: Mapping[int, bytes] = {}
            if parts is not None:
                own = {place: packed_parts(parts[ends[place] : ends[place + 1]]) for place in wave}
            return PassWork(work, {place: self._known[place] for place in wave}, own)

        for payload in self._run(asked, len(self._known)):
            yield _output(payload, encoder)

    def settled(self, encoder: SettlingEncoder) -> Iterator[pl.DataFrame]:
        """Have all users' sums added up and settled on the workers, and return what is released of them.

        The table is read for it, and the draws are kept meanwhile (:mod:`emdp.tables.engines.spark.draws`).
        """
        if self._kept is not None or self._preparer is not None:
            raise InternalError("what is kept for several rounds was to be settled; please report it.")
        draws, last = (replace(self._work, encoder=encoder, seed=_seed(), keeps_keys=False) for _ in range(2))
        worked = self._opened.enter_context(self._worked(draws))
        for payload in settled_payloads(worked, draws, last, self._opened):
            yield _output(payload, encoder)

    def close(self) -> None:
        if isinstance(self._blocks, Iterator) and hasattr(self._blocks, "close"):
            self._blocks.close()
        self._kept = None
        self._opened.close()

    def _keep(self) -> None:
        """Have the workers keep the blocks, and count their users."""
        if self._kept is not None:
            return
        from pyspark import StorageLevel

        # A preparer may sample.
        seed = None if self._preparer is None else _seed()
        frame = self._opened.enter_context(self._worked(replace(self._work, preparer=self._preparer, seed=seed)))
        with hidden_errors():
            # Shuffles run here.
            made = waited(frame.sparkSession, lambda: frame.rdd)
            with uninterrupted():
                kept = made.map(payload_of).persist(StorageLevel.MEMORY_AND_DISK)
                self._opened.callback(let_go, kept)
            partitions = waited(frame.sparkSession, kept.getNumPartitions)
        session, work = frame.sparkSession, self._work
        if self._preparer is not None:
            work = replace(work, what="prepared")
        with hidden_errors():
            asked = partial(session.sparkContext.runJob, kept, PassWork(work, {}, {}), list(range(partitions)))
            found: list[Present] = waited(session, asked)
        if [own.partition for own in found] != list(range(partitions)):
            raise InternalError("Spark gave other partitions than there are; please report it.")
        self._session, self._kept, self._known, self._work = session, kept, found, work

    def _run(self, asked: Callable[[range], PassWork], partitions: int) -> Iterator[Any]:
        """Yield what a pass makes of the partitions, each asked once, as many at a time as there are cores."""
        context = self._session.sparkContext
        with hidden_errors(), uninterrupted():
            at_once = max(1, context.defaultParallelism)
        for start in range(0, partitions, at_once):
            wave = range(start, min(start + at_once, partitions))
            with hidden_errors():
                made = waited(self._session, partial(context.runJob, self._kept, asked(wave), list(wave)))
            # Each is let go as it is used.
            made.reverse()
            while made:
                yield made.pop()


def _seed() -> int | None:
    return int.from_bytes(random_bytes(SEED_BYTES), "big") if is_seeded() else None


def _output(payload: bytes, encoder: UserEncoder) -> pl.DataFrame:
    frame = unpacked(payload)
    if frame.schema != pl.Schema(encoder.schema):
        raise InternalError("a worker gave other columns than its encoder declares; please report it.")
    return frame
