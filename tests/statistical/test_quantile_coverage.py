"""Coverage of quantile intervals, with stated power: 6,000 releases, p < 1e-9.

The worst distributions for the theorem of :mod:`emdp.estimators.quantiles.ramps`: an interval misses exactly when the
noise of one node exceeds its width on one side, so it misses with probability 2.5 % and not less. At the threshold the
true width passes; 0.7 times the width misses too often, and 1.3 times the width too seldom for the design to be the
worst one. Intervals that forget half of the smoothing miss a single atom. Ordinary distributions are covered more
often.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
import scipy.stats

from emdp.estimators.quantiles.quantiles import QuantileRows, plan_quantiles
from emdp.estimators.quantiles.ramps import Ramps
from emdp.estimators.user_groups import GroupKeys
from emdp.expressions import category_is, col
from emdp.mechanisms import AdditiveMechanism, LaplaceMechanism
from emdp.questions.price import Price
from emdp.questions.select import QuantileQuery
from emdp.spaces import Categories, Interval, Product
from emdp.testing import seeded

RELEASES, THRESHOLD, LEVEL = 6_000, 1e-9, 0.95
LINE = Interval("x", 0, 10)
PLACE = 5.0 - 1e-6
"""Where an atom stands: just below an edge, so that the ramp that ends there hardly sees it."""


def atoms(share: float, side: str) -> np.ndarray:
    """``F_0..F_9`` and the share, for records at ``PLACE`` (or its mirror image) and far beyond, q = 1/2.

    Just over half of the records stand at the atom, the others at the far end: its quantile is the atom, and the
    distribution function stays at hardly more than q from there on.
    """
    places, weights = np.array([PLACE, 10.0]), np.array([0.5 + 1e-7, 0.5 - 1e-7])
    if side == "high":
        places = 10.0 - places
    curve = np.clip(np.arange(1, 11)[:, None] - places, 0, 1) @ weights
    return share * np.append(curve, 1.0)


def mechanism_of(filtered: bool, noise: str = "laplace") -> AdditiveMechanism:
    """Noise of about 0.02 at every node: far less than the steps of the curves."""
    price = Price("alpha", 2.0, 0.0 if noise == "laplace" else 1e-9)
    space = Product(LINE, Categories("kind", ["a", "b"])) if filtered else LINE
    users = (600 if filtered else 250) * (1 if noise == "laplace" else 6)
    query = QuantileQuery(col("x"), (0.5,), price, where=category_is("a") if filtered else None, step=1.0, noise=noise)
    return plan_quantiles(query, space=space, users=users).mechanisms[0]


def rows_of(
    mechanism: AdditiveMechanism, filtered: bool, ramps: Ramps, levels: tuple[float, ...] = (0.5,)
) -> QuantileRows:
    keys = GroupKeys(("release",), tuple((number,) for number in range(RELEASES)))
    return QuantileRows("x", levels, ramps, keys, (mechanism,) * RELEASES, filtered)


def misses(frame: pl.DataFrame, side: str) -> int:
    atom = PLACE if side == "low" else 10.0 - PLACE
    return int(((frame["x_low"] > atom) | (frame["x_high"] < atom)).sum())


def releases(mechanism: AdditiveMechanism, curve: np.ndarray, seed: int) -> tuple[tuple[Fraction, ...], ...]:
    exact = tuple(map(Fraction, curve.tolist()))
    with seeded(seed):
        return tuple(mechanism.release(exact) for _ in range(RELEASES))


class Forgetful(Ramps):
    """Planted mistake: only half a ramp's width on each side of the accepted nodes."""

    def interval(self, excess: np.ndarray, width: float) -> tuple[float, float]:
        low, high = super().interval(excess, width)
        return low + self.step / 2, high - self.step / 2


def too_many(count: int, chance: float = (1 - LEVEL) / 2) -> float:
    return float(scipy.stats.binom.sf(count - 1, RELEASES, chance))


def too_few(count: int, chance: float = (1 - LEVEL) / 2) -> float:
    return float(scipy.stats.binom.cdf(count, RELEASES, chance))


CASES = [
    (False, "laplace", "low"),
    (False, "laplace", "high"),
    (True, "laplace", "low"),
    (False, "gaussian", "high"),
    (True, "gaussian", "high"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("filtered", "noise", "side"), CASES)
def test_intervals_miss_the_worst_distribution_as_often_as_they_may(filtered: bool, noise: str, side: str) -> None:
    mechanism = mechanism_of(filtered, noise)
    assert 0.005 < mechanism.scale < 0.03
    ramps = Ramps(0.0, 10.0, 1.0, 10)
    found = releases(mechanism, atoms(0.5 if filtered else 1.0, side), seed=17)
    true = misses(rows_of(mechanism, filtered, ramps).frame(found, LEVEL), side)
    assert too_many(true) > THRESHOLD
    # The design is the worst one: they do not miss more seldom either.
    assert too_few(true) > THRESHOLD
    for factor, fails in ((0.7, too_many), (1.3, too_few)):
        planted = replace(mechanism, sensitivity=mechanism.sensitivity * factor)
        count = misses(rows_of(planted, filtered, ramps).frame(found, LEVEL), side)
        assert fails(count) < THRESHOLD, f"a width of {factor} went unnoticed: {count} misses"


@pytest.mark.slow
@pytest.mark.parametrize("filtered", [False, True])
def test_intervals_that_forget_half_of_the_smoothing_miss(filtered: bool) -> None:
    mechanism = mechanism_of(filtered)
    curve = np.append(np.clip(np.arange(1, 11) - 5.4, 0, 1), 1.0) * (0.5 if filtered else 1.0)
    found = releases(mechanism, curve, seed=19)
    for ramps, fails in ((Ramps(0.0, 10.0, 1.0, 10), False), (Forgetful(0.0, 10.0, 1.0, 10), True)):
        frame = rows_of(mechanism, filtered, ramps, (0.95,)).frame(found, LEVEL)
        count = int(((frame["x_low"] > 5.4) | (frame["x_high"] < 5.4)).sum())
        assert (too_many(count, 1 - LEVEL) < THRESHOLD) == fails


@pytest.mark.slow
@pytest.mark.parametrize("filtered", [False, True])
def test_intervals_of_ordinary_distributions_hold_at_least_at_their_level(filtered: bool) -> None:
    levels = (0.1, 0.5, 0.95)
    mechanism = mechanism_of(filtered)
    generator = np.random.default_rng(2)
    values = np.concatenate([generator.gamma(2.0, 1.2, 5000).clip(0, 10), np.full(2000, 4.2)])
    curve = np.append(np.clip(np.arange(1, 11)[:, None] - values, 0, 1).mean(axis=1), 1.0) * (0.5 if filtered else 1.0)
    true = np.tile(np.quantile(values, levels, method="inverted_cdf"), RELEASES)
    found = releases(mechanism, curve, seed=23)
    frame = rows_of(mechanism, filtered, Ramps(0.0, 10.0, 1.0, 10), levels).frame(found, LEVEL)
    missed = (frame["x_low"].to_numpy() > true) | (frame["x_high"].to_numpy() < true)
    for place, _ in enumerate(levels):
        assert too_many(int(missed[place :: len(levels)].sum()), 1 - LEVEL) > THRESHOLD
    values_found = frame["x"].to_numpy()
    assert np.all((frame["x_low"].to_numpy() <= values_found) & (values_found <= frame["x_high"].to_numpy()))


@pytest.mark.slow
def test_intervals_together_hold_all_at_once() -> None:
    levels = (0.2, 0.4, 0.6, 0.8)
    mechanism = LaplaceMechanism(sensitivity=0.1, alpha=2.0, dimension=11)
    ramps = Ramps(0.0, 10.0, 1.0, 10)
    keys = GroupKeys()
    # Every second node stands at the worst place for one of the levels.
    places = np.array([0.999999, 2.999999, 4.999999, 6.999999, 8.999999])
    weights = np.full(5, 0.2) + np.array([1e-7, 0, 0, 0, -1e-7])
    curve = np.append(np.clip(np.arange(1, 11)[:, None] - places, 0, 1) @ weights, 1.0)
    found = releases(mechanism, curve, seed=29)

    def failures(used: AdditiveMechanism) -> int:
        rows = QuantileRows("x", levels, ramps, keys, (used,))
        missed = 0
        for values in found:
            frame = rows.frame((values,), LEVEL, together=True)
            missed += bool(((frame["x_low"].to_numpy() > places[:4]) | (frame["x_high"].to_numpy() < places[:4])).any())
        return missed

    assert too_many(failures(mechanism), 1 - LEVEL) > THRESHOLD
    assert too_many(failures(replace(mechanism, sensitivity=0.05)), 1 - LEVEL) < THRESHOLD
