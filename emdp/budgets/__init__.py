"""Budgets of tables in a ledger: accounts, what was spent, and parts that are set aside."""
