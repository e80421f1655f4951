"""The shuffle accountants where delta nearly covers the whole change: alpha = 0 is only for a delta that does.

One user holds all items that are shuffled, so that nobody hides them: binary randomised response of ``m`` items that
all move by 1 gives ``Bin(m, p)`` against ``Bin(m, 1 - p)``, whose divergence is a sum of ``m + 1`` terms. An accountant
that forgets a factor ``m``, or a half, says alpha = 0 there.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom

from emdp.privacy import shuffle_alpha
from emdp.privacy.shuffle.items import shuffle_bounds

ROUNDING = 1e-15
"""Of the reference's own sums."""


def divergence(alpha: float, m: int, alpha0: float) -> float:
    chance = 1 / (1 + math.exp(-alpha0))
    counts = np.arange(m + 1)
    one, other = binom.pmf(counts, m, chance), binom.pmf(counts, m, 1 - chance)
    return float(np.maximum(one - math.exp(alpha) * other, 0.0).sum())


@pytest.mark.parametrize("alpha0", [0.02, 0.4])
@pytest.mark.parametrize("m", [2, 6])
@pytest.mark.parametrize("part", [0.6, 0.999])
def test_every_bound_holds_just_below_the_total_variation(m: int, alpha0: float, part: float) -> None:
    delta = part * divergence(0.0, m, alpha0)
    for bound in shuffle_bounds(alpha0, m, m, delta, 1.0):
        if bound.alpha is not None:
            assert bound.alpha > 0, bound.method
            assert divergence(bound.alpha, m, alpha0) <= bound.delta * (1 + 1e-9) + ROUNDING, bound.method
    assert divergence(shuffle_alpha(alpha0, m, m, delta), m, alpha0) <= delta * (1 + 1e-9)


def test_a_delta_that_covers_every_step_leaves_nothing_to_pay() -> None:
    assert shuffle_alpha(0.05, 2, 2, 0.1, 1.0) == 0.0
    assert divergence(0.0, 2, 0.05) < 0.1
