"""``emdp ledger show`` by period and query, as a picture and as JSON; ``emdp ledger reserve``; both in ``history``."""

import io
import json
import re
import sys
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from emdp.base.errors import EmdpError, LedgerError, UsageError
from emdp.cli import main
from emdp.cli.ledger import app
from emdp.cli.spending import EIGHTHS, bars, spending_of, spending_rows
from emdp.cli.tables import table_width
from emdp.ledger import open_ledger
from emdp.privacy import Budget, EmdDP, GaussianEvent, GuaranteeEvent, UserDP

EMD, USER = EmdDP(0).kind_name, UserDP(0).kind_name
HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = {})"


def charge(ledger, guarantee, query, period=None, report=None, table="visits"):
    tags = {} if period is None else {"period": period, "report": report, "entry": "one", "reserve": None}
    payload = {"event": GuaranteeEvent(guarantee).to_json(), "budget": guarantee.kind_name, "query": query, **tags}
    return ledger.append("charge", table, payload)


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    """Tables are those of a wide terminal, where each row is one line."""
    monkeypatch.setattr("emdp.cli.ledger._width", lambda: 160)


@pytest.fixture
def path(tmp_path):
    """Return a ledger with charges of an earlier version, of two reports in two periods, and of two budgets."""
    path = tmp_path / "city.ledger"
    with open_ledger(path) as ledger:
        budgets = [Budget(EmdDP(60.0, 1e-8)).to_json(), Budget(UserDP(2.0)).to_json()]
        ledger.append("budget", "visits", {"budgets": budgets})
        charge(ledger, EmdDP(0.1), "mean(x)")
        charge(ledger, EmdDP(0.2), "mean(x)")
        # Later weeks may be asked about first.
        charge(ledger, EmdDP(2.0), "places\n  by hour", "2026-W47", "Weekly")
        charge(ledger, EmdDP(1.5, 1e-9), "places", "2026-W46", "Weekly")
        charge(ledger, EmdDP(1.5, 1e-9), "places", "2026-W46", "Weekly")
        charge(ledger, EmdDP(1.25), "places", "2026-W46", "Managers")
        charge(ledger, UserDP(0.5), "count", "2026-W46", "Weekly")
    return path


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, EmdpError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def table_after(output, word):
    """Return the cells of the table whose header has a word, the header left out."""
    lines = iter(output.splitlines())
    next(line for line in lines if word in line)
    next(lines)
    rows = []
    for line in lines:
        if not line.strip():
            return rows
        rows.append(re.split(r"\s{2,}", line.strip()))
    return rows


def picture(output):
    """Return label and number of each bar, and how many eighths of a place it fills."""
    found = re.findall(rf"^(\S.*?)  ([{EIGHTHS}]+) +([0-9.]+)$", output, re.MULTILINE)
    return [(label, sum(EIGHTHS.index(block) for block in bar.strip()), float(left)) for label, bar, left in found]


def test_show_prints_spending_by_period_and_query_with_sums(path):
    assert table_after(run("show", path), "query") == [
        ["visits", "-", "-", "mean(x)", "2", "alpha 0.3, delta 0"],
        ["visits", "-", "in all", "2", "alpha 0.3, delta 0"],
        ["visits", "2026-W46", "Weekly", "places", "2", "alpha 3, delta 2e-09"],
        ["visits", "2026-W46", "Managers", "places", "1", "alpha 1.25, delta 0"],
        ["visits", "2026-W46", "in all", "3", "alpha 4.25, delta 2e-09"],
        ["visits", "2026-W47", "Weekly", "places by hour", "1", "alpha 2, delta 0"],
        ["visits", "2026-W47", "in all", "1", "alpha 2, delta 0"],
        ["visits", "2026-W46", "Weekly", "count", "1", "epsilon 0.5, delta 0"],
        ["visits", "2026-W46", "in all", "1", "epsilon 0.5, delta 0"],
    ]


def test_show_draws_what_was_left_after_each_period_in_the_order_of_the_charges(path):
    output = run("show", path)
    assert "visits, alpha left of 60\n" in output
    assert "visits, epsilon left of 2\n" in output
    drawn = picture(output)
    assert [(label, left) for label, _, left in drawn[1:]] == [
        ("2026-W47", 57.7),
        ("2026-W46", 53.45),
        ("2026-W46", 1.5),
    ]
    assert drawn[0][2] == 59.7
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", drawn[0][0])
    # Sixty places of eight eighths stand for the whole budget.
    assert [eighths for _, eighths, _ in drawn] == [478, 462, 428, 360]


def test_a_ledger_of_an_earlier_version_is_shown_with_dashes(tmp_path):
    with open_ledger(tmp_path / "old.ledger") as ledger:
        ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
        payload = {"event": GuaranteeEvent(EmdDP(1.0)).to_json(), "budget": 0, "query": "mean(x)", "data_version": "v1"}
        ledger.append("charge", "visits", payload)
    output = run("show", tmp_path / "old.ledger")
    assert table_after(output, "query")[0] == ["visits", "-", "-", "mean(x)", "1", "alpha 1, delta 0"]
    assert "set aside" not in output
    found = json.loads(run("show", "--json", tmp_path / "old.ledger"))["budgets"][0]
    assert found["queries"] == [
        {"period": None, "report": None, "query": "mean(x)", "charges": 1, "alpha": 1.0, "delta": 0.0}
    ]


def test_show_as_json_holds_all_of_it_and_nothing_else_is_printed(path):
    run("reserve", path, "visits", "weekly", "--alpha", "6.5", "--delta", "1e-9")
    with open_ledger(path) as ledger:
        sequence, head = ledger.head()
        name = ledger.ledger_id
    shown = json.loads(run("show", "--json", path))
    assert shown["ledger"] == {"path": str(path), "id": name, "test": False, "entries": sequence, "head": head}
    emd, user = shown["budgets"]
    assert emd["budget"] == EmdDP(60.0, 1e-8).to_json()
    assert emd["spent"] == EmdDP(6.55, 2e-9).to_json()
    assert emd["reserved"] == {"weekly": EmdDP(6.5, 1e-9).to_json()}
    assert emd["remaining"] == EmdDP(46.95, 7e-9).to_json()
    assert emd["periods"] == [
        {"period": None, "charges": 2, "alpha": 0.3, "delta": 0.0},
        {"period": "2026-W46", "charges": 3, "alpha": 4.25, "delta": 2e-9},
        {"period": "2026-W47", "charges": 1, "alpha": 2.0, "delta": 0.0},
    ]
    assert emd["queries"][3]["query"] == "places\n  by hour"
    assert [step["remaining"] for step in emd["steps"]] == [59.9, 59.7, 57.7, 56.2, 54.7, 53.45]
    assert (user["table"], user["kind"], user["charges"], user["reserved"]) == ("visits", USER, 1, {})
    assert user["steps"] == [{"label": "2026-W46", "remaining": 1.5}]
    assert shown["spent_in_all"] == "epsilon = 7.05, delta = 2e-09 (central UserDP)"


def test_everything_fits_80_columns_where_there_is_no_terminal(path, monkeypatch):
    monkeypatch.setattr("emdp.cli.ledger._width", table_width)
    run("reserve", path, "visits", "weekly", "--alpha", "6.5", "--delta", "1e-9")
    with open_ledger(path) as ledger:
        charge(ledger, EmdDP(1.5), f"{HEADER.format(1.5)} AVG(x) AS {'far_' * 40} FROM visits", "2026-W48", "W" * 60)
    for command in ("show", "history"):
        output = run(command, path)
        # the path of the ledger and hashes are as long as they are
        lines = [line for line in output.splitlines() if not line.startswith(("ledger ", "head: "))]
        assert max(map(len, lines)) <= 80
    output = run("show", path)
    assert "remaining  alpha 45.45, delta 7e-09" in output
    assert re.search("^ visits +unbounded central EmdDP +weekly", output, re.MULTILINE)
    assert re.search(r"^ +Weekly: places +2 +alpha 3, delta 2e-09 *$", output, re.MULTILINE)
    assert re.search(r"^ visits, 2026-W46 +3 +alpha 4.25, delta 2e-09 *$", output.replace(", in all", ""), re.MULTILINE)


@pytest.mark.parametrize("width", [100, 120, 200])
def test_queries_are_cut_so_that_every_row_fits_the_width(tmp_path, monkeypatch, width):
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
        for level in (1.5, 2.25):
            query = f"{HEADER.format(level)} AVG(DISTANCE(POINT(40.7484, -73.9857))) AS {'far_' * 40} FROM visits"
            charge(ledger, EmdDP(level), query, "2026-W46", "Where people go, and how far from midtown")
    monkeypatch.setattr("emdp.cli.ledger._width", lambda: width)
    output = run("show", tmp_path / "a.ledger")
    rows = table_after(output, "query")
    assert len(rows) == 3
    assert all(row[2] == "Where people go, ..." for row in rows[:2])
    assert all(row[3].startswith("SELECT AVG(DISTANCE(") and row[3].endswith("...") for row in rows[:2])
    assert max(map(len, output.splitlines()[2:-2])) == width


def test_no_terminal_is_too_narrow(path):
    with open_ledger(path) as ledger:
        found = spending_of(ledger.entries())
    for width in (1, 30):
        assert max(len(row[3]) for row in spending_rows(found, width)) <= 20
        assert all(line for own in found for line in bars(own, width, blocks=True))


def test_only_the_last_bars_are_drawn(tmp_path):
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
        for week in range(1, 31):
            charge(ledger, EmdDP(2.0), "places", f"2026-W{week:02}", "Weekly")
        lines = list(bars(spending_of(ledger.entries())[0], 80, blocks=True))
    assert lines[1] == "(6 earlier)"
    assert len(lines) == 26
    # Nothing is left, which no mark may hide, and the little that is left before has one.
    assert lines[-1].split() == ["2026-W30", "0"]


def test_a_little_that_is_left_leaves_a_mark(tmp_path):
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
        charge(ledger, EmdDP(59.9999), "places", "2026-W01", "Weekly")
        found = spending_of(ledger.entries())[0]
    assert "▏" in list(bars(found, 80, blocks=True))[1]
    assert "#" in list(bars(found, 80, blocks=False))[1]


@pytest.mark.parametrize(("encoding", "block", "other"), [("ascii", "#", "█"), ("utf-8", "█", "#")])
def test_bars_are_plain_ascii_where_the_encoding_lacks_blocks(path, monkeypatch, encoding, block, other):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(SystemExit) as caught:
        main(["ledger", "show", str(path)])
    assert caught.value.code == 0
    stream.flush()
    output = stream.buffer.getvalue().decode(encoding)
    drawn = output[output.index("visits, alpha left") :]
    assert block in drawn
    assert other not in drawn
    assert "\\u" not in drawn


def test_names_of_periods_and_reports_obey_no_terminal(tmp_path):
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
        charge(ledger, EmdDP(1.0), "[red]places\x1b[31m", "W\x1b[2J", "[b]Weekly\x07")
    output = run("show", tmp_path / "a.ledger")
    assert "\x1b" not in output
    assert "\x07" not in output
    assert "[b]Weekly�" in output


def test_show_says_that_gaussian_noise_adds_up_to_less(tmp_path):
    budget = Budget(EmdDP(10.0, 1e-6), gaussian_share=0.5)
    noise = {"sigma": 8.0, "sensitivity": 1.0, "grid": 2.0**-60, "slack_epsilon": 0.0, "slack_delta": 1e-18}
    event = GaussianEvent(1.0, 1e-7, 2, **noise)
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.append("budget", "visits", {"budgets": [budget.to_json()]})
        for _ in range(4):
            payload = {"event": event.to_json(), "budget": EMD, "query": "mean(x)", "period": "2026-W46"}
            ledger.append("charge", "visits", payload)
    output = run("show", tmp_path / "a.ledger")
    assert table_after(output, "query")[0][-1] == "alpha 4, delta 4e-07"
    assert "costs less together" in output
    assert picture(output)[0][2] > 6


def test_plot_writes_a_picture_a_budget(path, tmp_path):
    run("show", path, "--plot", tmp_path / "left.svg")
    for number in (1, 2):
        root = ElementTree.fromstring((tmp_path / f"left-{number}.svg").read_text(encoding="utf-8"))
        assert root.tag.endswith("svg")
    assert not (tmp_path / "left.svg").exists()
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
        with pytest.raises(UsageError, match="nothing to draw"):
            run("show", tmp_path / "a.ledger", "--plot", tmp_path / "one.svg")
        charge(ledger, EmdDP(1.0), "places")
    run("show", tmp_path / "a.ledger", "--plot", tmp_path / "one.svg")
    assert (tmp_path / "one.svg").read_text(encoding="utf-8").startswith("<svg")


def test_plot_replaces_no_ledger_and_writes_nothing_else_than_svg(path, tmp_path):
    own = tmp_path / "own.svg"
    with open_ledger(own) as ledger:
        ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
        charge(ledger, EmdDP(1.0), "places")
    before = own.read_bytes()
    for wanted in (own, tmp_path / "left.png", tmp_path / "nowhere" / "left.svg"):
        with pytest.raises(UsageError, match="--plot"):
            run("show", own, "--plot", wanted)
    assert own.read_bytes() == before
    assert not (tmp_path / "left.png").exists()


def test_reserve_shows_in_show_and_history_and_is_given_back(path):
    with open_ledger(path) as ledger:
        before = ledger.head()[0]
    output = run("reserve", path, "visits", "weekly", "--alpha", "6.5", "--delta", "1e-9")
    with open_ledger(path) as ledger:
        sequence, head = ledger.head()
    assert sequence == before + 1
    assert output == f"set aside: alpha 6.5, delta 1e-09\nentries: {sequence}\nhead: {head}\n"
    run("reserve", path, "visits", "weekly", "--epsilon", "0.25")
    shown = run("show", path)
    assert table_after(shown, "set aside for") == [
        ["visits", EMD, "weekly", "alpha 6.5, delta 1e-09"],
        ["visits", USER, "weekly", "epsilon 0.25, delta 0"],
    ]
    assert [row[4] for row in table_after(shown, "remaining")] == ["alpha 46.95, delta 7e-09", "epsilon 1.25, delta 0"]
    given = run("reserve", path, "visits", "weekly", "--release")
    assert given.startswith("given back: alpha 6.5, delta 1e-09\ngiven back: epsilon 0.25, delta 0\nentries: ")
    assert "set aside for" not in run("show", path)
    events = [row[2:] for row in table_after(run("history", path), "event")][-4:]
    assert events[0] == ["set aside", "visits", "for weekly", "alpha 6.5, delta 1e-09"]
    assert events[3] == ["given back", "visits", "for weekly", "epsilon 0.25, delta 0"]


def test_a_stored_answer_that_names_no_charge_is_an_error(path):
    with open_ledger(path) as ledger:
        ledger.append("answer", "visits", {"query": "places"}, content="{}")
    with pytest.raises(LedgerError, match="lacks its 'charge'"):
        run("history", path)


def test_history_says_which_charge_paid_for_a_stored_answer(path):
    with open_ledger(path) as ledger:
        payload = {"question": "0" * 64, "charge": 5, "query": "places\n", "period": "2026-W46", "data_version": "v1"}
        ledger.append("answer", "visits", payload, content="{}")
    row = table_after(run("history", path), "event")[-1]
    assert row[2:] == ["stored answer", "visits", "places", "paid by entry 5"]


def test_a_ledger_made_under_the_test_switch_can_be_reserved_too(tmp_path):
    with open_ledger(tmp_path / "a.ledger", test=True) as ledger:
        ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
    assert run("reserve", tmp_path / "a.ledger", "visits", "weekly", "--alpha", "1").startswith("set aside")


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("visits", "weekly", "--alpha", "53.5"), 3, "more than the budget has left, alpha = 53.45"),
        (("visits", "weekly", "--alpha", "1", "--delta", "9e-9"), 3, "more than the budget has left"),
        (("visits", "weekly"), 2, "exactly one of --alpha and --epsilon"),
        (("visits", "weekly", "--alpha", "1", "--epsilon", "1"), 2, "exactly one of --alpha and --epsilon"),
        (("visits", "weekly", "--alpha", "1", "--release"), 2, "leave --alpha"),
        (("visits", "weekly", "--release", "--delta", "0"), 2, "leave --alpha"),
        (("visits", "weekly", "--alpha=-1"), 2, "alpha must be at least 0"),
        (("visits", "weekly", "--alpha", "nan"), 2, "alpha must be"),
        (("visits", "weekly", "--alpha", "0"), 2, "0 sets nothing aside"),
        (("visits", "weekly", "--release"), 2, "nothing is set aside for 'weekly'"),
        (("streets", "weekly", "--alpha", "1"), 2, "table 'streets' has no budget"),
        (("streets", "weekly", "--release"), 2, "table 'streets' has no budget"),
    ],
)
def test_reservations_that_are_refused_leave_the_ledger_as_it_was(path, capsys, arguments, status, words):
    with open_ledger(path) as ledger:
        before = ledger.head()
    with pytest.raises(SystemExit) as caught:
        main(["ledger", "reserve", str(path), *arguments])
    out, err = capsys.readouterr()
    assert caught.value.code == status
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
    with open_ledger(path) as ledger:
        assert ledger.head() == before


def test_an_option_that_no_budget_has_is_refused(tmp_path):
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
    with pytest.raises(UsageError, match=r"--epsilon must fit .* which has unbounded central EmdDP"):
        run("reserve", tmp_path / "a.ledger", "visits", "weekly", "--epsilon", "1")


def test_reserving_makes_no_ledger(tmp_path):
    with pytest.raises(LedgerError, match="does not exist"):
        run("reserve", tmp_path / "a.ledger", "visits", "weekly", "--alpha", "1")
    assert list(tmp_path.iterdir()) == []


def test_of_two_budgets_at_user_level_the_neighbours_say_which(tmp_path):
    path = tmp_path / "two.ledger"
    with open_ledger(path) as ledger:
        budgets = [Budget(UserDP(2.0)), Budget(UserDP(4.0, neighbours="remove"))]
        ledger.append("budget", "visits", {"budgets": [budget.to_json() for budget in budgets]})
    with pytest.raises(UsageError, match=r"must fit one budget .* or --neighbours"):
        run("reserve", path, "visits", "weekly", "--epsilon", "1")
    run("reserve", path, "visits", "weekly", "--epsilon", "3", "--neighbours", "remove")
    shown = run("show", path)
    assert "central UserDP by removal" in shown
    assert "epsilon 3" in shown
    with pytest.raises(UsageError, match="--neighbours must be replace or remove"):
        run("reserve", path, "visits", "weekly", "--epsilon", "1", "--neighbours", "add")
