"""Attacks on reports and stored answers: files that change under a run, names in other capitals, broken rules."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from emdp.answers.stored import StoredAnswer
from emdp.base.errors import DataRuleError
from emdp.catalog.catalog import load_catalog
from emdp.cli.app import make_app
from emdp.ledger import read_ledger
from emdp.reports.checking import check_report
from emdp.reports.definition import load_report
from emdp.reports.export import write_report
from emdp.reports.manifest import check_manifest
from emdp.reports.run import period_spending, run_report
from emdp.sessions.planning import plan_request
from emdp.sessions.releasing import Releasing
from emdp.sessions.store import Store

CATALOG = """
ledger = "v.ledger"
[public.kinds]
source = "kinds.csv"
[tables.visits]
source = "visits.parquet"
user = "user"
users = "users.csv"
space = { kind = "product", parts = [
    { kind = "interval", col = "x", low = 0, high = 10 }, { kind = "categories", col = "cat", values = ["a", "b"] },
] }
budget = { alpha = 20.0 }
"""
DEFINITION = """
title = "Visits"
catalog = "emdp.toml"
budget = { alpha = 3.0 }
[[entry]]
title = "Mean"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM visits"
[[entry]]
title = "Median"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) MEDIAN(x) AS m FROM visits"
"""
SHARES = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) kind, SHARE() AS s FROM {} GROUP BY kind"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rows(tmp_path, user=3)
    write_users(tmp_path, 1000)
    (tmp_path / "emdp.toml").write_text(CATALOG)
    return tmp_path


def write_rows(folder: Path, *, user: int) -> None:
    rows = {"user": [1, 1, 2, user], "x": [1.0, 3.0, 5.0, 9.0], "cat": ["a", "b", "a", "a"]}
    pl.DataFrame(rows).write_parquet(folder / "visits.parquet")


def write_users(folder: Path, count: int) -> None:
    pl.DataFrame({"user": list(range(1, count + 1))}).write_csv(folder / "users.csv")


def checked(folder: Path, text: str = DEFINITION, period: str | None = None) -> Any:
    (folder / "visits.toml").write_text(text)
    report = load_report(folder / "visits.toml", period=period)
    catalog = load_catalog(report.catalog)
    return check_report(report, catalog), catalog


def changing(change: Callable[[], object], *, before: int) -> Callable[[int, int, str], None]:
    """Change something before the entry of that number, as another process might."""

    def progress(done: int, _total: int, _title: str) -> None:
        if done == before:
            change()

    return progress


def manifest_problems(folder: Path, run: Any) -> list[str]:
    write_report(run, folder / "out")
    with read_ledger(folder / "v.ledger") as ledger:
        return check_manifest(json.loads((folder / "out" / "manifest.json").read_text()), folder / "out", ledger)


def charges(folder: Path) -> int:
    with read_ledger(folder / "v.ledger") as ledger:
        return len(ledger.entries("visits", "charge"))


def test_noise_is_for_the_users_that_the_answer_is_about(folder: Path) -> None:
    old = checked(folder)
    write_users(folder, 3)
    answers = [outcome.answer for outcome in run_report(*old).outcomes]
    assert [answer.columns[0].noise_scale for answer in answers if answer is not None] == [
        entry.planned.plan.columns[0].noise_scale for entry in checked(folder)[0].entries
    ]


def test_a_query_is_sized_by_what_its_session_read(folder: Path) -> None:
    catalog = load_catalog(folder / "emdp.toml")
    text = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM visits"
    planned = plan_request(text, catalog.names())
    write_users(folder, 3)
    with catalog.session() as session:
        (kept,) = Store(session).ask(planned)
        (right,) = plan_request(text, session.names)
    assert kept.answer.columns[0].noise_scale == right.plan.columns[0].noise_scale


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        SHARES.format("visits JOIN kinds USING (cat)"),
        SHARES.format("visits JOIN Kinds USING (cat)"),
        SHARES.format('visits JOIN "KINDS" USING (cat)'),
        "WITH kinds AS (SELECT x, kind FROM visits JOIN kinds USING (cat)) " + SHARES.format("kinds"),
    ],
)
def test_another_public_table_is_another_question_however_it_is_named(folder: Path, text: str) -> None:
    catalog = load_catalog(folder / "emdp.toml")
    for kinds in (["p", "q"], ["q", "p"]):
        pl.DataFrame({"cat": ["a", "b"], "kind": kinds}).write_csv(folder / "kinds.csv")
        with catalog.session() as session:
            (kept,) = Store(session).ask(plan_request(text, session.names))
            assert not kept.is_reused


@pytest.fixture(autouse=True)
def kinds(folder: Path) -> None:
    pl.DataFrame({"cat": ["a", "b"], "kind": ["p", "q"]}).write_csv(folder / "kinds.csv")


@pytest.mark.slow
def test_data_that_change_during_a_run_do_not_widen_the_periods_budget(folder: Path) -> None:
    report, catalog = checked(folder)
    run_report(report, catalog)
    run = run_report(report, catalog, progress=changing(lambda: write_rows(folder, user=4), before=0))
    assert [outcome.status for outcome in run.outcomes] == [0, 3]
    with read_ledger(folder / "v.ledger") as ledger:
        assert period_spending(ledger, report, report.budget).level <= report.budget.level


def test_a_manifest_of_a_run_during_which_the_data_changed_agrees_with_the_ledger(folder: Path) -> None:
    run = run_report(*checked(folder), progress=changing(lambda: write_rows(folder, user=4), before=1))
    assert manifest_problems(folder, run) == []


def test_a_page_does_not_tell_that_records_break_a_rule(folder: Path) -> None:
    write_users(folder, 2)
    with pytest.raises(DataRuleError):
        run_report(*checked(folder))
    assert charges(folder) == 0


@pytest.mark.slow
def test_the_definition_in_the_manifest_is_the_one_that_ran(folder: Path) -> None:
    place = folder / "visits.toml"
    run = run_report(*checked(folder), progress=changing(lambda: place.write_text("title = 'Other'"), before=1))
    assert run.definition == DEFINITION
    assert run_report(*checked(folder), progress=changing(place.unlink, before=1)).definition == DEFINITION


@pytest.mark.slow
def test_an_entry_that_was_renamed_after_a_kill_has_a_manifest_that_agrees(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Releasing, "answer", killed)
        with pytest.raises(KeyboardInterrupt):
            run_report(*checked(folder))
    run = run_report(*checked(folder, DEFINITION.replace('"Mean"', '"Average"')))
    assert charges(folder) == 2
    assert manifest_problems(folder, run) == []


@pytest.mark.slow
def test_another_versions_answer_for_an_earlier_period_does_not_stop_a_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = StoredAnswer.to_text
    with monkeypatch.context() as patch:
        patch.setattr(StoredAnswer, "to_text", lambda own: real(own).replace('"shape": {', '"shape": {"newer": 1, '))
        run_report(*checked(folder, period="one"))
    run = run_report(*checked(folder, period="two"))
    assert [outcome.earlier for outcome in run.outcomes] == [(), ()]


@pytest.mark.slow
def test_a_line_joins_answers_to_the_same_question_alone(folder: Path) -> None:
    run_report(*checked(folder, period="one"))
    other = DEFINITION.replace("AS m FROM visits", "AS m FROM visits WHERE cat = 'a'", 1).replace("= 1)", "= 0.5)")
    run = run_report(*checked(folder, other, "two"))
    assert [len(outcome.earlier) for outcome in run.outcomes] == [0, 1]


@pytest.mark.parametrize(("source", "out"), [("01-mean.parquet", "."), ("*/*.parquet", "data")])
def test_a_reports_tables_neither_replace_a_source_nor_join_it(
    folder: Path, source: str, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder / source.replace("*/*", "data/rows")
    place.parent.mkdir(exist_ok=True)
    (folder / "visits.parquet").rename(place)
    rows = place.read_bytes()
    (folder / "emdp.toml").write_text(CATALOG.replace("visits.parquet", source))
    (folder / "visits.toml").write_text(DEFINITION)
    monkeypatch.chdir(folder)
    assert CliRunner().invoke(make_app(()), ["report", "visits.toml", "--out", out]).exit_code != 0
    assert place.read_bytes() == rows
    assert list(place.parent.glob("*.parquet")) == [place]
