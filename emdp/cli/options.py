"""Options of several commands that describe a table, and their reader."""

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.base.errors import UsageError

if TYPE_CHECKING:
    from emdp.spaces import Space
    from emdp.tables import Table

__all__ = [
    "AsGivenOption",
    "BoxOption",
    "CatalogOption",
    "GeoOption",
    "HeaderOption",
    "IntervalOption",
    "NameOption",
    "OnInvalidOption",
    "SourceOption",
    "TableOption",
    "UnitOption",
    "UserOption",
    "UsersOption",
    "VectorsOption",
    "WordsOption",
    "check_catalog_alone",
    "check_table_option",
    "ledger_place",
    "named",
    "numbers",
    "read_table",
    "space_of",
    "users_of",
]

DEFAULT_CATALOG = "emdp.toml"

MOST_DIGITS = 18
"""Digits of the largest number of users on the command line: more than there are people."""

SourceOption = Annotated[
    str | None, typer.Option("--source", help="Parquet or CSV file, folder, pattern, or FILE.duckdb::TABLE.")
]
CatalogOption = Annotated[str | None, typer.Option("-C", "--catalog", help="Catalog (emdp.toml) that has the table.")]
TableOption = Annotated[str | None, typer.Option("--table", help="Table of the catalog, where it has several.")]
UserOption = Annotated[str | None, typer.Option("--user", help="Column that says whose record a row is.")]
UsersOption = Annotated[str | None, typer.Option("--users", help="Public users: their number, or a file of keys.")]
GeoOption = Annotated[str | None, typer.Option("--geo", help="Columns of places: LAT,LON. Needs --box.")]
BoxOption = Annotated[str | None, typer.Option("--box", help="Public box: SOUTH,WEST,NORTH,EAST in degrees.")]
UnitOption = Annotated[
    str | None,
    typer.Option("--unit", help="Unit of distances between places: km, mi (miles) or m (metres); default km."),
]
AsGivenOption = Annotated[
    bool, typer.Option("--as-given", help="Columns and box of --geo are meant, though they seem to be swapped.")
]
IntervalOption = Annotated[
    str | None, typer.Option("--interval", help="Numeric column and bounds: COLUMN,LOW,HIGH; with --geo both count.")
]
WordsOption = Annotated[str | None, typer.Option("--words", help="Message column whose words count. Needs --vectors.")]
VectorsOption = Annotated[str | None, typer.Option("--vectors", help="Table of words and their vectors.")]
OnInvalidOption = Annotated[
    str | None,
    typer.Option("--on-invalid", help="What an invalid value becomes: error (the default), clamp or neutral."),
]
HeaderOption = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether a CSV file's first row names its columns.")
]
NameOption = Annotated[str | None, typer.Option("--name", help="Name of the table in the ledger; default: the file's.")]


def read_table(
    *,
    source: str | None,
    catalog: str | None,
    table: str | None,
    user: str | None,
    users: str | None,
    space: "Space | None",
    name: str | None = None,
    header: bool | None = None,
) -> "Table":
    """Return the table that the options describe: an entry of a catalog, or a source with its own description."""
    from emdp.catalog.catalog import load_catalog
    from emdp.sessions.session import read

    if (catalog is None) == (source is None):
        raise UsageError("exactly one of SOURCE and -C CATALOG must be given; pass a file or a catalog.")
    if catalog is not None:
        return load_catalog(catalog).table(table)
    check_table_option(table)
    if user is None or users is None or space is None:
        missing = "--user" if user is None else "--users" if users is None else "--geo, --interval or --words"
        raise UsageError(f"{missing} is missing; describe the table, or pass -C CATALOG.")
    return read(source, user=user, space=space, users=users_of(users), name=name, header=header)


def named(**options: object) -> dict[str, object]:
    """Return options by their names on the command line, for :func:`check_catalog_alone`.

    >>> named(on_invalid="clamp", header=False)
    {'--on-invalid': 'clamp', '--header': False}
    """
    return {f"--{name.replace('_', '-')}": value for name, value in options.items()}


def check_catalog_alone(options: Mapping[str, object]) -> None:
    """Raise where an option describes what stands in the catalog: it would be ignored."""
    for option, value in options.items():
        if value is not None:
            raise UsageError(f"{option} stands in the catalog; leave it out, or describe the table without -C.")


def check_table_option(table: str | None) -> None:
    """Raise where a table is named and there is no catalog that could have it."""
    if table is not None:
        raise UsageError("--table names a table of a catalog; pass -C CATALOG, or leave it out.")


def users_of(text: str) -> int | str:
    """Return public users as an option has them: their number, or a file."""
    if re.fullmatch("[0-9]+", text) is None:
        return text
    if len(text) > MOST_DIGITS:
        raise UsageError(f"--users must be a number of at most {MOST_DIGITS} digits; pass the number of users.")
    return int(text)


def space_of(
    *,
    geo: str | None,
    box: str | None,
    unit: str | None,
    interval: str | None,
    words: str | None,
    vectors: str | None,
    on_invalid: str | None,
    as_given: bool = False,
) -> "Space | None":
    """Return the item space that the options describe; several parts make a product of equal weights.

    None where no option describes one.
    """
    from emdp.spaces import Geo, Interval, Product, Words
    from emdp.spaces.base import check_on_invalid

    for option, value, owner in (("--box", box, geo), ("--unit", unit, geo), ("--vectors", vectors, words)):
        if value is not None and owner is None:
            raise UsageError(
                f"{option} describes {'--words' if option == '--vectors' else '--geo'}; pass both or none."
            )
    parts: list[Space] = []
    rule = check_on_invalid("error" if on_invalid is None else on_invalid)
    if rule == "elsewhere":
        raise UsageError(
            "--on-invalid elsewhere needs elsewhere = 1 beside the space, which only a catalog has; pass -C CATALOG, "
            "or --on-invalid error, clamp or neutral."
        )
    if geo is not None:
        lat, lon = texts("--geo", geo, 2)
        if box is None:
            raise UsageError("--box is missing; the public box of --geo is SOUTH,WEST,NORTH,EAST in degrees.")
        sides, unit = numbers("--box", box, 4), "km" if unit is None else unit
        parts.append(Geo(lat, lon, box=sides, unit=unit, on_invalid=rule, as_given=as_given))
    if interval is not None:
        column, low, high = texts("--interval", interval, 3)
        bounds = numbers("--interval", f"{low},{high}", 2)
        parts.append(Interval(column, bounds[0], bounds[1], on_invalid=rule))
    if words is not None:
        if vectors is None:
            raise UsageError("--vectors is missing; --words needs a table of words and their vectors.")
        parts.append(Words(words, vectors, on_invalid=rule))
    if len(parts) > 1:
        return Product(*parts)
    return parts[0] if parts else None


def texts(option: str, value: str, count: int) -> list[str]:
    """Return the comma-separated texts of an option."""
    found = [text.strip() for text in value.split(",")]
    if len(found) != count or not all(found):
        raise UsageError(f"{option} must be {count} values with commas between them, got {value!r}; pass {count}.")
    return found


def numbers(option: str, value: str, count: int) -> tuple[float, ...]:
    """Return the comma-separated numbers of an option; a fraction such as 1/30 is one."""
    found = texts(option, value, count)
    try:
        return tuple(_number(text) for text in found)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"{option} must be {count} numbers, got {value!r}; pass numbers.") from None


def _number(text: str) -> float:
    top, slash, bottom = text.partition("/")
    return float(top) / float(bottom) if slash else float(text)


def ledger_place(ledger: str | None, catalog: str | None) -> str:
    """Return the ledger that was given, or that of a catalog: of the one in the folder, if none was named.

    Raises
    ------
    UsageError
        If both are given, or there is neither.
    """
    from emdp.catalog.catalog import load_catalog

    if ledger is not None and catalog is not None:
        raise UsageError("LEDGER and --catalog both name a ledger; pass one of them.")
    if ledger is not None:
        return ledger
    if catalog is None and not os.path.exists(DEFAULT_CATALOG):
        raise UsageError(f"LEDGER is missing, and there is no {DEFAULT_CATALOG} here that names one; pass either.")
    return load_catalog(catalog or DEFAULT_CATALOG).ledger_path
