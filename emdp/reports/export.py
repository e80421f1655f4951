"""Files of a report: the page, every table as CSV and Parquet, and the manifest."""

import hashlib
import io
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from emdp.base.errors import UsageError, resource_error
from emdp.base.spreadsheets import csv_text
from emdp.reports.files import write_whole
from emdp.reports.manifest import FORMAT
from emdp.reports.outcome import EntryOutcome, ReportRun
from emdp.reports.page import page

__all__ = ["INDEX", "MANIFEST", "stream_names", "table_names", "write_report"]

INDEX, MANIFEST = "index.html", "manifest.json"
"""Names of the page and of the manifest."""

LONGEST_SLUG = 40
"""Letters of an entry's title in the names of its files."""


def write_report(run: ReportRun, folder: Path) -> tuple[Path, ...]:
    """Write the page, tables and manifest of a run.

    Parameters
    ----------
    folder : Path
        Made if it is absent. Files of the same names are replaced, each as a whole; others are left alone.

    Returns
    -------
    tuple of Path
        What was written: the page, the tables in order, and last the manifest, which has the digests of the others.
    """
    names = [_names(place, outcome, len(run.outcomes)) for place, outcome in enumerate(run.outcomes, 1)]
    titles = [outcome.entry.title for outcome in run.streams]
    streams = [
        () if outcome.answer is None else stream_names(place, outcome.entry.title, len(titles))
        for place, outcome in enumerate(run.streams, 1)
    ]
    contents = {INDEX: page(run, names, streams=streams).encode("utf-8")}
    for stream, own in zip(run.streams, streams, strict=True):
        if stream.answer is not None:
            contents |= zip(own, _tables(stream.answer.frame), strict=True)
    for outcome, own in zip(run.outcomes, names, strict=True):
        if outcome.answer is not None:
            contents |= zip(own, _tables(outcome.answer.frame), strict=True)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    told = json.dumps(_manifest(run, names, digests), ensure_ascii=False, indent=2, allow_nan=False)
    contents[MANIFEST] = f"{told}\n".encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tuple(write_whole(folder / name, content) for name, content in contents.items())
    except OSError as error:
        raise resource_error(error) or UsageError(
            f"folder {str(folder)!r} cannot be written to ({error.strerror}); pass a folder that can."
        ) from None


def _names(place: int, outcome: EntryOutcome, total: int) -> tuple[str, ...]:
    return () if outcome.answer is None else table_names(place, outcome.entry.title, total)


def table_names(place: int, title: str, total: int) -> tuple[str, str]:
    """Return the names of the tables of an entry, the first of which has place 1.

    >>> table_names(1, "Mean", 3)
    ('01-mean.csv', '01-mean.parquet')
    """
    stem = f"{place:0{max(2, len(str(total)))}}-{_slug(title)}"
    return f"{stem}.csv", f"{stem}.parquet"


def stream_names(place: int, title: str, total: int) -> tuple[str, ...]:
    """Return the names of the tables of a stream: a row for each period so far and figure, with its interval.

    >>> stream_names(1, "Mean of x", 2)
    ('stream-01-mean-of-x.csv', 'stream-01-mean-of-x.parquet')
    """
    return tuple(f"stream-{name}" for name in table_names(place, title, total))


def _slug(title: str) -> str:
    """Return the letters and digits of a title, which is all that a name of a file gets of it.

    >>> _slug("Café & ../../bars"), _slug("場所")
    ('cafe-bars', 'entry')
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST_SLUG].rstrip("-") or "entry"


def _tables(frame: pl.DataFrame) -> tuple[bytes, bytes]:
    packed = io.BytesIO()
    frame.write_parquet(packed)
    return csv_text(frame).encode("utf-8"), packed.getvalue()


def _manifest(run: ReportRun, names: Sequence[Sequence[str]], digests: Mapping[str, str]) -> dict[str, Any]:
    """Return what :func:`emdp.reports.manifest.check_manifest` checks against the ledger."""
    sequence, head = run.head
    return {
        "format": FORMAT,
        "made": run.made,
        "versions": dict(run.versions),
        "report": {
            "title": run.report.title,
            "definition": run.definition,
            "sha256": hashlib.sha256(run.definition.encode("utf-8", "surrogatepass")).hexdigest(),
        },
        "table": run.account or run.table,
        "period": run.period,
        "data_version": run.data_version,
        "users": run.users,
        "guarantees": [
            {
                "kind": state.promise.kind_name,
                "promise": state.promise.to_json(),
                "spent": state.spent.to_json(),
                "remaining": state.remaining.to_json(),
            }
            for state in run.budgets
        ],
        "ledger": {"id": run.ledger_id, "sequence": sequence, "head": head},
        "entries": [_entry(outcome, own) for outcome, own in zip(run.outcomes, names, strict=True)],
        "files": dict(digests),
    }


def _entry(outcome: EntryOutcome, names: Sequence[str]) -> dict[str, Any]:
    return {
        "title": outcome.entry.title,
        "query": outcome.text,
        "reused": outcome.is_reused,
        "data_version": None if outcome.answer is None else outcome.answer.data_version,
        "error": None if outcome.answer is not None else outcome.error,
        "charge": None if outcome.charge is None else dict(outcome.charge),
        "answer": None if outcome.stored is None else dict(outcome.stored),
        "files": list(names),
        **({"reads": [sequence for sequence, _ in outcome.reads]} if outcome.reads else {}),
    }
