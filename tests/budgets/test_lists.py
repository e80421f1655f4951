"""Lists of users by period in a catalog: periods without anybody in common share no budget."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.budgets.redeclaring import redeclare_as
from emdp.budgets.reservations import reserve
from emdp.budgets.spending import accounts_of, burn_down, charges_of
from emdp.cli.spending import spending_of
from emdp.ledger import open_ledger, read_ledger
from emdp.privacy import EmdDP, UserDP
from emdp.sessions.asking import declaration_of

TEXT = """
ledger = "city.ledger"
[tables.visits]
source = "{period}.parquet"
user = "user"
users = "lists/{period}.csv"
elsewhere = 1
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = [{ alpha = 8 }, { epsilon = 2 }]
"""
LISTS = {"W1": (1, 2, 3), "W2": (4, 5), "W3": (3, 6), "W4": (4, 7)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lists").mkdir()
    (tmp_path / "emdp.toml").write_text(TEXT)
    for week, users in LISTS.items():
        pl.DataFrame({"user": users, "x": [1.0] * len(users)}).write_parquet(tmp_path / f"{week}.parquet")
        (tmp_path / f"lists/{week}.csv").write_text("user\n" + "".join(f"{key}\n" for key in users))
    return tmp_path


def ask(folder: Path, week: str, **level: float) -> emdp.Answer:
    with emdp.load_catalog(folder / "emdp.toml").session(period=week) as session:
        return session.mean(emdp.col("x"), name="x", **level)


def test_known_answers(folder: Path) -> None:
    """Levels 3, 5, 4, one user on the first list and the third: 7, where all lists together would be 12."""
    for week, alpha in (("W1", 3.0), ("W2", 5.0), ("W3", 4.0)):
        ask(folder, week, alpha=alpha)
    with emdp.load_catalog(folder / "emdp.toml").session(period="W3") as session:
        assert session.spent().level == 7.0
        with pytest.raises(BudgetExceededError):
            session.mean(emdp.col("x"), alpha=1.5, name="x")
    with emdp.load_catalog(folder / "emdp.toml").session(period="W2") as session:
        assert session.spent().level == 5.0
        assert session.spent(UserDP(0.0)).level == 0.0
        assert session.preview(emdp.mean(emdp.col("x"), alpha=1.5, name="x")).frame["affordable"].to_list() == [2]
    ask(folder, "W4", alpha=3.0)
    with pytest.raises(BudgetExceededError):
        # A user of W2 is on it, who had 5 there.
        ask(folder, "W4", alpha=0.5)
    entries = _entries(folder)
    assert [account.spent.level for account in accounts_of(entries)] == [8.0, 0.0]
    assert burn_down(charges_of(entries), accounts_of(entries)[0].budget)[-1] == ("W4", 0.0)
    assert spending_of(entries)[0].account.spent.level == 8.0


def test_at_user_level_too(folder: Path) -> None:
    for week in ("W1", "W2"):
        ask(folder, week, epsilon=2.0)
    with pytest.raises(BudgetExceededError):
        ask(folder, "W3", epsilon=0.1)


def test_a_list_that_was_changed_or_is_gone_counts_for_everybody(folder: Path) -> None:
    ask(folder, "W1", alpha=5.0)
    (folder / "lists/W1.csv").write_text("user\n8\n9\n")
    with pytest.raises(BudgetExceededError):
        ask(folder, "W2", alpha=5.0)
    (folder / "lists/W1.csv").unlink()
    with pytest.raises(BudgetExceededError):
        ask(folder, "W2", alpha=5.0)
    (folder / "lists/W1.csv").write_text("user\n1\n2\n3\n")
    ask(folder, "W2", alpha=5.0)


def test_a_row_of_somebody_else_is_refused(folder: Path) -> None:
    pl.DataFrame({"user": [4, 1], "x": [1.0, 2.0]}).write_parquet(folder / "W2.parquet")
    with pytest.raises(emdp.base.errors.DataRuleError):
        ask(folder, "W2", alpha=1.0)


def test_charges_of_before_count_for_everybody(folder: Path) -> None:
    """A charge without the words about lists, as an earlier version wrote it."""
    ask(folder, "W1", alpha=3.0)
    with read_ledger(folder / "city.ledger") as ledger:
        entries = ledger.entries("visits")
    (old,) = (entry for entry in entries if entry.kind == "charge")
    payload = {key: value for key, value in old.payload.items() if key != "list"}
    with open_ledger(folder / "city.ledger") as ledger:
        ledger.append("charge", "visits", payload | {"event": payload["event"]})
    with pytest.raises(BudgetExceededError):
        ask(folder, "W2", alpha=5.5)
    ask(folder, "W2", alpha=5.0)


@pytest.mark.slow
def test_what_is_set_aside_is_nobody_else_s(folder: Path) -> None:
    ask(folder, "W1", alpha=5.0)
    with open_ledger(folder / "city.ledger") as ledger:
        reserve(ledger, "visits", "weekly", EmdDP(3.0))
    with pytest.raises(BudgetExceededError):
        ask(folder, "W2", alpha=5.5)
    ask(folder, "W2", alpha=5.0)


@pytest.mark.slow
def test_manifests_and_pages_have_the_period_s_own_state(folder: Path) -> None:
    import json

    from emdp.reports.checking import check_definition
    from emdp.reports.export import write_report
    from emdp.reports.manifest import check_manifest
    from emdp.reports.run import run_report

    query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 3) AVG(x) AS km FROM visits"
    text = f'title = "Weeks"\ncatalog = "emdp.toml"\n[[entry]]\ntitle = "km"\nquery = "{query}"\n'
    (folder / "weeks.toml").write_text(text)
    for week, left in (("W1", 5.0), ("W2", 5.0), ("W3", 2.0)):
        found = run_report(*check_definition(folder / "weeks.toml", period=week))
        assert [state.remaining.level for state in found.budgets] == [left, 2.0]
        write_report(found, folder / week)
        manifest = json.loads((folder / week / "manifest.json").read_text())
        with read_ledger(folder / "city.ledger") as ledger:
            assert check_manifest(manifest, folder / week, ledger) == []


def _entries(folder: Path) -> tuple[Any, ...]:
    with read_ledger(folder / "city.ledger") as ledger:
        return ledger.entries("visits")


def test_a_stream_counts_for_everybody(folder: Path) -> None:
    """It is paid for all its periods at once."""
    (folder / "emdp.toml").write_text(TEXT.replace("{ alpha = 8 }", "{ alpha = 80, delta = 1e-5 }"))
    query = emdp.mean(emdp.col("x"), alpha=5.0, delta=1e-6, name="x")
    with emdp.load_catalog(folder / "emdp.toml").session(period="W1") as session:
        session.stream(query, periods=("W1", "W2"), unit="period")
        own = session.spent().level
    with emdp.load_catalog(folder / "emdp.toml").session(period="W2") as session:
        assert session.spent().level == own


def test_another_list_of_a_period_is_refused(folder: Path) -> None:
    ask(folder, "W1", alpha=1.0)
    (folder / "lists/W1.csv").write_text("user\n1\n2\n4\n")
    with pytest.raises(LedgerError, match="other users"):
        ask(folder, "W1", alpha=1.0)


@pytest.mark.slow
def test_a_list_that_joins_people_of_two_lists_has_nothing_left(folder: Path) -> None:
    """Each of W1 and W2 had 5 of 8; W5 has people of both, of whom none had more than 8, and nothing is left."""
    for week in ("W1", "W2"):
        ask(folder, week, alpha=5.0)
    pl.DataFrame({"user": [1, 4], "x": [1.0, 1.0]}).write_parquet(folder / "W5.parquet")
    (folder / "lists/W5.csv").write_text("user\n1\n4\n")
    with emdp.load_catalog(folder / "emdp.toml").session(period="W5") as session:
        assert (session.spent().level, session.remaining().level) == (8.0, 0.0)
        assert session.preview(emdp.mean(emdp.col("x"), alpha=1.0, name="x")).frame["affordable"].to_list() == [0]
        with pytest.raises(BudgetExceededError):
            session.mean(emdp.col("x"), alpha=1.0, name="x")
    ask(folder, "W1", alpha=3.0)


@pytest.mark.slow
def test_what_is_set_aside_may_be_more_than_a_joining_list_has_left(folder: Path) -> None:
    for week in ("W1", "W2"):
        ask(folder, week, alpha=3.0)
    with open_ledger(folder / "city.ledger") as ledger:
        reserve(ledger, "visits", "weekly", EmdDP(4.0))
    pl.DataFrame({"user": [1, 4], "x": [1.0, 1.0]}).write_parquet(folder / "W5.parquet")
    (folder / "lists/W5.csv").write_text("user\n1\n4\n")
    with pytest.raises(BudgetExceededError):
        ask(folder, "W5", alpha=0.5)
    ask(folder, "W1", alpha=1.0)


def refinable(folder: Path) -> emdp.Session:
    catalog = emdp.load_catalog(folder / "emdp.toml")
    table, budget = catalog.table(period="W1"), catalog.budget()
    return emdp.Session(table, budget=budget, ledger=catalog.ledger, period="W1", refinable=True)


def test_an_answer_of_another_list_is_not_refined(folder: Path) -> None:
    """Its noise tells of people who are no longer on the period's list, and nobody there would pay."""
    with refinable(folder) as session:
        first = session.mean(emdp.col("x"), alpha=1.0, name="x")
        assert session.refine(first, alpha=2.0).guarantee.level == 2.0
    (folder / "lists/W1.csv").write_text("user\n8\n9\n")
    pl.DataFrame({"user": [8, 9], "x": [1.0, 2.0]}).write_parquet(folder / "W1.parquet")
    declared = declaration_of(emdp.load_catalog(folder / "emdp.toml").table(period="W1"))
    with open_ledger(folder / "city.ledger") as ledger:
        redeclare_as(ledger, "visits", declared)
    with refinable(folder) as session:
        with pytest.raises(UsageError, match="another list"):
            session.refine(first, alpha=4.0)
        assert session.spent().level == 2.0


@pytest.mark.slow
def test_a_table_that_has_one_list_again_adds_up_what_was_asked_by_lists(folder: Path) -> None:
    for week in ("W1", "W2"):
        ask(folder, week, alpha=5.0)
    (folder / "all.csv").write_text("user\n" + "".join(f"{key}\n" for key in range(1, 8)))
    text = TEXT.replace("lists/{period}.csv", "all.csv")
    (folder / "emdp.toml").write_text(text)
    declared = declaration_of(emdp.load_catalog(folder / "emdp.toml").table(period="W1"))
    with open_ledger(folder / "city.ledger") as ledger:
        redeclare_as(ledger, "visits", declared)
    with pytest.raises(BudgetExceededError):
        ask(folder, "W1", alpha=3.5)
    ask(folder, "W1", alpha=3.0)
    with pytest.raises(BudgetExceededError):
        ask(folder, "W2", alpha=0.1)
