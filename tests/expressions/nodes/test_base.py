"""Building expressions: operators, lifting, structure, binding to a space, limits."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import emdp.expressions as ex
from emdp.base.errors import UsageError
from emdp.expressions.functions import shaping, smooth
from emdp.expressions.nodes import arithmetic, jumps
from emdp.expressions.nodes import base as nodes
from emdp.expressions.nodes.base import Column, Constant, lift
from emdp.spaces import Interval, Product

x, y = ex.col("x"), ex.col("y")
SPACE = Interval("x", 0, 10)


@pytest.mark.parametrize(
    ("built", "node"),
    [
        (x + y, arithmetic.Add(x, y)),
        (x + 1, arithmetic.Add(x, Constant(1))),
        (1 + x, arithmetic.Add(Constant(1), x)),
        (x - 1, arithmetic.Subtract(x, Constant(1))),
        (1 - x, arithmetic.Subtract(Constant(1), x)),
        (x * 2, arithmetic.Multiply(x, Constant(2))),
        (2 * x, arithmetic.Multiply(Constant(2), x)),
        (x / 2, arithmetic.Divide(x, Constant(2))),
        (2 / x, arithmetic.Divide(Constant(2), x)),
        (-x, arithmetic.Negate(x)),
        (+x, x),
        (abs(x), shaping.Absolute(x)),
        (x**2, smooth.Power(x, 2)),
        (ex.power(x, 2), smooth.Power(x, 2)),
        (np.float64(2) * x, arithmetic.Multiply(Constant(2), x)),
        (np.int64(2) + x, arithmetic.Add(Constant(2), x)),
        (x * np.float32(0.5), arithmetic.Multiply(x, Constant(0.5))),
        (x * Fraction(1, 4), arithmetic.Multiply(x, Constant(0.25))),
        (ex.minimum(x, 1), shaping.Minimum((x, Constant(1)))),
        (ex.maximum(1, x, y), shaping.Maximum((Constant(1), x, y))),
        (ex.clamp(x, 0, 1), shaping.Clamp(x, 0, 1)),
        (ex.ramp(x, 2, 1), shaping.Ramp(x, 2, 1)),
        (x > 1, jumps.Jump(">", (x, Constant(1)))),
        (np.float64(1) > x, jumps.Jump("<", (x, Constant(1)))),
        (x >= y, jumps.Jump(">=", (x, y))),
        (x == 1, jumps.Jump("==", (x, Constant(1)))),
        (x != "cafe", jumps.Jump("!=", (x, "cafe"))),
        (x // 2, jumps.Jump("//", (x, Constant(2)))),
        (x % 2, jumps.Jump("%", (x, Constant(2)))),
        (round(x), jumps.Jump("round", (x,))),
        (round(x, 1), jumps.Jump("round", (x, Constant(1)))),
        (math.floor(x), jumps.Jump("floor", (x,))),
        (math.ceil(x), jumps.Jump("ceil", (x,))),
        (math.trunc(x), jumps.Jump("trunc", (x,))),
    ],
)  # fmt: skip
def test_operators_build_nodes(built: ex.Expression, node: ex.Expression) -> None:
    assert type(built) is type(node)
    assert built == node
    assert hash(built) == hash(node)


def test_equality_between_expressions_is_structural() -> None:
    assert x + 1 == ex.col("x") + 1.0
    assert x + 1 != 1 + x
    assert x != y
    assert x != ex.exp(x)
    assert len({x + 1, ex.col("x") + 1, x + 2}) == 2
    assert (x == None) is False  # noqa: E711


def test_nodes_are_frozen() -> None:
    with pytest.raises(AttributeError):
        x.name = "y"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "a truth value is no expression"),
        (np.bool_(True), "a truth value is no expression"),
        ("price", r"write col\('price'\)"),
        (math.nan, "must be finite"),
        (math.inf, "must be finite"),
        (None, "must be a number"),
        ([1.0], "must be a number"),
        (10**400, "must be finite"),
    ],
)
def test_what_is_no_number_is_not_lifted(value: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        lift(value)
    with pytest.raises(UsageError, match=message):
        x + value


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ex.col(""), "must be a non-empty text"),
        (lambda: ex.col(3), "must be a non-empty text"),
        (lambda: ex.ramp(x, 1, 1), "a and b of ramp must differ"),
        (lambda: ex.ramp(x, math.nan, 1), "must be finite"),
        (lambda: ex.ramp(x, -1.7e308, 1.7e308), "must be finite"),
        (lambda: ex.clamp(x, 2, 1), "must not exceed"),
        (lambda: ex.clamp(x, 0, math.inf), "must be finite"),
        (lambda: x**y, "must be a constant"),
        (lambda: 2**x, "must be a constant"),
        (lambda: x ** math.nan, "must be finite"),
        (lambda: ex.distance_to((40.7, math.nan)), "must hold finite numbers"),
        (lambda: ex.distance_to(None), "must hold finite numbers"),
        (lambda: ex.distance_to({"lat": [1]}["lat"], column=""), "column must be"),
        (lambda: ex.dot([]), "vector must be"),
        (lambda: ex.dot([1, math.inf]), "must hold finite numbers"),
        (lambda: ex.dot(["a"]), "vector must be"),
        (lambda: ex.dot(3), "vector must be"),
        (lambda: ex.category_is("a", "a"), "names a value twice"),
        (lambda: ex.case({}, otherwise=0), "at least one branch"),
        (lambda: ex.case({"a": 1, ("b", "a"): 2}, otherwise=0), "in two branches"),
        (lambda: ex.case([("a", 1)], otherwise=0), "must be a mapping"),
        (lambda: shaping.Minimum(()), "at least one"),
        (lambda: arithmetic.Add(x, 1), "operands must be expressions"),
        (lambda: jumps.Jump(">", (x,)), "wrong number"),
    ],
)  # fmt: skip
def test_malformed_expressions_are_refused(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


def test_an_expression_has_no_truth_value() -> None:
    with pytest.raises(UsageError, match="no truth value"):
        bool(x > 1)
    with pytest.raises(UsageError, match="no truth value"):
        min(x, y)  # type: ignore[type-var]


def test_depth_and_size_are_limited() -> None:
    deep = x
    for _ in range(nodes.MAX_DEPTH - 1):
        deep = deep + 1
    assert deep.depth == nodes.MAX_DEPTH
    ex.analyse(deep, SPACE)
    assert hash(deep) == hash(deep)
    assert len(str(deep)) > 600
    with pytest.raises(UsageError, match="split it"):
        deep + 1
    shared = x
    for _ in range(12):
        shared = shared + shared
    assert shared.depth == 13
    with pytest.raises(UsageError, match="split it"):
        shared + shared


def test_shared_nodes_are_walked_once() -> None:
    shared = x * x
    assert [str(node) for node in ex.walk(shared + shared)] == ["x", "x * x", "x * x + x * x"]


def test_leaves_are_distinct_and_in_order() -> None:
    assert ex.leaves((x + 1) * ex.minimum(y, x, 1)) == (x, Constant(1), y)


def test_binding_gives_constant_and_range() -> None:
    bound = (2 * x).on(SPACE)
    assert bound == 2 * x
    assert bound.lipschitz == 20
    assert bound.value_range == (0, 20)


@pytest.mark.parametrize("wanted", ["lipschitz", "value_range"])
def test_an_unbound_expression_says_how_to_bind_it(wanted: str) -> None:
    with pytest.raises(UsageError, match=r"bind it first: `expression\.on\(space\)`"):
        getattr(2 * x, wanted)


def test_binding_spreads_to_what_is_built_from_it() -> None:
    bound = x.on(SPACE)
    for built in (
        bound + 1,
        1 - bound,
        ex.ramp(bound, 2, 1),
        ex.minimum(3, bound),
        x * bound,
        -bound,
        bound**2,
    ):
        assert built.space is SPACE
        assert built.lipschitz > 0


def test_equal_spaces_count_as_one_and_others_are_refused() -> None:
    bound = x.on(SPACE)
    assert (bound + x.on(Interval("x", 0, 10))).lipschitz == 20
    other = x.on(Interval("x", 0, 5))
    with pytest.raises(UsageError, match="cannot be bound to two spaces"):
        bound + other
    with pytest.raises(UsageError, match="cannot be bound to two spaces"):
        bound.on(Interval("x", 0, 5))
    with pytest.raises(UsageError, match="bound to another space"):
        ex.analyse(bound, Interval("x", 0, 5))


@pytest.mark.parametrize("space", [None, "x", 3])
def test_only_spaces_can_be_bound(space: Any) -> None:
    with pytest.raises(UsageError, match=r"must be an emdp\.Space"):
        x.on(space)


def test_a_column_may_be_any_part_s() -> None:
    space = Product(Interval("x", 0, 3), Interval("y", 0, 2))
    assert ex.analyse(Column("y"), space).parts == (0, 2)
    with pytest.raises(UsageError, match="'z' is no column of the space, only 'x', 'y'"):
        ex.analyse(Column("z"), space)
