"""Bit planes: the digits, the budgets, and the table of worst-case sums of local-shuffle-userlevel.md 4.2."""

import math

import numpy as np
import pytest

from emdp.mechanisms.vector.cube import PlaneSigns, plane_digits, plane_gains, plane_shares
from emdp.mechanisms.vector.planes import VectorPlanes
from emdp.mechanisms.vector.randomizer import SignStrength
from emdp.mechanisms.weights import TOTAL

WORST_SUMS = {
    0.5: (4.250, 8.063, 11.558, 14.241),
    1.0: (1.250, 2.063, 2.901, 3.563),
    2.0: (0.500, 0.563, 0.737, 0.894),
    4.0: (0.3125, 0.1875, 0.196, 0.226),
    8.0: (0.266, 0.094, 0.061, 0.0595),
}
"""d = 1, r = 1/2, s = 1, n = 1, m = 1 to 4, with the thesis' p(v)."""

ONE_PLANE = {0.5: 4.168, 1.0: 1.171, 2.0: 0.431, 4.0: 0.269, 8.0: 0.250}


def thesis_signs(self: VectorPlanes, planes: int, blocks: int) -> tuple[PlaneSigns, ...]:
    """Return signs with p(v) = (1 - sqrt(v^2/(v^2 + 4)))/2, whose variance is 1/v^2."""
    signs = []
    for gain, share in zip(plane_gains(planes), plane_shares(planes), strict=True):
        v = self.requested * share / blocks
        tilt = v / math.sqrt(v * v + 4)
        signs.append(PlaneSigns(gain, SignStrength(round(TOTAL / 2 * (1 + tilt)))))
    return tuple(signs)


@pytest.mark.parametrize("epsilon", WORST_SUMS)
def test_worst_sums_of_the_theory(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    single = VectorPlanes(1, 0.5, epsilon, 1, planes=1)
    assert single.squared_error() == pytest.approx(ONE_PLANE[epsilon], abs=6e-4)
    monkeypatch.setattr(VectorPlanes, "_signs_at", thesis_signs)
    for planes, expected in enumerate(WORST_SUMS[epsilon], 1):
        found = VectorPlanes(1, 0.5, epsilon, 1, planes=planes, blocks=1)
        # What is printed has three decimals, or four.
        assert found.squared_error() == pytest.approx(expected, abs=6e-4)
        # The thesis' p(v) tells 2 asinh(v/2) <= v, so it is more noise than it need be.
        assert found.epsilon < epsilon


def test_signs_of_the_whole_epsilon_beat_the_published_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {(e, m): VectorPlanes(1, 0.5, e, 1, planes=m).squared_error() for e in WORST_SUMS for m in (1, 2, 3, 4)}
    assert all(own[e, m] < WORST_SUMS[e][m - 1] for e, m in own)


def test_budgets_of_the_theory() -> None:
    assert plane_shares(2) == (0.5, 0.5)
    np.testing.assert_allclose(plane_shares(3), [0.4425, 0.2788, 0.2788], atol=5e-5)
    np.testing.assert_allclose(plane_shares(4), [0.4126, 0.2599, 0.1637, 0.1637], atol=5e-5)


@pytest.mark.parametrize("planes", range(1, 9))
def test_digits_add_up_and_stay_in_the_cube(planes: int) -> None:
    points = np.concatenate([np.linspace(-1, 1, 1025), np.nextafter([1.0, -1.0, 0.0], [0.0, 0.0, 1.0])])
    digits = plane_digits(points, planes)
    assert len(digits) == planes
    assert all(set(np.unique(plane)) <= {-1.0, 1.0} for plane in digits[:-1])
    assert all(np.abs(plane).max() <= 1.0 for plane in digits)
    total = sum(gain * plane for gain, plane in zip(plane_gains(planes), digits, strict=True))
    np.testing.assert_allclose(total, points, atol=1e-15)


@pytest.mark.parametrize("dimension", [1, 3, 10])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 8.0, 20.0])
def test_no_other_planes_and_blocks_are_better(dimension: int, epsilon: float) -> None:
    chosen = VectorPlanes(dimension, 1.0, epsilon, 3)
    others = [
        VectorPlanes(dimension, 1.0, epsilon, 3, planes=m, blocks=s).squared_error()
        for m in range(1, 7)
        for s in range(1, dimension + 1)
    ]
    assert chosen.squared_error() == pytest.approx(min(others), rel=1e-12)


def test_one_coordinate_and_one_bit_is_the_published_one() -> None:
    """r^2 d^2 coth(epsilon/2)^2/n, of one-bit-and-sampling.md 2."""
    planes = VectorPlanes(10, 3.0, 1.0, 50, planes=1, blocks=1)
    assert planes.squared_error() == pytest.approx(9 * 100 / math.tanh(0.5) ** 2 / 50, rel=1e-12)
    x = np.full((50, 10), 2.0)
    assert planes.squared_error_of(x) == pytest.approx(planes.squared_error() - 40 / 50, rel=1e-12)


@pytest.mark.parametrize("norm", [1.0, 2.0, math.inf])
def test_no_vector_has_a_larger_error(norm: float) -> None:
    planes = VectorPlanes(4, 2.0, 8.0, 1, norm=norm, planes=2, blocks=2)
    rows = np.random.default_rng(1).normal(0, 2, (200, 4))
    assert max(planes.squared_error_of(row[None, :]) for row in rows) <= planes.squared_error()


def test_a_block_of_users_may_be_empty() -> None:
    planes = VectorPlanes(4, 2.0, 8.0, 1)
    assert planes.encode(np.zeros((0, 4))).shape == (0, planes.reports)
    assert planes.tally(planes.encode(np.zeros((0, 4)))).sum() == 0
