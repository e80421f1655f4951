"""A job for a Spark cluster: a mean, a smoothed histogram and moved points of check-ins, paid from one budget.

Run `python examples/spark_job.py`, or `spark-submit --master "local[1]" examples/spark_job.py`, to try it in local mode
on made-up check-ins, or send it to a cluster:

    spark-submit --master yarn --conf spark.pyspark.python=/opt/emdp/bin/python \\
        examples/spark_job.py --table city.visits --users /lists/users.parquet --version 2026-W47 \\
        --ledger postgresql://ledger.internal/emdp --out /results

docs/spark.md says what runs where, and what comes to the driver.
"""

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import emdp

BOX = (40.48, -74.26, 40.92, -73.70)
RECORDS = 20
"""Of every user: a public fact, which the job checks before its first charge."""


def submitted_to() -> str:
    """Return the master that spark-submit was told, nothing in a plain script."""
    from pyspark import SparkConf, SparkContext

    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return ""
    SparkContext._ensure_initialized()
    return SparkConf().get("spark.master", "") or ""


def started(is_local: bool) -> Any:
    """Return the Spark session: that of spark-submit, or one on this machine's cores."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("emdp")
    if is_local:
        # Workers run this interpreter, or their version of Python may differ from it.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "4",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        # What spark-submit was told comes first.
        builder = builder if submitted_to() else builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
    session = builder.getOrCreate()
    if is_local:
        session.sparkContext.setLogLevel("ERROR")
    return session


def made_up(session: Any, users: int) -> Any:
    """Return check-ins in which everybody has ``RECORDS``, around two places."""
    spots = {
        "lat": "0.02D * (pmod(xxhash64(id, 1), 1000) / 1000D)",
        "lon": "0.03D * (pmod(xxhash64(id, 2), 1000) / 1000D)",
    }
    home = {"lat": "IF(id % 3 = 0, 40.66D, 40.74D)", "lon": "IF(id % 3 = 0, -73.96D, -74.0D)"}
    columns = [f"{home[name]} + {spot} AS {name}" for name, spot in spots.items()]
    return session.range(0, users * RECORDS, 1, 4).selectExpr(f"id % {users} AS user_id", *columns)


def asked(session: emdp.Session, space: emdp.Space, out: Path) -> None:
    """Ask three questions, and write what was released."""
    head = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2.0)"
    statements = {
        "mean": f"{head} AVG(DISTANCE(POINT(40.7484, -73.9857))) AS km FROM visits",
        "cells": f"{head} FREQUENCY(GRID(8.0)) FROM visits",
    }
    for name, text in statements.items():
        answer = session.sql(text)
        answer.frame.write_parquet(out / f"{name}.parquet")
        print(answer.explain(), end="\n\n")
    # Every record is moved by noise on the worker that has read it; what comes back is sorted.
    moved = session.itemwise(emdp.randomizers.PlanarLaplace, alpha=20.0, delta=1e-9)
    moved.frame.write_parquet(out / "moved.parquet")
    print(f"{len(moved.frame)} points were moved; their middle:", moved.frame.median())


def main() -> None:
    """Run the job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", help="a table of the cluster with user_id, lat, lon; made up without it")
    parser.add_argument("--users", help="the public list: a file with one row a user")
    parser.add_argument("--version", help="the state of the data, such as its week")
    parser.add_argument("--ledger", help="an address of PostgreSQL, or a path on the driver's own disk")
    parser.add_argument("--out", type=Path, help="folder for what is released")
    options = parser.parse_args()
    given = [options.table, options.users, options.version, options.ledger, options.out]
    needed = "a job on a cluster needs --table, --users, --version, --ledger and --out"
    if any(given) and not all(given):
        parser.error(needed)
    if not importlib.util.find_spec("pyspark") or not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        print("Spark is not here: install pyspark (pip install 'emdp[spark]') and Java 17. Nothing was run.")
        return
    # PySpark's own, of pandas 3.
    warnings.simplefilter("ignore", FutureWarning)
    if not options.table and not (submitted_to() or "local").startswith("local"):
        parser.error(needed)
    spark = started(is_local=not options.table)
    space = emdp.Geo("lat", "lon", box=BOX, unit="km", on_invalid="clamp")
    with tempfile.TemporaryDirectory() as folder:
        out = options.out or Path(folder)
        rows = f"spark::{options.table}" if options.table else made_up(spark, users=500)
        table = emdp.read(
            rows,
            user="user_id",
            space=space,
            users=options.users or 500,
            records=RECORDS,
            version=options.version or "made up",
            name="visits",
        )
        # Moved points promise between bags of one size alone, so the budget does; the rest is charged to it as well.
        budget = emdp.EmdDP(alpha=40.0, delta=1e-8, sizes="bounded")
        with emdp.Session(table, budget=budget, ledger=options.ledger or Path(folder) / "visits.ledger") as session:
            asked(session, space, out)
            print(f"left: {session.remaining()}")
    spark.stop()


if __name__ == "__main__":
    main()
