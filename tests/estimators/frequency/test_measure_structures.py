"""Structures of a measure of places and hours: told from public numbers, and released as they are told."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.frequency.measure_structures import FACTORS, LENGTHS, structure_note, structures
from emdp.estimators.frequency.measures import plan_measure
from emdp.estimators.frequency.structured_measures import plan_structured
from emdp.privacy.rounding import as_decimal
from emdp.spaces import Categories, Cycle, Geo, Interval, Product, Space, Vector

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
    ],
)
def test_other_spaces_have_none(space: Space) -> None:
    plan = plan_measure(emdp.measure(alpha=81.0), space=space, users=500)
    assert len(plan.comparison) == 1
    assert not any(note.startswith("structures") for note in plan.notes)
    rows = plan.finisher
    grid = getattr(rows, "finisher", rows).grid
    assert structures(grid, space) == structure_note(grid, space, "joint") == ()


SPACE = Product(PLANE, Cycle("hour", 24))


def visits(users: int = 60) -> pl.DataFrame:
    """Ten records of each user; who is in the west is there in the morning."""
    rng = np.random.default_rng(1)
    west = np.arange(10 * users) % users < users // 2
    x, hour = np.where(west, 2.0, 8.0) + rng.random(len(west)), np.where(west, 6.0, 18.0) + rng.random(len(west))
    return pl.DataFrame({"user": np.arange(len(west)) % users, "x": x, "y": 10 * rng.random(len(west)), "hour": hour})


@pytest.mark.parametrize("structure", ["given zone", "independent"])
@pytest.mark.parametrize("alpha", [50.0, 0.1, 7.3, 1e-3, 123.456789])
def test_levels_of_two_releases_are_at_most_the_price(structure: str, alpha: float) -> None:
    query = emdp.measure(alpha=alpha, structure=structure, pitch=5.0)  # type: ignore[arg-type]  # of the list
    plan = plan_structured(query, space=SPACE, users=500)
    (pair,) = plan.mechanisms
    first, second = (as_decimal(own.alpha) for own in pair.members)
    assert as_decimal(alpha) * Fraction(999999, 1000000) < first + second <= as_decimal(alpha)
    assert plan.guarantee == emdp.EmdDP(alpha)
    assert plan.event.slack_epsilon >= sum(own.slack_epsilon for own in pair.members) > 0
    # each is the measure that is released at its level alone: the same nodes and noise
    for own, level, columns in zip(pair.members, (first, second), (["x", "y"], ["hour"]), strict=True):
        of = {} if own is pair.members[1] and structure == "given zone" else {"columns": columns}
        pitch = 5.0 if own is pair.members[0] else None
        alone = plan_measure(emdp.measure(alpha=float(level), pitch=pitch, **of), space=SPACE, users=500)
        assert alone.mechanisms[0] == own


@pytest.mark.parametrize(("users", "name"), [(60, "independent"), (60_000, "given zone")])
def test_auto_is_the_one_that_is_told(users: int, name: str) -> None:
    plan = plan_structured(emdp.measure(alpha=50.0, structure="auto"), space=SPACE, users=users)
    assert plan.finisher.structure == name
    assert [one.method for one in plan.comparison if one.is_chosen] == [name]
    assert any(f"this one is {name}, which is the nearest" in note for note in plan.notes)
    # an answer that was stored with another one is found by its nodes
    assert sorted(own.columns[0].expression != plan.columns[0].expression for own in plan.others) == [True, True]
    whole = plan_structured(emdp.measure(alpha=50.0, structure="auto"), space=PLANE, users=users)
    assert whole.mechanisms == plan_measure(emdp.measure(alpha=50.0), space=PLANE, users=users).mechanisms


@pytest.mark.parametrize("elsewhere", [None, 1.0])
def test_a_structure_is_released_and_read_as_one_measure(tmp_path: Path, elsewhere: float | None) -> None:
    where = {} if elsewhere is None else {"elsewhere": elsewhere}
    table = emdp.read(visits(), user="user", space=SPACE, users=60, name="visits", **where)
    with emdp.testing.seeded(2), emdp.Session(table, budget=emdp.EmdDP(500.0), ledger=tmp_path / "s.ledger") as session:
        one = session.measure(alpha=100.0, structure="given zone", pitch=1.25, name="both")
        text = (
            "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 100) MEASURE(x, y, hour, STRUCTURE('auto')) AS other FROM visits"
        )
        other = session.sql(text)
        assert session.sql(text).frame.equals(other.frame)
        assert session.spent() == emdp.EmdDP(200.0)
        table_of_both, nodes = one.table(), one.frame
        places = nodes.filter(pl.col("hour").is_null() & pl.col("x").is_not_null())
        zones = nodes.filter(pl.col("hour").is_not_null())
        for part in (places, zones):
            away = 0.0 if elsewhere is None else nodes.filter("elsewhere")["both"].to_numpy().max()
            assert part["both"].sum() == pytest.approx(1.0 - away, abs=0.02)
            assert (part["both_low"] < part["both"]).all()
        assert one.exact is not None
        assert table_of_both["weight"].sum() == pytest.approx(1.0)
        # a place has the hours of its zone
        hours = (
            table_of_both.filter(pl.col("x").is_not_null())
            .group_by(pl.col("x") < 5)
            .agg(((pl.col("hour") < 12) * pl.col("weight")).sum() / pl.col("weight").sum())
        )
        early = dict(hours.iter_rows())
        assert early[True] > 0.8 > 0.2 > early[False]
        drawn = one.sample(2000)
        assert drawn.columns == table_of_both.columns[:-1]
        assert (drawn["x"] < 5).mean() == pytest.approx(0.5, abs=0.05)
        late = session.sql("SELECT SUM(weight) AS w FROM MEASURE(both) WHERE hour >= 12")
        assert late.frame["w"][0] == pytest.approx(0.5, abs=0.1)
        assert any("besides what the join loses" in note for note in late.notes)
        east = one.mean(emdp.col("x"))["mean"][0]
        assert east == pytest.approx(5.5, abs=0.3)
        both = one.mean(emdp.col("x") + emdp.distance_to(6.5, column="hour") / 6)["mean"][0]
        assert both == pytest.approx(east + 1.0, abs=0.5)
        if elsewhere is None:
            low, high = one.mean(emdp.col("x"), raw=True).select("low", "high").row(0)
            assert low < 5.5 < high
            with pytest.raises(UsageError, match="two that are joined"):
                one.mean(emdp.distance_to(6.5, column="hour"), raw=True)
        for refused in (lambda: one.joined(other), lambda: session.measure(alpha=1.0, columns=["x", "y"]).joined(one)):
            with pytest.raises(UsageError, match="joined already"):
                refused()


def test_a_structure_is_refused_where_there_is_none() -> None:
    for space in (PLANE, Product(PLANE, Categories("kind", ["bar", "inn"]))):
        with pytest.raises(UsageError, match="a plane and one more axis"):
            plan_structured(emdp.measure(alpha=5.0, structure="given zone"), space=space, users=50)
    for given in ({"epsilon": 1.0}, {"alpha": 1.0, "pairs": True}):
        with pytest.raises(UsageError, match="single records under alpha"):
            emdp.measure(structure="auto", **given)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="structure"):
        emdp.measure(alpha=1.0, structure="zone")  # type: ignore[arg-type]
