"""``emdp explain``: every number is explained, offline, and every message names its own."""

import re
from pathlib import Path

import pytest

from emdp.base.codes import all_codes, find_code
from emdp.cli import main
from emdp.cli.advice import CLASSES, NUMBERS, SENTENCES
from emdp.cli.explain import WIDTH, explained


def ended(words: list[str]) -> int:
    with pytest.raises(SystemExit) as ending:
        main(words)
    return int(str(ending.value.code or 0))


def test_every_number_is_explained_in_80_columns() -> None:
    for code in all_codes():
        lines = explained(code).splitlines()
        assert lines[0].startswith(f"{code.number}  {code.kind}")
        assert all(len(line) <= WIDTH for line in lines if " " in line.strip())
        assert "Kind: " in explained(code)
        # What it says stands between the head and its kind.
        assert re.fullmatch(r"  \S.*\.", lines[2]) or lines[2].strip(), code
        assert lines[lines.index(next(line for line in lines if line.startswith("Kind: "))) - 1] == ""


def test_an_error_of_a_whole_ledger_is_not_taken_for_damage() -> None:
    for number in ("E0083", "E0086"):
        found = find_code(number)
        assert found is not None
        text = " ".join(explained(found).split())
        assert "The ledger is whole" in text
        assert "whole copy" not in text


def test_the_last_line_of_a_message_on_a_terminal_is_a_command_that_explains_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ended(["mean", "--alpha", "1"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert ended(["mean", "--alpha", "1"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    found = re.fullmatch(r"\(emdp explain (E\d{4})\)", last)
    assert found
    assert ended(["explain", found[1]]) == 0
    shown = capsys.readouterr().out
    assert "exactly one of --distance-to, --column and --similarity must be given; pass" in shown
    assert "exit status 2" in shown


def test_names_of_refusals_and_bare_numbers_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(["explain", "window"]) == 0
    assert ended(["explain", "412"]) == 0
    assert "SqlError 'window'" in capsys.readouterr().out


def test_what_is_no_number_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(["explain", "E9999"]) == 2
    assert "CODE 'E9999' is no number of an error; pass one from E0001 to E" in capsys.readouterr().err


def test_texts_are_of_errors_that_there_are() -> None:
    known = {code.number: code for code in all_codes()}
    assert {number for number, code in known.items() if not code.sentence and not code.name} == set(CLASSES)
    assert set(SENTENCES) <= {code.name for code in known.values() if not code.sentence}
    assert set(NUMBERS) <= set(known)
    assert all(text.endswith(".") for text in (*CLASSES.values(), *SENTENCES.values(), *NUMBERS.values()))
