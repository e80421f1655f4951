"""Many values in several statements of Spark: the same numbers, of rows that were read once."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import emdp
from emdp.base.errors import DataRuleError
from emdp.expressions import Expression, category_is, col
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis, UserGroups
from emdp.expressions.nodes.base import Constant
from emdp.tables import engine, mean_of_user_means
from emdp.tables.engines.spark import engine as spark
from emdp.tables.engines.spark.parts import parts_of

KINDS = ["bar", "cafe", "park"]
SPACE = emdp.Product(emdp.Interval("x", 0, 1, on_invalid="clamp"), emdp.Categories("kind", KINDS, on_invalid="neutral"))
ROWS = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 3],
        "x": [0.25, 7.0, float("nan"), None, 0.125, float("-inf")],
        "kind": ["bar", "cafe", None, "zoo", "park", "bar"],
        "note": ["not read"] * 6,
    }
)
VALUES: tuple[Expression, ...] = (col("x"), *(category_is(kind, column="kind") for kind in KINDS), col("x") * col("x"))
GROUPS = UserGroups(pl.Series(["1", "2", "3"]), pl.Series([0, 1, 0]), (2, 1))
TENTS, LABELS = HatAxis(col("x"), 0.0, 0.25, 5), LabelAxis("kind", (("bar",), ("cafe", "park")))


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements of two sums."""
    monkeypatch.setattr("emdp.tables.engines.spark.parts.MOST_SUMS", 2)


@pytest.fixture
def table(spark: Any) -> Iterator[emdp.Table]:
    spark.createDataFrame(ROWS.to_arrow()).createOrReplaceTempView("parted")
    yield read("spark::parted")
    spark.catalog.dropTempView("parted")


def read(source: Any) -> emdp.Table:
    return emdp.read(source, user="user", space=SPACE, users=4, name="t")


def kept(session: Any) -> int:
    return int(session.sparkContext._jsc.getPersistentRDDs().size())


@pytest.mark.parametrize(
    "aggregation",
    [
        Aggregation(VALUES),
        Aggregation(VALUES[:2], (LABELS, TENTS), users=GROUPS),
        Aggregation(VALUES[:3], cap=2, chosen=category_is("bar", column="kind")),
    ],
    ids=["means", "cells", "totals"],
)
def test_several_statements_give_the_numbers_of_one(
    spark: Any, table: emdp.Table, monkeypatch: pytest.MonkeyPatch, aggregation: Aggregation
) -> None:
    assert len(parts_of(aggregation)) == 1
    wanted = [statistic.open() for statistic in engine.aggregate(table, aggregation)]
    monkeypatch.setattr("emdp.tables.engines.spark.parts.MOST_SUMS", 2)
    assert len(parts_of(aggregation)) >= 2
    before = kept(spark)
    engine.check_aggregation(table, aggregation)
    assert [statistic.open() for statistic in engine.aggregate(table, aggregation)] == wanted
    assert kept(spark) == before
    assert [view.name for view in spark.catalog.listTables()] == ["parted"]


def second(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Have something happen between the first statement and the second."""
    made = []
    original = spark.linear_statement

    def statement(*arguments: Any) -> Any:
        made.append(arguments)
        if len(made) == 2:
            act()
        return original(*arguments)

    monkeypatch.setattr(spark, "linear_statement", statement)


def test_what_is_written_in_between_is_read_by_no_statement(
    spark: Any, table: emdp.Table, narrow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = spark.createDataFrame(ROWS.with_columns(kind=pl.lit("cafe"), x=pl.lit(0.5)).to_arrow())
    second(monkeypatch, lambda: other.createOrReplaceTempView("parted"))
    assert mean_of_user_means(table, VALUES).open() == mean_of_user_means(read(ROWS), VALUES).open()


def test_rows_that_were_lost_in_between_are_not_read_anew(
    spark: Any, table: emdp.Table, narrow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kept(spark)

    def lose() -> None:
        for rows in list(spark.sparkContext._jsc.getPersistentRDDs().values()):
            rows.unpersist(True)

    second(monkeypatch, lose)
    with pytest.raises(DataRuleError, match="could not read the source to its end"):
        mean_of_user_means(table, VALUES)
    assert kept(spark) <= before


def test_the_cost_names_the_statements(table: emdp.Table, narrow: None) -> None:
    cost = dict(table.engine.explain_cost(table, Aggregation(VALUES)))
    assert cost["statements"] == "3 on rows kept on Spark's disks"
    assert cost["stages"] == "at most 10"
    assert cost["shuffle"].startswith("at most 4 users x P x 216 bytes")
    assert "statements" not in dict(table.engine.explain_cost(table, Aggregation(VALUES[:2])))


def test_a_statement_has_no_parentheses_that_spark_would_look_ahead_for(spark: Any, table: emdp.Table) -> None:
    texts: list[str] = []
    session = type(spark)

    def seen(self: Any, text: str, *arguments: Any, **others: Any) -> Any:
        texts.append(text)
        return original(self, text, *arguments, **others)

    original = session.sql
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "sql", seen)
        engine.check_aggregation(table, Aggregation((*VALUES, emdp.ramp(abs(col("x") - 0.5), 0.1, 0.2)), cap=3))
        engine.check_aggregation(table, Aggregation(VALUES, (LABELS, TENTS), users=GROUPS))
        engine.check_aggregation(table, Aggregation(VALUES))
    found = [text for text in texts if "TRY_SUM" in text]
    assert found
    for text in found:
        # What is in parentheses belongs to a function, or is a query.
        assert re.findall(r"(?<![\w`])\((?!SELECT)", text) == [], text


@pytest.mark.slow
def test_pairs_of_a_users_records_are_as_on_duckdb(table: emdp.Table) -> None:
    pairs = Aggregation((Constant(1.0),), (TENTS, TENTS), pairs=True)
    (own,), (other,) = engine.aggregate(table, pairs), engine.aggregate(read(ROWS), pairs)
    assert own.open() == other.open()


@pytest.mark.slow
def test_measures_are_as_on_duckdb(table: emdp.Table, tmp_path: Path) -> None:
    found = []
    for number, own in enumerate((table, read(ROWS))):
        with (
            emdp.testing.seeded(6),
            emdp.Session(own, budget=emdp.EmdDP(1e6), ledger=tmp_path / f"{number}.ledger") as session,
        ):
            whole = session.measure(alpha=1e5, pitch=0.25)
            both = session.measure(alpha=1e5, pitch=0.25, columns=["x"], pairs=True, name="both")
            found.append((whole.frame, both.frame, both.table()))
    for one, other in zip(*found, strict=True):
        assert_frame_equal(one, other, abs_tol=1e-9)


@pytest.mark.slow
def test_trees_and_structures_of_a_measure_are_as_on_duckdb(spark: Any, tmp_path: Path) -> None:
    line = [number / 8.0 for number in range(64)]
    frame = pl.DataFrame(
        {"user": [n % 7 for n in range(64)], "x": line, "y": line[::-1], "hour": [3.0 * x for x in line]}
    )
    frame = frame.with_columns(x=pl.when(pl.col("user") == 3).then(None).otherwise("x"))
    plane = emdp.Vector(["x", "y"], box=[(0, 8), (0, 8)], on_invalid="elsewhere")
    space = emdp.Product(plane, emdp.Cycle("hour", 24))
    spark.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest())).createOrReplaceTempView("planes")
    found = []
    for number, source in enumerate(("spark::planes", frame)):
        table = emdp.read(source, user="user", space=space, users=7, elsewhere=1.0, name="planes")
        budgets, ledger = [emdp.EmdDP(1e6), emdp.UserDP(100.0)], tmp_path / f"{number}.ledger"
        with emdp.testing.seeded(6), emdp.Session(table, budget=budgets, ledger=ledger) as session:
            tree = session.measure(epsilon=50.0, pitch=2.0, noise="tree", columns=["x", "y"])
            both = session.measure(alpha=1e3, structure="given zone", pitch=4.0, name="both")
            found.append((tree.frame, both.frame, tree.table()))
    for one, other in zip(*found, strict=True):
        assert_frame_equal(one, other, abs_tol=1e-9)
    spark.catalog.dropTempView("planes")
