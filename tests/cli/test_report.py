"""``emdp report`` as it is typed: what is said, what is written, and what it exits with."""

import re
from pathlib import Path

import polars as pl
import pytest
from typer.main import get_command

from emdp.cli import main
from emdp.cli.app import make_app

CATALOG = """
ledger = "v.ledger"
[tables.visits]
source = "data/{period}/*.parquet"
elsewhere = "neutral"
user = "user"
users = 4
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = { alpha = 2.5 }
"""
DEFINITION = """
title = "Visits"
catalog = "emdp.toml"
period = "one"
budget = { alpha = 2.0 }
[[entry]]
title = "Mean"
query = "SELECT WITH EMD_PRIVACY AVG(x) AS m FROM visits"
[[entry]]
title = "Square"
query = "SELECT WITH EMD_PRIVACY AVG(x * x) AS m FROM visits"
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for period in ("one", "two"):
        (tmp_path / "data" / period).mkdir(parents=True)
        frame = pl.DataFrame({"user": [1, 1, 2, 3], "x": [1.0, 3.0, 5.0, 9.0]})
        frame.write_parquet(tmp_path / "data" / period / "rows.parquet")
    (tmp_path / "emdp.toml").write_text(CATALOG)
    (tmp_path / "visits.toml").write_text(DEFINITION)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as done:
        main(["report", *arguments])
    said = capsys.readouterr()
    return int(done.value.code or 0), said.out, said.err


def test_a_report_is_written_and_costs_nothing_again(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    status, out, err = run(capsys, "visits.toml")
    assert (status, out) == (0, "visits-one/index.html\n")
    assert "2 entries paid, 0 stored answers used" in err
    assert "[1/2] Mean" in err
    names = {path.name for path in (place / "visits-one").iterdir()}
    assert names == {
        "index.html", "manifest.json", "01-mean.csv", "01-mean.parquet", "02-square.csv", "02-square.parquet",
    }  # fmt: skip
    assert "0 entries paid, 2 stored answers used" in run(capsys, "visits.toml")[2]


@pytest.mark.slow
def test_a_dry_run_makes_no_ledger_and_tells_the_costs(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    status, out, _ = run(capsys, "visits.toml", "--dry-run")
    assert status == 0
    assert out.count("costs alpha = 1.0 per unit") == 2
    assert not (place / "v.ledger").exists()
    run(capsys, "visits.toml")
    assert run(capsys, "visits.toml", "--dry-run")[1].count("stored, costs nothing") == 2


@pytest.mark.slow
def test_a_dry_run_refuses_what_the_run_would_refuse(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "visits.toml")
    dry, real = (run(capsys, "visits.toml", "--period", "two", *more) for more in (["--dry-run"], []))
    assert dry[0] == real[0] == 3
    assert dry[2] == real[2]


@pytest.mark.slow
def test_a_spent_period_says_how_to_go_on(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "emdp.toml").write_text(CATALOG.replace("2.5", "25.0"))
    run(capsys, "visits.toml")
    status, _, err = run(capsys, "visits.toml", "--fresh")
    assert status == 3
    assert "state the levels of entries that share it by weight" in err
    pl.DataFrame({"user": [1], "x": [2.0]}).write_parquet("data/one/rows.parquet")
    assert "the stored answers are of other data" in run(capsys, "visits.toml")[2]


@pytest.mark.parametrize("out", ["data/one", "data/page", "absent/page", "emdp.toml", "/proc/page"])
def test_a_folder_that_will_not_do_is_refused_before_anything_is_paid(
    capsys: pytest.CaptureFixture[str], place: Path, out: str
) -> None:
    status, _, err = run(capsys, "visits.toml", "--out", out)
    assert (status, "--out" in err) == (2, True)
    assert ("lies in a folder that does not exist" in err) == (out == "absent/page")
    assert not (place / "v.ledger").exists()
    assert not (place / "data" / "page").exists()


def test_what_is_wrong_is_said_with_its_line(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "visits.toml").write_text(DEFINITION.replace("AVG(x)", "AVG(y)").replace('title = "Square"', "titel = 1"))
    status, out, err = run(capsys, "visits.toml")
    assert (status, out) == (2, "")
    assert re.findall(r"visits.toml:(\d+): ", err) == ["8", "9", "10"]


def test_a_number_that_nobody_wrote_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    command = get_command(make_app(["report"])).commands["report"]
    asked: list[object] = []
    monkeypatch.setattr("typer.core.build_runtime_param", lambda kind: asked.append(kind) or Plain())
    (wait,) = (own for own in command.get_params(command.context_class(command)) if own.name == "wait")
    assert wait.get_runtime_param().coerce(wait.default, param=wait, ctx=None) == 10.0
    assert not asked
    assert wait.get_runtime_param().coerce("10.0", param=wait, ctx=None) == "typer's"
    assert len(asked) == 1


class Plain:
    def coerce(self, value: object, **_: object) -> str:
        return "typer's"


def test_a_number_that_is_written_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ("-1", "soon", "nan"):
        with pytest.raises(SystemExit) as ending:
            main(["report", "visits.toml", "--wait", wrong])
        assert ending.value.code == 2
        assert "--wait" in capsys.readouterr().err
