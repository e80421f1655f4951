"""What an audit hands on: frame, verdict, table, picture and page."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from emdp.audit.page import page, picture
from emdp.audit.report import Agreement, AuditReport, AuditRow, combined
from emdp.base.errors import UsageError


def row(**changes: object) -> AuditRow:
    given = {
        "query": "SELECT <b> | AVG(x)", "mechanism": "Laplace", "model": "central", "users": 9, "distance": 0.5,
        "claimed_epsilon": 1.0, "delta": 0.0, "audited_epsilon": 0.9, "test": "threshold", "trials": 1000,
        "confidence": 0.95, **changes,
    }  # fmt: skip
    return AuditRow(**given)  # type: ignore[arg-type]


SOUND = AuditReport((row(), row(distance=0.25, claimed_epsilon=0.5, audited_epsilon=0.4)), 0.95, title="Audit of <x>")
BROKEN = AuditReport((row(), row(audited_epsilon=1.5, mechanism="Gaussian")), 0.95)


def test_a_bound_above_its_claim_breaks_the_promise() -> None:
    assert SOUND.is_sound
    assert SOUND.verdict == "no promise was broken: all 2 bounds are at or below what is claimed"
    assert not BROKEN.is_sound
    assert [one.mechanism for one in BROKEN.broken] == ["Gaussian"]
    assert BROKEN.verdict.startswith("a promise was broken: 1 of 2 bounds exceed what is claimed, by most for Gaussian")
    assert row(claimed_epsilon=0.0, audited_epsilon=0.0).ratio == 1.0
    assert row(claimed_epsilon=0.0, audited_epsilon=0.1).is_broken


def test_sessions_of_another_law_are_not_sound() -> None:
    report = AuditReport((row(),), 0.95, (Agreement("q", 40, 160, 1e-9),))
    assert not report.is_sound
    assert "another law" in report.verdict
    assert AuditReport((row(),), 0.95, (Agreement("q", 40, 160, 0.01),)).is_sound


def test_the_frame_has_a_row_for_each_claim() -> None:
    assert SOUND.frame.columns == [
        "query", "mechanism", "model", "users", "distance", "claimed_epsilon", "delta", "audited_epsilon", "ratio",
        "test", "trials", "confidence", "broken",
    ]  # fmt: skip
    assert SOUND.frame.get_column("ratio").to_list() == pytest.approx([0.9, 0.8])
    assert BROKEN.frame.get_column("broken").to_list() == [False, True]


def test_failures_of_several_reports_add_up() -> None:
    both = combined((SOUND, BROKEN), title="all", skipped=("this",))
    assert both.confidence == pytest.approx(0.9)
    assert {one.confidence for one in both.rows} == {both.confidence}
    assert (len(both.rows), both.skipped) == (4, ("this",))


def test_all_files_say_the_same(tmp_path: Path) -> None:
    written = SOUND.write(tmp_path / "out")
    assert {path.name for path in written} == {
        "index.html", "audit.svg", "audit.md", "audit.csv", "audit.json", "audit.parquet",
    }  # fmt: skip
    assert pl.read_parquet(tmp_path / "out" / "audit.parquet").equals(SOUND.frame)
    assert pl.read_csv(tmp_path / "out" / "audit.csv").get_column("ratio").to_list() == pytest.approx([0.9, 0.8])
    lines = (tmp_path / "out" / "audit.md").read_text().splitlines()
    assert len(lines) == 4
    assert all(line.count("|") - line.count("\\|") == 12 for line in lines)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        SOUND.write(tmp_path / "file")


def test_the_picture_shows_each_claim_and_its_bound() -> None:
    drawn = picture([*SOUND.rows, *BROKEN.rows], title="Audit")
    root = ET.fromstring(drawn.svg)
    classes = [element.get("class") for element in root.iter() if element.get("class")]
    assert classes.count("emdp-claimed") == 2
    assert classes.count("emdp-broken") == 1
    assert "0.9 of 1 at 0.5" in drawn.text


def test_the_page_stands_alone_and_escapes_what_was_asked() -> None:
    text = page(AuditReport(SOUND.rows, 0.95, (Agreement("q", 4, 16, 0.5),), "Audit of <x>", ("one: no <place>",)))
    assert "<title>Audit of &lt;x&gt;</title>" in text
    assert "SELECT &lt;b&gt;" in text
    assert "no &lt;place&gt;" in text
    assert "together with probability 0.95" in text
    assert not re.search(r"<script|https?://(?!www\.w3\.org)|src=", text)
    ids = re.findall(r'id="([^"]+)"', text)
    assert len(ids) == len(set(ids)) > 0
    assert '<tr class="broken">' in page(BROKEN)
    assert '<tr class="broken">' not in text
