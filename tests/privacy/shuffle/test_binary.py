"""Shuffled binary messages: exact fractions, every t, the table of the theory, and randomizers that are not binary."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.privacy.shuffle.binary import SLACK, _Count, binary_delta, binary_epsilon, pair_epsilon
from emdp.privacy.shuffle.clone_pair import delta_step
from emdp.privacy.shuffle.place_sign import place_sign_epsilon


def exact_delta(growth: Fraction, n: int, odds: Fraction, ones: int) -> Fraction:
    """The divergence at ``e^epsilon = growth`` by its definition, with ``e^epsilon0 = odds``."""
    p = 1 / (odds + 1)
    law = [Fraction(1)]
    for chance in [1 - p] * ones + [p] * (n - 1 - ones):
        law = [a * (1 - chance) + b * chance for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    first, second = (
        [a * (1 - own) + b * own for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
        for own in (1 - p, p)
    )
    return sum((max(a - growth * b, Fraction(0)) for a, b in zip(first, second, strict=True)), Fraction(0))


def plain_delta(epsilon: float, n: int, epsilon0: float, ones: int) -> float:
    return float(exact_delta(Fraction(math.exp(epsilon)), n, Fraction(math.exp(epsilon0)), ones))


@pytest.mark.quarter
@pytest.mark.parametrize("n", [2, 3, 6, 25])
@pytest.mark.parametrize("epsilon0", [0.2, 1.0, 4.0])
def test_the_divergence_is_exact_and_rounded_up(n: int, epsilon0: float) -> None:
    for ones, part in itertools.product({0, 1, n // 2, n - 1}, (0.0, 0.01, 0.3, 0.7, 0.97)):
        exact, found = plain_delta(part * epsilon0, n, epsilon0, ones), binary_delta(part * epsilon0, n, epsilon0, ones)
        assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-5) + 1e-16


def test_large_counts_agree_with_a_plain_sum() -> None:
    from scipy.stats import binom

    n, epsilon0, ones = 2_000, 1.5, 600
    p, k = 1 / (1 + math.exp(epsilon0)), np.arange(n)
    law = np.convolve(binom.pmf(k[: ones + 1], ones, 1 - p), binom.pmf(k[: n - ones], n - 1 - ones, p))
    first, second = np.convolve(law, [p, 1 - p]), np.convolve(law, [1 - p, p])
    for epsilon in (0.02, 0.1, 0.2):
        plain = np.maximum(first - math.exp(epsilon) * second, 0).sum()
        assert plain * (1 - 1e-9) <= binary_delta(epsilon, n, epsilon0, ones) <= plain * (1 + 1e-5)


def test_the_worst_t_is_not_always_at_an_end() -> None:
    # LSU 5.3 says "worst t = 0 or n - 1"
    deltas = [plain_delta(0.18, 5, 1.0, ones) for ones in range(5)]
    assert max(deltas) == pytest.approx(deltas[3])
    assert max(deltas) > 1.2 * max(deltas[0], deltas[-1])


def worst(epsilon: float, n: int, epsilon0: float) -> list[float]:
    """The divergences over every t, by plain sums in doubles."""
    p, found = 1 / (math.exp(epsilon0) + 1), []
    for ones in range(n):
        law = np.ones(1)
        for chance in [1 - p] * ones + [p] * (n - 1 - ones):
            law = np.convolve(law, [1 - chance, chance])
        gaps = np.convolve(law, [p, 1 - p]) - math.exp(epsilon) * np.convolve(law, [1 - p, p])
        found.append(float(np.maximum(gaps, 0).sum()))
    return found


@pytest.mark.parametrize("n", [2, 3, 5, 9, 40])
@pytest.mark.parametrize("epsilon0", [0.3, 1.0, 3.0])
def test_every_t_is_covered(n: int, epsilon0: float) -> None:
    for delta in (0.1, 1e-3, 1e-7):
        found = binary_epsilon(epsilon0, n, delta)
        assert max(worst(found, n, epsilon0)) <= delta * (1 + 1e-9)
        # no slack at so few users, unless delta covers the total variation
        assert found in (0.0, epsilon0) or found < 1e-9 or max(worst(found * (1 - 1e-5), n, epsilon0)) > delta


TABLE = [
    (1000, 0.5, 0.06269, 0.0569),
    (1000, 1.0, 0.14867, 0.1266),
    (10**4, 1.0, 0.04321, 0.03566),
    (10**4, 3.0, 0.22608, None),
    (10**5, 1.0, 0.01243, 0.01014),
]


@pytest.mark.parametrize(("n", "epsilon0", "clones", "exact"), TABLE)
def test_the_table_of_the_theory(n: int, epsilon0: float, clones: float, exact: float | None) -> None:
    assert place_sign_epsilon(epsilon0, n, 1e-6) == pytest.approx(clones, abs=6e-6)
    ends = max(_Count(n - 1 - ones, ones, epsilon0).epsilon(1e-6, 0.0) for ones in (0, n - 1))
    assert exact is None or ends == pytest.approx(exact, abs=6e-5 if exact > 0.04 else 6e-6)
    found = binary_epsilon(epsilon0, n, 1e-6)
    assert ends * (1 - 1e-6) <= found <= ends * (1 + SLACK + 1e-4)
    assert found < place_sign_epsilon(epsilon0, n, 1e-6)


def test_the_middle_of_the_table() -> None:
    for epsilon0, value in ((0.5, 0.0557), (1.0, 0.1208)):
        middle = max(_Count(999 - ones, ones, epsilon0).epsilon(1e-6, 0.0) for ones in (499, 500))
        assert middle == pytest.approx(value, abs=6e-5)


def test_the_pair_is_its_delta_turned_round() -> None:
    for tilt, others, clone in ((1.0, 50, 0.3), (0.1, 10**4, 0.9), (5.0, 1000, math.exp(-5)), (2.0, 0, 0.1)):
        for delta in (1e-2, 1e-8):
            found = pair_epsilon(tilt, others, clone, 1 - clone, delta)
            assert delta_step(found, others=others, tilt=tilt, clone_probability=clone) <= delta * (1 + 1e-7)
            if 1e-12 < found < tilt:
                below = delta_step(found * (1 - 1e-5), others=others, tilt=tilt, clone_probability=clone)
                assert below > delta


def trinomial(laws: list[np.ndarray]) -> np.ndarray:
    """The law of the counts of two of three outputs."""
    found = np.zeros((len(laws) + 1, len(laws) + 1))
    found[0, 0] = 1.0
    for law in laws:
        following = found * law[2]
        following[1:] += found[:-1] * law[0]
        following[:, 1:] += found[:, :-1] * law[1]
        found = following
    return found


@pytest.mark.parametrize(("n", "epsilon0", "epsilon"), [(60, 3.0, 0.9), (60, 2.0, 0.2), (60, 4.0, 0.4)])
def test_the_binary_bound_is_wrong_for_other_randomizers(n: int, epsilon0: float, epsilon: float) -> None:
    # two inputs on (a, b, rest), and a third of the others, which hides little (emdp.privacy.shuffle.attack)
    p = math.exp(epsilon0)
    z = (1 - 2 / (1 + p)) / (p - 2 / (1 + p))
    s = (1 - z) / (1 + p)
    first, rest = np.array([(1 - z) * p / (1 + p), (1 - z) / (1 + p), z]), np.array([s, s, 1 - 2 * s])
    second = first[[1, 0, 2]]
    assert np.abs(np.log(np.array([first / second, first / rest, second / rest]))).max() <= epsilon0 * (1 + 1e-12)
    gaps = trinomial([first, *[rest] * (n - 1)]) - math.exp(epsilon) * trinomial([second, *[rest] * (n - 1)])
    found = float(np.maximum(gaps, 0).sum())
    assert found > 1.15 * max(binary_delta(epsilon, n, epsilon0, ones) for ones in range(n))
    assert found <= delta_step(epsilon, others=n - 1, tilt=epsilon0, clone_probability=math.exp(-epsilon0))


@pytest.mark.parametrize(
    "call",
    [
        lambda: binary_epsilon(0.0, 10, 1e-6),
        lambda: binary_epsilon(13.0, 10, 1e-6),
        lambda: binary_epsilon(1.0, 1, 1e-6),
        lambda: binary_epsilon(1.0, 10, 0.0),
        lambda: binary_delta(0.1, 5, 1.0, 5),
    ],
)
def test_arguments_are_checked(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError):
        call()
