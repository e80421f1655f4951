"""A private table as its owner declares it: where its rows are, who its users are, what distance means in it."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import polars as pl

from emdp.checks import check_count
from emdp.errors import UsageError
from emdp.frames import to_polars
from emdp.spaces import Space, Words
from emdp.tables.source import FrameSource, Source, open_source, type_name

__all__ = ["Table", "UserList", "read"]

WHOLE_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
REAL_TYPES = ("FLOAT", "DOUBLE", "DECIMAL")
TEXT_TYPES = ("VARCHAR", "ENUM")
USER_TYPES = (*WHOLE_TYPES, *TEXT_TYPES, "UUID")


@dataclass(frozen=True, eq=False)
class UserList:
    """The public users of a table: how many there are and, where the owner listed them, who.

    Parameters
    ----------
    count : int
        ``n``, at least 1.
    keys : polars.Series or None
        Their keys as text, distinct; None where only the number is public.
    """

    count: int
    keys: pl.Series | None = None

    def digest(self) -> str:
        """Return a hash of the list, or of the number where only that is public."""
        keys = [] if self.keys is None else self.keys.sort().to_list()
        return hashlib.sha256(json.dumps([self.count, keys]).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Table:
    """A private table, as declared to :func:`emdp.read`; no record of it has been looked at.

    Attributes
    ----------
    name : str
        Its name in SQL and in the ledger.
    user : str
        The column that says whose record a row is.
    space : Space
        The item space of its records.
    users : UserList
        The public users.
    records : int or None
        The public number of records that every user has, where declared.
    schema : mapping of str to str
        Column names and DuckDB types.
    """

    name: str
    user: str
    space: Space
    users: UserList
    source: Source = field(repr=False)
    schema: Mapping[str, str] = field(repr=False)
    records: int | None = None

    @property
    def n(self) -> int:
        """The public number of users."""
        return self.users.count

    def data_version(self) -> str:
        """Return a fingerprint of public metadata (files, sizes, times) that changes with the data."""
        return self.source.fingerprint()

    def validate(self) -> None:
        """Check every declared rule against the records: users, ``records``, ``on_invalid="error"``.

        This is the owner's act: whether it raises is a fact about the private records and costs no budget. A session
        runs it before the first charge on a data version, so that no later error depends on the data.

        Raises
        ------
        DataRuleError
            Naming the rule that is broken and the remedy, never a value.
        """
        from emdp.tables.duckdb import check_rules

        check_rules(self)

    def bag(self, user: Any) -> pl.DataFrame:
        """Return one user's items after the ``on_invalid`` rule: for the table's owner, and not private.

        Parameters
        ----------
        user : int or str
            The user's key.

        Returns
        -------
        polars.DataFrame
            The space's columns, one row an item; the neutral item alone for a listed user without records.

        Raises
        ------
        UsageError
            If the public users are listed and this is none of them, or they are not and this one has no record.
        """
        from emdp.tables.duckdb import fetch_bag

        listed = self.users.keys
        if listed is not None and str(user) not in listed:
            raise UsageError(f"user {user!r} is not among the listed users; pass the key of one of them.")
        bag = fetch_bag(self, user)
        if bag is None and listed is None:
            raise UsageError(
                f"user {user!r} has no record, and may be mistyped; pass the key of a user, or list the users."
            )
        if bag is not None:
            return bag
        neutral: pl.DataFrame = pl.DataFrame(self.space.decode(self.space.neutral_item), strict=False)
        return neutral.select(list(self.space.columns))


def read(
    source: object,
    *,
    user: str,
    space: Space,
    users: object,
    name: str | None = None,
    records: int | None = None,
    columns: Mapping[str, str] | None = None,
) -> Table:
    """Declare a private table. Only its public schema is looked at, never a record.

    Parameters
    ----------
    source : path or frame
        A Parquet or CSV file, a folder or pattern of Parquet files, ``"file.duckdb::table"``, or a frame with the
        Arrow C stream interface, which must not be changed in place afterwards. Remote addresses are refused. Every
        row is one record (in a ``Words`` space, every word is), exact duplicates included.
    user : str
        The column that says whose record a row is.
    space : Space
        The item space; its columns must be in the source.
    users : int, sequence, path or frame
        The public users: their number, a list of keys, or a table with one row a user. They do not come from the
        private table: a user without records is still counted.
    name : str, optional
        The table's name: by default the file's stem, the DuckDB table's name, or ``data``.
    records : int, optional
        Declares that every user has exactly so many records.
    columns : mapping of str to str, optional
        Column names and DuckDB types, for a source whose data is not at hand: nothing is opened then.

    Returns
    -------
    Table

    Raises
    ------
    UsageError
        If an argument is malformed, a column is missing, or its type does not fit the space.

    >>> from emdp.spaces import Interval
    >>> table = read({"user": [1, 1, 2], "x": [0.1, 0.4, 0.9]}, user="user", space=Interval("x", 0, 1), users=3)
    >>> table.name, table.n
    ('data', 3)
    """
    _check_arguments(user, space, name, columns)
    opened = open_source(source)
    if _same_file(source, users):
        raise UsageError("users must not be read off the private table; pass the public list, or its length.")
    schema = dict(columns) if columns is not None else opened.schema()
    for column in (user, *space.columns):
        if column not in schema:
            # What stands first in a file of text is a row of names only if its owner wrote one.
            remedy = (
                "check its header row and its delimiter"
                if opened.is_text
                else f"name one of {', '.join(map(repr, schema))}"
            )
            raise UsageError(f"source has no column {column!r}; {remedy}.")
    _check_types(schema, user, space, is_text=opened.is_text)
    return Table(
        name=name or opened.default_name,
        user=user,
        space=space,
        users=_user_list(users, user),
        source=opened,
        schema=schema,
        records=None if records is None else check_count("records", records),
    )


def _same_file(source: object, users: object) -> bool:
    paths = [os.fspath(place) for place in (source, users) if isinstance(place, str | os.PathLike)]
    return len(paths) == 2 and os.path.realpath(paths[0]) == os.path.realpath(paths[1])


def _check_arguments(user: object, space: object, name: object, columns: object) -> None:
    if not isinstance(user, str) or not user:
        raise UsageError(f"user must be the name of a column, not {type(user).__name__}; pass a text.")
    if not isinstance(space, Space):
        raise UsageError(f"space must be an emdp.Space, not {type(space).__name__}; pass one such as emdp.Interval.")
    if name is not None and (not isinstance(name, str) or not name):
        raise UsageError(f"name must be a non-empty text, not {type(name).__name__}; pass the table's name.")
    if columns is not None and not (
        isinstance(columns, Mapping) and all(isinstance(text, str) for pair in columns.items() for text in pair)
    ):
        raise UsageError("columns must map column names to DuckDB types; pass {name: type, ...}.")


def _check_types(schema: Mapping[str, str], user: str, space: Space, *, is_text: bool) -> None:
    if not _is_type(schema[user], USER_TYPES):
        kind = type_name(schema[user])
        raise UsageError(f"user column {user!r} is {kind}; it must be of a whole-number or text type.")
    for part in space.parts:
        for column in part.columns:
            kinds = _allowed_types(part)
            if not is_text and not _is_type(schema[column], kinds):
                raise UsageError(
                    f"column {column!r} is {type_name(schema[column])}, but a space of kind {part.kind!r} needs "
                    f"{'numbers' if kinds is not TEXT_TYPES else 'text'}; convert the column or choose another space."
                )


def _allowed_types(part: Space) -> tuple[str, ...]:
    if part.labels is None:
        return (*WHOLE_TYPES, *REAL_TYPES)
    if isinstance(part, Words) or all(isinstance(label, str) for label in part.labels):
        return TEXT_TYPES
    return (*WHOLE_TYPES, *TEXT_TYPES, "BOOLEAN")


def _is_type(actual: str, allowed: tuple[str, ...]) -> bool:
    return type_name(actual) in allowed


def _user_list(users: object, user: str) -> UserList:
    if isinstance(users, bool):
        raise UsageError("users must be a number, a list or a table of users, not a bool; pass one of these.")
    if isinstance(users, Real):
        return UserList(check_count("users", users))
    if isinstance(users, set | frozenset):
        users = sorted(users, key=str)
    elif not isinstance(users, pl.Series | str | os.PathLike) and hasattr(users, "tolist"):
        users = users.tolist()
    keys = _user_keys(users, user)
    if not len(keys):
        raise UsageError("users is empty; list at least one user.")
    if not (keys.dtype.is_integer() or keys.dtype in (pl.String, pl.Categorical)):
        raise UsageError(f"users has keys of type {keys.dtype}; they must be whole numbers or text.")
    keys = keys.cast(pl.String).rename("key")
    if keys.null_count():
        raise UsageError("users has an empty key; give every listed user a key.")
    if keys.n_unique() != len(keys):
        raise UsageError("users lists a key twice; list every user once.")
    return UserList(len(keys), keys)


def _user_keys(users: object, user: str) -> pl.Series:
    if isinstance(users, str | os.PathLike):
        if not os.path.exists(os.fspath(users).partition("::")[0]):
            raise UsageError(
                f"users must be a number, a list of keys, or a file or frame with one row a user, got {users!r}, "
                "which is no file; pass one of these."
            )
        frame = _read_public(users)
    elif isinstance(users, list | tuple):
        if not all(isinstance(key, str) for key in users):
            users = ["" if key is None else _user_key(key) for key in users]
        frame = pl.DataFrame({user: [key or None for key in users]}, schema={user: pl.String})
    elif isinstance(users, pl.Series):
        frame = pl.DataFrame({user: users})
    elif users is None:
        raise UsageError("users must be a number, a list of keys, or a file or frame with one row a user; pass one.")
    else:
        frame = to_polars("users", users)
    if user in frame.columns:
        keys = frame.get_column(user)
    elif len(frame.columns) == 1:
        keys = frame.to_series(0)
    else:
        raise UsageError(f"users has no column {user!r}; name its key column like the table's.")
    return keys


def _user_key(key: object) -> str:
    if isinstance(key, bool) or not isinstance(key, int):
        raise UsageError(f"users has a key of type {type(key).__name__}; keys must be all whole numbers or all texts.")
    return str(key)


def _read_public(path: str | os.PathLike[str]) -> pl.DataFrame:
    from emdp.tables.duckdb import fetch_public

    source = open_source(path)
    if isinstance(source, FrameSource):
        raise UsageError("users must be a number, a list, a path or a frame; pass one of these.")
    return fetch_public(source)
