"""Defects found by an adversarial review: every test here failed when it was written."""

from fractions import Fraction
from typing import Any

import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism, choose


@pytest.mark.parametrize(("kind", "extra"), [(LaplaceMechanism, {}), (GaussianMechanism, {"delta": 1e-9})])
@pytest.mark.parametrize("level", [5e-324, 1e-17])
def test_a_tiny_simultaneous_level(kind: type[AdditiveMechanism], extra: dict[str, Any], level: float) -> None:
    """1 - level is 1 in float64, whose log1p(-1) is no number."""
    mechanism = kind(sensitivity=1.0, alpha=2.0, dimension=3, **extra)
    assert mechanism.simultaneous_half_width(level) > 0


def test_choose_names_an_implied_sensitivity_beyond_the_floats() -> None:
    with pytest.raises(UsageError):
        choose(alpha=1.0, sensitivity_2=1.7e308, dimension=4)


@pytest.mark.parametrize("sensitivity", [Fraction(1, 3), 2**53 + 1])
def test_an_exact_sensitivity_is_not_rounded_down(sensitivity: Any) -> None:
    """The checks accept every real number; a bound converted to the nearest float may be no bound any more."""
    try:
        mechanism = LaplaceMechanism(sensitivity=sensitivity, alpha=1.0)
    except UsageError:
        return
    assert Fraction(mechanism.scale) >= sensitivity
