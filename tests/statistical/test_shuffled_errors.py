"""Errors of messages that are mixed apart, seen over predicted: within 5 % by 6,000 releases, whose error is 1 %."""

import math

import numpy as np
import pytest

from emdp.mechanisms.crowd import GatheredUsers
from emdp.mechanisms.descent.messages import MessageDescent, rounded_participation
from emdp.mechanisms.descent.rounds import DescentSetting
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.scalar.one_bit import OneBitScalar, Signs
from emdp.mechanisms.user_mean.base import UserMeanSetting
from emdp.mechanisms.user_mean.local import BudgetSplit, OneRound
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.testing import seeded

RELEASES = 6000


@pytest.mark.slow
def test_signs_of_a_number_err_as_predicted() -> None:
    users, centre = 40, 2**40
    setting = UserMeanSetting(users, 0.0, 2.0, 30.0, 1e-6, "shuffle")
    way = OneRound(setting=setting, second=1.2, scalar=Signs(4))
    with seeded(1):
        drawn = [float(way.release(iter([np.full(users, centre)]), 40, 0).value) - 1.0 for _ in range(RELEASES)]
    assert 0.95 < math.sqrt(np.mean(np.square(drawn))) / way.deviation < 1.05


@pytest.mark.slow
def test_signs_in_a_range_that_was_found_err_as_predicted() -> None:
    users = 400
    setting = UserMeanSetting(users, -50, 50, 40.0, 1e-6, "shuffle", spread=1.0, records=100, failure=0.1)
    way = BudgetSplit(setting=setting, first=6.0, second=1.2, scalar=Signs(3))
    with seeded(2):
        released = [way.release(iter([np.zeros(users, dtype=np.int64)]), 30, 0) for _ in range(RELEASES)]
    # at the place in the range that it has, the exact variance of a sign
    law = OneBitScalar(*released[0].range, way.second, 3)
    assert {one.range for one in released} == {released[0].range}
    predicted = math.sqrt(law.variance(0.0) / users)
    assert 0.95 < math.sqrt(np.mean([float(one.value) ** 2 for one in released])) / predicted < 1.05
    assert predicted <= way.deviation * (1 + 1e-9)


def test_several_hadamard_bits_of_each_user_err_as_predicted() -> None:
    users, items, messages = 30, 5, 4
    oracle = OneBitHadamardOracle(items, users * messages, 1.5)
    bags = Bags.of_items(np.zeros(users * messages, dtype=np.int64))
    with seeded(3):
        rare = [oracle.decode(oracle.tally(oracle.encode(bags)))[3] for _ in range(RELEASES)]
    assert 0.95 < math.sqrt(np.mean(np.square(rare)) / oracle.variance()) < 1.05


@pytest.mark.quarter
@pytest.mark.parametrize("way", ["sampled", "joined"])
def test_rounds_of_drawn_users_err_as_predicted(way: str) -> None:
    users, dimension = 60, 3
    setting = DescentSetting(users, dimension, "squared", 1.0, 1.0, 30.0, 1e-6, model="shuffle")
    share = rounded_participation(0.5) if way == "joined" else None
    sampled = 20 if way == "sampled" else None
    law = VectorDirection(dimension, 1.0, 1.5, sampled or users, reports=1)
    descent = MessageDescent(setting, 1, law, False, sampled, share)
    squares = []
    with seeded(4):
        for _ in range(RELEASES):
            (group,) = descent._dealt()
            assert group is not None
            told = descent._ask(GatheredUsers(iter([np.zeros((len(group), dimension), dtype=np.int64)]), len(group)))
            squares.append(float(told @ told))
    assert 0.95 < math.sqrt(np.mean(squares)) / descent.noise < 1.05
