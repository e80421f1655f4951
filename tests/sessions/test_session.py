"""The order of things in a session: refuse, price, validate, charge on disk, and only then compute and answer."""

import inspect
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp import questions
from emdp.base.errors import BudgetExceededError, DataRuleError, LedgerError, NotLipschitzError, UsageError
from emdp.ledger import read_ledger
from emdp.sessions import records

SPACE = emdp.Interval("x", 0, 10)
FRAME = pl.DataFrame({"user": [1, 1, 2, 3, 3, 3], "x": [1.0, 3.0, 5.0, 2.0, 2.5, 9.0]})


def table(frame: object = FRAME, users: object = 4, **more: object) -> emdp.Table:
    return emdp.read(frame, user="user", space=SPACE, users=users, **more)  # type: ignore[arg-type]


def session(folder: Path, budget: object = emdp.EmdDP(10.0), **more: object) -> emdp.Session:
    return emdp.Session(table(), budget=budget, ledger=folder / "t.ledger", **more)  # type: ignore[arg-type]


FAMILIES = sorted(name for name in questions.__all__ if inspect.isfunction(getattr(questions, name)))
"""Functions that freeze a question; each is a method of a session."""


def charges(folder: Path) -> int:
    with read_ledger(folder / "t.ledger") as ledger:
        return len(ledger.entries(kind="charge"))


def test_an_answer_says_what_holds(tmp_path: Path) -> None:
    answer = session(tmp_path).mean(emdp.col("x"), alpha=4, name="x")
    assert answer.guarantee == emdp.EmdDP(4.0) == answer.spent
    assert answer.is_private
    assert answer.noise.scale == 10 / (4 * 4)
    assert answer.frame.columns == ["x", "x_low", "x_high"]
    low, high = answer.frame["x_low"][0], answer.frame["x_high"][0]
    assert answer.interval(0.5)["low"][0] > low
    assert answer.interval(0.99)["high"][0] > high
    for word in ("EMD 2", "sensitivity", "public", "entry 5", "lipschitz 10"):
        assert word in answer.explain()
    assert "<table" in answer._repr_html_()
    with pytest.raises(UsageError, match=r"emdp\.testing\.seeded"):
        answer.exact  # noqa: B018
    with pytest.raises(UsageError, match="level"):
        answer.interval(1.0)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_method_has_the_parameters_of_its_function(family: str) -> None:
    method, function = (inspect.signature(getattr(owner, family)) for owner in (emdp.Session, questions))
    _, *parameters = method.parameters.values()
    assert parameters == [*function.parameters.values()]  # names, kinds, defaults, annotations
    assert all(one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters)
    assert family in vars(emdp.Session)
    assert method.return_annotation is emdp.Answer


@pytest.mark.parametrize("family", FAMILIES)
def test_a_method_passes_every_argument_on(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    signature = inspect.signature(getattr(questions, family))
    given = {name: object() for name in signature.parameters}

    def frozen(*arguments: object, **named: object) -> dict[str, object]:
        return signature.bind(*arguments, **named).arguments

    monkeypatch.setattr(f"emdp.sessions.session.{family}", frozen)
    monkeypatch.setattr(emdp.Session, "answer", lambda _, question: question)
    assert getattr(object.__new__(emdp.Session), family)(**given) == given


def test_the_charge_comes_before_the_statistic_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = session(tmp_path)
    monkeypatch.setattr("emdp.sessions.records.aggregate_checked", lambda *_: None)

    def explode(*_: object) -> object:
        assert charges(tmp_path) == 1, "computed before it was charged"
        raise RuntimeError("crash between charge and answer")

    monkeypatch.setattr("emdp.sessions.records.aggregate", explode)
    with pytest.raises(RuntimeError, match="crash"):
        opened.mean(emdp.col("x"), alpha=4)
    assert opened.remaining() == emdp.EmdDP(6.0)


@pytest.mark.parametrize("model", ["central", "local"])
def test_a_plan_is_checked_on_no_rows_before_the_charge(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = session(tmp_path)
    checks = {"central": "check_aggregation", "local": "check_items"}

    def refuse(*_: object) -> object:
        raise UsageError("the engine cannot compute this; ask for something else.")

    monkeypatch.setattr(f"emdp.sessions.records.{checks[model]}", refuse)
    with pytest.raises(UsageError, match="cannot compute this"):
        opened.mean(emdp.col("x"), alpha=4, model=model)
    assert charges(tmp_path) == 0


def test_data_that_change_while_they_are_read_show_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"who": [1, 2], "x": [0.25, 0.5]}).write_parquet(path)
    other = emdp.read(path, user="who", users=2, space=emdp.Interval("x", 0, 1))
    real = records.aggregate

    def exchanged(*arguments: Any) -> Any:
        pl.DataFrame({"who": [1, 2], "x": [7.5, 9.5]}).write_parquet(path)
        return real(*arguments)

    with emdp.Session(other, budget=emdp.EmdDP(10.0), ledger=tmp_path / "l.ledger") as opened:
        monkeypatch.setattr(records, "aggregate_checked", lambda *_: None)
        monkeypatch.setattr(records, "aggregate", exchanged)
        with pytest.raises(UsageError, match="changed while they were read"):
            opened.mean(emdp.col("x"), alpha=4)
        assert opened.spent().alpha == 4.0
        # The next question looks at the rules again.
        with pytest.raises(DataRuleError, match="outside the space's domain"):
            opened.mean(emdp.col("x"), alpha=4)
        assert opened.spent().alpha == 4.0


def test_other_columns_under_a_declared_version_are_no_bug(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"who": [1, 2], "x": [0.25, 0.5]}).write_parquet(path)
    other = emdp.read(path, user="who", users=2, space=emdp.Interval("x", 0, 1), version="1")
    with emdp.Session(other, budget=emdp.EmdDP(10.0), ledger=tmp_path / "l.ledger") as opened:
        opened.mean(emdp.col("x"), alpha=1)
        pl.DataFrame({"who": [1, 2], "y": ["a", "secret"]}).write_parquet(path)
        with pytest.raises(DataRuleError, match="has other columns, or columns of other types") as caught:
            opened.mean(emdp.col("x"), alpha=1)
        assert "secret" not in str(caught.value)
        assert opened.spent().alpha == 2.0


def test_nothing_is_computed_or_charged_beyond_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = session(tmp_path)
    opened.mean(emdp.col("x"), alpha=7)
    monkeypatch.setattr("emdp.sessions.records.aggregate", lambda *_: pytest.fail("computed"))
    with pytest.raises(BudgetExceededError) as caught:
        opened.mean(emdp.col("x"), alpha=3.0000001)
    assert caught.value.exit_status == 3
    assert charges(tmp_path) == 1
    assert opened.remaining() == emdp.EmdDP(3.0)


def test_ten_tenths_fit_and_an_eleventh_does_not(tmp_path: Path) -> None:
    opened = session(tmp_path, emdp.EmdDP(1.0))
    query = emdp.mean(emdp.col("x"), alpha=0.1)
    for left in range(10, 0, -1):
        assert opened.preview(query).statements[0].affordable == left
        opened.answer(query)
    assert opened.preview(query).statements[0].affordable == 0
    with pytest.raises(BudgetExceededError):
        opened.answer(query)
    assert opened.history().height == 10


def test_preview_needs_neither_data_nor_budget(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    opened = emdp.Session(table(tmp_path / "t.parquet"), budget=emdp.EmdDP(10.0), ledger=tmp_path / "t.ledger")
    (tmp_path / "t.parquet").unlink()
    frame = opened.preview(emdp.vector_mean([emdp.col("x"), 2 * emdp.col("x")], alpha=4, names=["a", "b"])).frame
    assert frame.columns == [
        "query", "expression", "lipschitz", "low", "high", "noise_scale", "expected_error", "interval_95", "alpha",
        "share", "affordable",
    ]  # fmt: skip
    assert frame["query"].to_list() == ["a", "b"]
    assert frame["lipschitz"].to_list() == [10.0, 20.0]
    assert frame["affordable"].to_list() == [2, 2]
    assert charges(tmp_path) == 0
    with pytest.raises(UsageError, match="names no file"):
        opened.mean(emdp.col("x"), alpha=4)
    assert charges(tmp_path) == 0


def test_rules_are_checked_once_a_data_version_before_any_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = FRAME.with_columns(x=pl.Series([1.0, 3.0, 5.0, 2.0, 2.5, 99.25]))
    bad.write_parquet(tmp_path / "t.parquet")
    opened = emdp.Session(table(tmp_path / "t.parquet"), budget=emdp.EmdDP(10.0), ledger=tmp_path / "t.ledger")
    with pytest.raises(DataRuleError) as caught:
        opened.mean(emdp.col("x"), alpha=1)
    assert caught.value.exit_status == 4
    assert "99" not in str(caught.value)
    assert charges(tmp_path) == 0
    FRAME.write_parquet(tmp_path / "t.parquet")
    opened.mean(emdp.col("x"), alpha=1)
    again = emdp.Session(table(tmp_path / "t.parquet"), budget=emdp.EmdDP(10.0), ledger=tmp_path / "t.ledger")
    monkeypatch.setattr(records.TableRecords, "check_rules", lambda _: pytest.fail("validated again"))
    again.mean(emdp.col("x"), alpha=1)
    assert charges(tmp_path) == 2


def test_another_declaration_on_the_same_ledger_is_refused(tmp_path: Path) -> None:
    session(tmp_path)
    session(tmp_path)
    with pytest.raises(LedgerError, match="another budget"):
        session(tmp_path, emdp.EmdDP(11.0))
    other = emdp.read(FRAME, user="user", space=emdp.Interval("x", 0, 11), users=4)
    first = session(tmp_path)
    emdp.Session(other, budget=emdp.EmdDP(10.0), ledger=tmp_path / "t.ledger")  # nobody was promised anything yet
    with pytest.raises(LedgerError, match="another space"):
        first.mean(emdp.col("x"), alpha=1)
    assert charges(tmp_path) == 0
    session(tmp_path).mean(emdp.col("x"), alpha=1)
    with pytest.raises(LedgerError, match="another space"):
        emdp.Session(other, budget=emdp.EmdDP(10.0), ledger=tmp_path / "t.ledger")
    with pytest.raises(LedgerError, match="another budget"):
        session(tmp_path, emdp.EmdDP(10.0, 1e-6), gaussian_share=0.5)
    named = table(name="second")
    emdp.Session(named, budget=emdp.EmdDP(3.0), ledger=tmp_path / "t.ledger").mean(emdp.col("x"), alpha=3)
    assert session(tmp_path).remaining() == emdp.EmdDP(9.0)


def test_two_budgets_are_charged_apart(tmp_path: Path) -> None:
    both = [emdp.EmdDP(10.0), emdp.UserDP(2.0, 1e-6)]
    opened = session(tmp_path, both)
    opened.mean(emdp.col("x"), alpha=4)
    answer = opened.mean(emdp.col("x"), epsilon=0.5)
    assert answer.guarantee == emdp.UserDP(0.5)
    assert answer.noise.scale == pytest.approx(10 / 4 / 0.5, rel=1e-14)
    assert opened.remaining() == emdp.EmdDP(6.0)
    assert opened.remaining(emdp.UserDP) == emdp.UserDP(1.5, 1e-6)
    assert session(tmp_path, both).spent(emdp.UserDP) == emdp.UserDP(0.5)
    with pytest.raises(LedgerError):
        session(tmp_path, both[0])


def test_a_release_is_paid_by_a_kind_it_converts_to_or_refused(tmp_path: Path) -> None:
    user = emdp.Session(table(), budget=emdp.UserDP(5.0), ledger=tmp_path / "user.ledger")
    user.mean(emdp.col("x"), alpha=4)
    assert user.remaining() == emdp.UserDP(1.0)
    bounded = emdp.Session(table(), budget=emdp.EmdDP(5.0, sizes="bounded"), ledger=tmp_path / "b.ledger")
    bounded.mean(emdp.col("x"), alpha=4)
    assert bounded.remaining().level == 1.0
    metric = session(tmp_path)
    with pytest.raises(UsageError) as caught:
        metric.mean(emdp.col("x"), epsilon=1)
    assert caught.value.exit_status == 2
    assert charges(tmp_path) == 0


def test_gaussian_noise_under_a_share_composes_by_squares(tmp_path: Path) -> None:
    budget = emdp.EmdDP(4.0, 1e-6)
    query = emdp.vector_mean([emdp.col("x")] * 3, alpha=0.5, delta=1e-8, noise="gaussian")
    plain = emdp.Session(table(name="plain"), budget=budget, ledger=tmp_path / "t.ledger")
    shared = emdp.Session(table(name="shared"), budget=budget, ledger=tmp_path / "t.ledger", gaussian_share=1.0)
    assert plain.preview(query).statements[0].affordable == 8
    assert shared.preview(query).statements[0].affordable > 30
    plain.answer(query)
    assert plain.spent() == emdp.EmdDP(0.5, 1e-8)
    answer = shared.answer(query)
    assert answer.guarantee == emdp.EmdDP(0.5, 1e-8)
    assert shared.spent().delta == 1e-6


def test_a_constant_is_answered_exactly_without_touching_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emdp.sessions.records.aggregate", lambda *_: pytest.fail("computed"))
    opened = session(tmp_path)
    answer = opened.mean(emdp.clamp(emdp.col("x"), 20, 30), alpha=4, name="x")
    assert answer.frame.row(0) == (20.0, 20.0, 20.0)
    assert opened.remaining() == emdp.EmdDP(10.0)


def test_refusals_charge_nothing(tmp_path: Path) -> None:
    opened = session(tmp_path)
    for expression in (emdp.col("x") > 5, emdp.log(emdp.col("x")), 1 / emdp.col("x")):
        with pytest.raises(NotLipschitzError) as caught:
            opened.mean(expression, alpha=1)
        assert caught.value.remedy
    for wrong in ({}, {"alpha": 1, "epsilon": 1}, {"alpha": -1}, {"alpha": 1, "delta": 1}, {"alpha": float("nan")}):
        with pytest.raises(UsageError):
            opened.mean(emdp.col("x"), **wrong)
    with pytest.raises(UsageError, match=r"made by emdp\.mean"):
        opened.answer("SELECT 1")  # type: ignore[arg-type]
    assert charges(tmp_path) == 0


def test_no_place_for_temporary_files_is_found_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = session(tmp_path)
    opened.mean(emdp.col("x"), alpha=1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(emdp.EmdpError, match="TMPDIR"):
        opened.mean(emdp.col("x"), alpha=1)
    assert charges(tmp_path) == 1


class TestSwitch:
    def test_answers_are_reproducible_marked_and_carry_the_truth(self, tmp_path: Path) -> None:
        values = []
        for number in range(2):
            with emdp.testing.seeded(5):
                opened = emdp.Session(table(), budget=emdp.EmdDP(10.0), ledger=tmp_path / f"{number}.ledger")
                answer = opened.mean(emdp.col("x"), alpha=4, name="x")
            values.append(answer.frame)
            assert not answer.is_private
            assert answer.exact["x"] == pytest.approx((2 + 5 + 4.5 + 5) / 4, abs=1e-12)
            assert "NOT PRIVATE" in answer.explain()
            assert "NOT PRIVATE" in str(answer)
            assert "NOT PRIVATE" in answer.caveats[0]
        assert values[0].equals(values[1])

    def test_neither_side_uses_the_other_s_ledger_or_session(self, tmp_path: Path) -> None:
        production = session(tmp_path)
        with emdp.testing.seeded(5):
            with pytest.raises(LedgerError, match="without the test switch"):
                session(tmp_path)
            with pytest.raises(UsageError, match="side of the test switch"):
                production.mean(emdp.col("x"), alpha=1)
            test = emdp.Session(table(), budget=emdp.EmdDP(10.0), ledger=tmp_path / "test.ledger")
        with pytest.raises(UsageError, match="side of the test switch"):
            test.mean(emdp.col("x"), alpha=1)
        with pytest.raises(LedgerError, match="under the test switch"):
            emdp.Session(table(), budget=emdp.EmdDP(10.0), ledger=tmp_path / "test.ledger")
        assert charges(tmp_path) == 0

    def test_intervals_cover_as_often_as_they_say(self, tmp_path: Path) -> None:
        """1,000 answers of three columns: the count inside is binomial, and 6 standard deviations is p < 1e-8."""
        query = emdp.vector_mean(
            [emdp.col("x"), 2 * emdp.col("x"), emdp.col("x") / 7], alpha=1e-3, names=["a", "b", "c"]
        )
        inside, together = 0, 0
        with emdp.testing.seeded(11):
            opened = emdp.Session(table(), budget=emdp.EmdDP(10.0), ledger=tmp_path / "t.ledger")
            (planned,) = opened._planned(query)
            (mechanism,) = planned.plan.mechanisms
            for _ in range(1000):
                noise = [abs(float(value)) for value in mechanism.release([0, 0, 0])]  # type: ignore[list-item]
                inside += noise[0] <= mechanism.interval_half_width(0.9)
                together += max(noise) <= mechanism.simultaneous_half_width(0.9)
        assert abs(inside - 900) < 6 * 9.5
        assert together > 900 - 6 * 9.5


SPENDER = """
import sys, polars as pl, emdp
frame = pl.DataFrame({"user": [1, 1, 2], "x": [1.0, 3.0, 5.0]})
table = emdp.read(frame, user="user", space=emdp.Interval("x", 0, 10), users=4)
session = emdp.Session(table, budget=emdp.EmdDP(2.0), ledger=sys.argv[1])
count = 0
try:
    while True:
        session.mean(emdp.col("x"), alpha=0.1)
        count += 1
except emdp.BudgetExceededError:
    print(count)
"""

VICTIM = """
import os, signal, sys, polars as pl, emdp, emdp.base.statistic
frame = pl.DataFrame({"user": [1, 1, 2], "x": [1.0, 3.0, 5.0]})
table = emdp.read(frame, user="user", space=emdp.Interval("x", 0, 10), users=4)
session = emdp.Session(table, budget=emdp.EmdDP(2.0), ledger=sys.argv[1])
emdp.base.statistic.Statistic.open = lambda _: os.kill(os.getpid(), signal.SIGKILL)
session.mean(emdp.col("x"), alpha=0.5)
"""


def test_processes_together_spend_the_budget_exactly(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SPENDER, str(tmp_path / "t.ledger")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    outputs = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], outputs
    assert sum(int(out) for out, _ in outputs) == 20 == charges(tmp_path)


def test_a_process_killed_before_its_answer_leaves_the_charge(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", VICTIM, str(tmp_path / "t.ledger")], capture_output=True, timeout=300, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert charges(tmp_path) == 1
    with read_ledger(tmp_path / "t.ledger") as ledger:
        assert ledger.verify()[0] == len(ledger.entries())
        assert "0.5" in json.dumps(ledger.entries(kind="charge")[0].payload)


def test_importing_and_opening_leave_no_file_behind(tmp_path: Path) -> None:
    before = set(os.listdir(tmp_path))
    session(tmp_path).close()
    assert {name.split("-")[0] for name in set(os.listdir(tmp_path)) - before} == {"t.ledger"}
