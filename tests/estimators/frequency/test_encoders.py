"""Sums of workers: the same exact statistic however users are divided, and the exact law of tallies drawn in parts."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from emdp.base.errors import InternalError
from emdp.estimators.frequency.encoders import CHOSEN, DRAWN, TALLY, AverageEncoder, OracleEncoder, draw_tally
from emdp.estimators.frequency.histograms import HistogramRelease, OracleRelease, share_bits
from emdp.mechanisms import LaplaceMechanism
from emdp.mechanisms.item_methods import METHODS
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.questions.reading import EncodedReleaser, FinishingEncoder
from emdp.tables.engines.blocks import BagBlock
from emdp.tables.engines.spark.work import _added
from emdp.testing import seeded

SURE = 1e-9
"""A right law fails with this probability; 20,000 messages refuse strengths of 0.7 and 1.3 times the right one."""


def random_block(users: int, items: int, seed: int, first: int = 0) -> BagBlock:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, min(items, 4) + 1, users)
    codes = np.concatenate([np.sort(rng.choice(items, size, replace=False)) for size in sizes])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return BagBlock(np.arange(first, first + users), offsets, codes, rng.integers(1, 9, len(codes)))


def of_workers(encoder: Any, workers: list[list[BagBlock]]) -> Iterator[pl.DataFrame]:
    """What some workers send, each of its blocks, as :mod:`emdp.tables.engines.spark.work` does it."""
    for blocks in workers:
        sent = pickle.loads(pickle.dumps(encoder))
        sums = _added([frame for block in blocks for frame in sent.encode(block)], sent.keys)
        assert sums.schema == pl.Schema(sent.schema)
        out = sent.finish(sums) if isinstance(sent, FinishingEncoder) else sums
        assert out.schema == pl.Schema(sent.schema)
        yield out


BLOCKS = [random_block(40, 6, seed, 40 * seed) for seed in range(5)]
DIVIDED = [[BLOCKS[:2], BLOCKS[2:3], BLOCKS[3:]], [BLOCKS], [[block] for block in BLOCKS]]


def test_the_average_is_the_same_however_users_are_divided() -> None:
    users = 210
    mechanism = LaplaceMechanism(sensitivity=2.0 / users, alpha=1.0, dimension=6, statistic_error=0.0, magnitude=1.0)
    release = HistogramRelease(mechanism, 2, share_bits(users))
    assert isinstance(release, EncodedReleaser)
    assert not isinstance(release.encoder(keep_exact=True), FinishingEncoder)
    with seeded(3):
        wanted = release.release(iter(BLOCKS), users=users, keep_exact=True)
    for divided in DIVIDED:
        with seeded(3):
            found = release.merge(of_workers(release.encoder(keep_exact=True), divided), users=users, keep_exact=True)
        assert found[0][0].tolist() == wanted[0][0].tolist()
        assert np.array_equal(found[1][0], wanted[1][0])
    # A sum leaves no rounding: the shares of everybody are those of exact fractions, to the last of the bits.
    assert wanted[1] is not None
    assert float(np.sum(wanted[1][0])) == pytest.approx(1.0, abs=1e-12)
    assert AverageEncoder(6, 50).keys == ("code",)


@pytest.mark.parametrize("method", [name for name, one in METHODS.items() if one.oracle is not None])
def test_exact_shares_and_the_number_of_messages_survive_any_division(method: str) -> None:
    users = 210
    release = OracleRelease(METHODS[method].oracle()(6, users, 2.0), 2)
    with seeded(3):
        _, wanted = release.release(iter(BLOCKS), users=users, keep_exact=True)
        for divided in DIVIDED:
            encoder = release.encoder(keep_exact=True)
            outputs = list(of_workers(encoder, divided))
            found, exact = release.merge(iter(outputs), users=users, keep_exact=True)
            assert wanted is not None
            assert exact is not None
            np.testing.assert_allclose(exact[0], wanted[0], rtol=1e-12)
            assert found[0].shape == (6,)
            whole = pl.concat(outputs).group_by("what").agg(pl.col("count").sum())
            counted = dict(whole.iter_rows())
            # Every user is counted once: with a message in a tally, or as one that chose a record.
            assert counted.get(DRAWN, 0) + counted.get(CHOSEN, 0) == 200
    assert (TALLY in counted) == (len(draw_tally(release.oracle, np.zeros(0, int), np.zeros(0, int))) <= 40)


def test_tallies_of_workers_follow_the_exact_law() -> None:
    users = 20_000
    oracle = KRROracle(5, users, 1.0)
    whole = BagBlock(np.arange(users), np.arange(users + 1), np.full(users, 3), np.full(users, 2))
    half = users // 2
    halves = [BagBlock(np.arange(half), np.arange(half + 1), np.full(half, 3), np.full(half, 2))] * 2
    for divided in ([[whole]], [halves], [halves[:1], halves[1:]]):
        drawn = pl.concat(of_workers(OracleEncoder(oracle), divided)).filter(pl.col("what") == TALLY)
        counts = drawn.group_by("place").agg(pl.col("count").sum()).sort("place")["count"].to_numpy()

        def chance(epsilon: float, counts: Any = counts) -> float:
            high, low = (float(part) for part in KRROracle(5, users, epsilon).chances)
            return float(stats.chisquare(counts, users * np.array([low, low, low, high, low])).pvalue)

        assert chance(1.0) > SURE
        assert chance(0.7) < SURE
        assert chance(1.3) < SURE


def test_a_tally_longer_than_its_users_is_drawn_where_they_are_put_together() -> None:
    oracle = KRROracle(1000, 10, 8.0)
    block = random_block(10, 1000, 1)
    (sent,) = of_workers(OracleEncoder(oracle), [[block]])
    assert sent["what"].unique().to_list() == [CHOSEN]
    assert sent["count"].sum() == 10
    assert len(sent) <= 10
    release = OracleRelease(oracle, 0)
    found, _ = release.merge(iter([sent]), users=10, keep_exact=False)
    assert found[0].shape == (1000,)


def test_tallies_are_drawn_in_runs_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    oracle = KRROracle(4, 100, 30.0)
    draw = KRROracle.draw_tally

    def noted(self: KRROracle, bags: Bags) -> Any:
        seen.append(bags.codes.tolist())
        return draw(self, bags)

    monkeypatch.setattr("emdp.estimators.frequency.encoders.AT_ONCE", 7)
    monkeypatch.setattr(KRROracle, "draw_tally", noted)
    # At so large an epsilon every message is the user's own item.
    assert draw_tally(oracle, np.array([3, 0, 1]), np.array([10, 1, 6])).tolist() == [1, 6, 0, 10]
    assert seen == [[], [3] * 7, [3] * 3 + [0] + [1] * 3, [1] * 3]


def test_more_users_than_there_are_is_a_bug() -> None:
    release = OracleRelease(KRROracle(6, 30, 1.0), 0)
    with pytest.raises(InternalError, match="more users"):
        release.release(iter(BLOCKS[:1]), users=30, keep_exact=False)
