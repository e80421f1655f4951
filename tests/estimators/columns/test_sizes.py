"""Numbers beyond any unit: a statement that doubles cannot carry is refused before it is charged, and none crashes."""

import math
from typing import Any

import numpy as np
import pytest

import emdp
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.estimators import plan_query
from emdp.estimators.columns.sizes import LARGEST, SMALLEST, check_change, check_level, check_values
from emdp.expressions import Expression
from emdp.expressions.numbers.bounds import Analysis
from emdp.questions.names import Names
from emdp.questions.price import Price
from emdp.questions.select import Item, Select
from emdp.sessions.planning import plan_request

SIZES = (1e-320, 1e-300, 1e-150, 1e-40, 1e-3, 1.0, 3.3, 1e3, 1e40, 1e60, 1e149)
LEVELS = (1e-300, 1e-9, 1.0, 1e3, 1e12, 1e14, 1e300)
X = emdp.col("x")


@pytest.mark.parametrize("size", [SMALLEST, 1.0, LARGEST])
def test_sizes_within_the_range_are_taken(size: float) -> None:
    check_values(Analysis((1.0,), -size, 0.0, 0.0), "x")
    check_values(Analysis((0.0,), 0.0, 0.0, 0.0), "0")
    check_change(size, "x")
    check_level(size)


@pytest.mark.parametrize("size", [SMALLEST / 2, 2 * LARGEST])
def test_sizes_beyond_it_are_refused_with_a_remedy(size: float) -> None:
    with pytest.raises(UsageError, match="rescale it to between 1e-50 and"):
        check_values(Analysis((1.0,), 0.0, size, 0.0), "x")
    for number in (size, 0.0, math.inf, math.nan):
        with pytest.raises(UsageError, match="rescale"):
            check_change(number, "x")
        with pytest.raises(UsageError, match="alpha or epsilon"):
            check_level(number)


def random_query(rng: np.random.Generator, low: float, width: float) -> Any:
    size = float(rng.choice(SIZES))
    ramp = emdp.ramp(X, low, low + width / 2)
    chosen: list[Expression] = [
        size * X, size * (X - low), X * X, emdp.clamp(X, -size, size), emdp.tanh(size * X), ramp,
        size * emdp.category_is("a", "b", "c"), emdp.case({"a": size, "b": X}, otherwise=0),
    ]  # fmt: skip
    first, second = (chosen[rng.integers(len(chosen))] for _ in range(2))
    spent = {"alpha" if rng.random() < 0.5 else "epsilon": float(rng.choice(LEVELS)), "delta": rng.choice([0.0, 1e-9])}
    where = [None, ramp, emdp.category_is("a")][rng.integers(3)]
    kind = rng.choice(["mean", "vector", "select", "totals", "frequencies", "quantiles"])
    if kind == "mean":
        return emdp.mean(first, where=where, by="k" if rng.random() < 0.5 else (), **spent)
    if kind == "vector":
        return emdp.vector_mean([first, second], where=where, **spent)
    if kind == "frequencies":
        return emdp.frequencies(width * rng.choice([0.01, 0.3]), column="x", **spent)
    if kind == "quantiles":
        return emdp.quantiles(first, [0.1, 0.9], where=where, **spent)
    own = Item(str(rng.choice(["avg", "variance", "stddev"])), "own", second, float(rng.choice([1e-9, 1.0, 1e9])))  # type: ignore[arg-type]
    if kind == "select":
        return Select((Item("share", "n"), Item("part", "s", first), own), Price.asked(**spent), where=ramp)
    price = Price("epsilon", float(rng.choice(LEVELS)), spent["delta"])
    cap = int(rng.choice([1, 7, 10**6, 10**18]))
    return Select((Item("count", "n"), Item("sum", "s", first), own), price, where=where, cap=cap)


def answer_all(plan: Any) -> None:
    """Make rows of released numbers, of none, and of their negatives."""
    released = [plan.restored(noise.release([0] * noise.dimension)) for noise in plan.mechanisms]
    for factor in (1, 0, -1):
        rows = tuple(tuple(factor * value for value in own) for own in released)
        for together in (False, True):
            assert len(plan.finisher.frame(rows, 0.95, together=together))


@pytest.mark.quarter
@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_sizes_a_query_is_refused_or_answered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    answered = refused = 0
    for _ in range(30):
        low, width = float(rng.choice([0.0, -1.0, 1e40])), float(rng.choice(SIZES))
        try:
            space = emdp.Product(emdp.Interval("x", low, low + width), emdp.Categories("k", list("abc")))
        except UsageError:
            continue
        names = Names("t", "user", space, {}, int(rng.choice([1, 1000, 10**15])))
        try:
            plan = plan_request(random_query(rng, low, width), names)[0].plan
        except (UsageError, NotLipschitzError):
            refused += 1
            continue
        answered += 1
        if plan.aggregation.dimension < 300:
            answer_all(plan)
    assert answered > 2
    assert refused > 2


def test_a_statement_that_could_not_be_shown_is_refused_and_an_ordinary_one_is_not() -> None:
    space = emdp.Interval("x", 0, 1)
    query = Select((Item("avg", "a", emdp.ramp(X, 0, 1e-200)), Item("avg", "b", X)), Price("alpha", 1.0))
    with pytest.raises(UsageError, match="widen its ramps"):
        plan_query(query, space=space, users=10)
    narrow = Select((Item("avg", "a", emdp.ramp(X, 0, 1e-20)), Item("avg", "b", X)), Price("alpha", 1.0))
    answer_all(plan_query(narrow, space=space, users=10))
