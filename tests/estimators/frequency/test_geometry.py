"""Geometries of the library's spaces: their distances, blocks and refusals."""

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.estimators.frequency.geometry import Geometry, smoothing_bias
from emdp.spaces import Categories, Clusters, Geo, Grid, Interval, Space, Vector


@pytest.mark.parametrize(
    ("space", "kind"),
    [
        (Grid(Interval("x", 0, 1), 6), "line"),
        (Grid(Interval("x", 0, 1), 6, diameter=0.5), "grid"),
        (Grid(Vector(["x", "y"], box=((0, 1), (0, 2))), (3, 4)), "grid"),
        (Categories("c", list("abc")), "discrete"),
        (Clusters("c", {"a": 0, "b": 1, "c": 0}, 0.5), "clusters"),
    ],
)
def test_kinds(space: Space, kind: str) -> None:
    assert Geometry.of(space).kind == kind


@pytest.mark.parametrize(
    "space",
    [
        Grid(Geo("lat", "lon", box=(-10, -80, 60, -40), unit="km"), (6, 7)),
        Grid(Vector(["x", "y"], box=((0, 1), (0, 2))), (5, 4)),
        Grid(Vector(["x", "y"], box=((0, 1), (0, 2))), (5, 4), diameter=0.3),
    ],
    ids=["sphere", "plane", "cut"],
)
def test_steps_are_at_least_the_distances_of_neighbours(space: Grid) -> None:
    geometry = Geometry.of(space)
    codes = np.arange(space.size).reshape(space.shape)
    distances = space.distances(space.all_items, space.all_items)
    for axis, step in enumerate(geometry.steps):
        first, second = (np.take(codes, range(low, codes.shape[axis] - 1 + low), axis) for low in (0, 1))
        assert (distances[first, second] <= np.broadcast_to(step, first.shape) + 1e-12).all()
        assert (distances[first, second] >= 0.97 * np.broadcast_to(step, first.shape)).all()


def test_blocks_cover_the_grid_and_their_diameters_hold() -> None:
    space = Grid(Geo("lat", "lon", box=(40, -75, 42, -72), unit="km"), (5, 6))
    geometry = Geometry.of(space)
    distances = space.distances(space.all_items, space.all_items)
    for level in range(4):
        blocks = geometry.blocks(level)
        assert set(blocks.tolist()) == set(range(int(blocks.max()) + 1))
        for block in range(int(blocks.max()) + 1):
            inside = blocks == block
            assert distances[np.ix_(inside, inside)].max() <= geometry.block_diameter(level) + 1e-9


def test_smoothing_moves_no_further() -> None:
    # A record in the middle of a square goes to its corners, each half a diagonal away.
    assert smoothing_bias(1.0, 2, 10.0) == pytest.approx(np.hypot(0.5, 0.5) / 10)


def test_refusals() -> None:
    with pytest.raises(UsageError, match="no list of items"):
        Geometry.of(Interval("x", 0, 1))
    with pytest.raises(UsageError, match="positions"):
        Geometry.line([np.nan])
    with pytest.raises(UsageError, match="steps"):
        Geometry.grid((2, 3), (0.1,))
    with pytest.raises(UsageError, match="step"):
        smoothing_bias(0.0, 2, 1.0)
