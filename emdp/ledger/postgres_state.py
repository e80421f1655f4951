"""The secret state of streams beside a ledger in PostgreSQL: exact statistics, in a schema for its owner alone.

As in a file (:mod:`emdp.ledger.state`) a draft is written first, in a transaction of its own, and the ledger's row
names its digest; drafts are only ever inserted. The schema ``emdp_ledger_state`` belongs to the role that owns the
ledger's, and nobody else has a right on it: whoever may charge reads no exact statistic. The first stream makes it, and
it is used only after it is seen to be so. Whoever administers the server can read it, as the data there.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from emdp.base.errors import LedgerError
from emdp.ledger.address import Address
from emdp.ledger.postgres import transaction
from emdp.ledger.postgres_schema import SCHEMA
from emdp.ledger.state import Draft, draft_text, opened_draft

__all__ = ["STATE_SCHEMA", "PostgresState"]

STATE_SCHEMA = f"{SCHEMA}_state"
"""Name of the schema."""

LOCK = 0x656D7073
"""The advisory lock of those who make a state at once: "emps" in ASCII."""

_OWNER = f"""
SELECT pg_get_userbyid(nspowner), pg_has_role(session_user, nspowner, 'MEMBER')
FROM pg_namespace WHERE nspname = '{SCHEMA}'
"""

_FOUND = f"""
WITH own AS (SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = '{STATE_SCHEMA}')
SELECT
    (SELECT nspowner = (SELECT nspowner FROM pg_namespace WHERE nspname = '{SCHEMA}') FROM own),
    (SELECT jsonb_object_agg(c.relname, jsonb_build_array(
        c.relkind = 'r' AND c.relpersistence = 'p' AND NOT c.relhasrules AND NOT c.relrowsecurity
            AND NOT c.relhastriggers AND c.relowner = own.nspowner,
        (SELECT jsonb_object_agg(a.attname, format_type(a.atttypid, a.atttypmod)) FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull)))
     FROM pg_class c JOIN own ON c.relnamespace = own.oid WHERE c.relkind NOT IN ('i', 'c')),
    (SELECT count(*) FROM own, aclexplode(own.nspacl) x WHERE x.grantee <> own.nspowner)
    + (SELECT count(*) FROM own JOIN pg_class c ON c.relnamespace = own.oid, aclexplode(c.relacl) x
       WHERE x.grantee <> own.nspowner)
    + (SELECT count(*) FROM own JOIN pg_class c ON c.relnamespace = own.oid
       JOIN pg_attribute a ON a.attrelid = c.oid, aclexplode(a.attacl) x WHERE x.grantee <> own.nspowner)
"""
"""Whether it belongs to the ledger's owner, its tables, and rights of others."""

_TABLES = {"draft": [True, {"digest": "text", "salt": "bytea", "numbers": "text"}]}

_CREATE = (
    f"CREATE SCHEMA {STATE_SCHEMA}",
    f"CREATE TABLE {STATE_SCHEMA}.draft (digest text NOT NULL PRIMARY KEY, salt bytea NOT NULL, numbers text NOT NULL)",
    f"REVOKE ALL ON SCHEMA {STATE_SCHEMA} FROM PUBLIC",
)


class PostgresState:
    """State of the streams of a ledger on a server.

    Raises
    ------
    LedgerError
        If this user is no owner of the ledger, or others have a right on the state.
    """

    def __init__(self, address: Address) -> None:
        self._address = address

    def check(self) -> None:
        with self._opened(write=False):
            return

    def keep(self, digest: str, salt: bytes, numbers: Sequence[int], counted: Sequence[str] | None = None) -> None:
        text = draft_text(numbers, counted)
        with self._opened(write=True) as connection:
            connection.execute(f"INSERT INTO {STATE_SCHEMA}.draft VALUES (%s, %s, %s)", (digest, salt, text))

    def find(self, digest: str, stream: str, place: int) -> Draft:
        """Return the draft that a row names."""
        with self._opened(write=False) as connection:
            found = []
            if connection.execute(_FOUND).fetchall()[0][0] is not None:
                statement = f"SELECT salt, numbers FROM {STATE_SCHEMA}.draft WHERE digest = %s"
                found = connection.execute(statement, (digest,)).fetchall()
        draft = opened_draft(bytes(found[0][0]), found[0][1], digest, stream, place) if found else None
        if draft is None:
            raise LedgerError(
                f"state of streams of {self._address.shown} lacks the exact statistic of a period that the ledger has "
                "a row of, so that the stream has ended; its rows stay good, and a new stream is a new charge."
            )
        return draft

    @contextmanager
    def _opened(self, *, write: bool) -> Iterator[psycopg.Connection[Any]]:
        shown = self._address.shown
        try:
            with transaction(self._address, write=write) as connection:
                owner = connection.execute(_OWNER).fetchone()
                if owner is None or not owner[1]:
                    raise LedgerError(
                        f"streams of ledger {shown} are for its owners, since their state is as secret as the data; "
                        "ask an owner to run the report."
                    )
                # What is made here belongs to that role, whoever of its members comes first.
                connection.execute(f"SET LOCAL ROLE {_quoted(owner[0])}")
                if write:
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
                    if connection.execute(_FOUND).fetchall()[0][0] is None:
                        for statement in _CREATE:
                            connection.execute(statement)
                is_owned, tables, foreign = connection.execute(_FOUND).fetchall()[0]
                if is_owned is not None and (not is_owned or tables != _TABLES or foreign):
                    raise LedgerError(
                        f"schema {STATE_SCHEMA} of ledger {shown} must be its owner's alone, with the table of drafts "
                        "and no other, since it holds exact statistics; revoke all rights of others on it."
                    )
                yield connection
        except psycopg.errors.InsufficientPrivilege:
            raise LedgerError(
                f"ledger {shown} has no schema for the state of streams, and this user may not make it; let the "
                "database's owner grant CREATE on the database to the ledger's owner."
            ) from None


def _quoted(role: str) -> str:
    return '"' + role.replace('"', '""') + '"'
