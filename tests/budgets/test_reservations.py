"""Reservations: what is set aside stays for its owner to the last digit, and the budget is never exceeded."""

import json
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.budgets.reservations import held_from, outstanding, release, reserve
from emdp.budgets.spending import accounts_of
from emdp.ledger import Entry, open_ledger
from emdp.privacy import Account, Budget, DiscreteEmdDP, EmdDP, GaussianEvent, GuaranteeEvent, UserDP
from emdp.privacy.rounding import as_decimal

KIND = EmdDP(0).kind_name
BUDGET = Budget(EmdDP(60.0, 1e-8))


def declared(*budgets):
    return "budget", {"budgets": [budget.to_json() for budget in budgets]}


def charged(event, name=None, kind=KIND):
    return "charge", {"event": event.to_json(), "budget": kind, "query": "mean(x)", "reserve": name}


def set_aside(name, guarantee, *, released=False):
    payload = {"name": name, "budget": guarantee.kind_name, "guarantee": guarantee.to_json(), "released": released}
    return "reserve", payload


def entries_of(*events):
    return [
        Entry(place, "", kind, "visits", json.dumps(own), "", "") for place, (kind, own) in enumerate(events, start=1)
    ]


def alphas(events):
    return [event.guarantee.alpha for event in events]


@pytest.fixture
def ledger(tmp_path):
    with open_ledger(tmp_path / "city.ledger") as ledger:
        kind, payload = declared(BUDGET, Budget(UserDP(2.0)))
        ledger.append(kind, "visits", payload)
        yield ledger


def spend(ledger, event, name=None, budget=BUDGET):
    """Charge as a session does: on top of what everybody else has set aside."""

    def admit(entries):
        account = next(own for own in accounts_of(entries) if own.budget == budget)
        account.replay(held_from(entries, budget, name)).charge(event)

    kind, payload = charged(event, name, budget.guarantee.kind_name)
    return ledger.append(kind, "visits", payload, admit=admit)


def test_a_reservation_goes_down_by_what_its_owner_is_charged_in_level_and_delta_apart():
    entries = entries_of(
        set_aside("weekly", EmdDP(6.0, 1e-9)),
        charged(GuaranteeEvent(EmdDP(0.1, 1e-10)), "weekly"),
        charged(GuaranteeEvent(EmdDP(0.2)), "weekly"),
        charged(GuaranteeEvent(EmdDP(5.0)), "monthly"),
        charged(GuaranteeEvent(EmdDP(5.0))),
    )
    assert outstanding(entries, BUDGET) == {"weekly": EmdDP(5.7, 9e-10)}


def test_what_is_beyond_a_reservation_does_not_count_against_the_next_one():
    used_up = (set_aside("weekly", EmdDP(6.0)), charged(GuaranteeEvent(EmdDP(7.5)), "weekly"))
    assert outstanding(entries_of(*used_up), BUDGET) == {"weekly": EmdDP(0.0)}
    assert held_from(entries_of(*used_up), BUDGET, None) == []
    assert outstanding(entries_of(*used_up, set_aside("weekly", EmdDP(3.0))), BUDGET) == {"weekly": EmdDP(3.0)}


def test_reservations_of_a_name_add_up_until_they_are_given_back():
    two = (set_aside("weekly", EmdDP(0.1)), set_aside("weekly", EmdDP(0.2, 1e-9)))
    assert outstanding(entries_of(*two), BUDGET) == {"weekly": EmdDP(0.3, 1e-9)}
    back = (*two, set_aside("weekly", EmdDP(0.3, 1e-9), released=True))
    assert outstanding(entries_of(*back), BUDGET) == {}
    assert outstanding(entries_of(*back, set_aside("weekly", EmdDP(1.0))), BUDGET) == {"weekly": EmdDP(1.0)}


def test_each_kind_of_budget_has_its_own_reservations():
    entries = entries_of(
        set_aside("weekly", EmdDP(6.0)),
        set_aside("weekly", UserDP(0.5)),
        charged(GuaranteeEvent(UserDP(0.2)), "weekly", UserDP(0).kind_name),
    )
    assert outstanding(entries, BUDGET) == {"weekly": EmdDP(6.0)}
    assert outstanding(entries, Budget(UserDP(2.0))) == {"weekly": UserDP(0.3)}


def test_a_charge_counts_as_what_it_costs_in_the_kind_of_the_budget():
    near = Budget(DiscreteEmdDP(1.0, 0.0, r=0.25))
    kind = near.guarantee.kind_name
    entries = entries_of(
        set_aside("weekly", DiscreteEmdDP(0.5, 0.0, r=0.25)), charged(GuaranteeEvent(EmdDP(0.8)), "weekly", kind)
    )
    assert outstanding(entries, near)["weekly"].epsilon == 0.3


def test_everybody_but_the_owner_leaves_a_reservation_untouched():
    entries = entries_of(set_aside("weekly", EmdDP(6.0)), set_aside("monthly", EmdDP(4.0)))
    assert alphas(held_from(entries, BUDGET, None)) == [6.0, 4.0]
    assert alphas(held_from(entries, BUDGET, "weekly")) == [4.0]
    assert alphas(held_from(entries, BUDGET, "another")) == [6.0, 4.0]


def test_what_is_held_is_exact_where_no_float_is():
    # 6 - 1e-17 has eighteen digits: held as 6.0 it would be too much, as the next smaller float too little.
    entries = entries_of(set_aside("weekly", EmdDP(6.0)), charged(GuaranteeEvent(EmdDP(1e-17)), "weekly"))
    held = alphas(held_from(entries, BUDGET, None))
    assert len(held) > 1
    assert sum(map(as_decimal, held)) == 6 - Fraction(1, 10**17)
    assert as_decimal(outstanding(entries, BUDGET)["weekly"].alpha) < 6


def test_entries_that_say_too_little_or_something_else_are_errors():
    for payload in ({"name": "weekly"}, {"name": "weekly", "budget": KIND, "guarantee": EmdDP(1.0).to_json()}):
        with pytest.raises(LedgerError, match="lacks its"):
            outstanding(entries_of(("reserve", payload)), BUDGET)
    other = {**set_aside("weekly", EmdDP(1.0))[1], "guarantee": UserDP(1.0).to_json()}
    with pytest.raises(LedgerError, match="another kind"):
        held_from(entries_of(("reserve", other)), BUDGET, None)


def test_reserving_needs_what_is_left_outside_other_reservations(ledger):
    spend(ledger, GuaranteeEvent(EmdDP(10.0)))
    reserve(ledger, "visits", "weekly", EmdDP(30.0, 4e-9))
    before = ledger.head()
    for wanted in (EmdDP(20.000001), EmdDP(0.0, 6.000001e-9)):
        with pytest.raises(BudgetExceededError, match=r"alpha = 20.0 and delta = 6e-09"):
            reserve(ledger, "visits", "monthly", wanted)
    assert ledger.head() == before
    reserve(ledger, "visits", "monthly", EmdDP(20.0, 6e-9))
    assert accounts_of(ledger.entries("visits"))[0].remaining == EmdDP(50.0, 1e-8)


def test_the_owner_spends_what_others_may_not(ledger):
    reserve(ledger, "visits", "weekly", EmdDP(59.0))
    with pytest.raises(BudgetExceededError):
        spend(ledger, GuaranteeEvent(EmdDP(1.5)))
    spend(ledger, GuaranteeEvent(EmdDP(1.0)))
    with pytest.raises(BudgetExceededError):
        spend(ledger, GuaranteeEvent(EmdDP(1e-9)))
    spend(ledger, GuaranteeEvent(EmdDP(0.0)))
    for _ in range(10):
        spend(ledger, GuaranteeEvent(EmdDP(5.9)), "weekly")
    with pytest.raises(BudgetExceededError):
        spend(ledger, GuaranteeEvent(EmdDP(1e-9)), "weekly")
    assert accounts_of(ledger.entries("visits"))[0].spent.alpha == 60.0


def test_giving_back_lets_all_spend_what_is_left(ledger):
    reserve(ledger, "visits", "weekly", EmdDP(40.0))
    reserve(ledger, "visits", "weekly", UserDP(1.0))
    spend(ledger, GuaranteeEvent(EmdDP(15.5)), "weekly")
    given = release(ledger, "visits", "weekly")
    assert [entry.payload["guarantee"] for entry in given] == [EmdDP(24.5).to_json(), UserDP(1.0).to_json()]
    spend(ledger, GuaranteeEvent(EmdDP(44.5)))
    with pytest.raises(UsageError, match="nothing is set aside for 'weekly'"):
        release(ledger, "visits", "weekly")


def test_giving_back_while_the_owner_spends_is_refused(ledger, monkeypatch):
    reserve(ledger, "visits", "weekly", EmdDP(40.0))
    stale = ledger.entries("visits")
    spend(ledger, GuaranteeEvent(EmdDP(1.0)), "weekly")
    monkeypatch.setattr(ledger, "entries", lambda *_: stale)
    before = ledger.head()
    with pytest.raises(LedgerError, match="at the same moment"):
        release(ledger, "visits", "weekly")
    assert ledger.head() == before


def test_a_reservation_pays_gaussian_noise_when_the_share_for_it_is_used_up(tmp_path):
    budget = Budget(EmdDP(10.0, 1e-6), gaussian_share=0.1)
    noise = {"sigma": 8.0, "sensitivity": 1.0, "grid": 2.0**-60, "slack_epsilon": 0.0, "slack_delta": 1e-18}
    event = GaussianEvent(1.0, 1e-7, 2, **noise)
    with open_ledger(tmp_path / "city.ledger") as ledger:
        kind, payload = declared(budget)
        ledger.append(kind, "visits", payload)
        with pytest.raises(BudgetExceededError):
            reserve(ledger, "visits", "weekly", EmdDP(9.1))
        reserve(ledger, "visits", "weekly", EmdDP(9.0, 9e-7))
        # Nobody but the owner has plain budget left, so this is what the share pays.
        while True:
            try:
                spend(ledger, event, budget=budget)
            except BudgetExceededError:
                break
        assert accounts_of(ledger.entries("visits"))[0].level == 0
        for _ in range(9):
            spend(ledger, event, "weekly", budget=budget)
        assert accounts_of(ledger.entries("visits"))[0].level == 9
        assert outstanding(ledger.entries("visits"), budget) == {"weekly": EmdDP(0.0)}


@pytest.mark.parametrize(
    ("table", "name", "guarantee", "words"),
    [
        ("streets", "weekly", EmdDP(1.0), "table 'streets' has no budget"),
        ("visits", "weekly", EmdDP(1.0, sizes="bounded"), "no budget of kind bounded central EmdDP"),
        ("visits", "weekly", EmdDP(0.0), "0 sets nothing aside"),
        ("visits", " ", EmdDP(1.0), "name must be"),
        ("visits", "a\nb", EmdDP(1.0), "name must be"),
        ("visits", None, EmdDP(1.0), "name must be"),
    ],
)
def test_what_cannot_be_set_aside(ledger, table, name, guarantee, words):
    before = ledger.head()
    with pytest.raises(UsageError, match=words):
        reserve(ledger, table, name, guarantee)
    assert ledger.head() == before


AMOUNT = st.integers(0, 400).map(lambda number: number / 100)
NAME = st.sampled_from(["weekly", "monthly"])
ACTION = st.one_of(
    st.tuples(st.just("reserve"), NAME, AMOUNT, st.integers(0, 30)),
    st.tuples(st.just("charge"), st.one_of(st.none(), NAME), AMOUNT, st.integers(0, 30)),
    st.tuples(st.just("release"), NAME, st.just(0.0), st.just(0)),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(ACTION, max_size=25))
def test_whatever_happens_the_budget_holds_and_owners_can_spend_what_is_theirs(actions):
    """The theorem, against a plain model that counts hundredths: accepted is exactly what the model accepts."""
    budget = Budget(EmdDP(10.0, 1e-6))
    events = [declared(budget)]
    left, out = [1000, 100], {}
    for action, name, level, delta in actions:
        cost = [round(level * 100), delta]
        guarantee = EmdDP(level, delta / 10**8)
        entries = entries_of(*events)
        others = [sum(rest[place] for owner, rest in out.items() if owner != name) for place in (0, 1)]
        mine = out.get(name, [0, 0])
        account = accounts_of(entries)[0]
        if action == "release":
            out.pop(name, None)
            events.append(set_aside(name, guarantee, released=True))
            continue
        free = [left[place] - others[place] - (mine[place] if action == "reserve" else 0) for place in (0, 1)]
        try:
            held = held_from(entries, budget, None if action == "reserve" else name)
            account.replay(held).charge(GuaranteeEvent(guarantee))
        except BudgetExceededError:
            assert any(cost[place] > max(free[place], 0) for place in (0, 1))
            continue
        assert all(cost[place] <= max(free[place], 0) for place in (0, 1))
        if action == "reserve":
            out[name] = [mine[place] + cost[place] for place in (0, 1)]
            events.append(set_aside(name, guarantee))
        else:
            left = [left[place] - cost[place] for place in (0, 1)]
            if name in out:
                out[name] = [max(mine[place] - cost[place], 0) for place in (0, 1)]
            events.append(charged(GuaranteeEvent(guarantee), name))
    entries = entries_of(*events)
    account = accounts_of(entries)[0]
    assert (account.level, account.delta) == (10 - Fraction(left[0], 100), (100 - left[1]) * Fraction(1, 10**8))
    assert outstanding(entries, budget) == {
        name: EmdDP(level / 100, delta / 10**8) for name, (level, delta) in out.items()
    }
    for name, rest in outstanding(entries, budget).items():
        assert isinstance(account.replay(held_from(entries, budget, name)).charge(GuaranteeEvent(rest)), Account)


# Waits at the start line, then sets aside what is enough for one alone.
RESERVER = """
import sys
from emdp.cli import main
print("ready", flush=True)
sys.stdin.readline()
main(["ledger", "reserve", sys.argv[1], "visits", sys.argv[2], "--alpha", "31"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
def test_of_processes_that_set_aside_the_same_rest_exactly_one_succeeds(ledger, count):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RESERVER, ledger.path, f"report {number}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(count)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [(*process.communicate(timeout=60), process.returncode) for process in processes]
    assert sorted(status for _, _, status in ended) == [0] + [3] * (count - 1)
    for out, err, status in ended:
        assert ("set aside: alpha 31, delta 0" in out) == (status == 0)
        assert ("alpha = 31.0 and delta = 0.0 are more than" in err) == (status == 3)
    assert [left.alpha for left in outstanding(ledger.entries("visits"), BUDGET).values()] == [31.0]
    assert ledger.verify()[0] == 3
