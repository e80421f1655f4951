"""``emdp audit`` as it is typed: what is printed, what is written, and what it exits with."""

import json
from pathlib import Path

import polars as pl
import pytest

from emdp.cli import main
from emdp.mechanisms.central import laplace

CATALOG = """
ledger = "v.ledger"
[tables.visits]
source = "none.parquet"
columns = { user = "INTEGER", x = "DOUBLE" }
user = "user"
users = 40
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = { alpha = 2.5 }
"""
DEFINITION = """
title = "Visits"
catalog = "emdp.toml"
budget = { alpha = 2.0 }
[[entry]]
title = "Mean"
query = "SELECT WITH EMD_PRIVACY AVG(x) AS m FROM visits"
[[entry]]
title = "Square"
query = "SELECT WITH EMD_PRIVACY AVG(x * x) AS m FROM visits"
"""
MEAN = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) AVG(x) AS m FROM visits"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "emdp.toml").write_text(CATALOG)
    (tmp_path / "visits.toml").write_text(DEFINITION)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as done:
        main(["audit", *arguments])
    said = capsys.readouterr()
    return int(done.value.code or 0), said.out, said.err


def test_a_query_is_audited_without_its_data_and_without_a_ledger(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    """The table's file does not exist: only what the catalog declares is used."""
    status, out, err = run(capsys, MEAN, "--trials", "2000", "--sessions", "5", "--report", "out")
    assert status == 0, err
    assert "no promise was broken: all 3 bounds" in out
    assert "5 answers of a session against 20 draws" in err
    assert not (place / "v.ledger").exists()
    frame = pl.read_parquet(place / "out" / "audit.parquet")
    assert frame.get_column("distance").to_list() == pytest.approx([0.25, 0.5, 1.0])
    assert (place / "out" / "index.html").read_text().startswith("<!doctype html>")


def test_a_broken_promise_has_a_status_of_its_own(
    capsys: pytest.CaptureFixture[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = laplace.draw_discrete_laplace
    monkeypatch.setattr(laplace, "draw_discrete_laplace", lambda scale, size: drawn(0.3 * scale, size))
    status, _, err = run(
        capsys, MEAN, "--trials", "4000", "--sessions", "0", "--distance", "0.5", "--report", "out", "--confidence",
        "0.999999",
    )  # fmt: skip
    assert status == 1
    assert "emdp: a promise was broken: 1 of 1 bounds" in err
    assert json.loads((place / "out" / "audit.json").read_text())["verdict"].startswith("a promise was broken")


@pytest.mark.slow
def test_a_report_is_audited_entry_by_entry_and_together(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    status, out, _ = run(capsys, "visits.toml", "--trials", "500", "--sessions", "0", "--distance", "0.5")
    assert status == 0
    assert "all together" in out
    assert "all 3 bounds" in out
    assert not (place / "v.ledger").exists()


def test_a_file_of_sql_is_read(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "q.sql").write_text(MEAN)
    status, out, _ = run(capsys, "q.sql", "-C", "emdp.toml", "--trials", "200", "--sessions", "0", "--distance", "1")
    assert status == 0
    assert "Audit of visits" in out


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((MEAN, "--trials", "5"), "at least 100"),
        ((MEAN, "--distance", "0"), "above 0"),
        ((MEAN, "--confidence", "1"), "confidence"),
        ((MEAN, "--report", "no/such/folder"), "cannot be written"),
        ((MEAN, "--report", "emdp.toml"), "cannot be written"),
        (("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) SUM(x) FROM visits",), "SUM"),
        (("none.toml",), "none.toml"),
        ((MEAN, "-C", "none.toml"), "none.toml"),
        ((MEAN, "--table", "trips"), "trips"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert words in err


@pytest.mark.slow
def test_without_a_query_all_mechanisms_are_audited(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the catalog's table, or of a generated one where there is no catalog."""
    from emdp.audit import AuditReport

    asked = []

    def found(source: object, **options: object) -> AuditReport:
        asked.append((getattr(source, "name", None), options["trials"], options["distances"]))
        return AuditReport((), 0.95, title="Audit of all")

    monkeypatch.setattr("emdp.audit.audit_mechanisms", found)
    assert run(capsys, "--trials", "300")[0] == 0
    assert run(capsys, "-C", "emdp.toml", "--table", "visits", "--distance", "0.5")[0] == 0
    Path("emdp.toml").unlink()
    assert run(capsys)[0] == 0
    assert asked == [("visits", 300, None), ("visits", 100_000, [0.5]), (None, 100_000, None)]
    status, _, err = run(capsys, "--table", "visits")
    assert (status, "--table needs a catalog" in err) == (2, True)


def test_help_says_what_each_exit_status_means(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--help")
    words = " ".join(out.split())
    assert status == 0
    assert all(text in words for text in ("Exit status 0:", "1: a bound does", "2: refused"))
