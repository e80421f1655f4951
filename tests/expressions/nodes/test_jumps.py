"""Jumps and unbounded slopes are refused, naming the sub-expression and what to write instead."""

import math

import numpy as np
import pytest

import emdp.expressions as ex
from emdp.base.errors import NotLipschitzError
from emdp.expressions import analyse, evaluate, offender
from emdp.spaces import Categories, Cycle, Embedding, Geo, Interval, Product, Space

x, kind = ex.col("x"), ex.col("kind")
SPACE = Product(Interval("x", 0, 10), Categories("kind", ["cafe", "bar"]))

JUMPS = [
    (x > 3, "x > 3", "`ramp(x, 3 - h, 3)`"),
    (x >= 3, "x >= 3", "`ramp(x, 3 - h, 3)`"),
    (x < 3, "x < 3", "`ramp(x, 3 + h, 3)`"),
    (x <= 2.5, "x <= 2.5", "`ramp(x, 2.5 + h, 2.5)`"),
    (x == 3, "x == 3", "ramp(abs(x - 3), h, 0)"),
    (x != 3, "x != 3", "ramp(abs(x - 3), h, 0)"),
    (x > 2 * x - 1, "x > 2 * x - 1", "`ramp(x - (2 * x - 1), a, b)`"),
    (
        x > ex.distance_to(3, column="x"),
        "x > distance_to(3, column='x')",
        "ramp(x - distance_to(3, column='x'), a, b)",
    ),
    (kind == "cafe", "kind == 'cafe'", "category_is('cafe', column='kind')"),
    (kind != "cafe", "kind != 'cafe'", "category_is('cafe', column='kind')"),
    (math.floor(x), "floor(x)", "ramp(x, a, b)"),
    (math.ceil(x / 2), "ceil(x / 2)", "ramp(x / 2, a, b)"),
    (math.trunc(x), "trunc(x)", "ramp(x, a, b)"),
    (round(x), "round(x)", "use `x` as it is"),
    (round(x, 2), "round(x, 2)", "use `x` as it is"),
    (x // 2, "x // 2", "use `x` as it is"),
    (x % 2, "x % 2", "use `x` as it is"),
]


@pytest.mark.parametrize(("jump", "text", "remedy"), JUMPS)
def test_a_jump_is_refused_wherever_it_stands(jump: ex.Expression, text: str, remedy: str) -> None:
    for whole in (
        jump,
        2 * jump + 1,
        ex.minimum(x, ex.exp(jump)),
        ex.case({"bar": jump}, otherwise=0),
        0 * jump,
    ):
        with pytest.raises(NotLipschitzError) as caught:
            analyse(whole, SPACE)
        error = caught.value
        assert error.offending == text
        assert error.expression == str(whole)
        assert remedy in error.remedy
        assert str(error) == f"`{text}` in `{whole}` {error.reason}; {error.remedy}"
        assert "jumps" in error.reason
        assert offender(whole, SPACE) is jump
        with pytest.raises(NotLipschitzError):
            evaluate(whole, SPACE, np.zeros((1, 2)))
        with pytest.raises(NotLipschitzError):
            _ = whole.on(SPACE).lipschitz


@pytest.mark.parametrize(
    "remedy",
    [
        ex.ramp(x, 3 - 0.5, 3),
        ex.ramp(x, 3 + 0.5, 3),
        ex.ramp(abs(x - 3), 0.5, 0),
        ex.ramp(x - (2 * x - 1), 0, 1),
        ex.category_is("cafe"),
        x,
    ],
)
def test_the_offered_remedies_are_accepted(remedy: ex.Expression) -> None:
    assert analyse(remedy, SPACE).is_finite
    assert offender(remedy, SPACE) is None


@pytest.mark.parametrize(
    ("expression", "space", "text", "remedy"),
    [
        (ex.col("hour"), Cycle("hour", 24), "hour", "distance_to(point, column='hour')"),
        (ex.col("lon"), Geo("lat", "lon", box=(80, -20, 90, 20), unit="km"), "lon", "distance_to"),
        (x / (x - x), SPACE, "x / (x - x)", "maximum(x - x, c)"),
        (x / 0, SPACE, "x / 0", "other than 0"),
        (ex.sqrt(x), SPACE, "sqrt(x)", "maximum(x, c)"),
        (ex.log(ex.distance_to(5, column="x")), SPACE, "log(distance_to(5, column='x'))", "maximum("),
        (ex.power(x, -1), SPACE, "x ** -1", "maximum(x, c)"),
        (
            ex.category_is("a"),
            Embedding("word", {"key": ["a", "b", "c"], "u": [0.0, 0.0, 1.0]}),
            "category_is('a')",
            "similarity",
        ),
    ],
)
def test_an_unbounded_slope_is_refused(expression: ex.Expression, space: Space, text: str, remedy: str) -> None:
    with pytest.raises(NotLipschitzError) as caught:
        analyse(1 + expression, space)
    assert caught.value.offending == text
    assert remedy in caught.value.remedy
    found = offender(1 + expression, space)
    assert found is not None
    assert str(found) == text


def test_offender_names_a_leaf_that_fits_no_part_too() -> None:
    assert str(offender(1 + ex.col("z"), SPACE)) == "z"
