"""Scales of one draw: never worse than separate draws, by the proof's own inequality and against a numeric optimum."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.estimators.mean.scales import Want, relative_errors, starting_scales, tuned_scales

POSITIVE = st.floats(1e-3, 1e3)


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[float], list[Want]]:
    count = draw(st.integers(1, 4))
    changes = draw(st.lists(POSITIVE, min_size=count, max_size=count))
    sizes = draw(st.lists(st.integers(1, count), min_size=1, max_size=4))
    chosen = [draw(st.permutations(range(count)))[:size] for size in sizes] + [list(range(count))]
    shares = draw(st.lists(POSITIVE, min_size=len(chosen), max_size=len(chosen)))
    wants = [
        Want(share / sum(shares), tuple((index, draw(POSITIVE)) for index in indices))
        for share, indices in zip(shares, chosen, strict=True)
    ]
    return changes, wants


@settings(deadline=None)
@given(problems())
def test_starting_scales_spend_no_more_than_the_budget_and_no_column_is_worse(
    problem: tuple[list[float], list[Want]],
) -> None:
    changes, wants = problem
    scales = starting_scales(changes, wants)
    added = math.fsum(scale * change for scale, change in zip(scales, changes, strict=True))
    assert added == pytest.approx(1.0)
    assert max(relative_errors(scales, added, changes, wants)) <= 1 + 1e-12


def test_the_separate_error_is_the_best_split_of_a_share() -> None:
    changes, weights, share = [3.0, 0.5], (1.0, 4.0), 0.25
    want = Want(share, tuple(enumerate(weights)))
    parts = np.linspace(1e-4, share - 1e-4, 20_001)
    best = float(np.min(weights[0] * changes[0] / parts + weights[1] * changes[1] / (share - parts)))
    together = sum(weight / scale for weight, scale in zip(weights, (1.0, 2.0), strict=True))
    assert relative_errors((1.0, 2.0), 1.0, changes, [want]) == pytest.approx([together / best], rel=1e-6)


def test_a_denominator_that_costs_nothing_is_made_precise() -> None:
    # Numerator and denominator use different parts of a product: the joint constant is the larger one.
    changes, wants = [10.0, 1.0], [Want(1.0, ((0, 1.0), (1, 0.5)))]

    def joint(scales: tuple[float, ...]) -> float:
        return max(scale * change for scale, change in zip(scales, changes, strict=True))

    scales = tuned_scales(changes, wants, 1, joint, joint)
    assert scales[0] == 1.0
    assert scales[1] == pytest.approx(10.0, rel=0.03)  # as large as it may be without moving the maximum


@pytest.mark.parametrize(("rates", "weight"), list(product([(1.0, 4.0), (4.0, 1.0)], [0.1, 1.0, 10.0])))
def test_the_search_finds_the_least_sum_of_errors(rates: tuple[float, float], weight: float) -> None:
    changes = [5.0, max(rates)]
    wants = [Want(0.6, ((0, 1.0), (1, weight))), Want(0.4, ((0, 2.0), (1, 0.3)))]

    def joint(scales: tuple[float, ...]) -> float:
        return max(5.0 * scales[0] + rates[0] * scales[1], rates[1] * scales[1])

    def total(scales: tuple[float, ...]) -> float:
        errors = relative_errors(scales, joint(scales), changes, wants)
        return sum(errors) if max(errors) <= 1 + 1e-9 else math.inf

    found = tuned_scales(changes, wants, 1, joint, joint)
    best = min(total((1.0, factor)) for factor in np.geomspace(1e-3, 1e3, 4001))
    assert total(found) <= 1.01 * best


def test_a_model_that_misleads_does_no_harm() -> None:
    changes, wants = [1.0, 1.0], [Want(1.0, ((0, 1.0), (1, 1.0)))]
    start = tuned_scales(changes, wants, None, sum, sum)
    assert tuned_scales(changes, wants, 1, sum, lambda scales: scales[0]) == start
    assert tuned_scales(changes, wants, 1, sum, lambda scales: 1e-3 / scales[1] ** 2) == start


def test_one_value_has_the_scale_one() -> None:
    assert tuned_scales([7.0], [Want(1.0, ((0, 1.0),))], 0, sum, sum) == (1.0,)
