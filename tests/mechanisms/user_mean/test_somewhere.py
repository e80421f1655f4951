"""Means over users who are somewhere: what both sums move by, noise, bins that are not chosen, coverage, laws."""

import itertools
import math
from typing import Any

import exact_releases as exact
import exact_rounds as rounds
import numpy as np
import pytest
import scipy.linalg
import scipy.stats

from emdp.base.errors import UsageError
from emdp.mechanisms.crowd import GatheredUsers
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.user_mean import clipped_mean, range_stage
from emdp.mechanisms.user_mean.base import UserMeanSetting
from emdp.mechanisms.user_mean.clipped_mean import ClippedMean
from emdp.mechanisms.user_mean.local import OneRound
from emdp.mechanisms.user_mean.plan import user_mean_candidates
from emdp.mechanisms.user_mean.range_bins import ABSENT, RangeBins
from emdp.mechanisms.user_mean.range_stage import HadamardRange, HistogramRange, MedianRange, crowded_failure
from emdp.mechanisms.user_mean.somewhere import CentralSomewhere, SomewhereRelease, uneven
from emdp.mechanisms.user_mean.somewhere_messages import DealtSomewhere, dealt_somewhere
from emdp.testing import seeded

WIDTHS = (2, 5, 8)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_a_user_moves_both_sums_by_no_more_than_the_noise_of_the_first_is_for(
    monkeypatch: pytest.MonkeyPatch, width: int, delta: float
) -> None:
    mean = ClippedMean(-1.0, width - 1.0, 2, 1.0, delta)
    scales: list[float] = []

    def silent(scale: float, size: int) -> list[int]:
        scales.append(scale)
        return [0] * size

    monkeypatch.setattr(clipped_mean, "draw_discrete_laplace", silent)
    monkeypatch.setattr("emdp.mechanisms.central.gaussian.draw_discrete_gaussian", silent)
    weight = mean._cut(0).weight(is_gaussian=delta > 0)
    found = {}
    for own in (ABSENT, -5, *range(-1, width), 99):
        crowd = GatheredUsers(iter([np.array([[0], [own]])]), 2)
        above, share = mean.ask_somewhere(crowd, 0)
        found[own] = np.array([float(above) * 2, float(share) * 2 * weight])
    order = 2 if delta else 1
    moved = [np.linalg.norm(a - b, order) for a, b in itertools.combinations(found.values(), 2)]
    assert max(moved) <= width + 1e-6
    # Both kinds of change reach it, as nearly as whole numbers do.
    assert max(np.linalg.norm(found[ABSENT] - own, order) for own in found.values()) >= width - 1
    if not delta:
        assert set(scales) == {float(width)}


@pytest.mark.quarter
@pytest.mark.parametrize("delta", [0.0, 0.3])
def test_the_noise_of_both_is_that_of_the_claim(delta: float) -> None:
    mean = ClippedMean(0.0, 4.0, 100, 0.5, delta)
    values = np.where(np.arange(100) % 4 == 0, ABSENT, 3 * 2**20).reshape(-1, 1)
    weight = (2.0 if not delta else 2.0 * math.sqrt(3.0)) * 100
    with seeded(8):
        drawn = np.array([mean.ask_somewhere(GatheredUsers(iter([values]), 100), 20) for _ in range(4000)], dtype=float)
    noise = (drawn - np.array([0.75, 0.75])) * np.array([100, weight])
    scale = 4.0 / 0.5 if not delta else mean._gaussian(mean._sensitivity(mean._cut(20)), 2).scale * 100
    law = scipy.stats.norm if delta else scipy.stats.laplace
    for column in noise.T:
        for factor, passes in ((1.0, True), (0.7, False), (1.3, False)):
            assert bool(scipy.stats.kstest(column, law(0, scale * factor).cdf).pvalue > 1e-6) is passes


@pytest.mark.parametrize("kind", [MedianRange, HistogramRange, HadamardRange])
def test_the_bin_of_nobody_is_never_chosen(kind: Any) -> None:
    bins = RangeBins(0.0, 16.0, 1.0)
    values = np.full(3000, ABSENT)
    values[:900] = 5
    with seeded(3):
        for part, place in ((values, 2), (np.full(3000, ABSENT), None)):
            stage = kind(bins, 3000, 3.0, True)
            found = stage.find(part, 0)
            assert 0 <= found.place < bins.count
            assert found.place == place or place is None
            assert place is None or found.near is None or found.near > 0.7


def test_a_user_moves_no_count_and_no_cost_by_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    costs: list[Any] = []
    monkeypatch.setattr(range_stage, "draw_permute_and_flip", lambda own, rate: costs.append(own) or 0)
    stage = MedianRange(RangeBins(0.0, 6.0, 1.0), 4, 1.0, True)
    for table in itertools.combinations_with_replacement((ABSENT, 0, 3, 5), 3):
        costs.clear()
        sums = []
        for own in (ABSENT, 0, 3, 5):
            values = np.array([*table, own])
            sums.append(stage.sums(values, 0))
            stage.found(sums[-1])
        for one, two in itertools.combinations(range(4), 2):
            assert np.abs(costs[one] - costs[two]).max() <= 1
            assert sorted(np.abs(sums[one] - sums[two]).tolist())[-3:] == [0, 1, 1]


def test_users_without_a_number_move_a_vote_by_no_more_than_is_said() -> None:
    # Chernoff's factors over all rows, for all places of two bins, another one and that of nobody.
    matrix, factor = scipy.linalg.hadamard(8).astype(float), 2.163953
    p, q = 0.5 + 0.5 / factor, 0.5 - 0.5 / factor
    for x in (1.05, 1.3, 1.8):
        free = (x**2 + x**-2 + 2 * x + 2 / x + 2) / 8
        tied = (p * (1 + 2 / x + x**2) + q * (1 + 2 * x + x**-2)) / 4
        alone = (2 + x**2 + x**-2) / 4
        for a, b, j, e in itertools.permutations(range(8), 4):
            for first, bound in ((b, max(free, tied)), (a, alone)):
                own = matrix[e] * (matrix[a] / 2 + matrix[first] / 2 - matrix[j])
                assert float((p * x**-own + q * x**own).mean()) <= bound * (1 + 1e-12)


def test_a_wrong_bin_is_as_rare_as_is_said_where_users_are_elsewhere() -> None:
    bins, users, some = RangeBins(0.0, 8.0, 1.0), 300, 200
    stage = HadamardRange(bins, users, 1.5, True)
    values = np.full(users, ABSENT)
    values[:some] = 3
    said = stage.wrong_bin(some)
    assert said == crowded_failure(4, some, users - some, stage.factor) > stage.wrong_bin(users)
    with seeded(5):
        wrong = sum(stage.find(values, 0).place != 1 for _ in range(300))
    assert said < 0.5
    assert wrong <= scipy.stats.binom.ppf(1 - 1e-9, 300, said)


@pytest.mark.parametrize(("spread", "delta"), [(None, 0.0), (0.5, 0.0), (0.5, 0.1)])
def test_intervals_hold_where_a_third_is_elsewhere(spread: float | None, delta: float) -> None:
    setting = UserMeanSetting(900, -20.0, 20.0, 1.0, delta, spread=spread, elsewhere=True)
    ways = user_mean_candidates(setting)
    way = ways[0] if spread is None else next(one for one in ways[1:] if one.missed_range <= 0.01)
    assert isinstance(way, CentralSomewhere)
    rng = np.random.default_rng(4)
    values = np.rint(np.clip(rng.normal(7.0, 0.4, 900), -20, 20) * 2**30).astype(np.int64)
    values[rng.random(900) < 0.3] = ABSENT
    truth = float(values[values != ABSENT].mean()) / 2**30
    held, narrow = 0, 0
    with seeded(6):
        for _ in range(300):
            release = way.release(iter([values]), 30, ABSENT)
            low, high = release.interval(0.95)
            held += low <= truth <= high
            narrow += abs(truth - float(release.value)) <= (high - low) / 12
    assert held >= scipy.stats.binom.ppf(1e-6, 300, 0.95)
    # A sixth of the length would not do.
    assert narrow < scipy.stats.binom.ppf(1e-6, 300, 0.95)


def test_intervals_of_messages_hold_and_nothing_is_said_of_nobody() -> None:
    setting = UserMeanSetting(6000, 0.0, 10.0, 4.0, model="local", elsewhere=True)
    way = dealt_somewhere(setting)[0]
    values = np.where(np.arange(6000) % 3 == 0, ABSENT, 7 * 2**20)
    held, gone = 0, np.full(6000, ABSENT)
    with seeded(9):
        for _ in range(40):
            release = way.release(iter([values]), 20, ABSENT)
            low, high = release.interval(0.95)
            held += low <= 7.0 <= high
            assert 0.0 <= low < high <= 10.0
        release = way.release(iter([gone]), 20, ABSENT)
    assert held >= 33
    assert isinstance(release, SomewhereRelease)
    assert release.is_unknown
    assert release.interval(0.95) == (0.0, 10.0)
    assert uneven(5, 5, 1.0, 0.1) == 0.0
    assert 0 < uneven(50, 60, 1.0, 0.1) < uneven(50, 600, 1.0, 0.1) < 0.2


def test_users_who_are_dealt_to_a_mean_and_a_share_cost_what_they_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    def way(epsilon: float) -> DealtSomewhere:
        whole = UserMeanSetting(3, 0.0, 6.0, epsilon, model="local", elsewhere=True)
        own = OneRound(
            setting=UserMeanSetting(2, 0.0, 6.0, epsilon, model="local", elsewhere=True),
            second=epsilon,
            scalar=OneBitScalar,
        )
        told = OneRound(
            setting=UserMeanSetting(1, 0.0, 1.0, epsilon, model="local"), second=epsilon, scalar=OneBitScalar
        )
        return DealtSomewhere(everybody=whole, inner=own, told=told)

    replay = rounds.RoundsReplay(monkeypatch)

    def laws(made: DealtSomewhere) -> dict[Any, exact.Law]:
        def run(table: tuple[int, ...]) -> Any:
            release: Any = made.release(iter([np.array(table)]), 0, ABSENT)
            return release.parts, release.share

        tables = list(itertools.combinations_with_replacement((ABSENT, 0, 6), 3))
        return {table: replay.law(lambda table=table: run(table)) for table in tables}

    found, weak = laws(way(2.0)), laws(way(2.0 / rounds.WEAKER))
    pairs = rounds.changed(found)
    assert way(2.0).epsilon <= 2.0
    assert rounds.worst_stick(found, 2.0 * (1 + 1e-9), pairs) <= 1e-12
    assert rounds.worst_stick(weak, 2.0, pairs) > 1e-4


def test_too_coarse_numbers_and_too_few_users_are_refused() -> None:
    with pytest.raises(UsageError, match="exponent must be larger"):
        ClippedMean(0.0, 1.0, 2, 1.0).ask_somewhere(GatheredUsers(iter([np.zeros((2, 1), dtype=np.int64)]), 2), 0)
    with pytest.raises(UsageError, match="ask the central one"):
        dealt_somewhere(UserMeanSetting(3, 0.0, 1.0, 1.0, model="local", elsewhere=True))
    assert dealt_somewhere(UserMeanSetting(4, 0.0, 1.0, 1.0, model="local", elsewhere=True))[0].told.setting.users == 2
