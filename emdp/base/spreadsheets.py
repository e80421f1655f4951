"""Tables as CSV that a spreadsheet opens without running what stands in it.

A text that begins with ``=`` is a formula to Excel and others, one with ``+``, ``-`` or ``@`` may be, and a tab or the
end of a line before those is left out. Keys of groups and frequent strings are other people's words, so such a text
gets a ``'`` before it, which spreadsheets show as part of it. Numbers stay as they are.
"""

import polars as pl

__all__ = ["csv_text"]

FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"
"""Beginning of a text that is a formula. With quotes before that it gets one more, so that every cell has one meaning:
where this fits, take one quote away."""

NUMBER = r"^[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
"""Texts that are numbers, which no spreadsheet runs."""


def csv_text(frame: pl.DataFrame, *, raw: bool = False) -> str:
    """Return a table as CSV: bytes in hexadecimal digits, texts as no spreadsheet runs them.

    Parameters
    ----------
    raw : bool
        Whether texts and names of columns stay as they are.

    >>> frame = pl.DataFrame({"word": ["=1+1", "-3.5", "-x", "'@x", "it's"], "=n": [-3.5, 1.0, None, 2.0, 0.5]})
    >>> print(csv_text(frame), end="")
    word,'=n
    '=1+1,-3.5
    -3.5,1.0
    '-x,
    ''@x,2.0
    it's,0.5
    """
    plain = [_plain(series) for series in frame.iter_columns()]
    if raw:
        return pl.DataFrame(plain).write_csv()
    names = _harmless(pl.Series([series.name for series in plain], dtype=pl.String))
    columns = [_harmless(series) if series.dtype == pl.String else series for series in plain]
    return pl.DataFrame([series.alias(name) for series, name in zip(columns, names, strict=True)]).write_csv()


def _plain(series: pl.Series) -> pl.Series:
    """Return a column in a type that CSV has."""
    if series.dtype == pl.Binary:
        return series.bin.encode("hex")
    if series.dtype == pl.Duration:
        return pl.Series(series.name, [None if one is None else str(one) for one in series], dtype=pl.String)
    return series.cast(pl.String) if series.dtype in (pl.Categorical, pl.Enum) else series


def _harmless(texts: pl.Series) -> pl.Series:
    runs = texts.str.contains(FORMULA) & ~texts.str.contains(NUMBER)
    return texts.zip_with(~runs.fill_null(value=False), "'" + texts)
