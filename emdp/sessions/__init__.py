"""Sessions: questions are planned, charged to the ledger, released and kept."""
