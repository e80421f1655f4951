"""Bounds over all pairs of items with vectors, most of which are passed over: against all pairs, in longer numbers."""

import numpy as np
import pytest

from emdp.expressions.analysis.checker import analyse
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.cells.label_bounds import crossing_constant
from emdp.expressions.nodes import label_distances
from emdp.expressions.nodes.lookup import LabelValue
from emdp.spaces import Embedding


def words(rng: np.random.Generator, count: int, dimension: int, size: float) -> Embedding:
    """Vectors in bundles, some pairs of which are very near, all of them far from the origin."""
    centres = rng.normal(size=(count // 10, dimension))
    vectors = size * (3.0 + centres[rng.integers(0, count // 10, count)] + 0.2 * rng.normal(size=(count, dimension)))
    vectors[7] = vectors[count - 5] * (1 + 1e-9)
    return Embedding("w", {"w": [f"w{i}" for i in range(count)], **{f"x{j}": vectors[:, j] for j in range(dimension)}})


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e140, 1e-140])
@pytest.mark.parametrize("dimension", [2, 8, 40])
def test_floors_are_below_the_distances(dimension: int, size: float) -> None:
    vectors = words(np.random.default_rng(dimension), 60, dimension, size).vector_table
    codes = np.arange(len(vectors))
    floors = label_distances._floors(vectors, np.einsum("ij,ij->i", vectors, vectors), codes, codes)
    exact = np.sqrt(np.square(vectors.astype(np.longdouble)[:, None] - vectors[None]).sum(axis=2))
    assert (floors <= exact).all()
    if dimension >= label_distances.FEWEST_FILTERED and 1e-100 < size < 1e100:
        assert (floors[exact > 1e-4 * size] > 0.99 * exact[exact > 1e-4 * size]).all()


@pytest.mark.parametrize("count", [40, 1300])
@pytest.mark.parametrize("dimension", [3, 24])
def test_bounds_are_those_of_all_pairs(dimension: int, count: int) -> None:
    rng = np.random.default_rng(count + dimension)
    part = words(rng, count, dimension, 1.0)
    codes = np.arange(len(part.vector_table), dtype=float)[:, None]
    distances = part.natural_distances(codes, codes)
    cells = rng.integers(0, 4, count)
    cells[7], cells[count - 5] = 0, 1
    axis = LabelAxis("w", tuple(tuple(f"w{i}" for i in np.flatnonzero(cells == cell)) for cell in range(4)))
    own = np.append(cells, -1)
    least = distances[np.not_equal.outer(own, own)].min()
    assert part.diameter / least <= crossing_constant(axis, part) <= part.diameter / least * (1 + 1e-12)
    numbers = np.append(rng.normal(size=count), 0.0)
    leaf = LabelValue(tuple((f"w{i}", float(numbers[i])) for i in range(count)), 0.0, "w", "t.x")
    apart = ~np.eye(len(numbers), dtype=bool)
    steepest = (np.abs(np.subtract.outer(numbers, numbers))[apart] / distances[apart]).max() * part.diameter
    assert steepest <= analyse(leaf, part).parts[0] <= steepest * (1 + 1e-12)


def test_few_pairs_are_computed() -> None:
    part = words(np.random.default_rng(3), 2000, 24, 1.0)
    seen: list[int] = []
    original = Embedding.natural_distances

    def counted(self: Embedding, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        seen.append(len(left) * len(right))
        return original(self, left, right)

    axis = LabelAxis("w", tuple(tuple(f"w{i}" for i in range(cell, 2000, 3)) for cell in range(3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Embedding, "natural_distances", counted)
        crossing_constant(axis, part)
    assert sum(seen) < 0.4 * 2000**2
