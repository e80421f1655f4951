"""Each SQLite error becomes one sentence with a remedy."""

import sqlite3
from pathlib import Path

import pytest

from emdp.base.errors import LedgerError, LedgerResourceError
from emdp.ledger.faults import ledger_error


def with_code(code):
    error = sqlite3.OperationalError("technical")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "words", "status"),
    [
        (sqlite3.SQLITE_BUSY, "another process", 2),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "another process", 2),
        (sqlite3.SQLITE_FULL, "disk full", 1),
        (sqlite3.SQLITE_IOERR_FSYNC, "disk fails", 1),
        (sqlite3.SQLITE_NOMEM, "no memory", 1),
        (sqlite3.SQLITE_READONLY_DIRECTORY, "cannot be written", 2),
        (sqlite3.SQLITE_CANTOPEN, "cannot be opened", 2),
        (sqlite3.SQLITE_NOTADB, "no SQLite file", 2),
        (sqlite3.SQLITE_CORRUPT, "damaged (technical)", 2),
        (sqlite3.SQLITE_MISUSE, "damaged (technical)", 2),
    ],
)
def test_code_decides_the_sentence_and_the_exit_status(code, words, status):
    error = ledger_error(Path("city.ledger"), with_code(code))
    assert isinstance(error, LedgerError)
    assert isinstance(error, LedgerResourceError) is (status == 1)
    assert error.exit_status == status
    assert words in str(error)
    assert str(error).startswith("ledger city.ledger ")
    assert str(error).endswith(".")


def test_an_error_without_a_code_is_damage():
    assert "damaged" in str(ledger_error(Path("a"), sqlite3.OperationalError("Could not decode to UTF-8")))
