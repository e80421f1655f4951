"""``emdp ledger``: what was spent, the events, budget set aside, rules declared anew, the chain, copies, roles."""

import json
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.base.errors import LedgerError, UsageError, resource_error
from emdp.base.files import read_text
from emdp.cli import spending
from emdp.cli.options import ledger_place
from emdp.cli.output import check_place, is_kept, write_file
from emdp.cli.redeclaring import redeclare, what_changed
from emdp.cli.spending import BudgetSpending, cost, print_head, printable, short
from emdp.cli.tables import table_width

if TYPE_CHECKING:
    from emdp.ledger import Entry, Ledger
    from emdp.privacy import Guarantee

__all__ = ["app"]

GAUSSIAN = "Gaussian noise paid from its share of a budget costs less together than the sum of what is listed"
"""Stands below a list of what was spent of a budget with such a share."""

app = typer.Typer(help="Show what was spent, set budget aside, verify the chain of events.", no_args_is_help=True)

File = Annotated[
    str, typer.Argument(metavar="LEDGER", help="The ledger's file, or its postgresql:// address.", show_default=False)
]
Head = Annotated[
    str | None,
    typer.Option(help="A head hash kept elsewhere: fails if the file is an older copy or another ledger."),
]
Manifest = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A report's manifest: fails where it disagrees with the ledger or its files."),
]


@app.command()
def show(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="LEDGER", help="The ledger's file, or its address; default: the catalog's.", show_default=False
        ),
    ] = None,
    catalog: Annotated[str | None, typer.Option("-C", "--catalog", help="Catalog that names the ledger.")] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE.svg", help="Write the burn-down of each budget.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """Print the budgets of every table, what was spent of them by period and query, and what remains."""
    from emdp.ledger import read_ledger
    from emdp.ledger.entries import of_kinds

    file = ledger_place(file, catalog)
    with read_ledger(file) as ledger:
        # A picture and the JSON have what was left after each charge.
        entries = ledger.entries() if plot is not None or as_json else ledger.view()
        found = spending.spending_of(entries)
        changed, end = of_kinds(entries, "redeclare"), ledger.head()
    if plot is not None:
        _write_plots(found, plot, file)
    if as_json:
        head = {"path": ledger.path, "id": ledger.ledger_id, "test": ledger.is_test, "entries": end[0]}
        anew = [{"entry": entry.sequence, "table": entry.table, **entry.payload} for entry in changed]
        shown = {"ledger": {**head, "head": end[1]}, **spending.as_json(found), "redeclared": anew}
        print(json.dumps(shown, indent=2))
        return
    _print_title(ledger)
    _print_spending(found)
    for entry in changed:
        print(printable(f"entry {entry.sequence} declares {entry.table} anew: {what_changed(entry)}"))
    print_head(*end)


@app.command()
def history(file: File) -> None:
    """Print the events of a ledger in order, one row an event."""
    from emdp.ledger import read_ledger

    with read_ledger(file) as ledger:
        entries = ledger.entries()
        rows = [
            (str(entry.sequence), entry.time[:19] + "Z", _event_name(entry), entry.table, *_event_cells(entry))
            for entry in entries
        ]
        _print_title(ledger)
        _print_events(("entry", "time", "event", "table", "what", "cost"), rows)
        print_head(entries[-1].sequence, entries[-1].hash)


@app.command()
def reserve(
    file: File,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table's name.", show_default=False)],
    name: Annotated[str, typer.Argument(metavar="NAME", help="What a report has as reserve.", show_default=False)],
    alpha: Annotated[float | None, typer.Option(help="Level to set aside of an EmdDP budget.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Level to set aside of a UserDP budget.")] = None,
    delta: Annotated[float | None, typer.Option(help="Delta to set aside; default 0.")] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="Of two UserDP budgets the one meant: replace or remove.")
    ] = None,
    release: Annotated[bool, typer.Option("--release", help="Give back what is left for NAME.")] = False,
) -> None:
    """Set part of a table's budget aside for a report, which then nobody else can spend."""
    from emdp.budgets import reservations
    from emdp.ledger import open_ledger, read_ledger
    from emdp.privacy import guarantee_from_json

    if release and any(number is not None for number in (alpha, epsilon, delta)):
        raise UsageError("--release gives back all that is left; leave --alpha, --epsilon and --delta out.")
    levels = {name: level for name, level in (("alpha", alpha), ("epsilon", epsilon)) if level is not None}
    if not release and len(levels) != 1:
        raise UsageError("exactly one of --alpha and --epsilon must be given; pass that of the budget's kind.")
    with read_ledger(file) as known:
        is_test = known.is_test
    # No noise is drawn for it, so that it may be on either side of the test switch.
    with open_ledger(file, create=False, test=is_test) as ledger:
        if release:
            written = reservations.release(ledger, table, name)
        else:
            guarantee = _wanted(ledger, table, *levels.popitem(), 0.0 if delta is None else delta, neighbours)
            written = [reservations.reserve(ledger, table, name, guarantee)]
        for entry in written:
            print(f"{_event_name(entry)}: {cost(guarantee_from_json(entry.payload['guarantee']))}")
        print_head(written[-1].sequence, written[-1].hash)


app.command()(redeclare)


@app.command()
def verify(file: File, head: Head = None, manifest: Manifest = None) -> None:
    """Walk the hash chain, add up totals; print "ok", the number of entries and the head hash, to be kept elsewhere."""
    from emdp.ledger import read_ledger

    with read_ledger(file) as ledger:
        sequence, found = ledger.verify(head)
        if ledger.entries(kind="totals"):
            # Loaded where it is needed.
            from emdp.budgets.totals import check_totals

            check_totals(ledger.entries())
        checked = [] if manifest is None else _checked_manifest(ledger, Path(manifest))
    print("ok")
    for line in checked:
        print(line)
    print_head(sequence, found)


@app.command()
def copy(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="File or address of a ledger.", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Where nothing is yet.", show_default=False)],
) -> None:
    """Copy a ledger from a file to a PostgreSQL database or back, chain and texts intact, and verify the copy."""
    from emdp.ledger import copy_ledger, shown_place

    sequence, found, texts = copy_ledger(source, target)
    print(f"copied {shown_place(source)} to {shown_place(target)}, with {texts} kept texts")
    print_head(sequence, found)
    print(
        "emdp: two ledgers hold this budget now, and each could spend all that is left; take one of them out of use.",
        file=sys.stderr,
    )


@app.command()
def roles(
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="postgresql://user@host/database", show_default=False)
    ],
    analyst: Annotated[list[str] | None, typer.Option(metavar="ROLE", help="A role that may charge.")] = None,
    auditor: Annotated[list[str] | None, typer.Option(metavar="ROLE", help="A role that may only read.")] = None,
    create: Annotated[
        bool, typer.Option("--create", help="Make the ledger first, owned by the address's user.")
    ] = False,
) -> None:
    """Print the SQL with which the owner of a ledger in PostgreSQL lets roles charge or read it, for psql."""
    from emdp.ledger import open_ledger
    from emdp.ledger.address import address_of
    from emdp.ledger.postgres_schema import grants

    if address_of(address) is None:
        raise UsageError("ADDRESS must be that of a PostgreSQL database; files are shared by the system's permissions.")
    if not (create or analyst or auditor):
        raise UsageError("one of --analyst, --auditor and --create must be given; pass a role that the server knows.")
    if create:
        open_ledger(address).close()
    for statement in grants(tuple(analyst or ()), tuple(auditor or ())):
        print(statement)


def _checked_manifest(ledger: "Ledger", path: Path) -> list[str]:
    """Return what was checked of a manifest, or raise with all in which it disagrees."""
    from emdp.reports.manifest import check_manifest

    try:
        manifest = json.loads(read_text(path))
    except OSError as error:
        raise UsageError(f"--manifest {str(path)!r} cannot be read ({error.strerror}); pass a report's file.") from None
    except (ValueError, RecursionError):
        raise UsageError(f"--manifest {str(path)!r} holds no JSON; pass the file beside a report's page.") from None
    problems = check_manifest(manifest, path.parent, ledger)
    if problems:
        listed = "".join(f"\n  {printable(problem)}" for problem in problems)
        places = f"{len(problems)} place{'s' if len(problems) > 1 else ''}"
        raise LedgerError(f"manifest {path} disagrees with ledger {ledger.path} in {places}:{listed}")
    entries = manifest["entries"]
    answers = [entry["answer"] for entry in entries if entry["answer"] is not None]
    kept = sum(ledger.content(answer["content"]) is not None for answer in answers)
    return [
        f"manifest: {path}, up to entry {manifest['ledger']['sequence']} of the ledger",
        f"checked: entries {len(entries)}, answers with their charges {len(answers)} (of which the text is still kept: "
        f"{kept}), budgets {len(manifest['guarantees'])}, files {len(manifest['files'])}",
        "not checked, since no ledger knows it: when and by which versions the page was made",
    ]


def _wanted(
    ledger: "Ledger", table: str, option: str, level: float, delta: float, neighbours: str | None
) -> "Guarantee":
    """Return what is to be set aside, in the kind of the table's budget that has such a level."""
    from emdp.budgets.spending import budgets_of
    from emdp.privacy.guarantees.kinds import NEIGHBOURS, is_by_removal

    if neighbours not in (None, *NEIGHBOURS):
        raise UsageError(f"--neighbours must be {' or '.join(NEIGHBOURS)}, got {neighbours!r}; pass one of these.")
    promises = [budget.guarantee for budget in budgets_of(ledger.entries(table))]
    fitting = [promise for promise in promises if promise.level_name == option]
    if neighbours is not None:
        fitting = [promise for promise in fitting if is_by_removal(promise) == (neighbours == "remove")]
    if not promises:
        raise UsageError(f"table {table!r} has no budget in the ledger; pass the name of one that has.")
    if len(fitting) != 1:
        shown = " and ".join(promise.kind_name for promise in promises)
        raise UsageError(
            f"--{option} must fit one budget of table {table!r}, which has {shown}; pass the other option, or "
            "--neighbours."
        )
    return fitting[0].at_level(level, delta)


def _write_plots(found: Sequence[BudgetSpending], path: str, ledger: str) -> None:
    """Write a picture a budget: numbered files where there are several."""
    from emdp.pictures import draw_spending

    place = Path(path)
    drawn = [
        draw_spending(own.steps, own.promise.level, title=f"{own.table}: {own.promise.level_name}")
        for own in found
        if own.steps
    ]
    pictures = [picture for picture in drawn if picture is not None]
    if not pictures:
        raise UsageError("--plot has nothing to draw, since nothing was charged; leave it out.")
    for number, picture in enumerate(pictures, start=1):
        own = place if len(pictures) == 1 else place.with_name(f"{place.stem}-{number}{place.suffix}")
        if own.suffix.lower() != ".svg" or is_kept(check_place("--plot", own), [ledger]):
            raise UsageError(f"--plot {path!r} must be a file of its own that ends in .svg; pass another name.")
        try:
            write_file(own, picture.svg.encode("utf-8"))
        except OSError as error:
            raise resource_error(error) or UsageError(
                f"--plot {str(own)!r} cannot be written ({error.strerror}); pass another file."
            ) from None


def _event_name(entry: "Entry") -> str:
    if entry.kind == "reserve":
        return "given back" if entry.payload.get("released") else "set aside"
    if entry.kind == "validated" and entry.payload.get("begins"):
        return "validation begins"
    return "stored answer" if entry.kind == "answer" else entry.kind


def _event_cells(entry: "Entry") -> tuple[str, str]:
    """Say what an event did, and what it cost or allows."""
    from emdp.budgets.spending import event_of, field_of
    from emdp.privacy import Budget, guarantee_from_json

    if entry.kind == "charge":
        event = event_of(entry)
        mechanism = type(event).__name__.removesuffix("Event")
        return _in_one_line(field_of(entry, "query")), f"{mechanism}: {cost(event.guarantee)}"
    if entry.kind == "budget":
        promises = [Budget.from_json(budget).guarantee for budget in field_of(entry, "budgets")]
        return ", ".join(promise.kind_name for promise in promises), ", ".join(map(cost, promises))
    if entry.kind == "reserve":
        return f"for {field_of(entry, 'name')}", cost(guarantee_from_json(field_of(entry, "guarantee")))
    if entry.kind == "answer":
        return _in_one_line(field_of(entry, "query")), f"paid by entry {field_of(entry, 'charge')}"
    if entry.kind == "redeclare":
        return what_changed(entry), ""
    if entry.kind == "totals":
        return f"sums of all entries up to {field_of(entry, 'carried')}", ""
    shown = {name: value for name, value in entry.payload.items() if name not in {"begins", "marks"}}
    return "; ".join(f"{name} {short(value)}" for name, value in shown.items() if value is not None), ""


def _in_one_line(query: object) -> str:
    return " ".join(str(query).split())


def _print_title(ledger: "Ledger") -> None:
    print(f"ledger {ledger.path}, id {ledger.ledger_id}")
    if ledger.is_test:
        print("made under the test switch: nothing it paid for is private")


def _print_spending(found: Sequence[BudgetSpending]) -> None:
    if not found:
        print("no budget was declared yet")
        return
    _print_facts(spending.BUDGET_COLUMNS, spending.budget_rows(found))
    if reserved := spending.reserved_rows(found):
        _print_facts(spending.RESERVED_COLUMNS, reserved)
    if len(found) > 1:
        total = spending.user_total(found)
        none = "no sum, since a bounded or discrete guarantee says nothing at the user level"
        print(textwrap.fill(f"spent in all: {total or none}", _width(), subsequent_indent="  "))
    if not any(own.steps for own in found):
        return
    rows = spending.spending_rows(found, _width())
    if _needed(spending.SPENDING_COLUMNS, rows) <= _width():
        _print_table(spending.SPENDING_COLUMNS, rows)
    else:
        _print_table(spending.NARROW_COLUMNS, spending.narrow_rows(found, _width()))
    if any(own.account.budget.mu_cap for own in found):
        print(textwrap.fill(GAUSSIAN, _width()), end="\n\n")
    for own in found:
        if own.steps:
            print("\n".join(spending.bars(own, _width(), blocks=_has_blocks())), end="\n\n")


def _width() -> int:
    return table_width()


def _has_blocks() -> bool:
    try:
        spending.EIGHTHS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _needed(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return how many columns of a terminal a table takes."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return sum(widths) + 3 * (len(header) - 1) + 2


def _print_facts(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, or where that is too wide a block for each of its rows."""
    if _needed(header, rows) <= _width():
        _print_table(header, rows)
        return
    space = max(map(len, header)) + 2
    for row in rows:
        print("\n".join(f"{name.ljust(space)}{printable(cell)}" for name, cell in zip(header, row, strict=True)))
        print()


def _print_events(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, or where that is too wide what an event was and cost below its head."""
    if _needed(header, rows) <= _width():
        _print_table(header, rows)
        return
    for *head, what, price in rows:
        print("  ".join(filter(None, map(printable, head))))
        for text in filter(None, (what, price)):
            print(textwrap.fill(printable(text), _width(), initial_indent="     ", subsequent_indent="       "))


def _print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        # What the analyst typed is shown as it is: no markup is obeyed, no control character passes.
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console(width=_width()).print(table)
