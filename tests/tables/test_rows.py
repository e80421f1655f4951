"""The statement that counts breaches of the declared rules: by hand, and in one scan or two."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.errors import DataRuleError
from emdp.tables import read, rows
from emdp.tables.duckdb import _connection, check_rules
from emdp.tables.table import Table

SPACE = emdp.Product(emdp.Interval("x", 0, 5), emdp.Categories("kind", ["bar", "park"]))
GOOD = {"user": [1, 1, 2, 2, 3, 3], "x": [0.0, 5.0, 1.0, 2.0, 3.0, 4.0], "kind": ["bar", "park"] * 3}


def changed(**more: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({**GOOD, **more}, schema={"user": pl.Int64, "x": pl.Float64, "kind": pl.String})


CASES = {
    "good": (changed(), (0, 0, 0, 0, 0)),
    "no rows": (changed().clear(), (0, 0, 0, 3, 0)),
    "rows without a user": (changed(user=[1, 1, 2, 2, None, None]), (1, 0, 0, 1, 0)),
    "four users": (changed(user=[1, 1, 2, 2, 3, 4]), (0, 1, 0, 1, 0)),
    "two users": (changed(user=[1, 1, 2, 2, 2, 2]), (0, 0, 0, 2, 0)),
    "bad numbers": (changed(x=[0.0, 5.1, float("nan"), None, -0.1, 4.0]), (0, 0, 4, 0, 0)),
    "bad labels": (changed(kind=["bar", "other", None, "park", "bar", ""]), (0, 0, 3, 0, 0)),
    "both in one": (changed(x=[9.0, *GOOD["x"][1:]], kind=["other", *GOOD["kind"][1:]]), (0, 0, 1, 0, 0)),
}


def counts(table: Table) -> tuple[int, ...]:
    query, lookups = rows.rules_statement(table)
    with _connection(table.source, lookups, table.users.keys) as connection:
        (found,) = connection.execute(query.sql("duckdb", identify=True)).fetchall()
    return tuple(int(count or 0) for count in found[:-1])


@pytest.mark.parametrize("apart", [True, False], ids=["two scans", "one scan"])
@pytest.mark.parametrize("name", CASES)
def test_breaches_are_counted(name: str, apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "reads_users_apart", lambda _: apart)
    frame, expected = CASES[name]
    frame.write_parquet(tmp_path / "visits.parquet")
    table = read(tmp_path / "visits.parquet", user="user", space=SPACE, users=3, records=2)
    assert counts(table) == expected
    if any(expected):
        with pytest.raises(DataRuleError):
            check_rules(table)
    else:
        check_rules(table)


@pytest.mark.parametrize("apart", [True, False], ids=["two scans", "one scan"])
def test_users_who_are_not_on_the_list_are_counted(apart: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "reads_users_apart", lambda _: apart)
    assert counts(read(changed(), user="user", space=SPACE, users=[1, 3, 4])) == (0, 1, 0, 0, 0)


def test_users_are_counted_apart_where_their_column_is_to_be_had() -> None:
    assert len(rows.rules_statement(read(changed(), user="user", space=SPACE, users=3))[0].args["joins"]) == 1
