"""What users send in the local model, added up on workers: sums of any size are exact, bits have the exact law."""

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from emdp.base.errors import InternalError
from emdp.estimators.mean.encoders import EXACT, MESSAGES, USERS, MeanEncoder, added_up
from emdp.estimators.mean.local import LocalMeans
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.mechanisms.local.noise import LocalNoise
from emdp.mechanisms.local.one_bit import LocalOneBit, OneBitCoordinate
from emdp.questions.reading import EncodedReleaser
from emdp.tables.engines.blocks import MeanBlock
from emdp.tables.engines.spark.work import _added
from emdp.testing import seeded

SURE = 1e-9
"""A right law fails with this probability; 20,000 bits refuse strengths of 0.7 and 1.3 times the right one."""


def noise(users: int) -> LocalNoise:
    return LocalNoise(LaplaceMechanism(sensitivity=1.0, alpha=2.0, dimension=2), users)


def bits(rate: float, users: int, *, is_dealt: bool = False) -> LocalOneBit:
    return LocalOneBit((OneBitCoordinate(0.0, 1.0, rate), OneBitCoordinate(-1.0, 1.0, rate)), users, is_dealt)


def block(means: Any, first: int = 0) -> MeanBlock:
    values = np.array(means, dtype=np.int64)
    return MeanBlock(np.arange(first, first + len(values)), values, (51, 50))


def sums_of(encoder: MeanEncoder, blocks: list[MeanBlock]) -> dict[int, list[int]]:
    sent = pickle.loads(pickle.dumps(encoder))
    sums = _added([frame for own in blocks for frame in sent.encode(own)], sent.keys)
    assert sums.schema == pl.Schema(sent.schema)
    return added_up(iter([sums]), 2)


def test_sums_are_exact_beyond_64_bits() -> None:
    rng = np.random.default_rng(2)
    values = rng.integers(-(2**61), 2**61, (500, 2))
    found = sums_of(MeanEncoder(bits(1.0, 500), (51, 50), True), [block(values[:200]), block(values[200:], 200)])
    assert found[EXACT] == [sum(values[:, 0].tolist()), sum(values[:, 1].tolist())]
    assert found[USERS] == [500]
    assert max(map(abs, found[EXACT])) > 2**63


@pytest.mark.parametrize("mechanism", [noise(60), bits(2.0, 60)], ids=["noise", "bits"])
def test_messages_are_the_same_draws_however_users_are_divided(mechanism: Any) -> None:
    release = LocalMeans(mechanism, (0.25, 0.5), (51, 50))
    assert isinstance(release, EncodedReleaser)
    means = np.random.default_rng(1).integers(0, 2**50, (50, 2))
    with seeded(4):
        wanted, exact = release.release(iter([block(means)]), users=60, keep_exact=True)
    truth = [Fraction(sum(means[:, j].tolist()), 2**e) + 10 * Fraction(v) for j, e, v in ((0, 51, 0.25), (1, 50, 0.5))]
    assert exact == (tuple(value / 60 for value in truth),)
    with seeded(4):
        encoder = release.encoder(keep_exact=True)
        assert encoder is not None
        frames = [frame for own in (block(means),) for frame in encoder.encode(own)]
        assert release.merge(iter(frames), users=60, keep_exact=True) == (wanted, exact)
    with pytest.raises(InternalError, match="more or fewer users"):
        release.release(iter([block(means)]), users=40, keep_exact=False)


def test_noise_of_workers_has_the_exact_variance() -> None:
    # 400 sums of 50 draws: their variance is within 6 standard errors, 45 %, and twice the scale is not.
    users = 50
    mechanism = noise(users)
    encoder = MeanEncoder(mechanism, (51, 50))
    zeros = block(np.zeros((users, 2)))
    drawn = np.array([[float(v) for v in mechanism.decode(sums_of(encoder, [zeros])[MESSAGES])] for _ in range(400)])
    spread = drawn.var(axis=0, ddof=1) / mechanism.variance
    assert (abs(spread - 1.0) < 6 * np.sqrt((2 + 3 / users) / 400)).all()
    assert abs(float(np.mean(drawn))) < 6 * np.sqrt(mechanism.variance / 800)


def test_bits_of_workers_follow_the_exact_law() -> None:
    users = 20_000
    # The second coordinate's mean is in the middle of its range, where a bit is a fair coin at any strength.
    means = np.column_stack([np.full(users, 2**51), np.zeros(users, dtype=np.int64)])
    found = sums_of(MeanEncoder(bits(2.0, users), (51, 50)), [block(means[:7_000]), block(means[7_000:], 7_000)])

    def chance(rate: float) -> float:
        own = bits(rate, users).coordinates[0]
        return float(stats.binomtest(found[MESSAGES][0], users, 0.5 + 0.5 * own.strength).pvalue)

    assert chance(2.0) > SURE
    assert chance(1.4) < SURE
    assert chance(2.6) < SURE
    assert stats.binomtest(found[MESSAGES][1], users, 0.5).pvalue > SURE


def test_coordinates_that_are_dealt_out_among_all_users_are_drawn_in_one_place() -> None:
    release = LocalMeans(bits(2.0, 60, is_dealt=True), (0.25, 0.5), (51, 50))
    assert release.encoder(keep_exact=False) is None
    means = np.random.default_rng(1).integers(0, 2**50, (50, 2))
    released, exact = release.release(iter([block(means)]), users=60, keep_exact=True)
    assert len(released[0]) == 2
    assert exact is not None
    with pytest.raises(InternalError, match="dealt out"):
        release.merge(iter([]), users=60, keep_exact=False)
    with pytest.raises(InternalError, match="more or fewer users"):
        release.release(iter([block(means)]), users=40, keep_exact=False)


def test_another_unit_than_was_planned_is_a_bug() -> None:
    with pytest.raises(InternalError, match="another unit"):
        list(MeanEncoder(noise(2), (51, 49)).encode(block([[1, 2]])))
