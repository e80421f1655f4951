"""SQLite's errors as errors of emdp: what happened to the ledger, and what to do about it."""

import sqlite3
from pathlib import Path

from emdp.base.errors import LedgerError, LedgerResourceError
from emdp.ledger.chain import REMEDY

__all__ = ["in_one_line", "ledger_error"]

LONGEST_REASON = 200
"""Characters of SQLite's own words that are repeated."""

_ANSWERS = {
    sqlite3.SQLITE_BUSY: "is held by another process for too long; ask again when that has finished.",
    sqlite3.SQLITE_LOCKED: "is held by another process for too long; ask again when that has finished.",
    sqlite3.SQLITE_READONLY: "cannot be written; allow writing to it and to its folder.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened with its log; allow reading and writing it and its folder.",
    sqlite3.SQLITE_PERM: "cannot be opened; allow reading and writing it and its folder.",
    sqlite3.SQLITE_FULL: "finds the disk full; nothing was charged, so make room and ask again.",
    sqlite3.SQLITE_IOERR: "cannot be read or written, for the disk fails or is full; check it and ask again.",
    sqlite3.SQLITE_NOMEM: "finds no memory; nothing was charged, so free some and ask again.",
    sqlite3.SQLITE_NOTADB: f"is no SQLite file or begins damaged; name another file, or {REMEDY}",
}

_SHORT = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM}
"""Codes of a machine that falls short, where nothing is wrong with the request or the ledger."""


def ledger_error(path: Path, error: sqlite3.Error | UnicodeError) -> LedgerError:
    """Return what an SQLite error before the commit means for the ledger at ``path``.

    >>> ledger_error(Path("city.ledger"), sqlite3.DatabaseError("malformed")).problem
    'ledger city.ledger is damaged (malformed)'
    """
    # The low byte is the primary code; text that is no UTF-8, in a table or in a message, carries none.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    kind = LedgerResourceError if code in _SHORT else LedgerError
    return kind(f"ledger {path} {_ANSWERS.get(code, f'is damaged ({in_one_line(str(error))}); {REMEDY}')}")


def in_one_line(text: str) -> str:
    """Return what SQLite says of a damaged file as part of a sentence: it writes several lines, and quotes the file.

    >>> in_one_line("*** in database main ***\\nPage 8: free space corruption")
    '*** in database main *** Page 8: free space corruption'
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:LONGEST_REASON]
