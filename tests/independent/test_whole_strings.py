"""Frequent strings by whole releases of small tables, against what they claim.

Stable histogram. Claim: ``(epsilon, delta)`` for replacing a user. Second method: slots by all offsets of all users
(``exact_releases.Replay`` in the place of the sampler), the law of every string's outcome written out anew from the
discrete Laplace law (not released, or each count up to a far end), and the divergence over all small tables.

Prefix search of two levels. Claim: the transcript (who was dealt where, all messages) is ``epsilon``-DP at user level,
and where a level's messages are mixed what the accountant says for its users. Second method: every deal and every
message of the search's own code, the candidates of the second level being what the first one let pass.

Prefix search, one level. Claim: every message is ``epsilon``-LDP at user level, and ``(alpha_em, 0)`` local d_EM-DP on
0/1 distances. Second method: the message's law by all draws of the oracle's own code for every bag of words, and
``d_EM`` by a linear program.
"""

import itertools
import math
from typing import Any

import exact_releases as exact
import exact_rounds as rounds
import numpy as np
import numpy.typing as npt
import pytest

from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.strings import prefix_search as heavy_hitters
from emdp.mechanisms.strings.prefix_search import HeavyHitterSearch
from emdp.mechanisms.strings.stable_histogram import StableHistogram

Floats = npt.NDArray[np.float64]
Bag = tuple[int, ...]

STRINGS = 3
FAR = 30
"""Scales beyond the threshold at which outcomes end: what lies beyond has a probability below 1e-13."""

SAFE = 1 + 1e-9


def bags_of(users: tuple[Bag, ...]) -> Bags:
    """Return the users' bags as the product holds them."""
    histograms = [sorted((code, bag.count(code)) for code in set(bag)) for bag in users]
    offsets = np.cumsum([0, *map(len, histograms)])
    rows = np.array(list(itertools.chain.from_iterable(histograms)), dtype=np.int64)
    return Bags(offsets, rows[:, 0].copy(), rows[:, 1].copy())


def one_string(count: int, histogram: StableHistogram, threshold: int) -> Floats:
    """Return the law of a string's outcome: not released, then each released count."""
    size = round(FAR * histogram.scale)
    law = np.zeros(size + 1)
    if count == 0:
        law[0] = 1.0
        return law
    ratio = math.exp(-1 / histogram.scale)
    values = np.arange(threshold, threshold + size)
    law[1:] = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values - count)
    law[0] = 1 - ratio ** (threshold - count) / (1 + ratio)
    return law


def table_law(replay: Any, histogram: StableHistogram, users: tuple[Bag, ...], threshold: int) -> Floats:
    """Return the law of everything that is released: a mixture over the slots."""
    bags = bags_of(users)

    def counts() -> tuple[int, ...]:
        dealt = histogram.draw_slots(bags)
        return tuple(np.bincount(bags.codes, weights=dealt, minlength=STRINGS).astype(int).tolist())

    total: Any = 0.0
    for known, chance in replay.law(counts).items():
        parts = [one_string(count, histogram, threshold) for count in known]
        total = total + chance * np.multiply.outer(np.multiply.outer(parts[0], parts[1]), parts[2])
    return np.asarray(total).ravel()


def worst_stick(replay: Any, histogram: StableHistogram, threshold: int, others: list[Bag], largest: int) -> float:
    own = exact.bags(range(1, largest + 1), STRINGS)
    worst = 0.0
    for other in others:
        laws = [table_law(replay, histogram, (bag, other), threshold) for bag in own]
        for P, Q in itertools.permutations(laws, 2):
            worst = max(worst, float(np.maximum(P - math.exp(histogram.epsilon) * Q, 0.0).sum()))
    return worst


@pytest.mark.parametrize(("slots", "epsilon", "delta"), [(1, 2.0, 0.01), (2, 6.0, 0.01)])
def test_a_stable_histogram_costs_what_it_claims(
    monkeypatch: pytest.MonkeyPatch, slots: int, epsilon: float, delta: float
) -> None:
    histogram = StableHistogram(2, epsilon, delta, slots)
    replay = exact.Replay(monkeypatch)
    others: list[Bag] = [(0,)]
    found = worst_stick(replay, histogram, histogram.private_threshold, others, 2)
    assert 0.3 * delta < found <= delta * SAFE
    # Planted fault: a threshold that does not wait for the noise of a new string.
    assert worst_stick(replay, histogram, slots + 1, others, 1) > delta


@pytest.mark.full
@pytest.mark.parametrize(("slots", "epsilon", "delta"), [(1, 1.0, 1e-3), (2, 3.0, 1e-3), (3, 6.0, 0.01)])
def test_a_stable_histogram_costs_what_it_claims_over_all_tables(
    monkeypatch: pytest.MonkeyPatch, slots: int, epsilon: float, delta: float
) -> None:
    histogram = StableHistogram(2, epsilon, delta, slots)
    replay = exact.Replay(monkeypatch)
    found = worst_stick(replay, histogram, histogram.private_threshold, exact.bags((1, 2), STRINGS), 2)
    assert 0.2 * delta < found <= delta * SAFE


WORDS = np.array([b"aa", b"ab", b"b?"])
"""Two candidates, and a word that is none of them."""


@pytest.mark.parametrize("oracle", [OneBitHadamardOracle, KRROracle])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_level_of_a_prefix_search_costs_what_it_claims(
    monkeypatch: pytest.MonkeyPatch, oracle: Any, epsilon: float
) -> None:
    search = HeavyHitterSearch(10**7, epsilon, threshold=0.3, alphabet=b"ab", length=2, oracle=oracle)
    assert search.levels == 1
    candidates = np.array([b"aa", b"ab"])
    codes = search.codes(WORDS, candidates)
    assert sorted(codes.tolist()) == [0, 1, 2]
    messages = search.level_oracle(candidates, 1)
    replay = exact.Replay(monkeypatch)
    laws = {}
    for bag in exact.bags((1, 2, 3), STRINGS):
        own = bags_of((tuple(codes[list(bag)].tolist()),))
        laws[(bag,)] = replay.law(lambda own=own: exact.seen(messages.encode(own)))
    P, Q, apart = exact.neighbours(laws, exact.ZERO_ONE)
    assert exact.smallest_alpha(P, Q, np.ones(len(apart)), 0.0) == pytest.approx(epsilon, rel=1e-9)
    assert messages.epsilon <= epsilon
    near = exact.smallest_alpha(P, Q, apart, 0.0)
    assert 0.5 * messages.alpha_em < near <= messages.alpha_em * SAFE


LISTED = np.array([b"aa", b"ab", b"b", b"?"])
"""Strings of two bytes and of one, and one that is never a candidate."""


def two_levels(
    monkeypatch: Any, users: int, epsilon: float, oracle: Any = KRROracle, alphabet: bytes = b"ab"
) -> HeavyHitterSearch:
    """Return a search of one byte a level; what it finds of so few users is nobody's promise."""
    monkeypatch.setattr(heavy_hitters, "MOST_CANDIDATES", 4 * (len(alphabet) + 2))
    monkeypatch.setattr(HeavyHitterSearch, "_half_width_of", lambda own, users: 0.25)
    search = HeavyHitterSearch(users, epsilon, threshold=0.75, alphabet=alphabet, length=2, oracle=oracle)
    assert (search.levels, search.step) == (2, 1)
    return search


def transcripts(
    monkeypatch: Any, search: HeavyHitterSearch, tables: list[tuple[Bag, ...]], *, is_mixed: bool
) -> dict[Any, exact.Law]:
    """Return the law of deal, messages of both levels and what is found, for each table."""
    said: list[Any] = []
    with monkeypatch.context() as patched:
        replay = exact.Replay(patched)
        deal = HeavyHitterSearch.deal
        rounds.recorded(patched, FrequencyOracle, "encode", said, is_mixed=is_mixed)
        patched.setattr(HeavyHitterSearch, "deal", lambda own: said.append(dealt := deal(own)) or dealt)

        def run(table: tuple[Bag, ...]) -> Any:
            said.clear()
            found = search.search(bags_of(table), LISTED)
            # A search ends where nothing passes.
            return tuple(said[0].tolist()), tuple(said[1:]), found.strings, exact.seen(found.estimates)

        return {table: replay.law(lambda table=table: run(table)) for table in tables}


def in_order(laws: dict[Any, exact.Law]) -> tuple[Floats, Floats]:
    """Return the laws of all pairs of tables that differ in one user; users are told apart."""
    P, Q, _ = exact.neighbours(laws, None)
    assert len(P) >= 2
    return P, Q


@pytest.mark.quarter
@pytest.mark.parametrize(("oracle", "own"), [(KRROracle, [(0,), (0, 1), (2, 3)]), (OneBitHadamardOracle, [(0,), (2,)])])
def test_a_prefix_search_of_two_levels_costs_what_it_claims(monkeypatch: Any, oracle: Any, own: list[Bag]) -> None:
    epsilon = 1.5
    tables = [(bag, other) for bag in own for other in ((0,), (1, 2))]
    search = two_levels(monkeypatch, 2, epsilon, oracle)
    laws = transcripts(monkeypatch, search, tables, is_mixed=False)
    # Both levels were reached, by one search and not by another.
    assert {len(messages) for _, messages, *_ in laws[tables[0]]} == {1, 2}
    P, Q = in_order(laws)
    assert exact.smallest_alpha(P, Q, np.ones(len(P)), 0.0) == pytest.approx(epsilon, rel=1e-9)
    weak = two_levels(monkeypatch, 2, epsilon / rounds.WEAKER, oracle)
    P, Q = in_order(transcripts(monkeypatch, weak, tables, is_mixed=False))
    assert exact.smallest_alpha(P, Q, np.ones(len(P)), 0.0) > 1.4 * epsilon


def check_mixed_search(monkeypatch: Any, tables: list[tuple[Bag, ...]], alphabet: bytes) -> None:
    epsilon, delta = 1.5, 0.02
    search = two_levels(monkeypatch, 4, epsilon, alphabet=alphabet)
    # As many candidates as a level may have: the law of this oracle depends on it.
    laws = [KRROracle(items, search.level_users, search.epsilon).sets for items in range(2, 8)]
    claim = max(law.epsilon(search.level_users, delta) for law in laws)
    assert claim < 0.99 * epsilon
    P, Q = in_order(transcripts(monkeypatch, search, tables, is_mixed=True))
    levels = np.full(len(P), claim)
    assert 0.2 * delta < exact.hockey_stick(P, Q, levels).max() <= delta * SAFE
    weak = two_levels(monkeypatch, 4, epsilon / rounds.WEAKER, alphabet=alphabet)
    P, Q = in_order(transcripts(monkeypatch, weak, tables, is_mixed=True))
    assert exact.hockey_stick(P, Q, levels).max() > delta


@pytest.mark.slow
def test_a_mixed_prefix_search_of_two_levels_costs_what_it_claims(monkeypatch: Any) -> None:
    check_mixed_search(monkeypatch, [((0,), (0,), (0,), (0,)), ((2,), (0,), (0,), (0,))], b"a")


@pytest.mark.full
def test_a_mixed_prefix_search_of_two_levels_costs_what_it_claims_over_more_tables(monkeypatch: Any) -> None:
    tables = [(own, other, (0,), (1,)) for own in ((0,), (2,), (1, 3)) for other in ((0,), (2,))]
    check_mixed_search(monkeypatch, tables, b"ab")
