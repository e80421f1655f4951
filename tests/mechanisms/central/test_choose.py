"""The choice of noise: by the expected error, among what delta and dimension allow."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.mechanisms import GaussianMechanism, KNormMechanism, LaplaceMechanism, choose


def test_one_number_without_delta_takes_laplace() -> None:
    choice = choose(alpha=2.0, sensitivity_1=0.1)
    assert choice.mechanism == LaplaceMechanism(sensitivity=0.1, alpha=2.0)
    assert choice.reason == "Laplace noise: expected error 0.05 a coordinate; Gaussian needs a delta."


def test_few_dimensions_take_k_norm_and_many_take_gaussian() -> None:
    small = choose(alpha=1.0, sensitivity_2=1.0, dimension=5, delta=1e-9)
    large = choose(alpha=1.0, sensitivity_2=1.0, dimension=24, delta=1e-9)
    wide = choose(alpha=1.0, sensitivity_2=1.0, dimension=300)
    assert isinstance(small.mechanism, KNormMechanism)
    assert isinstance(large.mechanism, GaussianMechanism | KNormMechanism)
    assert isinstance(choose(alpha=1.0, sensitivity_2=1.0, dimension=300, delta=1e-9).mechanism, GaussianMechanism)
    assert isinstance(wide.mechanism, LaplaceMechanism)
    assert "K-norm reaches 24 coordinates; Gaussian needs a delta" in wide.reason
    assert wide.mechanism.sensitivity == pytest.approx(math.sqrt(300))


def test_one_norm_sensitivity_can_favour_laplace_in_many_dimensions() -> None:
    # one-hot indicators: 2 in the 1-norm, sqrt(2) in the 2-norm
    choice = choose(alpha=1.0, sensitivity_1=2.0, sensitivity_2=math.sqrt(2.0), dimension=20)
    assert isinstance(choice.mechanism, LaplaceMechanism)
    assert choice.mechanism.sensitivity == 2.0


def test_large_alpha_without_cheap_delta_keeps_laplace() -> None:
    assert isinstance(choose(alpha=25.0, sensitivity_1=1.0, delta=1e-12).mechanism, LaplaceMechanism)


@settings(deadline=None, max_examples=60)
@given(
    alpha=st.floats(0.01, 100),
    sensitivity_2=st.floats(1e-6, 1e3),
    ratio=st.floats(1.0, 5.0),
    d=st.integers(1, 40),
    delta=st.sampled_from([0.0, 1e-9, 0.1]),
)
def test_choice_has_the_smallest_expected_error(
    alpha: float, sensitivity_2: float, ratio: float, d: int, delta: float
) -> None:
    sensitivity_1 = min(ratio, math.sqrt(d)) * sensitivity_2
    choice = choose(alpha=alpha, sensitivity_1=sensitivity_1, sensitivity_2=sensitivity_2, dimension=d, delta=delta)
    others = [LaplaceMechanism(sensitivity=sensitivity_1, alpha=alpha, dimension=d)]
    others += [KNormMechanism(sensitivity=sensitivity_2, alpha=alpha, dimension=d)] if d <= 24 else []
    others += [GaussianMechanism(sensitivity=sensitivity_2, alpha=alpha, dimension=d, delta=delta)] if delta else []
    least = min(other.expected_absolute_error for other in others)
    assert choice.mechanism.expected_absolute_error <= least * (1 + 1e-9)
    assert choice.reason.startswith(f"{choice.mechanism.name} noise: expected error")


def test_missing_norm_follows_from_the_other() -> None:
    from_1 = choose(alpha=1.0, sensitivity_1=3.0, dimension=4, delta=0.1).mechanism
    from_2 = choose(alpha=1.0, sensitivity_2=3.0, dimension=300).mechanism
    assert from_1.sensitivity == 3.0
    assert from_2.sensitivity**2 >= 300 * 9
    tightened = choose(alpha=1.0, sensitivity_1=9.0, sensitivity_2=1.0, dimension=30).mechanism
    assert tightened.sensitivity == pytest.approx(math.sqrt(30))


def test_error_and_magnitude_reach_the_mechanism() -> None:
    mechanism = choose(alpha=1.0, sensitivity_1=1.0, statistic_error=1e-9, magnitude=2.0**40).mechanism
    assert (mechanism.statistic_error, mechanism.magnitude) == (1e-9, 2.0**40)


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_constant_statistic_needs_no_noise(delta: float) -> None:
    choice = choose(alpha=1.0, sensitivity_1=0.0, dimension=3, delta=delta)
    assert choice.mechanism.is_exact
    assert choice.reason.startswith("No noise")


def test_refusals() -> None:
    with pytest.raises(UsageError, match="sensitivity_1 or sensitivity_2"):
        choose(alpha=1.0)
    with pytest.raises(UsageError, match="sensitivity"):
        choose(alpha=1.0, sensitivity_1=-1.0)
    with pytest.raises(UsageError, match="sensitivity_2"):
        choose(alpha=1.0, sensitivity_2=math.nan)
    with pytest.raises(UsageError, match="delta"):
        choose(alpha=1.0, sensitivity_1=1.0, delta=1.0)
    with pytest.raises(UsageError, match="dimension"):
        choose(alpha=1.0, sensitivity_1=1.0, dimension=0)


@pytest.mark.parametrize(
    ("alpha", "delta", "remark"),
    [(1.0, 1e-31, "Gaussian needs a delta above"), (1e13, 1e-6, r"Gaussian reaches alpha 1e\+12")],
)
def test_gaussian_is_left_out_where_it_does_not_reach(alpha: float, delta: float, remark: str) -> None:
    choice = choose(alpha=alpha, sensitivity_1=1.0, delta=delta, dimension=2)
    assert not isinstance(choice.mechanism, GaussianMechanism)
    assert re.search(remark, choice.reason)


def test_exact_sensitivities_are_never_rounded_down() -> None:
    third = Fraction(1, 3)
    for bounds in (
        {"sensitivity_1": third},
        {"sensitivity_2": third},
        {"sensitivity_1": third, "sensitivity_2": third},
    ):
        assert choose(alpha=1.0, **bounds).mechanism.sensitivity >= third  # type: ignore[arg-type]
