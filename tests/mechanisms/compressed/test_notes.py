"""Numbers of compressed-estimation.md and compressed-replace-one.md: prices as published, and the sound ones beside."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq

from emdp.mechanisms.compressed.coordinates import SampledCoordinates
from emdp.mechanisms.compressed.signs import SignRounds
from emdp.privacy.calibration import gaussian_sigma
from emdp.privacy.sampled_gaussian import sampled_gaussian_epsilon
from emdp.privacy.shuffle.place_sign import place_sign_epsilon

USERS, DELTA = 500, 1e-5


def closed_form(epsilon: float, delta: float, d: int, bits: int, n: int) -> tuple[float, ...]:
    """Return ``e2, e1, d1``, both sigmas and the error of the published theorem with its constants, ``d c^2 = 1``."""
    log, rate = math.log(2 / delta), bits / d
    e2 = min(1.0, (math.sqrt(2 * d * log + 8 * epsilon * d) - math.sqrt(2 * d * log)) / (4 * d))
    e1 = min(1.0, math.log1p(math.expm1(e2) / rate))
    d1 = delta / (2 * bits)
    one = math.sqrt(2 * math.log(1.25 / d1) / d) / e1
    sigma = one / (n * rate)
    return e2, e1, d1, one, sigma, (1 / rate - 1) / n + d * sigma**2


@pytest.mark.parametrize(
    ("given", "noted"),
    [
        ((1.0, 1e-5, 500, 50, 500), (0.00841099, 0.0810864, 1e-7, 3.153, 0.0630601, 2.0063)),
        ((0.5, 1e-5, 500, 50, 500), (0.00435407, 0.0427104, 1e-7, 5.98603, 0.119721, 7.1845)),
        ((1.0, 1e-6, 4096, 256, 10_000), (0.00272427, 0.042722, 1.953e-9, 2.32908, 0.00372653, 0.058381)),
    ],
)
def test_the_published_theorem_with_its_constants_and_how_much_less_is_enough(
    given: tuple[float, float, int, int, int], noted: tuple[float, ...]
) -> None:
    epsilon, delta, d, bits, n = given
    found = closed_form(*given)
    assert found[:5] == pytest.approx(noted[:5], rel=3e-4)
    assert found[5] == pytest.approx(noted[5], rel=3e-3)
    if d == 500:
        # Sound, and for a replaced user.
        own = SampledCoordinates(d, 1 / math.sqrt(d), n, epsilon, delta, bits=bits)
        assert own.squared_error(_vectors(d)) < noted[5] / 10


def _vectors(d: int) -> np.ndarray:
    return np.full((USERS, d), 1 / math.sqrt(d))


@pytest.mark.parametrize(
    ("bits", "epsilon", "sigma", "error"),
    [(50, 1.0, 0.014989, 0.13033), (50, 0.5, 0.028387, 0.42090), (500, 1.0, 0.014991, 0.11236)],
)
def test_replacing_a_user_has_the_noted_noise_less_its_rounding(
    bits: int, epsilon: float, sigma: float, error: float
) -> None:
    own = SampledCoordinates(500, 1 / math.sqrt(500), USERS, epsilon, DELTA, bits=bits)
    # The note's losses are rounded up: half a percent at epsilon 1, twice that at a half.
    assert 0.985 * sigma < own.sigma < sigma
    assert 0.97 * error < own.squared_error(_vectors(500)) < error
    assert 500 * own.sigma**2 + (500 / bits - 1) / USERS == pytest.approx(own.squared_error(_vectors(500)), rel=1e-6)


def test_whole_vectors_have_the_exact_profile() -> None:
    sigma = gaussian_sigma(1.0, DELTA, 2 / USERS)
    assert sigma == pytest.approx(0.0149225, abs=1e-7)
    assert 500 * sigma**2 == pytest.approx(0.11134, abs=5e-6)
    assert gaussian_sigma(1.0, 1e-6, 1.0) == pytest.approx(4.2247, abs=1e-4)
    errors = [1000 * gaussian_sigma(1.0, 1e-6, change / 2000) ** 2 for change in (1.0, 2.0)]
    assert errors == pytest.approx([0.00446, 0.0178], abs=5e-5)


@cache
def published(d: int, epsilon: float, bits: int) -> float:
    """Return the multiplier of the published price: Renyi, one user more or less."""
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.rdp import RdpAccountant

    def spent(z: float) -> float:
        accountant = RdpAccountant(orders=[*range(2, 65), 80, 96, 128, 192, 256])
        accountant.compose(PoissonSampledDpEvent(bits / d, GaussianDpEvent(z)), d)
        return float(accountant.get_epsilon(DELTA)) - epsilon

    return float(brentq(spent, 1.0, 2000.0, rtol=1e-4))


# compressed-estimation.md 5; b, then the squared errors.
TARGETS = [
    (500, 0.1, (2.333, 2.321, 2.314, 2.311)), (500, 0.5, (0.1369, 0.1261, 0.1208, 0.1176)),
    (500, 1.0, (0.0515, 0.0410, 0.0358, 0.0327)), (500, 2.0, (0.0277, 0.0174, 0.0123, 0.00924)),
    (5000, 0.5, (1.406, 1.285, 1.228, 1.176)), (5000, 1.0, (0.5516, 0.4335, 0.3781, 0.3273)),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("d", "epsilon", "noted"), TARGETS)
def test_errors_of_the_published_figure_by_its_prices(d: int, epsilon: float, noted: tuple[float, ...]) -> None:
    for bits, error in zip((50, 100, 200, d), noted, strict=True):
        z = published(d, epsilon, bits)
        found = (d / bits - 1) / USERS + (z / (USERS * bits / d)) ** 2
        # The largest orders are a choice: below epsilon 0.1 they matter.
        assert found == pytest.approx(error, rel=0.01 if epsilon > 0.2 else 0.05)


@pytest.mark.slow
def test_the_published_price_is_half_of_what_a_replacement_needs() -> None:
    """compressed-estimation.md 6.2: epsilon 1.94 (sampled) and 1.97 (whole) where 1 is said."""
    for bits, noted in ((50, 1.94), (500, 1.97)):
        z = published(500, 1.0, bits)
        found = sampled_gaussian_epsilon(z, bits / 500, 500, DELTA)
        assert found == pytest.approx(noted, abs=0.02)
        law = SampledCoordinates(500, 1 / math.sqrt(500), USERS, 1.0, DELTA, bits=bits)
        assert 1.8 * z < law.multiplier < 2.0 * z


@pytest.mark.slow
def test_loss_distributions_are_sharper_than_renyi_by_a_twelfth() -> None:
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(PoissonSampledDpEvent(0.1, GaussianDpEvent(published(500, 1.0, 50))), 500)
    assert accountant.get_epsilon(DELTA) == pytest.approx(0.916, abs=5e-3)


def _fmt21(n: int, epsilon0: float, delta: float) -> float:
    grown, log = math.exp(epsilon0), math.log(4 / delta)
    return math.log1p((grown - 1) / (grown + 1) * (8 * math.sqrt(grown * log / n) + 8 * grown / n))


def _fmt23(n: int, epsilon0: float, delta: float) -> float:
    grown, log = math.exp(epsilon0), math.log(4 / delta)
    return math.log1p((grown - 1) * (4 * math.sqrt(2 * log / ((grown + 1) * n)) + 4 / n))


@pytest.mark.parametrize(
    ("n", "epsilon0", "first", "second", "exact"),
    [
        (500, 0.25, 0.1816, 0.1720, 0.0405), (500, 1.0, None, 0.638, 0.2157), (1000, 1.0, 0.566, 0.488, 0.1487),
        (10**4, 1.0, 0.214, 0.180, 0.0432), (10**4, 2.0, 0.501, 0.398, 0.1144),
    ],
)  # fmt: skip
def test_shuffled_signs_lose_a_quarter_to_a_half_of_both_closed_forms(
    n: int, epsilon0: float, first: float | None, second: float, exact: float
) -> None:
    assert first is None or _fmt21(n, epsilon0, 1e-6) == pytest.approx(first, abs=6e-4)
    assert _fmt23(n, epsilon0, 1e-6) == pytest.approx(second, abs=6e-4)
    assert place_sign_epsilon(epsilon0, n, 1e-6) == pytest.approx(exact, abs=6e-5)


def test_mixing_helps_above_the_point_at_which_it_was_said_to_end() -> None:
    """Figure 2 of the paper says "no amplification for epsilon >= 0.8", at 500 users and a delta of 1e-5."""
    for epsilon0, noted in ((2.5, 0.74), (3.0, 1.10)):
        assert place_sign_epsilon(epsilon0, USERS, DELTA) == pytest.approx(noted, abs=6e-3)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("rounds", "epsilon0", "error", "by_closed_form", "its_error"),
    [
        (1, 3.651, 0.554, 0.4863, 8.79), (16, 1.685, 0.0662, 0.1148, 9.50), (64, 0.980, 0.0379, 0.0556, 10.1),
        (256, 0.540, 0.0281, 0.0269, 10.8),
    ],
)  # fmt: skip
def test_rounds_of_signs_are_at_least_as_strong_as_noted(
    rounds: int, epsilon0: float, error: float, by_closed_form: float, its_error: float
) -> None:
    """compressed-estimation.md 4: 2,000 users, 1,000 coordinates; splitting into rounds pays by a sharp price alone."""

    def squared(level: float) -> float:
        return 1000 / (math.tanh(level / 2) ** 2 * 2000 * rounds)

    def spent(level: float) -> float:
        one = _fmt23(2000, level, 1e-6 / (2 * rounds))
        return rounds * one * math.expm1(one) + one * math.sqrt(2 * rounds * math.log(2 / 1e-6)) - 1.0

    assert squared(epsilon0) == pytest.approx(error, rel=4e-3)
    # With several rounds strong composition; a single one needs none, and is noted with it.
    assert brentq(spent, 1e-4, 3.0) == pytest.approx(by_closed_form, rel=2e-3)
    assert squared(by_closed_form) == pytest.approx(its_error, rel=6e-3)
    own = SignRounds(1000, 1 / math.sqrt(1000), 2000, 1.0, 1e-6, bits=11 * rounds)
    assert own.rounds == rounds
    assert epsilon0 * (1 - 1e-3) < own.epsilon0 < 1.25 * epsilon0
    assert own.squared_error() < error * 1.003
