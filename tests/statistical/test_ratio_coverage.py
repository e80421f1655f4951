"""Coverage of Fieller intervals, with stated power: 10,000 ratios through a real mechanism, 95 %, p < 1e-9.

At that threshold the true law passes the two-sided binomial test; intervals made as if the scale were 0.7 times the
true one cover at most 0.88, those for 1.3 times at least 0.979: with 10,000 ratios the test finds the first with a
chance above 1 - 1e-200 and the second with one above 1 - 1e-12 (`test_stated_power`). Where the denominator is near
its noise the whole line may be the answer, and only coverage of at least the level is claimed.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from emdp.estimators.columns.fieller import PairLaw, denominator_limit, ratio_intervals
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.testing import seeded

RATIOS, LEVEL, THRESHOLD = 10_000, 0.95, 1e-9
MECHANISMS: dict[str, AdditiveMechanism] = {
    "laplace": LaplaceMechanism(sensitivity=0.01, alpha=1.0, dimension=2 * RATIOS),
    "gaussian": GaussianMechanism(sensitivity=0.01, alpha=1.0, delta=1e-6, dimension=2 * RATIOS),
}
CASES = {
    # numerator and denominator in multiples of their noise's scales, and the scales that they are multiplied by
    "half": (20.0, 40.0, 1.0, 1.0),
    "zero": (0.0, 25.0, 1.0, 1.0),
    "equal weights": (30.0, 30.0, 1.0, 1.0),
    "large ratio": (3000.0, 20.0, 1.0, 4.0),
    "large negative ratio": (-800.0, 20.0, 0.25, 1.0),
    "small share": (1.5, 15.0, 3.0, 1.0),
}
laws = pytest.mark.parametrize("law", list(MECHANISMS))
cases = pytest.mark.parametrize("case", list(CASES))


def released(law: str, case: str, seed: int = 5) -> tuple[PairLaw, float, np.ndarray, np.ndarray]:
    """Release one pair 10,000 times in one draw; return the law, the true ratio, numerators and denominators."""
    mechanism = MECHANISMS[law]
    top, bottom, scale_1, scale_2 = CASES[case]
    unit = Fraction(mechanism.scale)
    numerator, denominator = Fraction(top) * unit, Fraction(bottom) * unit  # as multiplied by their scales
    with seeded(seed):
        answers = mechanism.release([numerator, denominator] * RATIOS)
    numbers = np.array([float(answer) for answer in answers]).reshape(RATIOS, 2) / [scale_1, scale_2]
    ratio = float(numerator / Fraction(scale_1) / (denominator / Fraction(scale_2)))
    return PairLaw.of(mechanism, scale_1, scale_2), ratio, numbers[:, 0], numbers[:, 1]


def covered(law: PairLaw, ratio: float, numerators: np.ndarray, denominators: np.ndarray) -> int:
    low, high = ratio_intervals(numerators, denominators, law, LEVEL)
    return int(np.count_nonzero(np.isnan(low) | ((low <= ratio) & (ratio <= high))))


def p_value(hits: int, alternative: str = "two-sided") -> float:
    return float(scipy.stats.binomtest(hits, RATIOS, LEVEL, alternative=alternative).pvalue)


@pytest.mark.slow
@laws
@cases
def test_true_scale_passes_and_wrong_scales_fail(law: str, case: str) -> None:
    pair, *release = released(law, case)
    assert p_value(covered(pair, *release)) > THRESHOLD
    for factor, side in ((0.7, "less"), (1.3, "greater")):
        wrong = replace(pair, scale=factor * pair.scale)
        assert p_value(covered(wrong, *release)) < THRESHOLD
        assert p_value(covered(wrong, *release), side) < THRESHOLD


@pytest.mark.quarter
@laws
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0, 2.0, 4.0])
def test_small_denominators_cover_at_least_the_level(law: str, share: float) -> None:
    """The true denominator is this many limits; where it is 0 the ratio is any number, here 3."""
    mechanism = MECHANISMS[law]
    pair = PairLaw.of(mechanism, 1.0, 1.0)
    denominator = Fraction(share * denominator_limit(pair, LEVEL))
    with seeded(11):
        answers = mechanism.release([3 * denominator, denominator] * RATIOS)
    numbers = np.array([float(answer) for answer in answers]).reshape(RATIOS, 2)
    low, _ = ratio_intervals(numbers[:, 0], numbers[:, 1], pair, LEVEL)
    unbounded = int(np.count_nonzero(np.isnan(low)))
    assert p_value(covered(pair, 3.0, numbers[:, 0], numbers[:, 1]), "less") > THRESHOLD
    assert (unbounded > 0.45 * RATIOS) is (share <= 1.0)


def test_stated_power() -> None:
    """The chances in the module's text, for the two-sided test at this threshold."""
    counts = np.arange(RATIOS + 1)
    rejected = np.array(
        [
            min(1.0, 2 * min(scipy.stats.binom.cdf(k, RATIOS, LEVEL), scipy.stats.binom.sf(k - 1, RATIOS, LEVEL)))
            < THRESHOLD / 2
            for k in counts[8000:]
        ]
    )
    for coverage, least in ((0.88, 1 - 1e-200), (0.979, 1 - 1e-12)):
        missed = float(np.sum(scipy.stats.binom.pmf(counts[8000:], RATIOS, coverage)[~rejected]))
        assert 1.0 - missed >= least
    # the coverages themselves: of a coordinate alone they are these, of any pair between it and the Gaussian's
    assert 1 - 0.05**0.7 < 0.88
    assert 1 - 0.05**1.3 > 0.979
    assert 1 - 2 * scipy.stats.norm.sf(0.7 * scipy.stats.norm.isf(0.025)) < 0.88
    assert 1 - 2 * scipy.stats.norm.sf(1.3 * scipy.stats.norm.isf(0.025)) > 0.979
