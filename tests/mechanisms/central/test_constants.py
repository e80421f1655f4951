"""Only a constant is released without noise: a sensitivity of one over very many users is small, and none of 0."""

from fractions import Fraction

import pytest

from emdp.mechanisms import GaussianMechanism, KNormMechanism, LaplaceMechanism


@pytest.mark.parametrize("sensitivity", [1e-3, 1e-7, 1e-12, 1e-30])
@pytest.mark.parametrize("kind", [LaplaceMechanism, KNormMechanism, GaussianMechanism])
def test_the_smallest_sensitivity_gets_noise_and_costs_alpha(kind: type, sensitivity: float) -> None:
    more = {"delta": 1e-6} if kind is GaussianMechanism else {}
    mechanism = kind(sensitivity=sensitivity, alpha=2.0, dimension=2, **more)
    assert not mechanism.is_exact
    assert mechanism.event().guarantee.alpha == 2.0
    drawn = {mechanism.release((Fraction(0), Fraction(0))) for _ in range(8)}
    # Equal draws have a chance below 2^-30 on a grid of 2^-40 of the scale.
    assert len(drawn) == 8
