"""A ledger in a PostgreSQL database: one budget for a team, spent from any number of machines.

**Charging is serial.** The issue is that two transactions must not both find the last unit of a budget. Here every
writer's transaction begins with :data:`~emdp.ledger.postgres_schema.HOLD`, which locks the only row of ``head``
(``SELECT ... FOR UPDATE``), and ends with its commit; nothing of the ledger is read before the lock is held. So any
two of them are ordered by it, one reads nothing before the other has ended, and what they do equals running one after
the other: strict two-phase locking with a single lock. For this the isolation level is READ COMMITTED on purpose: each
statement after the lock sees all that earlier holders committed. Under SERIALIZABLE the snapshot is taken before the
lock is granted, so that each commit would fail all that wait, and retries would only come back to this order. Reading
runs under REPEATABLE READ, in one snapshot. That no client goes another way is the server's business
(:mod:`emdp.ledger.postgres_schema`): an entry is inserted under the same lock, and only as the next link.

**What a cut connection leaves.** Before the commit is asked for: nothing, since the server rolls back. While it is
asked for, the outcome is open, and the lost transaction may even be still running. So the ledger connects again, takes
the lock, which the lost transaction holds until it has ended, and only then looks. If the entry is absent, nothing was
charged. If it stands in the chain and its transaction committed (``pg_xact_status``), it is charged, and returned. In
any other case it must be counted as charged, and no answer is given.

**Durable** means ``fsync = on`` and a commit that waits for the disk, and for synchronous standbys where the server
has them. A server that fails over to a standby that lagged behind loses entries, as does one that is put back from a
backup: both show in processes that saw more, and against a head hash kept elsewhere.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from typing import Any

import psycopg

from emdp.base.checks import is_unicode
from emdp.base.errors import LedgerError, UsageError
from emdp.ledger.address import Address
from emdp.ledger.chain import Link, entry_of
from emdp.ledger.postgres_faults import ConnectionLostError, commit_error, ledger_error
from emdp.ledger.postgres_schema import (
    APPEND,
    COUNT,
    DROP,
    HOLD,
    IS_OWNER,
    KEEP,
    MAY_WRITE,
    SELECT_CONTENT,
    SELECT_END,
    SELECT_LINKS,
    check_schema,
    create_schema,
    exchange_check,
    has_schema,
)
from emdp.ledger.start import condition
from emdp.ledger.stored import Snapshot, StoredLedger

__all__ = ["BUSY_SECONDS", "PostgresLedger", "connect", "create_in", "exists_in", "transaction"]

BUSY_SECONDS = 30
"""Longest wait of a call for another process's transaction."""

IDLE_SECONDS = 120
"""Silence of a client after which the server cuts its transaction and gives the lock to the next."""

RECONNECT_SECONDS = 60
"""Longest time in which a call tries to reach a server again to learn what became of its commit."""

PAUSE_SECONDS = 0.2
"""Pause between two such tries."""

OLDEST_SERVER = 130000
"""PostgreSQL 13, the first that says what became of a transaction by a number that never wraps."""

CREATION_LOCK = 0x656D6470
"""The advisory lock of those who make a ledger at once: "emdp" in ASCII."""

_DEFAULTS = {
    "connect_timeout": "10",
    "application_name": "emdp ledger",
    # A network that swallows everything must not hold a caller for hours.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
}

_SAFE = "SET LOCAL search_path = pg_catalog, pg_temp"
_BEGIN_READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_SAFE}"
_BEGIN_WRITE = f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {_SAFE}; SET LOCAL lock_timeout = '{{}}s'; SET LOCAL \
idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'"

_SET_DURABLE = """
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true), current_setting('fsync')
"""
_SERVER = "SELECT current_setting('server_version_num')::integer, current_setting('server_encoding')"
_STATUS = "SELECT pg_xact_status(%s::text::xid8)"


class PostgresLedger(StoredLedger[psycopg.Connection[Any]]):
    """A ledger in an existing schema; :mod:`emdp.ledger.opening` makes one.

    Raises
    ------
    LedgerError
        If the server cannot be reached, the schema is absent, is no ledger's or gives others more rights than it
        should, or this user may not append though ``writable``.
    """

    def __init__(self, address: Address, *, writable: bool) -> None:
        self._address = address
        super().__init__(address.shown, writable=writable)

    def __repr__(self) -> str:
        return f"PostgresLedger({self._shown!r})"

    @property
    def address(self) -> Address:
        """Address of the database, with what it takes to connect."""
        return self._address

    def _check_access(self) -> None:
        with self._connected() as connection:
            self._begin(connection, write=False)
            if self._writable and not _value(connection, MAY_WRITE):
                raise LedgerError(
                    f"ledger {self._shown} cannot be written by this user; ask an owner of the ledger, who finds the "
                    "statements with `emdp ledger roles`."
                )

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        # Closing drops an open transaction, so whatever is raised inside leaves the ledger as it was.
        self._check_open()
        try:
            with closing(connect(self._address)) as connection:
                yield connection
        except psycopg.Error as error:
            if error is self._refusal:
                raise
            raise ledger_error(self._shown, error) from error

    def _begin(self, connection: psycopg.Connection[Any], *, write: bool) -> None:
        _begin(connection, self._shown, write=write)
        if not has_schema(connection):
            raise LedgerError(f"ledger {self._shown} does not exist; check the address, or put the ledger back.")
        check_schema(connection, self._shown)
        if write:
            connection.execute(HOLD)

    def _check_store(self, connection: psycopg.Connection[Any]) -> None:
        # What lies beneath the rows is the server's own business.
        return

    def _records(self, connection: psycopg.Connection[Any], start: int) -> Iterable[tuple[Any, ...]]:
        return connection.execute(f"{SELECT_LINKS} WHERE sequence >= %s ORDER BY sequence", (start,)).fetchall()

    def _selected(
        self, connection: psycopg.Connection[Any], kinds: Sequence[str], **named: Any
    ) -> Iterable[tuple[Any, ...]]:
        where, values = condition("%s", "strpos", kinds, **named)
        return connection.execute(f"{SELECT_LINKS} {where}", values).fetchall()

    @cached_property
    def _states(self) -> bool:
        # Whoever may charge could state totals that are too small, and others would believe them. Asked once: the
        # server refuses those of whom the role was taken since.
        with self._reading() as connection:
            return bool(_value(connection, IS_OWNER))

    def _end(self, connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
        return connection.execute(SELECT_END).fetchall()

    def _count(self, connection: psycopg.Connection[Any], after: int) -> int:
        return int(_value(connection, COUNT, after, after))

    def _texts(self, connection: psycopg.Connection[Any], digest: str | None = None) -> list[tuple[Any, ...]]:
        if digest is None:
            return connection.execute(SELECT_CONTENT).fetchall()
        return connection.execute(f"{SELECT_CONTENT} WHERE digest = %s", (digest,)).fetchall()

    def _write(self, connection: psycopg.Connection[Any], link: Link, content: str | None) -> object:
        if link.kind in {"redeclare", "row", "totals"}:
            exchange_check(connection)
        return _value(connection, APPEND, *link, content)

    def _drop(self, connection: psycopg.Connection[Any], digests: list[str]) -> int:
        return int(_value(connection, DROP, digests))

    def _commit(self, connection: psycopg.Connection[Any]) -> Exception | None:
        return _commit(connection)

    def _settle(self, link: Link, mark: object, failure: Exception) -> None:
        charged = self._is_charged(link, mark)
        if not charged:
            raise commit_error(self._shown, link.sequence, failure, is_open=charged is None) from failure

    def _is_charged(self, link: Link, transaction: object) -> bool | None:
        """Say whether an entry stands in the chain by a lost transaction, which has ended then; None if in doubt."""
        deadline = time.monotonic() + RECONNECT_SECONDS
        while True:
            try:
                with self._connected() as connection:
                    self._begin(connection, write=True)
                    self._check_new(connection)
                    place = link.sequence - self._entries[0].sequence
                    if self._entries[place : place + 1] != [entry_of(link)]:
                        return False
                    # Somebody else's entry of the same words at the same microsecond has the same hash.
                    return True if _value(connection, _STATUS, transaction) == "committed" else None
            except ConnectionLostError:
                if time.monotonic() > deadline:
                    return None
                time.sleep(PAUSE_SECONDS)
            except LedgerError:
                return None

    def _check_arguments(self, kind: str, table: str, payload: dict[str, Any]) -> str:
        text = super()._check_arguments(kind, table, payload)
        if "\0" in table or not is_unicode(table):
            raise UsageError(f"table must be a name that a database can hold, not {table!r}; pass another name.")
        return text


def connect(address: Address) -> psycopg.Connection[Any]:
    """Return a connection that is in no transaction.

    Raises
    ------
    LedgerError
        If the server cannot be reached or refuses the user. The message holds no password.
    """
    defaults: dict[str, Any] = {name: value for name, value in _DEFAULTS.items() if name not in address.names}
    try:
        return psycopg.connect(
            address.text, autocommit=True, prepare_threshold=None, client_encoding="utf8", **defaults
        )
    except psycopg.OperationalError as error:
        reason = address.scrub(str(error)).rstrip(".")
    except (psycopg.Error, UnicodeError):
        # The library's words on a malformed address repeat parts of it.
        raise UsageError(
            f"ledger {address.shown} is an address that PostgreSQL's library does not take; check its options."
        ) from None
    raise ConnectionLostError(f"ledger {address.shown} cannot be reached ({reason}); check address and password.")


def create_in(address: Address, snapshot: Snapshot) -> bool:
    """Make a ledger that holds some entries and texts, and return whether the database had none yet.

    All of it is one transaction: a crash leaves a whole ledger or none, and of two that create at once one wins.

    Raises
    ------
    LedgerError
        If this user may not make a schema, or the server is too old, keeps its texts in another encoding than UTF8,
        or does not flush commits to the disk.
    """
    links, texts = snapshot
    try:
        with closing(connect(address)) as connection:
            _begin(connection, address.shown, write=True)
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (CREATION_LOCK,))
            if has_schema(connection):
                return False
            _check_server(connection, address.shown)
            create_schema(connection)
            with connection.cursor() as cursor:
                cursor.executemany(APPEND, [(*link, None) for link in links])
                cursor.executemany(KEEP, texts)
            failure = _commit(connection)
    except psycopg.errors.InsufficientPrivilege as error:
        raise LedgerError(
            f"ledger {address.shown} does not exist, and this user may not make it; ask the database's owner to run "
            "`emdp ledger roles --create`."
        ) from error
    except psycopg.DataError as error:
        raise LedgerError(f"ledger {address.shown} cannot hold an entry or text (a NUL in it); keep a file.") from error
    except psycopg.Error as error:
        raise ledger_error(address.shown, error) from error
    if failure is not None:
        raise LedgerError(f"ledger {address.shown} may have been made or not; look, and try again.") from failure
    return True


def exists_in(address: Address) -> bool:
    """Say whether the database holds a ledger's schema."""
    try:
        with closing(connect(address)) as connection:
            return has_schema(connection)
    except psycopg.Error as error:
        raise ledger_error(address.shown, error) from error


@contextmanager
def transaction(address: Address, *, write: bool) -> Iterator[psycopg.Connection[Any]]:
    """A transaction beside the ledger's, durable where it writes; what is raised inside leaves all as it was.

    Raises
    ------
    LedgerError
        If the server fails, or it is unknown whether it has committed.
    """
    try:
        with closing(connect(address)) as connection:
            _begin(connection, address.shown, write=write)
            yield connection
            failure = _commit(connection) if write else None
    except psycopg.errors.InsufficientPrivilege:
        raise
    except psycopg.Error as error:
        raise ledger_error(address.shown, error) from None
    if failure is not None:
        raise LedgerError(f"state beside ledger {address.shown} may have been written or not; ask again.") from None


def _begin(connection: psycopg.Connection[Any], shown: str, *, write: bool) -> None:
    connection.execute(_BEGIN_WRITE.format(BUSY_SECONDS) if write else _BEGIN_READ)
    if write:
        flushed = connection.execute(_SET_DURABLE).fetchone()
        if flushed is None or flushed[0] not in {"on", "remote_apply"} or flushed[1] != "on":
            raise LedgerError(f"ledger {shown} is on a server that does not flush commits; set fsync = on there.")


def _check_server(connection: psycopg.Connection[Any], shown: str) -> None:
    version, encoding = connection.execute(_SERVER).fetchall()[0]
    if version < OLDEST_SERVER or encoding != "UTF8":
        raise LedgerError(f"ledger {shown} needs PostgreSQL 13 and a database in UTF8; name another database.")


def _value(connection: psycopg.Connection[Any], statement: str, *values: object) -> Any:
    return connection.execute(statement, values or None).fetchall()[0][0]


def _commit(connection: psycopg.Connection[Any]) -> psycopg.Error | None:
    try:
        answer = connection.execute("COMMIT").statusmessage
    except psycopg.Error as error:
        return error
    # A transaction that failed before is rolled back by COMMIT, without an error.
    return None if answer == "COMMIT" else psycopg.OperationalError(f"the server answered {answer}")
