"""Several means over users who may be elsewhere: what they cost together, and a user who is replaced."""

from typing import Any

import numpy as np
import pytest

from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.user_mean.base import UserMeanSetting
from emdp.mechanisms.user_mean.range_bins import ABSENT
from emdp.mechanisms.user_mean.several import SeveralMeans, divided, several_means
from emdp.privacy.rounding import as_decimal

BOUNDS = [(0.0, 1.0), (-2.0, 2.0), (0.0, 10.0)]


def whole(**more: Any) -> UserMeanSetting:
    values: dict[str, Any] = {"users": 600, "low": 0.0, "high": 1.0, "epsilon": 1.0, **more}
    return UserMeanSetting(**values, elsewhere=True)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"delta": 1e-6},
        {"model": "local"},
        pytest.param({"model": "shuffle", "delta": 1e-6}, marks=pytest.mark.slow),
        {"epsilon": 0.7},
    ],
)
def test_the_parts_never_add_up_to_more(more: dict[str, Any]) -> None:
    setting = whole(**more)
    for way in several_means(setting, divided(setting, BOUNDS, [0.1] * 3, [0.0] * 3)):
        assert sum(as_decimal(part.epsilon) for part in way.parts) <= as_decimal(way.epsilon)
        assert as_decimal(way.epsilon) <= as_decimal(setting.epsilon)
        assert as_decimal(way.delta) <= as_decimal(setting.delta)
        assert way.missed_range >= max(part.missed_range for part in way.parts)
        assert [(part.setting.low, part.setting.high) for part in way.parts] == BOUNDS


def test_a_budget_that_parts_exceed_is_refused() -> None:
    setting = whole()
    (way,) = several_means(setting, divided(setting, BOUNDS, [None] * 3, [0.0] * 3))
    with pytest.raises(UsageError, match="epsilon of the means"):
        SeveralMeans(whole(epsilon=0.9), way.parts)


def test_a_replaced_user_moves_all_means_by_what_was_paid() -> None:
    """Brute force: a user's numbers become any others, or none; all sums together move by what is paid for."""
    setting = whole(users=3)
    (way,) = several_means(setting, divided(setting, BOUNDS[:2], [None] * 2, [0.0] * 2))
    exponent = 20
    corners = [(a, b) for a in (0, 2**19, 2**20) for b in (-(2**21), 0, 2**21)]
    corners.append((ABSENT, ABSENT))
    others = [(2**18, 2**19), (ABSENT, ABSENT)]
    most = 0.0
    for one in corners:
        for other in corners:
            moved = 0.0
            for place, part in enumerate(way.parts):
                low, high = BOUNDS[place]
                middle, half = (low + high) / 2, (high - low) / 2
                ends = []
                for user in (one, other):
                    values = [row[place] for row in (*others, user) if row[place] != ABSENT]
                    ends.append(np.array([sum(v / 2**exponent - middle for v in values), half * len(values)]) / 3)
                # Laplace noise of scale (high - low)/(3 epsilon) on both, in the 1-norm.
                moved += float(np.abs(ends[0] - ends[1]).sum()) * 3 * part.epsilon / (high - low)
            most = max(most, moved)
    assert most <= way.epsilon * (1 + 1e-12)
    assert most == pytest.approx(way.epsilon)


def test_other_columns_are_an_error() -> None:
    setting = whole()
    (way,) = several_means(setting, divided(setting, BOUNDS, [None] * 3, [0.0] * 3))
    with pytest.raises(InternalError):
        way.release(iter([np.zeros((5, 2), dtype=np.int64)]), (20, 20, 20), (ABSENT,) * 3)
    with pytest.raises(InternalError):
        way.release(iter([np.zeros((601, 3), dtype=np.int64)]), (20, 20, 20), (ABSENT,) * 3)


def test_without_ways_for_users_who_are_elsewhere_it_is_refused() -> None:
    from emdp.mechanisms.user_mean.plan import user_mean_candidates

    everybody = UserMeanSetting(600, 0.0, 1.0, 0.5)
    with pytest.raises(UsageError, match="parts"):
        SeveralMeans(whole(), (user_mean_candidates(everybody)[0],))  # type: ignore[arg-type]


@pytest.mark.parametrize(("model", "delta"), [("central", 0.0), pytest.param("local", 0.0, marks=pytest.mark.slow)])
def test_intervals_hold(model: Any, delta: float) -> None:
    """200 releases: all three intervals hold at once at least as often as their tails allow."""
    import emdp.testing

    random = np.random.default_rng(3)
    users = 3000
    own = np.column_stack([random.uniform(low, high, users) for low, high in BOUNDS])
    absent = random.uniform(size=users) < 0.3
    units = np.rint(own * 2**30).astype(np.int64)
    units[absent] = ABSENT
    truth = own[~absent].mean(axis=0)
    setting = whole(users=users, epsilon=6.0, delta=delta, model=model)
    (way, *_) = several_means(setting, divided(setting, BOUNDS, [None] * 3, [0.0] * 3))
    missed = 0
    with emdp.testing.seeded(5):
        for _ in range(60):
            found = way.release(iter([units]), (30,) * 3, (ABSENT,) * 3)
            ends = [found.interval(place, 0.95) for place in range(3)]
            missed += sum(not low <= value <= high for value, (low, high) in zip(truth, ends, strict=True))
    # 180 intervals at 95 %: more than 22 misses have a probability below 1e-4.
    assert missed <= 22
