"""Totals of batches fixed in advance: sums, Gaussians as such, loss distributions, curves, slack."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.privacy import (
    BatchEvent,
    DiscreteEmdDP,
    EmdDP,
    Event,
    GaussianEvent,
    GuaranteeEvent,
    KNormEvent,
    LaplaceEvent,
    Total,
    UserDP,
    compose,
    epsilon_curve,
    gaussian_alpha,
    gaussian_delta,
    gaussian_sigma,
    laplace_scale,
    price_batch,
    tight,
)
from emdp.privacy.account.composition import check_price
from emdp.privacy.rounding import as_decimal

GRID = 2.0**-60


def laplace(alpha: float, slack: float = 1e-17, dimension: int = 1) -> LaplaceEvent:
    return LaplaceEvent(alpha, dimension, laplace_scale(alpha, 1.0), 1.0, GRID, slack)


def gaussian(alpha: float, delta: float, slack: float = 0.0) -> GaussianEvent:
    return GaussianEvent(alpha, delta, 1, gaussian_sigma(alpha, delta - slack), 1.0, GRID, 0.0, slack)


def other(alpha: float, delta: float = 0.0, slack: float = 0.0) -> GuaranteeEvent:
    return GuaranteeEvent(EmdDP(alpha, delta), "something", slack)


events = st.one_of(
    st.builds(laplace, st.floats(0.05, 5.0)),
    st.builds(gaussian, st.floats(0.05, 5.0), st.floats(1e-9, 1e-6)),
    st.builds(other, st.floats(0.05, 5.0), st.sampled_from([0.0, 1e-9])),
)


@given(st.lists(events, min_size=1, max_size=6))
def test_sums_are_exact_in_decimals(batch: list[Event]) -> None:
    total = compose(batch).guarantee
    assert as_decimal(total.level) >= sum(as_decimal(event.guarantee.level) for event in batch)
    assert as_decimal(total.delta) >= sum(as_decimal(event.guarantee.delta) for event in batch)
    assert total.level == pytest.approx(math.fsum(event.guarantee.level for event in batch), rel=1e-15)


@settings(deadline=None, max_examples=30)
@given(events, st.integers(1, 20))
def test_n_fold_composition_is_n_calls(event: Event, count: int) -> None:
    one_by_one = Total(EmdDP(0.0))
    for _ in range(count):
        added = compose([GuaranteeEvent(one_by_one.guarantee, "", one_by_one.slack_epsilon), event])
        one_by_one = added
    assert compose([event] * count).guarantee.level == pytest.approx(one_by_one.guarantee.level, rel=1e-14)
    batch = price_batch([event] * count)
    assert batch.guarantee == compose([event] * count).guarantee
    assert compose([batch, event]) == compose([event] * (count + 1))


def test_ten_decimals_make_one() -> None:
    assert compose([other(0.1)] * 10).guarantee == EmdDP(1.0)


def test_gaussians_compose_as_such() -> None:
    batch = [gaussian(1.0, 1e-7)] * 9
    mu = 3 * batch[0].mu
    assert compose(batch, 1e-6).guarantee.level == pytest.approx(gaussian_alpha(mu, 1e-6), rel=1e-7)
    assert compose(batch).guarantee == EmdDP(9.0, 9e-7)
    with_others = compose([*batch, laplace(2.0), other(1.0, 1e-8)], 1e-6).guarantee
    assert with_others.level == pytest.approx(3.0 + gaussian_alpha(mu, 1e-6 - 1e-8), rel=1e-7)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(st.lists(events, min_size=1, max_size=5), st.sampled_from([1e-5, 1e-3]))
def test_the_best_bound_is_never_worse(batch: list[Event], delta: float) -> None:
    best = tight(batch, delta).guarantee
    assert best.delta == delta
    assert best.level <= compose(batch, delta).guarantee.level
    assert compose(batch, delta).guarantee.level <= compose(batch).guarantee.level
    assert best.level >= max(tight([event], delta).guarantee.level for event in batch) * (1 - 1e-3)


def discrete_laplace_delta(epsilon: float, scale: float, shifts: list[int]) -> float:
    """Exact divergence of independent discrete Laplace draws moved by whole steps, by enumeration."""
    reach = int(60 * scale)
    points = np.arange(-reach, reach + max(shifts) + 1)
    losses, masses = np.zeros(1), np.ones(1)
    for shift in shifts:
        mass = np.exp(-np.abs(points - shift) / scale) * math.tanh(1 / (2 * scale))
        loss = (np.abs(points) - np.abs(points - shift)) / scale
        losses, where = np.unique(np.round(np.add.outer(losses, loss), 12), return_inverse=True)
        masses = np.bincount(where.ravel(), np.multiply.outer(masses, mass).ravel())
    return float(np.sum(masses * np.maximum(0.0, -np.expm1(epsilon - losses))))


@pytest.mark.quarter
@pytest.mark.parametrize("scale", [1.0, 4.0, 16.0, 64.0])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-4])
def test_coarse_discrete_laplace_keeps_its_total(scale: float, count: int, delta: float) -> None:
    """On a coarse grid the slack matters: exact enumeration, at every distance that the grid can show.

    The moves are whole steps, so that the slack of rounding, ``count/scale``, must not be needed.
    """
    steps = 4
    event = LaplaceEvent(steps / scale, 1, scale, float(steps), 1.0, 1.0 / scale)
    total = tight([event] * count, delta)
    for moved in range(1, steps + 1):
        epsilon = total.guarantee.level * moved / steps + total.slack_epsilon - count / scale
        assert discrete_laplace_delta(epsilon, scale, [moved] * count) <= delta * (1 + 1e-9)


def test_vector_laplace_keeps_its_total() -> None:
    """A vector may move in several coordinates: every split of 8 steps over two coordinates, three releases."""
    scale, delta = 16.0, 1e-3
    event = LaplaceEvent(8 / scale, 2, scale, 8.0, 1.0, 2 / scale)
    total = tight([event] * 2, delta)
    epsilon = total.guarantee.level + total.slack_epsilon - 4 / scale  # the moves are whole steps
    for first, second in itertools.product(range(9), repeat=2):
        moved = [steps for pair in ((first, 8 - first), (second, 8 - second)) for steps in pair if steps]
        assert discrete_laplace_delta(epsilon, scale, moved) <= delta * (1 + 1e-9)


def test_slack_is_stated() -> None:
    assert compose([laplace(1.0, 1e-12), laplace(1.0, 2e-12)]) == Total(EmdDP(2.0), 3e-12)
    assert "3e-12 more epsilon for rounding" in str(compose([laplace(1.0, 3e-12)]))
    assert str(compose([other(1.0)])) == str(EmdDP(1.0))
    assert tight([laplace(1.0, 1e-12)] * 50, 1e-6).slack_epsilon >= 5e-11
    assert price_batch([laplace(1.0, 1e-12)] * 3).slack_epsilon == 3e-12


def test_slack_in_delta_is_taken_from_delta() -> None:
    slack = 5e-8
    batch = [gaussian(1.0, 1e-6, slack), gaussian(1.0, 1e-6, slack)]
    found = compose(batch, 1e-6).guarantee.level
    assert gaussian_delta(found, math.sqrt(2) * batch[0].mu) + 2 * slack <= 1e-6
    assert found == pytest.approx(gaussian_alpha(math.sqrt(2) * batch[0].mu, 1e-6 - 2 * slack), rel=1e-9)
    with pytest.raises(UsageError, match="too small"):
        compose(batch, 9e-8)


def test_large_slack_only_allows_sums() -> None:
    total = tight([laplace(1.0, 2.0)] * 2, 0.1)
    assert total.guarantee.level == 2.0
    assert total.slack_epsilon == 4.0


def test_gaussian_squares_are_exact() -> None:
    event = gaussian(0.5, 1e-7)
    batch = price_batch([event] * 3, 1e-6)
    assert batch.gaussian_mu is not None
    assert Fraction(batch.gaussian_mu) ** 2 >= 3 * Fraction(event.mu) ** 2


def test_the_curve_lies_below_the_line() -> None:
    batch = [laplace(0.5), laplace(0.5, dimension=3), gaussian(1.0, 1e-7), KNormEvent(0.3, 2, 4.0, 1.0, GRID, 1e-18)]
    distances = [0.0, 0.01, 0.1, 0.5, 0.9, 1.0]
    curve = epsilon_curve(batch, 1e-6, distances)
    line = tight(batch, 1e-6)
    assert curve[0] == line.slack_epsilon
    assert curve[-1] == pytest.approx(line.guarantee.level + line.slack_epsilon)
    assert all(np.diff(curve) > 0)
    for d, epsilon in zip(distances, curve, strict=True):
        assert epsilon <= line.guarantee.level * d + line.slack_epsilon + 1e-15


def test_the_curve_of_one_gaussian_is_its_profile() -> None:
    event = gaussian(5.0, 1e-6)
    for d in (0.1, 0.5):
        epsilon = epsilon_curve([event], 1e-6, [d])[0]
        assert epsilon == pytest.approx(gaussian_alpha(event.mu * d, 1e-6), rel=1e-6)
        assert epsilon < 5.0 * d


def test_kinds_meet_through_conversions_only() -> None:
    mixed = [other(1.0), GuaranteeEvent(EmdDP(2.0, model="local"))]
    with pytest.raises(UsageError, match="unbounded central EmdDP and a unbounded local EmdDP"):
        compose(mixed)
    assert compose(mixed, kind=EmdDP(0)).guarantee == EmdDP(3.0)
    assert compose(mixed, kind=UserDP(0)).guarantee == UserDP(3.0)
    assert compose(mixed, kind=DiscreteEmdDP(0, 0, 0.1)).guarantee == DiscreteEmdDP(0.3, 0.0, 0.1)
    with pytest.raises(UsageError, match="is no unbounded local EmdDP"):
        compose(mixed, kind=EmdDP(0, model="local"))
    with pytest.raises(UsageError, match="needs events stated as EmdDP"):
        epsilon_curve(mixed, 1e-6, [0.5], kind=UserDP(0))


def test_conversion_to_a_radius_scales_mu() -> None:
    event = gaussian(20.0, 1e-6)
    total = compose([event], 1e-6, kind=DiscreteEmdDP(0, 0, 0.05)).guarantee
    assert total.level == pytest.approx(gaussian_alpha(0.05 * event.mu, 1e-6), rel=1e-7)
    assert total.level < 1.0


def test_a_batch_is_priced_at_its_best_total() -> None:
    batch = [laplace(0.1)] * 100
    priced = price_batch(batch, 1e-6)
    assert isinstance(priced, BatchEvent)
    assert priced.guarantee == tight(batch, 1e-6).guarantee
    assert priced.guarantee.level < 5
    assert price_batch([price_batch(batch, 1e-6)]).alpha == 10.0


def test_requests_that_say_nothing_are_refused() -> None:
    with pytest.raises(UsageError, match="at least one event"):
        compose([])
    with pytest.raises(UsageError, match="add up to 1 or more"):
        compose([other(1.0, 0.6)] * 2)
    with pytest.raises(UsageError, match=r"delta = 1e-09 is too small for events whose deltas add up to 2e-06"):
        tight([other(1.0, 1e-6)] * 2, 1e-9)
    assert tight([other(1.0)] * 2, 0.0).guarantee == EmdDP(2.0)


def test_the_deltas_of_others_are_paid_before_the_gaussians() -> None:
    """With every bound but the Gaussians' own one switched off: what they may use is what the others leave."""
    batch = [gaussian(1.0, 1e-7)] * 4 + [other(0.5, 9e-7)]
    found = compose(batch, 1e-6).guarantee.level - 0.5
    assert gaussian_delta(found, 2 * batch[0].mu) <= 1e-7  # type: ignore[union-attr]


BATCHES: list[list[Event]] = [
    [laplace(0.1, 1e-12)] * 100,
    [gaussian(0.5, 1e-8)] * 5,
    [other(0.2, 1e-9), gaussian(0.5, 1e-8), laplace(0.3)],
    [GuaranteeEvent(EmdDP(0.0, 1e-9))] * 2,
]


@pytest.mark.quarter
@pytest.mark.parametrize("batch", BATCHES)
def test_a_price_covers_its_events_and_no_lower_one_does(batch: list[Event]) -> None:
    check_price(price_batch(batch))
    priced = price_batch(batch, 1e-6)
    check_price(priced)
    summed = compose(batch, priced.delta)
    check_price(BatchEvent(priced.events, summed.guarantee.level, priced.delta, summed.slack_epsilon))
    changes = [{"alpha": priced.alpha * (1 - 1e-8)}, {"slack_epsilon": priced.slack_epsilon * (1 - 1e-8)}]
    for change in changes:
        lower = replace(priced, **change)
        if lower != priced:
            with pytest.raises(UsageError, match="less than the batch's events cost"):
                check_price(lower)


def test_a_price_without_its_delta_is_refused() -> None:
    with pytest.raises(UsageError, match="less than the batch's events cost"):
        check_price(BatchEvent((other(1.0, 1e-6),) * 2, 2.0, 1e-6, 0.0))
    check_price(BatchEvent((other(1.0, 1e-6),) * 2, 2.0, 2e-6, 0.0))


@pytest.mark.parametrize("events", [[5], 5, None, "ab", [None]])
def test_what_is_no_event_is_named(events: object) -> None:
    asked: list[Callable[[], object]] = [
        lambda: compose(events),  # type: ignore[arg-type]
        lambda: tight(events, 1e-6),  # type: ignore[arg-type]
        lambda: price_batch(events),  # type: ignore[arg-type]
        lambda: epsilon_curve(events, 1e-6, [0.5]),  # type: ignore[arg-type]
    ]
    for ask in asked:
        with pytest.raises(UsageError, match="events must hold"):
            ask()


def test_arguments_of_another_type_are_named() -> None:
    with pytest.raises(UsageError, match="distances must be"):
        epsilon_curve([other(1.0)], 0.0, None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="delta must be"):
        epsilon_curve([other(1.0)], None, [0.5])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="delta must be"):
        tight([other(1.0)], None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="kind must be"):
        compose([other(1.0)], kind=5)  # type: ignore[arg-type]


def test_levels_beyond_all_use_are_added() -> None:
    assert tight([other(1e300)] * 2, 1e-6).guarantee.level == 2e300
