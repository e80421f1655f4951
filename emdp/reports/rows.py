"""An answer's frame as the table of a page: every number with its interval, rounded to what the interval tells."""

import math

import polars as pl

from emdp.answers.stored import StoredAnswer
from emdp.base.classes import dataclass
from emdp.base.digits import MOST_DECIMALS, rounded_texts
from emdp.questions.columns import PlannedColumn

__all__ = ["NO_VALUE", "Cell", "Table", "rounded", "table_of"]

NO_VALUE = "no value (within its noise)"
"""Stands where noise left no value."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    text: str
    interval: str = ""  # The ends of the value's interval; empty for a key


@dataclass(frozen=True)
class Table:
    """The rows of an answer that a page shows.

    Parameters
    ----------
    heads : tuple of (str, bool)
        Name of each column, and whether it has values with intervals.
    rows : tuple of tuple of Cell
        The shown rows, a cell a column.
    total : int
        How many rows the answer has.
    which : str
        Which of them are shown, in words; empty where all are.
    """

    heads: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: int
    which: str = ""


def table_of(answer: StoredAnswer, most: int) -> Table:
    """Return an answer's table with at most so many rows.

    Cells of a grid and listed values beyond are left out from the smallest value on; other rows from the end on.

    Parameters
    ----------
    most : int
        Rows, at least 0.
    """
    frame, which = _shown(answer, most)
    columns = {column.name: column for column in answer.columns}
    ends = {f"{name}{end}" for name in columns for end in ("_low", "_high")}
    names = [name for name in frame.columns if name in columns or name not in ends]
    steps = dict(zip(answer.shape.coordinates, answer.shape.steps, strict=False))
    cells = [
        _values(frame, name) if name in columns else [_key(value, steps.get(name)) for value in frame[name]]
        for name in names
    ]
    heads = tuple((_head(name, columns.get(name), answer.shape.unit), name in columns) for name in names)
    rows = tuple(zip(*cells, strict=True)) if cells else ()
    return Table(heads, rows, answer.frame.height, which)


def rounded(value: float | None, low: float | None, high: float | None) -> Cell:
    """Return a value and its interval, rounded to two digits of the interval's half-width; the ends outward.

    Parameters
    ----------
    value, low, high : float or None
        The value, and the ends of its interval; an infinite end is no end.

    >>> rounded(7.2034, 6.9111, 7.5)
    Cell(text='7.20', interval='6.91 to 7.50')
    >>> rounded(123456.0, 119876.0, float("inf"))
    Cell(text='123,500', interval='at least 119,800')
    >>> rounded(None, None, None)
    Cell(text='no value (within its noise)', interval='')
    """
    shown, left, right = rounded_texts(value, low, high)
    if left and right:
        interval = f"{left} to {right}"
    elif left or right:
        interval = f"at least {left}" if left else f"at most {right}"
    else:
        interval = "no limits" if shown else ""
    return Cell(shown or NO_VALUE, interval)


def _shown(answer: StoredAnswer, most: int) -> tuple[pl.DataFrame, str]:
    frame = answer.frame
    if frame.height <= most:
        return frame, ""
    if answer.shape.kind in ("cells", "values") and answer.columns:
        name = answer.columns[0].name
        # The rows stay in the answer's own order.
        places = frame[name].arg_sort(descending=True, nulls_last=True).head(most).sort()
        return frame[places.to_list()], f"the {most} of {frame.height:,} rows with the largest {name}"
    return frame.head(most), f"the first {most} of {frame.height:,} rows"


def _values(frame: pl.DataFrame, name: str) -> list[Cell]:
    return [rounded(*ends) for ends in frame.select(name, f"{name}_low", f"{name}_high").rows()]


def _key(value: object, step: float | None) -> Cell:
    if isinstance(value, float):
        decimals = None if step is None or not step > 0 else max(1 - math.floor(math.log10(step)), 0)
        return Cell(f"{value:.6g}" if decimals is None else f"{value:.{min(decimals, MOST_DECIMALS)}f}")
    return Cell("none" if value is None else str(value))


def _head(name: str, column: PlannedColumn | None, unit: str) -> str:
    return f"{name} ({unit})" if column is not None and unit and unit not in name.split("_") else name
