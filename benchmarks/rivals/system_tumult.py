"""Tumult Analytics on Spark: count and sum by group, at half of epsilon each; the mean is their quotient.

It is told the identifier of a user (`AddRowsWithID`), at most 10 rows each (`MaxRowsPerID`), the listed categories
(`KeySet`) and the range of an amount. The truncated table is a cached view, so that it is made once. Laplace and
geometric noise, its choice for `PureDPBudget`. Spark runs in this process's JVM on two threads, with as many shuffle
partitions; as installed it has 200, which is for clusters and slower here.
"""

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

PACKAGES = ("tmlt.analytics", "tmlt.core", "pyspark", "pandas")


def start(task: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Start Spark and return the query in a new session; `task["option"]` is `kept` for one session that has answered
    before, whose truncated view stays cached, and `installed` to leave the number of shuffle partitions alone.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

    settings = {} if task["option"] == "installed" else {"spark.sql.shuffle.partitions": "2"}
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", task["folder"])
        .config(map=settings)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    keys = KeySet.from_dict({"category": task["keys"]})

    def opened(epsilon: float) -> Session:
        session = Session.from_dataframe(
            privacy_budget=PureDPBudget(epsilon),
            source_id="visits",
            dataframe=spark.read.parquet(task["path"]),
            protected_change=AddRowsWithID("user_id"),
        )
        session.create_view(QueryBuilder("visits").enforce(MaxRowsPerID(task["cap"])), "bounded", cache=True)
        return session

    def ask(session: Session, epsilon: float) -> dict[str, Any]:
        groups, half = QueryBuilder("bounded").groupby(keys), PureDPBudget(epsilon / 2)
        counts = session.evaluate(groups.count(name="n"), half).collect()
        sums = session.evaluate(groups.sum("amount", task["low"], task["high"], name="total"), half).collect()
        totals = {row["category"]: row["total"] for row in sums}
        return {row["category"]: _with_mean(row["n"], totals[row["category"]]) for row in counts}

    def answer(told: dict[str, Any]) -> dict[str, Any]:
        session = opened(told["epsilon"])
        found = ask(session, told["epsilon"])
        session.delete_view("bounded")
        return found

    if task["option"] != "kept":
        return answer
    kept = opened(1e6)
    ask(kept, 1.0)
    return lambda told: ask(kept, told["epsilon"])


def _with_mean(count: float, total: float) -> list[float]:
    return [count, total, total / count]
