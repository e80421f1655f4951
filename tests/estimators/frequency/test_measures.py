"""Private measures: pitch and expectation by rule, what is refused, what answers give, and how near they come."""

import math
from pathlib import Path

import numpy as np
import ot
import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.frequency.measure_cells import measure_cells
from emdp.estimators.frequency.measures import plan_measure
from emdp.mechanisms.central.edge_laws import EdgeLaplaceMechanism
from emdp.spaces import Categories, Cycle, Geo, Product, Space, Vector
from emdp.spaces.combined.elsewhere import Elsewhere

CITY = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
PLANE = Vector(["x", "y"], box=[(0, 10), (0, 10)])
KINDS = Categories("kind", ["bar", "inn", "zoo", "gym"])
ALL = Product(PLANE, Cycle("hour", 24), KINDS)


def records(users: int, each: int, seed: int = 1) -> pl.DataFrame:
    """Two towns and a river between them."""
    rng = np.random.default_rng(seed)
    count = users * each
    town = rng.random(count)
    first = np.array([2.5, 7.0]) + 0.4 * rng.normal(size=(count, 2))
    second = np.array([7.5, 3.0]) + 0.7 * rng.normal(size=(count, 2))
    along = 10 * rng.random(count)
    river = np.column_stack([along, 5 + 2 * np.sin(along)])
    places = np.where(town[:, None] < 0.5, first, np.where(town[:, None] < 0.8, second, river)).clip(0, 10)
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(users), each),
            "x": places[:, 0],
            "y": places[:, 1],
            "hour": (18 + 3 * rng.normal(size=count)) % 24,
            "kind": rng.choice(["bar", "inn", "zoo", "gym"], count, p=[0.6, 0.2, 0.1, 0.1]),
        }
    )


def session_of(folder: Path, space: Space, users: int = 500, each: int = 20) -> emdp.Session:
    table = emdp.read(records(users, each), user="user", space=space, users=users)
    return emdp.Session(table, budget=emdp.EmdDP(alpha=1e7), ledger=folder / "m.ledger")


def test_the_rule_gives_the_theory_s_pitch_and_distance() -> None:
    for loss, pitch in ((1300.0, 2.05), (8538.0, 1.09)):
        found = measure_cells(CITY, loss * CITY.diameter)
        assert found.pitch == pytest.approx(pitch, rel=0.02)
        towns, scattered = found.expected
        assert towns == pytest.approx(0.3 * found.pitch, rel=0.1)
        assert scattered > towns
    # an eighth of the loss is twice the pitch
    assert measure_cells(CITY, 8538.0 * CITY.diameter / 8).pitch == pytest.approx(2 * 1.094, rel=0.01)


def test_all_parts_have_nodes_as_far_apart() -> None:
    found = measure_cells(ALL, 1e6, pitch=1.0)
    plane, hours, kinds = found.cells.axes[0], found.cells.axes[2], found.cells.axes[3]
    # 1 of 14.1 in the plane is 0.85 of 12 hours
    assert (plane.step, plane.size) == (1.0, 11)
    assert hours.size == math.ceil(24 / (12 / PLANE.diameter))
    assert kinds.size == 4
    assert found.counts[3] == 4
    assert found.places <= 60_000
    assert measure_cells(PLANE, 1e6, pitch=1.0, resolution=0.5).counts == (20, 20)


def test_what_has_no_measure() -> None:
    for query, space, match in (
        (emdp.measure(alpha=1.0), KINDS, "grid"),
        (emdp.measure(alpha=1.0, pitch=100.0), PLANE, "pitch"),
        (emdp.measure(alpha=1.0, pitch=0.001), PLANE, "nodes"),
        (emdp.measure(alpha=1.0), Product(PLANE, Vector(["u", "v"], radius=1.0)), "nodes along every part"),
    ):
        with pytest.raises((UsageError, emdp.NotLipschitzError), match=match):
            plan_measure(query, space=space, users=100)
    for call, match in (
        (lambda: emdp.measure(epsilon=1.0), "epsilon"),
        (emdp.measure, "exactly one"),
        (lambda: emdp.measure(alpha=1.0, pitch=0.0), "pitch"),
        (lambda: emdp.measure(alpha=1.0, resolution=-1.0), "resolution"),
        (lambda: emdp.measure(alpha=1.0, name=""), "name"),
        (lambda: emdp.measure(alpha=1.0, neighbours="remove"), "neighbours"),
    ):
        with pytest.raises(UsageError, match=match):
            call()


def test_no_measure_of_who_is_elsewhere() -> None:
    with pytest.raises(UsageError, match="elsewhere"):
        plan_measure(emdp.measure(alpha=1.0), space=Elsewhere(PLANE, 1.0), users=100)


def test_one_event_and_what_a_preview_says(tmp_path: Path) -> None:
    session = session_of(tmp_path, PLANE)
    shown = session.preview(emdp.measure(alpha=50.0))
    assert shown.frame["alpha"].to_list() == [50.0]
    told = str(shown.explain())
    assert "scattered places" in told
    assert "ask it" in told
    assert session.history().height == 0
    answer = session.measure(alpha=50.0)
    assert session.history().height == 1
    assert answer.spent.alpha == 50.0  # type: ignore[attr-defined]
    assert isinstance(answer.noise, EdgeLaplaceMechanism)
    assert answer.frame["share"].sum() == pytest.approx(1.0, abs=1e-9)


def test_tables_samples_and_means(tmp_path: Path) -> None:
    with emdp.testing.seeded(2):
        session = session_of(tmp_path, ALL)
        answer = session.measure(alpha=200.0, pitch=1.5)
        table = answer.table()
        assert table.columns == ["x", "y", "hour", "kind", "weight"]
        assert table["weight"].sum() == pytest.approx(1.0)
        assert table["weight"].min() > 0
        assert answer.table().equals(table)
        assert answer.density()["share"].sum() == pytest.approx(1.0)
        assert answer.density().height == answer.frame.height
        sample = answer.sample(4000)
        assert sample.columns == ["x", "y", "hour", "kind"]
        assert sample.height == 4000
        assert sample["x"].mean() == pytest.approx(float((table["x"] * table["weight"]).sum()), abs=0.02)
        bars = table.filter(pl.col("kind") == "bar")["weight"].sum()
        assert (sample["kind"] == "bar").mean() == pytest.approx(bars, abs=0.02)
        assert bars == pytest.approx(0.6, abs=0.1)
        exact = session.mean(emdp.col("x"), alpha=1e5).frame["mean"][0]
        fitted, raw = answer.mean(emdp.col("x")), answer.mean(emdp.col("x"), raw=True)
        assert fitted.columns == ["mean", "towns", "scattered"]
        assert abs(fitted["mean"][0] - exact) < fitted["scattered"][0]
        assert raw["low"][0] <= exact <= raw["high"][0]
        assert answer.plot().svg
        with pytest.raises(UsageError, match="n must"):
            answer.sample(0)
        with pytest.raises(emdp.NotLipschitzError):
            answer.mean(emdp.col("x") > 3)
        with pytest.raises(UsageError, match="measure"):
            session.mean(emdp.col("x"), alpha=1.0).table()


def test_raw_means_have_their_coverage(tmp_path: Path) -> None:
    function = emdp.ramp(emdp.distance_to((2.5, 7.0)), 2, 1)
    with emdp.testing.seeded(4):
        session = session_of(tmp_path, PLANE, users=50, each=4)
        answers = [session.measure(alpha=20.0, pitch=1.0, name=f"s{number}") for number in range(60)]
        nodes = answers[0].exact_frame
        values = np.clip(2 - np.hypot(nodes["x"].to_numpy() - 2.5, nodes["y"].to_numpy() - 7.0), 0, 1)
        smoothed = float(values @ nodes["s0"].to_numpy())
        found = [answer.mean(function, raw=True, level=0.8).row(0) for answer in answers]
    inside = sum(low <= smoothed <= high for _, low, high in found)
    assert 36 <= inside <= 58  # of 60, expected 48: 4.5 standard deviations
    widths = {round(high - low, 12) for _, low, high in found}
    assert len(widths) == 1


def test_a_measure_comes_as_near_as_it_says_and_nearer_than_cells(tmp_path: Path) -> None:
    users, each = 500, 20
    given = records(users, each)
    truth = given.select("x", "y").to_numpy()[::4]
    with emdp.testing.seeded(6):
        session = session_of(tmp_path, PLANE, users, each)
        answer = session.measure(alpha=30.0)
        flat = session.frequencies(1.0, alpha=30.0, noise="laplace").frame
    plan = plan_measure(emdp.measure(alpha=30.0), space=PLANE, users=users)
    expected = plan.comparison[0].expected_error * PLANE.diameter  # type: ignore[operator]

    def distance(places: np.ndarray, weights: np.ndarray) -> float:
        own = np.full(len(truth), 1 / len(truth))
        return float(ot.emd2(own, weights / weights.sum(), ot.dist(truth, places, metric="euclidean")))

    table = answer.table()
    near = distance(table.select("x", "y").to_numpy(), table["weight"].to_numpy())
    cells = flat["frequency"].to_numpy().clip(0)
    assert 0.5 < expected / near < 1.6
    assert near < 0.7 * distance(flat.select("x", "y").to_numpy(), cells)
