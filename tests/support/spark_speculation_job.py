"""A job on a cluster with speculation: two runs of a task draw, once the second comes first, once the first.

Arguments: the cluster's address, and a folder. What every run drew is written to the folder, and what was released;
the number of charges is printed.
"""

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import spark_retry_work as work

import emdp
from emdp.estimators.itemwise.release import ItemwiseRelease


def started(address: str, folder: Path) -> Any:
    """Return a session with two executors of one core."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(address).appName("emdp speculation")
    options = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.1",
        # Of the two partitions that are asked for at a time, one is enough to call the other slow.
        "spark.speculation.quantile": "0.4",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.executor.memory": "600m",
        "spark.executor.extraJavaOptions": options,
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "spark.driver.memory": "600m",
        "spark.driver.extraJavaOptions": options,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(work.PARTITIONS),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def main() -> None:
    """Run the job."""
    folder = Path(sys.argv[2])
    spark = started(sys.argv[1], folder)
    rows = spark.range(0, work.USERS * work.RECORDS, 1, 2).selectExpr(f"id % {work.USERS} AS user", "'bar' AS kind")
    table = emdp.read(
        rows, user="user", space=work.KINDS, users=work.USERS, records=work.RECORDS, version="1", name="t"
    )
    budget = emdp.EmdDP(1e6, 1e-3, sizes="bounded", model="local")
    with emdp.Session(table, budget=budget, ledger=folder / "x.ledger") as session:
        for wins in (1, 0):
            place = folder / str(wins)
            place.mkdir()
            ItemwiseRelease.encoder = (  # type: ignore[method-assign]
                lambda self, *, keep_exact, wins=wins, place=place: work.SlowEncoder(
                    self.randomizer, self.size, self.is_sampled, str(place), wins
                )
            )
            session.itemwise(work.law(), delta=1e-8, model="local").frame.write_ipc(place / "released.ipc")
        sys.stdout.write(f"{len(session.history())} charges\n")
    spark.stop()


if __name__ == "__main__":
    main()
