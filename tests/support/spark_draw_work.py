"""An encoder that notes what every run of a task drew, and steps of a release whose tasks fail once they have done all.

Each run notes in a folder what it drew or settled, under its step, the number of its partition and that of its attempt.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from emdp.estimators.strings.encoders import SlotEncoder
from emdp.tables.engines.spark.draws import DealWork

DRAWN, DEALT, SETTLED = STEPS = ("drawn", "dealt", "settled")


@dataclass(frozen=True, eq=False)
class NotingEncoder(SlotEncoder):
    """Notes draws and what is settled; the task of partition 0 of a step then fails, at its first attempt.

    What is settled has slots without noise, so that they can be held against the draws, and a random sign of its run.
    """

    folder: str = ""
    step: str = ""
    wiped: tuple[str, ...] = ()

    def encode(self, block: Any, parts: Any = None) -> Iterator[pl.DataFrame]:
        found = list(super().encode(block, parts))
        note(self.folder, DRAWN, pl.concat(found))
        yield from found
        self.fail(DRAWN)

    def settle(self, sums: pl.DataFrame) -> pl.DataFrame:
        # The noise of each string is the run's own.
        noise = super().settle(sums.with_columns(count=pl.lit(10**6, dtype=pl.Int64)))
        note(self.folder, SETTLED, noise)
        self.fail(SETTLED)
        return pl.concat([sums, noise.drop_nulls().with_columns(value="noise of " + pl.col("value"))])

    def fail(self, step: str) -> None:
        if step == self.step and task_numbers() == (0, 0):
            for folder in self.wiped:
                for path in Path(folder).rglob("shuffle_*"):
                    path.unlink()
            raise RuntimeError("this machine is lost")


class FailingDeal(DealWork):
    """Has the task of partition 0 fail once it has read and dealt out everything, at its first attempt."""

    def __call__(self, partition: int, payloads: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
        encoder: Any = self.work.encoder
        yield from super().__call__(partition, payloads)
        note(encoder.folder, DEALT, pl.DataFrame({"value": [1]}))
        encoder.fail(DEALT)


def task_numbers() -> tuple[int, int]:
    """The numbers of a task's partition and attempt."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    return context.partitionId(), context.attemptNumber()


def note(folder: str, step: str, frame: pl.DataFrame) -> None:
    """Write what this run of a task has done."""
    partition, attempt = task_numbers()
    frame.write_ipc(Path(folder) / f"{step}.{partition}.{attempt}.{uuid.uuid4().hex}")


def noted(folder: Path, step: str) -> dict[tuple[int, int], pl.DataFrame]:
    """What each run of each task of a step has done, by partition and attempt."""
    found: dict[tuple[int, int], list[pl.DataFrame]] = {}
    for path in folder.glob(f"{step}.*"):
        _, partition, attempt, _ = path.name.split(".")
        found.setdefault((int(partition), int(attempt)), []).append(pl.read_ipc(path))
    return {run: pl.concat(frames) for run, frames in found.items()}
