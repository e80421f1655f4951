"""Totals in the chain: whoever begins at them has what all entries give, and whoever verifies finds a forged one."""

import json
import random
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace

import pytest

from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.budgets.accounts import Accounts, Tags
from emdp.budgets.declarations import Declaration, Held
from emdp.budgets.redeclaring import redeclare, redeclare_budgets
from emdp.budgets.reservations import held_from, outstanding, release, reserve
from emdp.budgets.spending import account_of, budgets_of, charges_of
from emdp.budgets.totals import check_totals, state_totals, totals_of
from emdp.cli import main
from emdp.cli.spending import spending_of
from emdp.ledger import Entry, open_ledger, read_ledger, stored
from emdp.ledger.chain import Link, canonical_json, next_link
from emdp.ledger.entries import READ, View, end_of, later, of_kinds
from emdp.privacy import Budget, EmdDP, GaussianEvent, GuaranteeEvent, UserDP
from emdp.privacy.guarantees.kinds import is_by_source
from tests.ledger.test_sqlite import rewrite

PLAIN = (Budget(EmdDP(40.0, 1e-5), 0.5), Budget(UserDP(3.0)), Budget(UserDP(6.0, neighbours="remove")))
NOISE = {"sigma": 8.0, "sensitivity": 1.0, "grid": 2.0**-60, "slack_epsilon": 0.0, "slack_delta": 1e-18}
GAUSSIAN = GaussianEvent(1.0, 1e-7, 2, **NOISE)
APART = (Budget(EmdDP(40.0, 1e-5), 0.5), Budget(EmdDP(4.0, 1e-5, unit="period"), 0.5))
YEARS = (Budget(EmdDP(60.0, unit="history", periods=3)), Budget(EmdDP(9.0, unit="period")))
PERIODS = (None, "W1", "W2", "W3")


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "EVERY", 5)
    return tmp_path / "city.ledger"


def session(ledger, name="visits", budgets=PLAIN, period=None):
    records = Held.by(ledger.view(name)).rules.get("records")
    return Accounts(ledger, name, budgets, Declaration("space", "user", "users", records), period=period)


def spend(accounts, *events, reserve=None):
    described = [(event, {"query": "mean(x)", "question": {}}) for event in events]
    return accounts.charge_all(described, Tags(reserve=reserve))


def events(rng):
    level = rng.randrange(1, 60) / 100
    return rng.choice(
        (
            GuaranteeEvent(EmdDP(level, rng.choice((0.0, 1e-9)))),
            GAUSSIAN,
            GuaranteeEvent(UserDP(level / 10)),
            GuaranteeEvent(UserDP(level / 10, neighbours="remove")),
        )
    )


def act(rng, ledger, place):
    """Write something, by an object that may know the chain or begin at its totals."""
    tables = (("visits", PLAIN[:2]), ("shops", PLAIN[:1]), ("weeks", APART), ("years", YEARS))
    name, budgets = rng.choice(tables)
    with suppress(BudgetExceededError, UsageError):
        found = budgets_of(ledger.entries(name)) or budgets
        period = rng.choice(PERIODS) if name in {"weeks", "years"} else None
        accounts = session(ledger, name, found, period)
        match rng.randrange(12):
            case 0:
                reserve(ledger, name, rng.choice("ab"), EmdDP(rng.randrange(1, 300) / 100))
            case 1:
                release(ledger, name, rng.choice("ab"))
            case 2:
                redeclare_budgets(ledger, name, (*found, Budget(UserDP(6.0, neighbours="remove"))))
            case 3:
                accounts.begin(f"v{place}", lambda: ((f"m{place}",),) * 3, lambda: (f"{name} {period}",))
            case 4:
                ledger.append("answer", name, {"query": "q", "charge": 1, "question": ""}, content=f"answer {place}")
            case 5:
                redeclare(ledger, name, {"records": place})
            case 6:
                spend(accounts, *(events(rng) for _ in range(3)))
            case _:
                with suppress(LedgerError):
                    spend(accounts, events(rng), reserve=rng.choice((None, None, "a", "b")))


@pytest.mark.quarter
@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_written_totals_and_the_rest_give_what_all_entries_give(path, seed):
    rng = random.Random(seed)
    kept = open_ledger(path)
    partial = set()
    for place in range(70):
        act(rng, kept if rng.random() < 0.5 else open_ledger(path), place)
        if rng.random() < 0.8:
            continue
        begun, known = open_ledger(path), read_ledger(path).entries()
        for name in sorted({entry.table for entry in known if entry.table}):
            view, own = begun.view(name), [entry for entry in known if entry.table == name]
            assert end_of(view) in (known[-1].sequence, own[-1].sequence)
            assert all(list(of_kinds(view, kind)) == [one for one in own if one.kind == kind] for kind in READ)
            assert Held.by(view) == Held.by(own)
            for kind, words in (("answer", '"query":"q"'), ("charge", "reserve")):
                right = [one for one in own if one.kind == kind and words in one.text]
                assert begun.search(kind, name, words=words) == right
                assert [begun.search(kind, name, sequence=one.sequence) for one in right] == [[one] for one in right]
            assert begun.search("charge", name, words="none") == begun.search("charge", name, sequence=1) == []
            partial |= {name} if isinstance(view, View) and view.stated is not None else set()
            budgets = budgets_of(own)
            for budget in budgets:
                accounts = session(begun, name, budgets)
                right = account_of(budget, charges_of(own))
                assert (accounts.account(budget, view), name) == (right, name)
                assert (outstanding(view, budget), held_from(view, budget, "a")) == (
                    outstanding(own, budget), held_from(own, budget, "a"),
                )  # fmt: skip
                held = right.replay(held_from(own, budget, None))
                assert accounts.available(budget, view) == held
                for period in PERIODS if is_by_source(budget.guarantee) else ():
                    right = account_of(budget, charges_of(own), period)
                    assert session(begun, name, budgets, period).account(budget, view) == right
        for own, right in zip(spending_of(read_ledger(path).view()), spending_of(known), strict=True):
            # Of steps in a row of one day the last one.
            last = tuple({label: (label, level) for label, level in right.steps}.values())
            assert own in (right, replace(right, steps=last))
        assert begun.entries() == known
        assert begun.verify() == (known[-1].sequence, known[-1].hash)
    assert partial >= {"visits", "weeks"}
    assert check_totals(known) >= 3
    stated = [entry.payload["tables"].get("weeks") for entry in of_kinds(known, "totals")]
    told = [budget["sources"]["each"] for own in stated if own for budget in own["budgets"] if "sources" in budget]
    assert any(told)


def grown(path, count=12):
    with open_ledger(path) as ledger:
        for period in ("W2", "W1", None):
            spend(session(ledger, "weeks", APART, period), GuaranteeEvent(EmdDP(0.25)))
        accounts = session(ledger)
        reserve(ledger, "visits", "weekly", EmdDP(2.0))
        for _ in range(count):
            spend(accounts, GuaranteeEvent(EmdDP(0.5)), GuaranteeEvent(UserDP(0.01)), reserve="weekly")


def chained(links, place, **changes):
    """Return the links with one changed, and all that follow it hashed again."""
    made = []
    for own in links:
        link = own._replace(**changes) if own.sequence == place else own
        made.append(next_link(made[-1] if made else None, link.time, link.kind, link.table, link.payload))
    return made


def written(path, links):
    """Write other links in the place of a ledger's, as somebody with the file could."""
    rewrite(
        path,
        "DELETE FROM event",
        *[("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)", link) for link in links],
        ("UPDATE head SET sequence = ?, hash = ?", (links[-1].sequence, links[-1].hash)),
    )


def links_of(path):
    with closing(sqlite3.connect(path)) as connection:
        return [Link(*row) for row in connection.execute("SELECT * FROM event ORDER BY sequence")]


def forgeries():
    def spent(own):
        own["tables"]["visits"]["budgets"][0]["level"] = "0"

    def second(own):
        del own["tables"]["visits"]["budgets"][1]

    def held(own):
        own["tables"]["visits"]["budgets"][0]["held"] = {}

    def count(own):
        own["tables"]["visits"]["budgets"][1]["count"] += 1

    def table(own):
        own["tables"] = {}

    def shown(own):
        own["tables"]["visits"]["budgets"][0]["shown"]["sums"][0][3] += 1

    def weeks(own):
        return own["tables"]["weeks"]["budgets"][1]["sources"]

    def period(own):
        weeks(own)["each"][0][2] = "0"

    def periods(own):
        del weeks(own)["each"][1]

    def to_come(own):
        weeks(own)["every"][1] = "0"

    def order(own):
        weeks(own)["each"].reverse()

    forged = {"period": period, "periods": periods, "period to come": to_come, "order of periods": order}
    return {**forged, "shown": shown, "spent": spent, "second": second, "held": held, "count": count, "table": table}


@pytest.mark.quarter
@pytest.mark.parametrize("forge", forgeries())
def test_a_forged_total_is_found_by_who_verifies(path, forge, capsys):
    grown(path)
    with pytest.raises(SystemExit) as left:
        main(["ledger", "verify", str(path)])
    assert not left.value.code
    links = links_of(path)
    newest = [link for link in links if link.kind == "totals"][-1]
    payload = json.loads(newest.payload)
    forgeries()[forge](payload)
    written(path, chained(links, newest.sequence, payload=canonical_json(payload)))
    # The chain is whole: a session that begins there believes it.
    with open_ledger(path) as ledger:
        assert isinstance(ledger.view("visits"), View) == (forge != "table")
        with pytest.raises(LedgerError, match="states totals"):
            check_totals(ledger.entries())
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main(["ledger", "verify", str(path)])
    assert left.value.code
    assert f"entry {newest.sequence} states totals" in capsys.readouterr().err


def test_what_a_table_is_held_to_is_read_however_old(path):
    grown(path)
    links = links_of(path)
    place = next(link for link in links if link.kind == "reserve")
    # Its own hash fits, and so does the number of entries.
    forged = next_link(links[place.sequence - 2], place.time, "charge", "visits", place.payload)
    rewrite(
        path,
        ("UPDATE event SET kind = 'charge', hash = ? WHERE sequence = ?", (forged.hash, place.sequence)),
    )
    with pytest.raises(LedgerError, match="chain breaks"):
        open_ledger(path)


def test_a_charge_that_was_taken_out_or_changed_counts_all_the_same(path):
    grown(path)
    with open_ledger(path) as ledger:
        right = session(ledger).account(PLAIN[0])
        floor = ledger.view("visits").floor
    links = links_of(path)
    first = next(link for link in links if (link.kind, link.table) == ("charge", "visits"))
    assert first.sequence < floor
    rewrite(path, ("UPDATE event SET payload = '{}' WHERE sequence = ?", (first.sequence,)))
    with open_ledger(path) as ledger:
        assert session(ledger).account(PLAIN[0]) == right
        with pytest.raises(LedgerError, match="was changed"):
            ledger.search("charge", "visits", sequence=first.sequence)
        with pytest.raises(LedgerError, match="chain breaks"):
            ledger.entries()
    rewrite(path, ("DELETE FROM event WHERE sequence = ?", (first.sequence,)))
    with pytest.raises(LedgerError, match="chain breaks"):
        open_ledger(path)


def test_an_old_ledger_is_read_whole_and_then_begins_at_totals(path, monkeypatch):
    monkeypatch.setattr(stored, "EVERY", 10**9)
    grown(path)
    with open_ledger(path) as ledger:
        assert not isinstance(ledger.view("visits"), View)
        monkeypatch.setattr(stored, "EVERY", 5)
        accounts = session(ledger)
        spend(accounts, GuaranteeEvent(EmdDP(0.5)))
        right = accounts.account(PLAIN[0])
        assert [entry.kind for entry in ledger.entries()][-2:] == ["totals", "charge"]
    with open_ledger(path) as ledger:
        view = ledger.view("visits")
        assert isinstance(view, View)
        assert session(ledger).account(PLAIN[0]) == right
        assert [entry.kind for entry in later(view, view.floor, "charge", "answer")] == ["charge"]
        assert ledger.view("unknown") == ()


def test_totals_are_not_stated_where_somebody_else_has_charged_since(path):
    grown(path)
    with open_ledger(path) as ledger, open_ledger(path) as other:
        view = ledger.view()
        stated, end = {"visits": totals_of(view.of_table("visits"))}, end_of(view)
        spend(session(other), GuaranteeEvent(EmdDP(0.5)))
        before = other.head()
        assert not ledger.append_totals("visits", stated, end)
        assert other.head() == before
        assert check_totals(other.entries()) > 0


def test_totals_alone_charge_nothing(path):
    grown(path)
    with open_ledger(path) as ledger:
        accounts = session(ledger)
        right = accounts.account(PLAIN[0])
        while not ledger.is_due():
            ledger.append("answer", "visits", {"query": "q"})
        # As where a process is killed between the two.
        state_totals(ledger, "visits")
        assert not ledger.is_due()
    with open_ledger(path) as ledger:
        assert session(ledger).account(PLAIN[0]) == right
        assert check_totals(ledger.entries()) > 0


def test_lists_by_period_budgets_by_place_and_numbers_of_many_digits_are_not_summed_up():
    budget = {"budgets": [PLAIN[1].to_json()]}
    kind = PLAIN[1].guarantee.kind_name

    def entries(event, **more):
        charge = {"event": event.to_json(), "budget": kind, "query": "q", **more}
        said = (("budget", budget), ("charge", charge))
        return [Entry(place, "", kind, "visits", json.dumps(own), "", "") for place, (kind, own) in enumerate(said, 1)]

    plain = GuaranteeEvent(UserDP(0.25))
    assert totals_of(entries(plain))["budgets"][0]["level"] == "1/4"
    assert totals_of(entries(plain, list={"users": "ab", "apart": []})) is None
    # Budgets by their place, as earlier versions wrote, and unknown ones are no less spent.
    for named in (0, "local UserDP", [kind], None):
        assert totals_of(entries(plain, budget=named)) is None
    assert totals_of(entries(GuaranteeEvent(UserDP(1e-300)))) is None


MALFORMED = (
    {"level": 1}, {"count": -1}, {"slack": "-1"}, {"delta": "1/0"}, {"held": 3},
    {"shown": {"sums": [[1]], "steps": []}},
)  # fmt: skip


def looked_at(path):
    with open_ledger(path) as ledger:
        session(ledger).available(PLAIN[0])
        spending_of(ledger.view())


@pytest.mark.quarter
@pytest.mark.parametrize("malformed", MALFORMED)
def test_malformed_totals_are_refused(path, malformed):
    grown(path)
    links = links_of(path)
    newest = [link for link in links if link.kind == "totals"][-1]
    payload = json.loads(newest.payload)
    payload["tables"]["visits"]["budgets"][0].update(malformed)
    written(path, chained(links, newest.sequence, payload=canonical_json(payload)))
    with pytest.raises(LedgerError, match="malformed"):
        looked_at(path)


def test_totals_that_keep_other_rules_are_refused(path):
    grown(path)
    links = links_of(path)
    newest = [link for link in links if link.kind == "totals"][-1]
    for name, value in (("kept", "0" * 64), ("carried", 3), ("tables", None)):
        payload = {**json.loads(newest.payload), name: value}
        written(path, chained(links, newest.sequence, payload=canonical_json(payload)))
        with pytest.raises(LedgerError, match="states totals"):
            open_ledger(path)
