"""The prefix search: candidates by brute force, its bounds, whole searches, and that a user sends one message."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.mechanisms.strings import prefix_search as module
from emdp.mechanisms.strings.prefix_search import HeavyHitterSearch, sampling_error
from emdp.testing import seeded

LETTERS = b"abcdefgh"


def planned(**changed: object) -> HeavyHitterSearch:
    arguments = {"users": 400_000, "epsilon": 2.0, "threshold": 0.15, "alphabet": LETTERS, "length": 8, **changed}
    return HeavyHitterSearch(**arguments)  # type: ignore[arg-type]


def test_levels_share_the_users_evenly_and_each_user_is_asked_once() -> None:
    search = planned(users=400_001)
    with seeded(1):
        dealt = search.deal()
    assert search.levels == 2
    counts = np.bincount(dealt)
    assert counts.sum() == 400_001
    assert counts.min() == search.level_users
    assert counts.max() - counts.min() <= 1


def test_there_are_as_many_messages_as_users_all_of_the_planned_epsilon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search, asked = planned(), []
    encode = OneBitHadamardOracle.encode

    def counted(oracle: OneBitHadamardOracle, bags: Bags) -> np.ndarray:
        asked.append((bags.users, oracle.epsilon, oracle.requested))
        return encode(oracle, bags)

    monkeypatch.setattr(OneBitHadamardOracle, "encode", counted)
    with seeded(2):
        search.search(Bags.of_items(np.arange(400_000) % 2), [b"abcde", b"cab"])
    assert sum(users for users, _, _ in asked) == 400_000
    assert all(epsilon <= requested == 2.0 for _, epsilon, requested in asked)


def test_codes_by_brute_force() -> None:
    words = [b"", b"a", b"ab", b"abcd", b"abcdef", b"abcdefghh", b"xa", b"a\0b", b"hh", b"ABC", b"abcdexx"]
    search = planned()
    survivors: list[bytes] = [b""]
    for level in range(search.levels):
        candidates = search.extend(survivors, level)
        width = min((level + 1) * search.step, search.length)
        listed = [bytes(one) for one in candidates]
        assert listed == sorted(set(listed))
        assert b"" not in listed
        for word, code in zip(words, search.codes(words, candidates), strict=True):
            sound = 0 < len(word) <= search.length and set(word) <= set(LETTERS)
            wanted = listed.index(word[:width]) if sound and word[:width] in listed else len(listed)
            assert code == wanted, (level, word)
        survivors = [one for one in listed if one in (b"a", b"abc", b"ab", b"hh", b"abcd")]


def test_candidates_are_all_continuations() -> None:
    search = planned(alphabet=b"xy", length=4, threshold=0.3)
    object.__setattr__(search, "step", 2)
    first = {bytes(one) for one in search.extend([b""], 0)}
    assert first == {bytes(p) for size in (1, 2) for p in product(b"xy", repeat=size)}
    second = {bytes(one) for one in search.extend([b"x", b"xy"], 1)}
    assert second == {b"x", b"xy"} | {b"xy" + bytes(p) for size in (1, 2) for p in product(b"xy", repeat=size)}


@pytest.mark.parametrize("level_users", [100, 10_000, 10**6])
def test_sampling_error_solves_its_inequality(level_users: int) -> None:
    width = sampling_error(level_users, 0.01)
    lost = 3 * math.e**2 / width * math.exp(-2 * level_users * width**2)
    assert lost <= 0.01
    closer = width * 0.999
    assert 3 * math.e**2 / closer * math.exp(-2 * level_users * closer**2) > 0.01
    assert sampling_error(2, 0.01) == math.inf


def test_a_sample_of_users_stands_for_all_by_simulation() -> None:
    # 20,000 users, a fifth of whom share one item and the others have items of their own: the worst deviation over all
    # items, in 300 deals, stays below the bound for a failure of 1 %, and a third of the bound would fail.
    items = np.where(np.arange(20_000) < 4000, 0, np.arange(20_000))
    truth, rng, worst = np.bincount(items, minlength=20_000) / 20_000, np.random.default_rng(3), []
    for _ in range(300):
        chosen = rng.permutation(20_000)[:5000]
        worst.append(np.abs(np.bincount(items[chosen], minlength=20_000) / 5000 - truth).max())
    bound = sampling_error(5000, 0.01)
    assert np.mean(np.array(worst) > bound) <= 0.01
    assert max(worst) > bound / 3


@pytest.mark.parametrize("oracle", [OneBitHadamardOracle, KRROracle])
def test_searches_find_what_they_promise(oracle: type[OneBitHadamardOracle] | type[KRROracle]) -> None:
    words = [b"abcdef", b"abcd", b"hhhhhhhh", b"b", b"abcdeg", b"toolong", b"abcdefghh", b"NO", b""]
    chances = np.array([0.28, 0.2, 0.17, 0.16, 0.02, 0.05, 0.05, 0.04, 0.03])
    rng = np.random.default_rng(4)
    short = oracle is KRROracle
    search = planned(oracle=oracle, length=2 if short else 8, epsilon=6.0 if short else 2.0, alphabet=LETTERS)
    # Records of several items: half of a user's are of its own word, half of another one's, so shares are means.
    pairs = rng.choice(len(words), p=chances, size=(search.users, 2))
    pairs.sort(axis=1)
    bags = Bags(np.arange(search.users + 1) * 2, pairs.ravel(), np.full(2 * search.users, 3))
    truth = np.bincount(pairs.ravel(), minlength=len(words)) / pairs.size
    counted = {
        word: share
        for word, share in zip(words, truth, strict=True)
        if 0 < len(word) <= search.length and set(word) <= set(LETTERS)
    }
    with seeded(5):
        for _ in range(3 if short else 6):
            found = search.search(bags, words)
            wanted = {word for word, share in counted.items() if share >= search.threshold}
            assert wanted <= set(found.strings)
            for one, estimate in zip(found.strings, found.estimates, strict=True):
                assert counted[one] >= search.threshold - 2 * search.half_width
                assert abs(estimate - counted[one]) <= search.half_width


def test_nothing_frequent_finds_nothing() -> None:
    search = planned()
    words = np.array([bytes(p) for p in product(LETTERS, repeat=3)])
    with seeded(6):
        found = search.search(Bags.of_items(np.arange(400_000) % len(words)), words)
    assert found.strings == ()
    assert found.estimates.size == 0


def test_users_needed_is_the_least_number() -> None:
    search = planned()
    needed = search.users_needed
    assert planned(users=needed).half_width <= search.threshold / 3
    with pytest.raises(UsageError, match=f"at least {needed}"):
        planned(users=needed - 1)
    assert str(needed) in search.explain()
    assert planned(epsilon=4.0).users_needed < needed < planned(users=10**9, threshold=0.1).users_needed


def test_survivors_are_capped_and_sorted() -> None:
    search = planned()
    candidates = search.extend([b""], 0)
    estimates = np.linspace(0.1, 0.9, len(candidates) + 1)
    kept = search.survivors(candidates, estimates)
    assert len(kept) == search.most_survivors == 20
    assert kept.tolist() == sorted(kept.tolist(), reverse=True)
    estimates[:] = search.threshold - search.half_width - 1e-9
    assert search.survivors(candidates, estimates).size == 0


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"alphabet": b""}, "alphabet"),
        ({"alphabet": b"aa"}, "alphabet"),
        ({"alphabet": b"a\0"}, "alphabet"),
        ({"alphabet": "abc"}, "alphabet"),
        ({"length": 0}, "length"),
        ({"threshold": 1.0}, "threshold"),
        ({"beta": 0.0}, "beta"),
        ({"users": 100}, "users must be at least"),
        ({"threshold": 1e-6}, "candidates"),
        ({"threshold": 1e-5, "alphabet": b"a", "epsilon": 1e-6}, "more than 2"),
    ],
)
def test_refusals(changed: dict[str, object], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        planned(**changed)


def test_a_search_takes_all_planned_users() -> None:
    with pytest.raises(UsageError, match="400000 users"):
        planned().search(Bags.of_items([0, 0]), [b"a"])


def test_text_is_refused_without_showing_it() -> None:
    search = planned()
    candidates = search.extend([b""], 0)
    with pytest.raises(UsageError, match="list of bytes") as caught:
        search.codes(["s\u00e9cret"], candidates)
    assert "cret" not in str(caught.value)
    strided = np.array([b"a", b"x", b"b"])[::2]
    assert candidates[search.codes(strided, candidates)].tolist() == [b"a", b"b"]


def test_large_searches_are_quick() -> None:
    import time

    search = planned(users=1_000_000, alphabet=bytes(range(97, 123)), length=12, threshold=0.1)
    clock: Callable[[], float] = time.perf_counter
    start = clock()
    with seeded(7):
        found = search.search(Bags.of_items(np.arange(1_000_000) % 4), [b"somelongword", b"other", b"word", b"x"])
    assert clock() - start < 8
    assert len(found.strings) == 4
    assert search.candidates_at(search.step) <= module.MOST_CANDIDATES
