"""Regions of confidence: coverage of laws and of releases, how far from tight they are, and known quantiles."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.frequency.geometry import Geometry, geometry_of_items
from emdp.estimators.frequency.items import plan_item_frequencies
from emdp.estimators.frequency.planning import typical_norm
from emdp.estimators.frequency.regions import (
    NORMS,
    message_radius,
    noise_radius,
    oracle_errors,
    randomizer_spread,
)
from emdp.mechanisms import GaussianMechanism, LaplaceMechanism
from emdp.mechanisms.central.k_norm import KNormMechanism
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.gkrr import GKRR
from emdp.mechanisms.items.krr import KRR
from emdp.mechanisms.oracles.bags import Bags
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.price import Price
from emdp.transport.kr_norm import kr_norm

LEVEL = 0.9
DRAWS = 2000
SPREAD = 4.0 * math.sqrt(LEVEL * (1.0 - LEVEL) / DRAWS)
"""Four standard errors of a coverage: a region of the exact level passes in all but 1 of 30,000 tests."""


@pytest.fixture(autouse=True)
def switched() -> Any:
    with emdp.testing.seeded(41):
        yield


def mechanism(law: str, size: int) -> Any:
    shared = {"sensitivity": 0.002, "alpha": 1.0, "dimension": size, "magnitude": 1.0, "statistic_error": 1e-15}
    if law == "gaussian":
        return GaussianMechanism(delta=1e-6, **shared)
    return {"laplace": LaplaceMechanism, "k_norm": KNormMechanism}[law](**shared)


def norms_of(errors: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    return {
        "l1": np.abs(errors).sum(axis=1),
        "l2": np.sqrt(np.square(errors).sum(axis=1)),
        "linf": np.abs(errors).max(axis=1),
    }


@pytest.mark.parametrize("size", [1, 7, 300])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_laws_of_noise_are_covered_exactly(law: str, size: int) -> None:
    # 2,000 draws of the very law: coverage within four standard errors of 90 %, and far below it at 0.7 radii, where it
    # is at most 0.81 (one coordinate); with many coordinates the 1- and 2-norm hardly vary.
    one = mechanism(law, size)
    rng = np.random.default_rng(size)
    scale = one.scale
    shape = (DRAWS, size)
    errors = rng.laplace(0.0, scale, shape) if law == "laplace" else rng.normal(0.0, scale, shape)
    for norm, found in norms_of(errors).items():
        radius = noise_radius(one, LEVEL, norm)  # type: ignore[arg-type]
        covered = float((found <= radius).mean())
        assert LEVEL - SPREAD <= covered <= LEVEL + 2 * SPREAD, norm
        assert float((found <= 0.7 * radius).mean()) < LEVEL - SPREAD, norm


def test_draws_of_the_mechanisms_themselves_are_covered() -> None:
    for law in ("laplace", "gaussian", "k_norm"):
        one = mechanism(law, 12)
        errors = np.array([[float(value) for value in one.release([0] * 12)] for _ in range(400)])
        for norm, found in norms_of(errors).items():
            radius = noise_radius(one, LEVEL, norm)  # type: ignore[arg-type]
            assert float((found <= radius).mean()) >= LEVEL - 4 * math.sqrt(0.09 / 400), (law, norm)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_many_coordinates_have_bounds_near_the_laws(law: str) -> None:
    # Above 4,096 coordinates inequalities take over: valid against the normal limit, and at most 6 % wider.
    for size in (4096, 4097, 10**6):
        one = mechanism(law, size)
        moments = {"l1": (1.0, 1.0), "l2": (2.0, 20.0)} if law == "laplace" else {
            "l1": (math.sqrt(2 / math.pi), 1 - 2 / math.pi),
            "l2": (1.0, 2.0),
        }  # fmt: skip
        for norm, (mean, variance) in moments.items():
            limit = size * mean + stats.norm.ppf(0.95) * math.sqrt(size * variance)
            limit = one.scale * (math.sqrt(limit) if norm == "l2" else limit)
            assert limit * 0.999 <= noise_radius(one, 0.95, norm) <= 1.06 * limit  # type: ignore[arg-type]


def test_known_quantiles() -> None:
    laplace, gaussian = mechanism("laplace", 5), mechanism("gaussian", 5)
    assert noise_radius(laplace, 0.95, "l1") == pytest.approx(laplace.scale * stats.gamma(5).ppf(0.95), rel=1e-6)
    assert noise_radius(gaussian, 0.95, "l2") == pytest.approx(gaussian.scale * stats.chi(5).ppf(0.95), rel=1e-6)
    # One coordinate has one law in all norms; the lattice of squares rounds up by some per cent of its quantile.
    for one in (mechanism("laplace", 1), mechanism("gaussian", 1)):
        width = one.interval_half_width(0.95)
        for norm in ("l1", "l2", "linf"):
            assert width * (1 - 1e-9) <= noise_radius(one, 0.95, norm) <= 1.01 * width  # type: ignore[arg-type]


GEOMETRIES = {
    "line": Geometry.line(np.linspace(0.0, 1.0, 40)),
    "discrete": Geometry.discrete(40),
    "clusters": Geometry.clustered(np.arange(40) // 8, 0.1),
    "grid": Geometry.grid((5, 8), (0.1, 0.08)),
}


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_regions_in_the_unit_of_d_em_hold(name: str, law: str) -> None:
    # Bounds: they hold the exact norm (the typical one is exact but on grids) more often than stated.
    geometry, one = GEOMETRIES[name], mechanism(law, 40)
    rng = np.random.default_rng(5)
    errors = rng.laplace(0.0, one.scale, (500, 40)) if law == "laplace" else rng.normal(0.0, one.scale, (500, 40))
    radius = noise_radius(one, LEVEL, "d_em", geometry)
    if name == "grid":
        places = np.stack(np.unravel_index(np.arange(40), (5, 8)), axis=1) * np.array([0.1, 0.08])
        apart = np.sqrt(np.square(places[:, None] - places[None]).sum(axis=2))
        space = emdp.Distances("cell", [str(cell) for cell in range(40)], apart, diameter=1.0)
        found = [kr_norm(row - row.mean(), space, np.arange(40.0)[:, None]) for row in errors[:60]]
    else:
        found = [typical_norm(row, geometry) for row in errors]
    assert float(np.mean(np.array(found) <= radius)) >= LEVEL
    # And are better than half the 1-norm's own bound by the triangle inequality.
    assert radius <= noise_radius(one, LEVEL, "l2") * math.sqrt(40) / 2 * (1 + 1e-8)
    assert radius < 8 * float(np.mean(found))
    if name == "line":
        assert radius < 0.9 * noise_radius(one, LEVEL, "d_em", GEOMETRIES["discrete"])


def test_the_block_bound_helps_on_large_grids() -> None:
    one = mechanism("gaussian", 64 * 64)
    grid = noise_radius(one, LEVEL, "d_em", Geometry.grid((64, 64), (1 / 90, 1 / 90)))
    assert grid < 0.4 * noise_radius(one, LEVEL, "d_em", Geometry.discrete(64 * 64))


@pytest.mark.quarter
@pytest.mark.parametrize("method", ["hadamard", "krr", "rappor", "unary", "subset", "projective", "response"])
def test_releases_of_messages_are_covered(method: str) -> None:
    # 120 releases at 90 %: inequalities that hold for any data, so none may fall below; none is eight times too wide.
    space = emdp.Categories("kind", list(range(9)))
    query = ItemFrequencies(Price("epsilon", 1.5), method=method, model="local")  # type: ignore[arg-type]
    oracle = plan_item_frequencies(query, space=space, users=800).releaser.oracle  # type: ignore[union-attr]
    codes = np.repeat(np.arange(9), [400, 200, 100, 50, 25, 15, 10, 0, 0])
    truth = np.bincount(codes, minlength=9) / 800
    errors = np.array([oracle.decode(oracle.draw_tally(Bags.of_items(codes))) - truth for _ in range(120)])
    public = oracle_errors(oracle)
    # What is stated of messages holds: variances for these data, and the distance of two decoded messages.
    assert float(oracle.variances(truth, truth).sum()) <= public.variance / 800
    single = type(oracle)(9, 1, 1.5)
    ones = np.array([single.decode(single.draw_tally(Bags.of_items([code]))) for code in np.tile(np.arange(9), 20)])
    apart = ones[:, None] - ones[None]
    assert np.sqrt(np.square(apart).sum(axis=2)).max() <= oracle_errors(single).change_2 * (1 + 1e-9)
    assert np.abs(apart).sum(axis=2).max() <= oracle_errors(single).change_1 * (1 + 1e-9)
    geometry = geometry_of_items(space)
    found = {**norms_of(errors), "d_em": np.array([typical_norm(row, geometry) for row in errors])}
    for norm in NORMS:
        radius = message_radius(public, LEVEL, norm)
        assert float((found[norm] <= radius).mean()) >= LEVEL, norm
        assert radius < 8 * float(found[norm].mean()), norm


def test_a_randomizer_spreads_as_stated() -> None:
    space = emdp.Clusters("kind", {"a": 1, "b": 1, "c": 2, "d": 2}, 0.25)
    for one in (GKRR(space, 2.0), KRR(emdp.Categories("kind", ["a", "b", "c"]), 1.0)):
        variance, change_2, change_1 = randomizer_spread(one)
        inverse = one.right_inverse
        totals = [probabilities @ np.square(inverse).sum(axis=1) - 1.0 for probabilities in one.matrix]
        assert variance == pytest.approx(max(totals), rel=1e-8)
        pairs = [left - right for left in inverse for right in inverse]
        assert change_2 == pytest.approx(max(np.linalg.norm(pair) for pair in pairs), rel=1e-8)
        assert change_1 == pytest.approx(max(np.abs(pair).sum() for pair in pairs), rel=1e-8)
    assert isinstance(one, FiniteRandomizer)


def test_what_is_asked_wrongly_is_refused() -> None:
    with pytest.raises(UsageError, match="geometry must be given"):
        noise_radius(mechanism("laplace", 3), LEVEL, "d_em")
    assert noise_radius(LaplaceMechanism(sensitivity=0.0, alpha=1.0, dimension=3), LEVEL, "l2") == 0.0
