"""One-bit Hadamard reports of vectors in the 1-ball: known answers of local-shuffle-userlevel.md 1.3."""

import math

import numpy as np
import pytest

from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.vector import cube as vector_cube
from emdp.mechanisms.vector.one_bit import VectorOneBit
from emdp.testing import seeded


def test_probabilities_of_an_item(monkeypatch: pytest.MonkeyPatch) -> None:
    """K = 4, epsilon = 1, item 2: P(s = +1 | j) = .731059, .731059, .268941, .268941."""
    seen: list[float] = []

    def coin(numerators: np.ndarray, bits: int) -> np.ndarray:
        seen.extend((numerators / 2.0**bits).tolist())
        return np.zeros(numerators.size, dtype=np.bool_)

    monkeypatch.setattr(vector_cube, "draw_below", lambda limits: np.arange(4))
    monkeypatch.setattr(vector_cube, "draw_bernoulli", coin)
    messages = VectorOneBit(4, 1.0, 1.0, 4).encode(np.tile([0.0, 0.0, 1.0, 0.0], (4, 1)))
    assert np.round(seen, 6).tolist() == [0.731059, 0.731059, 0.268941, 0.268941]
    assert messages.ravel().tolist() == [1, 3, 5, 7]


def test_decoded_messages_of_the_theory() -> None:
    randomizer = VectorOneBit(4, 1.0, 1.0, 4)
    estimate = randomizer.decode(randomizer.tally(np.array([[0], [2], [5], [7]])), 4)
    np.testing.assert_allclose(estimate, [0, 0, 2.16395, 0], atol=5e-6)


def test_errors_of_the_theory() -> None:
    # That of as many users as there are vectors.
    own = VectorOneBit(100, 1.0, 1.0, 20_000)
    assert own.squared_error_of(np.eye(100)) * 100 / 20_000 == pytest.approx(0.02336, abs=5e-6)
    one = VectorOneBit(1024, 1.0, 1.0, 100_000, blocks=1)
    assert one.squared_error_of(np.eye(1024)[:50]) * 50 / 100_000 == pytest.approx(0.0479, abs=5e-5)


@pytest.mark.parametrize("runs", [pytest.param(200, marks=pytest.mark.full), 20])
def test_histograms_have_the_predicted_error(runs: int) -> None:
    """4,000 users, 64 items, epsilon 1: .07489 predicted, within 16 % by 20 runs; 0.7 and 1.3 times it is not."""
    histograms = np.random.default_rng(2).dirichlet(np.full(64, 0.1), 4000)
    randomizer = VectorOneBit(64, 1.0, 1.0, 4000)
    stated = randomizer.squared_error_of(histograms)
    assert randomizer.blocks == 1
    assert stated == pytest.approx(0.07489, abs=2e-5)
    assert stated == pytest.approx((64 / math.tanh(0.5) ** 2 - (histograms**2).sum(axis=1).mean()) / 4000, rel=1e-9)
    with seeded(4):
        estimates = [randomizer.decode(randomizer.tally(randomizer.encode(histograms)), 4000) for _ in range(runs)]
    errors = np.array(estimates) - histograms.mean(axis=0)
    found = float((errors**2).sum(axis=1).mean())
    for factor, passes in ((1.0, True), (0.7, False), (1.3, False)):
        assert (abs(found / (factor * stated) - 1) < 0.16) is passes


def test_one_bit_of_a_histogram_has_the_law_of_the_oracle() -> None:
    """The oracle draws one record and turns its sign; the vector's law is the same up to rounding, and so its error."""
    oracle, randomizer = OneBitHadamardOracle(60, 500, 1.0), VectorOneBit(60, 1.0, 1.0, 500)
    assert oracle.ratio == randomizer.ratio
    shares = np.random.default_rng(0).dirichlet(np.ones(60))
    error = randomizer.squared_error_of(np.tile(shares, (500, 1)))
    assert error == pytest.approx(oracle.expected_l2_squared(shares), rel=1e-9)


def test_several_bits_pay_at_a_large_epsilon_only() -> None:
    assert [VectorOneBit(64, 1.0, epsilon, 1).blocks for epsilon in (0.1, 1.0, 3.0, 3.1, 4.0, 8.0)] == [
        1,
        1,
        1,
        2,
        2,
        4,
    ]
    for epsilon, blocks in ((1.0, 2), (4.0, 2), (8.0, 4)):
        split = VectorOneBit(64, 1.0, epsilon, 1, blocks=blocks).squared_error()
        assert split == pytest.approx(64 / blocks / math.tanh(epsilon / blocks / 2) ** 2, rel=1e-9)


@pytest.mark.parametrize("blocks", [1, 2, 3, 8])
def test_no_vector_has_a_larger_error(blocks: int) -> None:
    randomizer = VectorOneBit(5, 2.0, 3.0, 1, blocks=blocks)
    rows = np.random.default_rng(1).normal(0, 3, (100, 5))
    worst = max(randomizer.squared_error_of(row[None, :]) for row in rows)
    assert worst < randomizer.squared_error() == pytest.approx(randomizer.squared_error_of(np.zeros((1, 5))))
