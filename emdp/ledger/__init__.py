"""Charges on disk, in a file or a database: an append-only, hash-chained list of events that processes share."""

from emdp.ledger.address import address_of, shown_place
from emdp.ledger.base import KINDS, Entry, Ledger
from emdp.ledger.opening import copy_ledger, ledger_exists, open_ledger, read_ledger
from emdp.ledger.runs import hold_runs

__all__ = [
    "KINDS",
    "Entry",
    "Ledger",
    "address_of",
    "copy_ledger",
    "hold_runs",
    "ledger_exists",
    "open_ledger",
    "read_ledger",
    "shown_place",
]
