"""Defects found by searching for counterexamples to the constants of expressions."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from emdp.base.errors import NotLipschitzError, RefusedError, UsageError
from emdp.expressions import (
    Expression,
    analyse,
    analyse_vector,
    category_is,
    col,
    distance_to,
    dot,
    evaluate,
    final_lipschitz,
    ramp,
)
from emdp.spaces import Categories, Geo, Interval, Product, Space, Vector


def beneath_its_check(space: Space, diameter: float) -> Space:
    """A space with a diameter that its constructor refuses: the second defence of a constant against 0."""
    object.__setattr__(space, "diameter", diameter)
    return space


@pytest.mark.parametrize(
    ("space", "expression", "ends"),
    [
        (beneath_its_check(Vector(["x"], box=[(0, 1)]), 1e-200), dot([1e-149]) * 1e149, [[0.0], [1.0]]),
        (Vector(["x"], box=[(0, 1)], diameter=1e-150), dot([1e-149]) * 1e149, [[0.0], [1.0]]),
        (Vector(["x"], box=[(0, 1)], diameter=1e-150), dot([5e-324]) * 1e300, [[0.0], [1.0]]),
        (
            beneath_its_check(Geo("lat", "lon", box=(40, -74, 41, -73)), 1e-322),
            ramp(col("lat"), 40, 41),
            [[40.0, -74.0], [41.0, -74.0]],
        ),
    ],
    ids=["dot", "dot at 1e-150", "dot of the least double", "lat"],
)
def test_what_varies_has_a_positive_constant(space: Space, expression: Expression, ends: list[list[float]]) -> None:
    # A constant of 0 makes a mechanism release the exact answer and charge nothing.
    items = np.array(ends)
    first, second = evaluate(expression, space, items)
    known = analyse(expression, space)
    with np.errstate(over="ignore"):  # below its check a diameter may divide beyond the largest double
        distance = space.distances(items[:1], items[1:])[0, 0]
    allowed = final_lipschitz(known, space) * distance + 2 * known.rounding
    assert abs(first - second) <= allowed


def test_the_computed_value_stays_within_its_rounding_where_products_underflow() -> None:
    space = Vector(["x"], box=[(0, 1e-171)], diameter=1e-150)
    expression = dot([1e-149]) * 1e160 * 1e160
    items = np.linspace(0, 1e-171, 20_001)[:, None]
    known = analyse(expression, space)
    distances = np.abs(np.diff(items[:, 0])) / space.diameter
    allowed = final_lipschitz(known, space) * distances + 2 * known.rounding
    assert (np.abs(np.diff(evaluate(expression, space, items))) <= allowed).all()


@pytest.mark.parametrize("weights", [(5.5, 6.6, 4.9, 8.4), (0.3, 5.0)])
def test_the_final_constant_covers_the_exact_share(weights: tuple[float, ...]) -> None:
    parts = [Interval(f"x{index}", 0, 1).weighted(weight) for index, weight in enumerate(weights)]
    space = Product(*parts)
    for index, weight in enumerate(weights):
        constant = final_lipschitz(analyse(col(f"x{index}"), space), space)
        assert Fraction(constant) * Fraction(weight) >= sum(map(Fraction, weights))


def test_an_infinite_final_constant_is_refused() -> None:
    try:
        space = Product(Interval("x", 0, 1).weighted(1e-310), Interval("y", 0, 1))
    except UsageError:
        return
    with pytest.raises((RefusedError, UsageError)):
        final_lipschitz(analyse(col("x"), space), space)


def test_squares_that_overflow_leave_the_2_norm_finite_or_refused() -> None:
    try:
        found = analyse_vector([col("x") * 1e200], Interval("x", 0, 1))
    except RefusedError:
        return
    assert math.isfinite(found.lipschitz_2)


def test_a_wide_product_is_analysed_as_a_vector_too() -> None:
    space = Product(Interval("x", 0, 0.001), Categories("c", ["a", "b"]))
    expression = category_is("a") * balanced(250)
    assert analyse(expression, space).is_finite
    assert math.isfinite(analyse_vector([expression], space).lipschitz_1)


def balanced(count: int) -> Expression:
    return col("x") + 1.0 if count == 1 else balanced(count // 2) * balanced(count - count // 2)


@pytest.mark.slow
def test_a_wide_product_keeps_its_block() -> None:
    space = Product(Interval("x", 0, 0.001), Categories("c", ["a", "b", "c"]))
    entries = [category_is(label) * balanced(250) for label in "abc"]
    assert analyse_vector(entries, space).lipschitz_1 < 0.7 * sum(
        analyse_vector([entry], space).lipschitz_1 for entry in entries
    )


def test_an_infinite_final_constant_names_the_expression() -> None:
    space = Product(Interval("x", 0, 1), Interval("y", 0, 1).weighted(1e12))
    expression = col("x") * 1e300
    assert expression.on(Product(Interval("x", 0, 1), Interval("y", 0, 1))).lipschitz == 2e300
    with pytest.raises(NotLipschitzError, match=r"`x \* 1e\+300` .*beyond the largest double"):
        _ = expression.on(space).lipschitz
    with pytest.raises(NotLipschitzError, match=r"`x \* 1e\+300, y`"):
        analyse_vector([expression, col("y")], space)


def test_shares_are_exact() -> None:
    space = Product(Interval("x", 0, 1), Interval("y", 0, 1).weighted(2))
    assert final_lipschitz(analyse(col("x"), space), space) == 3
    assert analyse_vector([col("x"), col("y")], space).lipschitz_2 == 3


@pytest.mark.parametrize("make", [lambda huge: dot([huge]), distance_to, category_is])
def test_integers_that_fit_no_double_are_usage_errors(make: Callable[[int], Expression]) -> None:
    for digits in (400, 5000):
        with pytest.raises(UsageError, match="fit a double"):
            make(10**digits)
