"""Known answers, closed forms against a second route, and planted faults, randomizer by randomizer."""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
import scipy.optimize

from emdp.base.errors import UsageError
from emdp.mechanisms.items.distances import ItemDistances
from emdp.mechanisms.items.exponential import Exponential, tuned_strength
from emdp.mechanisms.items.geometric import Geometric
from emdp.mechanisms.items.gkrr import GKRR
from emdp.mechanisms.items.hadamard_response import HadamardResponse, walsh_hadamard
from emdp.mechanisms.items.krr import KRR
from emdp.mechanisms.items.one_bit import OneBit
from emdp.mechanisms.items.optimal import Optimal
from emdp.mechanisms.weights import FIT_MARGIN, TOTAL, actual_alpha0, integer_rows
from emdp.spaces import Categories, Clusters, Distances, Embedding, Grid, Interval, Vector

Floats = npt.NDArray[np.float64]


def square(side: int) -> Grid:
    return Grid(Vector(["x", "y"], box=((0, 1), (0, 1))), (side, side))


def expected_distance(randomizer: Exponential | Geometric | Optimal) -> float:
    return float((randomizer.matrix * randomizer.items.matrix).sum(axis=1).mean())


class TestKRR:
    @pytest.mark.parametrize("alpha0", [0.01, 1.0, 5.0])
    def test_closed_forms(self, alpha0: float) -> None:
        count, grown = 6, math.exp(alpha0)
        randomizer = KRR(Categories("kind", list(range(count))), alpha0)
        expected = (np.eye(count) * (grown - 1) + 1) / (grown + count - 1)
        np.testing.assert_allclose(randomizer.matrix, expected, rtol=1e-9)
        np.testing.assert_allclose(randomizer.right_inverse, np.linalg.inv(expected), rtol=1e-7)
        # Var(1{Y = x})/(p - q)^2, largest where the item is x
        variance = (count - 1) * grown / (grown - 1) ** 2
        np.testing.assert_allclose(randomizer.estimate_variance(), variance, rtol=1e-8)

    def test_strength_counts_the_smallest_distance(self) -> None:
        randomizer = KRR(Clusters("kind", {0: 0, 1: 0, 2: 1, 3: 1}, 0.25), 4.0)
        assert randomizer.matrix[0, 0] / randomizer.matrix[0, 1] == pytest.approx(math.e)
        assert randomizer.w_min == 0.25
        assert randomizer.law.distances[0, 2] == 0.25


class TestGKRR:
    @pytest.mark.parametrize(("s", "t", "rho", "alpha0"), [(3, 4, 0.25, 2.0), (5, 2, 0.4, 0.3), (2, 6, 0.1, 7.0)])
    def test_inverse_is_that_of_the_paper(self, s: int, t: int, rho: float, alpha0: float) -> None:
        randomizer = GKRR(Clusters("kind", {number: number // t for number in range(s * t)}, rho), alpha0)
        own, near = math.exp(alpha0), math.exp((1 - rho) * alpha0)
        normaliser = own + (t - 1) * near + (s - 1) * t
        a, b, c = (own - near) / normaliser, (near - 1) / normaliser, 1 / normaliser
        block = np.ones((t, t))
        law = a * np.eye(s * t) + np.kron(b * np.eye(s) + c, block)
        inverse = np.eye(s * t) / a + np.kron(
            -b / (a * (a + t * b)) * np.eye(s) - 1 / (own + (t - 1) * near - t), block
        )
        # EMD 4 prints the last term for the whole normalised matrix; it is exact up to the choice of c'
        exact = np.linalg.inv(law)
        np.testing.assert_allclose(randomizer.matrix, law, rtol=1e-9)
        np.testing.assert_allclose(randomizer.right_inverse, exact, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(inverse, exact, rtol=1e-7, atol=1e-9)
        assert randomizer.alpha0 == pytest.approx(alpha0)

    def test_distances_above_a_half_are_fine(self) -> None:
        """The paper's rho < 1/2 is for its error bound."""
        assert GKRR(Clusters("kind", {0: 0, 1: 0, 2: 1, 3: 1}, 0.9), 3.0).alpha0 == pytest.approx(3.0)

    def test_unequal_clusters_need_less_strength(self) -> None:
        space = Clusters("kind", {number: int(number > 1) for number in range(12)}, 0.2)
        matrix = ItemDistances(space).matrix
        # Planted fault: the formula of equal clusters breaks its promise here.
        assert actual_alpha0(integer_rows(np.exp(-2.0 * matrix)), matrix) > 2.05
        randomizer = GKRR(space, 2.0)
        assert 2.0 * (1 - 1e-9) <= randomizer.alpha0 <= 2.0
        np.testing.assert_allclose(randomizer.right_inverse, np.linalg.inv(randomizer.matrix), rtol=1e-7, atol=1e-9)

    def test_other_spaces_are_refused(self) -> None:
        with pytest.raises(UsageError, match="Clusters"):
            GKRR(Categories("kind", ["a", "b"]), 1.0)


class TestExponential:
    def test_effective_constant_of_the_plain_form_on_the_16_grid(self) -> None:
        """technical-notes.md 1.5: 3.665 at alpha0 = 4, and the blankets of alpha0 = 2, 4, 8."""
        assert Exponential(square(16), 4.0, tuned=False).alpha0 == pytest.approx(3.665, abs=5e-4)
        for alpha0, gamma in ((2.0, 0.781), (4.0, 0.589), (8.0, 0.301)):
            blanket = Exponential(square(16), alpha0, tuned=False).blanket
            assert blanket.sum() / TOTAL == pytest.approx(gamma, abs=5e-4)

    def test_tuned_reaches_the_request_on_a_space_that_is_not_homogeneous(self) -> None:
        assert Exponential(square(16), 4.0).alpha0 == pytest.approx(4.0, rel=1e-10)
        assert expected_distance(Exponential(square(16), 4.0)) < expected_distance(
            Exponential(square(16), 4.0, tuned=False)
        )

    def test_without_the_half_a_space_that_is_not_homogeneous_breaks_alpha0(self) -> None:
        """Planted fault: exp(-alpha0 d) has more than alpha0 on a line, and exactly alpha0 on 0/1 distances."""
        line = ItemDistances(Grid(Interval("x", 0, 1), 8)).matrix
        assert actual_alpha0(integer_rows(np.exp(-2.0 * line)), line) > 2.2
        alike = ItemDistances(Categories("kind", list(range(8)))).matrix
        assert actual_alpha0(integer_rows(np.exp(-2.0 * alike)), alike) == pytest.approx(2.0, rel=1e-12)
        assert tuned_strength(alike, 2.0) == 2.0
        assert 1.0 < tuned_strength(line, 2.0) < 2.0

    @pytest.mark.parametrize("alpha0", [0.01, 1.0, 30.0])
    def test_strength_is_the_largest_that_keeps_alpha0(self, alpha0: float) -> None:
        matrix = ItemDistances(square(5)).matrix
        strength = tuned_strength(matrix, alpha0)
        for factor, fits in ((1.0, True), (1 + 1e-7, False)):
            law = np.exp(-factor * strength * matrix)
            law /= law.sum(axis=1, keepdims=True)
            gaps = np.abs(np.log(law)[:, None] - np.log(law)).max(axis=2) / (matrix + np.eye(25))
            assert bool(gaps.max() <= alpha0 * (1 + 1e-11)) is fits

    def test_strength_from_representatives_is_that_from_all_items(self) -> None:
        for space in (square(6), Grid(Vector(["x", "y"], box=((0, 1), (0, 3))), (3, 5)), Grid(Interval("x", 0, 1), 8)):
            items = ItemDistances(space)
            assert len(set(items.images.tolist())) < items.count
            whole = tuned_strength(items.matrix, 5.0)
            assert tuned_strength(items.matrix, 5.0, items.images) == pytest.approx(whole, rel=2e-12)

    def test_tuned_must_be_a_bool(self) -> None:
        with pytest.raises(UsageError, match="tuned"):
            Exponential(square(2), 1.0, tuned=1)  # type: ignore[arg-type]

    @pytest.mark.slow
    def test_a_thousand_cells_on_a_map_of_words(self) -> None:
        generator = np.random.default_rng(0)
        table = {"word": [f"w{n}" for n in range(1000)], "vector": generator.normal(size=(1000, 5)).tolist()}
        randomizer = Exponential(Embedding("word", table), 5.0)
        assert randomizer.alpha0 == pytest.approx(5.0, rel=1e-9)
        assert actual_alpha0(randomizer.weights, randomizer.items.matrix) == randomizer.alpha0


class TestGeometric:
    def test_is_the_clamped_two_sided_geometric_law(self) -> None:
        count, alpha0 = 7, 3.0
        ratio = math.exp(-alpha0 / (count - 1))
        law = np.empty((count, count))
        for item, output in itertools.product(range(count), repeat=2):
            steps = abs(item - output)
            inner = output not in (0, count - 1)
            law[item, output] = ratio**steps * ((1 - ratio) if inner else 1) / (1 + ratio)
        randomizer = Geometric(Grid(Interval("x", 0, 1), count), alpha0)
        np.testing.assert_allclose(randomizer.matrix, law, rtol=1e-9)

    def test_uneven_line_in_any_order(self) -> None:
        places = np.array([0.0, 0.6, 0.05, 1.0, 0.62])
        matrix = np.abs(np.subtract.outer(places, places))
        randomizer = Geometric(Distances("stop", list(range(5)), matrix), 4.0)
        steep = np.exp(-4.0 * matrix)
        np.testing.assert_allclose(randomizer.matrix, steep * np.linalg.solve(steep, np.ones(5)), rtol=1e-7)
        assert randomizer.alpha0 == pytest.approx(4.0)

    def test_grid_is_a_product_scaled_to_the_metric(self) -> None:
        randomizer = Geometric(square(4), 3.0)
        # the 1-norm is at most sqrt(2) times the distance, and the diagonal is the largest distance
        own = math.exp(-3.0 / math.sqrt(2) / (3 * math.sqrt(2)))
        axis = Geometric(Grid(Interval("x", 0, 1), 4), -3 * math.log(own)).matrix
        np.testing.assert_allclose(randomizer.matrix, np.kron(axis, axis), rtol=1e-9)

    def test_on_a_line_it_is_better_than_the_exponential_mechanism(self) -> None:
        line = Grid(Interval("x", 0, 1), 12)
        assert expected_distance(Geometric(line, 3.0)) < 0.85 * expected_distance(Exponential(line, 3.0))

    def test_a_plane_of_listed_values_is_refused(self) -> None:
        places = np.random.default_rng(1).random((5, 2))
        matrix = np.hypot(*np.moveaxis(places[:, None] - places, 2, 0))
        with pytest.raises(UsageError, match="on a line"):
            Geometric(Distances("stop", list(range(5)), matrix), 1.0)


class TestOneBit:
    places = np.array([0.0, 1.0, 2.5, 4.0])
    space = Distances("stop", list(range(4)), np.abs(np.subtract.outer(places, places)))

    def test_formula(self) -> None:
        bit = OneBit(self.space, 3.0, [2.0, 3.0, 1.0, 7.0])
        lipschitz = 16.0  # 6 over 1.5 of 4
        reach = 3.0 * 3.0 * (1 - FIT_MARGIN) / lipschitz
        tilt = reach / (1 + reach)
        assert (bit.centre, bit.bound, bit.lipschitz) == (4.0, 3.0, pytest.approx(lipschitz))
        assert bit.tilt == pytest.approx(tilt)
        np.testing.assert_allclose(bit.matrix[:, 1], 0.5 + tilt * (np.array([2, 3, 1, 7]) - 4) / 6, rtol=1e-12)
        logs = np.log(bit.matrix)
        assert np.abs(logs[:, None] - logs).max() == pytest.approx(math.log1p(2 * reach))
        assert bit.mean_variance == pytest.approx(9 / tilt**2)
        assert bit.outputs_frame() == {"output": [-1, 1]}

    def test_users_of_any_size_are_covered(self) -> None:
        values = np.array([0.0, 1.0, 2.5, 3.0])
        bit = OneBit(self.space, 5.0, values)
        generator = np.random.default_rng(2)
        worst = 0.0
        for _ in range(2000):
            left, right = generator.dirichlet(np.full(4, 0.3), 2)
            moved = float(np.abs(np.cumsum(left - right))[:3] @ np.diff(self.places)) / 4
            chances = [0.5 + bit.tilt * (bag @ values - bit.centre) / (2 * bit.bound) for bag in (left, right)]
            for one, other in (chances, [1 - chance for chance in chances]):
                worst = max(worst, abs(math.log(one / other)) / moved)
        assert 0.5 * 5.0 < worst <= 5.0 * (1 + 1e-9)

    def test_mean_is_unbiased(self) -> None:
        values = [2.0, 3.0, 1.0, 7.0]
        bit = OneBit(self.space, 3.0, values)
        shares = np.array([0.1, 0.2, 0.3, 0.4])
        assert bit.estimate_mean(1e6 * shares @ bit.matrix) == pytest.approx(shares @ values)
        with pytest.raises(UsageError, match="counts"):
            bit.estimate_mean(np.zeros(2))

    def test_without_the_tilt_s_denominator_alpha0_breaks(self) -> None:
        """Planted fault: t = B e instead of B e/(1 + B e)."""
        bit = OneBit(self.space, 1.0, self.places)
        share = 0.5 + 0.5 * (self.places - 2.0) / 4.0
        ones = np.rint(share * 2.0**62).astype(np.int64)
        matrix = bit.items.matrix
        assert bit.alpha0 <= 1.0 < actual_alpha0(np.stack([TOTAL - ones, ones], axis=1), matrix)

    def test_two_items_have_an_inverse(self) -> None:
        bit = OneBit(Categories("kind", ["a", "b"]), 1.0, [0.0, 1.0])
        np.testing.assert_allclose(bit.matrix @ bit.right_inverse, np.eye(2), atol=1e-12)

    @pytest.mark.parametrize("values", [[1.0, 2.0], [1.0] * 4, [0.0, 1.0, math.nan, 2.0], ["a"] * 4, [[1], [2, 3]]])
    def test_values_are_checked(self, values: list[float]) -> None:
        with pytest.raises(UsageError, match="values"):
            OneBit(self.space, 1.0, values)

    def test_lipschitz_is_checked(self) -> None:
        assert OneBit(self.space, 1.0, self.places, lipschitz=8.0).alpha0 < 0.6
        with pytest.raises(UsageError, match="lipschitz"):
            OneBit(self.space, 1.0, self.places, lipschitz=3.0)
        table = {"word": ["a", "b", "c"], "x": [0.0, 0.0, 1.0]}
        with pytest.raises(UsageError, match="distance 0"):
            OneBit(Embedding("word", table, neutral="a"), 1.0, [0.0, 1.0, 2.0])


class TestHadamardResponse:
    @pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 20])
    def test_matrix_and_inverse(self, count: int) -> None:
        randomizer = HadamardResponse(Categories("kind", list(range(count))), 1.0)
        outputs = 1 << count.bit_length()
        signs = scipy.linalg.hadamard(outputs)[1 : count + 1]
        tilt = math.tanh(0.5)
        np.testing.assert_allclose(randomizer.matrix, (1 + tilt * signs) / outputs, rtol=1e-9)
        np.testing.assert_allclose(randomizer.right_inverse, signs.T / tilt, rtol=1e-9)
        np.testing.assert_allclose(randomizer.estimate_variance(), ((math.e + 1) / (math.e - 1)) ** 2, rtol=1e-9)

    def test_transform(self) -> None:
        rows = np.random.default_rng(0).normal(size=(3, 64))
        np.testing.assert_allclose(walsh_hadamard(rows), rows @ scipy.linalg.hadamard(64), atol=1e-12)

    def test_blanket_needs_no_more_than_the_listed_items(self) -> None:
        """The first k rows have the least weights of all K - 1 rows, as the text of the module claims."""
        for count in (2, 4, 5, 8, 9, 15):
            randomizer = HadamardResponse(Categories("kind", list(range(count))), 1.0)
            assert (randomizer.blanket[1:] == randomizer.weights.min()).all()
            assert randomizer.blanket[0] == randomizer.weights.max()
