"""The choice: by expected error with failure in it, round one skipped where it cannot pay, settings checked."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.user_mean.central import CentralRange
from emdp.mechanisms.user_mean.local import OneRound, TwoRounds, UserSplit
from emdp.mechanisms.user_mean.plan import UserMeanMechanism, UserMeanSetting, best_user_mean, user_mean_candidates
from emdp.mechanisms.user_mean.range_stage import HistogramRange
from emdp.privacy.rounding import as_decimal


def wide(**changes: Any) -> UserMeanSetting:
    numbers = {"users": 2000, "low": -50, "high": 50, "epsilon": 2.0, "model": "local", "spread": 1.0, "records": 100}
    return UserMeanSetting(**(numbers | changes))


class TestBest:
    def test_theory(self) -> None:
        """B = 50, n = 2000, m = 100, epsilon0 = 2: better than the theory's 0.070 and 0.043."""
        best = best_user_mean(wide(failure=0.1))
        assert isinstance(best, UserSplit)
        assert best.deviation < 0.045
        assert best.missed_range <= 0.1

    @pytest.mark.parametrize(
        "setting",
        [
            wide(users=20_000, low=-10, high=10, epsilon=1.0, records=1),  # k = 2
            wide(users=100, epsilon=0.5),  # too few users
            wide(spread=None),
            wide(between=20.0),
            wide(users=20_000, low=-1, high=1, epsilon=1.0, records=1),
            wide(users=20_000, low=-2.2, high=2.2, epsilon=1.0, records=64, model="central", spread=6.0),
        ],
    )
    def test_round_one_is_skipped(self, setting: UserMeanSetting) -> None:
        best = best_user_mean(setting)
        assert best.missed_range == 0.0
        assert best.users_needed == 1
        assert best.deviation == best.expected_error

    def test_users_needed_is_where_the_target_is_met(self) -> None:
        ways = user_mean_candidates(wide(users=100, epsilon=1.0))
        even = ways[1]
        assert isinstance(even, TwoRounds)
        assert even.users_needed > 1000
        stage = even.stage
        assert stage.wrong_bin(even.users_needed) <= 0.005 < stage.wrong_bin(even.users_needed - 1)

    def test_skipping_is_right_where_forcing_is_worse(self) -> None:
        """n = 500, epsilon0 = 1 (local-shuffle-userlevel.md 2.1): the range would fail, and is expected to."""
        ways = user_mean_candidates(wide(users=500, epsilon=1.0, failure=0.1))
        assert isinstance(best_user_mean(ways[0].setting), UserSplit | OneRound)
        assert ways[1].expected_error > 10 * ways[0].expected_error

    def test_central_prefers_what_tells_who_is_near(self) -> None:
        best = best_user_mean(wide(model="central"))
        assert isinstance(best, CentralRange)
        assert best.kind is HistogramRange
        assert best.deviation < 0.0012

    def test_central_beats_wide_bounds(self) -> None:
        """At least 5 times less than Laplace noise on the bounds, and no worse with one record."""
        for epsilon in (1.0, 2.0):
            setting = wide(model="central", epsilon=epsilon)
            bounds = math.sqrt(2) * 100 / setting.users / epsilon
            assert best_user_mean(setting).expected_error < bounds / 5
            one = wide(model="central", epsilon=epsilon, records=1)
            assert best_user_mean(one).expected_error <= bounds * 1.05

    def test_more_budget_users_or_records_never_hurt(self) -> None:
        for field, values in (
            ("epsilon", (0.5, 1.0, 2.0, 4.0)),
            ("users", (500, 2000, 8000)),
            ("records", (1, 9, 100)),
        ):
            errors = [best_user_mean(wide(**{field: value})).expected_error for value in values]
            assert errors == sorted(errors, reverse=True)


class TestCandidates:
    @pytest.mark.quarter
    @pytest.mark.parametrize(
        ("model", "epsilon", "users"), [*product(("central", "local"), (1e-5, 0.1, 3.0, 50.0), (1, 2, 3, 1000))]
    )
    def test_every_way_keeps_the_promise(self, model: str, epsilon: float, users: int) -> None:
        setting = wide(model=model, epsilon=epsilon, users=users)
        for way in user_mean_candidates(setting):
            assert isinstance(way, UserMeanMechanism)
            assert 0 < as_decimal(way.epsilon) <= as_decimal(epsilon)
            assert way.delta == 0
            assert 0 <= way.missed_range <= 1
            assert way.deviation <= way.expected_error < math.inf
            release = way.release(iter([np.full(users, 3 * 2**40)]), 40, 0)
            low, high = release.interval(0.9)
            assert -50 <= low <= high <= 50

    def test_one_round_comes_first(self) -> None:
        for model in ("central", "local"):
            assert user_mean_candidates(wide(model=model))[0].name == "one round"


class TestSetting:
    @pytest.mark.parametrize(
        "changes",
        [
            {"users": 0},
            {"low": 50},
            {"low": math.nan},
            {"low": -1e308, "high": 1e308},
            {"epsilon": 0.0},
            {"epsilon": 1e7},
            {"model": "trusted"},
            {"delta": 1e-6},
            {"delta": 1.0, "model": "central"},
            {"delta": 0.0, "model": "shuffle"},
            {"spread": 0.0},
            {"between": -1.0},
            {"records": 0},
            {"failure": 0.0},
            {"failure": 1.0},
            {"error": -1e-9},
        ],
    )
    def test_refusals(self, changes: dict[str, Any]) -> None:
        with pytest.raises(UsageError):
            wide(**changes)

    def test_failure_is_halved(self) -> None:
        assert wide(failure=0.1).gamma == 0.05
        assert wide(spread=None).radius is None
        assert wide(error=0.25).radius == wide().radius + 0.25

    def test_clipping_bias_bounds_what_is_cut(self) -> None:
        """E(|z| - tau)_+ of a normal variable, by quadrature."""
        setting = wide()
        s, tau = setting.deviation, setting.radius
        z = np.linspace(tau, tau + 12 * s, 20_001)
        density = np.exp(-0.5 * (z / s) ** 2) / (s * math.sqrt(2 * math.pi))
        cut = 2 * float(np.trapezoid((z - tau) * density, z))
        assert 0 < cut <= setting.clipping_bias < 1e-6
