"""Canonical JSON has one text a value; the chain notices every change of a stored field."""

import hashlib
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import LedgerError, UsageError
from emdp.ledger.chain import (
    FIRST_PREVIOUS_HASH,
    Link,
    canonical_json,
    check_links,
    entry_of,
    is_hash,
    next_link,
)

TIME = "2026-11-20T09:00:00.000000+00:00"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
PAYLOADS = st.dictionaries(st.text(), VALUES, max_size=4)


def chain_of(payloads):
    links = []
    for payload in payloads:
        links.append(next_link(links[-1] if links else None, TIME, "charge", "visits", canonical_json(payload)))
    return links


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(VALUES)
def test_canonical_json_round_trips_and_does_not_depend_on_the_order_of_keys(value):
    text = canonical_json(value)
    assert text.isascii()
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text
    if isinstance(value, dict):
        assert canonical_json(dict(reversed(value.items()))) == text


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, {1: "a"}, {"a": {None: 1}}, [{2.5: 1}], {"a": {1, 2}}, b"a", object()],
)
def test_what_is_not_json_is_refused(value):
    with pytest.raises(UsageError, match="payload must hold JSON values"):
        canonical_json({"event": value})


def test_what_refers_to_itself_or_nests_too_deeply_is_refused():
    loop = {}
    loop["again"] = loop
    for value in (loop, nested(100_000)):
        with pytest.raises(UsageError, match="payload"):
            canonical_json(value)


def test_hash_by_an_independent_route():
    first = next_link(None, TIME, "created", "", "{}")
    text = f'["emdp ledger 1",1,"{TIME}","created","","{{}}","{"0" * 64}"]'
    assert first.hash == hashlib.sha256(text.encode()).hexdigest()
    assert (first.sequence, first.previous_hash) == (1, FIRST_PREVIOUS_HASH)


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(st.lists(PAYLOADS, min_size=1, max_size=5), st.data())
def test_every_change_of_a_field_breaks_the_chain(payloads, data):
    links = chain_of(payloads)
    assert check_links(None, links) == links
    place = data.draw(st.integers(0, len(links) - 1))
    name = data.draw(st.sampled_from(Link._fields))
    old = getattr(links[place], name)
    new = data.draw((st.integers() if name == "sequence" else st.text()).filter(lambda value: value != old))
    changed = [*links[:place], links[place]._replace(**{name: new}), *links[place + 1 :]]
    with pytest.raises(LedgerError):
        check_links(None, changed)


def test_left_out_repeated_and_swapped_links_break_the_chain():
    a, b, c = chain_of([{"cost": 1}, {"cost": 2}, {"cost": 3}])
    for wrong in ([b, c], [a, c], [a, a, b, c], [a, c, b], [a, b, b]):
        with pytest.raises(LedgerError, match="chain breaks"):
            check_links(None, wrong)
    assert check_links(a, [b, c]) == [b, c]


@pytest.mark.parametrize("place", range(7))
def test_a_field_of_another_type_is_damage(place):
    record = list(chain_of([{}])[0])
    for other in (None, b"1", 1.0, True):
        changed = (*record[:place], other, *record[place + 1 :])
        with pytest.raises(LedgerError, match="damaged"):
            check_links(None, [changed])


@pytest.mark.parametrize("payload", ["", "[]", "1", "{", "NaN", "[" * 100_000])
def test_a_payload_that_is_no_object_is_damage_even_with_a_good_hash(payload):
    with pytest.raises(LedgerError, match="no JSON"):
        entry_of(next_link(None, TIME, "created", "", payload))


def test_each_entry_has_its_own_payload():
    link = next_link(None, TIME, "created", "", '{"cost":[1]}')
    entry_of(link).payload["cost"].append(2)
    assert entry_of(link).payload == {"cost": [1]}


def test_is_hash():
    assert is_hash("0123456789abcdef" * 4)
    assert not any(map(is_hash, ["", "g" * 64, "A" * 64, "0" * 65, "０" * 64]))


@settings(deadline=None, max_examples=50)
@given(st.text(), st.text(), st.text(), st.integers(1, 2**62))
def test_what_is_hashed_is_one_json_array(time, table, payload, sequence):
    last = Link(sequence, time, "charge", table, payload, "0" * 64, "f" * 64)
    link = next_link(last, time, "charge", table, payload)
    content = ["emdp ledger 1", sequence + 1, time, "charge", table, payload, "f" * 64]
    text = json.dumps(content, separators=(",", ":"))
    assert link.hash == hashlib.sha256(text.encode()).hexdigest()
