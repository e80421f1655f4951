"""Exact distance of two bags by the route that the space's structure allows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, cast

import numpy as np

from emdp.base.errors import SolverError
from emdp.spaces.base import Floats, Space
from emdp.transport import discrete, line, tree
from emdp.transport.assignment import is_quick, match, unit_counts
from emdp.transport.bags import Bag, Ints, Measure, common_units, measures
from emdp.transport.cancel import Residual, cancel_common
from emdp.transport.costs import ground_costs
from emdp.transport.lp import Optimum, transport

__all__ = ["Clustered", "cluster_codes", "distance", "optimal_cost", "optimal_flows", "prepare", "within"]


class Clustered(Protocol):
    """Interface of a space of structure ``"clusters"``, beside that of all spaces."""

    @property
    def within(self) -> float:
        """Distance ``d_X`` of two different items of one cluster."""

    def cluster_codes(self, items: Floats) -> Ints:
        """Return the cluster of each encoded item as a whole number from 0, shape (n,)."""


def prepare(bags: Sequence[Bag], space: Space) -> list[Measure]:
    """Bring bags to the form that :func:`distance` takes; what is made together can be compared.

    On a line the items become sorted positions, repetitions kept. Elsewhere equal items are merged, and among
    clusters each distinct item becomes the number of its cluster.
    """
    if space.structure == "line":
        return [_sorted_positions(bag, space.line(bag.items)) for bag in bags]
    merged = measures(bags)
    if space.structure != "clusters":
        return merged
    return [replace(one, items=cluster_codes(space, one.items)[:, np.newaxis].astype(np.float64)) for one in merged]


def distance(p: Measure, q: Measure, space: Space) -> float:
    """Return ``d_em`` of two prepared bags, in [0, 1].

    Raises
    ------
    SolverError
        If the space's distances leave [0, 1] or a solve is not proven optimal.
    """
    value = min(_distance(p, q, space), 1.0)
    if not value >= 0:
        raise SolverError("a distance is no number, so it is withheld; check that weights and items are sound.")
    return value


def cluster_codes(space: Space, items: Floats) -> Ints:
    """Return the cluster of each encoded item of a clustered space."""
    return np.asarray(cast(Clustered, space).cluster_codes(items), dtype=np.int64)


def within(space: Space) -> float:
    """Return the distance of two different items of one cluster."""
    return cast(Clustered, space).within


def optimal_cost(problem: Residual, costs: Floats) -> float:
    """Return the least cost of a transport problem, for mass 1; costs are in [0, 1]."""
    if problem.supply.size == 1 or problem.demand.size == 1:
        return float((problem.supply / problem.moved) @ costs @ (problem.demand / problem.moved))
    units = unit_counts(problem.supply, problem.demand) if problem.whole else None
    if units is not None:
        copies = _copies(costs, *units)
        if is_quick(copies):
            chosen = copies[np.arange(copies.shape[0]), match(copies)]
            return float(chosen.sum()) / chosen.size
    return _solved(problem, costs)[0].cost


def optimal_flows(problem: Residual, costs: Floats) -> list[tuple[int, int, float]]:
    """Return an optimal plan as (source, target, mass): positions in the problem, masses in its unit."""
    optimum, unit = _solved(problem, costs)
    sources, targets = np.nonzero(optimum.flows)
    masses = optimum.flows[sources, targets] * unit
    return list(zip(sources.tolist(), targets.tolist(), masses.tolist(), strict=True))


def _distance(p: Measure, q: Measure, space: Space) -> float:
    if space.structure == "line":
        units = common_units(float(p.masses.sum()), float(q.masses.sum()), p.whole and q.whole)
        return line.distance(p.items[:, 0], q.items[:, 0], p.masses, q.masses, units)
    left_over = cancel_common(p, q)
    if left_over.moved == 0:
        return 0.0
    if space.structure == "discrete":
        return discrete.distance(left_over)
    sources, targets = p.items[left_over.sources], q.items[left_over.targets]
    if space.structure == "clusters":
        codes_p, codes_q = sources[:, 0].astype(np.int64), targets[:, 0].astype(np.int64)
        return tree.distance(left_over, codes_p, codes_q, within(space))
    costs = ground_costs(space, sources, targets)
    return optimal_cost(left_over, costs) * (left_over.moved / left_over.total)


def _sorted_positions(bag: Bag, positions: Floats) -> Measure:
    order = np.argsort(positions)
    return Measure(positions[order, np.newaxis], bag.weights[order], np.arange(order.size), bag.whole)


def _solved(problem: Residual, costs: Floats) -> tuple[Optimum, float]:
    """Return the optimum and the unit of its flows: the solver's tolerances are for masses of order 1 or more."""
    if problem.whole:
        return transport(problem.supply, problem.demand, costs), 1.0
    unit = problem.moved
    return transport(problem.supply / unit, problem.demand / unit, costs), unit


def _copies(costs: Floats, left: Ints, right: Ints) -> Floats:
    if costs.shape[0] != left.sum():
        costs = np.repeat(costs, left, axis=0)
    if costs.shape[1] != right.sum():
        costs = np.repeat(costs, right, axis=1)
    return costs
