"""What a space states of itself, its ranges and its formula, agrees with what its numpy methods compute."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.spaces import Categories, Grid, Space
from emdp.spaces.formulas import NUMPY


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_items_of_the_domain_lie_in_the_ranges_and_invalid_ones_of_a_box_do_not(case: Any, data: st.DataObject) -> None:
    space = case.make()
    if not space.spans:
        assert not space.is_box
        return
    assert tuple(span.column for span in space.spans) == space.columns
    row = data.draw(case.rows)
    assert all(span.holds(value) for span, value in zip(space.spans, row, strict=True))
    for bad, _ in case.invalid if space.is_box else ():
        assert not all(value is not None and span.holds(value) for span, value in zip(space.spans, bad, strict=True))


@pytest.mark.quarter
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_the_stated_formula_is_the_distance(case: Any, data: st.DataObject) -> None:
    space = case.make()
    items = case.all_items(space, data.draw(st.lists(case.rows, min_size=1, max_size=5)))
    for point in case.points:
        at = space.encode_point(point)
        if not _states(space):
            with pytest.raises(UsageError, match="states no formula"):
                space.distance_formula(NUMPY, tuple(items.T), tuple(map(np.asarray, at[0])))
            return
        found = space.distance_formula(NUMPY, tuple(items.T), tuple(map(np.asarray, at[0])))
        bounds = space.distance_bounds(at)
        assert np.abs(found - space.distance_values(items, at)).max() <= 2 * bounds.rounding


def test_these_state_a_formula(cases: Any) -> None:
    stated = {space.kind for space in (case.make() for case in cases.values()) if _states(space)}
    assert stated >= {"interval", "cycle", "vector"}


def _states(space: Space) -> bool:
    return type(space).distance_formula is not Space.distance_formula


def test_pitches_make_lines_that_cover_the_ranges(case: Any) -> None:
    space = case.make()
    if space.grid_refusal() is not None:
        with pytest.raises(UsageError, match=r"grid|pole"):
            space.grid_lines(1.0)
        return
    for pitch in (space.domain_diameter / 7, space.domain_diameter):
        for line, span in zip(space.grid_lines(pitch), space.spans, strict=True):
            assert (line.column, line.start, line.goes_round) == (span.column, span.low, span.goes_round)
            last = line.start + (line.size if line.goes_round else line.size - 1) * line.step
            assert last >= span.high - 1e-9 * abs(span.high)


def test_what_is_not_offered_has_safe_defaults() -> None:
    space = Categories("kind", ["bar", "cafe"])
    assert (space.spans, space.is_box, space.dimension, space.has_grid, space.is_map) == ((), False, 0, False, False)
    assert space.joint_rates({}, {}) is None
    for refused in (lambda: space.arc_constant("kind"), lambda: space.grid_lines(1.0)):
        with pytest.raises(UsageError):
            refused()
    assert Grid.has_grid is False
