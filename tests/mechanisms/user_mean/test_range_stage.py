"""Round one: the theory's table of users, failure bounds against exact laws, privacy enumerated, planted faults."""

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats
from exact_laws import flip_law

from emdp.base.errors import InternalError
from emdp.mechanisms.items.hadamard_response import walsh_hadamard
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.user_mean.range_bins import RangeBins
from emdp.mechanisms.user_mean.range_stage import (
    HadamardRange,
    HistogramRange,
    MedianRange,
    RangeStage,
    hadamard_failure,
    least_users,
    published_failure,
)
from emdp.testing import seeded

Floats = npt.NDArray[np.float64]


def factor(epsilon: float) -> float:
    return 1.0 / math.tanh(0.5 * epsilon)


def bins_of(count: int) -> RangeBins:
    return RangeBins(0.0, float(count), 0.5)


class TestUsersNeeded:
    @pytest.mark.parametrize(
        ("epsilon", "needed"),
        [(0.5, (7651, 9152, 10614)), (1, (1996, 2387, 2769)), (2, (574, 687, 797)), (4, (220, 263, 305))],
    )
    def test_theory(self, epsilon: float, needed: tuple[int, ...]) -> None:
        """local-shuffle-userlevel.md 2.1, users for a failure of 1 %, Bernstein; half of epsilon for the range."""
        for bins, users in zip((16, 64, 256), needed, strict=True):
            c = factor(epsilon / 2)
            assert least_users(lambda n, bins=bins, c=c: published_failure(bins, n, c), 0.01) == users
            stage = HadamardRange(bins_of(bins), 10, epsilon / 2)
            assert stage.factor == pytest.approx(c, rel=1e-12)
            fewer = stage.users_needed(0.01)
            assert stage.wrong_bin(fewer) <= 0.01 < stage.wrong_bin(fewer - 1)
            assert 0.55 * users < fewer < 0.8 * users

    def test_ours_is_never_above_the_published(self) -> None:
        for c in (1.0, 1.0001, 1.3, 2.0, 4.0, 100.0):
            for users in (10, 100, 10_000):
                assert hadamard_failure(64, users, c) <= published_failure(64, users, c)

    def test_a_target_that_nothing_reaches(self) -> None:
        assert least_users(lambda users: 1.0, 0.01) == 2**40


def failures(bins: int, padded: int, share: float, users: int, c: float, runs: int, *, planted: bool = False) -> float:
    """Return how often a wrong bin wins, drawn without the package: bins 0 and 1 are occupied."""
    generator = np.random.default_rng(3)
    first = round(share * users)
    tallies = np.zeros((runs, padded))
    for place, count in ((0, first), (1, users - first)):
        columns = generator.integers(0, padded, size=(runs, count))
        truth = 1 - 2 * (np.bitwise_count(columns & place) & 1).astype(np.int64)
        signs = np.where(generator.random((runs, count)) < 0.5 + 0.5 / c, truth, -truth)
        np.add.at(tallies, (np.repeat(np.arange(runs), count), columns.ravel()), signs.ravel())
    shares = np.array([walsh_hadamard(row) for row in tallies])[:, : padded if planted else bins]
    return float(np.mean(shares.argmax(axis=1) > 1))


class TestHadamard:
    @pytest.mark.parametrize("share", [0.5, 0.75, 1.0])
    def test_bound_holds_and_is_no_fantasy(self, share: float) -> None:
        users, c = 100, factor(1.0)
        rate = failures(3, 4, share, users, c, 5000)
        bound = hadamard_failure(3, users, c)
        assert rate <= bound < 1.0
        # less than eight times the budget of users too many
        assert share > 0.5 or rate > hadamard_failure(3, 8 * users, c)

    def test_half_and_half_at_the_needed_users(self) -> None:
        """local-shuffle-userlevel.md 2.1: k = 64, epsilon0 = 2, 687 users, 0 failures in 20,000; a tenth of it."""
        self.check_frequency(200, 1)

    @pytest.mark.full
    def test_half_and_half_in_full(self) -> None:
        self.check_frequency(20_000, 2)

    def check_frequency(self, runs: int, seed: int) -> None:
        stage = HadamardRange(bins_of(64), 687, 1.0)
        values = np.append(np.full(343, 20), np.full(344, 21))
        with seeded(seed):
            found = [stage.find(values, 0) for _ in range(runs)]
        wrong = sum(each.place not in (20, 21) for each in found)
        assert scipy.stats.binom.sf(wrong - 1, runs, stage.wrong_bin(687)) > 1e-9
        assert wrong <= 2
        near = np.array([each.near for each in found])
        # Cut to 1, hence below; the largest two of three are chosen.
        assert 0.9 < near.mean() < 1.0
        assert found[0].near_error == pytest.approx(stage.factor * math.sqrt(3 / 687))

    @pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
    def test_chernoff_from_the_messages(self, epsilon: float) -> None:
        """The moment generating function of the proof, by summing over all messages."""
        oracle = HadamardRange(bins_of(8), 10, epsilon).oracle
        c = factor(epsilon)
        symbols = np.arange(oracle.outputs)
        signs = 1 - 2 * (symbols & 1)

        def row(x: int) -> npt.NDArray[np.int64]:
            return np.asarray(signs * (1 - 2 * (np.bitwise_count(x & (symbols >> 1)) & 1).astype(np.int64)))

        def least(own: int, other: int) -> float:
            inside = oracle._inside_symbols(np.full(oracle.inside, own), np.arange(oracle.inside))
            law = np.full(oracle.outputs, float((1 - oracle.chances[0]) / oracle.outside))
            law[inside] = float(oracle.chances[0] / oracle.inside)
            gain = c * ((row(own) + row(other)) / 2 - row(5))
            return float(scipy.optimize.minimize_scalar(lambda t: law @ np.exp(-t * gain), (0, 1 / c)).fun)

        worst = max(least(2, 3), least(3, 2), least(2, 2))
        assert least(2, 3) == pytest.approx(least(3, 2), rel=1e-9)
        for users in (50, 500):
            expected = min(1.0, 7 * worst**users)
            assert hadamard_failure(8, users, c) == pytest.approx(expected, rel=1e-6)
            assert hadamard_failure(8, users, c) >= expected * (1 - 1e-9)

    def test_padding_never_wins(self) -> None:
        """Five bins in a matrix of eight: the last rows win often among few users, and are never chosen."""
        stage = HadamardRange(bins_of(5), 20, 0.5)
        values = np.full(20, 2)
        with seeded(4):
            places = [stage.find(values, 0).place for _ in range(200)]
            planted = []
            for _ in range(200):
                tally = stage.oracle.draw_tally(Bags.of_items(stage.bins.place(values, 0)))
                planted.append(int(np.argmax(walsh_hadamard((tally[::2] - tally[1::2]).astype(np.float64)))))
        assert max(places) < 5
        assert sum(place >= 5 for place in planted) > 20
        users, c = 100, factor(1.0)
        assert failures(5, 8, 0.5, users, c, 5000, planted=True) > failures(5, 8, 0.5, users, c, 5000) * 1.2

    def test_epsilon_is_of_integers(self) -> None:
        stage = HadamardRange(bins_of(64), 687, 1.0)
        p, q = stage.oracle.chances[0], 1 - stage.oracle.chances[0]
        assert math.log(p / q) <= stage.epsilon <= 1.0

    def test_another_number_of_users(self) -> None:
        for kind in (HadamardRange, MedianRange, HistogramRange):
            with pytest.raises(InternalError):
                kind(bins_of(4), 3, 1.0).find(np.zeros(2, dtype=np.int64), 0)


def median_costs(places: tuple[int, ...], bins: int) -> list[int]:
    return [max(sum(p < i for p in places), sum(p > i for p in places)) for i in range(bins)]


class TestMedian:
    def test_formula_of_the_proof(self) -> None:
        chance = np.exp(-0.5 * np.array([3, 1, 0, 1, 4]))
        for place, exact in enumerate(flip_law([3, 1, 0, 1, 4], 0.5)):
            others = np.delete(chance, place)
            integral = scipy.integrate.quad(lambda t, others=others: np.prod(1 - t * others), 0, 1)[0]
            assert chance[place] * integral == pytest.approx(exact, rel=1e-9)

    @pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
    def test_private_for_all_neighbours(self, epsilon: float) -> None:
        users, bins, worst = 3, 4, 0.0
        tables = list(itertools.product(range(bins), repeat=users))
        laws = {table: flip_law(median_costs(table, bins), epsilon / 2) for table in tables}
        for table in tables:
            for place, other in itertools.product(range(users), range(bins)):
                neighbour = (*table[:place], other, *table[place + 1 :])
                worst = max(worst, float(np.log(laws[table] / laws[neighbour]).max()))
        assert worst <= epsilon * (1 + 1e-12)
        # A rate of epsilon instead of half of it is caught.
        strong = [flip_law(median_costs(table, bins), epsilon) for table in ((0, 0, 3), (0, 3, 3))]
        assert float(np.log(strong[0] / strong[1]).max()) > epsilon * 1.2

    def test_the_stage_has_this_law(self) -> None:
        stage = MedianRange(bins_of(4), 3, 1.0)
        with seeded(6):
            drawn = [stage.find(np.array([0, 0, 3]), 0).place for _ in range(2000)]
        law = flip_law(median_costs((0, 0, 3), 4), 0.5)
        assert scipy.stats.chisquare(np.bincount(drawn, minlength=4), law * 2000).pvalue > 1e-9
        other = flip_law(median_costs((0, 3, 3), 4), 0.5)
        assert scipy.stats.chisquare(np.bincount(drawn, minlength=4), other * 2000).pvalue < 1e-9

    def test_no_worse_than_the_exponential_mechanism(self) -> None:
        costs = median_costs((1, 1, 2, 2, 2), 6)
        exponential = np.exp(-0.5 * np.array(costs))
        exponential /= exponential.sum()
        flip = flip_law(costs, 0.5)
        assert flip[[0, 3, 4, 5]].sum() < exponential[[0, 3, 4, 5]].sum()

    @pytest.mark.parametrize("users", [5, 6, 9])
    def test_failure_bound(self, users: int) -> None:
        stage, exact = MedianRange(bins_of(6), users, 2.0), 0.0
        for right in range(users):
            table = (2,) * (users - right) + (3,) * right
            law = flip_law(median_costs(table, 6), 1.0)
            exact = max(exact, 1.0 - law[2] - (law[3] if right else 0.0))
        assert exact <= stage.wrong_bin(users) < 8 * exact


class TestHistogram:
    def test_tail_of_a_difference(self) -> None:
        stage = HistogramRange(bins_of(2), 1, 0.7)
        ratio = math.exp(-1 / stage.scale)
        reach = np.arange(-400, 401)
        law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(reach)
        both = np.convolve(law, law)
        for users in (1, 2, 9, 40):
            tail = both[800 + (users + 1) // 2 :].sum()
            assert stage.wrong_bin(users) == pytest.approx(tail, rel=1e-9)
        assert HistogramRange(bins_of(2), 1, 1e-6).wrong_bin(10**9) < 1e-80

    def test_scale_covers_two_counts(self) -> None:
        for epsilon in (0.1, 0.3, 1.0, 7.7):
            assert 2 / Fraction(HistogramRange(bins_of(2), 1, epsilon).scale) <= Fraction(repr(epsilon))

    def test_near_tells_who_is_far(self) -> None:
        stage = HistogramRange(bins_of(64), 2000, 0.5)
        values = np.append(np.full(1400, 30), np.full(600, 50))
        with seeded(7):
            found = [stage.find(values, 0) for _ in range(200)]
        assert {each.place for each in found} == {30}
        errors = np.array([each.near or 0.0 for each in found]) - 0.7
        assert abs(errors.mean()) < 0.002
        assert errors.std() == pytest.approx(found[0].near_error, rel=0.2)


@pytest.mark.parametrize("kind", [HadamardRange, MedianRange, HistogramRange])
def test_bounds_fall_and_grow(kind: type[RangeStage]) -> None:
    stage = kind(bins_of(100), 1000, 0.4)
    bounds = [stage.wrong_bin(users) for users in (1, 10, 100, 1000, 10_000, 100_000)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] == 1.0
    assert bounds[-1] < 1e-6
    assert kind(bins_of(200), 1000, 0.4).wrong_bin(10_000) >= stage.wrong_bin(10_000)
    assert kind(bins_of(100), 1000, 0.2).wrong_bin(10_000) >= stage.wrong_bin(10_000)
