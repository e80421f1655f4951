"""Strings settled on a cluster: one of two draws of a partition is released; a machine that is lost fails closed."""

import json
from pathlib import Path

import polars as pl
import pytest
import spark_draw_work as work
from spark_cluster import cluster, run_job

__all__ = ["cluster"]


@pytest.mark.full
def test_one_draw_is_released_or_none(cluster: str, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    found = json.loads(run_job("spark_draw_cluster_job.py", cluster, folder))
    assert found["left"] == 0
    # Both runs of partition 0 drew, and one was shuffled and released, with the one draw of each other partition.
    runs = work.noted(folder / "twice", work.DRAWN)
    assert {(0, 0), (0, 1)} <= set(runs)
    released = pl.read_ipc(folder / "twice.ipc").filter(~pl.col("value").str.contains("noise").fill_null(value=False))
    others = [own for run, own in runs.items() if run[0] > 0]
    assert len(others) == len({run[0] for run in runs}) - 1 > 0
    sums = {attempt: counted([runs[0, attempt], *others]) for attempt in (0, 1)}
    assert counted([released]) == sums[1] != sums[0]
    # What was kept on the lost machine is not drawn anew.
    assert found["error"].startswith("ResourceError: Spark lost a part of what was drawn")
    assert "secret" not in found["error"]
    assert len(list((folder / "lost").glob("stage.*"))) == 1
    assert not (folder / "lost.ipc").exists()


def counted(frames: list[pl.DataFrame]) -> dict[str | None, int]:
    """The counts of each string."""
    return dict(pl.concat(frames).group_by("value").agg(pl.col("count").sum()).iter_rows())
