"""The search for the strongest randomizer also where the first one costs nothing."""

import polars as pl
import pytest

import emdp
from emdp.estimators import MessagePlan
from emdp.estimators.itemwise import itemwise
from emdp.mechanisms.items import distances
from emdp.privacy import BoundedReduction
from emdp.privacy.shuffle.items import shuffle_alpha0, shuffle_bounds
from emdp.randomizers import KRR, Exponential
from emdp.sessions.planning import plan_request

SPACE = emdp.Distances("k", ["a", "b", "c"], [[0.0, 0.3, 1.0], [0.3, 0.0, 0.7], [1.0, 0.7, 0.0]])


@pytest.mark.parametrize(
    ("records", "asked"),
    [
        (3, {"alpha": 2.0, "delta": 1e-2, "model": "local"}),
        (None, {"epsilon": 2.0, "delta": 1e-4, "sizes": BoundedReduction(samples=3, r=0.5)}),
    ],
)
def test_a_first_strength_that_costs_nothing_is_no_dead_end(records: int | None, asked: dict[str, object]) -> None:
    table = emdp.read(
        pl.DataFrame({"user": [1, 1, 1], "k": ["a", "b", "c"]}), user="user", space=SPACE, users=1, records=records
    )
    (planned,) = plan_request(emdp.itemwise(emdp.randomizers.Optimal, **asked), table.names())
    assert isinstance(planned.plan, MessagePlan)
    assert planned.plan.guarantee.level <= asked.get("alpha", asked.get("epsilon"))
    first = emdp.randomizers.Optimal(SPACE, 0.4)
    assert planned.plan.releaser.randomizer.requested > first.requested
    # Such a weak one is constant, and costs nothing.
    assert first.alpha0 == 0


@pytest.mark.parametrize("alpha", [0.5, 5.0])
def test_a_guess_from_a_part_of_a_law_is_checked_on_the_whole(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    space = emdp.Grid(emdp.Vector(["x", "y"], box=[(0, 1), (0, 1)]), (11, 12))
    monkeypatch.setattr(distances, "MOST_IN_PAIRS", 30)
    monkeypatch.setattr(itemwise, "SMALL", 30)
    cleared()
    found, bounds = itemwise._strongest(Exponential, space, alpha, 5, 50_000, 1e-9)
    trial = itemwise._made(Exponential, space)
    sure = shuffle_alpha0(alpha, 5, 50_000, 1e-9, trial.w_min)
    guess = itemwise._guessed(trial, sure, alpha, 5, 50_000, 1e-9)
    cleared()
    assert bounds == shuffle_bounds(found.alpha0, 5, 50_000, 1e-9, found.w_min, randomizer=found)
    assert 0.95 * alpha < bounds[0].alpha <= alpha
    assert found.requested == guess > sure
    assert itemwise._guessed(KRR(space, 1.0), sure, alpha, 5, 50_000, 1e-9) is None


def test_a_guess_that_costs_too_much_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    space = emdp.Grid(emdp.Interval("x", 0, 10), 40)
    monkeypatch.setattr(itemwise, "_guessed", lambda *_: 30.0)
    cleared()
    _, bounds = itemwise._strongest(Exponential, space, 1.0, 5, 5_000, 1e-9)
    cleared()
    assert bounds[0].alpha is not None
    assert 0.95 < bounds[0].alpha <= 1.0


def cleared() -> None:
    itemwise._strongest.cache_clear()
    itemwise._made.cache_clear()
