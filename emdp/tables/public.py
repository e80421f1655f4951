"""Public declarations beside a private table: its users with their columns, and tables to join.

All of it is read whole, since nothing in it is private. Text of a CSV file is converted here where no value loses
anything by it; a private table's text is never looked at for that.
"""

import os
from decimal import Decimal
from numbers import Real

import polars as pl

from emdp.base.checks import check_count, is_unicode
from emdp.base.errors import DataRuleError, EmdpError, UsageError
from emdp.base.frames import to_polars
from emdp.tables.engines.duckdb.source import MAIN_SCHEMA
from emdp.tables.facts import UserList
from emdp.tables.registry import frame_opener, named_table, opener_of
from emdp.tables.source import (
    DUCKDB_SEPARATOR,
    CsvSource,
    DuckDBSource,
    ParquetSource,
    Source,
    open_source,
)
from emdp.tables.views import ViewSource

__all__ = ["is_same_source", "make_user_list", "read_public", "typed_columns"]

WHOLE_TEXT = r"^(?:0|-?[1-9][0-9]*)$"
NUMBER_TEXT = r"^-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?$"
"""Texts that may become numbers: a leading zero or plus sign is that of a code, which a number would lose."""

SAFE_DIGITS = 15
"""Decimal digits that every double of ordinary size keeps; other texts are compared with what the double prints."""


def make_user_list(users: object, user: str) -> UserList:
    """Return the public users that a caller declared.

    Parameters
    ----------
    users : int, sequence, path, frame or None
        Their number, their keys, or a table with one row a user; None where nothing is public about them.

    Raises
    ------
    UsageError
        If it is none of these, has no key column, or a key is missing, repeated or no whole number or text.

    >>> listed = make_user_list({"who": [2, 1], "city": ["Rome", None]}, "who")
    >>> listed.count, listed.frame.rows()
    (2, [('2', 'Rome'), ('1', None)])
    """
    if users is None:
        return UserList(None)
    if isinstance(users, bool):
        raise UsageError("users must be a number, a list or a table of users, not a bool; pass one of these.")
    if isinstance(users, Real):
        return UserList(check_count("users", users))
    if isinstance(users, set | frozenset):
        users = sorted(users, key=str)
    elif not isinstance(users, pl.Series | str | os.PathLike) and hasattr(users, "tolist"):
        users = users.tolist()
    frame, name = _user_rows(users, user)
    keys = frame.get_column(name)
    if not len(keys):
        raise UsageError("users is empty; list at least one user.")
    if not (keys.dtype.is_integer() or keys.dtype in (pl.String, pl.Categorical)):
        raise UsageError(f"users has keys of type {keys.dtype}; they must be whole numbers or text.")
    keys = keys.cast(pl.String)
    if keys.null_count():
        raise UsageError("users has an empty key; give every listed user a key.")
    if keys.n_unique() != len(keys):
        raise UsageError("users lists a key twice; list every user once.")
    others = frame.drop(name)
    _check_columns("users", others)
    own = others.insert_column(0, keys.rename(user)) if others.width else None
    return UserList(len(keys), keys.rename("key"), own)


def read_public(name: str, source: object, *, header: bool | None = None) -> pl.DataFrame:
    """Return a declared public table.

    Parameters
    ----------
    name : str
        Its name in SQL.
    source : path or frame
        As for :func:`emdp.read`. A column of a CSV file becomes Boolean, Int64 or Float64 where each of its values
        is one and loses nothing; an empty value is NULL.
    header : bool, optional
        As for :func:`emdp.read`.

    Returns
    -------
    polars.DataFrame

    Raises
    ------
    UsageError
        If the source is no table that can be read, or has a column of Python objects.
    DataRuleError
        If its file is damaged.

    >>> read_public("stations", {"stop": ["A", "B"], "zone": [1, None]}).shape
    (2, 2)
    """
    try:
        if isinstance(source, str | os.PathLike):
            opened = open_source(source, header=header)
            frame = typed_columns(_fetch(opened)) if opened.is_text else _fetch(opened)
        else:
            frame = _in_memory("source", source)
    except (UsageError, DataRuleError) as error:
        raise type(error)(f"public table {name!r}: {error}") from None
    _check_columns(f"public table {name!r}", frame)
    return frame


def is_same_source(private: object, other: object) -> bool:
    """Say whether two sources read a file, or a table of a DuckDB file, in common.

    Links and other spellings of a path are seen through; a copy, and a view of a DuckDB file, are not. Two sources of
    another engine, such as Spark, are the same if it says that they compute the same rows.

    Parameters
    ----------
    private, other : Source, path or anything else
        What is neither a source nor a path shares no file.

    >>> is_same_source("visits.csv", "./visits.csv"), is_same_source("visits.csv", 100)
    (True, False)
    """
    opener = opener_of(private)
    if opener is not None:
        return opener.is_same(_opened(private), _opened(other))
    return bool(_places(private) & _places(other))


def typed_columns(frame: pl.DataFrame, *, keep: str | None = None) -> pl.DataFrame:
    """Return the columns of a CSV file in the types that all their values have; an empty text is NULL.

    Parameters
    ----------
    frame : polars.DataFrame
        The file's columns as text.
    keep : str, optional
        A column to leave as it is.

    >>> frame = pl.DataFrame({"zone": ["1", ""], "code": ["007", "12"], "open": ["true", "False"], "lat": ["1", ".5"]})
    >>> typed_columns(frame).rows()
    [(1, '007', True, 1.0), (None, '12', False, 0.5)]
    """
    return frame.with_columns(_typed(series) for series in frame.iter_columns() if series.name != keep)


def _fetch(source: Source) -> pl.DataFrame:
    from emdp.tables.engine import engine_of

    frame = engine_of(source).fetch_public(source)
    # DuckDB hands times over in the time zone of this machine, which says nothing about the table.
    zoned = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime) and kind.time_zone]
    return frame.with_columns(pl.col(zoned).dt.convert_time_zone("UTC")) if zoned else frame


def _in_memory(name: str, frame: object) -> pl.DataFrame:
    return _fetch(open_source(frame)) if frame_opener(frame) is not None else to_polars(name, frame)


def _opened(source: object) -> object:
    if not isinstance(source, str | os.PathLike) and frame_opener(source) is None:
        return source
    try:
        return open_source(source)
    except EmdpError:
        return None


def _places(source: object) -> set[str]:
    if isinstance(source, str | os.PathLike):
        try:
            source = open_source(source)
        except EmdpError:
            return set()
    if isinstance(source, ViewSource):
        source = source.source
    if isinstance(source, DuckDBSource):
        return {f"{_file(source.path)}{DUCKDB_SEPARATOR}{source.table.lower().removeprefix(MAIN_SCHEMA)}"}
    if not isinstance(source, ParquetSource | CsvSource):
        return set()
    try:
        return set(map(_file, source.paths()))
    except UsageError:
        return {_file(source.pattern)}


def _file(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return f"{status.st_dev} {status.st_ino}"


def _typed(series: pl.Series) -> pl.Series:
    if series.dtype != pl.String:
        return series
    series = series.set(series == "", None)
    present = series.drop_nulls().unique()
    if not len(present):
        return series
    lowered = present.str.to_lowercase()
    if lowered.is_in(["true", "false"]).all():
        return (series.str.to_lowercase() == "true").alias(series.name)
    if not present.str.contains(NUMBER_TEXT).all():
        return series
    if present.str.contains(WHOLE_TEXT).all():
        fits = not present.cast(pl.Int64, strict=False).null_count()
        return series.cast(pl.Int64) if fits else series
    doubtful = present.filter(
        (present.str.replace_all(r"[^0-9]", "").str.len_chars() > SAFE_DIGITS) | present.str.contains("[eE]")
    )
    return series if any(map(_loses, doubtful)) else series.cast(pl.Float64)


def _loses(text: str) -> bool:
    # Decimal's own conversion is exact, whatever the context's precision.
    return Decimal(text) != Decimal(repr(float(text)))


def _check_columns(name: str, frame: pl.DataFrame) -> None:
    for column, kind in frame.schema.items():
        if kind == pl.Object:
            raise UsageError(f"{name} has a column {column!r} of Python objects; convert it to numbers or text.")


def _user_rows(users: object, user: str) -> tuple[pl.DataFrame, str]:
    """Return the rows of a list of users, and the name of their key column."""
    frame: pl.DataFrame
    if isinstance(users, str | os.PathLike):
        frame = _user_file(users, user)
    elif isinstance(users, list | tuple):
        if not all(isinstance(key, str) for key in users):
            users = ["" if key is None else _user_key(key) for key in users]
        if any(not (key.isascii() or is_unicode(key)) for key in users):
            raise UsageError("users has a key with a lone surrogate, which is no character; correct that key.")
        frame = pl.DataFrame({user: [key or None for key in users]}, schema={user: pl.String})
    elif isinstance(users, pl.Series):
        frame = pl.DataFrame({user: users})
    elif users is None:
        raise UsageError("users must be a number, a list of keys, or a file or frame with one row a user; pass one.")
    else:
        frame = _in_memory("users", users)
    if user in frame.columns:
        return frame, user
    if len(frame.columns) == 1:
        return frame, frame.columns[0]
    raise UsageError(f"users has no column {user!r}; name its key column like the table's.")


def _user_key(key: object) -> str:
    if isinstance(key, bool) or not isinstance(key, int):
        raise UsageError(f"users has a key of type {type(key).__name__}; keys must be all whole numbers or all texts.")
    return str(key)


def _user_file(path: str | os.PathLike[str], user: str) -> pl.DataFrame:
    name = os.fspath(path)
    if named_table(name) is None and not os.path.exists(name.partition("::")[0]):
        raise UsageError(
            f"users must be a number, a list of keys, or a file or frame with one row a user, got {path!r}, "
            "which is no file; pass one of these."
        )
    source = open_source(path)
    frame = _fetch(source)
    return typed_columns(frame, keep=user) if source.is_text and user in frame.columns else frame
