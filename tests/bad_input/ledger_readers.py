"""Readers of what emdp keeps itself: ledgers, stored answers, manifests of reports.

A damaged ledger is refused and stays as it is, byte by byte; one that opens holds exactly what was written.
"""

import contextlib
import io
import json
import random
import shutil
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
from expectations import check_private, need
from mutator import ODD_TEXTS, ODD_VALUES, mutated_bytes, mutated_text, mutated_tree
from table_readers import QUESTION, records

import emdp
from emdp.answers import Receipt
from emdp.answers.stored import StoredAnswer
from emdp.base.errors import LedgerError
from emdp.budgets.reservations import reserve
from emdp.cli import main
from emdp.ledger import copy_ledger, open_ledger, read_ledger
from emdp.reports.manifest import check_manifest
from emdp.sessions.planning import plan_request
from emdp.sessions.store import Store, kept_answer

BUDGET = (emdp.EmdDP(60.0, 1e-8), emdp.UserDP(4.0))


def _session(path: Path, budget: Any = BUDGET) -> emdp.Session:
    frame = pl.DataFrame(records()).select("who", "x")
    space = emdp.Interval("x", 0, 30, on_invalid="neutral")
    table = emdp.read(frame, user="who", space=space, users=40, name="visits", version="made")
    return emdp.Session(table, budget=budget, ledger=path)


def make_ledger(path: Path) -> None:
    """Write a ledger with two budgets, charges, two stored answers and a reservation."""
    with _session(path) as session:
        store = Store(session)
        for alpha in (1, 2):
            question = QUESTION.replace("0.001", str(alpha))
            store.ask(plan_request(question, session.names, session.promises))
        session.answer(emdp.mean(emdp.col("x"), alpha=0.5, name="m"))
        reserve(session.ledger, "visits", "weekly", emdp.EmdDP(5.0))


COLUMNS = ("sequence", "time", "kind", '"table"', "payload", "payload", "previous_hash", "hash")


class LedgerReader:
    """A ledger in a file: bytes changed, or fields, tables and triggers by SQL."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made, self.path = folder / "made.ledger", folder / "city.ledger"
        make_ledger(self.made)
        self.content = self.made.read_bytes()
        self.entries = read_ledger(self.made).entries()
        self.payloads = [asdict(entry) for entry in self.entries]

    def feed(self, rng: random.Random) -> str:
        self._clean()
        self._damage(rng)
        before = self._state()
        ways = (self._read, self._verify, self._copy, self._open, self._command, self._content)
        way = self._charge if rng.random() < 0.06 else rng.choice(ways)
        try:
            return way()
        except BaseException:
            need(self._state() == before, f"a refused ledger was written to by {way.__name__}")
            raise

    def _state(self) -> bytes:
        return self.path.read_bytes()

    def _clean(self) -> None:
        for path in self.folder.iterdir():
            if path.name.startswith(("city.ledger", "copy.ledger")):
                path.unlink()

    def _damage(self, rng: random.Random) -> None:
        if rng.random() < 0.55:
            self.path.write_bytes(mutated_bytes(rng, self.content, tail=rng.choice((0, 9000))))
            return
        shutil.copyfile(self.made, self.path)
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            with contextlib.suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):
                connection.execute(*self._statement(rng))
            if rng.random() < 0.9:
                self._put_triggers_back(connection)
            if rng.random() < 0.9:
                connection.execute("PRAGMA journal_mode = WAL")

    def _put_triggers_back(self, connection: sqlite3.Connection) -> None:
        with contextlib.closing(sqlite3.connect(f"file:{self.made}?mode=ro", uri=True)) as sound:
            rows = sound.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (text,) in rows:
            with contextlib.suppress(sqlite3.Error):
                connection.execute(text)

    def _statement(self, rng: random.Random) -> tuple[str, tuple[Any, ...]]:
        column = rng.choice(COLUMNS)
        place = rng.randint(1, len(self.entries))
        value: Any = rng.choice((*ODD_TEXTS, *(own for own in ODD_VALUES if isinstance(own, int | float | str | None))))
        if rng.random() < 0.4:
            payload = mutated_tree(rng, self.entries[place - 1].payload)
            separators = rng.choice(((",", ":"), (", ", ": ")))
            value = json.dumps(payload, sort_keys=True, separators=separators)
        odd = (
            ("DELETE FROM event WHERE sequence = ?", (place,)), ("DELETE FROM head", ()), ("DROP TABLE head", ()),
            ("UPDATE head SET sequence = ?", (value,)), ("UPDATE head SET hash = ?", (value,)),
            ("DROP TABLE event", ()),
            ("DELETE FROM content", ()), ("UPDATE content SET text = ?", (value,)), ("DROP TABLE content", ()),
            ("INSERT INTO content VALUES (?, ?)", (value, value)), ("PRAGMA user_version = 2", ()),
            ("PRAGMA application_id = 1", ()), ("CREATE TABLE more (a)", ()), ("CREATE INDEX i ON event(kind)", ()),
            ("CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM head; END", ()), ("VACUUM", ()),
            ("ALTER TABLE event ADD COLUMN more", ()), ("UPDATE event SET sequence = sequence + 100", ()),
            ("PRAGMA encoding = 'UTF-16'", ()), ("UPDATE content SET text = CAST(text AS BLOB)", ()),
        )  # fmt: skip
        if rng.random() < 0.5:
            return rng.choice(odd)
        return f"UPDATE event SET {column} = ? WHERE sequence = ?", (value, place)

    def _read(self) -> str:
        need(read_ledger(self.path).entries() == self.entries, "a damaged ledger reads otherwise than before")
        return "read"

    def _open(self) -> str:
        with open_ledger(self.path) as ledger:
            need(ledger.entries() == self.entries, "a damaged ledger reads otherwise than before")
            ledger.append("validated", "visits", {"key": 1})
        need(read_ledger(self.path).entries()[:-1] == self.entries, "an append changed what was there")
        return "appended"

    def _verify(self) -> str:
        head = read_ledger(self.path).verify(self.entries[-1].hash)
        need(head == (self.entries[-1].sequence, self.entries[-1].hash), "a damaged ledger verifies with another head")
        return "verified"

    def _copy(self) -> str:
        target = self.folder / "copy.ledger"
        try:
            copy_ledger(self.path, target)
        except LedgerError:
            need(not target.exists(), "a copy of a damaged ledger")
            raise
        need(read_ledger(target).entries() == self.entries, "a copy that is none")
        return "copied"

    def _content(self) -> str:
        with read_ledger(self.path) as ledger:
            kept = [kept_answer(ledger, entry) for entry in ledger.entries("visits", "answer")]
        for one in kept:
            need(one is None or len(one.answer.frame) == 1, "a stored answer that is another")
        return "found"

    def _command(self) -> str:
        said, status = io.StringIO(), 0
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                main(["ledger", "show", str(self.path)])
        except SystemExit as end:
            status = int(end.code or 0)
        need(status in (0, 2), f"exit status {status}: {said.getvalue()[-300:]}")
        need("Traceback" not in said.getvalue(), "a traceback")
        if status:
            raise LedgerError("the command line refused it.")
        return "shown"

    def _charge(self) -> str:
        with _session(self.path) as session:
            session.sql(QUESTION)
        found = read_ledger(self.path).entries()
        need(found[: len(self.entries)] == self.entries, "a charge changed what was there")
        need(sum(entry.kind == "charge" for entry in found[len(self.entries) :]) == 1, "not one charge for one answer")
        return "charged"


OBJECTS = (
    "DROP TABLE emdp_ledger.content", "DROP TABLE emdp_ledger.head CASCADE", "DROP TABLE emdp_ledger.event CASCADE",
    "ALTER TABLE emdp_ledger.event ADD COLUMN more text", "ALTER TABLE emdp_ledger.event DROP COLUMN time",
    "ALTER TABLE emdp_ledger.event RENAME COLUMN payload TO load", "CREATE TABLE emdp_ledger.more (a integer)",
    "ALTER TABLE emdp_ledger.event ALTER COLUMN sequence TYPE numeric",
    "DROP TRIGGER event_insert ON emdp_ledger.event", "ALTER TABLE emdp_ledger.event SET UNLOGGED",
    "ALTER TABLE emdp_ledger.event DISABLE TRIGGER ALL", "ALTER TABLE emdp_ledger.head DISABLE TRIGGER USER",
    "CREATE RULE r AS ON INSERT TO emdp_ledger.event DO INSTEAD NOTHING",
    "CREATE RULE r AS ON INSERT TO emdp_ledger.event DO ALSO DELETE FROM emdp_ledger.content",
    "ALTER TABLE emdp_ledger.event ENABLE ROW LEVEL SECURITY", "ALTER TABLE emdp_ledger.event FORCE ROW LEVEL SECURITY",
    "GRANT INSERT, UPDATE ON emdp_ledger.event TO PUBLIC", "GRANT ALL ON SCHEMA emdp_ledger TO stranger",
    "ALTER TABLE emdp_ledger.event OWNER TO stranger", "ALTER SCHEMA emdp_ledger OWNER TO stranger",
    "COMMENT ON SCHEMA emdp_ledger IS 'emdp ledger, format 2'", "COMMENT ON SCHEMA emdp_ledger IS NULL",
    "CREATE OR REPLACE FUNCTION emdp_ledger.hold() RETURNS void LANGUAGE sql AS 'SELECT NULL::void'",
    "CREATE OR REPLACE FUNCTION emdp_ledger.check_event() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "ALTER FUNCTION emdp_ledger.hold() SECURITY INVOKER", "DROP FUNCTION emdp_ledger.hold()",
    "CREATE FUNCTION emdp_ledger.length(text) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "TRUNCATE emdp_ledger.event, emdp_ledger.head, emdp_ledger.content", "DELETE FROM emdp_ledger.head",
    "INSERT INTO emdp_ledger.content VALUES ('ab', 'zqvj')", "UPDATE emdp_ledger.content SET text = text || ' '",
    "DELETE FROM emdp_ledger.content", "UPDATE emdp_ledger.event SET sequence = sequence + 100",
    "INSERT INTO emdp_ledger.event SELECT * FROM emdp_ledger.event LIMIT 1", "ANALYZE emdp_ledger.event",
)  # fmt: skip
"""What a superuser might do to a ledger on a server; some of it is harmless."""


class ServerLedgerReader(LedgerReader):
    """A ledger in PostgreSQL whose rows, tables, functions, triggers or rights a superuser changed.

    Parameters
    ----------
    folder : Path
        An empty folder of its own.
    server : Any
        The running server of ``tests/ledger/conftest.py``.
    """

    def __init__(self, folder: Path, server: Any) -> None:
        super().__init__(folder)
        self.server, self.path = server, server.address()

    def _clean(self) -> None:
        (self.folder / "copy.ledger").unlink(missing_ok=True)
        self.server.execute("DROP SCHEMA IF EXISTS emdp_ledger CASCADE")
        copy_ledger(self.made, self.path)

    def _state(self) -> bytes:
        import psycopg

        tables = [f"SELECT * FROM emdp_ledger.{name} ORDER BY 1" for name in ("event", "head", "content")]
        try:
            return repr([self.server.execute(text) for text in tables]).encode()
        except psycopg.Error as error:
            return str(error).encode()

    def _damage(self, rng: random.Random) -> None:
        import psycopg

        # Without its triggers, as a superuser can.
        with self.server.connect() as connection, contextlib.suppress(psycopg.Error, UnicodeError):
            connection.execute("SET session_replication_role = replica")
            if rng.random() < 0.4:
                connection.execute(rng.choice(OBJECTS))
                return
            table = rng.choice(("event", "event", "event", "head", "content"))
            columns = {"event": COLUMNS, "head": ("sequence", "hash"), "content": ("digest", "text")}[table]
            column, key = rng.choice(columns), {"event": "sequence", "head": "one", "content": "digest"}[table]
            rows = self.server.execute(f"SELECT {key}, {column} FROM emdp_ledger.{table} ORDER BY 1")
            place, value = rng.choice(rows)
            changed = mutated_text(rng, str(value))
            if column == "payload" and rng.random() < 0.5:
                changed = json.dumps(mutated_tree(rng, json.loads(value)), sort_keys=True, separators=(",", ":"))
            statement = f"UPDATE emdp_ledger.{table} SET {column} = %s WHERE {key} = %s"
            if rng.random() < 0.1:
                statement, changed = f"DELETE FROM emdp_ledger.{table} WHERE %s IS NOT NULL AND {key} = %s", "x"
            connection.execute(statement, (changed, place))


class StoredReader:
    """The text of a stored answer, as a forged ledger might hold it."""

    def __init__(self, folder: Path) -> None:
        path = folder / "made.ledger"
        make_ledger(path)
        with read_ledger(path) as ledger:
            entry = ledger.entries("visits", "answer")[0]
            self.payload, self.text = entry.payload, str(ledger.content(entry.payload["content"]))
        self.tree = json.loads(self.text)

    def feed(self, rng: random.Random) -> str:
        way = rng.random()
        payload = self.payload
        if way < 0.5:
            text = json.dumps(mutated_tree(rng, self.tree))
        elif way < 0.7:
            text = mutated_text(rng, self.text)
        elif way < 0.9:
            text = self._other_frame(rng)
        else:
            text, payload = self.text, mutated_tree(rng, self.payload)
        answer = StoredAnswer.from_text(text, payload, Receipt("city.ledger", 3, "ab" * 32), "2026-11-20T00:00:00")
        need(isinstance(answer.frame, pl.DataFrame), "a stored answer without a frame")
        return "read"

    def _other_frame(self, rng: random.Random) -> str:
        import base64

        content = base64.b64decode(self.tree["frame"])
        return json.dumps({**self.tree, "frame": base64.b64encode(mutated_bytes(rng, content)).decode()})


class ManifestReader:
    """The manifest of a report, forged or damaged, against its ledger."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / "city.ledger"
        make_ledger(path)
        self.ledger = read_ledger(path)
        (folder / "page.csv").write_text("m\n1\n")
        self.tree = self._manifest()

    def _manifest(self) -> dict[str, Any]:
        entries = self.ledger.entries("visits")
        charges = {entry.sequence: entry for entry in entries if entry.kind == "charge"}
        answers = [entry for entry in entries if entry.kind == "answer"]
        listed = []
        for number, answer in enumerate(answers):
            charge = charges[answer.payload["charge"]]
            paid = {"sequence": charge.sequence, "hash": charge.hash, "event": charge.payload["event"]}
            kept = {"sequence": answer.sequence, "hash": answer.hash, "content": answer.payload["content"]}
            one = {"title": f"E{number}", "query": answer.payload["query"], "reused": True, "error": None}
            listed.append({**one, "charge": paid, "answer": kept, "files": ["page.csv"]})
        sequence, head = self.ledger.head()
        definition = 'title = "Visits"\n' + "".join(f'[[entry]]\ntitle = "{own["title"]}"\n' for own in listed)
        guarantee = {"kind": "EmdDP", "promise": {}, "spent": {}, "remaining": {}}
        return {
            "format": 1, "made": "2026-11-20", "versions": {}, "table": "visits", "period": None, "users": 40,
            "data_version": "declared:made", "guarantees": [guarantee], "entries": listed, "files": {"page.csv": "ab"},
            "report": {"title": "Visits", "definition": definition, "sha256": "cd"},
            "ledger": {"id": self.ledger.ledger_id, "sequence": sequence, "head": head},
        }  # fmt: skip

    def feed(self, rng: random.Random) -> str:
        head = self.ledger.head()
        manifest = mutated_tree(rng, self.tree)
        if rng.random() < 0.1:
            return self._by_command(rng, manifest)
        problems = check_manifest(manifest, self.folder, self.ledger)
        need(all(isinstance(problem, str) and problem for problem in problems), "a problem without words")
        check_private("\n".join(problems))
        need(self.ledger.head() == head, "a ledger that a manifest changed")
        return "disagrees" if problems else "agrees"

    def _by_command(self, rng: random.Random, manifest: Any) -> str:
        path, said = self.folder / "manifest.json", io.StringIO()
        text = json.dumps(manifest)
        path.write_bytes(mutated_bytes(rng, text.encode()) if rng.random() < 0.5 else text.encode())
        status = 0
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                main(["ledger", "verify", str(self.folder / "city.ledger"), "--manifest", str(path)])
        except SystemExit as end:
            status = int(end.code or 0)
        need(status in (0, 2), f"exit status {status}: {said.getvalue()[-300:]}")
        need("Traceback" not in said.getvalue(), "a traceback")
        return f"exit {status}"
