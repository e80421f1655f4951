"""The arithmetic of levels: smallest for a target, and parts that never add up to more than the rest."""

import math
import random

import pytest

from emdp.privacy.rounding import as_decimal
from emdp.reports.levels import divide_rest, smallest_level


def three_digits(level):
    return float(f"{level:.2e}") == level


LAWS = {
    "inverse": lambda level: 2 / level,
    "root": lambda level: 3 / math.sqrt(level),
    "square": lambda level: 5 / level**2,
    "cut": lambda level: 2 / level if level > 0.37 else math.inf,
    "steps": lambda level: 1 / math.floor(level) if level >= 1 else math.inf,
    "offset": lambda level: 0.01 + 1 / level,
}


@pytest.mark.parametrize("law", LAWS)
def test_the_level_meets_the_target_and_the_next_lower_one_misses_it(law):
    """600 targets and limits for each of six laws of the error, with few evaluations."""
    rng = random.Random(11)
    found = 0
    for _ in range(600):
        target, limit, calls = 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-3, 4), []

        def error_at(level, calls=calls):
            calls.append(level)
            return LAWS[law](level)

        level = smallest_level(error_at, target, limit)
        assert all(own <= limit for own in calls)
        assert len(calls) <= 30
        if level is None:
            assert LAWS[law](limit * 0.99) > target
            continue
        found += 1
        assert three_digits(level)
        assert LAWS[law](level) <= target
        step = 10.0 ** (math.floor(math.log10(level)) - 2)
        assert LAWS[law](level - step * 1.0001) > target
        assert level <= limit
    assert found > 100


def test_an_inverse_law_takes_few_plans():
    calls = []

    def error_at(level):
        calls.append(level)
        return 2 / level

    assert smallest_level(error_at, 0.3, 1000.0) == 6.67
    assert len(calls) <= 4


@pytest.mark.parametrize(
    ("error", "limit", "level"),
    [(0.0, 5.0, 1e-9), (math.inf, 5.0, None), (math.nan, 5.0, None), (0.1, 1e-12, None), (0.2, 5.0, None)],
)
def test_errors_that_do_not_depend_on_the_level(error, limit, level):
    assert smallest_level(lambda own: error, 0.1, limit) == level


@pytest.mark.parametrize(("limit", "level"), [(6.67, 6.67), (6.669, None), (7.0, 6.67), (1e5, 6.67)])
def test_the_limit_is_included(limit, level):
    assert smallest_level(lambda own: 2 / own, 0.3, limit) == level


@pytest.mark.slow
def test_parts_never_add_up_to_more_than_the_rest_and_miss_it_by_nothing_that_counts():
    """3,000 budgets of up to 30 entries: sums of decimals, not of floats."""
    rng = random.Random(5)
    for _ in range(3000):
        total = rng.choice([0.3, 1.0, 6.0, 0.1, rng.uniform(0.01, 100)])
        taken = [total * rng.choice([0.1, 0.01, rng.random() / 20]) for _ in range(rng.randint(0, 5))]
        weights = [rng.choice([1, 2, 0.1, rng.uniform(0.01, 9)]) for _ in range(rng.randint(1, 30))]
        parts = divide_rest(total, taken, weights)
        whole = sum(map(as_decimal, [*taken, *parts]))
        assert whole <= as_decimal(total)
        assert whole >= as_decimal(total) * (1 - as_decimal(1e-4))
        ratio = parts[0] / weights[0]
        assert all(
            math.isclose(part / weight, ratio, rel_tol=1e-4) for part, weight in zip(parts, weights, strict=True)
        )


@pytest.mark.parametrize("taken", [[1.0], [0.4, 0.6], [0.1] * 10, [2.0]])
def test_nothing_is_left(taken):
    assert divide_rest(1.0, taken, [1]) is None
    assert divide_rest(1.0, taken[1:], [1]) is not None or taken == [2.0] or len(taken) == 1
