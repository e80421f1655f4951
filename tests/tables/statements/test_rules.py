"""The rules that an owner declares: broken ones found in one scan or two, named with their columns, counted for the
owner alone.
"""

import traceback
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError
from emdp.tables import read
from emdp.tables.engine import check_rules
from emdp.tables.engines.duckdb.execution import opened
from emdp.tables.statements import rules
from emdp.tables.table import Table

SPACE = emdp.Product(emdp.Interval("x", 0, 5), emdp.Categories("kind", ["bar", "park"]))
GOOD = {"user": [1, 1, 2, 2, 3, 3], "x": [0.0, 5.0, 1.0, 2.0, 3.0, 4.0], "kind": ["bar", "park"] * 3}

MISSING, UNLISTED, X, KIND, OTHER = (
    ("missing_users", ("user",)),
    ("unlisted_users", ("user",)),
    ("invalid_items", ("x",)),
    ("invalid_items", ("kind",)),
    ("other_counts", ("user",)),
)
Name = tuple[str, tuple[str, ...]]


def changed(**more: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({**GOOD, **more}, schema={"user": pl.Int64, "x": pl.Float64, "kind": pl.String})


CASES: dict[str, tuple[pl.DataFrame, dict[Name, tuple[int | None, int | None]]]] = {
    "good": (changed(), {}),
    "no rows": (changed().clear(), {OTHER: (0, 3)}),
    "rows without a user": (changed(user=[1, 1, 2, 2, None, None]), {MISSING: (2, None), OTHER: (0, 1)}),
    "four users": (changed(user=[1, 1, 2, 2, 3, 4]), {UNLISTED: (None, 1), OTHER: (2, 1)}),
    "two users": (changed(user=[1, 1, 2, 2, 2, 2]), {OTHER: (4, 2)}),
    "bad numbers": (changed(x=[0.0, 5.1, float("nan"), None, -0.1, 4.0]), {X: (4, 3)}),
    "bad labels": (changed(kind=["bar", "other", None, "park", "bar", ""]), {KIND: (3, 3)}),
    "both in one": (
        changed(x=[9.0, *GOOD["x"][1:]], kind=["other", "other", *GOOD["kind"][2:]]),
        {X: (1, 1), KIND: (2, 1)},
    ),
    "nobody's bad number": (changed(user=[None, 1, 2, 2, 3, 3], x=[9.0, *GOOD["x"][1:]]), {}),
}
CASES["nobody's bad number"][1].update({MISSING: (1, None), X: (1, 0), OTHER: (1, 1)})


def declared(frame: pl.DataFrame, path: Path, **more: Any) -> Table:
    frame.write_parquet(path / "visits.parquet")
    return read(path / "visits.parquet", user="user", space=SPACE, **{"users": 3, "records": 2, **more})


@pytest.mark.quarter
@pytest.mark.parametrize("apart", [True, False], ids=["two scans", "one scan"])
@pytest.mark.parametrize("name", CASES)
def test_breaches_are_found_and_counted(
    name: str, apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "reads_users_apart", lambda _: apart)
    frame, expected = CASES[name]
    table = declared(frame, tmp_path)
    assert [(rule.name, rule.columns) for rule in table.engine.broken_rules(table)] == list(expected)
    found = {
        (breach.rule.name, breach.rule.columns): (breach.records, breach.users)
        for breach in table.engine.count_breaches(table)
    }
    assert found == expected
    if not expected:
        table.validate()
        return
    with pytest.raises(DataRuleError) as broken:
        table.validate()
    assert broken.value.breaches == table.engine.count_breaches(table)
    assert len(str(broken.value).splitlines()) == len(expected)


@pytest.mark.parametrize("apart", [True, False], ids=["two scans", "one scan"])
def test_users_who_are_not_on_the_list_are_counted(
    apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "reads_users_apart", lambda _: apart)
    table = declared(changed(), tmp_path, users=[1, 3, 4], records=None)
    (breach,) = table.engine.count_breaches(table)
    assert (breach.rule.name, breach.records, breach.users) == ("unlisted_users", 2, 1)


def test_users_are_counted_apart_where_their_column_is_to_be_had() -> None:
    statement = rules.rules_statement(read(changed(), user="user", space=SPACE, users=3))
    assert len(statement.query.args["joins"]) == 1


def test_the_row_of_a_check_has_a_value_a_rule_and_one_more(tmp_path: Path) -> None:
    table = declared(changed(), tmp_path)
    statement = rules.rules_statement(table)
    with opened(table.source, statement.lookups, None) as connection:
        (row,) = connection.execute(statement.query.sql("duckdb", identify=True)).fetchall()
    assert len(row) == len(statement.rules) + 1


def test_what_the_owner_is_told(tmp_path: Path) -> None:
    frame = changed(x=[9.0, 8.0, *GOOD["x"][2:]], kind=["sauna", *GOOD["kind"][1:]])
    with pytest.raises(DataRuleError) as told:
        declared(frame, tmp_path).validate()
    rules = 'on_invalid="elsewhere" (with elsewhere=1), "neutral", or of numbers "clamp"'
    remedy = f"clean the rows, widen the domain, or declare {rules}."
    assert str(told.value).splitlines() == [
        "table 'visits' has items outside the space's domain under on_invalid=\"error\" in column 'x' (2 records of 1 "
        f"user); {remedy}",
        "table 'visits' has items outside the space's domain under on_invalid=\"error\" in column 'kind' (1 record of "
        f"1 user); {remedy}",
    ]


def test_a_part_of_several_columns_is_named_by_all_of_them(tmp_path: Path) -> None:
    pl.DataFrame({"user": [1], "lat": [50.0], "lon": [-74.0]}).write_parquet(tmp_path / "t.parquet")
    table = read(
        tmp_path / "t.parquet", user="user", users=1, space=emdp.Geo("lat", "lon", box=(40.0, -75.0, 41.0, -73.0))
    )
    with pytest.raises(DataRuleError, match=r"in columns 'lat', 'lon'; clean the rows"):
        check_rules(table)


@pytest.mark.quarter
@pytest.mark.parametrize("name", [name for name, (_, expected) in CASES.items() if expected])
def test_a_session_says_of_a_broken_rule_no_count(name: str, tmp_path: Path) -> None:
    frame, expected = CASES[name]
    said = []
    # Ten times the breaches, and the same refusal to its last character.
    for many in (frame, pl.concat([frame] * 10)):
        ten = {} if many is frame else {"records": 20}
        table = declared(many, tmp_path, **ten)
        with emdp.Session(table, budget=emdp.EmdDP(alpha=1), ledger=tmp_path / f"{len(said)}.ledger") as session:
            with pytest.raises(DataRuleError) as refused:
                session.mean(emdp.col("x"), alpha=0.5)
            assert session.spent().alpha == 0
        assert refused.value.breaches == ()
        assert refused.value.__context__ is None
        assert refused.value.__cause__ is None
        held = [frame.f_locals for frame, _ in traceback.walk_tb(refused.value.__traceback__)]
        assert not any(isinstance(value, rules.Breach) for own in held for value in own.values())
        said.append(str(refused.value))
    assert said[0] == said[1]
    (rule, columns) = next(iter(expected))
    assert all(repr(column) in said[0] for column in columns)
    assert rules.Rule(rule, "visits", columns).sentence() == said[0]
