"""Plans of linear models: units, defaults, what is read and kept, and what is refused."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import emdp
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.fit import linear_fit
from emdp.estimators.fit.linear_fit import FitRows, LinearFitMessages, Rescaling, plan_linear_fit
from emdp.questions.linear_fit import linear_fit_query

SPACE = emdp.Product(emdp.Interval("x", 0, 10), emdp.Interval("y", 0, 100), emdp.Categories("kind", ["a", "b"]))
QUERY = linear_fit_query(["x", emdp.category_is("b")], "y", epsilon=1.0, rounds=4)


class Block(NamedTuple):
    """Items of some users, as an engine gives them."""

    users: Any
    offsets: Any
    items: Any


def planned(query: Any = QUERY, users: int = 100, **options: Any) -> Any:
    return plan_linear_fit(query, space=SPACE, users=users, **options)


def items(x: list[float], y: list[float], kind: list[str]) -> Any:
    return SPACE.encode({"x": x, "y": y, "kind": kind})


def test_coefficients_are_in_the_units_of_the_columns() -> None:
    rescaling = Rescaling((5.0, 0.5), (5.0, 0.5), (50.0, 50.0))
    weights = (0.1, 0.3, -0.2)
    intercept, slope, jump = rescaling.coefficients(weights)
    for x, kind in ((0.0, 0.0), (2.5, 1.0), (10.0, 0.0)):
        inside = 0.1 + 0.3 * (x - 5) / 5 - 0.2 * (kind - 0.5) / 0.5
        assert intercept + slope * x + jump * kind == pytest.approx(50 + 50 * inside)
    reach = rescaling.reach(1.0)
    generator = np.random.default_rng(1)
    ends = np.zeros(3)
    middles = np.array(rescaling.coefficients((0.0, 0.0, 0.0)))
    for _ in range(3000):
        direction = generator.normal(size=3)
        direction /= np.linalg.norm(direction)
        ends = np.maximum(ends, np.abs(np.array(rescaling.coefficients(tuple(direction.tolist()))) - middles))
    assert (ends <= np.array(reach) * (1 + 1e-12)).all()
    assert (ends > 0.9 * np.array(reach)).all()


def test_records_are_rescaled_and_absent_users_have_the_neutral_item() -> None:
    releaser = planned(users=4).releaser
    assert isinstance(releaser, LinearFitMessages)
    block = Block(np.array([0, 2]), np.array([0, 1, 3]), items([0, 10, 5], [0, 100, 75], ["a", "b", "a"]))
    records = releaser._gathered(iter([block]), 4)
    assert records.offsets.tolist() == [0, 1, 3, 4, 5]
    assert records.features.tolist() == [[1] * 5, [-1, 1, 0, 0, 0], [-1, 1, -1, -1, -1]]
    assert records.targets.tolist() == [-1, 1, 0.5, 0, 0]
    with pytest.raises(InternalError):
        releaser._gathered(iter([block]), 1)


def test_a_logistic_target_stays_within_0_and_1() -> None:
    releaser = planned(linear_fit_query("x", emdp.category_is("b"), epsilon=1.0, loss="logistic", rounds=2), 2).releaser
    block = Block(np.array([0]), np.array([0, 2]), items([0, 10], [1, 2], ["a", "b"]))
    assert releaser._gathered(iter([block]), 2).targets.tolist() == [0, 1, 0]


def test_of_users_with_many_records_a_sample_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_fit, "MOST_NUMBERS", 2 * 5 * 3)
    plan = planned(users=2)
    assert any("at most 3 records of a user are kept" in note for note in plan.notes)
    block = Block(np.array([0, 1]), np.array([0, 1, 9]), items([1] + [2] * 8, [0] * 9, ["a"] * 9))
    with emdp.testing.seeded(1):
        records = plan.releaser._gathered(iter([block]), 2)
    assert records.offsets.tolist() == [0, 1, 4]
    with pytest.raises(UsageError, match="users are too many for 3 weights, 6 at most"):
        planned(users=7)


def test_defaults_follow_from_public_ranges() -> None:
    setting = planned().releaser.mechanism.setting
    assert (setting.radius, setting.clip, setting.dimension) == (1.0, pytest.approx(2 * math.sqrt(3)), 3)
    narrow = planned(linear_fit_query("x", "y", epsilon=1.0, rounds=2, radius=0.5)).releaser.mechanism.setting
    assert narrow.clip == pytest.approx((1 + 0.5 * math.sqrt(2)) * math.sqrt(2))
    logistic = linear_fit_query("x", emdp.category_is("b"), epsilon=1.0, loss="logistic", rounds=2)
    setting = planned(logistic).releaser.mechanism.setting
    assert (setting.radius, setting.clip) == (4.0, pytest.approx(math.sqrt(2)))
    own = planned(linear_fit_query("x", "y", epsilon=1.0, rounds=2, clip=0.7, records=5), records=9)
    assert (own.releaser.mechanism.setting.clip, own.releaser.mechanism.setting.records) == (0.7, 5)
    assert planned(records=9).releaser.mechanism.setting.records == 9


def test_the_plan_says_what_is_done() -> None:
    plan = planned()
    text = " ".join([plan.choice, *plan.notes, *(fact for _, fact in plan.releaser.facts("user"))])
    for told in ("x from [0, 10]", "y from [0, 100]", "clipped to", "4, of 100 users each", "excess", "Huber"):
        assert told in text
    assert plan.event.guarantee == emdp.UserDP(1.0)
    column = plan.columns[0]
    assert column.expected_error == plan.releaser.mechanism.typical_excess < plan.releaser.mechanism.expected_excess
    assert column.low < 0 < column.high
    assert isinstance(plan.finisher, FitRows)


def test_a_fit_that_noise_drowns_is_said_to_be_one() -> None:
    local = linear_fit_query("x", "y", epsilon=1.0, model="local", rounds=10)
    assert any("noise leaves little" in note for note in planned(local, users=200).notes)
    assert not any("noise leaves little" in note for note in planned(local, users=10**6).notes)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (linear_fit_query(["x", emdp.col("x") * 0.0], "y", epsilon=1.0), "is constant"),
        (linear_fit_query("x", emdp.clamp(emdp.col("y"), 3, 3.0), epsilon=1.0), "low|constant"),
        (linear_fit_query("x", "y", epsilon=1.0, loss="logistic"), "pass such as emdp.category_is"),
        (linear_fit_query("nothing", "y", epsilon=1.0), "nothing"),
        (linear_fit_query([emdp.col("x") * 5e-324], "y", epsilon=1.0), "multiply it by a number|constant"),
        (linear_fit_query([emdp.col("x") * 1e-310], "y", epsilon=1.0), "multiply it by a number"),
        (linear_fit_query("x", "y", epsilon=1.0, model="local", rounds=101), "rounds must be at most the 100 users"),
    ],
)
def test_what_does_not_fit_the_space_is_refused(query: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        planned(query)
