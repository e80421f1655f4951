"""Answers and previews on standard output, or in a file."""

import io
import json
import math
import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emdp.base.errors import UsageError
from emdp.cli.tables import answer_text, long_answer_text, table_width
from emdp.ledger import is_of_a_ledger

if TYPE_CHECKING:
    from emdp.answers import Answer
    from emdp.answers.stored import StoredAnswer
    from emdp.pictures import Picture

__all__ = [
    "Target",
    "check_folder",
    "check_place",
    "check_target",
    "choose_target",
    "is_kept",
    "write_answers",
    "write_file",
    "write_pictures",
]

STANDARD_OUTPUT = "-"
"""Name of standard output in place of a file."""

Target = tuple[str, str]
"""Format of an output (csv, csv-raw, json, parquet, or a plot), named as its option, and a path."""


def choose_target(csv: str | None, csv_raw: str | None, json: str | None, parquet: str | None) -> Target | None:
    """Return the one output that was asked for, None for a table on standard output."""
    options = {"csv": csv, "csv-raw": csv_raw, "json": json, "parquet": parquet}
    given = [(kind, path) for kind, path in options.items() if path is not None]
    if len(given) > 1:
        raise UsageError("only one of --csv, --csv-raw, --json and --parquet may be given; pass one.")
    if not given:
        return None
    if given[0] == ("parquet", STANDARD_OUTPUT):
        raise UsageError("--parquet needs a file, since Parquet is no text; pass its path.")
    return given[0]


def check_place(name: str, path: str | os.PathLike[str]) -> Path:
    """Return a name under which something can stand, whether or not anything does, before it is looked at further.

    Raises
    ------
    UsageError
        If the system takes it for no name at all: too long, through links that lead in a circle. If it is that of a
        ledger, or of what lies beside one.
    """
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{name} {str(path)!r} cannot be written ({reason}); pass another name.") from None
    if is_of_a_ledger(path):
        raise UsageError(f"{name} {str(path)!r} is a file of a ledger; pass another name.")
    return Path(path)


def check_folder(name: str, path: str, files: Sequence[str], kept: Iterable[str]) -> None:
    """Check that some files can be written into a folder, made if absent, over nothing that is kept.

    Parameters
    ----------
    name, path : str
        The option, for messages, and its value.
    files : sequence of str
        Names of the files.
    kept : iterable of str
        As of :func:`check_target`.

    Raises
    ------
    UsageError
        If the folder cannot be made or written, or has what is kept.
    """
    folder, sources = check_place(name, path), tuple(kept)
    parent = folder if folder.exists() else folder.resolve().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise UsageError(f"{name} {str(folder)!r} cannot be written; pass a folder that can be made.")
    if is_kept([check_place(name, folder / own) for own in files], sources):
        raise UsageError(f"{name} {str(folder)!r} has what the catalog names; pass a folder of its own.")


def check_target(target: Target | None, answers: int, kept: Iterable[str]) -> list[str]:
    """Return the files of some answers, checked that they can be written: before anything is spent.

    Parameters
    ----------
    kept : iterable of str
        Files, folders, patterns and databases that the catalog names, and what else is read or written: an answer
        replaces or joins none of them.
    """
    if target is None or target[1] == STANDARD_OUTPUT:
        return []
    sources, files = tuple(kept), _files(target, answers)
    for path in files:
        place = check_place(f"--{target[0]}", path)
        folder = place.resolve().parent
        is_free = folder.is_dir() and os.access(folder, os.W_OK) and not place.is_dir()
        if not is_free or (place.exists() and not os.access(place, os.W_OK)):
            raise UsageError(f"--{target[0]} {path!r} cannot be written; pass a file in a folder that exists.")
        if is_kept(path, sources):
            raise UsageError(
                f"--{target[0]} {path!r} belongs to what the catalog names, or is the query; name another."
            )
    return files


def is_kept(paths: str | os.PathLike[str] | Iterable[Path], kept: Iterable[str]) -> bool:
    """Say whether a file, or one of several, is, or would join, what the catalog names; see :func:`check_target`."""
    named: Iterable[str | os.PathLike[str]] = [paths] if isinstance(paths, str | os.PathLike) else paths
    sources = [os.path.realpath(source.partition("::")[0]) for source in kept]
    return any(
        _is_same(real, source) or fnmatchcase(real, source) or real.startswith(f"{source.rstrip(os.sep)}{os.sep}")
        for real in map(os.path.realpath, named)
        for source in sources
    )


def _is_same(path: str, kept: str) -> bool:
    """Say whether two real paths name one file: two names of it, or one name where capitals may not count."""
    try:
        return os.path.samestat(os.stat(path), os.stat(kept))
    except OSError:
        # Of two names that exist the file system has said it; what does not exist yet may be made by either.
        folded = (unicodedata.normalize("NFC", text).casefold() for text in (path, kept))
        return path == kept or (not os.path.lexists(kept) and len(set(folded)) == 1)


def write_answers(answers: "Sequence[Answer | StoredAnswer]", target: Target | None) -> None:
    """Write answers to where the caller wants them: one table, file or list entry a statement."""
    from emdp.base.spreadsheets import csv_text

    if target is None:
        # A pipe or a file gets every row: whatever reads it may count on them.
        as_text = long_answer_text if sys.stdout.isatty() else answer_text
        for number, answer in enumerate(answers):
            print(("\n" if number else "") + as_text(answer.frame, width=table_width()))
        return
    kind, path = target
    if kind == "json":
        entries = [_as_json(answer) for answer in answers]
        text = json.dumps(entries[0] if len(entries) == 1 else entries, indent=2, ensure_ascii=False, default=_plain)
        _write_text(path, text + "\n")
        return
    for own, answer in zip(_files(target, len(answers)), answers, strict=True):
        if kind == "parquet":
            packed = io.BytesIO()
            answer.frame.write_parquet(packed)
            write_file(own, packed.getvalue())
            _say_written(own)
        else:
            _write_text(own, csv_text(answer.frame, raw=kind == "csv-raw"))


def write_pictures(pictures: "Sequence[Picture]", path: str) -> None:
    """Write the pictures of answers as SVG files, numbered where there are several."""
    from emdp.pictures import picture_file

    for own, picture in zip(_files(("plot", path), len(pictures)), pictures, strict=True):
        _write_text(own, picture_file(picture))


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, so that its name holds the old content or the new one; or a pipe or device that has the name."""
    from emdp.reports.files import write_whole

    place = Path(path)
    if place.exists() and not place.is_file():
        place.write_bytes(content)
    else:
        write_whole(Path(os.path.realpath(place)), content)


def _as_json(answer: "Answer | StoredAnswer") -> dict[str, Any]:
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


def _plain(value: Any) -> str:
    """Return a key that is no number, text or truth value, such as a date, as text."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _files(target: Target, answers: int) -> list[str]:
    """Return the file of each answer: numbered where there are several, but for JSON, which holds all of them."""
    kind, path = target
    place = Path(path)
    if path == STANDARD_OUTPUT or answers == 1 or kind == "json":
        return [path] * (1 if kind == "json" else answers)
    return [str(place.with_name(f"{place.stem}-{number}{place.suffix}")) for number in range(1, answers + 1)]


def _write_text(path: str, text: str) -> None:
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        write_file(path, text.encode("utf-8"))
        _say_written(path)


def _say_written(path: str) -> None:
    # Beside the answer, which may be on its way into a pipe.
    print(f"wrote {path}", file=sys.stderr)
