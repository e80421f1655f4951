"""The search for the strongest randomizer also where the first one costs nothing."""

import polars as pl
import pytest

import emdp
from emdp.estimators import MessagePlan
from emdp.estimators.itemwise import itemwise
from emdp.privacy import BoundedReduction
from emdp.privacy.shuffle.items import shuffle_bounds
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
def test_a_coarser_grid_s_strength_is_a_guess_that_is_checked_on_the_grid_itself(
    alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = emdp.Grid(emdp.Interval("x", 0, 10), 40)
    monkeypatch.setattr(itemwise, "SMALL", 30)
    monkeypatch.setattr(itemwise, "COARSE", 8)
    itemwise._strongest.cache_clear()
    found, bounds = itemwise._strongest(Exponential, space, alpha, 5, 5_000, 1e-9)
    coarse = itemwise._coarser(Exponential, space, alpha, 5, 5_000, 1e-9)
    itemwise._strongest.cache_clear()
    again = shuffle_bounds(found.alpha0, 5, 5_000, 1e-9, found.w_min, randomizer=found)
    assert bounds == again
    assert itemwise.CLOSE / 2 * alpha < bounds[0].alpha <= alpha
    assert coarse is not None
    assert itemwise._coarser(KRR, space, alpha, 5, 5_000, 1e-9) is None


def test_a_guess_that_costs_too_much_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    space = emdp.Grid(emdp.Interval("x", 0, 10), 40)
    monkeypatch.setattr(itemwise, "_coarser", lambda *_: 30.0)
    itemwise._strongest.cache_clear()
    _, bounds = itemwise._strongest(Exponential, space, 1.0, 5, 5_000, 1e-9)
    itemwise._strongest.cache_clear()
    assert bounds[0].alpha is not None
    assert bounds[0].alpha <= 1.0
