"""Measures of pairs: the lemma against exact distances, flows by linear programs, the engine, answers, the audit."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import ot
import polars as pl
import pytest
from user_statistics import user_statistic

import emdp
from emdp.audit import audit
from emdp.base.errors import SqlError, UsageError
from emdp.estimators.frequency.measures import plan_measure
from emdp.estimators.frequency.synthetic_users import dealt_users, types_of
from emdp.expressions.cells.aggregation import Aggregation, HatAxis
from emdp.expressions.cells.errors import aggregation_sum_error
from emdp.expressions.cells.flow_bounds import flow_lipschitz
from emdp.expressions.cells.reference import cell_values
from emdp.expressions.nodes.base import Column, Constant
from emdp.mechanisms.central import edge_laws
from emdp.mechanisms.central.edge_grid import EdgeAxis
from emdp.spaces import Categories, Cycle, Interval, Product, Space, Vector
from emdp.spaces.base import Floats
from emdp.spaces.combined.elsewhere import Elsewhere
from emdp.tables.engine import aggregate
from emdp.transport.distances import d_em
from tests.mechanisms.central.test_edges import least_cost

ONE = Constant(1.0)
LINE, CLOCK, PLANE = Interval("x", 0, 10), Cycle("hour", 24), Vector(["x", "y"], box=[(0, 10), (0, 10)])
AXES: dict[str, tuple[Space, tuple[HatAxis, ...]]] = {
    "line": (LINE, (HatAxis(Column("x"), 0, 2.5, 5),)),
    "clock": (CLOCK, (HatAxis(Column("hour"), 0, 6, 4, is_periodic=True),)),
    "plane": (PLANE, (HatAxis(Column("x"), 0, 5, 3), HatAxis(Column("y"), 0, 5, 3))),
}


def pairs_of(name: str) -> tuple[Space, Aggregation]:
    space, axes = AXES[name]
    return space, Aggregation((ONE,), axes * 2, pairs=True)


def bag(space: Space, count: int, rng: np.random.Generator) -> Floats:
    spans = [(0.0, 24.0 if space is CLOCK else 10.0)] * space.width
    return np.column_stack([low + (high - low) * rng.random(count).round(2) * 0.999 for low, high in spans])


def moved(space: Space, first: Floats, second: Floats) -> float:
    return d_em(space.decode(first), space.decode(second), space)


@pytest.mark.parametrize("name", AXES)
def test_pairs_of_two_bags_are_at_most_twice_as_far_apart(name: str) -> None:
    space, _ = AXES[name]
    rng = np.random.default_rng(len(name))
    ratios = []
    for _ in range(20):
        first, second = (bag(space, int(rng.integers(1, 5)), rng) for _ in range(2))
        costs = space.distances(first, second)
        both = (costs[:, None, :, None] + costs[None, :, None, :]).reshape(len(first) ** 2, -1)
        far = float(ot.emd2(np.full(both.shape[0], 1 / both.shape[0]), np.full(both.shape[1], 1 / both.shape[1]), both))
        ratios.append(far / moved(space, first, second))
    assert max(ratios) <= 2 * (1 + 1e-9)
    # of one place each no smaller constant holds
    first, second = bag(space, 1, rng), bag(space, 1, rng)
    (costs,) = (space.distances(first, second) * 2,)
    assert costs[0, 0] / moved(space, first, second) == pytest.approx(2.0)


def edge_axes(aggregation: Aggregation, space: Space, factor: float = 1.0) -> tuple[EdgeAxis, ...]:
    constants = flow_lipschitz(aggregation, space, 1)
    assert constants is not None
    return tuple(
        EdgeAxis(axis.size, factor * own, "round" if isinstance(axis, HatAxis) and axis.is_periodic else "path")
        for axis, own in zip(aggregation.axes, constants, strict=True)
    )


@pytest.mark.parametrize("name", AXES)
def test_no_two_bags_need_more_flow_on_edges_of_pairs_than_their_distance(name: str) -> None:
    space, aggregation = pairs_of(name)
    rng = np.random.default_rng(7)
    most = 0.0
    for trial in range(5):
        first, second = (bag(space, int(rng.integers(1, 5)), rng) for _ in range(2))
        if trial == 0:
            # one place each, along one axis of the grid: as much as is claimed
            first, second = np.zeros((1, space.width)), np.full((1, space.width), 5.0)
        change = user_statistic(aggregation, space, [second]) - user_statistic(aggregation, space, [first])
        exact = moved(space, first, second)
        assert least_cost(edge_axes(aggregation, space), change) <= exact * (1 + 1e-9) + 1e-9
        most = max(most, least_cost(edge_axes(aggregation, space, 0.5), change) / exact)
    # with the constant of single records it would be more
    assert most > 1.9


def records(users: int, each: int, seed: int = 1) -> pl.DataFrame:
    """Everybody near a town of their own, one of two."""
    rng = np.random.default_rng(seed)
    own = np.array([[2.0, 7.0], [8.0, 2.0]])[rng.integers(0, 2, users)].repeat(each, axis=0)
    places = (own + 0.7 * rng.normal(size=own.shape)).clip(0, 10)
    return pl.DataFrame({"user": np.repeat(np.arange(users), each), "x": places[:, 0], "y": places[:, 1]})


@pytest.mark.parametrize("users", [60, list(range(0, 60, 2))])
@pytest.mark.parametrize("name", ["line", "plane"])
def test_the_engine_computes_the_products_of_means(name: str, users: Any) -> None:
    space, aggregation = pairs_of(name)
    rng = np.random.default_rng(3)
    # users 30 to 59 have no records, and one has many
    owners = np.append(rng.integers(0, 30, 150), [1] * 500)
    rows = pl.DataFrame({"user": owners, "x": 10 * rng.random(650), "y": 10 * rng.random(650)})
    table = emdp.read(rows, user="user", space=space, users=users)
    (found,) = aggregate(table, aggregation)
    counted = range(60) if users == 60 else users
    bags = [space.encode(rows.filter(pl.col("user") == user)) for user in counted]
    exact = user_statistic(aggregation, space, bags)
    computed = np.array([float(own) for own in found.open()])
    assert np.abs(computed - exact).sum() <= aggregation_sum_error(aggregation, space) + 1e-13
    assert computed.sum() == pytest.approx(1.0, abs=1e-12)
    # the products of means are not the means of products of one record with itself
    alone = np.mean(
        [cell_values(aggregation, space, own if len(own) else space.neutral_item).mean(0) for own in bags], 0
    )
    assert np.abs(computed - alone).max() > 1e-3


@pytest.mark.slow
def test_an_answer_says_how_far_apart_a_persons_places_are(tmp_path: Path) -> None:
    rows = records(600, 10)
    table = emdp.read(rows, user="user", space=PLANE, users=600, name="visits")
    with emdp.testing.seeded(4), emdp.Session(table, budget=emdp.EmdDP(1e5), ledger=tmp_path / "p.ledger") as session:
        answer = session.measure(alpha=300.0, pairs=True, name="both")
        assert answer.columns[0].expression.startswith("a measure of pairs on x, y, other_x, other_y")
        assert any("not for naming pairs" in note for note in answer.notes)
        truth = np.array(
            [ot.dist(own, own, "euclidean") for own in rows.select("x", "y").to_numpy().reshape(600, 10, 2)]
        )
        mean, near, all_of_them = answer.apart([2.0, 100.0]).row(0)
        # independent records are 4.6 apart
        assert mean == pytest.approx(truth.mean(), abs=0.6)
        assert near == pytest.approx((truth <= 2.0).mean(), abs=0.25)
        assert all_of_them == pytest.approx(1.0)
        found = answer.table()
        assert found.columns == ["x", "y", "other_x", "other_y", "weight"]
        turned = found.rename({"x": "other_x", "y": "other_y", "other_x": "x", "other_y": "y"})
        both = found.join(turned, on=["x", "y", "other_x", "other_y"], how="left")
        assert np.abs(both["weight"] - both["weight_right"].fill_null(0.0)).max() < 1e-9
        assert answer.sample(100).columns == found.columns[:-1]
        assert answer.plot().svg
        # bought once, and read by SQL
        assert session.sql('SELECT WITH EMD_PRIVACY OPTIONS (alpha = 300.0) MEASURE(PAIRS()) AS "both" FROM "visits"')
        assert session.history().height == 1
        far = "SQRT(POWER(x - other_x, 2) + POWER(y - other_y, 2))"
        told = session.sql(f"SELECT SUM(weight * {far}) AS far FROM MEASURE(both)").frame.item()
        assert told == pytest.approx(mean)
        for wrong, match in (
            (lambda: answer.mean(emdp.col("x")), "apart"),
            (lambda: answer.joined(session.measure(alpha=1.0)), "joined"),
            (lambda: session.measure(alpha=1.0).apart(), "pairs=True"),
            (lambda: answer.apart([math.nan]), "within"),
        ):
            with pytest.raises(UsageError, match=match):
                wrong()  # type: ignore[no-untyped-call]


def test_what_has_no_measure_of_pairs(tmp_path: Path) -> None:
    kinds = Categories("kind", ["bar", "inn"])
    for space, columns, match in (
        (Product(PLANE, CLOCK), (), "columns"),
        (Product(PLANE, kinds), ("kind",), "places are listed"),
        (Elsewhere(PLANE, 0.5), (), "elsewhere"),
    ):
        with pytest.raises(UsageError, match=match):
            plan_measure(emdp.measure(alpha=1.0, pairs=True, columns=columns), space=space, users=100)
    with pytest.raises(UsageError, match="alpha"):
        emdp.measure(epsilon=1.0, pairs=True)
    whole = plan_measure(
        emdp.measure(alpha=9.0, pairs=True, columns=["hour"], pitch=6.0), space=Product(PLANE, CLOCK), users=100
    )
    assert whole.mechanisms[0].dimension == 16
    table = emdp.read(records(5, 2), user="user", space=PLANE, users=5, name="visits")
    with emdp.Session(table, budget=emdp.EmdDP(9.0), ledger=tmp_path / "w.ledger") as session:
        for kind, call in (
            ("USER_PRIVACY OPTIONS (epsilon = 1)", "PAIRS(x, y)"),
            ("EMD_PRIVACY OPTIONS (alpha = 1)", "PAIRS(z)"),
        ):
            with pytest.raises(SqlError):
                session.sql(f"SELECT WITH {kind} MEASURE({call}) FROM visits")


@pytest.mark.parametrize(
    ("factor", "trials"),
    [pytest.param(0.5, 60_000, id="of-single-records"), pytest.param(0.7, 300_000, marks=pytest.mark.slow)],
)
def test_the_noise_is_for_pairs_and_the_audit_breaks_less(
    factor: float, trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Interval("x", 0, 1)
    table = emdp.read(pl.DataFrame({"user": [1], "x": [0.5]}), user="user", space=line, users=40, name="line")
    query = emdp.measure(alpha=2.0, pairs=True, pitch=1.0)
    asked: dict[str, Any] = {"distances": [1.0], "trials": trials, "confidence": 1 - 1e-6, "end_to_end": 0}
    true = audit(table, query, **asked)
    assert true.is_sound
    assert true.rows[0].audited_epsilon > 0.5 * true.rows[0].claimed_epsilon
    drawn = edge_laws.laplace_integers  # type: ignore[attr-defined]
    # moves of single records move half as much, and have half of the noise
    monkeypatch.setattr(edge_laws, "laplace_integers", lambda units, size: drawn(factor * units, size))
    assert audit(table, query, **asked).broken


def mixture(seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    weights, laws = rng.dirichlet(np.ones(3)), rng.dirichlet(np.full(12, 0.3), 3)
    return weights, laws.T @ (weights[:, None] * laws)


@pytest.mark.parametrize("seed", range(3))
def test_types_are_a_mixture_with_the_pairs(seed: int) -> None:
    _, pairs = mixture(seed)
    weights, laws = types_of(pairs)
    assert weights.sum() == pytest.approx(1.0)
    assert laws.sum(axis=1) == pytest.approx(np.ones(len(laws)))
    near = [
        np.abs(own[1].T @ (own[0][:, None] * own[1]) - pairs).sum()
        for own in ((weights, laws), types_of(pairs, steps=0))
    ]
    # the anchors alone have the marginal, and too little in common
    assert near[0] < 0.3 * near[1]
    assert weights @ laws == pytest.approx(pairs.sum(axis=1), abs=1e-6)


def test_users_are_dealt_by_equal_steps() -> None:
    weights, laws = np.array([0.25, 0.75]), np.array([[0.5, 0.5, 0.0], [0.0, 0.1, 0.9]])
    owners, places = dealt_users(weights, laws, 400, {1: 0.5, 10: 0.5})
    sizes = np.bincount(owners)
    assert sorted(set(sizes.tolist())) == [1, 10]
    assert (sizes == 10).mean() == pytest.approx(0.5, abs=0.02)
    for kind, users in enumerate((owners < 100, owners >= 100)):
        assert np.bincount(places[users], minlength=3) / users.sum() == pytest.approx(laws[kind], abs=0.05)
    # half of ten records at either place, for each user of the first type
    assert all((places[owners == user] == 0).sum() == 5 for user in np.flatnonzero(sizes[:100] == 10))


@pytest.mark.slow
def test_synthetic_users_have_pairs_and_sizes_that_were_paid_for(tmp_path: Path) -> None:
    rows = records(600, 10)
    table = emdp.read(rows, user="user", space=PLANE, users=600, name="visits")
    budget = [emdp.EmdDP(1e5), emdp.UserDP(100.0)]
    with emdp.testing.seeded(4), emdp.Session(table, budget=budget, ledger=tmp_path / "u.ledger") as session:
        answer = session.measure(alpha=300.0, pairs=True, name="both")
        octaves = session.sql(
            "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2) octave, COUNT(*) AS people FROM (SELECT user, CAST(FLOOR("
            "LOG2(COUNT(*))) AS BIGINT) AS octave FROM visits GROUP BY user) AS per WHERE octave BETWEEN 0 AND 6 "
            "GROUP BY octave"
        )
        charges = session.history().height
        found = answer.synthetic_users(300, sizes=octaves)
        assert session.history().height == charges
        assert found.columns == ["synthetic_user", "x", "y"]
        sizes = found.group_by("synthetic_user").len()["len"]
        assert len(sizes) == 300
        # ten records are in the octave from 8 to 15
        assert (sizes == 11).mean() > 0.9
        users = answer.synthetic_users(300, sizes=10).partition_by("synthetic_user")
        apart = [ot.dist(own, own, "euclidean").mean() for own in (one.select("x", "y").to_numpy() for one in users)]
        assert np.mean(apart) == pytest.approx(answer.apart()["mean"][0], abs=0.5)
        assert answer.synthetic_users(5, sizes={3: 1.0}).equals(answer.synthetic_users(5, sizes=3))
        mean = session.mean(emdp.col("x"), alpha=1.0)
        for sizes, match in (
            (mean, "under alpha"), (0, "sizes"), ({}, "sizes"), ({5: -1.0}, "sizes"), (10**9, "records"),
            (1.5, "sizes"), (10**30, "at most"), (octaves.frame, "frame"),
            (session.sql("SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1) COUNT(*) AS n FROM visits"), "octave"),
        ):  # fmt: skip
            with pytest.raises(UsageError, match=match):
                answer.synthetic_users(300, sizes=sizes)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="n must be at most"):
            answer.synthetic_users(10**12, sizes=1)
        with pytest.raises(UsageError, match="pairs=True"):
            mean.synthetic_users(5, sizes=1)
