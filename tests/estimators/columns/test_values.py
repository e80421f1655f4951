"""Rows of an answer: keys, quotients with their NULL rule, intervals alone and together."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from emdp.estimators.columns.values import Coordinate, Draw, Known, Mean, Rows
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, KNormMechanism, LaplaceMechanism

LAPLACE = LaplaceMechanism(sensitivity=0.01, alpha=1.0, dimension=6)


def plain(name: str = "x", index: int = 0, scale: float = 1.0) -> Mean:
    return Mean(name, Fraction(0), Coordinate(index, scale))


def quotient(name: str = "r", *, low: float = -1.0, high: float = 5.0) -> Mean:
    """A mean on [-1, 5] around 2: E[(e - 2) c]/E[c], the share with 16 times less noise."""
    return Mean(name, Fraction(2), Coordinate(0, 0.5), Coordinate(1, 8.0), low, high)


def rows(*columns: Mean | Known, cells: int = 3, mechanism: AdditiveMechanism = LAPLACE, groups: int = 1) -> Rows:
    return Rows((), columns, (mechanism,) * groups, cells, tuple(column.name for column in columns))


def fractions(*values: float) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, values))


def test_a_coordinate_is_its_value_with_the_noise_in_its_own_unit() -> None:
    frame = rows(plain(scale=4.0)).frame((fractions(0.5, -7.0, 1e6),), 0.95)
    width = LAPLACE.interval_half_width(0.95) / 4
    assert frame.columns == ["x", "x_low", "x_high"]
    assert frame.get_column("x").to_list() == [0.5, -7.0, 1e6]
    assert frame.row(0) == pytest.approx((0.5, 0.5 - width, 0.5 + width))
    assert frame.row(1) == pytest.approx((-7.0, -7.0 - width, -7.0 + width))


def test_a_quotient_is_centre_plus_ratio_and_null_where_the_share_is_noise() -> None:
    limit = LAPLACE.interval_half_width(0.95) / 8
    released = (fractions(0.25, -0.25, 0.1, 0.5, 1.0, 0.5 * limit),)
    frame = rows(quotient()).frame(released, 0.95)
    assert frame.get_column("r").to_list() == [2.5, 1.75, None]
    assert frame.get_column("r_low").to_list()[2] == -math.inf
    assert frame.get_column("r_high").to_list()[2] == math.inf
    low, high = frame.get_column("r_low")[0], frame.get_column("r_high")[0]
    # |Z1 - theta Z2| is mostly Z1, whose half-width over the share of 0.5 is known
    width = LAPLACE.interval_half_width(0.95) / 0.5 / 0.5
    assert high - low == pytest.approx(2 * width, rel=0.02)
    assert low < 2.5 < high


def test_quotients_and_their_ends_stay_in_the_range_of_the_expression() -> None:
    released = (fractions(90.0, -90.0, 0.8, 0.5, 0.5, 0.25),)
    frame = rows(quotient(low=1.0, high=3.0)).frame(released, 0.95)
    assert frame.get_column("r").to_list() == [3.0, 1.0, 3.0]
    assert frame.get_column("r_low").to_list()[:2] == [3.0, 1.0]
    assert frame.get_column("r_high").to_list() == [3.0, 1.0, 3.0]


def test_exact_rows_have_no_ends_and_null_for_an_empty_group() -> None:
    exact = rows(quotient()).exact((fractions(0.25, -0.25, 0.0, 0.5, 1.0, 0.0),))
    assert exact.to_dict(as_series=False) == {"r": [2.5, 1.75, None]}


def test_a_public_denominator_or_numerator_leaves_the_other_s_noise() -> None:
    known = Coordinate(None, 1.0, (Fraction(1, 2),))
    draw = Draw(fractions(0.2), 1, LAPLACE)
    width = LAPLACE.interval_half_width(0.95)
    value, low, high = Mean("r", Fraction(2), Coordinate(0, 1.0), known, -9, 9).estimates(draw, 0, 0.95)[0]
    assert (float(value or 0), low, high) == pytest.approx((2.4, 2.4 - 2 * width, 2.4 + 2 * width))
    value, low, high = Mean("r", Fraction(2), known, Coordinate(0, 1.0), -99, 99).estimates(draw, 0, 0.95)[0]
    assert (float(value or 0), low, high) == pytest.approx((4.5, 2 + 0.5 / (0.2 + width), 2 + 0.5 / (0.2 - width)))
    nobody = Coordinate(None, 1.0, (Fraction(0),))
    assert Mean("r", Fraction(2), Coordinate(0), nobody, -9, 9).estimates(draw, 0, 0.95)[0].value is None


def test_keys_repeat_for_groups_of_users_and_columns_stand_in_the_order_asked_for() -> None:
    keys = (("city", ("Rome", "Rome", "Oslo", "Oslo")), ("kind", (1, None, 1, None)))
    users = Known("users", (Fraction(10), Fraction(7)), 2)
    made = Rows(keys, (plain(), users), (LAPLACE, LAPLACE), 2, ("city", "x", "kind", "users"))
    frame = made.frame((fractions(0, 1), fractions(2, 3)), 0.95)
    assert frame.columns == ["city", "x", "x_low", "x_high", "kind", "users", "users_low", "users_high"]
    assert frame.get_column("x").to_list() == [0.0, 1.0, 2.0, 3.0]
    assert frame.get_column("users").to_list() == [10, 10, 7, 7]
    assert frame.schema["users_low"] == pl.Int64
    assert frame.schema["kind"] == pl.Int64
    exact = made.exact((fractions(0, 1), fractions(2, 3)))
    assert exact.columns == ["city", "x", "kind", "users"]


def test_keys_of_several_types_are_shown_as_text() -> None:
    made = Rows((("kind", (1, "other", None)),), (plain(),), (LAPLACE,), 3, ("kind", "x"))
    assert made.frame((fractions(0, 1, 2),), 0.95).get_column("kind").to_list() == ["1", "other", None]


@pytest.mark.parametrize(
    "mechanism",
    [
        LAPLACE,
        GaussianMechanism(sensitivity=0.01, alpha=1.0, delta=1e-6, dimension=6),
        KNormMechanism(sensitivity=0.01, alpha=1.0, dimension=6),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_coordinates_together_have_the_joint_law_of_the_noise(mechanism: AdditiveMechanism) -> None:
    frame = rows(plain("x"), plain("y", 1), mechanism=mechanism).frame((fractions(*[0.0] * 6),), 0.9, together=True)
    width = mechanism.simultaneous_half_width(0.9)
    assert frame.get_column("x_high").to_list() == pytest.approx([width] * 3)
    assert frame.get_column("y_low").to_list() == pytest.approx([-width] * 3)


def test_groups_of_users_together_are_independent() -> None:
    frame = rows(plain(), mechanism=LAPLACE, groups=4).frame((fractions(*[0.0] * 6),) * 4, 0.9, together=True)
    width = LAPLACE.simultaneous_half_width(0.9**0.25)
    assert frame.get_column("x_high").to_list() == pytest.approx([width] * 12, rel=1e-9)


def test_quotients_together_share_the_tail_among_all_intervals() -> None:
    released = (fractions(0.25, -0.25, 0.1, 0.5, 1.0, 0.7),)
    together = rows(quotient(), plain("x", 0, 0.5)).frame(released, 0.94, together=True)
    alone = rows(quotient(), plain("x", 0, 0.5)).frame(released, 0.99)
    for column in together.columns:
        assert together.get_column(column).to_list() == pytest.approx(alone.get_column(column).to_list(), rel=1e-9)


@pytest.mark.slow
def test_intervals_have_their_coverage() -> None:
    # 250 cells, 80 releases: 20,000 intervals of level 0.95 miss 1,000 times, and by less than 800 or more than 1,200
    # times with probability below 1e-9. With 0.7 (1.3) of the noise they would miss about 300 (1,900) times.
    cells, releases = 250, 80
    mechanism = LaplaceMechanism(sensitivity=0.02, alpha=1.0, dimension=2 * cells)
    shares = np.linspace(0.03, 0.3, cells)
    exact = np.concatenate([0.7 * shares, shares])
    scales = np.repeat([0.5, 8.0], cells)
    made = rows(quotient(low=-50.0, high=50.0), plain("s", 1, 8.0), cells=cells, mechanism=mechanism)
    rng = np.random.default_rng(3)
    for factor, is_right in ((1.0, True), (0.7, False), (1.3, False)):
        missed = {"r": 0, "s": 0}
        for _ in range(releases):
            noisy = exact + rng.laplace(0, factor * mechanism.scale, 2 * cells) / scales
            frame = made.frame((tuple(map(Fraction, noisy.tolist())),), 0.95)
            for name, target in (("r", 2.7), ("s", shares)):
                low, high = frame.get_column(f"{name}_low").to_numpy(), frame.get_column(f"{name}_high").to_numpy()
                missed[name] += int(np.sum((low > target) | (high < target)))
        for name in ("r", "s"):
            assert (800 <= missed[name] <= 1200) == is_right, (factor, missed)
