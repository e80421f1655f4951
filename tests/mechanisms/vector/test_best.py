"""The best randomizer of a ball: known orders, and no other is better."""

import math

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.vector.best import best_vector, compare_vectors
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.mechanisms.vector.one_bit import VectorOneBit
from emdp.mechanisms.vector.planes import VectorPlanes


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(
    ("norm", "kind"), [(1, VectorOneBit), (1.5, VectorDirection), (2, VectorDirection), (math.inf, VectorPlanes)]
)
def test_known_orders(norm: float, kind: type, epsilon: float) -> None:
    for dimension in (16, 64, 1000):
        assert type(best_vector(norm, dimension, 1.0, epsilon, 5000)) is kind


@pytest.mark.quarter
@pytest.mark.parametrize("norm", [1, 1.2, 2, 5, math.inf])
@pytest.mark.parametrize("dimension", [1, 2, 7])
@pytest.mark.parametrize("epsilon", [0.5, 12.0])
def test_no_other_is_better(norm: float, dimension: int, epsilon: float) -> None:
    found = compare_vectors(norm, dimension, 3.0, epsilon, 1000)
    errors = [each.squared_error() for each in found]
    assert errors == sorted(errors)
    assert len({type(each) for each in found}) == 4
    assert all(each.norm == norm and each.epsilon <= epsilon for each in found)
    chosen = best_vector(norm, dimension, 3.0, epsilon, 1000)
    assert chosen.squared_error() == pytest.approx(errors[0], rel=1e-12)
    # Whatever is best meets the lower bound's form: not better than the non-private order could be.
    assert errors[0] > 0


def test_published_worst_cases() -> None:
    """R_1 a^2 d A^2, R_inf a^2 d^2 A^2, R_2 at most pi/2 a^2 d A^2 (6 a^2 d A^2 with the quantiser), all over n."""
    d, n, square = 64, 4000, 1 / math.tanh(0.5) ** 2
    assert best_vector(1, d, 1.0, 1.0, n).squared_error() == pytest.approx(d * square / n, rel=1e-9)
    assert best_vector(math.inf, d, 1.0, 1.0, n).squared_error() == pytest.approx(d * d * square / n, rel=1e-9)
    assert best_vector(2, d, 1.0, 1.0, n).squared_error() <= math.pi / 2 * d * square / n
    # R_p of the 1-norm's inclusion and of the 2-norm's: d^(3 - 2/p) and d^max(1, 2 - 2/p).
    for p in (1.5, 3.0):
        ones = VectorOneBit(d, 1.0, 1.0, n, norm=p)
        assert ones.squared_error() == pytest.approx(d ** (3 - 2 / p) * square / n, rel=1e-9)
        twos = VectorDirection(d, 1.0, 1.0, n, norm=p)
        assert twos.squared_error() <= math.pi / 2 * d ** max(1, 2 - 2 / p) * square / n


def test_one_dimension_is_the_scalar() -> None:
    """All agree with randomised response: c^2 r^2/n, at a small epsilon."""
    errors = [each.squared_error() for each in compare_vectors(2, 1, 2.0, 1.0, 10)]
    np.testing.assert_allclose(errors, 4 / math.tanh(0.5) ** 2 / 10, rtol=1e-9)


def test_a_comparison_can_be_shown() -> None:
    lines = [each.explain() for each in compare_vectors(2, 8, 1.0, 1.0, 100)]
    assert all("root mean squared error" in line for line in lines)


def test_misuse_is_named() -> None:
    with pytest.raises(UsageError, match="norm"):
        best_vector(0.5, 4, 1.0, 1.0, 10)
    with pytest.raises(UsageError, match="radius"):
        best_vector(2, 4, -1.0, 1.0, 10)
