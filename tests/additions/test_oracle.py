"""A frequency oracle is added by its file and a row of the table, for SQL and the automatic choice, and taken out."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from registering import registered
from toy_oracle import ToyOracle

import emdp
from emdp.base.errors import SqlError, UsageError
from emdp.mechanisms.item_methods import METHODS, Method

USERS = 4000
FRAME = pl.DataFrame({"user": range(USERS), "kind": ["a", "a", "b", "c"] * (USERS // 4)})
QUERY = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 3, model = 'local', method = '{}') FREQUENCY(*) AS share FROM t"


@pytest.fixture
def added() -> Iterator[None]:
    # Nobody has measured its time.
    with registered((METHODS, "toy", Method(lambda: ToyOracle))):
        yield


@pytest.fixture
def session(tmp_path: Path) -> Iterator[emdp.Session]:
    table = emdp.read(
        FRAME, user="user", users=FRAME.select("user"), space=emdp.Categories("kind", list("abc")), name="t"
    )
    with emdp.testing.seeded(5):
        yield emdp.Session(table, budget=emdp.UserDP(100.0), ledger=tmp_path / "t.ledger")


def test_it_is_asked_through_sql(session: emdp.Session, added: None) -> None:
    answer = session.sql(QUERY.format("toy"))
    assert answer.frame["share"].to_list() == pytest.approx([0.5, 0.25, 0.25], abs=0.1)
    assert answer.guarantee.level <= 3.0
    assert "epsilon-LDP" in answer.explain() or "toy" in answer.explain()


def test_it_is_asked_in_python(session: emdp.Session, added: None) -> None:
    question = emdp.frequencies(epsilon=3.0, model="local", method="toy")  # type: ignore[arg-type]
    assert session.preview(question).statements[0].columns[0].expression.endswith("by toy")


def test_without_a_measured_time_it_is_weighed_and_comes_last(session: emdp.Session, added: None) -> None:
    comparison = session.preview(QUERY.format("auto")).statements[0].comparison
    assert "toy" in comparison["method"].to_list()
    # It errs as k-RR does, which is known to be faster.
    assert comparison["method"][0] == "krr"


def test_without_its_row_nobody_knows_it(session: emdp.Session) -> None:
    with pytest.raises(SqlError, match="method must be one of"):
        session.sql(QUERY.format("toy"))
    with pytest.raises(UsageError, match="method must be one of"):
        emdp.frequencies(epsilon=3.0, method="toy")  # type: ignore[arg-type]
