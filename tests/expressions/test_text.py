"""Expressions print as the Python that builds them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emdp.expressions as ex

x, y = ex.col("x"), ex.col("y")
NAMES: dict[str, Any] = {name: getattr(ex, name) for name in ex.__all__} | {
    "x": x,
    "y": y,
    "abs": abs,
    "round": round,
}


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "col('two words')",
        "x + y - 1",
        "x - (y - 1)",
        "x - (y + 1)",
        "x * (y + 1)",
        "(x + y) * 2",
        "x / y * 2",
        "x / (y * 2)",
        "-x + y",
        "-(x + y)",
        "-x * y",
        "-(x * y)",
        "-x ** 2",
        "(-x) ** 2",
        "(x ** 2) ** 0.5",
        "x ** -1.5",
        "x * -2",
        "-2 * x",
        "0.1 * x + 1e-20",
        "abs(x - 3)",
        "minimum(x, y, 3)",
        "maximum(x, 0)",
        "clamp(x, 0, 1.5)",
        "ramp(distance_to((40.7484, -73.9857)), 2, 1)",
        "distance_to(3, 4.5, column='x')",
        "distance_to((1, 2), (3, 4), column=('lat', 'lon'))",
        "dot((1, -0.5), column='x')",
        "similarity('linux')",
        "category_is('a', 'b', column='kind')",
        "category_is(3) * x",
        "case({'a': x, ('b', 'c'): 2}, otherwise=x + 1, column='kind')",
        "exp(x) + log(x) + sqrt(x) + sin(x) + cos(x) + tanh(x) + atan(x)",
        "x > 3",
        "(x > 3) * y",
        "x + 1 <= y * 2",
        "x == 'cafe'",
        "x // 2 * 3",
        "x * (y % 3)",
        "round(x, 1)",
    ],
)
def test_text_reads_back_as_the_same_expression(text: str) -> None:
    built = eval(text, {"__builtins__": {}}, NAMES)  # noqa: S307
    assert str(built) == text
    assert repr(built) == text


def _grown(inner: st.SearchStrategy[ex.Expression]) -> st.SearchStrategy[ex.Expression]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda pair: pair[0] + pair[1]),
        pairs.map(lambda pair: pair[0] - pair[1]),
        pairs.map(lambda pair: pair[0] * pair[1]),
        pairs.map(lambda pair: pair[0] / pair[1]),
        pairs.map(lambda pair: ex.minimum(*pair)),
        inner.map(lambda e: -e),
        inner.map(lambda e: e**2),
        inner.map(lambda e: ex.ramp(e, 2.5, -1)),
    )


@settings(max_examples=150, deadline=None)
@given(st.recursive(st.sampled_from([x, y, ex.category_is("a")]), _grown, max_leaves=12))
def test_any_text_reads_back_as_the_same_expression(expression: ex.Expression) -> None:
    assert eval(str(expression), {"__builtins__": {}}, NAMES) == expression  # noqa: S307
