"""What runs on Spark's workers: Arrow batches of one partition become blocks, and blocks become payloads.

A payload is a frame in Arrow's stream format, in one value of a binary column, so that it passes through Spark whole.
Blocks have ``BLOCK_ROWS`` rows or one user's, payloads ``PAYLOAD_ROWS`` at most or a block's: a worker's memory is
bounded by these and by the largest user.

Randomness. A worker draws by :mod:`emdp.noise`, from OpenSSL's generator keyed by the operating system. Spark forks
its Python workers off one daemon; OpenSSL keys its generator anew in a process with another id, and the daemon draws
nothing, so that no two workers share a stream; a worker that runs two tasks goes on with its own. Under the test switch
a task has a seed that the driver drew, with the partition's number; a task without a seed refuses to be seeded.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.errors import EmdpError, InternalError
from emdp.expressions.reading import BlockEncoder, FinishingEncoder
from emdp.noise.rng import is_seeded, seeded_source
from emdp.tables.item_reads import (
    BLOCK_ROWS,
    BagBlock,
    MeanBlock,
    PointBlock,
    TextBlock,
    _integers,
    _matrix,
    _sorted_items,
    _whole_users,
)
from emdp.tables.items import CODE, NUMBER, RECORDS
from emdp.tables.texts import TEXT

__all__ = ["PAYLOAD", "Block", "BlockWork", "packed", "unpacked"]

PAYLOAD = "payload"
"""Name of the binary column of payloads."""

PAYLOAD_ROWS = 2**18
"""Most rows of encoded output that are packed together."""

PARTITION_STEP = 2**40
"""Users of partition ``p``, where no list numbers them, have the numbers from ``p`` times this on."""

Integers = npt.NDArray[np.int64]
Block = BagBlock | PointBlock | MeanBlock | TextBlock


@dataclass(frozen=True)
class BlockWork:
    """What is done with the rows of one partition; a public value, pickled to the workers.

    Parameters
    ----------
    what : {"bags", "points", "means", "texts"}
        What rows are, as in :class:`emdp.expressions.reading.Reading`.
    by_user : bool
        Whether they stand user by user: the first column is then the user's row on the public list, or a key.
    is_listed : bool
        Whether there is a public list.
    exponents : tuple of int
        Of means: fixed-point exponent of each expression.
    encoder : BlockEncoder or None
        What randomizes blocks; without one they are handed on.
    seed : int or None
        Under the test switch: what the partition's seed is made from.
    """

    what: Literal["bags", "points", "means", "texts"]
    by_user: bool
    is_listed: bool
    exponents: tuple[int, ...] = ()
    encoder: BlockEncoder | None = None
    seed: int | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Return payloads of a partition's batches, as Arrow batches of one column: for ``mapInArrow``."""
        from pyspark import TaskContext

        context = TaskContext.get()
        return packed(self, batches, 0 if context is None else context.partitionId())

    def block(self, users: Integers | None, offsets: Integers, frame: pl.DataFrame) -> Block:
        """Return the block of some whole users' rows, or of records."""
        if self.what == "points":
            if users is None:
                return PointBlock(None, None, _matrix(frame))
            return PointBlock(users, offsets, _sorted_items(frame, offsets))
        if users is None:
            raise InternalError("rows of users came without users; please report it.")
        if self.what == "means":
            means = frame.drop(NUMBER).to_numpy().astype(np.int64, copy=False)
            return MeanBlock(users, np.ascontiguousarray(means), self.exponents)
        owners = pl.Series(NUMBER, np.repeat(np.arange(len(users)), np.diff(offsets)))
        if self.what == "bags":
            ordered = frame.with_columns(owners).sort(NUMBER, CODE)
            return BagBlock(users, offsets, _integers(ordered, CODE), _integers(ordered, RECORDS))
        ordered = frame.with_columns(owners).sort(NUMBER, TEXT)
        return TextBlock(users, offsets, ordered.get_column(TEXT), _integers(ordered, RECORDS))


def packed(work: BlockWork, batches: Iterator[Any], partition: int) -> Iterator[Any]:
    """Yield the payloads of one partition.

    Parameters
    ----------
    work : BlockWork
        What is done.
    batches : iterator of pyarrow.RecordBatch
        The partition's rows.
    partition : int
        Its number.

    Raises
    ------
    InternalError
        Of any failure, with nothing of its text, which might quote records and would stand in Spark's logs.
    """
    import pyarrow as pa

    if work.seed is None and is_seeded():
        raise InternalError("a worker was seeded outside the test switch; please report it.")
    switch = nullcontext() if work.seed is None else seeded_source((work.seed << 32) + partition)
    try:
        with switch:
            for frame in _output(work, batches, partition):
                stream = BytesIO()
                frame.write_ipc_stream(stream, compression="lz4")
                yield pa.record_batch([pa.array([stream.getvalue()], pa.binary())], names=[PAYLOAD])
    except EmdpError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError, pa.ArrowException) as cause:
        raise InternalError(f"work on a block failed ({type(cause).__name__}); please report it.") from None


def unpacked(payload: bytes) -> pl.DataFrame:
    """Return the frame of a payload."""
    return pl.read_ipc_stream(payload)


def _output(work: BlockWork, batches: Iterator[Any], partition: int) -> Iterator[pl.DataFrame]:
    frames = _gathered(batches)
    if work.encoder is None:
        yield from (_numbered(frame, work) for frame in (_whole_users(frames) if work.by_user else frames))
        return
    encoded = _encoded(work, work.encoder, frames, partition)
    if isinstance(work.encoder, FinishingEncoder):
        sums = list(_summed(encoded, work.encoder.keys))
        if sums:
            yield from work.encoder.finish(pl.concat(sums)).iter_slices(PAYLOAD_ROWS)
        return
    if work.encoder.keys:
        yield from _summed(encoded, work.encoder.keys)
        return
    for frame in encoded:
        yield from frame.iter_slices(PAYLOAD_ROWS)


def _gathered(batches: Iterator[Any]) -> Iterator[pl.DataFrame]:
    """Yield Spark's batches, of 10,000 rows unless it is told otherwise, in frames of about ``BLOCK_ROWS``."""
    kept: list[pl.DataFrame] = []
    rows = 0
    for batch in batches:
        kept.append(pl.DataFrame(batch))
        rows += len(kept[-1])
        if rows >= BLOCK_ROWS:
            yield pl.concat(kept)
            kept, rows = [], 0
    if kept:
        yield pl.concat(kept)


def _encoded(
    work: BlockWork, encoder: BlockEncoder, frames: Iterator[pl.DataFrame], partition: int
) -> Iterator[pl.DataFrame]:
    if not work.by_user:
        for frame in frames:
            yield from encoder.encode(work.block(None, np.zeros(1, dtype=np.int64), frame))
        return
    first = partition * PARTITION_STEP
    for frame in _whole_users(frames):
        users, offsets = user_runs(frame, None if work.is_listed else first)
        first += len(users)
        yield from encoder.encode(work.block(users, offsets, frame))


def user_runs(frame: pl.DataFrame, first: int | None) -> tuple[Integers, Integers]:
    """Return the numbers of whole users and where each one's rows begin; counted from ``first`` or, without, listed."""
    keys = frame.get_column(NUMBER)
    starts = np.flatnonzero(keys.ne_missing(keys.shift(1)).to_numpy())
    offsets = np.append(starts, len(frame)).astype(np.int64)
    if first is not None:
        return np.arange(first, first + len(starts), dtype=np.int64), offsets
    return keys.gather(starts).to_numpy().astype(np.int64), offsets


def _numbered(frame: pl.DataFrame, work: BlockWork) -> pl.DataFrame:
    """Return rows whose users are numbers: keys do not leave the workers."""
    if work.is_listed or not work.by_user:
        return frame
    return frame.with_columns(pl.col(NUMBER).rle_id().cast(pl.Int64))


def _summed(frames: Iterator[pl.DataFrame], keys: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """Yield the sums of all rows of the same keys, in frames that are small; nothing where there is no row."""
    kept: list[pl.DataFrame] = []
    rows = 0
    for frame in frames:
        kept.append(frame)
        rows += len(frame)
        if rows > 2 * PAYLOAD_ROWS:
            kept, rows = [_added(kept, keys)], 0
    if kept:
        yield from _added(kept, keys).iter_slices(PAYLOAD_ROWS)


def _added(frames: list[pl.DataFrame], keys: tuple[str, ...]) -> pl.DataFrame:
    return pl.concat(frames).group_by(keys, maintain_order=True).agg(pl.all().sum()).sort(keys)
