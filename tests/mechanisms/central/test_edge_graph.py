"""Noise on the edges of a graph of places: its matrix, exact laws of small graphs, what bags cost, power."""

import itertools
import math
from fractions import Fraction

import numpy as np
import ot
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from emdp.base.errors import UsageError
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.cells.place_graphs import PlaceGraph, apart, place_graphs
from emdp.mechanisms.central.edge_graph import GraphLaplaceMechanism
from emdp.noise.discrete_laplace import discrete_laplace_log_pmf
from emdp.spaces import Distances
from emdp.testing import seeded

# a line with a short cut, a plane, places that are all as far apart, distances that are cut
BENT = [[0, 1, 1.5], [1, 0, 1], [1.5, 1, 0]]
PLACES = np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1], [1.4, 1.3], [0.6, 0.5]])
PLANE = np.linalg.norm(PLACES[:, None] - PLACES[None], axis=2)
SPACES = {
    "bent": Distances("zone", ["a", "b", "c"], BENT),
    "plane": Distances("zone", list("abcde"), PLANE),
    "alike": Distances("zone", list("abcd"), 1 - np.eye(4)),
    "cut": Distances("zone", list("abcde"), PLANE, diameter=0.9),
}


def axis_of(space: Distances) -> LabelAxis:
    return LabelAxis("zone", tuple((label,) for label in space.values))


def mechanism_on(graph: PlaceGraph, *, users: int = 1, away: float = 0.0, **shared: float) -> GraphLaplaceMechanism:
    return GraphLaplaceMechanism.over(graph.ends, [own / users for own in graph.constants], away=away, **shared)


def matrix_of(mechanism: GraphLaplaceMechanism) -> np.ndarray:
    """``M`` written out, a column an edge; last those to the node away."""
    columns = []
    inner = mechanism.dimension - (mechanism.away > 0)
    for a, b in [*mechanism.ends, *((own, inner) for own in range(inner) if mechanism.away)]:
        column = np.zeros(mechanism.dimension)
        column[a], column[b] = -1.0, 1.0
        columns.append(column)
    return np.array(columns).T


def scales_of(mechanism: GraphLaplaceMechanism) -> np.ndarray:
    own = [axis.sensitivity for axis in mechanism.axes]
    return np.array(own + [mechanism.away] * ((mechanism.dimension - 1) if mechanism.away else 0))


def least_cost(mechanism: GraphLaplaceMechanism, change: np.ndarray) -> float:
    """The least ``sum |g_e|/s_e`` of a flow with this divergence, by a linear program."""
    matrix, costs = matrix_of(mechanism), 1.0 / scales_of(mechanism)
    found = linprog(np.concatenate([costs, costs]), A_eq=np.hstack([matrix, -matrix]), b_eq=change, bounds=(0, None))
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize("away", [0.0, 0.5])
@pytest.mark.parametrize("name", SPACES)
def test_divergence_and_rounding_are_the_graph_s(name: str, away: float) -> None:
    mechanism = mechanism_on(place_graphs(axis_of(SPACES[name]), SPACES[name])[0], away=away, alpha=1.0)
    graph, matrix = mechanism.edge_grid, matrix_of(mechanism)
    assert (graph.nodes, graph.edges) == matrix.shape
    rng = np.random.default_rng(3)
    drawn = [rng.integers(-9, 9, 2 * graph.edges_of(place)) for place in range(len(mechanism.ends) + (away > 0))]
    for release, found in enumerate(graph.divergence(drawn, 2)):
        assert found.tolist() == (matrix @ np.concatenate([own.reshape(2, -1)[release] for own in drawn])).tolist()
    f = rng.normal(size=graph.nodes)
    assert np.concatenate(graph.differences(f)) == pytest.approx(matrix.T @ f)
    # each node but the last goes on to a neighbour, after all that go on to it
    pairs = graph.rounding.tolist()
    assert sorted(node for node, _ in pairs) == sorted(set(range(graph.nodes)) - {pairs[-1][1]})
    joined = {frozenset(np.flatnonzero(column).tolist()) for column in matrix.T}
    assert all(frozenset(pair) in joined for pair in pairs)
    assert all(into not in [node for node, _ in pairs[: place + 1]] for place, (_, into) in enumerate(pairs))
    # variances and the intervals of single nodes
    variances = 2.0 * np.square(matrix * scales_of(mechanism)).sum(axis=1)
    assert mechanism.root_mean_square == pytest.approx(math.sqrt(variances.mean()))
    widths = mechanism.half_widths(0.9)
    assert mechanism.interval_half_width(0.9) == pytest.approx(max(widths))
    for node in range(graph.nodes):
        single = np.eye(graph.nodes)[node]
        assert widths[node] == pytest.approx(mechanism.linear_half_width(single, 0.9), rel=1e-3)
        assert mechanism.linear_deviation(single) == pytest.approx(math.sqrt(variances[node]))


@pytest.mark.quarter
@pytest.mark.parametrize("name", SPACES)
def test_no_two_bags_need_more_flow_than_their_distance(name: str) -> None:
    """All pairs of bags of up to three records, by linear programs: of the flow, and POT of the distance."""
    space = SPACES[name]
    metric = space.pairwise({"zone": list(space.values)}, {"zone": list(space.values)})
    assert apart(axis_of(space), space) == pytest.approx(metric)
    count, rng = len(metric), np.random.default_rng(5)
    bags = [np.bincount(own, minlength=count) / len(own)
            for size in (1, 2, 3) for own in itertools.combinations_with_replacement(range(count), size)]  # fmt: skip
    pairs = [(p, q) for p, q in itertools.combinations(bags, 2) if np.abs(p - q).max() > 1e-9]
    some = [pairs[own] for own in rng.choice(len(pairs), min(len(pairs), 120), replace=False)]
    for graph in place_graphs(axis_of(space), space):
        mechanism = mechanism_on(graph, alpha=1.0)
        worst = max(least_cost(mechanism, q - p) / ot.emd2(p, q, metric) for p, q in some)
        assert worst <= 1.0 + 1e-9
        # the stretch is what the farthest pair of places needs, and without it some pair is above its distance
        single = [least_cost(mechanism, np.eye(count)[b] - np.eye(count)[a]) / metric[a, b]
                  for a, b in itertools.combinations(range(count), 2)]  # fmt: skip
        assert max(single) == pytest.approx(1.0)
        costs = mechanism.costs() / mechanism.sensitivity
        assert costs[0, 1] == pytest.approx(least_cost(mechanism, np.eye(count)[1] - np.eye(count)[0]))


def law(ends: list[tuple[int, int]], units: list[float], shift: list[int], reach: int) -> dict[tuple[int, ...], float]:
    """Exact law of three or four places' numbers, by adding up all numbers on the edges."""
    found: dict[tuple[int, ...], float] = {}
    chances = [[math.exp(discrete_laplace_log_pmf(z, own)) for z in range(-reach, reach + 1)] for own in units]
    for drawn in itertools.product(range(2 * reach + 1), repeat=len(ends)):
        y, chance = list(shift), 1.0
        for (a, b), z, own in zip(ends, drawn, chances, strict=True):
            y[a] -= z - reach
            y[b] += z - reach
            chance *= own[z]
        found[tuple(y)] = found.get(tuple(y), 0.0) + chance
    return found


def most_loss(first: dict[tuple[int, ...], float], second: dict[tuple[int, ...], float]) -> float:
    return max(math.log(p / second[y]) for y, p in first.items() if y in second and max(map(abs, y)) <= 3)


def test_exact_laws_lose_at_most_the_distance_and_the_stretch_is_needed() -> None:
    """Three places with a chain of two edges: all pairs of bags of two records, by enumeration."""
    space = SPACES["bent"]
    chain = place_graphs(axis_of(space), space)[1]
    assert chain.ends == ((0, 1), (1, 2))
    assert chain.stretch == pytest.approx(4 / 3)
    metric = np.array(BENT) / 1.5
    bags = list(itertools.combinations_with_replacement(range(3), 2))
    for factor, is_sound in ((1.0, True), (1.0 / chain.stretch, False), (0.7, False)):
        # a record of two is one step: scale c/(l alpha) with alpha = 1/2, twice that in steps
        units = [factor * own / 0.5 for own in chain.constants]
        ratios = []
        for one, other in itertools.permutations(bags, 2):
            p, q = np.bincount(one, minlength=3), np.bincount(other, minlength=3)
            loss = most_loss(
                law(list(chain.ends), units, [0, 0, 0], 14), law(list(chain.ends), units, (q - p).tolist(), 14)
            )
            # numbers are counts of records, whose distance is not halved
            ratios.append(loss / (0.5 * ot.emd2(p / 2.0, q / 2.0, metric) * 2))
        assert (max(ratios) <= 1.0 + 1e-9) == is_sound


def test_the_exact_law_with_a_ring_loses_no_more_than_the_shortest_path() -> None:
    ends, lengths = [(0, 1), (1, 2), (2, 3), (0, 3)], [1.0, 0.5, 1.0, 0.5]
    for shift, cost in (([-1, 1, 0, 0], 2.0), ([-1, 0, 1, 0], 3.0), ([-1, 0, 0, 1], 1.0)):
        for factor in (1.0, 0.5):
            units = [factor / (2 * length) for length in lengths]
            loss = most_loss(law(ends, units, [0, 0, 0, 0], 7), law(ends, units, shift, 7))
            assert (loss <= cost + 1e-3) == (factor == 1.0)
            assert loss >= 0.6 * cost


@pytest.mark.parametrize("away", [0.0, 0.5])
@pytest.mark.parametrize("name", SPACES)
def test_rounded_statistics_differ_by_a_flow_within_change_and_slack(name: str, away: float) -> None:
    graph = place_graphs(axis_of(SPACES[name]), SPACES[name])[-1]
    mechanism = mechanism_on(graph, away=away, alpha=1.0, statistic_error=1e-13)
    assert mechanism.slack_epsilon < 1e-9
    rng = np.random.default_rng(7)
    for size in (1e-13, 0.3):
        first = rng.dirichlet(np.ones(mechanism.dimension))
        second = (1 - size) * first + size * rng.dirichlet(np.ones(mechanism.dimension))
        wrong = rng.choice([-1e-13, 0.0, 1e-13], mechanism.dimension) / mechanism.dimension
        a = mechanism._rounded([Fraction(float(value)) for value in first])
        b = mechanism._rounded([Fraction(float(v)) + Fraction(float(w)) for v, w in zip(second, wrong, strict=True)])
        assert sum(a) == sum(b) == 1 / Fraction(mechanism.grid)
        change = np.array([int(y - x) for x, y in zip(a, b, strict=True)]) * mechanism.grid
        allowed = least_cost(mechanism, second - first) if size > 1e-9 else 4 * size / mechanism.sensitivity
        least = min(scales_of(mechanism))
        assert least_cost(mechanism, change) <= allowed + mechanism.slack_epsilon + 1e-9 * (size > 1e-9) + 4e-13 / least
        assert sum(mechanism.release([Fraction(3), *map(Fraction, first[1:])])) == 1
    more = mechanism_on(graph, away=away, alpha=1.0, statistic_error=1e-6)
    assert more.slack_epsilon - mechanism.slack_epsilon >= (mechanism.dimension - 1) * 1.9e-6 / mechanism.sensitivity


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.3])
def test_intervals_have_power(factor: float) -> None:
    """20,000 draws of a place, of the node away and of a region: stated tails pass at the true scale alone."""
    mechanism = mechanism_on(place_graphs(axis_of(SPACES["plane"]), SPACES["plane"])[0], away=0.4, alpha=1.0)
    region = np.array([1.0, 1.0, 0.0, 0.0, 0.5, 0.0])
    with seeded(11):
        drawn = mechanism.draw_many(20_000).reshape(20_000, 6).astype(float) * mechanism.grid * factor
    widths = mechanism.half_widths(0.9)
    for values, width in (
        (drawn[:, 1], widths[1]), (drawn[:, 5], widths[5]), (drawn @ region, mechanism.linear_half_width(region, 0.9))
    ):  # fmt: skip
        beyond = int((np.abs(values) > width).sum())
        chance = 2 * min(binom.cdf(beyond, 20_000, 0.1), binom.sf(beyond - 1, 20_000, 0.1))
        assert (chance > 1e-9) == (factor == 1.0)


def test_a_longer_edge_has_less_noise_and_every_edge_the_whole_alpha() -> None:
    mechanism = GraphLaplaceMechanism.over([(0, 1), (1, 2)], [0.1, 0.025], alpha=0.5, away=0.05)
    assert mechanism.event().guarantee.alpha == 0.5
    assert mechanism.event().dimension == 5
    scales = [Fraction(own) * Fraction(mechanism.grid) for own in mechanism.axis_units]
    for scale, own in zip(scales, [0.1, 0.025, 0.05], strict=True):
        assert Fraction(own) <= scale / 2 <= Fraction(own) * (1 + Fraction(1, 2**40))


def test_refusals() -> None:
    for ends, sensitivities, match in (
        ([(0, 1), (2, 3)], [1.0, 1.0], "ends"),
        ([(0, 1)], [1.0, 1.0], "ends"),
        ([(0, 1), (1, -1)], [1.0, 1.0], "ends"),
        ([], [], "ends"),
        ([(0, 1)], [0.0], "sensitivity"),
        ([(0, 1), (1, 2)], [1.0, 1e-6], "axes"),
    ):
        with pytest.raises(UsageError, match=match):
            GraphLaplaceMechanism.over(ends, sensitivities, alpha=1.0)
