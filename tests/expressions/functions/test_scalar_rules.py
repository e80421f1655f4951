"""Each scalar function's constant, range and rounding error against brute force and exact arithmetic."""

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

import emdp.expressions as ex
from emdp.base.errors import NotLipschitzError
from emdp.expressions import Expression, analyse, evaluate
from emdp.spaces import Interval

Function = Callable[[Expression], Expression]

FUNCTIONS: dict[str, tuple[Function, list[tuple[float, float]], Callable[[mpmath.mpf], mpmath.mpf]]] = {
    "negate": (lambda x: -x, [(-2, 5)], lambda x: -x),
    "scale": (lambda x: x * -3.7, [(-2, 5)], lambda x: x * mpmath.mpf(-3.7)),
    "shift": (lambda x: x + 0.1, [(-2, 5)], lambda x: x + mpmath.mpf(0.1)),
    "halve": (lambda x: x / 2.5, [(-2, 5)], lambda x: x / mpmath.mpf(2.5)),
    "abs": (abs, [(-2, 5), (-5, 2), (1, 2), (-2, -1)], abs),
    "minimum": (lambda x: ex.minimum(x, 1), [(-2, 5)], lambda x: min(x, mpmath.mpf(1))),
    "maximum": (lambda x: ex.maximum(x, 1), [(-2, 5)], lambda x: max(x, mpmath.mpf(1))),
    "clamp": (
        lambda x: ex.clamp(x, 0, 1),
        [(-2, 5), (0.25, 3)],
        lambda x: min(max(x, mpmath.mpf(0)), mpmath.mpf(1)),
    ),
    "ramp up": (lambda x: ex.ramp(x, 0.1, 1), [(-2, 5)], lambda x: _ramp(x, 0.1, 1)),
    "ramp down": (lambda x: ex.ramp(x, 2, 1), [(-2, 5), (1.5, 3)], lambda x: _ramp(x, 2, 1)),
    "exp": (ex.exp, [(-2, 3), (-30, -20), (0, 20)], mpmath.exp),
    "log": (ex.log, [(0.1, 5), (1, 100), (1e-6, 1e-5)], mpmath.log),
    "sqrt": (ex.sqrt, [(0.1, 5), (4, 9), (1e-6, 1e-3)], mpmath.sqrt),
    "sin": (ex.sin, [(-0.3, 0.3), (0.5, 1.2), (1, 4), (4, 5), (-10, 20), (100, 101)], mpmath.sin),
    "cos": (ex.cos, [(-0.3, 0.3), (0.5, 1.2), (1, 4), (4, 5), (-10, 20), (100, 101)], mpmath.cos),
    "tanh": (ex.tanh, [(-1, 2), (1, 3), (-4, -2), (5, 30)], mpmath.tanh),
    "atan": (ex.atan, [(-1, 2), (1, 3), (-4, -2), (5, 30), (-50, 80)], mpmath.atan),
    "square": (lambda x: x**2, [(-2, 5), (-5, -1), (1, 2), (0, 2)], lambda x: x**2),
    "cube": (lambda x: x**3, [(-2, 5), (-5, -1), (0, 2)], lambda x: x**3),
    "power 1.5": (lambda x: x**1.5, [(0, 5), (1, 2)], lambda x: x ** mpmath.mpf(1.5)),
    "power 0.5": (lambda x: ex.power(x, 0.5), [(0.1, 5)], lambda x: x ** mpmath.mpf(0.5)),
    "power 0.3": (lambda x: ex.power(x, 0.3), [(0.1, 5)], lambda x: x ** mpmath.mpf(0.3)),
    "power -1": (lambda x: x**-1, [(0.1, 5), (-3, -0.5)], lambda x: x**-1),
    "power -2": (lambda x: x**-2, [(0.1, 5), (-3, -0.5)], lambda x: x**-2),
    "power -0.7": (lambda x: ex.power(x, -0.7), [(0.1, 5)], lambda x: x ** mpmath.mpf(-0.7)),
    "power 1": (lambda x: x**1, [(-2, 5)], lambda x: x),
    "reciprocal": (lambda x: 1 / x, [(0.1, 5), (-3, -0.5)], lambda x: 1 / x),
    "quotient": (lambda x: x / (10 - x), [(1, 5)], lambda x: x / (10 - x)),
    "product": (lambda x: x * (x + 1), [(1, 5)], lambda x: x * (x + 1)),
}
CASES = [(name, low, high) for name, (_, ranges, _) in FUNCTIONS.items() for low, high in ranges]

LOOSE = {"quotient": 1.9, "product": 1.01}
"""Rules of two operands bound each by itself; all others are exact but for rounding and the grid."""


def _ramp(x: mpmath.mpf, a: float, b: float) -> mpmath.mpf:
    height = (x - mpmath.mpf(a)) / (mpmath.mpf(b) - mpmath.mpf(a))
    return min(max(height, mpmath.mpf(0)), mpmath.mpf(1))


def _grid(low: float, high: float) -> np.ndarray:
    even = np.linspace(low, high, 20_001)
    near_ends = np.geomspace(1e-8, 0.5, 800) * (high - low)
    return np.unique(np.clip(np.concatenate([even, low + near_ends, high - near_ends]), low, high))


@pytest.mark.parametrize(("name", "low", "high"), CASES)
def test_constant_bounds_and_meets_the_steepest_chord(name: str, low: float, high: float) -> None:
    space, expression = Interval("x", low, high), FUNCTIONS[name][0](ex.col("x"))
    known = analyse(expression, space)
    points = _grid(low, high)
    values = evaluate(expression, space, points[:, None])
    steps = np.diff(points)
    change = np.abs(np.diff(values)) * space.diameter
    error = (2 * known.rounding + 1e-15 * known.parts[0]) * space.diameter
    assert (change <= known.parts[0] * steps + error).all()
    wide = steps > 1e-7 * (high - low)
    assert known.parts[0] <= LOOSE.get(name, 1.003) * float(np.max(change[wide] / steps[wide]))


@pytest.mark.parametrize(("name", "low", "high"), CASES)
def test_range_holds_and_is_tight(name: str, low: float, high: float) -> None:
    space, expression = Interval("x", low, high), FUNCTIONS[name][0](ex.col("x"))
    known = analyse(expression, space)
    values = evaluate(expression, space, _grid(low, high)[:, None])
    assert known.computed_low <= values.min()
    assert values.max() <= known.computed_high
    loose = 1.0 if name in LOOSE else 1e-4
    assert values.min() - known.low <= loose * known.spread
    assert known.high - values.max() <= loose * known.spread


@pytest.mark.quarter
@pytest.mark.parametrize(("name", "low", "high"), CASES)
def test_computed_values_are_within_the_rounding_bound(name: str, low: float, high: float) -> None:
    function, _, exact = FUNCTIONS[name]
    space = Interval("x", low, high)
    # an operand with an error of its own, so that its propagation is tested as well
    inner = (ex.col("x") * 0.1 + ex.col("x") * 0.9) if low != 0 and name not in ("quotient", "product") else ex.col("x")
    expression = function(inner)
    known = analyse(expression, space)
    rng = np.random.default_rng(5)
    points = np.clip(low + rng.uniform(size=300) * (high - low), low, high)
    values = evaluate(expression, space, points[:, None])
    with mpmath.workprec(300):
        tenths = mpmath.mpf(0.1) + mpmath.mpf(0.9)
        for point, value in zip(points, values, strict=True):
            at = mpmath.mpf(float(point)) * (tenths if inner.operands else 1)
            assert abs(exact(at) - mpmath.mpf(float(value))) <= known.rounding
    assert known.rounding <= 1e-12 * max(known.magnitude, known.parts[0])


def test_the_grid_notices_a_constant_that_is_too_small_by_one_per_cent() -> None:
    space = Interval("x", -2, 3)
    points = _grid(-2, 3)
    values = evaluate(ex.exp(ex.col("x")), space, points[:, None])
    steepest = float(np.max(np.abs(np.diff(values)) / np.diff(points))) * space.diameter
    assert steepest > 0.99 * analyse(ex.exp(ex.col("x")), space).parts[0]


@pytest.mark.parametrize("low", [0.0, -1.0])
@pytest.mark.parametrize(
    ("function", "text"),
    [
        (ex.sqrt, "sqrt(x)"),
        (ex.log, "log(x)"),
        (lambda x: 1 / x, "1 / x"),
        (lambda x: x**-1, "x ** -1"),
        (lambda x: x**-2, "x ** -2"),
        (lambda x: ex.power(x, 0.5), "x ** 0.5"),
        (lambda x: ex.power(x, -0.5), "x ** -0.5"),
    ],
)
def test_a_singular_point_in_the_range_is_refused(function: Function, text: str, low: float) -> None:
    with pytest.raises(NotLipschitzError, match="has no bounded slope") as caught:
        analyse(2 + function(ex.col("x")), Interval("x", low, 4))
    assert caught.value.offending == text
    assert caught.value.expression == f"2 + {text}"
    assert "maximum(x, c)" in caught.value.remedy


@pytest.mark.parametrize(
    "function",
    [ex.sqrt, ex.log, lambda x: 1 / x, lambda x: ex.power(x, 0.5), lambda x: x**-3],
)
def test_the_offered_maximum_is_accepted(function: Function) -> None:
    analyse(function(ex.maximum(ex.col("x"), 0.01)), Interval("x", -1, 4))


def test_a_point_that_rounding_could_reach_is_refused_too() -> None:
    almost = ex.col("x") * 0.1 + ex.col("x") * 0.2 + 1e-17
    with pytest.raises(NotLipschitzError, match="has no bounded slope"):
        analyse(ex.log(almost), Interval("x", 0, 1))


def test_a_fractional_power_of_a_range_below_zero_is_refused() -> None:
    with pytest.raises(NotLipschitzError, match="goes below 0") as caught:
        analyse(ex.col("x") ** 1.5, Interval("x", -1, 4))
    assert "maximum(x, 0)" in caught.value.remedy
    assert analyse(ex.maximum(ex.col("x"), 0) ** 1.5, Interval("x", -1, 4)).low == 0


@pytest.mark.parametrize("exponent", [0, 0.0])
def test_power_zero_is_the_constant_one(exponent: float) -> None:
    known = analyse(ex.power(ex.col("x"), exponent), Interval("x", -1, 4))
    assert (known.low, known.high, known.parts) == (1, 1, (0,))


@pytest.mark.parametrize(
    "expression",
    [
        ex.exp(1000 * ex.col("x")),
        ex.power(ex.col("x"), 5000),
        ex.col("x") * 1e200 * 1e200,
        ex.exp(ex.exp(ex.exp(ex.col("x")))),
    ],
)  # fmt: skip
def test_what_overflows_is_refused(expression: Expression) -> None:
    with pytest.raises(NotLipschitzError, match="beyond the largest double"):
        analyse(expression, Interval("x", -3, 4))


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        (ex.clamp(ex.col("x"), 5, 6), 5, 5),
        (ex.clamp(ex.col("x"), -6, -5), -5, -5),
        (ex.ramp(ex.col("x"), 5, 6), 0, 0),
        (ex.ramp(ex.col("x"), 6, 5), 1, 1),
        (ex.minimum(ex.col("x"), -4), -4, -4),
        (ex.maximum(ex.col("x"), 4), 4, 4),
        (ex.clamp(ex.col("x") * 1e6, 5, 5), 5, 5),
        (0 * ex.col("x"), 0, 0),
    ],
)
def test_what_never_changes_has_constant_zero(expression: Expression, low: float, high: float) -> None:
    known = analyse(expression, Interval("x", -3, 4))
    assert (known.low, known.high, known.parts) == (low, high, (0,))


def test_a_clamp_outside_the_range_is_the_identity() -> None:
    space = Interval("x", -3, 4)
    assert analyse(ex.clamp(ex.col("x"), -5, 5), space) == analyse(ex.col("x"), space)


def test_an_operand_that_is_never_the_least_does_not_count() -> None:
    space = Interval("x", 0, 1)
    assert analyse(ex.minimum(ex.col("x"), 100 * ex.col("x") + 1), space).parts == (1,)
    assert analyse(ex.maximum(ex.col("x"), 100 * ex.col("x") - 100), space).parts == (1,)
    assert analyse(ex.minimum(ex.col("x"), 100 * ex.col("x")), space).parts == (100,)
