"""Readings and releases on Spark: the same as DuckDB's before noise, the exact laws of the draws, and what travels."""

import math
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import emdp
from emdp.base.errors import DataRuleError, InternalError, UsageError
from emdp.estimators.frequency.encoders import CHOSEN, DRAWN, TALLY, OracleEncoder
from emdp.estimators.itemwise.encoders import HistogramEncoder, PointEncoder, SampleEncoder
from emdp.estimators.mean.encoders import ASKED, MESSAGES, USERS, MeanEncoder, added_up
from emdp.mechanisms.local.one_bit import LocalOneBit, OneBitCoordinate
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.noise.rng import random_words
from emdp.questions.reading import Reading, TextColumn
from emdp.randomizers import KRR, PlanarLaplace
from emdp.tables import Table
from emdp.tables.engines.spark import items as spark_items
from emdp.tables.engines.spark.items import _work, _worked, spark_statement
from emdp.tables.engines.spark.source import SparkSource
from emdp.tables.readings import check_items, explain_reading, read_items

KINDS = emdp.Categories("kind", ["bar", "it's", "café"], on_invalid="neutral")
LINE = emdp.Interval("x", 0, 5, on_invalid="clamp", neutral=4.2)
PLACES = emdp.Product(emdp.Grid(LINE, 7), emdp.Grid(emdp.Interval("y", 0, 1, on_invalid="neutral"), 9))
PLANE = emdp.Vector(["a", "b"], box=[(0, 1), (0, 1)])
SURE = 1e-9
"""A right law fails a test with this probability; 20,000 draws refuse scales of 0.7 and 1.3 times the right one."""


def dirty_rows(keys: int, count: int = 4000) -> pl.DataFrame:
    """Records with missing, infinite and invalid values, and some without a user."""
    source = np.random.default_rng(7)
    bad = [None, math.nan, math.inf, -math.inf, -1e300, 7.5, -0.0]

    def numbers(high: float) -> list[float | None]:
        good = source.uniform(0, high, count)
        return [bad[source.integers(7)] if source.random() < 0.1 else float(value) for value in good]

    owners = source.integers(0, keys, count)
    return pl.DataFrame(
        {
            "user": [None if source.random() < 0.02 else f"u{owner}" for owner in owners],
            "x": numbers(5.0),
            "y": numbers(1.0),
            "kind": source.choice(["bar", "it's", "café", "other", None], count).tolist(),
            "text": source.choice(["Hello, world ok", "it's OK ok", "...", "", "Grüße 12", None], count).tolist(),
        },
        strict=False,
    )


def on_spark(spark: Any, frame: pl.DataFrame) -> Any:
    made = spark.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return made.repartition(3) if len(frame) else made


READINGS: list[tuple[emdp.Space, Reading]] = [
    (KINDS, Reading("counts")),
    (PLACES, Reading("counts")),
    (KINDS, Reading("bags", True)),
    (PLACES, Reading("bags", True)),
    (LINE, Reading("points")),
    (emdp.Product(LINE, KINDS), Reading("points", True)),
    (LINE, Reading("means", True, (emdp.col("x"), emdp.distance_to(2.0) ** 2))),
    (KINDS, Reading("texts", True, column=TextColumn("text", words=True))),
    (KINDS, Reading("texts", True, column=TextColumn("text", length=9, alphabet="abcdefghijklmnopqrstuvwxyz, ."))),
]


def found(table: Table, reading: Reading) -> Any:
    """What a reading opens to, in a form in which two engines can be compared: by user, where there are any."""
    opened = read_items(table, reading).open()
    if reading.what == "counts":
        return opened.tolist()
    blocks = list(opened)
    if not reading.by_user:
        return np.sort(np.concatenate([block.items for block in blocks]) + 0.0, axis=0).tolist()
    users: dict[int, Any] = {}
    for block in blocks:
        for place, user in enumerate(block.users.tolist()):
            assert user not in users
            if reading.what == "means":
                users[user] = (block.means[place] / 2.0 ** np.array(block.exponents)).tolist()
                continue
            own = slice(block.offsets[place], block.offsets[place + 1])
            if reading.what == "points":
                # Zeros of either sign are one number, and sorted as one.
                users[user] = (block.items[own] + 0.0).tolist()
            else:
                values = block.codes[own] if reading.what == "bags" else block.texts[own]
                users[user] = list(
                    zip(
                        values.to_list() if reading.what == "texts" else values.tolist(),
                        block.counts[own].tolist(),
                        strict=True,
                    )
                )
    if table.users.keys is not None:
        return sorted(users.items())
    assert sorted(users) == list(range(len(users)))
    return sorted(users.values(), key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("is_listed", [False, True])
def test_every_reading_is_that_of_duckdb(spark: Any, is_listed: bool) -> None:
    frame = dirty_rows(60)
    rows = on_spark(spark, frame).cache()
    # A user without records, and records of users who are not listed.
    users: Any = [*(f"u{number}" for number in range(50)), "nobody"] if is_listed else 70
    for space, reading in READINGS:
        if not is_listed:
            check_items(emdp.read(rows, user="user", space=space, users=users), reading)
        ours = found(emdp.read(rows, user="user", space=space, users=users), reading)
        theirs = found(emdp.read(frame, user="user", space=space, users=users), reading)
        if reading.what == "means":
            # A mean may round the other way in its last place; sorted by text, nearly equal users stay in order.
            assert len(ours) == len(theirs)
            values = [np.array([one[1] if is_listed else one for one in side]) for side in (ours, theirs)]
            np.testing.assert_allclose(np.sort(values[0], axis=0), np.sort(values[1], axis=0), rtol=1e-12)
        else:
            assert ours == theirs, reading
    rows.unpersist()


def test_public_facts_of_means_are_those_of_duckdb(spark: Any) -> None:
    frame = dirty_rows(9, 50)
    reading = Reading("means", True, (emdp.col("x"),))
    both = [
        read_items(emdp.read(source, user="user", space=LINE, users=9), reading)
        for source in (frame, on_spark(spark, frame))
    ]
    assert both[0].exponents == both[1].exponents
    assert both[0].neutral_values == both[1].neutral_values == (4.2,)
    assert repr(both[1]) == "UserMeans(hidden)"


def equal_users(spark: Any, users: int, size: int) -> Any:
    """Users with ``size`` records each of one item, in four partitions."""
    columns = [f"id % {users} AS user", "'bar' AS kind", "0.5D AS a", "0.5D AS b"]
    return spark.range(0, users * size, 1, 4).selectExpr(*columns)


def encoded(table: Table, reading: Reading, encoder: Any) -> pl.DataFrame:
    return pl.concat(read_items(table, reading, encoder).open())


def chance(counts: Any, law: Any) -> float:
    """Chi-squared p-value of counts under a law, or its hundredth smallest double where a cell has none of it."""
    return float(stats.chisquare(counts, np.asarray(law) * np.sum(counts)).pvalue)


def test_outputs_of_workers_follow_the_exact_law(spark: Any) -> None:
    users, size = 2000, 10
    table = emdp.read(equal_users(spark, users, size), user="user", space=KINDS, users=users, records=size)
    randomizer = KRR(KINDS, 1.0)
    counts = np.zeros(3)
    for is_sampled in (False, True):
        drawn = encoded(table, Reading("bags", True), HistogramEncoder(randomizer, size, is_sampled))
        assert drawn["user"].n_unique() == users
        totals = drawn.group_by("output").agg(pl.col("count").sum()).sort("output")["count"].to_numpy()
        assert totals.sum() == users * size
        counts += totals
    assert chance(counts, randomizer.matrix[0]) > SURE
    for wrong in (0.7, 1.3):
        assert chance(counts, KRR(KINDS, wrong).matrix[0]) < SURE


def test_points_of_workers_follow_the_exact_law_and_never_meet(spark: Any) -> None:
    users, size = 2000, 10
    table = emdp.read(equal_users(spark, users, size), user="user", space=PLANE, users=users, records=size)
    randomizer = PlanarLaplace(PLANE, 60.0)
    edges = np.quantile(np.random.default_rng(1).gamma(2.0, 1.0, 100_000), np.linspace(0, 1, 21)[1:-1])

    def law(scale: float) -> np.ndarray:
        return np.diff(stats.gamma.cdf(np.array([0, *(edges * randomizer.scale), np.inf]), 2.0, scale=scale))

    for reading, sampled in (
        (Reading("points"), False),
        (Reading("points", True), False),
        (Reading("points", True), True),
    ):
        drawn = encoded(table, reading, PointEncoder(randomizer, size, sampled, reading.by_user))
        items = drawn.select("item_0", "item_1").to_numpy()
        # No two of 20,000 outputs are one: neither workers nor tasks nor users share random bits.
        assert len(items) == users * size == len(np.unique(items, axis=0))
        radius = np.sqrt(((items - 0.5) ** 2).sum(axis=1))
        counts = np.histogram(radius, np.array([0, *(edges * randomizer.scale), np.inf]))[0]
        assert chance(counts, law(randomizer.scale)) > SURE
        for wrong in (0.7, 1.3):
            assert chance(counts, law(wrong * randomizer.scale)) < SURE
        angles = np.histogram(np.arctan2(items[:, 1] - 0.5, items[:, 0] - 0.5), 8)[0]
        assert chance(angles, np.full(8, 1 / 8)) > SURE


def test_workers_and_tasks_share_no_stream(spark: Any) -> None:
    words = [
        word
        for _ in range(2)
        for part in spark.sparkContext.parallelize([64] * 8, 8).map(random_words).collect()
        for word in part.tolist()
    ]
    assert len(set(words)) == len(words) == 2 * 8 * 64


BUDGET = emdp.DiscreteEmdDP(1e5, 1e-3, r=0.1)


@pytest.mark.slow
def test_releases_are_exact_and_reproducible_under_the_switch(spark: Any, tmp_path: Path) -> None:
    owners = np.repeat(np.arange(300), np.arange(300) % 7)
    frame = pl.DataFrame({"user": owners, "kind": (["it's", "café"] * len(owners))[: len(owners)]})
    sizes = emdp.BoundedReduction(samples=20, r=0.1)
    answers = []
    for number, source in enumerate([frame, on_spark(spark, frame), on_spark(spark, frame)]):
        with emdp.testing.seeded(5):
            table = emdp.read(source, user="user", space=KINDS, users=300, name="t")
            with emdp.Session(table, budget=BUDGET, ledger=tmp_path / f"{number}.ledger") as session:
                answers.append(session.itemwise(KRR(KINDS, 1.0), delta=1e-8, sizes=sizes))
                local = session.itemwise(KRR(KINDS, 0.05), delta=1e-8, sizes=sizes, model="local")
        assert local.frame["user"].n_unique() == 300
        assert local.frame["count"].sum() == 300 * 20
    # Users without records, one in seven, count with the neutral item.
    assert answers[1].exact["frequency"] == pytest.approx(answers[0].exact["frequency"], rel=1e-9)
    assert answers[1].exact["frequency"][0] == pytest.approx(43 / 300, rel=1e-12)
    assert answers[1].frame["count"].sum() == 300 * 20
    assert answers[1].frame.equals(answers[2].frame)


FREQUENCIES: list[dict[str, Any]] = [
    {"method": "histogram"},
    {"method": "krr", "model": "local"},
    {"method": "unary", "model": "shuffle", "delta": 1e-6},
    {"method": "hadamard", "model": "shuffle", "delta": 1e-6, "messages": 3},
]


def test_users_frequencies_are_added_up_on_workers(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = 400
    owners = np.repeat(np.arange(users), np.arange(users) % 7)
    frame = pl.DataFrame({"user": owners, "kind": (["it's", "café", "bar"] * len(owners))[: len(owners)]})
    rows, seen = on_spark(spark, frame), []

    def counted(payload: bytes) -> pl.DataFrame:
        seen.append(unpack(payload))
        return seen[-1]

    unpack = spark_items.unpacked
    monkeypatch.setattr(spark_items, "unpacked", counted)
    for number, options in enumerate(FREQUENCIES):
        answers = []
        for place, source in enumerate((frame, rows)):
            with emdp.testing.seeded(5):
                table = emdp.read(source, user="user", space=KINDS, users=users, name="t")
                folder = tmp_path / f"{number}{place}.ledger"
                with emdp.Session(table, budget=emdp.UserDP(2.0, 1e-5), ledger=folder) as session:
                    answers.append(session.frequencies(epsilon=1.0, name="f", **options))
        assert answers[1].exact["f"] == pytest.approx(answers[0].exact["f"], rel=1e-9), options
        assert len(answers[1].frame) == 3
        # Three items or eight symbols, the number of users, perhaps their shares: whatever the number of users and of
        # their records and messages.
        partitions = int(spark.conf.get("spark.sql.shuffle.partitions"))
        assert 0 < len(seen) <= partitions
        assert sum(map(len, seen)) <= (7 if "messages" not in options else 12) * partitions
        seen.clear()


def test_tallies_drawn_on_workers_follow_the_exact_law(spark: Any) -> None:
    users = 20_000
    table = emdp.read(equal_users(spark, users, 2), user="user", space=KINDS, users=users)
    drawn = encoded(table, Reading("bags", True), OracleEncoder(KRROracle(3, users, 1.0)))
    assert drawn.filter(pl.col("what") == CHOSEN).is_empty()
    assert drawn.filter(pl.col("what") == DRAWN)["count"].sum() == users
    tally = drawn.filter(pl.col("what") == TALLY).group_by("place").agg(pl.col("count").sum()).sort("place")["count"]
    for epsilon, is_right in ((1.0, True), (0.7, False), (1.3, False)):
        high, low = map(float, KRROracle(3, users, epsilon).chances)
        assert (chance(tally.to_numpy(), [high, low, low]) > SURE) == is_right, epsilon


def test_local_means_are_added_up_on_workers(spark: Any, tmp_path: Path) -> None:
    users = 20_000
    rows = spark.range(0, 2 * users, 1, 4).selectExpr(f"id % {users} AS user", "1.0D AS x", "0.5D AS y")
    space = emdp.Product(emdp.Interval("x", 0, 1), emdp.Interval("y", 0, 1))
    table = emdp.read(rows, user="user", space=space, users=users + 10, name="t", version="1")
    coordinates = (OneBitCoordinate(0.0, 1.0, 2.0), OneBitCoordinate(0.0, 1.0, 2.0))
    reading = Reading("means", True, (emdp.col("x"), emdp.col("y")))
    exponents = read_items(table, reading).exponents
    drawn = encoded(table, reading, MeanEncoder(LocalOneBit(coordinates, users), exponents))
    found = added_up(iter([drawn]), 2)
    assert (found[USERS], found[ASKED]) == ([users], [users, users])
    # A user whose mean is the end of its range says +1 with probability (1 + t)/2, one in the middle with 1/2.
    for rate, is_right in ((2.0, True), (1.4, False), (2.6, False)):
        sure = 0.5 + 0.5 * OneBitCoordinate(0.0, 1.0, rate).strength
        assert (stats.binomtest(found[MESSAGES][0], users, sure).pvalue > SURE) == is_right, rate
    assert stats.binomtest(found[MESSAGES][1], users, 0.5).pvalue > SURE
    budget = emdp.EmdDP(10.0, model="local")
    with emdp.testing.seeded(2), emdp.Session(table, budget=budget, ledger=tmp_path / "x.ledger") as session:
        # A bit a user where little is paid, noise where more is.
        for alpha in (0.5, 8.0):
            answer = session.mean(emdp.col("x"), alpha=alpha, name="x", model="local")
            # Ten users have no record, and the middle of the range.
            assert answer.exact["x"] == pytest.approx((users + 5) / (users + 10), rel=1e-9)
            assert answer.frame["x_low"][0] < answer.frame["x"][0] < answer.frame["x_high"][0]


def test_points_without_records_are_drawn_for_too(spark: Any, tmp_path: Path) -> None:
    space = emdp.Interval("x", 0, 1)
    rows = spark.range(0, 900, 1, 3).selectExpr("id % 300 AS user", "0.75D AS x")
    table = emdp.read(rows, user="user", space=space, users=400)
    with emdp.Session(table, budget=BUDGET, ledger=tmp_path / "x.ledger") as session:
        sizes = emdp.BoundedReduction(samples=20, r=0.1)
        answer = session.itemwise(PlanarLaplace(space, 50.0), delta=1e-8, sizes=sizes)
    assert answer.is_private
    assert answer.frame.shape == (400 * 20, 1)
    # A quarter of the users lie at the centre. Of 8,000 outputs 2,000 are drawn around it, each within 0.1 but for
    # exp(-5); around 0.75 there are exp(-7.5)/2 of the others.
    near = int(((answer.frame["x"] - 0.5).abs() < 0.1).sum())
    expected, others = 2000 * (1 - math.exp(-5)), 6000 * 0.5 * math.exp(-7.5)
    assert abs(near - expected - others) < 6 * math.sqrt(2000 * math.exp(-5) + others)


def test_what_comes_to_the_driver_is_small(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    users, size = 3000, 50
    table = emdp.read(equal_users(spark, users, size), user="user", space=KINDS, users=users)
    seen: list[int] = []

    def counted(payload: bytes) -> pl.DataFrame:
        seen.append(len(payload))
        return unpack(payload)

    unpack = spark_items.unpacked
    monkeypatch.setattr(spark_items, "unpacked", counted)
    (total,) = (
        encoded(table, Reading("bags", True), SampleEncoder(7)).group_by("code").agg(pl.col("count").sum())["count"]
    )
    assert total == 7 * users
    # One sum a partition, whatever the number of users and records.
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions"))
    assert 0 < len(seen) <= partitions
    assert sum(seen) < 1500 * partitions
    seen.clear()
    blocks = list(read_items(table, Reading("bags", True)).open())
    assert sum(len(block.codes) for block in blocks) == users
    assert sum(seen) < 40 * users + 1500 * partitions


def test_draws_are_the_last_stage_and_every_partition_is_asked_once(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = emdp.read(equal_users(spark, 50, 4), user="user", space=KINDS, users=50)
    asked: list[int] = []
    context = type(spark.sparkContext)
    run = context.runJob

    def noted(self: Any, rdd: Any, function: Any, partitions: Any = None, allowLocal: bool = False) -> Any:
        asked.extend(partitions)
        assert len(partitions) <= self.defaultParallelism
        return run(self, rdd, function, partitions, allowLocal)

    monkeypatch.setattr(context, "runJob", noted)
    with emdp.testing.seeded(1):
        drawn = encoded(table, Reading("bags", True), HistogramEncoder(KRR(KINDS, 1.0), 4, True))
    assert drawn["count"].sum() == 200
    assert asked == list(range(int(spark.conf.get("spark.sql.shuffle.partitions"))))
    reading = Reading("bags", True)
    statement, work = spark_statement(table, reading), _work(table, reading, spark_statement(table, reading), None)
    with spark_items.spark_rows(table, statement.query, statement.lookups, None) as rows:
        made = _worked(rows, work)
        plan = made._jdf.queryExecution().executedPlan().toString()
    assert plan.index("MapInArrow") < plan.index("Sort") < plan.index("Exchange")


def test_blocks_that_nobody_wants_any_more_leave_nothing_behind(spark: Any) -> None:
    table = emdp.read(equal_users(spark, 50, 4), user="user", space=KINDS, users=50)
    before = {found.name for found in spark.catalog.listTables()}
    blocks = iter(read_items(table, Reading("bags", True)).open())
    next(blocks)
    # Every job was waited for to its end: none runs on while a reader takes its time.
    tracker, context = spark.sparkContext.statusTracker(), spark.sparkContext
    never = threading.Event()
    assert any(not tracker.getActiveStageIds() or never.wait(0.05) for _ in range(600))
    blocks.close()
    assert {found.name for found in spark.catalog.listTables()} == before
    assert (len(spark.getTags()), len(context.getJobTags())) == (0, 0)


def test_a_user_with_a_million_records(spark: Any) -> None:
    rows = spark.range(0, 1_000_100, 1, 4).selectExpr("greatest(id, 999999) AS user", "(id % 1000) / 1000D AS x")
    space = emdp.Interval("x", 0, 1)
    table = emdp.read(rows, user="user", space=space, users=200)
    drawn = encoded(table, Reading("points", True), PointEncoder(PlanarLaplace(space, 1000.0), 1000, True, True))
    sizes = drawn.group_by("user").len()["len"]
    assert (len(sizes), set(sizes)) == (101, {1000})
    # The large user's records are spread evenly: the mean of its 1,000 sampled ones is 0.4995, its deviation 0.0091.
    means = drawn.group_by("user").agg(pl.col("item_0").mean(), pl.col("item_0").std().alias("spread"))
    (large,) = means.filter(pl.col("spread") > 0.1)["item_0"]
    assert abs(large - 0.4995) < 6 * 0.0092


def test_texts_that_are_no_text_are_found_before_a_charge(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    column = TextColumn("kind")
    good = spark.sql("SELECT 1L AS user, 'a' AS kind, 0.5D AS x")
    bad = spark.sql("SELECT 1L AS user, CAST(X'61FF' AS STRING) AS kind, 0.5D AS x")
    space = emdp.Interval("x", 0, 1)
    check_items(emdp.read(good, user="user", space=space, users=1), Reading("texts", True, column=column))
    with pytest.raises(DataRuleError, match="cannot be read as text"):
        check_items(emdp.read(bad, user="user", space=space, users=1), Reading("texts", True, column=column))
    # Bad text, and what cannot even be computed, in a column that nobody asked about changes nothing.
    others = spark.range(1).selectExpr(
        "id AS user",
        "'a' AS kind",
        "0.5D AS x",
        "CAST(X'61FF' AS STRING) AS other",
        "CAST(concat('b', id) AS INT) AS more",
    )
    asked: list[list[str]] = []
    rows = SparkSource.rows

    def watched(self: SparkSource, schema: Mapping[str, str]) -> Any:
        asked.append(list(schema))
        return rows(self, schema)

    monkeypatch.setattr(SparkSource, "rows", watched)
    check_items(emdp.read(others, user="user", space=space, users=1), Reading("texts", True, column=column))
    assert asked == [["kind"]]
    # As keys of users such bytes are told apart, and no error.
    table = emdp.read(
        bad.union(spark.sql("SELECT 2L, 'b', 0.25D")).selectExpr("kind AS user", "x"), user="user", space=space, users=2
    )
    (block,) = _joined(read_items(table, Reading("points", True)).open())
    assert sorted(block) == [0.25, 0.5]


def _joined(blocks: Iterator[Any]) -> Iterator[list[float]]:
    yield [float(item) for block in blocks for item in block.items[:, 0]]


def test_what_spark_cannot_count_is_refused_before_a_charge(spark: Any) -> None:
    rows = equal_users(spark, 5, 2)
    with pytest.raises(UsageError, match="no finite list of items"):
        check_items(emdp.read(rows, user="user", space=PLANE, users=5), Reading("counts"))
    other = emdp.read(rows, user="user", space=PLANE, users=5)
    with pytest.raises(UsageError, match="price"):
        check_items(other, Reading("means", True, (emdp.col("price"),)))


def test_wrong_columns_of_a_worker_are_a_bug(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = emdp.read(equal_users(spark, 5, 2), user="user", space=KINDS, users=5)
    monkeypatch.setattr(spark_items, "unpacked", lambda payload: pl.DataFrame({"code": [1]}))
    with pytest.raises(InternalError, match="other columns"):
        encoded(table, Reading("bags", True), SampleEncoder(7))


def test_the_work_is_explained_from_public_facts(spark: Any) -> None:
    table = emdp.read(equal_users(spark, 50, 4), user="user", space=PLANE, users=50, records=4)
    assert dict(explain_reading(table, Reading("points"))) == {"engine": "Spark", "stages": "1", "shuffle": "none"}
    by_user = dict(explain_reading(table, Reading("points", True)))
    assert by_user["stages"] == "2"
    assert by_user["shuffle"].startswith("at most 1 x 200 records x 40 bytes")
    texts = dict(explain_reading(table, Reading("texts", True, column=TextColumn("kind"))))
    assert texts["stages"] == "3, in the central model 2 more"
    assert "each partition's strings that have a slot once more" in texts["shuffle"]
    finite = emdp.read(equal_users(spark, 50, 4), user="user", space=KINDS, users=50)
    assert dict(explain_reading(finite, Reading("bags", True)))["stages"] == "3"
    assert "3 items x P" in dict(explain_reading(finite, Reading("counts")))["shuffle"]
    frame = emdp.read({"user": [1], "a": [0.5], "b": [0.5]}, user="user", space=PLANE, users=1)
    assert explain_reading(frame, Reading("points")) == ()
