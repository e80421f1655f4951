"""The engine's integer arithmetic, simulated with Python's integers, against exact fractions."""

from fractions import Fraction
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emdp.expressions as ex
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis
from emdp.expressions.cells.bounds import aggregation_errors
from emdp.expressions.cells.reference import cell_values, hat_places, label_cells
from emdp.expressions.nodes.base import Constant
from emdp.expressions.numbers.fixed_point import WEIGHT_BITS, fixed_point_error, fixed_point_exponent
from emdp.spaces import Categories, Cycle, Interval, Product, Space

QUICK = settings(deadline=None, max_examples=60)
x, y = ex.col("x"), ex.col("y")
one = Constant(1.0)

SPACE = Product(
    Interval("x", -3.7, 5.3), Interval("y", 1e-3, 2e-3), Cycle("hour", 24.0), Categories("kind", ("a", "b", "c"))
)
CHOSEN = {"all": None, "kind": ex.category_is("a", "b"), "light": ex.clamp(y, 0, 1)}


def column(e: ex.Expression, items: np.ndarray) -> np.ndarray:
    """Exact values of a column or a constant, whose evaluation does not round."""
    return np.full(len(items), 1.0) if e == one else items[:, SPACE.columns.index(str(e))]


# ------------------------------------------------ the engine


def split(integers: list[dict[int, int]], axis: HatAxis | LabelAxis, items: np.ndarray) -> list[dict[int, int]]:
    """Spread each record's integers over one more axis, cells numbered with the last axis fastest."""
    if isinstance(axis, LabelAxis):
        cells = label_cells(axis, SPACE)[1][items[:, 3].astype(int)]
        return [
            {k * axis.size + int(cell): a for k, a in own.items()} if cell >= 0 else {}
            for own, cell in zip(integers, cells, strict=True)
        ]
    if axis.size == 1:
        return integers
    below, fractions = hat_places(axis, column(axis.expression, items))
    spread = []
    for own, place, fraction in zip(integers, below.tolist(), fractions.tolist(), strict=True):
        new: dict[int, int] = {}
        for k, a in own.items():
            hi = int(np.rint(a * fraction))
            for node, part in ((place, a - hi), ((place + 1) % axis.size, hi)):
                new[k * axis.size + node] = new.get(k * axis.size + node, 0) + part
        spread.append(new)
    return spread


def computed(aggregation: Aggregation, space: Space, items: np.ndarray, *, lost_bits: int = 0) -> list[list[Fraction]]:
    """One user's contribution as an engine computes it, for each value and cell."""
    rows = []
    for value in aggregation.values:
        exponent = fixed_point_exponent(ex.analyse(value, space)) - lost_bits
        scaled = np.rint(np.ldexp(column(value, items), exponent))
        integers = [{0: int(a)} for a in scaled]
        for axis in aggregation.axes:
            integers = split(integers, axis, items)
        sums = [0] * aggregation.cells
        weights = [1] * len(items) if aggregation.cap is None else weights_of(aggregation, items)
        for own, weight in zip(integers, weights, strict=True):
            for k, a in own.items():
                sums[k] += weight * a
        if aggregation.cap is None:
            means = [np.rint(float(total) / float(len(items))) for total in sums]
        elif sum(weights) <= aggregation.cap << WEIGHT_BITS:
            means = [np.rint(np.ldexp(float(total), -WEIGHT_BITS)) for total in sums]
        else:
            factor = aggregation.cap / np.ldexp(float(sum(weights)), -WEIGHT_BITS)
            means = [np.rint(np.ldexp(float(total), -WEIGHT_BITS) * factor) for total in sums]
        rows.append([Fraction(int(mean)) / Fraction(2) ** exponent for mean in means])
    return rows


def weights_of(aggregation: Aggregation, items: np.ndarray) -> list[int]:
    if aggregation.chosen is None:
        return [1 << WEIGHT_BITS] * len(items)
    chosen = ex.evaluate(aggregation.chosen, SPACE, items)
    return [int(weight) for weight in np.rint(np.ldexp(chosen, WEIGHT_BITS))]


# ------------------------------------------------ the exact numbers


def exact_weights(axis: HatAxis | LabelAxis, item: np.ndarray) -> list[Fraction]:
    if isinstance(axis, LabelAxis):
        cell = label_cells(axis, SPACE)[1][int(item[3])]
        return [Fraction(int(cell == number)) for number in range(axis.size)]
    value = Fraction(float(column(axis.expression, item[None])[0]))
    if axis.is_periodic:
        place = value * axis.size / 24
        rounds = [abs(place - node) for node in range(axis.size)]
        return [max(Fraction(0), 1 - min(gap, axis.size - gap)) for gap in rounds]
    place = (value - Fraction(axis.start)) / Fraction(axis.step)
    place = min(max(place, Fraction(0)), Fraction(axis.size - 1))
    return [max(Fraction(0), 1 - abs(place - node)) for node in range(axis.size)]


def exact(aggregation: Aggregation, items: np.ndarray) -> list[list[Fraction]]:
    if aggregation.cap is None:
        shares = [Fraction(1, len(items))] * len(items)
    else:
        weights = [Fraction(weight, 2**WEIGHT_BITS) for weight in weights_of(aggregation, items)]
        factor = min(Fraction(1), aggregation.cap / max(sum(weights), Fraction(1, 2**WEIGHT_BITS)))
        shares = [weight * factor for weight in weights]
    rows = [[Fraction(0)] * aggregation.cells for _ in aggregation.values]
    for share, item in zip(shares, items, strict=True):
        axes = [exact_weights(axis, item) for axis in aggregation.axes]
        for k, weights in enumerate(product(*axes)):
            weight = Fraction(1)
            for own in weights:
                weight *= own
            if weight:
                for row, value in zip(rows, aggregation.values, strict=True):
                    row[k] += share * weight * Fraction(float(column(value, item[None])[0]))
    return rows


def largest_errors(
    aggregation: Aggregation, items: np.ndarray, *, is_cumulative: bool = False, lost_bits: int = 0
) -> list[Fraction]:
    """For each value the largest |computed - exact| of a coordinate."""
    found = []
    for got, want in zip(
        computed(aggregation, SPACE, items, lost_bits=lost_bits), exact(aggregation, items), strict=True
    ):
        gaps = [a - b for a, b in zip(got, want, strict=True)]
        if is_cumulative:
            last = aggregation.axes[-1].size
            gaps = [gap for start in range(0, len(gaps), last) for gap in accumulate(gaps[start : start + last])]
        found.append(max(map(abs, gaps)))
    return found


def draw_items(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.column_stack(
        [
            rng.uniform(-3.7, 5.3, count),
            rng.uniform(1e-3, 2e-3, count),
            np.minimum(rng.uniform(0, 24.0001, count), np.nextafter(24.0, 0)),
            rng.integers(0, 3, count),
        ]
    )


@st.composite
def aggregations(draw: st.DrawFn) -> Aggregation:
    axes: list[HatAxis | LabelAxis] = []
    for kind in draw(st.lists(st.sampled_from(["x", "y", "hour", "kind"]), max_size=3, unique=True)):
        if kind == "kind":
            axes.append(LabelAxis("kind", (("a",), ("c",))))
        elif kind == "hour":
            size = draw(st.integers(3, 7))
            axes.append(HatAxis(ex.col("hour"), start=0, step=24 / size, size=size, is_periodic=True))
        else:
            low, width = (-3.7, 9.0) if kind == "x" else (1e-3, 1e-3)
            step = draw(st.sampled_from([0.1, 0.3, 1 / 7])) * width
            start = low + width * draw(st.sampled_from([-0.1, 0.0, 1 / 3]))
            axes.append(HatAxis(ex.col(kind), start=start, step=step, size=draw(st.integers(1, 8))))
    values = draw(st.lists(st.sampled_from([x, y, one]), min_size=1, max_size=2, unique=True))
    cap = draw(st.sampled_from([None, None, 1, 3, 50]))
    chosen = CHOSEN[draw(st.sampled_from(list(CHOSEN)))] if cap is not None else None
    return Aggregation(tuple(values), tuple(axes), cap=cap, chosen=chosen)


@QUICK
@given(aggregations(), st.integers(0, 2**32), st.sampled_from([1, 2, 3, 7, 30]))
def test_the_bound_holds_for_every_coordinate(aggregation: Aggregation, seed: int, count: int) -> None:
    items = draw_items(np.random.default_rng(seed), count)
    bounds = aggregation_errors(aggregation, SPACE)
    for error, bound in zip(largest_errors(aggregation, items), bounds, strict=True):
        assert error <= Fraction(bound)
    last = aggregation.axes[-1] if aggregation.axes else None
    if isinstance(last, HatAxis) and not last.is_periodic:
        bounds = aggregation_errors(aggregation, SPACE, is_cumulative=True)
        for error, bound in zip(largest_errors(aggregation, items, is_cumulative=True), bounds, strict=True):
            assert error <= Fraction(bound)


@pytest.mark.parametrize("cap", [None, 3])
def test_the_bound_is_no_larger_than_it_need_be(cap: int | None) -> None:
    axes = (HatAxis(x, start=-3.7, step=1.3, size=8), HatAxis(y, start=1e-3, step=3e-4, size=4))
    aggregation = Aggregation((x,), axes, cap=cap)
    rng = np.random.default_rng(5)
    (bound,) = aggregation_errors(aggregation, SPACE)
    bags = [draw_items(rng, count) for count in (1, 2, 3, 5, 8) * 6]
    kept = max(largest_errors(aggregation, items)[0] for items in bags)
    assert Fraction(bound) / 60 < kept <= Fraction(bound)
    coarse = max(largest_errors(aggregation, items, lost_bits=7)[0] for items in bags)
    assert coarse > Fraction(bound)


def test_many_light_records_are_no_worse_than_one_heavy_one() -> None:
    light = Aggregation((x,), (HatAxis(x, start=-3.7, step=1.3, size=8),), cap=2, chosen=CHOSEN["light"])
    items = draw_items(np.random.default_rng(1), 4000)
    (bound,) = aggregation_errors(light, SPACE)
    assert max(largest_errors(light, items)) <= Fraction(bound)
    assert bound < 2 * 8 * 2.0**-45


def test_known_answers() -> None:
    unit = Interval("x", 0, 1)
    tents = HatAxis(x, start=0, step=0.25, size=5)
    ulp = 2.0**-51
    # a plain mean has the bound that plain means have
    assert aggregation_errors(Aggregation((x,)), unit) == (fixed_point_error(ex.analyse(x, unit)),)
    # 2 units and a split; the place within 4 roundings of up to 5, and a little
    (found,) = aggregation_errors(Aggregation((x,), (tents,)), unit)
    assert found == pytest.approx(2.75 * ulp + 5 * 4 * 2.0**-53, rel=1e-9)
    (found,) = aggregation_errors(Aggregation((x,), (tents,)), unit, is_cumulative=True)
    assert found == pytest.approx((2.75 + 2) * ulp + 5 * 4 * 2.0**-53, rel=1e-9)
    (found,) = aggregation_errors(Aggregation((x,), cap=10), unit)
    assert found == pytest.approx((10 * 1.5 + 1) * ulp, rel=1e-9)
    # an axis of one node splits nothing
    alone = HatAxis(x, start=0, step=1, size=1)
    assert aggregation_errors(Aggregation((x,), (alone,)), unit) == (2 * ulp,)


def test_what_is_always_0_is_computed_without_error() -> None:
    tents = HatAxis(x, start=0, step=0.25, size=5)
    zero, one_more = aggregation_errors(Aggregation((Constant(0.0), x), (tents,), cap=3), Interval("x", 0, 1))
    assert zero == 0.0
    assert one_more > 0


def test_the_error_of_the_expression_on_an_axis_counts_over_its_step() -> None:
    unit = Interval("x", 0, 1)
    rough = ex.exp(x)
    analysis = ex.analyse(rough, unit)
    axis = HatAxis(rough, start=1, step=1e-3, size=1800)
    (found,) = aggregation_errors(Aggregation((one,), (axis,)), unit)
    assert found > analysis.rounding / 1e-3
    assert found < 2 * (analysis.rounding / 1e-3 + 1800 * 4 * 2.0**-53)
    (scaled,) = aggregation_errors(Aggregation((Constant(100.0),), (axis,)), unit)
    assert 90 * found < scaled < 130 * found


def test_the_neutral_item_s_cells_are_within_the_bound() -> None:
    axes = (HatAxis(x, start=-3.7, step=1.3, size=8), HatAxis(y, start=1e-3, step=3e-4, size=4))
    aggregation = Aggregation((x, y), axes)
    found = cell_values(aggregation, SPACE, SPACE.neutral_item).reshape(2, -1).tolist()
    want = exact(aggregation, SPACE.neutral_item)
    for row, exact_row, bound in zip(found, want, aggregation_errors(aggregation, SPACE), strict=True):
        assert max(abs(Fraction(a) - b) for a, b in zip(row, exact_row, strict=True)) <= Fraction(bound)
