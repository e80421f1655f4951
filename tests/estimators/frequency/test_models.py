"""Variances of errors: exact enumeration on small releases, one route against another, simulated second moments."""

from itertools import product

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.estimators.frequency.models import (
    DenseErrors,
    IndependentErrors,
    ResponseErrors,
    item_wise_errors,
    randomizer_errors,
)
from emdp.mechanisms.items.exponential import Exponential
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.gkrr import GKRR
from emdp.mechanisms.items.hadamard_response import HadamardResponse
from emdp.mechanisms.items.krr import KRR
from emdp.spaces import Categories, Clusters, Grid, Interval


def response(clusters: np.ndarray, own: float, near: float, far: float) -> tuple[np.ndarray, float, float, float]:
    """Return the matrix of a response with these weights, and its probabilities."""
    same = clusters[:, None] == clusters
    weights = np.where(np.eye(len(clusters)) > 0, own, np.where(same, near, far))
    total = weights[0].sum()
    return weights / total, own / total, near / total, far / total


def test_item_wise_errors_by_enumeration_of_all_outputs() -> None:
    # Three items of fixed kinds, all 27 triples of outputs with their probabilities.
    matrix = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    inverse, items = np.linalg.inv(matrix), [0, 0, 2]
    shares = np.bincount(items, minlength=3) / 3
    covariance, mean = np.zeros((3, 3)), np.zeros(3)
    for outputs in product(range(3), repeat=3):
        chance = np.prod([matrix[item, output] for item, output in zip(items, outputs, strict=True)])
        error = np.bincount(outputs, minlength=3) / 3 @ inverse - shares
        mean += chance * error
        covariance += chance * np.outer(error, error)
    model = item_wise_errors(matrix, inverse, 3, shares)
    assert mean == pytest.approx(np.zeros(3), abs=1e-12)
    assert model.covariance == pytest.approx(covariance, abs=1e-12)
    assert model.variances == pytest.approx(np.diag(covariance), abs=1e-12)
    assert model.prefix_variances(np.array([2, 0, 1])) == pytest.approx(
        [covariance[2, 2], covariance[np.ix_([0, 2], [0, 2])].sum()], abs=1e-12
    )


@pytest.mark.parametrize(("clusters", "width"), [(3, 4), (6, 1), (1, 5), (2, 2)])
def test_the_closed_form_agrees_with_the_matrix(clusters: int, width: int) -> None:
    rng = np.random.default_rng(clusters)
    codes = rng.permutation(np.repeat(np.arange(clusters), width))
    matrix, own, near, far = response(codes, 5.0, 2.0 if width > 1 else 1.0, 1.0)
    prior = rng.dirichlet(np.ones(len(codes)))
    dense = item_wise_errors(matrix, np.linalg.inv(matrix), 50, prior)
    closed = ResponseErrors(own, near, far, codes, 50, prior)
    assert closed.variances == pytest.approx(dense.variances, rel=1e-9)
    assert closed.group_variances(codes) == pytest.approx(dense.group_variances(codes), rel=1e-9, abs=1e-16)
    for _ in range(5):
        groups = np.unique(rng.integers(0, 3, len(codes)), return_inverse=True)[1]
        assert closed.group_variances(groups) == pytest.approx(dense.group_variances(groups), rel=1e-9, abs=1e-16)
    if width == 1:
        order = rng.permutation(len(codes))
        assert closed.prefix_variances(order) == pytest.approx(dense.prefix_variances(order), rel=1e-9)


@pytest.mark.parametrize(
    "randomizer",
    [
        KRR(Categories("c", list("abcd")), 1.5),
        GKRR(Clusters("c", {name: place % 3 for place, name in enumerate("abcdefghi")}, 0.25), 2.0),
        GKRR(Clusters("c", {name: place // 5 for place, name in enumerate("abcdefgh")}, 0.25), 2.0),
        GKRR(Clusters("c", {"a": "x", "b": "y", "c": "z"}, 0.25), 2.0),
        Exponential(Grid(Interval("x", 0, 1), 6), 4.0),
        HadamardResponse(Categories("c", list("abcde")), 1.0),
    ],
    ids=["k-RR", "GKRR", "unequal GKRR", "single GKRR", "exponential", "Hadamard"],
)
def test_models_of_the_librarys_randomizers(randomizer: FiniteRandomizer) -> None:
    prior = np.random.default_rng(3).dirichlet(np.ones(randomizer.items.count))
    model = randomizer_errors(randomizer, 100, prior)
    dense = item_wise_errors(randomizer.matrix, randomizer.right_inverse, 100, prior)
    assert model.variances == pytest.approx(dense.variances, rel=1e-8)
    assert (model.variances <= randomizer.estimate_variance() / 100 * (1 + 1e-9)).all()


def test_randomizers_of_the_library() -> None:
    space = Clusters("c", {name: place // 3 for place, name in enumerate("abcdefghi")}, 0.25)
    gkrr, krr = GKRR(space, 2.0), KRR(Categories("c", list("abcd")), 1.5)
    dense = item_wise_errors(gkrr.matrix, gkrr.right_inverse, 1000)
    own, near, far = gkrr.matrix[0, 0], gkrr.matrix[0, 1], gkrr.matrix[0, 8]
    closed = ResponseErrors(own, near, far, np.arange(9) // 3, 1000)
    assert closed.variances == pytest.approx(dense.variances, rel=1e-9)
    # k-RR's known risk: (1 - sum of squared output shares)/(N (p - q)^2), with sampling; less that of the sample.
    p, q = krr.matrix[0, 0], krr.matrix[0, 1]
    risk = (1 - 4 / 16) / (1000 * (p - q) ** 2) - (1 - 4 / 16) / 1000
    assert ResponseErrors(p, q, q, np.arange(4), 1000).variances.sum() == pytest.approx(risk, rel=1e-9)
    assert krr.estimate_variance().max() / 1000 >= ResponseErrors(p, q, q, np.arange(4), 1000).variances.max()


@pytest.mark.quarter
@pytest.mark.parametrize(
    "model",
    [
        IndependentErrors(6, 2.0),
        DenseErrors(np.cov(np.random.default_rng(0).normal(size=(6, 20)))),
        ResponseErrors(0.3, 0.14, 0.14, np.arange(6), 10),
        ResponseErrors(0.4, 0.2, 0.1, np.array([0, 1, 0, 1, 2, 2]), 10),
    ],
    ids=["independent", "dense", "k-RR", "clusters"],
)
def test_combined_normals_have_the_variances(model: IndependentErrors | DenseErrors | ResponseErrors) -> None:
    # 100,000 draws: each variance to 0.5 %.
    errors = model.combine(np.random.default_rng(1).normal(size=(100_000, 6)))
    assert errors.var(axis=0) == pytest.approx(model.variances, rel=0.03)
    balanced = errors - errors.mean(axis=1, keepdims=True)
    groups = model.clusters if isinstance(model, ResponseErrors) and model.width > 1 else np.array([0, 0, 1, 1, 1, 2])
    sums = np.stack([balanced[:, groups == group].sum(axis=1) for group in range(3)])
    assert sums.var(axis=1) == pytest.approx(model.group_variances(groups), rel=0.03)
    if isinstance(model, ResponseErrors):
        assert errors.sum(axis=1) == pytest.approx(0, abs=1e-9)


def test_independent_errors_are_a_diagonal_matrix() -> None:
    own, dense = IndependentErrors(7, 0.3), DenseErrors(0.3 * np.eye(7))
    order, groups = np.array([3, 1, 2, 0, 6, 5, 4]), np.array([0, 1, 1, 0, 2, 2, 2])
    assert own.prefix_variances(order) == pytest.approx(dense.prefix_variances(order))
    assert own.group_variances(groups) == pytest.approx(dense.group_variances(groups))
    assert own.group_excess(groups) == 0.0


def test_excess_of_laplace_sums_by_simulation() -> None:
    # Sum of the first two of five errors, balanced: fourth moments of 2,000,000 draws are good to 1 %.
    model = IndependentErrors(5, 2.0, law="laplace")
    draws = np.random.default_rng(2).laplace(size=(1_000_000, 5))
    sums = (draws - draws.mean(axis=1, keepdims=True))[:, :2].sum(axis=1)
    excess = np.mean(sums**4) / np.mean(sums**2) ** 2 - 3
    assert np.asarray(model.prefix_excess())[1] == pytest.approx(excess, rel=0.05)
    assert np.asarray(model.group_excess(np.array([0, 0, 1, 1, 1])))[0] == pytest.approx(excess, rel=0.05)


def test_refusals() -> None:
    with pytest.raises(UsageError, match="variance"):
        IndependentErrors(3, -1.0)
    with pytest.raises(UsageError, match="covariance"):
        DenseErrors(np.zeros((2, 3)))
    with pytest.raises(UsageError, match="one size"):
        ResponseErrors(0.5, 0.2, 0.1, np.array([0, 0, 1]), 10)
    with pytest.raises(UsageError, match="must fall"):
        ResponseErrors(0.1, 0.2, 0.1, np.array([0, 0, 1, 1]), 10)
    with pytest.raises(UsageError, match="prior"):
        ResponseErrors(0.5, 0.2, 0.1, np.array([0, 0, 1, 1]), 10, np.ones(4))
    with pytest.raises(UsageError, match="clusters are no line"):
        ResponseErrors(0.5, 0.2, 0.1, np.array([0, 0, 1, 1]), 10).prefix_variances(np.arange(4))
