"""Windows, lists of users, sums of fractions and linked tables on Spark: DuckDB's whole numbers."""

import random
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError
from emdp.sessions.planning import plan_request
from emdp.sql.owned.conditions import CONDITIONS
from emdp.sql.owned.summaries import FUNCTIONS, NAMES
from emdp.tables import Table, aggregate, check_aggregation, read
from emdp.tables.engine import broken_rules, count_breaches

USERS = ["ann", "bob", *"defghijkl"]
SPACE = emdp.Product(emdp.Interval("x", 0, 10, on_invalid="clamp"), emdp.Categories("k", ["a", "b", "c"]))
HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 50) "
PEOPLE = pl.DataFrame({"u": [*USERS, "zoe"], "grp": [place % 3 for place in range(12)]})
BY_U = "(PARTITION BY u ORDER BY day)"

WINDOWS = (
    "r, COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY u ORDER BY x DESC) AS r FROM t) q "
    "WHERE r BETWEEN 1 AND 3 GROUP BY r",
    # Peers are told apart by all columns; -0.0 stands before 0.0.
    "COUNT(*) FROM (SELECT x, z, ROW_NUMBER() OVER (PARTITION BY u, k ORDER BY b NULLS FIRST) AS r FROM t) q "
    "WHERE r = 1 AND x > 0.3",
    "SUM(CLAMP(z, -9, 9)) FROM (SELECT z, ROW_NUMBER() OVER (PARTITION BY u ORDER BY z) AS r FROM t) q WHERE r < 9",
    "COUNT(*) FROM (SELECT z, k, ROW_NUMBER() OVER (PARTITION BY u ORDER BY z) AS r FROM t WHERE z = 0) q "
    "WHERE r = 1 AND k <> 'b'",
    # Numbers of rows have 64 bits.
    "COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY u ORDER BY day DESC) AS r FROM t) q "
    "WHERE r > 2 AND r * 1000000 * r * 1000 > 0",
    f"COUNT(*) FROM (SELECT u, k FROM t QUALIFY DENSE_RANK() OVER {BY_U} = 2) q",
    "COUNT(*) FROM (SELECT day, LAG(day) OVER (PARTITION BY u ORDER BY ts) AS d FROM t) q WHERE day > d",
    "SUM(CLAMP(i - p, 0, 10)) FROM (SELECT i, LAG(i, 2, 7) OVER (PARTITION BY u ORDER BY ts DESC) AS p FROM t) q",
    "COUNT(*) FROM (SELECT ts, LEAD(ts) OVER (PARTITION BY u ORDER BY k) AS n, k FROM t) q WHERE n > ts AND k = 'a'",
    "SUM(CLAMP(s, 0, 300)) FROM (SELECT SUM(x) OVER (PARTITION BY u ORDER BY ts ROWS BETWEEN 3 PRECEDING AND 1 "
    "FOLLOWING) AS s FROM (SELECT u, CLAMP(x, 0, 9) AS x, ts FROM t) p) q",
    "SUM(CLAMP(s, -1000, 10000)), COUNT(s) FROM "
    f"(SELECT SUM(i % 100) OVER {BY_U} AS s, COUNT(i) OVER (PARTITION BY u) AS c FROM t) q WHERE c > 4",
    f"SUM(CLAMP(a, 0, 99)) FROM (SELECT AVG(i % 1000) OVER {BY_U} AS a, MIN(k) OVER {BY_U} AS m FROM t) q "
    "WHERE m = 'a'",
    "SUM(CLAMP(s, -5, 30)) FROM (SELECT FIRST_VALUE(x) OVER (PARTITION BY u ORDER BY ts) + LAST_VALUE(x) OVER "
    "(PARTITION BY u ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS s FROM t) q",
    "COUNT(*) FROM (SELECT MAX(day) OVER (PARTITION BY u) AS m, day FROM t WHERE x > 0.2) q WHERE day < m",
    "COUNT(*) FROM (SELECT u, n, ROW_NUMBER() OVER (PARTITION BY u ORDER BY n DESC) AS r FROM "
    "(SELECT u, k, COUNT(*) AS n FROM t GROUP BY u, k) p) q WHERE r = 1 AND n > 15",
)

FRACTIONS = (
    "AVG(CLAMP(s, 0, 90)) FROM (SELECT u, SUM(CLAMP(x, 0, 1)) AS s FROM t GROUP BY u) q",
    "SUM(CLAMP(a, -3, 3)), COUNT(*) FROM (SELECT u, k, AVG(CLAMP(z, -3, 2.5)) AS a FROM t GROUP BY u, k) q "
    "WHERE a > -1",
    "COUNT(*) FROM (SELECT u, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY u HAVING SUM(x) > 10) q WHERE s > a * 30",
    # Beyond 53 bits: both round to the nearest double.
    "COUNT(*), SUM(CLAMP(a / 1e18, -4, 4)) FROM (SELECT u, AVG(i) AS a FROM t GROUP BY u) q WHERE a <> 0",
)

QUANTILES = (
    "COUNT(*) FROM (SELECT u, COUNT_IF(x > 0.5) AS c, COUNTIF(b) AS d, BOOL_OR(b) AS e, BOOL_AND(x > 0.1) AS f, "
    "MEAN(i % 9) AS m, COUNT(DISTINCT k) AS n, QUANTILE_DISC(x, 0.4) AS q FROM t GROUP BY u, k) q "
    "WHERE c > d AND (e OR f) AND m > q",
    "COUNT(*), SUM(CLAMP(m, -9, 99)) FROM (SELECT u, MEDIAN(i) AS m FROM t GROUP BY u) q WHERE m > 0",
    "SUM(CLAMP(m, -9, 9)), COUNT(m) FROM (SELECT u, k, MEDIAN(z) AS m FROM t GROUP BY u, k) q",
    "m, COUNT(*) FROM (SELECT u, day, QUANTILE(k, 0.3) AS m FROM t GROUP BY u, day) q WHERE m IN ('a', 'b') GROUP BY m",
    "SUM(CLAMP(lo, -9, 9)), SUM(CLAMP(hi, -9, 9)) FROM (SELECT u, QUANTILE(z, 0) AS lo, QUANTILE(z, 1) AS hi FROM t "
    "GROUP BY u) q",
    *(
        "SUM(CLAMP(q, 0, 99)), COUNT(*) FROM (SELECT u, k, b, QUANTILE(i % 100, " + level + ") AS q, MEDIAN(x) AS m, "
        "QUANTILE(day, " + level + ") AS d, QUANTILE(ts, 0.9) AS ts, QUANTILE(b, " + level + ") AS o FROM t "
        "GROUP BY u, k, b) q WHERE d < DATE '2024-01-20' AND NOT (o AND m > 0.5) "
        "AND ts > TIMESTAMP '2024-01-05 00:00:00'"
        for level in ("0.1", "0.25", "0.3", "0.7", "0.95")
    ),
)
"""Of groups of no value, of one, of an even and of an odd number."""

LISTS = (
    "n, COUNT(*) FROM (SELECT p.u, COUNT(t.u) AS n FROM people p LEFT JOIN t ON p.u = t.u GROUP BY p.u) q "
    "WHERE n BETWEEN 0 AND 40 GROUP BY n",
    "grp, COUNT(*) FROM people JOIN t USING (u) WHERE x > 0.5 GROUP BY grp",
    "AVG(CLAMP(s, 0, 90)) FROM (SELECT p.u, p.grp, SUM(CLAMP(x, 0, 1)) AS s FROM people p LEFT JOIN t ON p.u = t.u "
    "GROUP BY p.u, p.grp) q WHERE grp < 2",
    "grp, COUNT(*) FROM (SELECT p.u, grp, ROW_NUMBER() OVER (PARTITION BY p.u ORDER BY ts) AS r FROM people p JOIN t "
    "ON t.u = p.u) q WHERE r BETWEEN 2 AND 9 AND grp IN (0, 2) GROUP BY grp",
)


def visits(seed: int = 1) -> pl.DataFrame:
    source = random.Random(seed)
    wild = [None, float("nan"), 1.5, -2.0, 1e300, float("inf"), 0.0, -0.0, -0.0, 0.0]
    rows = pl.DataFrame({"u": [source.choice(["ann", "bob", "cleo", None, *"defghij"]) for _ in range(400)]})
    times = [1_704_067_200_000_000 + source.randrange(500_000) * 60_000_000 for _ in range(400)]
    return rows.with_columns(
        pl.Series("x", [source.choice([*wild[:6], source.random()]) for _ in range(400)]),
        pl.Series("z", [source.choice([*wild, source.uniform(-9, 9)]) for _ in range(400)]),
        pl.Series("k", [source.choice("abc") for _ in range(400)]),
        pl.Series("i", [source.choice([None, 0, 1, -5, 7, 2**62, source.randrange(99)]) for _ in range(400)]),
        pl.Series("ts", times).cast(pl.Datetime("us")),
        pl.Series("day", [19_723 + source.randrange(30) for _ in range(400)], dtype=pl.Int32).cast(pl.Date),
        pl.Series("b", [source.choice([True, False, None]) for _ in range(400)]),
    )


def both(session: Any, frame: pl.DataFrame) -> tuple[Table, Table]:
    """Return a table of each engine with the same rows."""
    rows = session.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    listed = pl.DataFrame({"u": USERS})
    one, other = (
        read(source, user="u", name="t", space=SPACE, users=listed) for source in (frame, rows.repartition(3))
    )
    return one, other


SHAPES = {"windows": WINDOWS, "fractions": FRACTIONS, "quantiles": QUANTILES, "lists": LISTS}


def test_every_aggregate_and_window_of_a_users_rows_has_a_case() -> None:
    texts = [text for texts in SHAPES.values() for text in texts]
    for name in (*NAMES, *CONDITIONS, *FUNCTIONS):
        assert any(f"{name}(" in text for text in texts), f"{name} has no case that both engines compute"


@pytest.mark.parametrize("name", SHAPES)
def test_both_engines_give_the_same_whole_numbers(spark: Any, name: str) -> None:
    tables = both(spark, visits())
    for statement in SHAPES[name]:
        found = []
        for table in tables:
            (planned,) = plan_request(HEADER + statement, table.names({"people": PEOPLE}))
            aggregation: Any = planned.plan.aggregation  # type: ignore[union-attr]
            check_aggregation(table, aggregation)
            (values,) = aggregate(table, aggregation)
            found.append(values.open())
        assert found[1] == found[0], statement
        assert any(found[0]), statement


def test_whole_numbers_of_128_bits_become_the_nearest_double() -> None:
    # So they do on Spark, whose DECIMAL is read by Java's parser.
    source = random.Random(3)
    wide = [source.choice([-1, 1]) * source.getrandbits(source.randrange(1, 120)) for _ in range(5000)]
    wide += [-(2**53) - 2, -(2**64), 2**64 - 1, 2**64 + 1, -(2**53) - 1, 0]
    query = "SELECT CAST(CAST(UNNEST(?) AS HUGEINT) AS DOUBLE)"
    assert [row[0] for row in duckdb.execute(query, [[str(own) for own in wide]]).fetchall()] == [
        float(w) for w in wide
    ]


STATES = emdp.Categories("state", ["F", "O", "P"])
LINKED = (
    "state, SUM(CLAMP(price, 0, 10)) FROM lines JOIN orders ON of = id GROUP BY state",
    "COUNT(*) FROM lines WHERE price > 2",
    "COUNT(*) FROM orders WHERE state = 'F' AND EXISTS (SELECT * FROM lines WHERE of = id AND price > 1)",
    "COUNT(*) FROM people WHERE u NOT IN (SELECT buyer FROM orders WHERE state = 'P')",
    "COUNT(*) FROM lines a JOIN lines b ON a.of = b.of AND a.part < b.part",
    "COUNT(*) FROM (SELECT id, COUNT(*) AS n FROM orders JOIN lines ON id = of GROUP BY id HAVING COUNT(*) > 1) q",
    "n, COUNT(*) FROM (SELECT u, COUNT(id) AS n FROM people LEFT JOIN orders ON u = buyer AND state <> 'P' "
    "GROUP BY u) q WHERE n BETWEEN 0 AND 5 GROUP BY n",
    "COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY of ORDER BY price) AS r FROM lines) q WHERE r = 1",
    "COUNT(*) FROM visits JOIN people ON who = u WHERE day > 1",
    "COUNT(*) FROM people LEFT JOIN orders ON u = buyer LEFT JOIN lines ON of = id WHERE of IS NULL OR part = 2",
    "brand, COUNT(*) FROM parts, lines, orders, people WHERE parts.part = lines.part AND of = id AND buyer = u "
    "AND city = 'Rome' GROUP BY brand",
)
PARTS = pl.DataFrame({"part": [1, 2, 3], "brand": ["x", "y", "x"]})


def shop() -> dict[str, pl.DataFrame]:
    chance = random.Random(3)
    orders = [(100 + number, chance.randrange(9), chance.choice("FOP")) for number in range(40)]
    lines = [(chance.choice(orders)[0], chance.choice([1, 2, 3, None]), chance.choice([1.0, 2.5])) for _ in range(120)]
    people = [(user, chance.choice(["Rome", "Oslo"])) for user in range(10)]
    return {
        "people": pl.DataFrame(people, schema={"u": pl.Int64, "city": pl.String}, orient="row"),
        "orders": pl.DataFrame(orders, schema={"id": pl.Int64, "buyer": pl.Int64, "state": pl.String}, orient="row"),
        "lines": pl.DataFrame(lines, schema={"of": pl.Int64, "part": pl.Int64, "price": pl.Float64}, orient="row"),
        "visits": pl.DataFrame({"who": [8, 8, 9, 3, 2], "day": [1, 2, 3, 2, 5]}),
    }


def linked(frames: dict[str, pl.DataFrame], session: Any = None, users: Any = 12) -> Table:
    """Return the people with all that is linked to them, in Spark where a session is given."""
    found: dict[str, Any] = dict(frames)
    if session is not None:
        found = {
            name: session.createDataFrame(own.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(2)
            for name, own in frames.items()
        }
    links = {
        "orders": {"column": "buyer", "table": "people", "key": "u", "space": STATES},
        "lines": {"column": "of", "table": "orders", "key": "id", "space": emdp.Interval("price", 0, 100)},
        "visits": {"column": "who", "table": "orders", "key": "buyer", "space": emdp.Interval("day", 0, 100)},
    }
    links = {name: {"source": found[name], **link} for name, link in links.items()}
    space = emdp.Categories("city", ["Rome", "Oslo"])
    return read(found["people"], user="u", space=space, users=users, name="people", links=links)


def test_linked_tables_are_joined_as_on_duckdb(spark: Any) -> None:
    tables = linked(shop()), linked(shop(), spark, pl.DataFrame({"u": range(12)}))
    assert [broken_rules(table) for table in tables] == [(), ()]
    for statement in LINKED:
        found = []
        for table in tables:
            (planned,) = plan_request(HEADER + statement, table.names({"parts": PARTS}))
            aggregation: Any = planned.plan.aggregation  # type: ignore[union-attr]
            check_aggregation(table, aggregation)
            (values,) = aggregate(table, aggregation)
            found.append(values.open())
        assert found[1] == found[0], statement
        assert any(found[0]), statement


def test_links_that_break_their_rules_are_found_as_on_duckdb(spark: Any) -> None:
    broken = shop()
    broken["orders"] = pl.concat([broken["orders"], broken["orders"][:2]]).with_columns(
        pl.when(pl.int_range(pl.len()) == 7).then(None).otherwise("id").alias("id")
    )
    broken["lines"] = broken["lines"].with_columns(pl.when(pl.col("part") == 1).then(999).otherwise("of").alias("of"))
    tables = linked(broken, users=3), linked(broken, spark, 3)
    found = [{(own.rule, own.records, own.users) for own in count_breaches(table)} for table in tables]
    assert found[0] == found[1]
    assert {rule.name for rule, _, _ in found[0]} >= {"repeated_keys", "lost_links", "unlisted_users"}


def test_a_session_refuses_links_that_are_broken_before_it_charges(spark: Any, tmp_path: Path) -> None:
    broken = shop()
    broken["orders"] = pl.concat([broken["orders"], broken["orders"][:1]])
    for frames, is_whole in ((broken, False), (shop(), True)):
        table = linked(frames, spark)
        with emdp.Session(table, budget=emdp.UserDP(1e6), ledger=tmp_path / f"{is_whole}.ledger") as session:
            text = HEADER.replace("epsilon = 1,", "epsilon = 1e5,") + "COUNT(*) FROM lines WHERE price > 2"
            if is_whole:
                lines = frames["lines"].filter(pl.col("price") > 2)
                assert session.sql(text).frame.item(0, 0) == pytest.approx(len(lines), abs=1)
            else:
                with pytest.raises(DataRuleError, match="orders"):
                    session.sql(text)
                assert session.spent().epsilon == 0


def test_linked_tables_of_two_sessions_are_not_joined(spark: Any) -> None:
    frames = shop()
    other = spark.newSession()
    links = {
        "visits": {
            "source": other.createDataFrame(frames["visits"].to_arrow()),
            "column": "who",
            "table": "people",
            "key": "u",
            "space": emdp.Interval("day", 0, 100),
        }
    }
    people = spark.createDataFrame(frames["people"].to_arrow(compat_level=pl.CompatLevel.oldest()))
    space = emdp.Categories("city", ["Rome", "Oslo"])
    table = read(people, user="u", space=space, users=12, name="people", links=links)
    (planned,) = plan_request(HEADER + "COUNT(*) FROM visits", table.names({}))
    with pytest.raises(emdp.UsageError, match="one Spark session"):
        check_aggregation(table, planned.plan.aggregation)  # type: ignore[union-attr]
