"""Style of all pictures: colours, sizes, and the writing of texts and numbers."""

import math
import unicodedata
from collections.abc import Iterable

__all__ = [
    "FONT",
    "GRID",
    "INK",
    "MARK",
    "MOST_MARKS",
    "MUTED",
    "NOISE",
    "NO_VALUE",
    "PAPER",
    "SEQUENCE",
    "TEXT_SIZE",
    "TITLE_SIZE",
    "VARIABLES",
    "clean",
    "colour_of",
    "cut",
    "number",
    "pixels",
    "sequence_colour",
    "text_width",
    "wrap",
]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
"""Fonts that a reader's system has; none is fetched."""

TEXT_SIZE = 11
"""Pixels, at the natural width."""

TITLE_SIZE = 13
"""Pixels, at the natural width."""

INK, MUTED, GRID = "#1b1b1b", "#5c5c5c", "#dcdcdc"
"""Texts and intervals, axes and lesser texts, grid lines: on white. A page may set them for a dark ground."""

VARIABLES = {INK: f"var(--emdp-ink, {INK})", MUTED: f"var(--emdp-muted, {MUTED})", GRID: f"var(--emdp-grid, {GRID})"}
"""Names of these three in the picture, so that a page can set them and the picture alone is right on white."""

MARK, NOISE = "#0072b2", "#808080"
"""Bars, points and lines, and those whose interval contains 0: at least 3:1 on white and on #121212 (WCAG 1.4.11)."""

PAPER = "#f7f7f7"
"""Ground of a map, in light and dark: a scale of lightness cannot be told apart on both white and black."""

SEQUENCE = ("#1f958b", "#23888e", "#2a788e", "#31688e", "#39568c", "#414487", "#472f7d", "#481a6c", "#440154")
"""The dark half of viridis, small to large: at least 3:1 on the paper of a map, and steady for colour-blind readers."""

MOST_MARKS = 2500
"""Most drawn marks of a picture."""

NO_VALUE = "no value (within its noise)"
"""Stands where an answer has no value."""

_HUGE = 1e200
"""Beyond it differences of two numbers may overflow; such an end is drawn as if it were infinite."""


def clean(text: object) -> str:
    """Return a text on one line, without characters that are not printable (control characters, marks of direction).

    >>> clean("a\\tb\\u202e  c")
    'a b c'
    """
    return " ".join("".join(character if character.isprintable() else " " for character in str(text)).split())


def text_width(text: str, size: float = TEXT_SIZE) -> float:
    """Return how wide a text may be, in pixels: a wide sans-serif font, since the reader's is not known.

    >>> text_width("iii") < text_width("mmm") < text_width("日本語")
    True
    """
    return size * math.fsum(map(_advance, text))


def cut(text: str, width: float, size: float = TEXT_SIZE) -> str:
    """Return a text that fits into a width, cut with an ellipsis where it must be.

    >>> cut("a long name of a group", 60)
    'a long n…'
    >>> cut("short", 60)
    'short'
    """
    if text_width(text, size) <= width:
        return text
    kept, room = "", width - text_width("…", size)
    for character in text:
        room -= text_width(character, size)
        if room < 0:
            break
        kept += character
    return kept.rstrip() + "…"


def wrap(text: str, width: float, size: float = TEXT_SIZE, *, most: int = 3) -> tuple[str, ...]:
    """Return the lines of a text, at most so many; the last one is cut.

    >>> wrap("one two three four", 60, most=2)
    ('one two', 'three four')
    """
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    return tuple(cut(line, width, size) for line in lines)


def colour_of(colour: str) -> str:
    """Return a colour as a picture names it, so that a page can set it.

    >>> colour_of(INK), colour_of("white")
    ('var(--emdp-ink, #1b1b1b)', 'white')
    """
    return VARIABLES.get(colour, colour)


def pixels(number: float) -> str:
    """Return a length or place to a hundredth of a pixel.

    >>> pixels(2), pixels(0.125), pixels(-0.001), pixels(10.0)
    ('2', '0.12', '0', '10')
    """
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def number(value: float | None) -> str:
    """Return a number as text for readers: four digits, or all before the point.

    >>> number(7.2), number(0.000123456), number(123456.7), number(None)
    ('7.2', '0.0001235', '123,457', 'no value (within its noise)')
    """
    if value is None:
        return NO_VALUE
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:.4g}"


def finite(value: object) -> float | None:
    """Return a number that can be drawn, or None where there is none.

    >>> finite(2), finite(None), finite(float("inf")), finite(float("nan"))
    (2.0, None, None, None)
    """
    if value is None:
        return None
    found = float(value)  # type: ignore[arg-type]
    return found if math.isfinite(found) and abs(found) < _HUGE else None


def sequence_colour(share: float) -> str:
    """Return the colour of a place along the sequence, 0 the smallest and 1 the largest.

    >>> sequence_colour(0), sequence_colour(1)
    ('#1f958b', '#440154')
    """
    place = min(max(share, 0.0), 1.0) * (len(SEQUENCE) - 1)
    first = min(int(place), len(SEQUENCE) - 2)
    pair = zip(_channels(SEQUENCE[first]), _channels(SEQUENCE[first + 1]), strict=True)
    return "#" + "".join(f"{round(left + (right - left) * (place - first)):02x}" for left, right in pair)


def _channels(colour: str) -> Iterable[int]:
    return (int(colour[place : place + 2], 16) for place in (1, 3, 5))


def _advance(character: str) -> float:
    # Shares of the font's size, a little above those of DejaVu Sans, which is among the widest.
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if unicodedata.combining(character):
        return 0.0
    if character in "iljtfrI.,:;'|!()[] /":
        return 0.4
    if character in "mwMW%@—…":
        return 0.98
    return 0.72 if character.isupper() else 0.63
