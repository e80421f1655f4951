"""What workers do with Arrow batches, without Spark: whole users, bounded blocks, random bits of their own."""

import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.errors import InternalError
from emdp.estimators.itemwise_encoders import HistogramEncoder, PointEncoder, SampleEncoder
from emdp.randomizers import KRR, PlanarLaplace
from emdp.tables import spark_work
from emdp.tables.spark_work import PAYLOAD, PAYLOAD_ROWS, BlockWork, packed, unpacked

KINDS = emdp.Categories("kind", ["bar", "cafe", "park"], on_invalid="neutral")
PLANE = emdp.Vector(["a", "b"], box=[(0, 1), (0, 1)])


def batches(frame: pl.DataFrame, size: int) -> Iterator[Any]:
    yield from frame.to_arrow().to_batches(max_chunksize=size)


def outputs(work: BlockWork, frame: pl.DataFrame, partition: int = 0, size: int = 100) -> list[pl.DataFrame]:
    found = list(packed(pickle.loads(pickle.dumps(work)), batches(frame, size), partition))
    assert all(batch.schema.names == [PAYLOAD] and batch.num_rows == 1 for batch in found)
    return [unpacked(batch.column(0)[0].as_py()) for batch in found]


def bag_rows(users: int, key: str = "user-{}") -> pl.DataFrame:
    owners = np.repeat(np.arange(users), 2)
    keys = pl.Series("number", [key.format(f"{own:06}") for own in owners])
    return pl.DataFrame({"number": keys, "code": np.tile([0, 2], users), "records": 1 + owners % 5})


def test_blocks_hold_whole_users_and_no_key_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_work, "BLOCK_ROWS", 64)
    frame = bag_rows(500)
    large = pl.DataFrame({"number": "user-000100", "code": np.arange(3, 1003), "records": 1}).cast(frame.schema)
    frame = pl.concat([frame, large]).sort("number", maintain_order=True)
    found = outputs(BlockWork("bags", True, is_listed=False), frame)
    assert sum(map(len, found)) == len(frame)
    assert len(found) > 10
    assert max(map(len, found)) < 1200
    assert all(block.schema["number"] == pl.Int64 for block in found)
    # A user's rows are never divided: what the blocks have in all is what there were.
    assert sum(block["number"].n_unique() for block in found) == 500
    assert pl.concat(found).select("code", "records").equals(frame.select("code", "records"))


@pytest.mark.parametrize("is_listed", [False, True])
def test_encoded_users_are_told_apart_across_partitions(is_listed: bool) -> None:
    frame = bag_rows(200)
    if is_listed:
        frame = frame.with_columns(pl.col("number").str.slice(5).cast(pl.Int64) + 1000)
    work = BlockWork("bags", True, is_listed, encoder=HistogramEncoder(KRR(KINDS, 1.0), 6, True))
    users = [pl.concat(outputs(work, frame, partition))["user"].unique() for partition in (0, 1)]
    assert [len(own) for own in users] == [200, 200]
    assert users[0].sort().to_list() == list(range(1000, 1200) if is_listed else range(200))
    assert len(set(users[0]) & set(users[1])) == (200 if is_listed else 0)


def test_sums_are_small_and_leave_out_rows_without_a_user() -> None:
    frame = bag_rows(3000).with_columns(
        number=pl.when(pl.int_range(pl.len()) >= 2 * 2900).then(None).otherwise(pl.col("number"))
    )
    found = outputs(BlockWork("bags", True, is_listed=False, encoder=SampleEncoder(10, True)), frame)
    assert len(found) == 1
    assert found[0]["code"].to_list() == [0, 2]
    assert found[0]["count"].sum() == 2900 * 10
    assert found[0]["share"].sum() == pytest.approx(2900)
    assert outputs(BlockWork("bags", True, is_listed=False, encoder=SampleEncoder(10)), frame.clear()) == []


def test_sums_of_many_frames_are_added_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_work, "PAYLOAD_ROWS", 3)
    monkeypatch.setattr(spark_work, "BLOCK_ROWS", 10)
    work = BlockWork("bags", True, is_listed=False, encoder=SampleEncoder(10))
    (found,) = outputs(work, bag_rows(300), size=10)
    assert found["count"].sum() == 300 * 10


def test_records_are_moved_in_payloads_of_bounded_size() -> None:
    count = 2 * PAYLOAD_ROWS + 5
    frame = pl.DataFrame({"item_0": np.full(count, 0.5), "item_1": np.full(count, 0.5)})
    work = BlockWork(
        "points", by_user=False, is_listed=False, encoder=PointEncoder(PlanarLaplace(PLANE, 50.0), 1, False, False)
    )
    found = outputs(work, frame, size=10_000)
    assert sum(map(len, found)) == count
    assert max(map(len, found)) <= PAYLOAD_ROWS
    whole = pl.concat(found)
    assert whole.n_unique() == count
    plain = outputs(BlockWork("points", by_user=False, is_listed=False), frame, size=10_000)
    assert pl.concat(plain).equals(frame)


def test_seeds_are_for_the_test_switch_alone() -> None:
    work = BlockWork("bags", True, is_listed=False, encoder=HistogramEncoder(KRR(KINDS, 1.0), 6, True))
    seeded = BlockWork("bags", True, is_listed=False, encoder=work.encoder, seed=5)
    frame = bag_rows(200)

    def drawn(one: BlockWork, partition: int) -> pl.DataFrame:
        return pl.concat(outputs(one, frame, partition)).sort("user", "output").drop("user")

    assert drawn(seeded, 0).equals(drawn(seeded, 0))
    assert not drawn(seeded, 0).equals(drawn(seeded, 1))
    assert not drawn(work, 0).equals(drawn(work, 0))
    with emdp.testing.seeded(1), pytest.raises(InternalError, match="seeded outside the test switch"):
        outputs(work, frame)


def test_errors_on_workers_quote_no_record() -> None:
    frame = bag_rows(3, key="secret-{}").with_columns(records=pl.lit(-1))
    work = BlockWork("bags", True, is_listed=False, encoder=SampleEncoder(10))
    with pytest.raises(emdp.errors.EmdpError) as caught:
        outputs(work, frame)
    assert "secret" not in str(caught.value)
    broken = frame.rename({"code": "other"})
    with pytest.raises(InternalError, match="work on a block failed") as caught:
        outputs(work, broken)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


FORKED = """
import os
from emdp.noise.rng import random_bytes, random_words

random_words(8)  # the parent's generator is in use before it is forked, as a daemon's might be
pipes = []
for _ in range(4):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, random_words(16).tobytes() + random_bytes(128))
        os._exit(0)
    os.close(write)
    pipes.append(read)
found = [random_words(16).tobytes() + random_bytes(128)]
for read in pipes:
    with os.fdopen(read, "rb") as stream:
        found.append(stream.read())
words = [one[start:start + 8] for one in found for start in range(0, 256, 8)]
assert all(len(one) == 256 for one in found)
print(len(words), len(set(words)))
"""


def test_forked_processes_share_no_stream() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["160", "160"]
