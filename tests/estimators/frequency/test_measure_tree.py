"""Measures at user level by a tree: when they are chosen, what they promise, and that less noise is found out."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.audit import audit
from emdp.base.errors import SqlError, UsageError
from emdp.estimators.frequency import measures
from emdp.estimators.frequency.measure_tree import TreePlan, tree_cells
from emdp.estimators.frequency.measures import plan_measure
from emdp.mechanisms import LaplaceMechanism
from emdp.mechanisms.central import laplace
from emdp.questions.measures import measure_statement
from emdp.spaces import Categories, Cycle, Geo, Interval, Product, Space, Vector

PLANE = Vector(["x", "y"], box=[(0, 10), (0, 10)])
CITY = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")


def records(users: int = 2000, each: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    places = rng.normal((6, 3), 0.7, (users * each, 2)).clip(0, 10)
    return pl.DataFrame({"user": np.repeat(np.arange(users), each), "x": places[:, 0], "y": places[:, 1]})


def opened(path: Path, users: int = 2000) -> emdp.Session:
    if not (path / "t.parquet").exists():
        records(users).write_parquet(path / "t.parquet")
    table = emdp.read(path / "t.parquet", user="user", space=PLANE, users=users)
    return emdp.Session(table, budget=emdp.UserDP(100.0), ledger=path / "t.ledger")


def test_a_tree_is_chosen_where_it_is_expected_to_be_nearer() -> None:
    many = plan_measure(emdp.measure(epsilon=1.0), space=CITY, users=7115)
    assert isinstance(many, TreePlan)
    assert many.guarantee == emdp.UserDP(1.0)
    assert many.tree.shape == (64, 62)
    # three levels of parts 2, 1.5 and 1 of 4.5: all records of a user may move
    (mechanism,) = many.mechanisms
    assert isinstance(mechanism, LaplaceMechanism)
    assert mechanism.scale == pytest.approx(2 * 4.5 / 7115, rel=1e-9)
    assert mechanism.dimension == 16 + 16 * 16 + 64 * 62
    assert [own.method for own in many.comparison] == ["tree", "Laplace"]
    few = plan_measure(emdp.measure(epsilon=0.5), space=CITY, users=1083)
    assert not isinstance(few, TreePlan)
    # with a pitch of one's own only by name
    assert not isinstance(plan_measure(emdp.measure(epsilon=1.0, pitch=1.0), space=CITY, users=7115), TreePlan)
    named = plan_measure(emdp.measure(epsilon=1.0, pitch=10.0, noise="tree"), space=PLANE, users=100)
    assert isinstance(named, TreePlan)
    assert named.tree.levels == 1


def test_what_has_no_tree() -> None:
    for space in (
        Interval("x", 0, 10),
        Product(PLANE, Cycle("hour", 24)),
        Product(PLANE, Categories("kind", ["bar", "inn"])),
    ):
        with pytest.raises(UsageError, match="tree"):
            plan_measure(emdp.measure(epsilon=9.0, noise="tree"), space=space, users=5000)
        assert not isinstance(plan_measure(emdp.measure(epsilon=9.0), space=space, users=5000), TreePlan)
    with pytest.raises(UsageError, match="noise"):
        emdp.measure(alpha=1.0, noise="tree")


@pytest.mark.parametrize("space", [PLANE, CITY, Vector(["x", "y"], box=[(0, 1), (0, 30)])])
def test_the_longer_axis_has_a_power_of_four(space: Space) -> None:
    for users in (1, 100, 10_000, 10**7):
        grid = tree_cells(space, float(users), {"pitch": None, "resolution": None, "columns": ()})
        assert grid is not None
        assert 60 <= max(axis.size for axis in grid.cells.axes) <= 64


@pytest.mark.slow
def test_it_is_bought_once_and_read_by_sql(tmp_path: Path) -> None:
    asked = emdp.measure(epsilon=9.0, noise="tree", pitch=0.8, name="town")
    text = measure_statement(asked, "t")
    assert "noise = 'tree'" in text
    with emdp.testing.seeded(3), opened(tmp_path) as session:
        answer = session.sql(text)
        assert session.answer(asked).measured == answer.measured
        assert session.history().height == 1
        exact, frame = answer.exact_frame["town"].to_numpy(), answer.frame
        inside = (frame["town_low"].to_numpy() <= exact) & (exact <= frame["town_high"].to_numpy())
        assert inside.mean() > 0.9
        assert answer.table()["weight"].sum() == pytest.approx(1.0)
        assert answer.density().height == frame.height
        assert answer.mean(emdp.col("x"))["mean"][0] == pytest.approx(6.0, abs=0.2)
        assert answer.plot().svg
        read = session.sql("SELECT SUM(weight * x) AS x FROM MEASURE(town)")
        assert read.frame["x"][0] == pytest.approx(6.0, abs=0.2)
        assert session.spent() == emdp.UserDP(9.0)
        with pytest.raises(UsageError, match="raw"):
            answer.mean(emdp.col("x"), raw=True)
        for other in ("AVG(x)", "FREQUENCY(GRID(1.0))", "COUNT(*)"):
            with pytest.raises(SqlError, match="tree"):
                session.sql(f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, noise = 'tree') {other} AS a FROM t")


@pytest.mark.slow
def test_a_measure_that_an_earlier_version_stored_is_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier, opened(tmp_path) as session:
        # versions without trees chose noise on every node
        earlier.setattr(measures, "tree_cells", lambda *_: None)
        first = session.measure(epsilon=9.0, name="old")
    with opened(tmp_path) as session:
        assert isinstance(session._planned(emdp.measure(epsilon=9.0, name="old"))[0].plan, TreePlan)
        again = session.measure(epsilon=9.0, name="old")
        assert again.measured == first.measured
        assert again.frame.equals(first.frame)
        assert session.sql("SELECT COUNT(*) AS c FROM MEASURE(old)").frame["c"][0] == again.table().height
        assert session.history().height == 1


@pytest.mark.slow
def test_the_share_elsewhere_is_one_more_number_for_nothing(tmp_path: Path) -> None:
    rows = pl.concat([records(), pl.DataFrame({"user": np.arange(2000), "x": [np.nan] * 2000, "y": [1.0] * 2000})])
    space = Vector(["x", "y"], box=[(0, 10), (0, 10)], on_invalid="elsewhere")
    table = emdp.read(rows, user="user", space=space, users=2000, elsewhere=1.0)
    plan = plan_measure(emdp.measure(epsilon=8.0), space=table.space, users=2000)
    assert isinstance(plan, TreePlan)
    (mechanism,) = plan.mechanisms
    assert mechanism.scale == pytest.approx(2 * 4.5 / 2000 / 8.0)
    # any two users, each at a node or elsewhere, are within what the noise is for, and some are that far apart
    count = plan.aggregation.cells
    ends = [plan.prepared([Fraction(own == node) for own in range(count)]) for node in (0, 1, 70, count - 1, count)]
    apart = [sum(abs(x - y) for x, y in zip(a, b, strict=True)) for a in ends for b in ends]
    assert max(apart) == Fraction(mechanism.sensitivity * 2000).limit_denominator(1000) == 9
    with emdp.testing.seeded(4), emdp.Session(table, budget=emdp.UserDP(30.0), ledger=tmp_path / "e.ledger") as session:
        answer = session.measure(epsilon=8.0, name="town")
        (gone,) = answer.frame.filter("elsewhere").iter_rows(named=True)
        # a fifth of everybody's records, with noise of 2/(n epsilon)
        assert gone["town"] == pytest.approx(0.2, abs=0.002)
        half = math.log(20) * 2 / (2000 * 8.0)
        assert gone["town_high"] - gone["town"] == pytest.approx(half, rel=1e-3)
        exact, frame = answer.exact_frame["town"].to_numpy(), answer.frame
        inside = (frame["town_low"].to_numpy() <= exact) & (exact <= frame["town_high"].to_numpy())
        assert inside.mean() > 0.9
        assert frame.height == exact.size == answer.density().height
        fitted = answer.table()
        assert fitted["weight"].sum() == pytest.approx(1.0)
        assert fitted.filter("elsewhere")["weight"][0] == pytest.approx(0.2, abs=0.002)
        assert answer.mean(emdp.col("x"))["mean"][0] == pytest.approx(6.0, abs=0.2)
        wide = answer.interval(0.95, coverage="all")["high"].to_numpy()
        assert (wide > frame["town_high"].to_numpy()).all()
        assert session.measure(epsilon=8.0, name="town").measured == answer.measured
        assert answer.plot().svg


def test_the_audit_breaks_less_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    # 4 x 2 nodes: a user at one corner moves two of eight numbers, each by its scale times epsilon / 2
    strip = Vector(["x", "y"], box=[(0, 9), (0, 3)])
    rows = pl.DataFrame({"user": [1], "x": [5.0], "y": [1.0]})
    table = emdp.read(rows, user="user", space=strip, users=20, name="strip")
    query = emdp.measure(epsilon=2.0, noise="tree", pitch=3.0)
    asked: dict[str, Any] = {"distances": [1.0], "trials": 30_000, "confidence": 1 - 1e-6, "end_to_end": 0}
    true = audit(table, query, **asked)
    assert true.is_sound
    assert true.rows[0].audited_epsilon > 0.5 * true.rows[0].claimed_epsilon
    drawn = laplace.draw_discrete_laplace  # type: ignore[attr-defined]
    monkeypatch.setattr(laplace, "draw_discrete_laplace", lambda units, size: drawn(0.7 * units, size))
    assert audit(table, query, **asked).broken
