"""``Cycle``: the seam, the remainder and refusals."""

import math

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.spaces import Cycle


def test_distance_goes_the_short_way_round() -> None:
    space = Cycle("hour", 24)
    assert space.diameter == 12
    natural = space.natural_distances(np.array([[23.0]]), np.array([[1.0], [11.0], [23.0], [22.5]]))
    assert natural.tolist() == [[2.0, 12.0, 0.0, 0.5]]


def test_the_column_itself_has_no_finite_constant() -> None:
    assert Cycle("hour", 24).column_bounds("hour").lipschitz == math.inf


def test_points_are_reduced_and_remainders_stay_inside() -> None:
    space = Cycle("angle", 360, on_invalid="clamp")
    assert space.encode_point(-90).tolist() == [[270.0]]
    items = space.encode({"angle": [-1e-20, 360.0, 725.0, -360.0]})
    assert items[:, 0].tolist() == [0.0, 0.0, 5.0, 0.0]


def test_arguments_are_checked() -> None:
    with pytest.raises(UsageError, match="period must be above 0"):
        Cycle("hour", 0)
    with pytest.raises(UsageError, match="neutral must be between"):
        Cycle("hour", 24, neutral=24)
    with pytest.raises(UsageError, match="point must be finite"):
        Cycle("hour", 24).encode_point(math.inf)
    with pytest.raises(UsageError, match="no line"):
        Cycle("hour", 24).line(np.array([[1.0]]))
