"""What a ledger does wherever it lies: the same calls against a file and against a server."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.ledger import Ledger, ledger_exists, open_ledger, read_ledger
from emdp.ledger.stored import StoredLedger


@pytest.fixture
def path(place):
    return place


@pytest.fixture
def ledger(path):
    return open_ledger(path)


def within(budget):
    """Return a callback that refuses when the entries so far and one unit more exceed ``budget``."""

    def admit(entries):
        if sum(entry.payload["cost"] for entry in entries) + 1 > budget:
            raise BudgetExceededError("spent")

    return admit


def test_what_is_appended_is_read_back_by_others(ledger, path):
    payload = {"event": {"alpha": 0.1, "names": ["ä", "\x00", "\ud800"]}, "n": 10**30, "none": None}
    start = datetime.now(UTC)
    first = ledger.append("budget", "visits", payload)
    second = ledger.append("charge", "words", {"cost": 1})
    for other in (ledger, open_ledger(path), read_ledger(path)):
        created, *entries = other.entries()
        assert entries == [first, second]
        assert entries[0].payload == payload
        assert other.entries("visits") == (first,)
        assert other.entries(kind="charge") == (second,)
        assert other.entries("visits", "charge") == ()
        assert other.head() == other.verify() == (3, second.hash)
    assert (created.kind, created.table, created.payload["test"]) == ("created", "", False)
    assert start - timedelta(seconds=1) <= datetime.fromisoformat(first.time) <= datetime.now(UTC)
    assert [entry.previous_hash for entry in (first, second)] == [created.hash, first.hash]


def test_readers_cannot_change_what_is_charged(ledger):
    ledger.append("charge", "visits", {"cost": 1})
    ledger.entries()[1].payload["cost"] = -100

    def admit(entries):
        assert entries[0].payload["cost"] == 1
        entries[0].payload["cost"] = -100

    ledger.append("charge", "visits", {"cost": 1}, admit=admit)
    with pytest.raises(BudgetExceededError):
        ledger.append("charge", "visits", {"cost": 1}, admit=within(2))


def test_admit_sees_the_entries_of_its_table_alone(ledger):
    seen = []
    ledger.append("charge", "visits", {"cost": 1}, admit=seen.append)
    ledger.append("charge", "words", {"cost": 2}, admit=seen.append)
    last = ledger.append("charge", "visits", {"cost": 3}, admit=seen.append)
    assert seen[:2] == [(), ()]
    assert seen[2] == ledger.entries("visits")[:-1]
    assert ledger.entries("visits")[-1] == last


def test_admit_may_see_the_whole_ledger(ledger):
    seen = []
    ledger.append("charge", "visits", {"cost": 1})
    ledger.append("charge", "words", {"cost": 2}, admit=seen.append, whole=True)
    assert seen[0] == ledger.entries()[:-1]


@pytest.mark.parametrize("name", ["Visits", "VISITS", "ｖisits", "visits\u200b", " visits"])
def test_a_table_is_known_by_its_name_as_sql_compares_names(ledger, path, name):
    first = ledger.append("charge", "visits", {"cost": 1})
    with open_ledger(path) as other:
        seen = []
        second = other.append("charge", name, {"cost": 1}, admit=seen.append)
        assert (second.table, seen) == ("visits", [(first,)])
        with pytest.raises(BudgetExceededError):
            other.append("charge", name, {"cost": 1}, admit=within(2))
        assert other.entries(name) == other.entries("visits") == (first, second)
        assert other.append("charge", f"{name}2", {"cost": 1}).table == f"{name}2"


def test_threads_that_begin_a_table_under_two_names_make_one(path):
    open_ledger(path).close()
    names = ["Visits", "visits"] * 4
    running = [
        threading.Thread(target=lambda name=name: open_ledger(path).append("charge", name, {"cost": 1}))
        for name in names
    ]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert len({entry.table for entry in open_ledger(path).entries()}) == 2


def test_an_old_ledger_with_names_that_differ_in_case_is_ambiguous_under_a_third(old_ledger):
    with open_ledger(old_ledger) as ledger:
        assert {len(ledger.entries(name, "charge")) for name in ("visits", "Visits", "TRIPS")} == {1}
        for call in (ledger.entries, lambda name: ledger.append("charge", name, {})):
            with pytest.raises(LedgerError, match="is any of 'Visits', 'visits' of the ledger"):
                call("VISITS")
        assert ledger.append("charge", "Visits", {}).table == "Visits"
        assert ledger.verify()[0] == 11


def test_admit_may_read_but_not_append(ledger):
    def admit(_):
        assert ledger.head()[0] == 1
        with pytest.raises(UsageError, match="must not append"):
            ledger.append("charge", "visits", {})

    assert ledger.append("charge", "visits", {}, admit=admit).sequence == 2
    assert ledger.append("charge", "visits", {}).sequence == 3


@pytest.mark.parametrize(
    ("kind", "table", "payload", "word"),
    [
        ("created", "visits", {}, "kind"),
        ("grant", "visits", {}, "kind"),
        (None, "visits", {}, "kind"),
        ("charge", "", {}, "table"),
        ("charge", None, {}, "table"),
        ("charge", "visits", [1], "payload"),
        ("charge", "visits", None, "payload"),
        ("charge", "visits", {"cost": float("nan")}, "payload"),
    ],
)
def test_malformed_arguments_are_misuse(ledger, kind, table, payload, word):
    with pytest.raises(UsageError, match=word):
        ledger.append(kind, table, payload)
    assert ledger.head()[0] == 1


def test_closed_and_reading_ledgers_append_nothing(ledger, path):
    with pytest.raises(UsageError, match="kind"):
        ledger.entries(kind="grant")
    reader = read_ledger(path)
    with pytest.raises(UsageError, match="reading only"):
        reader.append("charge", "visits", {})
    ledger.close()
    ledger.close()
    for call in (ledger.entries, ledger.head, ledger.verify, lambda: ledger.append("charge", "visits", {})):
        with pytest.raises(UsageError, match="closed"):
            call()
    assert reader.head()[0] == 1


@pytest.mark.parametrize("shared", [True, False])
def test_threads_spend_one_budget_once(path, shared):
    ledger = open_ledger(path)
    spent = []

    def spend():
        own = ledger if shared else open_ledger(path)
        try:
            while True:
                spent.append(own.append("charge", "visits", {"cost": 1}, admit=within(40)).sequence)
        except BudgetExceededError:
            pass

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(spent) == list(range(2, 42))
    assert ledger.verify()[0] == 41


@pytest.mark.parametrize("error", [BudgetExceededError, KeyboardInterrupt, UnicodeError, LedgerError])
def test_a_refusal_writes_nothing_and_frees_the_ledger(ledger, path, error):
    def refuse(_):
        raise error("no")

    with pytest.raises(error, match="no"):
        ledger.append("charge", "visits", {"cost": 1}, admit=refuse)
    assert ledger.head() == read_ledger(path).head() == ledger.verify()
    assert open_ledger(path).append("charge", "visits", {"cost": 1}).sequence == 2
    assert ledger.append("charge", "visits", {"cost": 1}).sequence == 3


@pytest.mark.parametrize("test", [True, False])
def test_the_test_switch_must_match(path, test):
    assert open_ledger(path, test=test).is_test is test
    assert read_ledger(path).is_test is test
    with pytest.raises(LedgerError, match="test switch"):
        open_ledger(path, test=not test)


def test_a_missing_ledger_is_made_only_on_demand(path):
    assert not ledger_exists(path)
    for opener in (read_ledger, lambda where: open_ledger(where, create=False)):
        with pytest.raises(LedgerError, match="does not exist"):
            opener(path)
    made = open_ledger(path)
    assert isinstance(made, Ledger)
    assert isinstance(made, StoredLedger)
    assert ledger_exists(path)
    assert open_ledger(path, create=False).ledger_id == made.ledger_id
    assert len(made.ledger_id) == 32


def test_texts_are_kept_under_their_digests_until_they_are_forgotten(ledger, path):
    assert ledger.content("0" * 64) is None
    assert ledger.forget(["0" * 64]) == 0
    texts = ["", "one", 'größer \U0001f600 "quoted" \\']
    entries = [ledger.append("answer", "visits", {"n": n}, content=text) for n, text in enumerate(texts)]
    ledger.append("answer", "visits", {"n": 3}, content="one")
    digests = [entry.payload["content"] for entry in entries]
    for other in (ledger, open_ledger(path), read_ledger(path)):
        assert [other.content(digest) for digest in digests] == texts
    with pytest.raises(UsageError, match="reading only"):
        read_ledger(path).forget(digests)
    assert ledger.forget([digests[1], digests[1], "0" * 64]) == 1
    assert [read_ledger(path).content(digest) for digest in digests] == [texts[0], None, texts[2]]
    assert ledger.verify() == ledger.head() == open_ledger(path).verify()
    assert ledger.head()[0] == 5


def test_what_goes_ahead_stands_before_the_charge_or_not_at_all(ledger, path):
    seen = []
    ahead = [("validated", {"data_version": "v1"}), ("validated", {"data_version": "v2"})]
    charge = ledger.append("charge", "visits", {"cost": 1}, admit=seen.append, ahead=ahead)
    assert len(seen) == 1
    for other in (ledger, open_ledger(path)):
        assert [(own.sequence, own.kind, own.table) for own in other.entries()[1:]] == [
            (2, "validated", "visits"), (3, "validated", "visits"), (4, "charge", "visits")
        ]  # fmt: skip
        assert [own.payload["data_version"] for own in other.entries("visits", "validated")] == ["v1", "v2"]
        assert (charge.sequence, charge.hash) == other.verify()

    def refuse(entries):
        raise BudgetExceededError("spent")

    with pytest.raises(BudgetExceededError):
        ledger.append("charge", "visits", {"cost": 1}, admit=refuse, ahead=ahead)
    with pytest.raises(UsageError):
        ledger.append("charge", "visits", {"cost": 1}, ahead=[("validated", {"cost": float("nan")})])
    for other in (ledger, open_ledger(path)):
        assert other.head() == (charge.sequence, charge.hash)


def test_a_refused_charge_keeps_no_text(ledger):
    def refuse(_):
        raise BudgetExceededError("no")

    with pytest.raises(BudgetExceededError):
        ledger.append("answer", "visits", {}, admit=refuse, content="text")
    assert ledger.snapshot()[1] == ()
    assert ledger.append("charge", "visits", {}).sequence == 2


NAMES = ["größe", 'a "quoted" \\ name', "\U0001f600\uffff\U00010000", "tab\tline\n\r\b\f\x7f\x01"]


def test_any_name_of_a_table_is_hashed_alike(ledger, path):
    payload = {"text": '\U0001f600 " \\ \x00 \ud800', "big": 10**40, "small": 1e-300}
    entries = {name: ledger.append("charge", name, payload) for name in NAMES}
    other = open_ledger(path)
    for name, entry in entries.items():
        assert other.entries(name) == (entry,)
    assert other.verify() == (5, entries[NAMES[-1]].hash)


def test_a_head_hash_kept_elsewhere_is_found(ledger):
    heads = [ledger.head()[1], *(ledger.append("charge", "visits", {"cost": cost}).hash for cost in range(2))]
    for head in heads:
        assert ledger.verify(head) == ledger.verify(f" {head.upper()}\n") == (3, heads[-1])
    with pytest.raises(LedgerError, match="older copy"):
        ledger.verify("0" * 64)
    with pytest.raises(UsageError, match="64 hexadecimal"):
        ledger.verify("abc")
