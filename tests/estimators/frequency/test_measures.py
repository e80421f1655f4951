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
from emdp.estimators.frequency.measure_rows import NO_DISTANCE
from emdp.estimators.frequency.measures import plan_measure
from emdp.estimators.frequency.resistance import user_flow
from emdp.mechanisms import LaplaceMechanism
from emdp.mechanisms.central.edge_laws import EdgeGaussianMechanism, EdgeLaplaceMechanism
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
    # as fine as a million places allow
    assert measure_cells(PLANE, 1e6, pitch=1.0, resolution=1e-300).counts == (1000, 1000)


def test_what_has_no_measure() -> None:
    for query, space, match in (
        (emdp.measure(alpha=1.0), Product(KINDS, Categories("own", ["a", "b"])), "grid"),
        (emdp.measure(epsilon=1.0), KINDS, "under alpha"),
        (emdp.measure(alpha=1.0, pitch=100.0), PLANE, "pitch"),
        (emdp.measure(alpha=1.0, pitch=0.001), PLANE, "nodes"),
        (emdp.measure(alpha=1.0), Product(PLANE, Vector(["u", "v"], radius=1.0)), "nodes along every part"),
    ):
        with pytest.raises((UsageError, emdp.NotLipschitzError), match=match):
            plan_measure(query, space=space, users=100)
    for call, match in (
        (lambda: emdp.measure(epsilon=1.0, alpha=1.0), "exactly one"),
        (emdp.measure, "exactly one"),
        (lambda: emdp.measure(alpha=1.0, pitch=0.0), "pitch"),
        (lambda: emdp.measure(alpha=1.0, resolution=-1.0), "resolution"),
        (lambda: emdp.measure(alpha=1.0, name=""), "name"),
        (lambda: emdp.measure(alpha=1.0, noise="laplace"), "noise"),
        (lambda: emdp.measure(epsilon=1.0, noise="edges"), "delta"),
        (lambda: emdp.measure(alpha=1.0, neighbours="remove"), "neighbours"),
    ):
        with pytest.raises(UsageError, match=match):
            call()


@pytest.mark.quarter
@pytest.mark.parametrize("gone", [0.0, 0.3, 1.0])
def test_who_is_elsewhere_is_at_one_more_place(tmp_path: Path, gone: float) -> None:
    rows = records(400, 10)
    kept = round(400 * (1 - gone))
    # users without records are elsewhere
    table = emdp.read(rows.filter(pl.col("user") < kept), user="user", space=PLANE, users=list(range(400)), elsewhere=1)
    with emdp.testing.seeded(5), emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=tmp_path / "e.ledger") as session:
        answer = session.measure(alpha=100.0, pitch=1.5)
        assert answer.frame["share"].sum() == pytest.approx(1.0, abs=1e-9)
        assert answer.frame["elsewhere"].to_list() == [False] * (answer.frame.height - 1) + [True]
        found = answer.table()
        assert found["weight"].sum() == pytest.approx(1.0)
        assert found.filter(pl.col("elsewhere"))["weight"].sum() == pytest.approx(gone, abs=0.02)
        assert answer.density()["share"][-1] == pytest.approx(gone, abs=0.02)
        sample = answer.sample(1000)
        assert sample.height == 1000
        assert sample["elsewhere"].mean() == pytest.approx(gone, abs=0.02)
        assert sample["x"].null_count() == sample["elsewhere"].sum()
        by_sql = session.sql("SELECT SUM(weight) AS w FROM MEASURE(share) WHERE elsewhere").frame["w"][0]
        assert (by_sql or 0.0) == pytest.approx(gone, abs=0.02)
        with pytest.raises(UsageError, match="raw"):
            answer.mean(emdp.col("x"), raw=True)
        if gone < 1:
            exact = rows.filter(pl.col("user") < kept)["x"].mean()
            assert answer.mean(emdp.col("x")).row(0) == (pytest.approx(exact, abs=0.1), None, None, NO_DISTANCE)
        assert answer.plot().svg


def test_the_fit_has_the_covariance_with_the_point_elsewhere() -> None:
    plan = plan_measure(emdp.measure(alpha=5.0, pitch=5.0), space=Elsewhere(PLANE, 0.8), users=100)
    mechanism, rows = plan.mechanisms[0], plan.finisher
    rows = getattr(rows, "finisher", rows)
    assert isinstance(mechanism, EdgeLaplaceMechanism)
    with emdp.testing.seeded(3):
        drawn = np.asarray(mechanism.draw_many(20_000), dtype=np.float64).reshape(20_000, -1) * float(
            mechanism.answer_step
        )
    laplacian = np.diag([1.0, 2.0, 1.0]) - np.eye(3, k=1) - np.eye(3, k=-1)
    sizes = [axis.size for axis in mechanism.axes]
    assert sizes == [3, 3]
    units = [2 * (unit * mechanism.grid) ** 2 for unit in mechanism.axis_units]
    exact = units[0] * np.kron(laplacian, np.eye(3)) + units[1] * np.kron(np.eye(3), laplacian)
    exact += rows._away * np.eye(9)
    assert rows._away == units[2]
    found = np.cov(drawn[:, :-1].T)
    assert np.abs(found - exact).max() < 0.06 * exact.max()
    # 0.7 and 1.3 times the noise on the edges to the point are seen
    for factor in (0.7, 1.3):
        wrong = exact + (factor**2 - 1) * rows._away * np.eye(9)
        assert abs(np.trace(found - wrong)) > 3 * abs(np.trace(found - exact))


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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_at_user_level_one_way_is_chosen_by_what_is_expected() -> None:
    pure = plan_measure(emdp.measure(epsilon=1.0), space=PLANE, users=500)
    assert pure.guarantee == emdp.UserDP(1.0)
    # all of a user's weights may move: 2 in the 1-norm
    assert isinstance(pure.mechanisms[0], LaplaceMechanism)
    assert pure.mechanisms[0].scale == pytest.approx(2 / 500, rel=1e-6)
    mixed = plan_measure(emdp.measure(epsilon=1.0, delta=1e-6), space=PLANE, users=500)
    assert [one.method for one in mixed.comparison] == ["Laplace", "tree", "edge Gaussian"]
    assert [one.is_chosen for one in mixed.comparison] == [True, False, False]
    by_two = plan_measure(emdp.measure(epsilon=12.0, delta=0.2, noise="edges"), space=PLANE, users=500)
    assert isinstance(by_two.mechanisms[0], EdgeGaussianMechanism)
    assert by_two.guarantee == emdp.UserDP(12.0, 0.2)
    axes = by_two.mechanisms[0].axes
    assert axes[0].sensitivity == axes[1].sensitivity == pytest.approx(user_flow(axes) / 500, rel=1e-9)


@pytest.mark.slow
def test_at_user_level_every_way_is_released_and_given_again(tmp_path: Path) -> None:
    with emdp.testing.seeded(7):
        table = emdp.read(records(500, 20), user="user", space=PLANE, users=500, name="t")
        budget = emdp.UserDP(100.0, 0.9)
        with emdp.Session(table, budget=budget, ledger=tmp_path / "u.ledger") as session:
            for delta, noise in ((0.0, "auto"), (0.2, "edges"), (0.2, "laplace")):
                asked = {"epsilon": 12.0, "delta": delta, "noise": noise, "name": noise}
                answer, again = session.measure(**asked), session.measure(**asked)
                assert isinstance(answer.noise, EdgeGaussianMechanism) == (noise == "edges")
                assert again.measured == answer.measured
                assert answer.table()["weight"].sum() == pytest.approx(1.0)
                truth = records(500, 20)["x"].mean()
                assert answer.mean(emdp.col("x"))["mean"][0] == pytest.approx(truth, abs=0.2)
            with pytest.raises(UsageError, match="raw"):
                session.measure(epsilon=12.0, name="auto").mean(emdp.col("x"), raw=True)
            told = session.sql("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) MEASURE(*) AS here FROM t")
            assert told.spent == emdp.UserDP(1.0)
            assert session.sql("SELECT SUM(weight) AS w FROM MEASURE(here)").guarantee == emdp.UserDP(1.0)


MEASURED = {
    # users, epsilon: km of measures of Gowalla and Foursquare by all noises (docs/measures.md)
    (7115, 0.5): (0.959, 0.831, 1.018),
    (7115, 1.0): (0.730, 0.591, 0.706),
    (7115, 2.0): (0.656, 0.431, 0.524),
    (1083, 0.5): (2.233, 2.372, 3.220),
    (1083, 1.0): (1.360, 1.966, 2.206),
    (1083, 2.0): (1.278, 1.334, 1.573),
}


@pytest.mark.parametrize(("users", "epsilon"), MEASURED)
def test_the_nearer_noise_is_chosen_and_its_distance_expected(users: int, epsilon: float) -> None:
    plan = plan_measure(emdp.measure(epsilon=epsilon, delta=1e-8), space=CITY, users=users)
    expected = {one.method: one.expected_error * CITY.diameter for one in plan.comparison}  # type: ignore[operator]
    found = dict(zip(("Laplace", "tree", "edge Gaussian"), MEASURED[users, epsilon], strict=True))
    assert all(0.7 < expected[name] / found[name] < 1.4 for name in found)
    (chosen,) = (one.method for one in plan.comparison if one.is_chosen)
    assert found[chosen] == min(found.values())


def test_who_is_elsewhere_at_user_level(tmp_path: Path) -> None:
    table = emdp.read(
        records(400, 10).filter(pl.col("user") < 300), user="user", space=PLANE, users=list(range(400)), elsewhere=1
    )
    with (
        emdp.testing.seeded(5),
        emdp.Session(table, budget=emdp.UserDP(100.0), ledger=tmp_path / "e.ledger") as session,
    ):
        answer = session.measure(epsilon=5.0, delta=0.0)
        assert answer.noise.dimension == answer.frame.height
        assert answer.density()["share"][-1] == pytest.approx(0.25, abs=0.03)
        assert answer.table().filter(pl.col("elsewhere"))["weight"].sum() == pytest.approx(0.25, abs=0.03)
