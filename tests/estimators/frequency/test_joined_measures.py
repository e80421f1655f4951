"""Measures of parts of a space, and two of them as one table: given the zone, or independent."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.frequency.measures import plan_measure
from emdp.spaces import Categories, Cycle, Product, Vector

USERS, EACH = 400, 10
PLANE = Vector(["x", "y"], box=[(0, 10), (0, 10)])
SPACE = Product(PLANE, Cycle("hour", 24), Categories("kind", ["bar", "inn"]))


def records() -> pl.DataFrame:
    """In the east it is morning, in the west evening; bars are everywhere alike."""
    rng = np.random.default_rng(3)
    east = rng.random(USERS * EACH) < 0.4
    places = np.where(east[:, None], (8.0, 5.0), (2.0, 5.0)) + 0.5 * rng.normal(size=(USERS * EACH, 2))
    hours = np.where(east, 8.0, 20.0) + rng.normal(size=USERS * EACH)
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(USERS), EACH),
            "x": places[:, 0].clip(0, 10),
            "y": places[:, 1].clip(0, 10),
            "hour": hours % 24,
            "kind": np.where(rng.random(USERS * EACH) < 0.75, "bar", "inn"),
        }
    )


def test_a_part_has_the_noise_that_it_has_in_the_whole() -> None:
    """Axes that are left out save edges, and change no sensitivity: a move in space is the same move."""
    whole = plan_measure(emdp.measure(alpha=5.0, pitch=2.5), space=SPACE, users=100)
    part = plan_measure(emdp.measure(alpha=5.0, pitch=2.5, columns=["x", "y"]), space=SPACE, users=100)
    assert [axis.size for axis in part.mechanisms[0].axes] == [5, 5]
    assert [axis.sensitivity for axis in part.mechanisms[0].axes] == [
        axis.sensitivity for axis in whole.mechanisms[0].axes[:2]
    ]
    assert part.guarantee == whole.guarantee
    hours = plan_measure(emdp.measure(alpha=5.0, columns=["hour"]), space=SPACE, users=100)
    assert [axis.form for axis in hours.mechanisms[0].axes] == ["round"]


@pytest.mark.slow
@emdp.testing.seeded(2)
def test_zones_tell_what_independence_loses(tmp_path: Path) -> None:
    table = emdp.read(records(), user="user", space=SPACE, users=USERS, name="t")
    session = emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=tmp_path / "j.ledger")
    places = session.measure(alpha=200.0, columns=["x", "y"], name="places")
    zones = session.measure(alpha=200.0, columns=["x", "y", "hour"], pitch=4.0, name="zones")
    hours = session.measure(alpha=200.0, columns=["hour"], name="hours")
    kinds = session.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 200) MEASURE(hour, kind, PITCH(2)) AS k FROM t")
    assert places.table().columns == ["x", "y", "weight"]
    assert kinds.table().columns == ["hour", "kind", "weight"]
    assert places.plot().svg

    def early(found: pl.DataFrame) -> float:
        """Return the share of the mornings in the east."""
        assert found["weight"].sum() == pytest.approx(1.0)
        return float(found.filter((pl.col("x") > 5) & pl.col("hour").is_between(4, 12))["weight"].sum())

    exact = records().filter((pl.col("x") > 5) & pl.col("hour").is_between(4, 12)).height / (USERS * EACH)
    given, independent = places.joined(zones), places.joined(hours)
    assert given.columns == independent.columns == ["x", "y", "hour", "weight"]
    assert early(given) == pytest.approx(exact, abs=0.05)
    assert early(independent) == pytest.approx(0.4**2, abs=0.05)
    # places are as they were
    west = places.table().filter(pl.col("x") < 5)["weight"].sum()
    for found in (given, independent):
        assert found.filter(pl.col("x") < 5)["weight"].sum() == pytest.approx(west, abs=1e-9)
    bars = hours.joined(kinds)
    assert bars.filter(pl.col("kind") == "bar")["weight"].sum() == pytest.approx(0.75, abs=0.05)
    by_sql = session.sql(
        "SELECT SUM(a.weight * b.weight) AS w FROM MEASURE(places) a, MEASURE(hours) b WHERE a.x > 5 AND b.hour < 12"
    )
    assert by_sql.frame["w"][0] == pytest.approx(0.4**2, abs=0.05)
    mean = places.mean(emdp.col("x"))["mean"][0]
    assert mean == pytest.approx(records()["x"].mean(), abs=0.2)
    for call, match in (
        (lambda: places.mean(emdp.distance_to(8.0, column="hour")), "of x, y alone"),
        (lambda: places.joined(places), "further columns"),
        (lambda: hours.joined(session.mean(emdp.col("x"), alpha=1.0)), "must be a measure"),
        (lambda: session.measure(alpha=1.0, columns=["x"]), "all columns of some parts"),
        (lambda: session.measure(alpha=1.0, columns=["x", "y", "z"]), "'z'"),
        (lambda: session.measure(alpha=1.0, columns="xy"), "columns must be names"),
    ):
        with pytest.raises(UsageError, match=match):
            call()


@pytest.mark.slow
@emdp.testing.seeded(2)
def test_who_is_elsewhere_keeps_the_share_and_the_rest_is_joined(tmp_path: Path) -> None:
    frame = records().with_columns(x=pl.when(pl.col("user") % 4 == 0).then(None).otherwise("x"))
    plane = Vector(["x", "y"], box=[(0, 10), (0, 10)], on_invalid="elsewhere")
    space = Product(plane, Cycle("hour", 24), Categories("kind", ["bar", "inn"]))
    table = emdp.read(frame, user="user", space=space, users=USERS, name="t", elsewhere=1)
    session = emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=tmp_path / "j.ledger")
    places = session.measure(alpha=200.0, columns=["x", "y"], name="places")
    zones = session.measure(alpha=200.0, columns=["x", "y", "hour"], pitch=4.0, name="zones")
    hours = session.measure(alpha=200.0, columns=["hour"], name="hours")
    exact = frame.drop_nulls().filter((pl.col("x") > 5) & pl.col("hour").is_between(4, 12)).height / frame.height
    for found in (places.joined(zones), places.joined(hours)):
        assert found.columns == ["x", "y", "hour", "elsewhere", "weight"]
        assert found["weight"].sum() == pytest.approx(1.0)
        away = found.filter(pl.col("elsewhere"))
        assert away.height == 1
        assert (
            away["weight"][0]
            == places.table().filter(pl.col("elsewhere"))["weight"][0]
            == pytest.approx(0.25, abs=0.02)
        )
        assert away.select("x", "y", "hour").null_count().row(0) == (1, 1, 1)
    found = places.joined(zones)
    early = found.filter((pl.col("x") > 5) & pl.col("hour").is_between(4, 12))["weight"].sum()
    assert early == pytest.approx(exact, abs=0.05)


@pytest.mark.slow
@emdp.testing.seeded(2)
def test_where_everybody_is_elsewhere_nothing_is_joined(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": [1, 2], "x": [99.0, 99.0], "y": [1.0, 1.0], "hour": [1.0, 2.0]})
    plane = Vector(["x", "y"], box=[(0, 10), (0, 10)], on_invalid="elsewhere")
    table = emdp.read(frame, user="user", space=Product(plane, Cycle("hour", 24)), users=40, name="t", elsewhere=1)
    session = emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=tmp_path / "j.ledger")
    places = session.measure(alpha=1e4, columns=["x", "y"], name="places")
    found = places.joined(session.measure(alpha=1e4, columns=["hour"], name="hours"))
    assert found["weight"].sum() == pytest.approx(1.0, abs=1e-3)
    assert found.filter(pl.col("elsewhere"))["weight"].sum() == pytest.approx(1.0, abs=0.01)
