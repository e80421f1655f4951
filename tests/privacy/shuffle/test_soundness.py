"""The shuffle accountants against the truth: small shuffles in full, and the cases that broke other bounds."""

import math

import exact_shuffles as exact
import numpy as np
import pytest

from emdp.privacy.binomial_tails import log_tail
from emdp.privacy.shuffle.attack import _Design, _tail, attack_laws, shuffle_attack
from emdp.privacy.shuffle.clone_pair import delta_step
from emdp.privacy.shuffle.closed_form import closed_form_alpha
from emdp.privacy.shuffle.items import shuffle_alpha, shuffle_bounds

SIZES = [(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3), (1, 4), (2, 4), (4, 4), (1, 5), (3, 5), (1, 6), (2, 6), (6, 6)]
DELTAS = [1e-6, 1e-3, 0.02, 0.1, 0.3]


def random_small(generator: np.random.Generator) -> object:
    """A random space and randomizer, or the three laws of the attack at random strength and distance."""
    if generator.random() < 0.3:
        alpha0, w = float(generator.choice([0.3, 1, 2, 4])), float(generator.choice([0.05, 0.3, 1.0]))
        laws = attack_laws(alpha0, w, int(generator.choice([2, 3]))) + 1e-15
        return exact.Small(np.array([[0, w, 1], [w, 0, 1], [1, 1, 0.0]]), laws)
    metric = exact.random_metric(generator, int(generator.integers(2, 5)))
    return exact.Small(metric, exact.random_randomizer(generator, metric, float(generator.choice([0.2, 1, 3, 6]))))


def check_cases(seed: int, spaces: int) -> tuple[int, float]:
    """Compare ``spaces`` random spaces; return the number of cases and the closest approach of truth to bound."""
    generator = np.random.default_rng(seed)
    cases, closest = 0, 0.0
    for _ in range(spaces):
        small = random_small(generator)
        alpha0, w_min = small.alpha0, small.w_min
        if alpha0 > 12:
            continue
        for index in generator.choice(len(SIZES), size=3, replace=False):
            m, N = SIZES[index]
            P, Q, apart = exact.neighbours(small, m, N)
            for delta in DELTAS:
                bounds = shuffle_bounds(alpha0, m, N, delta, w_min)
                best = bounds[0].alpha
                assert shuffle_alpha(alpha0, m, N, delta) >= best
                assert exact.divergence(P, Q, best * apart) <= delta * (1 + 1e-9) + 1e-14, (m, N, delta, alpha0)
                cases += 1
        bound = shuffle_alpha(alpha0, m, N, DELTAS[1], w_min)
        closest = max(closest, exact.smallest_alpha(P, Q, apart, DELTAS[1]) / bound if bound > 0 else 0.0)
    return cases, closest


@pytest.mark.parametrize("spaces", [5, pytest.param(30, marks=pytest.mark.slow)])
def test_no_bound_is_below_the_exact_alpha_of_small_shuffles(spaces: int) -> None:
    cases, closest = check_cases(1, spaces)
    assert cases > 11 * spaces
    assert 0.9 < closest <= 1 + 1e-9


@pytest.mark.full
def test_no_bound_is_below_the_exact_alpha_of_many_small_shuffles() -> None:
    cases, closest = check_cases(2, 300)
    assert cases > 3500
    assert 0.9 < closest <= 1 + 1e-9


def test_a_bound_that_is_a_tenth_lower_would_be_caught() -> None:
    """The power of the enumeration: local randomized response of two items is within a tenth of the bound."""
    small = exact.Small(1 - np.eye(2), attack_laws(0.5, 1.0, 2)[:2, :2])
    P, Q, apart = exact.neighbours(small, 6, 6)
    found = shuffle_alpha(small.alpha0, 6, 6, 1e-6, 1.0)
    assert exact.divergence(P, Q, found * apart) <= 1e-6 < exact.divergence(P, Q, 0.9 * found * apart)


COUNTER = np.array(
    [
        [0.36552929, 0.13447071, 0.45, 0.05],
        [0.13447071, 0.36552929, 0.45, 0.05],
        [0.01819863, 0.01819863, 0.02240418, 0.94119856],
    ]
)
"""Technical-notes 1.4: laws of x0, x1 and x*, all ratios at most e^3, and e^1 between the first two."""


def variation_ratio(epsilon: float, n: int) -> float:
    """The bound as printed (p, beta, q with left-overs erased), which is no bound: alpha = .13447071, r = .01819863."""
    p, small, r = math.e, 0.13447071, 0.01819863
    matrix = np.array(
        [[p * small, small, 1 - (p + 1) * small], [small, p * small, 1 - (p + 1) * small], [r, r, 1 - 2 * r]]
    )
    P, Q = (exact.released(matrix, (own, *[2] * (n - 1))) for own in (0, 1))
    return float(np.maximum(P - math.exp(epsilon) * Q, 0).sum())


@pytest.mark.parametrize(
    ("n", "truth", "printed", "clone"),
    [
        (2, 0.0320442, 0.0208703, 0.0678376),
        (4, 0.0271190, 0.00109377, 0.0645022),
        (8, 0.0191741, 7.21687e-5, 0.0583153),
        (16, 0.0088941, 4.95484e-7, 0.0476649),
    ],
)
def test_the_counterexample_to_the_variation_ratio(n: int, truth: float, printed: float, clone: float) -> None:
    P, Q = (exact.released(COUNTER, (own, *[2] * (n - 1))) for own in (0, 1))
    true_delta = float(np.maximum(P - math.exp(0.9) * Q, 0).sum())
    assert true_delta == pytest.approx(truth, rel=1e-4)
    assert variation_ratio(0.9, n) == pytest.approx(printed, rel=1e-4)
    assert variation_ratio(0.9, n) < true_delta
    bound = delta_step(0.9, others=n - 1, tilt=1.0, clone_probability=math.exp(-3))
    assert bound == pytest.approx(clone, rel=1e-5)
    assert bound > true_delta
    # x0 and x1 at distance 1/3, others at 1: whoever is offered the true delta must pay 0.9 per third
    third = shuffle_alpha(3.0 + 1e-6, 1, n, true_delta, 1 / 3)
    assert third / 3 >= 0.9


def test_the_closed_form_outside_its_condition_is_below_the_truth_and_refused() -> None:
    alpha0, N, delta = 4.0, 1000, 1e-6
    formula = math.log1p(
        math.tanh(alpha0 / 2) * (8 * math.sqrt(math.exp(alpha0) * math.log(4 / delta) / N) + 8 * math.exp(alpha0) / N)
    )
    assert formula == pytest.approx(2.134, abs=1e-3)
    assert delta_step(formula, others=N - 1, tilt=alpha0, clone_probability=math.exp(-alpha0)) > delta
    assert closed_form_alpha(alpha0, 1, N, delta) is None
    refused = [bound for bound in shuffle_bounds(alpha0, 1, N, delta) if bound.method == "closed form"]
    assert refused[0].alpha is None
    assert "alpha0 must be below" in refused[0].reason


@pytest.mark.parametrize("symbols", [2, 3])
@pytest.mark.parametrize("alpha0", [0.01, 0.5, 2.0, 6.0, 12.0])
@pytest.mark.parametrize("w", [0.01, 0.3, 1.0])
def test_the_attacked_randomizer_has_the_strength_it_claims(alpha0: float, w: float, symbols: int) -> None:
    laws = attack_laws(alpha0, w, symbols)
    assert np.allclose(laws.sum(axis=1), 1, rtol=1e-14)
    apart = np.array([[0, w, 1], [w, 0, 1], [1, 1, 0]])
    for one in range(3):
        for two in range(3):
            assert np.all(laws[one] <= np.exp(alpha0 * apart[one, two]) * laws[two])


@pytest.mark.parametrize(
    ("alpha0", "m", "N", "delta"), [(1.0, 2, 9, 1e-3), (0.5, 4, 8, 0.01), (2.0, 1, 12, 0.05), (3.0, 5, 5, 1e-4)]
)
def test_an_attack_refutes_what_it_says(alpha0: float, m: int, N: int, delta: float) -> None:
    attack = shuffle_attack(alpha0, m, N, delta)
    laws = attack_laws(alpha0, attack.w, attack.symbols)
    others = (2,) * (N - attack.moved)
    P, Q = (exact.released(laws, (own,) * attack.moved + others).reshape(N + 1, N + 1) for own in (0, 1))
    counts = np.arange(N + 1)
    event = counts[:, None] - counts[None, :] >= attack.threshold
    distance = attack.w * attack.moved / m
    gap = P[event].sum() - math.exp(attack.alpha * distance) * Q[event].sum()
    assert delta < gap * (1 + 1e-6)
    # what the rounding allowance gives away
    assert gap <= delta * (1 + 1e-3)
    assert 0 < attack.alpha <= shuffle_alpha(alpha0, m, N, delta)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "theta", "centre"), [(400, 0.05, 100), (10**6, 1e-3, 6000), (10**8, 1e-4, 70_000), (10**10, 1e-5, 600_000)]
)
def test_the_tails_of_an_attack_are_bounded_on_both_sides(n: int, theta: float, centre: int) -> None:
    """Only moved items and two symbols: a binomial, whose tails are known another way."""
    design = _Design(1.0, n, 0, 2, 0.0, 0.5, theta)
    start, low = _tail(design, centre, is_lower=True)
    _, high = _tail(design, centre, is_lower=False)
    for threshold in (centre - 2 * math.isqrt(n), centre, centre + math.isqrt(n)):
        even = threshold - (threshold - n) % 2
        log_exact = log_tail(float(n), np.array([(n + even) / 2]), (1 + theta) / 2, (1 - theta) / 2)[0]
        ends = low[even - start], high[even - start]
        assert ends[0] <= math.exp(log_exact) <= ends[1]
        # the allowance, carried two standard deviations down from where the tilt puts the centre
        assert ends[1] / ends[0] - 1 < 20 * (1e-10 + 2e-15 * n)
