"""Texts that a path names: bounded, and from regular files alone, whatever lies under the name."""

import gzip
import os
from pathlib import Path

import pytest

import emdp
from emdp.base import files
from emdp.base.errors import DataRuleError, UsageError
from emdp.base.files import open_regular, read_bounded, read_header, read_text
from emdp.cli import main
from emdp.tables.source import open_source

NO_FILES = ("pipe", "device", "link to a device", "folder")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def no_file(place: Path, kind: str, name: str) -> Path:
    """Make what would be waited for, or read without an end, where it was taken for a file."""
    path = place / name
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    return Path("/dev/zero") if kind == "device" else path


@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_regular_file_is_not_read(place: Path, kind: str) -> None:
    path = no_file(place, kind, "x")
    for read in (read_bounded, read_text, open_regular):
        with pytest.raises(OSError, match=r"pipe or a device|directory"):
            read(path)


def test_nothing_comes_between_the_check_and_the_opening(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever a name meant a moment before, what was opened is looked at.
    (place / "x").write_text("text")
    monkeypatch.setattr(os, "stat", lambda *words, **options: pytest.fail("a name was looked at"))
    monkeypatch.setattr(os, "lstat", lambda *words, **options: pytest.fail("a name was looked at"))
    assert read_bounded(place / "x") == b"text"


def test_a_text_has_a_bound(place: Path) -> None:
    (place / "x").write_text("é\r\nb\rc\n")
    assert read_text(place / "x", 8) == "é\nb\nc\n"
    with pytest.raises(OSError, match="more than 7 bytes"):
        read_text(place / "x", 7)
    assert read_text(place / "x", 8) == "é\nb\nc\n"


def test_a_header_has_a_bound(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_HEADER", 12)
    for text, found in (('a,"b\nc"\n1,2\n', ["a", "b\nc"]), ("\ufeffa\n" + "x" * 99, ["a"]), ("", None)):
        (place / "x.csv").write_text(text, encoding="utf-8")
        with open_regular(place / "x.csv") as file:
            assert read_header(file) == found
            assert not file.closed
    for text in ("a" * 12 + "\n", 'a,"' + "\n" * 99):
        (place / "x.csv").write_text(text)
        with open_regular(place / "x.csv") as file, pytest.raises(OSError, match="first row is too long"):
            read_header(file)


@pytest.mark.parametrize("packed", [True, False])
def test_a_csv_file_whose_first_row_has_no_end_is_refused(place: Path, packed: bool) -> None:
    content = b",".join(b"c%d" % number for number in range(200_000))
    name = "x.csv.gz" if packed else "x.csv"
    (place / name).write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(DataRuleError, match="its first row is too long"):
        open_source(name).schema()


@pytest.mark.quarter
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(("tail", "is_refused"), [(40_000_000, True), (1000, False)])
def test_a_last_row_that_the_engine_would_leave_out_is_refused(
    place: Path, packed: bool, tail: int, is_refused: bool
) -> None:
    content = b"u,c\n1,0.5\n2,0.5" + b"0" * tail
    name = "x.csv.gz" if packed else "x.csv"
    (place / name).write_bytes(gzip.compress(content) if packed else content)
    table = emdp.read(name, user="u", users=2, space=emdp.Interval("c", 0, 1))
    if is_refused:
        with pytest.raises(DataRuleError, match="its last row has no end"):
            table.validate()
    else:
        table.validate()


def test_vectors_have_a_header_that_is_none_of_millions_and_are_not_packed(place: Path) -> None:
    for content in (b"," * 2**20 + b"\n", gzip.compress(b"key,a\nx,1\n")):
        (place / "v.csv").write_bytes(content)
        with pytest.raises(UsageError, match="cannot be read"):
            emdp.Embedding("word", "v.csv")


@pytest.mark.quarter
@pytest.mark.parametrize("kind", NO_FILES)
@pytest.mark.parametrize(
    "words",
    [
        ("query", "x"),
        ("check", "-C", "x", "SELECT 1"),
        ("report", "x"),
        ("ledger", "verify", "trips.ledger", "--manifest", "x"),
        ("mean", "x.csv", "--user", "u", "--users", "3", "--interval", "c,0,1", "--column", "c", "--alpha", "1",
         "--budget", "2", "--ledger", "t.ledger"),
        ("mean", "t.csv", "--user", "u", "--users", "x.csv", "--interval", "c,0,1", "--column", "c", "--alpha", "1",
         "--budget", "2", "--ledger", "t.ledger"),
        ("mean", "t.csv", "--user", "u", "--users", "3", "--words", "c", "--vectors", "x.csv", "--similarity", "a",
         "--alpha", "1", "--budget", "2", "--ledger", "t.ledger"),
    ],
    ids=["query", "catalog", "report", "manifest", "source", "users", "vectors"],
)  # fmt: skip
def test_commands_read_no_pipe_and_no_device(
    place: Path, capsys: pytest.CaptureFixture[str], kind: str, words: tuple[str, ...]
) -> None:
    with emdp.Session(
        emdp.read({"u": [1], "c": [0.5]}, user="u", users=1, space=emdp.Interval("c", 0, 1)),
        budget=emdp.EmdDP(1.0),
        ledger="trips.ledger",
    ):
        pass
    (place / "t.csv").write_text("u,c\n1,0.5\n")
    csv = no_file(place, kind, "x.csv")
    other = no_file(place, kind, "x")
    given = {"x": str(other), "x.csv": str(csv)}
    with pytest.raises(SystemExit) as ended:
        main([given.get(word, word) for word in words])
    assert ended.value.code in {2, 4}
    err = capsys.readouterr().err
    assert err.startswith("emdp: ")
    assert err.count("\n") == 1
    assert not (place / "t.ledger").exists()


def test_a_query_on_standard_input_has_a_bound(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("/dev/zero", encoding="utf-8") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        with pytest.raises(SystemExit) as ended:
            main(["query", "-"])
    assert ended.value.code == 2
    assert "standard input holds more than" in capsys.readouterr().err
