"""Addresses are read strictly, and shown without what nobody may see."""

import pytest

from emdp.errors import UsageError
from emdp.ledger import open_ledger, read_ledger, shown_place
from emdp.ledger.address import address_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ann:secret@db.example/city", "postgresql://ann@db.example/city"),
        ("postgres://ann:se:cret@db.example:5433/city", "postgresql://ann@db.example:5433/city"),
        ("POSTGRESQL://db/city", None),
        ("postgresql:///city?host=/run/x&user=ann&password=secret", "postgresql:///city?host=/run/x&user=ann"),
        ("postgresql://a%40b:se%40cret@one:1,[::1]:2/c%20d?sslmode=verify-full",
         "postgresql://a%40b@one:1,[::1]:2/c%20d?sslmode=verify-full"),
        ("postgresql://ann@/city?sslpassword=secret&scram_client_key=secret", "postgresql://ann@/city"),
        ("postgresql://db/?dbname=city", "postgresql://db/?dbname=city"),
    ],
)  # fmt: skip
def test_what_is_shown_holds_no_password(text, shown):
    if shown is None:
        with pytest.raises(UsageError):
            address_of(text)
        return
    address = address_of(text)
    assert (address.text, address.shown) == (text, shown)
    assert shown_place(text) == shown
    assert "cret" not in repr(address)
    assert address_of(address.shown).shown == shown


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann:se@cret@db/city",
        "postgresql://ann:se/cret@db/city",
        "postgresql://ann:se?cret@db/city",
        "postgresql://ann:se#cret@db/city",
        "postgresql://ann:se cret@db/city",
        "postgresql://ann:12/cret@db",
        "postgresql://ann:12?cret@db/city",
        "postgresql://ann:12?a=cret@db/city",
        "postgresql://ann:cret@db/city?sslmode",
        "postgresql://ann:cret@db/city?password=a=cret",
        "postgresql://ann:cret@db/city?user=a&user=b",
        "postgresql://ann:cret%00@db/city",
        "postgresql://ann:cret@db:port/city",
        "postgresql://ann:cret@db",
        "postgresql://ann:cret@db/",
    ],
)
def test_a_malformed_address_is_refused_without_a_word_of_it(text):
    for opener in (open_ledger, read_ledger):
        with pytest.raises(UsageError, match="ledger is") as caught:
            opener(text)
        assert "cret" not in str(caught.value)


@pytest.mark.parametrize(
    "path", ["city.ledger", "mysql://ann:secret@db/city", "postgresql", None, 3, b"postgresql://a/b"]
)
def test_what_is_no_address_is_left_to_files(path):
    assert address_of(path) is None


def test_secrets_are_struck_out_of_what_the_library_says():
    address = address_of("postgresql://ann:se%2Fcret@db/city?sslpassword=other")
    said = address.scrub("bad se/cret\n  or se%2Fcret, other")
    assert said == "bad *** or ***, ***"
