"""A measure from the command line: released once, read for nothing."""

from pathlib import Path

import polars as pl
import pytest

from emdp.cli import main

CATALOG = """
ledger = "l.ledger"
[tables.visits]
source = "visits.parquet"
user = "who"
users = 50
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = { alpha = 50.0 }
"""
READ = "SELECT SUM(weight) AS all_of_it FROM MEASURE(line)"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def test_a_measure_is_released_once_and_read_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = {"who": [number % 50 for number in range(200)], "x": [number % 10 + 0.5 for number in range(200)]}
    pl.DataFrame(rows).write_parquet("visits.parquet")
    Path("emdp.toml").write_text(CATALOG)
    status, _, err = run(capsys, "query", READ)
    assert (status, "none was released yet" in err) == (2, True)
    assert not Path("l.ledger").exists()
    release = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20) MEASURE(*) AS line FROM visits"
    assert "remaining alpha = 30" in run(capsys, "query", release)[2]
    assert "nothing spent" in run(capsys, "query", release)[2]
    status, _, err = run(capsys, "query", READ, "--csv", "out.csv")
    assert (status, "nothing spent" in err, "from the private measure line" in err) == (0, True, True)
    assert pl.read_csv("out.csv")["all_of_it"][0] == pytest.approx(1.0)
    assert run(capsys, "query", READ.replace("line", "other"))[0] == 2
    assert "remaining" in run(capsys, "query", release)[2]


def test_a_report_says_what_measure_is_not_there_and_a_check_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"who": [1, 2], "x": [0.5, 1.5]}).write_parquet("visits.parquet")
    Path("emdp.toml").write_text(CATALOG)
    head = 'catalog = "emdp.toml"\ntitle = "r"\ntable = "visits"\n'
    Path("r.toml").write_text(f'{head}[[entry]]\ntitle = "two"\nquery = "{READ}"\n')
    told = {
        ("report", "r.toml"): "no measure line was released of this table and period",
        ("check", READ): "ask what reads a released measure by emdp query, of a session or in a report",
    }
    for arguments, words in told.items():
        status, _, err = run(capsys, *arguments)
        assert status == 2, err
        assert words in err
