"""Quantiles: constants against brute force, the pitch, what is answered, groups, filters, refusals."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from user_statistics import user_statistic

from emdp.base.errors import NotLipschitzError, UsageError
from emdp.estimators.plan import Plan
from emdp.estimators.quantiles.quantiles import MOST_COORDINATES, plan_quantiles
from emdp.expressions import category_is, col, distance_to, evaluate, ramp
from emdp.expressions.cells.aggregation import UserGroups
from emdp.expressions.nodes.base import Expression
from emdp.mechanisms import GaussianMechanism, LaplaceMechanism
from emdp.privacy import EmdDP, UserDP
from emdp.questions.price import Price
from emdp.questions.select import Order, People, QuantileQuery
from emdp.spaces import Categories, Geo, Interval, Product, Space
from emdp.testing import seeded

ALPHA = Price("alpha", 2.0)
X = col("x")
LINE = Interval("x", 0, 10)
NEW_YORK = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
SHOPS = Product(LINE, Categories("kind", ["a", "b", "c"]).weighted(2))
PEOPLE = People(
    UserGroups(pl.Series(["u", "v", "w"]), pl.Series([0, 1, 1], dtype=pl.Int64), (1, 2)),
    ("plan",),
    (("free",), ("pro",)),
    "3 of 3 public users, in 2 groups by plan",
)


def plan_of(
    expression: Expression = X,
    levels: tuple[float, ...] = (0.5,),
    price: Price = ALPHA,
    *,
    space: Space = LINE,
    users: int = 100,
    **more: object,
) -> Plan:
    return plan_quantiles(QuantileQuery(expression, levels, price, **more), space=space, users=users)


def curve_of(plan: Plan, space: Space, items: np.ndarray, expression: Expression, factor: np.ndarray) -> np.ndarray:
    """Each item's vector by the definition of a ramp, not by the engine's hats: shape (items, nodes)."""
    axis = plan.aggregation.axes[-1]
    ends = axis.start + (np.arange(axis.size) + 1) * axis.step
    ramps = np.clip((ends - evaluate(expression, space, items)[:, None]) / axis.step, 0, 1)
    ramps[:, -1] = 1.0
    return factor[:, None] * ramps


def released(plan: Plan, space: Space, items: np.ndarray, seed: int = 3) -> tuple[tuple[Fraction, ...], ...]:
    """One release for one group whose users have one item each."""
    statistic = user_statistic(plan.aggregation, space, [items])
    with seeded(seed):
        noisy = plan.mechanisms[0].release(plan.prepared([Fraction(value) for value in statistic]))
    return (plan.restored(noisy),)


BRUTE: dict[str, tuple[Space, Expression, Expression | None, float]] = {
    "column": (LINE, X, None, 0.8),
    "distance": (NEW_YORK, distance_to((40.7, -74.0)), None, 3.0),
    "ramp": (LINE, X, ramp(X, 3, 5), 0.8),
    "category": (SHOPS, X, category_is("a"), 1.5),
    "product": (SHOPS, 2 * X, None, 1.5),
}


@pytest.mark.parametrize("case", BRUTE)
def test_no_pair_of_items_exceeds_the_sensitivity(case: str) -> None:
    space, expression, where, step = BRUTE[case]
    plan = plan_of(expression, space=space, users=1, where=where, step=step)
    gaussian = Price("alpha", 2.0, 1e-6)
    both = plan_of(expression, price=gaussian, noise="gaussian", space=space, users=1, where=where, step=step)
    generator = np.random.default_rng(5)
    lows, highs = (NEW_YORK.box[:2], NEW_YORK.box[2:]) if space is NEW_YORK else (0.0, 10.0)
    items = generator.uniform(lows, highs, (150, 2 if space is NEW_YORK else 1))
    items = np.concatenate([items, np.clip(items + generator.choice([-1e-4, 1e-4], items.shape), lows, highs)])
    if space is SHOPS:
        items = np.hstack([items, generator.integers(0, 3, (300, 1))])
    factor = np.ones(300) if where is None else evaluate(where, space, items)
    vectors = curve_of(plan, space, items, expression, factor)
    distances = space.distances(items, items)
    apart = distances > 1e-9
    for norm, own in ((1, plan), (2, both)):
        changes = np.linalg.norm(vectors[:, None, :] - vectors[None, :, :], ord=norm, axis=2)
        assert np.all(changes <= own.mechanisms[0].sensitivity * distances + 1e-9)
        if where is None:
            assert (changes[apart] / distances[apart]).max() >= 0.99 * own.mechanisms[0].sensitivity
    spread = plan_of(expression, price=Price("epsilon", 1.0), space=space, users=1, where=where, step=step)
    changes = np.abs(vectors[:, None, :] - vectors[None, :, :]).sum(axis=2)
    assert changes.max() <= spread.mechanisms[0].sensitivity + 1e-9


def test_the_engine_computes_the_ramps_of_the_definition() -> None:
    plan = plan_of(step=0.8, where=ramp(X, 3, 5))
    items = np.random.default_rng(4).uniform(0, 10, (50, 1))
    statistic = user_statistic(plan.aggregation, LINE, [items[:20], items[20:]])
    curve = plan.summed([Fraction(value) for value in statistic])
    vectors = curve_of(plan, LINE, items, X, np.clip((items[:, 0] - 3) / 2, 0, 1))
    np.testing.assert_allclose(np.array(curve, dtype=float), (vectors[:20].mean(0) + vectors[20:].mean(0)) / 2)


def test_known_constants() -> None:
    assert plan_of(step=0.5).columns[0].lipschitz == 20.0  # width/pitch, whatever the number of nodes
    assert plan_of(step=0.5, space=Interval("x", 0, 10, diameter=5.0)).columns[0].lipschitz == pytest.approx(20.0)
    assert plan_of(step=0.5, space=SHOPS).columns[0].lipschitz == pytest.approx(60.0)
    distance = plan_of(distance_to((40.7, -74.0)), space=NEW_YORK, step=2.0)
    assert distance.columns[0].lipschitz == pytest.approx(NEW_YORK.diameter / 2)
    assert distance.mechanisms[0].scale == pytest.approx(NEW_YORK.diameter / 2 / (100 * 2.0))
    # All 20 ramps may go from 0 to 1.
    user = plan_of(step=0.5, price=Price("epsilon", 2.0))
    assert user.mechanisms[0].sensitivity == pytest.approx(20 / 100)
    assert user.guarantee == UserDP(2.0)
    gauss = plan_of(step=0.5, price=Price("epsilon", 2.0, 1e-6), noise="gaussian")
    assert gauss.mechanisms[0].sensitivity == pytest.approx(np.sqrt(20) / 100)


@pytest.mark.parametrize("users", [1000, 30_000])
def test_the_pitch_balances_smoothing_and_noise(users: int) -> None:
    plan = plan_of(users=users)
    axis = plan.aggregation.axes[0]
    wanted = np.sqrt(np.log(20) * 10 * 10 / (2.0 * users))
    assert axis.step == pytest.approx(wanted, rel=0.05)
    # No other number of nodes promises a shorter interval.
    best = plan.columns[0].interval_95
    others = [plan_of(users=users, step=10 / count).columns[0].interval_95 for count in range(2, 400, 7)]
    assert min(others) >= best * (1 - 1e-3)
    assert (axis.size - 1) * axis.step == pytest.approx(10)


def test_the_pitch_under_epsilon_and_for_few_or_many_users() -> None:
    gaussian = Price("epsilon", 1.0, 1e-8)
    plan = plan_of(users=20_000, price=gaussian)
    assert isinstance(plan.mechanisms[0], GaussianMechanism)
    best = plan.columns[0].interval_95
    steps = (10 / count for count in range(10, 500, 20))
    others = [plan_of(users=20_000, price=gaussian, step=step).columns[0].interval_95 for step in steps]
    assert min(others) >= best * 0.999
    assert plan_of(users=1).aggregation.axes[0].size == 3
    assert plan_of(users=10**9).aggregation.axes[0].size == 513
    # What was asked for is used: from the low edge to at or beyond the high one.
    assert plan_of(step=3.0).aggregation.axes[0].step == 3.0
    assert plan_of(step=3.0).aggregation.cells == 5
    assert plan_of(step=40.0).aggregation.cells == 2
    # The distance has a range that is rounded outward, which costs no node.
    assert plan_of(distance_to(2.0), step=0.5).aggregation.cells == 17


def test_with_much_alpha_quantiles_are_the_true_ones_within_a_pitch_and_a_half() -> None:
    generator = np.random.default_rng(8)
    levels = (0.05, 0.25, 0.5, 0.9, 0.99)
    for values in (generator.uniform(0, 10, 500), generator.exponential(1.5, 500).clip(0, 10), np.full(500, 7.0)):
        plan = plan_of(X, levels, Price("alpha", 1e7), users=500, step=0.1)
        frame = plan.finisher.frame(released(plan, LINE, values[:, None]), 0.95)
        assert frame.columns == ["q", "quantile", "quantile_low", "quantile_high"]
        assert frame["q"].to_list() == list(levels)
        true = np.quantile(values, levels, method="inverted_cdf")
        assert np.abs(frame["quantile"].to_numpy() - true).max() <= 0.15 + 0.02
        assert np.all(frame["quantile_low"].to_numpy() <= true + 1e-9)
        assert np.all(true <= frame["quantile_high"].to_numpy() + 0.02)
        assert (frame["quantile_high"] - frame["quantile_low"]).max() <= 0.2 + 0.1 + 1e-9
        np.testing.assert_array_less(-1e-9, np.diff(frame["quantile"].to_numpy()))
        statistic = user_statistic(plan.aggregation, LINE, [values[:, None]])
        exact = plan.finisher.exact((plan.summed([Fraction(value) for value in statistic]),))
        assert exact.columns == ["q", "quantile"]
        np.testing.assert_allclose(exact["quantile"].to_numpy(), frame["quantile"].to_numpy(), atol=1e-3)


def test_a_filter_asks_for_quantiles_of_the_chosen_records() -> None:
    generator = np.random.default_rng(9)
    items = np.column_stack([generator.uniform(0, 5, 400), np.zeros(400)])
    items[::4, 0], items[::4, 1] = generator.uniform(6, 10, 100), 1
    plan = plan_of(X, (0.25, 0.5), Price("alpha", 1e7), space=SHOPS, users=400, where=category_is("b"), step=0.1)
    frame = plan.finisher.frame(released(plan, SHOPS, items), 0.95)
    true = np.quantile(items[::4, 0], [0.25, 0.5])
    assert np.abs(frame["quantile"].to_numpy() - true).max() <= 0.25
    assert np.all((frame["quantile_low"].to_numpy() <= true) & (true <= frame["quantile_high"].to_numpy()))
    assert "assuming that 33.3 % of records match" in plan.columns[0].note
    assert any("where" in note for note in plan.notes)


def test_a_share_that_its_own_noise_reaches_leaves_no_value() -> None:
    plan = plan_of(X, (0.2, 0.8), space=SHOPS, where=category_is("b"), step=2.5)
    width = plan.mechanisms[0].interval_half_width(0.95)
    nearly = tuple(Fraction(width) * Fraction(999, 1000) for _ in range(5))
    frame = plan.finisher.frame((nearly,), 0.95)
    assert frame.rows() == [(0.2, None, 0.0, 10.0), (0.8, None, 0.0, 10.0)]
    enough = tuple(Fraction(width) * Fraction(1001, 1000) for _ in range(5))
    assert plan.finisher.frame((enough,), 0.95)["quantile"].null_count() == 0
    # The exact answer of no chosen record is none as well.
    assert plan.finisher.exact(((Fraction(0),) * 5,))["quantile"].to_list() == [None, None]
    # Without a filter the share is known to be 1, whatever its noise.
    unfiltered = plan_of(X, (0.2,), step=2.5)
    curve = tuple(Fraction(k) for k in (0, 0, 1, 1, -5))
    assert unfiltered.finisher.frame((curve,), 0.95)["quantile"].to_list() == [pytest.approx(3.75 + 0.2 * 2.5)]


def test_a_filter_that_chooses_nothing_answers_nothing_and_needs_no_noise() -> None:
    plan = plan_of(X, (0.5,), space=SHOPS, where=category_is("b") * category_is("a"))
    assert plan.mechanisms[0].is_exact
    assert plan.guarantee == EmdDP(0.0)
    nothing = (Fraction(0),) * plan.aggregation.dimension
    assert plan.finisher.frame((nothing,), 0.95).rows() == [(0.5, None, 0.0, 10.0)]


def test_groups_of_users_share_the_pitch_and_the_price() -> None:
    plan = plan_of(X, (0.25, 0.75), users=3, people=PEOPLE, step=2.5, name="age")
    assert [mechanism.scale for mechanism in plan.mechanisms] == [2.0, 1.0]
    assert plan.guarantee == EmdDP(2.0)
    chosen = replace(PEOPLE, groups=UserGroups(PEOPLE.groups.keys, PEOPLE.groups.groups, (1, 2)))
    smallest = plan_of(users=3, people=chosen).aggregation.axes[0]
    assert smallest.size == plan_of(users=1).aggregation.axes[0].size
    curve = tuple(map(Fraction, (1, 1, 1, 1, 1)))
    frame = plan.finisher.frame((curve, tuple(map(Fraction, (0, 0, 0, 0, 1)))), 0.95)
    assert frame.columns == ["plan", "q", "age", "age_low", "age_high"]
    assert frame["plan"].to_list() == ["free", "free", "pro", "pro"]
    assert frame["q"].to_list() == [0.25, 0.75, 0.25, 0.75]
    assert frame["age"][0] < 1.25
    assert frame["age"][3] > 8.75
    assert PEOPLE.text in plan.notes
    assert "smallest" in plan.columns[0].note


def test_together_means_for_all_rows_at_once() -> None:
    plan = plan_of(X, (0.5,), users=20_000, step=0.5)
    curve = plan.summed([Fraction(1, 21)] * 21)
    alone, together = plan.finisher.frame((curve,), 0.95), plan.finisher.frame((curve,), 0.95, together=True)
    assert together["quantile_low"][0] <= alone["quantile_low"][0] + 1.0
    width = plan.mechanisms[0].simultaneous_half_width(0.95)
    rows = plan.finisher
    wanted = rows.ramps.joint_interval(np.array(curve[:-1], dtype=float) - 0.5, width)
    assert together.select("quantile_low", "quantile_high").row(0) == pytest.approx(wanted)


def test_order_and_limit_are_post_processing() -> None:
    plan = plan_of(X, (0.1, 0.9), step=2.5, order=(Order("q", is_descending=True),), limit=1)
    curve = tuple(Fraction(k, 4) for k in (1, 2, 3, 4, 4))
    assert plan.finisher.frame((curve,), 0.95)["q"].to_list() == [0.9]


def test_the_noise_is_independent() -> None:
    assert isinstance(plan_of().mechanisms[0], LaplaceMechanism)
    filtered = plan_of(price=Price("epsilon", 1.0, 1e-9), where=ramp(X, 3, 5), step=1.0)
    assert isinstance(filtered.mechanisms[0], LaplaceMechanism | GaussianMechanism)
    with pytest.raises(UsageError, match=r"laplace or gaussian.*k_norm"):
        plan_of(price=Price("alpha", 2.0), noise="k_norm", step=2.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"levels": (0.0,)}, "level must be in"),
        ({"levels": (1.0,)}, "level must be in"),
        ({"levels": ()}, "levels is empty"),
        ({"step": -1.0}, "step must be above 0"),
        ({"expression": 0 * X + 3}, "constant 3"),
        ({"where": X}, r"where must have values in \[0, 1\]"),
        ({"name": "q"}, "two columns 'q'"),
    ],
)
def test_what_means_nothing_is_refused(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"expression": X, "levels": (0.5,), **change}
    with pytest.raises(UsageError, match=message):
        plan_of(**arguments)


def test_what_jumps_is_refused() -> None:
    with pytest.raises(NotLipschitzError, match="x > 3"):
        plan_of(X, where=X > 3)


def test_too_fine_a_step_is_refused_with_one_that_works() -> None:
    with pytest.raises(UsageError, match=f"more than {MOST_COORDINATES}") as refusal:
        plan_of(step=1e-6)
    larger = float(str(refusal.value).rstrip(".").rpartition(" ")[2])
    assert MOST_COORDINATES / 2 < plan_of(step=larger).aggregation.cells <= MOST_COORDINATES
