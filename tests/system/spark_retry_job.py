"""A job of its own in Spark's mode ``local[2,3]``, in which tasks fail after they have drawn, and run again.

What every run of a task drew is written to a folder; what was released and charged is printed as JSON. The folder is
this job's one argument.
"""

import json
import os
import sys
import uuid
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import emdp
from emdp.errors import EmdpError
from emdp.estimators.itemwise_encoders import HistogramEncoder
from emdp.estimators.itemwise_release import ItemwiseRelease
from emdp.expressions.reading import BagBlock
from emdp.randomizers import KRR

KINDS = emdp.Categories("kind", ["bar", "cafe", "park"], on_invalid="neutral")
STRENGTH = 1.0
USERS, RECORDS, PARTITIONS, ATTEMPTS = 1000, 20, 3, 3


@dataclass(frozen=True, eq=False)
class FailingEncoder(HistogramEncoder):
    """Notes its draws; the task of partition 0 then fails, so many times."""

    folder: str = ""
    failures: int = 0

    def encode(self, block: BagBlock) -> Iterator[pl.DataFrame]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        frames = list(super().encode(block))
        name = f"{context.partitionId()}.{context.attemptNumber()}.{uuid.uuid4().hex}.arrow"
        pl.concat(frames).write_ipc(Path(self.folder) / name)
        yield from frames
        if context.partitionId() == 0 and context.attemptNumber() < self.failures:
            raise RuntimeError("this machine is lost")


def started() -> Any:
    """Return a session that gives a task three attempts, as clusters do four; plain local mode gives it one."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[2,{ATTEMPTS}]").appName("emdp retries")
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


def asked(session: emdp.Session, folder: Path, failures: int) -> pl.DataFrame:
    """Ask for every user's moved records, drawn on workers whose tasks fail so often."""
    folder.mkdir()
    ItemwiseRelease.encoder = (  # type: ignore[method-assign]
        lambda self, *, keep_exact: FailingEncoder(self.randomizer, self.size, self.is_sampled, str(folder), failures)
    )
    return session.itemwise(KRR(KINDS, STRENGTH), delta=1e-8, model="local").frame


def main() -> None:
    """Run the job."""
    folder = Path(sys.argv[1])
    spark = started()
    rows = spark.range(0, USERS * RECORDS, 1, 2).selectExpr(f"id % {USERS} AS user", "'bar' AS kind")
    table = emdp.read(rows, user="user", space=KINDS, users=USERS, records=RECORDS, version="1", name="t")
    budget = emdp.EmdDP(1e6, 1e-3, sizes="bounded", model="local")
    with emdp.Session(table, budget=budget, ledger=folder / "x.ledger") as session:
        frame = asked(session, folder / "once", 1)
        frame.write_ipc(folder / "released.arrow")
        charges = [len(session.history())]
        error = ""
        try:
            asked(session, folder / "always", ATTEMPTS)
        except EmdpError as caught:
            error = str(caught)
        charges.append(len(session.history()))
    spark.stop()
    sys.stdout.write(json.dumps({"charges": charges, "error": error}) + "\n")


if __name__ == "__main__":
    main()
