"""``emdp init``: a starter catalog from a file's public schema, with marked blanks for what only the owner knows."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.base.errors import UsageError, resource_error
from emdp.cli.options import HeaderOption
from emdp.cli.output import check_place, write_file
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
TIMES = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATETIME")


def run(
    source: Annotated[str, typer.Argument(help="Parquet or CSV file, folder, pattern, or FILE.duckdb::TABLE.")],
    user: Annotated[str | None, typer.Option("--user", help="Column that says whose record a row is.")] = None,
    users: Annotated[str | None, typer.Option("--users", help="Public users: their number, or a file of keys.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Table's name in SQL; default: the file's.")] = None,
    out: Annotated[str, typer.Option("--out", help="Catalog to write.")] = "emdp.toml",
    force: Annotated[bool, typer.Option("--force", help="Replace the catalog if it exists.")] = False,
    header: HeaderOption = None,
    slots: Annotated[
        int | None, typer.Option("--slots", min=1, help="Records of a user that count, so that one is a known share.")
    ] = None,
) -> None:
    """Write a starter emdp.toml from names and types alone; what needs the data or the owner stays a marked blank."""
    from emdp.tables.headers import suspicion
    from emdp.tables.source import CsvSource, open_source

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
    if user is None:
        user = _guess(schema, USERS) or _asked("column that says whose record a row is")
        _check_user(user, schema)
    if users is None:
        users = _asked("number of public users, or a file with one row a user")
    _check_users(users)
    text = starter_catalog(_beside(source, place), opened, name=name, user=user, users=users, slots=slots)
    try:
        write_file(place, text.encode("utf-8"))
    except OSError as error:
        raise resource_error(error) or UsageError(
            f"--out {out!r} cannot be written ({error.strerror}); pass another path."
        ) from None
    blanks = text.count(f'"{BLANK}')
    print(f"{out}: {blanks} blanks to fill in, then: emdp check -C {out} QUERY" if blanks else f"{out}: complete")


def starter_catalog(
    path: str, source: "Source", *, name: str | None, user: str | None, users: str | None, slots: int | None = None
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
    schema = source.schema()
    header = getattr(source, "header", None)
    label = name or source.default_name
    lines = [
        "# Written by `emdp init` from names and types alone: nothing of a record is in it. Every FILL IN is refused",
        "# until you replace it, from what is public, never from the records themselves.",
        'ledger = "emdp.ledger"',
        "",
        f"[tables.{_key(label)}]",
        f"source = {_text(path)}",
        *([] if header is None else [f"header = {'true' if header else 'false'}"]),
        f"user   = {_text(user or f'{BLANK}: the column that says whose record a row is')}",
        f"users  = {_users(users)}",
        "elsewhere = 1  # users without records are in no mean and no map; a SHARE(ELSEWHERE) says how many",
        *([] if slots is None else [f"slots  = {slots}  # with fewer records a user has empty ones"]),
        f"space  = {_space(schema, user)}",
        *(f"# {line}" for line in _further(schema, user)),
        f'budget = {{ alpha = "{BLANK}: the most that all answers may spend, per unit of d_em", delta = 0.0 }}',
        "# or say in words what must stay hidden, and leave alpha to it:",
        f"# protect = [{{ {'fraction = 0.0333' if slots is None else 'records = 3'}, distance = 5.0, epsilon = 0.2 }}]",
        *(f"# {line}".rstrip() for line in _everyday(label, schema, user)),
        "",
    ]
    return "\n".join(lines)


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
    reply = (_asked(f"does the first row of {source} hold the names of its columns", "y or n") or "").lower()
    if reply not in {"y", "yes", "n", "no"}:
        raise UsageError(
            f"SOURCE {source!r} has a first row that may be the names of its columns or somebody's record; pass "
            "--header if it is names, or --no-header."
        )
    return reply.startswith("y")


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
    from emdp.spaces.continuous.geo import LATITUDES, LONGITUDES

    parts = []
    lat, lon = _guess(schema, LATITUDES), _guess(schema, LONGITUDES)
    if lat is not None and lon is not None:
        box = f"{BLANK}: [south, west, north, east] in degrees"
        columns = f"lat = {_text(lat)}, lon = {_text(lon)}"
        parts.append(f'{{ kind = "geo", {columns}, box = "{box}", unit = "km", on_invalid = "elsewhere" }}')
    for column, kind in schema.items():
        if column in (user, lat, lon) or _kind(kind) not in REALS:
            continue
        parts.append(
            f'{{ kind = "interval", col = {_text(column)}, low = "{BLANK}: least value", '
            f'high = "{BLANK}: greatest value" }}'
        )
    if not parts:
        return f'{{ kind = "{BLANK}: geo, interval, cycle, categories, words, ...; docs/python.md lists them" }}'
    if len(parts) == 1:
        return parts[0]
    return "\n".join(['{ kind = "product", parts = [', *(f"    {part}," for part in parts), "] }"])


def _further(schema: Mapping[str, str], user: str | None) -> list[str]:
    """Return comments on columns that could be parts of the space too."""
    rules = 'on_invalid = "elsewhere", "clamp" or "neutral"'
    lines = [f"invalid values are an error where a part has no other rule; add {rules} to it"]
    for column, kind in schema.items():
        if column == user:
            continue
        if _kind(kind) in TEXTS:
            lines.append(f'{{ kind = "categories", col = {_text(column)}, values = ["..."] }} lists public values')
        elif _kind(kind) in TRUTHS:
            # What values a type has is public.
            lines.append(f'{{ kind = "categories", col = {_text(column)}, values = [false, true] }} is true or false')
        elif _kind(kind) in TIMES:
            named = _text(f"time({column})")
            lines.append(f'{{ kind = "cycle", col = {named}, period = 24, on_invalid = "elsewhere" }} is the time')
        elif _kind(kind) in NUMBERS:
            lines.append(f'{{ kind = "interval", col = {_text(column)}, low = 0, high = 100 }} is a number')
    return lines


def _everyday(label: str, schema: Mapping[str, str], user: str | None) -> list[str]:
    """Return comments with a budget at user level, and first statements that it pays for."""
    table, owner = _name(label), _name(user or "user_id")
    kinds = {column: _kind(kind) for column, kind in schema.items() if column != user}
    text = next((column for column, kind in kinds.items() if kind in TEXTS), None)
    time = next((column for column, kind in kinds.items() if kind in TIMES), None)
    asked = [("", f"COUNT(*) / COUNT(DISTINCT {owner}) AS each FROM {table}")]
    if time is not None:
        hour = f"HOUR({_name(time)}) AS hour, COUNT(*) AS records FROM {table} GROUP BY hour"
        asked.append((", max_records_per_user = 100", hour))
    if text is not None:
        people = f"COUNT(DISTINCT {owner}) AS people FROM {table} GROUP BY 1 ORDER BY people DESC LIMIT 10"
        asked.append((", delta = 1e-9, max_groups_per_user = 5", f"{_name(text)}, {people}"))
    return [
        "or everyday questions of SQL at user level, beside the other budget in [..] or alone:",
        "budget = { epsilon = 10.0, delta = 1e-8 }",
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
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        break_off_reads()
        return input(f"{what} ({hint}): ").strip() or None
    except EOFError:
        print()
        return None


def _users(users: str | None) -> str:
    if users is None:
        return _text(f"{BLANK}: their number, or a file with one row a user; not from the records")
    return users if users.isdecimal() else _text(users)


def _beside(source: str, catalog: Path) -> str:
    path, separator, table = source.partition("::")
    return os.path.relpath(path, catalog.resolve().parent) + separator + table


def _kind(kind: str) -> str:
    return kind.split("(", maxsplit=1)[0].strip().upper()


def _text(value: str) -> str:
    # A JSON string is a TOML basic string, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _text(name)
