"""Multinomials and single outcomes: every value of the upper bits counted, joint laws with power, and sums."""

from itertools import product

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import UsageError
from emdp.noise import multinomial
from emdp.noise.binomial import MAX_ITEMS
from emdp.noise.multinomial import (
    check_weight_rows,
    draw_multinomial_rows,
    draw_multinomials,
    draw_outcomes,
    draw_tree_counts,
)
from emdp.testing import seeded

FULL = 2**62


def weight_rows(shares: object) -> np.ndarray:
    """Integer weights with these shares, to rounding; what is missing goes to the largest."""
    share = np.asarray(shares, dtype=np.float64)
    rows = (share / share.sum(axis=1, keepdims=True) * FULL).astype(np.int64)
    rows[np.arange(len(rows)), rows.argmax(axis=1)] += FULL - rows.sum(axis=1)
    return rows


def random_rows(rows: int, outcomes: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    shares = generator.random((rows, outcomes)) * (generator.random((rows, outcomes)) < 0.8)
    shares[:, 0] += 0.01
    return weight_rows(shares)


def chi_squared(observed: np.ndarray, expected: np.ndarray) -> float:
    kept = expected >= 5
    cells = [np.append(array[kept], array[~kept].sum()) for array in (observed, expected)]
    if cells[1][-1] == 0:
        assert cells[0][-1] == 0
        cells = [cell[:-1] for cell in cells]
    return float(scipy.stats.chisquare(*cells, sum_check=False).pvalue)


class TestMultinomialRows:
    @pytest.mark.parametrize("shares", [[1, 1], [1, 2, 4], [3, 0, 2, 1], [0, 0, 1, 3, 0], [5, 1, 1, 1, 1, 1, 2]])
    @pytest.mark.parametrize("items", [1, 3])
    def test_joint_law(self, shares: list[int], items: int) -> None:
        draws, outcomes = 20_000, len(shares)
        with seeded(outcomes):
            drawn = draw_multinomial_rows(np.full(draws, items), np.repeat(weight_rows([shares]), draws, axis=0))
        places = [p for p in product(range(items + 1), repeat=outcomes) if sum(p) == items]
        index = {place: i for i, place in enumerate(places)}
        observed = np.bincount([index[tuple(row)] for row in drawn.tolist()], minlength=len(places))
        expected = scipy.stats.multinomial(items, np.array(shares) / sum(shares)).pmf(places)
        assert chi_squared(observed, draws * expected) > 1e-9

    def test_power(self) -> None:
        draws = 20_000
        for factor in (0.7, 1.3):
            wrong = weight_rows([[factor, 2, 3, 4]])
            with seeded(1):
                drawn = draw_multinomial_rows(np.full(draws, 5), np.repeat(wrong, draws, axis=0)).sum(axis=0)
            assert chi_squared(drawn, draws * 5 * np.array([0.1, 0.2, 0.3, 0.4])) < 1e-9

    @pytest.mark.parametrize("outcomes", [1, 2, 3, 17, 100, 129])
    def test_rows_sum_to_their_counts_and_zero_weights_stay_empty(self, outcomes: int) -> None:
        weights = random_rows(50, outcomes, outcomes)
        counts = np.array([0, 1, 7, 1000, MAX_ITEMS] * 10)
        drawn = draw_multinomial_rows(counts, weights)
        assert drawn.sum(axis=1).tolist() == counts.tolist()
        assert drawn.min() >= 0
        assert not np.any(drawn[weights == 0])

    def test_large_counts_follow_each_weight(self) -> None:
        weights = random_rows(20, 65, 1)
        drawn = draw_multinomial_rows(np.full(20, 2**40), weights)
        mean = 2.0**40 * (weights / FULL)
        used = weights > 0
        assert np.all(np.abs(drawn - mean)[used] <= 7 * np.sqrt(mean[used]))
        score = np.sum((drawn - mean)[used] ** 2 / mean[used])
        assert 1e-9 < scipy.stats.chi2(np.count_nonzero(used) - 20).sf(score) < 1 - 1e-9


class TestMultinomials:
    def test_the_sum_of_like_rows_has_the_law_with_power(self) -> None:
        weights, counts = random_rows(1, 30, 2), np.arange(40) * 25
        expected = counts.sum() * (weights[0] / FULL)

        def p_value(factor: float) -> float:
            tilted = weight_rows(weights * np.where(np.arange(30) % 2, factor, 1.0))
            with seeded(2):
                drawn = draw_multinomials(counts, np.repeat(tilted, 40, axis=0))
            assert drawn.sum() == counts.sum()
            return chi_squared(drawn, expected)

        assert p_value(1.0) > 1e-9
        assert p_value(0.7) < 1e-9
        assert p_value(1.3) < 1e-9

    def test_unlike_rows_add_up(self) -> None:
        weights = random_rows(40, 30, 2)
        counts = np.random.default_rng(2).integers(0, 2000, 40)
        with seeded(2):
            drawn = draw_multinomials(counts, weights)
        chance = weights / FULL
        mean, spread = counts @ chance, np.sqrt(counts @ (chance * (1 - chance)))
        assert np.all(np.abs(drawn - mean) <= 7 * spread)
        assert np.sum(((drawn - mean) / spread) ** 2) < scipy.stats.chi2(30).isf(1e-9) * 1.2

    def test_it_is_the_sum_of_rows(self) -> None:
        weights, counts = random_rows(9, 12, 3), np.arange(9) * 100
        with seeded(3):
            summed = draw_multinomials(counts, weights)
        with seeded(3):
            rows = draw_multinomial_rows(counts, weights)
        assert summed.tolist() == rows.sum(axis=0).tolist()

    def test_blocks_of_rows_cover_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        weights, counts = random_rows(50, 10, 4), np.arange(50) * 7
        monkeypatch.setattr(multinomial, "_ENTRIES", 25)
        assert draw_multinomial_rows(counts, weights).sum(axis=1).tolist() == counts.tolist()
        assert draw_multinomials(counts, weights).sum() == counts.sum()

    def test_nothing_to_draw(self) -> None:
        assert draw_multinomials([0], [[FULL]]).tolist() == [0]
        assert draw_multinomials(np.zeros(0, dtype=np.int64), np.zeros((0, 3), dtype=np.int64)).tolist() == [0, 0, 0]


def test_trees_of_all_shapes_spread_their_roots() -> None:
    lengths = [1, 2, 3, 1, 7, 8, 9, 5, 64, 65, 1]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    leaves = np.ones(offsets[-1], dtype=np.int64)
    roots = np.arange(1, len(lengths) + 1) * 10**6
    counts = draw_tree_counts(roots, leaves, offsets)
    assert np.add.reduceat(counts, offsets[:-1]).tolist() == roots.tolist()
    expected = np.repeat(roots / lengths, lengths)
    assert np.all(np.abs(counts - expected) <= 7 * np.sqrt(expected))


class TestOutcomes:
    @pytest.mark.parametrize("outcomes", [1, 2, 3, 5, 16, 40, 300])
    @pytest.mark.parametrize("end", [0, 2**52 - 1])
    def test_all_values_of_the_upper_bits_give_the_weights(
        self, outcomes: int, end: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Weights are multiples of 2^52, so 10 of the 62 bits decide, whatever the others are.
        parts = np.random.default_rng(outcomes).multinomial(1024, np.ones(outcomes) / outcomes, size=3)
        codes = np.tile(np.arange(3), (1024, 1)).T.ravel()
        uniform = np.tile((np.arange(1024, dtype=np.uint64) << np.uint64(52)) + np.uint64(end), 3)
        monkeypatch.setattr(multinomial, "_BLOCK", uniform.size)
        monkeypatch.setattr(multinomial, "random_words", lambda count: uniform << np.uint64(2))
        drawn = draw_outcomes(codes, parts.astype(np.int64) << 52)
        for row in range(3):
            assert np.bincount(drawn[codes == row], minlength=outcomes).tolist() == parts[row].tolist()

    @pytest.mark.parametrize("cells", [2, 64, 2**23])
    def test_ends_of_intervals_are_exact(self, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
        weights = random_rows(4, 200, 5)
        weights[1] = 0
        weights[1, [3, 4, 199]] = 1, FULL - 2, 1
        ends = np.cumsum(weights, axis=1)
        for row, outcome in product(range(4), range(200)):
            if weights[row, outcome] == 0:
                continue
            first, last = int(ends[row, outcome] - weights[row, outcome]), int(ends[row, outcome]) - 1
            with monkeypatch.context() as patch:
                patch.setattr(multinomial, "_GUIDE_CELLS", cells)
                patch.setattr(
                    multinomial,
                    "random_words",
                    lambda count, a=first, b=last: np.array([4 * a, 4 * b + 3], dtype=np.uint64),
                )
                if outcome % 20 == 0 or row == 1:
                    assert draw_outcomes([row, row], weights).tolist() == [outcome, outcome]

    def test_law_and_power(self) -> None:
        weights = random_rows(5, 50, 6)
        codes = np.arange(50_000) % 5
        with seeded(6):
            drawn = draw_outcomes(codes, weights)
        for row in range(5):
            observed = np.bincount(drawn[codes == row], minlength=50)
            expected = weights[row] / FULL * 10_000
            assert chi_squared(observed, expected) > 1e-9
            for factor in (0.7, 1.3):
                wrong = expected * np.where(np.arange(50) % 2, factor, 1.0)
                assert chi_squared(observed, wrong / wrong.sum() * 10_000) < 1e-9

    def test_no_items(self) -> None:
        assert draw_outcomes([], [[FULL]]).size == 0


@pytest.mark.parametrize(
    "weights", [[[FULL - 1]], [[FULL, 1]], [[FULL] * 5], [[-1, FULL, 1]], [[0, 0]], [FULL], [[1.0]], [[FULL + 1, -1]]]
)
def test_weights_with_another_sum_are_refused(weights: object) -> None:
    with pytest.raises(UsageError, match="weights"):
        check_weight_rows(weights)  # type: ignore[arg-type]


def test_the_last_of_many_rows_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multinomial, "_ENTRIES", 4)
    weights = np.full((9, 2), FULL // 2)
    check_weight_rows(weights)
    weights[8, 0] -= 1
    with pytest.raises(UsageError, match="weights must sum to exactly"):
        draw_multinomials(np.ones(9, dtype=np.int64), weights)


@pytest.mark.parametrize("counts", [[1], [1, -1], [1, MAX_ITEMS + 1], [1.0, 2.0], [[1, 2]]])
def test_malformed_counts_are_refused(counts: object) -> None:
    for draw in (draw_multinomials, draw_multinomial_rows):
        with pytest.raises(UsageError, match="counts"):
            draw(counts, [[FULL], [FULL]])  # type: ignore[arg-type]


@pytest.mark.parametrize("codes", [[2], [-1], [0.5], [[0]]])
def test_malformed_codes_are_refused(codes: object) -> None:
    with pytest.raises(UsageError, match="codes"):
        draw_outcomes(codes, [[FULL], [FULL]])  # type: ignore[arg-type]


def test_seeded_draws_repeat_and_production_does_not() -> None:
    weights, counts = random_rows(3, 20, 7), np.full(3, 10**6)

    def draws(seed: int) -> list[int]:
        with seeded(seed):
            return [*draw_multinomials(counts, weights).tolist(), *draw_outcomes([0, 1, 2] * 9, weights).tolist()]

    assert draws(1) == draws(1) != draws(2)
    assert draw_multinomials(counts, weights).tolist() != draw_multinomials(counts, weights).tolist()
