"""Structures of a measure of places and hours: told from public numbers, and released as they are told."""

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import ot
import polars as pl
import pytest
from scipy.optimize import linprog

import emdp
from emdp.audit import audit
from emdp.audit.flows import edge_matrix
from emdp.base.errors import UsageError
from emdp.estimators.frequency.listed_measures import ListedCells
from emdp.estimators.frequency.measures import plan_measure
from emdp.estimators.frequency.structured_measures import plan_structured
from emdp.expressions.cells.reference import cell_values
from emdp.mechanisms.central.edge_graph import GraphLaplaceMechanism
from emdp.mechanisms.central.edge_laws import EdgeLaplaceMechanism
from emdp.noise.discrete_laplace import discrete_laplace_log_pmf
from emdp.spaces import Categories, Cycle, Distances, Geo, Interval, Product, Space, Vector
from emdp.spaces.combined.elsewhere import Elsewhere

CITY = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
PLANE = Vector(["x", "y"], box=[(0, 10), (0, 10)])


KINDS = Categories("kind", ["bar", "inn", "shop"])
SPACE = Product(PLANE, Cycle("hour", 24))
THREE = Product(PLANE, Cycle("hour", 24).weighted(2.0), KINDS.weighted(0.5))


def rows_of(plan: Any) -> Any:
    return getattr(plan.finisher, "finisher", plan.finisher)


@pytest.mark.quarter
@pytest.mark.parametrize("users", [300, 7115, 10**6])
@pytest.mark.parametrize("kinds", [False, True])
def test_all_structures_are_told_and_auto_is_the_nearest(users: int, kinds: bool) -> None:
    space = Product(CITY, Cycle("hour", 24), *([KINDS] if kinds else []))
    plan = plan_structured(emdp.measure(alpha=81.0), space=space, users=users)
    names = ["measure", "given zone", *(["each given zone"] if kinds else []), "independent"]
    assert [one.method for one in plan.comparison] == names
    assert [one.is_chosen for one in plan.comparison] == [True] + [False] * (len(names) - 1)
    best = min(plan.comparison, key=lambda one: one.expected_error or 0.0).method.replace("measure", "joint")
    (told,) = (note for note in plan.notes if note.startswith("structures"))
    assert "which is the nearest" in told if best == "joint" else f"and {best} is the nearest" in told
    auto = plan_structured(emdp.measure(alpha=81.0, structure="auto"), space=space, users=users)
    assert getattr(rows_of(auto), "structure", "joint") == best
    assert [one.method.replace("measure", "joint") for one in auto.comparison if one.is_chosen] == [best]
    # an answer that was stored with another one is found by its nodes
    assert len({own.columns[0].expression for own in (auto, *auto.others)}) == len(names)


@pytest.mark.parametrize(
    "space",
    [
        PLANE,
        Product(Interval("x", 0, 1), Cycle("hour", 24)),
        Product(PLANE, Vector(["u", "v"], box=[(0, 1), (0, 1)])),
        Product(PLANE, Categories("kind", [f"k{own}" for own in range(501)])),
    ],
)
def test_other_spaces_have_none(space: Space) -> None:
    plan = plan_structured(emdp.measure(alpha=5.0), space=space, users=500)
    assert len(plan.comparison) == 1
    assert not any(note.startswith("structures") for note in plan.notes)
    whole = plan_structured(emdp.measure(alpha=5.0, structure="auto"), space=space, users=500)
    assert whole.mechanisms == plan.mechanisms
    with pytest.raises(UsageError, match="a plane and further parts"):
        plan_structured(emdp.measure(alpha=5.0, structure="given zone"), space=space, users=500)


@pytest.mark.quarter
@pytest.mark.parametrize("elsewhere", [None, 0.5])
@pytest.mark.parametrize("structure", ["given zone", "each given zone", "independent"])
def test_fractions_of_each_part_add_up_to_at_most_one(structure: str, elsewhere: float | None) -> None:
    """Sensitivities of every block over those of one measure of all: exact fractions of alpha."""
    space: Any = THREE if elsewhere is None else Elsewhere(THREE, elsewhere)
    query = emdp.measure(alpha=7.3, structure=structure, pitch=5.0)  # type: ignore[arg-type]  # of the list
    plan = plan_structured(query, space=space, users=300)
    held: dict[str, Fraction] = {}
    for own in plan.releases:
        (mechanism,), columns = own.mechanisms, rows_of(own).items
        assert (mechanism.alpha, own.guarantee) == (7.3, emdp.EmdDP(7.3))
        # by nodes as many of the same axes: constants depend on the pitch
        pitch = None if isinstance(rows_of(own).grid, ListedCells) or columns == ("hour",) else rows_of(own).grid.pitch
        alone = plan_measure(emdp.measure(alpha=7.3, columns=columns, pitch=pitch), space=space, users=300)
        other = alone.mechanisms[0]
        if columns != ("hour",):
            assert [axis.size for axis in other.axes] == [axis.size for axis in mechanism.axes]
            for name, axis, full in zip(columns, mechanism.axes, other.axes, strict=True):
                held[name] = held.get(name, Fraction(0)) + Fraction(full.sensitivity) / Fraction(axis.sensitivity)
        if elsewhere is not None:
            held["elsewhere"] = held.get("elsewhere", Fraction(0)) + Fraction(other.away) / Fraction(mechanism.away)
    assert all(1 - Fraction(1, 10**9) < own <= 1 + Fraction(1, 10**15) for own in held.values())
    assert {"x", "y", "kind"} <= set(held)
    assert plan.guarantee == emdp.EmdDP(7.3)
    assert plan.event.slack_epsilon >= sum(own.slack_epsilon for own in plan.mechanisms[0].members) > 0


def flow_cost(mechanism: Any, change: np.ndarray) -> float:
    """The least ``sum |g_e|/s_e`` of a flow with this divergence, by a linear program."""
    matrix = edge_matrix(mechanism.edge_grid) / mechanism.edge_grid.parts
    units = [own * mechanism.grid * mechanism.alpha for own in mechanism.axis_units]
    costs = 1.0 / np.concatenate([np.full(mechanism.edge_grid.edges_of(n), own) for n, own in enumerate(units)])
    found = linprog(np.r_[costs, costs], A_eq=np.hstack([matrix, -matrix]), b_eq=change, bounds=(0, None))
    assert found.success
    return float(found.fun)


@pytest.mark.quarter
@pytest.mark.parametrize("structure", ["given zone", "each given zone", "independent"])
def test_no_two_bags_need_more_flow_in_all_blocks_than_their_distance(structure: str) -> None:
    """Bags of two records, POT for their distance: some pair needs as much as it has, so that less noise breaks it."""
    query = emdp.measure(alpha=1.0, structure=structure, pitch=7.0)  # type: ignore[arg-type]  # of the list
    for space in (THREE, Elsewhere(THREE, 0.6)):
        plan = plan_structured(query, space=space, users=2)
        rng = np.random.default_rng(4)
        count = 8
        frame: dict[str, Any] = {
            "x": rng.choice([0.0, 3.0, 10.0], count),
            "y": rng.choice([0.0, 10.0], count),
            "hour": rng.choice([0.0, 5.0, 13.0], count),
            "kind": rng.choice(["bar", "inn", "shop"], count),
        }
        frame["x"][1], frame["y"][1], frame["hour"][1], frame["kind"][1] = (frame[own][0] for own in frame)
        frame["x"][1] = 10.0 - frame["x"][0]
        items = space.encode(pl.DataFrame(frame))
        metric = np.zeros((count + 1, count + 1))
        metric[:count, :count] = space.distances(items, items)
        gone = space.elsewhere is not None
        metric[-1, :-1] = metric[:-1, -1] = 0.6
        weights = []
        for own in plan.releases:
            inner = cell_values(own.aggregation, space, items)
            weights.append(np.pad(inner, ((0, 1), (0, 1))) if gone else inner)
            weights[-1][-1, -1] = 1.0 if gone else weights[-1][-1, -1]
        pairs = [(0, 0, 1, 1), *(tuple(rng.integers(0, count + gone, 4).tolist()) for _ in range(25))]
        if gone:
            pairs.append((2, 2, count, count))
        worst = 0.0
        for a, b, c, d in pairs:
            bags = [np.bincount(own, minlength=count + 1) / 2 for own in ((a, b), (c, d))]
            far = ot.emd2(*bags, metric)
            if far < 1e-9:
                continue
            moved = [(own[c] + own[d] - own[a] - own[b]) / 4 for own in weights]  # two users
            needed = [flow_cost(one.mechanisms[0], own) for one, own in zip(plan.releases, moved, strict=True)]
            worst = max(worst, sum(needed) / far)
        assert worst <= 1.0 + 1e-6
        assert worst > 0.7 + 1e-6  # less noise by that factor breaks the promise


def test_exact_laws_of_three_blocks_lose_at_most_the_distance() -> None:
    """Independent parts of two values each, by all numbers on all edges: alpha once, and 0.7 of the noise breaks it."""
    alpha, weights = 0.9, (0.5, 0.3, 0.2)
    chances = {}
    for factor in (1.0, 0.7):
        losses = []
        for moved in itertools.product((0, 1), repeat=3):
            # one user, who moves by a part's share of the distance: an edge's scale is 1/(share alpha), in whole steps
            loss = 0.0
            for own, share in zip(moved, weights, strict=True):
                steps = factor / (share * alpha)
                law = [discrete_laplace_log_pmf(z, steps) for z in range(-20, 22)]
                loss += own * max(a - b for a, b in itertools.pairwise(law))
            distance = sum(own * share for own, share in zip(moved, weights, strict=True))
            losses.append(loss - alpha * distance)
        chances[factor] = max(losses)
    assert chances[1.0] <= 1e-9 < 0.1 < chances[0.7]


@pytest.mark.parametrize(
    ("structure", "factor"),
    [pytest.param("given zone", 1.0, marks=pytest.mark.slow), ("independent", 1.0), ("independent", 0.7)],
)
def test_the_audit_knows_blocks_and_breaks_less_noise(
    monkeypatch: pytest.MonkeyPatch, structure: str, factor: float
) -> None:
    drawn = EdgeLaplaceMechanism._drawn
    monkeypatch.setattr(EdgeLaplaceMechanism, "_drawn", lambda self, units, size: drawn(self, factor * units, size))
    space = Product(PLANE, Categories("kind", ["bar", "inn"]).weighted(9.0))
    rows = pl.DataFrame({"user": [1, 2], "x": [0.0, 10.0], "y": [0.0, 0.0], "kind": ["bar", "inn"]})
    table = emdp.read(rows, user="user", space=space, users=2)
    query = emdp.measure(alpha=4.0, structure=structure, pitch=14.0)  # type: ignore[arg-type]  # of the list
    report = audit(table, query, trials=15_000, confidence=1 - 1e-6, end_to_end=0)
    assert report.is_sound == (factor == 1.0)


@pytest.mark.slow
@emdp.testing.seeded(3)
def test_areas_have_their_graph_beside_hours_in_a_block_of_their_own(tmp_path: Path) -> None:
    at = np.array([0.0, 1.0, 2.5, 4.0, 10.0])
    names = [f"z{own}" for own in range(5)]
    zones = Distances("zone", names, np.abs(np.subtract.outer(at, at)), unit="km")
    space = Product(zones, Cycle("hour", 24))
    rng = np.random.default_rng(2)
    rows = {"user": np.arange(900) % 90, "zone": rng.choice(names, 900), "hour": rng.normal(9.0, 1.0, 900) % 24.0}
    table = emdp.read(pl.DataFrame(rows), user="user", space=space, users=90, name="v")
    with emdp.Session(table, budget=emdp.EmdDP(500.0), ledger=tmp_path / "a.ledger") as session:
        one = session.measure(alpha=300.0, structure="independent", name="both")
        assert isinstance(one.noise.members[0], GraphLaplaceMechanism)
        alone = plan_measure(emdp.measure(alpha=300.0, columns=["zone"]), space=space, users=90).mechanisms[0]
        # no part of alpha is lost by the other block
        assert one.noise.members[0] == alone
        assert session.spent() == emdp.EmdDP(300.0)
        assert one.table().columns == ["zone", "hour", "weight"]
        morning = session.sql("SELECT SUM(weight) AS w FROM MEASURE(both) WHERE zone = 'z4' AND hour < 12")
        assert morning.frame["w"][0] == pytest.approx(0.2, abs=0.06)
        assert set(one.sample(50)["zone"]) == set(names)
        auto = session.preview(emdp.measure(alpha=300.0, structure="auto")).comparison
        assert auto["method"].to_list() == ["measure", "independent"]
    for asked in ({"structure": "given zone"}, {"structure": "independent", "pitch": 1.0}):
        with pytest.raises(UsageError, match="of areas without a pitch 'independent' alone"):
            plan_structured(emdp.measure(alpha=9.0, **asked), space=space, users=90)  # type: ignore[arg-type]


def visits(users: int = 60) -> pl.DataFrame:
    """Ten records of each user; who is in the west is there in the morning."""
    rng = np.random.default_rng(1)
    west = np.arange(10 * users) % users < users // 2
    x, hour = np.where(west, 2.0, 8.0) + rng.random(len(west)), np.where(west, 6.0, 18.0) + rng.random(len(west))
    kind = np.where(rng.random(len(west)) < 0.8, np.where(west, "bar", "inn"), "shop")
    rows = {"x": x, "y": 10 * rng.random(len(west)), "hour": hour, "kind": kind}
    return pl.DataFrame({"user": np.arange(len(west)) % users, **rows})


@pytest.mark.quarter
@pytest.mark.parametrize("structure", ["each given zone", "given zone", "independent"])
def test_three_parts_are_released_as_one_measure(tmp_path: Path, structure: str) -> None:
    where = {"elsewhere": 1.0} if structure == "each given zone" else {}
    table = emdp.read(
        visits(), user="user", space=Product(PLANE, Cycle("hour", 24), KINDS), users=60, name="v", **where
    )
    with emdp.testing.seeded(2), emdp.Session(table, budget=emdp.EmdDP(500.0), ledger=tmp_path / "s.ledger") as session:
        one = session.sql(
            f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 400) MEASURE(PITCH(1.25), STRUCTURE('{structure}')) AS m FROM v"
        )
        assert session.spent() == emdp.EmdDP(400.0)
        table_of_all = one.table()
        assert table_of_all.columns == ["x", "y", "hour", "kind", *(["elsewhere"] if where else []), "weight"]
        assert table_of_all["weight"].sum() == pytest.approx(1.0)
        assert one.sample(100).columns == table_of_all.columns[:-1]
        early, bars = (
            session.sql(f"SELECT SUM(weight) AS w FROM MEASURE(m) WHERE x < 5 AND {own}").frame["w"][0]
            for own in ("hour < 12", "kind = 'bar'")
        )
        known = (0.25, 0.2) if structure == "independent" else (0.5, 0.4)
        assert (early, bars) == pytest.approx(known, abs=0.1)
        again = session.sql("SELECT SUM(weight) AS w FROM MEASURE(m) WHERE kind = 'shop'")
        assert again.frame["w"][0] == pytest.approx(0.2, abs=0.08)
        assert f"{structure}, expected" in again.notes[0]


@pytest.mark.quarter
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
            with pytest.raises(UsageError, match="several that are joined"):
                one.mean(emdp.distance_to(6.5, column="hour"), raw=True)
        for refused in (lambda: one.joined(other), lambda: session.measure(alpha=1.0, columns=["x", "y"]).joined(one)):
            with pytest.raises(UsageError, match="joined already"):
                refused()


def test_a_structure_is_refused_where_there_is_none() -> None:
    with pytest.raises(UsageError, match="of two or more"):
        plan_structured(emdp.measure(alpha=5.0, structure="each given zone"), space=SPACE, users=50)
    for given in ({"epsilon": 1.0}, {"alpha": 1.0, "pairs": True}):
        with pytest.raises(UsageError, match="single records under alpha"):
            emdp.measure(structure="auto", **given)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="structure"):
        emdp.measure(alpha=1.0, structure="zone")  # type: ignore[arg-type]
