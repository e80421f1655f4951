"""Plans and rows of the search for frequent strings: prices, thresholds in reach, certain ones, releases of blocks."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from emdp.base.errors import InternalError, UsageError
from emdp.estimators import plan_query
from emdp.estimators.strings.rows import FoundRows, StringShares
from emdp.estimators.strings.search import PrefixRelease, StringCounts, plan_heavy_hitters
from emdp.mechanisms.strings.prefix_search import HeavyHitterSearch
from emdp.mechanisms.strings.stable_histogram import StableHistogram
from emdp.privacy import UserDP
from emdp.questions.heavy_hitters import HeavyHitters, heavy_hitters
from emdp.spaces import Interval
from emdp.testing import seeded

USERS = 30_000


class Block(NamedTuple):
    users: np.ndarray
    offsets: np.ndarray
    texts: pl.Series
    counts: np.ndarray


def query(**changed: object) -> HeavyHitters:
    arguments = {"column": "note", "threshold": 0.3, "epsilon": 4.0, "length": 6, "alphabet": "abcdefgh"}
    arguments["model"] = "local"
    return heavy_hitters(**{**arguments, **changed})  # type: ignore[arg-type]


def blocks(bags: dict[int, dict[str | None, int]], size: int = 1000) -> Iterator[Block]:
    numbers = sorted(bags)
    for start in range(0, len(numbers), size):
        own = numbers[start : start + size]
        offsets = np.cumsum([0, *(len(bags[number]) for number in own)])
        texts = [text for number in own for text in bags[number]]
        counts = [count for number in own for count in bags[number].values()]
        yield Block(np.array(own), offsets, pl.Series(texts, dtype=pl.String), np.array(counts))


def many() -> dict[int, dict[str | None, int]]:
    # Two thirds of a user's records are of its own string, a third of none or a rare one; users 29,000 on have none.
    return {
        user: {("abc" if user % 2 else "hgfedc"): 2, (None if user % 3 else "d" * (1 + user % 6)): 1}
        for user in range(29_000)
    }


@pytest.mark.parametrize("model", ["local", "shuffle", "central"])
def test_the_guarantee_is_at_user_level(model: Any) -> None:
    delta = 0.0 if model == "local" else 1e-6
    plan = plan_query(query(model=model, delta=delta), space=Interval("x", 0, 1), users=USERS)
    guarantee = plan.guarantee
    assert isinstance(guarantee, UserDP)
    assert (guarantee.model, guarantee.delta) == (model, delta)
    assert guarantee.epsilon <= 4.0
    assert plan.event.mechanism == "frequent strings"  # type: ignore[attr-defined]
    assert any("probability of 0.01" in note for note in plan.notes)


def test_shuffled_messages_amplify_with_the_users_of_their_own_level() -> None:
    plan = plan_heavy_hitters(query(model="shuffle", delta=1e-6, epsilon=0.5), users=USERS)
    release = plan.releaser
    assert isinstance(release, PrefixRelease)
    assert release.search.levels == 2
    assert release.search.epsilon > 1.0
    law = release.search.oracle(99, USERS // 2, release.search.epsilon).sets
    assert law is not None
    assert plan.guarantee == UserDP(0.5, 1e-6, "shuffle")
    assert 0.499 < law.epsilon(USERS // 2, 1e-6) <= 0.5
    # The users of all levels would promise too much.
    assert law.epsilon(USERS, 1e-6) < 0.9 * 0.5
    assert "shuffled" in release.theorem


@pytest.mark.parametrize("model", ["local", "shuffle"])
def test_the_threshold_of_a_count_is_nearly_the_smallest(model: Any) -> None:
    delta = 0.0 if model == "local" else 1e-6
    plan = plan_heavy_hitters(query(threshold=None, count=5, model=model, delta=delta), users=USERS)
    least = plan.finisher.threshold  # type: ignore[attr-defined]
    plan_heavy_hitters(query(threshold=least, model=model, delta=delta), users=USERS)
    with pytest.raises(UsageError, match=f"{least:.3g} is in reach") as caught:
        plan_heavy_hitters(query(threshold=0.97 * least, model=model, delta=delta), users=USERS)
    assert "model='central' and delta above 0" in str(caught.value)


@pytest.mark.parametrize(("model", "delta"), [("local", 0.0), ("shuffle", 1e-9), ("central", 1e-9)])
@pytest.mark.parametrize("epsilon", [0.5, 40.0])
def test_prices_at_the_ends(model: Any, delta: float, epsilon: float) -> None:
    plan = plan_heavy_hitters(query(threshold=None, count=3, model=model, delta=delta, epsilon=epsilon), users=10**6)
    assert plan.guarantee.level <= epsilon
    assert 0 < plan.finisher.threshold < 1  # type: ignore[attr-defined]


def test_too_few_users_are_refused() -> None:
    for changed in ({}, {"threshold": None, "count": 3}, {"model": "shuffle", "delta": 1e-6}):
        with pytest.raises(UsageError, match=r"needs more than 50 users|more than 50 to find"):
            plan_heavy_hitters(query(**changed), users=50)
    for changed, wanted in (({}, "for a threshold of"), ({"threshold": None, "count": 3}, "to find any string")):
        with pytest.raises(UsageError, match=rf"more than 5 {wanted} .*no threshold is in reach; pay more\."):
            plan_heavy_hitters(query(model="central", delta=1e-6, **changed), users=5)
    with pytest.raises(UsageError, match="is in reach"):
        plan_heavy_hitters(query(model="central", delta=1e-6, threshold=1e-4), users=USERS)
    with pytest.raises(UsageError, match="delta must be at most"):
        plan_heavy_hitters(query(model="central", delta=0.5), users=USERS)


def test_messages_find_what_is_frequent_and_each_user_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_heavy_hitters(query(threshold=0.25), users=USERS)
    asked: list[int] = []
    search = HeavyHitterSearch.search

    def counted(self: HeavyHitterSearch, bags: Any, words: Any) -> Any:
        asked.append(bags.users)
        return search(self, bags, words)

    monkeypatch.setattr(HeavyHitterSearch, "search", counted)
    with seeded(4):
        released, exact = plan.releaser.release(blocks(many()), users=USERS, keep_exact=True)
    assert asked == [USERS]
    frame, truth = plan.finisher.frame(released, 0.95), plan.finisher.exact(exact)  # type: ignore[arg-type]
    assert set(frame["value"]) == {"abc", "hgfedc"}
    joined = frame.join(truth, on="value", suffix="_exact")
    assert len(joined) == 2
    assert truth["frequency"].to_list() == pytest.approx([29 / 90] * 2, abs=1e-12)
    assert joined["frequency_exact"].is_between(joined["frequency_low"], joined["frequency_high"]).all()
    assert plan.releaser.release(blocks(many()), users=USERS, keep_exact=False)[1] is None


def test_the_central_model_counts_shares_and_leaves_single_strings_out() -> None:
    plan = plan_heavy_hitters(query(threshold=0.01, model="central", delta=1e-6), users=USERS)
    bags = many()
    bags[0] = {f"secret{number}": 1 for number in range(500)}
    bags[1] = {"alone": 1}
    with seeded(5):
        released, exact = plan.releaser.release(blocks(bags), users=USERS, keep_exact=True)
    frame, truth = plan.finisher.frame(released, 0.95), plan.finisher.exact(exact)  # type: ignore[arg-type]
    assert not frame["value"].str.contains("secret|alone").any()
    assert frame["frequency"].to_list() == sorted(frame["frequency"].to_list(), reverse=True)
    joined = frame.join(truth, on="value", suffix="_exact", how="left")
    assert joined["frequency_exact"].is_between(joined["frequency_low"], joined["frequency_high"]).all()
    assert set(truth.filter(pl.col("frequency") >= 0.01)["value"]) <= set(frame["value"])
    assert frame["value"].to_list()[:2] in (["abc", "hgfedc"], ["hgfedc", "abc"])


def test_counts_are_added_up_over_blocks_and_with_too_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from emdp.estimators.strings import rows as string_rows
    from emdp.estimators.strings import search as string_search

    seen = []
    monkeypatch.setattr(StableHistogram, "draw_counts", lambda self, counts: seen.append(np.array(counts)) or counts)
    histogram = StableHistogram(USERS, 1.0, 1e-6, 1)
    # One record a user: slots are certain.
    bags: dict[int, dict[str | None, int]] = {user: {f"w{user % 7}" if user % 5 else None: 1} for user in range(3000)}
    for most in (10, 2**22):
        monkeypatch.setattr(string_search, "MOST_ROWS", most)
        monkeypatch.setattr(string_rows, "MOST_ROWS", most)
        released, exact = StringCounts(histogram).release(blocks(bags, 100), users=USERS, keep_exact=True)
        assert exact is not None
        assert dict(zip(*released, strict=True)) == pytest.approx(
            dict(exact[0].select("value", "share").iter_rows()), abs=1e-12
        )
    assert seen[0].sum() == 2400
    assert (seen[0] == seen[1]).all()


def test_no_records_at_all_find_nothing() -> None:
    for changed in ({}, {"model": "central", "delta": 1e-6}):
        plan = plan_heavy_hitters(query(**changed), users=USERS)
        with seeded(6):
            released, exact = plan.releaser.release(iter(()), users=USERS, keep_exact=True)
        assert plan.finisher.frame(released, 0.95).shape == (0, 4)
        assert plan.finisher.exact(exact).shape == (0, 2)  # type: ignore[arg-type]


def test_more_users_than_there_are_is_a_bug() -> None:
    for changed in ({}, {"model": "central", "delta": 1e-6}):
        plan = plan_heavy_hitters(query(**changed), users=USERS)
        with pytest.raises(InternalError, match="more or fewer users"):
            plan.releaser.release(blocks({key: {"a": 1} for key in range(USERS + 1)}), users=USERS, keep_exact=False)


def test_certain_strings_by_brute_force() -> None:
    rng = np.random.default_rng(8)
    some, width, threshold = 0, 0.02, 0.2
    for _ in range(400):
        count = int(rng.integers(1, 5))
        truth = np.sort(rng.uniform(0.05, 0.5, size=8))[::-1]
        estimates = truth + rng.uniform(-width, width, size=8)
        # Everything from the threshold on is found, and of the rest what happens to be.
        found = np.flatnonzero((truth >= threshold) | (rng.random(8) < 0.3))
        found = found[np.argsort(-estimates[found])]
        rows = FoundRows("f", threshold, width, count, lambda _: width)
        released = tuple(str(place) for place in found), tuple(estimates[found].tolist())
        frame = rows.frame(released, 0.95)
        assert len(frame) == min(count, len(found))
        certain = frame.filter(pl.col("f_is_certain"))["value"].cast(pl.Int64).to_list()
        assert all(place < count for place in certain)
        some += len(certain)
    assert some > 100


def test_rows_of_a_threshold_and_their_ends() -> None:
    rows = FoundRows("f", 0.3, 0.1, None, lambda failure: 0.05 if failure > 0.01 else math.inf)
    released = ("a", "b", "c"), (1.01, 0.21, 0.19)
    frame = rows.frame(released, 0.95)
    assert frame.columns == ["value", "f", "f_low", "f_high"]
    assert frame["value"].to_list() == ["a", "b"]
    assert frame["f_high"].to_list() == [1.01, pytest.approx(0.26)]
    wide = rows.frame(released, 0.999)
    assert (wide["f_low"].to_list(), wide["f_high"].to_list()) == ([0.0, 0.0], [1.01, 1.0])
    assert rows.shape.coordinates == ("value",)


def test_shares_are_means_over_all_users() -> None:
    shares = StringShares(4)
    for block in blocks({0: {"a": 1, None: 3}, 2: {"a": 2}, 3: {"b": 1, "a": 1}}, 2):
        shares.add(block)
    assert shares.frame().rows() == [("a", pytest.approx(1.75 / 4)), ("b", pytest.approx(0.5 / 4))]


@pytest.mark.parametrize("count", [None, 3])
def test_an_empty_list_says_why_it_is_empty(count: int | None) -> None:
    rows = FoundRows("f", 0.3, 0.1, count, lambda failure: 0.05)
    (remark,) = rows.remarks(((), ()))
    assert "0.3" in remark
    assert rows.frame(((), ()), 0.95).is_empty()
    assert rows.remarks((("a", "b", "c"), (0.5, 0.4, 0.35))) == ()
