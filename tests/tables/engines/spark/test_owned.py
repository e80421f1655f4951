"""Statements over rows with owners on Spark: DuckDB's whole numbers, for every function of a row and every shape."""

import dataclasses
import datetime as dt
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from row_cases import POLARS, VALUES, cases

import emdp
from emdp.estimators.owned.noise import totals_of
from emdp.estimators.owned.ranges import extremes_question
from emdp.questions.owned.grids import OwnedFrame, OwnedPairs, OwnedWeights
from emdp.questions.owned.groups import OwnedGroups
from emdp.questions.owned.octaves import octaves_of
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Filtered, Private
from emdp.questions.owned.totals import Argument, Key, OwnedTotals
from emdp.questions.price import Price
from emdp.rows.nodes import Call, Cast, Column, InList, Literal, Node
from emdp.rows.types import Kind
from emdp.sessions.planning import plan_request
from emdp.tables import Table, aggregate, check_aggregation, read
from emdp.tables.engine import engine_of

CHUNKS = 10
ROWS = 700
TOGETHER = 8  # Keys of one statement, which Spark compiles together.
SPACE = emdp.Product(emdp.Interval("x", 0, 10, on_invalid="clamp"), emdp.Categories("k", ["a", "b", "c"]))
HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 7) "


def renamed(node: Any) -> Any:
    """Return a node whose columns have their kinds in their names."""
    if isinstance(node, Column):
        return Column("t", f"{node.name}_{node.kind.value}", node.kind)
    if isinstance(node, tuple):
        return tuple(renamed(part) for part in node)
    if not dataclasses.is_dataclass(node) or isinstance(node, type):
        return node
    own = {field.name: getattr(node, field.name) for field in dataclasses.fields(node) if field.init}
    return type(node)(**{name: renamed(value) for name, value in own.items()})


NODES: list[Node] = [renamed(node) for own in cases().values() for node in own]


def hard_rows() -> pl.DataFrame:
    source = random.Random(8)
    columns = sorted({(column.name, column.kind) for node in NODES for column in _columns(node)}, key=str)
    made = {
        name: pl.Series([source.choice(VALUES[kind]) for _ in range(ROWS)], dtype=POLARS[kind])
        for name, kind in columns
    }
    return pl.DataFrame({"u": [place % 23 for place in range(ROWS)], "z": [0.5] * ROWS, **made})


def _columns(node: Node) -> frozenset[Column]:
    from emdp.rows.nodes import columns

    return columns(node)


def both(session: Any, frame: pl.DataFrame, **declared: Any) -> tuple[Table, Table]:
    """Return a table of each engine with the same rows."""
    rows = session.createDataFrame(frame.to_arrow())
    one, other = (read(source, user="u", name="t", **declared) for source in (frame, rows))
    return one, other


def sums(table: Table, totals: OwnedTotals) -> Sequence[Any]:
    check_aggregation(table, totals)
    (found,) = aggregate(table, totals)
    totals.check(table.n, found.open())
    return found.open()


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_function_of_a_row_in_sums(spark: Any, chunk: int) -> None:
    tables = both(spark, hard_rows(), space=emdp.Interval("z", 0, 1), users=23)
    nodes = NODES[chunk::CHUNKS]
    arguments = [
        Argument(node, degree=1, low=-1e3, high=1e3) if node.kind.is_number else Argument(node) for node in nodes
    ]
    totals = OwnedTotals(Private("t"), arguments=tuple(arguments), cap=17)
    found, expected = (sums(table, totals) for table in reversed(tables))
    for place, node in enumerate(nodes):
        first = totals.first_part(place)
        last = first + arguments[place].parts
        assert found[first:last] == expected[first:last], str(node)


def test_keys_of_every_kind(spark: Any) -> None:
    tables = both(spark, hard_rows(), space=emdp.Interval("z", 0, 1), users=list(range(30)))
    for kind in (Kind.TEXT, Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN, Kind.BIGINT):
        column = Column("t", f"c0_{kind.value}", kind)
        values = tuple(dict.fromkeys(VALUES[kind]))
        key = Key("key", column, values)
        totals = OwnedTotals(Private("t"), (key,), (Argument(None),), 5, counts_users=True, groups_cap=2)
        found, expected = (sums(table, totals) for table in reversed(tables))
        assert found == expected, kind
        assert sum(expected) > 100
        for caps in ({"cap": 5, "norm": 2}, {"groups_cap": 3, "group_rows": 2}):
            own = dataclasses.replace(totals, **{"cap": None, "groups_cap": None, **caps})
            found, expected = (sums(table, own) for table in reversed(tables))
            assert found == expected, (kind, caps)
            assert sum(expected) > 100
        # What an automatic cap is made of.
        found, expected = (sums(table, octaves_of(totals)) for table in reversed(tables))
        assert found == expected, kind
        assert sum(expected) == 23


def frames(tables: tuple[Table, Table], wanted: OwnedFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what each engine reads, with whole numbers as such."""
    found = []
    for table in tables:
        engine_of(table.source).check_owned(table, wanted)
        frame = engine_of(table.source).read_owned(table, wanted).open()
        found.append(frame.with_columns(pl.selectors.decimal().cast(pl.Int64)))
    return found[0], found[1]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_function_of_a_row_as_a_key_that_nobody_listed(spark: Any, chunk: int) -> None:
    tables = both(spark, hard_rows(), space=emdp.Interval("z", 0, 1), users=23)
    nodes = [node for node in NODES if node.kind is not Kind.DOUBLE][chunk::CHUNKS]
    for start in range(0, len(nodes), TOGETHER):
        together = nodes[start : start + TOGETHER]
        keys = tuple(Key(str(place), node, (), is_listed=False) for place, node in enumerate(together))
        expected, found = frames(tables, OwnedGroups(Private("t"), keys, 9, (Argument(None),), 20))
        assert found.equals(expected), [str(node) for node in together]
        assert expected.get_column("people").sum() > 9 * 20


def test_keys_that_nobody_listed_of_every_kind(spark: Any) -> None:
    tables = both(spark, hard_rows(), space=emdp.Interval("z", 0, 1), users=list(range(20)))
    listed = Key("k", Column("t", "c0_BOOLEAN", Kind.BOOLEAN), (True, None))
    argument = Argument(Column("t", "c0_DOUBLE", Kind.DOUBLE), 2, -3.0, 5.0)
    for kind in (Kind.TEXT, Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN, Kind.BIGINT):
        key = Key("key", Column("t", f"c0_{kind.value}", kind), (), is_listed=False)
        for keys in ((key,), (listed, key)):
            expected, found = frames(tables, OwnedGroups(Private("t"), keys, 2, (argument,), 5))
            assert found.equals(expected), kind
            assert expected.schema == found.schema
            assert expected.get_column("people").sum() > 19


def test_every_number_on_a_grid_and_every_value(spark: Any) -> None:
    tables = both(spark, hard_rows(), space=emdp.Interval("z", 0, 1), users=list(range(20)))
    key = Key("k", Column("t", "c0_BOOLEAN", Kind.BOOLEAN), (True, None))
    for kind in (Kind.DOUBLE, Kind.BIGINT):
        column = Column("t", f"c0_{kind.value}", kind)
        for keys in ((), (key,)):
            expected, found = frames(tables, OwnedWeights(Private("t"), keys, column, -5.0, 31.0, 7))
            assert found.equals(expected), kind
            assert 100 < expected.get_column("weight").sum() / 2**20 <= 7 * 20
    for kind in VALUES:
        expected, found = frames(tables, OwnedPairs(Private("t"), (key,), Column("t", f"c0_{kind.value}", kind)))
        assert found.select(expected.columns).cast(pl.Int64).equals(expected.cast(pl.Int64)), kind
        assert len(expected) >= 20


def test_conditions_and_lists(spark: Any) -> None:
    tables = both(spark, hard_rows(), space=emdp.Interval("z", 0, 1), users=23)
    text, day = Column("t", "c0_TEXT", Kind.TEXT), Column("t", "c0_DATE", Kind.DATE)
    listed = InList(text, tuple(Literal(value, Kind.TEXT) for value in VALUES[Kind.TEXT][1::2]))
    later = Call("greater", (day, Literal(dt.date(1969, 12, 31), Kind.DATE)))
    relation = Filtered(Filtered(Private("t"), Call("or", (listed, later))), Call("not", (Call("is_null", (text,)),)))
    totals = OwnedTotals(relation, arguments=(Argument(Cast(text, Kind.DATE)), Argument(None)), cap=4)
    found, expected = (sums(table, totals) for table in reversed(tables))
    assert found == expected
    assert expected[-1] > 50


STATEMENTS = (
    # Weights, with values and weights that are not there or beyond their range, and lists that a statement writes.
    "k, SUM(CLAMP(i, 0, 5) * CLAMP(x, -1, 6)) / SUM(CLAMP(i, 0, 5)) AS m FROM t GROUP BY k",
    "SUM(CLAMP(x, 0, 3) * CLAMP(i, 2, 6)) / SUM(CLAMP(x, 0, 3)) AS m, COUNT(*) AS n FROM t WHERE i > 0",
    "q, COUNT(*) AS n, SUM(CLAMP(x, 0, 7)) AS s FROM t JOIN (VALUES ('a'), ('c'), ('z')) v(q) ON q = k GROUP BY q",
    "COUNT(*) FROM t WHERE i IS NULL OR b",
    "COUNT(*), SUM(x), AVG(CLAMP(i, 0, 50)), VARIANCE(CLAMP(i, -5, 9)), COUNT(i) FROM t WHERE i > 3 OR LENGTH(k) = 1",
    "HOUR(ts AT TIME ZONE 'Asia/Kathmandu') h, b IS NULL e, COUNT(DISTINCT u), COUNT(*) FROM t GROUP BY 1, b IS NULL",
    "day, COUNT(*) FILTER (WHERE b), SUM(x) FROM t WHERE day BETWEEN DATE '2024-01-03' AND DATE '2024-01-20' "
    "GROUP BY day",
    "p.name, COUNT(*), SUM(CLAMP(CASE WHEN t.day >= p.since THEN x ELSE p.price END, 0, 10)) FROM t "
    "JOIN p ON t.k = p.k AND t.ts < p.until GROUP BY p.name",
    "name IS NULL e, COUNT(*) FROM t LEFT JOIN p USING (k) GROUP BY name IS NULL",
    "q.name, COUNT(*) FROM p q, t, p r WHERE q.k = t.k AND t.day >= r.since AND r.name = q.name GROUP BY q.name",
    "s.k, COUNT(*) FROM (SELECT x / i AS y, k, CAST(ts AS DATE) AS d FROM t WHERE i <> 7) s "
    "WHERE y > 0.01 AND d > DATE '2024-03-01' AND s.k IN ('a', 'b', 'zz') GROUP BY s.k",
)


BY_USER = (
    "n, COUNT(*) AS c FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u) q WHERE n BETWEEN 20 AND 60 GROUP BY n",
    "COUNT(*) FROM (SELECT u, MAX(i) AS most, MIN(k) AS first, COUNT(DISTINCT day) AS days, COUNT(x) AS there, "
    "BOOL_OR(b) AS any_b, MIN(ts) AS begun FROM t GROUP BY u) q WHERE most > 50 AND days > 3 AND first = 'a' AND any_b",
    "SUM(CLAMP(s, 0, 500)), AVG(CLAMP(m, -9, 99)) FROM (SELECT u, k, SUM(i % 100) AS s, AVG(i % 100) AS m, MAX(x) AS z "
    "FROM t WHERE i < 1000 GROUP BY u, k HAVING COUNT(*) > 2 AND BOOL_AND(i IS NOT NULL)) q WHERE z IS NULL OR z > 0.5",
    "COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t AS o WHERE o.u = t.u AND o.day > t.day AND o.k = 'a')",
    "COUNT(DISTINCT u) FROM t WHERE x > 0.9 AND NOT EXISTS (SELECT 1 FROM t AS o WHERE o.u = t.u AND o.i = 99)",
    "a.k, COUNT(*) FROM t a JOIN t b ON a.u = b.u AND a.day = b.day AND a.ts < b.ts WHERE a.k IN ('a', 'b') "
    "GROUP BY a.k",
    "COUNT(*), SUM(CLAMP(y, 0, 5)) FROM (SELECT u, x AS y FROM t WHERE b UNION ALL SELECT u, i + 0.5 AS y FROM t) q",
    "COUNT(*) FROM t JOIN (SELECT u, MAX(day) AS last FROM t GROUP BY u) q ON q.u = t.u WHERE t.day = q.last",
)


def visits() -> pl.DataFrame:
    source = random.Random(1)
    wild = [None, float("nan"), 1.5, -2.0, 1e300, float("inf")]
    rows = [
        {
            "u": source.choice(["ann", "bob", "cleo", None, *"defghij"]), "x": source.choice([*wild, source.random()]),
            "k": source.choice(["a", "b", "c"]), "i": source.choice([None, 0, 1, -5, 7, 2**62, source.randrange(99)]),
            "ts": dt.datetime(2024, 1, 1) + dt.timedelta(minutes=source.randrange(500_000)),
            "day": dt.date(2024, 1, 1) + dt.timedelta(days=source.randrange(30)),
            "b": source.choice([True, False, None]),
        }
        for _ in range(400)
    ]  # fmt: skip
    return pl.DataFrame(rows)


PUBLIC = {
    "p": pl.DataFrame(
        {
            "k": ["a", "b", "b"], "name": ["A", "B", "B2"],
            "price": pl.Series(["1.25", "0.1", None]).cast(pl.Decimal(9, 2)),
            "since": [dt.date(2024, 1, 5), dt.date(2024, 1, 9), None],
            "until": [dt.datetime(2024, 7, 5, 1, 2, 3), None, dt.datetime(2024, 9, 9)],
        }
    )
}  # fmt: skip


def test_whole_statements(spark: Any) -> None:
    tables = both(spark, visits(), space=SPACE, users=["ann", "bob", *"defghijkl"])
    for statement in STATEMENTS:
        plans = [plan_request(HEADER + statement, table.names(PUBLIC))[0].plan for table in tables]
        totals = [plan.aggregation for plan in plans]  # type: ignore[union-attr]
        assert all(isinstance(own, OwnedTotals) for own in totals), statement
        expected, found = (sums(table, own) for table, own in zip(tables, totals, strict=True))
        assert found == expected, statement
        assert any(expected), statement


def test_sub_queries_of_the_rows_of_each_user(spark: Any) -> None:
    tables = both(spark, visits(), space=SPACE, users=["ann", "bob", *"defghijkl"])
    for statement in BY_USER:
        header = HEADER.replace(", max_records_per_user = 7", "") if "COUNT(DISTINCT u)" in statement else HEADER
        plans = [plan_request(header + statement, table.names(PUBLIC))[0].plan for table in tables]
        totals: list[Any] = [plan.aggregation for plan in plans]  # type: ignore[union-attr]
        expected, found = (sums(table, own) for table, own in zip(tables, totals, strict=True))
        assert found == expected, statement
        assert any(expected), statement


def test_sums_under_a_cap_of_what_records_add(spark: Any) -> None:
    tables = both(spark, hard_rows(), space=emdp.Interval("z", 0, 1), users=list(range(30)))
    number, text = Column("t", "c0_DOUBLE", Kind.DOUBLE), Column("t", "c0_TEXT", Kind.TEXT)
    key = Key("key", text, tuple(dict.fromkeys(VALUES[Kind.TEXT])))
    arguments = (Argument(number, 1, -3.0, 5.0), Argument(Column("t", "c0_BIGINT", Kind.BIGINT), 1, 0.0, 7.0))
    costs = (0, 2**18, 2**19, 0, 2**10, 2**19)
    for keys in ((), (key,)):
        totals = OwnedTotals(Private("t"), keys, arguments, 2**9, costs=costs)
        shapes = [totals, octaves_of(totals), replace(totals, norm=2), octaves_of(replace(totals, norm=2))]
        if keys:
            each = OwnedTotals(Private("t"), keys, arguments, costs=costs, groups_cap=2, group_rows=1)
            shapes += [octaves_of(totals, of_groups=True), each]
        for own in shapes:
            found, expected = (sums(table, own) for table in reversed(tables))
            assert found == expected
            assert sum(expected) > 10


def test_users_by_bin_of_their_largest_and_smallest_value(spark: Any) -> None:
    """What a chosen range is made of."""
    tables = both(spark, hard_rows(), space=emdp.Interval("z", 0, 1), users=list(range(30)))
    nodes = (Column("t", "c0_DOUBLE", Kind.DOUBLE), Column("t", "c0_BIGINT", Kind.BIGINT))
    query = OwnedSelect(Private("t"), (OwnedItem("users", "n"),), Price.asked(epsilon=1.0))
    totals = totals_of(extremes_question(query, nodes, query.price))
    found, expected = (sums(table, totals) for table in reversed(tables))
    assert found == expected
    assert sum(expected) > 40


def test_a_chosen_range_has_one_answer_on_both_engines(spark: Any, tmp_path: Path) -> None:
    """From the users by bin to the rows of the answer; hours of local times too, which are a column of their own."""
    hours = "HOUR(ts AT TIME ZONE 'America/New_York')"
    header = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 90, max_records_per_user = 40, range = auto)"
    items = f"SUM(i), AVG({hours}), AVG(i - {hours}), COUNT(*)"
    where = f"k IN ('a', 'b') AND {hours} BETWEEN 1 AND 20"
    answers = []
    rows = visits().filter(pl.col("u") != "cleo")
    for number, table in enumerate(both(spark, rows, space=SPACE, users=["ann", "bob", *"defghijkl"])):
        place = tmp_path / f"l{number}"
        with emdp.testing.seeded(11), emdp.Session(table, budget=emdp.UserDP(1e3), ledger=place) as session:
            answers.append(session.sql(f"{header} k, {items} FROM t WHERE {where} GROUP BY k"))
    one, other = answers
    assert one.frame.equals(other.frame)
    assert one.remarks == other.remarks
    assert any("was chosen as" in remark for remark in one.remarks)


def test_an_answer_of_a_session(spark: Any, tmp_path: Path) -> None:
    rows = visits().filter(pl.col("u") != "cleo")
    table = both(spark, rows, space=SPACE, users=["ann", "bob", *"defghijkl"])[1]
    session = emdp.Session(table, budget=emdp.UserDP(2e6), ledger=str(tmp_path / "l"), public=PUBLIC)
    answer = session.sql(
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1e6, max_records_per_user = 1000) COUNT(*) FROM t WHERE i = 7"
    )
    assert answer.frame.row(0)[0] == pytest.approx(len(rows.filter(pl.col("i") == 7)), abs=0.1)


def test_answers_by_keys_that_nobody_listed(spark: Any, tmp_path: Path) -> None:
    rows = visits().filter(pl.col("u") != "cleo")
    table = both(spark, rows, space=SPACE, users=["ann", "bob", *"defghijkl"])[1]
    session = emdp.Session(table, budget=emdp.UserDP(2e4, 0.5), ledger=str(tmp_path / "l"), public=PUBLIC)
    header = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 90, delta = 1e-3, max_groups_per_user = 31"
    found = session.sql(f"{header}) day, COUNT(DISTINCT u) AS n FROM t GROUP BY day ORDER BY n DESC LIMIT 5").frame
    assert found.schema["day"] == pl.Date
    people = rows.group_by("day").agg(pl.col("u").n_unique())
    for day, number in found.select("day", "n").rows():
        assert number == pytest.approx(people.filter(pl.col("day") == day).item(0, "u"), abs=4)
    header = header.replace("31", "3, max_records_per_group = 20")
    assert len(session.sql(f"{header}) SUBSTR(k, 1, 1) AS k, COUNT(*) AS n FROM t GROUP BY 1").frame) == 3
    quantiles = session.sql(
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 900, max_records_per_user = 100) "
        "MEDIAN(CLAMP(i, 0, 99)) m, COUNT(DISTINCT day) d FROM t"
    ).frame
    assert quantiles.item(0, "d") == pytest.approx(30, abs=1)
    assert 0 <= quantiles.item(0, "m") <= 99


def test_a_column_that_changed_its_type_is_refused_before_the_charge(spark: Any) -> None:
    spark.createDataFrame(visits().select("u", "x", "k", "i").to_arrow()).createOrReplaceTempView("visits_of_test")
    table = read("spark::visits_of_test", user="u", space=SPACE, users=11, name="t")
    spark.createDataFrame(
        visits().select("u", "x", "k", pl.col("i").cast(pl.String)).to_arrow()
    ).createOrReplaceTempView("visits_of_test")
    totals = OwnedTotals(Private("t"), arguments=(Argument(Column("t", "i", Kind.BIGINT)),), cap=4)
    try:
        with pytest.raises(emdp.EmdpError):
            check_aggregation(table, totals)
    finally:
        spark.catalog.dropTempView("visits_of_test")
