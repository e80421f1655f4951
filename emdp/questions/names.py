"""Public names that a statement may use: columns, users, public tables."""

from collections.abc import Callable, Mapping
from dataclasses import field

import polars as pl

from emdp.base.classes import dataclass
from emdp.rows.types import Kind
from emdp.spaces import Space

__all__ = ["ComputePublic", "Names", "PrivateNames"]

ComputePublic = Callable[[str, Mapping[str, pl.DataFrame]], tuple[pl.DataFrame, Mapping[str, Kind]]]
"""Runs a SELECT in DuckDB's words over frames by name, all that it sees, and tells the kinds of its columns."""


@dataclass(frozen=True, eq=False)
class PrivateNames:
    """Public names of one private table."""

    kinds: Mapping[str, Kind]  # Its columns, each with what its values are read as
    space: Space
    # Columns that say whose a row is, each with the table and column that its values are looked up in, two empty texts
    # for users themselves: two rows with one value of one key belong to one user.
    keys: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Names:
    """The public names of one private table and of the public tables beside it; no record was looked at."""

    table: str  # Name of the private table
    user: str
    space: Space
    columns: Mapping[str, str]  # All its columns with their DuckDB types
    users: int | None  # Public number of users; None where none is declared
    # One row a listed user: the key as text in a column named as `user`, then public user columns. None where only the
    # number of users is public.
    user_frame: pl.DataFrame | None = None
    public: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # Public tables by name
    records: int | None = None  # Public number of records that every user has, where it is declared
    # The private table's columns that row expressions read, each with what its values are read as.
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    public_kinds: Mapping[str, Mapping[str, Kind]] = field(default_factory=dict)  # The same of each public table
    # The private table and those that are linked to it; none where none is.
    linked: Mapping[str, PrivateNames] = field(default_factory=dict)
    compute_public: ComputePublic | None = None  # Runs statements over public tables and noisy answers

    @property
    def private(self) -> Mapping[str, PrivateNames]:
        """The private tables by name: one, where none is linked to it."""
        return self.linked or {self.table: PrivateNames(self.kinds, self.space, {self.user: ("", "")})}

    def is_same(self, other: "Names") -> bool:
        """Say whether a statement means the same under other names: all of them, and what stands under each."""
        frames = [{**own.public, **({} if own.user_frame is None else {"": own.user_frame})} for own in (self, other)]
        return (
            self._facts() == other._facts()
            and frames[0].keys() == frames[1].keys()
            and all(frame.equals(frames[1][name]) for name, frame in frames[0].items())
        )

    def _facts(self) -> tuple[object, ...]:
        """Return all but the frames' rows."""
        linked = {name: (own.kinds, own.space.to_json(), own.keys) for name, own in self.linked.items()}
        frames = {name: frame.schema for name, frame in self.public.items()}
        own = None if self.user_frame is None else self.user_frame.schema
        declared = (self.table, self.user, self.columns, self.users, self.records, self.space.to_json())
        return (*declared, self.kinds, self.public_kinds, linked, frames, own, self.compute_public)

    @property
    def user_columns(self) -> tuple[str, ...]:
        """Public columns of the listed users, the key left out."""
        return () if self.user_frame is None else tuple(self.user_frame.columns[1:])
