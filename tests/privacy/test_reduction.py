"""The reduction of EMD 5: known answers, rounding outward, and exact enumeration of what sampling does to two bags."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog
from scipy.stats import binom

from emdp.base.errors import UsageError
from emdp.privacy import DiscreteEmdDP, EmdDP
from emdp.privacy.reduction import (
    BoundedReduction,
    choose_samples,
    published_reduction_alpha,
    published_reduction_quantile,
    reduced_guarantee,
    reduction_alpha,
    reduction_quantile,
    reduction_split,
)
from emdp.privacy.rounding import as_decimal

Floats = npt.NDArray[np.float64]

KNOWN = [
    (0.01, 1000, 1e-12, 0.0412007, 0.107035),
    (0.01, 10000, 1e-12, 0.0182497, 0.0324314),
    (0.05, 1000, 1e-6, 0.0900959, 0.162157),
    (1 / 300, 10000, 1e-12, 0.00845692, 0.0163367),
]
"""EMD 5: r, s, delta_s, q and the paper's denominator."""


@pytest.mark.parametrize(("r", "s", "delta", "q", "published"), KNOWN)
def test_the_known_answers_of_the_theory(r: float, s: int, delta: float, q: float, published: float) -> None:
    assert reduction_quantile(r, s, delta) == pytest.approx(q, rel=2e-6)
    assert published_reduction_quantile(r, s, delta) == pytest.approx(published, rel=5e-6)
    assert reduction_alpha(2.0, r, s, delta) == pytest.approx(2 / reduction_quantile(r, s, delta), rel=1e-15)
    # the paper states its theorem for twice its delta
    assert published_reduction_alpha(2.0, r, s, 2 * delta) == pytest.approx(2 / published, rel=5e-6)


def _exponent(r: float, s: int, q: float, alpha: Decimal | None = None) -> Decimal:
    """Return ``ln(1/delta_s)`` of the theorem's two parts, written out anew, with 90 digits."""
    with localcontext() as context:
        context.prec = 90
        x, y = Decimal(repr(q)), Decimal(repr(r))
        total = s * (x * x.ln() - x * y.ln() + (1 - x) * (1 - x).ln() - (1 - x) * (1 - y).ln())
        if alpha is not None:
            theta = s * (x.ln() - (1 - x).ln() - y.ln() + (1 - y).ln()) / alpha
            total -= theta * theta.ln() - (1 + theta) * (1 + theta).ln()
        return total


LEVELS = st.floats(min_value=1e-3, max_value=50.0)
RADII = st.floats(min_value=1e-6, max_value=0.999)
DELTAS = st.floats(min_value=1e-30, max_value=0.5)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(r=RADII, s=st.integers(1, 10**7), delta=DELTAS, epsilon=LEVELS)
def test_q_is_the_smallest_float_that_the_theorem_allows(r: float, s: int, delta: float, epsilon: float) -> None:
    wanted = -Decimal(repr(delta)).ln()

    def paid(q: float, kind: str) -> Decimal:
        with localcontext() as context:
            context.prec = 90
            level = Decimal(repr(epsilon))
            return _exponent(r, s, q, {"": None, "epsilon": level / Decimal(repr(q)), "alpha": level}[kind])

    for kind in ("", "epsilon", "alpha"):
        q = reduction_quantile(r, s, delta, **({kind: epsilon} if kind else {}))
        assert r < q <= 1
        if q < 1:
            assert paid(q, kind) >= wanted
        below = math.nextafter(q, 0.0)
        if below > r and q < (0.999 if kind else 1.0):
            assert paid(below, kind) < wanted * (1 + Decimal("1e-40"))
        # part 2 is never worse than part 1
        assert not kind or q <= reduction_quantile(r, s, delta)


def test_nothing_is_left_to_chance_where_q_is_one() -> None:
    assert reduction_quantile(1.0, 10, 0.5) == reduction_quantile(0.3, 10, 0.0) == 1.0
    # r^s = 1/1024: below that delta every distance up to 1 must be paid for
    assert reduction_quantile(0.5, 10, 0.0009) == 1.0 > reduction_quantile(0.5, 10, 0.001)
    reduction = reduction_split(1.0, 0.5, 10, 1e-6)
    assert (reduction.alpha, reduction.q, reduction.delta_sampling) == (1.0, 1.0, 0.0)
    guarantee = reduced_guarantee(EmdDP(1.0, 1e-9, "bounded"), 0.5, 3, 1e-12)
    assert guarantee == DiscreteEmdDP(1.0, 1e-9, 0.5)
    assert reduced_guarantee(EmdDP(0.0, 1e-9, "bounded"), 0.1, 10**6, 1e-12) == DiscreteEmdDP(0.0, 1e-9, 0.1)


@pytest.mark.parametrize("model", ["central", "local", "shuffle"])
def test_there_and_back_again(model: str) -> None:
    for epsilon, r, s, delta in itertools.product((0.1, 1.0, 7.0), (0.003, 0.05), (1000, 20000), (1e-6, 1e-12)):
        reduction = reduction_split(epsilon, r, s, delta)
        assert as_decimal(reduction.alpha) * as_decimal(reduction.q) <= as_decimal(epsilon)
        assert reduction.alpha >= reduction_alpha(epsilon, r, s, delta) > reduction.published_alpha
        assert (reduction.delta_sampling, reduction.delta_mechanism) == (delta, 0.0)
        back = reduced_guarantee(EmdDP(reduction.alpha, 0.0, "bounded", model), r, s, delta)  # type: ignore[arg-type]
        assert back.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert (back.delta, back.r, back.sizes, back.model) == (delta, r, "unbounded", model)


@pytest.mark.slow
def test_the_split_of_delta_is_the_best_for_an_objective() -> None:
    def objective(alpha: float, delta: float) -> float:
        return alpha / math.sqrt(-math.log(delta))

    for s, delta in ((300, 1e-12), (100_000, 1e-12), (3000, 1e-4)):
        best = reduction_split(1.0, 0.01, s, delta, objective)
        assert as_decimal(best.delta_sampling) + as_decimal(best.delta_mechanism) <= as_decimal(delta)
        value = objective(best.alpha, best.delta_mechanism)
        for share in np.linspace(0.01, 0.99, 33):
            other = reduction_split(1.0, 0.01, s, delta * share).alpha
            assert objective(other, delta * (1 - share)) <= value * (1 + 1e-4)
    # a mechanism that wants all of delta gets it, and pays for every distance
    greedy = reduction_split(1.0, 0.01, 1000, 1e-12, lambda alpha, delta: 1.0 if delta == 1e-12 else -math.inf)
    assert (greedy.alpha, greedy.q, greedy.delta_sampling, greedy.delta_mechanism) == (1.0, 1.0, 0.0, 1e-12)
    # one that gains nothing by delta leaves nearly all of it to the sampling, up to the end of the search, 1/150
    frugal = reduction_split(1.0, 0.01, 1000, 1e-12, lambda alpha, _: alpha)
    assert frugal.alpha == pytest.approx(reduction_split(1.0, 0.01, 1000, 1e-12 * (1 - 1 / 100)).alpha, rel=1e-4)


def test_samples_are_chosen_from_public_numbers_and_pay() -> None:
    assert BoundedReduction(samples=50, r=0.1).resolved(10**6, 1e-9).samples == 50
    for n, seconds, r in ((100_000, 10.0, 0.05), (1000, 1.0, 0.01), (10**9, 1.0, 0.05), (2, 0.001, 0.2)):
        s = choose_samples(n, seconds, r=r, delta=1e-9)
        largest = max(1, int(seconds / (3e-8 * n)))
        assert 1 <= s <= largest
        assert reduction_quantile(r, s, 5e-10) <= 1.02 * reduction_quantile(r, largest, 5e-10) * (1 + 1e-12)
        assert s == 1 or reduction_quantile(r, s - 1, 5e-10) > 1.02 * reduction_quantile(r, largest, 5e-10)
        assert BoundedReduction(r=r).resolved(n, 1e-9, seconds=seconds) == BoundedReduction(samples=s, r=r)


# -- exact enumeration ---------------------------------------------------------------------------------------------

LINE = np.array([[0.0, 0.3, 1.0], [0.3, 0.0, 0.7], [1.0, 0.7, 0.0]])
ZERO_ONE = 1.0 - np.eye(2)
TRIANGLE = np.array([[0.0, 0.15, 0.4], [0.15, 0.0, 0.55], [0.4, 0.55, 0.0]])
SPACES = {"0/1": ZERO_ONE, "line": LINE, "triangle": TRIANGLE}


def _bags(k: int, sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [bag for size in sizes for bag in itertools.combinations_with_replacement(range(k), size)]


def _histogram(bag: tuple[int, ...], k: int) -> Floats:
    return np.bincount(bag, minlength=k) / len(bag)


def _plan(p: Floats, q: Floats, distances: Floats) -> tuple[float, Floats]:
    """Return d_em and an optimal coupling, by linear programming."""
    k = len(p)
    rows = [np.kron(np.eye(k)[x], np.ones(k)) for x in range(k)] + [np.kron(np.ones(k), np.eye(k)[x]) for x in range(k)]
    solved = linprog(distances.ravel(), A_eq=np.array(rows), b_eq=np.concatenate([p, q]), method="highs")
    assert solved.success
    return float(solved.fun), np.maximum(solved.x, 0.0).reshape(k, k)


def _sampled_law(plan: Floats, distances: Floats, s: int) -> list[tuple[float, float, float]]:
    """Return all samples of ``s`` pairs from a plan: probability, mean cost, exact d_em of the two samples."""
    cells = [(x, y, plan[x, y]) for x, y in np.ndindex(plan.shape) if plan[x, y] > 1e-12]
    found = []
    for chosen in itertools.combinations_with_replacement(range(len(cells)), s):
        counts = np.bincount(chosen, minlength=len(cells))
        ways = math.factorial(s)
        for count in counts:
            ways //= math.factorial(count)
        probability = ways * math.prod(cells[c][2] for c in chosen)
        left, right = [cells[c][0] for c in chosen], [cells[c][1] for c in chosen]
        costs = distances[np.ix_(left, right)]
        rows, columns = linear_sum_assignment(costs)
        mean = float(np.mean([distances[x, y] for x, y in zip(left, right, strict=True)]))
        found.append((probability, mean, float(costs[rows, columns].mean())))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", SPACES)
def test_samples_of_two_bags_are_rarely_farther_than_q(name: str) -> None:
    distances, broken = SPACES[name], 0
    for first, second in itertools.combinations(_bags(len(distances), (1, 2, 3) if len(distances) == 2 else (1, 3)), 2):
        p, q = (_histogram(bag, len(distances)) for bag in (first, second))
        d, plan = _plan(p, q, distances)
        if not 0 < d <= 0.5:
            continue
        for s in (2, 5) if len(distances) == 2 else (4,):
            law = _sampled_law(plan, distances, s)
            assert sum(row[0] for row in law) == pytest.approx(1.0)
            # the proof's first step: the pairs as they were drawn are one assignment
            assert all(exact <= mean + 1e-12 for _, mean, exact in law)
            for delta in (0.3, 0.05, 1e-3):
                r = min(d * (1 + 1e-9), 1.0)
                quantile = reduction_quantile(r, s, delta)
                assert sum(p for p, mean, _ in law if mean >= quantile and quantile < 1) <= delta
                assert sum(p for p, _, exact in law if exact > quantile) <= delta
                # planted fault: r in place of q
                broken += sum(p for p, _, exact in law if exact > r) > delta
                for alpha in (0.5, 3.0, 20.0):
                    finer = reduction_quantile(r, s, delta, alpha=alpha)
                    paid = sum(p * max(0.0, -math.expm1(-alpha * (mean - finer))) for p, mean, _ in law)
                    assert paid <= delta
    assert broken > 10


def _outputs(laws: Floats, s: int) -> Floats:
    """Return the law of the histogram of ``s`` independent outputs, for each row of ``laws``."""
    k = laws.shape[1]
    rows = []
    for chosen in itertools.combinations_with_replacement(range(k), s):
        ways = math.factorial(s)
        for count in np.bincount(chosen, minlength=k):
            ways //= math.factorial(count)
        rows.append(ways * np.prod(laws[:, list(chosen)], axis=1))
    return np.array(rows).T


@lru_cache
def _near_pairs(name: str, r: float) -> tuple[Floats, list[tuple[int, int]]]:
    """Return histograms of small bags of several sizes, and which ordered pairs of them lie within ``r``."""
    distances = SPACES[name]
    bags = _bags(len(distances), (1, 2, 3, 10) if len(distances) == 2 else (1, 2, 4))
    histograms = np.unique([_histogram(bag, len(distances)) for bag in bags], axis=0)
    pairs = itertools.combinations(range(len(histograms)), 2)
    near = [(i, j) for i, j in pairs if _plan(histograms[i], histograms[j], distances)[0] <= r + 1e-12]
    return histograms, [*near, *((j, i) for i, j in near)]


def _krr_worst(r: float, s: int, epsilon: float, alpha: float) -> float:
    """Return the largest hockey-stick at ``epsilon`` of: sample ``s`` items of two kinds, randomized response on each.

    Each answer is ``alpha/s``-d_X-DP, all of them are ``alpha`` bounded.
    """
    weights = np.exp(-alpha / s * ZERO_ONE)
    randomizer = weights / weights.sum(axis=1, keepdims=True)
    histograms, near = _near_pairs("0/1", r)
    laws = _outputs(histograms @ randomizer, s)
    return max(float(np.maximum(laws[i] - math.exp(epsilon) * laws[j], 0.0).sum()) for i, j in near)


def _mean_distance_worst(name: str, r: float, s: int, epsilon: float, alpha: float) -> float:
    """Return the same for: sample ``s`` items, release their mean distance to a fixed item with Laplace noise.

    That distance is ``d_em`` to a bag of copies of the item, so moves by at most ``d_em``: ``alpha`` bounded.
    """
    distances = SPACES[name]
    histograms, near = _near_pairs(name, r)
    samples = _outputs(histograms, s)
    chosen = list(itertools.combinations_with_replacement(range(len(distances)), s))
    cuts = np.linspace(-0.5, 1.5, 401)
    worst = 0.0
    for item in range(len(distances)):
        means = np.array([distances[list(own), item].mean() for own in chosen])
        above = samples @ _laplace_tail(alpha, cuts[None, :] - means[:, None])
        for i, j in near:
            gained = np.maximum(
                above[i] - math.exp(epsilon) * above[j], (1 - above[i]) - math.exp(epsilon) * (1 - above[j])
            )
            worst = max(worst, float(gained.max()))
    return worst


@pytest.mark.parametrize("s", [4, 6])
def test_sampled_then_randomized_is_exactly_what_is_promised(s: int) -> None:
    for r, epsilon, delta in itertools.product((0.1, 0.34), (0.3, 1.0), (0.05, 1e-3)):
        alpha = reduction_split(epsilon, r, s, delta).alpha
        assert _krr_worst(r, s, epsilon, alpha) <= delta
        assert reduced_guarantee(EmdDP(alpha, 0.0, "bounded", "local"), r, s, delta).epsilon <= epsilon * (1 + 1e-12)
    # planted fault: r in place of q, as if samples were no farther apart than the bags they come from
    assert _krr_worst(0.1, s, 1.0, 1.0 / 0.1) > 1e-3


@pytest.mark.parametrize(("name", "r"), [("0/1", 0.1), ("line", 0.15), ("triangle", 0.1)])
def test_a_statistic_of_the_sample_is_exactly_what_is_promised(name: str, r: float) -> None:
    for s, epsilon, delta in itertools.product((5, 10), (0.3, 1.0), (0.05, 1e-3)):
        alpha = reduction_split(epsilon, r, s, delta).alpha
        assert _mean_distance_worst(name, r, s, epsilon, alpha) <= delta
        assert _mean_distance_worst(name, r, s, epsilon, epsilon / r) > 5e-3


def _laplace_tail(alpha: float, x: Floats) -> Floats:
    """Return ``Pr[Laplace(1/alpha) > x]``."""
    tail = 0.5 * np.exp(-alpha * np.abs(x))
    return np.where(x > 0, tail, 1 - tail)


def _laplace_worst(alpha: float, s: int, r: float, epsilon: float) -> float:
    """Return the hockey-stick of Laplace noise on the share of sampled items that differ, both ways, over half-lines.

    One user has items A alone, the other a share ``r`` of items B, 0/1 distance.
    """
    counts = np.arange(s + 1)
    chances, share = binom.pmf(counts, s, r), counts / s
    cuts = np.linspace(-0.5, 1.5, 1001)[:, None]

    far, near = _laplace_tail(alpha, cuts - share) @ chances, _laplace_tail(alpha, cuts)[:, 0]
    factor = math.exp(epsilon)
    return float(max((far - factor * near).max(), ((1 - near) - factor * (1 - far)).max()))


@pytest.mark.parametrize(("r", "s", "epsilon", "delta"), [(0.05, 200, 1.0, 1e-6), (0.05, 1000, 5.0, 1e-6)])
def test_a_sharp_mechanism_on_many_samples_keeps_the_promise(r: float, s: int, epsilon: float, delta: float) -> None:
    reduction = reduction_split(epsilon, r, s, delta)
    assert _laplace_worst(reduction.alpha, s, r, epsilon) <= delta
    assert _laplace_worst(epsilon / r, s, r, epsilon) > 1000 * delta
    # part 2's own inequality, exactly, and with its factor squared as a planted fault
    counts = np.arange(s + 1)
    y = reduction.alpha * (counts / s - reduction.q)
    paid = float(binom.pmf(counts, s, r) @ np.maximum(-np.expm1(-np.maximum(y, 0.0)), 0.0))
    assert delta / 1000 < paid <= delta
    slope = math.log(reduction.q * (1 - r) / (r * (1 - reduction.q)))
    theta = s * slope / reduction.alpha
    factor = math.exp(theta * math.log(theta / (1 + theta)) - math.log(1 + theta))
    assert paid > delta * factor


def test_all_answers_from_one_sample_are_reduced_once() -> None:
    whole = reduced_guarantee(EmdDP(24.0, 0.0, "bounded"), 0.01, 1000, 1e-12)
    parts = [reduced_guarantee(EmdDP(12.0, 0.0, "bounded"), 0.01, 1000, 1e-12)] * 2
    assert (whole.delta, sum(part.delta for part in parts)) == (1e-12, 2e-12)
    assert Fraction(whole.epsilon) > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BoundedReduction(samples=0), "samples must be at least 1"),
        (lambda: BoundedReduction(samples=2.5), "samples must be a whole number"),  # type: ignore[arg-type]
        (lambda: BoundedReduction(samples=10**10), "samples must be at most 1000000000"),
        (lambda: BoundedReduction(r=0.0), "r must be above 0"),
        (lambda: BoundedReduction(r=1.5), "r must be between"),
        (lambda: reduction_quantile(0.1, 10, 1.0), r"delta_s must be in \[0, 1\)"),
        (lambda: reduction_quantile(0.1, 10, 0.1, alpha=1.0, epsilon=1.0), "must not both be given"),
        (lambda: reduction_quantile(0.1, 10, 0.1, alpha=-1.0), "alpha must be at least 0"),
        (lambda: reduction_alpha(0.0, 0.1, 10, 1e-6), "epsilon must be above 0"),
        (lambda: published_reduction_alpha(1.0, 0.1, 10, 0.0), "delta must be in"),
        (lambda: reduction_split(1.0, 0.1, 10, 0.0, lambda a, d: a), "delta must be above 0 for a mechanism"),
        (lambda: reduction_split(1.0, 0.1, 100, 0.1, lambda a, d: math.nan), "not nan"),
        (lambda: reduction_split(1.0, 0.1, 100, 0.1, lambda a, d: -math.inf), "no value for any split"),
        (lambda: reduction_split(1.0, 0.9, 1, 1e-6, lambda a, d: -math.inf), "no value for any split"),
        (lambda: reduced_guarantee(EmdDP(1.0), 0.1, 10, 0.1), "must be a bounded EmdDP, not unbounded central EmdDP"),
        (lambda: reduced_guarantee(EmdDP(1.0, 0.95, "bounded"), 0.01, 100, 0.1), "reach 1 together"),
        (lambda: choose_samples(0, r=0.1, delta=0.1), "n must be at least 1"),
        (lambda: choose_samples(10, -1.0, r=0.1, delta=0.1), "seconds must be above 0"),
    ],
)
def test_malformed_arguments_are_refused_in_a_sentence(call: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()  # type: ignore[operator]
