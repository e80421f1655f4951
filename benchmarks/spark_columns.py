"""What a wide statement costs Spark's driver: CPU seconds and memory of Spark by the number of means of one statement.

`python benchmarks/spark_columns.py` asks for 32 to 256 means of distances and categories of 60 made-up check-ins in
local mode, so that what is measured is the work of planning and compiling, and prints a Markdown table. CPU seconds are
of Spark's process. Memory is the largest that was left of its old generation after a collection, and the driver has
`--memory` of heap in all. With `--at-once` no statement is dealt out to several.
"""

import argparse
import os
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import emdp
from emdp.base.errors import EmdpError
from emdp.expressions import Expression
from emdp.tables import mean_of_user_means
from emdp.tables.engines.spark import parts as spark_parts

KINDS = ["bar", "cafe", "museum", "park"]
SPACE = emdp.Product(
    emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="clamp"),
    emdp.Categories("kind", KINDS, on_invalid="neutral"),
)
RECORDS, USERS = 60, 6
TICK = os.sysconf("SC_CLK_TCK")


def started(folder: Path, memory: str) -> Any:
    """Return a session with so much memory in all."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    builder = SparkSession.builder.master("local[2]").appName("emdp benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def visits() -> pl.DataFrame:
    """Return made-up check-ins."""
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "user_id": rng.integers(0, USERS, RECORDS),
            "lat": rng.uniform(40.5, 40.9, RECORDS),
            "lon": rng.uniform(-74.2, -73.7, RECORDS),
            "kind": rng.choice(KINDS, RECORDS),
        }
    )


def means(count: int) -> tuple[Expression, ...]:
    """Return so many expressions, each near another point, at other distances, of other categories."""
    rng = np.random.default_rng(2)
    found = []
    for number in range(count):
        point = (round(rng.uniform(40.5, 40.9), 4), round(rng.uniform(-74.2, -73.7), 4))
        near = emdp.ramp(emdp.distance_to(point), 2 + number % 7, 1)
        found.append(near * emdp.category_is(KINDS[number % len(KINDS)], column="kind") + near)
    return tuple(found)


class Meter:
    """The CPU seconds and the largest live memory of Spark's process since it was made."""

    def __init__(self, session: Any) -> None:
        beans = session._jvm.java.lang.management.ManagementFactory
        self._process = beans.getRuntimeMXBean().getPid()
        (self._old,) = (pool for pool in beans.getMemoryPoolMXBeans() if pool.getName() == "Tenured Gen")
        session._jvm.java.lang.System.gc()
        self._before = self._seconds()
        self._largest = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def read(self) -> tuple[float, float]:
        """Return CPU seconds and megabytes."""
        self._ended.set()
        self._thread.join()
        return self._seconds() - self._before, self._largest / 2**20

    def _seconds(self) -> float:
        fields = Path(f"/proc/{self._process}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def _watch(self) -> None:
        while not self._ended.wait(0.2):
            self._largest = max(self._largest, self._old.getCollectionUsage().getUsed())


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--means", type=int, nargs="+", default=[32, 64, 128, 256])
    parser.add_argument("--memory", default="1g")
    parser.add_argument("--at-once", action="store_true")
    chosen = parser.parse_args()
    if chosen.at_once:
        spark_parts.MOST_SUMS = max(chosen.means)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        session = started(Path(place), chosen.memory)
        rows = session.createDataFrame(visits().to_arrow(compat_level=pl.CompatLevel.oldest()))
        table = emdp.read(rows, user="user_id", space=SPACE, users=USERS, name="visits")
        mean_of_user_means(table, means(1))
        print("| means | CPU s | MB after a collection |\n|--:|--:|--:|")
        for count in chosen.means:
            meter = Meter(session)
            try:
                mean_of_user_means(table, means(count))
                failed = ""
            except EmdpError as error:
                failed = f" ({type(error).__name__})"
            seconds, megabytes = meter.read()
            print(f"| {count}{failed} | {seconds:.1f} | {megabytes:.0f} |", flush=True)
        session.stop()


if __name__ == "__main__":
    main()
