"""Answers and previews on standard output, or in a file."""

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emdp.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from emdp.answers import Answer

__all__ = ["Target", "choose_target", "frame_text", "write_answers"]

STANDARD_OUTPUT = "-"
"""What stands for standard output where a file is named."""

WIDEST_CELL = 60
"""Characters of a cell that are shown before it is cut."""

Target = tuple[str, str]
"""A format (csv, json or parquet) and a path."""


def choose_target(csv: str | None, json: str | None, parquet: str | None) -> Target | None:
    """Return the one output that was asked for, None for a table on standard output.

    Raises
    ------
    UsageError
        If several are given, or a file could not be written: found before anything is spent.
    """
    given = [(kind, path) for kind, path in (("csv", csv), ("json", json), ("parquet", parquet)) if path is not None]
    if len(given) > 1:
        raise UsageError("only one of --csv, --json and --parquet may be given; pass one.")
    if not given:
        return None
    kind, path = given[0]
    if kind == "parquet" and path == STANDARD_OUTPUT:
        raise UsageError("--parquet needs a file, since Parquet is no text; pass its path.")
    if path != STANDARD_OUTPUT:
        folder = Path(path).resolve().parent
        if not folder.is_dir() or not os.access(folder, os.W_OK) or Path(path).is_dir():
            raise UsageError(f"--{kind} {path!r} cannot be written; pass a file in a folder that exists.")
    return kind, path


def write_answers(answers: "Sequence[Answer]", target: Target | None) -> None:
    """Write answers to where the caller wants them: one table, file or list entry a statement."""
    if target is None:
        for number, answer in enumerate(answers):
            print(("\n" if number else "") + frame_text(answer.frame))
        return
    kind, path = target
    if kind == "json":
        entries = [_as_json(answer) for answer in answers]
        text = json.dumps(entries[0] if len(entries) == 1 else entries, indent=2, ensure_ascii=False)
        _write_text(path, text + "\n")
        return
    for number, answer in enumerate(answers, start=1):
        own = path if len(answers) == 1 else _numbered(path, number)
        if kind == "parquet":
            answer.frame.write_parquet(own)
        else:
            _write_text(own, answer.frame.write_csv())


def frame_text(frame: "pl.DataFrame") -> str:
    """Return a frame as aligned columns of text: numbers with six digits, to the right.

    >>> import polars as pl
    >>> print(frame_text(pl.DataFrame({"kind": ["cafe", None], "km": [1.25, float("inf")]})))
    kind    km
    cafe  1.25
    NULL   inf
    """
    columns = []
    for series in frame.get_columns():
        cells = [series.name, *map(_shown, series.to_list())]
        width = max(map(len, cells))
        is_number = series.dtype.is_numeric()
        columns.append([cell.rjust(width) if is_number else cell.ljust(width) for cell in cells])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = "".join(character if character.isprintable() else " " for character in str(value))
    return text if len(text) <= WIDEST_CELL else text[: WIDEST_CELL - 3] + "..."


def _as_json(answer: "Answer") -> dict[str, Any]:
    receipt = answer.receipt
    return {
        "query": answer.query,
        "rows": [_finite(row) for row in answer.frame.to_dicts()],
        "guarantee": str(answer.guarantee),
        "spent": {answer.spent.level_name: answer.spent.level, "delta": answer.spent.delta},
        "is_private": answer.is_private,
        "mechanism": answer.choice,
        "caveats": list(answer.caveats),
        "receipt": None if receipt is None else {"sequence": receipt.sequence, "hash": receipt.hash},
    }


def _finite(row: Mapping[str, Any]) -> dict[str, Any]:
    # JSON has no infinity: an end that is null is unbounded, which the caveats say.
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }


def _numbered(path: str, number: int) -> str:
    if path == STANDARD_OUTPUT:
        return path
    place = Path(path)
    return str(place.with_name(f"{place.stem}-{number}{place.suffix}"))


def _write_text(path: str, text: str) -> None:
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        Path(path).write_text(text, encoding="utf-8")
