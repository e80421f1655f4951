"""Private tables, and the engines that compute exact statistics of them: one engine a file."""

from emdp.tables.duckdb import check_engine, check_statement, mean_of_user_means
from emdp.tables.table import Table, UserList, read

__all__ = ["Table", "UserList", "check_engine", "check_statement", "mean_of_user_means", "read"]
