"""``emdp ledger redeclare``: what is changed, what is said of it, and what `history` and `verify` make of it."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from emdp.cli import main
from emdp.ledger import open_ledger, read_ledger

MEAN = ["mean", "visits.parquet", "--user", "user", "--interval", "x,0,10", "--column", "x", "--alpha", "1"]
PAID = ["--budget", "3", "--ledger", "city.ledger"]
CATALOG = """
ledger = "city.ledger"
[tables.visits]
source = "visits.parquet"
user = "user"
users = "users.csv"
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = { alpha = 3.0 }
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"user": [1, 1, 2, 2], "x": [1.0, 3.0, 5.0, 2.0]}).write_parquet("visits.parquet")
    Path("users.csv").write_text("user\n1\n2\n")
    Path("emdp.toml").write_text(CATALOG)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return caught.value.code or 0, *capsys.readouterr()


def asked(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[object, str]:
    status, _, err = run(capsys, *MEAN, *PAID, *more)
    return status, err


@pytest.mark.slow
def test_a_wrong_declaration_is_corrected_by_the_owner_and_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "--users", "1")[0] == 4
    status, err = asked(capsys, "--users", "2")
    assert (status, "emdp ledger redeclare" in err) == (2, True)
    status, out, _ = run(capsys, "ledger", "redeclare", "city.ledger", "Visits", "--users", "2")
    assert status == 0
    assert re.match(r"declared anew: users [0-9a-f]{20}\.\.\.\nthis may reveal whether somebody who was added", out)
    assert asked(capsys, "--users", "2")[0] == 0
    history = run(capsys, "ledger", "history", "city.ledger")[1]
    assert "redeclare" in history
    assert "validation begins" in history
    assert "marks" not in history
    assert run(capsys, "ledger", "verify", "city.ledger")[1].startswith("ok")
    assert "entry 4 declares visits anew: users " in run(capsys, "ledger", "show", "city.ledger")[1]
    (anew,) = json.loads(run(capsys, "ledger", "show", "city.ledger", "--json")[1])["redeclared"]
    assert (anew["entry"], anew["table"], set(anew["rules"])) == (4, "visits", {"users"})
    assert run(capsys, "ledger", "copy", "city.ledger", "copy.ledger")[0] == 0
    with read_ledger("city.ledger") as ledger, read_ledger("copy.ledger") as copy:
        assert copy.entries() == ledger.entries()
        # Nothing was charged but the mean.
        assert len(ledger.entries(kind="charge")) == 1


@pytest.mark.slow
def test_records_and_lists_are_declared_anew(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "--users", "2")[0] == 0
    Path("all.csv").write_text("user\n2\n1\n3\n")
    for options, said in (
        (["--records", "2"], "records 2\nthis may reveal whether everybody has the declared number of records"),
        (["--any-records"], "records None"),
        (["--users", "all.csv"], "users "),
        (["-C", "emdp.toml"], "users "),
    ):
        status, out, err = run(capsys, "ledger", "redeclare", "city.ledger", "visits", *options)
        assert (status, err) == (0, "")
        assert f"declared anew: {said}" in out
    assert run(capsys, "mean", "-C", "emdp.toml", "--column", "x", "--alpha", "1")[0] == 0


def test_more_budget_and_a_second_kind(capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["query", "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) COUNT(*) FROM visits"]
    assert run(capsys, "mean", "-C", "emdp.toml", "--column", "x", "--alpha", "3")[0] == 0
    more = CATALOG.replace("{ alpha = 3.0 }", "[{ alpha = 5.0 }, { epsilon = 1.0 }]")
    Path("emdp.toml").write_text(more)
    status, _, err = run(capsys, *ask)
    assert (status, "emdp ledger redeclare LEDGER visits -C emdp.toml --budgets" in err) == (2, True)
    given = ["ledger", "redeclare", "city.ledger", "visits", "-C", "emdp.toml", "--budgets"]
    status, out, err = run(capsys, *given)
    assert (status, err) == (0, "")
    assert out.startswith(
        "declared anew: budgets alpha = 5.0 per unit of d_em, delta = 0.0 (unbounded central EmdDP) and "
    )
    assert "emdp consequences" in out
    assert run(capsys, *ask)[0] == 0
    assert run(capsys, "mean", "-C", "emdp.toml", "--column", "x", "--alpha", "2")[0] == 0
    assert run(capsys, "ledger", "verify", "city.ledger")[1].startswith("ok")
    assert "already" in run(capsys, *given)[2]
    for wrong in (["--budgets"], ["--budgets", "-C", "emdp.toml", "--period", "W1"], ["--budgets", "--users", "2"]):
        status, _, err = run(capsys, *given[:4], *wrong)
        assert (status, "--budgets takes" in err) == (2, True)


@pytest.mark.slow
def test_two_names_are_set_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "--users", "2")[0] == 0
    status, err = asked(capsys, "--users", "2", "--name", "places")
    assert (status, "emdp ledger redeclare --apart" in err) == (2, True)
    status, out, _ = run(capsys, "ledger", "redeclare", "city.ledger", "places", "--apart", "visits")
    assert out.startswith("declared anew: apart from visits\nthis may reveal what is asked of the same records")
    assert asked(capsys, "--users", "2", "--name", "places")[0] == 0
    assert "spent in all: epsilon = 2.0" in run(capsys, "ledger", "show", "city.ledger")[1]


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "exactly one of --apart, -C and new rules"),
        (["--users", "3", "--apart", "places"], "exactly one of"),
        (["--records", "3", "--any-records"], "exactly one of"),
        (["--users", "nowhere.csv"], "which is no file"),
        (["--users", "2"], "declared so already"),
        (["--apart", "VISITS"], "one table with 'VISITS' to SQL"),
    ],
)
def test_mistakes_are_one_sentence(capsys: pytest.CaptureFixture[str], options: list[str], said: str) -> None:
    assert asked(capsys, "--users", "2")[0] == 0
    status, out, err = run(capsys, "ledger", "redeclare", "city.ledger", "visits", *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.slow
def test_a_table_that_the_ledger_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    open_ledger("city.ledger").close()
    for options in (["--users", "2"], ["--records", "2"], ["-C", "emdp.toml"]):
        status, _, err = run(capsys, "ledger", "redeclare", "city.ledger", "visits", *options)
        assert (status, "has no budget in the ledger" in err) == (2, True)
