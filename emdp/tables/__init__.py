"""Private tables, and the engines that compute exact statistics of them: one folder an engine."""

from typing import TYPE_CHECKING

from emdp.base.lazy import lazy_names

if TYPE_CHECKING:
    from emdp.tables.engine import (
        aggregate,
        aggregate_checked,
        check_aggregation,
        check_engine,
        check_statement,
        mean_of_user_means,
    )
    from emdp.tables.engines.duckdb.items import bag_blocks, check_items, item_counts, point_blocks, user_means
    from emdp.tables.public import read_public
    from emdp.tables.table import Table, UserList, read
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.tables.engine": (
                "aggregate aggregate_checked check_aggregation check_engine check_statement mean_of_user_means"
            ),
            "emdp.tables.engines.duckdb.items": "bag_blocks check_items item_counts point_blocks user_means",
            "emdp.tables.public": "read_public",
            "emdp.tables.table": "Table UserList read",
        },
    )

__all__ = [
    "Table",
    "UserList",
    "aggregate",
    "aggregate_checked",
    "bag_blocks",
    "check_aggregation",
    "check_engine",
    "check_items",
    "check_statement",
    "item_counts",
    "mean_of_user_means",
    "point_blocks",
    "read",
    "read_public",
    "user_means",
]
