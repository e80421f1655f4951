"""Small shuffles in full: the law of the released multiset for every bag, and the divergence of all neighbours.

Not a test file: ``load`` it by path (tests share no package).
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Small:
    """A finite space (distances at most 1) and a randomizer on it, with the ``alpha0`` that its matrix really has."""

    distances: Floats
    matrix: Floats

    @property
    def alpha0(self) -> float:
        logs = np.log(self.matrix)
        gaps = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
        apart = self.distances > 0
        return float((gaps[apart] / self.distances[apart]).max()) * (1 + 1e-12)

    @property
    def w_min(self) -> float:
        return float(self.distances[self.distances > 0].min())


def random_metric(generator: np.random.Generator, k: int) -> Floats:
    """A metric of diameter 1: 0/1, points on a line or in a square, or shortest paths of a random graph."""
    kind = generator.integers(4)
    if kind == 0:
        return 1 - np.eye(k)
    if kind == 1:
        points = generator.random((k, generator.integers(1, 3)))
        metric = np.linalg.norm(points[:, None] - points[None], axis=2)
    else:
        low = 0.02 if kind == 2 else 0.5
        metric = low + (1 - low) * generator.random((k, k)) ** 2
        metric = np.minimum(metric, metric.T)
        np.fill_diagonal(metric, 0)
        for middle in range(k):
            metric = np.minimum(metric, metric[:, middle, None] + metric[None, middle])
    return metric / metric.max()


def random_randomizer(generator: np.random.Generator, metric: Floats, alpha0: float) -> Floats:
    """A matrix of about that strength: exponential of Lipschitz scores, all of full slope or damped."""
    k = len(metric)
    outputs = int(generator.integers(2, 5))
    anchors = generator.integers(0, k, size=outputs)
    slopes = generator.choice([1.0, 1.0, -1.0, 0.5, 0.0], size=outputs)
    scores = slopes * np.abs(metric[:, anchors] - generator.choice([0.0, 0.0, 0.3], size=outputs))
    weights = np.exp(-alpha0 * scores / 2) * generator.random(outputs) ** 2 + 1e-9
    return weights / weights.sum(axis=1, keepdims=True)


def bags(k: int, size: int) -> list[tuple[int, ...]]:
    """All multisets of ``size`` items."""
    return list(itertools.combinations_with_replacement(range(k), size))


def released(matrix: Floats, bag: tuple[int, ...]) -> Floats:
    """The law of the output histogram, flat: each item shifts one count."""
    outputs, size = matrix.shape[1], len(bag)
    law = np.zeros((size + 1,) * (outputs - 1))
    law[(0,) * (outputs - 1)] = 1.0
    for item in bag:
        following = law * matrix[item, -1]
        for output in range(outputs - 1):
            following = following + matrix[item, output] * np.roll(law, 1, axis=output)
        law = following
    return law.ravel()


def bag_distance(metric: Floats, one: tuple[int, ...], two: tuple[int, ...]) -> float:
    """``d_EM`` of two bags of one size: the cost of an optimal assignment, divided by the size."""
    costs = metric[np.ix_(one, two)]
    rows, columns = linear_sum_assignment(costs)
    return float(costs[rows, columns].sum()) / len(one)


def neighbours(small: Small, m: int, N: int) -> tuple[Floats, Floats, Floats]:
    """The laws ``P`` and ``Q`` of all neighbours, and their distances: every bag of a user, every bag of the others."""
    k = len(small.distances)
    laws = {bag: released(small.matrix, bag) for bag in bags(k, N)}
    own = bags(k, m)
    pairs = [(one, two, bag_distance(small.distances, one, two)) for one in own for two in own if one != two]
    first, second, apart = [], [], []
    for others in bags(k, N - m):
        for one, two, distance in pairs:
            first.append(laws[tuple(sorted(one + others))])
            second.append(laws[tuple(sorted(two + others))])
            apart.append(distance)
    return np.array(first), np.array(second), np.array(apart)


def divergence(P: Floats, Q: Floats, levels: Floats) -> float:
    """The largest ``H_exp(level)(P, Q)`` of all pairs."""
    return float(np.maximum(P - np.exp(levels)[:, None] * Q, 0).sum(axis=1).max())


def smallest_alpha(P: Floats, Q: Floats, apart: Floats, delta: float) -> float:
    """The smallest alpha that really holds for all pairs, to 1e-9."""
    low, high = 0.0, 1.0
    while divergence(P, Q, high * apart) > delta:
        high *= 2
        if high > 1e6:
            return math.inf
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if divergence(P, Q, middle * apart) <= delta else (middle, high)
    return low
