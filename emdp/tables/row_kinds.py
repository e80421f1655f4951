"""Kinds of a table's columns in row expressions."""

from collections.abc import Mapping

import polars as pl

from emdp.rows.types import Kind
from emdp.spaces import Grid, Words
from emdp.tables.facts import TableFacts
from emdp.tables.statements.rows import kind_of_type

__all__ = ["public_kinds", "record_kinds"]


def record_kinds(table: TableFacts) -> Mapping[str, Kind]:
    """Return the kinds of the columns of a private table that row expressions read.

    Of a table of texts, whose records are words, there are none, and none of the columns of a grid. Numbers of the
    space come after its rule for invalid items, as DOUBLE, where it changes them or the source is text.
    """
    if any(isinstance(part, Words) for part in table.space.parts):
        return {}
    found: dict[str, Kind] = {}
    for name, kind in table.schema.items():
        part = next((own for own in table.space.parts if name in own.columns), None)
        read = kind_of_type(kind)
        if isinstance(part, Grid):
            continue
        if part is not None and part.labels is None and (part.on_invalid != "error" or table.source.is_text):
            read = Kind.DOUBLE
        if read is not None:
            found[name] = read
    return found


def public_kinds(frame: pl.DataFrame) -> Mapping[str, Kind]:
    """Return the kinds of the columns of a public table that row expressions read.

    >>> public_kinds(pl.DataFrame({"zone": [1], "name": ["a"], "list": [[1]]}))
    {'zone': <Kind.BIGINT: 'BIGINT'>, 'name': <Kind.TEXT: 'TEXT'>}
    """
    # Loaded where it is needed.
    from emdp.tables.statements.owned_rows import public_type

    read = {name: kind_of_type(public_type(dtype)) for name, dtype in frame.schema.items()}
    return {name: kind for name, kind in read.items() if kind is not None}
