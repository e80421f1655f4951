"""Constants of vectors: the norm of the constants part by part, and one-hot times a function (EMD 2)."""

import math

import pytest

import emdp.expressions as ex
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions import analyse_vector
from emdp.spaces import Categories, Clusters, Geo, Interval, Product

KINDS = ("cafe", "bar", "shop", "other")
NEW_YORK = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
SMALL = Geo("lat", "lon", box=(40.7, -74.0, 40.701, -73.999), unit="km")
x, y = ex.col("x"), ex.col("y")


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("place", [NEW_YORK, SMALL])
def test_one_hot_over_categories_times_a_ramp(place: Geo) -> None:
    space = Product(place, Categories("kind", KINDS))
    near = ex.ramp(ex.distance_to((40.7005, -73.9995)), 2, 1)
    far = ex.ramp(ex.distance_to((40.7005, -73.9995)), 0.02, 0.01)
    for ramp, slope in ((near, 1), (far, 100)):
        known = analyse_vector([ex.category_is(kind) * ramp for kind in KINDS], space)
        top = ex.analyse(ramp, space).high
        moving = ex.analyse(ramp, space).parts[0]
        assert moving in (0, close(slope * place.diameter))
        assert known.lipschitz(1) == close(max(2 * moving, 4 * top))
        assert known.lipschitz(2) == close(max(2 * moving, 2 * math.sqrt(2) * top))


def test_the_known_answer_of_the_theory() -> None:
    space = Product(NEW_YORK, Categories("kind", KINDS))
    ramp = ex.ramp(ex.distance_to((40.7484, -73.9857)), 2, 1)
    known = analyse_vector([ex.category_is(kind) * ramp for kind in KINDS], space)
    assert known.lipschitz(1) == close(max(2 * NEW_YORK.diameter, 4))
    assert len(known.entries) == 4


def test_independent_entries_take_the_norm_part_by_part() -> None:
    space = Product(Interval("x", 0, 3), Interval("y", 0, 4))
    known = analyse_vector([x, y], space)
    assert (known.lipschitz_1, known.lipschitz_2) == (8, 8)
    both = analyse_vector([x + y, x - y], space)
    assert both.lipschitz_1 == 16
    assert both.lipschitz_2 == close(8 * math.sqrt(2))


def test_one_entry_is_a_vector_too() -> None:
    space = Product(Interval("x", 0, 3), Categories("kind", KINDS))
    for entry in (x, ex.category_is("bar"), ex.category_is("bar") * x, 2 - 3 * x):
        known = analyse_vector([entry], space)
        assert known.lipschitz_1 == known.lipschitz_2 == entry.on(space).lipschitz


def test_weights_enter_at_the_end() -> None:
    space = Product(Interval("x", 0, 1).weighted(3), Categories("kind", KINDS))
    known = analyse_vector([ex.category_is(kind) * x for kind in KINDS], space)
    assert known.lipschitz_1 == 8
    assert known.lipschitz_2 == close(4 * math.sqrt(2))


def test_numerators_and_denominators_of_groups_are_two_blocks_in_any_order() -> None:
    space = Product(Interval("x", 0, 1), Categories("kind", KINDS))
    numerators = [ex.category_is(kind) * x for kind in KINDS]
    denominators = [ex.category_is(kind) for kind in KINDS]
    mixed = [entry for pair in zip(numerators, denominators, strict=True) for entry in pair]
    for entries in (numerators + denominators, mixed):
        known = analyse_vector(entries, space)
        assert known.lipschitz_1 == 8
        assert known.lipschitz_2 == close(4)


def test_the_factor_may_stand_anywhere_and_have_a_sign_or_a_divisor() -> None:
    space = Product(Interval("x", 1, 2), Categories("kind", KINDS))
    written = [
        ex.category_is("cafe") * x,
        x * ex.category_is("bar"),
        -(x * ex.category_is("shop")),
        x * ex.category_is("other") / 2,
    ]
    assert analyse_vector(written, space).lipschitz_1 == 8


def test_different_functions_over_disjoint_values_share_a_block() -> None:
    space = Product(Interval("x", 0, 1), Categories("kind", KINDS))
    known = analyse_vector(
        [ex.category_is("cafe") * x, 3 * ex.category_is("bar"), ex.category_is("shop") * 2 * x], space
    )
    assert known.lipschitz_1 == 10
    assert known.lipschitz_2 == close(2 * math.sqrt(13))


def test_overlapping_values_do_not_share_a_block() -> None:
    space = Categories("kind", KINDS)
    assert analyse_vector([ex.category_is("cafe"), ex.category_is("bar")], space).lipschitz_1 == 2
    assert analyse_vector([ex.category_is("cafe"), ex.category_is("cafe", "bar")], space).lipschitz_1 == 2
    known = analyse_vector([ex.category_is("cafe"), ex.category_is("bar"), ex.category_is("cafe", "bar")], space)
    assert known.lipschitz_1 == 3


def test_a_function_of_the_categories_themselves_is_no_factor() -> None:
    space = Product(Interval("x", 0, 1), Clusters("kind", {"a": 1, "b": 1, "c": 2}, 0.5))
    entries = [ex.category_is("a") * ex.distance_to("c"), ex.category_is("b") * ex.distance_to("c")]
    known = analyse_vector(entries, space)
    assert known.lipschitz_1 == 2 * sum(ex.analyse(entry, space).parts[1] for entry in entries)


def test_combinations_of_two_categorical_parts() -> None:
    space = Product(Categories("kind", KINDS), Categories("day", ["weekday", "weekend"]))
    entries = [ex.category_is(kind) * ex.category_is(day) for kind in KINDS for day in ("weekday", "weekend")]
    assert analyse_vector(entries, space).lipschitz_1 == 4
    assert analyse_vector(entries, space).lipschitz_2 == close(2 * math.sqrt(2))


def test_clusters_divide_by_the_gap() -> None:
    space = Clusters("word", {"a": 1, "b": 1, "c": 2}, 0.25)
    assert analyse_vector([ex.category_is(label) for label in "abc"], space).lipschitz_1 == 8
    assert analyse_vector([ex.category_is("a", "b"), ex.category_is("c")], space).lipschitz_1 == 2


def test_a_truncated_part_counts_its_range() -> None:
    space = Product(Interval("x", 0, 10, diameter=2), Categories("kind", KINDS))
    known = analyse_vector([ex.category_is(kind) * x for kind in KINDS], space)
    assert known.lipschitz_1 == max(2 * 10, 2 * 20)


@pytest.mark.parametrize("norm", [0, 3, "1", None])
def test_other_norms_are_refused(norm: object) -> None:
    known = analyse_vector([x], Interval("x", 0, 1))
    with pytest.raises(UsageError, match="norm must be 1 or 2"):
        known.lipschitz(norm)  # type: ignore[arg-type]


def test_no_entry_or_a_refused_one() -> None:
    with pytest.raises(UsageError, match="expressions is empty"):
        analyse_vector([], Interval("x", 0, 1))
    with pytest.raises(NotLipschitzError) as caught:
        analyse_vector([x, 1 + (x > 3)], Interval("x", 0, 1))
    assert caught.value.expression == "1 + (x > 3)"


def test_a_histogram_of_many_values_is_quick_and_has_constant_two() -> None:
    labels = [f"value {number}" for number in range(400)]
    known = analyse_vector([ex.category_is(label) for label in labels], Categories("kind", labels))
    assert (known.lipschitz_1, known.lipschitz_2) == (2, close(math.sqrt(2)))
