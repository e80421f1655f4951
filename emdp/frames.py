"""Reading columns of items from whatever frame a caller has: anything with the Arrow stream interface, or a mapping."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from emdp.errors import UsageError

__all__ = ["columns_of", "to_polars"]


def to_polars(name: str, frame: object) -> pl.DataFrame:
    """Return ``frame`` as a Polars frame.

    Parameters
    ----------
    name : str
        What the caller calls the frame, for messages.
    frame : object
        A frame with the Arrow C stream interface (Polars, Arrow, pandas, a DuckDB relation), or a mapping of
        column names to sequences.

    Raises
    ------
    UsageError
        If it is neither.

    >>> to_polars("P", {"x": [1.0, 2.0]}).shape
    (2, 1)
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    try:
        if isinstance(frame, Mapping):
            return pl.DataFrame({str(key): values for key, values in frame.items()}, strict=False)
        if hasattr(frame, "__arrow_c_stream__"):
            return pl.DataFrame(frame)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        raise UsageError(f"{name} is no table; pass columns of one length, each of one type.") from None
    raise UsageError(
        f"{name} must be a frame with the Arrow C stream interface or a mapping of columns, "
        f"not {type(frame).__name__}; pass a Polars, Arrow or pandas frame."
    )


def columns_of(name: str, frame: object, columns: Sequence[str]) -> dict[str, pl.Series]:
    """Return the named columns of ``frame`` as Polars series, or raise ``UsageError`` naming a missing one.

    >>> list(columns_of("P", {"x": [1.0], "y": [2.0]}, ["y"]))
    ['y']
    """
    table: Any = to_polars(name, frame)
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise UsageError(
            f"{name} has no column {missing[0]!r}, only {', '.join(map(repr, table.columns))}; "
            "rename the column or the space's."
        )
    return {column: table.get_column(column) for column in columns}
