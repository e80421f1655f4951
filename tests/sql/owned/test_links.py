"""Private tables that are linked: whose rows are whose, what is joined, and how far one user moves an answer."""

import itertools
import math
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, SqlError, UsageError
from emdp.estimators.owned.plan import OwnedPlan
from emdp.estimators.owned.totals import plan_owned
from emdp.questions.names import Names
from emdp.questions.owned.question import OwnedSelect
from emdp.sql import rows_instead
from emdp.sql.reader import parse
from emdp.tables.engines.duckdb.execution import DIALECT, opened, run
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.owned import owned_coordinates, owned_statement, used_columns
from emdp.tables.statements.owned_rows import OWNER, RowsMaker

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 1000) "
PARTS = pl.DataFrame({"part": [1, 2, 3], "brand": ["x", "y", "x"]})
STATES = emdp.Categories("state", ["F", "O", "P"])
LISTED = pl.DataFrame({"u": [str(number) for number in range(12)]})

# A user has customers (one row, or none), orders with a key of their own, lines of orders, and visits by the user.
TABLES = {
    "people": {"u": pl.Int64, "city": pl.String},
    "orders": {"id": pl.Int64, "buyer": pl.Int64, "state": pl.String},
    "lines": {"of": pl.Int64, "part": pl.Int64, "price": pl.Float64},
    "visits": {"who": pl.Int64, "day": pl.Int64},
}
Rows = dict[str, list[tuple[Any, ...]]]

SHAPES = [
    "state, SUM(CLAMP(price, 0, 10)) AS k FROM lines JOIN orders ON of = id GROUP BY state",
    "COUNT(*) AS k FROM lines WHERE price > 2",
    "COUNT(*) AS k FROM orders WHERE state = 'F' AND EXISTS (SELECT * FROM lines WHERE of = id AND price > 1)",
    "COUNT(*) AS k FROM orders WHERE NOT EXISTS (SELECT * FROM lines WHERE of = id)",
    "COUNT(*) AS k FROM lines a WHERE EXISTS (SELECT * FROM lines b WHERE a.of = b.of AND a.part <> b.part) AND NOT "
    "EXISTS (SELECT * FROM lines c WHERE c.of = a.of AND c.part <> a.part AND c.price > 3)",
    "COUNT(*) AS k FROM orders WHERE id IN (SELECT of FROM lines WHERE price > 2)",
    "COUNT(*) AS k FROM people WHERE u NOT IN (SELECT buyer FROM orders WHERE state = 'P')",
    "COUNT(*) AS k FROM lines a JOIN lines b ON a.of = b.of AND a.part < b.part",
    "COUNT(*) AS k FROM (SELECT of, SUM(part) AS s, COUNT(*) AS n FROM lines GROUP BY of) q WHERE s > 3 AND n < 9",
    "COUNT(*) AS k FROM (SELECT id, COUNT(*) AS n FROM orders JOIN lines ON id = of GROUP BY id HAVING COUNT(*) > 1) q",
    "n, COUNT(*) AS k FROM (SELECT u, COUNT(id) AS n FROM people LEFT JOIN orders ON u = buyer AND state <> 'P' "
    "GROUP BY u) q WHERE n BETWEEN 0 AND 5 GROUP BY n",
    "COUNT(*) AS k FROM people JOIN orders ON u = buyer JOIN lines ON id = of JOIN parts USING (part) "
    "WHERE brand = 'x'",
    "COUNT(*) AS k FROM (SELECT DISTINCT of, part FROM lines) q",
    "COUNT(*) AS k FROM (SELECT of FROM lines WHERE price > 2 UNION SELECT id FROM orders WHERE state = 'F') q",
    "COUNT(*) AS k FROM (SELECT ROW_NUMBER() OVER (PARTITION BY of ORDER BY price) AS r FROM lines) q WHERE r = 1",
    "COUNT(*) AS k FROM visits JOIN people ON who = u WHERE day > 1",
    "COUNT(*) AS k FROM visits JOIN orders ON who = buyer WHERE day > 1",
    "COUNT(*) AS k FROM people LEFT JOIN orders ON u = buyer LEFT JOIN lines ON of = id WHERE of IS NULL OR part = 2",
    "brand, COUNT(*) AS k FROM parts, lines, orders, people WHERE parts.part = lines.part AND of = id AND buyer = u "
    "AND city = 'Rome' GROUP BY brand",
    "COUNT(*) AS k FROM parts p, lines l, orders WHERE l.of = id AND (p.part = l.part AND brand = 'x' AND price < 3 OR "
    "p.part = l.part AND brand = 'y')",
    "COUNT(*) AS k FROM visits, people WHERE who = u AND EXISTS (SELECT * FROM orders, lines WHERE buyer = u AND of "
    "= id AND price > day)",
    "n, COUNT(*) AS k FROM (SELECT u, COUNT(id) FROM people LEFT OUTER JOIN orders ON u = buyer GROUP BY u) q (who, n)"
    " WHERE n BETWEEN 0 AND 9 GROUP BY n",
    "COUNT(*) AS k FROM lines a, lines b JOIN orders o ON o.id = b.of WHERE a.of = b.of AND a.part = 1 AND b.price > 1",
]  # fmt: skip


def frames(rows: Rows) -> dict[str, pl.DataFrame]:
    return {name: pl.DataFrame(rows.get(name, []), schema=kinds, orient="row") for name, kinds in TABLES.items()}


def table_of(rows: Rows, users: Any = LISTED, **changes: Any) -> emdp.Table:
    """Return the people with all that is linked to them; ``changes`` are of links, by table."""
    found = frames(rows)
    links: dict[str, dict[str, Any]] = {
        "orders": {
            "column": "buyer",
            "table": "people",
            "key": "u",
            "space": STATES,
        },
        "lines": {"column": "of", "table": "orders", "key": "id", "space": emdp.Interval("price", 0, 100)},
        "visits": {"column": "who", "table": "orders", "key": "buyer", "space": emdp.Interval("day", 0, 100)},
    }
    links = {name: {"source": found[name], **link, **changes.get(name, {})} for name, link in links.items()}
    space = emdp.Categories("city", ["Rome", "Oslo"])
    return emdp.read(found["people"], user="u", space=space, users=users, name="people", links=links)


@pytest.fixture(scope="module")
def rows() -> Rows:
    chance = random.Random(3)
    orders = [(100 + number, chance.randrange(9), chance.choice("FOP")) for number in range(40)]
    lines = [
        (chance.choice(orders)[0], chance.choice([1, 2, 3, None]), chance.choice([1.0, 2.5, 4.0])) for _ in range(120)
    ]
    people = [(user, chance.choice(["Rome", "Oslo"])) for user in range(10)]
    return {"people": people, "orders": orders, "lines": lines, "visits": [(8, 1), (8, 2), (9, 3), (3, 2), (2, 5)]}


@pytest.fixture
def session(tmp_path: Path, rows: Rows) -> Iterator[emdp.Session]:
    with (
        emdp.testing.seeded(3),
        emdp.Session(
            table_of(rows), budget=emdp.UserDP(1e9), ledger=tmp_path / "l", public={"parts": PARTS}
        ) as opened_one,
    ):
        yield opened_one


@pytest.mark.quarter
@pytest.mark.parametrize("text", SHAPES, ids=range(len(SHAPES)))
def test_it_means_what_duckdb_makes_of_it(session: emdp.Session, rows: Rows, text: str) -> None:
    connection = duckdb.connect()
    for name, frame in {**frames(rows), "parts": PARTS}.items():
        connection.register(name, frame)
    connection.execute("CREATE MACRO CLAMP(e, a, b) AS least(b, greatest(a, e))")
    expected = dict(row if len(row) == 2 else (None, row[0]) for row in connection.execute(f"SELECT {text}").fetchall())
    frame = session.sql(HEADER + text).exact_frame
    found = dict(frame.rows()) if frame.width == 2 else {None: frame.item()}
    assert sum(expected.values()) > 0
    assert {**dict.fromkeys(found, 0), **expected} == pytest.approx(found, rel=2e-5, abs=2e-4)


# Neighbours: of users 1 and 2 the rows are these, and user 3 has any of the bags.
OTHERS: Rows = {
    "people": [(1, "Rome"), (2, "Oslo")],
    "orders": [(4, 1, "F"), (5, 2, "F"), (6, 2, "P")],
    "lines": [(4, 1, 1.5), (4, 2, 4.0), (5, 1, 2.5), (6, 3, 1.0)],
    "visits": [(1, 2), (2, 3)],
}


def bags() -> list[Rows]:
    """Return all rows that user 3 may have: with or without a person, up to two orders, up to two lines of each."""
    of_line = [(1, 1.0), (2, 5.0), (None, 0.5)]
    lines = [[], *([one] for one in of_line), [of_line[0], of_line[1]], [of_line[1]] * 2]
    found: list[Rows] = [{}, {"visits": [(3, 2), (3, 2), (3, 0)]}]
    for person, states in itertools.product([[], [(3, "Rome")]], ["F", "P", "FP", "FF"]):
        orders = [(7 + place, 3, state) for place, state in enumerate(states)]
        for chosen in itertools.product(lines, repeat=len(states)):
            if len(states) == 2 and str(chosen[0]) > str(chosen[1]):
                continue
            of_orders = [(7 + place, *line) for place, own in enumerate(chosen) for line in own]
            found.append({"people": person, "orders": orders, "lines": of_orders, "visits": [(3, 2)]})
    return [{}, *random.Random(2).sample(found[1:], 20)]


def together(bag: Rows) -> Rows:
    # The user's rows stand before and after those of others, so that no position is the same.
    return {name: [*bag.get(name, [])[:1], *OTHERS[name], *bag.get(name, [])[1:]] for name in TABLES}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Names:
    ledger = tmp_path_factory.mktemp("names") / "l"
    with emdp.Session(table_of(OTHERS), budget=emdp.UserDP(1.0), ledger=ledger, public={"parts": PARTS}) as opened_one:
        return opened_one.names


def select_of(text: str, names: Names, more: str = "", cap: int = 2) -> OwnedSelect:
    (statement,) = parse(HEADER.replace("1000", f"{cap}{more}") + text)
    found = rows_instead(statement, names, UsageError("not of this route; ask another."))
    assert isinstance(found, OwnedSelect)
    return found


READ: dict[object, list[list[tuple[Any, ...]]]] = {}
"""What the statements of a plan give of a database: plans of both relations of neighbours mostly run the same two."""


def statistics_of(select: OwnedSelect, plan: OwnedPlan, rows: Rows) -> tuple[Any, Any]:
    """Return what is drawn, exactly, and the rows of users 1 and 2 with all their columns."""
    table = table_of(rows)
    statement = owned_statement(table, plan.aggregation)
    maker = RowsMaker(table, select.public, used_columns(plan.aggregation))
    made = maker.rows(select.relation)
    named = {f"c{place}": made.column(column) for place, column in enumerate(sorted(made.known, key=str))}
    owned = made.select({OWNER: sql.cast(made.owner.copy(), "TEXT"), **named})  # type: ignore[union-attr]
    linked = {own.view: own.source for own in table.linked.values()}
    texts = [query.sql(DIALECT, identify=True) for query in (statement.query, owned)]
    lookups = tuple((name, *frame.rows()) for name, frame in statement.lookups.items())
    asked = (*texts, lookups, table.users.keys is None, repr(rows))
    if asked not in READ:
        with opened(table.source, statement.lookups, table.users.keys, linked=linked) as connection:
            READ[asked] = [run(connection, text) for text in texts]
    sums, found = READ[asked]
    drawn = plan.prepared(owned_coordinates(plan.aggregation, sums))
    return drawn, sorted(str(row) for row in found if row[0] in ("1", "2"))


def check_moves(text: str, names: Names, tried: list[Rows]) -> None:
    """Check that rows of others stay, and that statistics move by no more than the noise hides, by each relation."""
    select = select_of(text, names)
    plan = plan_owned(select, users=12)
    found = [statistics_of(select, plan, together(bag)) for bag in tried]
    assert all(rows == found[0][1] for _, rows in found)
    for (one, _), (other, _) in itertools.combinations(found, 2):
        move = math.fsum(float(abs(a - b)) for a, b in zip(one, other, strict=True))
        assert move <= plan.mechanisms[0].sensitivity
    removed = select_of(text, names, ", neighbours = 'remove'")
    by_removal = plan_owned(removed, users=12)
    # Without the user's rows, the first bag.
    moves = [statistics_of(removed, by_removal, together(bag))[0] for bag in tried[: len(tried) // 2]]
    for other in moves[1:]:
        move = math.fsum(float(abs(a - b)) for a, b in zip(moves[0], other, strict=True))
        assert move <= by_removal.mechanisms[0].sensitivity


@pytest.mark.quarter
@pytest.mark.parametrize("text", SHAPES, ids=range(len(SHAPES)))
def test_one_user_moves_their_own_rows_alone_and_no_more_than_the_noise_hides(text: str, names: Names) -> None:
    check_moves(text, names, bags()[:6])


@pytest.mark.slow
@pytest.mark.parametrize("text", SHAPES, ids=range(len(SHAPES)))
def test_no_pair_of_small_databases_moves_more(text: str, names: Names) -> None:
    check_moves(text, names, bags())


REFUSED = [
    ("COUNT(*) FROM lines JOIN orders ON part = id", "two-users"),
    ("COUNT(*) FROM lines JOIN visits ON of = who", "two-users"),
    ("COUNT(*) FROM lines JOIN orders ON of = id + 0", "two-users"),
    ("COUNT(*) FROM lines JOIN orders ON of = id OR price > 2", "two-users"),
    ("COUNT(*) FROM orders JOIN people ON id = u", "two-users"),
    ("COUNT(*) FROM lines, orders", "two-users"),
    ("COUNT(*) FROM lines, orders WHERE of = id OR price > 2", "two-users"),
    ("COUNT(*) FROM orders, parts, lines WHERE id = parts.part AND parts.part = lines.part", "two-users"),
    ("COUNT(*) FROM parts, lines l LEFT JOIN orders ON id = l.of", "comma-join"),
    ("COUNT(*) FROM lines l, orders l WHERE of = id", "duplicate-alias"),
    ("COUNT(*) FROM lines AS l (a, b)", "column-aliases"),
    ("COUNT(*) FROM (SELECT of FROM lines) AS l (a, b)", "column-aliases"),
    ("COUNT(*) FROM orders WHERE EXISTS (SELECT * FROM lines WHERE part = id)", "subquery-not-by-user"),
    ("COUNT(*) FROM orders WHERE id IN (SELECT part FROM lines)", "subquery-not-by-user"),
    ("COUNT(*) FROM (SELECT of FROM lines UNION SELECT buyer FROM orders) q", "subquery-mixes-users"),
    ("COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY part ORDER BY price) AS r FROM lines) q", "window"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_what_looks_at_several_users_is_refused(session: emdp.Session, text: str, code: str) -> None:
    with pytest.raises(SqlError) as caught:
        session.preview(HEADER + text)
    assert caught.value.code == code


# What each refused rule would do: rows of users 1 and 2 are others where user 3's are.
COUNTEREXAMPLES = [
    "SELECT buyer, COUNT(*) FROM orders JOIN lines ON part = id GROUP BY buyer",
    "SELECT who, COUNT(*) FROM visits JOIN lines ON of = who GROUP BY who",
    "SELECT buyer, id FROM orders WHERE EXISTS (SELECT * FROM lines WHERE part = id)",
    "SELECT buyer, id FROM orders WHERE id IN (SELECT part FROM lines)",
    "SELECT buyer, n FROM orders JOIN lines ON id = of JOIN (SELECT part, COUNT(*) n FROM lines GROUP BY part) USING "
    "(part)",
]


@pytest.mark.parametrize("query", COUNTEREXAMPLES)
def test_what_wider_rules_would_do(query: str) -> None:
    found = []
    for bag in ({}, {"orders": [(1, 3, "F")], "lines": [(1, 4, 2.0), (1, 5, 2.0), (1, 1, 1.0)] * 4}):
        connection = duckdb.connect()
        for name, frame in frames(together(bag)).items():
            connection.register(name, frame)
        found.append(sorted(row for row in connection.execute(query).fetchall() if row[0] in (1, 2)))
    assert found[0] != found[1]


def test_an_order_of_two_users_would_give_its_lines_to_both() -> None:
    # Why keys must stand once: user 3 writes an order under the key of user 1's, and three of 1's lines are 3's too.
    query = "SELECT buyer, COUNT(*) FROM lines JOIN orders ON of = id GROUP BY buyer"
    found = []
    for bag in ({}, {"orders": [(4, 3, "F")]}):
        connection = duckdb.connect()
        for name, frame in frames(together(bag)).items():
            connection.register(name, frame)
        found.append(dict(connection.execute(query).fetchall()))
    assert found[0] == {1: 2, 2: 2}
    assert found[1] == {1: 2, 2: 2, 3: 2}


BROKEN: Sequence[tuple[str, list[tuple[Any, ...]], str]] = [
    ("orders", [(4, 3, "F")], "table 'orders' has a key of links that is missing or stands in several rows in column "
     "'id'"),
    ("orders", [(None, 3, "F")], "table 'orders' has a key of links that is missing"),
    ("orders", [(7, None, "F")], "table 'orders' has rows without a user in column 'buyer'"),
    ("orders", [(7, 44, "F")], "table 'orders' has users that are not among the declared users"),
    ("orders", [(7, 3, "Q")], "table 'orders' has items outside"),
    ("lines", [(7, 1, 2.0)], "table 'lines' has rows whose link names no row in column 'of'"),
    ("lines", [(None, 1, 2.0)], "table 'lines' has rows without a user in column 'of'"),
    ("lines", [(4, 1, -2.0)], "table 'lines' has items outside"),
    ("visits", [(44, 1)], "table 'visits' has users that are not among the declared users"),
]  # fmt: skip


@pytest.mark.quarter
@pytest.mark.parametrize(("table", "more", "sentence"), BROKEN, ids=range(len(BROKEN)))
def test_rules_of_links_are_checked_before_the_first_charge(
    table: str, more: list[tuple[Any, ...]], sentence: str, tmp_path: Path
) -> None:
    broken = table_of({**OTHERS, table: [*OTHERS[table], *more]})
    with emdp.Session(broken, budget=emdp.UserDP(9.0), ledger=tmp_path / "l", public={"parts": PARTS}) as opened_one:
        with pytest.raises(DataRuleError) as caught:
            opened_one.sql(HEADER + "COUNT(*) FROM people")
        assert opened_one.spent().epsilon == 0  # type: ignore[attr-defined]
    assert str(caught.value).startswith(sentence)
    assert not any(figure in str(caught.value) for figure in ("44", "7", "-2"))
    with pytest.raises(DataRuleError, match=r"\(1 (record|user)") as told:
        broken.validate()
    assert sentence.split(" in column")[0] in str(told.value)


def test_users_are_counted_over_all_tables(tmp_path: Path) -> None:
    for users, is_right in ((3, True), (2, False)):
        table = table_of({**OTHERS, "visits": [(5, 1)]}, users)
        with emdp.Session(table, budget=emdp.UserDP(9.0), ledger=tmp_path / str(users)) as opened_one:
            if is_right:
                opened_one.sql(HEADER + "COUNT(*) FROM visits")
                continue
            with pytest.raises(DataRuleError, match="'people' has users that are not among the declared users"):
                opened_one.sql(HEADER + "COUNT(*) FROM visits")


# Numbers of people, orders, parts and days are the same few, so that a rule that took one for another would show.
DENSE: Rows = {
    "people": [(1, "Rome"), (2, "Oslo")],
    "orders": [(1, 2, "F"), (2, 1, "F"), (4, 2, "P")],
    "lines": [(1, 1, 1.5), (1, 2, 4.0), (2, 1, 2.5), (4, 3, 1.0), (2, 3, 5.0)],
    "visits": [(1, 2), (2, 1), (2, 3)],
}
OF_THREE: list[Rows] = [
    {},
    {"people": [(3, "Rome")], "orders": [(3, 3, "F"), (5, 3, "O")], "lines": [(3, 1, 9.0), (3, 2, 2.0), (5, 1, 1.0)]},
    {"orders": [(3, 3, "F")], "lines": [(3, 2, 4.0), (3, 3, 4.0)] * 2, "visits": [(3, 1), (3, 2)]},
]
NUMBERS = {"people": ["u"], "orders": ["id", "buyer"], "lines": ["of", "part"], "visits": ["who", "day"]}
CHOICES = ["city = 'Rome'", "state = 'F'", "price > 2", "day < 3"]


def random_statement(chance: random.Random) -> str:
    """Return a statement with joins, EXISTS and groups by any columns that are numbers."""
    tables = [chance.choice(list(NUMBERS)) for _ in range(chance.choice([1, 2, 2, 2, 3]))]
    named = [(f"t{place}", table) for place, table in enumerate(tables)]
    columns = {alias: [f"{alias}.{column}" for column in NUMBERS[table]] for alias, table in named}

    def equality(alias: str, others: list[str]) -> str:
        left = chance.choice(columns[alias])
        right = chance.choice([column for other in others for column in columns[other]])
        return f"{left} = {right}" if chance.random() < 0.5 else f"{right} = {left}"

    with_commas = chance.random() < 0.5
    text, where = f"{named[0][1]} t0", []
    for place, (alias, table) in enumerate(named[1:], start=1):
        others = [other for other, _ in named[:place]]
        condition = equality(alias, others)
        if with_commas:
            text += f", {table} {alias}"
            where.append(condition)
        else:
            text += f" {chance.choice(['JOIN', 'LEFT JOIN'])} {table} {alias} ON {condition}"
    if chance.random() < 0.4:
        inner = chance.choice(list(NUMBERS))
        columns["e"] = [f"e.{column}" for column in NUMBERS[inner]]
        kind = chance.choice(["EXISTS", "NOT EXISTS"])
        where.append(f"{kind} (SELECT * FROM {inner} e WHERE {equality('e', [alias for alias, _ in named])})")
    if chance.random() < 0.3:
        where.append(f"{chance.choice(columns['t0'])} > 1")
    text += f" WHERE {' AND '.join(where)}" if where else ""
    if chance.random() < 0.4:
        key = chance.choice([column for alias, _ in named for column in columns[alias]])
        return f"COUNT(*) AS k FROM (SELECT {key} AS g, COUNT(*) AS n FROM {text} GROUP BY {key}) q WHERE n > 1"
    return f"COUNT(*) AS k FROM {text}"


def check_random(names: Names, seeds: range) -> int:
    """Return how many of some random statements are answered; each is what it says, and of one user at a time."""
    answered = 0
    for seed in seeds:
        text = random_statement(random.Random(seed))
        try:
            select = select_of(text, names, cap=1000)
        except SqlError:
            continue
        answered += 1
        plan = plan_owned(select, users=12)
        rows_of_others = []
        for bag in OF_THREE:
            rows = {name: [*DENSE[name], *bag.get(name, [])] for name in TABLES}
            drawn, others = statistics_of(select, plan, rows)
            rows_of_others.append(others)
            connection = duckdb.connect()
            for name, frame in frames(rows).items():
                connection.register(name, frame)
            ((expected,),) = connection.execute(f"SELECT {text}").fetchall()
            assert float(drawn[0]) == expected, text
        assert all(others == rows_of_others[0] for others in rows_of_others), text
    return answered


@pytest.mark.slow
def test_random_statements_are_answered_as_they_say_or_refused(names: Names) -> None:
    assert check_random(names, range(30)) > 5


@pytest.mark.slow
def test_many_random_statements_are_answered_as_they_say_or_refused(names: Names) -> None:
    assert check_random(names, range(1000, 1200)) > 40


APART = [
    ("FROM lines JOIN orders ON part = id", "add (.*) to ON"),
    ("FROM lines JOIN visits ON of = who", "write (JOIN .*) before it, and add (.*) to ON"),
    ("FROM orders JOIN people ON id = u", "add (.*) to ON"),
    ("FROM orders LEFT JOIN visits ON id = day", "add (.*) to ON"),
    ("FROM lines a JOIN people ON part = u", "write (JOIN .*) before it, and add (.*) to ON"),
    ("FROM lines, orders", "add (.*) to WHERE"),
    ("FROM lines, visits", "add (.*) to FROM, and (.*) to WHERE"),
    ("FROM lines a, lines b WHERE a.part = b.part", "add (.*) to WHERE"),
    ("FROM orders WHERE EXISTS (SELECT 1 FROM lines WHERE price > 1)", "add (.*) to WHERE"),
    ("FROM visits WHERE EXISTS (SELECT 1 FROM lines WHERE price > 1)", "add (.*) to FROM, and (.*) to WHERE"),
    ("FROM (SELECT DISTINCT part FROM lines) q", "add (.*) to its columns"),
    ("FROM (SELECT ROW_NUMBER() OVER (ORDER BY price) AS r FROM lines) q", "add (.*) to PARTITION BY"),
]


@pytest.mark.parametrize(("text", "said"), APART)
def test_a_remedy_of_linked_tables_names_columns_that_are_there(session: emdp.Session, text: str, said: str) -> None:
    with pytest.raises(SqlError) as refused:
        session.preview(f"{HEADER} COUNT(*) {text}")
    found = re.search(said, refused.value.remedy)
    assert found is not None, refused.value.remedy
    if "JOIN" in said:
        again = text.replace(" JOIN", f" {found[1]} JOIN", 1) + f" AND {found[2]}"
    elif "columns" in said:
        again = text.replace("part FROM", f"part, {found[1]} FROM")
    elif "PARTITION" in said:
        again = text.replace("(ORDER", f"(PARTITION BY {found[1]} ORDER")
    elif "FROM" in said and "EXISTS" in text:
        again = text.replace("FROM lines", f"FROM lines, {found[1]}").replace("price > 1", f"price > 1 AND {found[2]}")
    elif "FROM" in said:
        again = f"{text}, {found[1]} WHERE {found[2]}"
    elif "EXISTS" in text:
        again = text.replace("price > 1", f"price > 1 AND {found[1]}")
    else:
        again = text + (" AND " if " ON " in text or "WHERE" in text else " WHERE ") + found[1]
    session.preview(f"{HEADER} COUNT(*) {again}")


def test_a_linked_table_under_emd_privacy_says_which_question_it_has(session: emdp.Session) -> None:
    with pytest.raises(SqlError, match="lines is linked to people") as refused:
        session.preview("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM lines")
    header = re.search(r"write (.*), or FROM people", refused.value.remedy)
    assert header is not None
    session.preview(f"SELECT {header[1][:-1]}, max_records_per_user = 9) AVG(price) FROM lines")
    with pytest.raises(SqlError, match="lines is linked to people") as refused:
        session.preview("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) QUANTILE(price, 0.5) FROM lines")
    assert "add max_records_per_user = 50 to OPTIONS" in refused.value.remedy
    session.preview(f"{HEADER} QUANTILE(price, 0.5) FROM lines")
