"""Ranges hold every value that an engine computes, and lists of values are complete."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from row_cases import cases, in_duckdb

from emdp.rows.building import as_kind, call, case, in_list
from emdp.rows.functions import FUNCTIONS
from emdp.rows.nodes import Call, Cast, Column, Literal, Node, columns
from emdp.rows.ranges import _range, finite_values, range_of
from emdp.rows.types import Kind

ENDS = {
    Kind.BIGINT: [(-5, 7), (1, 3), (0, 0), (-(2**63), 2**63 - 1), (2**53 + 2, 2**53 + 8), (-9, -2)],
    Kind.DOUBLE: [
        (-2.5, 3.25), (0.1, 0.3), (0.0, 1.0), (-1e308, 1e308), (1e-310, 1e-300), (-7.0, -0.5), (1.005, 1.015),
        (-math.inf, math.inf), (0.0, math.inf),
    ],
}  # fmt: skip
X, Y = Column("t", "c0", Kind.DOUBLE), Column("t", "c1", Kind.DOUBLE)
N = Column("t", "c0", Kind.BIGINT)


def inside(low: float, high: float, kind: Kind) -> list[float]:
    """Return values of a range: its ends, what lies between, and what is near."""
    if kind is Kind.BIGINT:
        a, b = int(low), int(high)
        small = {0, -1, 1} & set(range(max(a, -2), min(b, 2) + 1))
        return sorted({a, b, (a + b) // 2, min(b, a + 1), max(a, b - 1)} | small)
    c, d = max(low, -1.7e308), min(high, 1.7e308)
    grid = (c + (d / 9 - c / 9) * k for k in range(9))
    parts = [c, d, low, high, c / 2 + d / 2, math.nextafter(c, d), math.nextafter(d, c), *grid]
    return sorted({part for part in [*parts, 0.0, 0.5, 1.0, 2.0] if low <= part <= high})


def numeric() -> Iterator[tuple[tuple[Kind, ...], list[Node]]]:
    for kinds, nodes in cases().items():
        own = [node for node in nodes if node.kind.is_number]
        if own and set(kinds) <= {Kind.BIGINT, Kind.DOUBLE}:
            yield kinds, own


@pytest.mark.seventh
@pytest.mark.parametrize(("kinds", "nodes"), list(numeric()), ids=lambda part: "")
def test_every_value_lies_in_its_range(kinds: tuple[Kind, ...], nodes: list[Node]) -> None:
    choices = [ENDS[kind][:5] if len(kinds) < 3 else ENDS[kind][:2] for kind in kinds]
    if len(kinds) == 1:
        choices = [ENDS[kinds[0]]]
    checked = 0
    for ends in itertools.product(*choices):
        ranges = {
            Column("t", f"c{place}", kind): (float(low), float(high))
            for place, (kind, (low, high)) in enumerate(zip(kinds, ends, strict=True))
        }
        values = [inside(low, high, kind) for (low, high), kind in zip(ends, kinds, strict=True)]
        most = 5 if len(kinds) > 1 else 20
        rows = list(itertools.product(*(found[:: max(1, len(found) // most)] for found in values)))
        bounds = [_range(node, ranges, {}) for node in nodes]
        for row, found in zip(rows, in_duckdb(nodes, kinds, rows), strict=True):
            for node, bound, value in zip(nodes, bounds, found, strict=True):
                if value is None or bound is None or math.isnan(value):
                    continue
                assert bound[0] <= value <= bound[1], (str(node), ends, row, value, bound)
                checked += 1
    assert checked > 10


def test_ranges_are_close() -> None:
    x = {X: (-2.0, 3.0), Y: (0.5, 4.0)}
    assert range_of(call("add", X, Y), x) == (-1.5, 7.0)
    assert range_of(call("subtract", X, Y), x) == (-6.0, 2.5)
    assert range_of(call("multiply", X, Y), x) == (-8.0, 12.0)
    assert range_of(call("divide", X, Y), x) == (-4.0, 6.0)
    assert range_of(call("abs", X), x) == (0.0, 3.0)
    assert range_of(call("floor", call("divide", X, Literal(2.0, Kind.DOUBLE))), x) == (-1.0, 1.0)
    assert range_of(call("pow", X, Literal(2.0, Kind.DOUBLE)), x) == pytest.approx((0.0, 9.0), abs=1e-13)
    assert range_of(call("sqrt", Y), x) == pytest.approx((math.sqrt(0.5), 2.0))
    ends = Literal(0.0, Kind.DOUBLE), Literal(9.0, Kind.DOUBLE)
    assert range_of(call("clamp", Column("t", "z", Kind.DOUBLE), *ends), {}) == (0, 9)
    assert range_of(Cast(X, Kind.BIGINT), x) == (-2.0, 3.0)


def test_what_has_no_bound_has_no_range() -> None:
    x = {X: (-2.0, 3.0), Y: (0.0, 4.0)}
    assert range_of(call("divide", X, Y), x) is None
    assert range_of(call("divide", Y, X), x) is None
    assert range_of(call("ln", Y), x) is None
    assert range_of(X, {}) is None
    assert range_of(call("exp", Literal(1000.0, Kind.DOUBLE)), {}) is None
    assert range_of(call("add", X, Column("t", "z", Kind.DOUBLE)), x) is None
    assert range_of(call("pow", X, Literal(-1.0, Kind.DOUBLE)), x) is None
    # Below 0 a root is NaN, which counts as NULL.
    assert range_of(call("pow", X, Literal(0.5, Kind.DOUBLE)), x) == pytest.approx((0.0, math.sqrt(3)))


def test_a_case_has_the_hull_of_its_values() -> None:
    test = call("is_null", Column("t", "s", Kind.TEXT))
    node = case([(test, Literal(5, Kind.BIGINT)), (test, N)], Literal(-1, Kind.BIGINT))
    assert range_of(node, {N: (0.0, 3.0)}) == (-1.0, 5.0)
    assert range_of(case([(test, Literal(5, Kind.BIGINT))]), {}) == (5.0, 5.0)
    assert range_of(case([(test, N)]), {}) is None


def test_literals_of_64_bits_are_rounded_outward() -> None:
    found = range_of(Literal(2**53 + 1, Kind.BIGINT), {})
    assert found is not None
    assert found[0] <= 2**53 + 1 <= found[1]
    assert found[0] < found[1]


def test_values_are_listed() -> None:
    test = call("is_null", N)
    hour = call("date_part", Literal("hour", Kind.TEXT), Column("t", "ts", Kind.TIMESTAMP))
    assert finite_values(test) == (False, True)
    assert finite_values(in_list(N, [Literal(1, Kind.BIGINT)])) == (False, True)
    assert finite_values(hour) == tuple(range(24))
    assert finite_values(case([(test, Literal("b", Kind.TEXT))], Literal("a", Kind.TEXT))) == ("a", "b")
    assert finite_values(case([(test, Literal("b", Kind.TEXT))])) == ("b",)
    assert finite_values(call("coalesce", hour, Literal(-1, Kind.BIGINT))) == (-1, *range(24))
    assert finite_values(Cast(test, Kind.TEXT)) == ("false", "true")
    assert finite_values(N) is None
    assert finite_values(call("add", hour, N)) is None
    assert finite_values(case([(test, Column("t", "s", Kind.TEXT))])) is None


def test_random_expressions_lie_in_their_ranges() -> None:
    draw = np.random.default_rng(5)
    ranges = {X: (-3.0, 2.0), Y: (0.25, 4.0)}
    rows = [(float(a), float(b)) for a in np.linspace(-3, 2, 21) for b in np.linspace(0.25, 4, 16)]
    nodes = [_random(draw, 3) for _ in range(150)]
    nodes = [node for node in nodes if columns(node) == {X, Y}]
    found = in_duckdb(nodes, [Kind.DOUBLE, Kind.DOUBLE], rows)
    tight = 0
    for node, values in zip(nodes, zip(*found, strict=True), strict=True):
        bound = range_of(node, ranges)
        own = [value for value in values if value is not None and not math.isnan(value)]
        if bound is None or not own:
            continue
        assert bound[0] <= min(own), str(node)
        assert max(own) <= bound[1], str(node)
        tight += bound[1] - bound[0] <= 100 * (max(own) - min(own) + 1e-9)
    assert tight > 10


def _random(draw: np.random.Generator, depth: int) -> Node:
    if depth == 0:
        return [X, Y, Literal(float(draw.integers(-3, 4)), Kind.DOUBLE)][int(draw.integers(3))]
    names = ["add", "subtract", "multiply", "divide", "abs", "floor", "ceil", "round", "sqrt", "exp", "ln", "sin",
    "least", "greatest",
             "remainder", "tanh", "coalesce", "nullif", "trunc", "atan2"]  # fmt: skip
    name = names[int(draw.integers(len(names)))]
    count = len(FUNCTIONS[name].forms[0].arguments)
    arguments = [as_kind(_random(draw, depth - 1), Kind.DOUBLE) for _ in range(count)]
    return Call(name, tuple(argument for argument in arguments if argument is not None))
