"""Rotations: the right clip against the printed constant 10, independent signs against one, and bias by clipping."""

import math

import numpy as np
import pytest

from emdp.mechanisms.vector.rotated import VectorRotated, draw_rotation_signs, rotated_radius
from emdp.testing import seeded


def test_clip_of_the_theory() -> None:
    """d = 512, n = 1000, beta = .01: .268 r_2 against the printed 1.86 r_2, which is no clip and 48 times the error."""
    right = rotated_radius(512, 1.0, 1000, 0.01)
    printed = 10 * math.sqrt(math.log(512 * 1000 / 0.01) / 512)
    assert right == pytest.approx(0.268, abs=5e-4)
    assert printed == pytest.approx(1.86, abs=5e-3)
    assert (printed / right) ** 2 == pytest.approx(48, abs=0.5)
    assert rotated_radius(8, 3.0, 1000, 0.01) == 3.0


@pytest.mark.parametrize("dimension", [1, 3, 8, 12])
def test_the_rotation_is_undone(dimension: int) -> None:
    rotated = VectorRotated(dimension, 2.0, 1.0, 10)
    rows = rotated.clip(np.random.default_rng(0).normal(0, 1, (20, dimension)))
    cube = rotated._to_cube(rows)
    np.testing.assert_allclose(rotated._from_cube(cube), rows, atol=1e-12)
    lengths = np.linalg.norm(cube, axis=1) * rotated.limit
    np.testing.assert_allclose(lengths, np.linalg.norm(rows, axis=1), rtol=1e-12)


def flat(dimension: int) -> np.ndarray:
    """Return the vector that an unsigned Hadamard transform gathers in one entry."""
    return np.full((1, dimension), 1 / math.sqrt(dimension))


def test_one_shared_sign_loses_a_vector_and_independent_signs_do_not() -> None:
    d = 512
    for sign in (1, -1):
        shared = VectorRotated(d, 1.0, 1.0, 1000, rotation=np.full(d, sign))
        kept = shared._from_cube(np.clip(shared._to_cube(flat(d)), -1, 1))
        # Of the length 1 only r_inf = .268 is left.
        assert float(np.linalg.norm(kept)) == pytest.approx(shared.limit, rel=1e-9)
    with seeded(3):
        rotated = [VectorRotated(d, 1.0, 1.0, 1000) for _ in range(50)]
    assert all(float(np.abs(each._to_cube(flat(d))).max()) <= 1 for each in rotated)
    for each in rotated[:5]:
        kept = each._from_cube(np.clip(each._to_cube(flat(d)), -1, 1))
        np.testing.assert_allclose(kept, flat(d), atol=1e-12)


def test_signs_are_independent_with_power() -> None:
    """The sum of 64 signs has variance 64: within 10 % by 20,000 rows; 4096 with one shared sign."""
    with seeded(2):
        rows = draw_rotation_signs(64 * 20_000).reshape(20_000, 64)
    assert set(np.unique(rows)) == {-1, 1}
    assert float((rows.sum(axis=1) ** 2).mean()) == pytest.approx(64, rel=0.1)
    assert float(np.abs(rows.mean(axis=0)).max()) < 6 / math.sqrt(20_000)
    assert not np.array_equal(draw_rotation_signs(64), draw_rotation_signs(64))


@pytest.mark.parametrize("beta", [0.01, 0.9])
def test_clipping_takes_at_most_the_stated_bias(beta: float) -> None:
    """With a radius of 1 user and a large beta entries are clipped; the mean loss over signs is below the bound."""
    d = 64
    losses, clipped = [], 0
    with seeded(1):
        for _ in range(200):
            rotated = VectorRotated(d, 1.0, 1.0, 1, beta=beta)
            cube = rotated._to_cube(flat(d))
            clipped += bool((np.abs(cube) > 1).any())
            kept = rotated._from_cube(np.clip(cube, -1, 1))
            losses.append(float(((kept - flat(d)) ** 2).sum()))
    assert clipped <= 200 * beta
    assert np.mean(losses) <= rotated._bias()
    if beta == 0.9:
        assert clipped > 0


def test_the_bias_counts_where_it_occurs() -> None:
    """The exact error for given signs has the bias; it holds for the shared sign that loses most of a vector."""
    d = 512
    shared = VectorRotated(d, 1.0, 40.0, 1000, rotation=np.ones(d, dtype=np.int64))
    rows = np.tile(flat(d), (10, 1))
    bias = (1 - shared.limit) ** 2
    noise = (shared.squared_error_of(rows) - bias) * 10 / 1000
    assert 0 < noise <= shared.squared_error()
    assert bias > 0.5


@pytest.mark.parametrize("dimension", [3, 4, 20])
@pytest.mark.parametrize("planes", [1, 2])
def test_no_vector_has_a_larger_error(dimension: int, planes: int) -> None:
    rotated = VectorRotated(dimension, 2.0, 8.0, 1, planes=planes, blocks=2)
    rows = np.random.default_rng(1).normal(0, 1, (100, dimension))
    assert max(rotated.squared_error_of(row[None, :]) for row in rows) <= rotated.squared_error()
