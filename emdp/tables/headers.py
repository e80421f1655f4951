"""Header check of a file of text: its first row holds the names of its columns, or is somebody's record.

What looks like a value is none of a name's: a file whose first row has such a text is refused until its owner says
which of the two it is. A row of words alone cannot be told apart. What is said of it are a place and a kind of value,
never a text of the row.
"""

import re
from collections.abc import Iterable
from datetime import datetime

__all__ = ["kind_of_value", "own_names", "suspicion", "value_among"]

MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
KINDS = (
    ("a truth value", re.compile(r"true|false")),
    ("a missing value", re.compile(r"null|n/?a|\\n|#n/a")),
    ("a number", re.compile(r"0x[0-9a-f]+")),
    ("a coordinate", re.compile(r"[nsew]? ?[+-]?\d{1,3}([.,]\d+|\s*°.*) ?[nsew]?")),
    ("a coordinate", re.compile(r"(multi)?(point|polygon|linestring)\s*\(.*")),
    ("a date or time", re.compile(r".*\d{1,2}:\d{2}.*")),
    ("a date or time", re.compile(rf".*\b\d{{1,2}}[-/ .]({MONTHS})[a-z]*\b.*|({MONTHS})[a-z]* \d.*")),
    ("an identifier", re.compile(r"(?=.*\d)[0-9a-f]{16,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")),
    ("an address", re.compile(r"\S+@\S+\.\S+|[a-z]+://.*")),
)
"""Forms of values, in small letters, that no column is called by."""

PIECES = re.compile(r"[;|\t]")
"""Separators of values in a file that was written with another delimiter than it is read with."""


def kind_of_value(text: str) -> str | None:
    """Return what kind of value a text looks like, None where it may be a name.

    >>> kind_of_value("40.7128"), kind_of_value("2026-11-20"), kind_of_value("Tue Apr 03 18:00:09 +0000 2012")
    ('a number', 'a date or time', 'a date or time')
    >>> kind_of_value("user_id"), kind_of_value("hour(ts)"), kind_of_value("pm2.5")
    (None, None, None)
    """
    pieces = [piece.strip().lower() for piece in PIECES.split(text)]
    return next((kind for piece in pieces if (kind := _kind_of_piece(piece)) is not None), None)


def value_among(names: Iterable[str]) -> tuple[int, str] | None:
    """Return the place, counted from 1, and the kind of the first name that looks like a value; None where none does.

    >>> value_among(["user_id", "lat"]), value_among(["ann", "2019"])
    (None, (2, 'a number'))
    """
    kinds = ((place, kind_of_value(name)) for place, name in enumerate(names, start=1))
    return next(((place, kind) for place, kind in kinds if kind is not None), None)


def suspicion(names: Iterable[str]) -> str | None:
    """Return the words to tell the owner of columns of which one is called like a value; None where none is.

    >>> suspicion(["user_id", "40.71"])
    "column 2 is called like a number; if a first record became the columns' names, name the columns anew"
    """
    found = value_among(names)
    if found is None:
        return None
    place, kind = found
    return f"column {place} is called like {kind}; if a first record became the columns' names, name the columns anew"


def own_names(count: int) -> list[str]:
    """Return the names of the columns of a file that has none.

    >>> own_names(2)
    ['column1', 'column2']
    """
    return [f"column{place}" for place in range(1, count + 1)]


def _kind_of_piece(text: str) -> str | None:
    if "\n" in text or "\r" in text:
        return "a text of several lines"
    try:
        float(text)
    except ValueError:
        pass
    else:
        return "a number"
    try:
        datetime.fromisoformat(text.upper())
    except ValueError:
        pass
    else:
        return "a date or time"
    for kind, form in KINDS:
        if form.fullmatch(text):
            return kind
    return "a number" if any(map(str.isdigit, text)) and not any(map(str.isalpha, text)) else None
