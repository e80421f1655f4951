"""The linear program of the optimal mechanism, on a sparse set of constraints.

Program. Over laws ``A`` on ``k`` items: minimise ``sum_x p_x sum_y A[x, y] d(x, y)`` subject to ``A 1 = 1``, ``A >= 0``
and ``A[x, y] <= exp(a d(x, x')) A[x', y]``. Two reductions make it small.

*Spanner.* Constraints are kept on a graph of pairs alone. If its shortest paths are at most ``t`` times the distances
and each of its pairs has the constraint at ``a/t``, the product of those along a path gives the constraint at ``a`` for
every pair. With ``t = 1`` (pairs that a third item lies between are left out) nothing is lost.

*Outputs.* A program that still has too many constraints is given fewer outputs: a net of items, closed under the
symmetries, that lies as evenly as the distances let it. A law that never uses an output is a law, so this is one of the
programs' candidates; it costs a part of the net's width, and a spanner that is that much longer costs more. (On a
20 x 20 grid at ``alpha0 = 4``: 0.2393 with 52 outputs and stretch 1.03, 0.2443 with all and stretch 1.41.)

*Symmetry.* The average of a solution over permutations that preserve ``d`` and ``p`` is a solution of the same value,
so entries that those carry to each other may share one variable. Of two constraints on the same two variables, at
different distances, the tighter one implies the other.

No guarantee rests on the program's solution: the randomizer checks the integer weights that are made of it.
"""

from typing import Any

import numpy as np

from emdp.base.errors import SolverError
from emdp.mechanisms.weights import Floats, Integers

__all__ = ["optimal_law", "output_net", "sparse_pairs", "stretch_of"]

STRETCHES = (1.0, 1.05, 1.1, 1.25, 1.5)
"""Stretches of the spanners that are tried, the tightest first."""

SHORTEST = 1.05
"""Stretch from which on a program has fewer outputs rather than a longer spanner."""

NET_DIGITS = 9
"""Decimals of distances that a choice of outputs looks at."""

LEAST_OUTPUTS = 16
"""Outputs below which a longer spanner is tried first; of the longest a quarter will do."""

BETWEEN = 1 + 1e-9
"""Factor by which a detour may be longer and still leave a pair out; the stretch is measured afterwards."""


def sparse_pairs(matrix: Floats, symmetries: int, most_constraints: int) -> tuple[Integers, float, int]:
    """Return pairs of items whose paths span all distances, their stretch, and how many outputs a program may have.

    Parameters
    ----------
    matrix : numpy.ndarray
        Distances, shape (items, items), positive off the diagonal.
    symmetries : int
        Number of symmetries, by which the number of constraints is divided.
    most_constraints : int
        Constraints, after symmetry, that a program may have.

    Returns
    -------
    tuple of numpy.ndarray, float, int
        The unordered pairs, shape (pairs, 2); their stretch; the outputs, at least 1, at most one an item.

    >>> sparse_pairs(np.array([[0.0, 0.5, 1.0], [0.5, 0.0, 0.5], [1.0, 0.5, 0.0]]), 1, 1000)
    (array([[0, 1],
           [1, 2]]), 1.0, 3)
    """
    budget = most_constraints * symmetries
    pairs, stretch, outputs = np.empty((0, 2), dtype=np.int64), 1.0, 1
    for wanted in STRETCHES:
        least = LEAST_OUTPUTS if SHORTEST <= wanted < STRETCHES[-1] else LEAST_OUTPUTS // 4
        found = _direct_pairs(matrix) if wanted == 1 else _greedy_spanner(matrix, wanted, budget // (2 * least))
        if found is None:
            continue
        pairs, stretch = found, stretch_of(found, matrix)
        outputs = min(max(budget // (2 * len(pairs)), 1), len(matrix))
        if outputs == len(matrix) or (wanted >= SHORTEST and outputs >= LEAST_OUTPUTS):
            break
    return pairs, stretch, outputs


def output_net(matrix: Floats, symmetries: tuple[Integers, ...], most: int) -> Integers:
    """Return at most so many items, or the orbit of one, closed under symmetries and spread by farthest points.

    >>> output_net(np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))), (np.arange(5), np.arange(5)[::-1]), 3)
    array([0, 2, 4])
    """
    group = np.stack(symmetries)
    near, chosen = np.full(len(matrix), np.inf), np.zeros(len(matrix), dtype=np.bool_)
    # Rounded, so that of items that are as far the first is taken, whatever their last digits.
    following = int(matrix.max(axis=1).round(NET_DIGITS).argmin())
    while following >= 0:
        orbit = np.unique(group[:, following])
        if chosen.any() and np.count_nonzero(chosen) + len(orbit) > most:
            break
        chosen[orbit] = True
        near = np.minimum(near, matrix[:, orbit].min(axis=1))
        following = int(near.round(NET_DIGITS).argmax()) if near.max() > 0 else -1
    return np.flatnonzero(chosen)


def stretch_of(pairs: Integers, matrix: Floats) -> float:
    """Return the largest quotient of a shortest path along pairs by a distance, at least 1."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    lengths = csr_matrix((matrix[pairs[:, 0], pairs[:, 1]], (pairs[:, 0], pairs[:, 1])), shape=matrix.shape)
    paths = np.asarray(dijkstra(lengths, directed=False), dtype=np.float64)
    apart = matrix > 0
    return max(1.0, float((paths[apart] / matrix[apart]).max()))


def optimal_law(
    matrix: Floats,
    prior: Floats,
    alpha0: float,
    symmetries: tuple[Integers, ...],
    *,
    most_constraints: int,
    seconds: float,
    sparse: tuple[Integers, float, int] | None = None,
) -> tuple[Floats, float]:
    """Return the law that the program finds and the stretch of its constraints.

    Parameters
    ----------
    matrix : numpy.ndarray
        Distances, shape (items, items).
    prior : numpy.ndarray
        Weight of each item, shape (items,).
    symmetries : tuple of numpy.ndarray
        A group of permutations of items that preserves ``matrix`` and ``prior``.
    most_constraints : int
        As for :func:`sparse_pairs`.
    sparse : tuple, optional
        What that returns of them, which is the same at every strength.

    Raises
    ------
    SolverError
        If the solver does not prove its solution optimal.
    """
    from scipy.optimize import linprog

    pairs, stretch, most = sparse or sparse_pairs(matrix, len(symmetries), most_constraints)
    outputs = output_net(matrix, symmetries, most)
    variable = _variables(symmetries, len(matrix), outputs)
    rows = np.flatnonzero(np.min(symmetries, axis=0) == np.arange(len(matrix)))
    bounds = _constraints(pairs, matrix, alpha0 / stretch, variable)
    sums = _row_sums(variable[rows])
    cost = np.bincount(variable.ravel(), (prior[:, None] * matrix[:, outputs]).ravel())
    found = linprog(
        cost,
        A_ub=bounds,
        b_ub=np.zeros(bounds.shape[0]),
        A_eq=sums,
        b_eq=np.ones(len(rows)),
        bounds=(0, None),
        method="highs-ipm",
        options={"time_limit": seconds},
    )
    if found.status != 0 or found.x is None:
        raise SolverError(
            f"the linear program of {len(cost)} variables and {bounds.shape[0]} constraints was not solved within "
            f"{seconds:.0f} s (status {found.status}); use fewer items, more seconds, or Exponential."
        )
    law = np.zeros_like(matrix)
    law[:, outputs] = np.maximum(np.asarray(found.x, dtype=np.float64), 0.0)[variable]
    return law, stretch


def _direct_pairs(matrix: Floats) -> Integers:
    """Return the pairs that no third item lies between."""
    kept, reach, detour = np.triu(matrix > 0, 1), matrix * BETWEEN, np.empty_like(matrix)
    for middle in range(len(matrix)):
        between = np.add(matrix[:, middle, None], matrix[middle], out=detour) <= reach
        between[middle], between[:, middle] = False, False
        kept[between] = False
    return np.argwhere(kept)


def _greedy_spanner(matrix: Floats, wanted: float, most: int) -> Integers | None:
    """Return the greedy spanner: shortest pairs first, each if the pairs so far leave it more than ``wanted`` long.

    None if it has more than ``most`` pairs.
    """
    first, second = np.nonzero(np.triu(matrix > 0, 1))
    paths = np.where(np.eye(len(matrix), dtype=bool), 0.0, np.inf)
    chosen = []
    for place in np.argsort(matrix[first, second], kind="stable"):
        x, y = int(first[place]), int(second[place])
        length = matrix[x, y]
        if paths[x, y] <= wanted * length * BETWEEN:
            continue
        chosen.append((x, y))
        if len(chosen) > most:
            return None
        # A path by way of the new pair is shorter only between items to which one of its ends comes nearer.
        ends, starts = np.flatnonzero(paths[x] + length < paths[y]), np.flatnonzero(paths[y] + length < paths[x])
        shorter = np.add.outer(paths[x, ends] + length, paths[y, starts])
        shorter = np.minimum(paths[np.ix_(ends, starts)], shorter)
        paths[np.ix_(ends, starts)], paths[np.ix_(starts, ends)] = shorter, shorter.T
    return np.array(chosen, dtype=np.int64)


def _variables(symmetries: tuple[Integers, ...], count: int, outputs: Integers) -> Integers:
    """Return the number of each entry's variable, shape (items, outputs)."""
    first, second = np.repeat(np.arange(count), len(outputs)), np.tile(outputs, count)
    least = np.min([moved[first] * count + moved[second] for moved in symmetries], axis=0)
    return np.unique(least, return_inverse=True)[1].reshape(count, len(outputs)).astype(np.int64)


def _constraints(pairs: Integers, matrix: Floats, alpha0: float, variable: Integers) -> Any:
    """Return the rows ``A[x, y] - exp(alpha0 d(x, x')) A[x', y] <= 0``, each once.

    One pair of variables may stand for pairs of items at several distances; the least distance binds.
    """
    from scipy.sparse import csr_matrix

    ordered = np.concatenate([pairs, pairs[:, ::-1]])
    left, right = variable[ordered[:, 0]].ravel(), variable[ordered[:, 1]].ravel()
    size = int(variable.max()) + 1
    entries, place = np.unique(left * size + right, return_inverse=True)
    distances = np.repeat(matrix[ordered[:, 0], ordered[:, 1]], variable.shape[1])
    nearest = np.full(len(entries), np.inf)
    np.minimum.at(nearest, place, distances)
    left, right = np.divmod(entries, size)
    apart = left != right
    left, right, factor = left[apart], right[apart], np.exp(alpha0 * nearest[apart])
    numbers = np.arange(len(factor))
    return csr_matrix(
        (
            np.concatenate([np.ones(len(factor)), -factor]),
            (np.concatenate([numbers, numbers]), np.concatenate([left, right])),
        ),
        shape=(len(factor), size),
    )


def _row_sums(variable: Integers) -> Any:
    from scipy.sparse import csr_matrix

    numbers = np.repeat(np.arange(len(variable)), variable.shape[1])
    entries = (np.ones(variable.size), (numbers, variable.ravel()))
    return csr_matrix(entries, shape=(len(variable), int(variable.max()) + 1))
