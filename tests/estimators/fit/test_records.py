"""Gradients of users who stay on workers: the same numbers as in one place, round by round, and the law of messages."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import emdp
from emdp.base.errors import InternalError
from emdp.estimators.crowds import WorkerCrowd
from emdp.estimators.fit.linear_fit import LinearFitMessages, plan_linear_fit
from emdp.estimators.fit.records import GradientValues
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.mechanisms.crowd import ColumnSums
from emdp.mechanisms.descent.loss import user_gradients
from emdp.mechanisms.descent.messages import MessageDescent, _Told
from emdp.mechanisms.descent.moments import MomentFit
from emdp.mechanisms.user_vector.base import UserVectorMechanism
from emdp.mechanisms.vector.one_bit import VectorOneBit
from emdp.mechanisms.vector.randomizer import VectorRandomizer
from emdp.questions.linear_fit import linear_fit_query
from emdp.tables.engines.blocks import PointBlock
from emdp.testing import seeded

SPACE = emdp.Product(emdp.Interval("x", 0, 10), emdp.Interval("y", 0, 100))
SURE = 1e-9
"""A right law fails with this probability; 20,000 messages refuse strengths of 0.7 and 1.3 times the right one."""


def planned(users: int, model: str = "central", **options: Any) -> Any:
    given: dict[str, Any] = {"epsilon": 8.0, "rounds": 4, "model": model} | options
    given |= {"delta": 1e-6} if model == "shuffle" else {}
    return plan_linear_fit(linear_fit_query(["x"], "y", **given), space=SPACE, users=users)


def point_rows(users: int, seed: int = 1) -> pl.DataFrame:
    """One to four records a user, of y = 20 + 6 x but for some noise."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(users), rng.integers(1, 5, users))
    x = rng.uniform(0, 10, len(owners))
    return pl.DataFrame({"number": owners, "x": x, "y": np.clip(20 + 6 * x + rng.normal(0, 3, len(x)), 0, 100)})


def gathered(releaser: LinearFitMessages, frame: pl.DataFrame, users: int) -> Any:
    """The records of all users in one place, those of workers' first partition first."""
    parts = [frame.filter(pl.col("number") % 3 == part) for part in range(3)]
    blocks = []
    for part in parts:
        starts = np.flatnonzero(np.diff(part["number"].to_numpy(), prepend=-1))
        offsets = np.append(starts, len(part)).astype(np.int64)
        blocks.append(PointBlock(part["number"].to_numpy()[starts], offsets, part.drop("number").to_numpy()))
    return releaser._gathered(iter(blocks), users)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gradients_of_workers_are_those_of_one_place(on_workers: Any, loss: Any) -> None:
    users = 320
    target = "y" if loss == "squared" else emdp.col("y") / 100
    query = linear_fit_query(["x"], target, epsilon=8.0, rounds=2, loss=loss)
    releaser = plan_linear_fit(query, space=SPACE, users=users).releaser
    frame, own = point_rows(300), releaser.mechanism.setting
    blocks = on_workers("points", frame)
    blocks.prepare(pickle.loads(pickle.dumps(releaser.records)))
    records, weights = gathered(releaser, frame, users), np.array([0.2, -0.4])
    values = GradientValues(own, tuple(weights.tolist()), releaser.records.neutral)
    asked = np.random.default_rng(2).permutation(users)[:100]
    for among in (None, asked):
        there = user_gradients(records, weights, loss=loss, clip=own.clip, exponent=own.exponent, users=among)
        found = WorkerCrowd(blocks, users, values, among=among).added(ColumnSums(2))
        assert found.tolist() == there.sum(axis=0).tolist()
    assert values.of_nobody() == tuple(
        user_gradients(records, weights, loss=loss, clip=own.clip, exponent=own.exponent)[-1].tolist()
    )


def test_records_over_the_cap_are_sampled_once_for_all_rounds(on_workers: Any) -> None:
    frame = point_rows(300)
    releaser = replace(planned(300).releaser, cap=2)
    blocks = on_workers("points", frame)
    blocks.prepare(releaser.records)
    own = releaser.mechanism.setting
    values = GradientValues(own, (0.3, 0.1), releaser.records.neutral)
    crowd = WorkerCrowd(blocks, 300, values)
    with seeded(1):
        sums = [crowd.added(ColumnSums(2)).tolist() for _ in range(3)]
    assert sums[0] == sums[1] == sums[2]
    assert sum(len(pl.read_ipc_stream(payload)) for own in blocks.kept for payload in own) == int(
        frame.group_by("number").len()["len"].clip(upper_bound=2).sum()
    )
    with pytest.raises(InternalError, match="without their users"):
        releaser.records.prepare(PointBlock(None, None, np.zeros((3, 2))))
    with pytest.raises(InternalError, match="without their users"):
        values.of_block(PointBlock(None, None, np.zeros((3, 2))), None)


def test_moments_are_of_one_sample_of_a_users_records_even_if_workers_lose_theirs(
    on_workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One user, whose records have products of either sign.
    frame = pl.DataFrame({"number": [0] * 40, "x": [10.0, 0.0, 10.0, 0.0] * 10, "y": [100.0, 100.0, 0.0, 0.0] * 10})
    releaser = replace(planned(1, rounds=None, method="moments").releaser, cap=1)
    assert isinstance(releaser.mechanism, MomentFit)
    exact: list[Any] = []
    released = LaplaceMechanism.release
    monkeypatch.setattr(LaplaceMechanism, "release", lambda own, values: exact.append(values) or released(own, values))
    for seed in range(8):
        blocks = on_workers("points", frame)
        passed = blocks.encode

        def lost(*given: Any, own: Any = blocks, passed: Any = passed, **more: Any) -> Any:
            own.kept, own.known = [], []
            return passed(*given, **more)

        blocks.encode = lost
        with seeded(seed):
            releaser.release(blocks, users=1, keep_exact=False)
        assert blocks.closed == 1
    # What one user has: b, and H without its first entry. Of two samples H would go up to 3.
    assert all(abs(value) <= 1 for values in exact for value in values)
    assert len(exact) == 8


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("model", "options", "kind"),
    [
        ("central", {}, None),
        ("local", {}, VectorRandomizer),
        ("shuffle", {"epsilon": 2.0}, VectorRandomizer),
        ("local", {"epsilon": 24.0, "rounds": 1, "between": 0.001, "records": 10**6}, UserVectorMechanism),
    ],
)
def test_fits_of_workers_are_near_and_their_exact_ones_the_same(
    on_workers: Any, model: str, options: dict[str, Any], kind: Any
) -> None:
    users, present = 6000, 5900
    releaser = planned(users, model, **options).releaser
    if kind is not None:
        assert isinstance(releaser.mechanism, MessageDescent)
        assert isinstance(releaser.mechanism.law, kind)
    frame = point_rows(present)
    if kind is UserVectorMechanism:
        # Ranges are for users who are alike.
        columns = {"x": [1.0, 9.0] * users, "y": [26.0, 74.0] * users}
        frame = pl.DataFrame({"number": np.repeat(np.arange(users), 2), **columns})
    found, errors = [], []
    for seed in range(4):
        blocks = on_workers("points", frame)
        with seeded(seed):
            released, exact = releaser.release(blocks, users=users, keep_exact=True)
        records = gathered(releaser, frame, users)
        with seeded(seed):
            there = releaser.mechanism.release(records)
        assert blocks.closed == 1
        assert blocks.passes == (2 if kind is UserVectorMechanism else 1) * releaser.mechanism.rounds
        # Sums of a gradient or of messages, each in two parts, and a number of users; not a row a user.
        assert max(map(len, blocks.sent)) < present / 6
        found.append(np.array(released.weights))
        errors.append(float(np.linalg.norm(found[-1] - np.array(there.weights))))
    assert exact == releaser._exact(records)
    # Both are the descent without noise, but for the noise of both.
    noise = releaser.mechanism.step * releaser.mechanism.spread * np.sqrt(releaser.mechanism.rounds)
    assert np.mean(errors) < 4.0 * noise
    assert noise < (0.2 if kind is VectorRandomizer else 0.02)


def test_messages_about_gradients_follow_the_exact_law(on_workers: Any) -> None:
    """Of 40,000 users half are asked in a round: reports of their signs, in bits of the stated strength."""
    users = 40_000
    frame = pl.DataFrame({"number": np.arange(users), "x": np.full(users, 10.0), "y": np.full(users, 0.0)})
    releaser = planned(users, "local").releaser
    own, blocks = releaser.mechanism.setting, on_workers("points", frame)
    blocks.prepare(releaser.records)
    values = GradientValues(own, (0.0, 0.0), releaser.records.neutral)
    crowd = WorkerCrowd(blocks, users, values, among=np.arange(0, users, 2))
    # The gradient of everybody is (1, 1): at the end of the ball of the maximum norm.
    law = VectorOneBit(2, 1.0, 1.0, users // 2, norm=float("inf"))
    asked = _Told(law, own.exponent)
    tally = crowd.added(asked).astype(np.int64).reshape(asked.shape)
    assert tally.shape == law.tally(law.encode(np.ones((1, 2)))).shape
    for strength, is_right in ((1.0, True), (0.7, False), (1.3, False)):
        other = VectorOneBit(2, 1.0, strength, users // 2, norm=float("inf"))
        seen = other.decode(tally, users // 2)
        error = float(((seen - 1.0) ** 2).sum()) / other.squared_error_of(np.ones((users // 2, 2)))
        assert bool(stats.chi2.sf(2 * error, 2) > SURE) is is_right, strength
