"""Choices: refusals counted exactly, all bit patterns of coins, laws with power, blocks and edges."""

from itertools import permutations

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import UsageError
from emdp.noise import choices
from emdp.noise.choices import (
    draw_below,
    draw_bernoulli,
    draw_coins_and_bits,
    draw_indices,
    draw_permutation,
    draw_sample_counts,
)
from emdp.testing import seeded


def uniform_p(drawn: np.ndarray, cells: int) -> float:
    return float(scipy.stats.chisquare(np.bincount(drawn, minlength=cells)).pvalue)


class TestBelow:
    @pytest.mark.parametrize("limit", [1, 3, 10, 2**16 + 1, 2**31 + 11, 3 * 2**30, 2**32 - 1, 2**32])
    def test_each_value_keeps_equally_many_half_words(self, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
        values = sorted({v for v in (0, 1, limit // 3, limit // 2, limit - 2) if 0 <= v < limit - 1})[:5] or [0]
        if limit < 2**14:
            self.check_ends(limit, monkeypatch)
            return
        for value in values:
            halves = np.arange(-(-value * 2**32 // limit), -(-(value + 1) * 2**32 // limit), dtype=np.uint64)
            # What is refused gets the largest half word, which gives the largest value.
            monkeypatch.setattr(choices, "_half_words", lambda count: np.full(count, 2**32 - 1, dtype=np.uint64))
            drawn = choices._multiply(halves, np.full(halves.size, limit, dtype=np.uint64))
            assert np.count_nonzero(drawn == value) == 2**32 // limit
            assert np.all((drawn == value) | (drawn == limit - 1))

    def check_ends(self, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
        # The refused are at the begin of a value's half words: as many as there are too many.
        monkeypatch.setattr(choices, "_half_words", lambda count: np.full(count, 2**32 - 1, dtype=np.uint64))
        for value in range(limit - 1):
            first, after = -(-value * 2**32 // limit), -(-(value + 1) * 2**32 // limit)
            halves = np.array([first, first + 1, after - 1], dtype=np.uint64)
            drawn = choices._multiply(halves, np.full(3, limit, dtype=np.uint64)).tolist()
            excess = after - first - 2**32 // limit
            assert excess in (0, 1)
            assert drawn == [limit - 1 if excess else value, value, value]

    @pytest.mark.parametrize("limit", [2**32 + 1, 3 * 2**40, 2**53 + 1, 2**61 + 1, 2**62 - 1, 2**62])
    def test_large_limits_refuse_what_is_not_below(self, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
        (bits,) = np.frexp(np.array([limit - 1], dtype=np.float64))[1].tolist()
        assert 2**bits >= limit
        calls = iter([limit, 2**bits - 1, limit - 1])
        tried = []

        def word(count: int) -> np.ndarray:
            if count == 0:
                return np.zeros(0, dtype=np.uint64)
            tried.append(min(next(calls), 2**bits - 1))
            return np.full(count, tried[-1] << (64 - bits), dtype=np.uint64)

        monkeypatch.setattr(choices, "random_words", word)
        assert draw_below([limit]).tolist() == [limit - 1]
        assert len(tried) == (3 if 2**bits > limit else 1)

    @pytest.mark.parametrize("limit", [2, 7, 60, 2**33 * 30, 2**62])
    def test_law_with_power(self, limit: int) -> None:
        cells = min(limit, 30)

        def p_value(other: int) -> float:
            with seeded(1):
                drawn = draw_below(np.full(30_000, other))
            assert 0 <= drawn.min() <= drawn.max() < other
            places = np.array([min(value * cells // limit, cells - 1) for value in drawn.tolist()])
            chances = np.diff([-(-cell * limit // cells) / limit for cell in range(cells + 1)])
            return float(scipy.stats.chisquare(np.bincount(places, minlength=cells), chances * 30_000).pvalue)

        assert p_value(limit) > 1e-9
        assert p_value(round(0.7 * limit)) < 1e-9
        assert limit == 2**62 or p_value(round(1.3 * limit)) < 1e-9

    def test_mixed_limits_keep_their_places(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(choices, "_BLOCK", 7)
        limits = np.array([1, 2, 2**62, 10, 2**32, 2**32 + 1, 2**40] * 30)
        drawn = draw_below(limits)
        assert np.all((drawn >= 0) & (drawn < limits))
        assert np.all(drawn[limits >= 2**32] > 0)
        assert np.all(drawn[2::7] > 2**40)


class TestIndices:
    def test_blocks_are_whole_users_in_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(choices, "_INDICES", 100)
        sizes = np.array([1, 5, 2**32, 1, 3] * 9)
        blocks = list(draw_indices(sizes, 30))
        assert {len(block) for block in blocks} == {3}
        drawn = np.concatenate(blocks)
        assert drawn.shape == (45, 30)
        assert np.all((drawn >= 0) & (drawn < sizes[:, None]))
        assert np.all(drawn[2::5].max(axis=1) > 2**30)

    def test_one_user_may_exceed_a_block(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(choices, "_INDICES", 10)
        assert [block.shape for block in draw_indices([4, 4], 25)] == [(1, 25), (1, 25)]

    def test_law_and_independence(self) -> None:
        with seeded(2):
            drawn = np.concatenate(list(draw_indices(np.full(5000, 5), 4)))
        assert uniform_p(drawn @ np.array([125, 25, 5, 1]), 625) > 1e-9
        assert uniform_p(drawn.ravel(), 6) < 1e-9

    def test_no_users(self) -> None:
        assert list(draw_indices([], 3)) == []

    def test_arguments_are_checked_at_the_call(self) -> None:
        for sizes, samples in (([0], 3), ([2**32 + 1], 3), ([1], 0), ([1.5], 1)):
            with pytest.raises(UsageError, match=r"sizes|samples"):
                draw_indices(sizes, samples)


class TestSampleCounts:
    def test_each_user_s_law_with_power(self) -> None:
        counts, offsets = np.tile([1, 2, 0, 7], 10_000), 4 * np.arange(10_001)
        with seeded(3):
            drawn = draw_sample_counts(counts, offsets, 2).reshape(-1, 4)
        assert np.all(drawn.sum(axis=1) == 2)
        codes = drawn @ np.array([9, 3, 0, 1])
        p = np.array([0.1, 0.2, 0.7])
        law = {18: p[0] ** 2, 6: p[1] ** 2, 2: p[2] ** 2, 12: 2 * p[0] * p[1], 10: 2 * p[0] * p[2], 4: 2 * p[1] * p[2]}
        observed = [np.count_nonzero(codes == code) for code in law]
        assert sum(observed) == 10_000
        assert scipy.stats.chisquare(observed, np.array(list(law.values())) * 10_000).pvalue > 1e-9
        total = drawn.sum(axis=0)[[0, 1, 3]]
        for factor in (0.7, 1.3):
            wrong = p * [factor, 1, 1] / (p * [factor, 1, 1]).sum()
            assert scipy.stats.chisquare(total, wrong * 20_000).pvalue < 1e-9

    def test_ragged_users_and_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(choices, "_ENTRIES", 50)
        lengths = np.random.default_rng(1).integers(1, 90, 300)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        counts = np.random.default_rng(2).integers(0, 5, offsets[-1])
        counts[offsets[:-1]] += 1
        with seeded(4):
            drawn = draw_sample_counts(counts, offsets, 1000)
        assert np.all(np.add.reduceat(drawn, offsets[:-1]) == 1000)
        assert not np.any(drawn[counts == 0])
        share = counts / np.repeat(np.add.reduceat(counts, offsets[:-1]), lengths)
        score = np.sum((drawn - 1000 * share)[share > 0] ** 2 / (1000 * share[share > 0]))
        freedom = np.count_nonzero(counts) - 300
        assert 1e-9 < scipy.stats.chi2(freedom).sf(score) < 1 - 1e-9

    def test_edges(self) -> None:
        assert draw_sample_counts([], [0], 5).size == 0
        assert draw_sample_counts([2**62], [0, 1], 2**40).tolist() == [2**40]
        assert draw_sample_counts([1, 1], [0, 1, 2], 0).tolist() == [0, 0]
        assert draw_sample_counts([2**61, 2**61], [0, 2], 2**40).sum() == 2**40

    @pytest.mark.parametrize(
        ("counts", "offsets", "samples", "name"),
        [
            ([1], [0, 0, 1], 1, "offsets"),
            ([1, 0], [0, 1, 2], 1, "offsets"),
            ([1, 1], [0, 1], 1, "offsets"),
            ([1, 1], [1, 2], 1, "offsets"),
            ([1, 1, 1], [0, 2, 1, 3], 1, "offsets"),
            ([1], [], 1, "offsets"),
            ([-1, 2], [0, 2], 1, "counts"),
            ([2**62, 1], [0, 2], 1, "counts"),
            ([1], [0, 1], -1, "samples"),
            ([1], [0, 1], 2**41, "samples"),
        ],
    )
    def test_malformed_arguments_are_refused(self, counts: object, offsets: object, samples: int, name: str) -> None:
        with pytest.raises(UsageError, match=name):
            draw_sample_counts(counts, offsets, samples)  # type: ignore[arg-type]


class TestBernoulli:
    @pytest.mark.parametrize("bits", [1, 4, 8])
    def test_all_patterns_give_the_numerators(self, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
        for end in (0, 2 ** (64 - bits) - 1):
            patterns = (np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits)) + np.uint64(end)
            monkeypatch.setattr(choices, "random_words", lambda count, words=patterns: words.copy())
            for numerator in range(2**bits + 1):
                assert np.count_nonzero(draw_bernoulli(np.full(2**bits, numerator), bits)) == numerator

    def test_sure_coins_and_rates(self) -> None:
        assert not np.any(draw_bernoulli(np.zeros(20_000, dtype=np.int64), 62))
        assert np.all(draw_bernoulli(np.full(20_000, 2**62), 62))
        for share in (0.3 * 0.7, 0.3, 0.3 * 1.3):
            with seeded(5):
                heads = np.count_nonzero(draw_bernoulli(np.full(20_000, int(share * 2**62)), 62))
            assert bool(scipy.stats.binomtest(heads, 20_000, 0.3).pvalue > 1e-9) is (share == 0.3)

    @pytest.mark.parametrize(("numerators", "bits"), [([3], 1), ([-1], 1), ([1], 0), ([1], 63), ([0.5], 1)])
    def test_malformed_arguments_are_refused(self, numerators: object, bits: int) -> None:
        with pytest.raises(UsageError, match=r"numerators|bits"):
            draw_bernoulli(numerators, bits)  # type: ignore[arg-type]


class TestCoinsAndBits:
    def test_more_bits_decide_where_half_a_word_does_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        threshold, rest = 5, 2**29 + 3
        halves = np.array([[4, 1], [5, 2], [5, 2**32 - 1], [6, 4], [2**32 - 1, 5], [0, 6]], dtype=np.uint32)
        more = np.array([(rest - 1) << 34, rest << 34], dtype=np.uint64)
        words = iter([halves.reshape(-1).view(np.uint64), more])
        monkeypatch.setattr(choices, "random_words", lambda count: next(words)[:count])
        coins, bits = draw_coins_and_bits(threshold * 2**30 + rest, 6)
        assert coins.tolist() == [True, True, False, False, False, True]
        assert bits.tolist() == halves[:, 1].tolist()

    def test_sure_coins(self) -> None:
        for numerator in (0, 2**62):
            coins, bits = draw_coins_and_bits(numerator, 20_000)
            assert np.all(coins == bool(numerator))
            assert bits.size == 20_000
        assert [part.size for part in draw_coins_and_bits(2**61, 0)] == [0, 0]

    @pytest.mark.parametrize("share", [0.3 * 0.7, 0.3, 0.3 * 1.3])
    def test_rates_and_the_bits_beside_either_side(self, share: float) -> None:
        with seeded(7):
            coins, bits = draw_coins_and_bits(int(share * 2**62), 20_000)
        found = scipy.stats.binomtest(int(np.count_nonzero(coins)), 20_000, 0.3).pvalue
        assert bool(found > 1e-9) is (share == 0.3)
        for side in (coins, ~coins):
            for shift in (0, 29):
                assert uniform_p((bits[side] >> np.uint32(shift)) & np.uint32(7), 8) > 1e-9

    @pytest.mark.parametrize(("numerator", "count"), [(-1, 1), (2**62 + 1, 1), (0.5, 1), (1, -1)])
    def test_malformed_arguments_are_refused(self, numerator: object, count: int) -> None:
        with pytest.raises(UsageError, match=r"numerator|count"):
            draw_coins_and_bits(numerator, count)  # type: ignore[arg-type]


class TestPermutation:
    def test_all_orders_are_equally_likely(self) -> None:
        index = {order: i for i, order in enumerate(permutations(range(4)))}
        with seeded(6):
            drawn = np.array([index[tuple(draw_permutation(4).tolist())] for _ in range(5000)])
        assert uniform_p(drawn, 24) > 1e-9
        assert uniform_p(np.minimum(drawn, 22), 24) < 1e-9

    def test_it_is_a_permutation(self) -> None:
        for count in (0, 1, 2, 1000):
            assert sorted(draw_permutation(count).tolist()) == list(range(count))

    def test_equal_keys_are_all_drawn_anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = iter([[5, 7, 5], [3, 2, 2], [9, 8, 2**64 - 1]])
        monkeypatch.setattr(choices, "random_words", lambda count: np.array(next(calls), dtype=np.uint64))
        assert draw_permutation(3).tolist() == [1, 0, 2]

    @pytest.mark.parametrize("count", [-1, 1.5, 2**32 + 1])
    def test_counts_out_of_range_are_refused(self, count: object) -> None:
        with pytest.raises(UsageError, match="count"):
            draw_permutation(count)  # type: ignore[arg-type]


def test_malformed_limits_are_refused() -> None:
    for limits in ([0], [2**62 + 1], [1.0], [[1]]):
        with pytest.raises(UsageError, match="limits"):
            draw_below(limits)


def test_seeded_draws_repeat_and_production_does_not() -> None:
    def draws(seed: int) -> list[int]:
        with seeded(seed):
            below, coins = draw_below([2**62, 1000, 10]), draw_bernoulli([2**9] * 40, 10)
            sampled = draw_sample_counts([1, 2, 3], [0, 3], 10**6)
            return [*below.tolist(), *coins.tolist(), *sampled.tolist(), *draw_permutation(20).tolist()]

    assert draws(1) == draws(1) != draws(2)
    assert draw_below([2**62]).tolist() != draw_below([2**62]).tolist()
