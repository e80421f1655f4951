"""Lines of 80 characters for a terminal, and numbers in them."""

import datetime
import math
import textwrap
import unicodedata

from emdp.answers.description import on_one_line

__all__ = ["WIDTH", "cut", "number", "percent", "wrapped"]

WIDTH = 80
"""Places of a terminal that a line takes at most."""


def wrapped(text: str, *, indent: int = 0) -> list[str]:
    """Return a text as lines.

    >>> wrapped("one two", indent=2)
    ['  one two']
    """
    space = " " * indent
    return textwrap.wrap(on_one_line(text), WIDTH, initial_indent=space, subsequent_indent=space)


def cut(text: str, most: int) -> str:
    """Return a text on one line, cut to so many places of a terminal.

    >>> cut("visits of a year", 10), cut("東京都千代田区", 10)
    ('visits ...', '東京都...')
    """
    shown = on_one_line(text)
    if places(shown) <= most:
        return shown
    kept = ""
    for sign in shown:
        if places(kept + sign) > most - 3:
            break
        kept += sign
    return kept + "..."


def places(text: str) -> int:
    """Return how many places of a terminal a text takes."""
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return len(text) + wide - sum(unicodedata.combining(sign) > 0 for sign in text)


def percent(share: float) -> str:
    """Return a share as a percentage with three digits.

    >>> percent(0.0254), percent(3.0)
    ('2.54 %', '300 %')
    """
    return f"{100.0 * share:.3g} %"


def number(value: float | datetime.date | None) -> str:
    """Return a number with seven digits, a whole one with all of them, or a day.

    >>> number(40.72082519), number(1234567.0), number(None), number(datetime.date(2024, 3, 1))
    ('40.72083', '1,234,567', 'NULL', '2024-03-01')
    """
    if value is None:
        return "NULL"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if math.isfinite(value) and value == round(value) and abs(value) < 1e15:
        return f"{round(value):,}"
    return f"{value:.7g}"
