"""What a ledger's entries say was spent: sums by query and period, steps, and entries that cannot be counted."""

import json
import math

import pytest

from emdp.base.errors import LedgerError
from emdp.budgets.spending import accounts_of, budgets_of, burn_down, by_period, by_query, charges_of
from emdp.ledger import Entry
from emdp.privacy import Budget, DiscreteEmdDP, EmdDP, GaussianEvent, GuaranteeEvent, UserDP
from emdp.privacy.rounding import as_decimal

EMD, USER = Budget(EmdDP(60.0, 1e-8)), Budget(UserDP(2.0))
DECLARED = ("budget", {"budgets": [EMD.to_json(), USER.to_json()]})
NOISE = {"sigma": 8.0, "sensitivity": 1.0, "grid": 2.0**-60, "slack_epsilon": 0.0, "slack_delta": 1e-18}


def charged(event, *, period=None, report=None, query="mean(x)", budget=None):
    kind = event.guarantee.kind_name if budget is None else budget
    return "charge", {"event": event.to_json(), "budget": kind, "query": query, "period": period, "report": report}


def entries_of(*events):
    day = "2026-11-20T09:00:00+00:00"
    return [
        Entry(place, day, kind, "visits", json.dumps(own), "", "") for place, (kind, own) in enumerate(events, start=1)
    ]


def cost(level):
    return GuaranteeEvent(EmdDP(level, 1e-10))


def test_sums_are_exact_by_kind_period_report_and_query():
    charges = charges_of(
        entries_of(
            DECLARED,
            *[charged(cost(0.1), period="W2", report="a") for _ in range(3)],
            charged(cost(0.7), period="W1", report="a"),
            charged(cost(0.2), period="W2", report="b"),
            charged(cost(0.2), period="W2", report="a", query="mean(y)"),
            charged(GuaranteeEvent(UserDP(0.3)), period="W2", report="a"),
            charged(cost(5.0)),
        )
    )
    shown = [(own.period, own.report, own.query, own.charges, own.level, own.delta) for own in by_query(charges)]
    assert shown == [
        (None, None, "mean(x)", 1, 5.0, 1e-10),
        ("W1", "a", "mean(x)", 1, 0.7, 1e-10),
        ("W2", "a", "mean(x)", 3, 0.3, 3e-10),
        ("W2", "b", "mean(x)", 1, 0.2, 1e-10),
        ("W2", "a", "mean(y)", 1, 0.2, 1e-10),
        ("W2", "a", "mean(x)", 1, 0.3, 0.0),
    ]
    totals = [(own.period, own.level_name, own.charges, own.level) for own in by_period(charges)]
    assert totals == [
        (None, "alpha", 1, 5.0),
        ("W1", "alpha", 1, 0.7),
        ("W2", "alpha", 5, 0.7),
        ("W2", "epsilon", 1, 0.3),
    ]


def test_costs_are_stated_in_the_kind_of_the_budget_that_paid():
    near = Budget(DiscreteEmdDP(1.0, 0.0, r=0.25))
    declared = ("budget", {"budgets": [near.to_json()]})
    entries = entries_of(declared, charged(GuaranteeEvent(EmdDP(0.8)), budget=near.guarantee.kind_name))
    assert [(own.level_name, own.level) for own in by_period(charges_of(entries))] == [("epsilon", 0.2)]
    assert accounts_of(entries)[0].spent.epsilon == 0.2


def test_steps_go_down_charge_by_charge_and_end_where_the_account_does():
    entries = entries_of(
        DECLARED,
        charged(cost(0.1)),
        charged(cost(0.2), period="W2"),
        charged(GuaranteeEvent(UserDP(0.5)), period="W2"),
        charged(cost(59.7), period="W1"),
    )
    charges = charges_of(entries)
    assert burn_down(charges, EMD) == (("2026-11-20", 59.9), ("W2", 59.7), ("W1", 0.0))
    assert burn_down(charges, USER) == (("W2", 1.5),)


def test_steps_count_gaussian_noise_as_the_account_does():
    budget = Budget(EmdDP(10.0, 1e-6), gaussian_share=0.5)
    declared = ("budget", {"budgets": [budget.to_json()]})
    entries = entries_of(declared, *[charged(GaussianEvent(1.0, 1e-7, 2, **NOISE)) for _ in range(4)])
    left = [level for _, level in burn_down(charges_of(entries), budget)]
    assert left == sorted(left, reverse=True)
    # Four such charges state 4 together, and cost less; the rest is rounded down.
    rest = 10 - as_decimal(accounts_of(entries)[0].spent.alpha)
    assert 6 < as_decimal(left[-1]) <= rest < as_decimal(math.nextafter(left[-1], math.inf))


def test_entries_of_earlier_versions_have_no_tags_and_may_number_their_budget():
    payload = {"event": cost(1.0).to_json(), "budget": 0, "query": "mean(x)", "data_version": "v1"}
    (charge,) = charges_of(entries_of(DECLARED, ("charge", payload)))
    assert (charge.budget, charge.period, charge.report) == (EMD, None, None)


def test_the_budgets_declared_last_count_and_none_is_none():
    other = ("budget", {"budgets": [USER.to_json()]})
    assert budgets_of(entries_of(DECLARED, other)) == (USER,)
    assert budgets_of([]) == accounts_of([]) == charges_of([]) == ()


@pytest.mark.parametrize("budget", [2, -1, True, 0.0, None, "local UserDP"])
def test_a_charge_to_no_budget_is_not_passed_over(budget):
    payload = {"event": cost(1.0).to_json(), "budget": budget, "query": "mean(x)"}
    with pytest.raises(LedgerError, match="entry 2 charges a budget that the ledger lacks"):
        charges_of(entries_of(DECLARED, ("charge", payload)))


@pytest.mark.parametrize("name", ["event", "budget"])
def test_a_charge_that_says_too_little_is_not_passed_over(name):
    kind, payload = charged(cost(1.0))
    del payload[name]
    with pytest.raises(LedgerError, match=f"entry 2 of the ledger lacks its '{name}'"):
        accounts_of(entries_of(DECLARED, (kind, payload)))


def test_more_than_a_budget_covers_is_an_error():
    with pytest.raises(LedgerError, match="not covered"):
        accounts_of(entries_of(DECLARED, charged(cost(60.1))))
