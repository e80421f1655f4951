"""The search for an event: valid on laws that are known exactly, and able to see what is there."""

import math

import numpy as np
import pytest

from emdp.audit.tester import KNOWN, Scores, find_losses
from emdp.base.errors import UsageError

CERTAIN = 1e-6
"""A test may fail by chance this rarely."""


def scores(first: np.ndarray, second: np.ndarray) -> Scores:
    columns = [np.asarray(one, dtype=np.float64).reshape(len(one), -1) for one in (first, second)]
    return Scores(columns[0], columns[1], tuple(f"number {place}" for place in range(columns[0].shape[1])))


def responses(epsilon: float, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return draws of randomised response on both inputs: its epsilon is exact."""
    generator = np.random.default_rng(seed)
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return generator.random(trials) < keep, generator.random(trials) >= keep


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomised_response_is_measured_from_below(epsilon: float) -> None:
    (finding,) = find_losses(scores(*responses(epsilon, 200_000, 1)), [0.0], CERTAIN)
    assert finding.epsilon <= epsilon
    assert finding.epsilon >= 0.8 * epsilon - 0.03


def test_a_delta_is_taken_off() -> None:
    """Without delta the loss is infinite; with it, it is 0."""
    generator = np.random.default_rng(2)
    first, second = np.zeros(20_000), np.zeros(20_000)
    first[generator.random(20_000) < 0.05] = 1
    found = find_losses(scores(first, second), [0.0, 0.02, 0.07], CERTAIN)
    assert found[0].epsilon > 3
    assert found[1].epsilon > 1
    assert found[2].epsilon == 0


def test_equal_laws_are_not_told_apart() -> None:
    """Twenty tables with eight numbers each, at a failure of 5 % each time: at most six would be wrong at 1e-4."""
    generator = np.random.default_rng(3)
    wrong = 0
    for _ in range(20):
        first, second = generator.normal(size=(2, 400, 8))
        (finding,) = find_losses(scores(first, second), [0.0], 0.05)
        wrong += finding.epsilon > 0
    assert wrong <= 6


def test_a_histogram_sees_what_no_threshold_does() -> None:
    """The first law lies in every other of 8 cells three times as often; every tail is nearly alike."""
    generator = np.random.default_rng(4)
    law = np.array([3.0, 1.0] * 4) / 16
    first = generator.choice(8, size=50_000, p=law)
    second = generator.choice(8, size=50_000, p=law[::-1])
    (finding,) = find_losses(scores(first, second), [0.0], CERTAIN)
    assert finding.test == "histogram on number 0"
    assert 0.9 * math.log(3) < finding.epsilon <= math.log(3)


def test_a_shift_of_many_numbers_is_seen_on_their_projection() -> None:
    generator = np.random.default_rng(5)
    first, second = generator.normal(size=(2, 20_000, 40))
    (finding,) = find_losses(scores(first + 0.2, second), [0.01], CERTAIN)
    assert finding.test.endswith("projection on the shift")
    (single,) = find_losses(scores(first[:, :1] + 0.2, second[:, :1]), [0.01], CERTAIN)
    assert finding.epsilon > 2 * single.epsilon


def test_the_known_score_is_searched_alone() -> None:
    first, second = responses(1.0, 1000, 6)
    columns = [np.column_stack([one, one]).astype(float) for one in (first, second)]
    (finding,) = find_losses(Scores(columns[0], columns[1], (KNOWN, "shift")), [0.0], 0.05)
    assert "projection" not in finding.test


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 100"):
        find_losses(scores(np.zeros(99), np.zeros(99)), [0.0], 0.05)
    with pytest.raises(UsageError, match="names"):
        Scores(np.zeros((100, 2)), np.zeros((100, 2)), ("one",))
