"""Budgets per period in a ledger: beside one per user, alone, and fail-closed where no period is known."""

from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.budgets.promises import make_budgets
from emdp.budgets.spending import accounts_of, burn_down, charges_of
from emdp.catalog.catalog import load_catalog
from emdp.privacy import EmdDP, UserDP

BOTH = [EmdDP(60.0), EmdDP(2.0, unit="period")]


def table(**more: object) -> emdp.Table:
    rows = {"user": [1, 1, 2], "x": [0.1, 0.4, 0.9]}
    return emdp.read(rows, user="user", space=emdp.Interval("x", 0, 1), users=2, name="visits", **more)  # type: ignore[arg-type]


def session(folder: Path, period: str | None, budget: object = BOTH, **more: object) -> emdp.Session:
    return emdp.Session(table(**more), budget=budget, ledger=folder / "x.ledger", period=period)  # type: ignore[arg-type]


def ask(asked: emdp.Session, alpha: float) -> emdp.Answer:
    return asked.mean(emdp.col("x"), alpha=alpha, name="x")


def test_both_units_count_every_answer(tmp_path: Path) -> None:
    for period, alpha in (("W1", 1.0), ("W1", 0.5), ("W2", 2.0)):
        with session(tmp_path, period) as asked:
            ask(asked, alpha)
    with session(tmp_path, "W1") as asked:
        assert asked.spent().level == 3.5
        assert asked.spent(EmdDP(0.0, unit="period")).level == 1.5
        assert asked.remaining(EmdDP(0.0, unit="period")).level == 0.5
        assert asked.preview(emdp.mean(emdp.col("x"), alpha=0.25, name="x")).frame["affordable"].to_list() == [2]
        with pytest.raises(BudgetExceededError):
            ask(asked, 0.6)
        assert asked.spent().level == 3.5
    with session(tmp_path, "W3") as asked:
        ask(asked, 2.0)
    entries = _entries(tmp_path)
    user, period_account = accounts_of(entries)
    assert (user.spent.level, period_account.spent.level) == (5.5, 2.0)
    steps = burn_down(charges_of(entries), period_account.budget)
    assert steps == (("W1", 1.0), ("W1", 0.5), ("W2", 0.0), ("W3", 0.0))


def test_alone_a_budget_per_period_promises_nothing_of_all(tmp_path: Path) -> None:
    budget = EmdDP(2.0, unit="period")
    for period in ("W1", "W2", "W3"):
        with session(tmp_path, period, budget) as asked:
            ask(asked, 2.0)
            assert asked.spent() == EmdDP(2.0, unit="period")
            with pytest.raises(BudgetExceededError):
                ask(asked, 0.1)


def test_without_a_period_an_answer_counts_for_all(tmp_path: Path) -> None:
    with session(tmp_path, "W1") as asked:
        ask(asked, 1.5)
    with session(tmp_path, None) as asked:
        with pytest.raises(BudgetExceededError):
            ask(asked, 1.0)
        ask(asked, 0.5)
    for period, left in (("W1", 0.0), ("W9", 1.5)):
        with session(tmp_path, period) as asked:
            assert asked.remaining(EmdDP(0.0, unit="period")).level == left


def test_under_another_table_s_budget_names_of_periods_say_nothing(tmp_path: Path) -> None:
    with session(tmp_path, "W1") as asked:
        ask(asked, 1.5)
    rows = {"user": [1, 1, 2], "x": [0.1, 0.4, 0.9]}
    months = emdp.read(
        rows, user="user", space=emdp.Interval("x", 0, 1), users=2, name="months", shares="visits"
    )  # fmt: skip
    with (
        emdp.Session(months, budget=BOTH, ledger=tmp_path / "x.ledger", period="2026-11") as asked,
        pytest.raises(BudgetExceededError),
    ):
        ask(asked, 1.0)


def test_a_batch_must_fit_as_a_whole(tmp_path: Path) -> None:
    one = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.5) AVG(x) FROM visits"
    with session(tmp_path, "W1") as asked:
        with pytest.raises(BudgetExceededError):
            asked.sql_batch(f"{one}; {one}")
        assert asked.spent().level == 0


def test_files_of_one_period_are_not_another_s(tmp_path: Path) -> None:
    pl.DataFrame({"user": [1, 1, 2], "x": [0.1, 0.4, 0.9]}).write_parquet(tmp_path / "w1.parquet")

    def asked(period: str) -> emdp.Session:
        read = emdp.read(
            tmp_path / "w1.parquet", user="user", space=emdp.Interval("x", 0, 1), users=2, name="visits"
        )  # fmt: skip
        return emdp.Session(read, budget=BOTH, ledger=tmp_path / "x.ledger", period=period)

    with asked("W1") as first:
        ask(first, 0.5)
        ask(first, 0.5)
    with asked("W2") as second, pytest.raises(LedgerError, match="for W1"):
        ask(second, 0.5)


def test_a_place_of_one_period_is_not_another_s_after_a_change(tmp_path: Path) -> None:
    """A table under a name in other letters, once another was added to its file; a file under a shorter name."""
    import duckdb

    def asked(source: str, period: str) -> emdp.Session:
        read = emdp.read(source, user="user", space=emdp.Interval("x", 0, 1), users=2, name="visits")
        return emdp.Session(read, budget=BOTH, ledger=tmp_path / "x.ledger", period=period)

    city, rows = tmp_path / "city.duckdb", 'SELECT * FROM (VALUES (1, 0.1), (2, 0.9)) AS t("user", x)'
    with duckdb.connect(str(city)) as connection:
        connection.execute(f"CREATE TABLE visits_W1 AS {rows}")
    with asked(f"{city}::visits_W1", "W1") as first:
        ask(first, 0.5)
    with duckdb.connect(str(city)) as connection:
        connection.execute(f"CREATE TABLE visits_W2 AS {rows}")
    with asked(f"{city}::visits_w1", "w1") as second, pytest.raises(LedgerError, match="for W1"):
        ask(second, 0.5)
    with asked(f"{city}::visits_W2", "W2") as third:
        ask(third, 0.5)
    path = tmp_path / "v-2026-W05.csv"
    path.write_text("user,x\n1,0.5\n2,0.75\n")
    with asked(str(path), "2026-W05") as fourth:
        ask(fourth, 0.5)
    path.write_text("user,x\n1,0.5\n2,0.75\n2,0.25\n")
    with asked(str(path), "W05") as fifth, pytest.raises(LedgerError, match="for 2026-W05"):
        ask(fifth, 0.5)


def test_a_frame_of_one_period_is_not_another_s(tmp_path: Path) -> None:
    one = table()
    with emdp.Session(one, budget=BOTH, ledger=tmp_path / "x.ledger", period="W1") as first:
        ask(first, 0.5)
    with (
        emdp.Session(one, budget=BOTH, ledger=tmp_path / "x.ledger", period="W2") as second,
        pytest.raises(LedgerError, match="for W1"),
    ):
        ask(second, 0.5)


def test_budgets_that_would_not_count_one_another_are_refused() -> None:
    with pytest.raises(UsageError, match="same sizes"):
        make_budgets([EmdDP(60.0, sizes="bounded"), EmdDP(2.0, unit="period")], 0.0)
    with pytest.raises(UsageError, match="twice"):
        make_budgets([EmdDP(60.0, unit="period"), EmdDP(2.0, unit="period")], 0.0)
    assert len(make_budgets([UserDP(1.0), *BOTH], 0.0)) == 3


CATALOG = """
ledger = "x.ledger"
[tables.visits]
source = "{source}"
user = "user"
users = 2
space = {{ kind = "interval", column = "x", low = 0.0, high = 1.0 }}
budget = {budget}
"""


@pytest.mark.parametrize(
    ("budget", "found"),
    [
        ("{ alpha = 60.0, per_period = { alpha = 2.0 } }", (EmdDP(60.0), EmdDP(2.0, unit="period"))),
        ("{ per_period = { alpha = 2.0, delta = 1e-9 } }", (EmdDP(2.0, 1e-9, unit="period"),)),
        (
            "[{ alpha = 60.0, per_period = { alpha = 2.0 } }, { epsilon = 1.0 }]",
            (EmdDP(60.0), EmdDP(2.0, unit="period"), UserDP(1.0)),
        ),
    ],
)
def test_catalogs(tmp_path: Path, budget: str, found: object) -> None:
    (tmp_path / "emdp.toml").write_text(CATALOG.format(source="{period}.parquet", budget=budget))
    assert load_catalog(tmp_path / "emdp.toml").budgets("visits") == found


@pytest.mark.parametrize(
    ("source", "budget", "said"),
    [
        ("all.parquet", "{ alpha = 60.0, per_period = { alpha = 2.0 } }", "no {period} in its source"),
        ("{period}.parquet", "{ alpha = 60.0, per_period = 2.0 }", "per_period that is not"),
        ("{period}.parquet", "{ epsilon = 1.0, per_period = { alpha = 2.0 } }", "per_period beside epsilon"),
        ("{period}.parquet", "{ delta = 1e-9, per_period = { alpha = 2.0 } }", "delta without an alpha"),
        ("all.parquet", "{ history = { alpha = 2.0, periods = 3 } }", "no {period} in its source"),
        ("{period}.parquet", "{ history = { alpha = 2.0 } }", "history that is not"),
        ("{period}.parquet", "{ epsilon = 1.0, history = { alpha = 2.0, periods = 3 } }", "history beside epsilon"),
    ],
)
def test_catalogs_that_are_refused(tmp_path: Path, source: str, budget: str, said: str) -> None:
    (tmp_path / "emdp.toml").write_text(CATALOG.format(source=source, budget=budget))
    with pytest.raises(UsageError) as error:
        load_catalog(tmp_path / "emdp.toml").budgets("visits")
    assert said in str(error.value)


def _entries(folder: Path) -> tuple[emdp.ledger.Entry, ...]:
    from emdp.ledger import read_ledger

    with read_ledger(folder / "x.ledger") as ledger:
        return ledger.entries("visits")
