"""Constants and ranges of the functions of every space (the cases of conftest.py): sound, and attained."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

Row = tuple[Any, ...]


@pytest.mark.quarter
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_constants_and_ranges_of_functions_are_never_exceeded(case: Any, data: st.DataObject) -> None:
    space = case.make()
    items = case.all_items(space, data.draw(st.lists(case.rows, min_size=2, max_size=6)))
    d = space.distances(items, items)
    for name, bounds, values_of in case.functions(space):
        values = values_of(items)
        assert values.shape == (len(items),)
        assert bounds.low <= bounds.high
        assert values.min() >= bounds.low - bounds.rounding, name
        assert values.max() <= bounds.high + bounds.rounding, name
        if bounds.lipschitz < math.inf:
            constant = bounds.lipschitz
            if space.is_truncated:
                constant = max(constant, bounds.high - bounds.low)
            change = np.abs(np.subtract.outer(values, values))
            slack = 2 * bounds.rounding + constant * case.tolerance
            assert (change <= constant * d + slack).all(), name


# Two rows whose values differ by the constant times d_X, for one function of each kind that a space has.
WITNESSES: list[tuple[str, str, Row, Row]] = [
    ("interval", "column x", (-3.0,), (7.1,)),
    ("interval", "distance to 100.0", (-3.0,), (7.1,)),
    ("interval cut", "column x", (0.0,), (9.0,)),
    ("cycle", "distance to 5.5", (5.5,), (16.0,)),
    ("geo", "column lat", (40.48, -74.0), (40.92, -74.0)),
    ("geo", "column lon", (40.92, -74.26), (40.92, -73.70)),
    ("geo", "distance to (40.48, -74.26)", (40.48, -74.26), (40.92, -73.70)),
    ("geo miles", "column lon", (60.0, -5.0), (60.0, 30.0)),
    ("geo globe", "column lat", (-90.0, 0.0), (90.0, 0.0)),
    ("geo antimeridian", "column lon", (-20.0, 170.0), (-20.0, 190.0)),
    ("geo antimeridian", "distance to (-15.0, -180.0)", (-15.0, 180.0), (-15.0, 190.0)),
    ("geo polar", "distance to (90.0, 0.0)", (90.0, 5.0), (70.0, 200.0)),
    ("vector box", "column x", (0.0, 0.0), (3.0, 0.0)),
    ("vector box", "distance to (0, 0)", (0.0, 0.0), (3.0, 1.0)),
    ("vector box", "inner (3.0, 2.0)", (0.0, -1.0), (3.0, 1.0)),
    ("vector ball", "inner (0.0, 0.0, 1.0)", (0.0, 0.0, -1.9), (0.0, 0.0, 1.9)),
    ("vector ball", "distance to (0.0, 10.0, 0.0)", (0.0, -2.0, 0.0), (0.0, 2.0, 0.0)),
    ("categories", "label cafe", ("cafe",), ("zoo",)),
    ("categories", "distance to cafe", ("cafe",), ("zoo",)),
    ("clusters", "label cat", ("cat",), ("dog",)),
    ("clusters", "label ten", ("ten",), ("dog",)),
    ("clusters", "distance to cat", ("cat",), ("dog",)),
    ("distances", "label A", ("A",), ("B",)),
    ("distances", "distance to A", ("A",), ("D",)),
    ("distances cut", "label 4", (3,), (4,)),
    ("embedding", "inner (7.0, -1.0, 0.5)", ("b",), ("d",)),
    ("embedding", "distance to d", ("d",), ("b",)),
    ("embedding", "label a", ("a",), ("c",)),
    ("words", "label c", ("a",), ("c",)),
    ("product", "column lat", (40.48, -74.0, 1.0, "bar"), (40.52, -74.0, 1.0, "bar")),
]


@pytest.mark.parametrize(("name", "function", "first", "second"), WITNESSES)
def test_constants_are_attained_within_one_percent(
    cases: Any, name: str, function: str, first: Row, second: Row
) -> None:
    case = cases[name]
    space = case.make()
    items = case.items(space, [first, second])
    bounds, values_of = {found: (bounds, values) for found, bounds, values in case.functions(space)}[function]
    change = abs(float(np.diff(values_of(items))[0]))
    distance = float(space.distances(items[:1], items[1:])[0, 0])
    if name.startswith("product"):  # the part is cut at 5 km, so the range of the column is its constant
        assert bounds.lipschitz >= (bounds.high - bounds.low) / space.shares[0]
        bounds = dataclasses.replace(bounds, lipschitz=5 / 111.195 / space.shares[0])
    assert change >= 0.99 * bounds.lipschitz * distance
    assert change <= bounds.lipschitz * distance * (1 + 1e-9) + 2 * bounds.rounding
