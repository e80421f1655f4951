"""Results as JSON that says every bit, in few words, and the differences of two of them in words.

Floats stand by ``repr``, which has every bit; long sequences by their first values and a digest.
"""

import dataclasses
import datetime
import difflib
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

__all__ = ["differences", "digest", "line_of", "numberless", "plain"]

LONGEST = 320
"""Characters of a sequence that is written in full."""

LAST_BITS = 2.0**-46
"""Largest relative difference of what is the same number but for rounding: far below a step of the noise's grid."""

SHOWN = 3
"""Members of a longer one that are."""

HASH = re.compile(r"\b[0-9a-f]{64}\b")
NUMBER = re.compile(r"[-+]?\b[0-9a-f]{16}\b|[-+]?\d+(\.\d+)?(e[-+]?\d+)?")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?")


def plain(value: Any) -> Any:
    """Return a result as JSON values.

    >>> plain({"b": (0.1, float("nan"))}), plain(Fraction(1, 3)), plain(pl.DataFrame({"x": [1]}))
    ({'b': [0.1, 'nan']}, '1/3', {'columns': 'x:Int64', 'rows': [[1]]})
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, pl.DataFrame):
        names = ", ".join(f"{name}:{kind}" for name, kind in value.schema.items())
        return {"columns": names, "rows": plain(value.rows())}
    if isinstance(value, Mapping):
        return {str(key): plain(own) for key, own in sorted(value.items(), key=lambda item: str(item[0]))}
    if isinstance(value, list | tuple):
        return _short([plain(own) for own in value])
    if isinstance(value, datetime.datetime | datetime.date | Enum | Fraction):
        return str(value)
    if dataclasses.is_dataclass(value):
        own = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **own}
    raise TypeError(f"a result must be made of numbers, texts, frames and dataclasses, not {type(value).__name__}")


def digest(value: Any) -> str:
    """Return a digest of a text, or of the JSON of a result."""
    text = value if isinstance(value, str) else json.dumps(value)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def without_moment(text: str) -> str:
    """Return a text without times and hashes, which differ in every run."""
    return TIME.sub("<time>", HASH.sub("<hash>", text))


def line_of(case: str, field: str, value: Any) -> str:
    """Return one line of a file of results."""
    return json.dumps([case, field, value], ensure_ascii=False)


def numberless(value: Any) -> Any:
    """Return a result with ``#`` in place of every number and digest, and without the lengths of its lists.

    >>> numberless({"a": [1, 2.5], "text": "within 0.25 of alpha 3e-05", "digest": "0123456789abcdef"})
    {'a': ['#'], 'text': 'within # of alpha #', 'digest': '#'}
    """
    if isinstance(value, Mapping):
        return {key: numberless(own) for key, own in value.items()}
    if isinstance(value, list):
        own = [numberless(one) for one in value]
        return [one for place, one in enumerate(own) if one not in own[:place]]
    if isinstance(value, str):
        return NUMBER.sub("#", value)
    return value if value is None or isinstance(value, bool) else "#"


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Say where two results differ, one line a place.

    >>> list(differences({"a": [1, 2.0]}, {"a": [1, 3.0], "b": 0}))
    ['a[1]: before 2.0, after 3.0', 'b: before nothing, after 0']

    Numbers that differ in their last bits alone are the same: processors with other instructions round otherwise.

    >>> list(differences([0.1, 1.0], [0.10000000000000002, 1.0000000001]))
    ['[1]: before 1.0, after 1.0000000001']
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            inner = f"{path}.{key}" if path else key
            if key not in before or key not in after:
                sides = [repr(side[key]) if key in side else "nothing" for side in (before, after)]
                yield f"{inner}: before {sides[0]}, after {sides[1]}"
            else:
                yield from differences(before[key], after[key], inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif isinstance(before, str) and isinstance(after, str) and "\n" in before + after and before != after:
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=0, lineterm="")
        yield f"{path}:\n    " + "\n    ".join(lines)
    elif isinstance(before, float) and isinstance(after, float) and math.isclose(before, after, rel_tol=LAST_BITS):
        return
    elif json.dumps(before) != json.dumps(after):
        yield f"{path}: before {before!r}, after {after!r}"


def _short(values: Sequence[Any]) -> Any:
    text = json.dumps(values)
    if len(text) <= LONGEST:
        return list(values)
    return {"count": len(values), "first": list(values[:SHOWN]), "digest": digest(text)}
