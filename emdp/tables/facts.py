"""Owner's declarations of a private table, and the facts that a statement needs: columns, space, users, source."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.base.frames import Component, find_component
from emdp.questions.owned.relations import OF_USERS
from emdp.spaces import Space
from emdp.tables.base import Source

__all__ = ["LinkedTable", "TableFacts", "UserList"]

MOST_ROWS = 2**63
"""More than any table has rows, and so users."""


@dataclass(frozen=True, eq=False)
class UserList:
    """The public users of a table: how many there are and, where the owner listed them, who.

    Parameters
    ----------
    count : int or None
        ``n``, at least 1; None where nothing is public about it.
    keys : polars.Series or None
        Their keys as text, distinct; None where only the number is public.
    frame : polars.DataFrame or None
        Where the list has further public columns: one row a user, first the key as text under the name of the
        table's user column, then those columns in their own types. They may hold NULL.
    """

    count: int | None
    keys: pl.Series | None = None
    frame: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        if self.frame is not None and (self.keys is None or not self.frame.to_series(0).equals(self.keys)):
            raise InternalError("a list of users disagrees with its own columns.")

    def digest(self, *, columns: bool = True) -> str:
        """Return a hash of the list with its columns, or of the number where only that is public; rows may move.

        Without ``columns`` it is that of the number and the keys, which is what records are compared with.
        """
        keys = [] if self.keys is None else self.keys.sort().to_list()
        content: list[object] = [self.count, keys]
        if columns and self.frame is not None:
            rows = self.frame.sort(self.frame.columns[0])
            content.append([[series.name, str(series.dtype), _plain_values(series)] for series in rows.iter_columns()])
        return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class TableFacts:
    """Public facts of a private table, and the source of its rows.

    :class:`emdp.Table` says what each is; ``view`` is what statements call its rows.
    """

    name: str
    user: str
    space: Space
    users: UserList
    source: Source = field(repr=False)
    schema: Mapping[str, str] = field(repr=False)
    records: int | None = None
    view: str = field(default="source_rows", kw_only=True, repr=False)
    linked: Mapping[str, "LinkedTable"] = field(default_factory=dict, kw_only=True, repr=False)

    def _repr_html_(self) -> str:
        """Public facts of the table as HTML; no record is looked at."""
        # Loaded where it is needed.
        from emdp.base.html import html_table

        users = "not public" if self.users.count is None else f"{self.users.count:,}"
        rows = [
            ["user", f"{self.user} ({users} users)"],
            *(["space", f"{part.kind}: {', '.join(part.columns)}"] for part in self.space.parts),
            ["columns", ", ".join(self.schema)],
        ]
        return html_table(["", ""], rows, caption=f"table {self.name}")

    @property
    def n(self) -> int:
        """The public number of users.

        Raises
        ------
        UsageError
            If none is declared.
        """
        if self.users.count is None:
            raise UsageError("users is not declared, so their number is private; pass users= to emdp.read.")
        return self.users.count

    @property
    def most_users(self) -> int:
        """The public number of users; where none is declared more than any table has rows."""
        return MOST_ROWS if self.users.count is None else self.users.count

    @property
    def components(self) -> Mapping[str, Component]:
        """The space's columns that are components of times, such as ``hour(ts)``, and what they are made from."""
        found = {name: find_component(name, self.schema) for name in self.space.columns}
        return {name: component for name, component in found.items() if component is not None}

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The source's columns that are read, each once: the user, and what the space's columns are made from."""
        made = self.components
        names = (made[name].column if name in made else name for name in self.space.columns)
        return tuple(dict.fromkeys((self.user, *names)))

    def private_tables(self) -> "Mapping[str, TableFacts]":
        """Return the table and those that are linked to it, by name."""
        return {self.name: self, **self.linked}

    def key_of(self, table: str, column: str) -> tuple[str, str] | None:
        """Return what a column of the table, or of a linked one, is a key of: two rows of one value have one owner.

        Links are followed, so that columns whose values mean the same have the same key. None for other columns.
        """
        own = self.linked.get(table)
        if own is None and table == self.name and column == self.user:
            return OF_USERS
        if own is not None and column == own.user:
            return self.key_of(own.target, own.key)
        is_target = any((link.target, link.key) == (table, column) for link in self.linked.values())
        return (table, column) if is_target else None

    def keys_of(self, table: str) -> dict[str, tuple[str, str]]:
        """Return the columns of a table that are keys (:meth:`key_of`), and of what."""
        found = {column: self.key_of(table, column) for column in self.private_tables()[table].schema}
        return {column: key for column, key in found.items() if key is not None}

    def unique_keys(self) -> tuple[tuple[str, str], ...]:
        """Return the tables and columns in which each value must stand once, and none may be missing."""
        found = (self.key_of(link.target, link.key) for link in self.linked.values())
        return tuple(dict.fromkeys(key for key in found if key not in (None, OF_USERS)))

    def type_of(self, name: str) -> str:
        """Return the DuckDB type of a column of the source or of the space."""
        component = find_component(name, self.schema)
        if component is None:
            return self.schema[name]
        return "BIGINT" if component.is_whole else "DOUBLE"


@dataclass(frozen=True, eq=False)
class LinkedTable(TableFacts):
    """A private table whose rows belong to the users that a link names; ``user`` is the column of the link."""

    # target, key: The table and its column in which the link's value is looked up.
    target: str = field(default="", kw_only=True)
    key: str = field(default="", kw_only=True)


def _plain_values(series: pl.Series) -> list[object]:
    # Of a time the number behind it, since Python's times end at microseconds.
    if series.dtype.is_temporal():
        return series.to_physical().to_list()
    return (series.cast(pl.String) if isinstance(series.dtype, pl.Enum | pl.Categorical) else series).to_list()
