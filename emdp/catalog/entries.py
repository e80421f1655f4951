"""Entries of a catalog as they were written: what is left blank in them, and the paths of vectors."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["absolute_vectors", "find_blank"]

BLANK = re.compile(r"\s*FILL IN\b[\s:]*(.*)", re.DOTALL)
"""Blank that ``emdp init`` writes where the owner has to decide: the words, then what belongs there."""


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
