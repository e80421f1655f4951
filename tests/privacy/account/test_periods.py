"""One ledger, two units: the largest change over periods, and what was done in one period."""

import itertools
import math
import random

import polars as pl
import pytest

from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.privacy import (
    Account,
    Budget,
    EmdDP,
    GaussianEvent,
    GuaranteeEvent,
    UserDP,
    convert,
    converts_to,
    guarantee_from_json,
    paying,
)
from emdp.privacy.account.periods import SourceCharge, Sources, largest_account, period_account
from emdp.privacy.calibration import gaussian_delta, gaussian_mu
from emdp.spaces import Interval
from emdp.transport import d_em

PER_PERIOD = Budget(EmdDP(100.0, unit="period"))
UNIT = Interval("x", 0.0, 1.0)


def charge(alpha: float, *periods: str) -> SourceCharge:
    return SourceCharge(GuaranteeEvent(EmdDP(alpha)), periods or None)


def bag(*values: float) -> pl.DataFrame:
    return pl.DataFrame({"x": list(values)}, schema={"x": pl.Float64})


class TestUnits:
    """Known answers of elsewhere-periods-continual.md B."""

    @pytest.mark.parametrize(
        ("charges", "user", "period"),
        [
            ([charge(3.0, "W1"), charge(5.0, "W2"), charge(4.0, "W3")], 12.0, 5.0),
            ([charge(1.0, "W1"), charge(1.0, "W1"), charge(3.0, "W2")], 5.0, 3.0),
            ([charge(1.0, "W1"), charge(1.0, "W1"), charge(3.0, "W2"), charge(1.0)], 6.0, 4.0),
            ([charge(1.0, "W1"), charge(1.0, "W1"), charge(3.0, "W2"), charge(1.0, "W1", "W2")], 6.0, 4.0),
            ([charge(2.0, "W1"), charge(3.0, "W1")], 5.0, 5.0),
        ],
    )
    def test_known_answers(self, charges: list[SourceCharge], user: float, period: float) -> None:
        assert largest_account(Budget(EmdDP(100.0)), charges).spent.level == user
        assert largest_account(PER_PERIOD, charges).spent.level == period

    def test_by_enumeration_of_which_periods_change(self) -> None:
        """Whatever periods change, the sum over sources that hold one of them is at most k times the account's."""
        names = ("W1", "W2", "W3", "W4")
        sources = [charge(1.5, "W1"), charge(2.0, "W2"), charge(0.5, "W2", "W3"), charge(0.25), charge(4.0, "W4")]
        largest = largest_account(PER_PERIOD, sources).spent.level
        for count in range(1, 5):
            for changed in itertools.combinations(names, count):
                loss = sum(
                    one.event.guarantee.level for one in sources if any(one.counts_for(name) for name in changed)
                )
                assert loss <= count * largest

    def test_a_charge_of_no_period_counts_for_those_to_come(self) -> None:
        charges = [charge(99.5)]
        assert period_account(PER_PERIOD, charges, "never seen").remaining.level == 0.5
        with pytest.raises(BudgetExceededError):
            period_account(PER_PERIOD, charges, "never seen").charge(charge(1.0).event)
        with pytest.raises(LedgerError):
            period_account(PER_PERIOD, [*charges, charge(1.0, "W1")], "W1")

    @pytest.mark.quarter
    @pytest.mark.parametrize("seed", range(20))
    def test_in_pieces_or_at_once_every_period_has_what_its_own_charges_give(self, seed: int) -> None:
        draw = random.Random(seed)
        budget = Budget(EmdDP(60.0, 1e-4, unit="period"), gaussian_share=0.5)
        names = ("W1", "W2", "W3", "W4")
        chosen = [None, *((name,) for name in names), ("W2", "W3"), ("W4", "W1", "W4")]
        gaussian = GaussianEvent(1.0, 1e-7, 1, 8.0, 1.0, 2.0**-60, 0.0, 1e-18)
        events = [GuaranteeEvent(EmdDP(draw.randrange(1, 9) / 10, 1e-9)), GuaranteeEvent(EmdDP(0.3)), gaussian]
        charges = [SourceCharge(draw.choice(events), draw.choice(chosen)) for _ in range(40)]
        found, place = Sources(budget, Account(budget)), 0
        while place < len(charges):
            step = draw.randrange(1, 12)
            found, place = found.after(charges[place : place + step]), place + step
            known = charges[:place]
            for name in (*names, "W9"):
                assert found.account(name) == period_account(budget, known, name)
            assert found.every == period_account(budget, known, None)
            assert found.account(None) == largest_account(budget, known)
            assert list(found.each) == list(dict.fromkeys(own for one in known for own in one.periods or ()))

    def test_more_than_a_period_has_is_refused(self) -> None:
        begun = Sources(PER_PERIOD, Account(PER_PERIOD)).after([charge(99.0, "W1"), charge(1.0)])
        for further in (charge(0.5, "W1"), charge(0.5)):
            with pytest.raises(LedgerError):
                begun.after([further])
        assert begun.after([charge(99.0, "W2")]).account("W2").remaining.level == 0.0

    @pytest.mark.parametrize("periods", [2, 7, 52])
    @pytest.mark.parametrize(("level", "delta"), [(0.1, 1e-3), (1.0, 1e-6), (8.0, 1e-9)])
    def test_independent_gaussians_of_k_periods(self, periods: int, level: float, delta: float) -> None:
        """Theorem 1: k periods, each within (l, b) by Gaussian noise, are (k l, k b) together."""
        mu = gaussian_mu(level, delta)
        assert gaussian_delta(periods * level, mu * math.sqrt(periods)) <= periods * delta * (1 + 1e-6)

    def test_a_stream_of_totals_is_no_sum_of_squares(self) -> None:
        """Two periods that shift the same rows have mu k: the statement for independent periods is wrong for them."""
        mu = gaussian_mu(1.0, 1e-6)
        assert gaussian_delta(7.0, 7 * mu) > 7e-6


class TestChanges:
    """What a maximum over sources says, and what it does not."""

    def test_a_hundredth_of_the_records_may_be_all_of_a_week(self) -> None:
        """The counterexample: loss 20, where 0.2 was declared for a hundredth of the records."""
        alpha, users = 20.0, 2
        scale = 100.0 / users / alpha
        assert scale == 2.5
        week = d_em(bag(0.0), bag(1.0), UNIT)
        whole = d_em(bag(*[0.0] * 100), bag(1.0, *[0.0] * 99), UNIT)
        assert (week, whole) == (pytest.approx(1.0), pytest.approx(0.01))
        assert 100.0 / users / scale == alpha * week == 20.0
        assert alpha * whole == pytest.approx(0.2)

    def test_duplicates_leave_both_weeks_and_move_the_month(self) -> None:
        a, b = 0.0, 1.0
        distances = (
            d_em(bag(a), bag(a, a), UNIT), d_em(bag(b), bag(b), UNIT), d_em(bag(a, b), bag(a, a, b), UNIT)
        )  # fmt: skip
        assert distances == (pytest.approx(0), pytest.approx(0), pytest.approx(1 / 6))

    def test_swapped_weeks_leave_the_whole_and_move_both(self) -> None:
        assert d_em(bag(0.0, 1.0), bag(1.0, 0.0), UNIT) == pytest.approx(0)
        assert d_em(bag(0.0), bag(1.0), UNIT) == pytest.approx(1)

    def test_growth(self) -> None:
        """Versions that hold more and more periods: the loss per unit of the last bag's distance is a sum of 1/W_v."""
        shares = [version / 52 for version in range(1, 53)]
        assert sum(1 / share for share in shares) == pytest.approx(235.98, abs=0.005)


class TestGuarantees:
    """The unit is a part of the kind."""

    def test_json_of_before_means_the_user(self) -> None:
        assert "unit" not in EmdDP(2.0).to_json()
        old = {"kind": "EmdDP", "alpha": 2.0, "delta": 0.0, "sizes": "unbounded", "model": "central"}
        assert guarantee_from_json(old) == EmdDP(2.0)
        per_period = EmdDP(2.0, unit="period")
        assert guarantee_from_json(per_period.to_json()) == per_period != EmdDP(2.0)
        assert repr(EmdDP(2.0)) == "EmdDP(alpha=2.0, delta=0.0, sizes='unbounded', model='central')"

    def test_conversions_go_one_way(self) -> None:
        per_period = EmdDP(0.0, unit="period")
        assert convert(EmdDP(2.0, 1e-9), per_period) == EmdDP(2.0, 1e-9, unit="period")
        for kind in (EmdDP(0.0), UserDP(0.0), EmdDP(0.0, sizes="bounded")):
            assert not converts_to(per_period, kind)

    def test_a_release_is_paid_in_its_own_unit_first(self) -> None:
        promises = [EmdDP(2.0, unit="period"), UserDP(1.0), EmdDP(60.0)]
        assert paying(EmdDP(1.0), promises) == EmdDP(60.0)
        assert paying(EmdDP(1.0), promises[:2]) == promises[0]

    def test_only_a_curator_s_answers_have_periods(self) -> None:
        with pytest.raises(UsageError, match="unit"):
            EmdDP(1.0, model="local", unit="period")
        with pytest.raises(UsageError, match="unit"):
            EmdDP(1.0, unit="week")  # type: ignore[arg-type]
