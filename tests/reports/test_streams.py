"""Streams of reports: read, checked by line, run week after week, drawn and priced on the page."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from emdp.base.errors import BudgetExceededError, ReportError, UsageError
from emdp.cli import main
from emdp.ledger import read_ledger
from emdp.reports.checking import check_definition
from emdp.reports.export import write_report
from emdp.reports.manifest import check_manifest
from emdp.reports.page import page
from emdp.reports.run import run_report
from emdp.reports.stream_entries import FIGURES

CATALOG = """
ledger = "x.ledger"
[tables.visits]
source = "{period}.parquet"
user = "user"
users = 40
elsewhere = "neutral"
space = { kind = "interval", col = "x", low = 0.0, high = 1.0 }
budget = { alpha = 400.0, delta = 1e-3, per_period = { alpha = 30.0, delta = 1e-4 } }
protect = [{ fraction = 0.5, distance = 0.1, epsilon = 1.0 }]
"""

REPORT = """
title = "Weeks"
catalog = "emdp.toml"
[[entry]]
title = "Share"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(RAMP(x, 0.5, 0.6)) AS high FROM visits"
[[stream]]
title = "Mean of x"
text = "Week after week."
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20, delta = 1e-5) AVG(x) AS km FROM visits"
periods = "2026-W01..2026-W04"
unit = "period"
plan = "both"
show = ["day", "to date"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for week in range(1, 6):
        random = np.random.default_rng(week)
        frame = pl.DataFrame({"user": np.repeat(np.arange(40), 3), "x": random.uniform(0, 1, size=120)})
        frame.write_parquet(tmp_path / f"2026-W0{week}.parquet")
    (tmp_path / "emdp.toml").write_text(CATALOG)
    (tmp_path / "weeks.toml").write_text(REPORT)
    return tmp_path


def run(folder: Path, week: int) -> Any:
    checked, catalog = check_definition(folder / "weeks.toml", period=f"2026-W0{week}")
    return run_report(checked, catalog)


def test_week_after_week_for_one_price(folder: Path) -> None:
    costs = []
    for week in (1, 2, 3):
        found = run(folder, week)
        (stream,) = found.streams
        assert stream.answer.released[-1] == f"2026-W0{week}"
        costs.append(stream.cost)
    assert costs[0] == costs[1] == costs[2]
    # The page counts what the stream costs a user with all its periods, beside the entry.
    assert found.spent[0].level == pytest.approx(1.0 + costs[0][0].level)
    assert costs[0][0].level > 20.0
    with read_ledger(folder / "x.ledger") as ledger:
        entries = ledger.entries("visits")
    assert sum("stream" in entry.payload for entry in entries if entry.kind == "charge") == 1
    text = page(found, [["share.csv"]])
    for part in ("Period after period", "Mean of x", "Week after week.", "3 of 4 periods, paid once", "to date of km"):
        assert part in text
    assert text.count("<svg") >= 3
    again = run(folder, 3)
    assert again.streams[0].answer.frame.equals(found.streams[0].answer.frame)
    assert not again.streams[0].answer.is_new


def test_all_rows_are_beside_the_page_with_their_intervals(folder: Path) -> None:
    for week in (1, 2):
        found = run(folder, week)
    written = write_report(found, folder / "page")
    names = [path.name for path in written]
    assert [name for name in names if name.startswith("stream-")] == [
        "stream-01-mean-of-x.csv",
        "stream-01-mean-of-x.parquet",
    ]
    rows = pl.read_parquet(folder / "page" / "stream-01-mean-of-x.parquet")
    assert rows.columns == ["period", "figure", "km", "km_low", "km_high"]
    assert rows["period"].to_list() == ["2026-W01"] * 2 + ["2026-W02"] * 2
    assert rows["figure"].to_list() == ["day", "to date"] * 2
    assert (rows["km_low"] < rows["km_high"]).all()
    assert rows.equals(found.streams[0].answer.frame)
    text = (folder / "page" / "stream-01-mean-of-x.csv").read_text()
    assert text.splitlines()[0] == "period,figure,km,km_low,km_high"
    assert 'href="stream-01-mean-of-x.csv"' in (folder / "page" / "index.html").read_text()
    # The manifest has their digests, so that a changed row shows.
    manifest = json.loads((folder / "page" / "manifest.json").read_text())
    with read_ledger(folder / "x.ledger") as ledger:
        assert check_manifest(manifest, folder / "page", ledger) == []
        (folder / "page" / "stream-01-mean-of-x.csv").write_text(text.replace("2026-W01", "2026-W09"))
        assert check_manifest(manifest, folder / "page", ledger) == ["files: 'stream-01-mean-of-x.csv' was changed"]


def test_a_stream_that_fails_fails_alone(folder: Path) -> None:
    run(folder, 3)
    found = run(folder, 2)
    (stream,) = found.streams
    assert stream.answer is None
    assert "counts as skipped" in stream.error
    assert found.outcomes[0].answer is not None
    assert "Failed:" in page(found, [["share.csv"]])


@pytest.mark.slow
def test_the_command_says_what_streams_cost_and_fails_with_them(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    pages = tmp_path_factory.mktemp("pages")

    def told(week: int, *more: str) -> tuple[object, str]:
        with pytest.raises(SystemExit) as done:
            main(["report", str(folder / "weeks.toml"), "--period", f"2026-W0{week}", *more])
        return done.value.code or 0, "".join(capsys.readouterr())

    status, said = told(3, "--dry-run")
    assert status == 0
    assert "stream Mean of x: costs alpha = 20.0 per unit of d_em, delta = 1e-05 (unbounded central EmdDP" in said
    assert "once, for all its periods; it is charged alpha = " in said
    assert (
        "alpha = 20.0 per unit of d_em, delta = 1e-05 (unbounded central EmdDP per period) in each of 4 periods" in said
    )
    assert [line.split()[:2] for line in said.splitlines() if "km" in line and "stream" not in line] == [
        ["day", "km"], ["to", "date"],
    ]  # fmt: skip
    assert said.count("people without records count with the neutral item, x = 0.5") == 1
    status, said = told(3, "--out", str(pages / "third"))
    assert (status, "stream Mean of x: spent alpha = " in said, "once for all its periods" in said) == (0, True, True)
    # Both budgets are named, each with what it was charged.
    (spent,) = [line for line in said.splitlines() if "stream Mean of x: spent" in line]
    assert re.findall(r"(once|in each of 4 periods), of the budget alpha = ([0-9.]+)", spent) == [
        ("once", "400.0"), ("in each of 4 periods", "30.0"),
    ]  # fmt: skip
    (page,) = (pages / "third").glob("*.html")
    # Below the figures, and in their derivation.
    assert page.read_text().count("in each of 4 periods, of the budget alpha = 30.0") == 2
    status, said = told(3, "--out", str(pages / "third"))
    assert (status, "stream Mean of x: already paid" in said, "spent alpha" in said) == (0, True, False)
    assert "stream Mean of x: costs nothing: it is paid, and has 1 of 4 rows" in told(3, "--dry-run")[1]
    status, said = told(2, "--out", str(pages / "second"))
    assert (status, "failed: Mean of x: " in said) == (UsageError.exit_status, True)


def test_what_the_budget_does_not_cover_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "emdp.toml").write_text(CATALOG.replace("alpha = 30.0", "alpha = 15.0"))
    with pytest.raises(SystemExit) as done:
        main(["report", str(folder / "weeks.toml"), "--period", "2026-W01", "--dry-run"])
    assert done.value.code == BudgetExceededError.exit_status
    assert "not covered: " in capsys.readouterr().out
    found = run(folder, 1)
    assert found.streams[0].answer is None
    assert found.streams[0].status == BudgetExceededError.exit_status
    assert found.outcomes[0].answer is not None


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('unit = "period"\n', "", 7, "unit must be written out"),
        ('unit = "period"', 'unit = "week"', 12, "unit must be written out"),
        ('plan = "both"', 'plan = "weeks"', 13, "plan is none of"),
        ('show = ["day", "to date"]', 'show = ["week"]', 14, "show is no list"),
        ('show = ["day", "to date"]', 'shows = ["day"]', 14, "unknown key 'shows'"),
        ('periods = "2026-W01..2026-W04"', 'periods = "2026-W04..2026-W01"', 11, "periods must be from"),
        ('periods = "2026-W01..2026-W04"\n', "", 7, "no periods"),
        ('title = "Mean of x"\n', "", 7, "no title"),
        (", delta = 1e-5", "", 7, "delta must be above 0"),
        ("AVG(x) AS km", "AVG(x AS km", 7, "Mean of x"),
        ("2026-W01..2026-W04", "2026-W03..2026-W04", 7, "one of the stream's"),
        ("[[stream]]", "[stream]", 7, "not a list of tables"),
        ('plan = "both"', "active = 0", 13, "active is no number of periods"),
        ('plan = "both"', 'active = "3"', 13, "active is no number of periods"),
        ('plan = "both"', "active = 3", 7, "active must be left out of a question with alpha"),
    ],
)
def test_problems_are_said_by_line(folder: Path, old: str, new: str, line: int, said: str) -> None:
    assert REPORT.count(old) == 1
    (folder / "weeks.toml").write_text(REPORT.replace(old, new))
    with pytest.raises(ReportError) as error:
        check_definition(folder / "weeks.toml", period="2026-W01")
    found = [problem for problem in error.value.problems if said in str(problem)]
    assert found, [str(problem) for problem in error.value.problems]
    assert found[0].line == line


@pytest.mark.slow
def test_a_cap_on_active_periods(folder: Path) -> None:
    """Everybody is there every week: two weeks count of each, and in the third nobody does."""
    catalog = CATALOG.replace('elsewhere = "neutral"', "elsewhere = 1")
    budget = "budget = { alpha = 400.0, delta = 1e-3, per_period = { alpha = 30.0, delta = 1e-4 } }"
    assert budget in catalog
    catalog = catalog.replace(budget, "budget = { epsilon = 90.0, delta = 1e-3 }").replace("protect = [{ fraction", "#")
    (folder / "emdp.toml").write_text(catalog)
    report = REPORT.replace("EMD_PRIVACY OPTIONS (alpha =", "USER_PRIVACY OPTIONS (epsilon =")
    report = report.replace('unit = "period"\nplan = "both"', 'unit = "user"\nactive = 2')
    report = report.replace('title = "Weeks"', 'title = "Weeks"\n').replace(
        'show = ["day", "to date"]', 'show = ["day"]'
    )
    (folder / "weeks.toml").write_text(report)
    for week in (1, 2, 3):
        found = run(folder, week)
        (stream,) = found.streams
        assert stream.error == ""
    assert stream.answer.released[-1] == "2026-W03"
    days = stream.answer.interval(1 - 1e-9)
    assert [low is None or low == -np.inf or low <= 0.6 for low in days["km_low"].to_list()] == [True] * 3
    assert days.row(0, named=True)["km"] == pytest.approx(0.5, abs=0.2)
    assert days.row(2, named=True)["km"] is None
    assert "Of you at most 2 periods count" in page(found, [["share.csv"]])


def test_figures_are_those_of_the_product() -> None:
    from emdp.mechanisms.streams.estimates import SHOWS

    assert FIGURES == SHOWS


def test_a_report_may_be_of_streams_alone(folder: Path) -> None:
    entry, stream = REPORT.index("[[entry]]"), REPORT.index("[[stream]]")
    (folder / "weeks.toml").write_text(REPORT[:entry] + REPORT[stream:])
    for _ in range(2):
        shown = page(run(folder, 1), [])
        assert "Mean of x" in shown
        assert "were stored" not in shown
        assert "Answers</h2>" not in shown
        # A budget of periods is for one of them.
        assert "for all that is ever answered of one period, alpha 20" in shown


@pytest.mark.slow
def test_a_report_of_streams_alone_finds_their_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = CATALOG[CATALOG.index("[tables") :].replace("visits", "others")
    (folder / "emdp.toml").write_text(CATALOG + other)
    text = REPORT[: REPORT.index("[[entry]]")] + REPORT[REPORT.index("[[stream]]") :]
    (folder / "weeks.toml").write_text(text)
    assert check_definition(folder / "weeks.toml", period="2026-W01")[0].table == "visits"
    for changed, said in (("FROM visit", "no query names a table"), ("FORM visits", "stream 'Mean of x': ")):
        (folder / "weeks.toml").write_text(text.replace("FROM visits", changed))
        with pytest.raises(ReportError, match=said):
            check_definition(folder / "weeks.toml", period="2026-W01")
    (folder / "weeks.toml").write_text(text)
    for command, said in (
        (["report", str(folder / "weeks.toml"), "--period", "2026-W01", "--out", f"{folder}-page"], "index.html"),
        # A budget per period counts what the other pays: in its own rows, not as a second charge.
        (["ledger", "show", str(folder / "x.ledger")], "AVG(x)"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(command)
        out, err = capsys.readouterr()
        assert (ended.value.code, out.count(said)) == (0, 1), err
