"""The share of the records that a preview assumes: as many as a condition lists, from the public space alone."""

import math

import pytest

import emdp
from emdp.expressions.nodes.base import Expression
from emdp.questions.assumed import LEAST_SHARE, assumed_share, came_out
from emdp.questions.names import Names
from emdp.questions.people import group_labels
from emdp.spaces import Categories, Cycle, Embedding, Geo, Grid, Interval, Product, Space, Vector

SPACE = Product(
    Categories("hh", list(range(24))),
    Interval("x", 0, 10),
    Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km"),
    Cycle("hour", 24),
    Vector(["a", "b"], radius=2),
)
NAMES = Names("visits", "user", SPACE, {}, 100)


def listed(*values: int) -> Expression:
    return emdp.category_is(*values, column="hh")


X = emdp.col("x")
HOUR = emdp.distance_to(8, column="hour")


@pytest.mark.parametrize(
    ("where", "share"),
    [
        (listed(1, 2, 3), 3 / 24),
        (listed(5), 1 / 24),
        (1 - listed(1, 2, 3), 21 / 24),
        (1 - (1 - listed(1, 2)) * (1 - listed(2, 3)), 3 / 24),
        (listed(1, 2) * listed(2, 3), 1 / 24),
        (emdp.ramp(X, 6, 4), 0.5),
        (emdp.ramp(HOUR, 2, 1), 3 / 24),
        (listed(1, 2, 3) * emdp.ramp(X, 6, 4), 0.5 * 3 / 24),
        (emdp.ramp(X, 6, 4) * emdp.ramp(X, 4, 6), 1 / 30),
        (1 - (1 - listed(0)) * (1 - emdp.ramp(X, 6, 4)), 1 - 0.5 * 23 / 24),
    ],
    ids=str,
)
def test_records_are_taken_as_spread_evenly(where: Expression, share: float) -> None:
    assert assumed_share(where, (), SPACE) == pytest.approx(share, abs=1e-3)


def test_a_place_chooses_a_length_of_its_box() -> None:
    """An even share of a small circle would say next to nothing: people ask about places where records are."""
    near = emdp.ramp(emdp.distance_to((40.75, -73.99), column="lat"), 1.01, 0.99)
    sides = math.sqrt(48.9 * 47.3)
    assert assumed_share(near, (), SPACE) == pytest.approx(math.sqrt(math.pi) / sides, rel=0.1)


def test_groups_share_the_records_that_a_filter_leaves() -> None:
    hours = (group_labels(NAMES, "hh"),)
    assert assumed_share(None, hours, SPACE) == pytest.approx(1 / 24)
    assert assumed_share(emdp.ramp(X, 6, 4), hours, SPACE) == pytest.approx(0.5 / 24, rel=1e-3)
    # groups that the filter empties have no record that an error could be of
    assert assumed_share(listed(1, 2, 3), hours, SPACE) == pytest.approx(1 / 24)
    halves = (group_labels(NAMES, "hh", {hour: hour < 12 for hour in range(24)}),)
    assert assumed_share(None, halves, SPACE) == pytest.approx(1 / 2)


def test_a_condition_that_no_item_meets_has_a_share_to_divide_by() -> None:
    assert assumed_share(listed(1) * listed(2), (), SPACE) == LEAST_SHARE
    assert assumed_share(None, (), SPACE) == 1.0


@pytest.mark.parametrize(
    "space",
    [
        *SPACE.parts,
        SPACE,
        Grid(Interval("x", 0, 1), 7),
        Embedding("word", {"word": ["a", "b", "c"], "x": [0.0, 1.0, 3.0], "y": [0.0, 0.0, 1.0]}),
    ],
    ids=lambda space: space.kind,
)
def test_even_items_are_items_of_the_domain(space: Space) -> None:
    import numpy as np

    units = np.linspace(0, 1, 49, endpoint=False)[:, None] * np.ones(space.width)
    items = space.items_at(units)
    assert items.shape == (49, space.width)
    assert np.array_equal(space.encode(space.decode(items)), items)


def test_a_smaller_share_is_said_only_where_it_is_certain() -> None:
    assert came_out(0.5, [(0.4, 0.6), (0.9, 1.0)]) == ()
    # Errors are 1.02 times the previewed ones, which is no news.
    assert came_out(0.125, [(0.122, 0.1224)]) == ()
    (one,) = came_out(0.5, [(0.1, 0.2)])
    assert one == (
        "fewer records match than the 50 % that the preview assumed: 10 %, at most 20 % with 95 % confidence, so that "
        "errors there are about 5 times the previewed ones"
    )
    (many,) = came_out(0.5, [(-0.1, 0.2), (0.2, 0.3), (0.6, 0.7)])
    assert many.startswith("in 2 of 3 rows fewer records match")
    assert many.endswith("far above the previewed ones")
