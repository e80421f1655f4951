"""Tables as notebooks show them: escaped HTML, with numbers of as many digits as say something."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from emdp.base.digits import rounded_texts

if TYPE_CHECKING:
    import polars as pl

__all__ = ["frame_html", "html_table"]

MOST_ROWS = 100
"""Rows of a frame that a notebook shows."""


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str = "") -> str:
    """Return a table; texts are escaped, numbers stand to the right.

    >>> html_table(["km"], [["a < b"]])
    '<table><tr><th scope="col">km</th></tr><tr><td>a &lt; b</td></tr></table>'
    """
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    lines = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<tr>{top}</tr>{lines}</table>"


def frame_html(frame: "pl.DataFrame", *, caption: str = "") -> str:
    """Return a frame as a table: a value with an interval is rounded to what its noise leaves, others to six digits.

    The frame itself, and what is written of it, keeps all digits.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"km": [5.123456], "km_low": [5.01], "km_high": [5.23], "share": [0.123456789]})
    >>> [part.split("<")[0] for part in frame_html(frame).split('right">')[1:]]
    ['5.12', '5.01', '5.23', '0.123457']
    """
    names, rows = frame.columns, []
    for row in frame.head(MOST_ROWS).iter_rows(named=True):
        shown: dict[str, object] = {name: _plain(value) for name, value in row.items()}
        for name in names:
            ends = [row.get(f"{name}{end}") for end in ("_low", "_high")]
            if not all(isinstance(value, float) and math.isfinite(value) for value in (row[name], *ends)):
                continue
            texts = rounded_texts(row[name], *ends)
            shown |= zip((name, f"{name}_low", f"{name}_high"), map(_Number, texts), strict=True)
        rows.append([shown[name] for name in names])
    more = f"the first {MOST_ROWS} of {frame.height:,} rows" if frame.height > MOST_ROWS else ""
    return html_table(names, rows, caption=", ".join(filter(None, (caption, more))))


class _Number(str):
    """Text of a number."""

    __slots__ = ()


def _plain(value: object) -> object:
    return _Number(f"{value:.6g}") if isinstance(value, float) else value


def _cell(value: object) -> str:
    is_number = isinstance(value, int | float | _Number) and not isinstance(value, bool)
    text = "" if value is None else str(_plain(value))
    return f'<td style="text-align:right">{escape(text)}</td>' if is_number else f"<td>{escape(text)}</td>"
