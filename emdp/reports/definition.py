"""Report definitions: what a TOML file says, checked key by key, each with its line."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import date, time
from pathlib import Path
from typing import Any, Literal

from emdp.base.checks import check_period, check_positive
from emdp.base.classes import dataclass
from emdp.base.errors import ReportError, UsageError
from emdp.base.files import LARGEST_QUERY, read_bounded, read_text
from emdp.privacy import EmdDP, Guarantee, UserDP
from emdp.reports.lines import KeyPath, Place, line_of, locate
from emdp.reports.problems import Problem
from emdp.reports.stream_entries import StreamEntry, read_stream

__all__ = ["PICTURES", "Entry", "Problem", "Report", "load_report"]

PICTURES = ("auto", "bar", "line", "map", "distribution", "none")
"""Kinds of pictures."""

LONGEST_RETENTION = 36_500
"""Days: a century, and what a date can be reckoned back by."""

_TEXT, _TABLE = "a text in quotes", "a table"
_WHOLE, _NUMBER = "a whole number", "a number"
_KINDS: Mapping[str, tuple[type, ...]] = {_TEXT: (str,), _TABLE: (dict,), _WHOLE: (int,), _NUMBER: (int, float)}
"""The types that TOML gives each kind of value."""

REPORT_KEYS: Mapping[str, str] = {
    "title": _TEXT,
    "catalog": _TEXT,
    "table": _TEXT,
    "period": _TEXT,
    "budget": _TABLE,
    "retention": _WHOLE,
    "reserve": _TEXT,
    "text": _TEXT,
}
"""Keys of a report besides its entries."""

BUDGET_KEYS: Mapping[str, str] = {"alpha": _NUMBER, "epsilon": _NUMBER, "delta": _NUMBER, "neighbours": _TEXT}
"""Keys of a report's budget."""

ENTRY_KEYS: Mapping[str, str] = {
    "title": _TEXT,
    "query": _TEXT,
    "file": _TEXT,
    "picture": _TEXT,
    "text": _TEXT,
    "weight": _NUMBER,
    "target_error": _NUMBER,
    "tier": _WHOLE,
}
"""Keys of an entry."""

LISTS = ("entry", "stream")
"""Keys of a report that are lists of tables."""

_ONE_LINE = ("title", "catalog", "table", "period", "reserve", "file", "picture")
"""Texts that are names."""

_TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")
"""Place in an error text of ``tomllib``."""


@dataclass(frozen=True)
class Entry:
    """One entry of a report.

    Parameters
    ----------
    title : str
        Its heading.
    query : str
        One statement, as written; without ``alpha`` (``epsilon``) it gets its share of the report's budget.
    picture : {"auto", "bar", "line", "map", "distribution", "none"}
        How the answer is drawn.
    text : str
        What stands below the heading.
    weight : float or None
        Share of what the entries with stated levels and target errors leave of the budget, against other weights.
    target_error : float or None
        Largest expected error that any column shall have: the level follows from it.
    tier : int or None
        Whose answer is shown, of a statement that is asked with ``TIERS``; all of it is one charge.
    line : int
        Where the entry begins in the file.
    lines : mapping of str to int
        Where each of its keys stands; for ``query`` the line of the text's first character.
    file : str
        The file that the query was read from, as written; empty where it stands in the definition.
    query_lines : tuple of int
        Where each line of the query stands in the definition; empty where it was read from a file.
    """

    title: str
    query: str
    picture: str = "auto"
    text: str = ""
    weight: float | None = None
    target_error: float | None = None
    tier: int | None = None
    line: int = 0
    lines: Mapping[str, int] = field(default_factory=dict)
    file: str = ""
    query_lines: tuple[int, ...] = ()

    def line_of(self, key: str) -> int:
        """Return where a key stands, or the entry where it has none."""
        return self.lines.get(key, self.line)


@dataclass(frozen=True)
class Report:
    """A report's definition."""

    path: Path
    title: str
    catalog: Path
    entries: tuple[Entry, ...]  # At least one, or a stream
    table: str | None = None  # The table, where the catalog has several
    period: str | None = None  # Which part of the table it is about; fills `{period}` in the catalog's paths
    budget: Guarantee | None = None
    retention: int | None = None  # Days for which stored answers are kept; None: for ever
    reserve: str | None = None  # Name of the set-aside budget that pays
    text: str = ""  # What stands below the title
    lines: Mapping[str, int] = field(default_factory=dict)  # Where each of its own keys stands
    definition: str = ""
    streams: tuple[StreamEntry, ...] = ()

    def line_of(self, key: str) -> int:
        """Return where a key stands, or the first line where it does not."""
        return self.lines.get(key, 1)

    def problem(self, line: int, text: str) -> Problem:
        """Return a problem with this definition."""
        return Problem(line, text, str(self.path))


def load_report(
    path: str | os.PathLike[str], *, catalog: str | os.PathLike[str] | None = None, period: str | None = None
) -> Report:
    """Read and check a definition. Its queries are not looked into; see :func:`emdp.reports.checking.check_report`.

    Parameters
    ----------
    path : path
        The TOML file. Paths in it are relative to its own folder.
    catalog, period : path or str, optional
        Take the place of what the file says.

    Raises
    ------
    UsageError
        If the file cannot be read, or an argument is malformed.
    ReportError
        If anything in the file is wrong: every problem at once, by line.
    """
    place = Path(path)
    if period is not None:
        check_period(period)
    try:
        text = read_bounded(place).decode("utf-8").replace("\r\n", "\n")
    except FileNotFoundError:
        raise UsageError(f"report {str(place)!r} does not exist; pass the path of a definition.") from None
    except UnicodeDecodeError:
        raise UsageError(f"report {str(place)!r} is no UTF-8 text; pass the path of a definition.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no path"
        raise UsageError(f"report {str(place)!r} cannot be read ({reason}); pass the path of a definition.") from None
    try:
        data, places = tomllib.loads(text), locate(text)
    except tomllib.TOMLDecodeError as error:
        raise ReportError([_toml_problem(place, text, error)]) from None
    except RecursionError:
        raise ReportError([Problem(1, "the text is nested too deep; write fewer brackets.", str(place))]) from None
    except ValueError:
        # Beside its own errors tomllib raises those of integers of thousands of digits.
        raise ReportError([Problem(1, "an integer has thousands of digits; shorten it.", str(place))]) from None
    return replace(_Reader(place, data, places).report(catalog, period), definition=text)


def _toml_problem(path: Path, text: str, error: tomllib.TOMLDecodeError) -> Problem:
    said = str(error)
    found = _TOML_PLACE.search(said)
    line = int(found[1]) if found and found[1] else max(1, len(text.rstrip("\n").split("\n")))
    reason = said[: found.start()] if found else said
    return Problem(line, f"this is no TOML ({reason[:1].lower()}{reason[1:]}); correct it.", str(path))


class _Reader:
    """Goes through what a file says and notes all that is wrong."""

    def __init__(self, path: Path, data: Mapping[str, Any], places: Mapping[KeyPath, Place]) -> None:
        self.path, self.data, self.places = path, data, places
        self.problems: list[Problem] = []

    def wrong(self, text: str, *path: str | int) -> None:
        self.problems.append(Problem(line_of(self.places, *path), f"{text}.", str(self.path)))

    def report(self, catalog: str | os.PathLike[str] | None, period: str | None) -> Report:
        own_keys = {key: own for key, own in self.data.items() if key not in LISTS}
        values = self.section(own_keys, REPORT_KEYS, "the report")
        if "title" not in self.data:
            self.wrong('the report has no title; add title = "TITLE"')
        if "catalog" not in self.data and catalog is None:
            self.wrong('the report names no catalog; add catalog = "emdp.toml"')
        if "period" in values:
            values["period"] = self.period(values["period"])
        retention = values.get("retention")
        if retention is not None and not 1 <= retention <= LONGEST_RETENTION:
            self.wrong(
                f"retention is a number of days from 1 to {LONGEST_RETENTION}, not {retention}; correct it", "retention"
            )
        budget = self.budget(values.pop("budget", None))
        entries = self.entries()
        lines = {key: line_of(self.places, key) for key in self.data}
        named = catalog if catalog is not None else values.get("catalog")
        own = Path(catalog) if catalog is not None else self.path.parent / str(named)
        chosen = {"title": "", **values, "catalog": own}
        chosen["period"] = period if period is not None else values.get("period")
        chosen["streams"] = self.streams()
        report = Report(path=self.path, entries=entries, budget=budget, lines=lines, **chosen)
        if self.problems:
            by_line: list[Problem] = sorted(self.problems, key=lambda problem: problem.line)
            # Without its budget or catalog nothing more can be said of the entries.
            asked = tuple(entry for entry in entries if entry.query.strip())
            is_usable = named is not None and asked and (budget is None) == ("budget" not in self.data)
            raise ReportError(by_line, sound=replace(report, entries=asked) if is_usable else None)
        return report

    def section(
        self, data: Mapping[str, Any], allowed: Mapping[str, str], name: str, *path: str | int
    ) -> dict[str, Any]:
        """Return the values of a section that are of their type; note the others."""
        found: dict[str, Any] = {}
        for key, value in data.items():
            if key not in allowed:
                self.wrong(f"{name} has an unknown key {key!r}; use {', '.join(sorted(allowed))}", *path, key)
            elif isinstance(value, bool) or not isinstance(value, _KINDS[allowed[key]]):
                said = "put it in quotes" if isinstance(value, date | time) else "correct it"
                self.wrong(f"{key} is not {allowed[key]}; {said}", *path, key)
            elif isinstance(value, str) and not value.strip():
                self.wrong(f"{key} is empty; write it, or leave the key out", *path, key)
            elif isinstance(value, str) and ("\0" in value or (key in _ONE_LINE and not value.isprintable())):
                self.wrong(f"{key} has a control character; write it in one line of plain text", *path, key)
            else:
                found[key] = value
        return found

    def period(self, value: str) -> str | None:
        try:
            return check_period(value)
        except UsageError as error:
            self.wrong(error.sentence, "period")
            return None

    def budget(self, data: Mapping[str, Any] | None) -> Guarantee | None:
        if data is None:
            return None
        before = len(self.problems)
        values = self.section(data, BUDGET_KEYS, "the budget", "budget")
        named = [key for key in ("alpha", "epsilon") if key in data]
        if len(named) != 1:
            problem = "has both alpha and epsilon; keep" if named else "has neither alpha nor epsilon; write"
            self.wrong(f"the budget {problem} the one of the kind you mean", "budget")
        if "neighbours" in data and named == ["alpha"]:
            self.wrong("neighbours of the budget belong to an epsilon; remove them", "budget", "neighbours")
        if len(self.problems) > before:
            return None
        level, delta = values[named[0]], values.get("delta", 0.0)
        if self.positive(named[0], level, ("budget",)) is None:
            return None
        try:
            neighbours = values.get("neighbours", "replace")
            return EmdDP(level, delta) if named[0] == "alpha" else UserDP(level, delta, neighbours=neighbours)
        except UsageError as error:
            key = "delta" if error.argument == "delta" else named[0]
            self.wrong(error.sentence, "budget", key)
            return None

    def entries(self) -> tuple[Entry, ...]:
        data = self.data.get("entry", [])
        if not isinstance(data, list) or not all(isinstance(own, dict) for own in data):
            self.wrong("entry is not a list of tables; begin each entry with [[entry]]", "entry")
            return ()
        if not data and not self.data.get("stream"):
            self.wrong("the report has no entry; add [[entry]] with a title and a query", "entry")
        titles: dict[str, int] = {}
        found = []
        for number, own in enumerate(data):
            entry = self.entry(own, number)
            if entry is None:
                continue
            line = line_of(self.places, "entry", number, "title")
            if entry.title in titles:
                self.wrong(
                    f"the title {entry.title!r} is that of the entry in line {titles[entry.title]}; choose another",
                    "entry",
                    number,
                    "title",
                )
            titles.setdefault(entry.title, line)
            found.append(entry)
        return tuple(found)

    def streams(self) -> tuple[StreamEntry, ...]:
        data = self.data.get("stream", [])
        if not isinstance(data, list) or not all(isinstance(own, dict) for own in data):
            self.wrong("stream is not a list of tables; begin each stream with [[stream]]", "stream")
            return ()
        lines = [line_of(self.places, "stream", number) for number in range(len(data))]
        found = [read_stream(own, number, lines[number], self.wrong) for number, own in enumerate(data)]
        return tuple(stream for stream in found if stream is not None)

    def entry(self, data: Mapping[str, Any], number: int) -> Entry | None:
        """Return an entry as far as it goes, or None where it has no title of its own."""
        place: KeyPath = ("entry", number)
        values = self.section(data, ENTRY_KEYS, "the entry", *place)
        if "title" not in data:
            self.wrong('the entry has no title; add title = "TITLE"', *place)
        if values.get("picture", "auto") not in PICTURES:
            self.wrong(f"picture is none of {', '.join(PICTURES)}; choose one of them", *place, "picture")
        for key in ("weight", "target_error"):
            if key in values:
                values[key] = self.positive(key, values[key], place)
        if "weight" in data and "target_error" in data:
            self.wrong(
                "the level of an entry follows from its weight or its target_error; keep one", *place, "target_error"
            )
        self.query(data, values, place)
        if "title" not in values:
            return None
        lines = {key: line_of(self.places, *place, key) for key in data}
        query_lines = self.places[*place, "query"].lines if (*place, "query") in self.places else ()
        if query_lines:
            lines["query"] = query_lines[0]
        values.setdefault("query", "")
        return Entry(line=line_of(self.places, *place), lines=lines, query_lines=query_lines, **values)

    def positive(self, key: str, value: float, place: KeyPath) -> float | None:
        try:
            return check_positive(key, value)
        except UsageError as error:
            self.wrong(error.sentence, *place, key)
            return None

    def query(self, data: Mapping[str, Any], values: dict[str, Any], place: KeyPath) -> None:
        """Read the query's file if it names one; note where there is no query, or two."""
        named: list[Literal["query", "file"]] = [key for key in ("query", "file") if key in data]
        if len(named) == 2:
            self.wrong("the entry has both a query and a file of one; keep one", *place, "file")
        elif not named:
            self.wrong('the entry has no query; add query = "SELECT ..." or file = "FILE.sql"', *place)
        elif "file" in values:
            try:
                values["query"] = read_text(self.path.parent / values["file"], LARGEST_QUERY, encoding="utf-8-sig")
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
                self.wrong(f"file {values['file']!r} cannot be read ({reason}); name a file of SQL", *place, "file")
            else:
                if not values["query"].strip():
                    self.wrong(f"file {values['file']!r} is empty; write the query into it", *place, "file")
