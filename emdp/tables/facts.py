"""Owner's declarations of a private table, and the facts that a statement needs: columns, space, users, source."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from emdp.base.errors import InternalError, UsageError
from emdp.base.frames import Component, find_component
from emdp.spaces import Space
from emdp.tables.base import Source

__all__ = ["TableFacts", "UserList"]

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

    :class:`emdp.Table` says what each is.
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

    def type_of(self, name: str) -> str:
        """Return the DuckDB type of a column of the source or of the space."""
        component = find_component(name, self.schema)
        if component is None:
            return self.schema[name]
        return "BIGINT" if component.is_whole else "DOUBLE"


def _plain_values(series: pl.Series) -> list[object]:
    # Of a time the number behind it, since Python's times end at microseconds.
    if series.dtype.is_temporal():
        return series.to_physical().to_list()
    return (series.cast(pl.String) if isinstance(series.dtype, pl.Enum | pl.Categorical) else series).to_list()
