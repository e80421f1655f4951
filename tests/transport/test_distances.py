"""``d_em`` and ``plan`` on spaces of every structure: routes against each other, axioms, refusals."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import wasserstein_distance

from emdp.base.errors import SolverError, UsageError
from emdp.base.frames import columns_of
from emdp.spaces.base import Floats, Mask, Space
from emdp.transport import d_em, d_em_bounds, plan, solve, solve_points

Structure = Literal["line", "discrete", "clusters", "general"]


@dataclass(frozen=True)
class Plain(Space):
    """A space just large enough for transport: numbers in columns, any structure, on [0, 1]^width."""

    kind: ClassVar[str] = "plain"
    columns: tuple[str, ...] = ("x",)
    route: Structure = "general"
    within: float = 0.25
    per_cluster: int = 3
    bad: float | None = None
    unit = None
    diameter = 1.0
    domain_diameter = 1.0
    on_invalid = "error"

    @property
    def structure(self) -> Structure:
        return self.route

    @property
    def neutral_item(self) -> Floats:
        return np.zeros((1, self.width))

    def valid_mask(self, frame: object) -> Mask:
        return np.ones(len(self.encode(frame)), dtype=bool)

    def encode(self, frame: object) -> Floats:
        found = columns_of("the frame", frame, self.columns)
        return np.column_stack([column.cast(pl.Float64).to_numpy() for column in found.values()])

    def encode_point(self, point: Any) -> Floats:
        return np.atleast_2d(np.asarray(point, dtype=float))

    def decode(self, items: Floats) -> dict[str, list[Any]]:
        return {name: items[:, i].tolist() for i, name in enumerate(self.columns)}

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        if self.bad is not None:
            return np.full((len(left), len(right)), self.bad)
        differ = np.abs(left[:, None, :] - right[None, :, :])
        if self.route == "discrete":
            return (differ.max(axis=2) > 0).astype(float)
        if self.route == "clusters":
            apart = np.not_equal.outer(self.cluster_codes(left), self.cluster_codes(right))
            return np.where(apart, 1.0, np.where(differ.max(axis=2) > 0, self.within, 0.0))
        return differ.mean(axis=2)

    def cluster_codes(self, items: Floats) -> np.ndarray:
        return (items[:, 0] // self.per_cluster).astype(np.int64)

    def line(self, items: Floats) -> Floats:
        return items[:, 0]

    def to_json(self) -> dict[str, Any]:
        return {}


LINE = Plain(route="line")
DISCRETE = Plain(route="discrete")
CLUSTERS = Plain(route="clusters")
GENERAL = Plain(columns=("x", "y"))
SPACES = {"line": LINE, "discrete": DISCRETE, "clusters": CLUSTERS, "general": GENERAL}


def draw_bag(space: Plain, rng: np.random.Generator, most: int = 12, weights: str = "none") -> dict[str, Any]:
    n = int(rng.integers(1, most + 1))
    if space.route in ("discrete", "clusters"):
        bag: dict[str, Any] = {"x": rng.integers(0, 9, n).astype(float)}
    else:
        # A coarse grid, so that items repeat within a bag and between bags.
        steps = int(rng.choice([4, 10, 10**6]))
        bag = {name: rng.integers(0, steps + 1, n) / steps for name in space.columns}
    if weights == "counts":
        bag["weight"] = rng.integers(0, 5, n)
        bag["weight"][0] = 1
    elif weights == "floats":
        bag["weight"] = rng.random(n) * 10.0 ** rng.integers(-3, 4)
        bag["weight"][0] += 1e-3
    return bag


def weight_of(bag: dict[str, Any]) -> np.ndarray:
    return np.asarray(bag.get("weight", np.ones(len(bag["x"]))), dtype=float)


kinds = st.sampled_from(sorted(SPACES))
weightings = st.sampled_from(["none", "counts", "floats"])
seeds = st.integers(0, 2**32 - 1)


@given(kinds, weightings, seeds)
@settings(deadline=None, max_examples=250)
def test_each_route_agrees_with_the_full_problem(kind: str, weights: str, seed: int) -> None:
    space, rng = SPACES[kind], np.random.default_rng(seed)
    P, Q = (draw_bag(space, rng, weights=weights) for _ in range(2))
    value = d_em(P, Q, space)
    # No merging, no cancelling, no closed form: test_solvers.py compares `solve` with linprog and POT.
    assert value == pytest.approx(solve(weight_of(P), weight_of(Q), space.pairwise(P, Q)), abs=2e-9)
    assert 0 <= value <= 1
    points = solve_points(space.encode(P), space.encode(Q), space, weights_p=P.get("weight"), weights_q=Q.get("weight"))
    assert points == value


@pytest.mark.slow
@given(kinds, weightings, seeds)
@settings(deadline=None, max_examples=150)
def test_axioms_of_a_metric_and_normalisation(kind: str, weights: str, seed: int) -> None:
    space, rng = SPACES[kind], np.random.default_rng(seed)
    P, Q, R = (draw_bag(space, rng, weights=weights) for _ in range(3))
    pq = d_em(P, Q, space)
    # On a line proportions are summed, not compared: the rounding of sums remains.
    assert d_em(P, P, space) <= (1e-14 if kind == "line" and weights == "floats" else 0)
    assert d_em(Q, P, space) == pytest.approx(pq, abs=2e-9)
    assert d_em(P, R, space) <= pq + d_em(Q, R, space) + 4e-9
    order = rng.permutation(len(P["x"]))
    shuffled = {name: np.asarray(values)[order] for name, values in P.items()}
    thrice = {name: np.tile(values, 3) for name, values in P.items()}
    heavier = {**P, "weight": 3 * weight_of(P)}
    for same in (shuffled, thrice, heavier):
        assert d_em(same, P, space) <= 1e-14
        assert d_em(same, Q, space) == pytest.approx(pq, abs=2e-9)


@pytest.mark.slow
@given(kinds, weightings, seeds)
@settings(deadline=None, max_examples=150)
def test_a_plan_has_the_marginals_and_the_cost(kind: str, weights: str, seed: int) -> None:
    space, rng = SPACES[kind], np.random.default_rng(seed)
    P, Q = (draw_bag(space, rng, weights=weights) for _ in range(2))
    coupling = plan(P, Q, space)
    assert coupling.schema == {
        "source": pl.Int64, "target": pl.Int64, "mass": pl.Float64, "distance": pl.Float64
    }  # fmt: skip
    source, target, mass, distance = (column.to_numpy() for column in coupling)
    assert (mass > 0).all()
    assert len(coupling.unique(["source", "target"])) == len(coupling)
    assert coupling.equals(coupling.sort("source", "target"))
    for rows, bag in ((source, P), (target, Q)):
        weight = weight_of(bag)
        assert np.bincount(rows, mass, len(weight)) == pytest.approx(weight / weight.sum(), abs=1e-12)
    np.testing.assert_allclose(distance, space.pairwise(P, Q)[source, target], atol=1e-12)
    assert mass @ distance == pytest.approx(d_em(P, Q, space), abs=2e-9)


@pytest.mark.slow
@given(kinds, weightings, seeds)
@settings(deadline=None, max_examples=150)
def test_bounds_hold(kind: str, weights: str, seed: int) -> None:
    space, rng = SPACES[kind], np.random.default_rng(seed)
    P, Q = (draw_bag(space, rng, weights=weights) for _ in range(2))
    low, high = d_em_bounds(P, Q, space)
    assert low <= d_em(P, Q, space) + 1e-9
    assert d_em(P, Q, space) <= high + 1e-9
    assert 0 <= low <= high <= 1
    assert space.route == "general" or low == high
    assert max(d_em_bounds(P, P, space)) <= 1e-14


def test_bounds_are_of_some_use() -> None:
    rng = np.random.default_rng(7)
    near = {"x": rng.random(300) / 10, "y": rng.random(300) / 10}
    far = {"x": 0.9 + rng.random(200) / 10, "y": 0.9 + rng.random(200) / 10}
    low, high = d_em_bounds(near, far, GENERAL)
    exact = d_em(near, far, GENERAL)
    assert 0.95 * exact < low <= exact <= high < 1.2 * exact


def test_large_bags_agree_with_the_assignment_on_either_route() -> None:
    rng = np.random.default_rng(11)
    X, Y = rng.random((150, 2)), rng.random((150, 2))
    costs = GENERAL.distances(X, Y)
    rows, columns = linear_sum_assignment(costs)
    value = solve_points(X, Y, GENERAL)
    assert value == pytest.approx(costs[rows, columns].mean(), abs=1e-12)
    apart = solve_points(X / 2, 0.5 + Y / 2, GENERAL)
    costs = GENERAL.distances(X / 2, 0.5 + Y / 2)
    rows, columns = linear_sum_assignment(costs)
    assert apart == pytest.approx(costs[rows, columns].mean(), abs=1e-12)
    # A fifth of the records in common: cancelled, with the same value as without cancelling.
    Y[:30] = X[:30]
    costs = GENERAL.distances(X, Y)
    assert solve_points(X, Y, GENERAL) == pytest.approx(solve(np.ones(150), np.ones(150), costs), abs=1e-12)
    # In blocks, as a matrix of more than 2**16 entries is built.
    X, Y = rng.random((400, 2)), rng.random((300, 2))
    full = solve(np.ones(400), np.ones(300), GENERAL.distances(X, Y))
    assert solve_points(X, Y, GENERAL) == pytest.approx(full, abs=1e-12)


def test_line_agrees_with_scipy_on_long_bags() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.random(20_001), rng.beta(2, 5, 30_000)
    assert d_em({"x": x}, {"x": y}, LINE) == pytest.approx(wasserstein_distance(x, y), abs=1e-12)
    u, v = rng.random(20_001), rng.random(30_000)
    weighted = d_em({"x": x, "weight": u}, {"x": y, "weight": v}, LINE)
    assert weighted == pytest.approx(wasserstein_distance(x, y, u, v), abs=1e-12)
    assert d_em({"x": x}, {"x": x + 0.125}, LINE) == pytest.approx(0.125, abs=1e-15)


@pytest.mark.parametrize(("rho", "value"), [(0.25, 0.625), (1.0, 1.0), (0.0, 0.5)])
def test_clusters_by_hand(rho: float, value: float) -> None:
    # Items 0, 1, 2 form a cluster, 3 is in the next: one half moves inside, one half between.
    space = Plain(route="clusters", within=rho)
    assert d_em({"x": [0, 1]}, {"x": [2, 3]}, space) == value


def test_known_values() -> None:
    assert d_em({"x": [0, 0, 1]}, {"x": [0, 1, 1]}, DISCRETE) == pytest.approx(1 / 3, abs=1e-16)
    assert d_em({"x": [0.0, 1.0]}, {"x": [0.5]}, LINE) == 0.5
    assert d_em({"x": [0.0], "y": [0.0]}, {"x": [1.0], "y": [1.0]}, GENERAL) == 1.0
    # 10 of 30 records move by 0.3: the fraction times the distance (EMD 1).
    home = {"x": np.zeros(30), "y": np.zeros(30)}
    away = {"x": np.repeat([0.0, 0.3], [20, 10]), "y": np.repeat([0.0, 0.3], [20, 10])}
    assert d_em(home, away, GENERAL) == pytest.approx(0.1, abs=1e-15)


def test_counts_are_cancelled_exactly() -> None:
    # Sizes 49 and 50 make shares no float holds; all but one record is common.
    rng = np.random.default_rng(0)
    items = rng.random((49, 2))
    P = {"x": items[:, 0], "y": items[:, 1]}
    Q = {"x": np.append(items[:, 0], 1.0), "y": np.append(items[:, 1], 1.0)}
    expected = np.mean((1 - items).mean(axis=1)) / 50
    assert d_em(P, Q, GENERAL) == pytest.approx(expected, abs=1e-16)
    assert d_em(P, {name: np.tile(values, 7) for name, values in P.items()}, GENERAL) == 0.0
    thirds = {**P, "weight": np.full(49, 1 / 3)}
    assert d_em(thirds, P, GENERAL) == 0.0


@pytest.mark.parametrize("share", [1e-6, 1e-9, 1e-12])
def test_a_tiny_difference_of_proportions_is_found(share: float) -> None:
    rng = np.random.default_rng(1)
    items, weights = rng.random((40, 2)), rng.random(40)
    moved = weights.copy()
    moved[:4] -= share
    moved[4:8] += share
    P, Q = ({"x": items[:, 0], "y": items[:, 1], "weight": w} for w in (weights, moved))
    expected = share / weights.sum() * solve(np.ones(4), np.ones(4), GENERAL.distances(items[:4], items[4:8])) * 4
    assert d_em(P, Q, GENERAL) == pytest.approx(expected, rel=1e-3)
    coupling = plan(P, Q, GENERAL)
    assert (coupling["mass"] * coupling["distance"]).sum() == pytest.approx(expected, rel=1e-2, abs=1e-15)


def test_negative_zero_is_zero() -> None:
    assert d_em({"x": [-0.0]}, {"x": [0.0]}, DISCRETE) == 0.0
    assert d_em({"x": [-0.0, 0.0]}, {"x": [0.0]}, CLUSTERS) == 0.0


def test_weights_of_every_kind() -> None:
    P, Q = {"x": [0.0, 1.0]}, {"x": [0.0]}
    for weights in ([3, 1], [0.3, 0.1], [3e-310, 1e-310], [3e307, 1e307], pl.Series([3, 1], dtype=pl.UInt8)):
        assert d_em({**P, "weight": weights}, Q, LINE) == pytest.approx(0.25, rel=1e-9)
    assert d_em({"x": [0.0, 5.0], "weight": [1, 0]}, Q, LINE) == 0.0
    assert d_em({"x": [0.0, 5.0], "weight": [1.5, 0]}, Q, DISCRETE) == 0.0
    big = 2**52
    assert d_em({**P, "weight": [big, big]}, {**P, "weight": [big - 1, 1]}, LINE) == pytest.approx(0.5)


@pytest.mark.parametrize("kind", sorted(SPACES))
@pytest.mark.parametrize("tiny", [1e-15, 1e-17, 1e-160, 1e-310, 5e-324])
def test_tiny_weights_give_a_tiny_distance(kind: str, tiny: float) -> None:
    rest = [0.0] * 4
    for moving in (1, 3):
        P = {"x": [0.0, *[1.0, 2.0, 3.0][:moving]], "weight": [1.0] + [tiny] * moving}
        Q = {"x": [0.0, *[4.0, 5.0, 7.0][:moving]], "weight": [1.0] + [tiny] * moving}
        for bag in (P, Q):
            bag["x"] = [x / 8 if kind in ("line", "general") else x for x in bag["x"]]
            bag["y"] = rest[: moving + 1]
        value = d_em(P, Q, SPACES[kind])
        assert 0 <= value <= 4 * tiny
        assert value == pytest.approx(d_em(Q, P, SPACES[kind]), rel=1e-2, abs=1e-15)
        assert abs(plan(P, Q, SPACES[kind])["mass"].sum() - 1) < 1e-14


def test_a_value_that_is_no_number_is_withheld() -> None:
    space = Plain(route="line")
    object.__setattr__(space, "line", lambda items: np.full(len(items), np.nan))
    with pytest.raises(SolverError, match="no number"):
        d_em({"x": [0.0]}, {"x": [1.0]}, space)


def test_frames_of_every_kind() -> None:
    table = pl.DataFrame({"x": [0.0, 1.0], "weight": [1, 3]})
    for frame in (table, table.lazy(), table.to_arrow(), pa.table(table), table.to_dict()):
        assert d_em(frame, {"x": [0.0]}, LINE) == 0.75


@pytest.mark.parametrize("kind", sorted(SPACES))
def test_a_column_weight_of_the_space_is_an_item(kind: str) -> None:
    space = Plain(columns=("weight",), route=SPACES[kind].route)
    heavy, light = {"weight": [0.0, 1.0]}, {"weight": [0.0, 0.0]}
    assert d_em(heavy, light, space) == solve([1, 1], [1, 1], space.pairwise(heavy, light))


@pytest.mark.parametrize(
    ("P", "word"),
    [
        ({"x": []}, 'empty="neutral"'),
        ({"x": [1.0], "weight": [-1]}, "weights of P"),
        ({"x": [1.0], "weight": [0]}, "positive sum"),
        ({"x": [1.0], "weight": [float("nan")]}, "finite"),
        ({"x": [1.0], "weight": [float("inf")]}, "finite"),
        ({"x": [1.0], "weight": [None]}, "missing|numbers"),
        ({"x": [1.0, 2.0], "weight": [1, None]}, "missing"),
        ({"x": [1.0], "weight": ["heavy"]}, "numbers"),
        ({"y": [1.0]}, "no column 'x'"),
        ([1.0], "frame"),
    ],
)
@pytest.mark.parametrize("function", [d_em, plan, d_em_bounds])
def test_refusals(function: Any, P: Any, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        function(P, {"x": [1.0]}, LINE)
    with pytest.raises(UsageError):
        function({"x": [1.0]}, P, LINE)


def test_an_empty_bag_may_be_the_neutral_item() -> None:
    assert d_em({"x": []}, {"x": [0.25]}, LINE, empty="neutral") == 0.25
    assert d_em({"x": []}, {"x": []}, LINE, empty="neutral") == 0.0
    assert plan({"x": []}, {"x": [0.25]}, LINE, empty="neutral").rows() == [(0, 0, 1.0, 0.25)]
    assert d_em_bounds({"x": []}, {"x": [0.25]}, LINE, empty="neutral") == (0.25, 0.25)
    with pytest.raises(UsageError, match="empty must be one of"):
        d_em({"x": []}, {"x": []}, LINE, empty="skip")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1.5, -0.1])
def test_a_space_that_breaks_its_promise_is_refused(bad: float) -> None:
    space = Plain(columns=("x", "y"), bad=bad)
    if bad in (np.inf, 1.5):
        # Base.distances cuts these at 1; a space with its own distances need not.
        object.__setattr__(space, "distances", space.natural_distances)
    P, Q = {"x": [0.0, 1.0], "y": [0.0, 1.0]}, {"x": [0.5], "y": [0.5]}
    for function in (d_em, plan, d_em_bounds):
        with pytest.raises(SolverError, match=r"\[0, 1\]"):
            function(P, Q, space)


def test_points_are_checked() -> None:
    with pytest.raises(UsageError, match="differ in width"):
        solve_points(np.zeros((1, 1)), np.zeros((1, 2)), GENERAL)
    with pytest.raises(UsageError, match="no items"):
        solve_points(np.zeros((0, 2)), np.zeros((1, 2)), GENERAL)
    with pytest.raises(UsageError, match="shape"):
        solve_points(np.zeros((1, 2)), np.zeros((1, 2)), GENERAL, weights_p=[1, 2])
