"""Thresholds on keys that nobody listed: known answers, hockey sticks over all outcomes, wrong formulas."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import scipy.stats
from exact_laws import loss_beyond

from emdp.base.errors import UsageError
from emdp.mechanisms.keys.choose import best_threshold
from emdp.mechanisms.keys.gaussian import (
    GaussianKeys,
    gaussian_keys_delta,
    gaussian_new_key,
    gaussian_threshold,
)
from emdp.mechanisms.keys.laplace import LaplaceKeys, TruncatedKeys, laplace_new_key, laplace_threshold
from emdp.mechanisms.keys.threshold import KeyThreshold, chance_within, new_keys_delta
from emdp.noise.discrete_laplace import discrete_laplace_cdf
from emdp.noise.truncated_laplace import truncated_laplace_edge
from emdp.privacy.account.budget import Budget
from emdp.privacy.account.filter import Account
from emdp.privacy.calibration import gaussian_delta
from emdp.privacy.events.table import GuaranteeEvent, event_from_json
from emdp.privacy.guarantees.kinds import EmdDP, Neighbours, UserDP
from emdp.testing import seeded

KINDS = (TruncatedKeys, LaplaceKeys, GaussianKeys)
FAR = 10_000
"""Other people who have a key: so many that it passes for certain."""


def laws(noise: np.ndarray, threshold: int, width: int, far: np.ndarray) -> dict[int, np.ndarray]:
    """Return for counts 0, 1 and FAR, FAR + 1 the law of a key's outcome; first the chance that it is not shown.

    ``noise`` has the law on ``-width, ..., width``; ``far`` is the same law, moved where all of it passes.
    """
    steps = np.arange(-width, width + 1)
    found = {0: np.eye(1, 2 * width + 3)[0]}
    for count in (1, 2):
        shown = np.where(count + steps >= threshold, noise, 0.0)
        found[count] = np.concatenate(
            ([1.0 - shown.sum()], shown, [0.0]) if count == 1 else ([1.0 - shown.sum()], [0.0], shown)
        )
    found[FAR] = np.concatenate(([0.0], far, [0.0]))
    found[FAR + 1] = np.concatenate(([0.0, 0.0], far))
    return found


def worst_delta(known: dict[int, np.ndarray], epsilon: float, keys: int, neighbours: Neighbours) -> float:
    """Return the largest delta over all choices of a user's keys before and after, and of what others have.

    Of keys that others have there are as many as a user may have twice; so for those that nobody else has.
    """
    others = [0] * (2 * keys) + [FAR] * (2 * keys)
    bags = [frozenset(some) for size in range(keys + 1) for some in combinations(range(4 * keys), size)]
    worst, seen = 0.0, set()
    for before, after in product(bags, bags):
        if neighbours == "remove" and before and after:
            continue
        # Keys are alike but for what others have: what matters is how many of each sort move which way.
        sort = tuple(sorted((others[key], key in before, key in after) for key in before ^ after))
        if sort in seen:
            continue
        seen.add(sort)
        left = [known[other + ours] for other, ours, _ in sort]
        right = [known[other + theirs] for other, _, theirs in sort]
        worst = max(worst, loss_beyond(left, right, epsilon))
    return worst


def laplace_laws(scale: float, threshold: int, width: int) -> dict[int, np.ndarray]:
    noise = np.tanh(0.5 / scale) * np.exp(-np.abs(np.arange(-width, width + 1)) / scale)
    return laws(noise, threshold, width, noise)


@pytest.mark.parametrize(
    ("keys", "epsilon", "threshold", "neighbours", "known"),
    [
        (2, 1.0, 8, "remove", 0.037239972),
        (1, 1.0, 8, "replace", 0.018796643),
        (1, 0.3, 12, "replace", 0.10321335),
        (3, 2.0, 6, "remove", 0.06906166),
        (1, 0.1, 3, "remove", 0.42981661),
        (2, 0.4, 3, "remove", 0.60128953),
        (1, 0.2, 4, "replace", 0.38891415),
    ],
)
def test_laplace_delta_is_known_and_that_of_all_outcomes(
    keys: int, epsilon: float, threshold: int, neighbours: Neighbours, known: float
) -> None:
    scale = (1 if neighbours == "remove" else 2) * keys / epsilon
    formula = new_keys_delta(laplace_new_key(scale, threshold), keys)
    assert abs(formula - known) < 6e-9
    reached = worst_delta(laplace_laws(scale, threshold, round(40 * scale)), epsilon, keys, neighbours)
    assert abs(reached - formula) < 1e-8


@pytest.mark.parametrize(
    ("keys", "epsilon", "delta", "reach", "known"),
    [(1, 1.0, 1e-3, 7, 0.000421603), (2, 1.0, 1e-2, 8, 0.00907681), (3, 3.0, 1e-2, 5, 0.00934587)],
)
def test_truncated_delta_is_known_and_that_of_all_outcomes(
    keys: int, epsilon: float, delta: float, reach: int, known: float
) -> None:
    found = TruncatedKeys(epsilon, delta, keys, "remove")
    assert found.reach == reach
    assert abs(found.price / known - 1) < 1e-5
    reached = worst_delta(truncated_laws(found), epsilon, keys, "remove")
    assert abs(reached - found.price) < 1e-9
    # One less is not enough.
    assert new_keys_delta(float(truncated_noise(found.scale, reach - 1)[0]), keys) > delta


def truncated_noise(scale: float, reach: int) -> np.ndarray:
    weights = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    return np.asarray(weights / weights.sum())


def truncated_laws(found: TruncatedKeys) -> dict[int, np.ndarray]:
    noise = truncated_noise(found.scale, found.reach)
    return laws(noise, found.threshold, found.reach, noise)


@pytest.mark.parametrize("epsilon", [0.7, 2.0])
@pytest.mark.parametrize("keys", [1, 2])
def test_truncated_replacement_by_all_outcomes(keys: int, epsilon: float) -> None:
    found = TruncatedKeys(epsilon, 0.02, keys, "replace")
    reached = worst_delta(truncated_laws(found), epsilon, keys, "replace")
    assert abs(reached - found.price) < 1e-9
    # Noise for removal does not cover it.
    short = TruncatedKeys(epsilon, 0.02, keys, "remove")
    assert worst_delta(truncated_laws(short), epsilon, keys, "replace") > 0.04


@pytest.mark.parametrize(
    ("keys", "epsilon", "sigma", "threshold", "neighbours", "known"),
    [
        (1, 1.0, 3.0, 8, "remove", 0.00981533),
        (2, 1.0, 4.0, 10, "remove", 0.0242995),
        (1, 1.0, 5.0, 12, "replace", 0.0139035),
        (1, 0.5, 2.0, 5, "remove", 0.0524403),
    ],
)
def test_gaussian_delta_is_known_and_that_of_all_outcomes(
    keys: int, epsilon: float, sigma: float, threshold: int, neighbours: Neighbours, known: float
) -> None:
    formula = gaussian_keys_delta(epsilon, sigma, threshold, keys, neighbours)
    assert abs(formula / known - 1) < 5e-6
    reached = worst_gaussian(epsilon, sigma, threshold, keys, neighbours)
    assert 1 - 1e-4 < reached / formula < 1 + 1e-8


def worst_gaussian(epsilon: float, sigma: float, threshold: int, keys: int, neighbours: Neighbours) -> float:
    """Return the largest delta over outcomes in cells of 1/64: moved keys all alike, so that their sum is enough."""
    parts, worst = 64, 0.0
    width = round(9 * sigma * parts)
    cells = np.arange(-width, width + 1) / parts
    noise = np.diff(scipy.stats.norm.cdf(np.append(cells - 0.5 / parts, cells[-1] + 0.5 / parts), scale=sigma))
    passing = float(scipy.stats.norm.sf(threshold - 1, scale=sigma))
    for new, gone in product(range(keys + 1), repeat=2):
        if neighbours == "remove" and new and gone:
            continue
        moved = keys - new - gone if neighbours == "remove" else 2 * keys - new - gone
        if moved < 0:
            continue
        left, right = (1 - passing) ** new, (1 - passing) ** gone
        pair = [np.convolve(noise, np.eye(1, parts + 1, shift)[0]) for shift in (parts, 0)]
        common = list(pair) if moved else [np.ones(1), np.ones(1)]
        for _ in range(moved - 1):
            # The sum of counts that move alike tells as much as the counts: convolve in the number of parts.
            common = [np.convolve(common[0], pair[0]), np.convolve(common[1], pair[1])]
        worst = max(
            worst, 1 - left + float(np.maximum(0, left * common[0] - math.exp(epsilon) * right * common[1]).sum())
        )
    return worst


def test_the_sum_of_two_deltas_is_too_much() -> None:
    exact = gaussian_keys_delta(0.5, 2.0, 5, 1, "remove")
    added = gaussian_delta(0.5, 0.5) + gaussian_new_key(2.0, 5)
    assert abs(added - 0.0752) < 5e-5
    assert added > 1.4 * exact


def test_the_delta_of_one_new_key_is_too_little() -> None:
    # The threshold that one key of a person would need, where it may have three.
    found = TruncatedKeys(3.0, 1e-2, 3, "remove")
    one = laplace_threshold(found.scale, 1, 1e-2)
    assert worst_delta(laplace_laws(found.scale, one, round(40 * found.scale)), 3.0, 3, "remove") > 1.4e-2


@pytest.mark.parametrize(
    ("epsilon", "delta", "keys", "remove", "replace"),
    [(1.0, 1e-9, 1, 22, 42), (1.0, 1e-9, 10, 225, 449), (1.0, 1e-6, 3, 45, 87)],
)
def test_known_laplace_thresholds(epsilon: float, delta: float, keys: int, remove: int, replace: int) -> None:
    assert LaplaceKeys(epsilon, delta, keys, "remove").threshold == remove
    assert LaplaceKeys(epsilon, delta, keys, "replace").threshold == replace


# The note prints 3370 where 3368 stands: 1 + sigma z is 3368.2 there.
PEOPLE = [
    (1.0, "remove", {1: (21, 34), 3: (62, 60), 10: (202, 112), 100: (2005, 370)}),
    (1.0, "replace", {1: (42, 48), 3: (122, 84), 10: (402, 157), 100: (4008, 522)}),
    (0.1, "remove", {1: (179, 302), 3: (533, 538), 10: (1774, 1012), 100: (17729, 3368)}),
]
DEVIATIONS = [
    (1.0, "remove", {1: (1.4, 5.5), 3: (4.2, 9.5), 10: (14, 17), 100: (141, 55)}),
    (1.0, "replace", {1: (2.8, 7.8), 3: (8.5, 13), 10: (28, 25), 100: (283, 78)}),
    (0.1, "remove", {1: (14, 50), 3: (42, 87), 10: (141, 159), 100: (1414, 502)}),
]


@pytest.mark.parametrize(("epsilon", "neighbours", "printed"), PEOPLE)
def test_the_table_of_people(epsilon: float, neighbours: Neighbours, printed: dict[int, tuple[int, int]]) -> None:
    for keys, (truncated, gaussian) in printed.items():
        assert TruncatedKeys(epsilon, 1e-9, keys, neighbours).people == truncated
        found = GaussianKeys(epsilon, 1e-9, keys, neighbours)
        # The note rounds 1 + sigma z in places to the nearest number; the least whole threshold is that rounded up.
        exact = 1 + found.scale * -scipy.stats.norm.ppf(-math.expm1(math.log1p(-1e-9) / keys))
        assert found.people == math.ceil(exact)
        assert abs(found.people - gaussian) <= 1


@pytest.mark.parametrize(("epsilon", "neighbours", "printed"), DEVIATIONS)
def test_the_table_of_deviations(
    epsilon: float, neighbours: Neighbours, printed: dict[int, tuple[float, float]]
) -> None:
    for keys, (truncated, gaussian) in printed.items():
        assert abs(TruncatedKeys(epsilon, 1e-9, keys, neighbours).standard_deviation / truncated - 1) < 0.04
        assert abs(GaussianKeys(epsilon, 1e-9, keys, neighbours).standard_deviation / gaussian - 1) < 0.04


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize("keys", [1, 7, 300, 2**16])
def test_the_threshold_is_the_least_within_the_price(
    kind: type[KeyThreshold], neighbours: Neighbours, keys: int
) -> None:
    for epsilon, delta in ((0.2, 1e-5), (1.0, 1e-9), (4.0, 1e-12)):
        found = kind(epsilon, delta, keys, neighbours)
        assert found.price <= delta
        lower = found.threshold - 1
        if isinstance(found, GaussianKeys):
            assert gaussian_keys_delta(epsilon, found.scale, lower, keys, neighbours) > delta
        elif isinstance(found, LaplaceKeys):
            assert new_keys_delta(laplace_new_key(found.scale, lower), keys) > delta
        else:
            assert new_keys_delta(truncated_laplace_edge(found.scale, lower - 1), found.moves) > delta
        if not isinstance(found, GaussianKeys):
            assert Fraction(found.moves) / Fraction(found.scale) <= Fraction(str(epsilon))


def test_the_general_bound_holds_where_it_must() -> None:
    # Theorem 1 beside theorem 2: noise that is (epsilon, delta_0), and a threshold.
    for keys, sigma, threshold in ((1, 3.0, 8), (3, 6.0, 14), (5, 4.0, 4)):
        for neighbours in ("remove", "replace"):
            moves = keys * (1 if neighbours == "remove" else 2)
            miss = 1 - new_keys_delta(gaussian_new_key(sigma, threshold), keys)
            bound = 1 - miss * (1 - gaussian_delta(1.0, math.sqrt(moves) / sigma))
            assert gaussian_keys_delta(1.0, sigma, threshold, keys, neighbours) <= bound * (1 + 1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_events(kind: type[KeyThreshold]) -> None:
    found = kind(0.5, 1e-6, 4, "replace")
    event = found.event()
    assert event.guarantee == UserDP(0.5, 1e-6)
    apart = found.events(UserDP(0.0))
    for one in (event, *apart):
        assert event_from_json(one.to_json()) == one
        assert one.guarantee.kind == UserDP(0.0)
    if not isinstance(found, TruncatedKeys):
        assert isinstance(apart[1], GuaranteeEvent)
        assert apart[1].guarantee.delta == new_keys_delta(found.new_key, 4)
        assert apart[1].guarantee.level == 0.0
    account = Account(Budget(UserDP(2.0, 1e-5)))
    for one in apart:
        account = account.charge(one)
    assert account.count == len(apart)


def test_a_price_is_stated_for_its_own_neighbours() -> None:
    with pytest.raises(UsageError, match="neighbours"):
        TruncatedKeys(1.0, 1e-6, 2, "remove").event(UserDP(0.0))
    with pytest.raises(UsageError, match="central UserDP"):
        TruncatedKeys(1.0, 1e-6, 2, "replace").event(EmdDP(0.0))
    with pytest.raises(UsageError, match="parameters 0"):
        TruncatedKeys(1.0, 1e-6, 2, "replace").event(UserDP(1.0))


@pytest.mark.parametrize("kind", KINDS)
def test_release_has_the_noise_that_it_states(kind: type[KeyThreshold]) -> None:
    found = kind(1.0, 1e-4, 3, "remove")
    with seeded(8):
        shown = found.release(np.full(20_000, 10**6))
    noise = shown.counts - 10**6
    assert shown.index.tolist() == list(range(20_000))
    spread = float(np.std(noise)) / found.standard_deviation
    assert abs(spread - 1) < 0.04
    assert abs(float(noise.mean())) < 6 * found.standard_deviation / math.sqrt(20_000)


@pytest.mark.parametrize("kind", KINDS)
def test_few_people_are_shown_as_rarely_as_stated(kind: type[KeyThreshold]) -> None:
    found = kind(1.0, 0.2, 1, "remove")
    counts = np.concatenate((np.ones(20_000, dtype=np.int64), np.full(20_000, found.people)))
    with seeded(9):
        shown = found.release(counts)
    assert shown.counts.min() >= found.threshold
    new = int((shown.index < 20_000).sum()) / 20_000
    assert abs(new - found.new_key) < 6 * math.sqrt(found.new_key / 20_000)
    # A person less or more would be seen.
    assert int((shown.index >= 20_000).sum()) / 20_000 > 0.49


def test_an_exactly_met_threshold_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    laplace, truncated, gaussian = (kind(1.0, 1e-4, 1, "remove") for kind in (LaplaceKeys, TruncatedKeys, GaussianKeys))
    zeros = np.zeros(2, dtype=np.int64)
    monkeypatch.setattr("emdp.mechanisms.keys.laplace.draw_discrete_laplace_bulk", lambda scale, size: zeros)
    monkeypatch.setattr("emdp.mechanisms.keys.laplace.draw_truncated_laplace", lambda scale, reach, size: zeros)
    monkeypatch.setattr("emdp.mechanisms.keys.gaussian.draw_discrete_gaussian", lambda scale, size: [0, 0])
    for found in (laplace, truncated, gaussian):
        shown = found.release([found.threshold - 1, found.threshold])
        assert shown.index.tolist() == [1]
        assert shown.counts.tolist() == [found.threshold]


@pytest.mark.parametrize(("neighbours", "first"), [("remove", 3), ("replace", 2)])
def test_gaussian_noise_is_chosen_from_few_keys_on(neighbours: Neighbours, first: int) -> None:
    # user-level-sql.md, decision 7: unlisted keys appear earlier with it from L = 3 by removal, 2 by replacement.
    for keys in (1, 2, 3, 4, 50):
        found = best_threshold(1.0, 1e-9, keys, neighbours)
        assert isinstance(found, GaussianKeys if keys >= first else TruncatedKeys)
        assert found.people <= min(kind(1.0, 1e-9, keys, neighbours).people for kind in KINDS)


def test_thresholds_apart() -> None:
    for keys, delta in ((1, 1e-9), (50, 1e-6)):
        threshold = laplace_threshold(4.0, keys, delta)
        tail = 1 - discrete_laplace_cdf(threshold - 2, 4.0)
        assert 1 - (1 - tail) ** keys <= delta * (1 + 1e-5)
        assert new_keys_delta(laplace_new_key(4.0, threshold - 1), keys) > delta
        threshold = gaussian_threshold(4.0, keys, delta)
        assert new_keys_delta(gaussian_new_key(4.0, threshold), keys) <= delta
        assert new_keys_delta(gaussian_new_key(4.0, threshold - 1), keys) > delta
        assert 1 - 1e-8 < new_keys_delta(chance_within(delta, keys), keys) / delta <= 1
    assert new_keys_delta(1.0, 3) == 1.0


@pytest.mark.parametrize(
    "changed", [{"epsilon": 0.0}, {"epsilon": 200.0}, {"delta": 0.0}, {"delta": 1e-26}, {"keys": 0}, {"keys": 2**17}]
)
def test_refusals(changed: dict[str, float]) -> None:
    for kind in KINDS:
        with pytest.raises(UsageError):
            kind(**{"epsilon": 1.0, "delta": 1e-6, "keys": 3, "neighbours": "remove", **changed})
    with pytest.raises(UsageError):
        TruncatedKeys(1.0, 1e-6, 3, "add")  # type: ignore[arg-type]


def test_counts_are_refused_that_nobody_has() -> None:
    for kind in KINDS:
        with pytest.raises(UsageError, match="counts"):
            kind(1.0, 1e-6, 3, "remove").release([0, 5])
