"""Exact earth-mover distances between bags of items (EMD 1, design.md "Exact distances")."""

from emdp.transport.arrays import solve, solve_points
from emdp.transport.bounds import d_em_bounds
from emdp.transport.distances import d_em
from emdp.transport.pairs import d_em_pairs
from emdp.transport.plans import plan

__all__ = ["d_em", "d_em_bounds", "d_em_pairs", "plan", "solve", "solve_points"]
