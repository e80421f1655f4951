"""The shuffle accountants: known answers, both ways, monotone, rounded to the safe side, and refused where invalid."""

import math
import time
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.privacy.blanket.output_law import OutputLaw
from emdp.privacy.rounding import as_decimal
from emdp.privacy.shuffle.attack import shuffle_attack
from emdp.privacy.shuffle.clones import clone_alpha
from emdp.privacy.shuffle.closed_form import closed_form_alpha, closed_form_alpha0
from emdp.privacy.shuffle.items import (
    METHODS,
    shuffle_alpha,
    shuffle_alpha0,
    shuffle_alpha0_bounds,
    shuffle_bounds,
)
from emdp.privacy.shuffle.tradeoff import MONOTONE, tradeoff_steps_alpha
from emdp.privacy.tradeoff.composition import tradeoff_alpha

ROWS = [
    (1, 1000, 10**8, 1e-12, 1.0853, 1.0003, 4.159),
    (2, 1000, 10**8, 1e-12, 3.8135, 2.8480, 14.95),
    (3, 1000, 10**8, 1e-12, 10.599, 5.9192, 41.99),
    (3.5, 1000, 10**8, 1e-12, 17.483, 8.2237, 68.39),
    (4, 1000, 10**8, 1e-12, 29.285, 11.362, 110.9),
    (0.5, 100, 10**5, 1e-6, 0.8492, 0.8306, 3.949),
    (1, 100, 10**6, 1e-6, 0.6787, 0.6236, 3.141),
    (1, 10, 10**3, 1e-6, 2.3883, 2.1963, None),
    (0.01, 1000, 10**3, 1e-12, 2.1443, 2.1443, 8.511),
    (0.1, 1000, 10**3, 1e-6, 27.140, 27.106, None),
]
"""EMD 3: alpha0, m, N, delta, alpha in any space, with the 0/1 metric, and by Thm 4.4."""


@pytest.mark.parametrize(("alpha0", "m", "N", "delta", "any_space", "discrete", "published"), ROWS)
def test_the_table(
    alpha0: float, m: int, N: int, delta: float, any_space: float, discrete: float, published: float | None
) -> None:
    assert clone_alpha(float(alpha0), m, N, delta, 0.0) == pytest.approx(any_space, rel=1e-4)
    assert clone_alpha(float(alpha0), m, N, delta, 1.0) == pytest.approx(discrete, rel=1e-4)
    assert clone_alpha(float(alpha0), m, N, delta, 0.0) == pytest.approx(any_space, rel=1e-2)
    assert shuffle_alpha(alpha0, m, N, delta) <= clone_alpha(float(alpha0), m, N, delta, 0.0)
    assert shuffle_alpha(alpha0, m, N, delta, w_min=1.0) <= clone_alpha(float(alpha0), m, N, delta, 1.0)
    closed = closed_form_alpha(alpha0, m, N, delta)
    assert closed == (None if published is None else pytest.approx(published, rel=2e-4))


@pytest.mark.parametrize("alpha0", [1, 2, 3])
def test_it_is_far_below_the_published_bound(alpha0: float) -> None:
    published = closed_form_alpha(alpha0, 1000, 10**8, 1e-12)
    assert published is not None
    assert published / shuffle_alpha(alpha0, 1000, 10**8, 1e-12) > 3.8


def test_the_inverse_of_the_running_example() -> None:
    found = {strength.method: strength.alpha0 for strength in shuffle_alpha0_bounds(25.0, 1000, 10**8, 1e-12)}
    assert round(found["exact clone steps"], 4) == 3.8490
    assert round(found["closed form"], 5) == 2.48387
    assert found["composition"] == 0.025
    discrete = {strength.method: strength.alpha0 for strength in shuffle_alpha0_bounds(25.0, 1000, 10**8, 1e-12, 1.0)}
    assert round(discrete["exact clone steps"], 4) == 5.1807
    assert found["trade-off steps"] == shuffle_alpha0(25.0, 1000, 10**8, 1e-12) == pytest.approx(4.312, abs=1e-3)
    assert discrete["trade-off steps"] == shuffle_alpha0(25.0, 1000, 10**8, 1e-12, 1.0)
    assert discrete["trade-off steps"] == pytest.approx(5.424, abs=1e-3)


TRADEOFF = [
    (1, 1000, 10**8, 1e-12, 1.0403, 0.9998),
    (2, 1000, 10**8, 1e-12, 3.482, 2.830),
    (3, 1000, 10**8, 1e-12, 8.762, 5.781),
    (3.5, 1000, 10**8, 1e-12, 13.25, 7.91),
    (4, 1000, 10**8, 1e-12, 19.67, 10.69),
    (1, 10, 10**3, 1e-6, 2.212, 2.199),
    (0.1, 1000, 10**3, 1e-6, 20.66, 20.66),
]
"""alpha0, m, N, delta, alpha by trade-off steps in any space and with the 0/1 metric, as they came out."""


@pytest.mark.parametrize(("alpha0", "m", "N", "delta", "any_space", "discrete"), TRADEOFF)
def test_the_table_of_the_trade_off_steps(
    alpha0: float, m: int, N: int, delta: float, any_space: float, discrete: float
) -> None:
    assert tradeoff_steps_alpha(float(alpha0), m, N, delta, 0.0) == pytest.approx(any_space, rel=5e-3)
    assert tradeoff_steps_alpha(float(alpha0), m, N, delta, 1.0) == pytest.approx(discrete, rel=5e-3)


def test_the_gain_at_alpha_25() -> None:
    strength = 3.8490
    assert clone_alpha(strength, 1000, 10**8, 1e-12, 0.0) == pytest.approx(25.0, rel=1e-4)
    assert 25.0 / shuffle_alpha(strength, 1000, 10**8, 1e-12) > 1.42
    # at the 0/1 metric the pair's own Gaussian limit is at 1.17
    assert 25.0 / shuffle_alpha(5.1807, 1000, 10**8, 1e-12, 1.0) > 1.15


@pytest.mark.parametrize(("alpha0", "alpha"), [(1, 4.15861), (2, 14.9479), (3, 41.9876)])
def test_the_closed_form(alpha0: float, alpha: float) -> None:
    assert closed_form_alpha(alpha0, 1000, 10**8, 1e-12) == pytest.approx(alpha, rel=4e-6)
    assert closed_form_alpha0(alpha, 1000, 10**8, 1e-12) == pytest.approx(alpha0, rel=4e-6)
    assert closed_form_alpha(30.0, 1000, 10**8, 1e-12) is None
    assert closed_form_alpha0(1.0, 2, 2, 1e-12) is None


@pytest.mark.slow
@pytest.mark.parametrize(("alpha0", "m", "N", "delta", "any_space"), [row[:5] for row in ROWS])
def test_the_attack_is_close_below(alpha0: float, m: int, N: int, delta: float, any_space: float) -> None:
    attack = shuffle_attack(alpha0, m, N, delta).alpha
    assert attack < shuffle_alpha(alpha0, m, N, delta)
    assert any_space / attack < (1.45 if any_space <= 20 else 1.61)


def exp_bounds(x: float) -> tuple[Fraction, Fraction]:
    with localcontext() as context:
        context.prec = 60
        value = Fraction(Decimal(x).exp())
    return value * (1 - Fraction(1, 10**50)), value * (1 + Fraction(1, 10**50))


@pytest.mark.quarter
@pytest.mark.parametrize(("m", "N"), [(1, 1), (1, 2), (2, 5), (7, 7), (3, 30), (12, 40)])
@pytest.mark.parametrize("alpha0", [0.001, 0.3, 2.0, 7.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-9, 1e-30])
def test_the_condition_holds_in_exact_fractions(alpha0: float, m: int, N: int, delta: float) -> None:
    alpha = clone_alpha(alpha0, m, N, delta, 0.0)
    reach = Fraction(alpha0) * m
    # alpha = 0 is the limit r -> infinity of r (e^alpha - 1) = m alpha0/2
    small = Fraction(alpha) if alpha > 0 else Fraction(1, 10**40)
    r = max((reach / small - 1) / 2, Fraction(0))
    clone = exp_bounds(-alpha0)[0]
    total = Fraction(0)
    for c in range(N):
        inner = Fraction(0)
        for a in range(c + 2):
            inner += max(r * (math.comb(c, a - 1) if a else 0) - (1 + r) * math.comb(c, a), Fraction(0))
        total += math.comb(N - 1, c) * clone**c * (1 - clone) ** (N - 1 - c) * inner / 2**c
    growth = exp_bounds(alpha)[1] - 1 if alpha > 0 else small * (1 + small)
    assert growth * total <= Fraction(delta)


def random_arguments(generator: np.random.Generator) -> dict[str, float]:
    N = int(10 ** generator.uniform(0.31, 10)) if generator.random() < 0.8 else int(generator.integers(2, 12))
    m = int(np.clip(N ** generator.choice([0.0, 0.3, 0.6, 1.0]), 1, N))
    w_min = float(generator.choice([0.0, 1.0, generator.random()]))
    alpha0 = float(10 ** generator.uniform(-4, math.log10(12)))
    return {"alpha0": alpha0, "m": m, "N": N, "delta": float(10 ** generator.uniform(-30, -2)), "w_min": w_min}


def harder(arguments: dict[str, float], name: str, generator: np.random.Generator) -> dict[str, float] | None:
    """The same with one argument changed, by the last digit or by much, so that alpha should not fall."""
    factor = 1 + float(generator.choice([2e-16, 1e-12, 1e-8, 1e-6, 1e-3, 0.5]))
    value = arguments[name]
    if name in ("delta", "w_min"):
        value = value / factor
    elif name == "alpha0":
        value = min(value * factor, 12.0)
    elif name == "m":
        value = max(int(value * factor), int(value) + 1)
    else:
        value = min(int(value / factor), int(value) - 1)
    changed = {**arguments, name: value}
    return changed if changed["m"] <= changed["N"] and changed["N"] >= 1 else None


def check_monotone(seed: int, cases: int) -> int:
    generator = np.random.default_rng(seed)
    strict = 0
    for _ in range(cases):
        arguments = random_arguments(generator)
        before = shuffle_alpha(**arguments)
        for name in arguments:
            changed = harder(arguments, name, generator)
            if changed is not None:
                after = shuffle_alpha(**changed)
                assert before <= after * (1 + MONOTONE), (arguments, changed)
                strict += before < after
    return strict


@pytest.mark.slow
def test_alpha_is_monotone_in_every_argument() -> None:
    assert check_monotone(3, 60) > 40


@pytest.mark.full
def test_alpha_is_monotone_in_every_argument_many_times() -> None:
    assert check_monotone(4, 600) > 400


def check_inverse(seed: int, cases: int) -> None:
    generator = np.random.default_rng(seed)
    for _ in range(cases):
        arguments = random_arguments(generator)
        alpha0 = arguments.pop("alpha0")
        alpha = shuffle_alpha(alpha0, **arguments)
        found = shuffle_alpha0(alpha, **arguments)
        assert shuffle_alpha(found, **arguments) <= alpha
        assert found >= alpha0 * (1 - 1e-5), (alpha0, arguments)
        above = shuffle_alpha0(alpha * (1 + float(generator.choice([2e-16, 1e-9, 1e-3]))), **arguments)
        assert above >= found * (1 - MONOTONE)


@pytest.mark.slow
def test_the_inverse_is_safe_tight_and_monotone() -> None:
    check_inverse(5, 40)


@pytest.mark.full
def test_the_inverse_is_safe_tight_and_monotone_many_times() -> None:
    check_inverse(6, 400)


def test_composition_alone_without_delta() -> None:
    assert shuffle_alpha(0.1, 3, 30, 0.0) == 0.3
    assert shuffle_alpha0(0.3, 3, 30, 0.0) == 0.1
    assert as_decimal(shuffle_alpha0(1.0, 3, 30, 0.0)) * 3 <= 1
    assert [bound.alpha for bound in shuffle_bounds(0.1, 3, 30, 0.0)].count(None) == len(METHODS) - 1
    assert all(bound.delta == 0 for bound in shuffle_bounds(0.1, 3, 30, 0.0) if bound.method == "composition")


def test_the_ends_of_the_ranges() -> None:
    assert shuffle_alpha(0.0, 5, 10, 1e-6) == 0.0
    assert shuffle_alpha0(0.0, 5, 10, 0.0) == 0.0
    # a change that delta covers as a whole
    assert shuffle_alpha(1e-4, 1, 10**6, 1e-2) == 0.0
    assert shuffle_alpha0(0.0, 1, 10**6, 1e-2) > 1
    # above the accountant's range composition is left
    assert shuffle_alpha(13.0, 2, 10**6, 1e-6) == 26.0
    assert shuffle_alpha0(1e5, 2, 10**6, 1e-6) == 50_000
    # more items than the accountant looks at
    assert clone_alpha(1.0, 10, 10**13, 1e-9, 0.0) == clone_alpha(1.0, 10, 10**12, 1e-9, 0.0)
    assert 0 < shuffle_alpha(1.0, 10, 10**13, 1e-9) <= shuffle_alpha(1.0, 10, 10**10, 1e-9) / 10
    assert shuffle_alpha(2.0, 10, 1000, 1e-300) <= 20


@pytest.mark.parametrize(
    "change",
    [
        {"alpha0": -1.0},
        {"alpha0": math.nan},
        {"alpha0": None},
        {"m": 0},
        {"m": 2.5},
        {"m": 101},
        {"N": 0},
        {"delta": 1.0},
        {"delta": -1e-9},
        {"w_min": 1.5},
        {"w_min": -0.1},
    ],
)
def test_malformed_arguments_are_refused(change: dict[str, object]) -> None:
    arguments = {"alpha0": 1.0, "m": 10, "N": 100, "delta": 1e-6, "w_min": 0.0, **change}
    for function in (shuffle_alpha, shuffle_bounds):
        with pytest.raises(UsageError):
            function(**arguments)
    alpha = arguments.pop("alpha0")
    for function in (shuffle_alpha0, shuffle_alpha0_bounds):
        with pytest.raises(UsageError):
            function(alpha, **arguments) if alpha is not None else function("one", **arguments)


def test_bounds_are_sorted_and_say_why() -> None:
    bounds = shuffle_bounds(1.0, 10, 1000, 1e-6)
    valid = [bound.alpha for bound in bounds if bound.alpha is not None]
    assert valid == sorted(valid)
    assert valid[0] == shuffle_alpha(1.0, 10, 1000, 1e-6)
    assert [bound.alpha is None for bound in bounds] == sorted(bound.alpha is None for bound in bounds)
    assert all(bool(bound.reason) == (bound.alpha is None) and bound.theorem for bound in bounds)
    strengths = shuffle_alpha0_bounds(25.0, 1000, 10**8, 1e-12)
    assert strengths[0].alpha0 == shuffle_alpha0(25.0, 1000, 10**8, 1e-12)
    assert all(bool(strength.reason) == (strength.alpha0 is None) for strength in strengths)


@dataclass(frozen=True)
class Response:
    """k-ary randomized response with integer weights, as a known randomizer."""

    asked: float
    k: int = 8
    w_min: float = 1.0

    @property
    def weights(self) -> np.ndarray:
        rest = round(2**62 / (math.exp(self.asked) + self.k - 1))
        weights = np.full((self.k, self.k), rest, dtype=np.int64)
        np.fill_diagonal(weights, 2**62 - (self.k - 1) * rest)
        return weights

    @property
    def alpha0(self) -> float:
        weights = self.weights
        return math.log(weights[0, 0] / weights[0, 1]) * (1 + 1e-14)

    @property
    def law(self) -> OutputLaw | None:
        pairs = np.array([[0, 1]])
        return OutputLaw(self.weights, 1.0 - np.eye(self.k), pairs)

    def at(self, alpha0: float) -> "Response":
        return replace(self, asked=alpha0)


class Continuous(Response):
    """The same, with a law that is not known."""

    @property
    def law(self) -> OutputLaw | None:
        return None


@pytest.mark.slow
def test_a_known_randomizer_sharpens_the_bound() -> None:
    known = Response(2.0)
    bounds = shuffle_bounds(None, 10, 10**5, 1e-6, randomizer=known)
    assert bounds[0].method == "blanket"
    alpha = shuffle_alpha(None, 10, 10**5, 1e-6, randomizer=known)
    assert alpha == bounds[0].alpha < 0.8 * shuffle_alpha(known.alpha0, 10, 10**5, 1e-6, 1.0)
    found = shuffle_alpha0(alpha, 10, 10**5, 1e-6, randomizer=known)
    assert 2.0 * 0.998 <= found <= 2.0 + 1e-9
    assert shuffle_alpha(None, 10, 10**5, 1e-6, randomizer=known.at(found)) <= alpha
    strengths = {one.method: one.alpha0 for one in shuffle_alpha0_bounds(alpha, 10, 10**5, 1e-6, randomizer=known)}
    assert strengths["blanket"] == pytest.approx(2.0, rel=2e-3)
    assert strengths["blanket"] > strengths["exact clone steps"]


def test_a_randomizer_of_unknown_law_brings_its_strength_and_distance() -> None:
    unknown = Continuous(2.0)
    bounds = shuffle_bounds(None, 10, 10**5, 1e-6, randomizer=unknown)
    assert bounds[0].alpha == shuffle_alpha(unknown.alpha0, 10, 10**5, 1e-6, 1.0)
    assert bounds[-1].reason
    found = shuffle_alpha0(1.0, 10, 10**5, 1e-6, randomizer=unknown)
    assert shuffle_alpha(None, 10, 10**5, 1e-6, randomizer=unknown.at(found)) <= 1.0
    assert found >= shuffle_alpha0(1.0, 10, 10**5, 1e-6, 1.0) * 0.998


def test_what_contradicts_the_randomizer_is_refused() -> None:
    with pytest.raises(UsageError, match="alpha0 must be at least"):
        shuffle_alpha(1.0, 10, 100, 1e-6, randomizer=Response(2.0))
    with pytest.raises(UsageError, match="w_min must be at most"):
        shuffle_alpha(None, 10, 100, 1e-6, 1.0, randomizer=Response(2.0, w_min=0.5))
    assert shuffle_alpha(5.0, 2, 100, 0.0, randomizer=Response(2.0)) == pytest.approx(4.0)


@pytest.mark.quarter
@pytest.mark.parametrize(("m", "N"), [(1, 2), (100, 10**5), (10**5, 10**5), (1000, 10**8), (10**10, 10**10)])
def test_one_inversion_is_fast(m: int, N: int) -> None:
    shuffle_alpha0(1.0, 2, 10, 1e-6)
    start = time.process_time()
    alpha = clone_alpha.__wrapped__(0.7, m, N, 1e-12, 0.0)
    shuffle_alpha0(alpha, m, N, 1e-12)
    assert time.process_time() - start < 1.0


def test_rounding_never_invents_an_item() -> None:
    many = 2**24 + 1
    assert tradeoff_steps_alpha(1e-3, many, many, 1e-6, 0.0) >= tradeoff_alpha(1e-3, many, many, 1e-6)


@pytest.mark.slow
def test_near_arguments_where_the_trade_off_steps_are_best() -> None:
    """Small bags, where a chain is few lines long and a jump would show."""
    generator = np.random.default_rng(9)
    compared = 0
    while compared < 300:
        m, w_min = int(10 ** generator.uniform(0.3, 2)), float(generator.choice([0.0, 1.0, generator.random()]))
        N = max(m, int(10 ** generator.uniform(0.5, 6)))
        alpha0, delta = float(10 ** generator.uniform(-2, 0.9)), float(10 ** generator.uniform(-12, -1))
        arguments = {"alpha0": alpha0, "m": m, "N": N, "delta": delta, "w_min": w_min}
        before = tradeoff_steps_alpha(**arguments)
        if before > 0.999 * min(m * alpha0, clone_alpha(**arguments)):
            continue
        for name in arguments:
            changed = harder(arguments, name, generator)
            if changed is not None:
                assert before <= tradeoff_steps_alpha(**changed) * (1 + MONOTONE), (arguments, changed)
                compared += 1


def test_a_method_that_bounds_nothing_says_why() -> None:
    for bound in shuffle_bounds(1.0, 1, 1000, 1e-6, w_min=1.0):
        assert (bound.alpha is None) == bool(bound.reason), bound
        assert bound.alpha is None or math.isfinite(bound.alpha), bound
