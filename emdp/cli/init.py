"""``emdp init``: a catalog from a file's public schema, by questions on a terminal, or with marked blanks."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emdp.base.errors import UsageError, resource_error
from emdp.cli.flags import told_by
from emdp.cli.interview import Told, asked_user, asked_users, is_terminal, show_meaning
from emdp.cli.options import DEFAULT_CATALOG, HeaderOption
from emdp.cli.output import check_place, write_file
from emdp.cli.parts import toml_text
from emdp.cli.stopping import break_off_reads

if TYPE_CHECKING:
    from emdp.tables.source import Source

__all__ = ["run", "starter_catalog"]

BLANK = "FILL IN"
"""Beginning of every blank; a catalog that still has one is refused."""

USERS = ("user_id", "user", "userid", "uid", "person", "person_id", "customer_id", "member_id", "account_id", "nick")
"""Names by which a user column is guessed."""

NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
REALS = ("FLOAT", "DOUBLE", "DECIMAL")
TEXTS = ("VARCHAR", "ENUM")
TRUTHS = ("BOOLEAN",)
ELSEWHERE = "elsewhere = 1  # users without records are in no mean and no map; a SHARE(ELSEWHERE) says how many"

CLOCKS = ("ts", "time", "when")
"""Names by which a text is guessed to be a time of day, beside endings such as created_at."""

TIMES = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATETIME")


def run(
    source: Annotated[
        str | None, typer.Argument(help="Parquet or CSV file, folder, pattern, or FILE.duckdb::TABLE.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Column that says whose record a row is.")] = None,
    users: Annotated[str | None, typer.Option("--users", help="Public users: their number, or a file of keys.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Table's name in SQL; default: the file's.")] = None,
    out: Annotated[str, typer.Option("--out", help="Catalog to write.")] = DEFAULT_CATALOG,
    force: Annotated[bool, typer.Option("--force", help="Replace the catalog if it exists.")] = False,
    header: HeaderOption = None,
    slots: Annotated[
        int | None, typer.Option("--slots", min=1, help="Records of a user that count, so that one is a known share.")
    ] = None,
    box: Annotated[
        str | None, typer.Option("--box", help="Public box of the places: SOUTH,WEST,NORTH,EAST in degrees.")
    ] = None,
    interval: Annotated[
        list[str] | None, typer.Option("--interval", help="Public range of a column of numbers: COLUMN,LOW,HIGH.")
    ] = None,
    values: Annotated[
        list[str] | None, typer.Option("--values", help="Public values of a column: COLUMN,VALUE,VALUE,..")
    ] = None,
    zone: Annotated[
        list[str] | None, typer.Option("--zone", help="Hour of the day of a column of times: COLUMN,ZONE.")
    ] = None,
    nowhere: Annotated[
        bool | None,
        typer.Option(
            "--elsewhere/--no-elsewhere",
            help="Users without records and invalid records are nowhere, or in the middle.",
            show_default="elsewhere",
        ),
    ] = None,
    alpha: Annotated[float | None, typer.Option("--alpha", help="The most that all answers may spend.")] = None,
    hide: Annotated[
        str | None, typer.Option("--hide", help="Or what they must hide: number or title of a change in the questions.")
    ] = None,
    sure: Annotated[
        str | None, typer.Option("--sure", help="With --hide: percent that a coin toss may become, 60 by default.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: what no option says stays a marked blank.")] = False,
    schema_file: Annotated[
        str | None, typer.Option("--schema", help="Only write the JSON schema of catalogs to this file, for editors.")
    ] = None,
) -> None:
    """Write an emdp.toml from names and types alone; reads no record.

    On a terminal it asks what no option says, and ends with what the budget would tell and a first preview.
    In a script, or with --yes, options say it; what none says is a marked blank, which is refused until filled in.

    \b
      emdp init visits.parquet
      emdp init visits.csv --header --user who --users 2000 --box 40.48,-74.26,40.92,-73.70 \\
        --values kind,Other,Bar,Office --hide "clinic once, of 20 records" --sure 60 --yes
    """
    from emdp.tables.headers import suspicion
    from emdp.tables.source import CsvSource, open_source

    if schema_file is not None:
        _write_schema(schema_file)
        return
    if source is None:
        raise UsageError("SOURCE is missing; pass a Parquet or CSV file, a folder, or FILE.duckdb::TABLE.")
    opened = open_source(source, header=header)
    if isinstance(opened, CsvSource) and header is None and not _has_names(opened.names(), user):
        opened = open_source(source, header=_asked_for_names(source))
    schema = opened.schema()
    # Of a CSV file the owner has said by now what its first row is.
    doubt = None if isinstance(opened, CsvSource) else suspicion(schema)
    if doubt:
        print(f"note: {doubt}", file=sys.stderr)
    _check_user(user, schema)
    place = check_place("--out", out)
    if place.exists() and not force:
        raise UsageError(f"--out {out!r} exists; pass another path, or --force to replace it.")
    asks = is_terminal() and not yes
    if user is None:
        user = asked_user(schema, _guess(schema, USERS)) if asks else _guess(schema, USERS)
        _check_user(user, schema)
    if users is None and asks:
        users = asked_users()
        # A path is said as from here, and written as from the catalog.
        users = _beside(users, place) if users and os.path.exists(users.partition("::")[0]) else users
    _check_users(users)
    own: dict[str, Any] = {"interval": interval or (), "values": values or (), "zone": zone or ()}
    own["asked"] = _columns(schema, user) if asks else None
    told = told_by(schema, _places(schema), box=box, nowhere=nowhere, alpha=alpha, hide=hide, sure=sure, **own)
    known: dict[str, Any] = {"name": name, "user": user, "users": users, "slots": slots, "told": told}
    text = starter_catalog(_beside(source, place), opened, **known)
    try:
        write_file(place, text.encode("utf-8"))
    except OSError as error:
        raise resource_error(error) or UsageError(
            f"--out {out!r} cannot be written ({error.strerror}); pass another path."
        ) from None
    blanks = text.count(f'"{BLANK}')
    print(f"{out}: {blanks} blanks to fill in, then: emdp check -C {out} QUERY" if blanks else f"{out}: complete")
    if asks and not blanks:
        show_meaning(out)


def _write_schema(path: str) -> None:
    import json

    from emdp.catalog.schema import catalog_schema

    place = check_place("--schema", path)
    try:
        write_file(place, (json.dumps(catalog_schema(), indent=1) + "\n").encode("utf-8"))
    except OSError as error:
        raise resource_error(error) or UsageError(
            f"--schema {path!r} cannot be written ({error.strerror}); pass another path."
        ) from None
    print(f"wrote {path}; editors read it where emdp.toml begins with #:schema {path}")


def starter_catalog(
    path: str,
    source: "Source",
    *,
    name: str | None,
    user: str | None,
    users: str | None,
    slots: int | None = None,
    told: Told | None = None,
) -> str:
    """Return the text of a catalog for one table.

    Parameters
    ----------
    path : str
        Source as the catalog names it.
    source : Source
        The source; its schema alone is looked at.
    name, user, users : str, optional
        What is known already; everything else becomes a blank that fails closed.
    slots : int, optional
        Records up to which bags are filled; none by default.
    """
    said = told or Told()
    schema = source.schema()
    header = getattr(source, "header", None)
    label, rest = name or source.default_name, _rest(schema, user)
    lines = [
        "# Written by `emdp init` from names and types alone: nothing of a record is in it. Every FILL IN is refused",
        "# until you replace it, from what is public, never from the records themselves.",
        'ledger = "emdp.ledger"',
        "",
        f"[tables.{_key(label)}]",
        f"source = {toml_text(path)}",
        *([] if header is None else [f"header = {'true' if header else 'false'}"]),
        f"user   = {toml_text(user or f'{BLANK}: the column that says whose record a row is')}",
        f"users  = {_users(users)}",
        ELSEWHERE if said.elsewhere else 'elsewhere = "neutral"  # users without records are in the middle of all',
        *([] if slots is None else [f"slots  = {slots}  # with fewer records a user has empty ones"]),
        f"space  = {said.space or _space(schema, user)}",
        *(f"# {line}" for line in _further(rest)),
        _budget(said),
        "# or say in words what must stay hidden, and leave alpha to it:",
        f"# protect = [{{ {'fraction = 0.0333' if slots is None else 'records = 3'}, distance = 5.0, epsilon = 0.2 }}]",
        *(f"# {line}".rstrip() for line in _everyday(label, rest, user)),
        "",
    ]
    return "\n".join(lines)


def _budget(told: Told) -> str:
    from emdp.answers.description import on_one_line

    if told.alpha is not None:
        # A comment of TOML holds no control characters.
        return f"budget = {{ alpha = {told.alpha} }}  # {on_one_line(told.reason)}"
    return f'budget = {{ alpha = "{BLANK}: the most that all answers may spend, per unit of d_em", delta = 0.0 }}'


def _columns(schema: Mapping[str, str], user: str | None) -> dict[str, list[str]]:
    """Return the columns that may be parts of a space, by what they hold."""
    places = _places(schema) or ()
    rest = {column: _noun(column, kind) for column, kind in schema.items() if column not in (user, *places)}
    return {noun: [column for column in rest if rest[column] == noun] for noun in ("number", "text", "time")}


def _noun(column: str, kind: str) -> str:
    """Return what a column may be; all of a CSV file are texts, of which a name tells the times."""
    known = {**dict.fromkeys(REALS, "number"), **dict.fromkeys(TEXTS, "text"), **dict.fromkeys(TIMES, "time")}
    noun = known.get(_kind(kind), "")
    return "time" if noun == "text" and _is_time(column) else noun


def _is_time(column: str) -> bool:
    name = column.lower()
    return name in CLOCKS or name.endswith(("_at", "_time", "_ts", "timestamp", "datetime"))


def _places(schema: Mapping[str, str]) -> tuple[str, str] | None:
    from emdp.spaces.continuous.geo import LATITUDES, LONGITUDES

    lat, lon = _guess(schema, LATITUDES), _guess(schema, LONGITUDES)
    return None if lat is None or lon is None else (lat, lon)


def _has_names(first: Sequence[str], user: str | None) -> bool:
    """Say whether a CSV file's first row holds names for sure: one that the owner gave, or words that are names."""
    from emdp.tables.headers import value_among

    if value_among(first) is not None:
        return False
    from emdp.spaces.continuous.geo import LATITUDES, LONGITUDES

    is_known = user in first or _guess(first, USERS) is not None
    return is_known or (_guess(first, LATITUDES) is not None and _guess(first, LONGITUDES) is not None)


def _asked_for_names(source: str) -> bool:
    """Return what the owner says of the first row, of which nothing is shown."""
    while (reply := _asked(f"does the first row of {source} hold the names of its columns", "y or n")) is not None:
        if reply.lower() in {"y", "yes", "n", "no"}:
            return reply.lower().startswith("y")
        print(f"  {reply!r} is neither y nor n; write one of them.")
    raise UsageError(
        f"SOURCE {source!r} has a first row that may be the names of its columns or somebody's record; pass "
        "--header if it is names, or --no-header."
    )


def _check_user(user: str | None, schema: Mapping[str, str]) -> None:
    if user is not None and user not in schema:
        raise UsageError(f"--user {user!r} is no column of the source; name one of {', '.join(map(repr, schema))}.")


def _check_users(users: str | None) -> None:
    """Refuse what looks like a number and is no count: a catalog would take it for a file."""
    if users is None or users.isdecimal():
        return
    try:
        float(users)
    except ValueError:
        return
    raise UsageError(f"--users {users!r} is no whole number of users; write it in digits, or pass a file of keys.")


def _space(schema: Mapping[str, str], user: str | None) -> str:
    parts = []
    lat, lon = _places(schema) or (None, None)
    if lat is not None and lon is not None:
        box = f"{BLANK}: [south, west, north, east] in degrees"
        columns = f"lat = {toml_text(lat)}, lon = {toml_text(lon)}"
        parts.append(f'{{ kind = "geo", {columns}, box = "{box}", unit = "km", on_invalid = "elsewhere" }}')
    for column, kind in schema.items():
        if column in (user, lat, lon) or _kind(kind) not in REALS:
            continue
        parts.append(
            f'{{ kind = "interval", col = {toml_text(column)}, low = "{BLANK}: least value", '
            f'high = "{BLANK}: greatest value" }}'
        )
    if not parts:
        return f'{{ kind = "{BLANK}: geo, interval, cycle, categories, words, ...; docs/python.md lists them" }}'
    if len(parts) == 1:
        return parts[0]
    return "\n".join(['{ kind = "product", parts = [', *(f"    {part}," for part in parts), "] }"])


def _rest(schema: Mapping[str, str], user: str | None) -> dict[str, str]:
    """Return the columns beside the user's and those of places, with the kinds of their types."""
    taken = (user, *(_places(schema) or ()))
    return {column: _kind(kind) for column, kind in schema.items() if column not in taken}


def _further(rest: Mapping[str, str]) -> list[str]:
    """Return comments on columns that could be parts of the space too."""
    rules = 'on_invalid = "elsewhere", "clamp" or "neutral"'
    lines = [f"invalid values are an error where a part has no other rule; add {rules} to it"]
    for column, kind in rest.items():
        if kind in TIMES or (kind in TEXTS and _is_time(column)):
            named = toml_text(f"time({column})")
            lines.append(f'{{ kind = "cycle", col = {named}, period = 24, on_invalid = "elsewhere" }} is the time')
        elif kind in TEXTS:
            lines.append(f'{{ kind = "categories", col = {toml_text(column)}, values = ["..."] }} lists public values')
        elif kind in TRUTHS:
            # What values a type has is public.
            lines.append(
                f'{{ kind = "categories", col = {toml_text(column)}, values = [false, true] }} is true or false'
            )
        elif kind in NUMBERS:
            lines.append(f'{{ kind = "interval", col = {toml_text(column)}, low = 0, high = 100 }} is a number')
    return lines


def _everyday(label: str, rest: Mapping[str, str], user: str | None) -> list[str]:
    """Return comments with a budget at user level, and first statements that it pays for."""
    table, owner = _name(label), _name(user or "user_id")
    # All columns of a CSV file are texts.
    text = next((column for column, kind in rest.items() if _noun(column, kind) == "text"), None)
    time = next((column for column, kind in rest.items() if _noun(column, kind) == "time"), None)
    asked = [("", f"COUNT(*) / COUNT(DISTINCT {owner}) AS each FROM {table}")]
    if time is not None:
        clock = _name(time) if rest[time] in TIMES else f"CAST({_name(time)} AS TIMESTAMP)"
        hour = f"HOUR({clock}) AS hour, COUNT(*) AS records FROM {table} GROUP BY hour"
        asked.append((", max_records_per_user = 100", hour))
    if text is not None:
        people = f"COUNT(DISTINCT {owner}) AS people FROM {table} GROUP BY 1 ORDER BY people DESC LIMIT 10"
        asked.append((", delta = 1e-9, max_groups_per_user = 5", f"{_name(text)}, {people}"))
    return [
        "or everyday questions of SQL at user level, beside the other budget in [..] or alone:",
        "budget = { epsilon = 2.0, delta = 1e-8 }",
        "They begin so; `emdp profile -C` looks at all columns at once:",
        *(f"    SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1{option}) {query}" for option, query in asked),
    ]


def _name(name: str) -> str:
    from emdp.answers.description import on_one_line

    plain = name.replace("_", "").isalnum() and name.isascii() and not name[0].isdigit()
    # A comment of TOML holds no control characters.
    return name if plain else '"' + on_one_line(name).replace('"', '""') + '"'


def _guess(schema: Iterable[str], names: tuple[str, ...]) -> str | None:
    found = [column for column in schema if column.lower() in names]
    return found[0] if len(found) == 1 else None


def _asked(what: str, hint: str = "empty: later") -> str | None:
    """Return the owner's reply on a terminal; None elsewhere, or for an empty one."""
    if not is_terminal():
        return None
    try:
        break_off_reads()
        return input(f"{what} ({hint}): ").strip() or None
    except EOFError:
        print()
        return None


def _users(users: str | None) -> str:
    if users is None:
        return toml_text(f"{BLANK}: their number, or a file with one row a user; not from the records")
    return users if users.isdecimal() else toml_text(users)


def _beside(source: str, catalog: Path) -> str:
    path, separator, table = source.partition("::")
    return os.path.relpath(path, catalog.resolve().parent) + separator + table


def _kind(kind: str) -> str:
    return kind.split("(", maxsplit=1)[0].strip().upper()


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else toml_text(name)
