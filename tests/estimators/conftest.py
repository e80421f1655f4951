"""Partitions as Spark's workers keep them, in this process: what releases in rounds are tested on without Spark."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from emdp.noise.rng import is_seeded, random_bytes
from emdp.tables.engines.spark.draws import DealWork, DigestWork, SettleWork
from emdp.tables.engines.spark.work import BlockWork, PassWork, Present, packed, packed_parts, unpacked


class WorkerBlocks:
    """Rows of users in partitions, each of which goes through what a worker does, pickled as for a worker.

    Parameters
    ----------
    what : str
        What rows are.
    partitions : list of polars.DataFrame
        Rows user by user, the user's number first.
    exponents : tuple of int
        Of means.
    """

    def __init__(self, what: Any, partitions: list[pl.DataFrame], exponents: tuple[int, ...] = ()) -> None:
        self.work = BlockWork(what, by_user=True, is_listed=True, exponents=exponents, keeps_keys=True)
        self.partitions = partitions
        self.known: list[Present] = []
        self.kept: list[list[bytes]] = []
        self.sent: list[pl.DataFrame] = []
        self.passes = self.closed = 0
        self.preparer: Any = None

    def __iter__(self) -> Iterator[Any]:
        for frame in self.partitions:
            if len(frame):
                keys = frame.get_column("number").to_numpy()
                starts = np.flatnonzero(np.diff(keys, prepend=-1))
                yield self.work.block(keys[starts], np.append(starts, len(keys)), frame)

    def prepare(self, preparer: Any) -> None:
        self.preparer = preparer

    def present(self) -> int:
        self._keep()
        return sum(own.users for own in self.known)

    def encode(self, encoder: Any, parts: Any = None, *, is_last: bool = False) -> Iterator[pl.DataFrame]:
        self._keep()
        self.passes += 1
        work = self._sent(self.work, encoder)
        ends = np.cumsum([0, *(own.users for own in self.known)])
        for place, payloads in enumerate(self.kept):
            own = {} if parts is None else {place: packed_parts(parts[ends[place] : ends[place + 1]])}
            done = pickle.loads(pickle.dumps(PassWork(work, {place: self.known[place]}, own)))
            for payload in done.passed(iter(payloads), place):
                self.sent.append(unpacked(payload))
                assert self.sent[-1].schema == pl.Schema(encoder.schema)
                yield self.sent[-1]

    def settled(self, encoder: Any) -> Iterator[pl.DataFrame]:
        self.passes += 1
        draws, last = self._sent(self.work, encoder), self._sent(self.work, encoder)
        drawn = []
        for place, frame in enumerate(self.partitions):
            batches = frame.to_arrow().to_batches(max_chunksize=1000)
            drawn.append([one.column(0)[0].as_py() for one in packed(draws, iter(batches), place)])
        known = tuple(DigestWork(b"key").drawn(iter(payloads), place).digest for place, payloads in enumerate(drawn))
        deal, settle = pickle.loads(pickle.dumps((DealWork(draws, b"key", known, 3), SettleWork(last))))
        dealt = [one for place, payloads in enumerate(drawn) for one in deal(place, iter(payloads))]
        for place in range(3):
            for payload in settle.settled((one for one in dealt if one[0] == place), place):
                self.sent.append(unpacked(payload))
                yield self.sent[-1]

    def close(self) -> None:
        self.closed += 1

    def _keep(self) -> None:
        if self.kept:
            return
        work = self._sent(self.work, None, self.preparer)
        for place, frame in enumerate(self.partitions):
            batches = frame.to_arrow().to_batches(max_chunksize=1000)
            self.kept.append([one.column(0)[0].as_py() for one in packed(work, iter(batches), place)])
        if self.preparer is not None:
            self.work = BlockWork("prepared", by_user=True, is_listed=True, keeps_keys=True)
        for place, payloads in enumerate(self.kept):
            self.known += PassWork(self._sent(self.work, None), {}, {}).passed(iter(payloads), place)

    def _sent(self, work: BlockWork, encoder: Any, preparer: Any = None) -> BlockWork:
        seed = int.from_bytes(random_bytes(12), "big") if is_seeded() else None
        return BlockWork(
            work.what, by_user=True, is_listed=True, exponents=work.exponents, encoder=encoder, seed=seed,
            keeps_keys=True, preparer=preparer,
        )  # fmt: skip


def in_parts(frame: pl.DataFrame, parts: int = 3) -> list[pl.DataFrame]:
    """Return the rows of whole users in so many partitions; another one is empty."""
    return [frame.filter(pl.col("number") % parts == part) for part in range(parts)] + [frame.clear()]


@pytest.fixture
def on_workers() -> Any:
    """From what rows are, all rows and the exponents of means to blocks on workers."""
    return lambda what, frame, exponents=(): WorkerBlocks(what, in_parts(frame), exponents)
