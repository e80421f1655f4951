"""How a session is asked, and what is kept of its answers, previews and ledger entries."""

import json
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import emdp

from .form import digest

__all__ = ["BUDGETS", "answer_fields", "asked", "entries_of", "preview_fields", "session_on", "shared_session"]

BUDGETS = (emdp.EmdDP(1e6, 0.5), emdp.UserDP(1e6, 0.5))
"""Enough for anything that is asked here."""

MOMENT = ("time", "hash", "previous_hash", "ledger_id")
"""What differs in two ledgers with the same entries."""


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """The folder of ledgers that cases share, which goes when the process ends."""
    return tempfile.TemporaryDirectory(prefix="recorded")


def session_on(table: emdp.Table, folder: Path, *, budget: Any = BUDGETS, **more: Any) -> emdp.Session:
    """Return a session with a new ledger in a folder."""
    return emdp.Session(table, budget=budget, ledger=folder / "asked.ledger", **more)


def shared_session(table: emdp.Table, name: str, **more: Any) -> emdp.Session:
    """Return a session that cases share; nothing that is kept of it may depend on what it was asked before.

    It is opened under a switch of its own, so that whoever comes first draws as those who follow.
    """
    path = Path(_folder().name) / name
    path.mkdir()
    with emdp.testing.seeded(0):
        return session_on(table, path, **more)


def asked(session: emdp.Session, request: Any, *, is_explained: bool) -> dict[str, Any]:
    """Preview and answer a request, SQL or a query of Python, and return what is kept of both and of the charges."""
    path = Path(session.ledger.path)
    fields = preview_fields(session.preview(request))
    before = len(entries_of(path))
    answers = session.sql_batch(request) if isinstance(request, str) else (session.answer(request),)
    for number, answer in enumerate(answers, start=1):
        own = answer_fields(answer, is_explained=is_explained)
        fields |= own if len(answers) == 1 else {f"{key} {number}": value for key, value in own.items()}
    charged = [entry["payload"]["event"] for entry in entries_of(path)[before:] if entry["kind"] == "charge"]
    # The kind of guarantee stands in the answer's derivation, and whole in the cases of ledgers.
    return {**fields, "charged": [{key: own for key, own in event.items() if key != "kind"} for event in charged]}


def preview_fields(preview: emdp.Preview) -> dict[str, Any]:
    """Return what is kept of a preview: its rows, and a digest of the derivation."""
    frame = preview.frame.drop("expression", "affordable")
    text = "\n".join(line for line in preview.explain().splitlines() if not line.startswith("affordable"))
    fields: dict[str, Any] = {"preview": frame.rows(), "derived": digest(text)}
    return fields | ({"compared": preview.comparison.rows()} if len(preview.comparison) else {})


def answer_fields(answer: emdp.Answer, *, is_explained: bool) -> dict[str, Any]:
    """Return what is kept of an answer: its rows, exact values, and derivation, in full or as a digest."""
    text = answer.explain()
    text = text[: text.rindex("\npaid by")]
    fields: dict[str, Any] = {"frame": answer.frame, "explained": text if is_explained else digest(text)}
    if answer.columns:
        fields["exact"] = answer.exact_frame.rows()
    if answer.diagnostics:
        fields["diagnostics"] = answer.diagnostics
    return fields


def entries_of(path: Path) -> Sequence[dict[str, Any]]:
    """Return the entries of a ledger's file without times, hashes and its random name."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        rows = connection.execute('SELECT sequence, kind, "table", payload FROM event ORDER BY sequence').fetchall()
    found = []
    for sequence, kind, table, text in rows:
        payload = {key: value for key, value in json.loads(text).items() if key not in MOMENT}
        found.append({"sequence": sequence, "kind": kind, "table": table, "payload": payload})
    return found
