"""The items of a finite space: distances rounded down, symmetries, lines, twins."""

from fractions import Fraction

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.items.distances import ItemDistances, line_positions, pair_orbits
from emdp.spaces import Categories, Clusters, Distances, Embedding, Geo, Grid, Interval, Product, Space, Vector


def cube(*shape: int) -> Grid:
    columns = ["x", "y", "z"][: len(shape)]
    return Grid(Vector(columns, box=((0, 1),) * len(shape)), shape)


MAP = Grid(Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km"), (4, 5))


def test_quotients_are_below_the_exact_ones() -> None:
    places = [0, 1, 7, 3, 11]
    matrix = np.abs(np.subtract.outer(places, places)).astype(np.float64)
    items = ItemDistances(Distances("stop", list(range(5)), matrix, diameter=13.0))
    for x in range(5):
        for y in range(5):
            exact = Fraction(abs(places[x] - places[y]), 13)
            assert exact * (1 - Fraction(1, 2**45)) <= Fraction(float(items.matrix[x, y])) <= exact


def test_euclidean_distances_are_below_the_exact_ones() -> None:
    generator = np.random.default_rng(1)
    points = generator.normal(size=(8, 3))
    table = {"w": list(range(8)), "vector": points.tolist()}
    items = ItemDistances(Embedding("w", table, neutral=0, diameter=4.0))
    for x in range(8):
        for y in range(8):
            pairs = zip(points[x].tolist(), points[y].tolist(), strict=True)
            square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs) / 16
            lowered = Fraction(float(items.matrix[x, y]))
            assert lowered**2 <= min(square, Fraction(1))
            assert lowered**2 >= min(square, Fraction(1)) * (1 - Fraction(1, 2**40))


def test_zero_one_and_clustered_distances_are_exact() -> None:
    assert ItemDistances(Categories("kind", [1, 2, 3])).w_min == 1.0
    assert ItemDistances(Clusters("kind", {1: 0, 2: 0, 3: 1}, 0.1)).w_min == 0.1


def test_weighted_products() -> None:
    space = Product(Grid(Interval("x", 0, 1), 3).weighted(2.0), Categories("kind", ["a", "b"]))
    items = ItemDistances(space)
    assert items.count == 6
    assert items.w_min == pytest.approx(1 / 3)
    np.testing.assert_allclose(items.matrix[0], [0, 1 / 3, 1 / 3, 2 / 3, 2 / 3, 1], rtol=1e-12)
    assert (items.matrix <= space.distances(items.items, items.items)).all()


@pytest.mark.parametrize(
    ("space", "size"),
    [
        (Grid(Interval("x", 0, 3), 5), 2),
        (cube(3, 3), 8),
        (cube(2, 4), 4),
        (cube(2, 2, 2), 48),
        (cube(1, 4), 2),
        (MAP, 2),
        (Distances("stop", [1, 2, 3], [[0, 1, 2], [1, 0, 1], [2, 1, 0]]), 2),
        (Distances("stop", [1, 2, 3], [[0, 1, 3], [1, 0, 2], [3, 2, 0]]), 1),
        (Categories("kind", [1, 2, 3]), 1),
    ],
)
def test_isometries_are_a_group_that_preserves_distances_exactly(space: Space, size: int) -> None:
    items = ItemDistances(space)
    group = {tuple(moved.tolist()) for moved in items.isometries}
    assert len(group) == len(items.isometries) == size
    assert tuple(range(items.count)) == tuple(items.isometries[0].tolist())
    for one in items.isometries:
        np.testing.assert_array_equal(items.matrix[np.ix_(one, one)], items.matrix)
        for other in items.isometries:
            assert tuple(one[other].tolist()) in group
    np.testing.assert_array_equal(items.matrix, items.matrix.T)


@pytest.mark.parametrize(
    "space",
    [
        MAP,
        cube(3, 4),
        Grid(Interval("x", 0, 1), 9, diameter=0.4),
        Grid(Geo("lat", "lon", box=(-60, -170, 80, 170)), (5, 4)),
    ],
)
def test_triangles_fail_by_the_stated_slack_at_most(space: Grid) -> None:
    items = ItemDistances(space)
    matrix = items.matrix.astype(np.longdouble)
    failure = np.abs(matrix[:, None] - matrix[None, :]) - matrix[:, :, None]
    assert failure.max() <= items.triangle_slack < 1e-6


def test_no_slack_is_stated_of_distances_that_are_given() -> None:
    assert ItemDistances(Distances("stop", [1, 2, 3], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])).triangle_slack == np.inf


def test_images_are_the_first_of_their_orbits() -> None:
    assert ItemDistances(cube(3, 3)).images.tolist() == [0, 1, 0, 1, 4, 1, 0, 1, 0]


def test_orbits_of_pairs_cover_all_pairs() -> None:
    items = ItemDistances(cube(3, 3))
    assert items.pairs is not None
    reached = {(int(moved[x]), int(moved[y])) for moved in items.isometries for x, y in items.pairs}
    assert reached == {(x, y) for x in range(9) for y in range(9) if x != y}
    assert len(pair_orbits(items.isometries[:1], 9)) == 72


def test_lines_are_recognised() -> None:
    places = np.array([3.0, 0.5, 2.0, 2.5])
    found = line_positions(np.abs(np.subtract.outer(places, places)))
    assert found is not None
    np.testing.assert_allclose(np.abs(np.subtract.outer(found, found)), np.abs(np.subtract.outer(places, places)))
    assert line_positions(ItemDistances(cube(2, 2)).matrix) is None
    # a line that its diameter cuts is none
    assert line_positions(ItemDistances(Grid(Interval("x", 0, 1), 6, diameter=0.3)).matrix) is None


def test_twins_share_a_number() -> None:
    table = {"w": ["a", "b", "c", "d"], "x": [0.0, 1.0, 0.0, 1.0]}
    items = ItemDistances(Embedding("w", table, neutral="a"))
    assert items.twins.tolist() == [0, 1, 0, 1]
    assert items.w_min == pytest.approx(1.0)
    with pytest.raises(UsageError, match="distance 0"):
        items.check_distinct("KRR")


@pytest.mark.parametrize("space", [cube(3, 3), cube(2, 5), cube(12, 12), Grid(Interval("x", 0, 1), 6)])
def test_rows_of_representatives_are_those_of_all(space: Grid) -> None:
    items = ItemDistances(space)
    least = items._lowered
    for moved in items.isometries:
        least = np.minimum(least, items._lowered[np.ix_(moved, moved)])
    np.testing.assert_array_equal(items.matrix, least)
    codes = np.arange(items.count**2).reshape(items.count, items.count)
    images = np.min([codes[np.ix_(moved, moved)] for moved in items.isometries], axis=0)
    np.testing.assert_array_equal(items.spread(images[items.representatives]), images)
