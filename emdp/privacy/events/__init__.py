"""Events: what was released, as a ledger keeps it."""
