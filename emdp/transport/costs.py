"""The matrix of ground distances for a solver: built block by block, and refused unless it lies in [0, 1]."""

import numpy as np

from emdp.base.errors import SolverError
from emdp.spaces.base import Floats, Space

__all__ = ["check_costs", "ground_costs"]

BLOCK_ENTRIES = 2**16
# Entries computed at a time: 512 kB, so that the temporary arrays of a space's distances stay in a core's
# cache and are not returned to the operating system each time (at 3000 x 3000 half of the time was that).


def ground_costs(space: Space, sources: Floats, targets: Floats) -> Floats:
    """Return ``d_X`` between two arrays of encoded items, shape (n, m), C-contiguous.

    Raises
    ------
    SolverError
        If the space returns a value outside [0, 1].
    """
    rows, columns = sources.shape[0], targets.shape[0]
    if rows * columns <= BLOCK_ENTRIES:
        return check_costs(np.ascontiguousarray(space.distances(sources, targets)))
    costs = np.empty((rows, columns))
    step = max(1, BLOCK_ENTRIES // columns)
    for start in range(0, rows, step):
        part = slice(start, start + step)
        costs[part] = check_costs(space.distances(sources[part], targets))
    return costs


def check_costs(costs: Floats) -> Floats:
    """Return ``costs``, or raise ``SolverError`` if one is not in [0, 1]: POT would return a number.

    >>> check_costs(np.array([[0.0, np.nan]]))
    Traceback (most recent call last):
    emdp.base.errors.SolverError: ground distances must be finite and in [0, 1]; correct the space's distances.
    """
    if not (costs.min() >= 0 and costs.max() <= 1):
        raise SolverError("ground distances must be finite and in [0, 1]; correct the space's distances.")
    return costs
