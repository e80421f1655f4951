"""Checks of what an owner declares of a table, before its source is looked at or beside its names."""

from collections.abc import Mapping

from emdp.base.checks import check_count
from emdp.base.errors import UsageError
from emdp.spaces import Space
from emdp.tables.source import CsvSource, Source

__all__ = ["check_arguments", "check_records", "check_text_types", "check_version", "column_remedy"]

LONGEST_VERSION = 200
"""Characters of a declared data version, which every charge repeats."""


def check_text_types(schema: Mapping[str, str]) -> None:
    """Refuse declared types that no CSV file has, here and not at the first question."""
    for column, kind in schema.items():
        if kind != "VARCHAR":
            raise UsageError(
                f"columns gives {column!r} the type {kind}, and every column of a CSV file is text; write VARCHAR, and "
                "a column of the space is read as its number or time all the same."
            )


def column_remedy(column: str, source: Source, schema: Mapping[str, str], columns: object) -> str:
    if column in source.folder_columns():
        return "it stands in the names of folders alone; write it into the files, or name one folder as the source"
    if isinstance(source, CsvSource) and columns is not None:
        return "columns leaves it out, so name it there"
    # What stands first in a file of text is a row of names only if its owner wrote one.
    if isinstance(source, CsvSource) and source.header is not False:
        return "check its header row and its delimiter"
    return f"name one of {', '.join(map(repr, schema))}"


def check_arguments(user: object, space: object, name: object, columns: object) -> None:
    if not isinstance(user, str) or not user:
        raise UsageError(f"user must be the name of a column, not {type(user).__name__}; pass a text.")
    if not isinstance(space, Space):
        raise UsageError(f"space must be an emdp.Space, not {type(space).__name__}; pass one such as emdp.Interval.")
    if name is not None and (not isinstance(name, str) or not name):
        raise UsageError(f"name must be a non-empty text, not {type(name).__name__}; pass the table's name.")
    if columns is not None and not (
        isinstance(columns, Mapping) and all(isinstance(text, str) for pair in columns.items() for text in pair)
    ):
        raise UsageError("columns must map column names to DuckDB types; pass {name: type, ...}.")


def check_records(records: int | None, space: Space) -> int | None:
    """Return the declared number of records of every user, or raise if it is none or stands beside slots."""
    if records is not None and space.slots is not None:
        raise UsageError("records says that every user has as many, and slots that they need not; leave one out.")
    return None if records is None else check_count("records", records)


def check_version(version: object) -> None:
    if version is None:
        return
    if not isinstance(version, str) or not 0 < len(version) <= LONGEST_VERSION or not version.isprintable():
        raise UsageError(
            f"version must be a printable text of at most {LONGEST_VERSION} characters; pass one such as '2026-11-20'."
        )
