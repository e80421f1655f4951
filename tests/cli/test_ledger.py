"""``emdp ledger``: what is printed, what goes to standard error, and with which exit status."""

import re
import shutil

import pytest
from typer.testing import CliRunner

from emdp.base.errors import EmdpError, LedgerError, UsageError
from emdp.cli import main
from emdp.cli.ledger import app
from emdp.ledger import open_ledger
from emdp.privacy import Budget, EmdDP, GaussianEvent, GuaranteeEvent, LaplaceEvent, UserDP


def declare(ledger, table, *budgets):
    ledger.append("budget", table, {"budgets": [budget.to_json() for budget in budgets]})


def charge(ledger, table, event, budget, query="mean(x)"):
    payload = {"event": event.to_json(), "budget": budget, "query": query, "data_version": "v1"}
    return ledger.append("charge", table, payload)


@pytest.fixture
def path(tmp_path):
    """Return a ledger of two tables and three budgets."""
    path = tmp_path / "city.ledger"
    with open_ledger(path) as ledger:
        declare(ledger, "visits", Budget(EmdDP(60.0, 1e-8)), Budget(UserDP(2.0)))
        declare(ledger, "words", Budget(EmdDP(7.0)))
        ledger.append("validated", "visits", {"data_version": "v1", "records": None})
        for _ in range(3):
            charge(ledger, "visits", GuaranteeEvent(EmdDP(0.1)), EmdDP(0).kind_name)
        charge(ledger, "visits", GuaranteeEvent(UserDP(0.5), "range-then-mean"), 1)
        charge(ledger, "words", GuaranteeEvent(EmdDP(0.25)), 0, query="mean([red]similarity\x1b[31m)")
    return path


def run(*arguments):
    """Run a command of the sub-app; an error of emdp is raised, as ``emdp.cli.main`` catches it."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, EmdpError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    """Tables are those of a wide terminal, where each row is one line."""
    monkeypatch.setattr("emdp.cli.ledger._width", lambda: 160)


def rows_of(output, first):
    return [re.split(r"\s{2,}", line.strip()) for line in output.splitlines() if line.strip().startswith(first)]


def test_show_takes_the_ledger_of_the_catalog(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for given in ((), ("-C", "emdp.toml")):
        with pytest.raises(UsageError, match=r"emdp\.toml"):
            run("show", *given)
    space = '{ kind = "interval", col = "x", low = 0, high = 1 }'
    (tmp_path / "emdp.toml").write_text(
        f'ledger = "{path.name}"\n[tables.visits]\nsource = "v.csv"\nuser = "u"\nusers = 2\nspace = {space}\n'
    )
    assert run("show") == run("show", path) == run("show", "-C", "emdp.toml")
    with pytest.raises(UsageError, match="one of them"):
        run("show", path, "-C", "emdp.toml")


def test_show_prints_each_budget_and_the_sum_at_user_level(path):
    output = run("show", path)
    emd = "unbounded central EmdDP"
    assert rows_of(output, "visits")[:2] == [
        ["visits", emd, "alpha 60, delta 1e-08", "alpha 0.3, delta 0", "alpha 59.7, delta 1e-08", "3"],
        ["visits", "central UserDP", *(f"epsilon {left}, delta 0" for left in (2, 0.5, 1.5)), "1"],
    ]
    assert rows_of(output, "words")[0] == ["words", emd, *(f"alpha {left}, delta 0" for left in (7, 0.25, 6.75)), "1"]
    assert "spent in all: epsilon = 1.05, delta = 0.0 (central UserDP)" in output
    assert "test switch" not in output


def test_show_of_a_budget_with_a_reserve_for_gaussian_noise(tmp_path):
    budget = Budget(EmdDP(10.0, 1e-8), gaussian_share=0.5)
    with open_ledger(tmp_path / "a.ledger") as ledger:
        declare(ledger, "visits", budget)
    output = run("show", tmp_path / "a.ledger")
    assert f"alpha 5, delta 5e-09; for Gaussian noise mu {budget.mu_cap:.6g}" in output
    assert "spent in all" not in output


def test_show_says_when_tables_have_no_sum(tmp_path):
    with open_ledger(tmp_path / "a.ledger") as ledger:
        declare(ledger, "visits", Budget(EmdDP(10.0, sizes="bounded")))
        declare(ledger, "words", Budget(EmdDP(10.0)))
    assert "spent in all: no sum" in run("show", tmp_path / "a.ledger")


def test_show_and_history_of_a_new_ledger_made_under_the_test_switch(tmp_path):
    open_ledger(tmp_path / "a.ledger", test=True).close()
    for command in ("show", "history"):
        assert "nothing it paid for is private" in run(command, tmp_path / "a.ledger")
    assert "no budget was declared yet" in run("show", tmp_path / "a.ledger")


def test_history_prints_one_row_an_event_and_obeys_no_markup(path):
    output = run("history", path)
    rows = [re.split(r"\s{2,}", line.strip()) for line in output.splitlines() if re.match(r" *\d+ ", line)]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 10)]
    assert [row[2] for row in rows] == ["created", *["budget"] * 2, "validated", *["charge"] * 5]
    assert rows[4][3:] == ["visits", "mean(x)", "Guarantee: alpha 0.1, delta 0"]
    assert rows[3][3:] == ["visits", "data_version v1"]
    assert rows[8][4] == "mean([red]similarity�[31m)"
    assert "\x1b" not in output


@pytest.mark.parametrize("command", ["show", "history", "verify"])
def test_every_command_prints_the_head_to_keep(path, command):
    output = run(command, path)
    with open_ledger(path) as ledger:
        sequence, head = ledger.head()
    assert output.endswith(f"entries: {sequence}\nhead: {head}\n")


def test_verify_against_a_head_kept_elsewhere(path, tmp_path):
    older = tmp_path / "older.ledger"
    shutil.copy(path, older)
    with open_ledger(path) as ledger:
        before, after = ledger.head()[1], charge(ledger, "words", GuaranteeEvent(EmdDP(0.25)), 0).hash
    for head in (before, after):
        assert run("verify", path, "--head", head).startswith("ok\n")
    assert run("verify", older, "--head", before).startswith("ok\n")
    with pytest.raises(LedgerError, match="older copy"):
        run("verify", older, "--head", after)
    with pytest.raises(UsageError, match="64 hexadecimal"):
        run("verify", path, "--head", "abc")


@pytest.mark.parametrize("command", ["show", "history", "verify"])
def test_errors_are_one_sentence_on_standard_error(tmp_path, capsys, command):
    (tmp_path / "empty.ledger").touch()
    for name in ("empty.ledger", "missing.ledger", "."):
        with pytest.raises(SystemExit) as caught:
            main(["ledger", command, str(tmp_path / name)])
        assert caught.value.code == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("emdp: ledger ")
        assert err.count("\n") == 1
    assert sorted(item.name for item in tmp_path.iterdir()) == ["empty.ledger"]


@pytest.mark.parametrize(
    ("table", "budget", "words"),
    [
        ("visits", 2, "a budget that the ledger lacks"),
        ("visits", "local UserDP", "a budget that the ledger lacks"),
    ],
)
def test_a_charge_to_no_budget_is_not_passed_over(path, table, budget, words):
    with open_ledger(path) as ledger:
        charge(ledger, table, GuaranteeEvent(EmdDP(0.1)), budget)
    with pytest.raises(LedgerError, match=words):
        run("show", path)


def test_more_charges_than_a_budget_covers_and_fields_left_out_are_errors(path):
    with open_ledger(path) as ledger:
        charge(ledger, "words", GuaranteeEvent(EmdDP(7.0)), 0)
    with pytest.raises(LedgerError, match="not covered"):
        run("show", path)
    with open_ledger(path) as ledger:
        ledger.append("charge", "words", {"budget": 0})
    for command in ("show", "history"):
        with pytest.raises(LedgerError, match=r"lacks its 'event'|not covered"):
            run(command, path)
    assert run("verify", path).startswith("ok\n")


def test_show_counts_the_events_of_real_mechanisms(tmp_path):
    with open_ledger(tmp_path / "a.ledger") as ledger:
        declare(ledger, "visits", Budget(EmdDP(60.0, 1e-6)))
        events = (
            LaplaceEvent(2.0, 1, scale=0.5, sensitivity=1.0, grid=2.0**-40, slack_epsilon=2.0**-39),
            GaussianEvent(
                1.0, 1e-7, 2, sigma=8.0, sensitivity=1.0, grid=2.0**-60, slack_epsilon=0.0, slack_delta=1e-18
            ),
        )
        for event in events:
            charge(ledger, "visits", event, 0)
    assert rows_of(run("show", tmp_path / "a.ledger"), "visits")[0][-1] == str(len(events))
    history = run("history", tmp_path / "a.ledger")
    assert "Laplace: alpha" in history
    assert "Gaussian: alpha" in history
