"""Every frequency oracle: its message law by enumeration, privacy, unbiasedness and variance from that law, draws."""

import copy
import itertools
import json
import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.oracles import hadamard_bit, hadamard_response
from emdp.mechanisms.oracles import oracle as base
from emdp.mechanisms.oracles import subset as oracle_subset
from emdp.mechanisms.oracles import symbol as oracle_symbol
from emdp.mechanisms.oracles import unary as oracle_unary
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracles.hadamard_response import HadamardResponseOracle
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.oracles.projective import ProjectiveOracle
from emdp.mechanisms.oracles.rappor import RapporOracle
from emdp.mechanisms.oracles.recoverable import RecoverableOracle
from emdp.mechanisms.oracles.subset import SubsetOracle
from emdp.mechanisms.oracles.symbol import SymbolOracle
from emdp.mechanisms.oracles.unary import UnaryEncoding, UnaryOracle
from emdp.mechanisms.strength import epsilon_of_ratio, inside_numerator
from emdp.mechanisms.weights import TOTAL
from emdp.privacy.rounding import as_decimal
from emdp.testing import seeded

SYMBOLS: list[type[SymbolOracle]] = [
    OneBitHadamardOracle,
    HadamardResponseOracle,
    KRROracle,
    ProjectiveOracle,
    RecoverableOracle,
]
ENCODINGS: list[type[UnaryEncoding]] = [RapporOracle, UnaryOracle]
ORACLES: list[type[FrequencyOracle]] = [*SYMBOLS, *ENCODINGS, SubsetOracle]
SETTINGS = [(2, 0.3), (5, 0.5), (5, 3.0)]
Law = dict[bytes, Fraction]


def symbol_law(oracle: SymbolOracle, item: int, monkeypatch: pytest.MonkeyPatch) -> Law:
    """Return the law of one user's message, by running ``encode`` over all values of what it draws."""
    law: Law = defaultdict(Fraction)
    for is_inside in (True, False):
        seen: dict[str, Any] = {}

        def coin(numerators: Any, bits: int, seen: Any = seen, is_inside: bool = is_inside) -> Any:
            seen["chance"] = Fraction(int(numerators[0]), 2**bits)
            return np.full(len(numerators), is_inside)

        def below(limits: Any, seen: Any = seen) -> Any:
            if len(limits):
                seen["limit"] = int(limits[0])
            return np.arange(len(limits)) % max([1, *limits])

        def coin_and_bits(numerator: int, count: int, seen: Any = seen, is_inside: bool = is_inside) -> Any:
            # Of uniform bits the last ones are taken, as many as make a place of the set.
            seen |= {"chance": Fraction(numerator, TOTAL), "limit": oracle.inside}
            return np.full(count, is_inside), np.arange(count, dtype=np.uint32)

        with monkeypatch.context() as patched:
            patched.setattr(oracle_symbol, "draw_bernoulli", coin)
            patched.setattr(oracle_symbol, "draw_below", below)
            patched.setattr(hadamard_response, "draw_below", below)
            for module in (hadamard_bit, hadamard_response):
                patched.setattr(module, "draw_coins_and_bits", coin_and_bits)
            oracle.encode(Bags.of_items([item]))
            messages = oracle.encode(Bags.of_items([item] * seen["limit"]))
        chance = seen["chance"] if is_inside else 1 - seen["chance"]
        for message in messages:
            law[message.tobytes()] += chance / seen["limit"]
    return law


def unary_law(oracle: UnaryEncoding, item: int, monkeypatch: pytest.MonkeyPatch) -> Law:
    law: Law = {}
    patterns = np.array(list(itertools.product([False, True], repeat=oracle.items)))
    chances: dict[str, Fraction] = {}

    def coins(numerator: int, count: int) -> Any:
        if count == patterns.size:
            chances["other"] = Fraction(numerator, TOTAL)
            return patterns.ravel().copy()
        chances["own"] = Fraction(numerator, TOTAL)
        return patterns[:, item]

    with monkeypatch.context() as patched:
        patched.setattr(oracle_unary, "draw_coins", coins)
        messages = oracle.encode(Bags.of_items([item] * len(patterns)))
    for message, pattern in zip(messages, patterns, strict=True):
        each = [chances["own" if place == item else "other"] for place in range(oracle.items)]
        law[message.tobytes()] = math.prod(c if bit else 1 - c for c, bit in zip(each, pattern, strict=True))
    return law


def subset_law(oracle: SubsetOracle, item: int, monkeypatch: pytest.MonkeyPatch) -> Law:
    law: Law = defaultdict(Fraction)
    for is_taken, size in ((True, oracle.size - 1), (False, oracle.size)):
        ranges = [range(last + 1) for last in range(oracle.items - 1 - size, oracle.items - 1)]
        rows = np.array(list(itertools.product(*ranges)), dtype=np.int64).reshape(math.prod(map(len, ranges)), size)
        seen: dict[str, Any] = {"step": 0}

        def coin(numerators: Any, bits: int, seen: Any = seen, is_taken: bool = is_taken) -> Any:
            seen["chance"] = Fraction(int(numerators[0]), 2**bits)
            return np.full(len(numerators), is_taken)

        def below(limits: Any, seen: Any = seen, rows: Any = rows, ranges: Any = ranges) -> Any:
            if len(limits) == 0:
                return limits
            assert set(limits.tolist()) == {len(ranges[seen["step"]])}
            seen["step"] += 1
            return rows[:, seen["step"] - 1]

        with monkeypatch.context() as patched:
            patched.setattr(oracle_subset, "draw_bernoulli", coin)
            patched.setattr(oracle_subset, "draw_below", below)
            messages = oracle.encode(Bags.of_items([item] * len(rows)))
        assert seen["step"] == size
        chance = seen["chance"] if is_taken else 1 - seen["chance"]
        for message in messages:
            law[message.tobytes()] += chance / len(rows)
    return law


def laws_of(oracle: FrequencyOracle, monkeypatch: pytest.MonkeyPatch) -> list[Law]:
    for kind, law in ((SymbolOracle, symbol_law), (UnaryEncoding, unary_law), (SubsetOracle, subset_law)):
        if isinstance(oracle, kind):
            return [law(oracle, item, monkeypatch) for item in range(oracle.items)]  # type: ignore[operator]
    raise AssertionError(oracle)


def mixed(laws: list[Law], shares: list[Fraction]) -> Law:
    result: Law = defaultdict(Fraction)
    for law, share in zip(laws, shares, strict=True):
        for message, chance in law.items():
            result[message] += share * chance
    return result


def histograms(items: int, count: int) -> list[list[Fraction]]:
    drawn = np.random.default_rng(items).integers(0, 4, (count, items))
    drawn[:, 0] += drawn.sum(axis=1) == 0
    return [[Fraction(int(n), int(row.sum())) for n in row] for row in drawn]


@pytest.mark.parametrize(("items", "epsilon"), SETTINGS)
@pytest.mark.parametrize("kind", ORACLES)
class TestLaw:
    def test_epsilon_and_alpha_hold_exactly_and_are_attained(
        self, kind: type[FrequencyOracle], items: int, epsilon: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        oracle = kind(items, 1, epsilon)
        laws = laws_of(oracle, monkeypatch)
        assert all(sum(law.values()) == 1 for law in laws)
        messages = set().union(*laws)
        assert all(set(law) == messages for law in laws)
        ratio = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in messages)
        assert ratio == oracle.ratio
        assert epsilon * (1 - 1e-9) <= oracle.epsilon <= epsilon
        assert as_decimal(oracle.alpha_em) >= ratio - 1
        assert oracle.alpha_em == pytest.approx(math.expm1(epsilon), rel=1e-9)
        for one, two in itertools.pairwise(histograms(items, 12)):
            apart = sum(abs(a - b) for a, b in zip(one, two, strict=True)) / 2
            left, right = mixed(laws, one), mixed(laws, two)
            worst = max(left[y] / right[y] for y in messages)
            assert worst <= 1 + (ratio - 1) * apart
            assert worst <= ratio

    def test_estimates_are_unbiased_with_the_stated_variance(
        self, kind: type[FrequencyOracle], items: int, epsilon: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        oracle = kind(items, 1, epsilon)
        laws = laws_of(oracle, monkeypatch)
        messages = list(laws[0])
        width = oracle.encode(Bags.of_items([0])).dtype, oracle.encode(Bags.of_items([0])).shape
        values = np.array([oracle.decode(oracle.tally(np.frombuffer(y, width[0]).reshape(width[1]))) for y in messages])
        assert np.ptp(values, axis=0).max() <= oracle._width * (1 + 1e-12)
        for shares in [[Fraction(int(x == y)) for y in range(items)] for x in range(items)] + histograms(items, 5):
            law = mixed(laws, shares)
            chances = np.array([float(law[y]) for y in messages])
            p = np.array([float(share) for share in shares])
            np.testing.assert_allclose(chances @ values, p, atol=1e-9)
            variances = chances @ values**2 - p**2
            np.testing.assert_allclose(oracle.variances(p, p**2), variances, rtol=1e-9, atol=1e-9)
            assert oracle.expected_l2_squared(p) == pytest.approx(variances.sum(), rel=1e-9)
            assert variances.max() <= float(oracle._largest_variances(np.array([1.0]))[0]) * (1 + 1e-9)
            if not isinstance(oracle, HadamardResponseOracle):
                bounds = [oracle.variance(float(share)) for share in p]
                np.testing.assert_allclose(bounds, variances, rtol=1e-9, atol=1e-9)
                assert oracle.variance() == pytest.approx(oracle.variances(np.eye(items)[0])[-1], rel=1e-9)


def test_one_bit_law_is_that_of_the_whole_histogram(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = OneBitHadamardOracle(5, 1, 1.0)
    laws = laws_of(oracle, monkeypatch)
    inverse = 2 * oracle.chances[0] - 1
    for shares in histograms(5, 10):
        law = mixed(laws, shares)
        for j in range(8):
            v = sum(share * (-1) ** (x & j).bit_count() for x, share in enumerate(shares))
            for bit, sign in ((0, 1), (1, -1)):
                expected = (Fraction(1, 2) + sign * v * inverse / 2) / 8
                assert law[np.int32(2 * j + bit).tobytes()] == expected


class TestPublishedFaults:
    def test_rappor_with_the_whole_epsilon_has_twice_of_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        oracle = RapporOracle(4, 1, 1.0)
        oracle.one = inside_numerator(Fraction(1), 1, 1)
        oracle.zero = TOTAL - oracle.one
        laws = laws_of(oracle, monkeypatch)
        ratio = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])
        assert epsilon_of_ratio(ratio) == pytest.approx(2.0, rel=1e-9)
        assert ratio == oracle.ratio > oracle.at(1.0).ratio

    def test_one_bit_vector_too_long_is_no_law(self) -> None:
        """Clipping in another norm than the 1-norm lets |v| exceed 1; a bag's shares never do."""
        bags = Bags(np.array([0, 3]), np.array([0, 1, 2]), np.array([5, 1, 10**6]))
        assert bags.shares(4).sum() == pytest.approx(1.0)

    def test_integers_never_round_epsilon_up(self) -> None:
        for epsilon in (1e-6, 0.1, 1.0, 7.5, 40.0):
            for kind in ORACLES:
                oracle = kind(12, 5, epsilon)
                assert oracle.epsilon <= epsilon
                assert oracle.epsilon == pytest.approx(epsilon, rel=1e-4 if epsilon < 40 else 0.05)


def retuned(oracle: FrequencyOracle, epsilon: float) -> FrequencyOracle:
    """Return an oracle of the same form at another strength."""
    other = copy.copy(oracle)
    strength = as_decimal(epsilon)
    if isinstance(other, SymbolOracle):
        other.numerator = inside_numerator(strength, other.inside, other.outside)
    elif isinstance(other, SubsetOracle):
        other.numerator = inside_numerator(strength, other.size, other.items - other.size)
    elif isinstance(other, UnaryEncoding):
        fresh = oracle.at(epsilon)
        other.one, other.zero = fresh.one, fresh.zero  # type: ignore[attr-defined]
    return other


@pytest.mark.parametrize("kind", ORACLES)
class TestDraws:
    def test_law_of_messages_with_power(self, kind: type[FrequencyOracle], monkeypatch: pytest.MonkeyPatch) -> None:
        """30,000 users with records 1, 1, 4: the true law passes, that of 0.7 and of 1.3 times epsilon fails."""
        users, epsilon = 30_000, 1.5
        oracle = kind(5, users, epsilon)
        shares = [Fraction(0), Fraction(2, 3), Fraction(0), Fraction(0), Fraction(1, 3)]
        bags = Bags(2 * np.arange(users + 1), np.tile([1, 4], users), np.tile([2, 1], users))
        with seeded(7):
            messages = oracle.encode(bags)
        sent, observed = np.unique(messages, axis=0, return_counts=True)
        counts = {row.tobytes(): int(count) for row, count in zip(sent, observed, strict=True)}

        def p_value(other: float) -> float:
            law = mixed(laws_of(retuned(oracle, other), monkeypatch), shares)
            assert set(counts) <= set(law)
            expected = np.array([float(chance) for chance in law.values()])
            seen = [counts.get(message, 0) for message in law]
            return float(scipy.stats.chisquare(seen, expected / expected.sum() * users).pvalue)

        assert p_value(epsilon) > 1e-9
        assert p_value(0.7 * epsilon) < 1e-9
        assert p_value(1.3 * epsilon) < 1e-9

    def test_tallies_add_up_and_decode(self, kind: type[FrequencyOracle], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(base, "BLOCK_USERS", 900)
        monkeypatch.setattr(oracle_symbol, "BLOCK", 500)
        oracle = kind(11, 4000, 2.0)
        bags = Bags.of_items(np.arange(4000) % 11)
        with seeded(1):
            messages = oracle.encode(bags)
            drawn = oracle.draw_tally(bags)
        whole = oracle.tally(messages)
        parts = oracle.tally(messages[:1234]) + oracle.tally(messages[1234:])
        np.testing.assert_array_equal(whole, parts)
        assert whole.dtype == drawn.dtype == np.int64
        assert whole.shape == drawn.shape
        for tally in (whole, drawn):
            gap = oracle.decode(tally) - bags.shares(11)
            assert np.abs(gap).max() < 6 * math.sqrt(float(oracle.variances().max()))
            low, high = oracle.intervals(oracle.decode(tally), 1 - 1e-9, together=True)
            assert ((low <= bags.shares(11)) & (bags.shares(11) <= high)).all()

    @pytest.mark.quarter
    def test_errors_of_draw_tally_are_those_of_the_formula(self, kind: type[FrequencyOracle]) -> None:
        """Users with several records: the mean squared error of 400 tallies over 16 items is within 5 % (3 sd)."""
        users, items = 300, 16
        rng = np.random.default_rng(3)
        codes = np.stack([rng.permutation(items)[:3] for _ in range(users)])
        bags = Bags(3 * np.arange(users + 1), codes.ravel(), rng.integers(1, 6, 3 * users))
        p, squares = bags.shares(items), bags.shares(items, power=2)
        oracle = kind(items, users, 1.0)
        with seeded(11):
            errors = np.array([oracle.decode(oracle.draw_tally(bags)) - p for _ in range(400)])
        assert np.mean(errors**2) * items == pytest.approx(oracle.expected_l2_squared(p, squares), rel=0.05)
        assert np.abs(errors).sum(axis=1).mean() == pytest.approx(oracle.expected_l1(p, squares), rel=0.05)
        z = errors.mean(axis=0) / np.sqrt(oracle.variances(p, squares) / 400)
        assert scipy.stats.chi2(items).sf(float(np.sum(z**2))) > 1e-9
        # Planted fault: a bias of half a standard deviation would show.
        assert scipy.stats.chi2(items).sf(float(np.sum((z + 10) ** 2))) < 1e-9


def test_unary_tally_is_drawn_from_the_law_of_messages() -> None:
    """The tally of item 0, held by 20 of 60 users, against the exact convolution; 0.7 and 1.3 times epsilon fail."""
    oracle = UnaryOracle(3, 60, 1.0)
    bags = Bags.of_items([0] * 20 + [2] * 40)
    with seeded(5):
        drawn = np.array([oracle.draw_tally(bags)[0] for _ in range(4000)])

    def p_value(epsilon: float) -> float:
        p, q = (float(chance) for chance in oracle.at(epsilon).chances)
        law = np.convolve(scipy.stats.binom(20, p).pmf(np.arange(21)), scipy.stats.binom(40, q).pmf(np.arange(41)))
        cells = np.minimum(np.maximum(np.arange(61), 12), 30)
        merged, seen = np.bincount(cells, law)[12:], np.bincount(cells[drawn], minlength=31)[12:]
        return float(scipy.stats.chisquare(seen, merged / merged.sum() * 4000).pvalue)

    assert p_value(1.0) > 1e-9
    assert p_value(0.7) < 1e-9
    assert p_value(1.3) < 1e-9


class TestIntervals:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", [*SYMBOLS, UnaryOracle, RapporOracle])
    def test_they_cover_and_are_not_vacuous(self, kind: type[FrequencyOracle]) -> None:
        users, items = 20_000, 20
        codes = np.minimum(np.random.default_rng(2).geometric(0.4, users) - 1, items - 1)
        bags, truth = Bags.of_items(codes), np.bincount(codes, minlength=items) / users
        oracle = kind(items, users, 1.0)
        half = oracle.interval(0.9, together=True)
        assert oracle.interval(0.9) < half
        missed = narrowed = 0
        with seeded(3):
            for _ in range(100):
                estimates = oracle.decode(oracle.draw_tally(bags))
                low, high = oracle.intervals(estimates, 0.9, together=True)
                missed += bool(((truth < low) | (truth > high)).any())
                narrowed += bool((high - low).max() <= 2 * half * (1 + 1e-9))
        assert missed <= 25
        assert narrowed == 100
        normal = scipy.stats.norm.ppf(1 - 0.05 / items) * math.sqrt(oracle.variance(1.0))
        assert half < 2.5 * max(normal, scipy.stats.norm.ppf(1 - 0.05 / items) * math.sqrt(oracle.variance()))

    def test_a_bound_of_the_share_narrows(self) -> None:
        oracle = UnaryOracle(1000, 10**6, 3.0)
        assert oracle.interval(0.95, share=0.001) < 0.6 * oracle.interval(0.95)
        exact = scipy.stats.norm.ppf(0.975) * math.sqrt(oracle.variance(0.001))
        assert exact < oracle.interval(0.95, share=0.001) < 1.45 * exact


class TestArguments:
    def test_alpha_of_d_em_and_back(self) -> None:
        for alpha in (0.01, 1.0, 25.0):
            oracle = KRROracle(10, 5, math.log1p(alpha) * (1 - 1e-10))
            assert alpha * (1 - 1e-9) <= oracle.alpha_em <= alpha

    @pytest.mark.parametrize("kind", ORACLES)
    def test_words_and_parameters(self, kind: type[FrequencyOracle]) -> None:
        oracle = kind(10, 500, 1.0)
        assert oracle.at(0.5).epsilon <= 0.5 < oracle.epsilon
        assert oracle.name in oracle.explain()
        assert "epsilon = 1" in oracle.explain()
        kept = oracle.parameters()
        assert kept["epsilon"] == oracle.epsilon
        assert kept["items"] == 10
        assert kept["users"] == 500
        assert repr(oracle) == f"{kind.__name__}(10, 500, 1.0)"
        json.dumps(kept)

    @pytest.mark.parametrize("kind", ORACLES)
    def test_malformed_arguments_are_refused(self, kind: type[FrequencyOracle]) -> None:
        for arguments in ((1, 5, 1.0), (2**25, 5, 1.0), (5, 0, 1.0), (5, 2**41, 1.0), (5, 5, 0.0), (5, 5, 50.0)):
            with pytest.raises(UsageError):
                kind(*arguments)
        oracle = kind(5, 3, 1.0)
        messages = oracle.encode(Bags.of_items([0, 1, 2]))
        wrong: list[npt.NDArray[Any]] = [messages.astype(np.float64), messages[None], np.zeros((2, 9), dtype=np.uint8)]
        for given in wrong:
            with pytest.raises(UsageError, match="messages"):
                oracle.tally(given)
        tally = oracle.tally(messages)
        for counts in (tally * 0.5, tally[:-1], tally - 4, tally + 4):
            with pytest.raises(UsageError, match="tally"):
                oracle.decode(counts)
        for call in (oracle.encode, oracle.draw_tally):
            with pytest.raises(UsageError, match="codes"):
                call(Bags.of_items([5]))
        for p in (np.ones(5), np.full(4, 0.25)):
            with pytest.raises(UsageError, match="p must"):
                oracle.variances(p)
        with pytest.raises(UsageError, match="squares"):
            oracle.variances(np.full(5, 0.2), np.zeros(5))
        with pytest.raises(UsageError, match="level"):
            oracle.interval(1.0)
        with pytest.raises(UsageError, match="estimates"):
            FrequencyOracle.intervals(oracle, np.full(5, np.nan), 0.9)

    def test_messages_beyond_the_limit_are_refused(self) -> None:
        for kind in (UnaryOracle, RapporOracle, SubsetOracle):
            with pytest.raises(RefusedError, match="2\\^31 bits"):
                kind(2**21, 2000, 1.0).encode(Bags.of_items(np.zeros(2000, dtype=np.int64)))
        with pytest.raises(RefusedError, match="minutes of work"):
            SubsetOracle(2**21, 2000, 1.0).draw_tally(Bags.of_items(np.zeros(2000, dtype=np.int64)))
        with pytest.raises(RefusedError, match="points"):
            ProjectiveOracle(2**23 + 1, 10, 1.0)

    def test_bags(self) -> None:
        for offsets, codes, counts in (
            ([0, 1, 1], [0], [1]),
            ([0, 1], [0, 1], [1, 1]),
            ([0, 2], [0, 1], [1, 0]),
            ([0, 2], [0, 1], [1]),
            ([0, 1], [-1], [1]),
            ([0, 2], [0, 1], [2**61, 2**61]),
            ([], [], []),
        ):
            with pytest.raises(UsageError, match=r"offsets|codes|counts"):
                Bags(
                    np.array(offsets, dtype=np.int64), np.array(codes, dtype=np.int64), np.array(counts, dtype=np.int64)
                )

    def test_a_record_is_uniform_within_its_user(self) -> None:
        rng = np.random.default_rng(4)
        lengths = rng.integers(1, 6, 4000)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        codes = np.concatenate([np.arange(length) for length in lengths]) + np.repeat(10 * lengths, lengths)
        counts = 1 + codes % 10
        with seeded(6):
            drawn = np.array([Bags(offsets, codes, counts).draw_items() for _ in range(10)])
        assert (drawn // 10 == lengths).all()
        for length in range(2, 6):
            seen = np.bincount(drawn[:, lengths == length].ravel() % 10, minlength=length)
            weights = np.arange(1, length + 1)
            assert scipy.stats.chisquare(seen, weights / weights.sum() * seen.sum()).pvalue > 1e-9
            assert scipy.stats.chisquare(seen, np.full(length, seen.sum() / length)).pvalue < 1e-9
