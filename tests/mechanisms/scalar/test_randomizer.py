"""Local randomizers of one number: positions, all messages on small grids, variance, intervals, the choice."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.scalar import laplace as scalar_laplace
from emdp.mechanisms.scalar import piecewise as scalar_piecewise
from emdp.mechanisms.scalar import randomizer as scalar_randomizer
from emdp.mechanisms.scalar.best import best_scalar, scalar_candidates
from emdp.mechanisms.scalar.hybrid import HybridScalar
from emdp.mechanisms.scalar.laplace import LaplaceScalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.scalar.piecewise import PiecewiseScalar
from emdp.mechanisms.scalar.randomizer import ScalarRandomizer
from emdp.testing import seeded

LAWS = (OneBitScalar, LaplaceScalar, PiecewiseScalar, HybridScalar)
FINITE = (OneBitScalar, PiecewiseScalar, HybridScalar)
RANGES = [(-1.0, 1.0), (0.1, 0.7), (-3.0, 50.25), (1e-9, 2.0), (1e6, 1e6 + 0.001), (-1e-100, 1e-101)]
EPSILONS = [1e-6, 0.5, 0.7, 1.0, 3.0, 8.0, 30.0]


@pytest.fixture
def small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scalar_piecewise, "_STEPS", 6)
    monkeypatch.setattr(scalar_laplace, "_STEPS", 6)


def distribution(law: ScalarRandomizer, position: int) -> dict[int, Fraction]:
    """Every message's exact probability, built from the integers of the law and not from its sampler."""
    share = Fraction(position, law._span)
    if isinstance(law, OneBitScalar):
        kept = Fraction(law._kept, 2**62)
        plus = share * kept + (1 - share) * (1 - kept)
        return {1: plus, -1: 1 - plus}
    if isinstance(law, HybridScalar):
        chance = Fraction(law._piecewise_chance, 2**62)
        mixed = {m: chance * p for m, p in distribution(law._piecewise, position).items()}
        for sign, p in distribution(law._bit, position).items():
            mixed[-1 if sign < 0 else -2] = (1 - chance) * p
        return mixed
    assert isinstance(law, PiecewiseScalar)
    scaled = share * law.law.steps
    below, up = math.floor(scaled), scaled - math.floor(scaled)
    above = min(below + 1, law.law.steps)
    return {
        m: (1 - up) * law.law.probability(below, m) + up * law.law.probability(above, m) for m in range(law.law.outputs)
    }


def smallest_epsilon(rows: list[dict[int, Fraction]]) -> float:
    """The largest |log quotient| of two inputs' probabilities of one message, over all pairs and messages."""
    largest = Fraction(1)
    for message in set().union(*rows):
        column = [row.get(message, Fraction(0)) for row in rows]
        if min(column) == 0 < max(column):
            return math.inf
        if max(column) > 0:
            largest = max(largest, max(column) / min(column))
    with localcontext(prec=50):
        return float((Decimal(largest.numerator) / Decimal(largest.denominator)).ln())


def exact_at_most(rows: list[dict[int, Fraction]], epsilon: float) -> bool:
    largest = max(max(row[m] for row in rows) / min(row[m] for row in rows) for m, p in rows[0].items() if p > 0)
    with localcontext(prec=60):
        return (Decimal(largest.numerator) / Decimal(largest.denominator)).ln() <= Decimal(repr(epsilon))


def grid_positions(law: ScalarRandomizer) -> list[int]:
    """Positions on, next to and between all grid inputs, and both ends."""
    steps = law._steps
    places = {round(Fraction(j * law._span, 4 * steps)) for j in range(4 * steps + 1)}
    return sorted(places | {1, law._span - 1})


def value_of(law: ScalarRandomizer, message: int) -> Fraction:
    return law.estimate(law.total(np.array([message])), 1)


def number_at(law: ScalarRandomizer, position: int) -> Fraction:
    return (law._origin + position) * Fraction(2) ** law._unit_exponent


@pytest.mark.quarter
@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize("kind", FINITE)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_message_of_every_pair_is_private_and_unbiased(kind: type[ScalarRandomizer], epsilon: float) -> None:
    law = kind(0.1, 0.7, epsilon)
    positions = grid_positions(law)
    rows = [distribution(law, position) for position in positions]
    assert exact_at_most(rows, law.epsilon)
    assert Fraction(repr(law.epsilon)) <= Fraction(repr(epsilon))
    assert law.epsilon == pytest.approx(epsilon, rel=1e-5)
    assert smallest_epsilon(rows) == pytest.approx(law.epsilon, rel=1e-12)
    largest = Fraction(0)
    for position, row in zip(positions, rows, strict=True):
        assert sum(row.values()) == 1
        exact, values = number_at(law, position), {m: value_of(law, m) for m in row}
        assert sum(p * values[m] for m, p in row.items()) == exact
        variance = sum(p * (values[m] - exact) ** 2 for m, p in row.items())
        # The value is a float, a position next to it.
        assert float(variance) == pytest.approx(law.variance(float(exact)), rel=1e-9)
        fourth = sum(p * (values[m] - exact) ** 4 for m, p in row.items()) / law._width**4
        third = sum(p * abs(values[m] - exact) ** 3 for m, p in row.items()) / law._width**3
        assert float(third) <= law._third_moment() * (1 + 1e-12)
        if position * law._steps % law._span == 0:
            middle = Fraction(position, law._span) - Fraction(1, 2)
            assert fourth == sum(m * middle ** (2 * j) for j, m in enumerate(law._fourth_moment))
        assert max(abs(values[m] - law._centre) for m, p in row.items() if p > 0) == law._reach * law._width
        largest = max(largest, variance)
    assert float(largest) <= law.variance()
    assert float(largest) == pytest.approx(law.variance(), rel=0.02)


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("kind", LAWS)
def test_largest_variance_is_the_supremum(kind: type[ScalarRandomizer], low: float, high: float) -> None:
    for epsilon in EPSILONS:
        law = kind(low, high, epsilon)
        steps = [0.0, 1.0, 0.5, 0.5 / law._steps, 1.0 - 0.5 / law._steps, 0.25]
        found = [law.variance(min(max(low + (high - low) * step, low), high)) for step in steps]
        assert max(found) <= law.variance() * (1 + 1e-15)
        assert max(found) == pytest.approx(law.variance(), rel=1e-3)


@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 8.0])
def test_largest_variance_on_a_coarse_grid(kind: type[ScalarRandomizer], epsilon: float) -> None:
    # Rounding to six steps shows here: the maximum lies between two inputs for Laplace.
    law = kind(-1.0, 1.0, epsilon)
    found = max(law.variance(value) for value in np.linspace(-1, 1, 6 * 64 + 1))
    assert found <= law.variance() <= found * (1 + 1e-3)


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("exponent", [-3, 0, 20, 51, 62, 70, 400])
def test_positions_are_the_clipped_numbers(low: float, high: float, exponent: int) -> None:
    law = OneBitScalar(low, high, 1.0)
    unit = Fraction(2) ** law._unit_exponent
    shift = -exponent - law._unit_exponent
    near = [math.floor(Fraction(end) * Fraction(2) ** exponent) + j for end in (low, high) for j in range(-2, 3)]
    numbers = [*near, sum(near) // len(near), 0, 1, -1, 2**63 - 1, -(2**63)]
    values = np.array([number for number in numbers if -(2**63) <= number < 2**63], dtype=np.int64)
    if shift < -62:
        with pytest.raises(UsageError, match="exponent must be at most"):
            law._positions(values, exponent)
        return
    for value, position in zip(values.tolist(), law._positions(values, exponent).tolist(), strict=True):
        exact = Fraction(value) / Fraction(2) ** exponent / unit - law._origin
        clipped = min(max(exact, Fraction(0)), Fraction(law._span))
        assert 0 <= position <= law._span
        assert position == clipped if shift >= 0 else abs(position - clipped) < 1


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_the_range_is_widened_by_less_than_a_unit(low: float, high: float) -> None:
    law = OneBitScalar(low, high, 1.0)
    unit = Fraction(2) ** law._unit_exponent
    assert 2**59 <= law._span <= 2**60 + 2
    for end, own in ((low, -law._origin * unit), (-high, (law._origin + law._span) * unit)):
        assert 0 <= own + Fraction(end) < unit


def test_exact_ends_stay_exact() -> None:
    for low, high in ((-1.0, 1.0), (0.1, 0.7), (-3.0, 50.25)):
        law = OneBitScalar(low, high, 1.0)
        assert number_at(law, 0) == Fraction(low)
        assert number_at(law, law._span) == Fraction(high)


def test_finer_numbers_are_rounded_without_bias() -> None:
    # 40,000 numbers 3/8 of a unit above a position: within 6 standard deviations of 3/8, and 0.7x and 1.3x are not.
    law = OneBitScalar(-1.0, 1.0, 1.0)
    exponent = -law._unit_exponent + 3
    with seeded(4):
        drawn = law._positions(np.full(40_000, 8 * 5 + 3), exponent) - 5 + law._origin
    assert set(drawn.tolist()) == {0, 1}
    for factor, expected in ((1.0, True), (0.7, False), (1.3, False)):
        assert bool(abs(drawn.mean() - factor * 3 / 8) < 6 * math.sqrt(15 / 64 / 40_000)) is expected


@pytest.mark.parametrize("steps", [2, 6, 2**20, 2**32])
def test_grid_inputs_have_the_exact_chance(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    law = PiecewiseScalar(-3.0, 50.25, 1.0)
    law._steps = steps
    random = np.random.default_rng(steps)
    near = [round(Fraction(g * law._span, steps)) + d for g in (1, steps // 2, steps) for d in (-1, 0, 1)]
    positions = np.array([0, *near, *random.integers(0, law._span, 500)], dtype=np.int64)
    positions = positions[positions <= law._span]
    exact = [divmod(position * steps, law._span) for position in positions.tolist()]
    whole, rest = np.array([g for g, _ in exact]), np.array([r for _, r in exact])
    # The draw is uniform below span: exactly `rest` of its values go up.
    monkeypatch.setattr(scalar_randomizer, "draw_below", lambda limits: rest)
    assert np.array_equal(law._on_grid(positions), whole)
    monkeypatch.setattr(scalar_randomizer, "draw_below", lambda limits: np.maximum(rest - 1, 0))
    assert np.array_equal(law._on_grid(positions), whole + (rest > 0))
    assert law._on_grid(positions).max() <= steps


@pytest.mark.parametrize("kind", LAWS)
def test_totals_add_up_and_estimates_are_exact_fractions(kind: type[ScalarRandomizer]) -> None:
    law = kind(2.0, 5.0, 1.3)
    with seeded(1):
        messages = law.encode(np.full(1000, 7 * 2**29), 31)
    assert messages.dtype == np.int64
    assert messages.shape == (1000,)
    blocks = [law.total(part) for part in np.array_split(messages, 7)]
    assert sum(blocks) == law.total(messages)
    mean = sum(value_of(law, int(message)) for message in messages.tolist()) / 1000
    assert law.estimate(sum(blocks), 1000) == mean
    assert law.total(messages[:0]) == 0
    assert law.encode(messages[:0], 31).size == 0


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("epsilon", [0.4, 2.0, 6.0])
def test_estimates_are_of_the_clipped_numbers(kind: type[ScalarRandomizer], epsilon: float) -> None:
    # 60,000 messages about numbers inside and outside: within 6 standard deviations of the clipped mean.
    law = kind(-1.0, 3.0, epsilon)
    random = np.random.default_rng(2)
    numbers = random.normal(2.5, 1.5, 60_000)
    values = np.rint(numbers * 2.0**40).astype(np.int64)
    with seeded(3):
        estimate = float(law.estimate(law.total(law.encode(values, 40)), values.size))
    limit = 6 * math.sqrt(law.variance() / values.size)
    assert abs(estimate - np.clip(numbers, -1, 3).mean()) < limit
    if epsilon > 0.5:
        assert abs(estimate - numbers.mean()) > limit


def coverage(law: ScalarRandomizer, users: int, runs: int, level: float, narrow: float) -> tuple[float, float]:
    """Shares of runs whose interval, and whose interval ``narrow`` times as wide, holds the exact mean."""
    random = np.random.default_rng(7)
    values = np.rint(np.clip(random.normal(0.2, 0.3, users), -1, 1) * 2.0**40).astype(np.int64)
    truth = values.sum() / 2**40 / users
    held = close = 0
    with seeded(9):
        for _ in range(runs):
            estimate = float(law.estimate(law.total(law.encode(values, 40)), users))
            low, high = law.interval(estimate, users, level)
            held += low <= truth <= high
            close += estimate - narrow * (estimate - low) <= truth <= estimate + narrow * (high - estimate)
    return held / runs, close / runs


@pytest.mark.slow
@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("epsilon", [0.8, 4.0])
def test_intervals_cover(kind: type[ScalarRandomizer], epsilon: float) -> None:
    # 80 % of 400 runs, 5 standard deviations below it; half widths of 0.25x hold fewer than that. Exact tails are met.
    law = kind(-1.0, 1.0, epsilon)
    held, close = coverage(law, users=1000, runs=400, level=0.8, narrow=0.25)
    limit = 5 * math.sqrt(0.16 / 400)
    assert held >= 0.8 - limit
    assert close < 0.8 - limit
    if kind is LaplaceScalar:
        assert held <= 0.8 + limit


@pytest.mark.quarter
@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("users", [3, 40])
def test_intervals_cover_for_few_users(kind: type[ScalarRandomizer], users: int) -> None:
    held, _ = coverage(kind(-1.0, 1.0, 6.0), users, runs=200, level=0.95, narrow=1.0)
    assert held >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 200)


@pytest.mark.full
@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("epsilon", [0.3, 0.8, 2.0, 4.0])
@pytest.mark.parametrize("users", [3, 50, 20_000])
def test_intervals_cover_for_any_number_of_users(kind: type[ScalarRandomizer], epsilon: float, users: int) -> None:
    # At 20,000 users Berry and Esseen's bound is the narrower one.
    runs = 300 if users > 1000 else 1000
    held, _ = coverage(kind(-1.0, 1.0, epsilon), users, runs, level=0.95, narrow=1.0)
    assert held >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / runs)


@pytest.mark.quarter
@pytest.mark.parametrize("kind", LAWS)
def test_intervals_tighten_and_stay_in_the_range(kind: type[ScalarRandomizer]) -> None:
    law = kind(-1.0, 1.0, 1.0)
    ends = [law.interval(0.1, count, 0.95) for count in (1, 10_000, 10**8)]
    widths = [high - low for low, high in ends]
    assert ends[0] == (-1.0, 1.0)
    assert widths == sorted(widths, reverse=True)
    # With very many users all are about the normal law's.
    assert widths[-1] == pytest.approx(2 * 1.96 * math.sqrt(law.variance() / 10**8), rel=0.02)
    for estimate in (-7.0, -1.0, 1.0, 7.0):
        low, high = law.interval(estimate, 10_000, 0.95)
        assert -1.0 <= low <= high <= 1.0
    assert law.interval(0.1, 10**4, 1 - 1e-15)[0] <= ends[1][0]


def test_the_least_variance_is_chosen() -> None:
    winners = {epsilon: best_scalar(-5.0, 2.0, epsilon).name for epsilon in (0.1, 0.5, 0.6, 0.62, 1, 2, 3, 5, 8)}
    assert winners == dict.fromkeys((0.1, 0.5, 0.6), "one bit") | dict.fromkeys((0.62, 1, 2, 3, 5, 8), "hybrid")
    for epsilon in (0.5, 1, 2, 3, 5, 8):
        laws = scalar_candidates(-5.0, 2.0, epsilon)
        assert [law.name for law in laws] == ["one bit", "Laplace", "piecewise", "hybrid"]
        assert best_scalar(-5.0, 2.0, epsilon).variance() == min(law.variance() for law in laws)
    assert best_scalar(-1e-149, 1e-149, 2.0).name == best_scalar(-1e149, 1e149, 2.0).name == "hybrid"


def test_malformed_arguments_are_refused() -> None:
    for low, high, epsilon, message in (
        (1.0, 1.0, 1.0, "high must be above low"),
        (0.0, math.inf, 1.0, "high must be finite"),
        (-1e308, 1e308, 1.0, "high - low must be"),
        (0.0, 1e-200, 1.0, "high - low must be between"),
        (0.0, 1.0, 0.0, "epsilon must be between"),
        (0.0, 1.0, 30.1, "epsilon must be between"),
        (0.0, 1.0, math.nan, "epsilon must be finite"),
    ):
        for kind in LAWS:
            with pytest.raises(UsageError, match=message):
                kind(low, high, epsilon)
    law = OneBitScalar(0.0, 1.0, 1.0)
    with pytest.raises(UsageError, match="values must hold integers"):
        law.encode(np.array([0.5]), 3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="count must be at least 1"):
        law.estimate(0, 0)
    with pytest.raises(UsageError, match="level must be in"):
        law.interval(0.5, 3, 1.0)


def test_the_enumeration_finds_planted_faults() -> None:
    # Inputs put on the grid and clipped only after: three steps outside a grid of six the Laplace law tells more.
    ratio = Fraction(3, 5)
    good, bad = ([{m: ratio ** abs(m - g) for m in range(-20, 30)} for g in inputs] for inputs in (range(7), range(10)))
    allowed = 6 * math.log(5 / 3)
    assert smallest_epsilon(good) == pytest.approx(allowed)
    assert smallest_epsilon(bad) > 1.4 * allowed
    # The continuous piecewise law drawn from 2^10 floats, then rounded to a grid: more than epsilon, and a bias.
    epsilon = 1.0
    rows = [rounded_floats(t, epsilon) for t in np.linspace(-1, 1, 11)]
    assert smallest_epsilon(rows) > 1.001 * epsilon
    means = [sum(p * m for m, p in row.items()) / 16 for row in rows]
    assert max(abs(float(mean) - t) for mean, t in zip(means, np.linspace(-1, 1, 11), strict=True)) > 1e-3


def rounded_floats(t: float, epsilon: float) -> dict[int, Fraction]:
    """The printed algorithm on 1024 equally likely floats for each of its two branches, outputs rounded to 1/16."""
    root = math.exp(epsilon / 2)
    c = (root + 1) / (root - 1)
    left = (c + 1) / 2 * t - (c - 1) / 2
    chance = Fraction(root / (root + 1))
    law: dict[int, Fraction] = {}
    for k in range(1024):
        inside = left + (c - 1) * k / 1024
        outside = -c + (c + 1) * k / 1024
        outside += (c - 1) * (outside >= left)
        for place, p in ((inside, chance), (outside, 1 - chance)):
            message = round(16 * place)
            law[message] = law.get(message, Fraction(0)) + p / 1024
    return law
