"""Sides of random directions: the constant M, directions uniform on the sphere, and the missing factor d."""

import math

import numpy as np
import pytest
import scipy.stats

from emdp.mechanisms.vector import direction as vector_direction
from emdp.mechanisms.vector.direction import VectorDirection, direction_constant, directions_of
from emdp.testing import seeded

LENGTHS = {1: 2.1640, 2: 3.3991, 5: 5.7705, 20: 11.9783}
"""M for a = 1, epsilon = 1, of one-bit-and-sampling.md 3a."""


@pytest.mark.parametrize("dimension", LENGTHS)
def test_lengths_of_the_theory(dimension: int) -> None:
    randomizer = VectorDirection(dimension, 1.0, 1.0, 1)
    assert randomizer.length == pytest.approx(LENGTHS[dimension], abs=6e-5)
    printed = math.sqrt(math.pi) / 2 * math.gamma((dimension - 1) / 2 + 1) / math.gamma(dimension / 2 + 1)
    assert direction_constant(dimension) == pytest.approx(dimension * printed, rel=1e-12)
    assert randomizer.length**2 <= math.pi / 2 * dimension / math.tanh(0.5) ** 2 * (1 + 1e-12)


def test_the_constant_is_that_of_the_sphere() -> None:
    for dimension in (1, 2, 3, 10, 300):
        # u_1^2 of a uniform direction is Beta(1/2, (d - 1)/2).
        mean = 1.0 if dimension == 1 else scipy.stats.beta(0.5, 0.5 * (dimension - 1)).expect(math.sqrt)
        assert direction_constant(dimension) == pytest.approx(1 / mean, rel=1e-6)
    assert math.isfinite(direction_constant(2**20))


PINNED = [0.47134185654415417, 0.30858664029965993]
"""First entries of the direction of 7 in six dimensions."""


class TestDirections:
    def test_they_are_uniform_on_the_sphere(self) -> None:
        """Seeds in a row and seeds far apart: entries' law, signs and products, at p > 1e-9."""
        for seeds in (np.arange(20_000), np.random.default_rng(0).integers(0, 2**62, 20_000)):
            u = directions_of(seeds, 4)
            np.testing.assert_allclose((u * u).sum(axis=1), 1.0, atol=1e-12)
            law = scipy.stats.beta(0.5, 1.5)
            for j in range(4):
                assert scipy.stats.kstest(u[:, j] ** 2, law.cdf).pvalue > 1e-9
            assert scipy.stats.kstest(u[:, 0] ** 2, scipy.stats.beta(0.7 * 0.5, 0.7 * 1.5).cdf).pvalue < 1e-9
            patterns = (u > 0) @ (1 << np.arange(4))
            assert scipy.stats.chisquare(np.bincount(patterns, minlength=16)).pvalue > 1e-9
            np.testing.assert_allclose(u.T @ u / len(u), np.eye(4) / 4, atol=6 * 0.25 / math.sqrt(len(u)))
            # Of neighbouring seeds too.
            np.testing.assert_allclose(u[1:].T @ u[:-1] / len(u), np.zeros((4, 4)), atol=6 * 0.25 / math.sqrt(len(u)))

    def test_they_are_a_function_of_the_seed(self) -> None:
        seeds = np.array([0, 7, 2**62 - 1, 7])
        u = directions_of(seeds, 6)
        np.testing.assert_array_equal(u[1], u[3])
        np.testing.assert_array_equal(u[:1], directions_of([0], 6))
        assert not np.allclose(u[0], u[1])
        # A published message can be decoded years later: the function does not change.
        np.testing.assert_allclose(u[1, :2], PINNED, atol=1e-12)

    def test_extreme_words_stay_finite(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for word in (0, 2**64 - 1):
            with monkeypatch.context() as patched:
                patched.setattr(vector_direction, "_mixed", lambda words, word=word: np.full_like(words, word))
                assert np.isfinite(directions_of([1], 3)).all()


def test_the_printed_length_gives_a_dth_of_the_mean() -> None:
    """d = 5, x = .6 e_1: .6 with the factor d, .12 without it (.121 in the theory's simulation)."""
    users = 200_000
    randomizer = VectorDirection(5, 1.0, 1.0, users)
    x = np.tile([0.6, 0, 0, 0, 0], (users, 1))
    with seeded(9):
        estimate = randomizer.decode(randomizer.tally(randomizer.encode(x)), users)
    np.testing.assert_allclose(estimate, x[0], atol=6 * randomizer.length / math.sqrt(5 * users))
    assert float(estimate[0]) / 5 == pytest.approx(0.12, abs=0.01)


def test_all_reports_of_one_user_must_not_share_a_sign() -> None:
    """x = 0, 4 reports: a quarter of the error; with one direction and one sign for all nothing is gained."""
    randomizer = VectorDirection(16, 1.0, 4.0, 1, reports=4)
    runs = 1500
    with seeded(6):
        messages = randomizer.encode(np.zeros((runs, 16)))
    own = [randomizer.decode(randomizer.tally(row[None, :]), 1) for row in messages]
    shared = [randomizer.decode(randomizer.tally(np.repeat(row[:1], 4)[None, :]), 1) for row in messages]
    stated = randomizer.squared_error()
    assert float((np.array(own) ** 2).sum(axis=1).mean()) == pytest.approx(stated, rel=0.1)
    assert float((np.array(shared) ** 2).sum(axis=1).mean()) == pytest.approx(4 * stated, rel=0.01)


def test_several_reports_pay_at_a_large_epsilon_only() -> None:
    assert [VectorDirection(8, 1.0, e, 1).reports for e in (0.1, 1.0, 3.0, 3.1, 8.0)] == [1, 1, 1, 2, 4]
    eight = VectorDirection(8, 1.0, 8.0, 1)
    others = [VectorDirection(8, 1.0, 8.0, 1, reports=s).squared_error() for s in range(1, 20)]
    assert eight.squared_error() == min(others)


def test_tallies_do_not_overflow() -> None:
    for users in (1, 2**20, 2**40):
        randomizer = VectorDirection(1, 1.0, 40.0, users)
        unit = int(np.ldexp(1.0, randomizer._fraction_bits))
        assert users * randomizer.reports * unit <= 2**62
        assert randomizer._fraction_bits >= 16
