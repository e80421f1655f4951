"""Releases in rounds on Spark: DuckDB's exact statistics, draws on workers, only sums to the driver, nothing left."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import emdp
import emdp.learn
from emdp.base.errors import EmdpError, InternalError
from emdp.estimators.crowds import MeanValues, WorkerCrowd
from emdp.mechanisms.crowd import ColumnSums
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.user_mean.crowd_questions import Messages
from emdp.questions.reading import Reading, RepeatedBlocks
from emdp.tables.engines.spark import items as spark_items
from emdp.tables.engines.spark import passes as spark_passes
from emdp.tables.readings import read_items

SPACE = emdp.Product(emdp.Interval("x", -10, 10, neutral=3), emdp.Interval("y", -10, 10, neutral=-2))
USERS = 6000
SURE = 1e-9
"""A right law fails with this probability; 20,000 messages refuse strengths of 0.7 and 1.3 times the right one."""


def records(users: int = USERS, most: int = 3) -> pl.DataFrame:
    """Users named by text with up to ``most`` records each, one in some without any."""
    rng = np.random.default_rng(4)
    owners = np.repeat(np.arange(users), rng.integers(0, most + 1, users))
    x = np.clip(rng.normal(3, 0.1, len(owners)), -10, 10)
    texts = rng.choice(["abc", "hgfedc", "x"], len(x), p=[0.5, 0.4, 0.1])
    return pl.DataFrame(
        {"user": [f"u{own}" for own in owners], "x": x, "y": 1 - x + 0.1 * rng.normal(size=len(x)), "t": texts}
    )


def on_spark(spark: Any, frame: pl.DataFrame) -> Any:
    return spark.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(3)


@pytest.fixture(autouse=True, scope="module")
def _partitions(spark: Any) -> Iterator[None]:
    """Several partitions, though all rows would fit into one."""
    name = "spark.sql.adaptive.coalescePartitions.enabled"
    spark.conf.set(name, "false")
    yield
    spark.conf.unset(name)


@pytest.fixture
def travelled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of every payload that came to the driver."""
    seen: list[int] = []
    for module in (spark_items, spark_passes):

        def counted(payload: bytes, unpack: Any = module.unpacked) -> pl.DataFrame:
            seen.append(len(unpack(payload)))
            return unpack(payload)

        monkeypatch.setattr(module, "unpacked", counted)
    return seen


SPREAD: dict[str, Any] = {"spread": 0.1, "between": 0.1}
VECTOR: dict[str, Any] = {"spread": (0.1, 0.2), "between": 0.1}
MIXED: dict[str, Any] = {"epsilon": 8.0, "delta": 1e-6, "rounds": 2, "model": "shuffle"}
LINEAR: dict[str, Any] = {"delta": 1e-6, "model": "shuffle"}
PREFIXES: dict[str, Any] = {"threshold": 0.45, "epsilon": 14.0, "alphabet": "abcdefghx", "length": 6}

ASKED: dict[str, Any] = {
    "a mean, central": lambda s: s.user_mean("x", epsilon=8.0, **SPREAD),
    "a mean, one round": lambda s: s.user_mean("x", epsilon=8.0),
    "a mean, one round, local": lambda s: s.user_mean("x", epsilon=8.0, model="local"),
    "a vector, central": lambda s: s.user_mean(["x", "y"], epsilon=8.0, **VECTOR),
    "a mean, users split": lambda s: s.user_mean("x", epsilon=1.5, model="local", **SPREAD),
    "a mean, shuffled": lambda s: s.user_mean("x", epsilon=2.0, delta=1e-6, model="shuffle", **SPREAD),
    "a vector, local": lambda s: s.user_mean(["x", "y"], epsilon=8.0, model="local", **VECTOR),
    "dealt bits": lambda s: s.vector_mean([emdp.col("x"), emdp.col("y")], epsilon=0.5, model="local"),
    "strings, central": lambda s: s.heavy_hitters("t", threshold=0.2, epsilon=4.0, delta=1e-6),
    "strings, local": lambda s: s.heavy_hitters("t", model="local", **PREFIXES),
    "a fit, central": lambda s: emdp.learn.fit_linear(s, "x", "y", epsilon=8.0, rounds=3).answer,
    "a fit, local": lambda s: emdp.learn.fit_linear(s, "x", "y", epsilon=8.0, rounds=2, model="local").answer,
    "a fit, sampled": lambda s: emdp.learn.fit_linear(s, "x", "y", sampled=2000, **MIXED).answer,
    "a fit, joined": lambda s: emdp.learn.fit_linear(s, "x", "y", participation=0.3, **MIXED).answer,
    "a mean of several bits": lambda s: s.mean(emdp.col("x"), epsilon=4.0, messages=4, **LINEAR),
    "a vector of several bits": lambda s: s.vector_mean(
        [emdp.col("x"), emdp.col("y")], epsilon=4.0, messages=4, **LINEAR
    ),
    "a vector, shuffled": lambda s: s.user_mean(["x", "y"], epsilon=4.0, **LINEAR),
    "facts, mixed": lambda s: s.shares([emdp.ramp(emdp.col("x"), 3, 1)], epsilon=4.0, **LINEAR),
}


SOME = (
    "a mean, central",
    "a mean, users split",
    "a vector, local",
    "strings, central",
    "strings, local",
    "a fit, local",
)
"""Of each kind of pass one, for every run of the tests."""

SHUFFLED = (
    "a mean, shuffled",
    "a fit, sampled",
    "a fit, joined",
    "a mean of several bits",
    "a vector of several bits",
    "a vector, shuffled",
    "facts, mixed",
)
"""Ways of the shuffle model, each by messages that are drawn where the records are."""

OTHERS = tuple(name for name in ASKED if name not in SOME + SHUFFLED)


def opened(source: Any, ledger: Path, users: int = USERS) -> emdp.Session:
    table = emdp.read(source, user="user", space=SPACE, users=users, name="t", version="1")
    return emdp.Session(table, budget=emdp.UserDP(1000.0, 1e-3), ledger=ledger)


@pytest.fixture(scope="module")
def rows(spark: Any) -> Iterator[tuple[pl.DataFrame, Any]]:
    frame = records()
    kept = on_spark(spark, frame).cache()
    assert kept.count() == len(frame)
    yield frame, kept
    kept.unpersist()


ELSEWHERE = emdp.Product(
    emdp.Interval("x", 2.95, 10, on_invalid="elsewhere"), emdp.Interval("y", -10, 10, on_invalid="neutral")
)


def test_exact_answers_are_those_of_duckdb_where_records_are_elsewhere(spark: Any, rows: Any, tmp_path: Path) -> None:
    names = ("a mean, central", "a mean, users split", "a fit, central", "a fit, local")
    with emdp.testing.seeded(1):
        found = []
        for place, source in enumerate(rows):
            table = emdp.read(source, user="user", space=ELSEWHERE, users=USERS, name="t", version="1", elsewhere=1)
            with emdp.Session(table, budget=emdp.UserDP(1000.0, 1e-3), ledger=tmp_path / f"{place}.ledger") as session:
                found.append([ASKED[name](session) for name in names])
        for here, there in zip(*found, strict=True):
            for column, value in here.exact.items():
                assert there.exact[column] == pytest.approx(value, rel=1e-9)
        # About a third of the records is below, and a quarter of the users has none.
        shares = [answers[0].diagnostics["share_somewhere"] for answers in found]
        assert shares == pytest.approx([shares[0]] * 2, abs=0.01)
        assert 0.4 < shares[0] < 0.7


@pytest.mark.parametrize(
    "names", [SOME, pytest.param(SHUFFLED, marks=pytest.mark.slow), pytest.param(OTHERS, marks=pytest.mark.full)]
)
def test_exact_answers_are_those_of_duckdb(
    spark: Any, rows: Any, tmp_path: Path, travelled: list[int], names: tuple[str, ...]
) -> None:
    kept = len(spark.sparkContext._jsc.getPersistentRDDs())
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions"))
    with emdp.testing.seeded(1):
        sessions = [opened(source, tmp_path / f"{place}.ledger") for place, source in enumerate(rows)]
        for name in names:
            travelled.clear()
            there, here = map(ASKED[name], sessions)
            assert set(here.exact) == set(there.exact)
            for column, value in there.exact.items():
                assert here.exact[column] == pytest.approx(value, rel=1e-9), name
            assert (here.guarantee, here.frame.columns) == (there.guarantee, there.frame.columns)
            assert len(spark.sparkContext._jsc.getPersistentRDDs()) == kept, name
            if "fit" not in name:
                # A partition's sums are fewer than its users; the exact fit brings the records here, under the switch.
                assert 0 < max(travelled) < 0.8 * USERS / partitions, name
        for session in sessions:
            session.close()


def test_what_comes_to_the_driver_does_not_grow_with_the_table(
    spark: Any, tmp_path: Path, travelled: list[int]
) -> None:
    sizes: dict[str, list[int]] = {}
    for users in (300, 2400):
        source = on_spark(spark, records(users)).cache()
        with opened(source, tmp_path / f"{users}.ledger", users) as session:
            for name in ("a vector, central", "a fit, central"):
                travelled.clear()
                assert ASKED[name](session).is_private
                sizes.setdefault(name, []).append(sum(travelled))
        source.unpersist()
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions"))
    for name, (small, large) in sizes.items():
        assert 0 < small <= 120 * partitions, name
        assert large <= 1.5 * small, name


def passes_of(source: Any, users: int, expressions: tuple[emdp.Expression, ...] = (emdp.col("x"),)) -> Any:
    table = emdp.read(source, user="user", space=SPACE, users=users, version="1")
    read = read_items(table, Reading("means", True, expressions))
    blocks: Any = read.open()
    assert isinstance(blocks, RepeatedBlocks)
    return blocks, WorkerCrowd(blocks, users, MeanValues(read.exponents, (0,) * len(expressions)))  # type: ignore[union-attr]


def test_messages_of_dealt_users_follow_the_exact_law(spark: Any) -> None:
    """Half of 40,000 users send a bit, all of the same mean; each is asked once, whatever its partition."""
    users = 40_000
    source = spark.range(0, users, 1, 4).selectExpr("id AS user", "5.0D AS x", "0.0D AS y")
    blocks, crowd = passes_of(source, users)
    chosen = np.random.default_rng(3).permutation(users)[: users // 2]
    law = OneBitScalar(-5.0, 5.0, 1.0)
    (total,) = crowd.added(Messages((law,), (0,), crowd.values.exponents), [chosen])
    assert int(crowd.added(ColumnSums(1), [chosen])[0]) == users // 2 * 5 * 2 ** crowd.values.exponents[0]
    blocks.close()
    ones = (int(total) + users // 2) // 2
    for strength, is_right in ((1.0, True), (0.7, False), (1.3, False)):
        kept = np.exp(strength) / (1 + np.exp(strength))
        assert bool(stats.binomtest(ones, users // 2, kept).pvalue > SURE) is is_right, strength


def test_a_pass_is_one_stage_and_asks_every_partition_once(
    rows: Any, monkeypatch: pytest.MonkeyPatch, spark: Any
) -> None:
    blocks, crowd = passes_of(rows[1], USERS)
    asked: list[int] = []
    context = type(spark.sparkContext)
    run = context.runJob

    def noted(self: Any, rdd: Any, function: Any, partitions: Any = None, allowLocal: bool = False) -> Any:
        asked.extend(partitions)
        # Who is there fits on the driver for all partitions at once.
        assert len(partitions) <= self.defaultParallelism or function.work.encoder is None
        assert blocks._kept in (None, rdd)
        # What is kept has no draws: only the job's own function has.
        assert function.work.preparer is None
        return run(self, rdd, function, partitions, allowLocal)

    monkeypatch.setattr(context, "runJob", noted)
    first = crowd.added(ColumnSums(1))
    partitions = blocks._kept.getNumPartitions()
    assert partitions > 1
    assert asked == 2 * list(range(partitions))
    # Lost with a worker and made anew: the same users, in the same partitions.
    blocks._kept.unpersist(blocking=True)
    assert crowd.added(ColumnSums(1), [np.arange(USERS)]).tolist() == first.tolist()
    assert asked == 3 * list(range(partitions))
    blocks.close()


def test_other_users_in_a_later_pass_fail_the_release(rows: Any) -> None:
    blocks, crowd = passes_of(rows[1], USERS)
    first = crowd.added(ColumnSums(1))
    known = list(blocks._known)
    for others in (
        [own._replace(digest=bytes(16)) for own in known],
        [own._replace(users=own.users + 1) for own in known],
    ):
        blocks._known = others
        with pytest.raises(EmdpError) as caught:
            crowd.added(ColumnSums(1))
        assert "u1" not in str(caught.value)
    blocks._known = known
    assert crowd.added(ColumnSums(1)).tolist() == first.tolist()
    blocks.close()


def test_blocks_are_let_go_after_errors_and_interrupts(
    spark: Any, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = spark.sparkContext
    before = len(context._jsc.getPersistentRDDs())
    views = {found.name for found in spark.catalog.listTables()}
    waited = spark_passes.waited
    for error in (KeyboardInterrupt, InternalError):
        calls: list[int] = []

        def broken(session: Any, call: Any, error: Any = error, calls: list[int] = calls) -> Any:
            calls.append(len(context._jsc.getPersistentRDDs()))
            # In the first pass, after the blocks were made, their users counted and one wave of partitions asked.
            if len(calls) == 6:
                raise error
            return waited(session, call)

        with opened(rows[1], tmp_path / f"{error.__name__}.ledger") as session:
            monkeypatch.setattr(spark_passes, "waited", broken)
            with pytest.raises(error):
                ASKED["a mean, users split"](session)
            monkeypatch.undo()
            assert len(session.history()) == 1
        assert calls[-1] == before + 1
        assert len(context._jsc.getPersistentRDDs()) == before
        assert {found.name for found in spark.catalog.listTables()} == views
        assert (len(spark.getTags()), len(context.getJobTags())) == (0, 0)


def test_blocks_that_are_no_points_or_kept_are_not_prepared(rows: Any) -> None:
    blocks, _ = passes_of(rows[1], USERS)
    with pytest.raises(InternalError, match="no points"):
        blocks.prepare(None)
    with pytest.raises(InternalError, match="not every user was asked"):
        list(blocks.encode(None, np.zeros(3)))
    assert repr(blocks) == "SparkBlocks(hidden)"
    blocks.close()
