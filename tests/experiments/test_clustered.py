"""Methods on clusters: errors against formulas and theorems, distances against emdp.d_em, composition exactly."""

import math

import numpy as np
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.experiments.clustered import (
    METHODS,
    PROJECTED,
    RAW,
    Setting,
    composed_strength,
    draw_people,
    measure,
    theorem_6_5_of,
)
from emdp.experiments.frequency import exact_distance, session_rows
from emdp.testing import seeded
from emdp.transport.kr_norm import cluster_norm

SMALL = Setting(clusters=4, width=3, m=20, n=600, ratio=40.0)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_raw_errors_meet_their_formula_or_stay_below_the_theorem(method: str) -> None:
    with seeded(4):
        people = draw_people(SMALL)
        raw, projected = measure(method, SMALL, people, panel="n", x=600.0, runs=60)
    assert (raw.measure, projected.measure) == (RAW, PROJECTED)
    assert raw.bound is not None
    if "upper bound" in raw.bound_source:
        assert raw.error_mean < theorem_6_5_of(SMALL, raw.parameters["strength"]) < raw.bound
    else:
        # The formula takes the mean variance for every cell, and normal sums: 5 %.
        assert abs(raw.error_mean - raw.bound) < 5 * raw.standard_error + 0.05 * raw.bound
    assert raw.parameters["k"] == 12
    assert 0 <= projected.error_mean <= 1


def test_errors_are_those_of_d_em() -> None:
    with seeded(1):
        truth = draw_people(SMALL).truth
    other = np.roll(truth, 1)
    expected = exact_distance(SMALL, range(12), other, truth)
    assert cluster_norm(other - truth, SMALL.codes, SMALL.within) == pytest.approx(expected, abs=1e-12)
    frames = [{"item": [f"i{item}" for item in range(12)], "weight": shares.tolist()} for shares in (other, truth)]
    assert emdp.d_em(*frames, SMALL.space) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "delta", "m"), [(1.0, 1e-6, 100), (0.3, 1e-3, 4), (2.0, 1e-9, 12)])
def test_composition_is_exact(epsilon: float, delta: float, m: int) -> None:
    strength = composed_strength(epsilon, delta, m)

    def spent(each: float) -> float:
        chance = math.exp(each) / (1 + math.exp(each))
        terms = (
            math.comb(m, j) * max(
                chance**j * (1 - chance) ** (m - j) - math.exp(epsilon) * chance ** (m - j) * (1 - chance) ** j, 0.0
            )
            for j in range(m + 1)
        )  # fmt: skip
        return math.fsum(terms)

    assert spent(strength) <= delta * (1 + 1e-6)
    assert spent(strength * 1.0001) > delta
    assert strength > epsilon / m


def test_people_must_fit_the_setting() -> None:
    with seeded(0):
        people = draw_people(SMALL)
    with pytest.raises(UsageError, match="people must be drawn"):
        measure("histogram", Setting(clusters=4, width=3, m=21, n=600), people, panel="n", x=1.0, runs=1)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["central", "local"])
def test_a_session_errs_as_the_mechanisms_do(model: str) -> None:
    methods = {
        "central": {
            "GKRR on all records, shuffled": "item-wise",
            "Laplace on the histogram, 2/(epsilon n)": "user histogram",
        },
        "local": {"one message a user, ln(1 + alpha within)": "message", "one message a user, epsilon": "user message"},
    }[model]
    with seeded(6):
        people = draw_people(SMALL)
        for row in session_rows(SMALL, model, people):  # type: ignore[arg-type]
            if row.measure == RAW:
                same = measure(methods[row.method], SMALL, people, panel="n", x=1.0, runs=100)[0]
                low, high = 0.5 * same.error_low, 1.6 * same.error_high
                assert row.drawn == "session"
                assert low < row.error_mean < high
