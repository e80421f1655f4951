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
    """Public names of one private table.

    Parameters
    ----------
    kinds : mapping of str to Kind
        Its columns, each with what its values are read as.
    keys : mapping of str to (str, str)
        Columns that say whose a row is, each with the table and column that its values are looked up in, two empty
        texts for users themselves: two rows with one value of one key belong to one user.
    """

    kinds: Mapping[str, Kind]
    space: Space
    keys: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Names:
    """The public names of one private table and of the public tables beside it; no record was looked at.

    Parameters
    ----------
    table : str
        Name of the private table.
    columns : mapping of str to str
        All its columns with their DuckDB types.
    users : int or None
        Public number of users; None where none is declared.
    user_frame : polars.DataFrame or None
        One row a listed user: the key as text in a column named as ``user``, then public user columns. None where
        only the number of users is public.
    public : mapping of str to polars.DataFrame
        Public tables by name.
    records : int or None
        Public number of records that every user has, where it is declared.
    kinds : mapping of str to Kind
        The private table's columns that row expressions read, each with what its values are read as.
    public_kinds : mapping of str to mapping of str to Kind
        The same of each public table.
    linked : mapping of str to PrivateNames
        The private table and those that are linked to it; none where none is.
    compute_public : callable or None
        Runs statements over public tables and noisy answers.
    """

    table: str
    user: str
    space: Space
    columns: Mapping[str, str]
    users: int | None
    user_frame: pl.DataFrame | None = None
    public: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    records: int | None = None
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    public_kinds: Mapping[str, Mapping[str, Kind]] = field(default_factory=dict)
    linked: Mapping[str, PrivateNames] = field(default_factory=dict)
    compute_public: ComputePublic | None = None

    @property
    def private(self) -> Mapping[str, PrivateNames]:
        """The private tables by name: one, where none is linked to it."""
        return self.linked or {self.table: PrivateNames(self.kinds, self.space, {self.user: ("", "")})}

    @property
    def user_columns(self) -> tuple[str, ...]:
        """Public columns of the listed users, the key left out."""
        return () if self.user_frame is None else tuple(self.user_frame.columns[1:])
