"""Groups of users: key columns, one price for all, noise by size, levels that hold together."""

import pytest

from emdp.base.errors import UsageError
from emdp.estimators.user_groups import (
    Change,
    GroupKeys,
    change_of,
    check_names,
    level_of_each,
    mechanism_of,
    noise_of_groups,
)
from emdp.expressions import category_is, col
from emdp.expressions.cells.aggregation import Aggregation, HatAxis
from emdp.mechanisms import GaussianMechanism, KNormMechanism, LaplaceMechanism
from emdp.privacy import EmdDP, UserDP
from emdp.questions.price import Price
from emdp.spaces import Categories, Interval, Product

CHANGE = Change(norm_1=4.0, norm_2=1.0, lipschitz=4.0, error=2.0**-50, dimension=20)


@pytest.mark.parametrize("groups", [1, 2, 50, 10_000])
def test_levels_of_independent_groups_multiply_to_the_level(groups: int) -> None:
    each = level_of_each(0.95, groups)
    assert 0.95 <= each < 1
    assert each**groups == pytest.approx(0.95, rel=1e-9)
    assert each**groups >= 0.95 * (1 - 1e-12)


def test_a_level_next_to_1_stays_below_it() -> None:
    assert level_of_each(1 - 2**-53, 10**6) < 1


def test_keys_repeat_for_every_group() -> None:
    plain, keyed = GroupKeys.of(None), GroupKeys(("city", "plan"), (("Rome", None), ("Oslo", "pro")))
    assert plain.series(3) == []
    city, plan = keyed.series(2)
    assert (city.name, city.to_list()) == ("city", ["Rome", "Rome", "Oslo", "Oslo"])
    assert (plan.name, plan.to_list()) == ("plan", [None, None, "pro", "pro"])


def test_the_price_is_the_largest_groups_not_the_sum() -> None:
    noise = noise_of_groups(CHANGE, (10, 40, 10), Price("alpha", 2.0), noise="laplace")
    assert [mechanism.scale for mechanism in noise.mechanisms] == pytest.approx([0.2, 0.05, 0.2])
    assert noise.event.guarantee == EmdDP(2.0)
    assert noise.widest.scale == pytest.approx(0.2)
    assert noise.choice.startswith("For the smallest group of users")
    assert noise_of_groups(CHANGE, (10,), Price("epsilon", 1.5)).event.guarantee == UserDP(1.5)


def test_the_least_noise_is_taken_of_those_allowed() -> None:
    pure, approximate = Price("alpha", 1.0), Price("alpha", 1.0, 1e-9)
    assert isinstance(mechanism_of(CHANGE, 10, pure).mechanism, KNormMechanism | LaplaceMechanism)
    independent = mechanism_of(CHANGE, 10, pure, k_norm=False)
    assert isinstance(independent.mechanism, LaplaceMechanism)
    assert "Gaussian needs a delta" in independent.reason
    steep = Change(norm_1=40.0, norm_2=1.0, lipschitz=40.0, error=0.0, dimension=20)
    best = mechanism_of(steep, 10, approximate, k_norm=False)
    assert isinstance(best.mechanism, GaussianMechanism)
    assert "with Laplace" in best.reason
    assert isinstance(mechanism_of(CHANGE, 10, approximate, k_norm=False).mechanism, LaplaceMechanism)
    with pytest.raises(UsageError, match="k_norm"):
        mechanism_of(CHANGE, 10, Price("alpha", 1.0), noise="k_norm", k_norm=False)


def test_an_infinite_constant_is_told_under_epsilon_and_what_is_constant_has_no_error() -> None:
    space = Product(Interval("x", 0, 1), Categories("kind", ["a", "b"]))
    axes = (HatAxis(col("x"), 0.0, 0.25, 5),)
    nothing = Aggregation((category_is("a") * category_is("b"),), axes)
    change = change_of(nothing, space, Price("alpha", 1.0))
    assert (change.norm_1, change.error) == (0.0, 0.0)
    assert mechanism_of(change, 5, Price("alpha", 1.0)).mechanism.is_exact
    some = change_of(Aggregation((category_is("a"),), axes), space, Price("epsilon", 1.0))
    assert (some.norm_1, some.dimension) == (2.0, 5)
    assert some.error > 0


def test_columns_of_one_name_are_refused() -> None:
    check_names(["city", "q", "age", "age_low", "age_high"])
    with pytest.raises(UsageError, match="two columns 'age_low'"):
        check_names(["age_low", "q", "age", "age_low", "age_high"])
