"""Exact laws of messages of vectors: all outputs enumerated for pure LDP, unbiasedness and errors; draws with power."""

import copy
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats

from emdp.mechanisms.strength import epsilon_of_ratio
from emdp.mechanisms.vector import cube as vector_cube
from emdp.mechanisms.vector import direction as vector_direction
from emdp.mechanisms.vector.bits import VectorBits
from emdp.mechanisms.vector.cube import CubeRandomizer
from emdp.mechanisms.vector.direction import VectorDirection, directions_of
from emdp.mechanisms.vector.one_bit import VectorOneBit
from emdp.mechanisms.vector.planes import VectorPlanes
from emdp.mechanisms.vector.randomizer import SignStrength
from emdp.mechanisms.vector.rotated import VectorRotated
from emdp.mechanisms.weights import TOTAL, Floats, Integers
from emdp.privacy.rounding import as_decimal
from emdp.testing import seeded

Law = dict[bytes, Fraction]
TURN = np.array([1, -1, -1, 1], dtype=np.int64)

CUBES: dict[str, Callable[[], CubeRandomizer]] = {
    "bits": lambda: VectorBits(3, 1.0, 1),
    "bits, blocks": lambda: VectorBits(4, 5.0, 1, blocks=3),
    "one bit": lambda: VectorOneBit(3, 2.0, 1.0, 1),
    "one bit, blocks": lambda: VectorOneBit(3, 2.0, 4.0, 1, blocks=3),
    "one bit, 2-ball": lambda: VectorOneBit(4, 0.7, 0.5, 1, norm=2.0),
    "one entry": lambda: VectorOneBit(1, 1e-3, 3.0, 1),
    "planes": lambda: VectorPlanes(3, 2.0, 1.0, 1),
    "three planes": lambda: VectorPlanes(2, 0.3, 6.0, 1, planes=3, blocks=1),
    "planes, blocks": lambda: VectorPlanes(3, 5.0, 8.0, 1, planes=2, blocks=2),
    "planes, 1.5-ball": lambda: VectorPlanes(2, 1.0, 2.0, 1, norm=1.5, planes=2, blocks=1),
    "rotated": lambda: VectorRotated(3, 1.0, 1.0, 1, rotation=TURN),
    "rotated, planes": lambda: VectorRotated(4, 2.0, 3.0, 1, rotation=TURN, planes=2, blocks=1),
}


def extremes(dimension: int, radius: float) -> list[Floats]:
    """Return vectors inside, on and far outside the ball, and others that are none."""
    ones, first = np.ones(dimension), np.eye(dimension)[0]
    signs = (-1.0) ** np.arange(dimension)
    spread = np.linspace(-0.37, 0.81, dimension)
    inside = [0 * ones, radius * first, -radius * first, 0.3 * radius * spread, -0.0 * ones, 5e-324 * ones]
    outside = [radius * ones, -radius * ones, radius * signs, 1e3 * radius * spread, 1.7e308 * signs, -1.7e308 * ones]
    return [*inside, *outside, np.nan * ones, np.inf * signs, np.where(first > 0, np.nan, radius)]


def cube_law(randomizer: CubeRandomizer, vector: Floats, monkeypatch: pytest.MonkeyPatch) -> Law:
    """Return the law of one user's message, by running ``encode`` over all values of what it draws."""
    sizes = np.tile(randomizer._sizes(randomizer.blocks), randomizer.planes)
    places = np.array(list(itertools.product(*map(range, sizes.tolist()))), dtype=np.int64)
    seen: list[list[int]] = []

    def below(limits: Any) -> Any:
        assert np.array_equal(limits, np.tile(sizes, len(places)))
        return places.ravel()

    def coin(numerators: Any, bits: int) -> Any:
        assert bits == 62
        seen.extend(numerators.reshape(places.shape).tolist())
        return np.ones(numerators.size, dtype=np.bool_)

    with monkeypatch.context() as patched:
        patched.setattr(vector_cube, "draw_below", below)
        patched.setattr(vector_cube, "draw_bernoulli", coin)
        messages = randomizer.encode(np.tile(vector, (len(places), 1)))
    law: Law = {}
    for message, numerators in zip(messages, seen, strict=True):
        for minus in itertools.product((0, 1), repeat=randomizer.reports):
            signs = [TOTAL - a if bit else a for a, bit in zip(numerators, minus, strict=True)]
            law[(message + np.array(minus)).tobytes()] = Fraction(math.prod(signs), TOTAL ** len(signs) * len(places))
    return law


def values_of(randomizer: Any, law: Law) -> Floats:
    """Return what each message alone is decoded to."""
    rows = [np.frombuffer(message, np.int64)[None, :] for message in law]
    return np.array([randomizer.decode(randomizer.tally(row), 1) for row in rows])


def worst_ratio(laws: list[Law]) -> Fraction:
    assert all(set(law) == set(laws[0]) for law in laws)
    return max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])


@pytest.mark.parametrize("kind", CUBES)
class TestCubes:
    def test_epsilon_holds_for_every_message_and_input(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        randomizer = CUBES[kind]()
        laws = [cube_law(randomizer, x, monkeypatch) for x in extremes(randomizer.dimension, randomizer.radius)]
        assert all(sum(law.values()) == 1 and min(law.values()) > 0 for law in laws)
        ratio = worst_ratio(laws)
        assert ratio <= randomizer.ratio
        assert epsilon_of_ratio(ratio) <= randomizer.epsilon <= randomizer.requested
        assert randomizer.epsilon == pytest.approx(randomizer.requested, rel=1e-12)
        # Attained, unless the ball does not reach the corners of the cube or blocks see different corners.
        if kind in ("bits", "one bit", "one bit, 2-ball", "one entry", "planes", "three planes"):
            assert float(ratio) == pytest.approx(float(randomizer.ratio), rel=1e-12)

    def test_unbiased_with_the_stated_error(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        randomizer = CUBES[kind]()
        for x in extremes(randomizer.dimension, randomizer.radius):
            law = cube_law(randomizer, x, monkeypatch)
            chances = np.array([float(chance) for chance in law.values()])
            values, (target,) = values_of(randomizer, law), randomizer.clip(x[None, :])
            # In so few dimensions r_inf = r_2, so that rotations clip nothing either.
            np.testing.assert_allclose(chances @ values, target, atol=1e-12 * randomizer.radius)
            error = float(chances @ ((values - target) ** 2).sum(axis=1))
            assert error == pytest.approx(randomizer.squared_error_of(x[None, :]), rel=1e-9)
            assert error <= randomizer.squared_error() * (1 + 1e-12)

    def test_the_worst_error_is_attained(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        randomizer = CUBES[kind]()
        zero = np.zeros((1, randomizer.dimension))
        if randomizer.planes == 1:
            assert randomizer.squared_error_of(zero) == pytest.approx(randomizer.squared_error(), rel=1e-12)
        elif kind in ("three planes", "planes, blocks"):
            # What is left after m - 1 digits is in the middle of its range.
            worst = zero + randomizer.radius * (2.0 ** -(randomizer.planes - 1) - 1.0)
            assert randomizer.squared_error_of(worst) == pytest.approx(randomizer.squared_error(), rel=1e-12)

    def test_draws_have_their_law_with_power(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """40,000 messages: the true law passes at p > 1e-9, that of 0.7 and of 1.3 times epsilon does not."""
        if kind not in ("bits", "one bit", "planes", "three planes", "rotated, planes"):
            return
        randomizer, count = CUBES[kind](), 40_000
        vector = np.linspace(0.4, 1.0, randomizer.dimension) * randomizer.radius
        with seeded(11):
            messages = randomizer.encode(np.tile(vector, (count, 1)))
        sent, observed = np.unique(messages, axis=0, return_counts=True)
        counts = {row.tobytes(): int(number) for row, number in zip(sent, observed, strict=True)}
        for factor, passes in ((1.0, True), (0.7, False), (1.3, False)):
            other = copy.copy(randomizer)
            other.requested = factor * randomizer.requested
            other.__dict__.pop("signs", None)
            law = cube_law(other, vector, monkeypatch)
            assert set(counts) <= set(law)
            expected = np.array([float(chance) for chance in law.values()]) * count
            p = scipy.stats.chisquare([counts.get(y, 0) for y in law], expected * (count / expected.sum())).pvalue
            assert bool(p > 1e-9) is passes


def direction_law(randomizer: VectorDirection, vector: Floats, seeds: Integers, monkeypatch: pytest.MonkeyPatch) -> Law:
    """Return the law of the message given the directions, uniform for every vector: a row of ``seeds`` each."""
    seen: list[list[int]] = []

    def below(limits: Any) -> Any:
        assert (limits == 2**62).all()
        return seeds.ravel()

    def coin(numerators: Any, bits: int) -> Any:
        seen.extend(numerators.reshape(seeds.shape).tolist())
        return np.ones(numerators.size, dtype=np.bool_)

    with monkeypatch.context() as patched:
        patched.setattr(vector_direction, "draw_below", below)
        patched.setattr(vector_direction, "draw_bernoulli", coin)
        messages = randomizer.encode(np.tile(vector, (len(seeds), 1)))
    law: Law = {}
    for message, numerators in zip(messages, seen, strict=True):
        for minus in itertools.product((0, 1), repeat=randomizer.reports):
            signs = [TOTAL - a if bit else a for a, bit in zip(numerators, minus, strict=True)]
            law[(message + np.array(minus)).tobytes()] = Fraction(math.prod(signs), TOTAL ** len(signs))
    return law


DIRECTIONS = [(1, 2.0, 1), (2, 2.0, 2), (3, 1.0, 1), (5, math.inf, 3)]


class TestDirections:
    @pytest.mark.parametrize(("dimension", "norm", "reports"), DIRECTIONS)
    def test_epsilon_holds_for_every_message_and_input(
        self, dimension: int, norm: float, reports: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        randomizer = VectorDirection(dimension, 2.0, 1.5, 1, norm=norm, reports=reports)
        seeds = np.array([0, 1, 2**62 - 1, *range(10**6, 10**6 + 30 * reports - 3)], dtype=np.int64)
        seeds = seeds.reshape(-1, reports)
        inputs = extremes(dimension, 2.0)
        laws = [direction_law(randomizer, x, seeds, monkeypatch) for x in inputs]
        assert all(sum(law.values()) == len(seeds) for law in laws)
        assert worst_ratio(laws) <= randomizer.ratio
        assert epsilon_of_ratio(randomizer.ratio) <= 1.5
        assert randomizer.epsilon == pytest.approx(1.5, rel=1e-12)
        if norm == 2.0:
            assert float(worst_ratio(laws)) == pytest.approx(float(randomizer.ratio), rel=1e-12)

    @pytest.mark.parametrize("reports", [1, 2])
    def test_on_a_line_all_is_exact(self, reports: int, monkeypatch: pytest.MonkeyPatch) -> None:
        sides = directions_of(np.arange(50), 1).ravel()
        both = [int(np.flatnonzero(sides == side)[0]) for side in (-1.0, 1.0)]
        seeds = np.array(list(itertools.product(both, repeat=reports)), dtype=np.int64)
        randomizer = VectorDirection(1, 2.0, 1.5, 1, reports=reports)
        for x in extremes(1, 2.0):
            law = direction_law(randomizer, x, seeds, monkeypatch)
            chances = np.array([float(chance) for chance in law.values()]) / len(seeds)
            values, (target,) = values_of(randomizer, law), randomizer.clip(x[None, :])
            np.testing.assert_allclose(chances @ values, target, atol=1e-12)
            error = float(chances @ ((values - target) ** 2).sum(axis=1))
            assert error == pytest.approx(randomizer.squared_error_of(x[None, :]), rel=1e-9)

    @pytest.mark.parametrize("printed", [False, True])
    def test_in_the_plane_by_quadrature_and_as_printed_not(
        self, printed: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Directions at 1,000 equal angles; without the missing factor d the mean is x/d."""
        count = 1000
        angles = (np.arange(count) + 0.5) * (2 * math.pi / count)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        monkeypatch.setattr(vector_direction, "directions_of", lambda seeds, dimension: circle[np.asarray(seeds)])
        randomizer = VectorDirection(2, 1.0, 1.0, 1, reports=1)
        if printed:
            constant = math.sqrt(math.pi) / 2 * math.gamma(1.5) / math.gamma(2.0)
            monkeypatch.setattr(vector_direction, "direction_constant", lambda dimension: constant)
        for x in ([0.6, -0.3], [0.0, 1.0], [0.01, 0.02], [3.0, 4.0]):
            law = direction_law(randomizer, np.array(x), np.arange(count)[:, None], monkeypatch)
            chances = np.array([float(chance) for chance in law.values()]) / count
            values, (target,) = values_of(randomizer, law), randomizer.clip([x])
            np.testing.assert_allclose(chances @ values, target / 2 if printed else target, atol=4e-3)
            if not printed:
                error = float(chances @ ((values - target) ** 2).sum(axis=1))
                assert error == pytest.approx(randomizer.squared_error_of(np.array([x])), rel=4e-3)

    def test_draws_have_their_law_with_power(self) -> None:
        count, x = 40_000, np.array([0.5, -0.5, 0.1])
        randomizer = VectorDirection(3, 1.0, 1.5, count, reports=1)
        with seeded(5):
            messages = randomizer.encode(np.tile(x, (count, 1))).ravel()
        agrees = np.sign(directions_of(messages >> 1, 3) @ x) == 1 - 2 * (messages & 1)
        length = math.sqrt(float(x @ x))
        for factor, passes in ((1.0, True), (0.7, False), (1.3, False)):
            chance = 0.5 + 0.5 * length * math.tanh(0.5 * factor * 1.5)
            p = float(scipy.stats.binomtest(int(agrees.sum()), count, chance).pvalue)
            assert (p > 1e-9) is passes


class TestFaults:
    def test_the_whole_epsilon_for_every_report_is_too_much(self, monkeypatch: pytest.MonkeyPatch) -> None:
        randomizer = VectorPlanes(2, 1.0, 1.0, 1, planes=1, blocks=2)
        whole = SignStrength.of(as_decimal(1.0))
        randomizer.__dict__["signs"] = tuple(vector_cube.PlaneSigns(s.gain, whole) for s in randomizer.signs)
        laws = [cube_law(randomizer, x, monkeypatch) for x in extremes(2, 1.0)]
        assert epsilon_of_ratio(worst_ratio(laws)) == pytest.approx(2.0, rel=1e-9)

    def test_digits_without_the_clamp_lose_the_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As printed, z = 1 has a first digit of 2; the integers keep privacy, and the mean is 0 in place of r."""

        def printed(cube: Floats, planes: int) -> list[Floats]:
            rest, digits = 0.5 * (cube + 1.0), []
            for k in range(1, planes):
                bit = np.floor(rest * 2.0**k)
                rest = rest - bit * 2.0**-k
                digits.append(2.0 * bit - 1.0)
            return [*digits, rest * 2.0**planes - 1.0]

        end = np.ones(2)
        assert printed(end, 2)[0].tolist() == [3.0, 3.0]
        assert vector_cube.plane_digits(end, 2)[0].tolist() == [1.0, 1.0]
        randomizer = VectorPlanes(2, 1.0, 4.0, 1, planes=2, blocks=1)
        monkeypatch.setattr(vector_cube, "plane_digits", printed)
        laws = [cube_law(randomizer, x, monkeypatch) for x in (end, -end, 0 * end)]
        chances = np.array([float(chance) for chance in laws[0].values()])
        np.testing.assert_allclose(chances @ values_of(randomizer, laws[0]), 0.0, atol=1e-9)
        assert worst_ratio(laws) <= randomizer.ratio

    def test_the_reversed_inclusion_gives_no_probabilities(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The 2-ball is not in the 1-ball of its radius: v = 2, a chance above 1. The clip saves epsilon alone."""
        right = VectorOneBit(4, 1.0, 1.0, 1, norm=2.0)
        x = np.full((1, 4), 0.5)
        wrong = copy.copy(right)
        wrong._reach = 1.0
        v = float(np.abs(wrong._to_cube(x)).max())
        assert v == 2.0
        assert 0.5 + 0.5 * v * math.tanh(0.5 * 3.0) > 1.0
        assert float(np.abs(right._to_cube(x)).max()) == 1.0
        laws = [cube_law(wrong, y, monkeypatch) for y in extremes(4, 1.0)]
        assert worst_ratio(laws) <= wrong.ratio
        law = cube_law(wrong, x[0], monkeypatch)
        chances = np.array([float(chance) for chance in law.values()])
        assert float((chances @ values_of(wrong, law))[0]) == pytest.approx(0.25)
