"""``emdp check``, ``emdp preview`` and ``emdp query``: SQL against a catalog."""

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.cli.options import TableOption
from emdp.cli.output import check_target, choose_target, preview_text, terminal_width, write_answers
from emdp.errors import UsageError

if TYPE_CHECKING:
    from emdp.answers import Preview
    from emdp.catalog import Catalog

__all__ = ["check", "preview", "query"]

QueryArgument = Annotated[str, typer.Argument(metavar="Q", help="SQL, or a file with SQL; - reads standard input.")]
CatalogPath = Annotated[str, typer.Option("-C", "--catalog", help="Catalog that has the table.")]
DetailOption = Annotated[bool, typer.Option("--explain", help="Print the whole derivation, a line a fact.")]

SUFFIXES, BEGINNINGS = (".sql", ".txt"), ("select", "with", "--", "/*")
"""Endings by which an argument with spaces is taken for a file, and beginnings by which it is not."""

CHECKED = ("query", "expression", "lipschitz", "low", "high", "noise_scale", "expected_error", "interval_95", "share")
"""Columns that need no budget: what a check prints."""


def check(
    q: QueryArgument, catalog: CatalogPath = "emdp.toml", table: TableOption = None, explain: DetailOption = False
) -> None:
    """Say of every column its Lipschitz constant, range and noise, or what is refused and why. Opens no ledger."""
    from emdp.answers import Preview
    from emdp.presentation import previewed
    from emdp.statements import plan_request

    text = _read_query(q)
    loaded, name = _table_of(text, catalog, table)
    declared = loaded.table(name)
    planned = plan_request(text, loaded.names(name))
    shown = Preview(tuple(previewed(one, declared) for one in planned))
    _show(shown, CHECKED, explain=explain)


def preview(
    q: QueryArgument, catalog: CatalogPath = "emdp.toml", table: TableOption = None, explain: DetailOption = False
) -> None:
    """Say what a query would cost, how far off it would be, and how many more the budget allows. Spends nothing."""
    from emdp.session import Session

    text = _read_query(q)
    loaded, name = _table_of(text, catalog, table)
    place = loaded.ledger_path
    with tempfile.TemporaryDirectory() as folder:
        # Looking ahead must not make a ledger, nor declare anything in it.
        if not has_charges(place, name):
            place = os.path.join(folder, "preview.ledger")
        with Session(loaded.table(name), budget=loaded.budget(name), ledger=place, public=loaded.public()) as session:
            shown = session.preview(text)
    _show(shown, None, explain=explain)


def query(
    q: QueryArgument,
    catalog: CatalogPath = "emdp.toml",
    table: TableOption = None,
    csv: Annotated[
        str | None, typer.Option("--csv", help="Write the answer to this CSV file; - is the output.")
    ] = None,
    json: Annotated[str | None, typer.Option("--json", help="Write answer, guarantee and receipt as JSON.")] = None,
    parquet: Annotated[str | None, typer.Option("--parquet", help="Write the answer to this Parquet file.")] = None,
    explain: DetailOption = False,
) -> None:
    """Answer a query, and charge the ledger for it. Several statements with ; between them are one batch."""
    from emdp.statements import plan_request

    target = choose_target(csv, json, parquet)
    text = _read_query(q)
    loaded, name = _table_of(text, catalog, table)
    # What is refused must not so much as make a ledger.
    check_target(target, len(plan_request(text, loaded.names(name))), _kept(loaded))
    with loaded.session(name) as session:
        answers = session.sql_batch(text)
        write_answers(answers, target)
        for answer in answers:
            if explain:
                print(answer.explain(), file=sys.stderr)
            for note in answer.notes:
                print(f"note: {note}", file=sys.stderr)
            print(f"spent {answer.spent}", file=sys.stderr)
        kinds = {type(answer.spent) for answer in answers}
        for budget in session.remaining_all():
            if len(kinds) > 1 or type(budget) in kinds or len(session.remaining_all()) == 1:
                print(f"remaining {budget}", file=sys.stderr)


def _show(preview: "Preview", columns: tuple[str, ...] | None, *, explain: bool) -> None:
    from emdp.answers import Preview

    if explain:
        print(preview.explain())
        return
    for number, statement in enumerate(preview.statements, start=1):
        if len(preview.statements) > 1:
            print(f"{'' if number == 1 else chr(10)}statement {number}")
        frame = Preview((statement,)).frame
        print(preview_text(frame if columns is None else frame.select(*columns), width=terminal_width()))
        assumed: dict[str, list[str]] = {}
        for column in statement.columns:
            if column.note:
                assumed.setdefault(column.note, []).append(column.name)
        for note, named in assumed.items():
            print(f"note: {', '.join(named)}: {note}", file=sys.stderr)
        for note in statement.notes:
            print(f"note: {note}", file=sys.stderr)
    if len(preview.statements) > 1 and columns is None:
        print("note: affordable counts each statement by itself, not the batch", file=sys.stderr)


def has_charges(ledger: str, table: str) -> bool:
    """Say whether a ledger exists and a table's budget was used in it."""
    from emdp.ledger import read_ledger

    if not os.path.lexists(ledger):
        return False
    with read_ledger(ledger) as opened:
        return bool(opened.entries(table, "charge"))


def _read_query(q: str) -> str:
    if q == "-":
        if sys.stdin is None:
            raise UsageError("Q is -, but standard input is closed; pass SQL or a file of it.")
        # What is no text of the input's encoding stands as lone surrogates, which the parser refuses.
        return sys.stdin.read().removeprefix("\ufeff")
    if not _is_path(q):
        return q.removeprefix("\ufeff")
    try:
        return Path(q).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise UsageError(
            f"Q names the file {q!r}, which cannot be read ({reason}); pass SQL or a file of it."
        ) from None


def _kept(catalog: "Catalog") -> list[str]:
    """Return the paths that a catalog names, and its own."""
    entries = [*catalog.tables.values(), *catalog.public_tables.values()]
    named = [entry.get(key) for entry in entries for key in ("source", "users")]
    paths = [os.path.join(catalog.path.parent, path) for path in named if isinstance(path, str)]
    return [str(catalog.path), catalog.ledger_path, *paths]


def _is_path(q: str) -> bool:
    """Say whether an argument names a file: one that exists, or what no statement looks like."""
    if "\n" in q or not q.strip():
        return False
    is_named = q.lower().endswith(SUFFIXES) and not q.lstrip().lower().startswith(BEGINNINGS)
    return is_named or not any(map(str.isspace, q)) or os.path.lexists(q)


def _table_of(text: str, path: str, table: str | None) -> "tuple[Catalog, str]":
    """Return the catalog and the name of the private table that the statements speak of."""
    from emdp.catalog import load_catalog
    from emdp.sql import tables_named

    loaded = load_catalog(path)
    if table is not None:
        return loaded, table
    named = {name.lower() for name in tables_named(text)}
    own = [name for name in loaded.tables if name.lower() in named]
    if len(own) > 1:
        raise UsageError(
            f"Q names {len(own)} private tables, {', '.join(own)}; ask each of them in a query of its own."
        )
    if not own and len(loaded.tables) > 1:
        raise UsageError(f"Q names no table of {path}, which has {', '.join(loaded.tables)}; name one after FROM.")
    return loaded, own[0] if own else next(iter(loaded.tables))
