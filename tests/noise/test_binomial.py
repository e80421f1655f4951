"""Binomials: all bit patterns counted, the rejection's proof piece by piece, and laws by chi-squared with power."""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.noise import binomial
from emdp.noise.binomial import MAX_ITEMS, MAX_WEIGHT, draw_binomials, half_binomials
from emdp.noise.exact import LazyUniform, exp_bounds
from emdp.testing import seeded

REACH = binomial._POPCOUNT_REACH
DRAWS = 20_000


def feed(words: Iterable[object]) -> Callable[[int], np.ndarray]:
    """A source that gives these arrays of words, call by call."""
    calls = iter(words)

    def source(count: int) -> np.ndarray:
        given = np.asarray(next(calls), dtype=np.uint64).copy()
        assert given.size == count
        return given

    return source


def p_value(drawn: np.ndarray, law: scipy.stats.rv_discrete) -> float:
    """Chi-squared on at most 60 cells of at least 20 expected draws each."""
    cuts = np.unique(law.ppf(np.arange(1, 60) / 60))
    expected = np.diff(law.cdf(cuts), prepend=0.0, append=1.0) * drawn.size
    observed = np.bincount(np.searchsorted(cuts, drawn), minlength=cuts.size + 1)
    kept = expected >= 20
    observed = np.append(observed[kept], observed[~kept].sum())
    expected = np.append(expected[kept], expected[~kept].sum())
    if expected[-1] < 1e-9:
        assert observed[-1] == 0
        observed, expected = observed[:-1], expected[:-1]
    return float(scipy.stats.chisquare(observed, expected, sum_check=False).pvalue)


class TestPopcount:
    @pytest.mark.parametrize("n", [1, 2, 7, 12])
    def test_all_patterns_of_bits_give_binomial_coefficients(self, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
        patterns = np.arange(2**n, dtype=np.uint64) << np.uint64(64 - n)
        monkeypatch.setattr(binomial, "random_words", feed([patterns]))
        monkeypatch.setattr(binomial, "_BLOCK", 2**13)
        drawn = half_binomials(np.full(2**n, n))
        assert np.bincount(drawn).tolist() == [math.comb(n, k) for k in range(n + 1)]

    @pytest.mark.parametrize("n", [63, 64, 65, 127, 128, 129, 1000, REACH])
    def test_exactly_n_bits_count(self, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
        words = -(-n // 64)
        full = np.full(words, 2**64 - 1, dtype=np.uint64)
        monkeypatch.setattr(binomial, "random_words", feed([full, np.zeros(words)]))
        assert half_binomials(np.array([n])).tolist() == [n]
        assert half_binomials(np.array([n])).tolist() == [0]

    def test_draws_of_one_call_share_no_bit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Five counts, nine words: all bits of one draw set, those of the others clear.
        counts = np.array([0, 64, 65, 0, 200, 3])
        words_of = [0, 1, 2, 0, 4, 1]
        for chosen in range(6):
            words = np.repeat(np.where(np.arange(6) == chosen, np.uint64(2**64 - 1), np.uint64(0)), words_of)
            monkeypatch.setattr(binomial, "random_words", feed([words]))
            assert half_binomials(counts).tolist() == np.where(np.arange(6) == chosen, counts, 0).tolist()


class TestProposal:
    def test_heights_are_a_law_and_dominate(self) -> None:
        heights = binomial._HEIGHTS.tolist()
        assert sum(heights) == 2**16 - 1
        for k, height in enumerate(heights):
            assert height >= binomial._SCALE * exp_bounds(Fraction(k * k, 64), 64)[1]
        assert np.bincount(binomial._BLOCK_OF).tolist() == [*heights, 1]

    def test_the_tail_dominates(self) -> None:
        steps = binomial._STEPS
        for j in range(200):
            bound = binomial._SCALE * exp_bounds(Fraction((steps + j) ** 2, 64), 64)[1]
            assert Fraction(1, 2 ** (j + 1)) >= bound
        assert 2 * steps / 64 > math.log(2)  # from there on: a factor of more than 2 each

    @given(st.integers(REACH // 2 + 1, MAX_ITEMS // 2))
    @settings(deadline=None)
    def test_widths_are_the_least_that_dominate(self, half: int) -> None:
        (width,) = binomial._widths(np.array([2 * half])).tolist()
        assert width**2 >= Fraction(2 * half + 1, 128) > (width - 1) ** 2

    @pytest.mark.parametrize("half", [1, 2, 9, 40, REACH // 2 + 1])
    def test_ratios_are_below_the_gaussian(self, half: int) -> None:
        for i in range(half + 1):
            ratio = Fraction(math.comb(2 * half, half + i), math.comb(2 * half, half))
            assert ratio <= exp_bounds(Fraction(2 * i * i, 2 * half + 1), 400)[1]

    @pytest.mark.parametrize("n", [REACH + 2, 2 * REACH + 6])
    def test_all_blocks_signs_and_offsets_meet_every_point_of_a_block_alike(
        self, n: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (width,) = binomial._widths(np.array([n])).tolist()
        indices, signs, offsets = (grid.ravel() for grid in np.meshgrid(np.arange(2**16), [0, 1], np.arange(width)))
        halves = -(-(offsets + 1) * 2**32 // width) - 1  # the largest with this offset: never refused
        bits = (indices.astype(np.uint64) << np.uint64(48)) | (signs.astype(np.uint64) << np.uint64(47))
        bits |= halves.astype(np.uint64) << np.uint64(15)
        monkeypatch.setattr(binomial, "random_words", feed([bits, np.zeros(bits.size)]))
        monkeypatch.setattr(binomial, "_draw_tail_step", lambda: 0)
        drawn, accepted = binomial._propose(np.full(bits.size, n))
        assert np.all(accepted)  # the uniform is 0
        for k, height in enumerate([*binomial._HEIGHTS.tolist(), 1]):
            points = np.arange(k * width, (k + 1) * width)
            assert np.all(np.bincount(drawn[drawn >= 0], minlength=points[-1] + 1)[points] == height)
            assert np.all(np.bincount(-1 - drawn[drawn < 0], minlength=points[-1] + 1)[points] == height)

    def test_offsets_are_uniform_once_the_uneven_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        n = 2**40
        (width,) = binomial._widths(np.array([n])).tolist()
        # Every 32-bit value with an upper half among these: counted, and cut to floor(2^32/width) each.
        for offset in (0, 1, 77, width // 2, width - 2, width - 1):
            halves = np.arange(-(-offset * 2**32 // width), -(-(offset + 1) * 2**32 // width), dtype=np.uint64)
            monkeypatch.setattr(binomial, "random_words", feed([halves << np.uint64(15), np.zeros(halves.size)]))
            drawn, accepted = binomial._propose(np.full(halves.size, n))
            assert np.all(drawn == offset)
            assert np.count_nonzero(accepted) == 2**32 // width

    def test_tail_steps_are_geometric(self, monkeypatch: pytest.MonkeyPatch) -> None:
        words = np.arange(1, 2**12)
        monkeypatch.setattr(binomial, "random_words", feed([[word] for word in words]))
        steps = [binomial._draw_tail_step() for _ in words]
        assert np.bincount(steps).tolist() == [2**11 >> j for j in range(12)]
        monkeypatch.setattr(binomial, "random_words", feed([[0], [0], [4]]))
        assert binomial._draw_tail_step() == 130


def exact_chance(n: int, reach: int, block: int) -> Fraction:
    """S r/weight by integers."""
    half = n // 2
    steps = binomial._STEPS
    weight = Fraction(int(binomial._HEIGHTS[block])) if block < steps else Fraction(1, 2 ** (block - steps + 1))
    upper = math.prod(range(half - reach + 1, half + 1))
    lower = math.prod(range(half + 1, half + reach + 1))
    ratio = Fraction((upper << 600) // lower, 2**600)  # far closer than what is compared
    return binomial._SCALE * ratio / weight


def cases(n: int, blocks: Iterable[int]) -> list[tuple[int, int]]:
    (width,) = binomial._widths(np.array([n])).tolist()
    return [(k * width + offset, k) for k in blocks for offset in {0, width // 2, width}]


class TestAcceptance:
    @pytest.mark.parametrize("n", [REACH + 2, 2 * REACH, 10_000, 2**20 + 2])
    def test_float_and_rational_chances_agree_with_integers(self, n: int) -> None:
        for reach, block in cases(n, [0, 1, 5, 11, 20, 27, 28, 30, 40]):
            true = exact_chance(n, reach, block)
            assert true <= 1
            (chance,), (gap,) = binomial._float_chances(np.array([n]), np.array([reach]), np.array([block]))
            if math.isnan(chance):
                assert reach**2 > 15 * n
            else:
                assert true * 2**64 / Fraction(gap) < Fraction(chance) < true * 2**64 * Fraction(gap)
            for offset in (-1000, -1, 1, 1000):
                bits = math.floor(true * 2**64) + offset
                if 0 <= bits < 2**64:
                    assert binomial._is_accepted(n, reach, block, LazyUniform(bits, 64)) is (offset < 0)

    @given(
        st.integers(REACH // 2 + 1, 2**39),
        st.integers(0, 30),
        st.floats(0, 1),
        st.sampled_from([-(2**40), -1, 1, 2**40]),
    )
    @settings(deadline=None, max_examples=60)
    def test_close_decisions_are_those_of_the_exact_route(self, half: int, k: int, share: float, offset: int) -> None:
        n = 2 * half
        (width,) = binomial._widths(np.array([n])).tolist()
        place = min(int(share * width), width - 1)
        halves = -(-(place + 1) * 2**32 // width) - 1
        block = min(k, 28)
        index = int(np.searchsorted(binomial._BLOCK_OF, block))
        word = (index << 48) | (halves << 15)
        (chance,), _ = binomial._float_chances(np.array([n]), np.array([k * width + place]), np.array([k]))
        assume(not math.isnan(chance))
        bits = math.floor(chance) + offset
        assume(0 <= bits < 2**64)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(binomial, "random_words", feed([[word], [bits]]))
            patch.setattr(binomial, "_draw_tail_step", lambda: k - 28)
            (drawn,), (accepted,) = binomial._propose(np.array([n]))
        assert drawn == k * width + place
        assert accepted == binomial._is_accepted(n, int(drawn), k, LazyUniform(bits, 64))

    def test_points_beyond_the_support_are_refused(self) -> None:
        assert binomial._is_accepted(REACH + 2, REACH // 2 + 2, 40, LazyUniform(0, 64)) is False
        assert binomial._is_accepted(REACH + 2, REACH // 2 + 1, 40, LazyUniform(0, 2000)) is True

    def test_all_decisions_by_the_exact_route_give_the_same_draws(self, monkeypatch: pytest.MonkeyPatch) -> None:
        counts = np.array([REACH + 1, 5000, 10**6, 2**40] * 25)

        def draws() -> list[int]:
            with seeded(5):
                return half_binomials(counts).tolist()

        by_float = draws()
        monkeypatch.setattr(binomial, "_FLOAT_REACH", -1.0)
        assert draws() == by_float

    def test_the_exact_route_alone_has_the_law(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(binomial, "_FLOAT_MARGIN", 1e9)
        with seeded(6):
            drawn = half_binomials(np.full(1500, REACH + 1))
        assert p_value(drawn, scipy.stats.binom(REACH + 1, 0.5)) > 1e-9

    @pytest.mark.parametrize("n", [REACH + 2, REACH + 130, 10**6, 2**40])
    def test_two_thirds_and_more_are_accepted(self, n: int) -> None:
        with seeded(1):
            _, accepted = binomial._propose(np.full(DRAWS, n))
        assert 0.67 < np.mean(accepted) < 0.95


class TestHalfBinomials:
    @pytest.mark.parametrize("n", [10, 64, 100, REACH - 1, REACH, REACH + 1, REACH + 2, 4999, 10**6 + 1, 2**33, 2**40])
    def test_law_with_power(self, n: int) -> None:
        with seeded(n):
            drawn = half_binomials(np.full(DRAWS, n))
        assert p_value(drawn, scipy.stats.binom(n, 0.5)) > 1e-9
        centre = n / 2
        for factor in (0.7, 1.3):  # the same with another spread, at the mean's place
            wrong = np.rint(centre + (drawn - centre) * factor).astype(np.int64)
            assert p_value(wrong, scipy.stats.binom(n, 0.5)) < 1e-9
        assert p_value(draw_seeded(round(0.7 * n)), scipy.stats.binom(n, 0.5)) < 1e-9
        if 1.3 * n < MAX_ITEMS:
            assert p_value(draw_seeded(round(1.3 * n)), scipy.stats.binom(n, 0.5)) < 1e-9

    def test_neighbours_of_a_draw_are_independent_of_it(self) -> None:
        with seeded(3):
            drawn = half_binomials(np.full(DRAWS, 5000)) > 2500
        table = np.bincount(2 * drawn[:-1] + drawn[1:], minlength=4).reshape(2, 2)
        assert scipy.stats.chi2_contingency(table).pvalue > 1e-9

    def test_mixed_counts_keep_their_places(self) -> None:
        counts = np.array([0, 1, 64, 65, REACH, REACH + 1, 10**6, 2**40] * 2000)
        with seeded(4):
            drawn = half_binomials(counts).reshape(-1, 8)
        assert np.all((drawn >= 0) & (drawn <= counts.reshape(-1, 8)))
        means = drawn.mean(axis=0)
        assert np.all(np.abs(means - counts[:8] / 2) <= 7 * np.sqrt(counts[:8] / 4 / 2000))

    def test_an_odd_count_is_an_even_one_and_a_coin(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(binomial, "_propose", lambda n: (np.zeros_like(n), np.ones(n.size, dtype=np.bool_)))
        counts = np.array([REACH + 1, REACH + 2, 2**40 - 1] * 50)
        extra = half_binomials(counts) - counts // 2
        assert [sorted(set(extra[place::3].tolist())) for place in range(3)] == [[0, 1], [0], [0, 1]]

    def test_odd_counts_have_both_parities(self) -> None:
        with seeded(5):
            odd = half_binomials(np.full(DRAWS, 2**20 + 1)) % 2
        assert abs(int(odd.sum()) - DRAWS / 2) < 7 * math.sqrt(DRAWS / 4)


def draw_seeded(n: int) -> np.ndarray:
    with seeded(n):
        return half_binomials(np.full(DRAWS, n))


class TestBinomials:
    @pytest.mark.parametrize(("n", "upper", "scale"), [(1, 5, 1), (2, 3, 7), (3, 5, 3), (4, 6, 2**58), (3, 1, 1)])
    def test_all_patterns_of_bits_give_the_law(
        self, n: int, upper: int, scale: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # p = upper/8: three binary digits, so three words of which n bits count.
        patterns = np.arange(2 ** (3 * n), dtype=np.uint64)
        mask = np.uint64(2**n - 1)
        levels = [(patterns >> np.uint64(n * level)) & mask for level in range(3)]
        monkeypatch.setattr(binomial, "_BLOCK", patterns.size)
        monkeypatch.setattr(binomial, "random_words", feed([*levels, *[np.zeros(patterns.size)] * 9]))
        size = patterns.size
        drawn = binomial._draw_lanes(np.full(size, n), np.full(size, upper * scale), np.full(size, 8 * scale))
        expected = [math.comb(n, k) * upper**k * (8 - upper) ** (n - k) for k in range(n + 1)]
        assert np.bincount(drawn, minlength=n + 1).tolist() == expected

    @pytest.mark.parametrize("n", [1, 3, 20, 64, 65, 300, 5000, 10**9])
    @pytest.mark.parametrize(("upper", "lower"), [(1, 3), (1, 2), (2**61 + 1, 2**62 - 1), (3 * 2**58, 2**62), (9, 10)])
    def test_law(self, n: int, upper: int, lower: int) -> None:
        with seeded(n):
            drawn = draw_binomials(np.full(5000, n), np.full(5000, upper), np.full(5000, lower))
        assert p_value(drawn, scipy.stats.binom(n, upper / lower)) > 1e-9

    @pytest.mark.parametrize("n", [20, 64, 200, 5000])
    def test_power(self, n: int) -> None:
        for factor in (0.7, 1.3):
            with seeded(n):
                size = np.full(DRAWS, n)
                drawn = draw_binomials(size, np.full(DRAWS, round(2**20 * 0.3 * factor)), np.full(DRAWS, 2**20))
            assert p_value(drawn, scipy.stats.binom(n, 0.3)) < 1e-9

    def test_ends(self) -> None:
        counts = np.array([0, 5, 5, MAX_ITEMS, MAX_ITEMS, 64])
        drawn = draw_binomials(counts, [1, 0, 7, 0, MAX_WEIGHT, 3], [2, 7, 7, 1, MAX_WEIGHT, 3])
        assert drawn.tolist() == [0, 0, 5, 0, MAX_ITEMS, 64]

    def test_small_chances_are_met_as_often_as_they_should(self) -> None:
        with seeded(8):
            drawn = draw_binomials(np.full(2000, MAX_ITEMS), np.full(2000, 2**22), np.full(2000, 2**62))
        assert p_value(drawn, scipy.stats.poisson(1.0)) > 1e-9

    def test_blocks_do_not_matter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(binomial, "_BLOCK", 64)
        with seeded(9):
            drawn = draw_binomials(np.full(DRAWS, 90), np.full(DRAWS, 1), np.full(DRAWS, 5))
            half = half_binomials(np.full(3000, 4000))
        assert p_value(drawn, scipy.stats.binom(90, 0.2)) > 1e-9
        assert p_value(half, scipy.stats.binom(4000, 0.5)) > 1e-9


def test_seeded_draws_repeat_and_production_does_not() -> None:
    counts = np.array([50, 5000, 10**9] * 20)

    def draws(seed: int) -> list[int]:
        with seeded(seed):
            return [*half_binomials(counts).tolist(), *draw_binomials(counts, counts, 3 * counts).tolist()]

    assert draws(1) == draws(1) != draws(2)
    assert half_binomials(counts).tolist() != half_binomials(counts).tolist()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([-1], [1], [2]), "counts"),
        (([MAX_ITEMS + 1], [1], [2]), "counts"),
        (([1.5], [1], [2]), "counts"),
        (([[1]], [1], [2]), "counts"),
        (([1], [-1], [2]), "numerators"),
        (([1], [3], [2]), "numerators"),
        (([1], [0], [0]), "denominators"),
        (([1], [0], [MAX_WEIGHT + 1]), "denominators"),
        (([1, 2], [1], [2]), "equally long"),
    ],
)
def test_malformed_arguments_are_refused(arguments: tuple[object, ...], name: str) -> None:
    with pytest.raises(UsageError, match=name):
        draw_binomials(*arguments)  # type: ignore[arg-type]


def test_no_draws() -> None:
    assert half_binomials(np.array([], dtype=np.int64)).size == draw_binomials([], [], []).size == 0
