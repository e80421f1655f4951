"""Streams of a definition, ``[[stream]]``: figures of every period at one price, checked key by key."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.base.periods import period_names

__all__ = ["StreamEntry", "read_stream"]

KEYS = ("name", "title", "query", "periods", "unit", "plan", "show", "active", "text")
"""Keys of a stream."""

FIGURES = ("day", "last 7", "to date", "change")
"""Names of figures."""

Wrong = Callable[..., None]
"""Notes a problem, given its text and the path of the key."""


@dataclass(frozen=True)
class StreamEntry:
    """A stream of a report.

    Parameters
    ----------
    title, text : str
        Its heading, and what stands below it.
    query : str
        One statement with its own level and delta, which are those of the whole stream.
    periods : tuple of str
        Names, in order.
    unit : {"period", "user", "history"}
        For which histories the level holds.
    plan : {"days", "totals", "both"}
        What the stream is good for.
    active : int or None
        Most periods in which one user counts.
    """

    title: str
    query: str
    periods: tuple[str, ...]
    unit: Literal["period", "user", "history"]
    plan: Literal["days", "totals", "both"] = "days"
    show: tuple[str, ...] = ("day",)
    name: str = ""
    active: int | None = None
    text: str = ""
    line: int = 0


def read_stream(data: Mapping[str, Any], number: int, line: int, wrong: Wrong) -> StreamEntry | None:
    """Return a stream of a definition, or None where something is wrong with it, which is noted.

    Parameters
    ----------
    data : mapping
        What the file says under ``[[stream]]``.
    number : int
        Which one, from 0.
    wrong : callable
        Notes a problem.
    """
    place = ("stream", number)
    found: list[str] = []

    def note(text: str, key: str) -> None:
        found.append(key)
        wrong(text, *place, key)

    for key, value in data.items():
        if key not in KEYS:
            note(f"the stream has an unknown key {key!r}; use {', '.join(sorted(KEYS))}", key)
        elif key == "active":
            if type(value) is not int or value < 1:
                note("active is no number of periods; write a whole number of at least 1", key)
        elif key not in ("periods", "show") and (not isinstance(value, str) or not value.strip() or "\0" in value):
            note(f"{key} is not a text in quotes; correct it", key)
        elif key not in ("periods", "show", "query", "text") and not value.isprintable():
            note(f"{key} has a control character; write it in one line of plain text", key)
    for key, example in (("title", '"TITLE"'), ("query", '"SELECT ..."'), ("periods", '"2026-W01..2026-W52"')):
        if key not in data:
            note(f"the stream has no {key}; add {key} = {example}", key)
    if "unit" not in data or data["unit"] not in ("period", "user", "history"):
        note('unit must be written out, since it says what is hidden; add unit = "period", "user" or "history"', "unit")
    if data.get("plan", "days") not in ("days", "totals", "both"):
        note("plan is none of days, totals, both; choose one of them", "plan")
    show = data.get("show", ["day"])
    if not isinstance(show, list) or not show or any(name not in FIGURES for name in show):
        note(f"show is no list of some of {', '.join(FIGURES)}; correct it", "show")
    names: Sequence[str] = ()
    if "periods" in data:
        try:
            names = period_names(data["periods"])
        except UsageError as error:
            note(error.sentence, "periods")
    if found:
        return None
    texts = {key: data[key] for key in ("title", "query", "unit", "plan", "name", "active", "text") if key in data}
    return StreamEntry(periods=tuple(names), show=tuple(cast("list[str]", show)), line=line, **texts)
