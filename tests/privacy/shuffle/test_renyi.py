"""Renyi divergences of shuffled messages: the theory's tables, exact sums, order of the bounds, conversions."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.privacy.shuffle.renyi import (
    ORDERS,
    clone_law,
    renyi_clones,
    renyi_delta,
    renyi_epsilon,
    renyi_shuffle,
    renyi_shuffle_bound,
    renyi_shuffle_lower,
    renyi_subsampled,
    renyi_subsampled_lower,
    sampled_tilt,
)
from emdp.privacy.shuffle.renyi_law import RatioLaw, ratio_law
from emdp.privacy.shuffle.renyi_product import product_epsilon

TABLE = [
    (1000, 0.5, 2, 8.42061e-4, 4.20751e-4, 2.55219e-4),
    (1000, 0.5, 10, 7.0034e-3, 2.09905e-3, 1.27436e-3),
    (1000, 1.0, 2, 5.8857e-3, 2.94814e-3, 1.08557e-3),
    (1000, 1.0, 8, 0.059225, 0.0116564, 4.32355e-3),
    (10**4, 0.5, 4, 1.76806e-4, 8.41614e-5, 5.1048e-5),
    (10**4, 0.5, 32, 2.44058e-3, 6.72763e-4, 4.08189e-4),
    (10**4, 1.0, 16, 0.0108498, 2.35517e-3, 8.68002e-4),
    (10**4, 2.0, 8, 0.15331, 0.0160369, 2.20428e-3),
    (10**6, 0.5, 16, 6.97248e-6, 3.367e-6, 2.04193e-6),
    (10**6, 2.0, 16, 1.47706e-3, 3.265e-4, 4.41927e-5),
]


@pytest.mark.quarter
@pytest.mark.parametrize(("n", "epsilon0", "order", "upper", "mixture", "lower"), TABLE)
def test_the_table_of_the_theory(
    n: int, epsilon0: float, order: int, upper: float, mixture: float, lower: float
) -> None:
    assert renyi_shuffle_bound(order, n, epsilon0) == pytest.approx(upper, rel=6e-6)
    # the table's lower bound at a million users has lost its last digits
    assert renyi_shuffle_lower(order, n, epsilon0) == pytest.approx(lower, rel=6e-6 if n < 10**6 else 5e-5)
    # the theory's own blocks lose 2e-4 at a million users; with many blocks the digits agree (test of full size)
    found = renyi_shuffle(order, n, epsilon0)
    assert mixture * (1 - 3e-4) <= found <= mixture * (1 + 1e-3)
    sharper = renyi_clones(order, n, epsilon0)
    assert lower < sharper < found
    assert sharper == pytest.approx(found / math.cosh(epsilon0 / 2) ** 2, rel=0.05)


@pytest.mark.parametrize(
    ("n", "epsilon0", "order", "value"),
    [(1000, 1.0, 1.5, 2.21328e-3), (200, 1.0, 4.0, 0.0287598), (100, 2.0, 3.0, 0.438521), (1000, 1.0, 8.0, 0.0116564)],
)
def test_many_blocks_give_the_printed_digits(n: int, epsilon0: float, order: float, value: float) -> None:
    assert renyi_shuffle(order, n, epsilon0, blocks=800) == pytest.approx(value, rel=6e-6)


@pytest.mark.full
@pytest.mark.parametrize(("n", "epsilon0", "order", "upper", "mixture", "lower"), TABLE[:8])
def test_many_blocks_give_every_printed_digit(
    n: int, epsilon0: float, order: int, upper: float, mixture: float, lower: float
) -> None:
    assert renyi_shuffle(order, n, epsilon0, blocks=3000) == pytest.approx(mixture, rel=6e-6)


def exact_mixture(order: int, n: int, odds: Fraction) -> mpmath.mpf:
    """``E_l E_l`` of LSU 5.1 with ``e^epsilon0 = odds``, as a fraction."""
    clone, chance, total = 1 / odds, 1 / (odds + 1), Fraction(0)
    for others in range(n):
        weight = math.comb(n - 1, others) * clone**others * (1 - clone) ** (n - 1 - others)
        L = others + 1
        for k in range(L + 1):
            mass = math.comb(L, k) * chance**k * (1 - chance) ** (L - k)
            total += weight * mass * ((k * odds + (L - k) / odds) / L) ** order
    return mpmath.mpf(total.numerator) / total.denominator


def exact_pair(order: float, others: int, tilt: float, clone: float) -> mpmath.mpf:
    """``E (P/Q)^order`` of the clone pair by its definition: C, A and B."""
    p, total = mpmath.exp(tilt), mpmath.mpf(0)
    for c in range(others + 1):
        weight = mpmath.binomial(others, c) * mpmath.mpf(clone) ** c * (1 - mpmath.mpf(clone)) ** (others - c)
        for a in range(c + 2):
            low = mpmath.binomial(c, a - 1) / mpmath.mpf(2) ** c if a >= 1 else mpmath.mpf(0)
            high = mpmath.binomial(c, a) / mpmath.mpf(2) ** c
            first, second = (p * low + high) / (p + 1), (low + p * high) / (p + 1)
            total += weight * first**order * second ** (1 - order)
    return total


@pytest.mark.parametrize(
    "n", [2, 5, pytest.param(30, marks=pytest.mark.full), pytest.param(50, marks=pytest.mark.full)]
)
@pytest.mark.parametrize("odds", [Fraction(11, 10), Fraction(3), Fraction(30)])
def test_the_mixture_is_rounded_up_and_close(n: int, odds: Fraction) -> None:
    for order in (2, 7, 40):
        with mpmath.workdps(60):
            exact = float(mpmath.log(exact_mixture(order, n, odds)) / (order - 1))
        found = renyi_shuffle(order, n, math.log(odds), blocks=400)
        assert exact <= found <= exact * (1 + 2e-5)


@pytest.mark.parametrize("others", [0, 1, 12])
@pytest.mark.parametrize(("tilt", "clone"), [(0.05, 0.9), (1.0, math.exp(-1)), (3.0, 0.02), (0.3, 0.3)])
def test_the_pair_is_rounded_up_and_close(others: int, tilt: float, clone: float) -> None:
    law = ratio_law(others, tilt, clone, blocks=400)
    for order in (1.3, 2.0, 15.5, 120.0):
        with mpmath.workdps(60):
            exact = float(mpmath.log(exact_pair(order, others, tilt, clone)) / (order - 1))
        assert exact <= law.renyi(order) <= min(exact * (1 + 2e-5), tilt)


def test_large_numbers_agree_with_a_plain_sum() -> None:
    from scipy.stats import binom

    others, epsilon0 = 20_000, 1.0
    mean, spread = others / math.e, math.sqrt(others / math.e * (1 - 1 / math.e))
    clones = np.arange(math.floor(mean - 9 * spread), math.ceil(mean + 9 * spread), 9)
    weights = binom.pmf(clones, others, 1 / math.e)
    for order in (2.0, 60.0):
        values = []
        for c in clones:
            a = np.arange(c + 2)
            law, y = binom.pmf(a, c + 1, 0.5), 2 * a / (c + 1) - 1
            t = math.tanh(epsilon0 / 2)
            values.append(np.sum(law * (1 + t * y) ** order * (1 - t * y) ** (1 - order)) - 1)
        plain = math.log1p(np.dot(weights, values) / weights.sum()) / (order - 1)
        assert plain * (1 - 2e-5) <= renyi_clones(order, others + 1, epsilon0) <= plain * (1 + 1e-3)


@pytest.mark.parametrize("epsilon0", [0.7, *(pytest.param(e, marks=pytest.mark.full) for e in (0.05, 2.5, 6.0))])
def test_bounds_are_in_order_monotone_and_capped(epsilon0: float) -> None:
    sizes, orders = (2, 10, 300, 10**5), (1.2, 2.0, 5.5, 40.0, 700.0)
    found = np.array([[renyi_shuffle(order, n, epsilon0) for order in orders] for n in sizes])
    pair = np.array([[renyi_clones(order, n, epsilon0) for order in orders] for n in sizes])
    upper = np.array([[renyi_shuffle_bound(order, n, epsilon0) for order in orders] for n in sizes])
    lower = np.array([[renyi_shuffle_lower(order, n, epsilon0) for order in orders] for n in sizes])
    assert (lower <= pair * (1 + 1e-9)).all()
    # at large orders the mixture may be the smaller: neither law is above the other
    assert (pair[:, :2] <= found[:, :2] * (1 + 1e-3)).all()
    assert (found <= upper * (1 + 1e-3)).all()
    assert max(found.max(), pair.max(), upper.max()) <= epsilon0
    for table in (found, pair):
        assert (np.diff(table, axis=0) <= 1e-12).all()
        assert (np.diff(table, axis=1) >= -1e-12).all()
    stronger = np.array([[renyi_clones(order, n, epsilon0 * 1.02) for order in orders] for n in sizes])
    assert (stronger >= pair).all()
    binary = np.array([[renyi_clones(order, n, epsilon0, randomizer="binary") for order in orders] for n in sizes])
    assert (lower <= binary * (1 + 1e-9)).all()
    assert (binary <= pair * (1 + 1e-6)).all()


@pytest.mark.parametrize(
    ("n", "k", "epsilon0", "order", "upper", "lower"),
    [
        (10**6, 10**3, 2.0, 8, 1.3409e-6, 2.2098e-8),
        (10**6, 10**4, 2.0, 8, 1.43686e-5, 2.2098e-7),
        (60_000, 10**4, 1.5, 6, 1.1033e-3, 2.2541e-5),
    ],
)
def test_the_sampled_table(n: int, k: int, epsilon0: float, order: int, upper: float, lower: float) -> None:
    assert renyi_subsampled(order, n, k, epsilon0) == pytest.approx(upper, rel=1e-5)
    assert renyi_subsampled_lower(order, n, k, epsilon0) == pytest.approx(lower, rel=2e-5)
    assert lower < renyi_clones(order, n, epsilon0, sampled=k) < upper


def test_sampling_all_is_no_sampling() -> None:
    assert renyi_clones(5.0, 50, 1.0, sampled=50) == renyi_clones(5.0, 50, 1.0)
    assert sampled_tilt(1.0, 50, 50) == 1.0
    assert renyi_subsampled_lower(5.0, 50, 50, 1.0) == renyi_shuffle_lower(5.0, 50, 1.0)
    # one message of 50 users: less than by what is known of its strength alone
    assert renyi_clones(5.0, 50, 1.0, sampled=1) < 0.6 * ratio_law(0, sampled_tilt(1.0, 50, 1), 0.5).renyi(5.0)


def sampled_release(laws: np.ndarray, users: tuple[int, ...], k: int) -> dict[tuple[int, ...], float]:
    """The multiset of the messages of a uniform sample of k users, in full."""
    found: dict[tuple[int, ...], float] = {}
    samples = list(itertools.combinations(users, k))
    for sample in samples:
        for messages in itertools.product(range(laws.shape[1]), repeat=k):
            chance = math.prod(laws[user, message] for user, message in zip(sample, messages, strict=True))
            key = tuple(sorted(messages))
            found[key] = found.get(key, 0.0) + chance / len(samples)
    return found


@pytest.mark.parametrize(("outputs", "k", "epsilon0"), [(2, 2, 1.0), (3, 1, 2.0), (3, 2, 1.5), (2, 3, 3.0)])
def test_sampled_shuffles_in_full_are_below_the_bound(outputs: int, k: int, epsilon0: float) -> None:
    laws = np.full((outputs, outputs), 1.0) + np.eye(outputs) * math.expm1(epsilon0)
    laws /= laws.sum(axis=1, keepdims=True)
    n, worst = 4, dict.fromkeys((2.0, 9.0), 0.0)
    for others in itertools.combinations_with_replacement(range(outputs), n - 1):
        for one, two in itertools.permutations(range(outputs), 2):
            first, second = (sampled_release(laws, (*others, own), k) for own in (one, two))
            for order in worst:
                moment = sum(first[key] ** order * second[key] ** (1 - order) for key in first)
                worst[order] = max(worst[order], math.log(moment) / (order - 1))
    for order, value in worst.items():
        assert value <= renyi_clones(order, n, epsilon0, sampled=k)


COMPOSED = [
    (10**5, 0.5, 10**4, 1e-8, 1.7123, 1.1118, 0.8549),
    (10**6, 0.5, 10**4, 1e-8, 0.5112, 0.3333, 0.2568),
    (10**6, 0.5, 10**5, 1e-8, 1.6398, 1.1117, 0.8549),
    (10**6, 2.0, 10**4, 1e-8, 6.4236, 3.7268, 1.2830),
    (10**5, 1.0, 100, 1e-6, 0.4788, 0.2248, 0.1322),
    (10**4, 1.0, 1, 1e-6, 0.1197, 0.0646, 0.0382),
    (10**5, 2.0, 1, 1e-6, 0.1898, 0.0764, 0.0267),
]
WHOLE = [float(order) for order in (*range(2, 40), *range(40, 601, 6))]


@pytest.mark.parametrize(
    ("n", "epsilon0", "rounds", "delta", "upper", "mixture", "lower"),
    [*COMPOSED[1::2], *(pytest.param(*row, marks=pytest.mark.full) for row in COMPOSED[::2])],
)
def test_composed_rounds(
    n: int, epsilon0: float, rounds: int, delta: float, upper: float, mixture: float, lower: float
) -> None:
    near = [order for order in WHOLE if order < 250]
    assert renyi_epsilon(lambda a: rounds * renyi_shuffle_bound(a, n, epsilon0), delta, near) == pytest.approx(
        upper, abs=2e-4
    )
    found = renyi_epsilon(lambda a: rounds * renyi_shuffle(a, n, epsilon0), delta, WHOLE)
    assert found == pytest.approx(mixture, abs=1e-4, rel=3e-4)
    below = renyi_epsilon(lambda a: rounds * renyi_shuffle_lower(a, n, epsilon0), delta, WHOLE)
    assert below == pytest.approx(lower, rel=2e-3)
    assert renyi_epsilon(lambda a: rounds * renyi_clones(a, n, epsilon0), delta) < found


@pytest.mark.parametrize(("epochs", "value"), [(20, 1.097), (40, 1.476), (100, 2.221), (200, 3.086)])
def test_composed_sampled_rounds(epochs: int, value: float) -> None:
    orders = [float(order) for order in range(2, 60)]
    found = renyi_epsilon(lambda a: 6 * epochs * renyi_subsampled(a, 60_000, 10_000, 1.5), 1e-5, orders)
    sharper = renyi_epsilon(lambda a: 6 * epochs * renyi_clones(a, 60_000, 1.5, sampled=10_000), 1e-5)
    assert found == pytest.approx(value, rel=2e-3)
    assert sharper < found / 2


def test_composed_sampled_rounds_of_a_million() -> None:
    for k, value in ((10**3, 1.0402), (10**4, 3.5369)):
        orders = [float(order) for order in range(2, 60)]
        found = renyi_epsilon(lambda a, k=k: 1e5 * renyi_subsampled(a, 10**6, k, 2.0), 1e-8, orders)
        assert found == pytest.approx(value, abs=2e-4)


def test_conversions() -> None:
    assert renyi_epsilon(lambda a: 0.01 * a, 1e-5, [30.0]) == pytest.approx(0.545813, abs=1e-6)
    assert renyi_epsilon(lambda a: 0.01 * a, 1e-5, range(2, 100)) == pytest.approx(0.545813, abs=1e-6)
    assert renyi_epsilon(lambda a: 0.0, 0.9) == 0.0
    for delta in (1e-3, 1e-9):
        level = renyi_epsilon(lambda a: 0.02 * a, delta)
        assert renyi_delta(lambda a: 0.02 * a, level) == pytest.approx(delta, rel=1e-6)
    assert renyi_delta(lambda a: 50.0, 0.0) == 1.0
    # LSU 5.2: rho + 2 sqrt(rho ln(1/delta)) holds; the printed 3 max{rho L, sqrt(rho L)} needs delta <= 1/e
    for rho, delta in ((1e-3, 1e-6), (2.0, 1e-6), (0.5, 0.9)):
        exact, depth = renyi_epsilon(lambda a, rho=rho: rho * a, delta), math.log(1 / delta)
        assert exact <= rho + 2 * math.sqrt(rho * depth) + 1e-3 * (rho + 1)
    true = gaussian_level(100.0, 0.9)
    assert true > 3 * max(100 * math.log(1 / 0.9), math.sqrt(100 * math.log(1 / 0.9)))
    assert true <= renyi_epsilon(lambda a: 100 * a, 0.9)


def gaussian_level(rho: float, delta: float) -> float:
    """The exact epsilon of a Gaussian mechanism with Renyi divergence ``order rho``."""
    from emdp.privacy.calibration import gaussian_alpha

    return gaussian_alpha(math.sqrt(2 * rho), delta)


@pytest.mark.parametrize("delta", [1e-3, 1e-8])
def test_conversion_agrees_with_dp_accounting(delta: float) -> None:
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    law = clone_law(10**4, 1.0, "any", None)
    orders = np.array(ORDERS[::3])
    rdp = np.array([20 * law.renyi(float(order)) for order in orders])
    epsilon, _ = compute_epsilon(orders, rdp, delta)
    table = dict(zip(orders.tolist(), rdp.tolist(), strict=True))
    assert renyi_epsilon(table.__getitem__, delta, list(table)) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("rounds", "value"), [(1, 0.182412), (2, 0.263860), (4, 0.381902), (16, 0.802140), (64, 1.696927)]
)
def test_the_product_of_pairs(rounds: int, value: float) -> None:
    # technical-notes 1.3: dp_accounting's loss distributions at an interval of 1e-5
    law = ratio_law(999, 1.0, math.exp(-1) * (1 - 1e-15), blocks=400)
    found = product_epsilon([(law, rounds)], 1e-6)
    assert value * (1 - 3e-4) <= found <= value * (1 + 3e-4)
    assert product_epsilon([(law, 1)] * min(rounds, 4), 1e-6) == pytest.approx(
        product_epsilon([(law, min(rounds, 4))], 1e-6), rel=1e-6
    )


def test_the_product_is_exact_on_small_laws() -> None:
    law = RatioLaw(np.array([-0.5, 0.2, 1.0]), np.log(np.array([0.48, 0.35, 0.17])), math.log(2))
    ratios, masses = 1 + law.values, np.exp(law.log_weights)
    for rounds in (1, 2, 3, 5):
        whole, weight = np.ones(1), np.ones(1)
        for _ in range(rounds):
            whole, weight = np.outer(whole, ratios).ravel(), np.outer(weight, masses).ravel()
        for delta in (0.1, 1e-3):
            found = product_epsilon([(law, rounds)], delta)
            exact = float(np.maximum(whole - math.exp(found), 0) @ weight)
            below = float(np.maximum(whole - math.exp(found - 1e-5), 0) @ weight)
            assert exact <= delta < below


@pytest.mark.parametrize(
    "call",
    [
        lambda: renyi_shuffle(1.0, 10, 1.0),
        lambda: renyi_shuffle(2.0, 1, 1.0),
        lambda: renyi_clones(2.0, 10, 13.0),
        lambda: renyi_clones(2.0, 10, 1.0, randomizer="hadamard"),
        lambda: renyi_clones(2.0, 10, 1.0, sampled=11),
        lambda: renyi_subsampled(2.0, 10, 11, 1.0),
        lambda: renyi_epsilon(lambda a: a, 0.0),
        lambda: renyi_epsilon(lambda a: a, 0.1, [1.0]),
        lambda: renyi_delta(lambda a: a, -1.0),
    ],
)
def test_arguments_are_checked(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError):
        call()
