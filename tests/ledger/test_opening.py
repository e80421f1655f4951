"""A ledger is copied from one store to another with its chain and texts, to a new place only."""

from itertools import pairwise
from pathlib import Path

import pytest

from emdp.base.errors import LedgerError, UsageError
from emdp.ledger import copy_ledger, ledger_exists, open_ledger, read_ledger
from emdp.ledger import place as place_module
from emdp.ledger.postgres_schema import grants

NAME = 'größe "\\ \U0001f600'


def fill(ledger):
    ledger.append("budget", NAME, {"budgets": [{"alpha": 0.1, "delta": 1e-300}]})
    for cost in range(5):
        ledger.append("charge", NAME, {"cost": cost, "query": "ä\x00\ud800\n"})
    kept = [ledger.append("answer", NAME, {"n": n}, content=f"text {n} ö").payload["content"] for n in range(9)]
    ledger.forget(kept[:1])
    return ledger


@pytest.fixture
def places(server, tmp_path):
    """Return three places, of which the first holds a ledger: a file, a database, a file."""
    places = [str(tmp_path / "one.ledger"), server.address(), str(tmp_path / "other.ledger")]
    fill(open_ledger(places[0]))
    return places


@pytest.mark.slow
def test_there_and_back_with_the_same_hashes_and_texts(places):
    snapshots = [read_ledger(places[0]).snapshot()]
    for source, target in pairwise(places):
        assert not ledger_exists(target)
        assert copy_ledger(source, target) == (*read_ledger(source).head(), 8)
        snapshots.append(read_ledger(target).snapshot())
    assert snapshots[0] == snapshots[1] == snapshots[2]
    assert len({read_ledger(place).ledger_id for place in places}) == 1
    entries = [open_ledger(place).append("charge", NAME, {"cost": 9}) for place in places]
    assert {entry.sequence for entry in entries} == {17}


def test_a_ledger_made_under_the_test_switch_stays_one(server, tmp_path):
    with open_ledger(tmp_path / "a.ledger", test=True) as ledger:
        copy_ledger(ledger.path, server.address())
    assert open_ledger(server.address(), test=True).is_test
    with pytest.raises(LedgerError, match="test switch"):
        open_ledger(server.address())


def test_a_place_that_holds_something_is_refused_and_left_alone(places, tmp_path):
    copy_ledger(places[0], places[1])
    (tmp_path / "note").write_text("mine")
    heads = [read_ledger(place).head() for place in places[:2]]
    for source in places[:2]:
        for target in (*places[:2], str(tmp_path / "note")):
            with pytest.raises(LedgerError, match="exists, and a copy goes to a new one"):
                copy_ledger(source, target)
    assert [read_ledger(place).head() for place in places[:2]] == heads
    assert (tmp_path / "note").read_text() == "mine"


def test_what_comes_first_at_the_target_stays(places, monkeypatch):
    write = place_module._write_snapshot

    def write_late(path, snapshot):
        write(path, snapshot)
        monkeypatch.undo()
        open_ledger(places[2])

    monkeypatch.setattr(place_module, "_write_snapshot", write_late)
    with pytest.raises(LedgerError, match="somebody else"):
        copy_ledger(places[0], places[2])
    assert read_ledger(places[2]).head()[0] == 1


@pytest.mark.parametrize("target", [1, 2])
def test_a_source_that_is_charged_meanwhile_is_noticed(places, monkeypatch, target):
    from emdp.ledger import opening

    create = opening._create

    def charge_too(*arguments):
        open_ledger(places[0]).append("charge", NAME, {})
        return create(*arguments)

    monkeypatch.setattr(opening, "_create", charge_too)
    with pytest.raises(LedgerError, match="was charged while it was copied"):
        copy_ledger(places[0], places[target])


def test_a_damaged_or_missing_source_makes_no_target(places, server, tmp_path):
    content = Path(places[0]).read_bytes()
    Path(places[0]).write_bytes(content.replace(b'{"cost":3', b'{"cost":0'))
    for source in (places[0], str(tmp_path / "missing")):
        with pytest.raises(LedgerError):
            copy_ledger(source, places[1])
    assert not ledger_exists(places[1])


def test_what_a_database_cannot_hold_stays_in_its_file(server, tmp_path):
    path = str(tmp_path / "odd.ledger")
    open_ledger(path).append("charge", "a\0b", {})
    with pytest.raises(LedgerError, match="cannot hold"):
        copy_ledger(path, server.address())
    assert not ledger_exists(server.address())
    with open_ledger(server.address()) as ledger:
        for table in ("a\0b", "\ud800"):
            with pytest.raises(UsageError, match="a database can hold"):
                ledger.append("charge", table, {})


def test_who_may_read_copies_and_who_may_not_create_does_not(places, server):
    copy_ledger(places[0], places[1])
    server.execute(*grants((), ("auditor",)), role="owner")
    copy_ledger(server.address("auditor"), places[2])
    server.execute("DROP SCHEMA emdp_ledger CASCADE")
    with pytest.raises(LedgerError, match="may not make it"):
        copy_ledger(places[0], server.address("analyst"))
