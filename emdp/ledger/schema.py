"""The SQLite file of a ledger: its marks, its tables and triggers, and the check that a file has exactly
these.

``event`` holds the chain, ``head`` one row with the sequence and hash of its last entry. Triggers refuse
every change but an append, so that neither a slip in emdp nor a stray SQL statement can take a charge back.
``content``, made when the first is kept, holds texts under their digests; they may be deleted, not changed.
The triggers stop slips, not somebody who drops them: for that there is the chain.
"""

import sqlite3

from emdp.base.errors import LedgerError
from emdp.ledger.beside import APPLICATION_ID

__all__ = [
    "APPEND",
    "FORGET",
    "KEEP",
    "MOVE_HEAD",
    "SELECT_CONTENT",
    "SELECT_LINKS",
    "SIDE_FILES",
    "check_schema",
    "create_content",
    "create_schema",
    "has_content",
    "prepare",
]

FORMAT = 1
"""Version of the layout below, kept as SQLite's ``user_version``; other versions are refused."""

SIDE_FILES = ("-wal", "-journal")
"""Suffixes of files beside a database that SQLite replays into it, whichever database they came from."""

SELECT_LINKS = 'SELECT sequence, time, kind, "table", payload, previous_hash, hash FROM event'
APPEND = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)"
MOVE_HEAD = "UPDATE head SET sequence = ?, hash = ?"
SELECT_CONTENT = "SELECT digest, text FROM content"
KEEP = "INSERT OR IGNORE INTO content VALUES (?, ?)"
FORGET = "DELETE FROM content WHERE digest = ?"

_COLUMNS = (
    'sequence INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, "table" TEXT NOT NULL, '
    "payload TEXT NOT NULL, previous_hash TEXT NOT NULL, hash TEXT NOT NULL"
)
_REFUSE = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"

# The trigger on INSERT also stops INSERT OR REPLACE, which deletes without firing a trigger on DELETE.
_OBJECTS = {
    "event": f"CREATE TABLE event ({_COLUMNS})",
    "head": (
        "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL, hash TEXT NOT NULL)"
    ),
    "event_update": f"CREATE TRIGGER event_update BEFORE UPDATE ON event {_REFUSE}",
    "event_delete": f"CREATE TRIGGER event_delete BEFORE DELETE ON event {_REFUSE}",
    "event_insert": (
        "CREATE TRIGGER event_insert BEFORE INSERT ON event WHEN NOT EXISTS "
        f"(SELECT 1 FROM head WHERE sequence + 1 = NEW.sequence AND hash = NEW.previous_hash) {_REFUSE}"
    ),
    "head_update": (
        "CREATE TRIGGER head_update BEFORE UPDATE ON head WHEN NOT EXISTS "
        "(SELECT 1 FROM event WHERE sequence = NEW.sequence AND hash = NEW.hash) "
        f"OR NEW.sequence <> OLD.sequence + 1 OR NEW.one <> OLD.one {_REFUSE}"
    ),
    "head_delete": f"CREATE TRIGGER head_delete BEFORE DELETE ON head {_REFUSE}",
    "head_insert": (f"CREATE TRIGGER head_insert BEFORE INSERT ON head WHEN EXISTS (SELECT 1 FROM head) {_REFUSE}"),
}

_CONTENT = {
    "content": "CREATE TABLE content (digest TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
    "content_update": (
        "CREATE TRIGGER content_update BEFORE UPDATE ON content BEGIN SELECT RAISE(ABORT, 'a text is kept as it was'); "
        "END"
    ),
}


def create_content(connection: sqlite3.Connection) -> None:
    """Make the table of texts unless it is there, inside the caller's transaction."""
    if not has_content(connection):
        for statement in _CONTENT.values():
            connection.execute(statement)


def has_content(connection: sqlite3.Connection) -> bool:
    """Say whether any text was ever kept."""
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'content'").fetchall())


def create_schema(connection: sqlite3.Connection, first_previous_hash: str) -> None:
    """Write marks, tables, triggers and the head before the first entry, inside the caller's transaction.

    >>> connection = sqlite3.connect(":memory:", isolation_level=None)
    >>> create_schema(connection, "0" * 64)
    >>> connection.execute("SELECT sequence FROM head").fetchall()
    [(0,)]
    >>> connection.close()
    """
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    for statement in _OBJECTS.values():
        connection.execute(statement)
    connection.execute("INSERT INTO head VALUES (1, 0, ?)", (first_previous_hash,))


def prepare(connection: sqlite3.Connection, *, query_only: bool = False) -> None:
    """Set what a connection to a ledger needs: every commit flushed to the disk before it returns."""
    connection.execute(f"PRAGMA query_only = {int(query_only)}")
    for pragma in (
        "synchronous = FULL",
        "fullfsync = ON",
        "checkpoint_fullfsync = ON",
        "trusted_schema = OFF",
        "secure_delete = ON",
    ):
        connection.execute(f"PRAGMA {pragma}")
    if _pragma(connection, "synchronous") != 2:
        raise LedgerError("this SQLite library cannot flush commits to the disk; use a Python with a standard sqlite3.")


def check_schema(connection: sqlite3.Connection, path: str, *, immutable: bool = False) -> None:
    """Raise ``LedgerError`` unless the file is a ledger of this format with all its tables and triggers.

    ``immutable`` says that the connection reads without locks and log.
    """
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise LedgerError(f"ledger {path} is no ledger but another application's SQLite file; name another file.")
    version = _pragma(connection, "user_version")
    if version != FORMAT:
        raise LedgerError(
            f"ledger {path} has format {version}, this emdp reads {FORMAT}; install the emdp that wrote it."
        )
    # A flipped byte of the header can turn the journal mode, and the entries still in the log would vanish.
    mode = _pragma(connection, "journal_mode")
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite@_%' ESCAPE '@'"))
    if mode != ("delete" if immutable else "wal") or found not in (_OBJECTS, _OBJECTS | _CONTENT):
        raise LedgerError(
            f"ledger {path} lacks its tables, triggers or write-ahead log, or has others; put back the last good copy."
        )


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]
