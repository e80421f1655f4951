"""Streams of a report: checked with the catalog's names, run for the report's period, and drawn over all periods."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from emdp.answers import StreamAnswer, StreamPreview
from emdp.answers.stream import charged_in_words
from emdp.base.classes import dataclass
from emdp.base.errors import DataRuleError, EmdpError, LedgerError, RefusedError, ResourceError, UsageError
from emdp.ledger import Ledger
from emdp.pictures import Picture, draw_periods
from emdp.privacy import Guarantee, event_from_json
from emdp.questions.names import Names
from emdp.reports.definition import Report
from emdp.reports.problems import Problem
from emdp.reports.rows import rounded
from emdp.reports.stream_entries import StreamEntry
from emdp.sessions.planning import plan_request
from emdp.sessions.session import Session
from emdp.sessions.stream_requests import StreamRequest
from emdp.sql import tables_named

__all__ = [
    "StreamOutcome",
    "check_streams",
    "preview_of",
    "run_streams",
    "stream_lines",
    "stream_rows",
    "stream_tables",
]

MOST_LINES = 6
"""Most pictures of a stream: one for each column and figure."""

MOST_ROWS = 60
"""Most rows of a stream's table: the newest."""


@dataclass(frozen=True, eq=False)
class StreamOutcome:
    """One stream of a report after a run.

    Parameters
    ----------
    answer : StreamAnswer or None
        Its figures; None where it failed.
    cost : tuple of Guarantee
        What the stream was charged in all, in the kind of the budget that paid.
    charged : str
        What this run charged every budget, in words; empty where the stream was paid before.
    status : int
        What the command line exits with if this stream fails first.
    """

    entry: StreamEntry
    answer: StreamAnswer | None
    cost: tuple[Guarantee, ...] = ()
    error: str = ""
    status: int = 0
    charged: str = ""


def check_streams(report: Report, names: Names, promises: Sequence[Guarantee]) -> list[Problem]:
    """Return what is wrong with a report's streams: their statements, units and periods."""
    problems = []
    for entry in report.streams:
        try:
            _check(entry, report.period, names, promises)
        except (RefusedError, UsageError) as error:
            problems.append(report.problem(entry.line, f"stream {entry.title!r}: {error}"))
    return problems


def stream_tables(report: Report) -> tuple[set[str], list[Problem]]:
    """Return the tables that streams name, in small letters, and what is wrong with statements that cannot be read."""
    found, problems = set[str](), list[Problem]()
    for entry in report.streams:
        try:
            found |= {name.lower() for name in tables_named(entry.query)}
        except (RefusedError, UsageError) as error:
            problems.append(report.problem(entry.line, f"stream {entry.title!r}: {error}"))
    return found, problems


def _check(entry: StreamEntry, period: str | None, names: Names, promises: Sequence[Guarantee]) -> None:
    """Refuse a stream as :meth:`emdp.Session.stream` refuses it."""
    planned = plan_request(entry.query, names, promises, gaussian=True)
    if len(planned) != 1:
        raise UsageError(f"query holds {len(planned)} statements; write a stream for each of them.")
    StreamRequest.of(planned[0], period=period, names=names, **_options(entry))


def _options(entry: StreamEntry) -> dict[str, Any]:
    """Return what an entry says of its stream, as a session takes it."""
    return {name: getattr(entry, name) for name in ("periods", "unit", "plan", "show", "name", "active")}


def preview_of(entry: StreamEntry, session: Session) -> StreamPreview:
    """Return what a stream would be charged by now, and how far off its figures would be; spends nothing."""
    return session.preview_stream(entry.query, **_options(entry))


def run_streams(report: Report, session: Session) -> tuple[StreamOutcome, ...]:
    """Ask for a report's streams in its period: what is not paid is paid, and what has no row gets one.

    Raises
    ------
    LedgerError, DataRuleError, ResourceError
        As a run's entries do; any other failure is that of one stream.
    """
    outcomes = []
    for entry in report.streams:
        before = session.ledger.head()[0]
        try:
            answer = session.stream(entry.query, **_options(entry))
        except (LedgerError, DataRuleError, ResourceError):
            raise
        except EmdpError as error:
            outcomes.append(StreamOutcome(entry, None, error=str(error), status=error.exit_status))
            continue
        paid = _charges(session.ledger, answer)
        charged = charged_in_words(
            tuple(one for sequence, own in answer.costs.items() if sequence > before for one in own)
        )
        outcomes.append(StreamOutcome(entry, answer, tuple(own for _, own in paid), charged=charged))
    return tuple(outcomes)


def stream_lines(outcome: StreamOutcome) -> list[tuple[Picture, str]]:
    """Return pictures of a stream's figures over the periods, with intervals as bands, and what stands below each.

    A stream of more columns or rows than a page has room for has none.
    """
    if outcome.answer is None:
        return []
    frame = outcome.answer.frame
    columns = [name for name in frame.columns if f"{name}_low" in frame.columns]
    if len(columns) * len(outcome.entry.show) > MOST_LINES or frame.height > frame.unique(["period", "figure"]).height:
        return []
    drawn = []
    for name in columns:
        for figure in outcome.entry.show:
            rows = frame.filter(pl.col("figure") == figure).select("period", name, f"{name}_low", f"{name}_high").rows()
            picture = draw_periods(rows, f"{name}, {figure}")
            if picture is not None:
                drawn.append((picture, f"{figure} of {name}, with 95 % intervals"))
    return drawn


def stream_rows(outcome: StreamOutcome) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads and the newest rows of a stream's table as texts, each value with its interval."""
    if outcome.answer is None:
        return (), []
    frame = outcome.answer.frame.tail(MOST_ROWS)
    values = [name for name in frame.columns if f"{name}_low" in frame.columns]
    ends = {f"{name}{end}" for name in values for end in ("_low", "_high")}
    heads = tuple(name for name in frame.columns if name not in ends)
    rows = []
    for row in frame.to_dicts():
        rows.append(tuple(_cell(row, name) if name in values else str(row[name]) for name in heads))
    return heads, rows


def _cell(row: dict[str, float | None], name: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if value is None or low is None or high is None:
        return "no value (within its noise)"
    shown = rounded(value, low, high)
    return f"{shown.text} ({shown.interval})"


def _charges(ledger: Ledger, answer: StreamAnswer) -> list[tuple[int, Guarantee]]:
    """Return the sequence of each of a stream's charges, its opening and what prolonged it, with what it states."""
    found = []
    for entry in ledger.entries(kind="charge"):
        said = entry.payload.get("stream")
        if entry.hash == answer.receipt.hash or (
            isinstance(said, dict) and said.get("prolongs") == answer.receipt.hash
        ):
            found.append((entry.sequence, event_from_json(entry.payload["event"]).guarantee))
    return found
