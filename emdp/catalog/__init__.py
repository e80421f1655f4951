"""The catalog ``emdp.toml``: tables, their spaces, budgets and ledger, as an owner writes them down."""
