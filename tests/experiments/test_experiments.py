"""Whole experiments in tiny sizes: the files, the words, and the honesty of the comparison."""

from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from typer.testing import CliRunner

from emdp.base.errors import UsageError
from emdp.cli.app import make_app
from emdp.experiments import NAMES, clustered, frequency, geometric, linear, run_experiment, table2, write_experiment
from emdp.experiments.base import EMD, USER, Row, row_of, verdicts
from emdp.experiments.clustered import Setting

COLUMNS = {
    "experiment", "panel", "x", "method", "guarantee", "model", "measure", "parameters", "error_mean", "error_low",
    "error_high", "runs", "bound", "bound_source", "drawn", "seed", "is_private",
}  # fmt: skip


@pytest.fixture
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = Setting(clusters=3, width=2, m=10, n=300)
    monkeypatch.setattr(frequency, "BASE", tiny)
    # The sharper accountant takes a second a point; test_clustered.py runs it.
    monkeypatch.setattr(clustered, "SHARP_ITEMS", 0)
    sizes = {
        "alpha/epsilon": [{"ratio": 1}, {"ratio": 60}], "k": [{"clusters": 2}], "m": [{"m": 5}], "n": [{"n": 200}],
    }  # fmt: skip
    monkeypatch.setattr(frequency, "SMALL", sizes)
    monkeypatch.setattr(linear, "SMALL", {"alpha/epsilon": [{"ratio": 1}, {"ratio": 60}], "p": [{"p": 1}]})
    monkeypatch.setattr(linear, "BASE", linear.Setting(n=100, p=2))
    monkeypatch.setattr(table2, "RATIOS", (1.0, 60.0))
    monkeypatch.setattr(geometric, "SMALL", ((20_000, 1.0),))
    monkeypatch.setattr(geometric, "SESSION_USERS", 2000)


WITHOUT_PAIRS = ("compressed", "bandits", "descent", "recoverability")
"""Experiments that do not compare the two guarantees."""


@pytest.mark.slow
@pytest.mark.usefixtures("_tiny")
@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_PAIRS])
def test_each_experiment_writes_rows_and_a_picture_with_bounds(name: str, tmp_path: Path) -> None:
    found = run_experiment(name, runs=8, seed=7)
    table, picture = write_experiment(found, tmp_path / "new")
    frame = pl.read_parquet(table)
    assert set(frame.columns) >= COLUMNS
    assert not frame["is_private"].any()
    assert set(frame["guarantee"]) == {EMD, USER}
    assert "session" in set(frame["drawn"])
    assert frame.filter(pl.col("drawn") == "mechanism")["bound"].is_not_null().any()
    assert (frame["error_low"] <= frame["error_high"]).all()
    root = ET.parse(picture).getroot()
    text = " ".join(root.itertext())
    assert "user-level DP has the smaller error" in text
    assert any(node.get("stroke-dasharray") for node in root.iter()), "bounds are on the same axes"


@pytest.mark.usefixtures("_tiny")
def test_a_seed_gives_the_same_rows_again() -> None:
    first, second, other = (run_experiment("geometric", runs=2, seed=seed).frame for seed in (1, 1, 2))
    assert first.equals(second)
    assert not first.equals(other)


@pytest.mark.slow
@pytest.mark.usefixtures("_tiny")
def test_the_command_prints_where_user_level_is_better(tmp_path: Path) -> None:
    done = CliRunner().invoke(make_app(()), ["experiment", "freq-central", "--out", str(tmp_path), "--runs", "12"])
    assert done.exit_code == 0
    assert "user-level DP has the smaller error at 1" in done.stdout
    assert "nothing here is private" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["freq-central.parquet", "freq-central.svg"]


def test_what_is_malformed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name must be"):
        run_experiment("table3")
    with pytest.raises(UsageError, match="runs"):
        run_experiment("geometric", runs=0)
    taken = tmp_path / "file"
    taken.write_text("")
    done = CliRunner().invoke(make_app(()), ["experiment", "geometric", "--out", str(taken)])
    assert isinstance(done.exception, UsageError)


def test_verdicts_name_the_winner_only_beyond_noise() -> None:
    def row(kind: str, x: float, errors: list[float], **other: str) -> Row:
        shared = {"panel": "n", "method": kind, "model": "central", "measure": "e", "parameters": {}, **other}
        return row_of(errors, x=x, guarantee=kind, **shared)

    rows = [
        row(USER, 1.0, [1.0, 1.1]), row(EMD, 1.0, [3.0, 3.1]),
        row(USER, 2.0, [4.0, 4.1]), row(EMD, 2.0, [1.0, 1.1]),
        row(USER, 3.0, [1.0, 3.0]), row(EMD, 3.0, [2.0, 4.0]),
        row(EMD, 1.0, [0.1], drawn="session"), row(EMD, 1.0, [0.1], measure="other"),
    ]  # fmt: skip
    (found,) = verdicts(rows, "e")
    assert found == (
        "n, central model: user-level DP has the smaller error at 1 (up to 2.9x); d_EM-DP at 2 (up to 3.9x); "
        "not told apart (5 %, or 3 standard errors) at 3."
    )
    assert verdicts([row(USER, 1.0, [1.0, 2.0])], "e") == ()
