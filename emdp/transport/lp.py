"""The general transport problem by POT's network simplex, and a check of optimality independent of it.

The problem is ``min sum_ij G_ij C_ij`` over ``G >= 0`` with row sums ``supply`` and column sums ``demand``.
Its dual is ``max sum_i u_i supply_i + sum_j v_j demand_j`` subject to ``u_i + v_j <= C_ij``; any feasible
dual bounds the optimum from below. POT's result code is not enough: it calls wrong plans optimal where
costs differ by many orders of magnitude (EMD 8.4). So, whatever the code says, the signs and marginals of the
plan are checked, its potentials ``u`` are completed to a feasible dual by ``v_j = min_i (C_ij - u_i)``, and
the gap between the two values must be small: then the plan is optimal to within that gap. It is one pass over
``C`` and three over ``G``, 1 to 2 % of the solve from 300 points on.
"""

from functools import cache

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import SolverError
from emdp.spaces.base import Floats

__all__ = ["TOLERANCE", "Optimum", "transport"]

TOLERANCE = 1e-9
# Largest proven gap accepted, in units of cost (at most 1) for mass 1; usual ones are below 1e-12.

BLOCK = 64
# Rows of C handled at a time in the check: 3000 columns of them fill 1.5 MB, about a core's cache.

UNIT_ROUNDOFF = 2.0**-53
# Largest relative error of one operation in float64.

OPTIMAL = 1
# POT's result code (ot/lp/EMD.h: INFEASIBLE, OPTIMAL, UNBOUNDED, MAX_ITER_REACHED).


@dataclass(frozen=True, eq=False)
class Optimum:
    """A proven optimum."""

    cost: float  # Optimal cost for mass 1, in [0, 1]
    flows: Floats  # The plan, shape (n, m), in the unit of the supply
    gap: float  # Proven bound on `|cost - optimum|`, at most `TOLERANCE`


def transport(supply: Floats, demand: Floats, costs: Floats, *, max_pivots: int | None = None) -> Optimum:
    """Solve a transport problem, or raise.

    Parameters
    ----------
    supply, demand : numpy.ndarray
        Positive masses, shapes (n,) and (m,), of equal sums (to rounding).
    costs : numpy.ndarray
        Shape (n, m), C-contiguous, finite, in [0, 1].
    max_pivots : int, optional
        Pivots after which the solver gives up; the default is far above what problems need.

    Raises
    ------
    SolverError
        If the solver stops early, or its plan is not proven optimal to ``TOLERANCE``.

    >>> transport(np.array([1.0, 1.0]), np.array([2.0]), np.array([[0.5], [0.25]])).cost
    0.375
    """
    from ot.lp.emd_wrap import emd_c

    if max_pivots is None:
        # 1000 uniform points on each side need about 2e4.
        max_pivots = 1_000_000 + 10_000 * (supply.size + demand.size)
    flows, cost, potentials, _, code = emd_c(supply, demand, costs, max_pivots, 1, *_further())
    if code != OPTIMAL:
        raise SolverError(
            f"the transport solver stopped without an optimum (code {code}), so there is no distance; "
            "check that costs and weights are sound."
        )
    total = float(supply.sum())
    gap = _proven_gap(supply, demand, costs, flows, cost, potentials) / total
    if not gap <= TOLERANCE:
        raise SolverError(
            "the transport plan is not proven optimal, so there is no distance; "
            "check that costs do not differ by many orders of magnitude."
        )
    return Optimum(cost / total, flows, gap)


@cache
def _further() -> tuple[None, ...]:
    """Return what POT's solver takes besides since 0.9.7: potentials to begin with, of which there are none."""
    from ot import __version__ as version

    major, minor, patch = version.split(".")[:3]
    return (None, None) if (int(major), int(minor), int(patch)) >= (0, 9, 7) else ()


def _proven_gap(supply: Floats, demand: Floats, costs: Floats, flows: Floats, cost: float, potentials: Floats) -> float:
    """Return a bound on |cost - optimum|, in units of mass times cost.

    It is the gap to the dual, plus what a plan with these marginals and signs may differ in cost from a
    feasible one (costs are at most 1, and a basic plan has at most ``nodes`` entries), plus the rounding of
    the sums.
    """
    nodes = supply.size + demand.size
    # Not as products with ones: those would start the threads of a linear algebra library in every worker.
    sent, received = flows.sum(axis=1), flows.sum(axis=0)
    astray = float(np.abs(sent - supply).sum() + np.abs(received - demand).sum())
    astray += nodes * max(0.0, -float(flows.min()))
    targets = _target_potentials(costs, potentials)
    dual = float(potentials @ supply + targets @ demand)
    size = float(np.abs(potentials) @ supply + np.abs(targets) @ demand) + abs(cost)
    return abs(cost - dual) + astray + (nodes + 4) * UNIT_ROUNDOFF * size


def _target_potentials(costs: Floats, potentials: Floats) -> Floats:
    """Return the largest potentials of the targets that are feasible with those of the sources."""
    if costs.shape[0] <= BLOCK:
        return np.asarray(np.subtract(costs, potentials[:, np.newaxis]).min(axis=0), dtype=np.float64)
    targets = np.full(costs.shape[1], np.inf)
    buffer = np.empty((BLOCK, costs.shape[1]))
    for start in range(0, costs.shape[0], BLOCK):
        part = potentials[start : start + BLOCK, np.newaxis]
        reduced = np.subtract(costs[start : start + BLOCK], part, out=buffer[: part.shape[0]])
        np.minimum(targets, reduced.min(axis=0), out=targets)
    return targets
