"""Mixed messages of set oracles: small mixes in full, users that are near, the theory's table, another sum."""

import itertools
import math
from fractions import Fraction

import exact_shuffles as exact
import numpy as np
import pytest
from scipy.stats import binom

from emdp.base.errors import UsageError
from emdp.mechanisms.item_methods import METHODS
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.privacy.blanket.sets import SetLaw
from emdp.privacy.shuffle.binary import binary_epsilon

LEVELS = (0.0, 0.02, 0.1, 0.4, 1.0, 2.0)


def oracle_of(method: str, items: int, epsilon0: float) -> FrequencyOracle:
    load = METHODS[method].oracle
    assert load is not None
    return load()(items, 3, epsilon0)


def matrix_of(method: str, items: int, epsilon0: float) -> np.ndarray:
    """The law of every message for every item, from what the oracle draws with."""
    oracle = oracle_of(method, items, epsilon0)
    high, low = (float(chance) for chance in oracle.chances)
    if method in ("unary", "rappor"):
        bits = np.array(list(itertools.product((0, 1), repeat=items)))
        own = np.where(np.eye(items)[:, None, :] > 0, high, low)
        return np.where(bits[None] > 0, own, 1 - own).prod(axis=2)
    if method == "subset":
        size = oracle.size  # type: ignore[attr-defined]
        sets = list(itertools.combinations(range(items), size))
        heavy = np.array([[x in one for one in sets] for x in range(items)])
        return np.where(heavy, high / math.comb(items - 1, size - 1), (1 - high) / math.comb(items - 1, size))
    inside, outside = oracle.inside, oracle.outside  # type: ignore[attr-defined]
    codes = np.arange(items)
    found = np.full((items, inside + outside), float(1 - oracle._inside_chance) / outside)  # type: ignore[attr-defined]
    for x in codes:
        limit = int(oracle._place_limits(np.array([True]))[0])  # type: ignore[attr-defined]
        places = np.arange(limit)
        symbols = oracle._inside_symbols(np.full(limit, x), places)  # type: ignore[attr-defined]
        assert len(set(symbols.tolist())) == inside
        found[x, np.unique(symbols)] = float(oracle._inside_chance) / inside  # type: ignore[attr-defined]
    return found


def divergence(P: np.ndarray, Q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(P - math.exp(epsilon) * Q, 0).sum())


CASES = [
    ("krr", 2, 4),
    ("krr", 3, 4),
    ("krr", 4, 3),
    ("hadamard", 4, 3),
    ("hadamard", 3, 3),
    ("subset", 4, 4),
    ("unary", 3, 3),
    ("unary", 2, 4),
    ("rappor", 3, 3),
    ("projective", 3, 4),
    ("projective", 6, 3),
    ("response", 3, 3),
    ("recoverable", 3, 3),
    ("recoverable", 5, 2),
    ("response", 5, 2),
]


@pytest.mark.quarter
@pytest.mark.parametrize(("method", "items", "n"), CASES)
def test_no_small_mix_is_above_the_bound(method: str, items: int, n: int) -> None:
    closest = 0.0
    for epsilon0 in (0.5, 2.0, 4.0):
        law, matrix = oracle_of(method, items, epsilon0).sets, matrix_of(method, items, epsilon0)
        assert law is not None
        assert np.allclose(matrix.sum(axis=1), 1)
        for others in exact.bags(items, n - 1):
            if method in ("subset", "projective", "response", "unary", "rappor") and others[0] != others[-1]:
                continue
            releases = [exact.released(matrix, (own, *others)) for own in range(items)]
            for P, Q in itertools.permutations(releases, 2):
                for epsilon in LEVELS:
                    bound = law.delta(epsilon, n)
                    truth = divergence(P, Q, epsilon)
                    assert truth <= bound * (1 + 1e-9) + 1e-15, (epsilon0, others, epsilon)
                    closest = max(closest, truth / bound if bound > 1e-9 else 0.0)
    assert closest > (0.95 if method in ("krr", "subset") else 0.5)


def test_the_masses_are_those_of_the_sets() -> None:
    """``a``, ``b`` and ``u`` from the laws themselves, for every pair of items."""
    for method, items, _ in CASES:
        law, matrix = oracle_of(method, items, 1.0).sets, matrix_of(method, items, 1.0)
        assert law is not None
        kinds = {(round(float(a), 9), round(float(b), 9)) for a, b in law.overlaps}
        least = matrix.min(axis=0)
        if method in ("unary", "rappor"):
            q = float(law.share)
            bits = np.array(list(itertools.product((0, 1), repeat=items)))
            least = np.where(bits > 0, q, 1 - q).prod(axis=1)
            least /= 1 - q + q * float(law.ratio)
        elif method in ("hadamard", "response", "recoverable"):
            # a symbol that is in every set: the smaller blanket is taken
            least = np.full(matrix.shape[1], matrix.min())
        omega = least / least.sum()
        heavy = matrix / least > (1 + float(law.ratio)) / 2
        assert np.allclose(matrix, least * np.where(heavy, float(law.ratio), 1.0))
        for x, other in itertools.combinations(range(items), 2):
            both, alone = omega[heavy[x] & heavy[other]].sum(), omega[heavy[x] & ~heavy[other]].sum()
            assert any(abs(alone - a) < 1e-6 and abs(both - b) < 1e-6 for a, b in kinds), (method, alone, both)
            assert omega[heavy[x]].sum() == pytest.approx(float(law.share), abs=1e-9)


@pytest.mark.slow
def test_hadamard_without_its_column_of_ones_has_other_masses() -> None:
    """With a quarter each the bound of the variant without column 0 is violated (shuffle-known-randomizers.md 3)."""
    K, epsilon0, n = 4, 4.0, 3
    rows = np.array([[(-1) ** (x & j).bit_count() for j in range(1, K)] for x in range(K)])
    p = 1 / (math.exp(-epsilon0) + 1)
    matrix = np.concatenate([np.where(rows > 0, p, 1 - p), np.where(rows > 0, 1 - p, p)], axis=1) / (K - 1)
    ratio, share = Fraction(math.exp(epsilon0)), Fraction(1, 2)
    wrong = SetLaw(ratio, share, ((Fraction(1, 4), Fraction(1, 4)),))
    right = SetLaw(ratio, share, ((Fraction(K, 4 * (K - 1)), Fraction(K - 2, 4 * (K - 1))),))
    violated = 0
    for others in exact.bags(K, n - 1):
        releases = [exact.released(matrix, (own, *others)) for own in range(K)]
        for P, Q in itertools.permutations(releases, 2):
            for epsilon in LEVELS:
                truth = divergence(P, Q, epsilon)
                assert truth <= right.delta(epsilon, n) * (1 + 1e-9) + 1e-15
                violated += truth > wrong.delta(epsilon, n) * (1 + 1e-6)
    assert violated > 20


def by_counts(law: SetLaw, epsilon: float, n: int) -> float:
    """The formula with multinomial counts, summed in full (``b = 0``)."""
    g, E = float(law.ratio), math.exp(epsilon)
    ((alone, both),) = law.overlaps
    assert both == 0
    gamma = 1 / (1 - float(law.share) + float(law.share) * g)
    total = 0.0
    for m in range(n + 1):
        pairs = binom.pmf(m, n, gamma)
        for moved in range(m + 1):
            own = binom.pmf(moved, m, 2 * float(alone))
            ones = np.arange(moved + 1)
            terms = ones * (g - E) + (moved - ones) * (1 - E * g) + (m - moved) * (1 - E)
            total += pairs * own * float(binom.pmf(ones, moved, 0.5) @ np.maximum(terms, 0))
    return total / n


def by_transform(law: SetLaw, epsilon: float, n: int, points: int = 2**17) -> float:
    """The same by FFT: each value split between two neighbours of a grid so that its mean stays: from above."""
    g, E = float(law.ratio), math.exp(epsilon)
    gamma = 1 / (1 - float(law.share) + float(law.share) * g)
    ((alone, both),) = law.overlaps
    values = np.array([g - E, 1 - E * g, g * (1 - E), 1 - E, 0.0])
    chances = np.array([alone, alone, both, 1 - 2 * alone - both], dtype=float) * gamma
    chances = np.append(chances, 1 - gamma)
    mean, deviation = chances @ values, math.sqrt(chances @ values**2)
    step = (40 * math.sqrt(n) * deviation + 4 * (g * E)) / points
    grid = np.zeros(points)
    for value, chance in zip(values, chances, strict=True):
        place = math.floor(value / step)
        part = value / step - place
        grid[place % points] += chance * (1 - part)
        grid[(place + 1) % points] += chance * part
    summed = np.fft.ifft(np.fft.fft(grid) ** n).real
    centre = round(n * mean / step)
    sums = (np.arange(points) - points // 2 + centre) * step
    law_of_sum = np.maximum(summed[(np.arange(points) - points // 2 + centre) % points], 0)
    return float(law_of_sum @ np.maximum(sums, 0)) / n


@pytest.mark.quarter
@pytest.mark.parametrize("method", ["krr", "hadamard", "subset", "unary", "rappor", "projective"])
def test_two_other_sums_agree(method: str) -> None:
    law = oracle_of(method, 12, 3.0).sets
    assert law is not None
    for n in (200, 5000):
        for delta in (1e-3, 1e-6):
            epsilon = law.epsilon(n, delta)
            assert 0.999 * delta <= by_transform(law, epsilon, n) <= 1.005 * delta
    if method == "krr":
        for n, epsilon in ((1, 0.5), (6, 0.7), (40, 0.4)):
            assert by_counts(law, epsilon, n) <= law.delta(epsilon, n) <= by_counts(law, epsilon, n) * (1 + 2e-3)


@pytest.mark.parametrize(("epsilon0", "items", "epsilon"), [(2.0, 10, 0.079804), (4.0, 100, 0.233739)])
def test_known_answers(epsilon0: float, items: int, epsilon: float) -> None:
    law = oracle_of("krr", items, epsilon0).sets
    assert law is not None
    assert law.epsilon(10**4, 1e-6) == pytest.approx(epsilon, abs=2e-6)
    assert law.fits(epsilon + 1e-5, 10**4, 1e-6)
    assert not law.fits(epsilon - 1e-5, 10**4, 1e-6)


def mixed_bags(matrix: np.ndarray, shares: np.ndarray, others: tuple[int, ...]) -> np.ndarray:
    """The release where one user's item has a law, and all others' is known."""
    return np.asarray(sum(share * exact.released(matrix, (x, *others)) for x, share in enumerate(shares)))


@pytest.mark.quarter
@pytest.mark.parametrize("method", ["krr", "hadamard"])
def test_near_users_and_all_distances(method: str) -> None:
    """Users with any records: epsilon at their distance in total variation, and alpha at every distance."""
    generator, items, n, closest = np.random.default_rng(5), 3, 3, 0.0
    for epsilon0, delta in itertools.product((1.0, 3.0), (0.2, 0.03)):
        law, matrix = oracle_of(method, items, epsilon0).sets, matrix_of(method, items, epsilon0)
        assert law is not None
        alpha = law.alpha(n, delta)
        assert law.epsilon(n, delta) <= alpha * (1 + 1e-9)
        assert law.fits_alpha(alpha * 1.001 + 1e-9, n, delta)
        for _ in range(20):
            others = tuple(generator.integers(0, items, n - 1))
            one, two = generator.dirichlet(np.full(items, 0.4), 2)
            if generator.random() < 0.5:
                two = one + generator.random() * (np.eye(items)[generator.integers(items)] - one)
            apart = float(np.abs(one - two).sum()) / 2
            if apart < 1e-6:
                continue
            P, Q = (mixed_bags(matrix, shares, others) for shares in (one, two))
            for level in (law.epsilon(n, delta, min(apart * (1 + 1e-9), 1.0)), alpha * apart):
                assert divergence(P, Q, level) <= delta * (1 + 1e-9) + 1e-12
                closest = max(closest, divergence(P, Q, level) / delta)
    assert closest > 0.5


def test_alpha_is_not_epsilon() -> None:
    """Nearer users are hidden less than in proportion: alpha above epsilon, as a mix in full shows."""
    law, matrix = oracle_of("krr", 3, 3.0).sets, matrix_of("krr", 3, 3.0)
    assert law is not None
    n, delta = 4, 0.05
    epsilon, alpha = law.epsilon(n, delta), law.alpha(n, delta)
    worst = 0.0
    for apart in (0.3, 0.5, 0.7, 0.9):
        for others in exact.bags(3, n - 1):
            P = mixed_bags(matrix, np.array([1.0, 0, 0]), others)
            Q = mixed_bags(matrix, np.array([1 - apart, apart, 0]), others)
            worst = max(worst, divergence(P, Q, epsilon * apart), divergence(Q, P, epsilon * apart))
    assert worst > delta * 1.02
    assert 1.02 * epsilon < alpha < math.expm1(epsilon)


def test_two_outputs_have_their_exact_law() -> None:
    law = oracle_of("krr", 2, 1.0).sets
    assert law is not None
    assert law.is_binary
    assert law.epsilon(1000, 1e-6) == binary_epsilon(law.pure, 1000, 1e-6)
    assert law.delta(0.5, 1) == pytest.approx((math.e - math.exp(0.5)) / (math.e + 1), rel=1e-4)


def test_ends() -> None:
    law = oracle_of("krr", 5, 2.0).sets
    assert law is not None
    assert law.pure == pytest.approx(2.0, abs=1e-12)
    assert law.epsilon(1, 1e-9) == pytest.approx(2.0, rel=1e-5)
    assert law.epsilon(10**19, 1e-9) > 0
    assert law.epsilon(100, 0.3, 0.2) == 0.0
    assert law.fits(3.0, 1, 1e-300)
    assert law.fits_alpha(math.expm1(2.0) * (1 + 1e-9), 1, 1e-300)
    assert law.alpha(1, 1e-9) == pytest.approx(math.expm1(2.0), rel=1e-6)
    assert law.delta(2.1, 10) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: SetLaw(Fraction(1), Fraction(1, 2), ((Fraction(1, 2), Fraction(0)),)),
        lambda: SetLaw(Fraction(2), Fraction(1, 2), ((Fraction(1, 4), Fraction(0)),)),
        lambda: SetLaw(Fraction(2), Fraction(3, 4), ((Fraction(1, 2), Fraction(1, 4)),)),
        lambda: SetLaw(Fraction(2), Fraction(1, 2), ()),
        lambda: oracle_of("krr", 3, 1.0).sets.epsilon(0, 1e-6),  # type: ignore[union-attr]
        lambda: oracle_of("krr", 3, 1.0).sets.epsilon(10, 0.0),  # type: ignore[union-attr]
        lambda: oracle_of("krr", 3, 1.0).sets.epsilon(10, 1e-6, 0.0),  # type: ignore[union-attr]
        lambda: oracle_of("krr", 3, 1.0).sets.delta(-1.0, 10),  # type: ignore[union-attr]
        lambda: oracle_of("krr", 3, 1.0).sets.fits(math.nan, 10, 1e-6),  # type: ignore[union-attr]
    ],
)
def test_arguments_are_checked(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError):
        call()
