"""Known answers of the theory about statements: the noise of people by 24 listed groups, by relation, law and cap."""

from typing import Any

import pytest

from emdp.estimators.owned.totals import plan_owned
from emdp.privacy.calibration import gaussian_sigma
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import Key
from emdp.questions.price import Price
from emdp.rows.nodes import Column
from emdp.rows.types import Kind

HOURS = Key("h", Column("t", "h", Kind.BIGINT), tuple(range(24)))


@pytest.mark.parametrize(("delta", "expected"), [(1e-9, 5.4953), (1e-6, 4.2247)])
def test_the_deviation_of_gaussian_noise_at_sensitivity_1(delta: float, expected: float) -> None:
    assert gaussian_sigma(1.0, delta, 1.0) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("most", "noise", "neighbours", "expected"),
    [
        (3, "laplace", "remove", 4.24), (3, "laplace", "replace", 8.49), (3, "gaussian", "remove", 9.52),
        (3, "gaussian", "replace", 13.46), (24, "laplace", "remove", 33.9), (24, "laplace", "replace", 33.9),
        (24, "gaussian", "remove", 26.9), (24, "gaussian", "replace", 26.9),
    ],
)  # fmt: skip
def test_people_by_24_listed_groups(most: int, noise: Any, neighbours: Any, expected: float) -> None:
    price = Price.asked(epsilon=1.0, delta=1e-9 if noise == "gaussian" else 0.0, neighbours=neighbours)
    query = OwnedSelect(Private("t"), (OwnedItem("users", "n"),), price, (HOURS,), groups_cap=most, noise=noise)
    plan = plan_owned(query, users=None if neighbours == "remove" else 9)
    (_, drawing), (mechanism,) = plan.blocks[0], plan.mechanisms
    assert mechanism.standard_deviation / drawing.scales[0] == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("neighbours", "cross"), [("remove", 16), ("replace", 8)])
def test_gaussian_noise_is_taken_where_a_user_has_many_groups(neighbours: Any, cross: int) -> None:
    """Decision 7 of the note: at delta 1e-9 and epsilon 1 from L = 16 by removal, 8 by replacement."""
    price = Price.asked(epsilon=1.0, delta=1e-9, neighbours=neighbours)
    for most in (cross - 1, cross):
        query = OwnedSelect(Private("t"), (OwnedItem("users", "n"),), price, (HOURS,), groups_cap=most)
        (noise,) = plan_owned(query, users=None if neighbours == "remove" else 9).mechanisms
        assert noise.name == ("Laplace" if most < cross else "Gaussian")
