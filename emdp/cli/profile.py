"""``emdp profile``: a first look at a file or at a catalog's table."""

import os
import sys
import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emdp.base.checks import check_choice, check_unit_interval
from emdp.base.errors import UsageError, resource_error
from emdp.cli.options import (
    BoxOption,
    CatalogOption,
    GeoOption,
    HeaderOption,
    IntervalOption,
    NameOption,
    OnInvalidOption,
    TableOption,
    UserOption,
    UsersOption,
    check_catalog_alone,
    check_table_option,
    space_of,
    users_of,
)
from emdp.cli.output import check_place, is_kept, write_file
from emdp.cli.progress import PLANNING, waiting
from emdp.cli.sql import has_charges
from emdp.cli.stopping import break_off_reads

if TYPE_CHECKING:
    from emdp.privacy import Guarantee
    from emdp.sessions.profile import Profile, ProfilePlan
    from emdp.sessions.profile.statements import Options
    from emdp.sessions.session import Session
    from emdp.spaces import Space
    from emdp.tables import Table

__all__ = ["run"]

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
"""Types of users' keys that are whole numbers."""


def run(
    epsilon: Annotated[float, typer.Option("--epsilon", help="Price of all of it, at user level.")],
    source: Annotated[str | None, typer.Argument(help="Parquet or CSV file, pattern, or FILE.duckdb::TABLE.")] = None,
    user: UserOption = None,
    delta: Annotated[float, typer.Option("--delta", help="Above 0, values that nobody listed are answered.")] = 0.0,
    neighbours: Annotated[
        str | None, typer.Option("--neighbours", help="replace or remove; without public users: remove.")
    ] = None,
    columns: Annotated[str | None, typer.Option("--columns", help="Columns to look at: A,B,C; default: all.")] = None,
    records: Annotated[int, typer.Option("--max-records-per-user", help="A user with more counts as so many.")] = 100,
    groups: Annotated[int, typer.Option("--max-groups-per-user", help="Values of a column a user counts in.")] = 3,
    top: Annotated[int, typer.Option("--top", help="Values of a column that are shown at most.")] = 10,
    preview: Annotated[bool, typer.Option("--preview", help="Only say what it would cost; spends nothing.")] = False,
    sql: Annotated[bool, typer.Option("--sql", help="Only print the statements; spends nothing.")] = False,
    out: Annotated[str | None, typer.Option("--out", help="Write a page to this HTML file, too.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask anew, and pay, though it is stored.")] = False,
    budget: Annotated[
        float | None, typer.Option("--budget", help="Total epsilon of the ledger, without -C; default: this look.")
    ] = None,
    budget_delta: Annotated[float | None, typer.Option("--budget-delta", help="Total delta of the ledger.")] = None,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="Ledger without -C; default: NAME.profile.ledger here.")
    ] = None,
    catalog: CatalogOption = None,
    table: TableOption = None,
    name: NameOption = None,
    users: UsersOption = None,
    geo: GeoOption = None,
    box: BoxOption = None,
    interval: IntervalOption = None,
    on_invalid: OnInvalidOption = None,
    header: HeaderOption = None,
    period: Annotated[
        str | None, typer.Option("--period", help="Part of the table: {period} in the catalog's paths.")
    ] = None,
) -> None:
    """Take a first look at every column, at one price: missing values, quartiles, frequent values, records a user."""
    described: dict[str, object] = {"--user": user, "--users": users, "--geo": geo, "--box": box, "--header": header}
    described |= {"--interval": interval, "--on-invalid": on_invalid, "--name": name, "--ledger": ledger}
    described |= {"SOURCE": source, "--budget": budget, "--budget-delta": budget_delta}
    with ExitStack() as stack:
        if catalog is not None:
            check_catalog_alone(described)
            declared, promises, place, kept = _from_catalog(catalog, table, period)
        else:
            check_table_option(table)
            if period is not None:
                raise UsageError("--period names a part of a catalog's table; pass -C CATALOG, or leave it out.")
            space = space_of(
                geo=geo, box=box, unit=None, interval=interval, words=None, vectors=None, on_invalid=on_invalid
            )
            declared = _declared(source, user=user, users=users, space=space, name=name, header=header)
            kept = (str(source),)
        options = _options(declared, epsilon, delta, neighbours, columns, records, groups, top)
        if catalog is None:
            promises = _promise(options, budget, budget_delta)
            place = f"{declared.name}.profile.ledger" if ledger is None else ledger
        _check_out(out, (*kept, place))
        chosen: dict[str, Any] = {"is_ahead": preview, "only_sql": sql, "fresh": fresh, "out": out, "period": period}
        _look(stack, declared, options, promises, place, **chosen)
        if catalog is None and not (preview or sql):
            print(f"ledger {place}, of this table and space alone", file=sys.stderr)


def _look(
    stack: ExitStack,
    table: "Table",
    options: "Options",
    promises: "Guarantee | tuple[Guarantee, ...]",
    ledger: str,
    *,
    period: str | None,
    is_ahead: bool,
    only_sql: bool,
    fresh: bool,
    out: str | None,
) -> None:
    from emdp.sessions.profile.plan import plan_profile
    from emdp.sessions.session import Session

    # What is refused must not so much as make a ledger.
    budgets = promises if isinstance(promises, tuple) else (promises,)
    with waiting(PLANNING):
        plan = plan_profile(table, table.names(), options, budgets)
    if (is_ahead or only_sql) and not has_charges(ledger, table.account):
        # Looking ahead must not make a ledger, nor declare anything in it.
        ledger = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "preview.ledger")
    session = stack.enter_context(Session(table, budget=promises, ledger=ledger, period=period))
    if is_ahead or only_sql:
        with waiting(PLANNING):
            shown = session.profile_preview_of(plan)
        print(shown.sql if only_sql else shown.explain())
        return
    _answer(session, plan, fresh=fresh, out=out)


def _answer(session: "Session", plan: "ProfilePlan", *, fresh: bool, out: str | None) -> None:
    from emdp.sessions.profile import Profile
    from emdp.sessions.store import Store

    store = Store(session)
    if plan.warning and (fresh or any(store.find(one) is None for one in plan.planned)):
        _check_worth(plan.warning)
    kept = store.ask(plan.planned, fresh=fresh)
    profile = Profile(plan, tuple(one.answer for one in kept))
    print(profile.explain())
    if out is not None:
        _write(profile, out)
    is_free = all(one.is_reused for one in kept)
    told = "stored, nothing spent: it cost" if is_free else "spent"
    print(f"{told} {profile.guarantee}", file=sys.stderr)
    for budget in session.remaining_all():
        print(f"remaining {budget}", file=sys.stderr)


def _check_worth(warning: str) -> None:
    """Say before the charge what would be paid for nothing, and on a terminal ask whether to go on."""
    print(f"note: {warning}", file=sys.stderr)
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        break_off_reads()
        print("charge it all the same (y or n): ", end="", file=sys.stderr, flush=True)
        if not sys.stdin.readline().strip().lower().startswith("y"):
            raise UsageError("nothing was charged; ask with more --epsilon, or with --columns for fewer columns.")


def _options(
    table: "Table",
    epsilon: float,
    delta: float,
    neighbours: str | None,
    columns: str | None,
    records: int,
    groups: int,
    top: int,
) -> "Options":
    from emdp.sessions.profile.statements import Options

    chosen: Any = neighbours or ("remove" if table.users.count is None else "replace")
    check_choice("--neighbours", chosen, ("replace", "remove"))
    named = None if columns is None else [name.strip() for name in columns.split(",") if name.strip()]
    return Options(epsilon, delta, chosen, named, records, groups, top)


def _declared(
    source: str | None,
    *,
    user: str | None,
    users: str | None,
    space: "Space | None",
    name: str | None,
    header: bool | None,
) -> "Table":
    from emdp.sessions.session import read
    from emdp.tables.source import open_source

    if source is None or user is None:
        missing = "SOURCE" if source is None else "--user"
        raise UsageError(f"{missing} is missing; pass a file and its user column, or -C CATALOG.")
    if space is None:
        schema = open_source(source, header=header).schema()
        if user not in schema:
            raise UsageError(f"--user {user!r} is no column of the source; name one of {', '.join(map(repr, schema))}.")
        space = _unmeasured(user, schema[user])
    public = None if users is None else users_of(users)
    return read(source, user=user, users=public, space=space, name=name, header=header)


def _unmeasured(user: str, kind: str) -> "Space":
    """Return a space of one item, since a guarantee at user level measures no distances."""
    from emdp.spaces import Categories

    return Categories(user, [0 if kind.upper() in WHOLE else "-"], on_invalid="neutral")


def _from_catalog(
    path: str, table: str | None, period: str | None
) -> "tuple[Table, Guarantee | tuple[Guarantee, ...], str, tuple[str, ...]]":
    from emdp.catalog.catalog import load_catalog

    loaded = load_catalog(path)
    return loaded.table(table, period=period), loaded.budget(table), loaded.ledger_path, loaded.paths()


def _promise(options: "Options", budget: float | None, delta: float | None) -> "Guarantee":
    from emdp.privacy import UserDP

    if budget is not None and not budget >= 0:
        raise UsageError(f"--budget must be at least 0, got {budget:g}; pass what all answers may spend.")
    whole = options.epsilon if budget is None else budget
    rest = options.delta if delta is None else check_unit_interval("--budget-delta", delta, zero=True)
    return UserDP(whole, rest, neighbours=options.neighbours)


def _check_out(out: str | None, kept: tuple[str, ...]) -> None:
    """Check that the page can be written: before anything is spent."""
    if out is None:
        return
    place = check_place("--out", out)
    folder = place.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or place.is_dir():
        raise UsageError(f"--out {out!r} cannot be written; pass a file in a folder that exists.")
    if is_kept(out, kept):
        raise UsageError(f"--out {out!r} belongs to what is read or paid from; name another.")


def _write(profile: "Profile", out: str) -> None:
    from emdp.reports.profile_page import profile_page

    try:
        write_file(out, profile_page(profile).encode("utf-8"))
    except OSError as error:
        raise resource_error(error) or UsageError(
            f"--out {out!r} cannot be written ({error.strerror}); what was charged stays charged, and is stored."
        ) from None
    print(f"wrote {out}", file=sys.stderr)
