"""The many-step theorem against direct composition of steps."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from emdp.privacy.tradeoff.flow import Flow

Floats = npt.NDArray[np.float64]


def random_lines(random: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    rates = np.cumsum(random.uniform(0.05, 0.6, count))
    gaps = np.append(np.sort(10 ** random.uniform(-6, 0, count - 1))[::-1], 0.0)
    return rates, gaps


def random_times(random: np.random.Generator, longest: float, total: float) -> Floats:
    """Return times at most ``longest`` that add up to ``total``."""
    times: list[float] = []
    while total > sum(times):
        times.append(min(float(random.choice([longest, random.uniform(0, longest), longest / 8])), total - sum(times)))
    return np.array(times)


def composed(start: Floats, times: Floats, rates: Floats, gaps: Floats) -> Floats:
    """Return the largest power after all steps, each of which obeys every line with equality for the tightest."""
    power = start.copy()
    for time in times:
        power = np.min((power[:, None] + gaps) * np.exp(rates * time) - gaps, axis=1)
    return power


@pytest.mark.quarter
@pytest.mark.parametrize("seed", range(40))
def test_no_chain_exceeds_the_bound(seed: int) -> None:
    random = np.random.default_rng(seed)
    rates, gaps = random_lines(random, int(random.integers(2, 9)))
    longest, total, delta = 10 ** random.uniform(-1.5, 0), 10 ** random.uniform(-0.5, 1), 10 ** random.uniform(-5, -1)
    epsilons, lowest = Flow.from_lines(rates, gaps).epsilons(np.array([total]), longest, delta)
    epsilon, rate = float(epsilons[0]), float(lowest[0])
    if not math.isfinite(epsilon):
        pytest.fail("the pure line alone certifies something")
    start = np.geomspace(1e-40, 1, 1000)
    for shorter in (0.0, 0.3 * total):
        times = random_times(random, longest, total - shorter)
        power = composed(start, times, rates, gaps)
        assert np.max(power - math.exp(epsilon - rate * shorter) * start) <= delta


def test_a_mixed_line_bounds_what_both_lines_bound() -> None:
    random = np.random.default_rng(8)
    for _ in range(300):
        flow = Flow.from_lines(*random_lines(random, 8))
        if len(flow.rates) < 2:
            continue
        i, share, time = int(random.integers(1, len(flow.rates))), random.random(), 10 ** random.uniform(-3, 1)
        rate, gap = flow._mixed(np.array([i]), np.array([i - 1]), np.array([share]))
        u = np.geomspace(1e-12, 1e3, 400)
        both = np.min([(u + flow.gaps[j]) * np.exp(flow.rates[j] * time) - flow.gaps[j] for j in (i - 1, i)], axis=0)
        assert np.all(both <= ((u + gap) * np.exp(rate * time) - gap) * (1 + 1e-12))


def test_the_bound_moves_without_jumps() -> None:
    z = np.arange(0.5, 12, 0.05)
    flow = Flow.from_lines(np.append(z, 13.0), np.append(np.exp(-z * z / 2) / z**2, 0.0))
    times = np.linspace(1.0, 1.01, 200)
    epsilons = flow.epsilons(times, 0.05, 1e-6)[0]
    steps = np.diff(epsilons)
    assert np.all(steps > 0)
    assert np.max(steps) < 1.05 * np.min(steps)


@pytest.mark.slow
def test_short_steps_come_close_to_the_bound() -> None:
    # lines that touch a smooth curve, steps of a hundredth: the bound may exceed the composition by 1 %
    z = np.arange(0.5, 12, 0.05)
    rates, gaps = np.append(z, 13.0), np.append(np.exp(-z * z / 2) / z**2, 0.0)
    epsilon = float(Flow.from_lines(rates, gaps).epsilons(np.array([2.0]), 0.002, 1e-6)[0][0])
    start = np.geomspace(1e-30, 1, 1000)
    power = composed(start, np.full(1000, 0.002), rates, gaps)
    assert np.max(power - math.exp(epsilon) * start) <= 1e-6
    assert np.max(power - math.exp(0.99 * epsilon) * start) > 1e-6


def test_the_envelope_is_the_lowest_line_everywhere() -> None:
    random = np.random.default_rng(5)
    rates, gaps = random_lines(random, 40)
    flow = Flow.from_lines(rates, gaps)
    assert np.all(np.diff(flow.kinks) < 0)
    for u in np.geomspace(1e-9, 10, 200):
        chosen = int(np.searchsorted(-flow.kinks, -u))
        assert flow.rates[chosen] * (u + flow.gaps[chosen]) == pytest.approx(np.min(rates * (u + gaps)), rel=1e-12)


def test_one_line_alone_has_no_flow() -> None:
    epsilons, _ = Flow.from_lines(np.array([2.0]), np.array([0.0])).epsilons(np.array([1.0]), 0.5, 1e-3)
    assert np.isinf(epsilons[0])
