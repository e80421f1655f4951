"""Mixed bits: their errors by simulation, what a plan promises, and what it refuses."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.mean.local import LocalMeans
from emdp.estimators.mean.shuffled import plan_shuffled_means
from emdp.estimators.messages import MessagePlan
from emdp.expressions import col
from emdp.mechanisms.local.shuffled_bits import DELTA_SHARE, ShuffledOneBit
from emdp.privacy.shuffle.metric import metric_alpha0
from emdp.privacy.shuffle.users import ShuffleRound, shuffle_total
from emdp.questions import mean, vector_mean
from emdp.spaces import Interval, Product

SPACE = Interval("x", -2.0, 6.0)
PLANE = Product(Interval("x", 0, 1), Interval("y", 0, 1))
USERS = 2000


def planned(query: Any, space: Any = SPACE, users: int = USERS) -> tuple[MessagePlan, ShuffledOneBit]:
    plan = plan_shuffled_means(query, space=space, users=users)
    assert isinstance(plan, MessagePlan)
    assert isinstance(plan.releaser, LocalMeans)
    assert isinstance(plan.releaser.mechanism, ShuffledOneBit)
    return plan, plan.releaser.mechanism


@pytest.mark.quarter
@pytest.mark.parametrize("messages", [1, 5])
@pytest.mark.parametrize("price", [{"alpha": 0.5}, {"alpha": 5.0}])
def test_errors_are_those_predicted(messages: int, price: dict[str, float]) -> None:
    """The root mean square of 2000 releases is within 5 % of the plan's: 3 standard errors; 0.7x and 1.3x are not."""
    query = mean(col("x"), delta=1e-6, model="shuffle", messages=messages, **price)
    plan, bits = planned(query)
    runs, exponents = 2000, plan.releaser.exponents  # type: ignore[attr-defined]
    # in the middle of the range, where the error is largest
    means = np.full((USERS, 1), round(2.0 * 2.0 ** exponents[0]), dtype=np.int64)
    errors, asked_of = [], np.zeros(USERS, dtype=np.int64)
    with emdp.testing.seeded(7):
        for _ in range(runs if messages == 1 else runs // 2):
            parts = [bits.tally(bits.encode(means, exponents, asked_of)) for _ in range(bits.draws)]
            ones, asked = (np.sum([part[place] for part in parts], axis=0).tolist() for place in (0, 1))
            errors.append(float(bits.decode(ones, asked)[0]) - 2.0)
    seen = math.sqrt(np.mean(np.square(errors)))
    assert 0.95 < seen / plan.releaser.standard_deviation < 1.05  # type: ignore[attr-defined]
    assert plan.columns[0].expected_error == pytest.approx(np.mean(np.abs(errors)), rel=0.06)


def test_the_strength_is_the_accountants() -> None:
    _, bits = planned(mean(col("x"), alpha=0.5, delta=1e-6, model="shuffle", messages=1))
    # the constant is 8 per unit of d_X, half the range 4: v moves by 2 per unit of d_em
    alpha0 = metric_alpha0(0.5, USERS, 1e-6 * DELTA_SHARE, 2.0)
    assert bits.unmixed == pytest.approx(alpha0, rel=1e-9)
    assert bits.coordinates[0].strength <= alpha0 / (2.0 + alpha0)
    assert bits.coordinates[0].strength == pytest.approx(alpha0 / (2.0 + alpha0), rel=1e-9)
    several = [col("x"), col("x") * 0.5, abs(col("x") - 1.0)]
    _, bits = planned(vector_mean(several, epsilon=0.5, delta=1e-6, model="shuffle", messages=1))
    assert shuffle_total([ShuffleRound(bits.unmixed, USERS, "binary", None, 3)], 1e-6).epsilon <= 0.5
    assert bits.coordinates[0].strength <= math.tanh(bits.unmixed / 2)
    assert bits.coordinates[0].strength == pytest.approx(math.tanh(bits.unmixed / 2), rel=1e-9)


@pytest.mark.slow
def test_more_messages_round_less_and_auto_stops_in_time() -> None:
    spreads = [
        planned(mean(col("x"), alpha=0.5, delta=1e-6, model="shuffle", messages=count))[0].releaser.standard_deviation  # type: ignore[attr-defined]
        for count in (1, 4)
    ]
    assert spreads == sorted(spreads, reverse=True)
    assert planned(mean(col("x"), alpha=0.01, delta=1e-6, model="shuffle"))[1].messages == 1
    assert planned(mean(col("x"), alpha=8.0, delta=1e-6, model="shuffle"))[1].messages > 4


@pytest.mark.slow
def test_the_preview_compares_all_three_models_at_one_price() -> None:
    plan, bits = planned(mean(col("x"), alpha=1.0, delta=1e-6, model="shuffle"))
    errors = {line.method: line.expected_error or 0.0 for line in plan.comparison}
    assert errors["central"] < errors["shuffle"] < errors["shuffle, one bit of each mean"] < errors["local"]
    assert f"{bits.bits_per_user} bits per user" in plan.choice
    assert any("mixed apart" in line for line in plan.assumptions)
    assert any("before they are mixed" in line for line in plan.assumptions)
    assert plan.guarantee.model == "shuffle"


@pytest.mark.slow
def test_vectors_and_answers_of_a_session(tmp_path: Any) -> None:
    users = 500
    frame = pl.DataFrame({"user": [str(user) for user in range(users) for _ in range(2)], "x": [0.25, 0.5] * users})
    frame = frame.with_columns(y=1.0 - pl.col("x"))
    table = emdp.read(frame, user="user", space=PLANE, users=users + 1)
    with emdp.testing.seeded(3):
        session = emdp.Session(table, budget=emdp.EmdDP(100.0, 1e-3), ledger=tmp_path / "one.ledger")
        answer = session.vector_mean(
            [col("x"), col("y")], alpha=2.0, delta=1e-6, model="shuffle", names=["x", "y"], messages=4
        )
        row = answer.frame.row(0, named=True)
        assert answer.guarantee == emdp.EmdDP(2.0, 1e-6, model="shuffle")
        assert answer.exact["x"] == pytest.approx((0.375 * users + 0.5) / (users + 1))
        for name in ("x", "y"):
            assert row[f"{name}_low"] < answer.exact[name] < row[f"{name}_high"]
        with pytest.raises(UsageError, match="shuffle"):
            emdp.Session(table, budget=emdp.EmdDP(9.0, model="local"), ledger=tmp_path / "two.ledger").mean(
                col("x"), alpha=2.0, delta=1e-6, model="shuffle"
            )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"delta": 0.0}, "needs delta above 0"),
        ({"messages": 0}, "messages must be at least 1"),
        ({"messages": "many"}, "messages must be 'auto' or a number"),
        ({"by": "x"}, "by= and a choice of users do not fit it"),
        ({"where": {"plan": "pro"}}, "by= and a choice of users do not fit it"),
        ({"neighbours": "remove", "alpha": None, "epsilon": 1.0}, "does not fit model = 'shuffle'"),
        ({"model": "central", "messages": 2}, "pass model='shuffle' with it"),
    ],
)
def test_what_does_not_fit_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        mean(col("x"), **({"alpha": 1.0, "delta": 1e-6, "model": "shuffle"} | more))


def test_noise_and_constants_and_long_vectors_are_refused() -> None:
    with pytest.raises(UsageError, match="noise does not fit"):
        vector_mean([col("x")], alpha=1.0, delta=1e-6, model="shuffle", noise="laplace")
    asked: dict[str, Any] = {"alpha": 1.0, "delta": 1e-6, "model": "shuffle"}
    with pytest.raises(UsageError, match="at most 128 for 2 means"):
        planned(vector_mean([col("x"), col("y")], messages=200, **asked), PLANE)
    with pytest.raises(UsageError, match="is the same for every item"):
        planned(vector_mean([col("x"), col("x") * 0 + 1.0], **asked))
    with pytest.raises(UsageError, match="at most 256 means"):
        planned(vector_mean([col("x") + number for number in range(257)], **asked))


@pytest.mark.slow
def test_a_single_user_and_extreme_prices_are_planned() -> None:
    for users, alpha in ((1, 1.0), (2, 1e-3), (10**6, 50.0), (3, 1e5)):
        plan, bits = planned(mean(col("x"), alpha=alpha, delta=1e-9, model="shuffle", messages=1), users=users)
        assert bits.unmixed >= alpha
        assert math.isfinite(plan.columns[0].expected_error)
        assert plan.releaser.slack_epsilon < 1e-6
    _, alone = planned(mean(col("x"), epsilon=1.0, delta=1e-9, model="shuffle", messages=2), users=1)
    assert Fraction(alone.unmixed) * 2 <= 1
