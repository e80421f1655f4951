"""Refined answers: the difference is paid, noise is drawn backwards once, and a cut ends the chain."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import emdp
from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.expressions import col
from emdp.sessions import refining
from emdp.testing import seeded

ROWS = {"user": [1, 1, 2, 3], "x": [0.1, 0.5, 0.9, 0.2], "kind": ["a", "b", "a", "a"]}
SPACE = emdp.Product(emdp.Interval("x", 0, 1), emdp.Categories("kind", ["a", "b"]))
SQL = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM visits"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., emdp.Session]]:
    sessions = []

    def session(budget: Any = None, *, refinable: bool = True, rows: Any = ROWS, **options: Any) -> emdp.Session:
        table = emdp.read(rows, user="user", space=SPACE, users=100, name="visits", version="1")
        budget = emdp.EmdDP(100.0, 1e-6) if budget is None else budget
        options.setdefault("ledger", tmp_path / "v.ledger")
        sessions.append(emdp.Session(table, budget=budget, refinable=refinable, **options))
        return sessions[-1]

    yield session
    for one in sessions:
        one.close()


REQUESTS: dict[str, Callable[[emdp.Session], emdp.Answer]] = {
    "mean": lambda session: session.mean(col("x"), alpha=1),
    "vector": lambda session: session.vector_mean([col("x"), col("x") * 0.5], alpha=1, noise="laplace"),
    "SQL": lambda session: session.sql(SQL),
    "cells": lambda session: session.frequencies("kind", alpha=1, noise="laplace"),
    "groups": lambda session: session.sql(
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, noise = 'laplace') kind, AVG(x) AS m FROM visits GROUP BY kind"
    ),
}


@pytest.mark.quarter
@pytest.mark.parametrize("name", REQUESTS)
def test_the_difference_is_paid_and_the_answer_is_that_of_the_new_level(opened: Any, name: str) -> None:
    session = opened()
    first = REQUESTS[name](session)
    second = session.refine(first, alpha=4)
    third = session.refine(second, alpha=4.5)
    assert session.spent().level == 4.5
    assert session.history()["alpha"].to_list() == [1.0, 3.0, 0.5]
    assert (second.guarantee.level, third.guarantee.level) == (4.0, 4.5)
    if name != "groups":
        widths = [float((own.interval()["high"] - own.interval()["low"]).max()) for own in (first, second, third)]
        assert widths[0] / widths[1] == pytest.approx(4.0, rel=1e-6)
        assert widths[0] / widths[2] == pytest.approx(4.5, rel=1e-6)


def test_the_state_is_the_owners_alone(opened: Any, tmp_path: Path) -> None:
    session = opened()
    answer = session.mean(col("x"), alpha=1)
    path = tmp_path / "v.ledger.state"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(LedgerError, match="owner alone"):
        session.refine(answer, alpha=2)
    assert session.spent().level == 1.0


def test_nothing_is_kept_unless_asked_for(opened: Any, tmp_path: Path) -> None:
    session = opened(refinable=False)
    answer = session.mean(col("x"), alpha=1)
    assert not (tmp_path / "v.ledger.state").exists()
    with pytest.raises(UsageError, match="refinable=True"):
        session.refine(answer, alpha=2)
    with pytest.raises(LedgerError, match="whole price"):
        session.refine(emdp.mean(col("x"), alpha=1), alpha=2)


def test_another_session_refines_by_the_question_even_when_the_data_have_gone(opened: Any) -> None:
    with opened() as session:
        first = session.sql(SQL)
    other = opened(rows={"user": [1], "x": [1.0], "kind": ["a"]})
    again = other.refine(SQL, alpha=1)
    assert again.frame.equals(first.frame)
    better = other.refine(SQL, alpha=4)
    assert other.spent().level == 4.0
    assert other.refine(SQL, alpha=4).frame.equals(better.frame)
    assert other.spent().level == 4.0
    with seeded(1), pytest.raises(UsageError):
        other.refine(SQL, alpha=8)


def test_the_two_answers_are_tiers_of_one_release(tmp_path: Path) -> None:
    size, errors = 900, []
    with seeded(21):
        table = emdp.read(ROWS, user="user", space=SPACE, users=100, name="visits", version="1")
        with emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=tmp_path / "t.ledger", refinable=True) as session:
            first = session.vector_mean([col("x")] * size, alpha=1, noise="laplace")
            second = session.refine(first, alpha=2)
            assert not second.is_private
            for answer in (first, second):
                frame, exact = answer.frame, answer.exact
                errors.append(np.array([frame[name][0] - exact[name] for name in exact]))
    scales = [first.noise.scale, second.noise.scale]
    assert scales[0] == 2 * scales[1]
    for own, scale in zip(errors, scales, strict=True):
        p_values = [scipy.stats.kstest(own / (scale * factor), "laplace").pvalue for factor in (0.5, 1.0, 2.0)]
        assert p_values[1] > 1e-9 > max(p_values[0], p_values[2])
    # In a quarter of all numbers the step is nothing: 225 expected, with a deviation of 13.
    assert 140 < np.sum(np.abs(errors[0] - errors[1]) < 1e-9) < 310


def test_what_the_budget_lacks_is_refused_before_a_draw(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(emdp.EmdDP(3.0))
    answer = session.mean(col("x"), alpha=1)
    monkeypatch.setattr(refining, "drawn_again", lambda *arguments: pytest.fail("it drew"))
    with pytest.raises(BudgetExceededError):
        session.refine(answer, alpha=4)
    assert session.spent().level == 1.0


def test_a_cut_after_the_charge_ends_the_chain(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened()
    answer = session.mean(col("x"), alpha=1)

    def cut(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(refining.KeptNoise, "keep", cut)
        with pytest.raises(KeyboardInterrupt):
            session.refine(answer, alpha=2)
    assert session.spent().level == 2.0
    for level in (2, 4):
        with pytest.raises(LedgerError, match="cut off"):
            session.refine(answer, alpha=level)
    assert session.spent().level == 2.0


def test_a_lost_state_costs_the_refinement_alone(opened: Any, tmp_path: Path) -> None:
    session = opened()
    answer = session.mean(col("x"), alpha=1)
    (tmp_path / "v.ledger.state").unlink()
    with pytest.raises(LedgerError, match="lost"):
        session.refine(answer, alpha=2)
    assert session.spent().level == 1.0
    assert session.refine(session.mean(col("x"), alpha=1), alpha=2).guarantee.level == 2.0
    assert session.spent().level == 3.0


def test_two_processes_draw_once(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session, other = opened(), opened()
    answer = session.mean(col("x"), alpha=1)
    real = refining._charge

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr(refining, "_charge", real)
        other.refine(emdp.mean(col("x"), alpha=1), alpha=3)
        return real(*arguments)

    monkeypatch.setattr(refining, "_charge", overtaken)
    with pytest.raises(LedgerError, match="meanwhile"):
        session.refine(answer, alpha=2)
    assert session.spent().level == 3.0
    assert session.refine(answer, alpha=4).guarantee.level == 4.0


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("ask", "level"),
    [
        (lambda session: session.mean(col("x"), alpha=2), {"alpha": 1}),
        (lambda session: session.mean(col("x"), alpha=1), {"alpha": 1.0001}),
        (lambda session: session.mean(col("x"), alpha=1), {"alpha": 5000}),
        (lambda session: session.mean(col("x"), alpha=1), {"alpha": float("nan")}),
        (lambda session: session.mean(col("x"), alpha=1), {"epsilon": 2}),
        (lambda session: session.mean(col("x"), alpha=1), {}),
        (lambda session: session.mean(col("x"), alpha=1), {"alpha": emdp.tiers([4, 2])}),
        (lambda session: session.mean(col("x"), alpha=emdp.tiers([4, 1])), {"alpha": 8}),
        (lambda session: session.vector_mean([col("x")], alpha=1, delta=1e-9, noise="gaussian"), {"alpha": 2}),
        (lambda session: session.vector_mean([col("x"), col("x")], alpha=1, noise="k_norm"), {"alpha": 2}),
        (lambda session: session.mean(col("x"), alpha=1, model="local"), {"alpha": 2}),
        (lambda session: session.sql_batch(SQL + ";" + SQL.replace("AVG(x)", "AVG(x * x)"))[0], {"alpha": 2}),
        (lambda session: "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 3) AVG(x) FROM visits", {"alpha": 4}),
    ],
)
def test_refused(opened: Any, ask: Callable[[emdp.Session], Any], level: dict[str, Any]) -> None:
    session = opened()
    answer = ask(session)
    spent = session.spent().level
    with pytest.raises(emdp.EmdpError):
        session.refine(answer, **level)
    assert session.spent().level == spent


def test_a_period_is_refined_in_its_own(opened: Any) -> None:
    with opened(period="W1") as session:
        answer = session.mean(col("x"), alpha=1)
    with pytest.raises(UsageError, match="period"):
        opened(period="W2").refine(answer, alpha=2)


def test_a_server_has_no_place_for_the_secret(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened()
    monkeypatch.setattr(type(session.ledger), "path", property(lambda ledger: "postgresql://host/db"))
    with pytest.raises(UsageError, match="name a file"):
        session.mean(col("x"), alpha=1)


def test_a_level_that_is_not_above_the_last_is_said_so(opened: Any) -> None:
    session = opened()
    answer = session.mean(col("x"), alpha=1)
    for level in (0.5, 1.0001):
        with pytest.raises(UsageError, match="level must be above the last one by a thousandth or more, but that is 1"):
            session.refine(answer, alpha=level)
