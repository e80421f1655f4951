"""Sub-queries, groups, windows, joins and EXISTS over the rows of one user, from the text to the answer."""

import datetime
import itertools
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError, UsageError
from emdp.estimators.owned.plan import OwnedPlan
from emdp.estimators.owned.totals import plan_owned
from emdp.questions.names import Names
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Public, UserList
from emdp.questions.price import Price
from emdp.rows.nodes import Column
from emdp.rows.types import Kind
from emdp.sql import rows_instead
from emdp.sql.reader import parse
from emdp.tables.engines.duckdb.execution import DIALECT, opened, run
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.owned import owned_coordinates, owned_statement, used_columns
from emdp.tables.statements.owned_rows import OWNER, RowsMaker

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 1000) "
PER_USER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) "
ZONES = pl.DataFrame({"cat": ["a", "b", "c", "a"], "zone": ["z1", "z2", "z1", "z3"], "size": [1, 2, None, 4]})
PEOPLE = pl.DataFrame({"u": range(25), "grp": [number % 3 for number in range(25)]})
LISTED = pl.DataFrame({"u": [str(number) for number in range(25)]})
SPACE = emdp.Product(emdp.Categories("cat", ["a", "b", "c"]), emdp.Interval("x", 0, 10))

BETWEEN = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
SHAPES = [
    "AVG(CLAMP(n, 0, 100)) AS k FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u) q",
    "COUNT(*) AS k FROM (SELECT u, MAX(x) AS m, SUM(rating) AS s, AVG(x) AS a, COUNT(DISTINCT cat) AS c FROM t "
    "WHERE rating > 1 GROUP BY u HAVING COUNT(*) > 12 AND SUM(x) > 60) q WHERE m > 9 AND s > a",
    "n, COUNT(*) AS k FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u) q WHERE n BETWEEN 10 AND 30 GROUP BY n",
    "SUM(CLAMP(s + a * 10, 0, 1000)) AS k FROM (SELECT u, cat, SUM(x) AS s, AVG(rating) AS a FROM t GROUP BY u, cat) q",
    "COUNT(*) AS k FROM (SELECT u, MEDIAN(x) AS m, QUANTILE_DISC(rating, 0.5) AS q, BOOL_OR(title = 'cafe') AS b, "
    "BOOL_AND(x > 1) AS e FROM t GROUP BY 1) s WHERE m > 5 AND q > 2 AND b AND NOT e",
    "COUNT(*) AS k FROM (SELECT u, COUNT(*) FILTER (WHERE rating = 5) AS n, MIN(day) AS d FROM t GROUP BY u) s "
    "WHERE n > 2 AND d = DATE '2026-01-01'",
    "COUNT(*) AS k FROM (SELECT DISTINCT u, cat, day FROM t) q",
    "COUNT(*) AS k FROM (SELECT u, x FROM t WHERE rating = 1 UNION ALL SELECT u, x FROM t WHERE x > 5) q WHERE x > 2",
    "COUNT(*) AS k FROM (SELECT u, cat FROM t WHERE rating = 1 UNION SELECT u, cat FROM t WHERE x > 5) q",
    "COUNT(*) AS k FROM (SELECT u, ROW_NUMBER() OVER (PARTITION BY u ORDER BY day DESC) AS r FROM t) q WHERE r <= 3",
    "COUNT(*) AS k FROM (SELECT u, cat FROM t QUALIFY DENSE_RANK() OVER (PARTITION BY u ORDER BY day) = 2) q",
    "COUNT(*) AS k FROM (SELECT RANK() OVER (PARTITION BY u, cat ORDER BY day) AS r FROM t) q WHERE r > 2",
    "SUM(CLAMP(d, 0, 10)) AS k FROM (SELECT x - LAG(x, 2, 0) OVER (PARTITION BY u ORDER BY x) AS d FROM t) q",
    "SUM(CLAMP(s, 0, 100)) AS k FROM (SELECT SUM(x) OVER (PARTITION BY u ORDER BY x ROWS BETWEEN 2 PRECEDING AND "
    "CURRENT ROW) AS s, COUNT(*) OVER (PARTITION BY u, cat) AS c FROM t) q WHERE c > 4",
    "SUM(CLAMP(s, 0, 100)) AS k FROM (SELECT SUM(rating) OVER (PARTITION BY u ORDER BY day) AS s FROM t) q",
    "SUM(CLAMP(s, 0, 100)) AS k FROM (SELECT FIRST_VALUE(x) OVER (PARTITION BY u ORDER BY x) + "
    f"LAST_VALUE(x) OVER (PARTITION BY u ORDER BY x {BETWEEN}) AS s FROM t) q",
    "COUNT(*) AS k FROM t WHERE EXISTS (SELECT 1 FROM t b WHERE b.u = t.u AND b.x > t.x + 1 AND b.rating = 5)",
    "COUNT(*) AS k FROM t a WHERE NOT EXISTS (SELECT * FROM t b WHERE b.u = a.u AND b.day = a.day AND b.x > a.x)",
    "COUNT(*) AS k FROM t WHERE u IN (SELECT u FROM t WHERE rating = 5 AND x > 8)",
    "COUNT(*) AS k FROM t WHERE u NOT IN (SELECT u FROM t WHERE rating = 5 AND x > 8)",
    "COUNT(*) AS k FROM t WHERE u IN (SELECT u FROM t GROUP BY u HAVING COUNT(*) > 20)",
    "COUNT(*) AS k FROM t WHERE cat IN (SELECT cat FROM zones WHERE size > 1)",
    "COUNT(*) AS k FROM t WHERE rating NOT IN (SELECT size FROM zones WHERE zone <> 'z3' AND size > 0)",
    "COUNT(*) AS k FROM t WHERE rating NOT IN (SELECT size FROM zones)",
    "COUNT(*) AS k FROM t WHERE (rating IN (SELECT size FROM zones)) IS NULL OR x > 9",
    "COUNT(*) AS k FROM t WHERE EXISTS (SELECT 1 FROM zones z WHERE z.cat = t.cat AND z.size < t.rating) AND x > 2",
    "COUNT(*) AS k FROM t a JOIN t b ON a.u = b.u AND a.day < b.day",
    "COUNT(*) AS k FROM t a LEFT JOIN t b ON a.u = b.u AND a.day < b.day AND b.rating = 1",
    "COUNT(*) AS k FROM t JOIN (SELECT u, AVG(x) AS m FROM t GROUP BY u) s USING (u) WHERE x > m",
    "n, COUNT(*) AS k FROM (SELECT p.u, COUNT(t.u) AS n FROM people p LEFT JOIN t ON p.u = t.u GROUP BY p.u) q "
    "WHERE n BETWEEN 0 AND 30 GROUP BY n",
    "COUNT(*) AS k FROM t WHERE x > 3 AND EXISTS (SELECT 1 FROM t b WHERE b.u = t.u AND b.cat IN "
    "(SELECT cat FROM zones WHERE size = 2))",
    "COUNT(*) AS k FROM t JOIN (SELECT cat, COUNT(*) AS m FROM zones GROUP BY cat) z USING (cat) WHERE m > 1",
    "COUNT(*) AS k FROM (WITH r AS (SELECT u, x FROM t WHERE x > 2) SELECT u, COUNT(*) AS n FROM r GROUP BY u) q "
    "WHERE n > 9",
]  # fmt: skip

# With ties, of which plain DuckDB may take any.
TIED = [
    "SUM(x) AS k FROM (SELECT x, ROW_NUMBER() OVER (PARTITION BY u ORDER BY day) AS r FROM t) q WHERE r = 1",
    "COUNT(*) AS k FROM (SELECT x, ROW_NUMBER() OVER (PARTITION BY u ORDER BY x) AS r FROM t) q "
    "WHERE r = 1 AND 1 / x > 0",
    "SUM(x) AS k FROM (SELECT LEAD(x) OVER (PARTITION BY u ORDER BY rating) AS x, cat FROM t) q WHERE cat = 'a'",
]


def table_of(records: pl.DataFrame, users: Any = LISTED) -> emdp.Table:
    return emdp.read(records, user="u", space=SPACE, users=users, name="t")


@pytest.fixture(scope="module")
def records() -> pl.DataFrame:
    chance = random.Random(5)
    return pl.DataFrame(
        {
            "u": [chance.randrange(20) for _ in range(400)],
            "x": [chance.uniform(0, 10) for _ in range(400)],
            "cat": [chance.choice("abc") for _ in range(400)],
            "rating": [chance.choice([1, 2, 3, 4, 5, None]) for _ in range(400)],
            "day": [datetime.date(2026, 1, chance.randrange(1, 6)) for _ in range(400)],
            "title": [chance.choice(["Joe's bar", "cafe", None]) for _ in range(400)],
        }
    )


@pytest.fixture
def session(tmp_path: Path, records: pl.DataFrame) -> Iterator[emdp.Session]:
    public = {"zones": ZONES, "people": PEOPLE}
    with (
        emdp.testing.seeded(3),
        emdp.Session(table_of(records), budget=emdp.UserDP(1e9), ledger=tmp_path / "l", public=public) as opened_one,
    ):
        yield opened_one


@pytest.mark.quarter
@pytest.mark.parametrize("text", SHAPES, ids=range(len(SHAPES)))
def test_it_means_what_duckdb_makes_of_it(session: emdp.Session, records: pl.DataFrame, text: str) -> None:
    connection = duckdb.connect()
    for name, frame in (("t", records), ("zones", ZONES), ("people", PEOPLE)):
        connection.register(name, frame)
    connection.execute("CREATE MACRO CLAMP(e, a, b) AS least(b, greatest(a, e))")
    rows = connection.execute(f"SELECT {text}").fetchall()
    frame = session.sql(HEADER + text).exact_frame
    is_grouped = text.startswith("n,")
    expected = dict(rows) if is_grouped else {None: rows[0][0]}
    found = dict(frame.rows()) if is_grouped else {None: frame.item()}
    assert sum(expected.values()) > 0 or "NOT IN (SELECT size FROM zones)" in text
    assert {**dict.fromkeys(found, 0), **expected} == pytest.approx(found, rel=2e-5, abs=2e-4)


# Neighbours: three users, of whom the last has any of these bags. Ties, NULL, both zeros, NaN, what the space lists.
ROWS = [
    (0.0, "a", 5, datetime.date(2026, 1, 1), "cafe"),
    (-0.0, "a", 5, datetime.date(2026, 1, 1), "cafe"),
    (9.0, "b", 1, datetime.date(2026, 1, 1), None),
    (3.0, "a", 3, datetime.date(2026, 1, 3), "Joe's bar"),
    (9.0, "c", None, datetime.date(2026, 1, 2), "cafe"),
]
BAGS: list[list[Any]] = [[], ROWS[2:], ROWS[::-1] * 2, ROWS[2:4] * 8]
OTHERS = [(1, row) for row in ROWS] + [(2, row) for row in ROWS[:3]]
SMALL = pl.DataFrame({"u": ["1", "2", "3"]})
NAMES = ("u", "x", "cat", "rating", "day", "title")


def database(others: list[Any], bag: list[Any]) -> pl.DataFrame:
    # The user's rows stand before and after those of others, so that no position is the same.
    half = len(bag) // 2
    rows = [(3, row) for row in bag[:half]] + others + [(3, row) for row in bag[half:]]
    schema = {"u": pl.Int64, "x": pl.Float64, "cat": pl.String, "rating": pl.Int64, "day": pl.Date, "title": pl.String}
    return pl.DataFrame([(user, *row) for user, row in rows], schema=schema, orient="row")


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Names:
    public = {"zones": ZONES, "people": PEOPLE}
    table = table_of(database([], ROWS), SMALL)
    ledger = tmp_path_factory.mktemp("names") / "l"
    with emdp.Session(table, budget=emdp.UserDP(1.0), ledger=ledger, public=public) as opened_one:
        return opened_one.names


def select_of(text: str, names: Names) -> OwnedSelect:
    (statement,) = parse(HEADER.replace("1000", "2") + text)
    found = rows_instead(statement, names, UsageError("not of this route; ask another."))
    assert isinstance(found, OwnedSelect)
    return found


def statistics_of(select: OwnedSelect, plan: OwnedPlan, others: list[Any], bag: list[Any]) -> tuple[Any, Any]:
    """Return what is drawn, exactly, and the rows of users 1 and 2 with all their columns."""
    table = table_of(database(others, bag), SMALL)
    statement = owned_statement(table, plan.aggregation)
    maker = RowsMaker(table, select.public, used_columns(plan.aggregation))
    rows = maker.rows(select.relation)
    named = {f"c{place}": rows.column(column) for place, column in enumerate(sorted(rows.known, key=str))}
    made = rows.select({OWNER: sql.cast(rows.owner.copy(), "TEXT"), **named})  # type: ignore[union-attr]
    with opened(table.source, statement.lookups, table.users.keys) as connection:
        sums = run(connection, statement.query.sql(DIALECT, identify=True))
        found = run(connection, made.sql(DIALECT, identify=True))
    drawn = plan.prepared(owned_coordinates(plan.aggregation, sums))
    return drawn, sorted(str(row) for row in found if row[0] in ("1", "2"))


@pytest.mark.quarter
@pytest.mark.parametrize("text", SHAPES + TIED, ids=range(len(SHAPES + TIED)))
def test_one_user_moves_their_own_rows_alone_and_no_more_than_the_noise_hides(text: str, names: Names) -> None:
    select = select_of(text, names)
    plan = plan_owned(select, users=3)
    found = [statistics_of(select, plan, OTHERS, bag) for bag in BAGS]
    assert all(rows == found[0][1] for _, rows in found)
    for (one, _), (other, _) in itertools.combinations(found, 2):
        move = math.fsum(float(abs(a - b)) for a, b in zip(one, other, strict=True))
        assert move <= plan.mechanisms[0].sensitivity


@pytest.mark.quarter
@pytest.mark.parametrize("text", SHAPES + TIED, ids=range(len(SHAPES + TIED)))
def test_the_order_of_rows_means_nothing(text: str, names: Names) -> None:
    select = select_of(text, names)
    plan = plan_owned(select, users=3)
    bag = ROWS * 3
    orders = (bag, bag[::-1], random.Random(1).sample(bag, len(bag)))
    assert len({statistics_of(select, plan, [], own)[0] for own in orders}) == 1


def test_sums_are_added_exactly(names: Names) -> None:
    values = [0.1] * 1000 + [10.0] + [0.3] * 999
    select = select_of("COUNT(*) AS k FROM (SELECT u, SUM(x) AS s FROM t GROUP BY u) q WHERE s > 0", names)
    maker_columns = {Column("q", "s", Kind.DOUBLE)}
    found = set()
    for seed in range(4):
        own = random.Random(seed).sample(values, len(values))
        schema = dict(database([], []).schema)
        frame = pl.DataFrame({"u": [1] * len(own), "x": own}).with_columns(
            pl.lit(None, schema[name]).alias(name) for name in NAMES[2:]
        )
        table = table_of(frame, SMALL)
        maker = RowsMaker(table, select.public, used_columns(plan_owned(select, users=3).aggregation))
        rows = maker.rows(select.relation)
        (column,) = maker_columns & set(rows.known)
        with opened(table.source, maker.lookups, table.users.keys) as connection:
            found |= set(run(connection, rows.select({"s": rows.column(column)}).sql(DIALECT, identify=True)))
    (((value,),),) = (tuple(found),)
    assert value == pytest.approx(math.fsum(values), abs=1e-9)


def test_one_row_a_user_needs_no_cap_and_has_both_ends(session: emdp.Session) -> None:
    text = "AVG(CLAMP(n, 0, 100)) AS visits, COUNT(*) AS people FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u) q"
    answer = session.sql(PER_USER + text)
    row = answer.frame.row(0, named=True)
    assert math.isfinite(row["people_high"])
    assert row["people_low"] <= 20 <= row["people_high"]
    assert any("each user has one row at most" in note for note in answer.notes)
    # A user has a row for each of several categories: a cap is chosen.
    other = session.sql(PER_USER + text.replace("GROUP BY u)", "GROUP BY u, cat)"))
    assert not any("each user has one row at most" in note for note in other.notes)


def test_a_list_of_users_is_refused_by_removal(session: emdp.Session) -> None:
    text = (
        "COUNT(*) FROM (SELECT p.u, COUNT(t.u) AS n FROM people p LEFT JOIN t ON p.u = t.u GROUP BY p.u) q WHERE n = 0"
    )
    assert session.preview(PER_USER + text)
    with pytest.raises(SqlError, match="leaves that row"):
        session.preview(PER_USER.replace("1.0", "1.0, neighbours = 'remove'") + text)
    # Of a user the row (u, 5) becomes (u, 0): in two cells one goes down and one up, where removal's bound is one.
    key = Column("p", "u", Kind.BIGINT)
    by_removal = Price.asked(epsilon=1.0, neighbours="remove")
    with pytest.raises(UsageError, match="leaves that row"):
        OwnedSelect(UserList(Public("p", "people"), key), (OwnedItem("users", "n"),), by_removal)


REFUSED = [
    ("COUNT(*) FROM (SELECT DISTINCT cat FROM t) q", "subquery-mixes-users", "add u"),
    ("COUNT(*) FROM (SELECT cat FROM t UNION SELECT cat FROM t) q", "subquery-mixes-users", "add u"),
    ("COUNT(*) FROM (SELECT u FROM t UNION ALL SELECT size FROM zones) q", "union-public", "public table"),
    ("COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY cat ORDER BY x) AS r FROM t) q", "window", "add u"),
    ("COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY u) AS r FROM t) q", "window-order", "ORDER BY"),
    ("COUNT(*) FROM (SELECT LAST_VALUE(x) OVER (PARTITION BY u ORDER BY x) AS r FROM t) q", "window-frame", "ROWS"),
    ("COUNT(*) FROM (SELECT SUM(x) OVER (PARTITION BY u ORDER BY x RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS r "
     "FROM t) q", "window-frame", "ROWS"),
    ("COUNT(*) FROM (SELECT SUM(rating) OVER (PARTITION BY u ORDER BY x ROWS 2 PRECEDING) AS r FROM t) q",
     "not-given-back",
     "BETWEEN 2 PRECEDING AND CURRENT ROW"),
    ("SUM(x) OVER (PARTITION BY u) FROM t WHERE rating > 1", "window", "GROUP BY"),
    ("COUNT(*) FROM t WHERE x IN (SELECT x FROM t b)", "subquery-not-by-user", "t.u = b.u"),
    ("COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t b WHERE b.x > t.x)", "subquery-not-by-user", "t.u = b.u"),
    ("COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t b WHERE b.u = t.u OR b.x > t.x)", "subquery-not-by-user", "b.u"),
    ("COUNT(*) FROM t a JOIN t b ON a.x = b.x", "two-users", "a.u = b.u"),
    ("COUNT(*) FROM (SELECT u, FIRST(x) AS f FROM t GROUP BY u) q", "subquery-aggregate", "MIN"),
    ("COUNT(*) FROM (SELECT u, SUM(x / rating) AS f FROM t GROUP BY u) q", "range", "CLAMP(x / rating, 0, 100)"),
    ("COUNT(*) FROM (SELECT u, x, COUNT(*) AS f FROM t GROUP BY u) q", "not-grouped", "GROUP BY"),
    ("COUNT(*) FROM (SELECT MAX(x) AS m FROM t) q WHERE m > 1", "extreme", "QUANTILE(x"),
    ("COUNT(*) FROM zones LEFT JOIN t ON zones.size = t.rating", "join-side", "users="),
    ("COUNT(*) FROM t WHERE x > (SELECT AVG(b.x) FROM t b WHERE b.u = t.u)", "correlated-answer", "JOIN a USING"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "remedy"), REFUSED)
def test_what_looks_at_several_users_is_refused(session: emdp.Session, text: str, code: str, remedy: str) -> None:
    with pytest.raises(SqlError) as caught:
        session.preview(HEADER + text)
    assert caught.value.code == code
    assert remedy in caught.value.remedy


def test_columns_of_one_name_keep_their_tables(names: Names) -> None:
    select = select_of("COUNT(*) AS k FROM t WHERE u IN (SELECT u FROM t WHERE x > 8) AND rating > 1", names)
    tables = {column.table for column in used_columns(plan_owned(select, users=3).aggregation).get("t", ())}
    assert tables == {"t"}
    assert all(isinstance(column, Column) for column in used_columns(plan_owned(select, users=3).aggregation)["t_2"])
