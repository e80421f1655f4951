"""Private tables, and the engines that compute exact statistics of them: one engine a file."""

from emdp.tables.duckdb import aggregate, check_aggregation, check_engine, check_statement, mean_of_user_means
from emdp.tables.public import read_public
from emdp.tables.table import Table, UserList, read

__all__ = [
    "Table",
    "UserList",
    "aggregate",
    "check_aggregation",
    "check_engine",
    "check_statement",
    "mean_of_user_means",
    "read",
    "read_public",
]
