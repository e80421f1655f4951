"""Entries are frozen values with a known kind; a ledger is a context manager."""

import dataclasses
import importlib

import pytest

from emdp.base.errors import LedgerError
from emdp.ledger import KINDS, Entry, Ledger, open_ledger

TIME = "2026-11-20T09:00:00.000000+00:00"


def test_entry_is_frozen_hashable_and_comparable():
    entry = Entry(2, TIME, "charge", "visits", '{"cost":1}', "0" * 64, "1" * 64)
    assert entry == Entry(2, TIME, "charge", "visits", '{"cost":1}', "0" * 64, "1" * 64)
    assert hash(entry) == hash(dataclasses.replace(entry))
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.kind = "budget"


@pytest.mark.parametrize("kind", ["grant", "refund", "Charge", ""])
def test_entry_of_an_unknown_kind_is_refused(kind):
    assert kind not in KINDS
    with pytest.raises(LedgerError, match="newer emdp"):
        Entry(2, TIME, kind, "visits", "{}", "0" * 64, "1" * 64)


def test_ledger_is_abstract_and_closes_at_the_end_of_its_block(tmp_path):
    with pytest.raises(TypeError):
        Ledger()
    with open_ledger(tmp_path / "a.ledger") as ledger:
        assert isinstance(ledger, Ledger)
    with pytest.raises(ValueError, match="closed"):
        ledger.head()


@pytest.mark.parametrize(
    "name",
    [
        "", ".address", ".base", ".chain", ".faults", ".opening", ".place", ".postgres", ".postgres_faults",
        ".postgres_schema", ".runs", ".schema", ".sqlite", ".stored",
    ],
)  # fmt: skip
def test_every_public_name_exists(name):
    module = importlib.import_module("emdp.ledger" + name)
    assert all(hasattr(module, public) for public in module.__all__)
