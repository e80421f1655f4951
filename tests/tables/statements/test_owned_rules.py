"""Sums over rows with owners and rules in one scan: those of the statement alone where the rules hold, else nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.questions.owned.totals import OwnedTotals
from emdp.tables import aggregate, aggregate_checked
from emdp.tables.engine import broken_rules
from emdp.tables.statements.owned_rules import RULES, checked_owned, may_be_checked, rows_if_held

SPACE = emdp.Product(emdp.Interval("x", 0, 5), emdp.Categories("kind", ["bar", "park"]))
CLAMPED = emdp.Product(
    emdp.Interval("x", 0, 5, on_invalid="clamp"), emdp.Categories("kind", ["bar"], on_invalid="neutral")
)
ELSEWHERE = emdp.Interval("x", 0, 5, on_invalid="elsewhere")
PUBLIC = {
    "places": pl.DataFrame({"name": ["a", "b", None], "town": ["T", "U", "V"], "level": [1.0, 2.0, 3.0]}),
    "twice": pl.DataFrame({"name": ["a", "b", "a"], "town": ["T", "U", "V"], "level": [1.0, 2.0, 3.0]}),
    "one": pl.DataFrame({"name": ["a"], "town": ["T"], "level": [1.0]}),
}
OPTIONS = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 3)"
TEXTS = {
    "all": "COUNT(*), SUM(CLAMP(sqrt(x), 0, 3)) FROM t",
    "by group": "kind, COUNT(*), AVG(CLAMP(sqrt(x), 0, 3)) FROM t GROUP BY kind",
    "where": "COUNT(*), SUM(x) FROM t WHERE x > 2 AND kind = 'bar'",
    "moments": "COUNT(x), VARIANCE(x) FROM t WHERE x <> 2.5",
    "people": "kind, COUNT(DISTINCT user), COUNT(*) FROM t WHERE x < 3 GROUP BY kind",
    "joined": "p.town, COUNT(*), SUM(t.x) FROM t JOIN places AS p ON t.place = p.name GROUP BY p.town",
    "joined on more": "COUNT(*), SUM(p.level) FROM t JOIN places AS p ON p.name = t.place AND t.x > p.level",
    "left": "COUNT(*), COUNT(p.level) FROM t LEFT JOIN places AS p ON t.place = p.name WHERE t.x >= 1",
    "one row": "COUNT(*) FROM t JOIN one AS p ON t.place = p.name",
}
DOUBLED = "COUNT(*), SUM(t.x) FROM t JOIN twice AS p ON t.place = p.name"
TYPES = {"user": pl.Int64, "x": pl.Float64, "kind": pl.String, "place": pl.String}


def opened(folder: Path, data: Any, ext: str = "csv", **more: Any) -> emdp.Session:
    frame, path = pl.DataFrame(data, schema=TYPES), folder / f"t.{ext}"
    frame.write_csv(path) if ext == "csv" else frame.write_parquet(path)
    table = emdp.read(path, user="user", name="t", **{"users": 4, "space": SPACE, **more})
    (folder / "t.ledger").unlink(missing_ok=True)
    return emdp.Session(table, budget=emdp.UserDP(99.0), ledger=folder / "t.ledger", public=PUBLIC)


def totals_of(session: emdp.Session, text: str) -> OwnedTotals:
    (planned,) = session._planned(f"{OPTIONS} {text}")
    found: OwnedTotals = planned.plan.aggregation  # type: ignore[union-attr]
    assert isinstance(found, OwnedTotals)
    return found


def drawn(rng: np.random.Generator, size: int, bad: float) -> dict[str, Sequence[Any]]:
    """Return rows of which each breaks a rule with some chance, whether a filter keeps it or not."""
    users = [None if rng.random() < bad else int(rng.integers(0, 4)) for _ in range(size)]
    values = [99.0 if rng.random() < bad else float(rng.choice([0.0, 1.5, 2.5, 4.0, 5.0])) for _ in range(size)]
    kinds = ["sea" if rng.random() < bad else str(rng.choice(["bar", "park"])) for _ in range(size)]
    places = [[None, "a", "b", "c"][int(rng.integers(0, 4))] for _ in range(size)]
    return {"user": users, "x": values, "kind": kinds, "place": places}


@pytest.mark.quarter
@pytest.mark.parametrize("name", TEXTS)
def test_random_tables_are_told_apart_as_the_rules_tell_them(name: str, tmp_path: Path) -> None:
    rng, seen = np.random.default_rng(7), set()
    for turn in range(6):
        data = drawn(rng, int(rng.integers(0, 30)), 0.02 * (turn % 2))
        with opened(tmp_path, data, users=int(rng.integers(3, 5))) as session:
            found, totals = bool(broken_rules(session.table)), totals_of(session, TEXTS[name])
            checked = aggregate_checked(session.table, totals)
            assert (checked is None) == found
            if checked is not None:
                assert checked[0].open() == aggregate(session.table, totals)[0].open()
        seen.add(found)
    assert seen == {True, False}


GOOD = {
    "user": [1, 1, 2, 3],
    "x": [1.0, 2.5, 4.0, 5.0],
    "kind": ["bar", "park", "bar", "park"],
    "place": ["a", "b"] * 2,
}
BROKEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a row without a user": ({"user": [1, None, 2, 3]}, {}),
    "too many users": ({}, {"users": 2}),
    "a user who is not listed": ({}, {"users": [1, 2, 4]}),
    "other numbers of records": ({}, {"records": 1, "users": 3}),
    "a bad number": ({"x": [-1.0, 2.5, 4.0, 5.0]}, {}),
    "no number": ({"x": [None, 2.5, 4.0, 5.0]}, {}),
    "a bad label": ({"kind": ["sea", "park", "bar", "park"]}, {}),
}


@pytest.mark.quarter
@pytest.mark.parametrize("ext", ["csv", "parquet"])
@pytest.mark.parametrize("name", BROKEN)
def test_nothing_is_said_where_a_rule_is_broken_by_a_record_that_a_filter_leaves_out(
    name: str, ext: str, tmp_path: Path
) -> None:
    data, more = BROKEN[name]
    with opened(tmp_path, {**GOOD, **data}, ext, **more) as session:
        assert broken_rules(session.table)
        # No user who counts has a row here; and all have.
        for text in ("COUNT(*) FROM t WHERE x > 4.5 AND kind = 'nowhere'", TEXTS["all"]):
            assert aggregate_checked(session.table, totals_of(session, text)) is None


@pytest.mark.quarter
@pytest.mark.parametrize("users", [4, [1, 2, 3], [1, 2, 3, 4]], ids=["number", "list", "longer list"])
def test_other_rules_and_lists_of_users(users: Any, tmp_path: Path) -> None:
    for space in (SPACE, CLAMPED):
        with opened(tmp_path, GOOD, users=users, space=space) as session:
            for text in TEXTS.values():
                totals = totals_of(session, text)
                (found,) = aggregate_checked(session.table, totals) or ()
                assert found.open() == aggregate(session.table, totals)[0].open(), text


def test_where_it_would_cost_more_or_count_a_record_twice_there_are_two_scans(tmp_path: Path) -> None:
    def may_be(text: str, ext: str, **more: Any) -> bool:
        with opened(tmp_path, GOOD, ext, **more) as session:
            totals = totals_of(session, text)
            assert (aggregate_checked(session.table, totals) is not None) == may_be_checked(session.table, totals)
            return may_be_checked(session.table, totals)

    assert [may_be(TEXTS[name], "parquet") for name in ("all", "by group", "where", "joined")] == [True, True] + 2 * [
        False
    ]
    assert may_be(TEXTS["where"], "csv")
    assert not may_be(DOUBLED, "csv")
    assert not may_be("COUNT(*) FROM t JOIN places AS p ON t.x > p.level", "csv")
    assert not may_be("COUNT(*) FROM (SELECT x AS y FROM t) AS s WHERE y > 1", "csv")
    assert not may_be("COUNT(*), SUM(CLAMP(sqrt(x), 0, 3)) FROM t", "csv", space=ELSEWHERE, elsewhere=1)


def test_the_records_are_read_once(tmp_path: Path) -> None:
    with opened(tmp_path, GOOD) as session:
        for text in TEXTS.values():
            assert checked_owned(session.table, totals_of(session, text)).query.sql("duckdb").count("source_rows") == 1
    rules = (RULES, 0, None, 7)
    assert rows_if_held([(0, 5, 6, None), rules]) == [(0, 5, 6)]
    for rows in ([(0, 5, 6, None)], [(0, 5, 6, None), (RULES, 1, None, 7)], [rules, rules]):
        assert rows_if_held(rows) is None
