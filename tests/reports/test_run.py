"""Running reports: every entry is paid once, whatever happens between its charge and its answer."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from emdp.base.errors import BudgetExceededError, LedgerError, ReportError, UsageError
from emdp.budgets.reservations import reserve
from emdp.catalog.catalog import load_catalog
from emdp.ledger import read_ledger
from emdp.privacy import EmdDP, UserDP
from emdp.reports import run as run_module
from emdp.reports.checking import check_definition, check_report
from emdp.reports.definition import load_report
from emdp.reports.export import write_report
from emdp.reports.lock import run_lock
from emdp.reports.manifest import check_manifest
from emdp.reports.page import page
from emdp.reports.run import forget_old, period_spending, run_report
from emdp.sessions.planning import plan_request
from emdp.sessions.releasing import Releasing
from emdp.sessions.store import Store

CATALOG = """
ledger = "v.ledger"
[tables.visits]
source = "{period}.parquet"
elsewhere = "neutral"
user = "user"
users = 4
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = { alpha = 20.0 }
protect = [{ fraction = 0.5, distance = 1, epsilon = 0.2 }]
"""
DEFINITION = """
title = "Visits"
catalog = "emdp.toml"
period = "one"
budget = { alpha = 6.0 }
retention = 30
[[entry]]
title = "Mean"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM visits"
[[entry]]
title = "Median"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) MEDIAN(x) AS m FROM visits"
[[entry]]
title = "Square"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x * x) AS m FROM visits"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"user": [1, 1, 2, 3], "x": [1.0, 3.0, 5.0, 9.0]}
    for period in ("one", "two"):
        pl.DataFrame(rows).write_parquet(tmp_path / f"{period}.parquet")
    (tmp_path / "emdp.toml").write_text(CATALOG)
    (tmp_path / "visits.toml").write_text(DEFINITION)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Callable[..., Any]:
    def once(*, period: str | None = None, **options: Any) -> Any:
        return run_report(*checked(folder, period), **options)

    return once


def checked(folder: Path, period: str | None = None) -> Any:
    report = load_report(folder / "visits.toml", period=period)
    catalog = load_catalog(report.catalog)
    return check_report(report, catalog), catalog


def entries(folder: Path, kind: str) -> list[Any]:
    with read_ledger(folder / "v.ledger") as ledger:
        ledger.verify()
        return list(ledger.entries("visits", kind))


def frames(found: Any) -> list[pl.DataFrame]:
    return [outcome.answer.frame for outcome in found.outcomes]


def test_the_same_report_again_costs_nothing_and_says_the_same(folder: Path, run: Any) -> None:
    first, second = run(), run()
    assert [outcome.is_reused for outcome in first.outcomes] == [False] * 3
    assert [outcome.is_reused for outcome in second.outcomes] == [True] * 3
    assert all(one.equals(other) for one, other in zip(frames(first), frames(second), strict=True))
    assert len(entries(folder, "charge")) == len(entries(folder, "answer")) == 3
    assert second.budgets[0].spent.alpha == 3.0
    assert second.spent[0].alpha == 3.0
    assert [outcome.answer.receipt.sequence for outcome in second.outcomes] == [
        entry.sequence for entry in entries(folder, "charge")
    ]
    assert second.outcomes[0].answer.time == entries(folder, "answer")[0].time


def test_entries_are_planned_once_and_again_where_a_file_changed_since(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again: list[object] = []

    def counted(request: object, *known: object) -> Any:
        again.append(request)
        return plan_request(request, *known)  # type: ignore[arg-type]

    monkeypatch.setattr("emdp.sessions.planning.plan_request", counted)
    report, catalog = checked(folder)
    run_report(report, catalog)
    assert not again
    report, catalog = checked(folder)
    pl.read_parquet(folder / "one.parquet").with_columns(y=1).write_parquet(folder / "one.parquet")
    assert all(outcome.answer is not None for outcome in run_report(report, catalog).outcomes)
    assert again == [entry.planned.text for entry in report.entries]


@pytest.mark.slow
def test_fresh_answers_are_paid_until_the_periods_budget_is_spent(folder: Path, run: Any) -> None:
    first, second = run(), run(fresh=True)
    # New noise; a frame of few possible rows, such as quantiles on a grid, may come out the same by chance.
    assert not all(one.equals(other) for one, other in zip(frames(first), frames(second), strict=True))
    assert run().outcomes[0].answer.frame.equals(second.outcomes[0].answer.frame)
    with pytest.raises(BudgetExceededError, match="for period one"):
        run(fresh=True)
    assert len(entries(folder, "charge")) == 6


@pytest.mark.slow
def test_each_period_has_its_budget_and_the_tables_is_for_all(folder: Path, run: Any) -> None:
    for period in ("one", "two"):
        run(period=period)
        run(period=period, fresh=True)
    found = run(period="two")
    assert found.budgets[0].spent.alpha == 12.0
    assert [answer.period for answer in found.outcomes[0].earlier] == ["one"]
    report, _ = checked(folder, "two")
    with read_ledger(folder / "v.ledger") as ledger:
        assert period_spending(ledger, report, report.budget).alpha == 6.0


def test_other_data_are_asked_anew(folder: Path, run: Any) -> None:
    run()
    pl.DataFrame({"user": [1, 2], "x": [9.0, 9.0]}).write_parquet(folder / "one.parquet")
    assert not any(outcome.is_reused for outcome in run().outcomes)


def test_a_report_that_the_tables_budget_does_not_cover_charges_nothing(folder: Path, run: Any) -> None:
    with checked(folder)[1].session("visits", period="one") as session:
        session.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 17.5) AVG(x) AS m FROM visits")
    with pytest.raises(BudgetExceededError):
        run()
    assert len(entries(folder, "charge")) == 1


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[BaseException, int], None]]:
    """Let a release fail: the given error is raised instead of the answer of that number."""
    real = Releasing.answer

    def arm(error: BaseException, number: int) -> None:
        calls = iter(range(100))

        def answer(self: Releasing, *arguments: Any) -> Any:
            if next(calls) == number:
                raise error
            return real(self, *arguments)

        monkeypatch.setattr(Releasing, "answer", answer)

    yield arm
    monkeypatch.setattr(Releasing, "answer", real)


def test_an_entry_that_fails_fails_alone_and_is_completed_under_its_charge(
    folder: Path, run: Any, breaking: Any
) -> None:
    breaking(UsageError("the engine fails; try again."), 1)
    found = run()
    assert [outcome.error for outcome in found.outcomes] == ["", "the engine fails; try again.", ""]
    assert [outcome.status for outcome in found.outcomes] == [0, 2, 0]
    assert found.outcomes[1].answer is None
    again = run()
    assert [outcome.is_reused for outcome in again.outcomes] == [True, False, True]
    assert len(entries(folder, "charge")) == len(entries(folder, "answer")) == 3


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_run_that_is_broken_off_after_a_charge_goes_on_without_paying_twice(
    folder: Path, run: Any, breaking: Any, number: int
) -> None:
    breaking(KeyboardInterrupt(), number)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert (len(entries(folder, "charge")), len(entries(folder, "answer"))) == (number + 1, number)
    found = run()
    assert [outcome.is_reused for outcome in found.outcomes] == [place < number for place in range(3)]
    assert len(entries(folder, "charge")) == len(entries(folder, "answer")) == 3
    assert {entry.payload["charge"] for entry in entries(folder, "answer")} == {
        entry.sequence for entry in entries(folder, "charge")
    }


def test_a_charge_that_bought_an_answer_is_never_completed_again(folder: Path, run: Any) -> None:
    run()
    report, catalog = checked(folder)
    with catalog.session("visits", period="one") as session:
        (store, *_) = run_module.stores_of(session, report)
        planned = report.entries[0].planned
        assert store._unfinished(planned, store.question(planned, session.table.data_version())) is None
        with session.releasing([planned]) as release:
            charge = session.ledger.entries("visits", "charge")[0]
            answer, question = release.answer(planned, charge), store.question(planned, release.version)
            with pytest.raises(LedgerError, match="stored already"):
                store._kept(answer, charge, question, release.version)


def test_only_the_report_that_made_a_charge_completes_it(folder: Path, run: Any, breaking: Any) -> None:
    breaking(KeyboardInterrupt(), 0)
    with pytest.raises(KeyboardInterrupt):
        run()
    report, catalog = checked(folder)
    with catalog.session("visits", period="one") as session:
        assert not Store(session).is_paid(report.entries[0].planned)
    text = (folder / "visits.toml").read_text()
    (folder / "visits.toml").write_text(text.replace('"Visits"', '"Others"'))
    run()
    assert len(entries(folder, "charge")) == 4


def test_a_second_run_waits_its_time_and_charges_nothing(folder: Path, run: Any) -> None:
    with (
        run_lock(str(folder / "v.ledger"), wait=0.0),
        pytest.raises(UsageError, match=r"another report is running on ledger .* waited 0\.2 s"),
    ):
        run(wait=0.2)
    assert not (folder / "v.ledger").exists()
    run(wait=0.0)


@pytest.mark.slow
def test_what_is_older_than_its_retention_is_forgotten_and_paid_anew(folder: Path, run: Any) -> None:
    run()
    report, _ = checked(folder)
    with checked(folder)[1].session("visits", period="one") as session:
        assert forget_old(session.ledger, report, now=datetime.now(UTC) + timedelta(days=29)) == 0
        assert forget_old(session.ledger, report, now=datetime.now(UTC) + timedelta(days=31)) == 3
    assert len(entries(folder, "answer")) == 3
    assert not any(outcome.is_reused for outcome in run().outcomes)


def test_what_is_wrong_with_keys_and_with_statements_is_said_at_once(folder: Path) -> None:
    text = (folder / "visits.toml").read_text().replace("retention = 30", "retention = 0\ncolour = 1")
    text = text.replace("AVG(x * x)", "AVG(FLOOR(x))").replace(
        "MEDIAN(x) AS m FROM visits", "MEDIAN(x) AS m FROM vists"
    )
    (folder / "visits.toml").write_text(f'{text}[[entry]]\ntitle = "None"\n')
    with pytest.raises(ReportError) as caught:
        check_definition(folder / "visits.toml")
    said = [str(problem) for problem in caught.value.problems]
    assert [int(line.split("visits.toml:")[1].split(":")[0]) for line in said] == [6, 7, 13, 16, 17]
    for part, line in zip(("retention", "colour", "vists", "FLOOR", "query"), said, strict=True):
        assert part in line


def test_progress_tells_every_entry_before_it_runs(run: Any) -> None:
    told: list[Any] = []
    run(progress=lambda *arguments: told.append(arguments))
    assert told == [(0, 3, "Mean"), (1, 3, "Median"), (2, 3, "Square")]


def test_a_page_says_in_words_what_is_protected(run: Any) -> None:
    assert run().protections == (
        "A change of half of your records of one by 1 is hidden with epsilon 0.15 by this page, and with epsilon 1 "
        "by all that is ever answered, even if as large a part of every other period's changes too. One record counts "
        "as 1/m of them if you have m in that period: with one record epsilon 2, with two 1, with ten 0.2.",
    )


@pytest.mark.slow
def test_what_a_report_may_still_spend_is_what_its_period_leaves(folder: Path, run: Any) -> None:
    left = run().budgets[0]
    assert (left.spent.alpha, left.remaining.alpha) == (3.0, 3.0)
    assert run(fresh=True).budgets[0].remaining.alpha == 0.0
    # Another period has a budget of its own, and no more than the table has.
    assert run(period="two").budgets[0].remaining.alpha == 3.0
    with checked(folder)[1].session("visits", period="two") as session:
        session.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 9) AVG(x) AS m FROM visits")
    assert run(period="two").budgets[0].remaining.alpha == 2.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tables", "own", "left"),
    [
        ("[{ alpha = 20.0 }, { epsilon = 9.0 }]", "{ alpha = 6.0 }", (3.0, 0.0)),
        ("[{ alpha = 20.0 }, { epsilon = 9.0 }]", "{ epsilon = 6.0 }", (3.0, 3.0)),
        ("{ epsilon = 9.0 }", "{ alpha = 5.0 }", (2.0,)),
        ("{ epsilon = 5.0 }", "{ alpha = 5.0 }", (2.0,)),
        ("{ epsilon = 9.0, r = 0.5 }", "{ alpha = 6.0 }", (1.5,)),
        ("{ epsilon = 9.0, neighbours = 'remove' }", "{ epsilon = 6.0, neighbours = 'remove' }", (3.0,)),
        ("{ epsilon = 9.0 }", "{ epsilon = 6.0, neighbours = 'remove' }", (3.0,)),
        # what is asked by removal counts twice in the report's own budget
        ("{ epsilon = 9.0, neighbours = 'remove' }", "{ epsilon = 6.0 }", (1.5,)),
    ],
)
def test_what_is_left_in_a_budget_of_another_kind(
    folder: Path, run: Any, tables: str, own: str, left: tuple[float, ...]
) -> None:
    (folder / "emdp.toml").write_text(CATALOG.replace("{ alpha = 20.0 }", tables))
    (folder / "visits.toml").write_text(DEFINITION.replace("{ alpha = 6.0 }", own))
    assert tuple(state.remaining.level for state in run().budgets) == left


@pytest.mark.slow
def test_a_report_on_a_table_that_shares_a_budget(folder: Path, run: Any) -> None:
    named = CATALOG.partition("budget")[0].partition("[tables.visits]")[2]
    (folder / "emdp.toml").write_text(f'{CATALOG}[tables.places]{named}shares = "visits"')
    run()
    text = (folder / "visits.toml").read_text().replace("FROM visits", "FROM places")
    (folder / "visits.toml").write_text(text)
    found = run(period="two")
    assert (found.table, found.account) == ("places", "visits")
    assert found.budgets[0].spent.alpha == 6.0
    assert all(outcome.is_reused for outcome in run(period="two").outcomes)


def test_a_report_draws_on_what_was_set_aside_for_it(folder: Path, run: Any) -> None:
    with checked(folder)[1].session("visits", period="one") as session:
        reserve(session.ledger, "visits", "weekly", EmdDP(3.0))
        assert session.remaining().alpha == 17.0
        session.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 17) AVG(x) AS m FROM visits")
        with pytest.raises(BudgetExceededError):
            session.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.5) AVG(x) AS m FROM visits")
    with pytest.raises(BudgetExceededError):
        run()
    text = (folder / "visits.toml").read_text()
    (folder / "visits.toml").write_text(text.replace("retention = 30", 'reserve = "wekly"'))
    with pytest.raises(UsageError, match="reserve 'wekly'"):
        run()
    (folder / "visits.toml").write_text(text.replace("retention = 30", 'reserve = "weekly"'))
    found = run()
    assert not any(outcome.error for outcome in found.outcomes)
    assert found.budgets[0].remaining.alpha == 0.0


def test_a_report_by_removal_on_a_table_without_users(folder: Path, run: Any) -> None:
    catalog = CATALOG.replace("users = 4\n", "").replace("{ alpha = 20.0 }", "{ epsilon = 9.0, neighbours = 'remove' }")
    (folder / "emdp.toml").write_text(catalog.partition("protect")[0])
    asked = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, neighbours = 'remove') AVG(x) AS m FROM visits"
    own = DEFINITION.partition("[[entry]]")[0].replace("{ alpha = 6.0 }", "{ epsilon = 6.0, neighbours = 'remove' }")
    (folder / "visits.toml").write_text(f'{own}[[entry]]\ntitle = "Mean"\nquery = "{asked}"\n')
    found = run()
    assert found.users is None
    assert found.budgets[0].spent == UserDP(1.0, neighbours="remove")
    assert found.budgets[0].remaining == UserDP(5.0, neighbours="remove")
    assert found.protections[0].startswith("That your records of one are there at all is hidden with epsilon 1 by this")
    assert all(outcome.is_reused for outcome in run().outcomes)
    (folder / "visits.toml").write_text(
        (folder / "visits.toml").read_text().replace("{ epsilon = 6.0", "{ alpha = 6.0")
    )
    with pytest.raises(ReportError, match="neighbours of the budget belong to an epsilon"):
        run()


@pytest.mark.slow
def test_a_report_draws_the_fit_of_a_measure(folder: Path) -> None:
    rows = {"user": [n % 60 for n in range(600)], "lat": [n % 10 / 10 for n in range(600)], "lon": [0.5] * 600}
    pl.DataFrame(rows).write_parquet(folder / "one.parquet")
    (folder / "emdp.toml").write_text(
        CATALOG.replace("users = 4", "users = 60").replace(
            'space = { kind = "interval", col = "x", low = 0, high = 10 }',
            'space = { kind = "geo", lat = "lat", lon = "lon", box = [0, 0, 1, 1], unit = "km" }',
        )
    )
    definition = DEFINITION.partition("[[entry]]")[0].replace("6.0", "20.0")
    (folder / "visits.toml").write_text(
        definition
        + '[[entry]]\ntitle = "Map"\nquery = "SELECT WITH EMD_PRIVACY MEASURE(*) AS nyc FROM visits"\n'
        + '[[entry]]\ntitle = "Pairs"\nquery = "SELECT WITH EMD_PRIVACY MEASURE(PAIRS()) AS both FROM visits"\n'
    )
    found = run_report(*checked(folder))
    outcome, _ = found.outcomes
    answer = outcome.answer
    assert answer.measured
    assert answer.frame["nyc"].to_list() == list(answer.measured)
    shares = answer.drawn["nyc"]
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1.0)
    assert answer.drawn["nyc_low"].equals(answer.frame["nyc_low"])
    shown = page(found, [["map.csv"], ["pairs.csv"]])
    assert "Map of nyc: the fitted measure at the released nodes" in shown
    # what is drawn of pairs are the released shares themselves
    assert "Values of both, with 95 % intervals</figcaption>" in shown
    again = run_report(*checked(folder))
    assert again.outcomes[0].is_reused
    assert again.outcomes[0].answer.drawn.equals(answer.drawn)


READING = """[[entry]]
title = "North"
query = "SELECT lat > 0.5 AS is_north, SUM(weight) AS share FROM MEASURE(nyc) GROUP BY is_north ORDER BY is_north"
picture = "bar"
"""


def test_an_entry_reads_a_measure_that_one_before_it_released_for_nothing(folder: Path) -> None:
    rows = {"user": [n % 60 for n in range(600)], "lat": [n % 10 / 10 for n in range(600)], "lon": [0.5] * 600}
    pl.DataFrame(rows).write_parquet(folder / "one.parquet")
    (folder / "emdp.toml").write_text(
        CATALOG.replace("users = 4", "users = 60").replace(
            'space = { kind = "interval", col = "x", low = 0, high = 10 }',
            'space = { kind = "geo", lat = "lat", lon = "lon", box = [0, 0, 1, 1], unit = "km" }',
        )
    )
    head = DEFINITION.partition("[[entry]]")[0].replace("6.0", "20.0")
    release = '[[entry]]\ntitle = "Map"\nquery = "SELECT WITH EMD_PRIVACY MEASURE(*) AS nyc FROM visits"\n'
    (folder / "visits.toml").write_text(head + release + READING)
    found = run_report(*checked(folder))
    one, other = found.outcomes
    assert other.error == ""
    assert other.answer.frame["share"].sum() == pytest.approx(1.0)
    assert [own for own, _ in other.reads] == [one.charge["sequence"]]
    # paid once: the page's sum has the measure once
    assert found.spent == (EmdDP(20.0),)
    with read_ledger(folder / "v.ledger") as ledger:
        assert len(ledger.entries("visits", "charge")) == 1
        assert len(ledger.entries("visits", "answer")) == 1
    shown = page(found, [["map.csv"], ["north.csv"]])
    assert "Reads a released measure, nothing spent." in shown
    assert "from the private measure nyc" in shown
    write_report(found, folder / "out")
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    with read_ledger(folder / "v.ledger") as ledger:
        assert check_manifest(manifest, folder / "out", ledger) == []
        forged = json.loads(json.dumps(manifest))
        forged["entries"][1]["reads"] = [99]
        assert any("reads" in problem for problem in check_manifest(forged, folder / "out", ledger))
        forged["entries"][0]["reads"] = manifest["entries"][1]["reads"]
        assert any("entries[0].reads" in problem for problem in check_manifest(forged, folder / "out", ledger))
    # alone it reads what the ledger has, and the page counts the measure once
    (folder / "visits.toml").write_text(head + READING + READING.replace("North", "South"))
    again = run_report(*checked(folder))
    assert [outcome.answer.frame.equals(other.answer.frame) for outcome in again.outcomes] == [True, True]
    assert again.spent == (EmdDP(20.0),)
    # before the release, by other columns, with a price, or of a measure that nobody released
    for text, match in (
        (READING + release, "below this one"),
        (release + READING.replace("lat >", "speed >"), "names what they lack"),
        (release + READING + "weight = 2.0\n", "weight has no use"),
        (release + READING.replace("MEASURE(nyc)", "visits"), "level|header|WITH"),
    ):
        (folder / "visits.toml").write_text(head + text)
        with pytest.raises(ReportError, match=match):
            checked(folder)
    (folder / "visits.toml").write_text(head + release + READING.replace("nyc", "rome"))
    known, unknown = run_report(*checked(folder)).outcomes
    assert known.is_reused
    assert "no measure rome was released" in unknown.error
    assert unknown.status == 2


@pytest.mark.slow
def test_an_entry_reads_a_measure_of_a_structure_by_its_columns(folder: Path) -> None:
    rows = {"user": [n % 60 for n in range(600)], "x": [n % 10 / 10 for n in range(600)], "y": [0.5] * 600}
    pl.DataFrame({**rows, "hour": [2.4 * (n % 10) for n in range(600)]}).write_parquet(folder / "one.parquet")
    plane = '{ kind = "vector", columns = ["x", "y"], box = [[0, 1], [0, 1]] }'
    (folder / "emdp.toml").write_text(
        CATALOG.replace("users = 4", "users = 60")
        .replace("{ fraction", '{ part = "x", fraction')
        .replace(
            'space = { kind = "interval", col = "x", low = 0, high = 10 }',
            f'space = {{ kind = "product", parts = [{plane}, {{ kind = "cycle", col = "hour", period = 24 }}] }}',
        )
    )
    head = DEFINITION.partition("[[entry]]")[0].replace("6.0", "20.0")
    release = """[[entry]]
title = "Map"
query = "SELECT WITH EMD_PRIVACY MEASURE(STRUCTURE('auto')) AS nyc FROM visits"
"""
    reading = READING.replace("lat > 0.5", "hour > 12")
    (folder / "visits.toml").write_text(head + release + reading)
    one, other = run_report(*checked(folder)).outcomes
    assert (one.error, other.error) == ("", "")
    assert other.answer.frame["share"].sum() == pytest.approx(1.0)
    assert one.answer.drawn["hour"].null_count() > 0
    (folder / "visits.toml").write_text(head + release + reading.replace("hour >", "lat >"))
    with pytest.raises(ReportError, match="names what they lack"):
        checked(folder)
