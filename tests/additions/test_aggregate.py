"""An aggregate is added by a row for SQL and a rule for estimators, and is refused where either says nothing."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from registering import registered
from toy_aggregate import KIND, RULE

import emdp
from emdp.base.errors import InternalError, SqlError
from emdp.estimators.mean.conditional import RULES
from emdp.questions.item_kinds import KINDS, ItemKind

USERS = 60
VALUES = np.linspace(-3.0, 5.0, USERS)
FRAME = pl.DataFrame({"user": range(USERS), "x": VALUES, "kind": ["a", "b", "b"] * (USERS // 3)})
SPACE = emdp.Product(emdp.Interval("x", -3, 5), emdp.Categories("kind", ["a", "b"]))
EMD = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) {} AS m FROM t"
CAPPED = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 3) {} AS m FROM t"
BOTH = (KINDS, "second", KIND), (RULES, "second", RULE)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[emdp.Session]:
    table = emdp.read(FRAME, user="user", users=FRAME.select("user"), space=SPACE, name="t")
    with emdp.testing.seeded(3):
        yield emdp.Session(table, budget=[emdp.EmdDP(100.0), emdp.UserDP(100.0)], ledger=tmp_path / "t.ledger")


def test_it_is_asked_through_sql(session: emdp.Session) -> None:
    with registered(*BOTH):
        answer = session.sql(EMD.format("SECOND_MOMENT(x)"))
        chosen = session.sql(EMD.format("SECOND_MOMENT(x)") + " WHERE kind = 'a'")
    assert answer.exact["m"] == pytest.approx((VALUES**2).mean(), rel=1e-9)
    assert chosen.exact["m"] == pytest.approx((VALUES[::3] ** 2).mean(), rel=1e-6)


def test_its_preview_is_that_of_the_mean_of_the_square(session: emdp.Session) -> None:
    with registered(*BOTH):
        own = session.preview(EMD.format("SECOND_MOMENT(x)")).statements[0].columns[0]
    plain = session.preview(EMD.format("AVG(x ** 2)")).statements[0].columns[0]
    assert (own.low, own.high, own.expected_error) == (plain.low, plain.high, plain.expected_error)


def test_messages_know_it(session: emdp.Session) -> None:
    with registered(*BOTH):
        with pytest.raises(SqlError, match=r"SECOND_MOMENT takes 1 argument, not 0.*write SECOND_MOMENT\(e\)"):
            session.sql(EMD.format("SECOND_MOMENT()"))
        with pytest.raises(SqlError, match="write SECOND_MOMENT"):
            session.sql(EMD.format("SECOND_MOMEN(x)"))


def test_under_a_cap_it_is_refused_since_it_says_nothing_of_one(session: emdp.Session) -> None:
    with registered(*BOTH), pytest.raises(SqlError, match="SECOND_MOMENT is a mean over users"):
        session.sql(CAPPED.format("SECOND_MOMENT(x)"))


@pytest.mark.parametrize("query", [EMD, CAPPED])
def test_without_a_rule_it_is_no_variance(session: emdp.Session, query: str) -> None:
    told = ItemKind(KIND.sql, is_capped=True)
    with registered((KINDS, "second", told)), pytest.raises(InternalError, match="'second' has no rule"):
        session.sql(query.format("SECOND_MOMENT(x)"))


def test_without_its_rows_nobody_knows_it(session: emdp.Session) -> None:
    with pytest.raises(SqlError, match=r"there is no (aggregate|function) SECOND_MOMENT"):
        session.sql(EMD.format("SECOND_MOMENT(x)"))
