"""Two runs of one task at the same time, both of which draw: one draw is released, whichever of them comes first.

Spark starts the second run on another host only, and not at all in local mode. So a cluster is made of one machine,
with workers on two of its loopback addresses.
"""

from pathlib import Path

import polars as pl
import pytest
import spark_retry_work as work
from spark_cluster import cluster, run_job

__all__ = ["cluster"]


@pytest.mark.full
def test_of_two_runs_that_both_drew_one_is_released(cluster: str, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    assert run_job("spark_speculation_job.py", cluster, folder) == "2 charges"
    for wins in (0, 1):
        place = folder / str(wins)
        runs = [work.drawn(place, 0, attempt) for attempt in range(3)]
        assert [run is not None for run in runs] == [True, True, False]
        others = [work.drawn(place, partition, 0) for partition in range(1, work.PARTITIONS)]
        released = work.bags(pl.read_ipc(place / "released.ipc"))
        assert released == work.bags(work.named(pl.concat([runs[wins], *others])))
        # The test can fail: what the dropped run drew of nearly all its users is something else. (Its last block, of
        # one user, was not drawn any more.)
        kept, dropped = (dict(zip(*work.by_user(runs[run]), strict=True)) for run in (wins, 1 - wins))
        assert len(dropped) >= len(kept) - 2 > work.USERS // 4
        assert sum(own == kept[user] for user, own in dropped.items()) < len(dropped) // 2
