"""The search for the strongest randomizer also where the first one costs nothing."""

import polars as pl
import pytest

import emdp
from emdp.estimators import MessagePlan
from emdp.privacy import BoundedReduction
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
