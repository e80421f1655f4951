"""``emdp check``, ``emdp preview`` and ``emdp query``: SQL against a catalog."""

import gc
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.base.errors import DataRuleError, EmdpError, UsageError
from emdp.base.files import LARGEST_QUERY, read_text
from emdp.cli.options import DEFAULT_CATALOG, TableOption
from emdp.cli.output import (
    check_target,
    choose_target,
    is_kept,
    write_answers,
    write_pictures,
)
from emdp.cli.progress import PLANNING, waiting
from emdp.cli.stopping import break_off_reads
from emdp.cli.tables import preview_text, table_width

if TYPE_CHECKING:
    from emdp.answers import Answer, Preview
    from emdp.answers.stored import StoredAnswer
    from emdp.catalog.catalog import Catalog
    from emdp.privacy import Guarantee
    from emdp.sessions.session import Session

__all__ = ["check", "preview", "promises_of", "query", "read_query", "table_of"]

QueryArgument = Annotated[str, typer.Argument(metavar="Q", help="SQL, or a file with SQL; - reads standard input.")]
CatalogPath = Annotated[str, typer.Option("-C", "--catalog", help="Catalog that has the table.")]
DetailOption = Annotated[bool, typer.Option("--explain", help="Print the whole derivation, a line a fact.")]
PeriodOption = Annotated[
    str | None, typer.Option("--period", help="Part of the table, such as 2026-W47: {period} in the catalog's paths.")
]

ParametersOption = Annotated[
    str | None, typer.Option("--parameters", metavar="JSON", help="Values of ? as a list, or of $name as an object.")
]

FreshOption = Annotated[bool, typer.Option("--fresh", help="Ask anew, and pay, though an answer is stored.")]

SUFFIXES, BEGINNINGS = (".sql", ".txt"), ("select", "with", "--", "/*")
"""Endings by which an argument with spaces is taken for a file, and beginnings by which it is not."""

TABLES = (".csv", ".tsv", ".gz", ".parquet", ".pq", ".duckdb", ".ledger")
"""Endings of files of records, which a refusal must not quote as if they were SQL."""

CHECKED = ("query", "expression", "lipschitz", "low", "high", "noise_scale", "expected_error", "interval_95", "share")
"""Columns that need no budget: what a check prints."""

HALF = "interval_95 is half the width of the 95 % interval: the answer is expected within so much of the true value"
"""What the name of a preview's column does not say."""

WIDEST_REMARK = 200
"""Characters of a remark on a compared method that are shown: it says what the choice rests on."""


def check(
    q: Annotated[
        str | None, typer.Argument(metavar="Q", help="SQL, or a file with SQL; - reads standard input.")
    ] = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
    table: TableOption = None,
    period: PeriodOption = None,
    explain: DetailOption = False,
    data: Annotated[
        bool, typer.Option("--data", help="Check the records against the declared rules: the owner's act, not private.")
    ] = False,
) -> None:
    """Say of every column its Lipschitz constant, range and noise, or what is refused and why. Opens no ledger."""
    from emdp.answers import Preview
    from emdp.sessions.planning import plan_request
    from emdp.sessions.presentation import previewed
    from emdp.tables.headers import suspicion

    if data:
        _check_data(q, catalog, table, period)
        return
    if q is None:
        raise UsageError("Q is missing; pass SQL or a file of it, or --data to check the records themselves.")
    text = read_query(q)
    loaded, name = table_of(q, text, catalog, table)
    _freeze_loaded()
    declared = loaded.table(name, period=period)
    with waiting(PLANNING):
        planned = plan_request(text, loaded.names(name, period=period), promises_of(loaded, name))
    shown = Preview(tuple(previewed(one, declared) for one in planned))
    doubt = None if getattr(declared.source, "header", None) is not None else suspicion(declared.schema)
    if doubt:
        print(f"note: {doubt}", file=sys.stderr)
    _show(shown, CHECKED, explain=explain)


def preview(
    q: QueryArgument,
    catalog: CatalogPath = DEFAULT_CATALOG,
    table: TableOption = None,
    period: PeriodOption = None,
    explain: DetailOption = False,
    parameters: ParametersOption = None,
) -> None:
    """Say what a query would cost, how far off it would be, and how many more the budget allows. Spends nothing."""
    text = with_parameters(read_query(q), parameters)
    loaded, name = table_of(q, text, catalog, table)
    _freeze_loaded()
    with waiting(PLANNING), looking_ahead(loaded, name, period) as session:
        shown = session.preview(text)
    _show(shown, None, explain=explain)


def _check_data(q: str | None, path: str, table: str | None, period: str | None) -> None:
    """Check the records of a catalog's tables against their rules, all that are broken at once."""
    from emdp.catalog.catalog import load_catalog
    from emdp.tables.engine import turned_boxes

    if q is not None:
        raise UsageError("--data checks the records and no query; leave Q out.")
    loaded = load_catalog(path)
    names = list(loaded.tables) if table is None else [table]
    tables = [loaded.table(name, period=period) for name in names]
    print(
        "note: --data reads the records and says how many break a rule: for the table's owner, who keeps it, and paid "
        "by no budget",
        file=sys.stderr,
    )
    broken: list[DataRuleError] = []
    for declared in tables:
        for place in turned_boxes(declared):
            turned = f"the box of {', '.join(place.columns)} in {declared.name} seems to be the wrong way round"
            print(f"note: {turned}: more records lie in box = {list(place.box)}", file=sys.stderr)
        try:
            with declared.held():
                declared.validate()
        except DataRuleError as error:
            broken.append(error)
        else:
            print(f"{declared.name}: the records keep every declared rule")
    if broken:
        raise DataRuleError(
            "\n".join(map(str, broken)), breaches=[breach for error in broken for breach in error.breaches]
        )


def promises_of(catalog: "Catalog", name: str) -> "tuple[Guarantee, ...]":
    """Return what a table's budgets allow; none where the catalog declares none yet, for a check needs none."""
    try:
        return catalog.budgets(name)
    except EmdpError:
        return ()


@contextmanager
def looking_ahead(catalog: "Catalog", name: str, period: str | None) -> "Iterator[Session]":
    """Open a session that makes no ledger, and declares nothing in one."""
    from emdp.sessions.session import Session

    place = catalog.ledger_path
    with tempfile.TemporaryDirectory() as folder:
        if not has_charges(place, catalog.account(name)):
            place = os.path.join(folder, "preview.ledger")
        table = catalog.table(name, period=period)
        with Session(
            table, budget=catalog.budget(name), ledger=place, public=catalog.public(), period=period
        ) as session:
            yield session


def query(
    q: QueryArgument,
    catalog: CatalogPath = DEFAULT_CATALOG,
    table: TableOption = None,
    csv: Annotated[
        str | None, typer.Option("--csv", help="Write the answer to this CSV file; - is the output.")
    ] = None,
    csv_raw: Annotated[
        str | None,
        typer.Option("--csv-raw", help="The same with texts as they are: --csv puts ' before what spreadsheets run."),
    ] = None,
    json: Annotated[str | None, typer.Option("--json", help="Write answer, guarantee and receipt as JSON.")] = None,
    parquet: Annotated[str | None, typer.Option("--parquet", help="Write the answer to this Parquet file.")] = None,
    plot: Annotated[str | None, typer.Option("--plot", help="Draw the answer into this SVG file.")] = None,
    period: PeriodOption = None,
    fresh: FreshOption = False,
    explain: DetailOption = False,
    parameters: ParametersOption = None,
) -> None:
    """Answer a query, and charge the ledger for it: once, for a stored answer is given again for nothing.

    Several statements with ; between them are one batch.
    """
    from emdp.sessions.planning import plan_request
    from emdp.sessions.session import Session
    from emdp.sessions.store import Store
    from emdp.sql.measured import reads_measures

    target = choose_target(csv, csv_raw, json, parquet)
    text = with_parameters(read_query(q), parameters)
    loaded, name = table_of(q, text, catalog, table)
    _freeze_loaded()
    # What is refused must not so much as make a ledger.
    read, public = loaded.table(name, period=period), loaded.public()
    # What reads released measures is no release, and is planned with those that the ledger has.
    is_reading = reads_measures(text)
    names, promises = read.names(public), loaded.budgets(name)
    with waiting(PLANNING):
        planned = () if is_reading else plan_request(text, names, promises)
    _check_targets(target, plot, len(planned) or 1, (*loaded.paths(), *([q] if _is_path(q) else [])))
    if is_reading and not has_charges(loaded.ledger_path, read.account):
        raise UsageError("the query reads a measure, and none was released yet; ask for one by MEASURE(*) AS name.")
    with Session(read, budget=loaded.budget(name), ledger=loaded.ledger_path, public=public, period=period) as session:
        if is_reading:
            _read_measures(session, text, target, plot, explain=explain)
            return
        with waiting("answering"):
            session.adopt(planned, names, promises)
            kept = Store(session).ask(planned, fresh=fresh)
        answers = [one.answer for one in kept]
        write_answers(answers, target)
        _draw(answers, plot)
        told: set[str] = set()
        for one in {one.stored.sequence: one for one in kept}.values():
            if explain:
                print(one.answer.explain(), file=sys.stderr)
            # A derivation has the notes.
            own = one.answer
            _print_notes(own.remarks if explain else (*own.remarks, *own.notes), own.of_table, told)
            spent = f"stored answer of {one.answer.time[:19]}Z, nothing spent: it cost" if one.is_reused else "spent"
            print(f"{spent} {one.answer.spent}", file=sys.stderr)
        kinds = {type(answer.spent) for answer in answers}
        for budget in session.remaining_all():
            if len(kinds) > 1 or type(budget) in kinds or len(session.remaining_all()) == 1:
                print(f"remaining {budget}", file=sys.stderr)


def _check_targets(target: tuple[str, str] | None, plot: str | None, answers: int, read_from: Iterable[str]) -> None:
    written = check_target(target, answers, read_from)
    if plot is not None and not plot.lower().endswith(".svg"):
        raise UsageError(f"--plot {plot!r} is no SVG file; pass a name that ends in .svg.")
    check_target(None if plot is None else ("plot", plot), answers, (*read_from, *written))


def _draw(answers: "Sequence[Answer | StoredAnswer]", plot: str | None) -> None:
    if plot is not None:
        # The picture of a measure is of its fit.
        with waiting("drawing"):
            write_pictures([answer.plot() for answer in answers], plot)


def _read_measures(
    session: "Session", text: str, target: tuple[str, str] | None, plot: str | None, *, explain: bool
) -> None:
    """Answer a statement over released measures: nothing is charged or stored."""
    with waiting("fitting the measure"):
        answer = session.sql(text)
    write_answers([answer], target)
    _draw([answer], plot)
    if explain:
        print(answer.explain(), file=sys.stderr)
    else:
        _print_notes(answer.notes, answer.of_table, set())
    print("nothing spent: reads what was released before", file=sys.stderr)


def _freeze_loaded() -> None:
    """Let no search for rings of dead objects, such as the last ones of a process, look through what stays anyway."""
    # DuckDB's types must not be among it: they say so on standard error where nothing frees them at the end.
    if "duckdb" not in sys.modules:
        gc.freeze()


def _show(preview: "Preview", columns: tuple[str, ...] | None, *, explain: bool) -> None:
    from emdp.answers import Preview

    if explain:
        print(preview.explain())
        return
    told: set[str] = set()
    for number, statement in enumerate(preview.statements, start=1):
        if len(preview.statements) > 1:
            print(f"{'' if number == 1 else chr(10)}statement {number}")
        frame = Preview((statement,)).frame
        print(preview_text(frame if columns is None else frame.select(*columns), width=table_width()))
        if statement.compared:
            print(f"\n{preview_text(statement.comparison, width=table_width(), widest=WIDEST_REMARK)}")
        assumed: dict[str, list[str]] = {}
        for column in statement.columns:
            if column.note:
                assumed.setdefault(column.note, []).append(column.name)
        for note, named in assumed.items():
            print(f"note: {', '.join(named)}: {note}", file=sys.stderr)
        _print_notes(statement.notes, statement.of_table, told)
    print(f"note: {HALF}", file=sys.stderr)
    if len(preview.statements) > 1 and columns is None:
        print("note: affordable counts each statement by itself, not the batch", file=sys.stderr)


def _print_notes(notes: Iterable[str], of_table: Iterable[str], told: set[str]) -> None:
    """Print notes on standard error; what is of the table, and not of one statement, only if it was not told yet."""
    for note in notes:
        if note not in told or note not in of_table:
            print(f"note: {note}", file=sys.stderr)
        told.add(note)


def has_charges(ledger: str, table: str) -> bool:
    """Say whether a ledger exists and a table's budget was used in it."""
    from emdp.ledger import ledger_exists, read_ledger
    from emdp.ledger.entries import View, later, of_kinds

    if not ledger_exists(ledger):
        return False
    with read_ledger(ledger) as opened:
        known = opened.view(table)
        new = later(known, known.floor, "charge") if isinstance(known, View) else ()
        return bool(new or of_kinds(known, "charge"))


def read_query(q: str) -> str:
    """Return the SQL that an argument holds, or names a file of."""
    if q == "-":
        if sys.stdin is None:
            raise UsageError("Q is -, but standard input is closed; pass SQL or a file of it.")
        break_off_reads()
        # What is no text of the input's encoding stands as lone surrogates, which the parser refuses.
        text = sys.stdin.read(LARGEST_QUERY + 1)
        if len(text) > LARGEST_QUERY:
            raise UsageError(f"Q is -, and standard input holds more than {LARGEST_QUERY:,} characters; pass less.")
        return text.removeprefix("\ufeff")
    if not _is_path(q):
        return q.removeprefix("\ufeff")
    if q.lower().endswith(TABLES):
        raise UsageError(f"Q names the file {q!r}, which is no file of SQL by its name; pass SQL or a .sql file.")
    try:
        return read_text(q, LARGEST_QUERY, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise UsageError(
            f"Q names the file {q!r}, which cannot be read ({reason}); pass SQL or a file of it."
        ) from None


def with_parameters(text: str, given: str | None) -> str:
    """Return SQL in which values of the command line are literals."""
    if given is None:
        return text
    # Loaded where it is needed.
    import json

    from emdp.sql import filled_in

    try:
        values = json.loads(given)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list | dict):
        raise UsageError("parameters must be a JSON list or object, such as '[3, \"Bar\"]'; write one.")
    return filled_in(text, values)


def _is_path(q: str) -> bool:
    """Say whether an argument names a file: one that exists, or what no statement looks like."""
    if "\n" in q or not q.strip():
        return False
    is_named = q.lower().endswith(SUFFIXES) and not q.lstrip().lower().startswith(BEGINNINGS)
    return is_named or not any(map(str.isspace, q)) or os.path.lexists(q)


def table_of(q: str, text: str, path: str, table: str | None) -> "tuple[Catalog, str]":
    """Return the catalog and the name of the private table that the statements speak of."""
    from emdp.catalog.catalog import load_catalog
    from emdp.sql import tables_named

    loaded = load_catalog(path)
    if _is_path(q) and not q.lower().endswith(SUFFIXES) and is_kept(q, loaded.paths()):
        raise UsageError(f"Q names the file {q!r}, which belongs to what the catalog names; pass SQL or a .sql file.")
    if table is not None:
        return loaded, table
    named = {name.lower() for name in tables_named(text)}
    own = list(dict.fromkeys(root for name, root in loaded.roots.items() if name.lower() in named))
    if len(own) > 1:
        raise UsageError(
            f"Q names {len(own)} private tables, {', '.join(own)}; ask each of them in a query of its own."
        )
    if not own and len(loaded.tables) > 1:
        raise UsageError(f"Q names no table of {path}, which has {', '.join(loaded.tables)}; name one after FROM.")
    return loaded, own[0] if own else next(iter(loaded.tables))
