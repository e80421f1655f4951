"""Addresses are read strictly, and shown without what nobody may see."""

from pathlib import Path

import pytest

from emdp.base.errors import LedgerError, UsageError
from emdp.ledger import copy_ledger, ledger_exists, open_ledger, place_beside, place_of, read_ledger, shown_place
from emdp.ledger.address import Address, address_of


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


CONNECTIONS = [
    "dbname=city",
    "service = city",
    "host=db user=ann password=s3cret dbname=city",
    "user=ann",
    " host=db",
    "sslkey=s3cret dbname=city",
    "anything=s3cret",
    "postgres:city",
    "postgresql:ann:s3cret@h/city",
    "POSTGRES:ann:s3cret@h/city",
    "POSTGRES://ann:s3cret@h/city",
    "postgresql:/ann:s3cret@h/city",
    " postgresql://ann:s3cret@h/city",
    "\tpostgresql://ann:s3cret@h/city",
    "mysql://ann:s3cret@h/city",
    "s3://key:s3cret@bucket/city",
    "http://ann:s3cret@h/city",
    "jdbc:postgresql://ann:s3cret@h/city",
    "file:city.ledger",
    "file:///city.ledger",
    "db:5432/city",
    "ann:s3cret@h/city",
    "/srv/postgresql://ann:s3cret@h/city",
]
"""What a file would be made for in silence, with a full budget of its own, were it taken for a path."""


@pytest.mark.parametrize("text", [*CONNECTIONS, Path("postgresql://ann:s3cret@h/city"), Path("dbname=s3cret")])
def test_what_looks_like_a_connection_is_no_file_and_is_not_shown(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    uses = [open_ledger, read_ledger, ledger_exists, place_of, lambda place: copy_ledger("one.ledger", place)]
    for use in [*uses, *([lambda place: place_beside(tmp_path, place)] if isinstance(text, str) else [])]:
        with pytest.raises(UsageError, match="postgresql://user@host/database") as caught:
            use(text)
        assert "cret" not in str(caught.value)
        assert "ann" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["./a=b.ledger", "./postgres:city", "week=1/../c.ledger", "../x/dbname=city"])
def test_a_path_with_its_folder_stays_a_path(text, tmp_path, monkeypatch):
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path / "x")
    if text.startswith("week"):
        with pytest.raises(UsageError, match=r"or \./NAME"):
            place_of(text)
        return
    with open_ledger(text) as ledger:
        assert ledger.path == str(tmp_path / "x" / text)
    assert ledger_exists(text)


def test_a_folder_is_no_part_of_what_looks_like_a_connection(tmp_path):
    folder = tmp_path / "dbname=x"
    assert place_beside(folder, "city.ledger") == str(folder / "city.ledger")
    assert place_beside(Path("dbname=x"), "city.ledger") == str(Path("dbname=x/city.ledger").absolute())
    assert place_beside(folder, "postgresql://ann:s3cret@h/city") == "postgresql://ann:s3cret@h/city"
    assert isinstance(place_of("postgres://h/city"), Address)


@pytest.mark.parametrize("text", ["", ":memory:", "a\0b"])
def test_what_names_no_file_is_refused(text):
    with pytest.raises(LedgerError, match="names no file"):
        place_of(text)
