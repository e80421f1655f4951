"""The samplers of both scalar laws beside opendp's, a second implementation that shares no code, with stated power.

opendp follows Canonne, Kamath and Steinke 2020 (arXiv 2004.00010, algorithms 1 to 3) coin by coin in rational numbers;
ours inverts and rejects with 64 bits and decides the rest exactly. 20,000 draws of each, in cells of about a twentieth
of the law or more: at p < 1e-9 equal scales pass, and 0.7 and 1.3 times the scale fail on either side.
"""

import numpy as np
import pytest
import scipy.stats
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import enable_features

from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.noise.discrete_laplace import draw_discrete_laplace
from emdp.testing import seeded

enable_features("contrib")

DRAWS, THRESHOLD, CELLS = 20_000, 1e-9, 20
OURS = {"laplace": draw_discrete_laplace, "gaussian": draw_discrete_gaussian}
both_laws = pytest.mark.parametrize("law", ["laplace", "gaussian"])


def ours(law: str, scale: float) -> list[int]:
    with seeded(7):
        return OURS[law](scale, DRAWS)


def theirs(law: str, scale: float) -> list[int]:
    integers = vector_domain(atom_domain(T="i64"))
    if law == "laplace":
        return list(make_laplace(integers, l1_distance(T="i64"), scale=scale)([0] * DRAWS))
    return list(make_gaussian(integers, l2_distance(T="f64"), scale=scale)([0] * DRAWS))


def p_value(first: list[int], second: list[int]) -> float:
    """p-value of two samples from one law: chi-squared on cells that the pooled sample's quantiles bound."""
    samples = [np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)]
    ends = np.unique(np.quantile(np.concatenate(samples), np.arange(1, CELLS) / CELLS, method="lower"))
    table = [np.bincount(np.searchsorted(ends, sample), minlength=ends.size + 1) for sample in samples]
    return float(scipy.stats.chi2_contingency(np.array(table)).pvalue)


@pytest.mark.quarter
@both_laws
@pytest.mark.parametrize("scale", [0.5, 3.0, 16.7, 1e12 / 3])
def test_both_draw_from_one_law(law: str, scale: float) -> None:
    assert p_value(ours(law, scale), theirs(law, scale)) > THRESHOLD


@pytest.mark.quarter
@both_laws
@pytest.mark.parametrize("factor", [0.7, 1.3])
@pytest.mark.parametrize("scale", [0.5, 1e12 / 3])
def test_another_scale_is_seen_on_either_side(law: str, scale: float, factor: float) -> None:
    assert p_value(ours(law, factor * scale), theirs(law, scale)) < THRESHOLD
    assert p_value(ours(law, scale), theirs(law, factor * scale)) < THRESHOLD
