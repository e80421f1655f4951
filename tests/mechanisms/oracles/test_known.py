"""Known answers of the theory files, closed forms against a second route, planted faults, oracle by oracle."""

import copy
import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
import scipy.stats

from emdp.base.errors import SolverError
from emdp.mechanisms.oracles import points as oracle_points
from emdp.mechanisms.oracles import subset
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracles.hadamard_response import HadamardResponseOracle, block_risk
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.oracles.points import Points
from emdp.mechanisms.oracles.projective import ProjectiveOracle
from emdp.mechanisms.oracles.rappor import RapporOracle
from emdp.mechanisms.oracles.subset import SubsetOracle
from emdp.mechanisms.oracles.unary import UnaryOracle
from emdp.testing import seeded

Floats = npt.NDArray[np.float64]


def projected(values: Floats) -> Floats:
    """Return the nearest point of the simplex (local-shuffle-userlevel.md 3.4)."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    return np.maximum(values - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


def best_variance(epsilon: float) -> float:
    """Return ``n V*`` of technical-notes.md 2.1."""
    return 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2


@pytest.mark.parametrize("kind", [OneBitHadamardOracle, HadamardResponseOracle])
@pytest.mark.parametrize("items", [2, 3, 7, 100, 1000])
def test_symbols_of_half_words_are_those_of_their_places(
    kind: type[OneBitHadamardOracle | HadamardResponseOracle], items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle, draw = kind(items, 5000, 2.0), np.random.default_rng(items)
    codes = draw.integers(0, items, 5000)
    coins, bits = draw.random(5000) < 0.6, draw.integers(0, 2**32, 5000, dtype=np.uint32)
    below = draw.integers(0, oracle.outside, 5000)
    module = "hadamard_bit" if kind is OneBitHadamardOracle else "hadamard_response"
    place = f"emdp.mechanisms.oracles.{module}"
    monkeypatch.setattr(f"{place}.draw_coins_and_bits", lambda numerator, count: (coins.copy(), bits.copy()))
    if kind is HadamardResponseOracle:
        monkeypatch.setattr(f"{place}.draw_below", lambda limits: below[~coins])
        assert oracle.inside & (oracle.inside - 1) == 0
    places = (bits & np.uint32(oracle.inside - 1)).astype(np.int64)
    far = places if kind is OneBitHadamardOracle else below
    expected = np.where(coins, oracle._inside_symbols(codes, places), oracle._outside_symbols(codes, far))
    np.testing.assert_array_equal(oracle._encode(codes), expected)


class TestOneBitHadamard:
    def test_four_items(self) -> None:
        """local-shuffle-userlevel.md 1.3: K = 4, epsilon = 1, item 2."""
        oracle = OneBitHadamardOracle(4, 4, 1.0)
        p = float(oracle.chances[0])
        assert p == pytest.approx(0.731059, abs=5e-7)
        signs = scipy.linalg.hadamard(4)[2]
        np.testing.assert_array_equal(signs, [1, 1, -1, -1])
        agree = oracle._inside_symbols(np.full(4, 2), np.arange(4))
        np.testing.assert_array_equal(agree, [0, 2, 5, 7])
        estimates = oracle.decode(oracle.tally(agree.astype(np.int32)))
        np.testing.assert_allclose(estimates, [0, 0, 2.16395, 0], atol=5e-6)

    def test_squared_error_of_twenty_thousand_users(self) -> None:
        users, items = 20_000, 100
        oracle = OneBitHadamardOracle(items, users, 1.0)
        codes = np.random.default_rng(101).integers(0, items, users)
        bags, truth = Bags.of_items(codes), np.bincount(codes, minlength=items) / users
        expected = oracle.expected_l2_squared(truth, truth)
        assert expected == pytest.approx(0.02336, abs=5e-6)
        with seeded(1):
            errors = np.array([oracle.decode(oracle.draw_tally(bags)) - truth for _ in range(100)])
        assert np.square(errors).sum(axis=1).mean() == pytest.approx(expected, rel=0.05)
        largest = np.abs(errors).max(axis=1)
        assert np.quantile(largest, 0.95) == pytest.approx(0.0515, rel=0.05)
        assert largest.mean() == pytest.approx(oracle.expected_linf(truth, truth), rel=0.05)
        assert oracle.interval(0.95, together=True) == pytest.approx(0.0623, rel=0.02)

    def test_squared_error_of_histograms(self) -> None:
        """4,000 users with Dirichlet(0.1) histograms over 64 items, as records."""
        users, items = 4000, 64
        counts = np.rint(1e6 * np.random.default_rng(102).dirichlet(np.full(items, 0.1), users)).astype(np.int64)
        rows, codes = np.nonzero(counts)
        bags = Bags(np.searchsorted(rows, np.arange(users + 1)), codes, counts[rows, codes])
        truth, squares = bags.shares(items), bags.shares(items, power=2)
        oracle = OneBitHadamardOracle(items, users, 1.0)
        expected = oracle.expected_l2_squared(truth, squares)
        assert expected == pytest.approx(0.07489, abs=5e-6)
        with seeded(2):
            errors = np.array([oracle.decode(oracle.draw_tally(bags)) - truth for _ in range(200)])
        assert np.square(errors).sum(axis=1).mean() == pytest.approx(expected, rel=0.05)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("users", "epsilon", "raw", "clipped", "simplex", "squared"),
        [
            (150_000, 1.0, 4.39, 1.37, 0.314, 0.0304),
            (850_000, 1.0, 1.86, 0.954, 0.160, 0.0054),
            (500_000, 0.5, 4.60, 1.37, 0.321, 0.0332),
            (500_000, 1.0, 2.41, 1.08, 0.185, 0.0091),
            (500_000, 2.0, 1.43, 0.82, 0.12, 0.0032),
        ],
    )
    def test_geometric_table(
        self, users: int, epsilon: float, raw: float, clipped: float, simplex: float, squared: float
    ) -> None:
        """local-shuffle-userlevel.md 1.3, k = 1000, p_i ~ 0.8^i; users drawn anew each time, errors against p."""
        items = 1000
        p = 0.8 ** np.arange(items)
        p /= p.sum()
        oracle = OneBitHadamardOracle(items, users, epsilon)
        rng = np.random.default_rng(103)
        errors = []
        with seeded(3):
            for _ in range(20):
                codes = np.repeat(np.arange(items), rng.multinomial(users, p))
                estimates = oracle.decode(oracle.draw_tally(Bags.of_items(codes)))
                positive = np.maximum(estimates, 0.0)
                answers = (estimates, positive / positive.sum(), projected(estimates))
                errors.append([*(np.abs(v - p).sum() for v in answers), np.square(estimates - p).sum()])
        means = np.mean(errors, axis=0)
        # The table is of equal groups of users for every j, whose error lacks the noise of the groups' sizes.
        expected = oracle.expected_l2_squared(p)
        grouped = expected - float(np.sum(p**2)) * (items - 1) / users
        less = math.sqrt(grouped / expected)
        assert grouped == pytest.approx(squared, rel=0.02)
        assert oracle.expected_l1(p) * less == pytest.approx(raw, rel=0.02)
        # One run has a standard deviation of 2 %, 2 %, 10 % and 4 %; the table is a mean of 20 too.
        assert means[0] == pytest.approx(oracle.expected_l1(p), rel=0.02)
        assert means[0] == pytest.approx(raw / less, rel=0.02)
        assert means[1] == pytest.approx(clipped, rel=0.04)
        assert means[2] == pytest.approx(simplex, rel=0.1)
        assert means[3] == pytest.approx(expected, rel=0.04)


class TestTables:
    @pytest.mark.parametrize(
        ("epsilon", "one_bit", "blocks", "response", "krr", "rappor", "unary"),
        [
            (0.5, 16670, 1, 17054, 2376909, 15917, 15671),
            (1.0, 4682, 1, 4790, 339522, 3918, 3683),
            (2.0, 1723, 4, 1293, 24787, 921, 724),
            (3.0, 1220, 8, 429, 2848, 370, 221),
            (4.0, 1075, 16, 161, 386, 181, 76),
        ],
    )
    def test_risks_of_a_thousand_items(
        self, epsilon: float, one_bit: float, blocks: int, response: float, krr: float, rappor: float, unary: float
    ) -> None:
        """local-shuffle-userlevel.md 3.3: n times the expected squared error, to 1 % (asymmetric: rare items alone)."""
        for kind, expected in ((OneBitHadamardOracle, one_bit), (KRROracle, krr), (RapporOracle, rappor)):
            assert kind(1000, 1, epsilon).expected_l2_squared() == pytest.approx(expected, rel=0.01)
        encoding = UnaryOracle(1000, 1, epsilon)
        assert 1000 * encoding.variance() == pytest.approx(unary, rel=0.01)
        assert encoding.variance() == pytest.approx(best_variance(epsilon), rel=1e-6)
        hadamard = HadamardResponseOracle(1000, 1, epsilon)
        assert hadamard.blocks == blocks
        assert block_risk(1000, blocks, epsilon) == pytest.approx(response, rel=0.01)
        # The bound counts b - 1 items in every block, the exact value those that there are.
        assert 0.95 * response < hadamard.expected_l2_squared() < block_risk(1000, blocks, epsilon)

    def test_stored_results_of_projective_geometry(self) -> None:
        """technical-notes.md 2.1: n = 50,000, K = 22,000, epsilon = 5: mean squared errors of counts."""
        users, items = 50_000, 22_000
        assert users * best_variance(5.0) == pytest.approx(1366, abs=1)
        projective = ProjectiveOracle(items, users, 5.0)
        points = projective.points
        assert (points.q, points.t, points.count, points.on_each, points.on_two) == (149, 3, 22351, 150, 1)
        # Stored numbers are means over 22,000 items of one simulation.
        assert users**2 * projective.variance() == pytest.approx(1378, rel=0.015)
        assert users**2 * KRROracle(items, users, 5.0).variance() == pytest.approx(51311, rel=0.01)

    def test_stored_errors_of_one_bit(self) -> None:
        """technical-notes.md 2.1: (items, users, epsilon) and the theory's summed squared error."""
        for items, users, epsilon, expected in (
            (1000, 10**5, 1, 0.0468),
            (10**5, 10**6, 1, 0.4683),
            (1000, 10**5, 4, 0.0108),
        ):
            found = OneBitHadamardOracle(items, users, epsilon).expected_l2_squared()
            assert found == pytest.approx(expected, abs=6e-5)

    def test_who_is_best_where(self) -> None:
        def best(items: int, epsilon: float) -> str:
            kinds: list[type[FrequencyOracle]] = [OneBitHadamardOracle, KRROracle, RapporOracle, UnaryOracle]
            kinds += [SubsetOracle, ProjectiveOracle, HadamardResponseOracle]
            return min(kinds, key=lambda kind: kind(items, 1, epsilon).expected_l2_squared()).__name__

        assert best(50, 2.0) == "SubsetOracle"
        assert KRROracle(5, 1, 3.0).expected_l2_squared() < UnaryOracle(5, 1, 3.0).expected_l2_squared()
        for epsilon in (0.5, 1.0, 2.0, 4.0, 6.0):
            assert ProjectiveOracle(10_000, 1, epsilon).variance() < 1.06 * best_variance(epsilon)
            assert SubsetOracle(10_000, 1, epsilon).variance() < 1.01 * best_variance(epsilon)


class TestHadamardResponse:
    @pytest.mark.parametrize(("items", "epsilon"), [(5, 3.0), (100, 2.0), (37, 4.0), (64, 1.0)])
    def test_law_is_that_of_the_theory(self, items: int, epsilon: float) -> None:
        oracle = HadamardResponseOracle(items, 1, epsilon)
        signs = scipy.linalg.hadamard(oracle.block)
        for item in range(items):
            number, row = item // (oracle.block - 1), item % (oracle.block - 1) + 1
            own = number * oracle.block + np.flatnonzero(signs[row] > 0)
            inside = oracle._inside_symbols(np.full(oracle.inside, item), np.arange(oracle.inside))
            outside = oracle._outside_symbols(np.full(oracle.outside, item), np.arange(oracle.outside))
            np.testing.assert_array_equal(np.sort(inside), own)
            np.testing.assert_array_equal(np.sort(np.concatenate([inside, outside])), np.arange(oracle.outputs))
        assert float(oracle.chances[0] / oracle.inside / oracle._other) == pytest.approx(math.exp(epsilon), rel=1e-9)

    def test_blocks_are_the_best_power_of_two(self) -> None:
        for items, epsilon in ((1000, 0.5), (1000, 3.0), (10**6, 2.0), (3, 5.0)):
            oracle = HadamardResponseOracle(items, 1, epsilon)
            risks = [block_risk(items, 2**j, epsilon) for j in range((items - 1).bit_length() + 1)]
            assert oracle.expected_l2_squared() <= min(risks)

    def test_uneven_blocks_have_the_stated_error(self) -> None:
        """Two blocks, all users in the one: simulated within 5 %; a formula with equal blocks is far off."""
        oracle = HadamardResponseOracle(40, 2000, 4.0)
        assert oracle.blocks > 2
        bags, truth = Bags.of_items(np.zeros(2000, dtype=np.int64)), np.eye(40)[0]
        with seeded(8):
            errors = np.array([oracle.decode(oracle.draw_tally(bags)) - truth for _ in range(400)])
        variances = oracle.variances(truth, truth)
        own = slice(0, oracle.block - 1)
        for part in (own, slice(oracle.block - 1, None)):
            assert np.square(errors[:, part]).sum(axis=1).mean() == pytest.approx(variances[part].sum(), rel=0.1)
        assert variances[1] > 3 * oracle.variances()[1]


class TestPoints:
    @pytest.mark.parametrize(("q", "t"), [(2, 2), (2, 5), (3, 3), (3, 4), (5, 3), (7, 2), (11, 3), (13, 2)])
    def test_sums_over_hyperplanes_by_brute_force(self, q: int, t: int) -> None:
        points = Points(q, t)
        vectors = points.vectors(np.arange(points.count))
        assert len(np.unique(vectors, axis=0)) == points.count == (q**t - 1) // (q - 1)
        leading = vectors[np.arange(points.count), points.pivots(np.arange(points.count))]
        np.testing.assert_array_equal(leading, 1)
        for factor in range(1, q):
            np.testing.assert_array_equal(points.numbers(vectors * factor % q), np.arange(points.count))
        meets = (vectors @ vectors.T) % q == 0
        np.testing.assert_array_equal(meets.sum(axis=1), points.on_each)
        common = meets.astype(int) @ meets.astype(int).T
        np.testing.assert_array_equal(common[~np.eye(points.count, dtype=bool)], points.on_two)
        counts = np.random.default_rng(100 + q).integers(0, 10**9, points.count)
        np.testing.assert_array_equal(points.on_hyperplanes(counts), meets.astype(np.int64) @ counts)

    @pytest.mark.parametrize(("items", "epsilon"), [(10, 1.0), (40, 2.0), (30, 3.0), (8, 0.4)])
    def test_symbols_are_uniform_on_the_hyperplane_and_off_it(self, items: int, epsilon: float) -> None:
        oracle = ProjectiveOracle(items, 1, epsilon)
        points = oracle.points
        vectors = points.vectors(np.arange(points.count))
        size = points.q ** (points.t - 1)
        for item in range(items):
            on = np.flatnonzero(vectors @ vectors[item] % points.q == 0)
            places = np.arange(size)
            inside = oracle._inside_symbols(np.full(size - 1, item), places[:-1])
            outside = oracle._outside_symbols(np.full(size, item), places)
            for symbols, expected in ((inside, on), (outside, np.setdiff1d(np.arange(points.count), on))):
                found, often = np.unique(symbols, return_counts=True)
                np.testing.assert_array_equal(found, expected)
                assert len(set(often.tolist())) == 1
        limits = oracle._place_limits(np.array([True, False]))
        np.testing.assert_array_equal(limits, [size - 1, size])

    def test_spoilt_sums_raise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        points = Points(3, 3)

        def spoilt(self: Any, counts: Floats) -> Floats:
            return np.ones(points.count)

        monkeypatch.setattr(oracle_points.Points, "_sums", spoilt)
        with pytest.raises(SolverError, match="rounding"):
            points.on_hyperplanes(np.arange(points.count))

    def test_large_counts_stay_whole(self) -> None:
        points = Points(5, 7)
        counts = np.random.default_rng(101).integers(0, 2 * 10**11 // points.count, points.count)
        sums = points.on_hyperplanes(counts)
        vectors = points.vectors(np.arange(points.count))
        for number in (0, 1, 77, 15_625, points.count - 1):
            meets = vectors @ vectors[number] % 5 == 0
            assert sums[number] == counts[meets].sum()


class TestSubset:
    @pytest.mark.parametrize(
        ("items", "epsilon", "best"),
        [(100, 4.0, 2), (10, 1.0, 3), (20, 2.5, 2), (30, 3.0, 2), (100, 3.0, 5), (1024, 3.0, 49), (50, 2.0, 6),
         (60, 4.0, 1), (2, 0.1, 1), (1000, 0.1, 475)],
    )  # fmt: skip
    def test_known_best_sizes(self, items: int, epsilon: float, best: int) -> None:
        assert SubsetOracle(items, 1, epsilon).size == best

    @pytest.mark.parametrize("items", [2, 3, 10, 33])
    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5, 4.0])
    @pytest.mark.parametrize("factor", [1.0, 0.5, 0.0])
    def test_no_size_has_less_error_in_all(self, items: int, epsilon: float, factor: float) -> None:
        """The sum of all variances, of the oracle's own exact chances, for equal shares to a single one."""
        oracle = SubsetOracle(items, 1, epsilon)
        shares = factor ** np.arange(items, dtype=np.float64)
        shares /= shares.sum()
        risks = {}
        for size in range(1, items):
            other = copy.copy(oracle)
            other.size, other.numerator = size, oracle._numerator(size)
            risks[size] = float(other.variances(shares).sum())
            root, strength = math.sqrt(size / (items - size)), math.exp(epsilon)
            formula = ((items - 1) / (strength - 1) * (strength * root + 1 / root)) ** 2 / items
            assert risks[size] == pytest.approx(formula + 1 / items - np.square(shares).sum(), rel=1e-9)
        assert risks[oracle.size] <= min(risks.values()) * (1 + 1e-12)

    def test_a_rare_item_alone_would_choose_worse(self) -> None:
        """With the size of the least variance of a rare item, taken before, 100 items at epsilon = 4 cost 9 % more."""
        oracle = SubsetOracle(100, 1, 4.0)
        other = copy.copy(oracle)
        other.size, other.numerator = 1, oracle._numerator(1)
        empty = np.zeros(100)
        empty[0] = 1.0
        assert other.variances(empty)[1] < oracle.variances(empty)[1]
        assert other.variances().sum() / oracle.variances().sum() == pytest.approx(1.088, abs=1e-3)

    def test_one_item_is_randomised_response(self) -> None:
        subset, krr = SubsetOracle(5, 7, 3.0), KRROracle(5, 7, 3.0)
        assert subset.size == 1
        assert subset.chances == krr.chances

    def test_a_tally_without_sets_has_the_law_of_messages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of two users, by all pairs of sets; a law with 0.7 or 1.3 times the chance of one's own item fails."""
        monkeypatch.setattr(subset, "_FEWEST_DRAWS", 0)
        monkeypatch.setattr(subset, "_FEWEST_FOR_EACH", 0)
        oracle, own = SubsetOracle(5, 2, 0.5), (0, 3)
        assert oracle.size == 2
        sets = list(itertools.combinations(range(5), 2))

        def law(inside: float) -> dict[tuple[int, ...], float]:
            chances: dict[tuple[int, ...], float] = {}
            for pair in itertools.product(sets, repeat=2):
                chance = math.prod(
                    inside / 4 if item in one else (1 - inside) / 6 for item, one in zip(own, pair, strict=True)
                )
                counts = tuple(sum(place in one for one in pair) for place in range(5))
                chances[counts] = chances.get(counts, 0.0) + chance
            return chances

        with seeded(5):
            seen = [tuple(oracle.draw_tally(Bags.of_items(own)).tolist()) for _ in range(1500)]

        def fit(inside: float) -> float:
            expected = law(inside)
            assert set(seen) <= set(expected)
            observed = [seen.count(counts) for counts in expected]
            return float(scipy.stats.chisquare(observed, 1500 * np.array(list(expected.values()))).pvalue)

        assert fit(float(oracle.chances[0])) > 1e-9
        for factor in (0.7, 1.3):
            assert fit(factor * float(oracle.chances[0])) < 1e-9

    def test_a_large_tally_decodes_to_the_expected_error(self) -> None:
        items, users = 300, 60_000
        oracle = SubsetOracle(items, users, 1.0)
        assert users * oracle.size > max(subset._FEWEST_DRAWS, subset._FEWEST_FOR_EACH * oracle.items)
        codes = np.arange(users) % 7
        truth = np.bincount(codes, minlength=items) / users
        with seeded(3):
            tally = oracle.draw_tally(Bags.of_items(codes))
        assert int(tally.sum()) == users * oracle.size
        squared = float(((oracle.decode(tally) - truth) ** 2).sum())
        assert squared == pytest.approx(oracle.expected_l2_squared(truth, truth), rel=0.3)

    def test_every_message_has_the_size(self) -> None:
        oracle = SubsetOracle(70, 300, 1.0)
        messages = oracle.encode(Bags.of_items(np.arange(300) % 70))
        sizes = np.unpackbits(messages, axis=1, count=70, bitorder="little").sum(axis=1)
        np.testing.assert_array_equal(sizes, oracle.size)


class TestSize:
    @pytest.mark.parametrize(
        "kind", [OneBitHadamardOracle, HadamardResponseOracle, KRROracle, UnaryOracle, ProjectiveOracle]
    )
    def test_many_items_decode_to_the_expected_error(self, kind: type[FrequencyOracle]) -> None:
        """100,000 items and users, one draw: the squared error is a sum of so many terms that it is within 5 %."""
        items = users = 100_000
        oracle = kind(items, users, 2.0)
        bags, truth = Bags.of_items(np.full(users, 5)), np.eye(1, items, 5)[0]
        with seeded(9):
            estimates = oracle.decode(oracle.draw_tally(bags))
        assert np.square(estimates - truth).sum() == pytest.approx(oracle.expected_l2_squared(truth, truth), rel=0.05)


@pytest.mark.parametrize(
    ("kind", "bits"),
    [(KRROracle, 3), (UnaryOracle, 6), (RapporOracle, 6), (SubsetOracle, 6), (OneBitHadamardOracle, 4)],
)
def test_bits_of_a_message_hold_every_message(kind: type[FrequencyOracle], bits: int) -> None:
    oracle = kind(6, 100, 1.0)
    assert oracle.message_bits == bits
    assert len(np.unique(oracle.encode(Bags.of_items(np.arange(1000) % 6)), axis=0)) <= 2**bits
