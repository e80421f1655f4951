"""Work on Spark's workers: Arrow batches of one partition become blocks, and blocks become payloads.

A payload is a frame in Arrow's stream format, in one value of a binary column, so that it passes through Spark whole.
Blocks have ``BLOCK_ROWS`` rows or one user's, payloads ``PAYLOAD_ROWS`` at most or a block's: a worker's memory is
bounded by these and by the largest user.

Randomness. A worker draws by :mod:`emdp.noise`, from OpenSSL's generator keyed by the operating system. Spark forks
its Python workers off one daemon; OpenSSL keys its generator anew in a process with another id, and the daemon draws
nothing, so that no two workers share a stream; a worker that runs two tasks goes on with its own. Under the test switch
a task has a seed that the driver drew, with the partition's number; a task without a seed refuses to be seeded.
"""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from hashlib import blake2b
from io import BytesIO
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, InternalError
from emdp.noise.rng import is_seeded, seeded_source
from emdp.questions.public_ranges import BlockRange
from emdp.questions.reading import BlockEncoder, FinishingEncoder, UserEncoder, UserPreparer
from emdp.tables.engines.blocks import (
    BLOCK_ROWS,
    BagBlock,
    Block,
    Integers,
    MeanBlock,
    PointBlock,
    TextBlock,
    filled_bags,
    integers,
    matrix,
    sorted_items,
    user_runs,
    whole_users,
)
from emdp.tables.statements.items import CODE, NUMBER, RECORDS
from emdp.tables.statements.texts import TEXT

__all__ = ["PAYLOAD", "Block", "BlockWork", "PassWork", "Present", "packed", "packed_parts", "unpacked"]

PAYLOAD = "payload"
"""Name of the binary column of payloads."""

PAYLOAD_ROWS = 2**18
"""Most rows of encoded output that are packed together."""

PARTITION_STEP = 2**40
"""Users of partition ``p``, where no list numbers them, have the numbers from ``p`` times this on."""

PART_KINDS = ("i1", "i2", "i4", "i8")
"""Kinds of integers, of two letters each, for what users are asked; the smallest that fits."""


@dataclass(frozen=True)
class BlockWork:
    """Work on the rows of one partition; a public value, pickled to the workers.

    Parameters
    ----------
    what : {"bags", "points", "means", "texts", "prepared"}
        What rows are, as in :class:`emdp.questions.reading.Reading`, or what a preparer made of points.
    by_user : bool
        Whether they stand user by user: the first column is then the user's row on the public list, or a key.
    is_listed : bool
        Whether there is a public list.
    exponents : tuple of int
        Of means: fixed-point exponent of each expression.
    encoder : BlockEncoder, UserEncoder or None
        What randomizes blocks; without one they are handed on.
    seed : int or None
        Under the test switch: what the partition's seed is made from.
    keeps_keys : bool
        Whether blocks that are handed on keep users' keys, since they stay on the workers.
    preparer : UserPreparer or None
        What points are turned into before they are handed on.
    known : BlockRange or None
        Public range of what is read.
    filling : tuple of int or None
        Of bags that are filled up: the slots, and the code of what fills them.
    """

    what: Literal["bags", "points", "means", "texts", "prepared"]
    by_user: bool
    is_listed: bool
    exponents: tuple[int, ...] = ()
    encoder: BlockEncoder | UserEncoder | None = None
    seed: int | None = None
    keeps_keys: bool = False
    preparer: UserPreparer | None = None
    known: BlockRange | None = None
    filling: tuple[int, int] | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Return payloads of a partition's batches, as Arrow batches of one column: for ``mapInArrow``."""
        return packed(self, batches, _partition())

    def block(self, users: Integers | None, offsets: Integers, frame: pl.DataFrame) -> Block:
        """Return the block of some whole users' rows, or of records.

        Raises
        ------
        InternalError
            If a value lies outside of its public range.
        """
        made = self._block(users, offsets, frame)
        return made if self.known is None or self.what == "prepared" else self.known.checked(made)

    def _block(self, users: Integers | None, offsets: Integers, frame: pl.DataFrame) -> Block:
        if self.what == "points":
            if users is None:
                return PointBlock(None, None, matrix(frame))
            return PointBlock(users, offsets, sorted_items(frame, offsets))
        if users is None:
            raise InternalError("rows of users came without users; please report it.")
        if self.what == "prepared":
            return PointBlock(users, offsets, matrix(frame.drop(NUMBER)))
        if self.what == "means":
            means = frame.drop(NUMBER).to_numpy().astype(np.int64, copy=False)
            return MeanBlock(users, np.ascontiguousarray(means), self.exponents)
        owners = pl.Series(NUMBER, np.repeat(np.arange(len(users)), np.diff(offsets)))
        if self.what == "bags":
            ordered = frame.with_columns(owners).sort(NUMBER, CODE)
            block = BagBlock(users, offsets, integers(ordered, CODE), integers(ordered, RECORDS))
            return filled_bags(block, self.filling)
        ordered = frame.with_columns(owners).sort(NUMBER, TEXT)
        return TextBlock(users, offsets, ordered.get_column(TEXT), integers(ordered, RECORDS))


def packed(work: BlockWork, batches: Iterator[Any], partition: int) -> Iterator[Any]:
    """Yield the payloads of one partition.

    Raises
    ------
    InternalError
        Of any failure, with nothing of its text, which might quote records and would stand in Spark's logs.
    """
    import pyarrow as pa

    with _guarded(work, partition):
        for frame in _output(work, batches, partition):
            yield pa.record_batch([pa.array([_payload(frame)], pa.binary())], names=[PAYLOAD])


def unpacked(payload: bytes) -> pl.DataFrame:
    """Return the frame of a payload."""
    return pl.read_ipc_stream(payload)


class Present(NamedTuple):
    """Users of a partition: the same wherever and however often they are found."""

    partition: int
    users: int
    digest: bytes


@dataclass(frozen=True)
class PassWork:
    """A pass over the payloads of partitions, which stay where they are; a public value but for who is asked what.

    Parameters
    ----------
    work : BlockWork
        What payloads hold; its encoder is the pass's, or None to say who is there.
    known : mapping of int to Present
        For each partition who was there before; partitions with other users now fail. Empty for the first pass.
    parts : mapping of int to bytes
        For each partition what its users are asked, as :func:`packed_parts` has it. Empty: all the same.
    """

    work: BlockWork
    known: Mapping[int, Present]
    parts: Mapping[int, bytes]

    def __call__(self, payloads: Iterator[bytes]) -> Iterator[Any]:
        """Return the payloads of a partition's sums, or who is there: for ``runJob``."""
        return self.passed(payloads, _partition())

    def passed(self, payloads: Iterator[bytes], partition: int) -> Iterator[Any]:
        """Return the outputs of a partition.

        Raises
        ------
        InternalError
            If other users are there than before, and of any failure; nothing is handed on then.
        """
        with _guarded(self.work, partition):
            keys, users = blake2b(digest_size=16), [0]
            parts = _unpacked_parts(self.parts[partition]) if self.parts else None
            made = self._encoded(map(unpacked, payloads), keys, users, parts)
            sums = list(_summed(made, self.work.encoder.keys if self.work.encoder is not None else ()))
            present = Present(partition, users[0], keys.digest())
            if self.work.encoder is None:
                yield present
                return
            if present != self.known[partition] or (parts is not None and len(parts) != present.users):
                raise InternalError("a partition had other users in one pass than in another; please report it.")
            for frame in sums:
                yield _payload(frame)

    def _encoded(
        self, frames: Iterator[pl.DataFrame], keys: Any, seen: list[int], parts: Integers | None
    ) -> Iterator[pl.DataFrame]:
        for frame in frames:
            users, offsets = user_runs(frame, None if self.work.is_listed else seen[0])
            stream = BytesIO()
            # The oldest layout has the keys' bytes one after the other and nothing else.
            own = frame.select(pl.col(NUMBER).gather(offsets[:-1]))
            own.write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
            keys.update(stream.getvalue())
            first, seen[0] = seen[0], seen[0] + len(users)
            if self.work.encoder is not None:
                asked = (parts[first : seen[0]],) if parts is not None else ()
                yield from self.work.encoder.encode(self.work.block(users, offsets, frame), *asked)


def packed_parts(parts: Integers) -> bytes:
    """Return small integers in few bytes.

    >>> _unpacked_parts(packed_parts(np.array([3, -1]))).tolist()
    [3, -1]
    """
    kind = next(kind for kind in PART_KINDS if parts.size == 0 or int(parts.max()) <= np.iinfo(kind).max)
    return kind.encode() + zlib.compress(parts.astype(kind).tobytes(), 1)


def _unpacked_parts(given: bytes) -> Integers:
    return np.frombuffer(zlib.decompress(given[2:]), dtype=given[:2].decode()).astype(np.int64)


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _payload(frame: pl.DataFrame) -> bytes:
    stream = BytesIO()
    frame.write_ipc_stream(stream, compression="lz4")
    return stream.getvalue()


@contextmanager
def _guarded(work: BlockWork, partition: int) -> Iterator[None]:
    """Draw as the work says, and let no error quote a record."""
    import pyarrow as pa

    if work.seed is None and is_seeded():
        raise InternalError("a worker was seeded outside the test switch; please report it.")
    switch = nullcontext() if work.seed is None else seeded_source((work.seed << 32) + partition)
    try:
        with switch:
            yield
    except EmdpError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError, pa.ArrowException) as cause:
        raise InternalError(f"work on a block failed ({type(cause).__name__}); please report it.") from None


def _output(work: BlockWork, batches: Iterator[Any], partition: int) -> Iterator[pl.DataFrame]:
    frames = _gathered(batches)
    if work.encoder is None:
        whole = whole_users(frames) if work.by_user else frames
        yield from (_numbered(frame if work.preparer is None else _prepared(frame, work), work) for frame in whole)
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
    for frame in whole_users(frames):
        users, offsets = user_runs(frame, None if work.is_listed else first)
        first += len(users)
        yield from encoder.encode(work.block(users, offsets, frame))


def _prepared(frame: pl.DataFrame, work: BlockWork) -> pl.DataFrame:
    """Return the features that a preparer makes of the records of whole users, each row with its user's key."""
    users, offsets = user_runs(frame, 0)
    block = work.block(users, offsets, frame)
    if work.preparer is None or not isinstance(block, PointBlock):
        raise InternalError("what are no points were to be prepared; please report it.")
    ends, numbers = work.preparer.prepare(block)
    keys = frame.get_column(NUMBER).gather(np.repeat(offsets[:-1], np.diff(ends)))
    made = {f"number_{place}": numbers[:, place] for place in range(work.preparer.width)}
    return pl.DataFrame([keys, *(pl.Series(name, column) for name, column in made.items())])


def _numbered(frame: pl.DataFrame, work: BlockWork) -> pl.DataFrame:
    """Return rows whose users are numbers: keys do not leave the workers."""
    if work.is_listed or work.keeps_keys or not work.by_user:
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
