"""``emdp audit``: tries to break the promises of queries, reports and mechanisms, on tables made from public spaces."""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.cli.options import DEFAULT_CATALOG, TableOption
from emdp.cli.output import check_folder
from emdp.cli.progress import PATIENCE, progress_bar
from emdp.cli.report import files_of
from emdp.cli.sql import PeriodOption, promises_of, read_query, table_of
from emdp.cli.tables import frame_text, table_width

if TYPE_CHECKING:
    from emdp.audit import AuditReport
    from emdp.catalog.catalog import Catalog
    from emdp.privacy import Guarantee
    from emdp.tables import Table

__all__ = ["run"]

BROKEN = 1
"""Exit status where a bound exceeds its claim."""


SHOWN = ("query", "mechanism", "distance", "claimed_epsilon", "delta", "audited_epsilon", "ratio", "test", "trials")
"""Columns of the printed table."""

FILES = ("index.html", "audit.svg", "audit.md", "audit.csv", "audit.json", "audit.parquet")
"""Files of an audit's report."""

QueryArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="Q",
        help="SQL, a file with SQL, or the .toml of a report; - reads standard input. Without it all mechanisms.",
        show_default=False,
    ),
]
Distances = Annotated[
    list[float] | None,
    typer.Option("--distance", help="d_em of the neighbours, above 0 and at most 1; may be repeated."),
]

PeriodRecords = Annotated[
    int | None,
    typer.Option(
        "--period-records",
        help="Records of the user who changes, in what is read; 1 shows what somebody with one record there can lose.",
    ),
]


@dataclass(frozen=True, eq=False)
class _Subject:
    """Subject of an audit: a table (None: a generated one) and statements on it (None: all mechanisms)."""

    table: "Table | None" = None
    texts: tuple[str, ...] | None = None
    public: Mapping[str, object] | None = None
    promises: "tuple[Guarantee, ...]" = ()
    kept: tuple[str, ...] = ()


def run(
    q: QueryArgument = None,
    catalog: Annotated[str | None, typer.Option("-C", "--catalog", help="Catalog that has the table.")] = None,
    table: TableOption = None,
    period: PeriodOption = None,
    period_records: PeriodRecords = None,
    trials: Annotated[int, typer.Option("--trials", help="Draws of noise on each of two tables.")] = 100_000,
    distance: Distances = None,
    confidence: Annotated[float, typer.Option(help="Probability with which all bounds hold together.")] = 0.95,
    sessions: Annotated[int, typer.Option(help="Answers of whole sessions to compare the draws with.")] = 100,
    report: Annotated[str | None, typer.Option("--report", metavar="DIR", help="Folder for page and tables.")] = None,
) -> None:
    """Try to break what is promised, and print lower bounds of the privacy loss beside the claims.

    Two tables that differ in one user's records are made from the public space alone: no private record is read, no
    ledger is opened and nothing is spent, so that the outcome may be published. The release runs on both by the
    product's own code, and the event that tells them apart best is counted.

    Exit status 0: no bound exceeds its claim. 1: a bound does, or sessions answer by another law than was audited, so
    that a promise was broken. 2: refused, as by every command.

    Progress shows on a terminal alone, after two seconds.
    """
    from emdp.audit import audit, audit_mechanisms

    subject = _subject(q, catalog, table, period)
    if report is not None:
        check_folder("--report", report, FILES, subject.kept)
    with progress_bar(PATIENCE) as progress:
        if subject.table is None or subject.texts is None:
            if period_records is not None:
                raise UsageError("--period-records needs a query that reads records; pass Q.")
            found = audit_mechanisms(
                subject.table,
                distances=distance or None,
                trials=trials,
                confidence=confidence,
                end_to_end=sessions,
                progress=progress,
            )
        else:
            found = audit(
                subject.table,
                subject.texts,
                distances=distance or None,
                trials=trials,
                confidence=confidence,
                end_to_end=sessions,
                public=subject.public,
                promises=subject.promises,
                period_records=period_records,
                progress=progress,
            )
    _tell(found, report)
    if not found.is_sound:
        print(f"emdp: {found.verdict}.", file=sys.stderr)
        raise typer.Exit(BROKEN)


def _subject(q: str | None, catalog: str | None, table: str | None, period: str | None) -> _Subject:
    from emdp.catalog.catalog import load_catalog

    if q is not None and q.lower().endswith(".toml"):
        return _of_report(q, catalog, period)
    if q is None:
        if catalog is None and not os.path.exists(DEFAULT_CATALOG):
            if table is not None:
                raise UsageError("--table needs a catalog that has it; pass -C.")
            return _Subject()
        loaded = load_catalog(catalog or DEFAULT_CATALOG)
        name = table
        texts = None
    else:
        text = read_query(q)
        loaded, name = table_of(q, text, catalog or DEFAULT_CATALOG, table)
        texts = (text,)
    return _of_catalog(loaded, name, period, texts, read=() if q is None or texts is None else (q,))


def _of_report(path: str, catalog: str | None, period: str | None) -> _Subject:
    from emdp.reports.checking import check_definition

    checked, loaded = check_definition(path, catalog=catalog, period=period)
    texts = tuple(entry.text for entry in checked.entries if not entry.planned.is_awaited)
    if not texts:
        raise UsageError("the report's entries read released measures alone, and release nothing; audit the release.")
    return _of_catalog(loaded, checked.table, checked.report.period, texts, read=files_of(checked.report))


def _of_catalog(
    catalog: "Catalog", name: str | None, period: str | None, texts: tuple[str, ...] | None, *, read: tuple[str, ...]
) -> _Subject:
    own = catalog.table(name, period=period)
    return _Subject(own, texts, catalog.public(), promises_of(catalog, own.name), (*catalog.paths(), *read))


def _tell(found: "AuditReport", folder: str | None) -> None:
    print(found.title)
    print(frame_text(found.frame.select(SHOWN), width=table_width()))
    for one in found.agreements:
        print(
            f"{one.query}: {one.sessions} answers of a session against {one.draws} draws, p = {one.p_value:.3g}",
            file=sys.stderr,
        )
    for text in found.skipped:
        print(f"not audited: {text}", file=sys.stderr)
    print(f"\n{found.verdict} (all bounds together with probability {found.confidence:.7g})")
    if folder is not None:
        written = found.write(folder)
        print(f"wrote {', '.join(map(str, written))}", file=sys.stderr)
