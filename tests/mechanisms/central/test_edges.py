"""Noise on edges: its graph, its exact law, rounding that keeps the sum, what a change costs by linear programs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_matrix
from scipy.stats import binom

from emdp.base.errors import UsageError
from emdp.mechanisms.central.edge_grid import EdgeAxis, EdgeGrid
from emdp.mechanisms.central.edge_laws import EdgeGaussianMechanism, EdgeLaplaceMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.noise.discrete_laplace import discrete_laplace_log_pmf
from emdp.testing import seeded

GRIDS = {
    "line": (EdgeAxis(5, 1.0),),
    "plane": (EdgeAxis(4, 1.0), EdgeAxis(3, 0.5)),
    "clock": (EdgeAxis(5, 1.0, "round"),),
    "place and hour": (EdgeAxis(3, 1.0), EdgeAxis(2, 1.0), EdgeAxis(4, 0.3, "round")),
    "place and kind": (EdgeAxis(3, 1.0), EdgeAxis(4, 0.2, "listed")),
    "two lists": (EdgeAxis(4, 1.0, "listed"), EdgeAxis(5, 0.5, "listed")),
}


AWAY = {"line": 0.0, "plane": 0.3, "clock": 0.0, "place and hour": 1.0, "place and kind": 0.2, "two lists": 0.0}
"""Sensitivity of the edges to a node that stands away, in half of the grids."""


def made(name: str, **shared: float) -> EdgeLaplaceMechanism:
    found = EdgeLaplaceMechanism.on(GRIDS[name], away=AWAY[name], **shared)
    assert isinstance(found, EdgeLaplaceMechanism)
    return found


def sensitivities(name: str) -> list[float]:
    return [*(axis.sensitivity for axis in GRIDS[name]), *([AWAY[name]] if AWAY[name] else [])]


def brute_edges(axes: tuple[EdgeAxis, ...], away: float = 0.0) -> tuple[np.ndarray, list[int]]:
    """``M`` written out node by node, a column an edge, and the axis of each column; last those to the node away."""
    shape = [axis.size for axis in axes]
    number = {node: place for place, node in enumerate(itertools.product(*map(range, shape)))}
    columns, owners = [], []
    for a, axis in enumerate(axes):
        for node in number:
            column = np.zeros(len(number))
            if axis.form == "listed":
                for value in range(axis.size):
                    column[number[(*node[:a], value, *node[a + 1 :])]] -= 1.0 / axis.size
                column[number[node]] += 1.0
            else:
                after = node[a] + 1
                if after == axis.size and axis.form == "path":
                    continue
                column[number[node]] -= 1.0
                column[number[(*node[:a], after % axis.size, *node[a + 1 :])]] += 1.0
            columns.append(column)
            owners.append(a)
    matrix = np.array(columns).T
    if away:
        star = np.vstack([-np.eye(len(number)), np.ones(len(number))])
        matrix = np.hstack([np.vstack([matrix, np.zeros(matrix.shape[1])]), star])
        owners += [len(axes)] * len(number)
    return matrix, owners


def least_cost(axes: tuple[EdgeAxis, ...], change: np.ndarray, away: float = 0.0) -> float:
    """The least ``sum |g_e|/s_e`` of a flow with this divergence, by a linear program.

    On a listed axis ``M g = change`` has many ``g``: those that differ by a constant a line.
    """
    matrix, owners = brute_edges(axes, away)
    costs = np.array([1.0 / (away if owner == len(axes) else axes[owner].sensitivity) for owner in owners])
    found = linprog(
        np.concatenate([costs, costs]),
        A_eq=csr_matrix(np.column_stack([matrix, -matrix])),
        b_eq=change,
        bounds=(0, None),
    )
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize("name", GRIDS)
def test_divergence_is_the_matrix_written_out(name: str) -> None:
    grid = EdgeGrid(GRIDS[name], AWAY[name] > 0)
    matrix, owners = brute_edges(grid.axes, AWAY[name])
    assert (grid.nodes, grid.edges) == matrix.shape
    rng = np.random.default_rng(3)
    drawn = [rng.integers(-9, 9, 2 * grid.edges_of(place)) for place in range(len(sensitivities(name)))]
    found = grid.divergence(drawn, 2) / grid.parts
    for release in range(2):
        # the brute list runs over nodes first, so lines along a path axis are met in the order of the array
        own = np.concatenate([one.reshape(2, -1)[release] for one in drawn])
        assert found[release] == pytest.approx(matrix @ own, abs=1e-9)
    assert not grid.divergence(drawn, 2).sum(axis=1).any()
    f = rng.normal(size=grid.nodes)
    assert np.concatenate(grid.differences(f)) == pytest.approx(matrix.T @ f, abs=1e-12)
    assert len(owners) == grid.edges


@pytest.mark.parametrize("name", GRIDS)
def test_the_snake_goes_from_neighbour_to_neighbour(name: str) -> None:
    grid = EdgeGrid(GRIDS[name])
    assert sorted(grid.snake.tolist()) == list(range(grid.nodes))
    places = np.array(np.unravel_index(grid.snake, grid.shape)).T
    steps = np.abs(np.diff(places, axis=0))
    assert (steps.sum(axis=1) == 1).all()


@pytest.mark.parametrize("name", GRIDS)
def test_variances_and_widths_of_nodes(name: str) -> None:
    mechanism = made(name, alpha=1.0)
    matrix, owners = brute_edges(mechanism.axes, AWAY[name])
    scales = np.array([sensitivities(name)[owner] for owner in owners])
    variances = 2.0 * np.square(matrix * scales).sum(axis=1)
    kinds, of_node = mechanism.edge_grid.node_kinds()
    both = np.repeat(sensitivities(name), 2)
    own = [2.0 * sum(c * (f * s) ** 2 for f, c, s in zip(*kind, both, strict=True)) for kind in kinds]
    assert np.array(own)[of_node] == pytest.approx(variances)
    assert mechanism.root_mean_square == pytest.approx(math.sqrt(variances.mean()))
    assert mechanism.standard_deviation == pytest.approx(math.sqrt(variances.max()))
    # the interval of one node is that of the linear query which reads it
    for node in (0, mechanism.dimension // 2, mechanism.dimension - 1):
        single = np.eye(mechanism.dimension)[node]
        assert mechanism.half_widths(0.9)[node] == pytest.approx(mechanism.linear_half_width(single, 0.9), rel=1e-3)
        assert mechanism.linear_deviation(single) == pytest.approx(math.sqrt(variances[node]))


def test_known_variances() -> None:
    # inner cell 8 b^2, blocks of s x s inner cells 8 s b^2, f = x: 2 b^2 h^2 ny (nx - 1); 3-D: 8 b_xy^2 + 4 b_t^2
    plane = EdgeLaplaceMechanism.on([EdgeAxis(12, 1.0), EdgeAxis(10, 1.0)], alpha=1.0)
    block = np.zeros((12, 10))
    for side in (1, 2, 4):
        block[:] = 0.0
        block[3 : 3 + side, 3 : 3 + side] = 1.0
        assert plane.linear_deviation(block.ravel()) ** 2 == pytest.approx(8 * side)
    along = np.repeat(np.arange(12.0), 10)
    assert plane.linear_deviation(along) ** 2 == pytest.approx(2 * 10 * 11)
    solid = EdgeLaplaceMechanism.on([EdgeAxis(5, 1.0), EdgeAxis(5, 1.0), EdgeAxis(6, 0.5, "round")], alpha=1.0)
    assert solid.standard_deviation**2 == pytest.approx(8 + 4 * 0.25)
    assert plane.linear_half_width(np.full(120, 0.3), 0.95) == 0.0


def test_a_line_is_independent_noise_on_its_sums_from_one_end() -> None:
    line = EdgeLaplaceMechanism.on([EdgeAxis(30, 1e-3)], alpha=1.0)
    with seeded(5):
        drawn = line.draw_many(4000).reshape(4000, 30).astype(float) * line.grid / 1e-3
    sums = np.cumsum(drawn, axis=1)[:, :-1]
    assert np.abs(sums).mean() == pytest.approx(1.0, abs=0.01)
    # E |Y - p|_KR = (k - 1) h b
    assert np.abs(sums).sum(axis=1).mean() == pytest.approx(29.0, rel=0.01)
    assert np.abs(np.corrcoef(sums.T) - np.eye(29)).max() < 0.08


@pytest.mark.parametrize("name", GRIDS)
def test_released_sums_are_one_and_no_noise_gives_the_statistic(name: str) -> None:
    mechanism = made(name, alpha=2.0)
    rng = np.random.default_rng(1)
    values = [Fraction(float(value)) for value in rng.dirichlet(np.ones(mechanism.dimension))]
    assert sum(mechanism.release(values)) == 1
    # a statistic whose computed sum is not 1 is released with sum 1 all the same
    assert sum(mechanism.release([Fraction(3), *values[1:]])) == 1
    whole = mechanism._rounded(values)
    assert sum(whole) == 1 / Fraction(mechanism.grid)
    assert max(abs(w * Fraction(mechanism.grid) - v) for w, v in zip(whole, values, strict=True)) <= 2 * mechanism.grid


@pytest.mark.parametrize("name", GRIDS)
def test_rounded_statistics_differ_by_a_flow_within_change_and_slack(name: str) -> None:
    axes = GRIDS[name]
    mechanism = made(name, alpha=1.0, statistic_error=1e-13)
    rng = np.random.default_rng(7)
    for size in (0.0, 1e-13, 0.3):
        first = rng.dirichlet(np.ones(mechanism.dimension))
        second = (1 - size) * first + size * rng.dirichlet(np.ones(mechanism.dimension))
        exact = least_cost(axes, second - first, AWAY[name]) if size > 1e-9 else size * 4 / min(sensitivities(name))
        wrong = [rng.choice([-1e-13, 0, 1e-13]) / mechanism.dimension for _ in first]
        a = mechanism._rounded([Fraction(float(value)) for value in first])
        b = mechanism._rounded([Fraction(float(v)) + Fraction(float(w)) for v, w in zip(second, wrong, strict=True)])
        change = np.array([int(y - x) for x, y in zip(a, b, strict=True)]) * mechanism.grid
        assert least_cost(axes, change, AWAY[name]) <= exact * (1 + 1e-9) + mechanism.slack_epsilon + 1e-9 * (
            size > 1e-9
        )


def test_errors_of_sums_are_in_the_slack() -> None:
    # 2 e on each of the steps of the snake, of both tables
    axes, error = [EdgeAxis(30, 0.01)], 1e-6
    slack = [EdgeLaplaceMechanism.on(axes, alpha=1.0, statistic_error=e).slack_epsilon for e in (0.0, error)]
    assert slack[1] - slack[0] >= 29 * 2 * error / 0.01


def law_on_a_square(shift: tuple[int, int, int, int], units: float, reach: int) -> dict[tuple[int, ...], float]:
    """Exact law of the divergence of four edges around a square, by adding up all numbers on the edges."""
    pmf = {z: math.exp(discrete_laplace_log_pmf(z, units)) for z in range(-reach, reach + 1)}
    found: dict[tuple[int, ...], float] = {}
    for top, right, bottom, left in itertools.product(pmf, repeat=4):
        # nodes a b / c d, edges a-b, b-d, c-d, a-c
        node = (-top - left, top - right, left - bottom, right + bottom)
        y = tuple(n + s for n, s in zip(node, shift, strict=True))
        found[y] = found.get(y, 0.0) + pmf[top] * pmf[right] * pmf[bottom] * pmf[left]
    return found


@pytest.mark.parametrize(("shift", "steps"), [((-1, 1, 0, 0), 1), ((-1, 0, 0, 1), 2), ((-2, 1, 1, 0), 2)])
def test_the_law_on_a_square_loses_the_flow_and_no_more(shift: tuple[int, int, int, int], steps: int) -> None:
    units, reach = 1.0, 7
    first, second = law_on_a_square((0, 0, 0, 0), units, reach), law_on_a_square(shift, units, reach)
    losses = [
        math.log(chance / second[y]) for y, chance in first.items() if y in second and max(map(abs, y)) <= reach // 2
    ]
    assert max(losses) <= steps / units + 1e-3
    assert max(losses) >= 0.6 * steps / units
    # 0.7 times the noise exceeds the claim
    less, moved = law_on_a_square((0, 0, 0, 0), 0.5, reach), law_on_a_square(shift, 0.5, reach)
    assert max(math.log(c / moved[y]) for y, c in less.items() if y in moved and max(map(abs, y)) <= 3) > steps / units


@pytest.mark.quarter
@pytest.mark.parametrize("kind", [EdgeLaplaceMechanism, EdgeGaussianMechanism])
@pytest.mark.parametrize("factor", [0.7, 1.0, 1.3])
def test_intervals_have_power(kind: type[EdgeMechanism], factor: float) -> None:
    """20,000 draws of an inner node and of a region: stated tails pass at the true scale, not at 0.7 or 1.3 of it."""
    axes = [EdgeAxis(4, 1.0), EdgeAxis(4, 1.0)]
    delta = {"delta": 1e-6} if kind is EdgeGaussianMechanism else {}
    mechanism = kind.on(axes, alpha=1.0, **delta)
    region = np.zeros((4, 4))
    region[:2, :3] = 1.0
    with seeded(11):
        drawn = mechanism.draw_many(20_000).reshape(20_000, 16).astype(float) * mechanism.grid * factor
    for values, width in (
        (drawn[:, 5], mechanism.half_widths(0.9)[5]),
        (drawn @ region.ravel(), mechanism.linear_half_width(region.ravel(), 0.9)),
    ):
        beyond = int((np.abs(values) > width).sum())
        chance = 2 * min(binom.cdf(beyond, 20_000, 0.1), binom.sf(beyond - 1, 20_000, 0.1))
        assert (chance > 1e-9) == (factor == 1.0)


def test_events_and_prices() -> None:
    axes = [EdgeAxis(5, 0.3), EdgeAxis(4, 0.1, "round"), EdgeAxis(4, 0.05, "listed")]
    mechanism = EdgeLaplaceMechanism.on(axes, alpha=0.7, statistic_error=1e-16)
    event = mechanism.event()
    assert event.guarantee.alpha == 0.7
    assert event.dimension == mechanism.edge_grid.edges
    # every axis gets the whole alpha: its scale is its own sensitivity over alpha, rounded up
    for axis, units in zip(axes, mechanism.axis_units, strict=True):
        scale = Fraction(units) * Fraction(mechanism.grid)
        assert (
            Fraction(axis.sensitivity)
            <= Fraction(7, 10) * scale
            <= Fraction(axis.sensitivity) * (1 + Fraction(1, 2**40))
        )
    assert mechanism.slack_epsilon < 1e-9
    gaussian = EdgeGaussianMechanism.on(axes, alpha=0.7, delta=1e-6)
    assert gaussian.event().guarantee.delta == 1e-6
    assert gaussian.slack_delta < 1e-20
    constant = EdgeLaplaceMechanism.on([EdgeAxis(1, 0.0)], alpha=1.0)
    assert constant.is_exact
    assert constant.release([Fraction(1)]) == (1,)
    assert constant.half_widths(0.9) == (0.0,)
    assert constant.linear_half_width(np.ones(1), 0.9) == 0.0


def test_refusals() -> None:
    mechanism = EdgeLaplaceMechanism.on([EdgeAxis(3, 1.0)], alpha=1.0)
    for call, match in (
        (lambda: EdgeAxis(2, 1.0, "round"), "size"),
        (lambda: EdgeAxis(3, 0.0), "sensitivity"),
        (lambda: EdgeAxis(3, math.inf), "sensitivity"),
        (lambda: EdgeAxis(3, 1.0, "ring"), "form"),
        (lambda: EdgeLaplaceMechanism.on([EdgeAxis(3, 1.0), EdgeAxis(3, 1e-6)], alpha=1.0), "axes"),
        (
            lambda: EdgeLaplaceMechanism(axes=(EdgeAxis(3, 1.0),), sensitivity=0.5, dimension=3, alpha=1.0),
            "sensitivity",
        ),
        (lambda: EdgeLaplaceMechanism(axes=(EdgeAxis(3, 1.0),), sensitivity=1.0, dimension=4, alpha=1.0), "dimension"),
        (lambda: EdgeLaplaceMechanism.on([EdgeAxis(3, 1.0)], alpha=1.0, delta=1e-6), "delta"),
        (lambda: EdgeGaussianMechanism.on([EdgeAxis(3, 1.0)], alpha=1.0), "delta"),
        (lambda: mechanism.release([Fraction(1)]), "values"),
        (lambda: mechanism.release([0.5, 0.25, 0.25]), "values"),
        (lambda: mechanism.linear_half_width(np.ones(2), 0.9), "weights"),
    ):
        with pytest.raises(UsageError, match=match):
            call()


def test_known_distances_of_gaussian_edges_and_of_two_nodes() -> None:
    """A move from an inner node along both axes has ``1 - 1/pi``, from a corner 1; two nodes have one number."""
    plane = EdgeGaussianMechanism.on([EdgeAxis(21, 1.0), EdgeAxis(21, 1.0)], alpha=1.0, delta=1e-6)
    inverse = np.linalg.pinv(plane.covariance / plane.scale**2, hermitian=True)
    for place, known in ((10 * 21 + 10, 1.0 - 1.0 / math.pi), (0, 1.0)):
        moved = np.zeros(441)
        moved[[place, place + 1, place + 21]] = np.array([-2.0, 1.0, 1.0]) / math.sqrt(2.0)
        assert moved @ inverse @ moved == pytest.approx(known, abs=0.005)
    two = EdgeLaplaceMechanism.on([EdgeAxis(2, 0.25)], alpha=2.0)
    assert two.covariance == pytest.approx(2 * 0.125**2 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
