"""Entries with ``view = "SELECT .. FROM source WHERE .."``: a cleaning step over the files that ``source`` names."""

from collections.abc import Collection, Mapping
from typing import Any

from emdp.tables.base import Source
from emdp.tables.column_types import parsed_columns
from emdp.tables.source import DEFAULT_WAIT, open_source
from emdp.tables.views import source_kinds, view_source

__all__ = ["viewed", "without_view"]

OF_FILES = ("columns", "header", "wait")
"""Keys that are about the files, where a view stands between these and the table."""


def viewed(path: str, entry: Mapping[str, Any]) -> str | Source:
    """Return what an entry's rows are: those of a path, or of the view of it.

    Raises
    ------
    SqlError
        If the view is none.
    UsageError
        If the path names no file that a view can be of.
    """
    if "view" not in entry:
        return path
    # Loaded where it is needed.
    from emdp.sql.views import read_view

    source = open_source(path, wait=float(entry.get("wait", DEFAULT_WAIT)), header=entry.get("header"))
    types = parsed_columns(entry["columns"]) if "columns" in entry else source.schema()
    return view_source(source, read_view(entry["view"], source_kinds(types)), types)


def without_view(entry: Mapping[str, Any]) -> Collection[str]:
    """Return the keys of an entry that are about its rows."""
    return [key for key in entry if "view" not in entry or key not in OF_FILES]
