"""``emdp ledger copy`` and ``emdp ledger roles``: what is printed, and what never is."""

import os

import pytest

from emdp.cli import main
from emdp.ledger import open_ledger, read_ledger

PASSWORD = "postgresql://ann:s3cret@/team?host=/nowhere"


def run(capsys, *arguments):
    """Run a command, and return its exit status and what it printed to the two streams."""
    with pytest.raises(SystemExit) as caught:
        main(["ledger", *map(str, arguments)])
    return caught.value.code or 0, *capsys.readouterr()


def test_copy_says_what_it_copied_and_that_there_are_two_now(capsys, tmp_path):
    with open_ledger(tmp_path / "a.ledger") as ledger:
        entry = ledger.append("answer", "visits", {}, content="text")
    status, out, err = run(capsys, "copy", tmp_path / "a.ledger", tmp_path / "b.ledger")
    assert status == 0
    assert out.endswith(f"with 1 kept texts\nentries: 2\nhead: {entry.hash}\n")
    assert "take one of them out of use" in err
    assert read_ledger(tmp_path / "b.ledger").head() == (2, entry.hash)
    status, out, err = run(capsys, "copy", tmp_path / "a.ledger", tmp_path / "b.ledger")
    assert (status, out) == (2, "")
    assert "exists, and a copy goes to a new one" in err


def test_roles_prints_statements_for_psql(capsys):
    status, out, err = run(capsys, "roles", PASSWORD, "--analyst", "team", "--analyst", "bob", "--auditor", "audit")
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == 'GRANT USAGE ON SCHEMA emdp_ledger TO "team", "bob", "audit";'
    assert out.splitlines()[2].startswith("GRANT EXECUTE ON FUNCTION emdp_ledger.hold(), ")
    assert out.splitlines()[2].endswith('TO "team", "bob";')


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["roles", "city.ledger", "--analyst", "a"], "ADDRESS must be that of a PostgreSQL database"),
        (["roles", PASSWORD], "one of --analyst"),
        (["roles", PASSWORD, "--create"], "cannot be reached"),
        (["show", PASSWORD], "cannot be reached"),
        (["history", PASSWORD], "cannot be reached"),
        (["verify", PASSWORD], "cannot be reached"),
        (["reserve", PASSWORD, "t", "n", "--alpha", "1"], "cannot be reached"),
        (["copy", PASSWORD, "b.ledger"], "cannot be reached"),
        (["copy", "a.ledger", PASSWORD], "cannot be reached"),
        (["show", "postgresql://ann:s3/cret@db/team"], "malformed address"),
    ],
)
def test_errors_are_one_sentence_without_the_password(capsys, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert "cret" not in err
    assert os.listdir(tmp_path) == []
