"""Batches under adversity: what several statements cost is charged together or not at all, before anything is read."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError
from emdp.budgets.accounts import Accounts
from emdp.privacy import Event

FRAME = pl.DataFrame({"user": [1, 1, 2, 3], "x": [1.0, 3.0, 5.0, 9.0], "kind": ["a", "b", "a", "b"]})
USERS = pl.DataFrame({"user": [1, 2, 3, 4], "plan": ["free", "pro", "pro", "team"]})
SPACE = emdp.Product(emdp.Interval("x", 0, 10), emdp.Categories("kind", ["a", "b", "c"]))
METRIC = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = {0}) AVG(x) FROM visits"
USER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = {0}) AVG(x) FROM visits"
GAUSSIAN = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.1, delta = 1e-6, noise = gaussian) AVG(x) FROM visits"


def opened(place: Path, *budget: emdp.Guarantee, **more: object) -> emdp.Session:
    table = emdp.read(FRAME, user="user", space=SPACE, users=USERS, name="visits")
    return emdp.Session(table, budget=budget, ledger=place / "t.ledger", **more)  # type: ignore[arg-type]


def text(*statements: str) -> str:
    return "; ".join(statements)


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another process spent between the check of the budget and the charge."""

    def nothing(_: Accounts, events: Iterable[Event]) -> None:
        list(events)

    monkeypatch.setattr(Accounts, "check_affordable", nothing)
    monkeypatch.setattr("emdp.sessions.records.aggregate", lambda *_: pytest.fail("computed before all was charged"))


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize(
    ("budgets", "batch"),
    [
        ((emdp.EmdDP(1.0),), text(METRIC.format(0.6), METRIC.format(0.6))),
        ((emdp.UserDP(1.0),), text(METRIC.format(0.6), USER.format(0.6))),
        ((emdp.UserDP(1.0),), text(USER.format(0.6), METRIC.format(0.6), USER.format(0.1))),
        ((emdp.EmdDP(1.0), emdp.UserDP(1.0)), text(METRIC.format(0.6), USER.format(1.6))),
        ((emdp.EmdDP(1.0), emdp.UserDP(1.0)), text(USER.format(0.6), METRIC.format(0.6), METRIC.format(0.6))),
    ],
)
def test_a_batch_that_a_budget_does_not_cover_is_charged_to_none(
    tmp_path: Path, budgets: tuple[emdp.Guarantee, ...], batch: str
) -> None:
    with opened(tmp_path, *budgets) as session:
        with pytest.raises(BudgetExceededError):
            session.sql_batch(batch)
        assert session.remaining_all() == budgets
        assert not len(session.history())


def test_statements_of_two_kinds_are_one_charge_to_the_budget_that_pays_both(tmp_path: Path) -> None:
    with opened(tmp_path, emdp.UserDP(2.0, 1e-5)) as session:
        answers = session.sql_batch(text(METRIC.format(0.6), USER.format(0.5), GAUSSIAN))
        assert [type(answer.guarantee) for answer in answers] == [emdp.EmdDP, emdp.UserDP, emdp.EmdDP]
        assert session.spent() == emdp.UserDP(1.2, 1e-6)
        assert session.history().select("mechanism", "alpha", "kind").rows() == [("Batch", 1.2, "central UserDP")]
        assert len({answer.receipt for answer in answers}) == 1
    with opened(tmp_path, emdp.UserDP(2.0, 1e-5)) as again:  # and the ledger gives back what it was given
        assert again.spent() == emdp.UserDP(1.2, 1e-6)


def test_each_budget_pays_its_own_statements_once(tmp_path: Path) -> None:
    with opened(tmp_path, emdp.EmdDP(1.0), emdp.UserDP(1.0)) as session:
        answers = session.sql_batch(text(METRIC.format(0.25), USER.format(0.5), METRIC.format(0.25)))
        assert session.remaining_all() == (emdp.EmdDP(0.5), emdp.UserDP(0.5))
        receipts = [answer.receipt for answer in answers]
        assert receipts[0] == receipts[2] != receipts[1]


def test_a_batch_of_gaussian_and_laplace_noise_costs_no_more_than_its_parts(tmp_path: Path) -> None:
    batch = text(GAUSSIAN, METRIC.format(0.2), *[GAUSSIAN] * 8)
    for share in (0.0, 0.5):
        (tmp_path / str(share)).mkdir()
        with opened(tmp_path / str(share), emdp.EmdDP(10.0, 1e-3), gaussian_share=share) as session:
            session.sql_batch(batch)
            assert session.spent().alpha < 9 * 0.1 + 0.2
            assert session.spent().delta <= 9 * 1e-6 * (1 + 1e-12)


ODD_BAGS = {
    "no record at all": [],
    "nobody but one": [(1, 5.0, "a")] * 3,
    "all invalid": [(user, None, None) for user in (1, 2, 3, 4)],
    "not a number": [(1, float("nan"), "a"), (2, float("inf"), "zz"), (3, -float("inf"), "")],
    "one huge bag": [(1, 0.1 * (number % 101), "abc"[number % 3]) for number in range(30_000)] + [(2, 3.3, "b")],
    "edges": [(1, 0.0, "a"), (1, 10.0, "c"), (2, float(np.nextafter(10.0, 11)), "a"), (3, -0.0, "b")],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD_BAGS)
def test_whatever_the_records_every_statement_that_is_charged_is_answered(tmp_path: Path, name: str) -> None:
    frame = pl.DataFrame(
        ODD_BAGS[name], schema={"user": pl.Int64, "x": pl.Float64, "kind": pl.String}, orient="row", strict=False
    )
    parts = emdp.Interval("x", 0, 10, on_invalid="clamp"), emdp.Categories("kind", list("abc"), on_invalid="neutral")
    table = emdp.read(frame, user="user", space=emdp.Product(*parts), users=USERS, name="visits")
    items = (
        "AVG(x), SHARE(), VARIANCE(x) FROM visits WHERE kind = 'b'", "AVG(x) FROM visits GROUP BY kind, plan",
        "STDDEV(x), AVG(CASE kind WHEN 'a' THEN x ELSE 1 END) FROM visits WHERE RAMP(x, 1, 2)",
        "QUANTILE(x, 0.5) FROM visits WHERE kind = 'c'", "FREQUENCY(GRID(x, 0.7)) FROM visits GROUP BY plan",
    )  # fmt: skip
    totals = ("COUNT(*), SUM(x), AVG(x)", "kind, VARIANCE(x), COUNT(*)")
    batch = text(
        *(f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.1, delta = 1e-7) {item}" for item in items),
        *(
            f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 0.1, max_records_per_user = 3) {item} FROM visits{group}"
            for item, group in zip(totals, ("", " GROUP BY kind"), strict=True)
        ),
    )
    budgets = (emdp.EmdDP(1.0, 1e-5), emdp.UserDP(1.0))
    with emdp.Session(table, budget=budgets, ledger=tmp_path / "t.ledger") as session:
        for answer in session.sql_batch(batch):
            assert len(answer.frame) == len(answer.interval(0.5, coverage="all").get_column("low")) / len(
                answer.columns
            )
            assert answer.explain()
        assert len(session.history()) == 2
