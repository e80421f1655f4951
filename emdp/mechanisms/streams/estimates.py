"""Linear estimates from the rows of a stream, each with its exact standard deviation: post-processing.

Rows are ``y = A x + z``, ``A`` the strategy's matrix with the columns of the periods that were released (periods
without a row count as 0, which is public), ``z`` independent with standard deviation ``sigma``. For weights ``w`` the
estimate of ``w x`` is ``v y`` with ``v = A (A^T A)^-1 w``: of all unbiased linear ones it has the least variance,
``sigma^2 ‖v‖^2`` (Gauss and Markov). With one block ``A`` is square, and there is one only. The estimate for a period
uses rows up to that period, so it never changes as further rows come.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.mechanisms.streams.strategy import SCALE, Strategy

__all__ = ["SHOWS", "WINDOW", "Estimate", "combination", "estimate", "show_weights"]

SHOWS = ("day", "last 7", "to date", "change")
"""Figures of a period: itself, means of the last seven and of all so far that were released, the change since the one
before."""

WINDOW = 7
"""Periods of "last 7"."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimates of a weighted sum of periods, one for each coordinate.

    Parameters
    ----------
    values : ndarray of float64, shape (dimension,)
        In the statistic's unit.
    deviation : float
        Standard deviation of the noise in each, in that unit; the noises of coordinates are independent.
    """

    values: Floats
    deviation: float


def estimate(
    strategy: Strategy,
    rows: Mapping[int, Sequence[Sequence[int]]],
    weights: Mapping[int, float],
    *,
    sigma: float,
    grid: float,
) -> Estimate:
    """Return the best linear estimate of a weighted sum of periods.

    Parameters
    ----------
    rows : mapping of int to rows
        Released integers by period, counted from 1: one row a block.
    weights : mapping of int to float
        Weights of periods; those without rows count as 0.
    sigma, grid : float
        Of the stream.

    >>> rows = {1: [[SCALE * 8]], 2: [[SCALE * 4]]}
    >>> found = estimate(Strategy.of("days", 2), rows, {1: 0.5, 2: 0.5}, sigma=1.0, grid=0.5)
    >>> found.values.tolist(), round(found.deviation, 6)
    ([3.0], 0.707107)
    """
    released = tuple(sorted(rows))
    taken = np.array([weights.get(period, 0.0) for period in released])
    combined = combination(strategy, released, taken)
    stacked = np.array(
        [[float(value) for value in rows[period][block]] for block in range(strategy.blocks) for period in released]
    )
    return Estimate(combined @ stacked * (grid / SCALE), sigma * float(np.linalg.norm(combined)))


def combination(strategy: Strategy, released: tuple[int, ...], weights: Floats) -> Floats:
    """Return ``v``: how much each released row, a block after another, counts in the estimate of a weighted sum."""
    matrix = strategy.matrix(released)
    if strategy.blocks == 1:
        return np.asarray(np.linalg.solve(matrix.T, weights))
    return np.asarray(matrix @ np.linalg.solve(matrix.T @ matrix, weights))


def show_weights(show: str, released: Sequence[int]) -> dict[int, float] | None:
    """Return the weights of a figure at the last of some periods; None where there is no period before.

    >>> show_weights("change", [1, 2]), show_weights("change", [1]), show_weights("to date", [1, 2, 4, 5])
    ({2: 1.0, 1: -1.0}, None, {1: 0.25, 2: 0.25, 4: 0.25, 5: 0.25})
    """
    last = released[-1]
    if show == "day":
        return {last: 1.0}
    if show == "change":
        return {last: 1.0, released[-2]: -1.0} if len(released) > 1 else None
    taken = released if show == "to date" else [period for period in released if period > last - WINDOW]
    return {period: 1.0 / len(taken) for period in taken}
