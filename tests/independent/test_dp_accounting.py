"""Prices of events against Google's dp_accounting, for every event that both know.

Ours: ``gaussian_alpha``, ``tight``, ``compose``, ``LossPairs`` and the randomizers' ``alpha0``. Theirs: loss
distributions (PLD) and Renyi divergences (RDP) of ``GaussianDpEvent``, ``LaplaceDpEvent``, ``ZCDpEvent``,
``RandomizedResponseDpEvent``, ``ComposedDpEvent``, ``SelfComposedDpEvent``, and the PLD constructors of discrete
Laplace and discrete Gaussian noise, of ``(epsilon, delta)`` guarantees and of any two mass functions. Poisson sampling
of Gaussian noise is in ``tests/experiments/test_compressed.py``, the conversion of Renyi divergences in
``tests/privacy/shuffle/test_renyi.py``. Randomized response is composed call by call, never with a count: their branch
for it drops the count, which is shown here so that a release that mends it is noticed.
"""

import math

import numpy as np
import pytest
from dp_accounting import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    NeighboringRelation,
    RandomizedResponseDpEvent,
    SelfComposedDpEvent,
    ZCDpEvent,
)
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import common as pld_common
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant

from emdp.noise.discrete_gaussian import discrete_gaussian_log_pmf
from emdp.noise.discrete_laplace import discrete_laplace_log_pmf
from emdp.privacy import (
    EmdDP,
    GaussianEvent,
    GuaranteeEvent,
    LaplaceEvent,
    compose,
    gaussian_alpha,
    gaussian_sigma,
    laplace_scale,
    tight,
)
from emdp.privacy.account.losses import LossPairs, smallest_level
from emdp.randomizers import KRR, Exponential, Geometric, HadamardResponse, OneBit, Optimal
from emdp.spaces import Categories, Distances

GRID = 2.0**-60
INTERVAL = 1e-4
"""Of their loss distributions."""

STEPS = np.array([[0.0, 0.3, 1.0], [0.3, 0.0, 0.7], [1.0, 0.7, 0.0]])
LINE = Distances("item", ["a", "b", "c"], STEPS)
LABELS = Categories("item", list("abcde"))


def laplace(alpha: float) -> LaplaceEvent:
    return LaplaceEvent(alpha, 1, laplace_scale(alpha, 1.0), 1.0, GRID, 1e-17)


def gaussian(sigma: float, delta: float = 1e-9) -> GaussianEvent:
    alpha = gaussian_alpha(1 / sigma, delta)
    return GaussianEvent(alpha, delta, 1, max(sigma, gaussian_sigma(alpha, delta)), 1.0, GRID, 0.0, 0.0)


def theirs(*events: DpEvent, delta: float) -> float:
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    if any(isinstance(event, RandomizedResponseDpEvent) for event in events):
        relation = NeighboringRelation.REPLACE_ONE
    accountant = PLDAccountant(relation, value_discretization_interval=INTERVAL)
    for event in events:
        accountant.compose(event)
    return float(accountant.get_epsilon(delta))


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_gaussian_noise(sigma: float, delta: float) -> None:
    ours = gaussian_alpha(1 / sigma, delta)
    assert theirs(GaussianDpEvent(sigma), delta=delta) == pytest.approx(ours, abs=3 * INTERVAL)
    accountant = RdpAccountant()
    accountant.compose(GaussianDpEvent(sigma))
    assert ours <= accountant.get_epsilon(delta) <= 1.6 * ours + 0.1


@pytest.mark.parametrize("rho", [0.01, 0.5])
def test_zero_concentrated_noise(rho: float) -> None:
    """Gaussian noise has ``rho = mu^2/2``, and no mechanism of that ``rho`` may be priced below it."""
    accountant = RdpAccountant()
    accountant.compose(ZCDpEvent(rho))
    ours = gaussian_alpha(math.sqrt(2 * rho), 1e-6)
    assert ours <= accountant.get_epsilon(1e-6) <= 1.3 * ours


@pytest.mark.parametrize("scale", [0.5, 1.0, 8.0])
@pytest.mark.parametrize("delta", [0.1, 1e-4])
def test_laplace_noise(scale: float, delta: float) -> None:
    ours = smallest_level(LossPairs(laplace=(1 / scale,)), delta)
    assert theirs(LaplaceDpEvent(scale), delta=delta) == pytest.approx(ours, abs=2 * INTERVAL)


@pytest.mark.parametrize(("scale", "moved"), [(1.0, 1), (3.0, 2), (16.0, 16)])
def test_discrete_laplace_noise(scale: float, moved: int) -> None:
    """The law that our samplers state, their mechanism and the price of the event on its own grid."""
    single = pld.from_discrete_laplace_mechanism(1 / scale, sensitivity=moved, value_discretization_interval=INTERVAL)
    points = np.arange(-2000, 2001)
    mass, shifted = (np.exp([discrete_laplace_log_pmf(int(z) - by, scale) for z in points]) for by in (0, moved))
    for epsilon in (0.0, 0.1, 0.5):
        found = float(np.maximum(mass - math.exp(epsilon) * shifted, 0).sum())
        assert single.get_delta_for_epsilon(epsilon) == pytest.approx(found, abs=2 * INTERVAL)
    assert single.get_epsilon_for_delta(0.0) == pytest.approx(moved / scale, abs=2 * INTERVAL)
    # a statistic that moves by whole steps needs no slack of rounding
    event = LaplaceEvent(
        math.nextafter(moved / scale, 9.0), 1, scale, float(moved), 1.0, math.nextafter(1 / scale, 9.0)
    )
    assert event.guarantee.level + 2 * INTERVAL >= single.get_epsilon_for_delta(0.0)
    total = tight([event] * 3, 0.01)
    composed = single.self_compose(3).get_epsilon_for_delta(0.01)
    assert composed <= total.guarantee.level + total.slack_epsilon + 6 * INTERVAL


@pytest.mark.parametrize(("sigma", "moved"), [(1.0, 1), (4.0, 3), (20.0, 20)])
def test_discrete_gaussian_noise(sigma: float, moved: int) -> None:
    single = pld.from_discrete_gaussian_mechanism(sigma, sensitivity=moved, value_discretization_interval=INTERVAL)
    points = np.arange(-400, 401)
    mass, shifted = (
        np.exp(discrete_gaussian_log_pmf(0, sigma) - 0.5 * ((points - by) / sigma) ** 2) for by in (0, moved)
    )
    for epsilon in (0.0, 0.5, 1.5):
        found = float(np.maximum(mass - math.exp(epsilon) * shifted, 0).sum())
        assert single.get_delta_for_epsilon(epsilon) == pytest.approx(found, abs=2 * INTERVAL)
    # On a fine grid it is the continuous profile, which is what our events are priced by.
    if sigma >= 4:
        assert single.get_epsilon_for_delta(1e-3) == pytest.approx(gaussian_alpha(moved / sigma, 1e-3), rel=0.02)


@pytest.mark.parametrize("alpha0", [0.5, 2.0, 6.0])
def test_randomized_response(alpha0: float) -> None:
    """Their ``noise_parameter`` is the chance of a uniform bucket; ours is the weights' own ``alpha0``."""
    randomizer = KRR(LABELS, alpha0)
    noise = 5.0 * float(randomizer.matrix[0, 1])
    event = RandomizedResponseDpEvent(noise, 5)
    assert theirs(event, delta=0.0) == pytest.approx(randomizer.alpha0, abs=2 * INTERVAL)
    for delta in (0.01, 0.1):
        exact = max(0.0, math.log((randomizer.matrix[0, 0] - delta) / randomizer.matrix[0, 1]))
        assert theirs(event, delta=delta) == pytest.approx(exact, abs=2 * INTERVAL)


@pytest.mark.parametrize("level", [0.3, 1.0])
def test_randomized_responses_compose_call_by_call(level: float) -> None:
    """A pure guarantee is dominated by two buckets, so its composition is theirs, one call each."""
    noise = 2 / (math.exp(level) + 1)
    events = [RandomizedResponseDpEvent(noise, 2)] * 8
    ours = tight([GuaranteeEvent(EmdDP(level))] * 8, 1e-3).guarantee.level
    assert theirs(*events, delta=1e-3) == pytest.approx(ours, abs=16 * INTERVAL)


def test_why_never_with_a_count() -> None:
    """Known fault of dp_accounting 0.6: ten responses with a count cost as much as one."""
    counted, called = (PLDAccountant(NeighboringRelation.REPLACE_ONE) for _ in range(2))
    event = RandomizedResponseDpEvent(0.5, 2)
    counted.compose(event, 10)
    for _ in range(10):
        called.compose(event)
    assert counted.get_epsilon(1e-6) < 0.2 * called.get_epsilon(1e-6)
    level = math.log(3)
    assert called.get_epsilon(1e-6) == pytest.approx(
        smallest_level(LossPairs(others=((level, 0.0),) * 10), 1e-6), rel=1e-3
    )


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_compositions(delta: float) -> None:
    event = ComposedDpEvent(
        [
            SelfComposedDpEvent(GaussianDpEvent(4.0), 5),
            SelfComposedDpEvent(LaplaceDpEvent(5.0), 4),
            GaussianDpEvent(2.0),
        ]
    )
    batch = [*[gaussian(4.0)] * 5, *[laplace(0.2)] * 4, gaussian(2.0)]
    found = theirs(event, delta=delta)
    ours = tight(batch, delta).guarantee.level
    assert found - 12 * INTERVAL <= ours <= found * 1.001 + 12 * INTERVAL
    assert compose(batch, delta).guarantee.level >= found - 12 * INTERVAL


@pytest.mark.parametrize(("count", "sigma"), [(10, 5.0), (400, 40.0)])
def test_self_composition_of_gaussians(count: int, sigma: float) -> None:
    found = theirs(SelfComposedDpEvent(GaussianDpEvent(sigma), count), delta=1e-6)
    ours = compose([gaussian(sigma)] * count, 1e-6).guarantee.level
    assert ours == pytest.approx(found, rel=5e-3)


def test_guarantees_with_a_delta() -> None:
    single = pld.from_privacy_parameters(pld_common.DifferentialPrivacyParameters(0.4, 1e-7))
    found = single.self_compose(12).get_epsilon_for_delta(1e-5)
    ours = tight([GuaranteeEvent(EmdDP(0.4, 1e-7))] * 12, 1e-5).guarantee.level
    assert ours == pytest.approx(found, abs=2e-3)


RANDOMIZERS = {
    "KRR": KRR(LABELS, 1.5),
    "Exponential": Exponential(LINE, 4.0),
    "Geometric": Geometric(LINE, 4.0),
    "HadamardResponse": HadamardResponse(LABELS, 1.5),
    "OneBit": OneBit(LINE, 4.0, [0.0, 0.3, 1.0]),
    "Optimal": Optimal(LINE, 4.0),
}


@pytest.mark.parametrize("name", RANDOMIZERS)
def test_item_randomizers_by_their_mass_functions(name: str) -> None:
    """Their epsilon at delta 0 of two rows, over the distance, at its largest, is our ``alpha0``."""
    randomizer = RANDOMIZERS[name]
    matrix, apart = randomizer.matrix, randomizer.items.matrix
    worst = 0.0
    for x, z in zip(*np.nonzero(np.triu(apart)), strict=True):
        rows = [dict(enumerate(np.log(matrix[item]).tolist())) for item in (x, z)]
        found = pld.from_two_probability_mass_functions(*rows, value_discretization_interval=INTERVAL, symmetric=False)
        epsilon = found.get_epsilon_for_delta(0.0)
        assert epsilon <= randomizer.alpha0 * apart[x, z] + 2 * INTERVAL
        worst = max(worst, (epsilon - INTERVAL) / apart[x, z])
    assert worst == pytest.approx(randomizer.alpha0, rel=2e-3)
