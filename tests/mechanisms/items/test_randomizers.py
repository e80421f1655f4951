"""Every finite randomizer on every kind of finite space: true ``alpha0``, inverse, draws, symmetries."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.items.exponential import ASIDE, MOST_COMPARED, Exponential
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.geometric import Geometric
from emdp.mechanisms.items.gkrr import GKRR
from emdp.mechanisms.items.hadamard_response import HadamardResponse
from emdp.mechanisms.items.krr import KRR
from emdp.mechanisms.items.one_bit import OneBit
from emdp.mechanisms.items.optimal import Optimal
from emdp.mechanisms.weights import TOTAL, actual_alpha0, exponential_alpha0, fit_weights, integer_rows
from emdp.spaces import (
    Categories,
    Clusters,
    Distances,
    Embedding,
    Geo,
    Grid,
    Interval,
    Product,
    Space,
    Vector,
    finite_items,
)
from emdp.testing import seeded

Floats = npt.NDArray[np.float64]


def random_metric(seed: int, count: int) -> Floats:
    """Shortest paths over random lengths: a metric that is no Euclidean distance."""
    generator = np.random.default_rng(seed)
    matrix = generator.uniform(0.1, 1.0, (count, count))
    matrix = np.minimum(matrix, matrix.T)
    np.fill_diagonal(matrix, 0.0)
    for middle in range(count):
        matrix = np.minimum(matrix, matrix[:, [middle]] + matrix[[middle]])
    return matrix


def vectors(seed: int, count: int) -> dict[str, list[object]]:
    table = np.random.default_rng(seed).normal(size=(count, 3))
    return {"word": [f"w{number}" for number in range(count)], "vector": table.tolist()}


NUMBERS = list(range(7))
LINE = [0.0, 3.0, 1.0, 8.0, 4.5]

SPACES: dict[str, Space] = {
    "two": Categories("kind", ["a", "b"]),
    "categories": Categories("kind", NUMBERS),
    "clusters": Clusters("kind", {number: number // 3 for number in range(9)}, 0.25),
    "wide clusters": Clusters("kind", {number: number // 2 for number in range(6)}, 0.75),
    "unequal clusters": Clusters("kind", {0: 0, 1: 1, 2: 1, 3: 2, 4: 2, 5: 2}, 0.3),
    "random metric": Distances("stop", NUMBERS, random_metric(1, 7)),
    "cut metric": Distances("stop", NUMBERS, random_metric(2, 7), diameter=0.4),
    "uneven line": Distances("stop", list(range(5)), np.abs(np.subtract.outer(LINE, LINE))),
    "embedding": Embedding("word", vectors(3, 6)),
    "line": Grid(Interval("x", 0, 1), 6),
    "cut line": Grid(Interval("x", 0, 1), 6, diameter=0.5),
    "grid": Grid(Vector(["x", "y"], box=((0, 1), (0, 1))), (3, 3)),
    "flat grid": Grid(Vector(["x", "y"], box=((0, 1), (0, 3))), (2, 4)),
    "map": Grid(Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km"), (3, 3)),
    "product": Product(Grid(Interval("x", 0, 1), 3), Categories("kind", ["a", "b"])),
}

LARGE = {
    "square": Grid(Vector(["x", "y"], box=((0, 1), (0, 1))), (17, 17)),
    "map": Grid(Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km"), (15, 18)),
    "listed": Distances("w", list(range(260)), np.abs(np.subtract.outer(np.arange(260.0), np.arange(260.0)))),
}


def one_bit(space: Space, alpha0: float) -> OneBit:
    items = finite_items(space)
    assert items is not None
    return OneBit(space, alpha0, np.sin(np.arange(len(items))).tolist())


KINDS: dict[str, Callable[[Space, float], FiniteRandomizer]] = {
    "KRR": KRR,
    "GKRR": GKRR,
    "Exponential": Exponential,
    "plain Exponential": lambda space, alpha0: Exponential(space, alpha0, tuned=False),
    "Geometric": Geometric,
    "HadamardResponse": HadamardResponse,
    "OneBit": one_bit,
    "Optimal": Optimal,
}

CASES = [
    (kind, name)
    for kind in KINDS
    for name, space in SPACES.items()
    if not (kind == "GKRR" and not isinstance(space, Clusters))
    and not (kind == "Geometric" and not (isinstance(space, Grid) or name in ("two", "uneven line")))
]


def true_distances(space: Space) -> Floats:
    items = finite_items(space)
    assert items is not None
    return space.distances(items, items)


def exact_alpha0(weights: npt.NDArray[np.int64], distances: Floats) -> Decimal:
    """The definition, in 50 digits."""
    with localcontext() as context:
        context.prec = 50
        logs = [[Decimal(int(weight)).ln() for weight in row] for row in weights]
        largest = Decimal(0)
        for x, y in permutations(range(len(logs)), 2):
            gap = max(left - right for left, right in zip(logs[x], logs[y], strict=True))
            largest = max(largest, gap / Decimal(float(distances[x, y])))
        return largest


@pytest.mark.quarter
@pytest.mark.parametrize(("kind", "name"), CASES)
@pytest.mark.parametrize("alpha0", [0.05, 9.0])
def test_alpha0_is_that_of_the_weights_and_never_above_the_request(kind: str, name: str, alpha0: float) -> None:
    randomizer = KINDS[kind](SPACES[name], alpha0)
    weights = randomizer.weights
    assert weights.dtype == np.int64
    assert weights.min() >= 1
    assert all(sum(row) == TOTAL == 2**62 for row in weights.tolist())
    exact = exact_alpha0(weights, randomizer.items.matrix)
    assert exact <= Decimal(randomizer.alpha0) <= Decimal(alpha0)
    assert float(exact) == pytest.approx(randomizer.alpha0, rel=1e-9, abs=1e-9)
    # distances are rounded down, by little
    distances = true_distances(SPACES[name])
    assert (randomizer.items.matrix <= distances).all()
    np.testing.assert_allclose(randomizer.items.matrix, distances, rtol=1e-8, atol=1e-9)
    assert randomizer.w_min == randomizer.items.matrix[randomizer.items.matrix > 0].min()


@pytest.mark.quarter
@pytest.mark.parametrize("seed", range(25))
def test_alpha0_on_random_metrics(seed: int) -> None:
    generator = np.random.default_rng(seed)
    count, alpha0 = int(generator.integers(2, 7)), float(10 ** generator.uniform(-2, 1.2))
    cut = float(generator.uniform(0.3, 2.0))
    space = Distances("stop", list(range(count)), random_metric(seed, count), diameter=cut)
    for kind in ("KRR", "Exponential", "plain Exponential", "HadamardResponse", "OneBit", "Optimal"):
        randomizer = KINDS[kind](space, alpha0)
        # the distances of the space itself, one rounding off the quotients that they stand for
        exact = exact_alpha0(randomizer.weights, true_distances(space) * (1 - 2.0**-52))
        assert exact <= Decimal(randomizer.alpha0) <= Decimal(alpha0)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_request_is_reached(kind: str, name: str) -> None:
    reached = KINDS[kind](SPACES[name], 2.0).alpha0
    if kind == "plain Exponential":
        assert reached >= 0.999
    elif kind in ("OneBit", "Optimal"):
        # a chord is flatter than the tangent that bounds it; an optimum need not use its constraints up
        assert reached > 0.3
    else:
        assert reached == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_inverse_and_estimate_are_exact_in_the_mean(kind: str, name: str) -> None:
    randomizer = KINDS[kind](SPACES[name], 3.0)
    count = randomizer.items.count
    if kind == "OneBit" and count > 2:
        with pytest.raises(RefusedError, match="estimate_mean"):
            _ = randomizer.right_inverse
        return
    try:
        inverse = randomizer.right_inverse
    except RefusedError:
        # an optimum may leave outputs unused
        assert kind == "Optimal"
        return
    assert inverse.shape == (randomizer.weights.shape[1], count)
    np.testing.assert_allclose(randomizer.matrix @ inverse, np.eye(count), atol=1e-9)
    shares = np.random.default_rng(0).dirichlet(np.ones(count))
    # the estimate is linear, so its mean is that of the mean histogram
    np.testing.assert_allclose(randomizer.estimate(1000 * shares @ randomizer.matrix), shares, atol=1e-9)
    counts = np.random.default_rng(1).integers(1, 9, randomizer.weights.shape[1])
    np.testing.assert_allclose(randomizer.estimate(counts), counts @ inverse / counts.sum(), atol=1e-8)
    low, high = randomizer.estimate_range()
    assert (low <= inverse).all()
    assert (inverse <= high).all()
    second = randomizer.matrix @ inverse**2
    variance = (second - (randomizer.matrix @ inverse) ** 2).max(axis=0)
    np.testing.assert_allclose(randomizer.estimate_variance(), variance, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_law_and_blanket(kind: str, name: str) -> None:
    randomizer = KINDS[kind](SPACES[name], 2.0)
    law = randomizer.law
    np.testing.assert_array_equal(law.weights, randomizer.weights)
    np.testing.assert_array_equal(randomizer.blanket, randomizer.weights.min(axis=0))
    assert (law.distances <= randomizer.items.matrix).all()
    np.testing.assert_array_equal(law.distances, law.distances.T)
    assert (np.diag(law.distances) == 0).all()
    if law.pairs is None:
        return

    # What an accountant sees of a pair: the multiset over outputs of both weights and the least one, and the distance.
    def signature(x: int, y: int) -> tuple[object, ...]:
        triples = zip(law.weights[x].tolist(), law.weights[y].tolist(), randomizer.blanket.tolist(), strict=True)
        return float(law.distances[x, y]), *sorted(triples)

    chosen = {signature(x, y) for x, y in law.pairs.tolist()}
    every = {signature(x, y) for x, y in permutations(range(randomizer.items.count), 2)}
    assert chosen == every


@pytest.mark.parametrize(
    ("kind", "name", "pairs"),
    [
        ("KRR", "grid", 1),
        ("HadamardResponse", "map", 1),
        ("GKRR", "clusters", 2),
        ("Exponential", "categories", 1),
        ("Exponential", "clusters", 2),
        ("Exponential", "grid", 12),
        ("Exponential", "line", 15),
        ("Geometric", "line", 15),
        ("Geometric", "grid", 12),
        ("Optimal", "grid", 12),
        ("Exponential", "map", 39),
    ],
)
def test_symmetry_is_found(kind: str, name: str, pairs: int) -> None:
    found = KINDS[kind](SPACES[name], 2.0).law.pairs
    assert found is not None
    assert len(found) == pairs


def chi_squared(counts: npt.NDArray[np.int64], expected: Floats) -> float:
    return float(scipy.stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize("kind", ["KRR", "GKRR", "Exponential", "HadamardResponse", "OneBit", "Optimal"])
def test_draws_have_the_law_and_the_test_has_power(kind: str) -> None:
    """True strength passes, 0.7 and 1.3 times it fail, at p < 1e-9."""
    space, size = SPACES["clusters"], 20_000
    randomizer = KINDS[kind](space, 6.0)
    codes = np.full(size, 5, dtype=np.int64)
    counts = np.bincount(codes, minlength=9)
    with seeded(7):
        outputs = randomizer.draw(codes)
        histogram = randomizer.release(counts)
    assert histogram.sum() == size
    for seen in (np.bincount(outputs, minlength=randomizer.weights.shape[1]), histogram):
        assert chi_squared(seen, randomizer.matrix[5]) > 1e-9
        for wrong in (0.7, 1.3):
            assert chi_squared(seen, randomizer.at(6.0 * wrong).matrix[5]) < 1e-9


def test_release_of_mixed_items_estimates_their_shares() -> None:
    randomizer = KRR(SPACES["categories"], 3.0)
    counts = np.array([40_000, 0, 10_000, 0, 30_000, 15_000, 5_000])
    with seeded(3):
        released = randomizer.release(counts)
    error = randomizer.estimate(released) - counts / counts.sum()
    assert (np.abs(error) <= 7 * np.sqrt(randomizer.estimate_variance() / counts.sum())).all()


@pytest.mark.parametrize(("kind", "name"), [case for case in CASES if case[1] in ("clusters", "grid", "two")])
def test_at_another_strength_is_a_new_randomizer(kind: str, name: str) -> None:
    first = KINDS[kind](SPACES[name], 1.0)
    before = first.alpha0
    second = first.at(2.5)
    np.testing.assert_array_equal(second.weights, KINDS[kind](SPACES[name], 2.5).weights)
    assert (first.alpha0, first.requested, second.requested) == (before, 1.0, 2.5)
    assert second.items is first.items
    assert second.parameters()["requested"] == 2.5
    assert first.name in first.explain()
    assert first.theorem
    with pytest.raises(UsageError, match="alpha0"):
        first.at(-1.0)


def test_outputs_are_items_with_an_unlisted_neutral_one_last() -> None:
    assert Exponential(SPACES["line"], 1.0).outputs_frame() == {
        "x": [pytest.approx((2 * number + 1) / 12) for number in range(6)]
    }
    words = Exponential(SPACES["embedding"], 1.0)
    assert words.weights.shape == (7, 7)
    assert words.outputs_frame()["word"] == [*(f"w{number}" for number in range(6)), None]
    assert HadamardResponse(SPACES["two"], 1.0).outputs_frame() == {"output": [0, 1, 2, 3]}


class TestWeights:
    def test_rounding_keeps_rows_and_every_entry(self) -> None:
        ideal = np.random.default_rng(5).dirichlet(np.full(40, 0.05), 40)
        weights = integer_rows(ideal)
        assert weights.min() >= 1
        assert all(sum(row) == 2**62 for row in weights.tolist())
        np.testing.assert_allclose(weights / 2.0**62, ideal, rtol=1e-12, atol=1e-17)

    def test_zero_meeting_a_positive_weight_is_infinite(self) -> None:
        assert actual_alpha0(np.array([[0, 4], [1, 3]]), np.array([[0.0, 1.0], [1.0, 0.0]])) == math.inf

    def test_output_that_nobody_has_does_not_count(self) -> None:
        found = actual_alpha0(np.array([[0, 4, 1], [0, 3, 2]]), np.array([[0.0, 1.0], [1.0, 0.0]]))
        assert found == pytest.approx(math.log(2))

    def test_items_at_distance_zero_must_be_treated_alike(self) -> None:
        nowhere = np.zeros((2, 2))
        assert actual_alpha0(np.array([[3, 1], [1, 3]]), nowhere) == math.inf
        assert actual_alpha0(np.array([[3, 1], [3, 1]]), nowhere) == 0.0

    def test_one_unit_more_is_seen(self) -> None:
        """A planted fault of one part in 2^40 raises the bound."""
        randomizer = KRR(SPACES["categories"], 1.0)
        wrong = randomizer.weights.copy()
        wrong[0, 0] += 2**22
        wrong[0, 1] -= 2**22
        assert actual_alpha0(wrong, randomizer.items.matrix) > randomizer.alpha0

    def test_blocks_and_representatives_agree_with_all_pairs(self) -> None:
        randomizer = Exponential(Grid(Vector(["x", "y"], box=((0, 1), (0, 1))), (10, 10)), 4.0)
        whole = actual_alpha0(randomizer.weights, randomizer.items.matrix)
        assert whole == randomizer.alpha0
        logs = np.log(randomizer.weights.astype(np.float64))
        gaps = np.abs(logs[:, None] - logs).max(axis=2)
        apart = randomizer.items.matrix + np.eye(100)
        assert whole == pytest.approx(float((gaps / apart).max()), rel=1e-11)

    @pytest.mark.parametrize("alpha0", [0.05, 4.0, 20.0])
    @pytest.mark.parametrize("name", ["line", "cut line", "grid", "flat grid", "map"])
    def test_single_entries_bound_the_whole_rows(self, name: str, alpha0: float) -> None:
        """Nearly equal for an exponential mechanism; above for weights that are changed, and for any others."""
        items = Exponential(SPACES[name], alpha0).items
        good = Exponential(SPACES[name], alpha0).weights
        exact = actual_alpha0(good, items.matrix)
        near = 2e-8 if name == "map" else 1e-10
        assert exact * (1 - 1e-12) <= exponential_alpha0(good, items.matrix, items.triangle_slack) <= exact * (1 + near)
        for part in (1 - 2.0**-20, 0.99, 0.01):
            wrong = good.copy()
            wrong[2, 1] = int(wrong[2, 1] * part)
            changed = actual_alpha0(wrong, items.matrix)
            assert exponential_alpha0(wrong, items.matrix, items.triangle_slack) >= changed
        assert changed > exact * 1.01
        generator = np.random.default_rng(8)
        other = generator.integers(1, 2**50, good.shape)
        found = exponential_alpha0(other, items.matrix, items.triangle_slack)
        assert found >= actual_alpha0(other, items.matrix)

    def test_single_entries_say_nothing_of_items_at_distance_zero(self) -> None:
        assert exponential_alpha0(np.array([[3, 1], [3, 1]]), np.zeros((2, 2)), 0.0) == math.inf

    @pytest.mark.parametrize("alpha0", [0.01, 4.0, 100.0])
    @pytest.mark.parametrize("space", [*LARGE.values()], ids=[*LARGE])
    def test_many_cells_keep_alpha0_by_whole_rows(self, space: Space, alpha0: float) -> None:
        randomizer = Exponential(space, alpha0)
        assert randomizer.items.count > MOST_COMPARED
        exact = actual_alpha0(randomizer.weights, randomizer.items.matrix)
        assert exact <= randomizer.alpha0 <= alpha0
        if alpha0 == 4.0:
            assert exact == pytest.approx(alpha0, rel=1e-7)

    def test_what_is_given_up_besides_saves_attempts(self) -> None:
        """A strength whose alpha0 grows slower than it is found at once, and hardly lower."""
        asked: list[float] = []

        def weights_at(strength: float) -> np.ndarray:
            asked.append(strength)
            return np.array([[strength]])

        def fitted(aside: float) -> tuple[int, float]:
            asked.clear()
            _, reached = fit_weights(weights_at, lambda own: 4 + 1.98 * (float(own[0, 0]) - 2), 4.0, 2.0001, aside)
            assert reached <= 4.0
            return len(asked), reached

        assert fitted(0.0)[0] > 3
        attempts, reached = fitted(ASIDE)
        assert attempts == 2
        assert reached == pytest.approx(4.0, abs=1e-4)

    def test_a_strength_that_62_bits_cannot_follow_is_refused(self) -> None:
        flat = integer_rows(np.ones((2, 2)))
        tilted = flat + np.array([[2**50, -(2**50)], [-(2**50), 2**50]])
        line = np.array([[0.0, 1.0], [1.0, 0.0]])
        with pytest.raises(RefusedError, match="62-bit"):
            fit_weights(lambda strength: tilted, lambda weights: actual_alpha0(weights, line), 1e-9, 1e-9)
        with pytest.raises(RefusedError, match="62-bit"):
            _ = KRR(SPACES["categories"], 1e-19).weights


class TestArguments:
    @pytest.mark.parametrize("kind", ["KRR", "Exponential", "HadamardResponse", "Optimal", "Geometric"])
    def test_a_continuum_or_one_item_is_refused(self, kind: str) -> None:
        with pytest.raises(UsageError, match="not finite"):
            KINDS[kind](Interval("x", 0, 1), 1.0)
        with pytest.raises(UsageError, match="2 to 4096"):
            KINDS[kind](Categories("kind", ["a"]), 1.0)
        with pytest.raises(UsageError, match="2 to 4096"):
            KINDS[kind](Grid(Interval("x", 0, 1), 5000), 1.0)
        with pytest.raises(UsageError, match="must be a Space"):
            KINDS[kind]("line", 1.0)  # type: ignore[arg-type]

    @pytest.mark.parametrize("alpha0", [0.0, -1.0, math.inf, math.nan])
    def test_alpha0_is_positive_and_finite(self, alpha0: float) -> None:
        with pytest.raises(UsageError, match="alpha0"):
            KRR(SPACES["categories"], alpha0)

    def test_shapes_are_checked(self) -> None:
        randomizer = KRR(SPACES["categories"], 1.0)
        for wrong in ([1, 2], [0.5] * 7):
            with pytest.raises(UsageError, match="counts"):
                randomizer.release(np.array(wrong))
        for codes in ([7], [-1], [[0]], [0.5]):
            with pytest.raises(UsageError, match="codes"):
                randomizer.draw(np.array(codes))
        for counts in ([1.0, 2.0], [0.0] * 7):
            with pytest.raises(UsageError, match="counts"):
                randomizer.estimate(np.array(counts))

    def test_items_at_distance_zero(self) -> None:
        table = {"word": ["a", "b", "c"], "x": [0.0, 0.0, 1.0]}
        space = Embedding("word", table, neutral="a")
        for kind in ("KRR", "HadamardResponse", "Optimal"):
            with pytest.raises(UsageError, match="distance 0"):
                KINDS[kind](space, 1.0)
        twins = Exponential(space, 1.0)
        np.testing.assert_array_equal(twins.weights[0], twins.weights[1])
        assert twins.alpha0 <= 1.0
        with pytest.raises(RefusedError, match="stably"):
            _ = twins.right_inverse


def test_fractions_confirm_the_guarantee_of_every_output_set() -> None:
    """All subsets of outputs of a small randomizer, in exact fractions."""
    randomizer = Exponential(Distances("stop", list(range(4)), random_metric(4, 4)), 1.5)
    rows = [[Fraction(weight, TOTAL) for weight in row] for row in randomizer.weights.tolist()]
    for x, y in permutations(range(4), 2):
        factor = Fraction(math.exp(randomizer.alpha0 * randomizer.items.matrix[x, y]) * (1 + 1e-14))
        for subset in range(16):
            chosen = [place for place in range(4) if subset >> place & 1]
            assert sum(rows[x][place] for place in chosen) <= factor * sum(rows[y][place] for place in chosen)
