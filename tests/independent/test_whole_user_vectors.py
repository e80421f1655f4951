"""Means of users' vectors of two coordinates as whole releases over all small tables, against what they claim.

Claim: user-level ``(epsilon, delta)`` for the ranges of both coordinates and the noisy mean, or for all messages.
Second method: the law of the ranges by the release's own code once for every outcome of every draw; given these the
noise is that of its formula around what the code would have released, whose largest log-ratio (Laplace) or divergence
(Gaussian) is a closed form. Messages are tried in full. Every test shows that 0.7 times the noise is seen.
"""

import itertools
import math
from dataclasses import replace
from typing import Any

import exact_releases as exact
import exact_rounds as rounds
import numpy as np
import pytest

from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.scalar.randomizer import ScalarRandomizer
from emdp.mechanisms.user_vector.base import UserVectorMechanism
from emdp.mechanisms.user_vector.central import CentralUserVector
from emdp.mechanisms.user_vector.local import LocalUserVector
from emdp.mechanisms.user_vector.setting import UserVectorSetting, frames_of

HIGH, TAU = 6.0, 1.05
"""Bounds of each coordinate, 0 to 6, in three bins of 2.1."""

SAFE = 1 + 1e-9

BITS = 10
"""Of the fixed point: intervals are whole numbers of its steps but for a thousandth."""

CORNERS = ((0, 0), (6, 6), (0, 6), (6, 0))


def setting_of(users: int, epsilon: float, delta: float = 0.0, model: str = "central") -> tuple[UserVectorSetting, Any]:
    """Return a setting with that radius, and the frame in which both coordinates have a range."""
    spread = TAU / math.sqrt(2 * math.log(2 * users * 2 / 0.005))
    setting = UserVectorSetting(users, (0.0, 0.0), (HIGH, HIGH), epsilon, delta, model, spread=(spread, spread))
    frame = frames_of(setting)[-1]
    assert frame.ranged == (0, 1)
    assert [bins.count for bins in frame.bins] == [3, 3]
    return setting, frame


def tables(users: int, corners: int) -> list[tuple[Any, ...]]:
    return list(itertools.combinations_with_replacement(CORNERS[:corners], users))


def release_of(way: UserVectorMechanism, table: tuple[Any, ...]) -> Any:
    return way.release(iter([np.array(table) << BITS]), (BITS, BITS), (0, 0))


def central_laws(monkeypatch: Any, way: CentralUserVector, corners: int) -> dict[Any, dict[Any, Any]]:
    """Return for each table, by the ranges: their probability, the centre of the noise, and its scale."""
    found = {}
    with monkeypatch.context() as patched:
        replay = rounds.RoundsReplay(patched)
        centres = rounds.keep_scales(patched, replay)

        def run(table: Any) -> Any:
            centres.clear()
            return release_of(way, table).ranges, centres[-1]

        for table in tables(way.setting.users, corners):
            law = replay.law(lambda table=table: run(table))
            found[table] = {place: (chance, at, scale) for ((place, at), (scale,)), chance in law.items()}
            assert len(found[table]) == len(law)
    return found


def largest_loss(laws: dict[Any, dict[Any, Any]]) -> float:
    """Return the largest log-ratio of ranges and a mean with Laplace noise, over all neighbouring tables."""
    found = 0.0
    for one, two in rounds.changed(laws):
        for place, (chance, at, scale) in laws[one].items():
            other, there, _ = laws[two][place]
            moved = sum(abs(a - b) for a, b in zip(at, there, strict=True)) / scale
            found = max(found, math.log(chance / other) + moved)
    return found


def largest_stick(laws: dict[Any, dict[Any, Any]], epsilon: float) -> float:
    """Return the largest divergence of ranges and a mean with Gaussian noise, over all neighbouring tables."""
    found = 0.0
    for one, two in rounds.changed(laws):
        parts = [
            rounds.normal_stick(chance, laws[two][place][0], math.dist(at, laws[two][place][1]) / scale, epsilon)
            for place, (chance, at, scale) in laws[one].items()
        ]
        found = max(found, math.fsum(parts))
    return found


def check_laplace(monkeypatch: Any, users: int, corners: int, reached: float) -> None:
    setting, frame = setting_of(users, 2.0)
    way = CentralUserVector(setting, frame, 0.5, 1.0, False)
    assert way.epsilon == 2.0
    claim = way.epsilon + way.slack_epsilon
    found = largest_loss(central_laws(monkeypatch, way, corners))
    assert reached * claim < found <= claim * SAFE
    weak = replace(way, setting=setting_of(users, 9.0)[0], first=0.5 / rounds.WEAKER, second=1.0 / rounds.WEAKER)
    assert largest_loss(central_laws(monkeypatch, weak, corners)) > claim * SAFE


def check_gaussian(monkeypatch: Any, users: int, corners: int, reached: float) -> None:
    delta = 0.05
    setting, frame = setting_of(users, 2.0, delta)
    way = CentralUserVector(setting, frame, 0.2, 0.8, True).tightened()
    claim = way.epsilon + way.slack_epsilon
    # What the composition gives back beside the sum of the parts is in the claim.
    assert way.second + 2 * way.first > 1.15 * claim
    assert reached * delta < largest_stick(central_laws(monkeypatch, way, corners), claim) <= delta
    weaker = setting_of(users, 9.0, delta)[0]
    weak = replace(way, setting=weaker, first=way.first / rounds.WEAKER, second=way.second / rounds.WEAKER)
    assert largest_stick(central_laws(monkeypatch, weak, corners), claim) > delta


def test_ranges_and_a_mean_with_laplace_noise_cost_what_they_claim(monkeypatch: Any) -> None:
    check_laplace(monkeypatch, 2, 2, 0.8)


def test_ranges_and_a_mean_with_gaussian_noise_cost_what_they_claim(monkeypatch: Any) -> None:
    check_gaussian(monkeypatch, 4, 2, 0.3)


@pytest.mark.full
@pytest.mark.parametrize("users", [2, 3])
def test_ranges_and_a_mean_cost_what_they_claim_over_all_corners(monkeypatch: Any, users: int) -> None:
    check_laplace(monkeypatch, users, 4, 0.8)
    check_gaussian(monkeypatch, users, 4, 0.1)


def message_laws(monkeypatch: Any, way: LocalUserVector, few: list[tuple[Any, ...]]) -> dict[Any, exact.Law]:
    """Return for each table the law of all messages, mixed in every round, and of what they tell."""
    said: list[Any] = []
    with monkeypatch.context() as patched:
        replay = exact.Replay(patched)
        rounds.recorded(patched, FrequencyOracle, "encode", said)
        rounds.recorded(patched, ScalarRandomizer, "encode", said)

        def run(table: Any) -> Any:
            said.clear()
            released = release_of(way, table)
            return tuple(said), released.ranges, released.value

        return {table: replay.law(lambda table=table: run(table)) for table in few}


def messages_of(users: int, delta: float, model: str, strength: float, *, is_sampled: bool) -> LocalUserVector:
    setting, frame = setting_of(users, 9.0, delta, model)
    return LocalUserVector(setting, frame, "two rounds", is_sampled, (strength, strength), users, True)


@pytest.mark.slow
def test_one_user_s_ranges_and_mean_cost_what_they_claim(monkeypatch: Any) -> None:
    way, weak = (messages_of(1, 0.0, "local", 1.0 / part, is_sampled=False) for part in (1.0, rounds.WEAKER))
    few = tables(1, 2)
    P, Q = exact.aligned(list(message_laws(monkeypatch, way, few).values()))
    assert way.epsilon == pytest.approx(2.0)
    assert 0.999 * way.epsilon < math.log((P / Q).max()) <= way.epsilon * SAFE
    P, Q = exact.aligned(list(message_laws(monkeypatch, weak, few).values()))
    assert math.log((P / Q).max()) > way.epsilon * SAFE


@pytest.mark.full
def test_mixed_ranges_and_means_cost_what_they_claim(monkeypatch: Any) -> None:
    way, weak = (messages_of(2, 0.02, "shuffle", 1.0 / part, is_sampled=True) for part in (1.0, rounds.WEAKER))
    few = [((0, 0), (0, 0)), ((0, 0), (6, 6))]
    pairs = rounds.changed(few)
    found = rounds.worst_stick(message_laws(monkeypatch, way, few), way.epsilon, pairs)
    assert found <= way.delta * SAFE
    assert rounds.worst_stick(message_laws(monkeypatch, weak, few), way.epsilon, pairs) > way.delta
