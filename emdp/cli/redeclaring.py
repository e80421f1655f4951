"""``emdp ledger redeclare``: the owner changes what a ledger holds a table to, and is told what that may reveal."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from emdp.base.errors import UsageError
from emdp.cli.spending import print_head, short

if TYPE_CHECKING:
    from emdp.budgets.declarations import Declaration
    from emdp.ledger import Entry, Ledger
    from emdp.privacy import Budget

__all__ = ["redeclare", "what_changed"]


def redeclare(
    file: Annotated[
        str,
        typer.Argument(metavar="LEDGER", help="The ledger's file or address.", show_default=False),
    ],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table's name.", show_default=False)],
    users: Annotated[str | None, typer.Option(help="The users: their number, or a file with one row a user.")] = None,
    records: Annotated[int | None, typer.Option(help="The number of records that every user has.")] = None,
    any_records: Annotated[bool, typer.Option("--any-records", help="Declare no number of records any more.")] = False,
    catalog: Annotated[
        str | None, typer.Option("-C", "--catalog", help="Take all rules as this catalog declares them.")
    ] = None,
    period: Annotated[
        str | None, typer.Option(help="The period that the users are of, where each has a list of its own.")
    ] = None,
    budgets: Annotated[
        bool, typer.Option("--budgets", help="With -C: take its budgets, larger or of further kinds, and no rules.")
    ] = False,
    apart: Annotated[
        str | None,
        typer.Option(metavar="OTHER", help="Let TABLE and OTHER have budgets of their own on the same data."),
    ] = None,
) -> None:
    """Change what the ledger holds a table to: the owner's act, an entry that says what it may reveal."""
    from emdp.budgets import redeclaring
    from emdp.ledger import open_ledger, read_ledger

    stated = users is not None or records is not None or any_records
    if budgets and (catalog is None or period is not None):
        raise UsageError("--budgets takes a table's budgets from a catalog; pass -C emdp.toml with it, and no period.")
    if stated + (catalog is not None) + (apart is not None) != 1 or (records is not None and any_records):
        raise UsageError(
            "exactly one of --apart, -C and new rules (--users, --records or --any-records) must be given."
        )
    with read_ledger(file) as known:
        is_test = known.is_test
    with open_ledger(file, create=False, test=is_test) as ledger:
        if apart is not None:
            entry = redeclaring.set_apart(ledger, table, apart)
        elif catalog is not None and budgets:
            entry = redeclaring.redeclare_budgets(ledger, *_budgets_in(catalog, table))
        elif catalog is not None:
            entry = redeclaring.redeclare_as(ledger, *_declared_in(catalog, table, period))
        else:
            rules: dict[str, Any] = {} if users is None else {"users": _users_digest(ledger, table, users)}
            if records is not None or any_records:
                rules["records"] = records
            entry = redeclaring.redeclare(ledger, table, rules, period=period)
        print(f"declared anew: {what_changed(entry)}")
        print(f"this may reveal {entry.payload['reveals']}" if "reveals" in entry.payload else MORE)
        print_head(entry.sequence, entry.hash)


def what_changed(entry: "Entry") -> str:
    """Return what an entry of this command changed, in one line."""
    known = entry.payload
    if entry.kind == "budget":
        from emdp.privacy import Budget

        return f"budgets {' and '.join(str(Budget.from_json(own).guarantee) for own in known['budgets'])}"
    found = [f"apart from {known['apart']}"] if "apart" in known else []
    found += [f"{name} {short(value)}" for name, value in known.get("rules", {}).items()]
    if known.get("period") is not None:
        found.append(f"period {known['period']}")
    return "; ".join(found)


MORE = "all answers together may now tell so much; emdp consequences says what that is about one person"


def _budgets_in(catalog: str, table: str) -> "tuple[str, tuple[Budget, ...]]":
    """Return the account of a table of a catalog, and its budgets."""
    from emdp.budgets.promises import check_history_budgets, make_budgets
    from emdp.catalog.catalog import load_catalog

    loaded = load_catalog(catalog)
    name = loaded.account(table)
    entry, budgets = loaded.tables[name], make_budgets(loaded.budgets(table), 0.0)
    is_counted = any(known in place for known in ("slots", "records") for place in (entry, entry.get("space", {})))
    check_history_budgets(budgets, is_counted=is_counted)
    return name, budgets


def _declared_in(catalog: str, table: str, period: str | None) -> "tuple[str, Declaration]":
    """Return the account of a table of a catalog, and what it is declared as."""
    from emdp.catalog.catalog import load_catalog
    from emdp.sessions.asking import declaration_of

    declared = load_catalog(catalog).table(table, period=period)
    return declared.account, declaration_of(declared)


def _users_digest(ledger: "Ledger", table: str, users: str) -> str:
    from emdp.budgets.declarations import Held
    from emdp.tables.public import make_user_list

    user = Held.by(ledger.entries(table)).rules.get("user")
    if user is None:
        raise UsageError(f"table {table!r} has no budget in the ledger; pass the name of one that has.")
    return make_user_list(int(users) if users.isdecimal() else users, str(user)).digest(columns=False)
