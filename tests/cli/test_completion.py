"""Tab completion: commands and options, from the command line's own table; no catalog, file or ledger is opened."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

START = "import sys; sys.argv[0] = 'emdp'; from emdp.__main__ import main; main()"


def completed(folder: Path, words: str, place: int) -> subprocess.CompletedProcess[str]:
    asked = {"_EMDP_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    return subprocess.run(
        [sys.executable, "-c", START], env=os.environ | asked, cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("words", "place", "found"),
    [
        ("emdp pre", 1, {"preview"}),
        ("emdp con", 1, {"consequences"}),
        ("emdp preview --pe", 2, {"--period"}),
        ("emdp ledger ver", 2, {"verify"}),
    ],
)
def test_commands_and_options_are_completed(tmp_path: Path, words: str, place: int, found: set[str]) -> None:
    # Whoever opened one of these would end with an error.
    (tmp_path / "emdp.toml").write_text("broken [")
    (tmp_path / "emdp.ledger").write_text("no ledger")
    done = completed(tmp_path, words, place)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == found
    assert done.stderr == ""
    assert {path.name for path in tmp_path.iterdir()} == {"emdp.toml", "emdp.ledger"}
