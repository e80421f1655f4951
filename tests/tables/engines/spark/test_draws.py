"""Strings settled on Spark's workers: DuckDB's law, one draw whatever runs twice, and few bytes for the driver."""

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
import pytest
import spark_draw_work as work
from scipy import stats

import emdp
from emdp.base.errors import InternalError, ResourceError
from emdp.estimators.strings.encoders import ShareEncoder, SlotEncoder
from emdp.estimators.strings.search import StringCounts
from emdp.mechanisms.strings.stable_histogram import StableHistogram
from emdp.noise.discrete_laplace import discrete_laplace_cdf
from emdp.questions.reading import Reading, SettlingBlocks, TextColumn
from emdp.tables.engines.spark import draws as spark_draws
from emdp.tables.engines.spark.draws import DealWork, DigestWork, Drawn, SettleWork
from emdp.tables.engines.spark.work import BlockWork, _payload, unpacked
from emdp.tables.readings import read_items

SURE = 1e-9
"""A right law fails with this probability; 20,000 strings refuse scales of 0.7 and 1.3 times the right one."""

SPACE = emdp.Interval("x", 0, 1)
READING = Reading("texts", True, column=TextColumn("t", lower=False))
KEY = b"k" * 32


def histogram(users: int, threshold: int | None = None, scale: float | None = None) -> StableHistogram:
    """One slot a user; a threshold or noise other than the price's where they are given."""
    made = StableHistogram(users, 1.0, 1e-6, 1)
    made.__dict__.update({"threshold": threshold} if threshold is not None else {})
    made.__dict__.update({"scale": scale} if scale is not None else {})
    return made


def sums(rows: dict[str | None, int]) -> pl.DataFrame:
    return pl.DataFrame({"value": list(rows), "count": list(rows.values())}, schema={"value": pl.String, "count": int})


def step(encoder: Any = None) -> BlockWork:
    return BlockWork("texts", by_user=True, is_listed=False, encoder=encoder or SlotEncoder(histogram(100)))


STRINGS: list[dict[str | None, int]] = [
    {"a": 1, "it's": 2, "Grüße": 3, "x\0y": 4, None: 70},
    {"Grüße": 5, "a": 7, None: 30, **{f"w{number}": 1 for number in range(50)}},
    {"x\0y": 9, "": 1},
]


def kept_parts() -> list[list[bytes]]:
    """What three partitions drew, one of them in two payloads; a fourth one has no users."""
    first, *others = map(sums, STRINGS)
    return [[_payload(first[:2]), _payload(first[2:])], *([_payload(frame)] for frame in others), []]


def noted_parts(parts: list[list[bytes]]) -> tuple[bytes, ...]:
    return tuple(DigestWork(KEY).drawn(iter(payloads), place).digest for place, payloads in enumerate(parts))


def test_equal_strings_meet_in_one_partition_and_none_is_lost() -> None:
    parts = kept_parts()
    deal = pickle.loads(pickle.dumps(DealWork(step(), KEY, noted_parts(parts), 3)))
    places: dict[str | None, set[int]] = {}
    total: dict[str | None, int] = {}
    for place, payloads in enumerate(parts):
        for to, payload in deal(place, iter(payloads)):
            for value, count in unpacked(payload).iter_rows():
                places.setdefault(value, set()).add(to)
                total[value] = total.get(value, 0) + count
    wanted: dict[str | None, int] = {}
    for own in STRINGS:
        for value, count in own.items():
            wanted[value] = wanted.get(value, 0) + count
    assert total == wanted
    # By their bytes: the same on every machine and in every process.
    assert places == {value: {crc32((value or "").encode()) % 3} for value in wanted}
    assert {place for found in places.values() for place in found} == {0, 1, 2}


def test_another_draw_than_the_noted_one_fails_and_quotes_nothing() -> None:
    parts = kept_parts()
    known = noted_parts(parts)
    first, second = parts[0]
    others = [[first], [second, first], [first, second, second], [first + second], [_payload(sums(STRINGS[0]))], []]
    for other in others:
        with pytest.raises(InternalError) as caught:
            list(DealWork(step(), KEY, known, 3)(0, iter(other)))
        assert "it's" not in str(caught.value)
    with pytest.raises(InternalError):
        list(DealWork(step(), b"other", known, 3)(0, iter(parts[0])))
    assert len(set(known)) == 4
    assert list(DealWork(step(), KEY, known, 3)(0, iter(parts[0])))


def test_noise_is_drawn_for_the_sum_of_a_string_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str | None, int]] = []

    class Settling(SlotEncoder):
        def settle(self, sums: pl.DataFrame) -> pl.DataFrame:
            seen.append(dict(sums.iter_rows()))
            assert len(seen[-1]) == len(sums)
            return super().settle(sums)

    encoder = Settling(histogram(100, threshold=16, scale=2.0**-10))
    dealt = [(1, _payload(sums(own))) for own in ({"a": 8, "b": 8, None: 3}, {"a": 8}, {"b": 7, None: 1}, {})]
    found = pl.concat(map(unpacked, SettleWork(step(encoder)).settled(iter(dealt), 1)))
    assert seen == [{"a": 16, "b": 15, None: 4}]
    # The noise of so small a scale is 0.
    assert dict(found.iter_rows()) == {"a": 16, None: 4}
    assert list(SettleWork(step(encoder)).settled(iter(()), 2)) == []
    assert len(seen) == 1


def test_what_no_encoder_settles_is_a_bug() -> None:
    with pytest.raises(InternalError, match="no encoder settles"):
        list(DealWork(step(ShareEncoder()), KEY, noted_parts(kept_parts()), 3)(0, iter(kept_parts()[0])))


@pytest.fixture(autouse=True)
def _partitions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Four partitions, though all rows would fit into one; workers do not find the modules of tests."""
    monkeypatch.setattr(spark_draws, "PART_BYTES", 1)
    if "spark" not in request.fixturenames:
        yield
        return
    from pyspark import cloudpickle

    spark, name = request.getfixturevalue("spark"), "spark.sql.adaptive.coalescePartitions.enabled"
    spark.conf.set(name, "false")
    cloudpickle.register_pickle_by_value(sys.modules[work.__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[work.__name__])
    spark.conf.unset(name)


def on_spark(spark: Any, users: int, text: str) -> Any:
    """Users ``id`` with one record each, of a text by their number."""
    return spark.range(0, users, 1, 3).selectExpr("id AS user", "0.5D AS x", f"{text} AS t")


def read(source: Any, users: int) -> emdp.Table:
    return emdp.read(source, user="user", space=SPACE, users=users, name="t", version="1")


def found(table: emdp.Table, users: int) -> dict[str, float]:
    """The strings that are released of a table, and their estimates."""
    blocks: Any = read_items(table, READING).open()
    released, _ = StringCounts(histogram(users)).release(blocks, users=users, keep_exact=False)
    return dict(zip(*released, strict=True))


def kept(spark: Any) -> int:
    return len(spark.sparkContext._jsc.getPersistentRDDs())


@pytest.mark.parametrize("engine", ["spark", "duckdb"])
def test_noise_and_threshold_are_of_the_exact_law(engine: str, request: pytest.FixtureRequest) -> None:
    """20,000 strings of five users each, in all partitions: five slots, noise of scale 3, a threshold of 4."""
    many, each, threshold, scale = 20_000, 5, 4, 3.0
    if engine == "spark":
        source = on_spark(request.getfixturevalue("spark"), many * each, f"concat('s', id % {many})")
    else:
        numbers = pl.Series("user", np.arange(many * each))
        source = pl.DataFrame({"user": numbers, "x": 0.5, "t": "s" + (numbers % many).cast(pl.String)})
    release = StringCounts(histogram(many * each, threshold, scale))
    blocks: Any = read_items(read(source, many * each), READING).open()
    assert isinstance(blocks, SettlingBlocks) is (engine == "spark")
    (strings, estimates), exact = release.release(blocks, users=many * each, keep_exact=False)
    assert exact is None
    assert len(set(strings)) == len(strings)
    noise = np.rint(np.array(estimates) * many * each).astype(int) - each
    assert noise.min() == threshold - each
    # Left out, then each value of the noise up to 15, then more.
    counts = np.append(many - len(noise), np.bincount(np.minimum(noise, 16) - noise.min()))

    def law(scale: float) -> np.ndarray:
        ends = [discrete_laplace_cdf(value, scale) for value in range(threshold - each - 1, 16)]
        return np.diff([0.0, *ends, 1.0])

    for factor, is_right in ((1.0, True), (0.7, False), (1.3, False)):
        chance = stats.chisquare(counts, law(factor * scale) * many).pvalue
        assert bool(chance > SURE) is is_right, factor


def driver_bytes(spark: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of all that jobs hand to the driver, from now on."""
    seen: list[int] = []
    context = type(spark.sparkContext)
    run = context.runJob

    def counted(self: Any, *arguments: Any) -> Any:
        found = run(self, *arguments)
        seen.append(len(pickle.dumps(found)))
        return found

    monkeypatch.setattr(context, "runJob", counted)
    return seen


def test_what_comes_to_the_driver_does_not_grow_with_the_strings(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of 10,000 users have one of three frequent strings, each of the others one of 500 or 5,000 rare ones."""
    users, seen = 10_000, driver_bytes(spark, monkeypatch)
    now: list[int] = []
    for distinct in (500, 5000):
        text = f"IF(id % 2 = 0, concat('s', id % 3), concat('rare string ', id DIV 2 % {distinct}))"
        table = read(on_spark(spark, users, text).where(f"id % 2 = 0 OR id < {2 * distinct}"), users)
        assert set(found(table, users)) == {"s0", "s1", "s2"}
        now.append(sum(seen))
        seen.clear()
    most = 1.2 * now[0]
    assert 0 < now[1] < most < 10_000
    # As it was: the slots of every string.
    frames = list(read_items(table, READING, SlotEncoder(histogram(users))).open())
    assert sum(map(len, frames)) > distinct
    assert sum(seen) > 10 * most


@pytest.mark.parametrize(
    "failing", [work.DEALT, *(pytest.param(name, marks=pytest.mark.full) for name in (work.DRAWN, work.SETTLED))]
)
def test_a_task_that_failed_after_all_it_did_leaves_one_draw(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failing: str
) -> None:
    users = 1000
    source = spark.range(0, 3 * users, 1, 2).selectExpr(
        f"id % {users} AS user", "0.5D AS x", "concat('s', id % 31) AS t"
    )
    monkeypatch.setattr(spark_draws, "DealWork", work.FailingDeal)
    encoder = work.NotingEncoder(histogram(users), str(tmp_path), failing)
    blocks: Any = read_items(read(source, users), READING).open()
    released = dict(pl.concat(blocks.settled(encoder)).iter_rows())
    assert kept(spark) == 1
    blocks.close()
    assert kept(spark) == 0
    runs = {name: work.noted(tmp_path, name) for name in work.STEPS}
    partitions = len({partition for partition, _ in runs[work.DRAWN]})
    assert partitions > 1
    for name in work.STEPS:
        # Every partition was drawn, dealt out and settled once, but for the run that failed.
        assert sorted(runs[name]) == sorted(
            [(0, 0), *([(0, 1)] if name == failing else []), *((p, 0) for p in range(1, partitions))]
        )
    last = {
        name: pl.concat(own[run] for run in own if (run[0], 1) not in own or run[1] == 1) for name, own in runs.items()
    }
    slots = last[work.DRAWN].group_by("value").agg(pl.col("count").sum())
    assert {value: released[value] for value in slots["value"]} == dict(slots.iter_rows())
    assert released[None] == users
    assert slots.drop_nulls()["count"].sum() == users
    noise = dict(last[work.SETTLED].drop_nulls().iter_rows())
    assert {value: released[f"noise of {value}"] for value in noise} == noise
    assert len(released) == len(slots) + len(noise)
    if failing != work.DEALT:
        # The test can fail: what the lost run drew is something else.
        assert not runs[failing][0, 0].sort("value").equals(runs[failing][0, 1].sort("value"))


DEALING = 4
"""The wait in which what was drawn is dealt out: after the shuffles, the number of partitions and the digests."""


def between(monkeypatch: pytest.MonkeyPatch, number: int, act: Any) -> None:
    """Have something happen before the call of that number that waits for Spark."""
    waited, calls = spark_draws.waited, []

    def noted(session: Any, call: Any) -> Any:
        calls.append(call)
        if len(calls) == number:
            act()
        return waited(session, call)

    monkeypatch.setattr(spark_draws, "waited", noted)


SECRET = "concat('secret ', id % 7)"


def test_a_draw_that_is_lost_or_another_one_fails_the_statement_after_its_charge(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before, table = kept(spark), read(on_spark(spark, 3000, SECRET), 3000)

    class Other(DigestWork):
        def drawn(self, payloads: Iterator[bytes], partition: int) -> Drawn:
            own = DigestWork(self.key).drawn(payloads, partition)
            return own._replace(digest=bytes(16)) if partition == 1 else own

    def lose() -> None:
        for rows in list(spark.sparkContext._jsc.getPersistentRDDs().values()):
            rows.unpersist(True)

    with emdp.Session(table, budget=emdp.UserDP(9.0, 1e-3), ledger=tmp_path / "x.ledger") as session:
        for number in (1, 2):
            if number == 1:
                monkeypatch.setattr(spark_draws, "DigestWork", Other)
            else:
                between(monkeypatch, DEALING, lose)
            with pytest.raises(ResourceError, match="lost a part of what was drawn") as caught:
                session.heavy_hitters("t", threshold=0.2, epsilon=4.0, delta=1e-6)
            monkeypatch.undo()
            assert len(session.history()) == number
            assert caught.value.__context__ is None
            assert "secret" not in str(caught.value) + capfd.readouterr().out
            assert kept(spark) == before


def test_draws_are_let_go_after_an_interrupt(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table, before = read(on_spark(spark, 300, SECRET), 300), kept(spark)
    seen: list[int] = []

    def interrupt() -> None:
        seen.append(kept(spark))
        raise KeyboardInterrupt

    between(monkeypatch, DEALING, interrupt)
    with pytest.raises(KeyboardInterrupt):
        found(table, 300)
    assert seen == [before + 1]
    assert kept(spark) == before
    assert (len(spark.getTags()), len(spark.sparkContext.getJobTags())) == (0, 0)


def test_what_is_drawn_is_cut_off_and_asked_for_once(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    context = type(spark.sparkContext)
    run, asked = context.runJob, []

    def noted(self: Any, rdd: Any, function: Any, partitions: Any = None, allowLocal: bool = False) -> Any:
        found = run(self, rdd, function, partitions, allowLocal)
        asked.append((function, partitions, rdd.isCheckpointed()))
        return found

    monkeypatch.setattr(context, "runJob", noted)
    drawn: list[BlockWork] = []

    def deal(work: BlockWork, *arguments: Any) -> DealWork:
        drawn.append(work)
        return DealWork(work, *arguments)

    monkeypatch.setattr(spark_draws, "DealWork", deal)
    # However little there is to add up, and as much as a part is for.
    for most, parts in ((1, 4), (2**22, 1)):
        monkeypatch.setattr(spark_draws, "PART_BYTES", most)
        blocks: Any = read_items(read(on_spark(spark, 500, SECRET), 500), READING).open()
        with emdp.testing.seeded(3):
            assert dict(pl.concat(blocks.settled(SlotEncoder(histogram(500)))).iter_rows())[None] == 500
        blocks.close()
        assert asked[-1][1] == list(range(parts))
    (first, second, *_) = asked
    assert (type(first[0]), first[1], first[2]) == (DigestWork, [0, 1, 2, 3], True)
    assert (type(second[0]), second[1]) == (SettleWork, [0, 1, 2, 3])
    # Under the switch noise is not made of the bits that slots were made of.
    draws = drawn[0]
    assert None not in {draws.seed, second[0].work.seed}
    assert draws.seed != second[0].work.seed


def test_tables_without_rows_strings_that_do_not_pass_and_any_bytes(spark: Any) -> None:
    none, nobody, listed = "CAST(NULL AS STRING)", on_spark(spark, 3000, SECRET), list(range(3010))
    # As Spark knows beforehand, and as it turns out.
    assert found(read(nobody.where("false"), 3000), 3000) == {}
    assert found(read(nobody.where("pmod(xxhash64(id), 2) > 1"), listed), 3010) == {}
    assert found(read(on_spark(spark, 3000, f"IF(id % 2 = 0, concat('s', id), {none})"), 3010), 3010) == {}
    # Of a collation that takes capitals for small letters, and some of the users have no records.
    text = f"CASE id % 4 WHEN 0 THEN 'Grüße' WHEN 1 THEN 'x\\0y' WHEN 2 THEN 'grüße' ELSE {none} END"
    passed = found(read(on_spark(spark, 3000, f"collate({text}, 'UTF8_LCASE')"), listed), 3010)
    assert set(passed) == {"Grüße", "x\0y", "grüße"}
    # Noise of scale 2 on 750 users of one slot each.
    assert all(abs(share * 3010 - 750) < 2 * 60 for share in passed.values())


def test_kept_blocks_are_not_settled(spark: Any) -> None:
    blocks: Any = read_items(read(on_spark(spark, 50, SECRET), 50), READING).open()
    assert blocks.present() == 50
    with pytest.raises(InternalError, match="kept for several rounds"):
        list(blocks.settled(SlotEncoder(histogram(50))))
    blocks.close()
