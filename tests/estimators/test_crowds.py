"""Releases in rounds of users who stay on workers: the same statistics as in one place, and the exact laws of draws."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import stats

import emdp
from emdp.base.errors import InternalError
from emdp.estimators.crowds import MeanValues, SumsEncoder, WorkerCrowd, _added, _limbs, parts_of
from emdp.estimators.mean.local import LocalMeans
from emdp.estimators.user_mean.user_means import UserMeanMessages, plan_user_mean
from emdp.mechanisms.crowd import ColumnSums, GatheredUsers
from emdp.mechanisms.local.one_bit import LocalOneBit, OneBitCoordinate
from emdp.mechanisms.scalar.hybrid import HybridScalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.user_mean.base import UserMeanSetting
from emdp.mechanisms.user_mean.clipped_mean import ClippedMean, _Clipped
from emdp.mechanisms.user_mean.crowd_questions import Bins, Messages
from emdp.mechanisms.user_mean.local import UserSplit
from emdp.mechanisms.user_mean.range_bins import RangeBins
from emdp.mechanisms.user_mean.range_stage import HadamardRange, MedianRange
from emdp.questions.reading import RepeatedBlocks
from emdp.questions.user_mean import user_mean
from emdp.testing import seeded

Integers = npt.NDArray[np.int64]

SPACE = emdp.Product(emdp.Interval("x", -50, 50), emdp.Interval("y", -50, 50))
SURE = 1e-9
"""A right law fails with this probability; 20,000 messages refuse strengths of 0.7 and 1.3 times the right one."""


def mean_rows(means: Any) -> pl.DataFrame:
    """A row a user, as the engine has them."""
    values = np.asarray(means, dtype=np.int64)
    columns = {f"mean_{place}": values[:, place] for place in range(values.shape[1])}
    return pl.DataFrame({"number": np.arange(len(values)), **columns})


def crowd_of(on_workers: Any, means: Any, users: int, exponents: tuple[int, ...], neutral: tuple[int, ...]) -> Any:
    return WorkerCrowd(on_workers("means", mean_rows(means), exponents), users, MeanValues(exponents, neutral))


def all_rows(means: Integers, users: int, neutral: tuple[int, ...], parts: int = 3) -> Integers:
    """The numbers of all users by their places on workers: partition by partition, who has no records last."""
    order = np.concatenate([np.arange(part, len(means), parts) for part in range(parts)])
    return np.concatenate([means[order], np.tile(np.array(neutral), (users - len(means), 1))])


def test_answers_of_workers_are_those_of_one_place(on_workers: Any) -> None:
    means = np.random.default_rng(1).integers(0, 64, (500, 2))
    users, neutral = 530, (3, 60)
    rows = all_rows(means, users, neutral)
    crowd = crowd_of(on_workers, means, users, (0, 0), neutral)
    assert isinstance(crowd.blocks, RepeatedBlocks)
    own = np.random.default_rng(2).permutation(users)
    stages = (MedianRange(RangeBins(0.0, 64.0, 0.5), 200, 1.0), MedianRange(RangeBins(0.0, 64.0, 4.0), 200, 1.0))
    cut = ClippedMean(0.0, 10.0, users, 1.0)._cut(0)
    questions: list[tuple[Any, Any]] = [
        (ColumnSums(2), None),
        (ColumnSums(2), [own[:200], own[500:]]),
        (Bins(stages, (0, 1), (0, 0)), [own[:200], own[200:400]]),
        (Bins(stages, (0, 1), (0, 0)), [own[:200]] * 2),
        (Bins(stages, (1, 1), (0, 0)), [own] * 2),
        (_Clipped(cut, 0), None),
    ]
    for question, groups in questions:
        asked = crowd.mapped(_first) if isinstance(question, _Clipped) else crowd
        there = GatheredUsers(iter([_first(rows) if isinstance(question, _Clipped) else rows]), users)
        assert asked.added(question, groups).tolist() == there.added(question, groups).tolist(), question
    few = WorkerCrowd(crowd.blocks, users, crowd.values, among=own[:100])
    assert few.users == 100
    assert few.added(ColumnSums(2)).tolist() == rows[own[:100]].sum(axis=0).tolist()
    assert few.added(ColumnSums(2), [np.array([7, 2])]).tolist() == rows[own[[7, 2]]].sum(axis=0).tolist()
    assert "hidden" in repr(crowd)


def _first(values: Integers) -> Integers:
    return values[:, :1]


def test_sums_of_any_size_are_sent_exactly(on_workers: Any) -> None:
    rng = np.random.default_rng(2)
    whole = [int(one) * 2 ** int(by) for one, by in rng.integers((-(2**62), 0), (2**62, 200), (40, 2)).tolist()]
    both = np.array([[0, -(2**63), 2**63 - 1, -1, *whole], [5, 1, -(2**63), 2**32, *whole[::-1]]], dtype=object)
    frames = [pl.concat(list(_limbs(row))) for row in both]
    assert all(frame.schema == pl.Schema(SumsEncoder(ColumnSums(1), MeanValues((), ())).schema) for frame in frames)
    assert _added(iter(frames), both.shape[1])[0].tolist() == both.sum(axis=0).tolist()
    means = rng.integers(-(2**62), 2**62, (900, 1))
    found = crowd_of(on_workers, means, 901, (51,), (7,)).added(ColumnSums(1))
    assert found.tolist() == [sum(means[:, 0].tolist()) + 7]
    # Totals of this law have units far below those of messages, and more than 64 bits.
    law = HybridScalar(0.0, 1.0, 2.0)
    total = crowd_of(on_workers, np.full((900, 1), 2**40), 900, (40,), (0,)).added(Messages((law,), (0,), (40,)))
    assert abs(float(law.estimate(int(total[0]), 900)) - 1.0) < 8 * math.sqrt(law.variance(1.0) / 900)


def test_nobody_is_asked_twice_and_all_are_there(on_workers: Any) -> None:
    with pytest.raises(InternalError, match="asked twice"):
        parts_of([np.array([0, 1]), np.array([1, 2])], 4)
    with pytest.raises(InternalError, match="asked twice"):
        parts_of([np.array([1, 1])], 4)
    assert parts_of([np.arange(4)] * 2, 4) == ((), None)
    means = np.ones((30, 1), dtype=np.int64)
    for groups in (None, [np.array([0])]):
        with pytest.raises(InternalError, match="more or fewer users"):
            crowd_of(on_workers, means, 29, (0,), (0,)).added(ColumnSums(1), groups)
    other = WorkerCrowd(on_workers("means", mean_rows(means), (1,)), 30, MeanValues((0,), (0,)))
    with pytest.raises(InternalError, match="another unit"):
        other.added(ColumnSums(1))


def releaser_of(users: int, expressions: int, model: str, **options: Any) -> Any:
    given = {"epsilon": 20.0, "model": model, "spread": 1.0, "records": 100} | options
    given["spread"] = given["spread"] if expressions == 1 else (given["spread"],) * expressions
    given |= {"delta": 1e-6} if model == "shuffle" else {}
    query = user_mean("x" if expressions == 1 else ["x", "y"], **given)
    return plan_user_mean(query, space=SPACE, users=users).releaser


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("expressions", "model"), [(1, "central"), (1, "local"), (1, "shuffle"), (2, "central"), (2, "local")]
)
def test_user_means_of_workers_are_near_and_their_exact_ones_the_same(
    on_workers: Any, expressions: int, model: str
) -> None:
    users, present = 6000, 5900
    releaser = releaser_of(users, expressions, model)
    assert isinstance(releaser, UserMeanMessages)
    assert releaser.mechanism.missed_range > 0
    means = np.random.default_rng(5).normal((7.0, -3.0), 0.05, (present, 2))[:, :expressions]
    fixed = np.rint(means * np.exp2(releaser.exponents)).astype(np.int64)
    blocks = on_workers("means", mean_rows(fixed), releaser.exponents)
    with seeded(3):
        released, exact = releaser.release(blocks, users=users, keep_exact=True)
    truth = [
        Fraction(int(total) + 100 * round(neutral * 2**exponent)) / 2**exponent / users
        for total, neutral, exponent in zip(fixed.sum(axis=0), releaser.neutral, releaser.exponents, strict=True)
    ]
    assert exact == (tuple(truth),)
    assert blocks.closed == 1
    # Of the exact sums, the range and the mean.
    assert blocks.passes == 3
    values = released.value if expressions == 2 else (released.value,)
    ranges = released.ranges if expressions == 2 else (released.range,)
    # A hundred users without records, at 0, are clipped to the range, which is 3.33 long.
    for value, (low, high), centre in zip(values, ranges, (7.0, -3.0), strict=False):
        assert low <= centre <= high
        assert high - low < 3.34
        assert abs(float(value) - centre) < 3.34 / 60 + 6 * releaser.mechanism.deviation
    sizes = [len(frame) for frame in blocks.sent]
    bins = releaser.mechanism.setting.bins.count if expressions == 1 else released.mechanism.frame.bins[0].count
    # A number of users, and two parts of each bin or message; not a row a user.
    assert max(sizes) <= 1 + 2 * 2 * 2 * bins * expressions


def test_blocks_are_let_go_whatever_happens(on_workers: Any) -> None:
    releaser = releaser_of(50, 1, "central")
    blocks = on_workers("means", mean_rows(np.zeros((51, 1))), releaser.exponents)
    with pytest.raises(InternalError, match="more or fewer users"):
        releaser.release(blocks, users=50, keep_exact=False)
    assert blocks.closed == 1


@pytest.mark.parametrize("is_round_one", [True, False])
def test_messages_of_dealt_users_follow_the_exact_law(on_workers: Any, is_round_one: bool) -> None:
    """Of 40,000 users half tell their bin and half their mean, each user once, at the stated strengths."""
    users = 40_000
    setting = UserMeanSetting(users, -50, 50, 1.0, model="local", spread=1.0, records=100)
    way = UserSplit(setting=setting, first=1.0, second=1.0, chosen=users // 2, scalar=OneBitScalar)
    crowd = crowd_of(on_workers, np.full((users - 10, 1), 50 * 2**30), users, (30,), (50 * 2**30,))
    groups = [np.arange(0, users, 2), np.arange(1, users, 2)]
    if is_round_one:
        tally = crowd.added(Bins((way.stage,), (0,), (30,)), groups[:1]).astype(np.int64)
        assert tally.sum() == users // 2
        code = int(setting.bins.place(np.array([50 * 2**30]), 30)[0])

        def law(strength: float) -> npt.NDArray[np.float64]:
            oracle = HadamardRange(setting.bins, users, strength).oracle
            inside = oracle._inside_symbols(np.full(oracle.inside, code), np.arange(oracle.inside))
            chances = np.full(oracle.outputs, float(1 - oracle.chances[0]) / oracle.outside)
            chances[inside] = float(oracle.chances[0]) / oracle.inside
            return chances

        for strength, is_right in ((1.0, True), (0.7, False), (1.3, False)):
            chance = stats.chisquare(tally, law(strength) * tally.sum()).pvalue
            assert bool(chance > SURE) is is_right, strength
        return
    # A mean at the end of its range: the message is +1 with the chance of a kept bit.
    (total,) = crowd.added(Messages((way.scalar(-50.0, 50.0, 1.0),), (0,), (30,)), groups[1:])
    for strength, is_right in ((1.0, True), (0.7, False), (1.3, False)):
        kept = math.exp(strength) / (1 + math.exp(strength))
        ones = (int(total) + users // 2) // 2
        assert bool(stats.binomtest(ones, users // 2, kept).pvalue > SURE) is is_right, strength


def test_bits_of_dealt_coordinates_are_drawn_where_the_users_are(on_workers: Any) -> None:
    users, present = 40_000, 39_000

    def bits(rate: float) -> LocalOneBit:
        return LocalOneBit((OneBitCoordinate(0.0, 1.0, rate), OneBitCoordinate(-1.0, 1.0, rate)), users, True)

    mechanism = bits(2.0)
    release = LocalMeans(mechanism, (1.0, 0.0), (51, 50))
    means = np.column_stack([np.full(present, 2**51), np.zeros(present, dtype=np.int64)])
    blocks = on_workers("means", mean_rows(means), (51, 50))
    released, exact = release.release(blocks, users=users, keep_exact=True)
    assert exact == ((Fraction(1), Fraction(0)),)
    assert (blocks.passes, blocks.closed) == (1, 1)
    sent = pl.concat(blocks.sent)
    assert len(sent) <= 4 * 7
    asked = sent.filter(pl.col("what") == 1).group_by("place").agg(pl.col("low").sum())["low"]
    assert sum(asked) == present
    own = mechanism.coordinates[0]
    # What half of all users said, from the released estimate.
    ones = round(users / 2 * (0.5 + 0.5 * own.strength * (float(released[0][0]) - own.centre) / own.half))
    for rate, is_right in ((2.0, True), (1.4, False), (2.6, False)):
        chance = 0.5 + 0.5 * bits(rate).coordinates[0].strength
        assert bool(stats.binomtest(ones, users // 2, chance).pvalue > SURE) is is_right, rate
    with pytest.raises(InternalError, match="more or fewer users"):
        release.release(on_workers("means", mean_rows(means), (51, 50)), users=present - 1, keep_exact=False)
