"""Vectors of means in few bits: what they promise, how many bits they send, and their errors by simulation."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.mean.few_bits import plan_few_bits
from emdp.estimators.mean.local import LocalMeans
from emdp.expressions import col
from emdp.mechanisms.local.one_bit import OneBitCoordinate
from emdp.mechanisms.local.shuffled_planes import ShuffledPlanes
from emdp.mechanisms.vector.planes import VectorPlanes
from emdp.privacy.shuffle.users import ShuffleRound, shuffle_total
from emdp.questions import vector_mean
from emdp.spaces import Interval, Product

SPACE = Interval("x", 0.0, 8.0)
MEANS = [abs(col("x") - place) for place in range(8)]
MIXED: dict[str, Any] = {"delta": 1e-6, "model": "shuffle"}


def planned(bits: int, users: int = 10_000, **more: Any) -> tuple[Any, ShuffledPlanes]:
    plan = plan_few_bits(vector_mean(MEANS, bits=bits, **({"epsilon": 1.0} | more)), space=SPACE, users=users)
    assert isinstance(plan.releaser, LocalMeans)
    assert isinstance(plan.releaser.mechanism, ShuffledPlanes)
    return plan, plan.releaser.mechanism


@pytest.mark.quarter
@pytest.mark.parametrize("bits", [4, 7, 16, 40])
@pytest.mark.parametrize("model", [{"model": "local"}, MIXED])
def test_no_more_bits_are_sent_nor_more_is_spent_than_was_said(bits: int, model: dict[str, Any]) -> None:
    plan, law = planned(bits, **model)
    assert 0 < law.bits_per_user <= bits
    assert f"{law.bits_per_user} are sent" in plan.choice
    own = [ShuffleRound(one, 10_000, "place-sign", rounds=law.draws * law.reported) for one in law.strengths]
    if law.is_mixed:
        assert 0.98 < shuffle_total(own, 1e-6).epsilon <= 1.0
    else:
        assert 0.99 < law.epsilon0 <= 1.0
    assert plan.guarantee == emdp.UserDP(1.0, (model["model"] == "shuffle" and 1e-6) or 0.0, model=model["model"])
    errors = {one.method.split(",")[0] + one.method[-4:]: one.expected_error for one in plan.comparison}
    assert len(errors) == 3
    assert plan.comparison[0].expected_error < plan.comparison[1].expected_error


@pytest.mark.slow
def test_more_bits_err_less() -> None:
    errors = [planned(bits, **MIXED)[1].variance for bits in (4, 8, 16, 64)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 5 * errors[-1]


def test_one_message_of_a_user_in_full() -> None:
    """Every message of two digits of one of three means, for points on a grid: pure at what is said, and attained."""
    law = ShuffledPlanes((OneBitCoordinate(-1.0, 1.0, 1.0),) * 3, 1, messages=2, strengths=(1.0, 0.5), blocks=1)
    ratios = []
    for points in itertools.product((-1.0, -0.4, 0.0, 0.7, 1.0), repeat=3):
        chances = {}
        for k, digits in enumerate(np.array(_digits(points))):
            strength = law._signs[k]
            for place, plus in enumerate(strength.numerators(digits).tolist()):
                chances[k, place] = plus / 2**62 / 3, (1 - plus / 2**62) / 3
        ratios.append(chances)
    worst = 0.0
    for one, other in itertools.combinations(ratios, 2):
        first, second = (
            max(abs(math.log(a / b)) for place in range(3) for a, b in zip(one[k, place], other[k, place], strict=True))
            for k in (0, 1)
        )
        worst = max(worst, first + second)
    assert worst == pytest.approx(law.epsilon0, rel=1e-9)
    assert law.bits_per_user == 2 * 3


def _digits(points: Any) -> Any:
    from emdp.mechanisms.vector.cube import plane_digits

    return plane_digits(np.array(points), 2)


@pytest.mark.slow
def test_of_many_means_bits_decide_in_the_shuffle_model_alone() -> None:
    """docs/python.md has these figures."""
    several = [abs(col("x") - place) for place in range(64)]

    def errors(**model: Any) -> tuple[int, float, float]:
        plan = plan_few_bits(vector_mean(several, epsilon=1.0, **model), space=Interval("x", 0, 64), users=100_000)
        _, own, free = plan.comparison
        return plan.mechanisms[0].mechanism.bits_per_user, own.expected_error or 0.0, free.expected_error or 0.0  # type: ignore[union-attr]

    sent, own, free = errors(model="local", bits=64)
    assert (sent, own) == (7, pytest.approx(free, rel=1e-3))
    for bits, expected in ((16, (14, 0.436)), (64, (64, 0.0807)), (256, (256, 0.0246))):
        sent, own, _ = errors(bits=bits, **MIXED)
        assert (sent, own) == (expected[0], pytest.approx(expected[1], rel=0.02))


@pytest.mark.parametrize(
    ("planes", "blocks"), [(1, 1), *(pytest.param(2, own, marks=pytest.mark.slow) for own in (2, 5))]
)
def test_errors_are_those_predicted_and_intervals_hold(planes: int, blocks: int) -> None:
    """3,000 releases of five means: within 5 % of the plan in the root of all means' squares; as VectorPlanes says."""
    users, size, own = 60, 5, (2.0, 1.5)[:planes]
    law = ShuffledPlanes(
        (OneBitCoordinate(-1.0, 1.0, 1.0),) * size, users, messages=planes, strengths=own, blocks=blocks
    )
    point = 0.0 if planes == 1 else 0.5
    means = np.full((users, size), round(point * 2**40), dtype=np.int64)
    errors = []
    with emdp.testing.seeded(6):
        for _ in range(3000):
            ones, asked = law.tally(law.encode(means, (40,) * size, np.zeros(users, int)))
            assert sum(asked) == users * planes * blocks
            errors.append([float(one) - point for one in law.decode(ones, asked)])
    squares = np.mean(np.square(errors), axis=0)
    assert 0.95 < math.sqrt(squares.mean() / law.variance) < 1.05
    assert np.abs(np.mean(errors, axis=0)).max() < 5 * law.deviation(0) / math.sqrt(3000)
    low, high = law.interval(0, 0.0, 0.9)
    half = law._half_of_blocks(0.1, law._size(0)) if law._size(0) > 1 else law._half(0.1)
    assert np.mean(np.abs(np.array(errors)[:, 0]) <= half) >= 0.9
    assert -1.0 <= low < high <= 1.0
    if planes == 1:
        same = VectorPlanes(size, 1.0, 2.0 * blocks, users, planes=1, blocks=blocks)
        assert law.variance * size == pytest.approx(same.squared_error(), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("model", [{"model": "local"}, MIXED])
def test_a_session_answers_in_few_bits(model: dict[str, Any], tmp_path: Any) -> None:
    users, space = 3000, Product(Interval("x", 0, 1), Interval("y", 0, 1))
    frame = {"user": [str(user) for user in range(users)], "x": [0.3] * users, "y": [0.9] * users}
    table = emdp.read(frame, user="user", space=space, users=users + 20)
    asked: dict[str, Any] = {"epsilon": 4.0, "names": ["x", "y"], "bits": 2, **model}
    with emdp.testing.seeded(3):
        session = emdp.Session(table, budget=emdp.UserDP(9.0, 1e-3, model=model["model"]), ledger=tmp_path / "a.ledger")
        answer = session.vector_mean([col("x"), col("y")], **asked)
        row = answer.frame.row(0, named=True)
        for name in ("x", "y"):
            assert row[f"{name}_low"] < answer.exact[name] < row[f"{name}_high"]
            assert row[name] == pytest.approx(answer.exact[name], abs=0.1)
        assert "any number of bits" in str(session.preview(vector_mean([col("x"), col("y")], **asked)))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"model": "central"}, "a curator has all records"),
        ({"alpha": 1.0, "epsilon": None}, "promises nothing in d_em"),
        ({"delta": 1e-6, "model": "local"}, "has no use for delta"),
        ({"messages": 2, **MIXED}, "leave out where, messages and noise"),
        ({"noise": "laplace"}, "leave out where, messages and noise"),
        ({"bits": 0}, "bits must be at least 1"),
        ({"bits": 2.5}, "bits"),
    ],
)
def test_what_bits_do_not_fit_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        vector_mean(MEANS, **({"epsilon": 1.0, "model": "local", "bits": 4} | more))


def test_too_few_bits_for_a_message_are_refused() -> None:
    with pytest.raises(UsageError, match="bits must be at least 4 for 8 means"):
        planned(3, model="local")
