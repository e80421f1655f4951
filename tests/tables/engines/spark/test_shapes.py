"""Windows, lists of users and sums of fractions of the rows of each user, on Spark: DuckDB's whole numbers."""

import random
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.sessions.planning import plan_request
from emdp.tables import Table, aggregate, check_aggregation, read

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


@pytest.mark.parametrize("statements", [WINDOWS, FRACTIONS, LISTS], ids=["windows", "fractions", "lists"])
def test_both_engines_give_the_same_whole_numbers(spark: Any, statements: tuple[str, ...]) -> None:
    tables = both(spark, visits())
    for statement in statements:
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
