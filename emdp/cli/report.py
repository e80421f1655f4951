"""``emdp report``: a page from a definition, each entry paid once."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.base.errors import BudgetExceededError, UsageError
from emdp.cli.output import check_place, is_kept
from emdp.cli.progress import PLANNING, progress_bar, waiting
from emdp.cli.sql import FreshOption, PeriodOption, looking_ahead
from emdp.cli.tables import preview_text, table_width

if TYPE_CHECKING:
    from emdp.catalog.catalog import Catalog
    from emdp.reports.checking import CheckedReport
    from emdp.reports.definition import Report
    from emdp.reports.outcome import EntryOutcome, ReportRun
    from emdp.reports.streams import StreamOutcome

__all__ = ["files_of", "run"]

Definition = Annotated[str, typer.Argument(metavar="FILE.toml", help="The report's definition.", show_default=False)]
WaitOption = Annotated[float, typer.Option("--wait", min=0.0, help="Seconds to wait for another run on the ledger.")]


def run(
    definition: Definition,
    catalog: Annotated[
        str | None, typer.Option("-C", "--catalog", help="Another catalog than the definition's.")
    ] = None,
    out: Annotated[str | None, typer.Option("--out", help="Folder of the page; default: name and period.")] = None,
    period: PeriodOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print costs and expected errors; spend nothing.")] = False,
    fresh: FreshOption = False,
    wait: WaitOption = 10.0,
) -> None:
    """Answer all entries of a report, and write its page, tables and manifest.

    What is stored already costs nothing; a run that was interrupted goes on where it was. A dry run of which a budget
    does not cover something ends with exit status 3.
    """
    from emdp.reports.checking import check_definition

    with waiting(PLANNING):
        checked, loaded = check_definition(definition, catalog=catalog, period=period)
    if dry_run:
        if not _show_costs(checked, loaded, fresh=fresh):
            raise typer.Exit(BudgetExceededError.exit_status)
        return
    folder = Path(out if out is not None else _folder_name(checked))
    _check_folder(folder, checked, loaded)
    with _made(folder):
        _make(checked, loaded, folder, fresh=fresh, wait=wait)


def _make(checked: "CheckedReport", catalog: "Catalog", folder: Path, *, fresh: bool, wait: float) -> None:
    from emdp.reports.export import write_report
    from emdp.reports.run import run_report

    with _progress() as progress:
        found = run_report(checked, catalog, fresh=fresh, wait=wait, progress=progress)
        progress(len(found.outcomes), len(found.outcomes), "writing the page")
        write_report(found, folder)
    print(folder / "index.html")
    _tell(found)
    failed = next((outcome.status for outcome in _all(found) if outcome.answer is None), 0)
    if failed:
        raise typer.Exit(failed)


def _all(found: "ReportRun") -> "list[EntryOutcome | StreamOutcome]":
    return [*found.outcomes, *found.streams]


def _tell(found: "ReportRun") -> None:
    """Say on standard error what was paid, what was stored, and what failed."""
    read = sum(bool(outcome.reads) for outcome in found.outcomes)
    reused = sum(outcome.is_reused for outcome in found.outcomes) - read
    paid = sum(outcome.answer is not None for outcome in found.outcomes) - reused - read
    free = f", {read} of released measures" if read else ""
    print(f"{paid} entries paid, {reused} stored answers used{free}", file=sys.stderr)
    for stream in found.streams:
        if stream.answer is not None:
            told = f"spent {stream.charged}; paid once for all its periods"
            print(f"stream {stream.entry.title}: {told if stream.charged else 'already paid'}", file=sys.stderr)
    for outcome in _all(found):
        if outcome.answer is None:
            print(f"failed: {outcome.entry.title}: {outcome.error}", file=sys.stderr)
    for budget in found.budgets:
        print(f"remaining {budget.remaining}", file=sys.stderr)


def _show_costs(checked: "CheckedReport", catalog: "Catalog", *, fresh: bool) -> bool:
    """Print what a run would cost, and return whether budgets cover its streams; touches no private value.

    Raises
    ------
    BudgetExceededError
        If they do not cover its entries, after all was printed.
    """
    from emdp.answers import Preview
    from emdp.reports.run import check_reach, period_spending, stores_of
    from emdp.reports.streams import preview_of
    from emdp.sessions.presentation import previewed

    with looking_ahead(catalog, checked.table, checked.report.period) as session:
        stores = stores_of(session, checked)
        shared: dict[str, None] = {}
        is_covered = True
        for store, entry in zip(stores, checked.entries, strict=True):
            is_paid = store.is_paid(entry.planned, fresh=fresh)
            stored = "reads measures" if entry.planned.is_awaited else "stored"
            state = f"{stored}, costs nothing" if is_paid else f"costs {entry.planned.plan.guarantee}"
            print(f"{entry.entry.title}: {state}")
            told = previewed(entry.planned, session.table)
            shared |= dict.fromkeys(told.of_table)
            shown = Preview((told,)).frame
            print(
                preview_text(shown.select("query", "noise_scale", "expected_error", "interval_95"), width=table_width())
            )
            for column in entry.planned.plan.columns:
                if column.note:
                    print(f"note: {column.name}: {column.note}")
            print()
        for stream in checked.report.streams:
            ahead = preview_of(stream, session)
            print(f"stream {stream.title}: {ahead.cost}")
            if not ahead.is_affordable:
                is_covered = False
                print(f"not covered: {ahead.refusal}")
            print(preview_text(ahead.frame, width=table_width()))
            shared |= dict.fromkeys(ahead.of_table)
            for note in ahead.notes:
                if note not in ahead.of_table:
                    print(f"note: {note}")
            print()
        for note in shared:
            print(f"note: {note}\n")
        for budget in session.remaining_all():
            print(f"remaining {budget}")
        if checked.budget is not None:
            spent = period_spending(session.ledger, checked, checked.budget)
            print(f"budget of the report in a period {checked.budget}; spent of it {spent}")
        # What the run would refuse is refused here too, after all that it would cost was said.
        check_reach(checked, session, stores, fresh=fresh)
    return is_covered


def files_of(report: "Report") -> tuple[str, ...]:
    """Return what a report is read from: its definition and the files of its queries."""
    return (str(report.path), *(str(report.path.parent / entry.file) for entry in report.entries if entry.file))


def _folder_name(checked: "CheckedReport") -> str:
    report = checked.report
    return "-".join(part for part in (report.path.stem, report.period) if part)


def _check_folder(folder: Path, checked: "CheckedReport", catalog: "Catalog") -> None:
    from emdp.reports.export import INDEX, MANIFEST, stream_names, table_names

    check_place("--out", folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {str(folder)!r} is no folder; pass a folder, or a name that is free.")
    if not folder.resolve().parent.is_dir():
        raise UsageError(f"--out {str(folder)!r} lies in a folder that does not exist; make that first.")
    if not os.access(folder if folder.exists() else folder.resolve().parent, os.W_OK):
        raise UsageError(f"--out {str(folder)!r} cannot be written; pass a folder that can.")
    titles = [entry.entry.title for entry in checked.entries]
    tables = [name for place, title in enumerate(titles, 1) for name in table_names(place, title, len(titles))]
    streams = [entry.title for entry in checked.report.streams]
    tables += [name for place, title in enumerate(streams, 1) for name in stream_names(place, title, len(streams))]
    # A table of answers must neither take the place of a source nor be read as part of one.
    kept = (*catalog.paths(), *files_of(checked.report))
    if is_kept([check_place("--out", folder / name) for name in (INDEX, MANIFEST, *tables)], kept):
        raise UsageError(
            f"--out {str(folder)!r} has, or would add, files that the catalog names, or the report; pass a folder of "
            "its own."
        )


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder before anything is paid for what shall lie in it, and take it back if nothing comes to."""
    is_new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {str(folder)!r} cannot be made ({error.strerror}); pass another folder.") from None
    try:
        yield
    finally:
        with suppress(OSError):
            if is_new and not any(folder.iterdir()):
                folder.rmdir()


@contextmanager
def _progress() -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar with the running entry on a terminal, and a line an entry elsewhere."""
    if not sys.stderr.isatty():

        def tell(done: int, total: int, title: str) -> None:
            # In one piece, so that no signal comes between the text and the end of its line.
            print(f"[{min(done + 1, total)}/{total}] {title}\n", end="", file=sys.stderr)

        yield tell
        return
    with progress_bar(0) as show:
        yield show
