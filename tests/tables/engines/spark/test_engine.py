"""The Spark engine from the outside: sessions, bags, costs, and what is left behind after errors and Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, EmdpError, InternalError, ResourceError, UsageError
from emdp.expressions import col
from emdp.expressions.cells.aggregation import Aggregation, HatAxis
from emdp.questions.reading import Reading
from emdp.tables import engine, mean_of_user_means
from emdp.tables.engines.spark.errors import hidden_errors, uninterrupted
from emdp.tables.engines.spark.source import SparkSource
from emdp.tables.engines.spark.wait import waited
from emdp.tables.readings import read_items

SECRET = "SECRETLABEL"
KINDS = ["bar", "cafe", "park"]
SPACE = emdp.Product(emdp.Interval("x", 0, 1, on_invalid="clamp"), emdp.Categories("kind", KINDS, on_invalid="neutral"))
USERS = pl.DataFrame({"user": [1, 2, 3, 4], "plan": ["pro", "free", "pro", None]})
PUBLIC = {"rents": pl.DataFrame({"kind": KINDS, "zone": ["n", "s", "n"], "rent": [1.5, 2.5, 0.25]})}
ROWS = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 3],
        "x": [0.25, 7.0, float("nan"), None, 0.125, float("-inf")],
        "kind": ["bar", "cafe", None, SECRET, "park", "bar"],
    }
)
QUERIES = """
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS mean_x, AVG(CASE kind WHEN 'bar' THEN 1 ELSE 0 END) AS bars
FROM t;
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) FREQUENCY(GRID(x, 0.25)) AS share FROM t;
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) QUANTILE(x, 0.25, 0.5) AS level FROM t;
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) COUNT(*) AS n, SUM(x) AS total
FROM t WHERE kind <> 'cafe';
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1) zone, PART(x) AS part FROM t JOIN rents USING (kind) GROUP BY zone;
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) plan, AVG(x) AS mean_x FROM t GROUP BY plan;
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(rent) AS rent FROM t JOIN rents USING (kind)
"""


@pytest.fixture(scope="module")
def rows(spark: Any) -> Iterator[Any]:
    frame = spark.createDataFrame(ROWS.to_arrow())
    frame.createTempView("t")
    yield frame
    spark.catalog.dropTempView("t")


def read(source: Any, **others: Any) -> emdp.Table:
    return emdp.read(source, **{"user": "user", "space": SPACE, "users": USERS, "name": "t", **others})


def views(session: Any) -> list[str]:
    return [table.name for table in session.catalog.listTables() if table.name != "t"]


@pytest.mark.slow
def test_a_session_answers_on_spark_as_on_duckdb(spark: Any, rows: Any, tmp_path: Path) -> None:
    settings = spark.sparkContext.getConf().getAll()
    answers = []
    for number, source in enumerate((ROWS, "spark::t")):
        budget = [emdp.EmdDP(100.0), emdp.UserDP(100.0)]
        ledger = tmp_path / f"{number}.ledger"
        with (
            emdp.testing.seeded(3),
            emdp.Session(read(source), budget=budget, ledger=ledger, public=PUBLIC) as session,
        ):
            answers.append(session.sql_batch(QUERIES))
    for own, other in zip(*answers, strict=True):
        assert own.exact_frame.columns == other.exact_frame.columns
        assert own.exact_frame.equals(other.exact_frame) or _close(own.exact_frame, other.exact_frame), own.exact_frame
        assert own.frame.equals(other.frame) or _close(own.frame, other.frame)
    assert views(spark) == []
    assert spark.sparkContext.getConf().getAll() == settings


def _close(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    from polars.testing import assert_frame_equal

    assert_frame_equal(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return True


@pytest.mark.slow
def test_labels_are_compared_as_they_are_joined_and_as_on_duckdb(rows: Any, monkeypatch: Any) -> None:
    from emdp.tables.statements import compile as compiler

    odd = emdp.Product(SPACE.parts[0], emdp.Categories("kind", ["it's", "bar", "b\\ar"], on_invalid="neutral"))
    other = ROWS.with_columns(kind=pl.Series(["it's", "b\\ar", None, "bar", "its", "it's"]))
    for space, own, one in ((SPACE, ROWS, "cafe"), (odd, other, "it's")):
        values = [emdp.category_is(one), emdp.category_is("bar") * col("x") - emdp.category_is(one)]
        wanted = mean_of_user_means(read(own, space=space), values).open()
        assert all(wanted)
        for most in (len(KINDS), len(KINDS) - 1):
            monkeypatch.setattr(compiler, "MOST_SPELLED", most)
            table = read(rows.sparkSession.createDataFrame(own.to_arrow()), space=space)
            assert bool(compiler.compile_items(table, values).joins) == (most < len(KINDS))
            assert mean_of_user_means(table, values).open() == wanted


@pytest.mark.slow
def test_bags_and_rules_are_those_of_duckdb(rows: Any) -> None:
    tables = [read(source) for source in (ROWS, rows)]
    for user in (1, 3, 4):
        bags = [table.bag(user).sort("x", "kind") for table in tables]
        assert bags[0].equals(bags[1])
    for table in tables:
        table.validate()
    broken: list[tuple[dict[str, Any], str]] = [
        ({"users": 2}, "not among the declared users"),
        ({"users": USERS.head(2)}, "not among the declared users"),
        ({"records": 3}, "number of records is not the declared one"),
        ({"space": emdp.Interval("x", 0, 1)}, "items outside the space's domain"),
    ]
    for change, message in broken:
        for source in (ROWS, rows):
            with pytest.raises(DataRuleError, match=message):
                read(source, **change).validate()
            with pytest.raises(DataRuleError, match=message) as refused:
                read(source, **change).check_rules()
            assert refused.value.breaches == ()
        tables = [read(source, **change) for source in (ROWS, rows)]
        assert len(tables[0].engine.count_breaches(tables[0])) == 1
        assert tables[0].engine.count_breaches(tables[0]) == tables[1].engine.count_breaches(tables[1])


def test_rows_without_a_user_are_a_breach_and_count_nowhere(spark: Any) -> None:
    frame = pl.concat([ROWS, ROWS.with_columns(pl.lit(None, pl.Int64).alias("user"))])
    tables = [read(source) for source in (frame, spark.createDataFrame(frame.to_arrow()))]
    for table in tables:
        with pytest.raises(DataRuleError, match="rows without a user"):
            table.validate()
    values = (col("x"), col("x") * col("x"))
    assert mean_of_user_means(tables[0], values).open() == mean_of_user_means(tables[1], values).open()


ALIKE = ["a", "A", "a ", " a", "\u00e1", "a\u0301", "\U0001d44e", "01", "1", "a\0", "NULL", "it's", "\\"]
"""Keys and labels that a collation, a number or a terminal takes for one another."""


def test_texts_that_look_alike_are_told_apart(spark: Any) -> None:
    count = len(ALIKE)
    frame = pl.DataFrame({"user": ALIKE, "x": [number / 16 for number in range(count)], "kind": ALIKE[::-1]})
    rows = spark.createDataFrame(frame.to_arrow()).selectExpr(
        "CAST(user AS STRING COLLATE UNICODE_CI) AS user", "x", "CAST(kind AS STRING COLLATE UTF8_LCASE) AS kind"
    )
    kinds = emdp.Categories("kind", ALIKE, on_invalid="neutral")
    space = emdp.Product(emdp.Interval("x", 0, 1, on_invalid="clamp"), kinds)
    values = [col("x"), *(emdp.category_is(label, column="kind") * (col("x") + 1) for label in ALIKE)]
    # Two of the users are not listed; each of the others has one record.
    tables = [read(source, space=space, users=ALIKE[2:]) for source in (frame, rows)]
    found = [mean_of_user_means(table, values).open() for table in tables]
    assert found[0] == found[1]
    assert found[1][0] == Fraction(sum(range(2, count)), 16 * (count - 2))
    assert found[1][1] == Fraction(count - 1 + 16, 16 * (count - 2))
    assert tables[0].bag("a ").equals(tables[1].bag("a "))


def costs(table: emdp.Table, aggregation: Aggregation) -> tuple[tuple[str, str], ...]:
    return table.engine.explain_cost(table, aggregation)


def test_costs_are_public_numbers_and_duckdb_has_none(rows: Any) -> None:
    axis = HatAxis(col("x"), 0.0, 0.25, 5)
    plain, cells = Aggregation((col("x"),)), Aggregation((col("x"),), (axis,))
    assert costs(read(ROWS), plain) == ()
    cost = dict(costs(read(rows), plain))
    assert cost["engine"] == "Spark"
    # By user, then everything on one worker.
    assert cost["stages"] == "3"
    assert re.match(r"at most 4 users x P x \d+ bytes = P x \d+ bytes, P the partitions", cost["shuffle"])
    assert int(dict(costs(read(rows), cells))["stages"]) > 3


def failing(session: Any, column: str = "x") -> Any:
    """Rows whose reading fails at a record, with the record in the error."""
    return session.range(100).selectExpr(
        "id % 4 AS user",
        f"IF(id = 77, CAST(RAISE_ERROR(CONCAT('{SECRET} ', id)) AS DOUBLE), id / 100D) AS {column}",
        "'bar' AS kind",
    )


def test_errors_hide_records(spark: Any, caplog: Any, capsys: Any) -> None:
    table = read(failing(spark))
    calls: list[Callable[[], object]] = [table.validate, lambda: mean_of_user_means(table, (col("x"),))]
    for call in calls:
        with pytest.raises(DataRuleError, match="Spark could not read the source") as caught:
            call()
        chain = [caught.value, caught.value.__cause__]
        assert all(SECRET not in str(error) for error in chain)
        assert caught.value.__context__ is None
    shown = capsys.readouterr()
    assert SECRET not in caplog.text + shown.out + shown.err
    assert views(spark) == []
    assert spark.range(3).count() == 3


def test_a_source_that_went_away_is_named(spark: Any) -> None:
    spark.range(3).selectExpr("id AS user", "0.5D AS x", "'bar' AS kind").createOrReplaceTempView("gone")
    table = read("spark::gone")
    spark.catalog.dropTempView("gone")
    with pytest.raises(UsageError, match="no table or view 'gone'"):
        mean_of_user_means(table, (col("x"),))


def test_what_spark_refuses_is_refused_before_a_charge(spark: Any, rows: Any, monkeypatch: Any) -> None:
    table = read(rows)
    engine.check_statement(table, (col("x"),))
    engine.check_aggregation(table, Aggregation((col("x"),), (HatAxis(col("x"), 0.0, 0.25, 5),), cap=2))
    monkeypatch.setattr("emdp.tables.engines.spark.execution.DIALECT", "duckdb")
    with pytest.raises(UsageError, match="more than the engine can compute"):
        engine.check_statement(table, (col("x"),))
    assert views(spark) == []


def test_nothing_is_opened_where_columns_are_declared() -> None:
    columns = {"user": "BIGINT", "x": "DOUBLE", "kind": "VARCHAR"}
    table = read("spark::city.visits", columns=columns)
    assert isinstance(table.source, SparkSource)
    assert "visits" in repr(table.source)


def test_nothing_of_the_users_session_changes(spark: Any) -> None:
    frame = spark.createDataFrame(ROWS.to_arrow()).cache()
    frame.count()
    spark.addTag("mine")
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", "mine")
    persisted = spark.sparkContext._jsc.getPersistentRDDs().size()
    before = dict(spark.conf.getAll), set(views(spark)), spark.catalog.currentDatabase()
    seen: list[object] = []
    try:
        table = read(frame)
        table.validate()
        engine.aggregate(table, Aggregation((col("x"),), (HatAxis(col("x"), 0.0, 0.25, 5),)))
        waited(
            spark, lambda: seen.append((spark.sparkContext.getLocalProperty("spark.scheduler.pool"), spark.getTags()))
        )
        assert seen == [("mine", {"mine"})]
        assert spark.getTags() == {"mine"}
        assert (dict(spark.conf.getAll), set(views(spark)), spark.catalog.currentDatabase()) == before
        assert frame.is_cached
        assert frame.storageLevel.useMemory
        assert spark.sparkContext.getLocalProperty("spark.scheduler.pool") == "mine"
        assert _comes_true(lambda: spark.sparkContext._jsc.getPersistentRDDs().size() == persisted)
    finally:
        spark.removeTag("mine")
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", None)
        frame.unpersist()


def test_a_statement_over_cells_takes_few_tasks_where_users_are_few(spark: Any, rows: Any) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.sparkContext.setJobGroup("few", "few")
    spark.conf.set("spark.sql.shuffle.partitions", "50")
    try:
        engine.aggregate(read(rows), Aggregation((col("x"),), (HatAxis(col("x"), 0.0, 0.25, 5),)))
        tracker = spark.sparkContext.statusTracker()
        stages = {stage for job in tracker.getJobIdsForGroup("few") for stage in tracker.getJobInfo(job).stageIds}
        tasks = sum(found.numTasks for found in map(tracker.getStageInfo, stages) if found and found.numCompletedTasks)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    # 50 in each of 6 stages, were what is kept in between left as it is shuffled.
    assert 0 < tasks < 50, tasks


def test_a_statement_that_fails_leaves_nothing_kept(spark: Any) -> None:
    persisted = spark.sparkContext._jsc.getPersistentRDDs().size()
    with pytest.raises(DataRuleError):
        engine.aggregate(read(failing(spark)), Aggregation((col("x"),), (HatAxis(col("x"), 0.0, 0.25, 5),)))
    assert views(spark) == []
    assert spark.getTags() == set()
    assert _comes_true(lambda: spark.sparkContext._jsc.getPersistentRDDs().size() == persisted)


@pytest.mark.parametrize("what", ["means", "counts", "bags", "points"])
def test_ctrl_c_cancels_the_jobs_and_leaves_the_session_usable(spark: Any, what: str) -> None:
    # More rows than anybody waits for.
    endless = spark.range(0, 10**14, 1, 2).selectExpr("id % 4 AS user", "CAST(id % 7 AS DOUBLE) AS x", "'bar' AS kind")
    table = read(endless)
    finite = read(endless, space=emdp.Categories("kind", KINDS, on_invalid="neutral"))
    line = read(endless, space=emdp.Interval("x", 0, 1, on_invalid="clamp"))
    calls: dict[str, Callable[[], object]] = {
        "means": lambda: mean_of_user_means(table, (col("x"),)),
        "counts": lambda: read_items(finite, Reading("counts")).open(),
        "bags": lambda: list(read_items(finite, Reading("bags", True)).open()),
        "points": lambda: list(read_items(line, Reading("points")).open()),
    }
    tracker = spark.sparkContext.statusTracker()
    done = threading.Event()

    def interrupt() -> None:
        while not tracker.getActiveStageIds() and not done.wait(0.05):
            pass
        os.kill(os.getpid(), signal.SIGINT)

    # Stages of the statement before are shown for a while: the signal would come before anything is waited for.
    assert _comes_true(lambda: not tracker.getActiveStageIds())
    thread = threading.Thread(target=interrupt)
    before = signal.getsignal(signal.SIGINT)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            calls[what]()
    finally:
        done.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert _comes_true(lambda: not tracker.getActiveStageIds())
    assert views(spark) == []
    assert spark.getTags() == set()
    assert spark.range(3).count() == 3


def test_ctrl_c_between_two_questions_to_spark_comes_after_the_second(spark: Any) -> None:
    answers: list[int] = []

    def asked() -> None:
        with uninterrupted(), uninterrupted():
            for number in range(20):
                os.kill(os.getpid(), signal.SIGINT)
                answers.append(spark.range(number).schema.fields[0].dataType.typeName() == "long")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        asked()
    assert answers == [True] * 20
    assert signal.getsignal(signal.SIGINT) is before
    assert spark.range(3).count() == 3


def test_a_stopped_session_is_named(spark: Any, rows: Any, monkeypatch: Any) -> None:
    table = read(rows)
    monkeypatch.setattr(spark.sparkContext, "_jsc", None)
    for call in (lambda: read(rows), table.validate, lambda: engine.check_statement(table, (col("x"),))):
        with pytest.raises(UsageError, match="session of the source was stopped"):
            call()


NO_JAVA = """
import warnings
warnings.simplefilter("ignore")
import emdp
try:
    emdp.read("spark::visits", user="user", space=emdp.Interval("x", 0, 1), users=3).validate()
except emdp.base.errors.UsageError as error:
    print(error)
"""


@pytest.mark.slow
def test_spark_that_cannot_be_started_is_named() -> None:
    pytest.importorskip("pyspark")
    places = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    done = subprocess.run(
        [sys.executable, "-c", NO_JAVA],
        env={**places, "JAVA_HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.startswith("Spark could not be started; install Java 17 and set JAVA_HOME")


def _comes_true(test: Callable[[], bool]) -> bool:
    """Say whether a test holds within half a minute: workers look at their cancellation between records."""
    never = threading.Event()
    return any(test() or never.wait(0.05) for _ in range(600))


def test_other_ends_of_a_job_are_errors_of_ours(spark: Any) -> None:
    import pyarrow
    from py4j.protocol import Py4JNetworkError
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    ends: list[tuple[BaseException, type[EmdpError], str]] = [
        (PySparkException(f"Job 3 cancelled {SECRET}"), EmdpError, "were cancelled"),
        (PySparkException(f"java.lang.OutOfMemoryError: x {SECRET}"), ResourceError, "out of memory"),
        (PySparkException(f"java.io.IOException: No space left on device {SECRET}"), ResourceError, "disk"),
        (PySparkException(f"Cannot call methods on a stopped SparkContext. {SECRET}"), UsageError, "was stopped"),
        (PySparkException(f"cannot parse {SECRET}"), DataRuleError, "could not read the source"),
        (AnalysisException(f"no column {SECRET}"), DataRuleError, "has other columns"),
        (ParseException(f"near {SECRET}"), InternalError, "cannot read a statement"),
        (Py4JNetworkError(SECRET), EmdpError, "connection to Spark was lost"),
        (ConnectionRefusedError(SECRET), EmdpError, "connection to Spark was lost"),
        (pyarrow.ArrowInvalid(SECRET), DataRuleError, "could not read the source"),
    ]
    for end, kind, message in ends:
        with pytest.raises(kind, match=message) as caught, hidden_errors():
            raise end
        assert type(caught.value) is kind
        assert SECRET not in str(caught.value)
        assert caught.value.__context__ is None
    with pytest.raises(ValueError, match="not Spark's"), hidden_errors():
        raise ValueError("not Spark's")


def test_totals_by_removal_are_those_of_duckdb_without_a_number_of_users(rows: Any, tmp_path: Path) -> None:
    text = (
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 1, neighbours = 'remove') kind, "
        "COUNT(*) AS n, SUM(x) AS total FROM t GROUP BY kind"
    )
    frames = []
    for number, source in enumerate((ROWS, rows)):
        own = read(source, users=None, version="1")
        own.validate()
        budget = emdp.UserDP(5.0, neighbours="remove")
        with emdp.testing.seeded(3), emdp.Session(own, budget=budget, ledger=tmp_path / f"{number}.ledger") as session:
            frames.append(session.sql(text).exact_frame)
    assert _close(*frames)
