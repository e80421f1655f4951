"""Structures of a measure of places and hours: told from public numbers, and released as they are told."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.estimators.frequency.measure_structures import FACTORS, LENGTHS, structure_note, structures
from emdp.estimators.frequency.measures import plan_measure
from emdp.spaces import Categories, Cycle, Geo, Interval, Product, Space, Vector
from emdp.spaces.combined.elsewhere import Elsewhere

CITY = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
PLANE = Vector(["x", "y"], box=[(0, 10), (0, 10)])


@pytest.mark.parametrize("users", [300, 7115, 10**6])
def test_all_structures_are_told_with_what_is_simulated(users: int) -> None:
    space = Product(CITY, Cycle("hour", 24))
    plan = plan_measure(emdp.measure(alpha=81.0), space=space, users=users)
    _, zone, independent = plan.comparison
    assert [one.is_chosen for one in plan.comparison] == [True, False, False]
    assert (zone.method, independent.method) == ("given zone", "independent")
    rows = plan.finisher
    grid = getattr(rows, "finisher", rows).grid
    inside = LENGTHS[-1] <= grid.length <= LENGTHS[0]
    for one in (zone, independent):
        towns = FACTORS[one.method][0]
        ratio = (one.expected_error or 0.0) / grid.typical
        assert min(towns) - 1e-9 <= ratio <= max(towns) + 1e-9
        assert inside or ratio == pytest.approx(towns[0 if grid.length > LENGTHS[0] else -1])
    (told,) = (note for note in plan.notes if note.startswith("structures"))
    names = {300: "independent", 7115: "given zone", 10**6: "given zone"}
    assert f"{names[users]} is the nearest" in told


@pytest.mark.parametrize(
    "space",
    [
        PLANE,
        Product(PLANE, Categories("kind", ["bar", "inn"])),
        Product(Interval("x", 0, 1), Cycle("hour", 24)),
        Product(PLANE, Cycle("hour", 24), Categories("kind", ["bar", "inn"])),
        Elsewhere(Product(PLANE, Cycle("hour", 24)), 1.0),
    ],
)
def test_other_spaces_have_none(space: Space) -> None:
    plan = plan_measure(emdp.measure(alpha=81.0), space=space, users=500)
    assert len(plan.comparison) == 1
    assert not any(note.startswith("structures") for note in plan.notes)
    rows = plan.finisher
    grid = getattr(rows, "finisher", rows).grid
    assert structures(grid, space) == structure_note(grid, space, 81.0) == ()


def test_what_is_told_can_be_released(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    made = {name: size * rng.random(600) for name, size in (("x", 10), ("y", 10), ("hour", 24))}
    rows = pl.DataFrame({"user": np.arange(600) % 60, **made})
    space = Product(PLANE, Cycle("hour", 24))
    table = emdp.read(rows, user="user", space=space, users=60)
    with emdp.testing.seeded(2), emdp.Session(table, budget=emdp.EmdDP(50.0), ledger=tmp_path / "s.ledger") as session:
        told = str(session.preview(emdp.measure(alpha=50.0)).explain())
        for name in FACTORS:
            assert name in told
        places = session.measure(alpha=30.0, columns=["x", "y"])
        table_of_both = places.joined(session.measure(alpha=20.0, name="rest"))
        assert table_of_both.columns == ["x", "y", "hour", "weight"]
        assert table_of_both["weight"].sum() == pytest.approx(1.0)
        assert session.spent() == emdp.EmdDP(50.0)
