"""What workers do with Arrow batches, without Spark: whole users, bounded blocks, random bits of their own."""

import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import InternalError
from emdp.estimators.itemwise.encoders import HistogramEncoder, PointEncoder, SampleEncoder
from emdp.noise.rng import random_words
from emdp.questions.reading import Reading
from emdp.randomizers import KRR, PlanarLaplace
from emdp.tables.engines.spark import work as spark_work
from emdp.tables.engines.spark.items import _work
from emdp.tables.engines.spark.work import (
    PAYLOAD,
    PAYLOAD_ROWS,
    BlockWork,
    PassWork,
    Present,
    packed,
    packed_parts,
    unpacked,
)
from emdp.tables.statements.items import ItemStatement

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


def test_bags_are_filled_up_to_the_slots_on_workers() -> None:
    """As on the machine of DuckDB: 1 to 5 records of an item, and code 2 for what is elsewhere and takes no slot."""
    work = BlockWork("bags", True, is_listed=False, filling=(4, 2))
    found: Any = work.block(np.arange(5), np.arange(0, 12, 2), bag_rows(5))
    assert found.offsets.tolist() == [0, 2, 4, 6, 7, 8]
    assert found.codes.tolist() == [0, 2, 0, 2, 0, 2, 0, 0]
    assert found.counts.tolist() == [1, 3, 2, 2, 3, 1, 4, 5]


def test_what_fills_bags_of_points_has_no_code() -> None:
    """Points are filled up by what draws of them; to look for a code would fail after the charge."""
    for space, what, filling in ((PLANE, "points", None), (KINDS, "bags", (2, 3))):
        frame = {"user": [1], "a": [0.5], "b": [0.5], "kind": ["bar"]}
        table = emdp.read(frame, user="user", space=space, users=3, slots=2)
        made = _work(table, Reading(what, by_user=True), ItemStatement("", {}), None)  # type: ignore[arg-type]
        assert made.filling == filling


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
    with pytest.raises(emdp.base.errors.EmdpError) as caught:
        outputs(work, frame)
    assert "secret" not in str(caught.value)
    broken = frame.rename({"code": "other"})
    with pytest.raises(InternalError, match="work on a block failed") as caught:
        outputs(work, broken)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


@dataclass(frozen=True)
class Counted:
    """Counts records and users, and draws a number; of users who are asked alone."""

    fails: bool = False

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        return {"what": pl.Int64(), "count": pl.Int64()}

    @property
    def keys(self) -> tuple[str, ...]:
        return ("what",)

    def encode(self, block: Any, parts: Any = None) -> Iterator[pl.DataFrame]:
        if self.fails:
            raise ValueError(f"cannot count {block.counts}")
        asked = np.ones(len(block.users), dtype=bool) if parts is None else parts > 0
        counts = np.add.reduceat(block.counts, block.offsets[:-1])[asked]
        drawn = int(random_words(1)[0] >> np.uint64(2))
        yield pl.DataFrame({"what": [0, 1, 2], "count": [counts.sum(), len(counts), drawn]}, schema=dict(self.schema))


def kept(frame: pl.DataFrame, **options: Any) -> list[bytes]:
    """What a worker keeps of a partition's rows."""
    work = BlockWork("bags", True, is_listed=False, keeps_keys=True, **options)
    return [batch.column(0)[0].as_py() for batch in packed(work, batches(frame, 100), 3)]


def passed(payloads: list[bytes], encoder: Any = None, **options: Any) -> list[Any]:
    given = {"known": {}, "parts": {}, "seed": None} | options
    work = BlockWork("bags", True, is_listed=False, encoder=encoder, seed=given["seed"])
    done = pickle.loads(pickle.dumps(PassWork(work, given["known"], given["parts"])))
    return list(done.passed(iter(payloads), 3))


def test_what_is_kept_is_gone_over_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_work, "BLOCK_ROWS", 64)
    frame = bag_rows(500)
    payloads = kept(frame)
    assert len(payloads) > 10
    (present,) = passed(payloads)
    assert present[:2] == (3, 500)
    assert "user-" not in repr(present)
    asked = np.random.default_rng(1).integers(-1, 2, 500)
    owners = frame["records"].to_numpy()[::2]
    for parts, chosen in ((None, np.ones(500, dtype=bool)), (asked, asked > 0)):
        given = {} if parts is None else {3: packed_parts(parts)}
        (sums,) = map(unpacked, passed(payloads, Counted(), known={3: present}, parts=given))
        assert sums["count"].to_list()[:2] == [2 * owners[chosen].sum(), chosen.sum()]


def test_a_partition_with_other_users_hands_on_nothing() -> None:
    (present,) = passed(kept(bag_rows(50)))
    assert passed(kept(bag_rows(50))) == [present]
    others = [bag_rows(49), bag_rows(51), bag_rows(50).reverse(), bag_rows(50, "user+{}"), bag_rows(50).clear()]
    for frame in others:
        with pytest.raises(InternalError, match="other users in one pass than in another"):
            passed(kept(frame), Counted(), known={3: present})
    for parts in (np.zeros(49), np.zeros(51)):
        with pytest.raises(InternalError, match="other users in one pass than in another"):
            passed(kept(bag_rows(50)), Counted(), known={3: present}, parts={3: packed_parts(parts)})
    # The same users with other records are the same users.
    assert passed(kept(bag_rows(50).with_columns(pl.col("records") + 1))) == [present]
    assert passed([], known={}) == [Present(3, 0, passed([])[0].digest)]


def test_passes_quote_no_record_and_are_seeded_by_the_switch_alone() -> None:
    payloads = kept(bag_rows(3, key="secret-{}"))
    (present,) = passed(payloads)
    with pytest.raises(InternalError, match="work on a block failed") as caught:
        passed(payloads, Counted(fails=True), known={3: present})
    assert "[1" not in str(caught.value)
    assert caught.value.__suppress_context__

    def drawn(seed: int | None) -> int:
        (sums,) = map(unpacked, passed(payloads, Counted(), known={3: present}, seed=seed))
        return int(sums["count"][2])

    assert drawn(5) == drawn(5) != drawn(6)
    assert drawn(None) != drawn(None)
    with emdp.testing.seeded(1), pytest.raises(InternalError, match="seeded outside the test switch"):
        drawn(None)


def test_what_users_are_asked_is_sent_in_few_bytes() -> None:
    for most in (0, 1, 127, 128, 2**15, 2**31):
        parts = np.array([-1, 0, most] * 1000)
        assert spark_work._unpacked_parts(packed_parts(parts)).tolist() == parts.tolist()
        assert len(packed_parts(parts)) < 200 + most.bit_length()
    assert spark_work._unpacked_parts(packed_parts(np.zeros(0, dtype=np.int64))).size == 0


@dataclass(frozen=True)
class Halved:
    """Keeps the first record of every user, and half of its number."""

    width: int = 1

    def prepare(self, block: Any) -> tuple[Any, Any]:
        return np.arange(len(block.users) + 1), block.items[block.offsets[:-1], :1] / 2


def test_what_is_prepared_takes_the_place_of_items() -> None:
    frame = pl.DataFrame({"number": ["a", "a", "b", "c"], "item_0": [3.0, 1.0, 5.0, 7.0], "item_1": [0.0] * 4})
    work = BlockWork("points", True, is_listed=False, keeps_keys=True, preparer=Halved())
    made = pl.concat(outputs(work, frame))
    assert made.to_dict(as_series=False) == {"number": ["a", "b", "c"], "number_0": [0.5, 2.5, 3.5]}
    block = BlockWork("prepared", True, is_listed=False).block(np.arange(3), np.arange(4), made)
    assert block.items.tolist() == [[0.5], [2.5], [3.5]]  # type: ignore[union-attr]
    with pytest.raises(InternalError, match="what are no points"):
        kept(bag_rows(3), preparer=Halved())


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
