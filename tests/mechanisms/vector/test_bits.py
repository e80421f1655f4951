"""Means of sampled bits: exact errors against the printed formula, and the best number of blocks."""

import math

import numpy as np
import pytest

from emdp.mechanisms.vector.bits import VectorBits


def printed_error(bits: np.ndarray, epsilon: float, blocks: int) -> float:
    """Return the error of local-shuffle-userlevel.md 4.1, which averages b and not b - 1/2; blocks of equal sizes."""
    size = len(bits) // blocks
    p = 1 / (1 + math.exp(epsilon / blocks))
    return (size - 1) * float(bits @ bits) + blocks * size**2 * p * (1 - p) / (1 - 2 * p) ** 2


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("blocks", [1, 2, 4, 12])
def test_the_centred_error_against_the_printed_one(epsilon: float, blocks: int) -> None:
    randomizer, size = VectorBits(12, epsilon, 1, blocks=blocks), 12 // blocks
    for ones in (0, 3, 6, 12):
        bits = (np.arange(12) < ones).astype(float)
        own = randomizer.squared_error_of(bits[None, :])
        assert own == pytest.approx(randomizer.squared_error(), rel=1e-12)
        # a sampling term of (a - 1) d/4 in place of (a - 1) |b|^2
        assert printed_error(bits, epsilon, blocks) - own == pytest.approx((size - 1) * (ones - 3), rel=1e-9, abs=1e-9)
    assert own <= printed_error(np.ones(12), epsilon, blocks) * (1 + 1e-12)


def test_one_bit_has_the_variance_of_randomised_response() -> None:
    """Known answers of p(1 - p)/(1 - 2p)^2 = 1/(4 sinh^2(epsilon/2))."""
    for epsilon in (0.5, 1.0, 3.0):
        expected = 1 / (4 * math.sinh(epsilon / 2) ** 2)
        assert VectorBits(1, epsilon, 1).squared_error() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 5, 40])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.5, 9.0, 30.0])
def test_no_other_number_of_blocks_is_better(dimension: int, epsilon: float) -> None:
    chosen = VectorBits(dimension, epsilon, 7)
    others = [VectorBits(dimension, epsilon, 7, blocks=s).squared_error() for s in range(1, dimension + 1)]
    assert chosen.squared_error() == pytest.approx(min(others), rel=1e-12)


def test_what_is_no_bit_counts_as_the_nearer_one() -> None:
    clipped = VectorBits(8, 1.0, 1).clip([[0.0, 1.0, 0.49, 0.5, -7.0, 1e300, np.nan, np.inf]])
    assert clipped.tolist() == [[0, 1, 0, 1, 0, 1, 0, 0]]
