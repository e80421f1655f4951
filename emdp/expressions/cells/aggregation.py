"""Aggregation of one statement: values of records, spread over cells, averaged or totalled a user.

A record ``x`` gives to each cell ``k`` and value ``i`` the number ``v_i(x) w_k(x)``; the weights ``w_k(x) >= 0`` of a
record add up to at most 1. Without axes there is one cell of weight 1. Everything here is public; engines compute it,
estimators say how sensitive it is, and :func:`cell_values` is the reference that both are tested against.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions.nodes.base import Expression

__all__ = ["Aggregation", "Axis", "HatAxis", "LabelAxis", "UserGroups"]


@dataclass(frozen=True)
class LabelAxis:
    """Cells by the listed value of a finite part: weight 1 in the cell that lists the item's value, else 0."""

    column: str
    # For each cell its listed values, disjoint; values of the part that no cell lists belong to none.
    cells: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        named = [value for cell in self.cells for value in cell]
        if not self.cells or len(set(named)) < len(named):
            raise UsageError("cells must list at least one cell, and no value twice; pass disjoint tuples of values.")

    @classmethod
    def alone(cls, column: str, values: Iterable[Any]) -> "LabelAxis":
        """Return an axis with a cell for each value."""
        return cls(column, tuple((value,) for value in values))

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.cells)


@dataclass(frozen=True)
class HatAxis:
    """Cells around the nodes ``start + k step``: weight ``max(0, 1 - |u - k|)`` with ``u = (e - start)/step``.

    ``u`` is clamped to ``[0, size - 1]`` first, so weights are a partition of unity. A periodic axis is not clamped:
    there ``e`` lies in ``[start, start + size step)`` and node ``size`` is node 0.
    """

    expression: Expression
    # start, step: First node and pitch, in the expression's unit; `step > 0`.
    start: float
    step: float
    size: int  # Number of nodes, at least 1 (periodic: at least 3)
    is_periodic: bool = False

    def __post_init__(self) -> None:
        if not (self.step > 0 and math.isfinite(self.step) and math.isfinite(self.start)):
            raise UsageError(f"step must be a finite number above 0, got {self.step}; pass the cells' pitch.")
        if self.size < (3 if self.is_periodic else 1):
            raise UsageError(
                f"size must be at least {3 if self.is_periodic else 1}, got {self.size}; use a finer step."
            )


Axis = LabelAxis | HatAxis


@dataclass(frozen=True, eq=False)
class UserGroups:
    """A public choice of users, or a public partition of them: disjoint groups, each with its own public number."""

    keys: pl.Series  # Keys, as text, of the users that count, each once
    groups: pl.Series  # Int64 group of each, in `[0, len(sizes))`
    sizes: tuple[int, ...]  # Users in each group, at least 1

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1 or sum(self.sizes) != len(self.keys):
            raise UsageError("groups must each have at least one user; leave empty groups out.")
        if self.groups.dtype != pl.Int64:
            raise UsageError(f"groups must be numbers of type Int64, not {self.groups.dtype}; cast them.")
        counts = self.groups.value_counts().sort(self.groups.name)
        found = tuple(counts.get_column("count").to_list())
        numbers = counts.get_column(self.groups.name).to_list()
        if found != self.sizes or numbers != list(range(len(self.sizes))) or self.keys.n_unique() != len(self.keys):
            raise UsageError("sizes must count the users of each group, and every key must stand once; correct them.")


@dataclass(frozen=True, eq=False)
class Aggregation:
    """Definition of the exact statistic that an engine computes, for each group of users.

    With ``cap=None``: for each value and cell the mean over the group's public users of the mean over their records,
    a user without records counting with the space's neutral item. With a cap: the total over users and records of
    ``omega c(x) v_i(x) w_k(x)``, with ``c`` the weight ``chosen`` and ``omega = min(1, cap / sum of c over the user's
    records)``; a user without records counts 0. There ``c`` is rounded to a multiple of ``2^-24`` (fixed_point.py), as
    part of the definition, so that sums of weights are exact.
    """

    values: tuple[Expression, ...]  # At least one
    axes: tuple[Axis, ...] = ()  # Cells are the combinations of the axes' cells, the last axis running fastest
    users: UserGroups | None = None  # Whom to count, by group; all public users in one group by default
    cap: int | None = None  # Largest total weight of one user's records
    chosen: Expression | None = None  # With a cap: weight `c` of a record, in [0, 1]; every record weighs 1 by default
    # Whether it is the mean over users of the mean over *pairs* of their records, each with each and with itself: the
    # second half of the axes is the first half again, of the other record. A user's pairs have the product `v_k v_l` of
    # the user's means of weights.
    pairs: bool = False

    def __post_init__(self) -> None:
        if not self.values or (self.chosen is not None and self.cap is None):
            raise UsageError("values must hold an expression, and chosen needs a cap; pass both or none.")
        half = len(self.axes) // 2
        is_twice = half > 0 and self.axes[:half] == self.axes[half:]
        if self.pairs and not (is_twice and self.cap is None and len(self.values) == 1):
            raise UsageError("pairs needs one value, no cap, and every axis of one record twice; pass such axes.")

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def dimension(self) -> int:
        """Number of coordinates a group: value ``i`` in cell ``k`` is coordinate ``i * cells + k``."""
        return len(self.values) * self.cells

    @property
    def of_one(self) -> "Aggregation":
        """The same for single records: of pairs the axes of the first one."""
        return replace(self, axes=self.axes[: len(self.axes) // 2], pairs=False) if self.pairs else self

    @property
    def is_plain(self) -> bool:
        """Whether it is a vector of plain means over all users."""
        return not self.axes and self.users is None and self.cap is None

    def group_sizes(self, users: int) -> Sequence[int]:
        """Return the public number of users of each group."""
        return (users,) if self.users is None else self.users.sizes
