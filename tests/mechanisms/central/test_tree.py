"""Trees of blocks: what a user changes by enumeration, the noise of each level with power, least squares."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from emdp.base.errors import UsageError
from emdp.mechanisms.central.tree import Tree, tree_mechanism
from emdp.testing import seeded

SHAPES = [(16,), (4, 4), (16, 16), (5, 3), (6, 2, 3)]


def written(tree: Tree) -> np.ndarray:
    """``T`` as a matrix, from blocks that are listed node by node."""
    rows = []
    for level, factor in enumerate(tree.factors, 1):
        side = 4 ** (tree.levels - level)
        for block in itertools.product(*(range(-(-size // side)) for size in tree.shape)):
            inside = [
                all(at // side == own for at, own in zip(node, block, strict=True))
                for node in itertools.product(*map(range, tree.shape))
            ]
            rows.append(float(factor) * np.array(inside, dtype=np.float64))
    return np.array(rows)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_replacement_moves_the_sums_by_more_and_one_moves_them_by_that(shape: tuple[int, ...]) -> None:
    tree = Tree(shape)
    matrix = written(tree)
    assert len(matrix) == tree.dimension
    values = np.random.default_rng(1).integers(0, 100, math.prod(shape))
    assert np.allclose([float(own) for own in tree.sums([Fraction(int(own)) for own in values])], matrix @ values)
    # all weights of a user are mixtures of single nodes, and the norm is convex
    norms = [np.abs(matrix.T - own).sum(axis=1).max() for own in matrix.T]
    assert max(norms) == pytest.approx(float(tree.change))
    rng = np.random.default_rng(2)
    for _ in range(50):
        one, other = rng.dirichlet(np.full(math.prod(shape), 0.1), 2)
        assert np.abs(matrix @ (one - other)).sum() <= float(tree.change) + 1e-12
    # the share elsewhere at the factor of all levels together costs nothing more, and at a larger one it would
    for larger in (1.0, 1.1):
        away = np.zeros((len(matrix) + 1, matrix.shape[1] + 1))
        away[:-1, :-1], away[-1, -1] = matrix, larger * float(tree.away)
        moved = max(np.abs(away.T - own).sum(axis=1).max() for own in away.T)
        assert (moved <= float(tree.change) * (1 + 1e-12)) == (larger == 1.0)
    mechanism = tree_mechanism(tree, users=50, epsilon=0.5, sum_error=0.0)
    assert mechanism == replace(
        tree_mechanism(tree, users=50, epsilon=0.5, sum_error=0.0, has_away=True),
        **{"dimension": tree.dimension, "magnitude": mechanism.magnitude},
    )
    assert mechanism.sensitivity == pytest.approx(float(tree.change) / 50)
    assert mechanism.event().guarantee.alpha == 0.5  # type: ignore[union-attr]


@pytest.mark.parametrize("shape", SHAPES)
def test_least_squares_is_that_of_a_general_solver(shape: tuple[int, ...]) -> None:
    tree, inner = Tree(shape), tuple(map(slice, shape))
    matrix = written(tree)
    truth = np.random.default_rng(3).dirichlet(np.ones(math.prod(shape)))
    assert tree.estimate(matrix @ truth)[inner].ravel() == pytest.approx(truth, abs=1e-12)
    noise = np.random.default_rng(4).laplace(size=len(matrix))
    found = tree.estimate(matrix @ truth + noise)[inner].ravel()
    if set(shape) <= {4, 16}:
        assert found == pytest.approx(np.linalg.lstsq(matrix, matrix @ truth + noise)[0], abs=1e-9)
    # linear in the numbers: its rows are the weights of the noise, whose variances are at most what is said
    rows = np.array([tree.estimate(own)[inner].ravel() for own in np.eye(len(matrix))]).T
    deviations = np.sqrt(2.0 * np.square(rows).sum(axis=1))
    weights, counts = tree._kernel(1.0)
    assert deviations.max() <= math.sqrt(2.0 * np.dot(np.square(weights), counts)) * (1 + 1e-9)
    for values in (np.eye(math.prod(shape))[0], np.arange(math.prod(shape), dtype=np.float64)):
        own = math.sqrt(2.0 * np.square(values @ rows).sum())
        told = tree.deviation(values.reshape(shape), 1.0)
        assert own <= told * (1 + 1e-9)
        if set(shape) <= {4, 16}:
            assert own == pytest.approx(told)


def test_each_level_has_its_noise() -> None:
    """20,000 numbers of Laplace noise: twice their sum over the scale is chi-squared; 0.7 and 1.3 of it are not."""
    tree = Tree((16, 16))
    mechanism = tree_mechanism(tree, users=100, epsilon=2.0, sum_error=0.0)
    truth = [Fraction(1, 256)] * 256
    exact = np.array([float(own) for own in tree.sums(truth)])
    with seeded(5):
        drawn = np.array([[float(own) for own in mechanism.release(tree.sums(truth))] for _ in range(80)]) - exact
    start = 0
    for level, factor in enumerate(tree.factors, 1):
        size = math.prod(tree.blocks(level))
        # in shares: what the level's part of epsilon buys it alone
        part = float(factor) / float(sum(tree.factors)) * 2.0
        own, scale = drawn[:, start : start + size] / float(factor), 2.0 / (100 * part)
        start += size
        for wrong in (1.0, 0.7, 1.3):
            total = 2.0 * np.abs(own).sum() / (wrong * scale)
            tail = 2.0 * min(chi2.cdf(total, 2 * own.size), chi2.sf(total, 2 * own.size))
            assert (tail > 1e-4) == (wrong == 1.0)
            assert wrong == 1.0 or tail < 1e-9


def test_intervals_of_nodes_hold() -> None:
    tree = Tree((16, 12))
    mechanism = tree_mechanism(tree, users=10, epsilon=1.0, sum_error=0.0)
    with seeded(6):
        noise = np.asarray(mechanism.draw_many(200), dtype=np.float64).reshape(200, -1) * mechanism.grid
    errors = np.abs([tree.estimate(own)[:, :12] for own in noise])
    for level in (0.5, 0.95):
        inside = (errors <= tree.half_width(mechanism, 1.0 - level)).mean()
        # nodes beside what is known to be 0 have a little less noise
        assert level - 0.02 < inside < level + 0.04
        assert (errors <= 0.7 * tree.half_width(mechanism, 1.0 - level)).mean() < level - 0.02
    assert errors.mean() == pytest.approx(tree.mean_absolute(mechanism.scale), rel=0.04)


def test_errors_of_sums_are_in_the_slack() -> None:
    true = tree_mechanism(Tree((16, 16)), users=10, epsilon=1.0, sum_error=1e-6)
    # a sum of one user's weights is within the error, and the coarsest level is multiplied by its factor
    assert true.statistic_error == pytest.approx(1e-7 * 1.5)
    assert true.slack_epsilon > 2 * 1e-6 / 10 * 272 / true.scale


def test_what_is_no_tree() -> None:
    for shape in ((1,), (), (4, 0), (4**9 + 1, 2)):
        with pytest.raises(UsageError, match="shape"):
            Tree(shape)
