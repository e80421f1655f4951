"""Defects found by searching for counterexamples to what the spaces promise."""

import base64
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.spaces import Categories, Clusters, Embedding, Geo, Interval, Product, Vector, from_json

INLINE = {"keys": ["a", "b"], "dimension": 1, "float64": base64.b64encode(np.array([0.0, 1.0]).tobytes()).decode()}
EMBEDDING = {"kind": "embedding", "col": "w", "vectors": INLINE}
DISTANCES = {"kind": "distances", "col": "s", "values": ["a", "b"]}


def beneath_its_check(space: Any, diameter: float) -> Any:
    """A space with a diameter that its constructor refuses: the second defence of a constant against 0."""
    with pytest.raises(UsageError, match="diameter must be at least 1e-150"):
        type(space)(**{**arguments(space), "diameter": diameter})
    object.__setattr__(space, "diameter", diameter)
    return space


def arguments(space: Any) -> dict[str, Any]:
    data = {name: value for name, value in space.to_json().items() if name != "kind"}
    return {**data, "vectors": {"k": ["a", "b"], "v": [[0.0], [1.0]]}} if "vectors" in data else data


def nested(depth: int) -> Mapping[str, Any]:
    data: Mapping[str, Any] = {"kind": "interval", "col": "x", "low": 0, "high": 1}
    for _ in range(depth):
        data = {"kind": "product", "parts": [data]}
    return data


def test_the_constant_of_an_inner_product_never_underflows_to_0() -> None:
    space = beneath_its_check(Vector(["x"], box=[(0, 1)]), 1e-200)
    assert space.inner_bounds(np.array([1e-149])).lipschitz > 0


def test_the_constant_of_an_embedded_inner_product_never_underflows_to_0() -> None:
    space = Embedding("k", {"k": ["a", "b"], "v": [[0.0], [1.0]]})
    space = beneath_its_check(space, 1e-200)
    assert space.inner_bounds(np.array([1e-149])).lipschitz > 0


@pytest.mark.parametrize("column", ["lat", "lon"])
def test_the_constant_of_a_coordinate_never_underflows_to_0(column: str) -> None:
    space = beneath_its_check(Geo("lat", "lon", box=(40, -74, 41, -73)), 1e-322)
    assert space.column_bounds(column).lipschitz > 0


def test_the_rounding_of_an_inner_product_covers_underflow() -> None:
    space = Vector(["x"], box=[(0, 1e-171)], diameter=1e-150)
    weights = np.array([1e-149])
    items = np.linspace(0, 1e-171, 1001)[:, None]
    rounding = Fraction(space.inner_bounds(weights).rounding)
    for item, value in zip(items[:, 0].tolist(), space.inner_values(items, weights).tolist(), strict=True):
        assert abs(Fraction(value) - Fraction(item) * Fraction(1e-149)) <= rounding


def test_the_gap_around_a_key_is_not_overstated_where_squares_underflow() -> None:
    space = Embedding("k", {"k": ["a", "b", "c"], "v": [[0.0], [1.6e-162], [1.0]]}, neutral="a")
    lipschitz = space.label_bounds("a").lipschitz
    assert lipschitz == math.inf or Fraction(lipschitz) * Fraction(1.6e-162) >= Fraction(space.diameter)
    apart = Embedding("k", {"k": ["a", "b", "c"], "v": [[0.0], [1.6e-148], [1.0]]}, neutral="a")
    assert 1 <= Fraction(apart.label_bounds("a").lipschitz) * Fraction(1.6e-148) / Fraction(apart.diameter) < 1.01


@pytest.mark.parametrize(("first", "second"), [(1e308, 1e308), (1e-300, 1e300)])
def test_weights_of_any_size_are_refused_or_give_positive_shares(first: float, second: float) -> None:
    try:
        space = Product(Interval("x", 0, 1).weighted(first), Interval("y", 0, 1).weighted(second))
    except UsageError:
        return
    assert all(0 < share <= 1 for share in space.shares)


endless: list[Any] = []
endless.append(endless)


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
        {"kind": "interval", "col": "x", "low": 0, "high": 1, "unit": 10**5000},
        {**EMBEDDING, "sha256": 10**5000},
        {**EMBEDDING, "key": 10**5000},
        {**EMBEDDING, "vector": 0.5},
        {**EMBEDDING, "vector": {"v": 1}},
        {**EMBEDDING, "vector": [["v"]]},
        {**EMBEDDING, "vectors": {**INLINE, "dimension": 10**300}},
        {**EMBEDDING, "vectors": {**INLINE, "keys": "ab"}},
        {**EMBEDDING, "vectors": {"w": ["a", "b"], "v": [[10**400], [1]]}},
        {**EMBEDDING, "vectors": {"w": ["a", "b", "c"], "v": [1.0, 2.0]}},
        {**EMBEDDING, "vectors": {"w": ["a", "b"], "v": [object(), 1.0]}},
        {**DISTANCES, "matrix": [["0", "1"], ["1", "0"]]},
        {**DISTANCES, "matrix": [[0, "1"], ["1", 0]]},
        {**DISTANCES, "matrix": [[False, True], [True, False]]},
        {**DISTANCES, "matrix": [[0, True], [True, 0]]},
        {**DISTANCES, "matrix": np.array([["0", "1"], ["1", "0"]])},
        {**DISTANCES, "matrix": np.array([[False, True], [True, False]])},
        {**DISTANCES, "matrix": ["01", "10"]},
        {**DISTANCES, "matrix": [[0, None], [None, 0]]},
        {"kind": "categories", "col": "c", "values": ["\ud800"]},
        {"kind": "categories", "col": "\ud800", "values": ["a"]},
        {"kind": "clusters", "col": "c", "cluster_of": {"\ud800": "a"}, "within": 0.5},
        {"kind": "geo", "lat": "a", "lon": "b", "box": endless},
        {"kind": "geo", "lat": "a", "lon": "b", "box": [10**5000]},
        nested(1000),
    ],
)
def test_hostile_descriptions_are_usage_errors(data: Mapping[str, Any]) -> None:
    with pytest.raises(UsageError):
        from_json(data)


@pytest.mark.parametrize("dimension", [-1, 1.5, "1", True])
def test_an_inline_table_takes_no_dimension_but_a_positive_whole_number(dimension: object) -> None:
    with pytest.raises(UsageError):
        from_json({**EMBEDDING, "vectors": {**INLINE, "dimension": dimension}})


def test_a_product_in_a_product_is_refused_before_it_is_read() -> None:
    with pytest.raises(UsageError, match="cannot be a Product"):
        from_json(nested(2))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Categories("c", [10**5000]),
        lambda: Categories("c", ["a"]).code_of(10**5000),
        lambda: Categories("c", ["a", "\ud800"]),
        lambda: Categories(10**5000, ["a"]),  # type: ignore[arg-type]
        lambda: Interval("x", 0, 1, unit=10**5000),  # type: ignore[arg-type]
        lambda: Interval("x", 0, 1, unit="\ud800"),
        lambda: Geo("lat", "lon", [10**5000]),
        lambda: Vector(["x"], box=10**5000),  # type: ignore[arg-type]
        lambda: Clusters("c", 10**5000, 0.5),  # type: ignore[arg-type]
        lambda: Clusters("c", [10**5000], 0.5),  # type: ignore[list-item]
    ],
)
def test_huge_integers_and_lone_surrogates_are_usage_errors(make: Any) -> None:
    with pytest.raises(UsageError):
        make()


@pytest.mark.parametrize("frame", [{"x": [1, 2], "y": [1, 2, 3]}, {"x": [object()], "y": [1]}, 5, [1, 2]])
def test_what_is_no_frame_is_a_usage_error(frame: object) -> None:
    with pytest.raises(UsageError):
        Vector(["x", "y"], radius=9).encode(frame)


@pytest.mark.parametrize("ratio", [1e12, 1e-12])
def test_weights_may_differ_by_a_factor_of_1e12_and_no_more(ratio: float) -> None:
    parts = Interval("x", 0, 1).weighted(1), Interval("y", 0, 1).weighted(ratio)
    assert sum(Product(*parts).exact_shares) == 1
    with pytest.raises(UsageError, match="weights must differ by a factor of at most"):
        Product(parts[0], parts[1], Interval("z", 0, 1).weighted(1e-13 if ratio > 1 else 1e13))


def test_a_domain_too_small_for_its_squares_is_refused() -> None:
    with pytest.raises(UsageError, match="the domain's diameter must be at least 1e-150"):
        Interval("x", 0, 1e-160)
    assert Interval("x", 0, 1e-160, diameter=1).diameter == 1
