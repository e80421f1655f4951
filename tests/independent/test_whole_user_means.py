"""Range, then mean, as whole releases over all small tables, against what they claim.

Claim: user-level ``(epsilon, delta)``, neighbours replacing one user. Second method: the law of range and value (in the
shuffle model of all mixed messages, of which these are functions) by the release's own code once for every outcome of
every draw, and the divergence over all pairs of neighbouring tables. Every test shows that 0.7 times the noise is seen.
"""

import itertools
import math
from typing import Any

import exact_releases as exact
import exact_rounds as rounds
import numpy as np
import pytest

from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.scalar.randomizer import ScalarRandomizer
from emdp.mechanisms.user_mean.base import UserMeanSetting
from emdp.mechanisms.user_mean.central import CentralRange
from emdp.mechanisms.user_mean.local import BudgetSplit, LocalUserMean, OneRound, UserSplit
from emdp.mechanisms.user_mean.range_stage import HistogramRange, MedianRange
from emdp.mechanisms.user_mean.shuffle import ShuffledUserMean

HIGH, TAU = 6.0, 1.05
"""Bounds of 0 to 6 in three bins of 2.1; their intervals are [0, 4.2], [0, 6] and [2.1, 6]."""

SAFE = 1 + 1e-9


def setting_of(users: int, epsilon: float, delta: float = 0.0, model: Any = "central") -> UserMeanSetting:
    """Return a setting with that radius."""
    spread = TAU / math.sqrt(2 * math.log(2 * users / 0.005))
    found = UserMeanSetting(users, 0.0, HIGH, epsilon, delta, model, spread, failure=0.01)
    assert found.bins.count == 3
    assert np.allclose([found.bins.window(place) for place in range(3)], [(0, 4.2), (0, 6), (2.1, 6)])
    return found


def tables(users: int, values: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(itertools.combinations_with_replacement(values, users))


def range_laws(replay: Any, way: CentralRange, values: tuple[int, ...]) -> dict[tuple[int, ...], exact.Law]:
    """Return the law of the range, of how many users are near it, and of the value, for each table."""
    users = way.setting.users

    def run(table: tuple[int, ...]) -> Any:
        release = way.release(iter([np.array(table)]), 0, 0)
        return (release.range, release.near), int(release.value * users)

    return {table: rounds.spread_out(replay.law(lambda table=table: run(table))) for table in tables(users, values)}


def check_central(monkeypatch: Any, kind: Any, users: int, values: tuple[int, ...], parts: Any, reach: int) -> None:
    """Check a curator's two rounds of these epsilons, without and with a planted fault."""
    first, second = parts
    epsilon = first + second
    way = CentralRange(setting=setting_of(users, epsilon), first=first, kind=kind)
    weaker = setting_of(users, epsilon / rounds.WEAKER)
    weak = CentralRange(setting=weaker, first=first / rounds.WEAKER, kind=kind)
    assert way.epsilon <= epsilon
    assert way.delta == 0
    replay = rounds.RoundsReplay(monkeypatch, reach, tried=1 if kind is HistogramRange else 0)
    laws = range_laws(replay, way, values)
    pairs = rounds.changed(laws)
    lost = (1 + math.exp(epsilon)) * replay.lost + 1e-12
    assert rounds.worst_stick(laws, epsilon * SAFE, pairs) <= lost
    # What is charged is what it costs: 0.9 of it would not do.
    assert rounds.worst_stick(laws, 0.9 * epsilon, pairs) > 4 * lost
    assert rounds.worst_stick(range_laws(replay, weak, values), epsilon, pairs) > 4 * lost


def test_a_range_by_median_and_a_mean_cost_what_they_claim(monkeypatch: Any) -> None:
    check_central(monkeypatch, MedianRange, 4, (0, 3, 6), (1.0, 1.0), 0)


def test_a_range_by_histogram_and_a_mean_cost_what_they_claim(monkeypatch: Any) -> None:
    check_central(monkeypatch, HistogramRange, 2, (0, 6), (5.0, 1.0), 5)


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "users", "parts", "reach"),
    [
        (MedianRange, 4, (2.0, 0.5), 0),
        (MedianRange, 4, (0.5, 2.0), 0),
        (HistogramRange, 2, (3.0, 1.0), 8),
        (HistogramRange, 3, (4.0, 2.0), 6),
    ],
)
def test_a_range_and_a_mean_cost_what_they_claim_over_more_tables(
    monkeypatch: Any, kind: Any, users: int, parts: Any, reach: int
) -> None:
    check_central(monkeypatch, kind, users, (0, 2, 3, 5, 6), parts, reach)


def gaussian_stick(replay: Any, way: CentralRange, users: int, epsilon: float) -> float:
    """Return the largest divergence of a private bin and a mean with Gaussian noise."""

    def run(table: tuple[int, ...]) -> Any:
        release = way.release(iter([np.array(table)]), 0, 0)
        return release.range, float(release.value)

    laws = {table: replay.law(lambda table=table: run(table)) for table in tables(users, (0, 3, 6))}
    worst = 0.0
    for one, two in rounds.changed(laws):
        other = {place: (chance, value) for ((place, value), _), chance in laws[two].items()}
        found = 0.0
        for ((place, value), (scale,)), chance in laws[one].items():
            there, moved = other[place]
            found += rounds.normal_stick(chance, there, abs(value - moved) / scale, epsilon)
        worst = max(worst, found)
    return worst


def test_a_range_and_a_gaussian_mean_cost_what_they_claim(monkeypatch: Any) -> None:
    users, first, second, delta = 4, 0.5, 1.5, 0.15
    way = CentralRange(setting=setting_of(users, first + second, delta), first=first, kind=MedianRange)
    weaker = setting_of(users, (first + second) / rounds.WEAKER, delta)
    weak = CentralRange(setting=weaker, first=first / rounds.WEAKER, kind=MedianRange)
    assert (way.noise.name, way.delta, weak.noise.name) == ("Gaussian noise", delta, "Gaussian noise")
    replay = rounds.RoundsReplay(monkeypatch)
    rounds.keep_scales(monkeypatch, replay)
    found = gaussian_stick(replay, way, users, way.epsilon)
    assert 0.5 * delta < found <= delta
    assert gaussian_stick(replay, weak, users, way.epsilon) > delta


DELTA = 0.02
"""Of mixing: large enough to count for a few users."""


def one_round(setting: UserMeanSetting, part: float) -> LocalUserMean:
    return OneRound(setting=setting, second=2.0 / part, scalar=OneBitScalar)


def both_rounds(setting: UserMeanSetting, part: float) -> LocalUserMean:
    return BudgetSplit(setting=setting, first=1.0 / part, second=1.0 / part, scalar=OneBitScalar)


def users_split(setting: UserMeanSetting, part: float) -> LocalUserMean:
    return UserSplit(setting=setting, first=1.5 / part, second=1.5 / part, chosen=2, scalar=OneBitScalar)


def mixed_laws(monkeypatch: Any, way: LocalUserMean, values: tuple[int, ...]) -> dict[tuple[int, ...], exact.Law]:
    """Return the law of the mixed messages of all rounds and of what is released from them, for each table."""
    users, said = way.setting.users, []
    with monkeypatch.context() as patched:
        replay = exact.Replay(patched)
        rounds.recorded(patched, FrequencyOracle, "encode", said)
        rounds.recorded(patched, ScalarRandomizer, "encode", said)

        def run(table: tuple[int, ...]) -> Any:
            said.clear()
            release = way.release(iter([np.array(table)]), 0, 0)
            return tuple(said), release.range, release.value

        return {table: replay.law(lambda table=table: run(table)) for table in tables(users, values)}


def check_mixed(monkeypatch: Any, make: Any, users: int, values: tuple[int, ...]) -> float:
    """Check mixed messages, without and with a planted fault; return the part of delta that is reached."""
    setting = setting_of(users, 20.0, DELTA, "shuffle")
    way = ShuffledUserMean(inner=make(setting, 1.0))
    # Mixing so few gains a little, and that is claimed.
    assert way.epsilon < 0.99 * way.epsilon0
    laws = mixed_laws(monkeypatch, way.inner, values)
    pairs = rounds.changed(laws)
    found = rounds.worst_stick(laws, way.epsilon, pairs)
    assert found <= way.delta * SAFE
    weak = mixed_laws(monkeypatch, make(setting, rounds.WEAKER), values)
    assert rounds.worst_stick(weak, way.epsilon, pairs) > way.delta
    return found / way.delta


@pytest.mark.parametrize(("make", "users", "reached"), [(one_round, 4, 0.999), (both_rounds, 2, 0.2)])
def test_mixed_means_cost_what_they_claim(monkeypatch: Any, make: Any, users: int, reached: float) -> None:
    assert check_mixed(monkeypatch, make, users, (0, 6)) > reached


@pytest.mark.full
@pytest.mark.parametrize(
    ("make", "users", "values"), [(one_round, 4, (0, 2, 3, 6)), (both_rounds, 2, (0, 3, 6)), (users_split, 4, (0, 6))]
)
def test_mixed_means_cost_what_they_claim_over_more_tables(
    monkeypatch: Any, make: Any, users: int, values: tuple[int, ...]
) -> None:
    assert check_mixed(monkeypatch, make, users, values) > 0.1
