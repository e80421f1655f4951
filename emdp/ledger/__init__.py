"""Charges on disk: an append-only, hash-chained list of events that processes share."""

from emdp.ledger.base import KINDS, Entry, Ledger
from emdp.ledger.opening import open_ledger, read_ledger

__all__ = ["KINDS", "Entry", "Ledger", "open_ledger", "read_ledger"]
