"""``emdp ledger``: what was spent, the events one by one, and whether the chain of a ledger holds."""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emdp.errors import LedgerError, UsageError

if TYPE_CHECKING:
    from emdp.ledger import Entry, Ledger
    from emdp.privacy import Account, Guarantee

__all__ = ["app"]

LONGEST_VALUE = 20
"""Characters shown of a hash and other long values; `verify` and the file have all of them."""

PIPE_WIDTH = 160
"""Columns of a printed table where there is no terminal to ask for its width."""

app = typer.Typer(help="Show what was spent, and verify the chain of events.", no_args_is_help=True)

File = Annotated[str, typer.Argument(metavar="FILE", help="The ledger's file.", show_default=False)]
Head = Annotated[
    str | None,
    typer.Option(help="A head hash kept elsewhere: fails if the file is an older copy or another ledger."),
]


@app.command()
def show(file: File) -> None:
    """Print the budgets of every table, what was spent of them and what remains."""
    from emdp.ledger import read_ledger

    with read_ledger(file) as ledger:
        entries = ledger.entries()
        accounts = [
            (table, account)
            for table in dict.fromkeys(entry.table for entry in entries if entry.table)
            for account in _accounts([entry for entry in entries if entry.table == table])
        ]
        rows = [(table, *_account_row(account)) for table, account in accounts]
        _print_title(ledger)
        if rows:
            _print_table(("table", "kind", "budget", "spent", "remaining", "charges"), rows)
        else:
            print("no budget was declared yet")
        if len(accounts) > 1:
            print(f"spent in all: {_user_total(account for _, account in accounts)}")
        _print_head(entries[-1].sequence, entries[-1].hash)


@app.command()
def history(file: File) -> None:
    """Print the events of a ledger in order, one row an event."""
    from emdp.ledger import read_ledger

    with read_ledger(file) as ledger:
        entries = ledger.entries()
        rows = [
            (str(entry.sequence), entry.time[:19] + "Z", entry.kind, entry.table, *_event_cells(entry))
            for entry in entries
        ]
        _print_title(ledger)
        _print_table(("entry", "time", "event", "table", "what", "cost"), rows)
        _print_head(entries[-1].sequence, entries[-1].hash)


@app.command()
def verify(file: File, head: Head = None) -> None:
    """Walk the hash chain; print "ok", the number of entries and the head hash, to be kept elsewhere."""
    from emdp.ledger import read_ledger

    with read_ledger(file) as ledger:
        sequence, found = ledger.verify(head)
        print("ok")
        _print_head(sequence, found)


def _accounts(entries: Sequence["Entry"]) -> list["Account"]:
    """Return the accounts of one table, one a budget."""
    from emdp.privacy import Account, Budget, event_from_json

    declared = [_field(entry, "budgets") for entry in entries if entry.kind == "budget"]
    budgets = [Budget.from_json(budget) for budget in declared[-1]] if declared else []
    names = {budget.guarantee.kind_name: position for position, budget in enumerate(budgets)}
    charges: list[list[Any]] = [[] for _ in budgets]
    for entry in entries:
        if entry.kind == "charge":
            charged = _field(entry, "budget")
            position = names.get(charged, -1) if isinstance(charged, str) else charged
            if not isinstance(position, int) or not 0 <= position < len(budgets):
                raise LedgerError(f"entry {entry.sequence} charges a budget that the ledger lacks; {_COPY}")
            charges[position].append(event_from_json(_field(entry, "event")))
    return [Account.from_charges(budget, events) for budget, events in zip(budgets, charges, strict=True)]


def _account_row(account: "Account") -> tuple[str, ...]:
    remaining = _cost(account.remaining)
    if account.budget.mu_cap:
        remaining += f"; for Gaussian noise mu {account.gaussian_remaining:.6g}"
    promise = account.budget.guarantee
    return promise.kind_name, _cost(promise), _cost(account.spent), remaining, str(account.count)


def _event_cells(entry: "Entry") -> tuple[str, str]:
    """Say what an event did, and what it cost or allows."""
    from emdp.privacy import Budget, event_from_json

    if entry.kind == "charge":
        event = event_from_json(_field(entry, "event"))
        mechanism = type(event).__name__.removesuffix("Event")
        return str(_field(entry, "query")), f"{mechanism}: {_cost(event.guarantee)}"
    if entry.kind == "budget":
        promises = [Budget.from_json(budget).guarantee for budget in _field(entry, "budgets")]
        return ", ".join(promise.kind_name for promise in promises), ", ".join(map(_cost, promises))
    return "; ".join(f"{name} {_short(value)}" for name, value in entry.payload.items() if value is not None), ""


def _user_total(accounts: Iterable["Account"]) -> str:
    from emdp.privacy import total_as_user

    try:
        return str(total_as_user(accounts))
    except UsageError:
        return "no sum, since a bounded or discrete guarantee says nothing at the user level"


def _cost(guarantee: "Guarantee") -> str:
    return f"{guarantee.level_name} {guarantee.level:.10g}, delta {guarantee.delta:.10g}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _field(entry: "Entry", name: str) -> Any:
    try:
        return entry.payload[name]
    except KeyError:
        raise LedgerError(f"entry {entry.sequence} of the ledger lacks its {name!r}; {_COPY}") from None


_COPY = "compare with a copy whose head hash was kept elsewhere."


def _print_title(ledger: "Ledger") -> None:
    print(f"ledger {ledger.path}, id {ledger.ledger_id}")
    if ledger.is_test:
        print("made under the test switch: nothing it paid for is private")


def _print_head(sequence: int, found: str) -> None:
    print(f"entries: {sequence}")
    print(f"head: {found}")


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
        table.add_row(*(Text("".join(c if c.isprintable() else "�" for c in cell)) for cell in row))
    Console(width=None if sys.stdout.isatty() else PIPE_WIDTH).print(table)
