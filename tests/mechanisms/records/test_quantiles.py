"""Quantiles of records: the whole law on small universes, its loss for all neighbours, errors, intervals."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from exact_laws import flip_law

from emdp.base.errors import UsageError
from emdp.mechanisms.records import parts
from emdp.mechanisms.records import quantiles as module
from emdp.mechanisms.records.intervals import QuantileIntervals
from emdp.mechanisms.records.quantiles import QuantileInterval, RecordQuantiles
from emdp.privacy.events.table import event_from_json
from emdp.privacy.guarantees.kinds import Neighbours, UserDP
from emdp.testing import seeded


class Script:
    """One run of a release: the outcomes of its choices so far, what other ones there are, and the chance of all."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.script = script
        self.made: tuple[int, ...] = ()
        self.chance = 1.0
        self.others: list[tuple[int, ...]] = []

    def choose(self, costs: Any, rate: Fraction) -> int:
        own, place = flip_law([int(cost) for cost in costs], float(rate)), len(self.made)
        if place >= len(self.script):
            self.others += [(*self.made, other) for other in range(1, len(own))]
        self.made = (*self.made, self.script[place] if place < len(self.script) else 0)
        self.chance *= own[self.made[-1]]
        return self.made[-1]


def whole_law(release: Callable[[], Any], patch: pytest.MonkeyPatch) -> dict[tuple[int, ...], float]:
    """Return the law of a release's choices, splits included, by running it through every outcome of every choice."""
    law: dict[tuple[int, ...], float] = {}
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        run = Script(waiting.pop())
        patch.setattr(module, "draw_permute_and_flip", run.choose)
        release()
        waiting += run.others
        law[run.made] = run.chance
    return law


def bags(cells: int, cap: int) -> list[tuple[int, ...]]:
    return [bag for bag in product(range(cap + 1), repeat=cells) if sum(bag) <= cap]


def largest_loss(
    asked: Any, cells: int, others: list[tuple[int, ...]], cap: int, neighbours: Neighbours, patch: pytest.MonkeyPatch
) -> float:
    worst = 0.0
    for other in others:
        laws = [whole_law(partial(asked.release, np.add(other, bag)), patch) for bag in bags(cells, cap)]
        assert all(abs(sum(law.values()) - 1) < 1e-9 for law in laws)
        # By removal one side has nothing of the user: the first bag is the empty one.
        against = laws if neighbours == "replace" else laws[:1]
        for left, right in product(laws, against):
            assert left.keys() == right.keys()
            worst = max(worst, *(abs(math.log(left[key] / right[key])) for key in left))
    return worst


@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize("level", [0.5, 0.25, 0.9])
def test_one_level_costs_what_it_claims(level: float, neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = RecordQuantiles((level,), 0.8, neighbours, 2)
    others = [(0, 0, 0), (3, 0, 4), (0, 9, 0), (12, 0, 0), (30, 0, 0)]
    assert 0.4 < largest_loss(asked, 3, others, 2, neighbours, monkeypatch) <= 0.8 * (1 + 1e-9)


@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_several_levels_cost_what_they_claim(neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    few_splits(monkeypatch)
    asked = RecordQuantiles((0.25, 0.5, 0.75), 0.8, neighbours, 2)
    others = [(0, 0), (3, 2), (0, 5)]
    reached = largest_loss(asked, 2, others, 2, neighbours, monkeypatch)
    assert 0.3 < reached <= 0.8 * (1 + 1e-9)


@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_an_interval_costs_what_it_claims(neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = QuantileInterval(0.5, 0.8, neighbours, 1, 0.9)
    assert 0.2 < largest_loss(asked, 2, [(0, 0), (3, 2), (30, 90)], 1, neighbours, monkeypatch) <= 0.8 * (1 + 1e-9)


@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_groups_cost_what_they_claim_together(neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = QuantileInterval(0.5, 0.8, neighbours, 1, 0.9, groups=2)
    both = SimpleNamespace(release=lambda own: [asked.release(own[:2]), asked.release(own[2:])])
    reached = largest_loss(both, 4, [(0, 0, 0, 0), (3, 2, 2, 3)], 1, neighbours, monkeypatch)
    assert 0.2 < reached <= 0.8 * (1 + 1e-9)


@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_levels_of_groups_cost_what_they_claim_together(
    neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_splits(monkeypatch)
    asked = RecordQuantiles((0.4, 0.6), 0.8, neighbours, 1, groups=2)
    both = SimpleNamespace(release=lambda own: asked.release_groups([own[:2], own[2:]]))
    reached = largest_loss(both, 4, [(0, 0, 0, 0), (3, 2, 2, 3)], 1, neighbours, monkeypatch)
    assert 0.1 < reached <= 0.8 * (1 + 1e-9)


@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_levels_with_intervals_cost_what_they_claim(neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases of one round each, so that their losses add up: half of the price is for each kind."""
    few_splits(monkeypatch)
    asked = QuantileIntervals((0.4, 0.6), 0.8, neighbours, 1, 0.9)
    assert (asked.quantiles.epsilon, [one.epsilon for one in asked.intervals]) == (0.4, [0.4, 0.4])
    others = [(0, 0), (3, 2)]
    losses = [largest_loss(asked.quantiles, 2, others, 1, neighbours, monkeypatch)]
    for one in asked.intervals:
        for middle in (0, 1):
            ends = SimpleNamespace(release=partial(one.release_ends, middle=middle))
            losses.append(largest_loss(ends, 2, others, 1, neighbours, monkeypatch))
    assert losses[0] <= 0.4 * (1 + 1e-9)
    assert all(loss <= 0.2 * (1 + 1e-9) for loss in losses[1:])
    assert losses[0] + losses[1] + losses[3] > 0.2


def missing(weights: list[int], asked: QuantileInterval, patch: pytest.MonkeyPatch) -> float:
    """Return the largest chance that an end is beyond the quantile, whatever cell was released as the quantile."""
    whole, worst = sum(weights), 0.0
    upto = np.cumsum(weights)
    for middle in range(len(weights)):
        chance = [0.0, 0.0]
        waiting: list[tuple[int, ...]] = [()]
        while waiting:
            run = Script(waiting.pop())
            patch.setattr(module, "draw_permute_and_flip", run.choose)
            low, high = asked.release_ends(weights, middle)
            waiting += run.others
            chance[0] += run.chance * (low is not None and upto[low] - weights[low] > whole * asked.level)
            chance[1] += run.chance * (high is not None and upto[high] < whole * asked.level)
        worst = max(worst, *chance)
    return worst


def test_no_end_misses_more_often_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    # Few records in one cell is where a choice misses most: every other cell is as cheap as one may be.
    worst = 0.0
    for weights in ([1, 0, 0, 0, 0], [0, 0, 2, 0, 0], [40, 9, 0, 0, 0], [9, 9, 400, 9, 9], [0, 0, 0, 0, 3]):
        for level in (0.5, 0.9):
            worst = max(worst, missing(weights, QuantileInterval(level, 1.0, "remove", 1, 0.4), monkeypatch))
    assert 0.09 < worst <= 0.2
    # No less would do.
    reach = QuantileInterval._reach
    monkeypatch.setattr(QuantileInterval, "_reach", lambda own, cells: int(0.6 * reach(own, cells)))
    assert missing([1, 0, 0, 0, 0], QuantileInterval(0.5, 1.0, "remove", 1, 0.4), monkeypatch) > 0.2


def test_intervals_are_less_than_half_of_those_of_a_union_over_the_grid() -> None:
    asked = QuantileInterval(0.5, 1.0, "remove", 20, 0.05)
    former = 8 * asked._bound * (math.log(2**16 + 1) - math.log(0.025)) / 2
    assert 0.4 < asked.rank_error(2**16) / former < 0.5
    weights = np.full(2**16, 40, dtype=np.int64)
    with seeded(9):
        found = [asked.release(weights) for _ in range(12)]
    assert all(low is not None and high is not None and low <= 2**15 <= high for _, low, high in found)
    ranks = [40 * (high - low) for _, low, high in found if low is not None and high is not None]
    assert float(np.mean(ranks)) < 3 * asked.rank_error(2**16) < 2 * former


def test_levels_with_intervals_are_near_and_held() -> None:
    weights = np.zeros(4096, dtype=np.int64)
    weights[1000:3000] = 400
    asked = QuantileIntervals((0.1, 0.5, 0.9), 6.0, "replace", 20, 0.05, groups=2)
    with seeded(8):
        found = [asked.release([weights, weights[::-1]]) for _ in range(10)]
    for level in range(3):
        for group, target in enumerate([1200 + 800 * level, 1295 + 800 * level]):
            places = [own[level][group] for own in found]
            assert all(abs(middle - target) < 60 for middle, _, _ in places)
            assert sum(low is not None and high is not None and low <= target <= high for _, low, high in places) >= 8


def few_splits(patch: pytest.MonkeyPatch) -> None:
    for one in (module, parts):
        patch.setattr(one, "SPLITS", 2)


def test_disjoint_parts_alone_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    # Records in both halves, each half at the rate that one part may have: the losses add up.
    def loss(rate: float) -> float:
        parts = [([0, 4], [0, 6]), ([0, 4], [0, 6])]
        return sum(abs(math.log(flip_law(one, rate)[1] / flip_law(other, rate)[1])) for one, other in parts)

    half, whole = 1.0 / (2 * 2), 1.0 / (2 * 2 * 2)
    assert loss(half) > 0.9 * 1.0
    assert loss(whole) < 0.6


def test_the_law_is_that_of_the_rate_with_power() -> None:
    weights, levels = [5, 3, 8, 4], (0.5,)
    upto = np.cumsum(weights)
    costs = np.maximum(0, np.maximum(2 * (upto - weights) - 20, 20 - 2 * upto)).tolist()
    with seeded(3):
        asked = RecordQuantiles(levels, 1.0, "remove", 3)
        drawn = np.bincount([asked.release(weights)[0] for _ in range(6000)], minlength=4)

    def p_value(factor: float) -> float:
        expected = np.array(flip_law(costs, factor / (2 * 3))) * 6000
        return float(scipy.stats.chisquare(drawn, expected).pvalue)

    assert p_value(1.0) > 1e-6
    assert p_value(0.7) < 1e-6
    assert p_value(1.3) < 1e-6


@pytest.mark.slow
def test_rank_errors_at_size() -> None:
    cells = np.arange(2**16)
    weights = np.rint(5.7e6 * np.diff(scipy.stats.norm.cdf(np.append(cells, 2**16), 32_000, 4_000))).astype(np.int64)
    upto, whole = np.cumsum(weights), int(weights.sum())
    for neighbours, most in (("remove", 6e-5), ("replace", 1.2e-4)):
        asked, errors = RecordQuantiles((0.5,), 1.0, neighbours, 100), []  # type: ignore[arg-type]
        with seeded(4):
            for _ in range(15):
                cell = asked.release(weights)[0]
                errors.append(max(0.0, upto[cell] - weights[cell] - whole / 2, whole / 2 - upto[cell]))
        assert max(errors) <= asked.rank_error(2**16, 1e-6)
        assert math.sqrt(float(np.mean(np.square(errors)))) / whole < most


def test_levels_that_share_a_cell() -> None:
    weights = np.zeros(1000, dtype=np.int64)
    weights[700] = 10**6
    levels = (0.1, 0.3, 0.5, 0.7, 0.9)
    with seeded(5):
        assert RecordQuantiles(levels, 1.0, "remove", 10).release(weights) == (700,) * 5
        weights[:] = 1000
        found = RecordQuantiles(levels, 2.0, "replace", 10).release(weights)
    assert np.abs(np.array(found) / 1000 - levels).max() < 0.01
    assert list(found) == sorted(found)


def test_intervals_hold_the_quantile() -> None:
    weights = np.zeros(4096, dtype=np.int64)
    weights[1000:3000] = 40
    asked = QuantileInterval(0.5, 1.0, "remove", 20, 0.05)
    with seeded(6):
        found = [asked.release(weights) for _ in range(40)]
        few = [asked.release(np.eye(1, 4096, 9, dtype=np.int64)[0]) for _ in range(40)]
    missed = sum(not (low is None or low <= 2000) or not (high is None or high >= 1999) for _, low, high in found)
    assert missed <= 4
    assert all(low is not None and high is not None and high - low < 600 for _, low, high in found)
    # With one record nothing is known, and that is what is said.
    assert sum((low is None or low <= 9) and (high is None or high >= 9) for _, low, high in few) >= 36


def test_large_weights_do_not_overflow() -> None:
    weights = np.array([2**60, 2**61, 2**60], dtype=np.int64)
    with seeded(7):
        assert RecordQuantiles((0.1, 0.5, 0.9), 1.0, "remove", 2**40).release(weights) == (0, 1, 2)


def test_events_and_refusals() -> None:
    event = RecordQuantiles((0.5,), 0.3, "replace", 5).event()
    assert event_from_json(event.to_json()) == event
    assert event.guarantee == UserDP(0.3) == QuantileInterval(0.5, 0.3, "replace", 5, 0.1).event().guarantee
    for call in (
        lambda: RecordQuantiles((), 1.0, "remove", 1),
        lambda: RecordQuantiles((0.5, 0.5), 1.0, "remove", 1),
        lambda: RecordQuantiles((1.0,), 1.0, "remove", 1),
        lambda: RecordQuantiles((0.5,), 0.0, "remove", 1),
        lambda: RecordQuantiles((0.5,), 1e4, "remove", 1),
        lambda: RecordQuantiles((0.5,), 1.0, "remove", 0),
        lambda: RecordQuantiles((0.5,), 1.0, "remove", 2**61),
        lambda: RecordQuantiles((0.5,), 1.0, "remove", 1).event(),
        lambda: RecordQuantiles((0.5,), 1.0, "remove", 1).release([]),
        lambda: RecordQuantiles((0.5,), 1.0, "remove", 1).release([-1]),
        lambda: RecordQuantiles((0.2, 0.5), 1.0, "remove", 1).rank_error(9, 0.1),
        lambda: QuantileInterval(0.5, 1.0, "remove", 1, 0.0),
    ):
        with pytest.raises(UsageError):
            call()
