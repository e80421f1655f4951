"""Strings on workers: the same counts as in one place, messages of the exact law, and never a string with its user."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from emdp.base.errors import InternalError
from emdp.estimators.strings.encoders import PrefixEncoder, ShareEncoder, SlotEncoder
from emdp.estimators.strings.search import PrefixRelease, StringCounts, plan_heavy_hitters
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.strings.prefix_search import HeavyHitterSearch
from emdp.mechanisms.strings.stable_histogram import StableHistogram
from emdp.questions.heavy_hitters import heavy_hitters
from emdp.questions.reading import EncodedReleaser, RepeatedBlocks, SettlingBlocks
from emdp.tables.statements.texts import TEXT
from emdp.testing import seeded

SURE = 1e-9
"""A right law fails with this probability; 20,000 messages refuse strengths of 0.7 and 1.3 times the right one."""

USERS = 30_000


def text_rows(users: int) -> pl.DataFrame:
    """A row a user and string: two frequent ones, a rare one, one of a single user, and records without any."""
    rows = []
    for user in range(users):
        own: dict[str | None, int] = {"abc": 2, "hgfedc": 1} if user % 3 else {"hgfedc": 1, None: 1}
        own |= {"rare": 1} if user % 500 == 0 else {}
        own |= {"secret": 3} if user == 7 else {}
        rows += [(user, text, count) for text, count in sorted(own.items(), key=lambda one: (one[0] or "", one[1]))]
    return pl.DataFrame(rows, schema={"number": pl.Int64, TEXT: pl.String, "records": pl.Int64}, orient="row")


def planned(**changed: Any) -> Any:
    given: dict[str, Any] = {"epsilon": 4.0, "model": "local", "alphabet": "abcdefghst", "length": 6, "threshold": 0.25}
    return plan_heavy_hitters(heavy_hitters("text", **(given | changed)), users=USERS)


def central() -> Any:
    return planned(model="central", delta=1e-6, threshold=0.05, alphabet=None, length=None)


def shares() -> dict[str | None, float]:
    frame = text_rows(USERS - 100)
    own = frame.with_columns(pl.col("records") / pl.col("records").sum().over("number"))
    found = own.group_by(TEXT).agg(pl.col("records").sum() / USERS).drop_nulls()
    return dict(zip(found[TEXT].to_list(), found["records"].to_list(), strict=True))


@pytest.mark.slow
def test_slots_are_counted_on_workers_and_only_frequent_strings_are_sent(on_workers: Any) -> None:
    plan = central()
    assert isinstance(plan.releaser, StringCounts)
    assert not isinstance(plan.releaser, EncodedReleaser)
    blocks = on_workers("texts", text_rows(USERS - 100))
    assert isinstance(blocks, SettlingBlocks)
    assert not isinstance(iter(()), SettlingBlocks)
    released, exact = plan.releaser.release(blocks, users=USERS, keep_exact=False)
    assert exact is None
    # The strings that are released, and the number of users, each once.
    sent = pl.concat(blocks.sent)
    assert sorted(sent["value"].drop_nulls()) == sorted(released[0])
    assert sent.filter(pl.col("value").is_null())["count"].to_list() == [USERS - 100]
    assert {"abc", "hgfedc"} <= set(released[0]) <= {"abc", "hgfedc", "rare"}
    for name, estimate in zip(*released, strict=True):
        assert abs(estimate - shares()[name]) < plan.releaser.half_width(1e-6)
    assert (blocks.passes, blocks.closed) == (1, 1)
    with seeded(2):
        again, exact = plan.releaser.release(blocks, users=USERS, keep_exact=True)
    assert set(again[0]) >= {"abc", "hgfedc"}
    assert exact is not None
    assert dict(zip(*exact[0].to_dict(as_series=False).values(), strict=True)) == pytest.approx(shares(), abs=1e-12)
    with pytest.raises(InternalError, match="more or fewer users"):
        plan.releaser.release(blocks, users=USERS - 101, keep_exact=False)


def test_noise_and_threshold_are_those_of_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """However strings are divided, and with users' numbers among them or not."""
    histogram = StableHistogram(20_000, 1.0, 1e-6, 1)
    encoder = SlotEncoder(histogram)
    counts = {"b": histogram.threshold, "a": histogram.threshold - 1, None: 9, "c": 5}
    sums = pl.DataFrame({"value": list(counts), "count": list(counts.values())})
    monkeypatch.setattr(
        "emdp.mechanisms.strings.stable_histogram.draw_discrete_laplace_bulk",
        lambda scale, size: np.zeros(size, dtype=int),
    )
    for parts in ([sums], [sums[:2], sums[2:]], [sums[place : place + 1] for place in range(4)], [sums, sums.clear()]):
        found = pl.concat(map(encoder.settle, parts))
        assert found.schema == pl.Schema(encoder.schema)
        # Of those below the threshold nothing is left.
        assert dict(found.iter_rows()) == {"b": histogram.threshold, None: 9}


def test_slots_of_workers_follow_the_exact_law(on_workers: Any) -> None:
    """One slot of users with shares of 1/4 and 3/4: it is either string's by a coin of that chance."""
    rows = pl.DataFrame({"number": np.repeat(np.arange(20_000), 2), TEXT: ["a", "b"] * 20_000})
    frame = rows.with_columns(records=pl.Series([1, 3] * 20_000))
    encoder = SlotEncoder(StableHistogram(20_000, 1.0, 1e-6, 1))
    found = pl.concat(on_workers("texts", frame).encode(encoder)).group_by("value").agg(pl.col("count").sum())
    counts = dict(found.iter_rows())
    assert counts[None] == counts["a"] + counts["b"] == 20_000
    for chance, is_right in ((0.25, True), (0.25 * 0.7, False), (0.25 * 1.3, False)):
        assert bool(stats.binomtest(counts["a"], 20_000, chance).pvalue > SURE) is is_right, chance


@pytest.mark.slow
def test_prefixes_are_asked_for_on_workers(on_workers: Any) -> None:
    plan = planned()
    assert isinstance(plan.releaser, PrefixRelease)
    search = plan.releaser.search
    assert search.levels > 1
    blocks = on_workers("texts", text_rows(USERS - 100))
    assert isinstance(blocks, RepeatedBlocks)
    with seeded(3):
        released, exact = plan.releaser.release(blocks, users=USERS, keep_exact=True)
    assert set(released[0]) == {"abc", "hgfedc"}
    assert exact is not None
    assert dict(exact[0].iter_rows()) == pytest.approx(shares(), abs=1e-12)
    for name, estimate in zip(*released, strict=True):
        assert abs(estimate - shares()[name]) < search.half_width
    assert (blocks.passes, blocks.closed) == (1 + search.levels, 1)
    levels = [frame for frame in blocks.sent if "place" in frame.columns]
    users = search.users // search.levels
    for frame in levels:
        # A tally is not longer than the users of a level in a partition, of which there are three, are many.
        assert len(frame) <= users / 3 + 1
    told = pl.concat(levels).filter(pl.col("place") >= 0)["count"].sum()
    # Everybody but those without records tells once.
    assert USERS - 100 <= told + 100 <= USERS
    with pytest.raises(InternalError, match="more or fewer users"):
        plan.releaser.release(on_workers("texts", text_rows(USERS + 1)), users=USERS, keep_exact=False)


def test_messages_of_workers_follow_the_exact_law(on_workers: Any) -> None:
    """Users of a level with one string of two records and another of one: a message of either, by chance."""
    search = HeavyHitterSearch(400_000, 2.0, threshold=0.15, alphabet=b"abcdefgh", length=8)
    candidates = search.extend([b""], 0)
    users = 60_000
    frame = pl.DataFrame({"number": np.repeat(np.arange(users), 2), TEXT: ["abcdabcd", "hh"] * users})
    blocks = on_workers("texts", frame.with_columns(records=pl.Series([2, 1] * users)))
    dealt = np.where(np.random.default_rng(2).permutation(users) < users // 2, 0, 1)
    codes = search.codes(np.array([b"abcdabcd", b"hh"]), candidates)
    encoder = pickle.loads(pickle.dumps(PrefixEncoder(search, 0, candidates, search.level_oracle(candidates, 9))))
    tally, met = encoder.added(blocks.encode(encoder, dealt))
    assert met == users
    assert tally.sum() == users // 2

    def law(strength: float) -> Any:
        oracle = search.oracle(len(candidates) + 1, 9, strength)
        chances = np.zeros(oracle.outputs)
        for code, share in zip(codes.tolist(), (2 / 3, 1 / 3), strict=True):
            inside = oracle._inside_symbols(np.full(oracle.inside, code), np.arange(oracle.inside))
            own = np.full(oracle.outputs, float(1 - oracle.chances[0]) / oracle.outside)
            own[inside] = float(oracle.chances[0]) / oracle.inside
            chances += share * own
        return chances

    def chance(strength: float) -> float:
        # Symbols of one probability together: there are more of them than users.
        kinds, places = np.unique(law(strength).round(12), return_inverse=True)
        counts = np.bincount(places, weights=tally)
        return float(
            stats.chisquare(counts, kinds * np.bincount(places) / (kinds @ np.bincount(places)) * tally.sum()).pvalue
        )

    assert chance(2.0) > SURE
    assert chance(1.4) < SURE
    assert chance(2.6) < SURE


def test_shares_of_blocks_add_up() -> None:
    def blocks() -> Iterator[Any]:
        for part in (text_rows(60).filter(pl.col("number") < 20), text_rows(60).filter(pl.col("number") >= 20)):
            starts = np.flatnonzero(np.diff(part["number"].to_numpy(), prepend=-1))
            bags = Bags(np.append(starts, len(part)), np.arange(len(part)), part["records"].to_numpy())

            class Block:
                users, offsets, texts, counts = np.arange(len(starts)), bags.offsets, part[TEXT], bags.counts

            yield Block

    encoder = ShareEncoder()
    frames = [frame for block in blocks() for frame in encoder.encode(block)]
    assert all(frame.schema == pl.Schema(encoder.schema) for frame in frames)
    found = pl.concat(frames).group_by("value").agg(pl.col("share").sum())
    # Two thirds of 40 users' records are "abc"; one user has it once more.
    assert dict(found.iter_rows())["abc"] == pytest.approx(40 * 2 / 3 - 2 / 3 + 2 / 6)
