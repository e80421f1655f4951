"""Designs of a batch: how often each action is played, so that every action's mean reward is known about as well.

Kiefer and Wolfowitz 1960: among all weights ``pi`` on actions that span ``R^d``, the largest ``a^T V^-1 a``, ``V = sum
pi_a a a^T``, is ``d`` at best. :func:`near_optimal` finds weights within 2 % of that by the steps of Frank and Wolfe,
from ``d`` actions that span. Actions that span less than ``R^d`` are taken in an orthonormal basis of their span, with
``d`` its dimension. Nothing here sees a reward, and no guarantee rests on it.
"""

import numpy as np

from emdp.base.arrays import Floats, Integers

__all__ = ["CLOSE", "design_counts", "in_their_span", "near_optimal"]

CLOSE = 1.02
"""How near the largest ``a^T V^-1 a`` comes to the best one, ``d``."""

MOST_STEPS = 20_000
RANK = 1e-9
"""Directions are left out whose singular value is below this part of the largest."""
LEAST_SHARE = 1e-3
"""Weights below this part of an even share are dropped."""


def in_their_span(actions: Floats) -> Floats:
    """Return actions in an orthonormal basis of their span, shape (actions, dimension of the span).

    >>> in_their_span(np.array([[1.0, 0.0], [-0.5, 0.0]])).shape
    (2, 1)
    """
    values, rows = np.linalg.svd(actions, full_matrices=False)[1:]
    return np.asarray(actions @ rows[values > RANK * values[0]].T, dtype=np.float64)


def near_optimal(actions: Floats) -> Floats:
    """Return the weight of each action, shape (actions,), at least 0 and adding up to 1; actions must span the space.

    >>> near_optimal(np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]])).round(3).tolist()
    [0.5, 0.5, 0.0]
    """
    from scipy.linalg import qr

    dimension = actions.shape[1]
    start = qr(actions.T, pivoting=True, mode="economic")[2][:dimension]
    weights = np.zeros(len(actions))
    weights[start] = 1.0 / dimension
    for _ in range(MOST_STEPS):
        spread = leverage(actions, weights)
        best = int(spread.argmax())
        if spread[best] <= CLOSE * dimension:
            break
        step = (spread[best] / dimension - 1.0) / (spread[best] - 1.0)
        weights *= 1.0 - step
        weights[best] += step
    kept = np.where(weights < LEAST_SHARE / len(actions), 0.0, weights)
    kept /= kept.sum()
    return kept if leverage(actions, kept).max() <= 2.0 * dimension else weights


def leverage(actions: Floats, weights: Floats) -> Floats:
    """Return ``a^T V^-1 a`` of each action."""
    information = (actions.T * weights) @ actions
    return np.asarray(np.einsum("ad,da->a", actions, np.linalg.solve(information, actions.T)), dtype=np.float64)


def design_counts(actions: Floats, size: float) -> Integers:
    """Return how often each action is played in a batch of about ``size`` rounds: shares of it, rounded up.

    >>> design_counts(np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]]), 9.0).tolist()
    [5, 5, 0]
    """
    return np.ceil(near_optimal(actions) * size - 1e-9).astype(np.int64)
