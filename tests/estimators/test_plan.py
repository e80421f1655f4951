"""Scaling before noise and back after it, sums along an axis, and the price of disjoint groups of users."""

from fractions import Fraction

import polars as pl
import pytest

from emdp.estimators.plan import Plan, parallel_event
from emdp.expressions import col, lift
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis
from emdp.mechanisms import GaussianMechanism, LaplaceMechanism
from emdp.privacy import EmdDP, GaussianEvent, GuaranteeEvent, UserDP
from emdp.questions.columns import Released


class Nothing:
    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        return pl.DataFrame()

    def exact(self, statistics: Released) -> pl.DataFrame:
        return pl.DataFrame()


def plan(scales: tuple[float, ...], *, is_cumulative: bool = False) -> Plan:
    axes = (LabelAxis("kind", (("a",), ("b",))), HatAxis(col("x"), 0, 1, 3))
    mechanism = LaplaceMechanism(sensitivity=1.0, alpha=1.0, dimension=6 * len(scales))
    return Plan(
        Aggregation(tuple(lift(number) for number in range(1, len(scales) + 1)), axes),
        scales,
        (mechanism,),
        mechanism.event(),
        (),
        "",
        Nothing(),
        is_cumulative,
    )


def test_what_is_scaled_before_noise_is_restored_exactly_after_it() -> None:
    values = tuple(Fraction(number, 7) for number in range(12))
    scaled = plan((0.1, 3.0))
    assert scaled.prepared(values)[:6] == tuple(value * Fraction(0.1) for value in values[:6])
    assert scaled.restored(scaled.prepared(values)) == values
    assert scaled.summed(values) == values


def test_sums_run_along_the_last_axis_and_start_anew_in_every_group() -> None:
    values = tuple(map(Fraction, (1, 2, 3, 10, 20, 30)))
    summed = plan((2.0,), is_cumulative=True)
    assert summed.summed(values) == (1, 3, 6, 10, 30, 60)
    assert summed.prepared(values) == (2, 6, 12, 20, 60, 120)
    assert summed.restored(summed.prepared(values)) == (1, 3, 6, 10, 30, 60)


@pytest.mark.parametrize("kind", [EmdDP(0.0), UserDP(0.0)])
def test_disjoint_users_pay_the_largest_price_not_the_sum(kind: EmdDP | UserDP) -> None:
    groups = [LaplaceMechanism(sensitivity=1 / n, alpha=2.0, statistic_error=1e-9) for n in (10, 1000)]
    event = parallel_event(groups, kind)
    assert event.guarantee == kind.at_level(2.0, 0.0)
    assert event.slack_epsilon == max(mechanism.slack_epsilon for mechanism in groups)


def test_disjoint_gaussian_releases_keep_the_largest_mu() -> None:
    groups = [
        GaussianMechanism(sensitivity=1 / n, alpha=2.0, delta=1e-8, statistic_error=e) for n, e in ((10, 1e-9), (99, 0))
    ]
    event = parallel_event(groups, EmdDP(0.0))
    events = [mechanism.event() for mechanism in groups]
    assert event.guarantee == EmdDP(2.0, 1e-8)
    assert event.slack_epsilon == max(own.slack_epsilon for own in events)
    if isinstance(event, GaussianEvent):
        assert event.mu >= max(own.gaussian_mu or 0 for own in events)
    else:
        assert isinstance(event, GuaranteeEvent)
    assert event.slack[1] >= max(own.slack[1] for own in events) or isinstance(event, GuaranteeEvent)
