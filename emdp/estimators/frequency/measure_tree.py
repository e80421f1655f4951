"""A measure at user level by a tree: blocks of 16 x 16, 4 x 4 and single nodes of a plane, with noise on each of them.

Sums over coarse blocks have little noise, and least squares puts the levels together: so mass that is far away is known
better than by noise on single nodes, where a region's error is the sum of all its nodes'. Theorem and proof stand in
:mod:`emdp.mechanisms.central.tree`; it is for a plane, a part of two axes that do not go round.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from emdp.base.errors import UsageError
from emdp.estimators.frequency.measure_cells import BY_TREE, MeasureCells, chosen_parts, measure_cells
from emdp.estimators.frequency.measure_rows import MeasureRows
from emdp.estimators.plan import Plan, parallel_event
from emdp.estimators.user_groups import GroupNoise
from emdp.expressions.cells.aggregation import Aggregation
from emdp.expressions.cells.errors import aggregation_sum_error
from emdp.expressions.cells.flow_bounds import is_partition
from emdp.mechanisms.central.additive import AdditiveMechanism, tail_below
from emdp.mechanisms.central.tree import BRANCHING, Tree, tree_mechanism
from emdp.questions.columns import PlannedColumn, Released
from emdp.questions.price import Price
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.transport.fit import FitAxis, fit_measure

__all__ = ["REFUSAL", "TreePlan", "TreeRows", "tree_cells", "tree_column", "tree_noise", "tree_of"]

LEVELS = 3
"""Levels without a pitch of one's own: 64 nodes along the longer axis. Two were farther from the truth above a loss of
some 1000 where noise on every node is not nearer than both, four above 30,000 no nearer."""

REFUSAL = (
    "a tree is of a plane alone (release that with columns=[..] and noise='tree', and the rest as a measure of its "
    "own: joined() puts them together)"
)


def tree_cells(space: Space, loss: float, asked: dict[str, Any]) -> MeasureCells | None:
    """Return the nodes of a tree on a plane, None where the measure is of anything else.

    Parameters
    ----------
    space : Space
        The item space.
    loss : float
        Epsilon times the public number of users.
    asked : dict
        Pitch, resolution and columns, as in :func:`measure_cells`.
    """
    part, *others = chosen_parts(space, asked["columns"])
    if others or part.labels is not None or part.grid_refusal() is not None:
        return None
    lines = part.grid_lines(part.domain_diameter / 8)
    if len(lines) != 2 or any(line.goes_round for line in lines):
        return None
    if asked["pitch"] is not None:
        grid = measure_cells(space, loss, rule=BY_TREE, **asked)
        return grid if grid.cells.size > 1 else None
    most, pitch = BRANCHING**LEVELS, part.domain_diameter / 64
    for _ in range(4):
        # nodes along the longer axis are as many as the levels have room for, or a few less where steps are rounded up
        grid = measure_cells(space, loss, rule=BY_TREE, **{**asked, "pitch": pitch})
        pitch = grid.pitch * (max(axis.size for axis in grid.cells.axes) - 1) / (most - 1) * (1.0 + 1e-9)
    return grid if max(axis.size for axis in grid.cells.axes) <= most else None


def tree_of(grid: MeasureCells) -> Tree:
    """Return the tree over the nodes of a grid."""
    return Tree(tuple(axis.size for axis in grid.cells.axes))


def tree_noise(aggregation: Aggregation, space: Space, users: int, price: Price, tree: Tree) -> GroupNoise:
    """Return the noise on the blocks of a tree, and what it costs.

    Raises
    ------
    UsageError
        If the nodes' weights do not add up to 1, or the price is under alpha.
    """
    if not price.is_user_level or not is_partition(aggregation, space):
        raise UsageError(f"noise='tree' has no bound here: {REFUSAL}; leave noise out.")
    error = aggregation_sum_error(aggregation, space)
    away = space.elsewhere is not None
    mechanism = tree_mechanism(tree, users=users, epsilon=price.level, sum_error=error, has_away=away)
    reason = f"Laplace noise on blocks of {tree.levels} levels: {mechanism.scale:.3g} over each level's factor."
    return GroupNoise((mechanism,), parallel_event((mechanism,), price.promise()), reason)


def tree_column(column: PlannedColumn, grid: MeasureCells, mechanism: AdditiveMechanism) -> PlannedColumn:
    """Return the preview of shares by a tree: errors are those of least squares."""
    tree = tree_of(grid)
    error, width = tree.mean_absolute(mechanism.scale), tree.half_width(mechanism, tail_below(0.95))
    return replace(column, expected_error=error, interval_95=width)


@dataclass(frozen=True, eq=False, kw_only=True)
class TreePlan(Plan):
    """A plan whose statistic is summed over the blocks of a tree before noise.

    Parameters
    ----------
    tree : Tree
        The tree; the aggregation's cells are its nodes.
    """

    tree: Tree

    def prepared(self, statistic: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return the sums over all blocks, and of the share elsewhere, as the mechanism takes them."""
        return (*self.tree.sums(statistic), *(self.tree.away * own for own in self._absent(statistic)))

    def restored(self, released: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return the released sums as they are: rows are made of them by least squares."""
        return tuple(released)

    def prepared_again(self, released: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return the released sums as they are."""
        return tuple(released)


@dataclass(frozen=True, eq=False)
class TreeRows(MeasureRows):
    """Rows of a measure by a tree: shares of nodes by least squares of all levels, with their intervals."""

    @property
    def tree(self) -> Tree:
        """The tree."""
        return tree_of(self.grid)

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the nodes with their shares by least squares; see :class:`Finisher`."""
        values, tail = self._estimated(released), tail_below(level)
        tail /= len(values) if together else 1
        width = np.full(len(values), self.tree.half_width(self.mechanism, tail))
        if self.has_away:
            width[-1] = self.mechanism.interval_half_width(1.0 - tail) / float(self.tree.away) * (1.0 + 2.0**-40)
        ends = [pl.Series(f"{self.name}_low", values - width), pl.Series(f"{self.name}_high", values + width)]
        return self._nodes().with_columns(pl.Series(self.name, values), *ends)

    def _estimated(self, released: Released) -> Floats:
        values = [float(value) for value in released[0]]
        whole = self.tree.estimate(values[: self.tree.dimension])
        nodes = whole[tuple(slice(axis.size) for axis in self.grid.cells.axes)].ravel()
        return np.append(nodes, [own / float(self.tree.away) for own in values[self.tree.dimension :]])

    def _fit(self, values: Floats) -> Floats:
        tree = self.tree
        side = BRANCHING**tree.levels
        axes = [
            FitAxis(np.pad(weights, ((0, side - len(weights)), (0, 0))), "tree", 1.0) for weights in self.grid.weights()
        ]
        nodes, away = np.split(values, [tree.dimension])
        shared: dict[str, Any] = {"strengths": tree.strengths, "steps": self.steps}
        if self.has_away:
            shared |= {"away_value": float(away[0]) / float(tree.away), "away_strength": float(tree.away) ** 2}
        return fit_measure(tree.estimate(nodes.tolist()).ravel(), axes, **shared)
