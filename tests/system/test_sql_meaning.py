"""Expressions and conditions mean here what they mean in DuckDB: random texts, computed by both on the same rows.

Both read the text themselves, with its order of operations, its NULLs and its types; a text that is refused is not
compared. ``RAMP`` and ``CLAMP`` are macros on DuckDB's side.
"""

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError
from emdp.expressions import evaluate
from emdp.questions.names import Names
from emdp.questions.select import Select
from emdp.sql import translate

SPACE = emdp.Product(
    emdp.Interval("price", -5, 100),
    emdp.Interval("x", 0, 3),
    emdp.Categories("category", ["cafe", "bar", "park", "It's"]),
)
USERS = pl.DataFrame(
    {
        "user_id": ["1", "2", "3", "4", "5", "6", "7"],
        "plan": ["pro", "free", "Free", None, "team", "pro", ""],
        "age": [31, 45, None, 27, 60, 18, -1],
        "score": [0.5, 1.5, 2.5, -1.0, 0.0, 9.25, None],
        "is_staff": [True, False, None, False, True, False, None],
        "joined": [date(2025, month, 1) for month in range(1, 8)],
    }
)
HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1)"

LEAVES = ("price", "x", "price", "x", "2", "0.5", "7", "1e-3", "10", "-3", "1 / 3", "PI()")
FORMS = (
    "{e} + {e}", "{e} - {e}", "{e} * {e}", "{e} - {e} - {e}", "{e} - {e} * {e}", "{e} / 7", "{e} / 2 * 3",
    "12 / 4 / 3 * {e}", "-{e}", "- -{e}", "({e})", "{e} ** 2", "-{e} ** 2", "2 ** 2 ** 3 * {e}", "{e} * 2 ** -1",
    "{e} ^ 2", "POWER({e}, 3)", "ABS({e})", "LEAST({e}, {e})", "GREATEST({e}, {e}, 1)", "RAMP({e}, 2, 9)",
    "RAMP({e}, 5, -1)", "CLAMP({e}, -3, 5)", "SIN({e})", "EXP(-ABS({e}) / 50)", "TANH({e})", "ATAN({e})", "COS({e})",
    "LN(1 + ABS({e}))", "SQRT(ABS({e}) + 1)", "CAST({e} AS DOUBLE)", "{e}::DOUBLE",
    "CASE category WHEN 'cafe' THEN {e} WHEN 'bar' THEN {e} ELSE {e} END", "CASE WHEN {c} THEN {e} ELSE {e} END",
    "CASE WHEN {c} THEN {e} WHEN {c} THEN {e} ELSE 0 END", "+{e}", "{e} + -{e}", "{e} - (2 - {e})",
    "{e} / (1 + ABS({e}))",
)  # fmt: skip
CHOSEN = (
    "category = 'cafe'", "category <> 'bar'", "category != 'It''s'", "'park' = category",
    "category IN ('cafe', 'It''s')", "category NOT IN ('bar', 'cafe')", "NOT {c}", "NOT {c} AND {c}", "{c} AND {c}",
    "{c} OR {c}", "{c} OR {c} AND {c}", "({c})", "category IS NOT NULL", "NOT (category = 'cafe') OR {c}",
    "category = 'cafe' = TRUE", "category == 'bar'",
)  # fmt: skip
PEOPLE = (
    "age > 30", "age <= 27", "30 < age", "age BETWEEN 20 AND 45", "age NOT BETWEEN 20 AND 45", "score < 1.5",
    "score >= 0", "age = 31.0", "score <> 0", "plan = 'pro'", "plan <> 'pro'", "plan IN ('pro', 'team')",
    "plan NOT IN ('pro', 'team')", "plan IS NULL", "plan IS NOT NULL", "is_staff", "NOT is_staff",
    "is_staff IS NULL", "is_staff = TRUE", "is_staff IS NOT TRUE", "is_staff <> FALSE", "plan LIKE 'f%'",
    "plan ILIKE 'f%'", "plan NOT LIKE '%r%'", "plan LIKE '_ro'", "joined >= DATE '2025-03-01'",
    "joined < '2025-05-02'", "plan < 'g'", "plan >= 'free'", "plan = ''", "plan IS DISTINCT FROM 'pro'",
    "plan IS NOT DISTINCT FROM 'pro'", "age IN (31, 60)", "age NOT IN (31, NULL)", "NOT {p}", "{p} AND {p}",
    "{p} OR {p}", "{p} OR {p} AND {p}", "NOT {p} AND {p}", "({p})", "age > score", "age + 1 > 28", "-age < -30",
    "score = 1.5", "age IN (31, NULL)", "NOT (plan = 'pro' OR age > 30)", "user_id = '3'", "age = '31'",
    "plan = 'PRO'", "plan BETWEEN 'a' AND 'q'", "joined BETWEEN DATE '2025-02-01' AND DATE '2025-04-01'",
    "is_staff = is_staff",
)  # fmt: skip


@dataclass
class Written:
    """Random texts of at most some depth."""

    rng: random.Random

    def of(self, form: str, depth: int) -> str:
        choices = {
            "{e}": FORMS if depth > 0 else LEAVES,
            "{c}": CHOSEN[: None if depth > 0 else 6],
            "{p}": PEOPLE[: None if depth > 0 else 34],
        }
        for hole, forms in choices.items():
            while hole in form:
                form = form.replace(
                    hole,
                    self.of(self.rng.choice(LEAVES if hole == "{e}" and self.rng.random() < 0.3 else forms), depth - 1),
                    1,
                )
        return form


@pytest.fixture
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the same rows and users."""
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE MACRO ramp(e, a, b) AS greatest(0.0, least(1.0, (e::DOUBLE - a) / (b - a)))")
        connection.execute("CREATE MACRO clamp(e, low, high) AS least(greatest(e, low), high)")
        connection.register("visits", rows().to_arrow())
        connection.register("people", USERS.to_arrow())
        yield connection


def rows() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    data = {
        "price": rng.uniform(-5, 100, 40),
        "x": rng.uniform(0, 3, 40),
        "category": rng.choice(["cafe", "bar", "park", "It's"], 40),
    }
    return pl.DataFrame(data)


def names() -> Names:
    types = {"user_id": "VARCHAR", "price": "DOUBLE", "x": "DOUBLE", "category": "VARCHAR"}
    return Names("visits", "user_id", SPACE, types, len(USERS), USERS)


def resolved(text: str) -> Select | None:
    """Return the query of a text, None where it is refused."""
    try:
        (translated,) = translate(f"{HEADER} {text}", names())
    except SqlError:
        return None
    assert isinstance(translated.query, Select)
    return translated.query


def theirs(engine: Any, text: str) -> list[Any] | None:
    try:
        return [row[0] for row in engine.execute(text).fetchall()]
    except duckdb.Error:
        return None


def check_expressions(engine: Any, count: int, rng: random.Random) -> int:
    items, compared = SPACE.encode(rows()), 0
    for _ in range(count):
        text = Written(rng).of("{e}", rng.randint(0, 3))
        query = resolved(f"AVG({text}) FROM visits")
        if query is None:
            continue
        own = evaluate(query.items[0].expression, SPACE, items)
        other = theirs(engine, f"SELECT ({text})::DOUBLE FROM visits")
        if other is not None:
            compared += 1
            np.testing.assert_allclose(own, other, rtol=1e-7, atol=1e-9, err_msg=text)
    return compared


def check_conditions(engine: Any, count: int, rng: random.Random) -> int:
    items, compared = SPACE.encode(rows()), 0
    for _ in range(count):
        text = Written(rng).of("{c}", rng.randint(0, 3))
        query = resolved(f"PART(price) FROM visits WHERE {text}")
        other = theirs(engine, f"SELECT coalesce(({text})::INTEGER, 0) FROM visits")
        if query is None or other is None:
            continue
        compared += 1
        own = np.ones(len(items)) if query.where is None else evaluate(query.where, SPACE, items)
        assert own.tolist() == other, text
    return compared


def check_people(engine: Any, count: int, rng: random.Random) -> int:
    compared = 0
    for _ in range(count):
        text = Written(rng).of("{p}", rng.randint(0, 3))
        query = resolved(f"AVG(price) FROM visits WHERE {text}")
        other = theirs(engine, f"SELECT user_id FROM people WHERE {text} ORDER BY user_id")
        if query is None or not other:
            continue
        compared += 1
        own = USERS.get_column("user_id") if query.people is None else query.people.groups.keys
        assert sorted(own) == other, text
    return compared


CHECKS = {"expressions": check_expressions, "conditions": check_conditions, "people": check_people}


def check(engine: Any, name: str, count: int) -> None:
    seed = int(os.environ.get("EMDP_FUZZ_SEED", random.SystemRandom().randrange(2**32)))
    try:
        assert CHECKS[name](engine, count, random.Random(seed)) > count / 5, "most texts were refused"
    except AssertionError as error:
        error.add_note(f"run again with EMDP_FUZZ_SEED={seed}")
        raise


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_a_text_means_what_it_means_in_duckdb(name: str, engine: Any) -> None:
    check(engine, name, 400)


@pytest.mark.full
@pytest.mark.parametrize("name", CHECKS)
def test_a_text_means_what_it_means_in_duckdb_at_full_size(name: str, engine: Any) -> None:
    check(engine, name, 4_000)


def test_another_meaning_is_seen(engine: Any) -> None:
    with duckdb.connect(":memory:") as other:
        other.register("visits", rows().with_columns(pl.col("x") + 1e-3, category=pl.lit("cafe")).to_arrow())
        other.register("people", USERS.with_columns(pl.col("age") + 1, plan=pl.lit("pro")).to_arrow())
        for name, compare in CHECKS.items():
            with pytest.raises(AssertionError):
                compare(other, 100, random.Random(1))
            assert compare(engine, 100, random.Random(1)) > 20, name
