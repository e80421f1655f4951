"""Charges on disk, in a file or a database: an append-only, hash-chained list of events that processes share."""

from emdp.ledger.address import Address, address_of, place_beside, place_of, shown_place
from emdp.ledger.base import KINDS, Entry, Ledger
from emdp.ledger.beside import is_of_a_ledger, ledger_files
from emdp.ledger.opening import copy_ledger, ledger_exists, open_ledger, read_ledger

__all__ = [
    "KINDS",
    "Address",
    "Entry",
    "Ledger",
    "address_of",
    "copy_ledger",
    "is_of_a_ledger",
    "ledger_exists",
    "ledger_files",
    "open_ledger",
    "place_beside",
    "place_of",
    "read_ledger",
    "shown_place",
]
