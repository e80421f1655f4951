"""Statements under USER_PRIVACY that ask about rows with owners: any function of a row, any key of a public list."""
