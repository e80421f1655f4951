"""The histogram of strings that occur: privacy by exact enumeration, slots by all offsets, what is promised."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
import scipy.stats
from exact_laws import loss_beyond

from emdp.base.errors import UsageError
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.strings import stable_histogram as module
from emdp.mechanisms.strings.stable_histogram import StableHistogram, best_histogram
from emdp.noise.discrete_laplace import discrete_laplace_cdf
from emdp.testing import seeded

STRINGS = 4


def outcome_law(count: int, histogram: StableHistogram, threshold: int) -> np.ndarray:
    """Return the law of one string's outcome: not released, or each noisy count from the threshold up to a far end."""
    law = np.zeros(1 + round(40 * histogram.scale))
    if count == 0:
        law[0] = 1.0
        return law
    values = np.arange(threshold, threshold + len(law) - 1)
    law[1:] = np.tanh(0.5 / histogram.scale) * np.exp(-np.abs(values - count) / histogram.scale)
    law[0] = discrete_laplace_cdf(threshold - 1 - count, histogram.scale)
    return law


def worst_delta(histogram: StableHistogram, threshold: int) -> float:
    """Return the largest delta at ``epsilon`` over slots of a user before and after, and of all others."""
    worst = 0.0
    bags = [
        np.bincount(chosen, minlength=STRINGS)
        for size in (0, histogram.slots)
        for chosen in combinations_with_replacement(range(STRINGS), size)
    ]
    for others in ([0, 0, 0, 0], [1, 0, 0, 0], [threshold - 1, 1, 0, 0], [threshold + 3, 0, 0, 0]):
        known = {
            (place, count): outcome_law(others[place] + count, histogram, threshold)
            for place in range(STRINGS)
            for count in range(histogram.slots + 1)
        }
        for before, after in product(bags, bags):
            left = [known[place, int(before[place])] for place in range(STRINGS)]
            right = [known[place, int(after[place])] for place in range(STRINGS)]
            worst = max(worst, loss_beyond(left, right, histogram.epsilon))
    return worst


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("slots", "epsilon", "delta"), [(1, 1.0, 0.01), (2, 0.5, 0.003), (3, 1.0, 0.01), (3, 6.0, 0.02)]
)
def test_privacy_by_enumeration(slots: int, epsilon: float, delta: float) -> None:
    histogram = StableHistogram(100, epsilon, delta, slots)
    threshold = histogram.private_threshold
    reached = worst_delta(histogram, threshold)
    assert reached <= delta * (1 + 1e-9)
    # The bound is met nearly: one slot and a bit less of threshold is too low.
    assert worst_delta(histogram, threshold - 1 - math.ceil(0.1 * histogram.scale)) > delta
    assert histogram.threshold >= threshold


def test_a_user_with_many_strings_would_break_a_bound_for_one_string() -> None:
    # The threshold for one new string a user, with as many as there are slots: what the sum over strings is for.
    one, many = StableHistogram(100, 1.0, 1e-6, 1), StableHistogram(100, 1.0, 1e-6, 256)
    scaled = one.private_threshold * 256
    passing = 256 * math.exp(-(scaled - 1) / many.scale) / (1 + math.exp(-1 / many.scale))
    assert passing > 50e-6
    enough = 256 * math.exp(-(many.private_threshold - 1) / many.scale) / (1 + math.exp(-1 / many.scale))
    assert 0.9e-6 < enough <= 1e-6


def test_scale_is_rounded_up() -> None:
    for epsilon in (0.1, 0.3, 1.0, 2.7):
        for slots in (1, 7, 64):
            histogram = StableHistogram(1000, epsilon, 1e-6, slots)
            assert Fraction(2 * slots) / Fraction(histogram.scale) <= Fraction(epsilon)


def test_slots_by_all_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.array([3, 1, 1, 7, 2, 2, 2, 6])
    bags = Bags(np.array([0, 1, 3, 5, 8]), np.arange(8), counts)
    sizes = np.array([3, 2, 9, 10])
    owners = np.array([0, 1, 1, 2, 2, 3, 3, 3])
    for slots in (1, 4, 7):
        histogram, total = StableHistogram(4, 1.0, 1e-3, slots), np.zeros(8, dtype=np.int64)
        period = math.lcm(*sizes.tolist())
        for offset in range(period):
            monkeypatch.setattr(module, "draw_below", lambda given, offset=offset: offset % given)
            dealt = histogram.draw_slots(bags)
            assert np.bincount(owners, weights=dealt).tolist() == [slots] * 4
            exact = slots * counts / sizes[owners]
            assert (np.abs(dealt - exact) < 1).all()
            total += dealt
        # Means are shares, exactly.
        assert (total * sizes[owners] == period * slots * counts).all()


def test_slots_use_a_uniform_offset_of_each_user() -> None:
    bags = Bags(np.arange(0, 20_002, 2), np.arange(20_000), np.tile([1, 2], 10_000))
    with seeded(3):
        dealt = StableHistogram(10_000, 1.0, 1e-6, 1).draw_slots(bags)
    assert abs(dealt[::2].mean() - 1 / 3) < 6 * math.sqrt(2 / 9 / 10_000)
    # Users turn independently: runs of one value would be longer otherwise.
    changes = (dealt[::2][1:] != dealt[::2][:-1]).mean()
    assert abs(changes - 4 / 9) < 0.03
    assert StableHistogram(3, 1.0, 1e-6, 1).draw_slots(Bags.of_items([])).size == 0


def test_noise_is_of_the_stated_scale_by_chi_squared_with_power() -> None:
    histogram, exact = StableHistogram(1000, 2.0, 1e-6, 8), 10**6
    with seeded(9):
        noise = histogram.draw_counts(np.full(20_000, exact)) - exact
    assert abs(noise).max() > 4 * histogram.scale

    def p_value(scale: float) -> float:
        edges = [round(scale * ratio) for ratio in (-3, -2, -1.2, -0.6, -0.2, 0.2, 0.6, 1.2, 2, 3)]
        below = [discrete_laplace_cdf(edge, scale) for edge in edges]
        expected = np.diff([0.0, *below, 1.0]) * noise.size
        observed = np.diff([0, *(int((noise <= edge).sum()) for edge in edges), noise.size])
        return float(scipy.stats.chisquare(observed, expected, sum_check=False).pvalue)

    assert p_value(histogram.scale) > 1e-9
    assert p_value(0.7 * histogram.scale) < 1e-9
    assert p_value(1.3 * histogram.scale) < 1e-9


def test_counts_below_the_threshold_are_never_shown() -> None:
    histogram = StableHistogram(1000, 2.0, 1e-6, 8)
    with seeded(10):
        noisy = histogram.draw_counts(np.full(20_000, histogram.threshold))
    assert set(np.unique(noisy[noisy < histogram.threshold])) == {-1}
    share = (noisy >= histogram.threshold).mean()
    assert abs(share - (1 - discrete_laplace_cdf(-1, histogram.scale))) < 6 * 0.5 / math.sqrt(20_000)


@pytest.mark.parametrize(("users", "epsilon"), [(400, 4.0), (4000, 1.0)])
def test_finds_are_as_promised(users: int, epsilon: float) -> None:
    histogram = StableHistogram(users, epsilon, 1e-4, 16, failure=0.05)
    # A falling law of strings, three records a user, so that shares are no multiples of a slot.
    rng, strings, off, far = np.random.default_rng(5), 300, 0, []
    chances = 1.0 / np.arange(1, strings + 1)
    records = np.sort(rng.choice(strings, p=chances / chances.sum(), size=(users, 3)), axis=1)
    bags = Bags(np.arange(users + 1) * 3, records.ravel(), np.ones(3 * users, dtype=np.int64))
    truth = np.bincount(records.ravel(), minlength=strings) / records.size
    width, complete = histogram.half_width(0.05), histogram.complete_above
    assert (truth >= complete).any()
    with seeded(6):
        for _ in range(100):
            counts = np.bincount(bags.codes, weights=histogram.draw_slots(bags), minlength=strings).astype(np.int64)
            present = np.flatnonzero(counts)
            noisy = histogram.draw_counts(counts[present])
            kept, estimates = present[noisy >= 0], noisy[noisy >= 0] / histogram.total
            missing = np.setdiff1d(np.flatnonzero(truth >= complete), kept).size
            error = float(np.abs(estimates - truth[kept]).max())
            off += missing > 0 or error > width
            far.append(error)
    assert off <= 5
    assert max(far) > width / 6


def test_half_width_grows_with_what_may_not_fail() -> None:
    histogram = StableHistogram(10_000, 1.0, 1e-6, 64)
    widths = [histogram.half_width(failure) for failure in (0.5, 0.1, 0.05, 0.01)]
    assert widths == sorted(widths)
    assert histogram.half_width(1e-200) == math.inf


def test_best_histogram_has_the_least_of_all_slots() -> None:
    best = best_histogram(20_000, 2.0, 1e-8, 0.01)
    assert best.complete_above == min(
        StableHistogram(20_000, 2.0, 1e-8, 2**power).complete_above for power in range(13)
    )
    assert best.complete_above < StableHistogram(20_000, 2.0, 1e-8, 1).complete_above


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"users": 0}, "users"),
        ({"users": 2**41}, "users"),
        ({"slots": 5000}, "slots"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1e9}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 0.2}, "delta must be at most"),
        ({"failure": 1.0}, "failure"),
    ],
)
def test_refusals(changed: dict[str, float], named: str) -> None:
    arguments = {"users": 100, "epsilon": 1.0, "delta": 1e-6, "slots": 4, **changed}
    with pytest.raises(UsageError, match=named):
        StableHistogram(**arguments)  # type: ignore[arg-type]


def test_the_scale_pays_for_the_decimal_epsilon() -> None:
    for slots, hundredths in product(range(1, 20), range(2, 300)):
        histogram = StableHistogram(10**6, hundredths / 100, 1e-9, slots)
        assert 2 * slots / Fraction(histogram.scale) <= Fraction(hundredths, 100)
