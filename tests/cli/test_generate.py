"""`emdp generate`: what it writes, prints, refuses, and leaves behind when it is interrupted."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from emdp.base.errors import ResourceError, UsageError
from emdp.cli import generate
from emdp.cli.progress import progress_bar

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments):
    return CliRunner().invoke(generate.app, [str(argument) for argument in arguments])


def sizes(users=50, records=2000):
    return ["--users", users, "--records", records]


def test_checkins_writes_the_table_and_one_line(tmp_path):
    out = tmp_path / "visits.parquet"
    result = run("checkins", *sizes(), "--out", out)
    assert result.exit_code == 0
    assert pl.read_parquet(out).height == 2000
    line = rf"wrote {re.escape(str(out))}: 2,000 rows, 50 listed users, {out.stat().st_size:,} bytes, \d+\.\d s\n"
    assert re.fullmatch(line, result.stdout)


@pytest.mark.parametrize("vectors", [None, "vectors.parquet"])
def test_messages_writes_both_tables(tmp_path, vectors):
    out = tmp_path / "messages.parquet"
    option = [] if vectors is None else ["--vectors", tmp_path / vectors]
    result = run("messages", *sizes(), "--out", out, *option)
    assert result.exit_code == 0
    assert pl.read_parquet(out).height == 2000
    assert pl.read_parquet(tmp_path / (vectors or "words.parquet")).columns == ["word", "vector"]
    assert result.stdout.count("\n") == 1


def test_seed_and_venues_are_passed_on(tmp_path):
    frames = []
    for number, options in enumerate([["--seed", 1], ["--seed", 2], ["--seed", 1], ["--venues", 12]]):
        out = tmp_path / f"{number}.parquet"
        assert run("checkins", *sizes(), "--out", out, *options).exit_code == 0
        frames.append(pl.read_parquet(out))
    assert frames[0].equals(frames[2])
    assert not frames[0].equals(frames[1])
    assert frames[3]["venue"].max() < 12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["checkins", *sizes(users=0), "--out", "t.parquet"], "^users must be at least 1"),
        (["checkins", *sizes(records=-5), "--out", "t.parquet"], "^records must be at least 1"),
        (["checkins", *sizes(), "--out", "t.parquet", "--seed", "-1"], "^seed must be at least 0"),
        (["checkins", *sizes(), "--out", "t.parquet", "--venues", "3"], "^venues must be at least 10"),
        (["checkins", *sizes(), "--out", "t.xlsx"], "^out must end in .parquet or .csv"),
        (["checkins", *sizes(), "--out", "no/such/t.parquet"], "^out must lie in an existing folder"),
        (["messages", *sizes(users=0), "--out", "t.parquet"], "^users must be at least 1"),
        (["messages", *sizes(), "--out", "t.parquet", "--vectors", "w.csv"], "^vectors must end in .parquet"),
        (
            ["messages", *sizes(), "--out", "t.parquet", "--vectors", "./t.parquet"],
            "^vectors must be another file",
        ),
    ],
)
def test_bad_arguments_are_refused_and_nothing_is_written(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert isinstance(result.exception, UsageError)
    assert re.search(words, str(result.exception))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("taken", ["t.parquet", "words.parquet"])
def test_an_existing_file_needs_force(tmp_path, taken):
    (tmp_path / taken).write_text("mine")
    arguments = ["messages", *sizes(), "--out", tmp_path / "t.parquet"]
    result = run(*arguments)
    assert isinstance(result.exception, UsageError)
    assert "which exists; choose another name or add --force" in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 0
    assert pl.read_parquet(tmp_path / "t.parquet").height == 2000


def test_a_folder_that_holds_other_files_stays_even_with_force(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    result = run("checkins", *sizes(), "--out", tmp_path, "--force")
    assert isinstance(result.exception, UsageError)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_empty_folder_is_no_obstacle(tmp_path):
    assert run("checkins", *sizes(), "--out", tmp_path).exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["part-0000.parquet"]
    assert isinstance(run("checkins", *sizes(), "--out", tmp_path).exception, UsageError)


def test_a_disk_error_is_a_sentence(tmp_path, monkeypatch):
    def fail(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(generate.load_dataset_module("checkins"), "write_checkins", fail)
    result = run("checkins", *sizes(), "--out", tmp_path / "t.parquet")
    assert isinstance(result.exception, ResourceError)
    assert "the disk is full" in str(result.exception)


def test_interrupt_leaves_nothing_behind(tmp_path):
    # A runner in the background hands down an ignored SIGINT; a terminal does not.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from emdp.cli.generate import app; app()"
    )
    arguments = ["checkins", "--users", "1000", "--records", "200000000", "--out", "t.parquet"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not any(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [path.name for path in tmp_path.iterdir()] == [f".t.parquet.{process.pid}.partial"]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) != 0
    finally:
        process.kill()
        process.wait()
    assert list(tmp_path.iterdir()) == []


class Screen(io.StringIO):
    """Standard error that says whether it is a terminal."""

    def __init__(self, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "patience", "is_shown"), [(True, -1.0, True), (True, 60.0, False), (False, -1.0, False)]
)
def test_progress_shows_only_on_a_terminal_and_only_after_a_while(monkeypatch, is_terminal, patience, is_shown):
    screen = Screen(is_terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar(patience) as progress:
        progress(5, 10, "rows")
        progress(10, 10, "rows")
    assert ("rows" in screen.getvalue()) == is_shown
    assert bool(screen.getvalue()) == is_shown
