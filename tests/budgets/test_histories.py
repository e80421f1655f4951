"""Budgets per history in a ledger: beside others and alone, streams, refusals, catalogs, pages."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, UsageError
from emdp.budgets.spending import accounts_of, burn_down, charges_of
from emdp.catalog.catalog import load_catalog
from emdp.ledger import read_ledger
from emdp.privacy import Change, EmdDP, UserDP
from emdp.reports.meaning import meaning
from emdp.reports.words import protection_sentences

HISTORY = EmdDP(8.0, unit="history", periods=3)
ALL = [EmdDP(60.0), EmdDP(2.5, unit="period"), HISTORY]


def session(folder: Path, period: str | None, budget: object = ALL, **more: object) -> emdp.Session:
    rows = {"user": [1, 1, 2], "x": [0.1, 0.4, 0.9]}
    options = {"slots": 4, **more}
    table = emdp.read(rows, user="user", space=emdp.Interval("x", 0, 1), users=2, name="visits", version=f"{period}", **options)  # type: ignore[call-overload]  # fmt: skip # noqa: E501
    return emdp.Session(table, budget=budget, ledger=folder / "x.ledger", period=period)  # type: ignore[arg-type]


def ask(asked: emdp.Session, alpha: float) -> emdp.Answer:
    return asked.mean(emdp.col("x"), alpha=alpha, name="x")


def test_three_units_count_every_answer(tmp_path: Path) -> None:
    for period, alpha in (("W1", 1.0), ("W2", 2.5), ("W1", 1.0)):
        with session(tmp_path, period) as asked:
            ask(asked, alpha)
    with session(tmp_path, "W1") as asked:
        assert [asked.spent(own).level for own in ALL] == [4.5, 2.0, 6.0]
        assert asked.remaining(HISTORY).level == 2.0
        with pytest.raises(BudgetExceededError):
            ask(asked, 0.6)
        assert asked.preview(emdp.mean(emdp.col("x"), alpha=0.25, name="x")).frame["affordable"].to_list() == [2]
        assert asked.spent().level == 4.5
    with session(tmp_path, "W3") as asked:
        ask(asked, 0.5)
    with session(tmp_path, "W4") as asked, pytest.raises(BudgetExceededError, match="3 periods"):
        ask(asked, 0.1)
    entries = _entries(tmp_path)
    assert [account.spent.level for account in accounts_of(entries)] == [5.0, 2.5, 7.5]
    steps = burn_down(charges_of(entries), accounts_of(entries)[2].budget)
    assert steps == (("W1", 5.0), ("W2", 0.5), ("W1", 2.0), ("W3", 6.5))


def test_alone_it_pays(tmp_path: Path) -> None:
    for period in ("W1", "W2", "W3"):
        with session(tmp_path, period, HISTORY) as asked:
            ask(asked, 2.5)
            assert asked.spent() == EmdDP(7.5, unit="history", periods=3)
            with pytest.raises(BudgetExceededError):
                ask(asked, 0.2)


def test_beside_one_per_period_both_count(tmp_path: Path) -> None:
    budget = [HISTORY, EmdDP(2.0, unit="period")]
    with session(tmp_path, "W1", budget) as asked:
        ask(asked, 2.0)
        with pytest.raises(BudgetExceededError):
            ask(asked, 0.1)
        assert [asked.spent(own).level for own in budget] == [6.0, 2.0]


def test_a_month_beside_its_weeks_is_refused(tmp_path: Path) -> None:
    """A record of the week is one of the month, and both budgets would count it apart."""
    for place, budget in enumerate((HISTORY, EmdDP(8.0, unit="period"))):
        folder = tmp_path / str(place)
        folder.mkdir()
        with session(folder, "2026-W02", budget) as asked:
            ask(asked, 0.5)
        with session(folder, "2026-01", budget) as asked, pytest.raises(UsageError, match="days in common"):
            ask(asked, 0.5)
        with session(folder, "2026-02", budget) as asked:
            ask(asked, 0.5)
        assert len([entry for entry in _entries(folder) if entry.kind == "charge"]) == 2


def test_without_a_period_it_is_refused(tmp_path: Path) -> None:
    with session(tmp_path, None) as asked, pytest.raises(UsageError, match="period is missing"):
        ask(asked, 0.1)


def test_without_slots_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="slots"):
        session(tmp_path, "W1", slots=None)
    rows = {"user": [1, 2], "x": [0.1, 0.9]}
    table = emdp.read(rows, user="user", space=emdp.Interval("x", 0, 1), users=2, name="visits", records=1)
    emdp.Session(table, budget=HISTORY, ledger=tmp_path / "y.ledger", period="W1").close()


class TestStreams:
    """A stream per history, and streams of other units paid by a budget per history."""

    WEEKS = ("W1", "W2", "W3")
    BUDGET = (EmdDP(400.0, 1e-3), EmdDP(900.0, 1e-3, unit="history", periods=4))

    def asked(self, folder: Path, week: int, *, budget: object = None, **more: object) -> emdp.answers.StreamAnswer:
        random = np.random.default_rng(week)
        frame = pl.DataFrame({"user": np.repeat(np.arange(40), 2), "x": random.uniform(0, 1, size=80)})
        space = emdp.Interval("x", 0, 1)
        table = emdp.read(frame, user="user", space=space, users=40, name="visits", version=f"v{week}", slots=4)
        values = {"periods": self.WEEKS, "unit": "history", "plan": "totals", "show": ("day", "to date"), **more}
        query = emdp.mean(emdp.col("x"), alpha=60.0, delta=1e-5, name="x")
        own = self.BUDGET if budget is None else budget
        with emdp.Session(table, budget=own, ledger=folder / "x.ledger", period=f"W{week}") as opened:  # type: ignore[arg-type]
            return opened.stream(query, **values)  # type: ignore[arg-type]

    def test_one_charge_in_every_unit(self, tmp_path: Path) -> None:
        for week in (1, 2):
            answer = self.asked(tmp_path, week)
        assert answer.guarantee == EmdDP(60.0, 1e-5, unit="history", periods=3)
        assert "a part of 3 periods" in str(answer.explain())
        user, history = accounts_of(_entries(tmp_path))
        # The budget's history is of four periods: what moves three of them is a smaller part of it.
        assert history.spent.level == 80.0
        assert history.spent.delta == 1e-5
        assert 20.0 < user.spent.level < 60.0

    def test_alone_it_pays_and_is_not_prolonged(self, tmp_path: Path) -> None:
        self.asked(tmp_path, 1, budget=self.BUDGET[1])
        with pytest.raises(UsageError, match="further ones"):
            self.asked(tmp_path, 1, budget=self.BUDGET[1], periods=(*self.WEEKS, "W4"))
        (account,) = accounts_of(_entries(tmp_path))
        assert account.spent.level == 80.0

    def test_it_has_as_many_periods_as_the_budget(self, tmp_path: Path) -> None:
        with pytest.raises(BudgetExceededError, match="4 periods"):
            self.asked(tmp_path, 1, periods=("W1", "W2", "W3", "W4", "W5"))

    def test_without_a_budget_per_history_it_is_paid_by_the_user_s(self, tmp_path: Path) -> None:
        self.asked(tmp_path, 1, budget=EmdDP(400.0, 1e-3))
        self.asked(tmp_path, 1, budget=EmdDP(400.0, 1e-3), periods=(*self.WEEKS, "W4"))


CATALOG = """
ledger = "x.ledger"
[tables.visits]
source = "{source}"
user = "user"
users = 2
slots = 20
protect = [{{ records = 3, distance = 0.1, epsilon = 0.2 }}]
space = {{ kind = "interval", col = "x", low = 0.0, high = 1.0 }}
budget = {budget}
"""


@pytest.mark.parametrize(
    ("budget", "found"),
    [
        ("{ history = { alpha = 104.0, periods = 52 } }", (EmdDP(104.0, unit="history", periods=52),)),
        (
            "{ alpha = 60.0, per_period = { alpha = 2.0 }, history = { periods = 52, delta = 1e-9 } }",
            (EmdDP(60.0), EmdDP(2.0, unit="period"), EmdDP(52 * 40 / 3, 1e-9, unit="history", periods=52)),
        ),
        (
            "[{ alpha = 60.0, history = { alpha = 80.0, periods = 52 } }, { epsilon = 1.0 }]",
            (EmdDP(60.0), EmdDP(80.0, unit="history", periods=52), UserDP(1.0)),
        ),
        (
            "{ per_period = { alpha = 2.0 }, history = { alpha = 80.0, periods = 52 } }",
            (EmdDP(2.0, unit="period"), EmdDP(80.0, unit="history", periods=52)),
        ),
    ],
)
def test_catalogs(tmp_path: Path, budget: str, found: tuple[EmdDP, ...]) -> None:
    (tmp_path / "emdp.toml").write_text(CATALOG.format(source="{period}.parquet", budget=budget))
    own = load_catalog(tmp_path / "emdp.toml").budgets("visits")
    assert [one.kind for one in own] == [one.kind for one in found]
    assert [one.level for one in own] == pytest.approx([one.level for one in found])
    assert [one.delta for one in own] == [one.delta for one in found]


def test_in_words() -> None:
    space = emdp.read({"user": [1], "x": [0.1]}, user="user", space=emdp.Interval("x", 0, 50), users=1, slots=20).space
    changes = [Change(records=3, distance=5, epsilon=0.2)]
    year = EmdDP(emdp.protect(*changes, space=space, periods=52), unit="history", periods=52)
    (said,) = protection_sentences([EmdDP(60.0), EmdDP(52.0, unit="history", periods=52)], [year, EmdDP(60.0)], changes, space, period="W1")  # fmt: skip # noqa: E501
    assert said.endswith(
        " A change of 3 of your records of all 52 periods together by 5 is hidden with epsilon 0.2 by all that is ever "
        "answered, in whichever periods they are."
    )
    # Alone it bounds what all periods together cost, and a page's answers read one of them.
    (alone,) = protection_sentences([EmdDP(52.0, unit="history", periods=52)], [year], changes, space, period="W1")
    assert "is hidden with epsilon 0.015 by this page, and with epsilon 10.4 by all that is ever answered" in alone
    found = meaning([EmdDP(52.0, unit="history", periods=52)], changes, space)
    assert found is not None
    assert found.rows[0].epsilon == pytest.approx(0.015)


def test_in_words_a_guarantee_up_to_a_distance_is_of_one_period() -> None:
    """The three records may be of one week, whose bags are then 0.015 apart, and 0.015/52 is no distance of any."""
    space = emdp.read({"user": [1], "x": [0.1]}, user="user", space=emdp.Interval("x", 0, 50), users=1, slots=20).space
    changes, spent = [Change(records=3, distance=5, epsilon=0.2)], [EmdDP(52.0, unit="history", periods=52)]
    for r, said in ((0.01, "no promise at all"), (0.02, "epsilon 0.5")):
        promises = [EmdDP(1040.0, unit="history", periods=52), emdp.DiscreteEmdDP(0.2, 0.0, r)]
        (found,) = protection_sentences(spent, promises, changes, space, period="W1")
        assert f"of all 52 periods together by 5 is hidden with {said} by all that is ever" in found
    change = Change(records=3, distance="elsewhere", epsilon=0.2)
    (found,) = protection_sentences(spent, [EmdDP(1040.0, unit="history", periods=52)], [change], space, period="W1")
    assert found.endswith("in whichever periods they are; one that moves to another period counts as two.")


def _entries(folder: Path) -> tuple[emdp.ledger.Entry, ...]:
    with read_ledger(folder / "x.ledger") as ledger:
        return ledger.entries("visits")
