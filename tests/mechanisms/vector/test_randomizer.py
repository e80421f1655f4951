"""Vectors in balls: clipping, norms in one another, signs, blocks of messages, errors by simulation, misuse."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.vector import randomizer as vector_randomizer
from emdp.mechanisms.vector.bits import VectorBits
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.mechanisms.vector.one_bit import VectorOneBit
from emdp.mechanisms.vector.planes import VectorPlanes
from emdp.mechanisms.vector.randomizer import SignStrength, VectorRandomizer, clip_to_ball, inner_radius
from emdp.mechanisms.vector.rotated import VectorRotated
from emdp.mechanisms.weights import TOTAL, Floats
from emdp.privacy.rounding import as_decimal
from emdp.testing import seeded

Kind = Callable[..., VectorRandomizer]
KINDS: dict[str, Kind] = {
    "bits": VectorBits,
    "one bit": lambda d, epsilon, users: VectorOneBit(d, 2.0, epsilon, users),
    "planes": lambda d, epsilon, users: VectorPlanes(d, 2.0, epsilon, users),
    "rotated": lambda d, epsilon, users: VectorRotated(d, 2.0, epsilon, users),
    "direction": lambda d, epsilon, users: VectorDirection(d, 2.0, epsilon, users),
    "one bit, 3-ball": lambda d, epsilon, users: VectorOneBit(d, 2.0, epsilon, users, norm=3.0),
    "planes, 1-ball": lambda d, epsilon, users: VectorPlanes(d, 2.0, epsilon, users, norm=1),
    "rotated, cube": lambda d, epsilon, users: VectorRotated(d, 2.0, epsilon, users, norm=math.inf),
    "direction, 1.5-ball": lambda d, epsilon, users: VectorDirection(d, 2.0, epsilon, users, norm=1.5),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def some_vectors(count: int, dimension: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(0.3, 1.0, (count, dimension))


def lengths_of(rows: Floats, norm: float) -> Floats:
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return largest[:, 0] * np.linalg.norm(rows / largest, norm, axis=1)


class TestBalls:
    @pytest.mark.parametrize("norm", [1, 1.3, 2, 7.5, 1e6, math.inf])
    def test_clipped_vectors_are_in_the_ball_and_those_inside_stay(self, norm: float) -> None:
        rows = np.concatenate([some_vectors(50, 6) * 10.0**k for k in (-320, -3, 0, 3, 300)])
        clipped = clip_to_ball(rows, 1.5, norm)
        lengths = lengths_of(clipped, norm)
        assert lengths.max() <= 1.5 * (1 + 1e-12)
        outside = lengths_of(rows[:150], norm) > 1.5
        assert outside.any()
        np.testing.assert_allclose(lengths[:150][outside], 1.5, rtol=1e-12)
        np.testing.assert_array_equal(clipped[:150][~outside], rows[:150][~outside])
        if not math.isinf(norm):
            # Directions are kept.
            np.testing.assert_allclose(clipped[:, 0] * rows[:, 1], clipped[:, 1] * rows[:, 0], rtol=1e-9)

    @pytest.mark.parametrize("norm", [1, 2, 3.5, math.inf])
    def test_no_value_raises_and_what_is_no_number_is_0(self, norm: float) -> None:
        rows = np.array([[np.nan, 0.5], [np.inf, -np.inf], [1.7e308, 1.7e308], [5e-324, -5e-324], [0.0, -0.0]])
        clipped = clip_to_ball(rows, 1.0, norm)
        assert np.isfinite(clipped).all()
        assert clipped[[0, 1, 3]].tolist() == [[0.0, 0.5], [0.0, 0.0], [5e-324, -5e-324]]
        assert np.linalg.norm(clipped[2], norm) == pytest.approx(1.0)

    @pytest.mark.parametrize("norm", [1, 1.5, 2, 3, math.inf])
    @pytest.mark.parametrize("inner", [1.0, 2.0, math.inf])
    def test_the_inner_ball_holds_the_ball_and_no_smaller_one_does(self, norm: float, inner: float) -> None:
        rows = clip_to_ball(np.concatenate([some_vectors(500, 7) * 9, np.ones((1, 7)) * 9, np.eye(7)[:1] * 9]), 2, norm)
        largest = np.linalg.norm(rows, inner, axis=1).max()
        assert largest == pytest.approx(inner_radius(7, 2.0, norm, inner), rel=1e-12)

    @pytest.mark.parametrize("radius", [1e-100, 1e100])
    def test_extreme_radii_work_and_those_beyond_are_refused(self, radius: float) -> None:
        for make in (VectorOneBit, VectorPlanes, VectorRotated, VectorDirection):
            randomizer = make(5, radius, 1e-6, 2, norm=math.inf)
            messages = randomizer.encode([[np.nan, 1e308, -1e308, radius, -radius], [5e-324, np.inf, 0, 1, -1]])
            assert np.isfinite(randomizer.decode(randomizer.tally(messages), 2)).all()
            assert 0 < randomizer.squared_error() < math.inf
            for beyond in (radius * 2, radius / 2):
                if not 1e-100 <= beyond <= 1e100:
                    with pytest.raises(UsageError, match="radius"):
                        make(5, beyond, 1.0, 1)


class TestSigns:
    @pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 7.0, 40.0])
    def test_no_value_leaves_the_range(self, epsilon: float) -> None:
        sign = SignStrength.of(as_decimal(epsilon))
        ends = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1.0, -1.0, np.nextafter(1, 2), -np.nextafter(1, 2), 5e-324]
        given = np.array([*ends, *np.random.default_rng(3).normal(0, 1, 1000)])
        numerators = sign.numerators(given).tolist()
        assert max(numerators) <= sign.high
        assert min(numerators) >= TOTAL - sign.high
        assert numerators[0] == TOTAL // 2
        assert max(Fraction(a, b) for a in numerators[:9] for b in numerators[:9]) <= sign.ratio
        means = (np.array(numerators, dtype=object) - TOTAL // 2) / (TOTAL // 2) * float(sign.contrast)
        np.testing.assert_allclose(means.astype(float), np.nan_to_num(np.clip(given, -1, 1)), atol=1e-9)

    @pytest.mark.parametrize("high", [TOTAL // 2, TOTAL, 0])
    def test_what_is_no_strength_is_refused(self, high: int) -> None:
        with pytest.raises(UsageError, match="high"):
            SignStrength(high)


@every_kind
class TestConformance:
    @pytest.mark.quarter
    @pytest.mark.parametrize("epsilon", [1e-6, 0.5, 3.3, 40.0])
    @pytest.mark.parametrize("dimension", [1, 5, 16])
    def test_epsilon_never_exceeds_what_was_asked(self, kind: str, epsilon: float, dimension: int) -> None:
        randomizer = KINDS[kind](dimension, epsilon, 10)
        assert randomizer.epsilon <= epsilon
        assert randomizer.epsilon == pytest.approx(epsilon, rel=1e-4 if epsilon < 40 else 0.05)
        assert randomizer.squared_error() > 0

    def test_tallies_of_blocks_add_up_whatever_the_blocks(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        randomizer = KINDS[kind](5, 4.0, 300)
        messages = randomizer.encode(some_vectors(300, 5))
        assert messages.shape == (300, randomizer.reports)
        assert messages.dtype == np.int64
        whole = randomizer.tally(messages)
        parts = randomizer.tally(messages[:7]) + randomizer.tally(messages[7:]) + randomizer.tally(messages[:0])
        np.testing.assert_array_equal(whole, parts)
        monkeypatch.setattr(vector_randomizer, "BLOCK_ENTRIES", 100)
        np.testing.assert_array_equal(whole, randomizer.tally(messages))
        assert randomizer.encode(some_vectors(300, 5)).shape == messages.shape
        assert randomizer.decode(whole, 300).shape == (5,)
        assert not np.array_equal(messages, randomizer.encode(some_vectors(300, 5)))

    def test_the_error_is_as_stated_with_power(self, kind: str) -> None:
        """400 means of 30 users in 9 dimensions: the mean squared error is within 20 %; 0.7 and 1.3 times it is not."""
        runs, users = 400, 30
        vectors = some_vectors(users, 9)
        # Some draw a public rotation when they are made.
        with seeded(1):
            randomizer = KINDS[kind](9, 2.5, users)
            messages = randomizer.encode(np.tile(vectors, (runs, 1))).reshape(runs, users, -1)
        target = randomizer.clip(vectors).mean(axis=0)
        errors = np.array([randomizer.decode(randomizer.tally(block), users) for block in messages]) - target
        stated = randomizer.squared_error_of(vectors)
        ratio = float((errors**2).sum(axis=1).mean()) / stated
        for factor, passes in ((1.0, True), (0.7, False), (1.3, False)):
            assert (abs(ratio / factor - 1.0) < 0.2) is passes
        assert stated <= randomizer.squared_error() * (1 + 1e-12)
        assert np.abs(errors.mean(axis=0)).max() < 6 * math.sqrt(stated / runs)

    def test_misuse_is_named(self, kind: str) -> None:
        make = KINDS[kind]
        for arguments, name in (((0, 1.0, 5), "dimension"), ((4, 0.0, 5), "epsilon"), ((4, 41.0, 5), "epsilon")):
            with pytest.raises(UsageError, match=name):
                make(*arguments)
        for users in (0, 2**40 + 1):
            with pytest.raises(UsageError, match="users"):
                make(4, 1.0, users)
        randomizer = make(4, 1.0, 5)
        for vectors in (np.zeros((5, 3)), np.zeros(4), np.zeros((5, 4), dtype=complex), [["a"] * 4]):
            with pytest.raises(UsageError, match="vectors"):
                randomizer.encode(vectors)
        sound = randomizer.encode(np.zeros((5, 4)))
        wrong: list[Any] = [sound[:, :0], sound[0], sound.astype(np.float64), sound.astype(np.int32), 0 * sound - 1]
        for messages in wrong:
            with pytest.raises(UsageError, match="messages"):
                randomizer.tally(messages)
        tally = randomizer.tally(sound)
        for given in (tally[..., :-1], tally.astype(np.float64)):
            with pytest.raises(UsageError, match="tally"):
                randomizer.decode(given, 5)
        for count in (0, 6):
            with pytest.raises(UsageError, match="count"):
                randomizer.decode(tally, count)

    def test_it_explains_itself(self, kind: str) -> None:
        randomizer = KINDS[kind](4, 1.0, 5)
        assert randomizer.name in randomizer.explain()
        assert randomizer.theorem in randomizer.explain()
        assert json.loads(json.dumps(randomizer.parameters()))["epsilon"] == randomizer.epsilon
        assert repr(randomizer).startswith(type(randomizer).__name__)


@pytest.mark.parametrize("norm", [0.5, math.nan, -1, True, "2"])
def test_what_is_no_norm_is_refused(norm: Any) -> None:
    with pytest.raises(UsageError, match="norm"):
        VectorPlanes(2, 1.0, 1.0, 1, norm=norm)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: VectorPlanes(4, 1.0, 1.0, 1, planes=0), "planes"),
        (lambda: VectorPlanes(4, 1.0, 1.0, 1, planes=17), "planes"),
        (lambda: VectorPlanes(4, 1.0, 1.0, 1, blocks=0), "blocks"),
        (lambda: VectorPlanes(4, 1.0, 1.0, 1, blocks=5), "blocks"),
        (lambda: VectorPlanes(1024, 1.0, 1.0, 1, planes=2, blocks=1024), "planes times blocks"),
        (lambda: VectorBits(4, 1.0, 1, blocks=5), "blocks"),
        (lambda: VectorOneBit(5, 1.0, 1.0, 1, blocks=9), "blocks"),
        (lambda: VectorOneBit(5, -1.0, 1.0, 1), "radius"),
        (lambda: VectorOneBit(2**20 + 1, 1.0, 1.0, 1), "dimension"),
        (lambda: VectorDirection(5, 1.0, 1.0, 1, reports=0), "reports"),
        (lambda: VectorDirection(5, 1.0, 1.0, 1, reports=1025), "reports"),
        (lambda: VectorRotated(5, 1.0, 1.0, 1, beta=0.0), "beta"),
        (lambda: VectorRotated(5, 1.0, 1.0, 1, rotation=[1] * 5), "rotation"),
        (lambda: VectorRotated(4, 1.0, 1.0, 1, rotation=[1, 0, 1, 1]), "rotation"),
        (lambda: VectorRotated(4, 1.0, 1.0, 1, rotation=[1.0, -1.0, 1.0, 1.0]), "rotation"),
    ],
)
def test_misuse_of_one_kind_is_named(make: Callable[[], Any], name: str) -> None:
    with pytest.raises(UsageError, match=name):
        make()


def test_many_reports_share_a_small_epsilon() -> None:
    planes = VectorPlanes(2000, 1.0, 1e-6, 1, planes=1, blocks=1024)
    assert planes.epsilon == pytest.approx(1e-6, rel=1e-3)
    assert planes.epsilon <= 1e-6


def test_a_longdouble_beyond_doubles_counts_as_0() -> None:
    planes = VectorPlanes(1, 1.0, 1.0, 1)
    assert planes.clip(np.array([[np.longdouble("1e4000")]])).tolist() == [[0.0]]


def test_messages_of_another_block_are_refused() -> None:
    planes = VectorPlanes(4, 1.0, 1.0, 1, planes=1, blocks=2)
    with pytest.raises(UsageError, match="places"):
        planes.tally(np.array([[2, 4]], dtype=np.int64))
    assert planes.tally(np.array([[0, 2]], dtype=np.int64)).tolist() == [[1, 1, 0, 0]]
