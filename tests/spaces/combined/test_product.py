"""``Product`` and weights."""

import math

import numpy as np
import pytest

from emdp.base.errors import InvalidItemError, UsageError
from emdp.spaces import Categories, Embedding, Geo, Interval, Product, Vector, Weighted, from_json

NYC = (40.48, -74.26, 40.92, -73.70)
PLACE = Geo("lat", "lon", NYC)
KIND = Categories("kind", ["a", "b"])
PRICE = Interval("price", 0, 100, diameter=10)


def test_distances_are_weighted_sums_of_cut_distances() -> None:
    space = Product(PRICE.weighted(3), KIND)
    assert space.shares == (0.75, 0.25)
    assert space.weights == (3.0, 1.0)
    d = space.pairwise({"price": [0, 0], "kind": ["a", "b"]}, {"price": [5, 90], "kind": ["a", "a"]})
    assert d.tolist() == [[0.375, 0.75], [0.625, 1.0]]
    assert (space.diameter, space.domain_diameter, space.unit, space.is_truncated) == (1.0, 1.0, None, False)


def test_layout() -> None:
    space = Product(PLACE, KIND.weighted(2), Vector(["u", "v"], radius=1))
    assert space.columns == ("lat", "lon", "kind", "u", "v")
    assert space.slices == (slice(0, 2), slice(2, 3), slice(3, 5))
    assert space.width == 5
    assert space.parts == (PLACE, KIND, Vector(["u", "v"], radius=1))
    rows = {"lat": [40.7], "lon": [-74.0], "kind": ["b"], "u": [0.5], "v": [0.0]}
    items = space.encode(rows)
    assert items.tolist() == [[40.7, -74.0, 1.0, 0.5, 0.0]]
    assert [part.tolist() for part in space.split(items)] == [[[40.7, -74.0]], [[1.0]], [[0.5, 0.0]]]
    assert space.decode(items) == rows
    assert np.array_equal(space.encode_point([(40.7, -74.0), "b", (0.5, 0.0)]), items)


def test_each_part_follows_its_own_rule() -> None:
    space = Product(
        Geo("lat", "lon", NYC, on_invalid="clamp"),
        Categories("kind", ["a", "b"], on_invalid="neutral", neutral="b"),
    )
    items = space.encode({"lat": [50.0, None], "lon": [-74.0, -74.0], "kind": ["zzz", "a"]})
    assert items[0].tolist() == [40.92, -74.0, 1.0]
    assert items[1].tolist() == [*PLACE.neutral, 0.0]
    assert space.on_invalid == "clamp"
    strict = Product(KIND, PRICE)
    assert strict.on_invalid == "error"
    assert strict.valid_mask({"kind": ["a", "z", "a"], "price": [1, 1, -1]}).tolist() == [True, False, False]
    with pytest.raises(InvalidItemError):
        strict.encode({"kind": ["a"], "price": [-1]})


def test_column_constants_are_per_unit_of_the_product() -> None:
    space = Product(PRICE, KIND)
    # The part is cut at 10 of 100: its range is its constant, and half the product's distance is its share.
    assert space.column_bounds("price").lipschitz == pytest.approx(200)
    assert PRICE.column_bounds("price").lipschitz == 10
    assert Product(PLACE, KIND).column_bounds("lat").lipschitz == pytest.approx(
        2 * PLACE.column_bounds("lat").lipschitz
    )
    assert space.column_values(space.encode({"price": [7.0], "kind": ["b"]}), "price").tolist() == [7.0]


def test_functions_belong_to_parts() -> None:
    space = Product(PRICE, KIND)
    item = space.neutral_item
    for call in (
        lambda: space.distance_bounds(item),
        lambda: space.distance_values(item, item),
        lambda: space.inner_bounds(item[0]),
        lambda: space.inner_values(item, item[0]),
        lambda: space.label_bounds("a"),
        lambda: space.label_values(item, "a"),
    ):
        with pytest.raises(UsageError, match=r"call it on parts\[i\]"):
            call()
    with pytest.raises(UsageError, match="no numeric value"):
        space.column_bounds("kind")
    with pytest.raises(UsageError, match="no column 'nope'"):
        space.column_bounds("nope")


def test_parts_are_checked() -> None:
    with pytest.raises(UsageError, match="at least one part"):
        Product()
    with pytest.raises(UsageError, match="belongs to two parts"):
        Product(PRICE, Interval("price", 0, 1))
    with pytest.raises(UsageError, match="cannot be a Product"):
        Product(PRICE, Product(KIND))
    with pytest.raises(UsageError, match="a part must be a Space"):
        Product(PRICE, "kind")  # type: ignore[arg-type]
    for weight in (0, -1, math.inf, math.nan, "2"):
        with pytest.raises(UsageError, match="weight must be"):
            PRICE.weighted(weight)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="space must be a Space"):
        Weighted("price", 1.0)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="one point for each of 2 parts"):
        Product(PRICE, KIND).encode_point("ab")


def test_equality_and_json() -> None:
    space = Product(PRICE.weighted(2), KIND)
    assert space == Product(PRICE.weighted(2), KIND.weighted(1))
    assert space != Product(PRICE, KIND)
    assert hash(space) == hash(Product(PRICE.weighted(2), KIND))
    assert from_json(space.to_json()) == space
    assert repr(space) == f"Product({PRICE!r}.weighted(2.0), {KIND!r}.weighted(1.0))"


def test_single_part_has_its_distances() -> None:
    space = Product(PRICE)
    rows = {"price": [0, 3, 50]}
    assert np.array_equal(space.pairwise(rows, rows), PRICE.pairwise(rows, rows))


def test_weights_only_matter_by_ratio() -> None:
    embedding = Embedding("word", {"word": ["x", "y"], "v": [0.0, 1.0]})
    rows = {"price": [1, 4], "word": ["x", "y"]}
    one = Product(PRICE.weighted(1), embedding.weighted(3)).pairwise(rows, rows)
    ten = Product(PRICE.weighted(10), embedding.weighted(30)).pairwise(rows, rows)
    np.testing.assert_allclose(one, ten, rtol=1e-15)
