"""Accounts: budgets, the filter over releases, and prices of batches (EMD 7)."""
