"""A task that fails after it has drawn, and runs again: one draw is released, of the exact law, for one charge.

Plain local mode gives a task one attempt; the session of the tests is ``local[2,3]``, which gives it three.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import spark_retry_work as work
from scipy import stats

import emdp
from emdp.base.errors import DataRuleError
from emdp.estimators.itemwise.release import ItemwiseRelease
from emdp.randomizers import KRR

SURE = 1e-9
"""A right law fails with this probability; 20,000 draws refuse strengths of 0.7 and 1.3 times the right one."""

SETTINGS = {
    "spark.sql.shuffle.partitions": str(work.PARTITIONS),
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}


@pytest.fixture
def session(spark: Any, tmp_path: Path) -> Iterator[emdp.Session]:
    """A session of emdp on 1,000 users in three partitions, which has charged nothing."""
    from pyspark import cloudpickle

    before = {name: spark.conf.get(name) for name in SETTINGS}
    # Workers do not find the modules of tests.
    cloudpickle.register_pickle_by_value(sys.modules[work.__name__])
    try:
        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        rows = spark.range(0, work.USERS * work.RECORDS, 1, 2).selectExpr(f"id % {work.USERS} AS user", "'bar' AS kind")
        table = emdp.read(
            rows, user="user", space=work.KINDS, users=work.USERS, records=work.RECORDS, version="1", name="t"
        )
        budget = emdp.EmdDP(1e6, 1e-3, sizes="bounded", model="local")
        with emdp.Session(table, budget=budget, ledger=tmp_path / "x.ledger") as made:
            yield made
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[work.__name__])
        for name, value in before.items():
            spark.conf.set(name, value)


def asked(session: emdp.Session, monkeypatch: pytest.MonkeyPatch, folder: Path, failures: int) -> pl.DataFrame:
    """Ask for every user's moved records, drawn on workers whose tasks fail so often."""
    folder.mkdir()

    def encoder(self: Any, *, keep_exact: bool) -> work.FailingEncoder:
        return work.FailingEncoder(self.randomizer, self.size, self.is_sampled, str(folder), failures)

    monkeypatch.setattr(ItemwiseRelease, "encoder", encoder)
    return session.itemwise(work.law(), delta=1e-8, model="local").frame


def chance(counts: list[int], strength: float) -> float:
    law = KRR(work.KINDS, strength).matrix[0]
    return float(stats.chisquare(counts, law * sum(counts)).pvalue)


def test_a_task_that_failed_after_its_draw_releases_one_draw_for_one_charge(
    session: emdp.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "once"
    released = asked(session, monkeypatch, folder, 1)
    assert len(session.history()) == 1
    kept, lost = [], []
    for partition in range(work.PARTITIONS):
        runs = [work.drawn(folder, partition, attempt) for attempt in range(work.ATTEMPTS)]
        # Of partition 0 the first run failed, and the second one came through.
        expected = [True, partition == 0, False]
        assert [run is not None for run in runs] == expected, partition
        kept.append(runs[1] if partition == 0 else runs[0])
        lost += [runs[0]] if partition == 0 else []
    assert work.bags(released) == work.bags(work.named(pl.concat(kept)))
    # The test can fail: what the lost runs drew of nearly all their users is something else.
    first = dict(zip(*work.by_user(lost[0]), strict=True))
    second = dict(zip(*work.by_user(kept[0]), strict=True))
    assert len(first) >= len(second) - 2 > work.USERS // 4
    assert sum(own == second[user] for user, own in first.items()) < len(first) // 2

    assert released.group_by("user").agg(pl.col("count").sum())["count"].to_list() == [work.RECORDS] * work.USERS
    totals = released.group_by("kind").agg(pl.col("count").sum())
    counts = [int(totals.filter(pl.col("kind") == label)["count"].sum()) for label in work.KINDS.labels or ()]
    assert chance(counts, work.STRENGTH) > SURE
    assert all(chance(counts, factor * work.STRENGTH) < SURE for factor in (0.7, 1.3))


def test_a_task_that_never_comes_through_fails_the_statement_and_its_charge_stays(
    session: emdp.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataRuleError, match="Spark could not read the source to its end") as caught:
        asked(session, monkeypatch, tmp_path / "always", work.ATTEMPTS)
    assert len(session.history()) == 1
    assert "machine is lost" not in str(caught.value) + capfd.readouterr().out
    # Nobody asks again, or for what is left.
    tried = sorted(path.name.rsplit(".", 2)[0] for path in (tmp_path / "always").iterdir())
    assert [name for name in tried if name != "1.0"] == ["0.0", "0.1", "0.2"]
