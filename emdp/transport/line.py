"""Exact earth-mover distance on a line: the area between two distribution functions.

On a line, with ``d_X(x, y) = |x - y|``, the distance of two histograms is the integral of ``|F - G|`` over
the line, and some optimal plan is monotone: it pairs quantiles of equal rank (Villani, Topics in Optimal
Transportation, 2003, theorem 2.18). Of two bags of one size it is the mean of ``|x_(i) - y_(i)|`` over the
sorted items.
"""

import numpy as np

from emdp.spaces.base import Floats
from emdp.transport.bags import Units

__all__ = ["distance", "monotone"]


def distance(x: Floats, y: Floats, masses_x: Floats, masses_y: Floats, units: Units) -> float:
    """Return the distance of two histograms on a line.

    Parameters
    ----------
    x, y : numpy.ndarray
        Positions in units of ``d_X``, shapes (n,) and (m,), in any order, repetitions allowed.
    masses_x, masses_y : numpy.ndarray
        Their masses, same shapes, not negative.
    units : Units
        Normalisation of the two.

    >>> from emdp.transport.bags import common_units
    >>> halves = np.ones(2)
    >>> distance(np.array([0.0, 1.0]), np.array([0.5, 0.5]), halves, halves, common_units(2, 2, True))
    0.5
    """
    if x.size == y.size and _are_equal(masses_x, masses_y):
        return float(np.abs(np.sort(x) - np.sort(y)).mean())
    positions = np.concatenate([x, y])
    steps = np.concatenate([masses_x * units.factor_p, -masses_y * units.factor_q])
    order = np.argsort(positions)
    gaps = np.diff(positions[order])
    return float(np.abs(np.cumsum(steps[order])[:-1]) @ gaps) / units.total


def monotone(x: Floats, y: Floats, supply: Floats, demand: Floats) -> list[tuple[int, int, float]]:
    """Return the monotone plan as (position in x, position in y, mass), for masses of equal sums.

    >>> monotone(np.array([3.0, 1.0]), np.array([2.0]), np.array([1.0, 1.0]), np.array([2.0]))
    [(1, 0, 1.0), (0, 0, 1.0)]
    """
    sources, targets = np.argsort(x, kind="stable").tolist(), np.argsort(y, kind="stable").tolist()
    left, right = supply.tolist(), demand.tolist()
    flows = []
    i = j = 0
    while i < len(sources) and j < len(targets):
        source, target = sources[i], targets[j]
        mass = min(left[source], right[target])
        if mass > 0:
            flows.append((source, target, mass))
        left[source] -= mass
        right[target] -= mass
        i += left[source] <= 0
        j += right[target] <= 0
    return flows


def _are_equal(masses_x: Floats, masses_y: Floats) -> bool:
    return bool((masses_x == masses_x[0]).all() and (masses_y == masses_y[0]).all())
