"""Budgets that the owner enlarges, or puts beside those that stand: what is taken, what is refused, what counts."""

from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.budgets.promises import make_budgets
from emdp.budgets.redeclaring import redeclare_budgets
from emdp.budgets.spending import accounts_of
from emdp.expressions import col
from emdp.ledger import open_ledger
from emdp.privacy import Budget, EmdDP, Guarantee, UserDP
from emdp.spaces import Interval

FRAME = pl.DataFrame({"user": [1, 1, 2, 2], "x": [1.0, 3.0, 5.0, 2.0]})


def session(path: Path, *budget: Guarantee, share: float = 0.0, period: str | None = None) -> emdp.Session:
    frame = FRAME if period is None else FRAME.with_columns(pl.col("x") + len(period))
    table = emdp.read(frame, user="user", users=2, space=Interval("x", 0, 20), name="visits")
    return emdp.Session(table, budget=list(budget), ledger=path, gaussian_share=share, period=period)


def change(path: Path, *budgets: Guarantee, share: float = 0.0) -> None:
    with open_ledger(path) as ledger:
        redeclare_budgets(ledger, "visits", make_budgets(list(budgets), share))


def spent(path: Path) -> list[float]:
    with open_ledger(path) as ledger:
        return [account.spent.level for account in accounts_of(ledger.entries("visits"))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "city.ledger"
    with session(made, EmdDP(3.0)) as asking:
        asking.mean(col("x"), alpha=2.0)
    return made


def test_a_larger_budget_and_one_of_another_kind(path: Path) -> None:
    with session(path, EmdDP(3.0)) as old:
        with pytest.raises(LedgerError, match=r"redeclare LEDGER .* -C emdp.toml --budgets"):
            session(path, EmdDP(5.0), UserDP(1.0))
        change(path, EmdDP(5.0), UserDP(1.0))
        # Whoever had the ledger open asks under what stands now, or not at all.
        with pytest.raises(LedgerError, match="holds another budget"):
            old.mean(col("x"), alpha=0.5)
    with session(path, EmdDP(5.0), UserDP(1.0)) as asking:
        asking.mean(col("x"), alpha=3.0)
        with pytest.raises(BudgetExceededError):
            asking.mean(col("x"), alpha=0.5)
        asking.mean(col("x"), epsilon=1.0)
        with pytest.raises(BudgetExceededError):
            asking.mean(col("x"), epsilon=0.1)
    assert spent(path) == [5.0, 1.0]


@pytest.mark.parametrize(
    ("budgets", "said"),
    [
        ([EmdDP(3.0)], "has these budgets already"),
        ([EmdDP(2.5)], "emdp ledger reserve"),
        ([UserDP(1.0)], "must begin with those that stand"),
        ([UserDP(1.0), EmdDP(3.0)], "must begin with those that stand"),
        ([EmdDP(3.0, 1e-6)], "may change in its alpha alone"),
        ([EmdDP(3.0, sizes="bounded")], "must begin with those that stand"),
    ],
)
def test_what_stands_is_not_taken_back(path: Path, budgets: list[Guarantee], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        change(path, *budgets)
    assert spent(path) == [2.0]


def test_a_gaussian_share_keeps_its_level(tmp_path: Path) -> None:
    path, budget = tmp_path / "g.ledger", EmdDP(3.0, 1e-6)
    session(path, budget, share=0.5).close()
    with pytest.raises(UsageError, match="Gaussian share"):
        change(path, EmdDP(4.0, 1e-6), share=0.5)
    with pytest.raises(UsageError, match="gaussian_share"):
        change(path, EmdDP(3.0, 1e-6), share=0.25)
    change(path, budget, UserDP(1.0), share=0.5)
    session(path, budget, UserDP(1.0), share=0.5).close()


def test_a_new_budget_per_period_counts_what_was_charged_before_in_every_period(tmp_path: Path) -> None:
    path, weekly = tmp_path / "w.ledger", EmdDP(4.0, unit="period")
    for period in ("W1", "W2b"):
        with session(path, EmdDP(9.0), period=period) as asking:
            asking.mean(col("x"), alpha=1.5)
    with pytest.raises(LedgerError):
        change(path, EmdDP(9.0), EmdDP(2.5, unit="period"))
    change(path, EmdDP(9.0), weekly)
    assert spent(path) == [3.0, 3.0]
    with session(path, EmdDP(9.0), weekly, period="W3bc") as asking:
        with pytest.raises(BudgetExceededError):
            asking.mean(col("x"), alpha=1.5)
        asking.mean(col("x"), alpha=1.0)
    assert spent(path) == [4.0, 4.0]


def test_a_table_without_a_budget(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "empty.ledger") as ledger, pytest.raises(UsageError, match="has no budget"):
        redeclare_budgets(ledger, "visits", [Budget(EmdDP(1.0))])
