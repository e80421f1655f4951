"""Means over cells that Spark reads in two scans: DuckDB's whole numbers, and no number if the records changed."""

import random
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError
from emdp.expressions import col
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis, UserGroups
from emdp.expressions.nodes.base import Constant
from emdp.tables import aggregate, check_aggregation
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.cells_twice import FEW_USERS, has_changed, shared_mean, twice_statement

KINDS = ["bar", "cafe", "park"]
SPACE = emdp.Product(
    emdp.Interval("x", -1, 1, on_invalid="clamp"),
    emdp.Interval("y", 0, 4, on_invalid="neutral"),
    emdp.Categories("kind", KINDS, on_invalid="neutral"),
)
HALVES, ONES = HatAxis(col("x"), -1.0, 0.5, 5), HatAxis(col("y"), 0.0, 1.0, 5)
CASES = {
    "map": Aggregation((Constant(1.0),), (HALVES, ONES)),
    "negative values": Aggregation((col("x"), col("y")), (ONES,)),
    "labels": Aggregation((col("x"),), (LabelAxis("kind", (("bar",), ("park", "cafe"))),)),
    "chosen users": Aggregation(
        (col("x"),), (HALVES,), users=UserGroups(pl.Series(["1", "2", "7"]), pl.Series([0, 1, 0]), (2, 1))
    ),
}


def records(rows: int = 300) -> pl.DataFrame:
    source = random.Random(5)
    numbers = [None, float("nan"), 7.0, -0.0]
    return pl.DataFrame(
        {
            "user": [source.choice([None, *range(9)]) if place % 3 else 8 for place in range(rows)],
            "x": [source.choice([*numbers, source.uniform(-1, 1)]) for _ in range(rows)],
            "y": [source.choice([*numbers, source.uniform(0, 4)]) for _ in range(rows)],
            "kind": [source.choice([*KINDS, "other"]) for _ in range(rows)],
        }
    )


def read(source: Any, users: Any = 12) -> emdp.Table:
    return emdp.read(source, user="user", space=SPACE, users=users, name="t")


def on_spark(session: Any, frame: pl.DataFrame) -> Any:
    return session.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(3)


@pytest.mark.usefixtures("in_short")
def test_the_numbers_are_those_of_duckdb(spark: Any) -> None:
    frame = records()
    rows = on_spark(spark, frame)
    for users in (12, [str(user) for user in range(1, 11)]):
        for name, aggregation in CASES.items():
            tables = read(frame, users), read(rows, users)
            assert twice_statement(tables[1], aggregation) is not None
            check_aggregation(tables[1], aggregation)
            expected, found = ([own.open() for own in aggregate(table, aggregation)] for table in tables)
            assert found == expected, name
            assert any(value for own in found for value in own), name
    empty = [[own.open() for own in aggregate(read(made), CASES["map"])] for made in (frame[:0], rows.where("1 = 0"))]
    assert empty[0] == empty[1]


def test_records_that_changed_between_the_scans_give_no_number(spark: Any, monkeypatch: Any) -> None:
    from emdp.tables.engines.spark import execution

    rows, kept = on_spark(spark, records()), execution.in_few_parts

    def changed(frame: Any, users: Any) -> Any:
        # The first scan saw a record of user 3 that is gone in the second.
        one = "user_weight + IF(counted_user = 3, 1, 0) AS user_weight"
        is_users = frame.columns[0] == "counted_user"
        return kept(frame.selectExpr("counted_user", one, "user_group") if is_users else frame, users)

    monkeypatch.setattr(execution, "in_few_parts", changed)
    with pytest.raises(DataRuleError, match="changed while a statement read it twice"):
        aggregate(read(rows), CASES["map"])


def test_what_tells_that_records_changed() -> None:
    sums = [(0, 3, None, 5, 2**70), (1, -1, None, 5, -3), (0, None, 2, None, 2**70 - 5), (1, None, 1, None, 2)]
    assert not has_changed(sums)
    assert not has_changed([])
    assert has_changed([*sums[:3], (1, None, 1, None, 3)])
    assert has_changed([*sums[:3], (1, None, 1, None, None)])
    assert has_changed(sums[:3])
    assert has_changed(sums[:2])


def test_one_scan_where_users_are_many_or_there_is_more_to_a_mean() -> None:
    kinds = {"user": "BIGINT", "x": "DOUBLE", "y": "DOUBLE", "kind": "VARCHAR"}
    space = emdp.Interval("x", -1, 1)
    cells = Aggregation((col("x"),), (HALVES,))
    for users, aggregation in (
        (FEW_USERS + 1, cells),
        (None, cells),
        (5, Aggregation((col("x"),))),
        (5, Aggregation((col("x"),), (HALVES,), cap=3)),
        (5, Aggregation((Constant(1.0),), (HALVES, HALVES), pairs=True)),
    ):
        table = emdp.read("spark::t", user="user", space=space, users=users, columns=kinds, name="t")
        assert twice_statement(table, aggregation) is None
    table = emdp.read("spark::t", user="user", space=space, users=FEW_USERS, columns=kinds, name="t")
    assert twice_statement(table, cells) is not None
    slots = emdp.read("spark::t", user="user", space=space, users=5, columns=kinds, name="t", slots=4)
    assert twice_statement(slots, cells) is None


def test_a_shared_mean_is_cut_off_as_a_whole_number_is() -> None:
    source = random.Random(2)
    totals = [source.choice([-1, 1]) * source.getrandbits(source.randrange(1, 88)) for _ in range(3000)]
    counts = [source.randrange(1, 2 ** source.randrange(1, 37)) for _ in range(3000)]
    totals += [2**88, -(2**88), 2**88 - 1, 0, -1]
    counts += [1, 1, 2**37, 1, 2**37]
    rows = pl.DataFrame({"t": [str(total) for total in totals], "n": counts})
    text = shared_mean(sql.cast(sql.column("t"), "HUGEINT"), sql.column("n")).sql("duckdb")
    # Not the connection that all share: another test may have left a result of it unread.
    with duckdb.connect() as own:
        found = [int(row[0]) for row in own.sql(f"SELECT CAST({text} AS VARCHAR) FROM rows").fetchall()]
    wide = [
        (abs(total) << 20) // count * (1 if total >= 0 else -1) for total, count in zip(totals, counts, strict=True)
    ]
    assert found == wide
    assert rows.height == len(wide)
