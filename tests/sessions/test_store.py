"""Stored answers: the same question is answered for nothing, another one is not."""

from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.answers.stored import StoredAnswer
from emdp.base.errors import BudgetExceededError, LedgerError, LedgerResourceError, UsageError
from emdp.sessions.planning import plan_request
from emdp.sessions.releasing import Releasing
from emdp.sessions.store import Store

ROWS = {"user": [1, 1, 2, 3], "x": [0.1, 0.5, 0.9, 0.2], "kind": ["a", "b", "a", "a"]}
USERS = pl.DataFrame({"user": [1, 2, 3], "joined": [date(2026, 1, 2), date(2026, 1, 3), date(2026, 1, 2)]})
KINDS = pl.DataFrame({"kind": ["a", "b"], "price": [1.0, 2.0]})
MEAN = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM visits"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open sessions on the same table, with one thing changed."""
    pl.DataFrame(ROWS).write_parquet(tmp_path / "visits.parquet")
    sessions = []

    def session(*, high: float = 1.0, users: Any = USERS, kinds: Any = KINDS, **options: Any) -> emdp.Session:
        space = emdp.Product(emdp.Interval("x", 0, high), emdp.Categories("kind", ["a", "b"]))
        table = emdp.read(tmp_path / "visits.parquet", user="user", space=space, users=users)
        budget = emdp.EmdDP(100.0, 1e-6)
        name = f"{high}.ledger"
        sessions.append(emdp.Session(table, budget=budget, ledger=tmp_path / name, public={"kinds": kinds}, **options))
        return sessions[-1]

    yield session
    for one in sessions:
        one.close()


def ask(session: emdp.Session, text: str, **options: Any) -> Any:
    return Store(session).ask(plan_request(text, session.names), **options)


@pytest.mark.quarter
@pytest.mark.parametrize(
    "text",
    [
        MEAN,
        MEAN.replace("AVG", "joined, AVG") + " GROUP BY joined",
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) kind, AVG(x) AS m, SHARE() AS s FROM visits GROUP BY kind",
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) FREQUENCY(GRID(0.25)) FROM visits",
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.001) QUANTILE(x, 0.5, 0.9) FROM visits WHERE kind = 'b'",
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, delta = 1e-8, noise = gaussian) AVG(price) FROM visits "
        "JOIN kinds USING (kind)",
    ],
)
def test_a_stored_answer_is_the_answer_to_every_bit(opened: Any, text: str) -> None:
    session = opened()
    (first,), (second,) = ask(session, text), ask(session, text)
    assert (first.is_reused, second.is_reused) == (False, True)
    assert second.answer.frame.equals(first.answer.frame, null_equal=True)
    assert second.answer.frame.schema == first.answer.frame.schema
    for name in ("query", "shape", "columns", "guarantee", "choice", "notes", "assumptions", "caveats", "explanation"):
        assert getattr(second.answer, name) == getattr(first.answer, name), name
    assert second.answer.receipt == first.answer.receipt
    assert second.answer.time == first.answer.time == first.stored.time
    assert session.spent().alpha == first.answer.guarantee.alpha


def test_layout_and_comments_make_no_other_question(opened: Any) -> None:
    session = opened()
    ask(session, MEAN)
    (again,) = ask(session, "-- the same\n" + MEAN.replace(" AVG", "\n   AVG").replace("( ", "("))
    assert again.is_reused


@pytest.mark.parametrize(
    "change",
    [
        {"period": "2026-W47"},
        {"users": USERS.with_columns(joined=pl.lit(date(2026, 1, 1)))},
        {"kinds": KINDS.with_columns(price=pl.Series([1.0, 3.0]))},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_question_is_paid(opened: Any, change: dict[str, Any]) -> None:
    text = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(price) AS m FROM visits JOIN kinds USING (kind)"
    assert not ask(opened(), text)[0].is_reused
    session = opened(**change)
    assert not ask(session, text)[0].is_reused
    assert session.spent().alpha == 2.0
    assert ask(session, text)[0].is_reused


def test_other_words_or_data_are_another_question(opened: Any, tmp_path: Path) -> None:
    session = opened()
    ask(session, MEAN)
    assert not ask(session, MEAN.replace("AS m", "AS n"))[0].is_reused
    assert not ask(session, MEAN.replace("= 1)", "= 2)"))[0].is_reused
    pl.DataFrame({**ROWS, "x": [0.2, 0.5, 0.9, 0.2]}).write_parquet(tmp_path / "visits.parquet")
    assert not ask(opened(), MEAN)[0].is_reused


def test_a_public_table_that_is_not_joined_makes_no_other_question(opened: Any) -> None:
    ask(opened(), MEAN)
    assert ask(opened(kinds=KINDS.with_columns(price=pl.lit(3.0))), MEAN)[0].is_reused


def test_a_call_of_a_session_always_spends_and_stores_nothing(opened: Any) -> None:
    session = opened()
    session.sql(MEAN)
    session.sql(MEAN)
    assert session.spent().alpha == 2.0
    assert session.ledger.entries(kind="answer") == ()
    assert not ask(session, MEAN)[0].is_reused


def test_what_the_budget_does_not_cover_stores_nothing(opened: Any) -> None:
    session = opened()
    with pytest.raises(BudgetExceededError):
        ask(session, MEAN.replace("= 1)", "= 101)"))
    assert session.ledger.entries(kind="answer") == session.ledger.entries(kind="charge") == ()


def test_the_newest_answer_counts(opened: Any) -> None:
    session = opened()
    ask(session, MEAN)
    (fresh,) = ask(session, MEAN, fresh=True)
    assert ask(session, MEAN)[0].answer.frame.equals(fresh.answer.frame)
    assert session.spent().alpha == 2.0


def test_nothing_is_shown_that_is_not_stored(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened()
    real = type(session.ledger).append

    def failing(self: Any, kind: str, *arguments: Any, **options: Any) -> Any:
        if kind == "answer":
            raise LedgerError("the disk is full; make room.")
        return real(self, kind, *arguments, **options)

    monkeypatch.setattr(type(session.ledger), "append", failing)
    with pytest.raises(LedgerError, match="disk is full"):
        ask(session, MEAN)
    monkeypatch.undo()
    # Whether the answer was seen is not known here, so the charge is not used again.
    assert not ask(session, MEAN)[0].is_reused
    assert session.spent().alpha == 2.0


def test_a_damaged_stored_answer_is_seen(opened: Any) -> None:
    session = opened()
    (kept,) = ask(session, MEAN)
    with pytest.raises(LedgerError, match="stored answer cannot be read"):
        StoredAnswer.from_text("{}", kept.stored.payload, kept.answer.receipt, "")


def test_data_that_change_while_they_are_read_show_nothing(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened()
    real = Releasing.answer

    def answer(self: Releasing, *arguments: Any) -> Any:
        made = real(self, *arguments)
        pl.DataFrame({**ROWS, "x": [0.2, 0.5, 0.9, 0.2]}).write_parquet(tmp_path / "visits.parquet")
        return made

    monkeypatch.setattr(Releasing, "answer", answer)
    with pytest.raises(UsageError, match="changed while they were read"):
        ask(session, MEAN)
    assert session.ledger.entries(kind="answer") == ()
    assert session.spent().alpha == 1.0


@pytest.mark.parametrize("kind", [LedgerError, LedgerResourceError])
def test_an_answer_that_cannot_be_stored_is_said_to_be_charged(
    opened: Any, monkeypatch: pytest.MonkeyPatch, kind: type[LedgerError]
) -> None:
    session = opened()
    append = session.ledger.append

    def failing(what: str, *words: Any, **options: Any) -> Any:
        if what == "answer":
            raise kind("ledger city.ledger finds the disk full; nothing was charged, so make room and ask again.")
        return append(what, *words, **options)

    monkeypatch.setattr(session.ledger, "append", failing)
    with pytest.raises(kind, match="finds the disk full; entry 5 stays charged, and its answer may be lost") as refusal:
        ask(session, MEAN)
    assert refusal.value.exit_status == kind("").exit_status
    assert len(session.ledger.entries("visits", "charge")) == 1
