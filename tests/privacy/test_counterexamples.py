"""Defects found by an adversarial review: every test here failed when it was written."""

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from types import FrameType
from typing import Any

import pytest

from emdp.base.errors import EmdpError, LedgerError, UsageError
from emdp.privacy import (
    Account,
    BatchEvent,
    Budget,
    Change,
    DiscreteEmdDP,
    EmdDP,
    Event,
    GaussianEvent,
    GuaranteeEvent,
    epsilon_curve,
    event_from_json,
    gaussian_mu,
    group,
    price_batch,
    protect,
    split,
    tight,
)
from emdp.privacy.account.losses import LossPairs, smallest_level
from emdp.privacy.rounding import as_decimal, float_up, root_up
from emdp.spaces import Interval, Product


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Turn an endless loop into a failure."""

    def expired(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def gaussian(**changes: Any) -> GaussianEvent:
    values: dict[str, Any] = {"alpha": 1.0, "delta": 1e-6, "dimension": 1, "sigma": 4.3, "sensitivity": 1.0}
    return GaussianEvent(**{**values, "grid": 2.0**-60, "slack_epsilon": 0.0, "slack_delta": 0.0, **changes})


class TestDeltasOfReleasesWithoutALevel:
    """Where every level is 0 the loss distribution forgot the deltas (the window, hence the step, is 0)."""

    @pytest.mark.parametrize("level", [0.0, 1e-170])
    def test_smallest_level(self, level: float) -> None:
        assert smallest_level(LossPairs(others=((level, 0.01),)), 1e-6) == math.inf

    def test_tight(self) -> None:
        with pytest.raises(UsageError, match="too small"):
            tight([GuaranteeEvent(EmdDP(0.0, 0.01))], 1e-6)

    def test_a_batch_is_not_sold_below_its_delta(self) -> None:
        with pytest.raises(UsageError, match="too small"):
            price_batch([GuaranteeEvent(EmdDP(0.0, 0.3))] * 3, 1e-6)

    def test_levels_whose_squares_underflow(self) -> None:
        # H_1 of a Laplace pair at 1e-170 scales is about 5e-171, far above 1e-199: epsilon 0 is not enough.
        assert smallest_level(LossPairs(laplace=(1e-170,)), 1e-199) > 0


class TestBatchPrice:
    """A batch event is charged at a price that nothing compares with its events."""

    @pytest.mark.parametrize("members", [(GuaranteeEvent(EmdDP(100.0, 0.5), "", 9.0),), (gaussian(),) * 50])
    def test_a_batch_below_its_price_is_refused(self, members: tuple[Event, ...]) -> None:
        budget = Budget(EmdDP(1.0))
        with pytest.raises((UsageError, LedgerError)):
            Account.from_charges(budget, [event_from_json(_batch_json(members))])


def _batch_json(members: tuple[Event, ...]) -> dict[str, Any]:
    listed = [member.to_json() for member in members]
    return {"event": "BatchEvent", "events": listed, "alpha": 0.0, "delta": 0.0, "slack_epsilon": 0.0}


class TestHostileJson:
    """Nothing but UsageError may leave event_from_json."""

    @pytest.mark.parametrize("members", [None, True, 5, 1.5, math.nan])
    def test_events_that_are_no_list(self, members: object) -> None:
        with pytest.raises(UsageError):
            event_from_json({**_batch_json((GuaranteeEvent(EmdDP(1.0)),)), "events": members})

    def test_nested_batches(self) -> None:
        description = BatchEvent((GuaranteeEvent(EmdDP(1.0)),), 1.0, 0.0, 0.0).to_json()
        for _ in range(3000):
            description = {**description, "events": [description]}
        with pytest.raises(UsageError):
            event_from_json(description)

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    @pytest.mark.parametrize(
        "changes",
        [
            {"alpha": 1e308},
            {"mu": 1e200},
            {"sensitivity": 1e-170, "sigma": 1.0, "mu": 1e-170},
            {"alpha": 1e308, "sensitivity": 1e-300, "sigma": 1.0, "mu": 1e-300},
        ],
    )
    def test_profiles_beyond_the_floats(self, changes: dict[str, float]) -> None:
        with at_most(5.0):
            try:
                event = event_from_json({**gaussian().to_json(), **changes})
                tight([event], 1e-5)
            except EmdpError:
                pass


class TestEndlessLoops:
    """The root of a square below the floats is searched for one float at a time, from 0."""

    def test_root_up(self) -> None:
        with at_most(5.0):
            assert root_up(Fraction(1e-170) ** 2) == 1e-170

    def test_the_curve_near_distance_0(self) -> None:
        with at_most(5.0):
            assert epsilon_curve([gaussian()], 1e-6, [1e-170])[0] >= 0

    def test_a_tiny_stored_cap(self) -> None:
        with at_most(5.0):
            budget = Budget(EmdDP(1.0, 1e-6), gaussian_share=0.5, mu_cap=1e-170)
            assert Account(budget).gaussian_remaining <= 1e-170


class TestNumbersAtTheEnds:
    @pytest.mark.parametrize("total", [math.nan, math.inf, -1.0])
    def test_split_checks_its_total(self, total: float) -> None:
        with pytest.raises(UsageError):
            split(total, (1.0, 2.0))

    @pytest.mark.parametrize("epsilon", [0.0, 1e-300])
    def test_group_at_a_tiny_radius(self, epsilon: float) -> None:
        with pytest.raises(UsageError):
            group(DiscreteEmdDP(epsilon, 1e-9, 5e-324), 1.0)

    def test_float_up_beyond_the_largest_decimal(self) -> None:
        with pytest.raises(UsageError):
            float_up(Fraction(math.nextafter(math.inf, 0.0)))

    @pytest.mark.parametrize(("alpha", "delta"), [(2.733771667645792e34, 1e-30), (2.8025841618949135e33, 1e-100)])
    def test_the_calibration_is_safe_or_refuses(self, alpha: float, delta: float) -> None:
        """The rounding error of ln delta is above 1 here, where ``1 + error`` no longer bounds ``exp(error)``."""
        try:
            mu = gaussian_mu(alpha, delta)
        except UsageError:
            return
        x = float(Fraction(alpha) / Fraction(mu) - Fraction(mu) / 2)
        # delta(1) = Phi(-x) - phi(x) R(y), y about 1e17: the second term is far below the first.
        assert 0.5 * math.erfc(x / math.sqrt(2)) <= delta


def test_protect_in_a_product_is_rounded_down() -> None:
    """The shares are floats, rounded to nearest, and taken for exact decimals."""
    space = Product(Interval("a", 0, 1).weighted(1.3), Interval("b", 0, 1).weighted(6.9))
    alpha = protect(Change(1, 1, 1.9, part=0), space=space)
    assert as_decimal(alpha) * Fraction(13, 82) <= as_decimal(1.9)
