"""The secret state of streams and of refinable answers: exact statistics, in a file beside the ledger's.

Row ``t`` of a stream is made of the exact statistics of all periods so far, and a source may have changed since, so
they are kept: as secret as the data. The file ``LEDGER.state`` is its owner's alone (mode 0600), and is refused
otherwise. It is not part of the ledger: in the chain there is only ``HMAC(salt, statistic)``, with the salt here, since
a bare hash of a small integer can be guessed.

The file and the ledger cannot commit together. So a *draft* is written first, durably, and the ledger's row names its
digest: drafts are only ever inserted, and the row says which one counts. A process that loses its turn leaves a draft
that nothing names. A row whose draft is gone ends its stream: nothing is computed from other numbers in its place.

Where a user counts in some periods of a stream alone, a draft also holds who was counted in its row: the row's *diary*,
under the same digest. So nobody has seen a row whose diary is not on the disk, and it is the one that the row was made
with.
"""

import hashlib
import hmac
import json
import os
import sqlite3
import stat
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from emdp.base.classes import dataclass
from emdp.base.errors import LedgerError, LedgerResourceError, resource_error
from emdp.base.files import flush

__all__ = ["Draft", "StreamState", "draft_digest", "draft_text", "opened_draft"]

STATE = ".state"
"""Ending behind a ledger's path."""

APPLICATION_ID = 0x656D7073
"""SQLite's mark of whose file it is: "emps" in ASCII."""

BUSY_SECONDS = 30.0
"""Longest wait for another process's transaction."""

_SCHEMA = "CREATE TABLE draft (digest TEXT PRIMARY KEY, salt BLOB NOT NULL, numbers TEXT NOT NULL) WITHOUT ROWID"


@dataclass(frozen=True)
class Draft:
    """What is kept of a period whose row was, or would have been, drawn: private."""

    numbers: tuple[int, ...]
    counted: tuple[str, ...] | None = None  # Keys of the users who count in it, where there is a cap on their periods

    def __repr__(self) -> str:
        return "Draft(hidden)"


def draft_digest(
    salt: bytes, stream: str, place: int, numbers: Sequence[int], counted: Sequence[str] | None = None
) -> str:
    """Return the digest that the chain has of a period's exact statistic, which nobody without the salt can guess.

    With ``counted``, of the statistic and of who counts in it.

    >>> len(draft_digest(b"0" * 32, "ab", 1, [3, -4]))
    64
    """
    said = ["emdp stream 1", stream, place, list(numbers)]
    if counted is not None:
        said = ["emdp stream 2", stream, place, list(numbers), list(counted)]
    return hmac.new(salt, json.dumps(said, separators=(",", ":")).encode("ascii"), hashlib.sha256).hexdigest()


def draft_text(numbers: Sequence[int], counted: Sequence[str] | None = None) -> str:
    """Return a draft as a state keeps it."""
    said = list(numbers) if counted is None else {"numbers": list(numbers), "counted": list(counted)}
    return json.dumps(said, separators=(",", ":"))


def opened_draft(salt: bytes, text: str, digest: str, stream: str, place: int) -> Draft | None:
    """Return what a state keeps under a digest; None if it is not that of this period of the stream.

    >>> salt = b"0" * 32
    >>> opened_draft(salt, draft_text([3]), draft_digest(salt, "ab", 1, [3]), "ab", 1).numbers
    (3,)
    """
    try:
        said = json.loads(text)
        numbers, counted = (said["numbers"], said["counted"]) if isinstance(said, dict) else (said, None)
        is_right = hmac.compare_digest(draft_digest(salt, stream, place, numbers, counted), digest)
        found = Draft(tuple(numbers), None if counted is None else tuple(counted))
    except (TypeError, ValueError, KeyError):
        return None
    is_right = is_right and all(type(number) is int for number in found.numbers)
    return found if is_right and all(type(key) is str for key in found.counted or ()) else None


class StreamState:
    """State of the streams of a ledger in a file.

    Raises
    ------
    LedgerError
        If others may read or write the file, or it is none of ours.
    """

    def __init__(self, ledger: str | os.PathLike[str]) -> None:
        self.path = Path(f"{os.fspath(ledger)}{STATE}")

    def check(self) -> None:
        """Raise ``LedgerError`` if others may read or write the file."""
        if os.path.lexists(self.path):
            self._check_mode()

    def keep(self, digest: str, salt: bytes, numbers: Sequence[int], counted: Sequence[str] | None = None) -> None:
        if not os.path.lexists(self.path):
            self._create()
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO draft VALUES (?, ?, ?)", (digest, salt, draft_text(numbers, counted)))
            connection.execute("COMMIT")

    def find(self, digest: str, stream: str, place: int) -> Draft:
        """Return the draft that a row names."""
        if not os.path.lexists(self.path):
            raise self._lost()
        with self._connected() as connection:
            found = connection.execute("SELECT salt, numbers FROM draft WHERE digest = ?", (digest,)).fetchall()
        draft = opened_draft(found[0][0], found[0][1], digest, stream, place) if found else None
        if draft is None:
            raise self._lost()
        return draft

    def kept(self, key: str) -> tuple[int, ...] | None:
        """Return the numbers that were kept under a key, such as an answer's noise; None where there are none.

        Raises
        ------
        LedgerError
            If the file cannot be read, may be read by others, or holds something else there.
        """
        if not os.path.lexists(self.path):
            return None
        with self._connected() as connection:
            found = connection.execute("SELECT numbers FROM draft WHERE digest = ?", (key,)).fetchall()
        try:
            numbers = tuple(json.loads(found[0][0])) if found else None
        except (TypeError, ValueError):
            numbers = (None,)
        if numbers is not None and not all(type(number) is int for number in numbers):
            raise LedgerError(f"state {self.path} is damaged; put the last good copy back, or ask again.")
        return numbers

    def _create(self) -> None:
        try:
            # Under a name of its own until it is whole, and never readable to others, whatever the process's mask is.
            temporary = Path(f"{self.path}-{uuid.uuid4().hex}")
            os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            try:
                with closing(sqlite3.connect(f"{temporary.as_uri()}?mode=rw", uri=True, isolation_level=None)) as new:
                    new.execute("PRAGMA synchronous = EXTRA")
                    new.execute("BEGIN IMMEDIATE")
                    new.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    new.execute(_SCHEMA)
                    new.execute("COMMIT")
                try:
                    os.link(temporary, self.path)
                except FileExistsError:
                    return
            finally:
                os.unlink(temporary)
            flush(self.path.parent)
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from None

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        self._check_mode()
        try:
            with closing(
                sqlite3.connect(f"{self.path.as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
            ) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("PRAGMA fullfsync = ON")
                connection.execute("PRAGMA trusted_schema = OFF")
                if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                    raise LedgerError(f"state of streams {self.path} is another application's file; put ours back.")
                yield connection
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from None

    def _check_mode(self) -> None:
        try:
            status = os.lstat(self.path)
        except OSError as error:
            raise self._failed(error) from None
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise LedgerError(
                f"state of streams {self.path} must be a plain file that its owner alone can read and write, since it "
                "holds exact statistics; own it, and run chmod 600 on it."
            )

    def _failed(self, error: OSError | sqlite3.Error) -> LedgerError:
        # Neither the engine's text nor a value: what is in the file is private.
        if isinstance(error, OSError) and resource_error(error) is not None:
            return LedgerResourceError(
                f"state of streams {self.path} cannot be written, for the disk is full or fails; make room, ask again."
            )
        return LedgerError(f"state of streams {self.path} cannot be used; check the file, its folder and the disk.")

    def _lost(self) -> LedgerError:
        return LedgerError(
            f"state of streams {self.path} lacks the exact statistic of a period that the ledger has a row of, so that "
            "the stream has ended; its rows stay good, and a new stream is a new charge."
        )
