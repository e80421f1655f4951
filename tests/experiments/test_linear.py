"""Linear embedding queries: norms against theory, the crossing, and a session beside the mechanisms."""

import math
from dataclasses import replace

import numpy as np
import pytest

from emdp.experiments.base import EMD, USER
from emdp.experiments.linear import BASE, bit_errors, draw_query, draw_unit_noise, draw_words, errors_of, session_rows
from emdp.testing import seeded

SMALL = replace(BASE, n=60, p=4)


def test_errors_are_those_of_theory() -> None:
    with seeded(1):
        query = draw_query().first(4)
        unit = draw_unit_noise(60, 4, 400)
    for model in ("central", "local"):
        for row in errors_of(SMALL, query, unit, panel=f"n, {model}", x=60.0, model=model):
            assert row.bound is not None
            assert row.error_mean < row.bound + 5 * row.standard_error
            # A root mean square is at most 1/0.94 of the mean for four normal coordinates.
            assert row.error_mean > 0.9 * row.bound
            if row.bound_source.endswith("expected norm"):
                assert abs(row.error_mean - row.bound) < 5 * row.standard_error


def test_user_level_is_better_at_alpha_equal_epsilon_and_crosses_at_the_quotient_of_changes() -> None:
    with seeded(2):
        query, unit = draw_query().first(4), draw_unit_noise(60, 4, 50)
    quotient = query.lipschitz / query.width
    assert quotient > 1

    def k_norm(ratio: float) -> dict[str, float]:
        rows = errors_of(replace(SMALL, ratio=ratio), query, unit, panel="n, central", x=1.0, model="central")
        return {row.guarantee: row.error_mean for row in rows if row.method.startswith("K-norm")}

    assert k_norm(1.0)[EMD] == pytest.approx(quotient * k_norm(1.0)[USER], rel=1e-9)
    assert k_norm(quotient)[EMD] == pytest.approx(k_norm(quotient)[USER], rel=1e-9)


def test_changes_bound_every_pair_of_words() -> None:
    with seeded(3):
        query = draw_query().first(5)
    images = query.vectors @ query.matrix.T
    apart = np.linalg.norm(images[:, None] - images, axis=2)
    assert query.width == pytest.approx(apart.max(), rel=1e-12)
    keys = {"word": [f"w{word}" for word in range(len(images))]}
    assert (apart <= query.lipschitz * query.space.pairwise(keys, keys) + 1e-9).all()


def test_one_bit_stays_below_its_bound() -> None:
    with seeded(4):
        query, words = draw_query().first(4), draw_words(60)
        rows = bit_errors(SMALL, query, words, panel="n, local", x=60.0, runs=200)
    for row in rows:
        assert row.bound is not None
        assert 0.4 * row.bound < row.error_mean < row.bound + 5 * row.standard_error


@pytest.mark.slow
def test_a_session_has_the_scales_of_the_mechanisms() -> None:
    setting = replace(BASE, n=200, p=1)
    with seeded(5):
        query = draw_query().first(1)
        rows = {(row.guarantee, row.model): row for row in session_rows(setting, query)}
    central = query.lipschitz / (setting.alpha * setting.n)
    assert rows[EMD, "central"].parameters["scale"] == pytest.approx(central, rel=1e-6)
    assert rows[EMD, "local"].parameters["scale"] == pytest.approx(central * setting.n, rel=1e-6)
    user = query.width / (setting.epsilon * setting.n)
    assert rows[USER, "central"].parameters["scale"] == pytest.approx(user, rel=1e-6)
    half = 0.5 * query.width / math.tanh(0.5)
    assert rows[USER, "local"].method.startswith("one bit")
    assert rows[USER, "local"].parameters["scale"] == pytest.approx(half, rel=1e-6)
    for row in rows.values():
        assert row.error_mean < 30 * row.parameters["scale"] / (1 if row.model == "central" else math.sqrt(setting.n))
