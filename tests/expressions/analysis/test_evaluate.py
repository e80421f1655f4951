"""The reference evaluation: values, rounding, and what it refuses."""

import mpmath
import numpy as np
import pytest

import emdp.expressions as ex
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions import analyse, evaluate
from emdp.spaces import Categories, Embedding, Geo, Interval, Product, Vector

x, y = ex.col("x"), ex.col("y")
SPACE = Product(
    Interval("x", 0, 10),
    Vector(["a", "b"], box=[(0, 1), (0, 1)]),
    Categories("kind", ["cafe", "bar", "shop"]),
)
FRAME = {"x": [1.0, 4.0, 9.0], "a": [0.0, 0.6, 1.0], "b": [0.0, 0.8, 1.0], "kind": ["cafe", "bar", "shop"]}
NEAR_CENTRE = ex.distance_to((0, 0), (1, 1), column="a")


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        (ex.lift(2), [2, 2, 2]),
        (x, [1, 4, 9]),
        (ex.col("b"), [0, 0.8, 1]),
        (2 * x - 1, [1, 7, 17]),
        (-x / 2, [-0.5, -2, -4.5]),
        (x * x, [1, 16, 81]),
        (abs(x - 4), [3, 0, 5]),
        (x**2, [1, 16, 81]),
        (ex.sqrt(x + 1), [np.sqrt(2), np.sqrt(5), np.sqrt(10)]),
        (ex.log(x + 1), [np.log(2), np.log(5), np.log(10)]),
        (ex.exp(-x), np.exp([-1, -4, -9])),
        (ex.sin(x), np.sin([1, 4, 9])),
        (ex.cos(x), np.cos([1, 4, 9])),
        (ex.tanh(x), np.tanh([1, 4, 9])),
        (ex.power(x, 1.5), [1, 8, 27]),
        (ex.minimum(x, 5, 2 * x), [1, 4, 5]),
        (ex.maximum(x, 5), [5, 5, 9]),
        (ex.clamp(x, 2, 5), [2, 4, 5]),
        (ex.ramp(x, 10, 2), [1, 0.75, 0.125]),
        (ex.distance_to(3, column="x"), [2, 1, 6]),
        (ex.distance_to((0, 0), column="a"), [0, 1, np.sqrt(2)]),
        (NEAR_CENTRE, [0, np.hypot(0.4, 0.2), 0]),
        (ex.distance_to("bar"), [1, 0, 1]),
        (ex.dot([1, 2], column="a"), [0, 2.2, 3]),
        (ex.category_is("bar"), [0, 1, 0]),
        (ex.category_is("bar", "shop") * x, [0, 4, 9]),
        (ex.case({"bar": x, "shop": -1}, otherwise=7), [7, 4, -1]),
    ],
)
def test_values(expression: ex.Expression, values: list[float]) -> None:
    computed = evaluate(expression, SPACE, SPACE.encode(FRAME))
    assert computed.shape == (3,)
    assert computed.dtype == np.float64
    np.testing.assert_allclose(computed, values, rtol=1e-14, atol=1e-14)


def test_similarity_is_the_inner_product_with_the_label_s_vector() -> None:
    space = Embedding("word", {"key": ["a", "b"], "u": [1.0, 2.0], "v": [3.0, -1.0]})
    items = np.array([[0.0], [1.0], [2.0]])  # the last is the mean vector
    assert evaluate(ex.similarity("b"), space, items).tolist() == [-1, 5, 2]
    assert evaluate(ex.similarity("b"), space, items).tolist() == evaluate(ex.dot([2, -1]), space, items).tolist()


def test_no_item_gives_no_value() -> None:
    assert evaluate(x + 1, Interval("x", 0, 1), np.zeros((0, 1))).shape == (0,)


@pytest.mark.parametrize("items", [np.zeros(3), np.zeros((3, 2)), np.zeros((3, 1, 1))])
def test_items_of_another_shape_are_refused(items: np.ndarray) -> None:
    with pytest.raises(UsageError, match=r"items must have shape \(n, 1\)"):
        evaluate(x, Interval("x", 0, 1), items)


@pytest.mark.parametrize("expression", [1 / x, ex.log(x), ex.clamp(1 / x, 0, 5), ex.minimum(1 / x, 3), x + 0])
def test_items_outside_the_domain_are_not_moved_into_it(expression: ex.Expression) -> None:
    space = Interval("x", 1, 2)
    bad = np.array([[1.0], [np.nan if expression.operands[0] == x else 0.0]])
    with pytest.raises(UsageError, match="must lie in the domain"):
        evaluate(expression, space, bad)
    assert evaluate(x, space, np.array([[7.0]])).tolist() == [7]


def test_what_the_analysis_refuses_is_not_evaluated() -> None:
    with pytest.raises(NotLipschitzError):
        evaluate(1 / x, Interval("x", 0, 1), np.ones((1, 1)))


def test_the_rounding_bound_holds_for_deep_expressions_and_is_of_use() -> None:
    space = Product(Interval("x", 0.1, 3), Interval("y", -2, 2))
    expression = ex.exp(ex.sin(x * y) / x) * ex.sqrt(x + y**2) - ex.tanh(x**3 - 0.3 * y) / ex.log(x + 2)
    known = analyse(expression, space)
    rng = np.random.default_rng(11)
    items = np.column_stack([rng.uniform(0.1, 3, 200), rng.uniform(-2, 2, 200)])
    values = evaluate(expression, space, items)
    with mpmath.workprec(200):
        for (a, b), value in zip(items, values, strict=True):
            u, v = mpmath.mpf(float(a)), mpmath.mpf(float(b))
            exact = mpmath.exp(mpmath.sin(u * v) / u) * mpmath.sqrt(u + v**2)
            exact -= mpmath.tanh(u**3 - mpmath.mpf(0.3) * v) / mpmath.log(u + 2)
            assert abs(exact - mpmath.mpf(float(value))) <= known.rounding
    assert known.rounding < 1e-8 * known.magnitude


def test_the_rounding_bound_of_a_ramp_of_a_distance() -> None:
    space = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
    assert analyse(ex.ramp(ex.distance_to((40.7484, -73.9857)), 2, 1), space).rounding < 1e-9
