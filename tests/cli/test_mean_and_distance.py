"""``emdp mean`` and ``emdp distance`` as a person runs them: output, exit status, one sentence on errors."""

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from emdp.cli import main
from emdp.ledger import read_ledger

PLACE = ["--geo", "lat,lon", "--box", "40.48,-74.26,40.92,-73.70", "--on-invalid", "clamp"]
COMMON = ["--user", "user_id", "--users", "3", *PLACE]
MEAN = ["mean", "visits.parquet", *COMMON, "--distance-to", "40.7484,-73.9857", "--alpha", "10", "--budget", "25"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"user_id": [1, 1, 2], "lat": [40.7, 40.8, 99.0], "lon": [-74.0, -73.9, -74.0]})
    frame.write_parquet("visits.parquet")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def test_a_mean_is_printed_and_paid_until_the_budget_is_spent(capsys: pytest.CaptureFixture[str]) -> None:
    command = [*MEAN, "--ledger", "city.ledger"]
    status, out, err = run(capsys, command)
    assert status == 0
    assert re.fullmatch(r"-?[\d.]+  \(95 % interval -?[\d.]+ to -?[\d.]+\)\n", out)
    assert "remaining alpha = 15.0" in err
    assert run(capsys, command)[0] == 0
    status, out, err = run(capsys, command)
    assert (status, out) == (3, "")
    assert err.startswith("emdp: alpha = 10.0 and delta = 0.0 are more than the budget has left")
    assert err.count("\n") == 1
    assert run(capsys, ["ledger", "verify", "city.ledger"])[0] == 0


def test_preview_spends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, [*MEAN, "--ledger", "city.ledger", "--preview"])
    assert status == 0
    assert "affordable   2 such queries" in out
    assert run(capsys, [*MEAN, "--ledger", "city.ledger"])[2].endswith("delta = 0.0 (unbounded central EmdDP)\n")


@pytest.mark.slow
def test_units_of_the_readme_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The same preview in every unit: only the numbers with a unit change."""
    high = {}
    for unit in ("km", "mi", "miles", "m", "metres"):
        status, out, _ = run(capsys, [*MEAN, "--ledger", "city.ledger", "--preview", "--unit", unit])
        assert status == 0
        high[unit] = float(re.search(r"range \[0, ([\d.e+]+)\]", out)[1])  # type: ignore[index]
    assert high["miles"] == high["mi"] == pytest.approx(high["km"] / 1.609344, rel=1e-4)
    assert high["metres"] == high["m"] == pytest.approx(high["km"] * 1000, rel=1e-4)


@pytest.mark.parametrize("option", ["--far-point", "--as-given"])
def test_what_looks_swapped_may_be_said_twice(capsys: pytest.CaptureFixture[str], option: str) -> None:
    change = ["--distance-to", "-33.9,151.2"] if option == "--far-point" else ["--box", "-74.26,40.48,-73.70,40.92"]
    far = ["--distance-to", "-74,40.7"] if option == "--as-given" else []
    command = [*MEAN, "--ledger", "city.ledger", "--preview", *change, *far]
    assert run(capsys, command)[0] == 2
    assert run(capsys, [*command, option])[0] == 0


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        (["--users", "1"], 4, "declared users"),
        (["--on-invalid", "error"], 4, "outside the space's domain"),
        (["--unit", "furlong"], 2, "unit must be one of 'km' (kilometres), 'mi' (miles), 'm' (metres), got 'furlong'"),
        (["--unit", ""], 2, "unit must be one of 'km' (kilometres), 'mi' (miles), 'm' (metres), got ''"),
        (["--on-invalid", ""], 2, "on_invalid must be one of"),
        (["--distance-to", "-73.9857,40.7484"], 2, "so pass (40.7484, -73.9857), or distance_to(..., far_point=True)"),
        (["--geo", "lon,lat"], 2, "so pass 'lat', 'lon', or as_given=True (as_given = true in a catalog, --as-given"),
        (["--box", "-74.26,40.48,-73.70,40.92"], 2, "pass (40.48, -74.26, 40.92, -73.7), or as_given=True"),
        (["--budget", "-5"], 2, "--budget must be at least 0, got -5"),
        (["--budget-delta", "2"], 2, "--budget-delta must be in [0, 1), got 2.0"),
        (["--on-invalid", "drop"], 2, "on_invalid must be one of"),
        (["--box", "40,-74,41"], 2, "--box must be 4 values"),
        (["--box", "40,-74,41,x"], 2, "--box must be 4 numbers"),
        (["--alpha", "-1"], 2, "alpha must be above 0"),
        (["--user", "who"], 2, "no column 'who'"),
        (["--column", "lat"], 2, "exactly one of --distance-to"),
        (["-C", "emdp.toml"], 2, "--user stands in the catalog"),
        (["--name", ""], 2, "name must be a non-empty text"),
    ],
)
def test_bad_requests_exit_with_one_sentence(
    capsys: pytest.CaptureFixture[str], change: list[str], status: int, message: str
) -> None:
    found, out, err = run(capsys, [*MEAN, "--ledger", "city.ledger", *change])
    assert (found, out) == (status, "")
    assert message in err
    assert err.startswith("emdp: ")
    assert err.count("\n") == 1


def test_preview_makes_no_ledger_and_fixes_no_budget(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    status, out, _ = run(capsys, [*MEAN, "--ledger", "new.ledger", "--preview"])
    assert status == 0
    assert "sensitivity" in out
    assert not (place / "new.ledger").exists()


def test_preview_declares_nothing_in_a_ledger_that_is_there(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    assert run(capsys, [*MEAN, "--ledger", "city.ledger"])[0] == 0
    other = [*MEAN, "--name", "other", "--ledger", "city.ledger"]
    assert run(capsys, [*other, "--budget", "500", "--preview"])[0] == 0
    with read_ledger("city.ledger") as ledger:
        assert not ledger.entries("other")


def test_options_without_the_part_they_describe_are_not_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    common = ["mean", "visits.parquet", "--user", "user_id", "--users", "3", "--interval", "lat,0,90"]
    common += ["--column", "lat", "--alpha", "1", "--budget", "2", "--ledger", "t.ledger"]
    for extra in (["--box", "1,2,3,4"], ["--unit", "mi"], ["--vectors", "words.parquet"]):
        status, _, err = run(capsys, [*common, *extra])
        assert status == 2
        assert f"{extra[0]} describes" in err


@pytest.mark.slow
def test_options_that_a_catalog_has_are_not_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    for option, value in (("--unit", "mi"), ("--users", "9"), ("--on-invalid", "error"), ("--budget-delta", "1e-5")):
        command = ["mean", "-C", "emdp.toml", "--distance-to", "40,-74", "--alpha", "1", option, value]
        status, _, err = run(capsys, command)
        assert status == 2
        assert f"{option} stands in the catalog" in err
    for command in (["mean", "--distance-to", "40,-74", "--alpha", "1"], ["distance", "1", "2"]):
        for written, option in (
            (["--unit", "mi"], "--unit"),
            (["--no-header"], "--header"),
            (["--as-given"], "--as-given"),
        ):
            status, _, err = run(capsys, [*command, "-C", "emdp.toml", *written])
            assert status == 2
            assert f"{option} stands in the catalog" in err


def test_the_distance_of_nobody_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, ["distance", "1", "77777", "--source", "visits.parquet", *COMMON])
    assert status == 2
    assert "has no record" in err


@pytest.mark.slow
def test_output_that_cannot_be_written_is_said_in_one_line(place: Path) -> None:
    command = [sys.executable, "-c", "from emdp.cli import main; main()", *MEAN, "--ledger", "full.ledger"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=place, check=False)
    assert done.returncode == 1
    assert "output cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_word_s_similarity(capsys: pytest.CaptureFixture[str]) -> None:
    pl.DataFrame({"word": ["a", "b"], "v": [[0.0, 1.0], [1.0, 0.0]]}).write_parquet("words.parquet")
    pl.DataFrame({"user_id": ["x", "y"], "text": ["A b", "b"]}).write_csv("talk.csv")
    status, _, err = run(
        capsys,
        ["mean", "talk.csv", "--user", "user_id", "--users", "2", "--words", "text", "--vectors", "words.parquet",
         "--on-invalid", "neutral", "--similarity", "a", "--alpha", "1", "--budget", "2", "--ledger", "t.ledger"],
    )  # fmt: skip
    assert status == 0, err


def test_distance_of_two_users(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, ["distance", "1", "2", "--source", "visits.parquet", *COMMON])
    assert status == 0
    assert re.match(r"d_em = 0\.\d+ \([\d.]+ km\)\n", out)
    assert "not private" in out
    status, out, _ = run(capsys, ["distance", "1", "1", "--source", "visits.parquet", *COMMON])
    assert out.startswith("d_em = 0 ")


@pytest.mark.slow
def test_a_file_without_names_is_read_by_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text("1842,40.5\n1843,40.25\n")
    words = ["mean", "v.csv", "--user", "column1", "--users", "2", "--interval", "column2,40,41", "--column", "column2"]
    words += ["--alpha", "1", "--budget", "5", "--ledger", "l.ledger"]
    for more, status in (((), 2), (("--no-header",), 0), (("--header",), 2)):
        with pytest.raises(SystemExit) as ended:
            main([*words, *more])
        assert int(ended.value.code or 0) == status
        err = capsys.readouterr().err
        assert "1842" not in err
        assert "40.5" not in err
    words = ["distance", "1842", "1843", "--source", "v.csv", "--user", "column1", "--interval", "column2,40,41"]
    with pytest.raises(SystemExit):
        main(words)
    assert "--no-header" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*words, "--no-header"])
    assert "d_em = 0.25" in capsys.readouterr().out


def test_what_is_refused_makes_no_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text("user,lat,lon\n1,40.7,-74.0\n2,40.8,-73.9\n")
    words = ["mean", "v.csv", "--user", "user", "--users", "2", "--geo", "lat,lon", "--box", "40.4,-74.3,40.9,-73.7"]
    words += ["--header", "--alpha", "1", "--budget", "2", "--ledger", "l.ledger", "--distance-to", "-73.9857,40.7484"]
    with pytest.raises(SystemExit):
        main(words)
    assert "the latitude comes first" in capsys.readouterr().err
    assert not list(tmp_path.glob("l.ledger*"))
    with pytest.raises(SystemExit):
        main([*words[:-1], "40.7484,-73.9857", "--on-invalid", "elsewhere"])
    assert "--on-invalid elsewhere needs elsewhere = 1 beside the space" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["clamp", "neutral"])
def test_what_broken_records_are_told_to_be_can_be_pasted(capsys: pytest.CaptureFixture[str], rule: str) -> None:
    command = [*MEAN, "--ledger", "city.ledger"]
    command[command.index("--on-invalid") + 1] = "error"
    status, _, err = run(capsys, command)
    assert status == 4
    assert "--on-invalid clamp or neutral and a --ledger other than 'city.ledger'" in err
    command[command.index("error")] = rule
    assert run(capsys, [*command[:-1], "other.ledger"])[0] == 0
