"""What planted faults showed that no test noticed: rules that held once are not taken to hold for something else."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, UsageError
from emdp.budgets.redeclaring import redeclare_as
from emdp.ledger import open_ledger, read_ledger
from emdp.sessions.asking import declaration_of

SPACE = emdp.Interval("x", 0, 10)
SOUND = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "x": [1.0, 3.0, 5.0, 2.0, 2.5, 9.0]})
OUTSIDE = SOUND.with_columns(x=pl.Series([1.0, 3.0, 5.0, 2.0, 2.5, 99.25]))
FEWER = SOUND.head(5)


def declared(folder: Path, **more: Any) -> emdp.Table:
    return emdp.read(folder / "t.parquet", user="user", space=SPACE, name="t", **{"users": [1, 2, 3], **more})


def ask(folder: Path, **more: Any) -> None:
    with emdp.Session(declared(folder, **more), budget=emdp.EmdDP(10.0), ledger=folder / "t.ledger") as session:
        session.mean(emdp.col("x"), alpha=1)


def charges(folder: Path) -> int:
    with read_ledger(folder / "t.ledger") as ledger:
        return len(ledger.entries(kind="charge"))


@pytest.mark.parametrize(
    ("first", "then", "more", "message"),
    [
        (SOUND, OUTSIDE, {}, "outside the space's domain"),
        (SOUND, SOUND, {"users": [1, 2]}, "not among the declared users"),
        (FEWER, FEWER, {"records": 2}, "number of records"),
    ],
    ids=["other data", "other users", "records"],
)
def test_what_was_validated_for_something_else_is_validated_again(
    first: pl.DataFrame, then: pl.DataFrame, more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    first.write_parquet(tmp_path / "t.parquet")
    ask(tmp_path)
    if then is not first:
        then.write_parquet(tmp_path / "t.parquet")
    if more:
        other = declared(tmp_path, **more)
        with open_ledger(tmp_path / "t.ledger") as ledger:
            redeclare_as(ledger, "t", declaration_of(other))
    with pytest.raises(DataRuleError, match=message):
        ask(tmp_path, **more)
    assert charges(tmp_path) == 1, "refused, and nothing charged"


def test_an_open_session_validates_data_that_changed_under_it(tmp_path: Path) -> None:
    SOUND.write_parquet(tmp_path / "t.parquet")
    table = emdp.read(tmp_path / "t.parquet", user="user", space=SPACE, users=[1, 2, 3])
    with emdp.Session(table, budget=emdp.EmdDP(10.0), ledger=tmp_path / "t.ledger") as session:
        session.mean(emdp.col("x"), alpha=1)
        OUTSIDE.write_parquet(tmp_path / "t.parquet")
        with pytest.raises(DataRuleError, match="outside the space's domain"):
            session.mean(emdp.col("x"), alpha=1)
        assert charges(tmp_path) == 1


def test_answers_from_messages_keep_nothing_exact(tmp_path: Path) -> None:
    table = emdp.read(SOUND, user="user", space=SPACE, users=[1, 2, 3], records=2)
    with emdp.Session(table, budget=emdp.UserDP(10.0), ledger=tmp_path / "t.ledger") as session:
        answer = session.user_mean("x", epsilon=1.0)
        assert answer.is_private
        assert answer._exact is None
        with pytest.raises(UsageError, match=r"emdp\.testing\.seeded"):
            answer.exact  # noqa: B018
