"""One suite for every space (the cases of conftest.py): metric axioms, invalid values, JSON, structure."""

import dataclasses
import json
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import InvalidItemError, UsageError
from emdp.spaces import Categories, Clusters, Geo, Interval, Product, from_json

NYC = (40.48, -74.26, 40.92, -73.70)


@pytest.mark.quarter
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_distances_are_a_metric_in_the_unit_interval(case: Any, data: st.DataObject) -> None:
    space = case.make()
    items = case.all_items(space, data.draw(st.lists(case.rows, min_size=3, max_size=8)))
    d = space.distances(items, items)
    assert d.shape == (len(items), len(items))
    assert d.min() >= 0
    assert d.max() <= 1
    assert np.array_equal(d, d.T)
    assert not np.diag(d).any()
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + case.tolerance).all()


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_domain_diameter_is_never_exceeded_and_default_diameter_is_it(case: Any, data: st.DataObject) -> None:
    space = case.make()
    items = case.all_items(space, data.draw(st.lists(case.rows, min_size=2, max_size=6)))
    natural = space.natural_distances(items, items)
    assert natural.max() <= space.domain_diameter
    if not isinstance(space, Product):
        assert np.array_equal(space.distances(items, items), np.minimum(natural / space.diameter, 1.0))
    assert space.is_truncated == (space.diameter < space.domain_diameter)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_items_survive_decoding_and_pairwise_reads_frames(case: Any, data: st.DataObject) -> None:
    space = case.make()
    rows = data.draw(st.lists(case.rows, min_size=1, max_size=5))
    items = case.items(space, rows)
    assert items.shape == (len(rows), space.width)
    assert items.dtype == np.float64
    assert np.array_equal(space.encode(space.decode(items)), items)
    frame = case.frame(space, rows)
    expected = space.distances(items, items)
    assert np.array_equal(space.pairwise(frame, frame.to_arrow()), expected)
    assert space.valid_mask(frame).tolist() == [True] * len(rows)


def test_empty_frames_have_no_items(case: Any) -> None:
    space = case.make()
    none = pl.DataFrame({name: [] for name in space.columns}, schema=dict.fromkeys(space.columns, pl.Null))
    assert space.encode(none).shape == (0, space.width)
    assert space.pairwise(none, none).shape == (0, 0)
    assert space.valid_mask(none).shape == (0,)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_invalid_values_follow_the_declared_rule(case: Any, data: st.DataObject) -> None:
    valid = data.draw(case.rows)
    for rule in case.rules:
        space = case.make(on_invalid=rule)
        own = case.items(space, [valid])[0]
        for row, clamped in case.invalid:
            frame = case.frame(space, [valid, row, valid])
            assert space.valid_mask(frame).tolist() == [True, False, True]
            if rule == "error":
                with pytest.raises(InvalidItemError, match=r"^1 of 3 rows"):
                    space.encode(frame)
                continue
            items = space.encode(frame)
            assert np.array_equal(items[0], own)
            assert np.array_equal(items[2], own)
            if rule == "neutral" or isinstance(clamped, str):
                assert np.array_equal(items[1], space.neutral_item[0])
            else:
                np.testing.assert_allclose(items[1], np.array(clamped, dtype=float), rtol=1e-14, atol=0)
            if space.neutral_item[0, 0] not in (len(space.labels or ()),):
                assert space.valid_mask(space.decode(items)).all()


def test_messages_about_invalid_values_hold_no_value() -> None:
    with pytest.raises(InvalidItemError) as caught:
        Interval("x", 0, 1).encode({"x": [0.5, 1234.5, None]})
    assert "1234" not in str(caught.value)
    assert str(caught.value).startswith("2 of 3 rows")
    with pytest.raises(InvalidItemError) as caught:
        Categories("kind", ["a"]).encode({"kind": ["secret"]})
    assert "secret" not in str(caught.value)


def test_columns_of_a_wrong_type_or_missing_are_refused(case: Any) -> None:
    space = case.make()
    wrong = {name: [[1.0]] for name in space.columns}
    with pytest.raises(UsageError, match="must hold"):
        space.encode(wrong)
    with pytest.raises(UsageError, match="no column"):
        space.encode({"elsewhere": [1.0]})


def test_rules_that_mean_nothing_are_refused(case: Any) -> None:
    if "clamp" not in case.rules:
        with pytest.raises(UsageError, match="means nothing"):
            case.make(on_invalid="clamp")
    if case.invalid:
        with pytest.raises(UsageError, match="on_invalid"):
            case.make(on_invalid="drop")


def test_json_round_trip_is_equal(case: Any) -> None:
    for rule in case.rules:
        space = case.make(on_invalid=rule)
        data = json.loads(json.dumps(space.to_json()))
        again = from_json(data)
        assert again == space
        assert hash(again) == hash(space)
        assert type(again) is type(space)
        assert again.to_json() == space.to_json()
        items = np.vstack([space.neutral_item, space.neutral_item])
        assert np.array_equal(again.distances(items, items), space.distances(items, items))
        with pytest.raises(UsageError, match="'diametre' is no key"):
            from_json({**data, "diametre": 1})
        assert case.make(on_invalid=next(iter(set(case.rules) - {rule}))) != space


def test_spaces_are_frozen_and_pickle(case: Any) -> None:
    space = case.make()
    with pytest.raises(dataclasses.FrozenInstanceError):
        space.diameter = 3.0
    again = pickle.loads(pickle.dumps(space))
    assert again == space
    assert np.array_equal(again.neutral_item, space.neutral_item)
    assert type(space).__name__ in repr(space)


def test_neutral_item_is_one_item_of_the_domain(case: Any) -> None:
    space = case.make()
    neutral = space.neutral_item
    assert neutral.shape == (1, space.width)
    if neutral[0, 0] != len(space.labels or ()):
        assert space.valid_mask(space.decode(neutral)).tolist() == [True]


def test_structures_are_what_they_say(case: Any) -> None:
    space = case.make()
    if space.structure == "general":
        with pytest.raises(UsageError, match="no line"):
            space.line(space.neutral_item)
        return
    labels = list(space.labels or ())
    rows = [(label,) for label in labels] or [(-3.0,), (0.1,), (7.1,), (6.6,)]
    items = case.items(space, rows)
    d = space.distances(items, items)
    assert not space.is_truncated
    if space.structure == "line":
        positions = space.line(items)
        np.testing.assert_allclose(np.abs(np.subtract.outer(positions, positions)), d, rtol=0, atol=1e-15)
    elif space.structure == "discrete":
        assert np.array_equal(d, 1 - np.eye(len(rows)))
    else:
        assert isinstance(space, Clusters)
        codes = space.cluster_codes(items)
        expected = np.where(np.equal.outer(codes, codes), space.within, 1.0)
        np.fill_diagonal(expected, 0.0)
        assert np.array_equal(d, expected)


def test_structures_of_the_cases(cases: Any) -> None:
    found = {name: case.make().structure for name, case in cases.items()}
    lines = {name for name, structure in found.items() if structure == "line"}
    assert lines == {"interval", "grid"}
    assert {name for name, structure in found.items() if structure == "discrete"} == {
        "categories",
        "categories of integers",
        "categories of booleans",
    }
    assert {name for name, structure in found.items() if structure == "clusters"} == {"clusters"}


def test_units_do_not_change_d_x() -> None:
    rows = {"lat": [40.5, 40.9, 40.7], "lon": [-74.2, -73.8, -74.0]}
    in_km, in_miles, in_metres = (Geo("lat", "lon", NYC, unit).pairwise(rows, rows) for unit in ("km", "mi", "m"))
    np.testing.assert_allclose(in_miles, in_km, rtol=1e-13)
    np.testing.assert_allclose(in_metres, in_km, rtol=1e-13)
    km, miles = Geo("lat", "lon", NYC, "km"), Geo("lat", "lon", NYC, "mi")
    assert km.diameter / miles.diameter == pytest.approx(1.609344, rel=1e-14)
    # Another unit of the same column: 10 dollars are 1000 cents.
    dollars = Interval("x", 0, 10, unit="dollars").pairwise({"x": [1, 2.5]}, {"x": [9]})
    cents = Interval("x", 0, 1000, unit="cents").pairwise({"x": [100, 250]}, {"x": [900]})
    np.testing.assert_allclose(cents, dollars, rtol=1e-15)
