"""Numbers that spaces state and guarantees rest on, of every registered kind, alone and combined, by brute force.

The checks are in ``tests/support/space_numbers.py``. A kind of the registry has a case in conftest.py, or a test here
fails; its products, its grid and itself with the point elsewhere are made of that case.
"""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from space_numbers import check_numbers

from emdp.spaces import Cycle, Elsewhere, Geo, Grid, Interval, Product, Space, Vector, from_json
from emdp.spaces.base import FunctionBounds
from emdp.spaces.combined.grid import cut_axes
from emdp.spaces.registry import KINDS


def test_every_registered_kind_has_a_case(cases: Any) -> None:
    found = {part.kind for case in cases.values() for part in case.make().parts}
    missing = set(KINDS) - found
    assert not missing, f"add a case to tests/spaces/conftest.py for each of {sorted(missing)}"


@pytest.mark.quarter
def test_what_a_space_states_holds_of_its_metric(case: Any) -> None:
    check_numbers(case.make())


def combined(space: Space) -> Iterator[Space]:
    """The space in products, with a grid, and with the point elsewhere and slots."""
    if not isinstance(space, Product):
        yield Product(space, Cycle("another", 7.0))
        yield Product(Interval("another", -1, 2, diameter=2).weighted(0.1), space.weighted(2.5))
    yield Elsewhere(space)
    yield Elsewhere(space, 0.5, slots=4)
    if axes := cut_axes(space):
        yield Grid(space, [5, 3, 2][:axes])
        yield Elsewhere(Product(Grid(space, [5, 3, 2][:axes]), Cycle("another", 7.0)), 0.75)


@pytest.mark.quarter
def test_it_holds_of_combinations(case: Any) -> None:
    for space in combined(case.make()):
        check_numbers(space, seed=1)


def halved(bounds: FunctionBounds) -> FunctionBounds:
    return FunctionBounds(bounds.lipschitz / 2, bounds.low, bounds.high, bounds.rounding)


def test_narrow_boxes_and_small_diameters() -> None:
    for space in (
        Geo("lat", "lon", (59.9, 10.6, 60.0, 10.9), diameter=0.05),
        Geo("lat", "lon", (-60.0, -179.0, 70.0, -1.0), unit="m", as_given=True),
        Vector(["a", "b", "c"], box=[(0, 1e-6), (-5, 5), (100, 101)], diameter=0.5),
        Cycle("angle", 6.283185307179586, diameter=0.01),
        Interval("x", -1e12, 1e-12),
    ):
        for seed in range(3):
            check_numbers(space, seed)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("kind", "name", "make"),
    [
        ("cycle", "arc_constant", lambda real: lambda self, column: real(self, column) / 2),
        ("vector box", "joint_rates", lambda real: lambda self, a, s: tuple(r / 2 for r in real(self, a, s))),
        ("geo", "joint_rates", lambda real: lambda self, a, s: tuple(r / 2 for r in real(self, a, s))),
        ("geo miles", "joint_rates", lambda real: lambda self, a, s: (real(self, a, s)[0], real(self, a, s)[1] / 2)),
        ("interval", "column_bounds", lambda real: lambda self, column: halved(real(self, column))),
        ("geo", "column_bounds", lambda real: lambda self, column: halved(real(self, column))),
        ("vector ball", "distance_bounds", lambda real: lambda self, point: halved(real(self, point))),
        ("distances", "distance_bounds", lambda real: lambda self, point: halved(real(self, point))),
        ("embedding", "inner_bounds", lambda real: lambda self, vector: halved(real(self, vector))),
        ("clusters", "label_bounds", lambda real: lambda self, label: halved(real(self, label))),
        ("cycle", "grid_lines", lambda real: lambda self, step: real(self, 2 * step)),
        ("geo", "grid_lines", lambda real: lambda self, step: real(self, 2 * step)),
        ("geo", "cell_pitches", lambda real: lambda self, steps: tuple(p / 2 for p in real(self, steps))),
    ],
)
def test_half_of_it_fails(cases: Any, kind: str, name: str, make: Any) -> None:
    space = cases[kind].make()
    check_numbers(space)
    with (
        patch.object(type(space), name, make(getattr(type(space), name))),
        pytest.raises(AssertionError),
    ):
        check_numbers(space)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_half_a_diameter_fails(cases: Any, kind: str) -> None:
    space = next(case.make() for case in cases.values() if case.make().kind == kind)
    assert np.isfinite(space.domain_diameter)
    object.__setattr__(space, "domain_diameter", space.domain_diameter * 0.5)
    with pytest.raises(AssertionError):
        check_numbers(space)
    assert from_json(space.to_json()).domain_diameter == 2 * space.domain_diameter
