"""``Optimal``: its value is that of the program with every constraint, and its weights keep ``alpha0``."""

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
import scipy.optimize
import scipy.sparse

from emdp.base.errors import RefusedError, SolverError, UsageError
from emdp.mechanisms.items.distances import ItemDistances
from emdp.mechanisms.items.exponential import Exponential
from emdp.mechanisms.items.geometric import Geometric
from emdp.mechanisms.items.optimal import Optimal
from emdp.mechanisms.items.optimal_program import optimal_law, output_net, sparse_pairs, stretch_of
from emdp.mechanisms.weights import actual_alpha0
from emdp.spaces import Categories, Clusters, Embedding, Geo, Grid, Interval, Product, Vector

Floats = npt.NDArray[np.float64]


def rectangle(rows: int, columns: int) -> Grid:
    """Square cells."""
    return Grid(Vector(["x", "y"], box=((0, rows), (0, columns))), (rows, columns))


def square(side: int) -> Grid:
    return rectangle(side, side)


def expected_distance(randomizer: Exponential | Geometric | Optimal) -> float:
    return float((randomizer.matrix * randomizer.items.matrix).sum(axis=1).mean())


def dense_optimum(matrix: Floats, prior: Floats, alpha0: float, costs: Floats | None = None) -> float:
    """The program with every variable and every constraint; ``costs`` in the place of distances in what is least."""
    count = len(matrix)
    x, other, y = np.indices((count,) * 3).reshape(3, -1)
    x, other, y = np.stack([x, other, y])[:, x != other]
    rows = np.arange(len(x))
    ones = scipy.sparse.csr_matrix((np.ones(len(x)), (rows, x * count + y)), shape=(len(x), count**2))
    factors = scipy.sparse.csr_matrix(
        (np.exp(alpha0 * matrix[x, other]), (rows, other * count + y)), shape=(len(x), count**2)
    )
    found = scipy.optimize.linprog(
        (prior[:, None] * (matrix if costs is None else costs)).ravel(),
        A_ub=ones - factors,
        b_ub=np.zeros(len(x)),
        A_eq=scipy.sparse.kron(scipy.sparse.eye(count), np.ones(count)),
        b_eq=np.ones(count),
        method="highs",
    )
    assert found.status == 0
    return float(found.fun)


def largest_excess(randomizer: Optimal) -> float:
    """The largest of ``ln A[x, y] - ln A[x', y] - alpha0 d(x, x')`` over the whole matrix, ``d`` not rounded down."""
    logs = np.log(randomizer.weights.astype(np.longdouble))
    items = randomizer.items.items
    allowed = randomizer.requested * randomizer.space.distances(items, items)
    return float((logs[:, None] - logs[None, :] - allowed[:, :, None]).max())


SMALL = {
    "line": Grid(Interval("x", 0, 1), 6),
    "grid": square(3),
    "categories": Categories("kind", list(range(5))),
    "unequal clusters": Clusters("kind", {0: 0, 1: 1, 2: 1, 3: 2, 4: 2, 5: 2}, 0.3),
    "embedding": Embedding("w", {"w": ["a", "b", "c", "d"], "x": [0.0, 1.0, 0.3, 2.0], "y": [0.0, 0.2, 1.0, 0.5]}),
    "product": Product(Grid(Interval("x", 0, 1), 3), Categories("kind", ["a", "b"])),
}

SYMMETRIC = {
    "4 x 4": square(4),
    "5 x 5": square(5),
    "6 x 6": square(6),
    "3 x 4": rectangle(3, 4),
    "cut 4 x 4": Grid(Vector(["x", "y"], box=((0, 1), (0, 1))), (4, 4), diameter=0.6),
    "3 x 3 x 2": Grid(Vector(["x", "y", "z"], box=((0, 1),) * 3), (3, 3, 2)),
    "map of 3 x 5": Grid(Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km"), (3, 5)),
}
"""Grids with symmetries; on most of them one pair of variables stands for pairs of cells at several distances."""


class TestOptimal:
    @pytest.mark.parametrize("name", SMALL)
    @pytest.mark.parametrize("alpha0", [0.5, 6.0])
    def test_value_is_that_of_the_dense_program(self, name: str, alpha0: float) -> None:
        randomizer = Optimal(SMALL[name], alpha0)
        value = dense_optimum(randomizer.items.matrix, randomizer.prior, alpha0)
        assert randomizer.stretch == pytest.approx(1.0)
        assert randomizer.expected_distance == pytest.approx(value, rel=1e-5)
        assert randomizer.alpha0 <= alpha0

    @pytest.mark.quarter
    @pytest.mark.parametrize("name", SYMMETRIC)
    @pytest.mark.parametrize("alpha0", [2.0, 5.0])
    def test_symmetric_grids_have_the_value_of_the_dense_program(self, name: str, alpha0: float) -> None:
        randomizer = Optimal(SYMMETRIC[name], alpha0)
        value = dense_optimum(randomizer.items.matrix, randomizer.prior, alpha0)
        assert randomizer.stretch == pytest.approx(1.0, abs=1e-8)
        assert randomizer.expected_distance == pytest.approx(value, rel=1e-6)
        assert largest_excess(randomizer) <= 0

    @pytest.mark.quarter
    @pytest.mark.parametrize("name", SYMMETRIC)
    def test_distance_falls_with_alpha0(self, name: str) -> None:
        ladder = [0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 9.0, 14.0]
        found = [Optimal(SYMMETRIC[name], alpha0).expected_distance for alpha0 in ladder]
        assert all(after <= before + 1e-8 for before, after in pairwise(found))
        assert found[-1] < found[0] / 3

    def test_prior_that_some_symmetries_keep(self) -> None:
        weights = np.repeat([[1.0, 3.0, 3.0, 1.0]], 4, axis=0) * [[1.0], [2.0], [3.0], [4.0]]
        randomizer = Optimal(square(4), 3.0, weights.ravel())
        value = dense_optimum(randomizer.items.matrix, randomizer.prior, 3.0)
        assert randomizer.expected_distance == pytest.approx(value, rel=1e-6)
        assert largest_excess(randomizer) <= 0

    @pytest.mark.parametrize("name", SMALL)
    def test_prior(self, name: str) -> None:
        space = SMALL[name]
        prior = np.random.default_rng(3).dirichlet(np.ones(ItemDistances(space).count))
        randomizer = Optimal(space, 3.0, prior * 7)
        np.testing.assert_allclose(randomizer.prior, prior)
        value = dense_optimum(randomizer.items.matrix, prior, 3.0)
        assert randomizer.expected_distance == pytest.approx(value, rel=1e-5)

    @pytest.mark.parametrize("alpha0", [0.3, 3.0, 12.0])
    @pytest.mark.parametrize("name", ["grid", "categories", "unequal clusters", "product"])
    def test_no_worse_than_the_others(self, name: str, alpha0: float) -> None:
        space = {**SMALL, "grid": square(6)}[name]
        best = expected_distance(Optimal(space, alpha0))
        assert best <= expected_distance(Exponential(space, alpha0)) * (1 + 1e-6) + 1e-7
        if isinstance(space, Grid):
            assert best <= expected_distance(Geometric(space, alpha0)) * (1 + 1e-6) + 1e-7

    def test_spanner_costs_little(self) -> None:
        matrix = ItemDistances(square(9)).matrix
        for symmetries, longest in ((10**6, 1 + 1e-8), (4, 1.1), (1, 1.5)):
            pairs, stretch, outputs = sparse_pairs(matrix, symmetries, 40_000)
            assert 1.0 <= stretch <= longest
            assert 2 * len(pairs) * outputs <= 40_000 * symmetries
            assert stretch == stretch_of(pairs, matrix)
        assert len(sparse_pairs(matrix, 1, 40_000)[0]) < len(sparse_pairs(matrix, 10**6, 40_000)[0]) / 4

    def test_stretched_program_keeps_alpha0_and_most_of_the_gain(self) -> None:
        places = np.random.default_rng(4).random((30, 2))
        table = {"w": list(range(30)), "x": places[:, 0], "y": places[:, 1]}
        randomizer = Optimal(Embedding("w", table, neutral=0), 4.0, most_constraints=10_000)
        assert randomizer.stretch > 1.01
        assert actual_alpha0(randomizer.weights, randomizer.items.matrix) <= 4.0
        assert randomizer.expected_distance < 0.8 * expected_distance(Exponential(randomizer.space, 4.0))

    @pytest.mark.parametrize("status", [1, 4])
    def test_unsolved_program_gives_no_law(self, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
        unsolved = scipy.optimize.OptimizeResult(status=status, x=np.full(25, 0.2))
        monkeypatch.setattr(scipy.optimize, "linprog", lambda *arguments, **options: unsolved)
        with pytest.raises(SolverError, match="seconds"):
            _ = Optimal(SMALL["categories"], 4.0).weights

    @pytest.mark.parametrize("fault", [1e-6, 1e-3, 0.3])
    def test_solution_that_breaks_its_constraints_is_repaired(self, fault: float) -> None:
        """Planted fault: a solver that is off by more than any tolerance costs usefulness, never the guarantee."""
        space = square(4)
        wrong = Optimal(space, 3.0)
        noise = np.random.default_rng(5).dirichlet(np.full(16, 0.1), 16)
        law, stretch = wrong._solution
        wrong.__dict__["_solution"] = ((1 - fault) * law + fault * noise, stretch)
        assert actual_alpha0(wrong.weights, wrong.items.matrix) <= 3.0

    def test_arguments(self) -> None:
        with pytest.raises(UsageError, match="at most 400"):
            Optimal(square(21), 1.0)
        with pytest.raises(UsageError, match=r"at most 30\.0"):
            Optimal(square(3), 31.0)
        with pytest.raises(UsageError, match=r"at most 30\.0"):
            Optimal(square(3), 3.0).at(31.0)
        for prior in ([1.0], [0.0] * 9, [-1.0] * 9, [math.nan] * 9, "abc"):
            with pytest.raises(UsageError, match="prior"):
                Optimal(square(3), 1.0, prior)

    def test_inverse_fails_closed_where_outputs_are_unused(self) -> None:
        with pytest.raises(RefusedError, match="stably"):
            _ = Optimal(square(5), 1.0).right_inverse

    def test_fewer_outputs_are_the_program_without_the_others(self) -> None:
        """The program on a net of outputs has the value of the dense program whose other outputs cost too much."""
        space = square(4)
        items = ItemDistances(space)
        prior = np.full(16, 1 / 16)
        pairs, _, most = sparse_pairs(items.matrix, 8, 80)
        net = output_net(items.matrix, items.isometries, most)
        assert 1 <= len(net) <= most < 16
        assert all(set(moved[net]) == set(net) for moved in items.isometries)
        law, stretch = optimal_law(items.matrix, prior, 3.0, items.isometries, most_constraints=80, seconds=60.0)
        assert set(np.flatnonzero(law.any(axis=0))) <= set(net)
        found = (prior @ (law * items.matrix)).sum()
        costs = np.where(np.isin(np.arange(16), net), items.matrix, items.matrix + 100.0)
        at_stretch, at_request = (dense_optimum(items.matrix, prior, a, costs) for a in (3.0 / stretch, 3.0))
        assert at_request - 1e-9 <= found <= at_stretch + 1e-9
        assert len(pairs) >= 15

    @pytest.mark.slow
    def test_four_hundred_cells_take_seconds(self) -> None:
        randomizer = Optimal(square(20), 4.0)
        assert 3.99 <= randomizer.alpha0 <= 4.0
        assert randomizer.expected_distance < 0.24
        assert randomizer.stretch < 1.05

    @pytest.mark.slow
    def test_hundred_and_forty_four_cells(self) -> None:
        randomizer = Optimal(square(12), 4.0)
        assert 3.9 <= randomizer.alpha0 <= 4.0
        assert randomizer.expected_distance < 0.8 * expected_distance(Exponential(square(12), 4.0))
