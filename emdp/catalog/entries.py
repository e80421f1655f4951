"""Entries of a catalog as they were written: what is left blank in them, and the paths of vectors."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from emdp.base.checks import table_key
from emdp.base.errors import UsageError

__all__ = [
    "LINKED_KEYS",
    "LINK_KEYS",
    "NOWHERE",
    "PERIOD",
    "PUBLIC_KEYS",
    "TABLE_KEYS",
    "absolute_vectors",
    "find_blank",
    "paths_in",
    "roots_of",
    "sections_of",
    "version_of",
]

TABLE_KEYS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "source": (str, "a path"),
    "version": (str, 'a text in quotes, such as "2026-11-20"'),
    "wait": ((int, float), "a number of seconds"),
    "user": (str, "the name of a column"),
    "users": ((int, str, list), "a number, a path or a list of keys"),
    "space": (dict, 'a table such as { kind = "interval", ... }'),
    "budget": ((dict, list), "a table such as { alpha = 60.0 }, or a list of two"),
    "protect": (list, "a list of tables"),
    "records": (int, "a whole number"),
    "columns": (dict, "a table of names and types"),
    "shares": (str, "the name of another table of the catalog"),
    "header": (bool, "true or false"),
    "elsewhere": ((int, float, str), 'a number from 0.5 to 1, or "neutral"'),
    "slots": (int, "a whole number of records"),
    "view": (str, 'a text such as "SELECT .. FROM source WHERE .."'),
}
"""Keys of an entry, each with the type that TOML gives it and the name of the type."""

LINKED_KEYS: dict[str, tuple[type | tuple[type, ...], str]] = {
    **{key: TABLE_KEYS[key] for key in ("source", "space", "columns", "header", "view")},
    "link": (dict, "a table { column, table, key }"),
}
"""The same of an entry that is linked to another."""

LINK_KEYS = ("column", "table", "key")

PUBLIC_KEYS = {key: TABLE_KEYS[key] for key in ("source", "header")}

PERIOD = "{period}"
"""Placeholder of a period's name."""

BLANK = re.compile(r"\s*FILL IN\b[\s:]*(.*)", re.DOTALL)
"""Blank that ``emdp init`` writes where the owner has to decide: the words, then what belongs there."""


NOWHERE = (
    "has {period} in its source, and does not say where users are who have no records in a period: with the neutral "
    'item they would be in the middle of every map and mean; write elsewhere = 1, or elsewhere = "neutral" if they '
    "shall be"
)
"""Refusal of a table of periods that does not say it."""


def find_blank(key: str, value: Any) -> tuple[str, str] | None:
    """Return the first blank in a value, however deep: its place as a dotted path, and what belongs there."""
    if isinstance(value, str):
        found = BLANK.match(value)
        return None if found is None else (key, f"fill in {found[1].strip().rstrip('.') or 'its value'}")
    inner: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        # A name may be left blank too, as that of a column.
        inner = ((f"{key}.{name}", entry) for name, own in value.items() for entry in (name, own))
    elif isinstance(value, list):
        inner = ((f"{key}[{number}]", own) for number, own in enumerate(value))
    return next((blank for place, own in inner if (blank := find_blank(place, own)) is not None), None)


def absolute_vectors(space: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Resolve the path of a vectors table, which is relative to the catalog like every other."""
    resolved = dict(space)
    if isinstance(resolved.get("vectors"), str):
        resolved["vectors"] = os.path.join(folder, resolved["vectors"])
    parts = resolved.get("parts")
    if isinstance(parts, list):
        resolved["parts"] = [absolute_vectors(part, folder) if isinstance(part, dict) else part for part in parts]
    return resolved


def paths_in(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an entry names on disk, with the vectors of its space."""
    for key, value in entry.items():
        if key in ("source", "users", "vectors") and isinstance(value, str):
            yield value
        for own in value if isinstance(value, list) else [value]:
            if isinstance(own, dict):
                yield from paths_in(own)


def roots_of(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, str | None]:
    """Return for each entry the one that its links lead to, itself where it has none; None where they lead nowhere.

    >>> roots_of({"people": {}, "orders": {"link": {"table": "people"}}, "lost": {"link": {"table": "lost"}}})
    {'people': 'people', 'orders': 'people', 'lost': None}
    """
    found: dict[str, str | None] = {}
    for name in entries:
        own, passed = name, [name]
        while own in entries and "link" in entries[own]:
            link = entries[own]["link"]
            own = str(link.get("table")) if isinstance(link, dict) else ""
            if own in passed:
                own = ""
            passed.append(own)
        found[name] = own if own in entries else None
    return found


def version_of(entries: Sequence[Mapping[str, Any]], period: str | None) -> str | None:
    """Return the declared version of a table with what is linked: one for all periods, each validated by itself."""
    version = entries[0].get("version")
    if version is None or all(PERIOD not in entry["source"] for entry in entries):
        return version
    return f"{version}/{period}"


def sections_of(place: Path, data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the private and the public tables of a catalog.

    Raises
    ------
    UsageError
        If one of them is none, two have one name, or a link leads nowhere.
    """
    tables = data.get("tables", {})
    if not isinstance(tables, dict) or not tables or not all(isinstance(entry, dict) for entry in tables.values()):
        raise UsageError(f"catalog {str(place)!r} has no [tables.NAME], or one that is no table; add one.")
    for name in tables:
        same = [other for other in tables if table_key(other) == table_key(name)]
        if len(same) > 1:
            raise UsageError(f"catalog {str(place)!r} has {', '.join(map(ascii, same))}, one name to SQL; rename one.")
    public = data.get("public", {})
    if not isinstance(public, dict) or not all(isinstance(entry, dict) for entry in public.values()):
        raise UsageError(
            f'catalog {str(place)!r} has a public table that is none; write [public.NAME] with source = "FILE".'
        )
    roots = roots_of(tables)
    for name, root in roots.items():
        if root is None:
            problem = f"has a table {name!r} whose link leads to no table without one; name that table"
            raise UsageError(f"catalog {str(place)!r} {problem}.")
    return tables, public
