"""A job of its own in Spark's mode ``local[2,3]``: in a release's second pass tasks fail after they have drawn.

What every run of a task drew is written to a folder, its only argument; what the passes gave is printed as JSON.
"""

import json
import os
import sys
import uuid
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import emdp
from emdp.base.errors import EmdpError
from emdp.estimators.crowds import MeanValues, WorkerCrowd
from emdp.noise.choices import draw_below
from emdp.questions.reading import Reading
from emdp.tables.readings import read_items

USERS, PARTITIONS, ATTEMPTS = 3000, 3, 3


@dataclass(frozen=True)
class Drawn:
    """Draws a number for each user, and notes the sum; the task of partition 0 then fails, so many times."""

    folder: str
    failures: int
    size: int = 1

    def sums(self, values: Any, groups: Any) -> Any:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        total = int(draw_below(np.full(len(values), 10**6)).sum())
        name = f"{context.partitionId()}.{context.attemptNumber()}.{uuid.uuid4().hex}"
        (Path(self.folder) / name).write_text(str(total))
        if context.partitionId() == 0 and context.attemptNumber() < self.failures:
            raise RuntimeError("this machine is lost")
        return np.array([total])


def started() -> Any:
    """Return a session that gives a task three attempts; plain local mode gives it one."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[2,{ATTEMPTS}]").appName("emdp retries of passes")
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.catalogImplementation": "in-memory",
        # No folder of tables where the job runs.
        "spark.sql.warehouse.dir": str(Path(sys.argv[1]) / "warehouse"),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def main() -> None:
    """Run the job."""
    folder = Path(sys.argv[1])
    spark = started()
    rows = spark.range(0, 2 * USERS, 1, 2).selectExpr(f"id % {USERS} AS user", "0.5D AS x")
    table = emdp.read(rows, user="user", space=emdp.Interval("x", 0, 1), users=USERS, version="1")
    read: Any = read_items(table, Reading("means", True, (emdp.col("x"),)))
    blocks = read.open()
    crowd = WorkerCrowd(blocks, USERS, MeanValues(read.exponents, (0,)))
    totals = []
    for name, failures in (("first", 0), ("second", 1), ("third", 0)):
        (folder / name).mkdir()
        totals.append(int(crowd.added(Drawn(str(folder / name), failures))[0]))
    (folder / "always").mkdir()
    error = ""
    try:
        crowd.added(Drawn(str(folder / "always"), ATTEMPTS))
    except EmdpError as caught:
        error = str(caught)
    blocks.close()
    left = len(spark.sparkContext._jsc.getPersistentRDDs())
    spark.stop()
    sys.stdout.write(json.dumps({"totals": totals, "error": error, "left": left}) + "\n")


if __name__ == "__main__":
    main()
