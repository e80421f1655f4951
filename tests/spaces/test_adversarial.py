"""Defects found by searching for counterexamples to what the spaces promise."""

import base64
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emdp.errors import UsageError
from emdp.spaces import Embedding, Geo, Interval, Product, Vector, from_json

INLINE = {"keys": ["a", "b"], "dimension": 1, "float64": base64.b64encode(np.array([0.0, 1.0]).tobytes()).decode()}
EMBEDDING = {"kind": "embedding", "col": "w", "vectors": INLINE}
DISTANCES = {"kind": "distances", "col": "s", "values": ["a", "b"]}


def nested(depth: int) -> Mapping[str, Any]:
    data: Mapping[str, Any] = {"kind": "interval", "col": "x", "low": 0, "high": 1}
    for _ in range(depth):
        data = {"kind": "product", "parts": [data]}
    return data


def test_the_constant_of_an_inner_product_never_underflows_to_0() -> None:
    space = Vector(["x"], box=[(0, 1)], diameter=1e-200)
    assert space.inner_bounds(np.array([1e-149])).lipschitz > 0


def test_the_constant_of_an_embedded_inner_product_never_underflows_to_0() -> None:
    space = Embedding("k", {"k": ["a", "b"], "v": [[0.0], [1.0]]}, diameter=1e-200)
    assert space.inner_bounds(np.array([1e-149])).lipschitz > 0


@pytest.mark.parametrize("column", ["lat", "lon"])
def test_the_constant_of_a_coordinate_never_underflows_to_0(column: str) -> None:
    space = Geo("lat", "lon", box=(40, -74, 41, -73), diameter=1e-322)
    assert space.column_bounds(column).lipschitz > 0


def test_the_rounding_of_an_inner_product_covers_underflow() -> None:
    space = Vector(["x"], box=[(0, 1e-171)], diameter=1e-171)
    weights = np.array([1e-149])
    items = np.linspace(0, 1e-171, 1001)[:, None]
    rounding = Fraction(space.inner_bounds(weights).rounding)
    for item, value in zip(items[:, 0].tolist(), space.inner_values(items, weights).tolist(), strict=True):
        assert abs(Fraction(value) - Fraction(item) * Fraction(1e-149)) <= rounding


def test_the_gap_around_a_key_is_not_overstated_where_squares_underflow() -> None:
    space = Embedding("k", {"k": ["a", "b", "c"], "v": [[0.0], [1.6e-162], [1.0]]}, neutral="a")
    gap = Fraction(1.6e-162)
    assert Fraction(space.label_bounds("a").lipschitz) * gap >= Fraction(space.diameter)


@pytest.mark.parametrize(("first", "second"), [(1e308, 1e308), (1e-300, 1e300)])
def test_weights_of_any_size_are_refused_or_give_positive_shares(first: float, second: float) -> None:
    try:
        space = Product(Interval("x", 0, 1).weighted(first), Interval("y", 0, 1).weighted(second))
    except UsageError:
        return
    assert all(0 < share <= 1 for share in space.shares)


@pytest.mark.parametrize(
    "data",
    [
        {**EMBEDDING, "vector": 5},
        {**EMBEDDING, "vector": True},
        {**EMBEDDING, "vectors": {**INLINE, "dimension": math.inf}},
        {**EMBEDDING, "vectors": {1: 2, "a": 3}},
        {**DISTANCES, "matrix": [[0, 10**400], [10**400, 0]]},
        {"kind": "categories", "col": "c", "values": [10**5000]},
        {"kind": 10**5000},
        {"kind": "geo", "lat": "a", "lon": "b", "box": [10**5000]},
        nested(1000),
    ],
    ids=["vector-int", "vector-bool", "dimension-inf", "key-types", "matrix-huge", "label-huge", "kind", "box", "deep"],
)
def test_hostile_descriptions_are_usage_errors(data: Mapping[str, Any]) -> None:
    with pytest.raises(UsageError):
        from_json(data)


@pytest.mark.parametrize("dimension", [-1, 1.5, "1", True])
def test_an_inline_table_takes_no_dimension_but_a_positive_whole_number(dimension: object) -> None:
    with pytest.raises(UsageError):
        from_json({**EMBEDDING, "vectors": {**INLINE, "dimension": dimension}})
