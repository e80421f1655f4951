"""Optimal couplings of two bags, row by row."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import field

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.spaces.base import Space
from emdp.transport.bags import Bag, Empty, Units, bag_from_frame, common_units, item_ids, measures
from emdp.transport.cancel import cancel_common
from emdp.transport.costs import ground_costs
from emdp.transport.line import monotone
from emdp.transport.routes import cluster_codes, optimal_flows, within

__all__ = ["plan"]

SLIVER = 1e-15
# Share of the mass below which an entry of a plan of proportions is the rounding of another entry.


def plan(P: object, Q: object, space: Space, *, empty: Empty = "error") -> pl.DataFrame:
    """Return an optimal coupling of two bags: which record's mass goes where.

    Parameters
    ----------
    P, Q : frame
        Items and weights as for :func:`emdp.transport.d_em`.
    space : Space
        The item space.
    empty : {"error", "neutral"}
        As for :func:`d_em`; the neutral item then is row 0.

    Returns
    -------
    polars.DataFrame
        Columns ``source`` and ``target`` (row positions in P and Q from 0), ``mass`` (positive, sum 1) and
        ``distance`` (``d_X`` of the two items); sorted by source and target. The sum of mass times distance
        is ``d_em``; the masses of a row add up to its weight divided by the bag's. Rows of weight 0 do not
        occur.

    Raises
    ------
    UsageError, InvalidItemError, SolverError
        As :func:`emdp.transport.d_em`.

    >>> from emdp.spaces import Interval
    >>> plan({"x": [0.0, 10.0]}, {"x": [5.0]}, Interval("x", 0, 10)).rows()
    [(0, 0, 0.5, 0.5), (1, 0, 0.5, 0.5)]
    """
    p, q = bag_from_frame("P", P, space, empty), bag_from_frame("Q", Q, space, empty)
    units = common_units(float(p.weights.sum()), float(q.weights.sum()), p.whole and q.whole)
    build = _line_moves if space.structure == "line" else _moves
    return _frame(build(p, q, units, space), units)


@dataclass
class _Moves:
    """A coupling being built: mass that rows of P still send, that rows of Q still receive, and entries."""

    supply: list[float]
    demand: list[float]
    entries: list[tuple[int, int, float, float]] = field(default_factory=list)

    def move(self, source: int, target: int, most: float, distance: float) -> float:
        """Move what both rows still have, but no more than ``most``, and return it."""
        mass = min(self.supply[source], self.demand[target], most)
        if mass > 0:
            self.supply[source] -= mass
            self.demand[target] -= mass
            self.entries.append((source, target, mass, distance))
        return mass

    def match_equal(self, keys_p: Sequence[int], keys_q: Sequence[int], distance: float) -> None:
        """Move as much as possible between rows of equal key, all at one distance."""
        waiting = _rows_by_key(keys_q)
        for source, key in enumerate(keys_p):
            rows = waiting[key]
            while rows and self.supply[source] > 0:
                self.move(source, rows[-1], np.inf, distance)
                if self.demand[rows[-1]] <= 0:
                    rows.pop()

    def follow(
        self, flows: Iterable[tuple[int, int, float, float]], keys_p: Sequence[int], keys_q: Sequence[int]
    ) -> None:
        """Carry out flows (key of source, key of target, mass, distance) between the rows of these keys."""
        sending, waiting = _rows_by_key(keys_p), _rows_by_key(keys_q)
        for key_p, key_q, mass, distance in flows:
            left, sources, targets = mass, sending[key_p], waiting[key_q]
            while left > 0 and sources and targets:
                left -= self.move(sources[-1], targets[-1], left, distance)
                if self.supply[sources[-1]] <= 0:
                    sources.pop()
                if self.demand[targets[-1]] <= 0:
                    targets.pop()


def _line_moves(p: Bag, q: Bag, units: Units, space: Space) -> _Moves:
    supply, demand = p.weights * units.factor_p, q.weights * units.factor_q
    x, y = space.line(p.items), space.line(q.items)
    entries = [(i, j, mass, abs(float(x[i] - y[j]))) for i, j, mass in monotone(x, y, supply, demand)]
    return _Moves([], [], entries)


def _moves(p: Bag, q: Bag, units: Units, space: Space) -> _Moves:
    ids = item_ids(np.concatenate([p.items, q.items]))
    ids_p, ids_q = ids[: p.items.shape[0]].tolist(), ids[p.items.shape[0] :].tolist()
    moves = _Moves((p.weights * units.factor_p).tolist(), (q.weights * units.factor_q).tolist())
    moves.match_equal(ids_p, ids_q, 0.0)
    if space.structure == "general":
        moves.follow(_general_flows(p, q, space), ids_p, ids_q)
        return moves
    if space.structure == "clusters":
        codes_p, codes_q = (cluster_codes(space, bag.items).tolist() for bag in (p, q))
        moves.match_equal(codes_p, codes_q, within(space))
    moves.match_equal([0] * len(ids_p), [0] * len(ids_q), 1.0)
    return moves


def _general_flows(p: Bag, q: Bag, space: Space) -> list[tuple[int, int, float, float]]:
    left, right = measures([p, q])
    problem = cancel_common(left, right)
    if problem.moved == 0:
        return []
    costs = ground_costs(space, left.items[problem.sources], right.items[problem.targets])
    sources, targets = left.ids[problem.sources].tolist(), right.ids[problem.targets].tolist()
    return [(sources[i], targets[j], mass, float(costs[i, j])) for i, j, mass in optimal_flows(problem, costs)]


def _rows_by_key(keys: Sequence[int]) -> dict[int, list[int]]:
    rows: dict[int, list[int]] = defaultdict(list)
    for row in range(len(keys) - 1, -1, -1):
        rows[keys[row]].append(row)
    return rows


def _frame(moves: _Moves, units: Units) -> pl.DataFrame:
    least = 0.0 if units.whole else SLIVER
    kept = [entry for entry in moves.entries if entry[2] > least]
    source, target, mass, distance = zip(*kept, strict=True)
    table = pl.DataFrame(
        {"source": source, "target": target, "mass": mass, "distance": distance},
        schema={"source": pl.Int64, "target": pl.Int64, "mass": pl.Float64, "distance": pl.Float64},
    )
    return table.with_columns(pl.col("mass") / units.total).sort("source", "target")
