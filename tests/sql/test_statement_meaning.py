"""Whole statements mean what DuckDB makes of them, and so do mutants that are accepted (``sql_oracle.py``)."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import sql_oracle as oracle
from sql_oracle import HEADER, is_constant, names, planned, seeded
from sql_writer import Writer
from user_statistics import user_statistic

import emdp
from emdp.base.errors import SqlError
from emdp.estimators import Plan
from emdp.sessions.planning import plan_request
from emdp.sql.text.dialect import tokenise

SPACE = oracle.SPACE


@pytest.fixture(scope="module")
def theirs() -> Iterator[Any]:
    """DuckDB with the same tables."""
    connection = oracle.engine()
    yield oracle.Oracle(connection)
    connection.close()


# What a statement means ----------------------------------------------------------------------------------------------


@cache
def bags() -> dict[str, Any]:
    rows = oracle.rows()
    keys = rows.get_column("user_id").cast(pl.String)
    found = {user: SPACE.encode(rows.filter(keys == user)) for user in keys.unique()}
    return {str(user): found.get(str(user), SPACE.neutral_item[:0]) for user in oracle.USERS["user_id"]}


def reference(plan: Plan) -> pl.DataFrame:
    """Return the exact answer by plain numpy."""
    groups = plan.aggregation.users
    members = [list(bags())]
    if groups is not None:
        members = [groups.keys.filter(groups.groups == group).to_list() for group in range(len(groups.sizes))]
    statistics = [user_statistic(plan.aggregation, SPACE, [bags()[user] for user in users]) for users in members]
    return plan.finisher.exact(tuple(plan.summed(tuple(map(Fraction, found.tolist()))) for found in statistics))


def check_meaning(asked: Any, plan: Plan, exact: pl.DataFrame, expected: dict[Any, Any], text: str) -> None:
    """Row by row the answer is DuckDB's; groups without a record are there too, with nothing in them."""
    width, column = len(asked.groups), plan.columns[0]
    slack = 1e-6 * (1 + abs(column.low) + abs(column.high))
    empty = 0.0 if asked.kind in ("PART", "COUNT", "SUM") else None
    for row in exact.iter_rows():
        value, share = expected.get(row[:width], (empty, 0.0))
        assert (value is None) == (row[width] is None), (row, value, text)
        assert value is None or abs(value - row[width]) <= slack, (row, value, text)
        assert len(row) == width + 1 or abs(share - row[width + 1]) <= 1e-9, (row, share, text)
    seen = {row[:width] for row in exact.iter_rows()}
    assert all(key in seen for key in expected if oracle.UNLISTED not in key), text


def check_statements(rng: random.Random, theirs: Any, count: int, session: Any) -> None:
    compared = 0
    for number in range(count):
        asked = Writer(rng).statement()
        text = asked.text()
        plan = planned(text)
        if plan is None or is_constant(plan):
            continue
        # What is nearly constant costs more slack than any budget has.
        is_affordable = all(mechanism.slack_epsilon < 1e-6 for mechanism in plan.mechanisms)
        exact = session.sql(text).exact_frame if number % 12 == 0 and is_affordable else reference(plan)
        check_meaning(asked, plan, exact, theirs.expected(asked), text)
        compared += 1
    assert compared > count / 2, "most statements were refused"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Any]:
    """A session under the test switch, on the private table of the oracle."""
    budget = [emdp.EmdDP(1e12, delta=0.5), emdp.UserDP(1e12, delta=0.5)]
    with (
        emdp.testing.seeded(7),
        emdp.Session(oracle.table(), budget=budget, ledger=tmp_path / "t.ledger", public=oracle.PUBLIC) as opened,
    ):
        yield opened


@pytest.mark.slow
def test_a_statement_means_what_duckdb_makes_of_it(theirs: Any, session: Any) -> None:
    seeded(lambda rng: check_statements(rng, theirs, 60, session))


@pytest.mark.full
def test_a_statement_means_what_duckdb_makes_of_it_at_full_size(theirs: Any, session: Any) -> None:
    seeded(lambda rng: check_statements(rng, theirs, 600, session))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("select", "order"),
    [
        ("category AS m, AVG(price) AS category", "category DESC"),
        ("category AS m, AVG(price) AS category", "visits.category DESC"),
        ("visits.category AS c, AVG(price) AS m", "category"),
        ("category, AVG(price) AS m", "m DESC, category LIMIT 3 OFFSET 1"),
        ("category, AVG(price) AS m", "AVG(price)"),
        ("category, AVG(price)", "2"),
    ],
)
def test_rows_are_ordered_as_duckdb_orders_them(select: str, order: str, theirs: Any, session: Any) -> None:
    """With next to no noise: the order of the answer is then that of the data, users weighing the same."""
    header = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1e10)"
    own = session.sql(f"{header} {select} FROM visits GROUP BY 1 ORDER BY {order}").frame
    keys = "m" if " AS m, " in select else "c" if " AS c" in select else "category"
    means = session.sql(f"{header} category, AVG(price) AS mean FROM visits GROUP BY category").exact_frame
    theirs.connection.register("means", means.to_arrow())
    found = theirs.connection.execute(
        f"SELECT {select} FROM (SELECT category, mean AS price FROM means) AS visits GROUP BY 1 ORDER BY {order}"
    ).fetchall()
    assert own.get_column(keys).to_list() == [row[0] for row in found]


# Mutants -------------------------------------------------------------------------------------------------------------

WORDS = """
NOT ALL DISTINCT NULLS LAST FIRST ASC DESC IGNORE COLLATE ESCAPE ::DOUBLE ::INT AS x 1 2 0.5 - + ( ) * / ** ^ = <>
< > <= >= != == AND OR IS NULL BETWEEN IN CASE END ELSE WHEN THEN INNER OUTER LEFT RIGHT FULL NATURAL SEMI ANTI
ASOF CROSS JOIN USING LATERAL ONLY TABLESAMPLE OFFSET ORDINALITY FOR UPDATE WINDOW , ~ ! @ | || & % // -> . .. : ?
$1 [ ] { } [1] .price ISNULL NOTNULL SYMMETRIC LIKE ILIKE SIMILAR ANY SOME EXISTS INTERVAL DATE CAST TRUE FALSE
price category gate plan v visits kinds user_id lat -- /**/ /* */ # ` UNION LIMIT WHERE GROUP BY HAVING ORDER
FILTER OVER QUALIFY VALUES DIV MOD <=> => := :: !~ ^@ << >> != +1 -1
"""
PIECES = (
    *WORDS.split(),
    "'cafe'", "'", '"',
)  # fmt: skip


BELOW_A_WORD = re.compile(r"word(?!_class)\w*\"?\s*<(?!>)|'\s*>=?\s*(?:\w+\.)?\"?word(?!_class)", re.IGNORECASE)
"""An unlisted word is below and above none; in DuckDB's table it is a text that is below all."""


def mutant(text: str, rng: random.Random) -> str | None:
    """Return a text with one token more, less, twice, replaced or in another place."""
    try:
        spans = [(token.start, token.end + 1) for token in tokenise(text)]
    except Exception:  # noqa: BLE001 - whatever the tokeniser says, there is nothing to mutate
        return None
    if not spans:
        return None
    (start, end), piece = rng.choice(spans), rng.choice(PIECES)
    (first, last), (low, high) = sorted([(start, end), rng.choice(spans)])
    return rng.choice(
        [
            f"{text[:start]} {piece} {text[start:]}",
            f"{text[:end]} {piece} {text[end:]}",
            f"{text[:start]} {text[end:]}",
            f"{text[:start]} {piece} {text[end:]}",
            f"{text[:end]} {text[start:]}",
            text if first == low else text[:first] + text[low:high] + text[last:low] + text[first:last] + text[high:],
        ]
    )


def check_mutants(rng: random.Random, theirs: Any, count: int) -> None:
    accepted = 0
    for _ in range(count):
        writer = Writer(rng)
        asked = writer.statement()
        e = asked.e[0] if asked.e[0] == asked.e[1] else writer.name("price")
        part = rng.choice(["e", "items", "joins"])
        before = {"e": e, "items": asked.items or "category = 'cafe'", "joins": asked.joins}[part]
        after = mutant(before, rng)
        if after is None:
            continue
        changed = {"kind": "AVG", "e": (e, f"({e})"), part: after, "groups": ()}
        changed["e"] = (after, f"({after})") if part == "e" else changed["e"]
        other = replace(asked, **changed)
        plan = planned(other.text())
        if plan is None or is_constant(plan) or BELOW_A_WORD.search(after):
            continue
        accepted += 1
        try:
            expected = theirs.expected(other)
        except duckdb.Error as error:
            if "Ambiguous reference" not in str(error):
                raise AssertionError(f"DuckDB refuses {other.text()}") from error
        else:
            check_meaning(other, plan, reference(plan), expected, other.text())
    assert accepted > count / 100, "every mutant was refused"


@pytest.mark.slow
def test_a_mutant_that_is_accepted_means_what_duckdb_makes_of_it(theirs: Any) -> None:
    seeded(lambda rng: check_mutants(rng, theirs, 400))


@pytest.mark.full
def test_a_mutant_that_is_accepted_means_what_duckdb_makes_of_it_at_full_size(theirs: Any) -> None:
    seeded(lambda rng: check_mutants(rng, theirs, 4_000))


# What is refused, and what is not -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # forms of a date that DuckDB refuses, or reads without its time zone
        *(
            (f"AVG(price) FROM visits WHERE seen = {date}", code)
            for date, code in [
                ("TIMESTAMP '2025-01-02 02:30:00+02'", "date"),
                ("TIMESTAMP '2025-01-02T02:30:00Z'", "date"),
                ("TIMESTAMP '2025-01-02 02'", "date"),
                ("DATE '20250102'", "date"),
                ("DATE '2025-W05-6'", "date"),
                ("DATE '2025-02-30'", "date"),
                ("TIMESTAMP '2025-01-02 24:00'", "date"),
                ("TIMESTAMP(0) '2025-01-02 02:30:00.7'", "literal-needed"),
                ("CAST('2025-01-02 02:30:00.7' AS TIMESTAMP(0))", "literal-needed"),
                ("TIMESTAMPTZ '2025-01-02 02:30:00+02'", "literal-needed"),
            ]
        ),
        ("AVG(CAST(price AS DOUBLE(3))) FROM visits", "cast"),
        # DuckDB has NaN
        ("AVG((-8) ** (1.0 / 3) + price) FROM visits", "constant-value"),
        ("AVG(POWER(2 - 4, 0.5) * price) FROM visits", "constant-value"),
        ("AVG(0 ** -1 + price) FROM visits", "constant-value"),
        # letters of other alphabets, whose capitals are plain
        ("AVG(abſ(price)) FROM visits", "unknown-function"),
        ("AVG(DISTANCE(hoᴜr(ts), 8)) FROM visits", "unknown-function"),
        ("AVG(price) FROM viſits", "unknown-table"),
        # words that only quotes make a name of
        ("AVG(price) FROM visits AS LEFT JOIN kinds USING (category)", "reserved-word"),
        ("AVG(price) FROM visits IN", "reserved-word"),
        ("AVG(price) FROM visits FALSE", "reserved-word"),
        ("AVG(price) FROM visits AS @>", "name"),
        # columns of the tables under the name of one of the answer
        ("category, AVG(price) AS m FROM visits GROUP BY category ORDER BY visits.m", "order-column"),
        ("category, AVG(price) AS m FROM visits GROUP BY category ORDER BY nowhere.category", "order-column"),
    ],
)
def test_what_duckdb_refuses_or_reads_otherwise_is_refused(text: str, code: str) -> None:
    with pytest.raises(SqlError) as caught:
        plan_request(f"{HEADER} {text}", names())
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('SELECT WITH "EMD_PRIVACY" OPTIONS (alpha = 1) AVG(price) FROM visits', "unknown-privacy"),
        ("SELECT WITH 'EMD_PRIVACY' OPTIONS (alpha = 1) AVG(price) FROM visits", "unknown-privacy"),
        (f"WITH q AS (SELECT price FROM visits), Q AS (SELECT lat AS price FROM visits) {HEADER} AVG(price) FROM q",
         "duplicate-name"),
        (f"WITH q AS (SELECT AVG(price) AS a FROM visits) {HEADER} AVG(price) FROM visits", "subquery-mixes-users"),
        ("SELECT /* WITH EMD_PRIVACY OPTIONS (alpha = 1) */ AVG(price) FROM visits", "no-header"),
        (f"{HEADER} AVG(price) FROM visits; SELECT 1", "no-header"),
        (f"{HEADER} AVG(price) FROM (SELECT WITH EMD_PRIVACY OPTIONS (alpha = 9) price FROM visits)", "nested-header"),
    ],
)  # fmt: skip
def test_a_header_or_sub_query_cannot_be_doubled_or_hidden(text: str, code: str) -> None:
    with pytest.raises(SqlError) as caught:
        plan_request(text, names())
    assert caught.value.code == code


def test_names_of_the_answer_come_before_those_of_the_tables(session: Any) -> None:
    """SQL orders by the alias; a qualified name is a column of the table."""
    header = (
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1e9) category AS m, AVG(price) AS category FROM visits GROUP BY 1"
    )
    by_alias = session.sql(f"{header} ORDER BY category").frame
    by_column = session.sql(f"{header} ORDER BY visits.category").frame
    assert by_alias["category"].to_list() == sorted(by_alias["category"])
    assert by_column["m"].to_list() == sorted(by_column["m"])
    assert by_alias["m"].to_list() != by_column["m"].to_list()
