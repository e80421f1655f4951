"""A job on a cluster with speculation: draws that are made twice, and a machine that is lost once they are shuffled.

Arguments: the cluster's address, and a folder. What every run of a task drew is written to the folder, and what was
released; the error of the release whose machine was lost is printed, and what is kept afterwards.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import spark_draw_work as work
from spark_speculation_job import started

import emdp
from emdp.base.errors import EmdpError
from emdp.mechanisms.strings.stable_histogram import StableHistogram
from emdp.questions.reading import Reading, TextColumn
from emdp.tables.readings import read_items

USERS, LONGEST_RUN = 1000, 120.0


@dataclass(frozen=True, eq=False)
class TwiceEncoder(work.NotingEncoder):
    """The first run of partition 0 draws and waits for a second run, which alone comes to its end."""

    def encode(self, block: Any, parts: Any = None) -> Iterator[pl.DataFrame]:
        yield from super().encode(block, parts)
        end = time.monotonic() + LONGEST_RUN
        while work.task_numbers() == (0, 0):
            if time.monotonic() > end:
                raise RuntimeError("no second run was started, or it never ended")
            time.sleep(0.05)


@dataclass(frozen=True, eq=False)
class LostEncoder(work.NotingEncoder):
    """Notes the stages that draw, and ends its machine's process that keeps draws and shuffles, once it read them."""

    def encode(self, block: Any, parts: Any = None) -> Iterator[pl.DataFrame]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        (Path(self.folder) / f"stage.{context.stageId()}").touch()
        return super().encode(block, parts)

    def settle(self, sums: pl.DataFrame) -> pl.DataFrame:
        found = super().settle(sums)
        if work.task_numbers() == (0, 0):
            parent = os.getppid()
            executor = int(Path(f"/proc/{parent}/stat").read_text().rsplit(")", 1)[1].split()[1])
            os.kill(executor, signal.SIGKILL)
            time.sleep(LONGEST_RUN)
        return found


def main() -> None:
    """Run the job."""
    folder = Path(sys.argv[2])
    spark = started(sys.argv[1], folder)
    texts = f"id % {USERS} AS user", "0.5D AS x", "concat('secret ', id % 31) AS t"
    rows = spark.range(0, 3 * USERS, 1, 2).selectExpr(*texts)
    table = emdp.read(rows, user="user", space=emdp.Interval("x", 0, 1), users=USERS, version="1")
    reading = Reading("texts", True, column=TextColumn("t"))
    error = ""
    for name, kind in (("twice", TwiceEncoder), ("lost", LostEncoder)):
        (folder / name).mkdir()
        blocks: Any = read_items(table, reading).open()
        try:
            encoder = kind(StableHistogram(USERS, 1.0, 1e-6, 1), str(folder / name))
            pl.concat(blocks.settled(encoder)).write_ipc(folder / f"{name}.ipc")
        except EmdpError as caught:
            error = f"{type(caught).__name__}: {caught}"
        blocks.close()
    sys.stdout.write(json.dumps({"error": error, "left": len(spark.sparkContext._jsc.getPersistentRDDs())}) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
