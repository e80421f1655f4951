"""What a report leaves in its folder, and that a file is whole or not there."""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from made_runs import HEAD, full_run, grouped, listed, outcome, run_of, single
from polars.testing import assert_frame_equal

from emdp.base.errors import ResourceError, UsageError
from emdp.ledger import open_ledger
from emdp.privacy import EmdDP, guarantee_from_json
from emdp.reports.export import write_report
from emdp.reports.manifest import check_manifest


def test_every_table_is_written_as_it_is(tmp_path: Path) -> None:
    run = run_of([outcome("Stars & bars", listed()), outcome("Kinds", None, error="x"), outcome("Kinds", grouped(150))])
    written = write_report(run, tmp_path / "new" / "folder")
    assert [path.name for path in written] == [
        "index.html", "01-stars-bars.csv", "01-stars-bars.parquet", "03-kinds.csv", "03-kinds.parquet", "manifest.json",
    ]  # fmt: skip
    assert sorted(os.listdir(tmp_path / "new" / "folder")) == sorted(path.name for path in written)
    answer = run.outcomes[2].answer
    assert answer is not None
    assert_frame_equal(pl.read_parquet(written[4]), answer.frame)
    assert_frame_equal(pl.read_csv(written[3]), answer.frame)
    page = written[0].read_text(encoding="utf-8")
    assert 'href="03-kinds.csv" download' in page
    assert "In the CSV files a text that a spreadsheet would run" in page


def test_a_text_that_a_spreadsheet_would_run_is_exact_in_parquet_alone(tmp_path: Path) -> None:
    answer = grouped(3)
    keys = pl.Series(answer.frame.columns[0], ["=1+1", "@x", "a"])
    made = replace(answer, frame=answer.frame.with_columns(keys))
    written = write_report(run_of([outcome("Kinds", made)]), tmp_path)
    assert pl.read_csv(written[1]).to_series(0).to_list() == ["'=1+1", "'@x", "a"]
    assert pl.read_parquet(written[2]).to_series(0).to_list() == ["=1+1", "@x", "a"]


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("../../etc/passwd", "01-etc-passwd"),
        ("/", "01-entry"),
        ("C:\\x", "01-c-x"),
        ("場所", "01-entry"),
        ("Où vont-ils ?", "01-ou-vont-ils"),
        (".hidden", "01-hidden"),
        ("a" * 300, "01-" + "a" * 40),
        ("CON", "01-con"),
    ],
)
def test_a_title_leads_nowhere_else(tmp_path: Path, title: str, stem: str) -> None:
    folder = tmp_path / "out"
    written = write_report(run_of([outcome(title, single(), picture="none")], budgets=()), folder)
    assert [path.name for path in written[1:3]] == [f"{stem}.csv", f"{stem}.parquet"]
    assert all(path.parent == folder for path in written)
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.slow
def test_many_entries_are_numbered_so_that_names_sort(tmp_path: Path) -> None:
    run = run_of([outcome("x", single(), picture="none") for _ in range(101)], budgets=())
    names = [path.name for path in write_report(run, tmp_path) if path.suffix == ".csv"]
    assert names == sorted(names)
    assert (names[0], names[-1]) == ("001-x.csv", "101-x.csv")


def test_the_manifest_has_the_definition_and_the_digests(tmp_path: Path) -> None:
    run = full_run()
    written = write_report(run, tmp_path)
    manifest = json.loads(written[-1].read_text(encoding="utf-8"))
    assert manifest["files"] == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in written[:-1]}
    assert manifest["report"]["sha256"] == hashlib.sha256(run.definition.encode()).hexdigest()
    assert manifest["report"]["definition"] == run.definition
    assert manifest["ledger"] == {"id": run.ledger_id, "sequence": 41, "head": HEAD}
    (budget,) = manifest["guarantees"]
    assert guarantee_from_json(budget["promise"]) == EmdDP(60.0, 1e-8)
    assert guarantee_from_json(budget["spent"]) == EmdDP(24.5)
    failed, reused = manifest["entries"][6], manifest["entries"][2]
    assert (failed["error"], failed["charge"], failed["answer"], failed["files"]) == (
        "column 'kn' is not in 'visits'; name another.", None, None, [],
    )  # fmt: skip
    assert (reused["reused"], reused["error"], reused["charge"]["sequence"], reused["answer"]["sequence"]) == (
        True, None, 12, 13,
    )  # fmt: skip


def test_the_check_of_manifests_reads_what_is_written(tmp_path: Path) -> None:
    written = write_report(full_run(), tmp_path / "out")
    manifest = json.loads(written[-1].read_text(encoding="utf-8"))
    with open_ledger(str(tmp_path / "city.ledger")) as ledger:
        problems = check_manifest(manifest, tmp_path / "out", ledger)
        # The ledger knows nothing of a run made by hand; form, definition and files are what is compared here.
        own = ("report", "files", "format", "versions", "made", "entries: ")
        assert [problem for problem in problems if problem.startswith(own)] == []
        assert not [problem for problem in problems if problem.endswith("is missing") or "wrong type" in problem]
        written[1].write_text("changed")
        changed = check_manifest(manifest, tmp_path / "out", ledger)
        assert f"files: {written[1].name!r} was changed" in changed


def test_files_of_the_same_name_are_replaced_and_others_stay(tmp_path: Path) -> None:
    run = run_of([outcome("Stars", listed())])
    (tmp_path / "index.html").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    write_report(run, tmp_path)
    assert "<!DOCTYPE html>" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_link_is_replaced_and_never_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "out"
    folder.mkdir()
    for name in ("index.html", f".index.html.{os.getpid()}.part"):
        (folder / name).symlink_to(precious)
    write_report(run_of([outcome("Stars", listed())]), folder)
    assert precious.read_text() == "mine"
    assert not (folder / "index.html").is_symlink()


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of([outcome("Stars", listed())])
    write_report(run, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(ResourceError, match="the disk is full; make room on it"):
        write_report(replace(run, made="2026-11-23T00:00:00+00:00"), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(UsageError, match="cannot be written to"):
        write_report(run_of([outcome("Stars", listed())]), tmp_path / "out")


def test_files_have_the_permissions_of_new_files(tmp_path: Path) -> None:
    (tmp_path / "new").touch()
    (path, *_) = write_report(run_of([outcome("Stars", listed())]), tmp_path / "out")
    assert path.stat().st_mode == (tmp_path / "new").stat().st_mode
