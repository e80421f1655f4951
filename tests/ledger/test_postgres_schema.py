"""What the server itself refuses, to somebody who comes without emdp; a schema that refuses less is not used."""

import hashlib
import json
from pathlib import Path

import psycopg
import pytest

from emdp.base.errors import LedgerError
from emdp.ledger import address_of, open_ledger, postgres_schema, read_ledger
from emdp.ledger.chain import Link, canonical_json, content_digest, link_of, next_link
from emdp.ledger.entries import View, later
from emdp.ledger.postgres import create_in
from emdp.ledger.postgres_schema import APPEND, grants

TIME = "2026-11-20T09:00:00.000000+00:00"
DENIED, BROKEN = psycopg.errors.InsufficientPrivilege, "EM001"


@pytest.fixture
def ledger(server):
    """Return a ledger with a budget and two charges, which an analyst may charge and an auditor read."""
    ledger = open_ledger(server.address())
    ledger.append("budget", "visits", {"budgets": []})
    for cost in range(2):
        ledger.append("charge", "visits", {"cost": cost})
    ledger.append("answer", "visits", {}, content="text")
    server.execute(*grants(("analyst",), ("auditor",)), role="owner")
    return ledger


def append(server, role, link, content=None):
    with server.connect(role) as connection:
        return connection.execute(APPEND, (*link, content)).fetchone()[0]


def follow(ledger, kind="charge", table="visits", payload="{}", time=TIME):
    return next_link(link_of(ledger._entries[-1]), time, kind, table, payload)


def test_an_analyst_may_append_what_spends(server, ledger):
    with open_ledger(server.address("analyst")) as own:
        entries = [own.append(kind, "visits", {"cost": 1}) for kind in ("charge", "validated", "reserve")]
        entries.append(own.append("answer", "visits", {}, content="mine"))
        assert own.forget([entries[-1].payload["content"]]) == 1
    assert ledger.entries()[-4:] == tuple(entries)
    assert ledger.verify()[0] == 9


def test_an_analyst_writes_no_budget_and_creates_nothing(server, ledger):
    with open_ledger(server.address("analyst")) as own, pytest.raises(LedgerError, match="only an owner"):
        own.append("budget", "visits", {"budgets": ["more"]})
    assert ledger.append("budget", "visits", {"budgets": ["more"]}).sequence == 6
    first = Link(1, TIME, "created", "", "{}", "0" * 64, "1" * 64)
    for role in ("analyst", "owner"):
        with pytest.raises(psycopg.Error):
            append(server, role, first)


def test_only_an_owner_declares_rules_anew(server, ledger):
    with open_ledger(server.address("analyst")) as own, pytest.raises(LedgerError, match="only an owner"):
        own.append("redeclare", "visits", {"rules": {"users": "ab"}})
    with open_ledger(server.address("guarded", "s3cret%2Fw0rd")) as own:
        assert own.append("redeclare", "visits", {"rules": {"users": "ab"}}).sequence == 6


def test_an_analyst_states_no_totals(server, ledger):
    def stated(own):
        return own.append_totals("visits", {"visits": {"budgets": []}}, own.head()[0])

    with open_ledger(server.address("analyst")) as own:
        assert not stated(own)
        with pytest.raises(LedgerError, match="only an owner"):
            own.append("totals", "visits", {"carried": 5, "kept": "", "tables": {"visits": {"budgets": []}}})
    assert ledger.head()[0] == 5
    # A ledger of the version without totals learns them from its owner.
    server.execute(
        "CREATE OR REPLACE FUNCTION emdp_ledger.check_event() RETURNS trigger LANGUAGE plpgsql SET search_path = "
        f"pg_catalog, pg_temp AS $body${postgres_schema._CHECK_EVENT_WITHOUT_TOTALS}$body$",
        role="owner",
    )
    assert stated(ledger)
    with open_ledger(server.address("analyst")) as own:
        assert own.append("charge", "visits", {"cost": 1}).sequence == 7
    with open_ledger(server.address("analyst")) as own:
        view = own.view("visits")
        assert isinstance(view, View)
        assert (view.floor, view.end, len(later(view, 5, "totals", "charge"))) == (6, 7, 2)
        assert own.entries() == ledger.entries()
        server.execute("ALTER TABLE emdp_ledger.event DISABLE TRIGGER USER")
        server.execute(
            "DELETE FROM emdp_ledger.event WHERE sequence = 3", "ALTER TABLE emdp_ledger.event ENABLE TRIGGER USER"
        )
    with pytest.raises(LedgerError, match="chain breaks"):
        open_ledger(server.address("analyst"))


@pytest.fixture
def old_server(server):
    """Return the server with the ledger of an earlier version: its links, and its check, which knew fewer kinds."""
    links = json.loads(Path(__file__).with_name("old_links.json").read_text())
    create_in(address_of(server.address()), (tuple(Link(*link) for link in links), ()))
    body = postgres_schema._CHECK_EVENT_BEFORE
    server.execute(
        "CREATE OR REPLACE FUNCTION emdp_ledger.check_event() RETURNS trigger LANGUAGE plpgsql "
        f"SET search_path = pg_catalog, pg_temp AS $body${body}$body$",
        *grants(("analyst",), ("auditor",)),
        role="owner",
    )
    return server


def test_the_check_of_an_earlier_version_is_known_to_the_letter():
    # The text as that version had it: a change of today's must not change what is taken for it.
    digest = hashlib.sha256(postgres_schema._CHECK_EVENT_BEFORE.encode()).hexdigest()
    assert digest == "432cbcdc5fe004413c87f0cc949d2bf864e92e4bc49b369c8d42fad16bfca2d3"


def test_a_ledger_of_an_earlier_version_is_charged_and_learns_to_redeclare_from_its_owner(old_server):
    with read_ledger(old_server.address("auditor")) as own:
        assert own.verify()[0] == 10
    with open_ledger(old_server.address("analyst")) as own:
        own.append("validated", "visits", {"begins": True})
        own.append("charge", "visits", {})
        with pytest.raises(LedgerError, match="denied by the server"):
            own.append("redeclare", "visits", {"rules": {}})
        assert own.verify()[0] == 12
    with open_ledger(old_server.address()) as own:
        assert own.append("redeclare", "visits", {"rules": {}}).sequence == 13
        assert own.append("redeclare", "visits", {"rules": {}}).sequence == 14
    with open_ledger(old_server.address("analyst")) as own:
        own.append("charge", "visits", {})
        with pytest.raises(LedgerError, match="only an owner"):
            own.append("redeclare", "visits", {"rules": {}})
        assert own.verify()[0] == 15


BY_HAND = [
    "DELETE FROM emdp_ledger.event",
    "DELETE FROM emdp_ledger.content",
    "DELETE FROM emdp_ledger.head",
    "TRUNCATE emdp_ledger.event, emdp_ledger.head, emdp_ledger.content",
    "UPDATE emdp_ledger.event SET payload = '{}'",
    "UPDATE emdp_ledger.head SET sequence = 1",
    "UPDATE emdp_ledger.content SET text = ''",
    "INSERT INTO emdp_ledger.event SELECT * FROM emdp_ledger.event",
    "INSERT INTO emdp_ledger.event VALUES (6, '', 'budget', 'visits', '{}', '', '')",
    "INSERT INTO emdp_ledger.content VALUES ('', '')",
    "MERGE INTO emdp_ledger.event e USING emdp_ledger.head h ON e.sequence = h.sequence WHEN MATCHED THEN DELETE",
    "COPY emdp_ledger.event FROM STDIN",
    "DROP TABLE emdp_ledger.event",
    "DROP SCHEMA emdp_ledger CASCADE",
    "DROP TRIGGER event_change ON emdp_ledger.event",
    "ALTER TABLE emdp_ledger.event DISABLE TRIGGER ALL",
    "ALTER FUNCTION emdp_ledger.check_event() RENAME TO other",
    "CREATE FUNCTION emdp_ledger.event_hash(text) RETURNS text LANGUAGE sql AS 'SELECT 1::text'",
    "CREATE TABLE emdp_ledger.other ()",
    "CREATE TRIGGER mine BEFORE INSERT ON emdp_ledger.event EXECUTE FUNCTION emdp_ledger.refuse()",
    "CREATE RULE mine AS ON INSERT TO emdp_ledger.event DO INSTEAD NOTHING",
    "SET SESSION AUTHORIZATION owner",
    "SET ROLE owner",
    "SET session_replication_role = replica",
    "DO $$BEGIN LOCK TABLE emdp_ledger.event; END$$",
]


@pytest.mark.parametrize("role", ["analyst", "auditor", "stranger"])
def test_who_is_no_owner_changes_nothing_by_hand(server, ledger, role):
    with server.connect(role) as connection:
        for statement in BY_HAND:
            with pytest.raises(DENIED):
                connection.execute(statement)
    assert ledger.verify() == ledger.head()


CALLS = [
    "SELECT emdp_ledger.hold()",
    "SELECT emdp_ledger.append(6, '', 'charge', 'visits', '{}', '', '', NULL)",
    "SELECT emdp_ledger.forget(ARRAY['x'])",
    "SELECT emdp_ledger.event_hash(6, '', 'charge', 'visits', '{}', '')",
]


@pytest.mark.parametrize("role", ["auditor", "stranger"])
def test_auditors_and_strangers_call_nothing(server, ledger, role):
    with server.connect(role) as connection:
        for statement in CALLS:
            with pytest.raises(DENIED):
                connection.execute(statement)


def test_an_auditor_reads_and_a_stranger_does_not(server, ledger):
    with read_ledger(server.address("auditor")) as own:
        assert own.verify() == ledger.head()
    with pytest.raises(LedgerError, match="cannot be written by this user"):
        open_ledger(server.address("auditor"))
    for opener in (read_ledger, open_ledger):
        with pytest.raises(LedgerError, match="denied by the server"):
            opener(server.address("stranger"))


def broken_links(ledger):
    """Return links that do not follow, each but for one thing as it should be, and recomputed where a cheat would."""
    good = follow(ledger)
    last = link_of(ledger._entries[-1])
    yield "hash", good._replace(hash="0" * 64)
    yield "payload", good._replace(payload='{"cost":0}')
    yield "table", good._replace(table="other")
    yield "gap", next_link(last._replace(sequence=last.sequence + 1), TIME, "charge", "visits", "{}")
    yield "again", last
    yield "fork", next_link(link_of(ledger._entries[-2]), TIME, "charge", "visits", "{}")
    yield "other chain", next_link(last._replace(hash="0" * 64), TIME, "charge", "visits", "{}")
    yield "budget", follow(ledger, "budget")
    yield "created", follow(ledger, "created", "")
    yield "unknown", follow(ledger, "grant")
    yield "no table", follow(ledger, table="")
    yield "no object", follow(ledger, payload="[]")
    yield "no JSON", follow(ledger, payload="{")
    yield "long number", follow(ledger, payload='{"a":' + "7" * 5000 + "}")
    yield "deep", follow(ledger, payload='{"a":' + "[" * 3000 + "]" * 3000 + "}")
    yield "deep in turns", follow(ledger, payload='{"a":' + '[{},{"b":' * 40 + "1" + "}]" * 40 + "}")
    yield "not ASCII", follow(ledger, payload='{"a":"b"}')._replace(payload='{"a":"ä"}')
    yield "time", follow(ledger, time="yesterday")
    yield "time quoted", follow(ledger, time=f'{TIME}","')
    for name in Link._fields:
        yield f"no {name}", good._replace(**{name: None})


def test_a_link_that_does_not_follow_is_refused_whoever_comes(server, ledger):
    for name, link in broken_links(ledger):
        for role in ("analyst", "owner"):
            if (name, role) == ("budget", "owner"):
                continue
            with pytest.raises(psycopg.Error):
                append(server, role, link)
    assert open_ledger(server.address()).head() == ledger.head()
    # As nested and with as many digits and brackets as any entry of emdp has: taken.
    fits = canonical_json({"a": [[[["[" * 900, {}]]] * 3], "b": 10**300, "c": '"' * 9 + "{["})
    append(server, "analyst", follow(ledger, payload=fits))
    assert ledger.verify()[0] == 6


def test_a_setting_of_the_callers_changes_no_meaning(server, ledger):
    fake = "CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$SELECT ''::bytea$$"
    with server.connect("analyst") as connection:
        connection.execute(fake)
        connection.execute("SET search_path = pg_temp, pg_catalog")
        connection.execute("SET standard_conforming_strings = off")
        connection.execute("CREATE TEMP TABLE head (sequence bigint, hash text)")
        for _, link in broken_links(ledger):
            with pytest.raises(psycopg.Error):
                connection.execute(APPEND, (*link, None))
        link = follow(ledger, table='a "\\" ä', payload=canonical_json({"a": '\\"'}))
        connection.execute(APPEND, (*link, None))
    assert ledger.verify() == (6, link.hash)


def test_a_text_is_kept_with_an_answer_that_names_it(server, ledger):
    payload = canonical_json({"content": content_digest("mine"), "of": '"content":"x"'})
    for kind, own, text in (
        ("charge", payload, "mine"),
        ("answer", payload, "yours"),
        ("answer", "{}", "mine"),
        ("answer", canonical_json({"query": payload}), "mine"),
        ("answer", canonical_json({"of": {"content": content_digest("mine")}}), "mine"),
        ("answer", f'{{"content":"{content_digest("mine")}","content":"b"}}', "mine"),
    ):
        with pytest.raises(psycopg.Error) as caught:
            append(server, "analyst", follow(ledger, kind, payload=own), text)
        assert caught.value.sqlstate == BROKEN
    append(server, "analyst", follow(ledger, "answer", payload=payload), "mine")
    assert ledger.content(content_digest("mine")) == "mine"


SLIPS = [
    "DELETE FROM emdp_ledger.event WHERE sequence = 5",
    "UPDATE emdp_ledger.event SET payload = '{}'",
    "TRUNCATE emdp_ledger.event",
    "DELETE FROM emdp_ledger.head",
    "TRUNCATE emdp_ledger.head",
    "UPDATE emdp_ledger.head SET sequence = 4",
    "UPDATE emdp_ledger.head SET sequence = 6",
    "INSERT INTO emdp_ledger.head VALUES (2, 1, '')",
    "INSERT INTO emdp_ledger.event SELECT 6, time, kind, 'visits', payload, hash, hash FROM emdp_ledger.event",
    "UPDATE emdp_ledger.content SET text = 'other'",
    "INSERT INTO emdp_ledger.content VALUES ('0', 'other')",
]


def test_slips_of_the_owner_are_refused(server, ledger):
    with server.connect("owner") as connection:
        for statement in SLIPS:
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(statement)
            assert caught.value.sqlstate == BROKEN
    assert ledger.verify() == ledger.head()


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("GRANT INSERT ON emdp_ledger.event TO analyst", "more than SELECT"),
        ("GRANT UPDATE (hash) ON emdp_ledger.head TO PUBLIC", "more than SELECT"),
        ("GRANT TRIGGER ON emdp_ledger.event TO analyst", "more than SELECT"),
        ("GRANT CREATE ON SCHEMA emdp_ledger TO analyst", "more than SELECT"),
        ("DROP TRIGGER event_change ON emdp_ledger.event", "lacks its tables"),
        ("ALTER TABLE emdp_ledger.event DISABLE TRIGGER event_insert", "lacks its tables"),
        ("ALTER FUNCTION emdp_ledger.append SECURITY INVOKER", "lacks its tables"),
        ("ALTER FUNCTION emdp_ledger.append RESET search_path", "lacks its tables"),
        ("CREATE OR REPLACE FUNCTION emdp_ledger.refuse() RETURNS trigger LANGUAGE plpgsql "
         "SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NULL; END'", "lacks its tables"),
        ("CREATE FUNCTION emdp_ledger.append(integer) RETURNS text LANGUAGE sql AS 'SELECT 1::text'", "lacks its"),
        ("CREATE VIEW emdp_ledger.other AS SELECT 1", "lacks its tables"),
        ("ALTER TABLE emdp_ledger.event ALTER payload TYPE varchar", "lacks its tables"),
        ("ALTER TABLE emdp_ledger.event SET UNLOGGED", "lacks its tables"),
        ("ALTER TABLE emdp_ledger.event ENABLE ROW LEVEL SECURITY", "lacks its tables"),
        ("CREATE RULE own AS ON DELETE TO emdp_ledger.content DO INSTEAD NOTHING", "lacks its tables"),
        ("COMMENT ON SCHEMA emdp_ledger IS 'emdp ledger, format 2'", "install the emdp that"),
        ("COMMENT ON SCHEMA emdp_ledger IS NULL", "install the emdp that"),
        ("DROP TABLE emdp_ledger.content", "lacks its tables"),
        ("ALTER SCHEMA emdp_ledger RENAME TO other", "does not exist"),
    ],
)  # fmt: skip
def test_a_schema_that_guards_less_is_refused(server, ledger, statement, words):
    server.execute(statement)
    for call in (lambda: read_ledger(server.address()), lambda: ledger.append("charge", "visits", {})):
        with pytest.raises(LedgerError, match=words):
            call()


def test_default_privileges_that_give_more_are_noticed(server):
    server.execute("ALTER DEFAULT PRIVILEGES GRANT DELETE ON TABLES TO analyst", role="owner")
    try:
        with pytest.raises(LedgerError, match="more than SELECT"):
            open_ledger(server.address())
    finally:
        server.execute("ALTER DEFAULT PRIVILEGES REVOKE DELETE ON TABLES FROM analyst", role="owner")


def test_a_member_of_the_owning_role_is_an_owner_and_keeps_being_one_as_analyst(server, ledger):
    with open_ledger(server.address("guarded", "s3cret%2Fw0rd")) as own:
        assert own.append("budget", "visits", {"budgets": []}).sequence == 6


def test_names_of_roles_are_quoted():
    assert grants(('an"a',), ("b",))[-1].endswith('TO "an""a";')
    assert grants((), ()) == ()
