"""Printed answers of elsewhere-periods-continual.md that no other file holds, to their digits, from the package's code.

The others stand in ``tests/spaces/combined/test_elsewhere.py`` and ``test_slots.py`` (metric, bags, protections),
``tests/expressions/cells/test_elsewhere.py`` (free shares, constants), ``tests/estimators/frequency/test_elsewhere.py``
(categories with their cell), ``tests/sessions/test_slots.py`` (counts), ``tests/privacy/account/test_periods.py`` and
``test_histories.py`` (B), ``tests/budgets/test_lists.py`` (lists), ``tests/mechanisms/streams/test_strategy.py`` and
``test_mechanism.py``, ``tests/budgets/test_active_periods.py`` (C).
"""

import itertools
import math

import numpy as np
import pytest

import emdp.expressions as ex
from emdp.expressions.analysis.checker import analyse
from emdp.expressions.cells.aggregation import Aggregation
from emdp.expressions.cells.bounds import aggregation_lipschitz
from emdp.expressions.nodes.base import Constant
from emdp.mechanisms.streams.estimates import combination
from emdp.mechanisms.streams.strategy import SCALE, Plan, Strategy
from emdp.privacy import ELSEWHERE, Change, epsilon_for
from emdp.privacy.calibration import gaussian_mu
from emdp.spaces import Elsewhere, Geo, Interval
from emdp.transport import d_em

NYC = Geo("lat", "lon", (40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="elsewhere")
MIDTOWN = ex.distance_to((40.7484, -73.9857))
L = 67.988


def test_the_box_of_new_york() -> None:
    found = analyse(MIDTOWN, NYC)
    assert NYC.diameter == pytest.approx(L, abs=5e-4)
    assert (found.low, found.high) == (0, pytest.approx(38.37, abs=5e-3))
    centre, box = NYC.neutral_item, NYC.box
    corners = np.array([[lat, lon] for lat in (box[0], box[2]) for lon in (box[1], box[3])])
    # Old charges at a centre hold at distance 1/2 but for so much.
    farthest = float(NYC.distances(NYC.encode({"lat": corners[:, 0], "lon": corners[:, 1]}), centre).max())
    assert farthest == pytest.approx(0.50040, abs=5e-6)
    assert max(1.0, farthest / 0.5) == pytest.approx(1.0008, abs=5e-5)


COSTS = [
    (1.0, 0, 48.80, 1.393, (1.000, 1.026, 1.074)),
    (1.0, 1, 65.22, 1.042, (1.000, 1.015, 1.042)),
    (0.5, 0, 14.81, 4.591, (1.000, 1.253, 1.596)),
    (0.5, 1, 28.06, 2.423, (1.000, 1.077, 1.211)),
]
"""Distance of the point, norm (0: Laplace, 1: Gaussian), free scale of the share, its noise's constant, errors beside
a mean without the point at 19.2, 8 and 0 km."""


def cost(space: Elsewhere, expression: ex.Expression, norm: int, half: float, q: float) -> float:
    """Return the least error of a quotient over that of its numerator alone, over scales of the share."""
    pair = Aggregation((expression, Constant(1.0)))
    alone = aggregation_lipschitz(Aggregation((expression,)), (1.0,), space.inner)[norm]
    most = float(space.elsewhere or 1) * alone
    free = most - half if norm == 0 else math.sqrt(max(most**2 - half**2, 0.0))
    scales = [*np.geomspace(alone / 20, alone * 2, 60), *([free] if free > 0 else [])]
    return min(aggregation_lipschitz(pair, (1.0, s), space)[norm] * math.hypot(1, q / s) / alone for s in scales)


@pytest.mark.parametrize(("rho", "norm", "free", "share", "errors"), COSTS)
def test_what_the_share_costs(rho: float, norm: int, free: float, share: float, errors: tuple[float, ...]) -> None:
    middle = analyse(MIDTOWN, NYC).high / 2
    space, own = Elsewhere(NYC, rho), MIDTOWN - middle
    largest = rho * L - middle if norm == 0 else math.sqrt((rho * L) ** 2 - middle**2)
    assert (largest, L / largest) == (pytest.approx(free, abs=0.01), pytest.approx(share, abs=2e-3))
    pair = Aggregation((own, Constant(1.0)))
    assert aggregation_lipschitz(pair, (1.0, free - 0.02), space)[norm] == pytest.approx(L, rel=1e-4)
    assert aggregation_lipschitz(pair, (1.0, free + 0.1), space)[norm] > L * (1 + 1e-4)
    found = [cost(space, own, norm, middle, abs(km - middle)) for km in (middle, 8.0, 0.0)]
    assert found == [pytest.approx(number, abs=2e-3) for number in errors]


@pytest.mark.parametrize(("rho", "norm", "error"), [(1, 0, 1.414), (1, 1, 1.155), (0.5, 0, 2.828), (0.5, 1, 2.0)])
def test_of_a_column_as_wide_as_its_constant(rho: float, norm: int, error: float) -> None:
    space = Elsewhere(Interval("x", 0, 10), rho)
    assert cost(space, ex.col("x") - 5, norm, 5.0, 5.0) == pytest.approx(error, abs=5e-3)


def test_words_of_a_thirtieth() -> None:
    thirtieth = Change(1 / 30, ELSEWHERE, 1.0)
    assert epsilon_for(81.585, thirtieth, space=Elsewhere(NYC)) == pytest.approx(2.7195, abs=5e-5)
    assert epsilon_for(81.585, thirtieth, space=Elsewhere(NYC, 0.5)) == pytest.approx(1.3598, abs=5e-5)
    # One record moved by 5 km, of so many that its owner has in the period.
    for records, epsilon in ((1, 6.0), (10, 0.6), (30, 0.2)):
        change = Change(1 / records, 5.0, 1.0)
        assert epsilon_for(81.585, change, space=Elsewhere(NYC)) == pytest.approx(epsilon, abs=5e-4)
    assert math.fsum(1 / version for version in range(1, 53)) == pytest.approx(4.538, abs=5e-4)


BAGS = [own for size in (0, 1, 2) for own in itertools.combinations_with_replacement((0.0, 0.4, 1.0), size)]
TREE = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("matrix", "norm"),
    [
        (Strategy.of("totals", 3).matrix((1, 2, 3)), 1.179248),
        (TREE, 1.414214),
        (Strategy.of("days", 3).matrix((1, 2, 3)), 1.0),
    ],
    ids=["totals", "tree", "days"],
)
def test_all_pairs_of_histories_of_three_periods(
    matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]], norm: float
) -> None:
    """A million pairs: a thousand histories of bags of at most two records, whose share has its free scale."""
    space, scale = Elsewhere(Interval("x", 0, 1)), math.sqrt(1 - 0.25)
    points = np.array([[sum(x - 0.5 for x in own) / max(len(own), 1), scale * (len(own) > 0)] for own in BAGS])
    moved = (points[:, None, :] - points[None, :, :]).reshape(-1, 2)
    apart = np.array([d_em({"x": list(one)}, {"x": list(two)}, space) for one in BAGS for two in BAGS])
    assert len(apart) ** 3 == 10**6
    # Inner products of the periods' changes, weighed by those of the columns.
    gram, products = matrix.T @ matrix, moved @ moved.T
    square = sum(
        gram[s, t] * np.moveaxis(products[..., None], (0, 1, 2), (s, t, 3 - s - t))
        for s, t in ((0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1))
    ) + sum(gram[t, t] * np.diag(products).reshape([-1 if t == own else 1 for own in range(3)]) for t in range(3))
    total = apart[:, None, None] + apart[None, :, None] + apart[None, None, :]
    ratio = np.sqrt(np.maximum(square, 0.0))[total > 1e-12] / total[total > 1e-12]
    assert float(ratio.max()) == pytest.approx(norm, abs=6e-7)


@pytest.mark.parametrize(
    ("plan", "periods", "error", "mean"),
    [
        ("days", 7, 1.41, 2.00), ("totals", 7, 2.38, 1.55), ("both", 7, 1.72, None),
        ("days", 52, 1.41, 5.15), ("totals", 52, 2.81, 2.16), ("both", 52, 1.78, None),
        ("days", 365, 1.41, 13.5), ("totals", 365, 3.16, 2.78), ("both", 365, 1.82, None),
    ],
)  # fmt: skip
def test_day_on_day_and_totals_on_average(plan: Plan, periods: int, error: float, mean: float | None) -> None:
    strategy = Strategy.of(plan, periods)
    norm = math.sqrt(strategy.period_square(periods)) / SCALE
    released = tuple(range(1, periods + 1))
    change = np.zeros(periods)
    change[-2:] = -1.0, 1.0
    assert float(np.linalg.norm(combination(strategy, released, change))) * norm == pytest.approx(error, abs=6e-3)
    if mean is not None:
        inverse = np.linalg.solve(strategy.matrix(released).T, np.tril(np.ones((periods, periods))).T).T
        squares = np.sum(inverse**2, axis=1)
        assert math.sqrt(float(np.mean(squares))) * norm == pytest.approx(mean, rel=4e-3)


def test_a_second_year_adds_to_the_square() -> None:
    squares = [Strategy.of("totals", count).period_square(count) / SCALE**2 for count in (365, 730)]
    assert squares[1] - squares[0] == pytest.approx(0.2207, abs=2e-4)
    for square, count in zip(squares, (365, 730), strict=True):
        assert square == pytest.approx((math.log(count) + 3.3498) / math.pi, abs=1e-3)


def test_a_mean_distance_in_kilometres() -> None:
    users, year = 10**4, math.sqrt(365)
    one = analyse(MIDTOWN, NYC).high / users / gaussian_mu(1.0, 1e-6)
    assert [one, one * year, one * math.sqrt(30)] == [pytest.approx(km, rel=4e-3) for km in (0.0162, 0.310, 0.089)]
    day = L / users / gaussian_mu(20.0, 1e-8)
    column = Strategy.of("totals", 365).period_square(365) / SCALE**2
    found = [day, day * column / 365, day * year / 365, day * year, math.sqrt(2) * 365 * L / users / 20]
    printed = (0.00234, 0.0000189, 0.000122, 0.0447, 0.175)
    assert found == [pytest.approx(km, rel=4e-3) for km in printed]
