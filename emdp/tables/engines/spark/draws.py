"""Draws that are added up over all of Spark's workers and settled there: noise and a threshold on the sum of each key.

Where keys are the strings of a column there may be as many as records, and their sums are not for the driver. Four
steps, from which nothing but digests, sizes and what is released leaves the workers:

1. *Drawn.* The workers draw for the users of each partition, add up by key, and keep the sums in memory and on disk.
   They are a *local checkpoint*: Spark forgets how they were made.
2. *Noted.* Every partition gives the driver a digest of what was drawn there, and how long it is.
3. *Dealt out.* Tasks read what is kept, and shuffle it by key. Such a task fails unless what it has read by its end has
   the digest of its partition.
4. *Settled.* The last stage adds up each key, draws the noise, and hands on what passes.

One draw of each user is in the release, whatever runs twice. A shuffle after a draw could give one reader what the
first run of a task drew and another reader what the second run did; a user would then be in more sums than the
mechanism's sensitivity allows. Here all that is shuffled has one digest a partition, which the driver has fixed before:
the output of a task that fails is never read, and one that is written anew, since it was lost or its task was slow, is
made of the same bytes. What is kept may exist in two versions (a machine that was thought lost, speculation), or be
drawn anew before Spark forgets how; a task that finds another version than the noted one fails, and with it the
release, unless a further attempt finds that one. What is lost afterwards cannot be made anew at all, which fails it
too. The charge stays then.

One draw of noise for each key is in the release. A key is in one partition of the last stage, by a hash of its bytes
that is the same on every machine; the noise is drawn for its sum, from the worker's own generator; the stage is its
job's last, every partition is asked for once, and Spark takes one result of a task. So its law is that of adding up and
settling in one place, however users and keys are divided.

The digest is keyed by random bytes of the release: by itself it tells nothing of what was drawn.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, ResourceError, raise_alone
from emdp.noise import rng
from emdp.questions.reading import SettlingEncoder
from emdp.tables.engines.spark.errors import hidden_errors, is_spark_error, uninterrupted
from emdp.tables.engines.spark.shared import let_go, payload_of
from emdp.tables.engines.spark.wait import waited
from emdp.tables.engines.spark.work import PAYLOAD_ROWS, BlockWork, _guarded, _partition, _payload, _summed, unpacked

__all__ = ["DealWork", "DigestWork", "Drawn", "SettleWork", "settled_payloads"]

KEY_BYTES, DIGEST_BYTES = 32, 16

PART_BYTES = 2**22
"""Payloads for each partition of the last stage, about; it has as many as the draws at most."""

PLACE = "_place"
"""Column of the partition of the last stage that a key is in."""

OTHER_DRAW = "what was drawn is not what is kept"
LOST = (OTHER_DRAW, "Checkpoint block")
"""What errors say where a part of the draws is lost, or exists twice."""


class Drawn(NamedTuple):
    """Draws of a partition.

    Attributes
    ----------
    partition : int
        Its number.
    digest : bytes
        Of the payloads, keyed by the release.
    size : int
        Their bytes.
    """

    partition: int
    digest: bytes
    size: int


@dataclass(frozen=True)
class DigestWork:
    """Notes what was drawn.

    Parameters
    ----------
    key : bytes
        The release's, of ``KEY_BYTES``.
    """

    key: bytes

    def __call__(self, payloads: Iterator[bytes]) -> Iterator[Drawn]:
        """Return the digest of a partition: for ``runJob``."""
        yield self.drawn(payloads, _partition())

    def drawn(self, payloads: Iterator[bytes], partition: int) -> Drawn:
        """Return the outputs of a partition."""
        seen = blake2b(key=self.key, digest_size=DIGEST_BYTES)
        size = sum(map(len, _noted(payloads, seen)))
        return Drawn(partition, seen.digest(), size)


@dataclass(frozen=True)
class DealWork:
    """Deals the sums of a partition out to those of the last stage, by key.

    Parameters
    ----------
    work : BlockWork
        What the sums are made by; nothing is drawn here.
    key : bytes
        The release's.
    known : tuple of bytes
        The digest of what was drawn in each partition.
    parts : int
        Partitions of the last stage.
    """

    work: BlockWork
    key: bytes
    known: tuple[bytes, ...]
    parts: int

    def __call__(self, partition: int, payloads: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
        """Return partitions of the last stage and payloads for them: for ``mapPartitionsWithIndex``.

        Raises
        ------
        InternalError
            If something else was drawn; after the last payload, which Spark then reads none of.
        """
        with _guarded(self.work, partition):
            seen = blake2b(key=self.key, digest_size=DIGEST_BYTES)
            for payload in _noted(payloads, seen):
                yield from _dealt(unpacked(payload), _key(self.work), self.parts)
            if seen.digest() != self.known[partition]:
                raise InternalError(f"{OTHER_DRAW}; please report it.")


@dataclass(frozen=True)
class SettleWork:
    """Adds up and settles the keys of a partition of the last stage.

    Parameters
    ----------
    work : BlockWork
        Its encoder settles; its seed, under the test switch, is another one than that of the draws.
    """

    work: BlockWork

    def __call__(self, dealt: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
        """Return the payloads of what is released of a partition: for ``runJob``."""
        return self.settled(dealt, _partition())

    def settled(self, dealt: Iterator[tuple[int, bytes]], partition: int) -> Iterator[bytes]:
        """Return the outputs of a partition."""
        with _guarded(self.work, partition):
            sums = list(_summed((unpacked(payload) for _, payload in dealt), (_key(self.work),)))
            # Noise is for a key's whole sum, so nothing is settled before all of them are here.
            found = _settling(self.work).settle(pl.concat(sums)) if sums else pl.DataFrame()
            yield from (_payload(frame) for frame in found.iter_slices(PAYLOAD_ROWS) if len(frame))


def settled_payloads(worked: Any, draws: BlockWork, last: BlockWork, opened: ExitStack) -> list[bytes]:
    """Return payloads of what is released of the draws of all partitions.

    Parameters
    ----------
    worked : pyspark.sql.DataFrame
        Payloads of the draws, of which nothing is computed yet.
    draws, last : BlockWork
        What they are made by, and what the last stage does; they differ in the seeds of the test switch alone.
    opened : ExitStack
        Lets go of what is kept.

    Raises
    ------
    ResourceError
        If a part of what was drawn is lost, or there are two draws of it.
    """
    from pyspark import StorageLevel

    session, key = worked.sparkSession, rng.random_bytes(KEY_BYTES)
    run = session.sparkContext.runJob
    with hidden_errors(), _lost_draws():
        # Shuffles run here.
        made = waited(session, lambda: worked.rdd)
        with uninterrupted():
            kept = made.map(payload_of).persist(StorageLevel.MEMORY_AND_DISK)
            opened.callback(let_go, kept)
            kept.localCheckpoint()
        partitions = waited(session, kept.getNumPartitions)
        places = list(range(partitions))
        known = tuple(waited(session, partial(run, kept, DigestWork(key), places)))
        with uninterrupted():
            # An empty table may have no partitions, and no job.
            if partitions and not kept.isCheckpointed():
                raise InternalError("Spark would draw anew what it loses; please report it.")
        if [own.partition for own in known] != places:
            raise InternalError("Spark gave other partitions than there are; please report it.")
        if not partitions:
            return []
        parts = min(partitions, 1 + sum(own.size for own in known) // PART_BYTES)
        with uninterrupted():
            deal = DealWork(draws, key, tuple(own.digest for own in known), parts)
            dealt = kept.mapPartitionsWithIndex(deal).partitionBy(parts, _own_place)
        found: list[bytes] = waited(session, partial(run, dealt, SettleWork(last), list(range(parts))))
    return found


@contextmanager
def _lost_draws() -> Iterator[None]:
    """Say what happened where a part of the draws is lost, or was drawn twice; to be used inside ``hidden_errors``."""
    try:
        yield
        return
    except Exception as cause:
        if not is_spark_error(cause) or not any(mark in str(cause) for mark in LOST):
            raise
    raise_alone(
        ResourceError(
            "Spark lost a part of what was drawn for the release, or drew it twice, as when a machine is lost; ask "
            "again, without spark.speculation; what was charged stays charged."
        )
    )


def _noted(payloads: Iterator[bytes], seen: Any) -> Iterator[bytes]:
    for payload in payloads:
        # The length first, so that no two lists of payloads are one text.
        seen.update(len(payload).to_bytes(8, "big"))
        seen.update(payload)
        yield payload


def _dealt(frame: pl.DataFrame, key: str, parts: int) -> Iterator[tuple[int, bytes]]:
    """Yield the rows of each partition of the last stage; equal keys are in one, the key null among them."""
    texts = frame.get_column(key).fill_null("").cast(pl.Binary).to_list()
    # Of the bytes alone: the hashes of Python and Polars are others in other processes or versions.
    places = np.fromiter((crc32(text) % parts for text in texts), dtype=np.int64, count=len(texts))
    divided = frame.with_columns(pl.Series(PLACE, places)).partition_by(PLACE, include_key=False, as_dict=True)
    for (place,), own in divided.items():
        yield int(place), _payload(own)


def _own_place(place: int) -> int:
    return place


def _settling(work: BlockWork) -> SettlingEncoder:
    if not isinstance(work.encoder, SettlingEncoder):
        raise InternalError("what no encoder settles was to be settled; please report it.")
    return work.encoder


def _key(work: BlockWork) -> str:
    encoder = _settling(work)
    (key,) = encoder.keys
    if encoder.schema[key] != pl.String():
        raise InternalError("sums are settled by a column of text alone; please report it.")
    return key
