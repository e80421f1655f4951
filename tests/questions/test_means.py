"""Frozen queries check their parameters when they are made."""

import math
from typing import Any

import pytest

import emdp.expressions as ex
from emdp.base.errors import UsageError
from emdp.questions import Mean, Price, VectorMean, mean, vector_mean

x, y = ex.col("x"), ex.col("y")


def test_a_mean_keeps_what_it_was_given() -> None:
    query = mean(x, alpha=2, delta=1e-9, name="near")
    assert query == Mean(ex.col("x"), Price("alpha", 2.0, 1e-9), name="near")
    assert hash(query) == hash(Mean(x, Price("alpha", 2.0, 1e-9), "near"))
    assert mean(3, epsilon=1).expression == ex.lift(3)


def test_a_vector_mean_keeps_what_it_was_given() -> None:
    query = vector_mean([x, 2], alpha=1, noise="k_norm", names=["a", "b"])
    assert query == VectorMean((x, ex.lift(2)), Price("alpha", 1.0), noise="k_norm", names=("a", "b"))
    assert query.expressions == (x, ex.lift(2))
    assert vector_mean((e for e in (x, y)), epsilon=1).expressions == (x, y)
    assert query.price.delta == 0


def test_queries_are_frozen() -> None:
    with pytest.raises(AttributeError):
        mean(x, alpha=1).alpha = 2.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of alpha and epsilon must be given, got none"),
        ({"alpha": 1, "epsilon": 1}, "got both"),
        ({"alpha": 0}, "alpha must be above 0"),
        ({"alpha": -1}, "alpha must be above 0"),
        ({"alpha": math.inf}, "alpha must be finite"),
        ({"alpha": "1"}, "alpha must be a number"),
        ({"epsilon": math.nan}, "epsilon must be finite"),
        ({"alpha": 1, "delta": 1}, r"delta must be in \[0, 1\)"),
        ({"alpha": 1, "delta": -1e-9}, r"delta must be in \[0, 1\)"),
    ],
)
def test_parameters_out_of_range_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mean(x, **arguments)
    with pytest.raises(UsageError, match=message):
        vector_mean([x], **arguments)


@pytest.mark.parametrize("name", ["", 3])
def test_names_are_texts(name: Any) -> None:
    with pytest.raises(UsageError, match="names must be non-empty texts"):
        mean(x, alpha=1, name=name)
    with pytest.raises(UsageError, match="names must be non-empty texts"):
        vector_mean([x], alpha=1, names=[name])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"expressions": []}, "expressions is empty"),
        ({"expressions": x}, "must be a sequence of expressions"),
        ({"expressions": "x"}, "must be a sequence of expressions"),
        ({"expressions": 3}, "must be a sequence of expressions"),
        ({"expressions": ["x"]}, r"write col\('x'\)"),
        ({"expressions": [x, y], "names": ["a"]}, "as many as the 2 expressions, got 1"),
        ({"expressions": [x, y], "names": ["a", "a"]}, "names must be distinct"),
        ({"expressions": [x, y], "names": "ab"}, "names must be a sequence"),
        ({"expressions": [x], "noise": "uniform"}, "noise must be one of"),
        ({"expressions": [x], "noise": "gaussian"}, "needs delta above 0"),
    ],
)
def test_malformed_vectors_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        vector_mean(**arguments, alpha=1)


def test_a_text_or_a_comparison_is_no_query() -> None:
    with pytest.raises(UsageError, match=r"write col\('x'\)"):
        mean("x", alpha=1)
    with pytest.raises(UsageError, match="a truth value"):
        mean(x == y, alpha=1)
