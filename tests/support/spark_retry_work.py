"""An encoder whose task fails, or is slow, after it has drawn; and what every run of a task drew.

Each run notes its draws in a folder, under its partition's number and that of its attempt.
"""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import emdp
from emdp.estimators.itemwise.encoders import HistogramEncoder
from emdp.questions.reading import BagBlock
from emdp.randomizers import KRR

KINDS = emdp.Categories("kind", ["bar", "cafe", "park"], on_invalid="neutral")
STRENGTH = 1.0
USERS, RECORDS, PARTITIONS, ATTEMPTS = 1000, 20, 3, 3

LONGEST_RUN = 120.0
"""Seconds after which a run that waits for another one fails."""

Bag = tuple[tuple[object, int], ...]


@dataclass(frozen=True, eq=False)
class FailingEncoder(HistogramEncoder):
    """Notes its draws; the task of partition 0 then fails, so many times."""

    folder: str = ""
    failures: int = 0

    def encode(self, block: BagBlock) -> Iterator[pl.DataFrame]:
        frames, partition, attempt = list(super().encode(block)), *task_numbers()
        pl.concat(frames).write_ipc(run_path(self.folder, partition, attempt))
        yield from frames
        if partition == 0 and attempt < self.failures:
            raise RuntimeError("this machine is lost")


@dataclass(frozen=True, eq=False)
class SlowEncoder(HistogramEncoder):
    """Notes its draws; of partition 0 two runs draw, and the one of attempt ``wins`` alone comes to its end."""

    folder: str = ""
    wins: int = 0

    def encode(self, block: BagBlock) -> Iterator[pl.DataFrame]:
        frames, partition, attempt = list(super().encode(block)), *task_numbers()
        pl.concat(frames).write_ipc(run_path(self.folder, partition, attempt))
        end = time.monotonic() + LONGEST_RUN
        awaited = "0.1.*.arrow" if attempt == self.wins else "nothing"
        while partition == 0 and not list(Path(self.folder).glob(awaited)):
            if time.monotonic() > end:
                raise RuntimeError("no second run was started, or the first one never ended")
            time.sleep(0.05)
        yield from frames


def task_numbers() -> tuple[int, int]:
    """The numbers of a task's partition and attempt."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    return context.partitionId(), context.attemptNumber()


def run_path(folder: str, partition: int, attempt: int) -> Path:
    """A new file for what a run of a task drew."""
    return Path(folder) / f"{partition}.{attempt}.{uuid.uuid4().hex}.arrow"


def drawn(folder: Path, partition: int, attempt: int) -> pl.DataFrame | None:
    """What one run of a task drew; None where it never ran."""
    found = [pl.read_ipc(path) for path in folder.glob(f"{partition}.{attempt}.*.arrow")]
    return pl.concat(found) if found else None


def by_user(outputs: pl.DataFrame, output: str = "output") -> tuple[list[int], list[Bag]]:
    """Users, and the outputs of each."""
    users = outputs.group_by("user").agg(pl.struct(output, "count").sort_by(output).alias("own"))
    return users["user"].to_list(), [
        tuple((row[output], row["count"]) for row in own) for own in users["own"].to_list()
    ]


def bags(outputs: pl.DataFrame) -> list[Bag]:
    """Each user's outputs, without the users' numbers, which a release deals out anew."""
    return sorted(by_user(outputs, "kind")[1])


def named(outputs: pl.DataFrame) -> pl.DataFrame:
    """Outputs by the labels that they stand for."""
    labels = pl.Series("kind", KINDS.labels or ())
    return outputs.with_columns(labels.gather(outputs["output"]))


def law() -> KRR:
    """The randomizer that is asked for."""
    return KRR(KINDS, STRENGTH)
