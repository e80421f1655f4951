"""Select lists by messages: parts and quotients of estimated means, in SQL and Python, with intervals that cover."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.mean.message_select import plan_message_select
from emdp.expressions import category_is, col
from emdp.questions.price import Price
from emdp.questions.select import Item, Select
from emdp.spaces import Categories, Interval, Product

SPACE = Product(Interval("x", 0, 10), Categories("kind", ["a", "b"]))
USERS = 3000
SQL = (
    "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 4.0, delta = 1e-6, model = '{model}'{more}) "
    "SHARE() AS share, AVG(x) AS mean, PART(x) AS part FROM data WHERE kind = 'a'"
)


def session_of(folder: Path, **more: Any) -> emdp.Session:
    users = range(USERS)
    rows = {"user": [str(user) for user in users for _ in "ab"], "kind": ["a", "b"] * USERS}
    rows["x"] = [float((user + 5 * place) % 10) for user in users for place in (0, 1)]  # type: ignore[misc]
    table = emdp.read(pl.DataFrame(rows), user="user", space=SPACE, users=USERS)
    return emdp.Session(table, budget=emdp.EmdDP(1e4, 0.1), ledger=folder / "one.ledger", **more)


def _holds(row: dict[str, Any], name: str, value: float) -> bool:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return (low is None or low <= value) and (high is None or value <= high)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["shuffle", "local"])
def test_intervals_of_items_cover(model: str, tmp_path: Path) -> None:
    """30 answers of three items with intervals of 95 %: at least 80 of 90 hold, and every end is in the range."""
    more = ", messages = 4" if model == "shuffle" else ""
    held = 0
    with emdp.testing.seeded(11):
        session = session_of(tmp_path)
        for _ in range(30):
            answer = session.sql(SQL.format(model=model, more=more))
            row = answer.frame.row(0, named=True)
            assert list(row)[:4] == ["share", "share_low", "share_high", "mean"]
            assert answer.exact == pytest.approx({"share": 0.5, "mean": 4.5, "part": 2.25}, rel=1e-9)
            held += sum(_holds(row, name, value) for name, value in answer.exact.items())
            if row["mean"] is None:
                assert row["mean_low"] is None or row["mean_low"] == -math.inf
            else:
                assert 0 <= row["mean_low"] <= row["mean"] <= row["mean_high"] <= 10
    assert held >= 80
    assert answer.guarantee.model == model


@pytest.mark.slow
def test_python_and_sql_ask_the_same(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"alpha": 4.0, "delta": 1e-6, "model": "shuffle", "messages": 2}
    with emdp.testing.seeded(3):
        session = session_of(tmp_path)
        query = emdp.mean(col("x"), where=category_is("a", column="kind"), **asked)
        preview = session.preview(query)
        sql = session.preview(
            "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 4.0, delta = 1e-6, model = 'shuffle', messages = 2) "
            "AVG(x) AS mean FROM data WHERE kind = 'a'"
        )
        assert preview.comparison.equals(sql.comparison)
        for model in ("shuffle", "local"):
            with pytest.raises(UsageError, match="every user send the same messages"):
                session.mean(col("x"), alpha=1.0, delta=1e-6, model=model, by="kind")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_share_that_may_be_nothing_gives_no_quotient(tmp_path: Path) -> None:
    with emdp.testing.seeded(5):
        answer = session_of(tmp_path).sql(
            "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.0005, delta = 1e-6, model = 'shuffle') AVG(x) AS m FROM data "
            "WHERE kind = 'a'"
        )
    assert answer.frame.row(0)[0] is None


def test_what_has_no_answer_is_refused_by_the_plan() -> None:
    price = Price("alpha", 1.0, 1e-6)

    def plan(*items: Item, **more: Any) -> None:
        plan_message_select(Select(items, price, model="shuffle", **more), space=SPACE, users=10)

    for items, more, said in (
        ((Item("variance", "v", col("x")),), {}, "VARIANCE has no answer"),
        ((Item("avg", "m", col("x")), Item("part", "p", col("x"), 2.0)), {}, "WEIGHT has no answer"),
        ((Item("avg", "m", col("x")),), {"noise": "laplace"}, "noise and max_records_per_user"),
        ((Item("avg", "m", col("x")), Item("part", "m", col("x"))), {}, "'m'"),
        ((Item("avg", "m", col("x") * 0.0),), {}, "is the same on every table"),
    ):
        with pytest.raises(UsageError, match=said):
            plan(*items, **more)
