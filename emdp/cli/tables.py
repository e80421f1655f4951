"""Tables as text, of no more columns than a terminal or a page has."""

import shutil
import sys
import textwrap
import unicodedata
from typing import TYPE_CHECKING, Any

from emdp.base.classes import dataclass
from emdp.base.digits import rounded_texts

if TYPE_CHECKING:
    import polars as pl

__all__ = ["answer_text", "frame_text", "long_answer_text", "preview_text", "table_width"]

WIDEST_CELL, NARROWEST_CELL = 60, 20
"""Characters of a cell that are shown before it is cut; down to the second number where a terminal is narrow."""

MOST_ROWS, FIRST_ROWS, LARGEST_ROWS = 40, 20, 10
"""Rows that a terminal shows of an answer; of a longer one the first, and the largest."""

PIPED = 80
"""Columns of a page, a mail or a log, into which a table goes that is no terminal's."""


def table_width() -> int:
    """Return how many columns a table may take: the terminal's, or ``PIPED`` where standard output is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED


def frame_text(frame: "pl.DataFrame", *, width: int | None = None, widest: int = WIDEST_CELL) -> str:
    """Return a frame as aligned columns of text: numbers with six digits, to the right.

    Parameters
    ----------
    width : int, optional
        Columns that it may take: long texts are cut where that helps, else columns go on below, after the first one.
    widest : int
        Characters of a cell that are shown before it is cut.

    >>> import polars as pl
    >>> print(frame_text(pl.DataFrame({"kind": ["cafe", None], "km": [1.25, float("inf")]})))
    kind    km
    cafe  1.25
    NULL   inf
    """
    return _fitted([[column] for column in _columns(frame)], 1, width, widest)


def answer_text(frame: "pl.DataFrame", *, width: int | None = None) -> str:
    """Return an answer as text: each value and its interval rounded to what the noise leaves, the ends outward.

    Parameters
    ----------
    frame : polars.DataFrame
        Rows of an answer: keys, then values, each with the ends of its interval beside it.
    width : int, optional
        As of :func:`frame_text`; what goes on below begins with the keys again, and no value leaves its interval.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"kind": ["cafe"], "km": [1.2345], "km_low": [1.1], "km_high": [1.37]})
    >>> print(answer_text(frame))
    kind    km  km_low  km_high
    cafe  1.23    1.10     1.37
    """
    columns = _columns(frame)
    places = {column.head: place for place, column in enumerate(columns)}
    ends = {name: [places.get(f"{name}{end}", -1) for end in ("_low", "_high")] for name in places}
    values = {name: [places[name], *own] for name, own in ends.items() if min(own) >= 0}
    inside = {place for own in values.values() for place in own[1:]}
    groups = []
    for name, place in places.items():
        own = values.get(name, [place])
        if place not in inside:
            groups.append([columns[each] for each in own])
        if len(own) > 1:
            _round(*(columns[each] for each in own))
    keys = next((number for number, group in enumerate(groups) if len(group) > 1), len(groups))
    return _fitted(groups, keys, width, WIDEST_CELL)


def long_answer_text(frame: "pl.DataFrame", *, width: int | None = None) -> str:
    """Return an answer as text for a terminal: of many rows the first, the largest, and where all of them are.

    Parameters
    ----------
    frame, width
        As of :func:`answer_text`. The largest rows are those of the first value that has an interval.

    >>> import polars as pl
    >>> values = [float(number) for number in range(600)]
    >>> frame = pl.DataFrame({"cell": range(600), "n": values, "n_low": values, "n_high": values})
    >>> print(long_answer_text(frame).splitlines()[-1])
    570 more rows are not shown: --csv FILE writes all 600
    """
    if frame.height <= MOST_ROWS:
        return answer_text(frame, width=width)
    shown = list(range(FIRST_ROWS))
    parts = [answer_text(frame[shown], width=width)]
    value = next((name for name in frame.columns if {f"{name}_low", f"{name}_high"} <= set(frame.columns)), None)
    if value is not None and frame.schema[value].is_numeric():
        order = frame[value].fill_nan(None).arg_sort(descending=True, nulls_last=True)
        largest = order.head(LARGEST_ROWS).to_list()
        parts.append(f"largest {value}, of all {frame.height:,} rows; of noisy values the largest are partly noise:")
        parts.append(answer_text(frame[largest], width=width))
        shown += largest
    left = frame.height - len(set(shown))
    parts.append(f"{left:,} more rows are not shown: --csv FILE writes all {frame.height:,}")
    return "\n\n".join(parts)


def preview_text(frame: "pl.DataFrame", *, width: int | None = None, widest: int = WIDEST_CELL) -> str:
    """Return a preview as text: a table, or where that does not fit into the width a block for each of its rows.

    >>> import polars as pl
    >>> print(preview_text(pl.DataFrame({"query": ["km"], "lipschitz": [67.988], "share": [1.0]}), width=20))
    query      km
    lipschitz  67.988
    share      1
    """
    text = frame_text(frame, widest=widest)
    if width is None or max(map(_width, text.splitlines())) <= width:
        return text
    space = max(map(len, frame.columns)) + 2
    blocks = (
        "\n".join(f"{name.ljust(space)}{_wrapped(_shown(value, widest), space, width)}" for name, value in row.items())
        for row in frame.iter_rows(named=True)
    )
    return "\n\n".join(blocks)


def _wrapped(text: str, indent: int, width: int) -> str:
    """Return a value of a block, its further lines below its first one."""
    lines = textwrap.wrap(text, max(width - indent, NARROWEST_CELL), break_on_hyphens=False)
    return f"\n{' ' * indent}".join(lines or [""])


@dataclass
class _Column:
    """A column with its cells as they are shown, but for those that are texts of any length."""

    head: str
    values: list[Any]
    is_number: bool

    def cells(self, widest: int) -> list[str]:
        from emdp.answers.description import on_one_line

        return [on_one_line(self.head), *(_shown(value, widest) for value in self.values)]


class _Number(str):
    """A number as it is shown."""

    __slots__ = ()


def _columns(frame: "pl.DataFrame") -> list[_Column]:
    return [_Column(series.name, series.to_list(), series.dtype.is_numeric()) for series in frame.get_columns()]


def _round(value: _Column, low: _Column, high: _Column) -> None:
    """Round the cells of a value and of the ends of its interval; what is no finite number stays as it is."""
    for row, own in enumerate(zip(value.values, low.values, high.values, strict=True)):
        if all(number is None or isinstance(number, int | float) for number in own):
            for column, text in zip((value, low, high), rounded_texts(*own, grouping=""), strict=True):
                column.values[row] = _Number(text) if text else column.values[row]


def _fitted(groups: list[list[_Column]], keys: int, width: int | None, widest: int) -> str:
    """Return groups of columns as text: cut, or the groups after the keys one below the other, where that makes it fit.

    Groups stay together; the first ``keys`` of them begin each part.
    """
    lines = _aligned([column for group in groups for column in group], widest)
    excess = max(map(_width, lines), default=0) - (width or 0)
    if width is None or excess <= 0:
        return "\n".join(lines)
    longest = max((len(cell) for group in groups for column in group for cell in column.cells(widest)[1:]), default=0)
    less = max(NARROWEST_CELL, longest - excess)
    cut = _aligned([column for group in groups for column in group], less)
    if max(map(_width, cut)) <= width:
        return "\n".join(cut)
    begin = [column for group in groups[:keys] for column in group]
    parts: list[list[_Column]] = []
    for group in groups[keys:]:
        longer = [*parts[-1], *group] if parts else []
        if parts and max(map(_width, _aligned(longer, widest))) <= width:
            parts[-1] = longer
        else:
            parts.append([*begin, *group])
    return "\n\n".join("\n".join(_aligned(part, widest)) for part in parts or [begin])


def _aligned(columns: list[_Column], widest: int) -> list[str]:
    shown = []
    for column in columns:
        cells = column.cells(widest)
        width = max(map(_width, cells))
        space = [" " * (width - _width(cell)) for cell in cells]
        shown.append([gap + cell if column.is_number else cell + gap for gap, cell in zip(space, cells, strict=True)])
    return ["  ".join(row).rstrip() for row in zip(*shown, strict=True)]


def _shown(value: Any, widest: int) -> str:
    from emdp.answers.description import on_one_line
    from emdp.privacy.account.filter import UNLIMITED

    if value is None:
        return "NULL"
    if isinstance(value, _Number):
        return value
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and value >= UNLIMITED:
        return "unlimited"
    text = on_one_line(str(value))
    return text if len(text) <= widest else text[: widest - 3] + "..."


def _width(text: str) -> int:
    """Return how many places of a terminal a text takes."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)
