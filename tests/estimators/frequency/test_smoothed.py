"""Frequencies: constants against EMD 6 and brute force, groups of users, rows, refusals."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from emdp.base.errors import NotLipschitzError, UsageError
from emdp.estimators.frequency.smoothed import plan_frequencies
from emdp.estimators.plan import Plan
from emdp.expressions.cells.aggregation import LabelAxis, UserGroups
from emdp.expressions.cells.reference import cell_values
from emdp.mechanisms import GaussianMechanism, KNormMechanism, LaplaceMechanism
from emdp.mechanisms.central.edge_laws import EdgeLaplaceMechanism
from emdp.privacy import EmdDP, UserDP
from emdp.questions.price import Price
from emdp.questions.select import FrequencyQuery, Grid, Order, People
from emdp.spaces import Categories, Cycle, Embedding, Geo, Interval, Product, Space, Vector
from emdp.testing import seeded

ALPHA = Price("alpha", 2.0)
NEW_YORK = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
KINDS = LabelAxis("kind", (("a",), ("b",), ("c",)))
CATEGORIES = Categories("kind", ["a", "b", "c"])
PEOPLE = People(
    UserGroups(pl.Series(["u", "v", "w"]), pl.Series([0, 1, 1], dtype=pl.Int64), (1, 2)),
    ("plan",),
    (("free",), ("pro",)),
    "3 of 3 public users, in 2 groups by plan",
)


def plan_of(space: Space, cells: Grid | LabelAxis, price: Price = ALPHA, users: int = 100, **more: object) -> Plan:
    return plan_frequencies(FrequencyQuery(cells, price, **more), space=space, users=users)


def random_items(space: Space, count: int) -> np.ndarray:
    generator = np.random.default_rng(5)
    columns = []
    for part in space.parts:
        if isinstance(part, Geo):
            south, west, north, east = part.box
            columns.append(generator.uniform((south, west), (north, east), (count, 2)))
        elif isinstance(part, Vector):
            columns.append(generator.uniform(*part.coordinate_bounds, (count, len(part.columns))))
        elif part.labels is not None:
            columns.append(generator.integers(0, len(part.labels), (count, 1)).astype(float))
        else:
            high = part.period if isinstance(part, Cycle) else part.high
            columns.append(generator.uniform(getattr(part, "low", 0.0), high, (count, 1)))
    return np.hstack(columns)


def test_known_constants() -> None:
    assert plan_of(Interval("x", 2, 12), Grid(2.5)).columns[0].lipschitz == 8.0
    assert plan_of(CATEGORIES, KINDS).columns[0].lipschitz == 2.0
    product = Product(Interval("x", 0, 1).weighted(3), CATEGORIES)
    assert plan_of(product, KINDS).columns[0].lipschitz == pytest.approx(8.0)
    assert plan_of(product, Grid(0.25)).columns[0].lipschitz == pytest.approx(8.0 * 4 / 3)
    assert plan_of(Cycle("hour", 24), Grid(1)).columns[0].lipschitz == pytest.approx(24.0)
    # EMD 6: 2 sqrt(2) diameter/h in the plane, and on lat/lon the two constants of section 2 added.
    plane = Vector(["x", "y"], box=[(0, 3), (0, 4)])
    assert plan_of(plane, Grid(0.5)).columns[0].lipschitz == pytest.approx(2 * np.sqrt(2) * 5 / 0.5, rel=1e-9)
    plan = plan_of(NEW_YORK, Grid(1.0))
    lat, lon = plan.aggregation.axes
    added = 2 * (
        NEW_YORK.column_bounds("lat").lipschitz / lat.step + NEW_YORK.column_bounds("lon").lipschitz / lon.step
    )
    assert 2 * np.sqrt(2) * NEW_YORK.diameter * (1 - 1e-3) < plan.columns[0].lipschitz <= added * (1 + 1e-12)


BRUTE: dict[str, tuple[Space, Grid | LabelAxis]] = {
    "interval": (Interval("x", 0, 10), Grid(0.8)),
    "cycle": (Cycle("hour", 24), Grid(3.5)),
    "geo": (NEW_YORK, Grid(9.0)),
    "plane": (Vector(["x", "y"], box=[(0, 3), (0, 4)]), Grid(0.7)),
    "categories": (CATEGORIES, KINDS),
    "product": (Product(NEW_YORK, CATEGORIES.weighted(2)), Grid(9.0)),
    "label_in_product": (Product(NEW_YORK, CATEGORIES.weighted(2)), KINDS),
    "truncated": (Interval("x", 0, 10, diameter=1.0), Grid(2.0)),
}


@pytest.mark.parametrize("case", BRUTE)
def test_no_pair_of_items_exceeds_the_sensitivity(case: str) -> None:
    space, cells = BRUTE[case]
    plan = plan_of(space, cells, users=1)
    constant = plan.columns[0].lipschitz
    items = random_items(space, 120)
    # Pairs that differ little and lie diagonally, where a continuum is steepest.
    is_listed = np.concatenate([np.full(part.width, part.labels is not None) for part in space.parts])
    moves = np.random.default_rng(6).choice([-1e-4, 1e-4], items.shape) * ~is_listed
    items = np.concatenate([items, np.clip(items + moves, items.min(axis=0), items.max(axis=0))])
    vectors = cell_values(plan.aggregation, space, items)
    changes = np.abs(vectors[:, None, :] - vectors[None, :, :]).sum(axis=2)
    distances = space.distances(items, items)
    assert np.all(changes <= constant * distances + 1e-9)
    apart = distances > 1e-9
    assert (changes[apart] / distances[apart]).max() >= 0.6 * constant
    spread = plan_of(space, cells, Price("epsilon", 1.0), users=1).mechanisms[0].sensitivity
    assert changes.max() <= spread + 1e-9


def test_user_level_replacement_moves_the_histogram_by_two_over_n() -> None:
    plan = plan_of(CATEGORIES, KINDS, Price("epsilon", 0.5), noise="laplace", users=1000)
    assert plan.mechanisms[0].sensitivity == pytest.approx(0.002, rel=1e-12)
    assert plan.guarantee == UserDP(0.5)
    assert plan.columns[0].lipschitz == 2.0


def test_a_constant_that_is_infinite_is_refused_under_alpha_alone() -> None:
    twins = Embedding("w", {"w": ["a", "b", "c"], "v": [[0.0], [0.0], [1.0]]})
    cells = LabelAxis("w", (("a",), ("b",), ("c",)))
    with pytest.raises(NotLipschitzError, match="distance 0"):
        plan_of(twins, cells)
    plan = plan_of(twins, cells, Price("epsilon", 1.0), noise="laplace")
    assert (plan.columns[0].lipschitz, plan.mechanisms[0].sensitivity) == (np.inf, pytest.approx(0.02))


def test_noise_is_the_one_asked_for_or_the_least() -> None:
    assert isinstance(plan_of(NEW_YORK, Grid(5.0)).mechanisms[0], EdgeLaplaceMechanism)
    assert isinstance(plan_of(NEW_YORK, Grid(5.0), Price("epsilon", 1.0)).mechanisms[0], LaplaceMechanism)
    price = Price("alpha", 2.0, 1e-9)
    chosen = plan_of(CATEGORIES, KINDS, price)
    errors = [
        plan_of(CATEGORIES, KINDS, Price("alpha", 2.0, 1e-9), noise=noise).columns[0].expected_error
        for noise in ("laplace", "gaussian", "k_norm")
    ]
    assert chosen.columns[0].expected_error == min(errors)
    asked = plan_of(NEW_YORK, Grid(5.0), Price("alpha", 2.0, 1e-9), noise="gaussian")
    assert isinstance(asked.mechanisms[0], GaussianMechanism)
    assert asked.guarantee == EmdDP(2.0, 1e-9)
    assert isinstance(plan_of(CATEGORIES, KINDS, Price("alpha", 2.0), noise="k_norm").mechanisms[0], KNormMechanism)
    with pytest.raises(UsageError, match="24"):
        plan_of(NEW_YORK, Grid(5.0), Price("alpha", 2.0), noise="k_norm")
    with pytest.raises(UsageError, match="delta"):
        plan_of(CATEGORIES, KINDS, Price("alpha", 2.0), noise="gaussian")


def test_rows_hold_the_released_numbers_with_the_law_of_their_noise() -> None:
    space = Interval("x", 0, 10)
    plan = plan_of(space, Grid(5.0))
    released = plan.restored(plan.prepared((Fraction(1, 2), Fraction(-1, 4), Fraction(3, 4))))
    frame = plan.finisher.frame((released,), 0.9)
    assert frame.columns == ["x", "frequency", "frequency_low", "frequency_high"]
    assert frame["x"].to_list() == [0.0, 5.0, 10.0]
    assert frame["frequency"].to_list() == [0.5, -0.25, 0.75]
    ends, middle = (plan.mechanisms[0].half_widths(0.9)[place] for place in (0, 1))
    assert frame["frequency_high"].to_list() == pytest.approx([0.5 + ends, -0.25 + middle, 0.75 + ends])
    assert middle == pytest.approx(plan.mechanisms[0].interval_half_width(0.9))
    assert middle > ends
    together = plan.finisher.frame((released,), 0.9, together=True)
    wider = plan.mechanisms[0].simultaneous_half_width(0.9)
    assert together["frequency_low"][1] == pytest.approx(-0.25 - wider)
    assert wider > middle
    exact = plan.finisher.exact((released,))
    assert exact.columns == ["x", "frequency"]
    assert any("below 0" in note for note in plan.notes)
    assert any("EMD 6" in note for note in plan.notes)


def test_groups_of_users_have_their_own_noise_and_one_price() -> None:
    plan = plan_of(CATEGORIES, KINDS, Price("alpha", 2.0), noise="laplace", users=3, people=PEOPLE)
    assert [mechanism.scale for mechanism in plan.mechanisms] == [1.0, 0.5]
    assert plan.guarantee == EmdDP(2.0)
    assert plan.columns[0].noise_scale == 1.0
    assert "smallest" in plan.columns[0].note
    assert plan.aggregation.users is PEOPLE.groups
    values = ((Fraction(1), Fraction(2), Fraction(3)), (Fraction(4), Fraction(5), Fraction(6)))
    frame = plan.finisher.frame(values, 0.95)
    assert frame.columns == ["plan", "kind", "frequency", "frequency_low", "frequency_high"]
    assert frame["plan"].to_list() == ["free"] * 3 + ["pro"] * 3
    assert frame["kind"].to_list() == ["a", "b", "c"] * 2
    assert frame["frequency"].to_list() == [1, 2, 3, 4, 5, 6]
    assert PEOPLE.text in plan.notes
    # Both groups together: level 0.95 = p^2, each group's coordinates together with p.
    together = plan.finisher.frame(values, 0.95, together=True)
    half = together["frequency_high"] - together["frequency"]
    assert half[0] == pytest.approx(plan.mechanisms[0].simultaneous_half_width(np.sqrt(0.95)), rel=1e-9)
    assert half[3] == pytest.approx(half[0] / 2)


def test_order_and_limit_are_post_processing() -> None:
    plan = plan_of(CATEGORIES, KINDS, order=(Order("frequency", is_descending=True),), limit=2)
    frame = plan.finisher.frame(((Fraction(1), Fraction(3), Fraction(2)),), 0.95)
    assert frame["kind"].to_list() == ["b", "c"]
    with pytest.raises(UsageError, match="'n'"):
        plan_of(CATEGORIES, KINDS, order=(Order("n"),))


@pytest.mark.parametrize("name", ["kind", "plan"])
def test_a_name_that_stands_for_two_columns_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"two columns '{name}'"):
        plan_of(CATEGORIES, KINDS, users=3, people=PEOPLE, name=name)


def test_a_hundred_thousand_cells_are_framed_in_order() -> None:
    plan = plan_of(NEW_YORK, Grid(0.2))
    assert plan.aggregation.cells > 50_000
    values = tuple(Fraction(k, 2**20) for k in range(plan.aggregation.cells))
    frame = plan.finisher.frame((values,), 0.95)
    assert frame["frequency"].is_sorted()
    assert frame["lat"].is_sorted()
    assert len(frame) == plan.aggregation.cells


def test_released_frequencies_are_unbiased() -> None:
    plan = plan_of(CATEGORIES, KINDS, Price("alpha", 2.0), noise="laplace", users=10)
    exact = (Fraction(1, 2), Fraction(1, 2), Fraction(0))
    with seeded(3):
        draws = [plan.restored(plan.mechanisms[0].release(plan.prepared(exact))) for _ in range(2000)]
    means = np.array(draws, dtype=float).mean(axis=0)
    # standard error of a mean: sqrt(2) 0.1 / sqrt(2000) = 0.0032
    np.testing.assert_allclose(means, [0.5, 0.5, 0.0], atol=0.02)
