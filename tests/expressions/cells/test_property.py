"""Random spaces, values, axes: a record's vector moves by at most its constant, a user's by at most its spread."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from user_statistics import user_statistic

import emdp.expressions as ex
from emdp.base.errors import NotLipschitzError
from emdp.expressions import Expression
from emdp.expressions.cells.aggregation import Aggregation, Axis, HatAxis, LabelAxis
from emdp.expressions.cells.bounds import aggregation_errors, aggregation_lipschitz, aggregation_spread
from emdp.expressions.cells.reference import cell_values
from emdp.expressions.nodes.base import Constant
from emdp.expressions.nodes.lookup import LabelValue
from emdp.spaces import (
    Categories,
    Clusters,
    Cycle,
    Distances,
    Embedding,
    Geo,
    Interval,
    Product,
    Space,
    Vector,
)

QUICK = settings(
    max_examples=75, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
LONG = settings(QUICK, max_examples=1500)

DISTANCE_ERROR = 1e-10
"""Far above the error of a computed d_X in [0, 1], far below what a wrong constant would change."""

LABELS = ("a", "b", "c", "d")
KINDS = ("interval", "interval", "geo", "vector", "cycle", "categories", "clusters", "distances", "embedding")
MOST_CELLS = 400
numbers = st.floats(-4, 4).map(lambda value: round(value, 3))
positive = st.floats(0.05, 3).map(lambda value: round(value, 3))


@st.composite
def parts(draw: st.DrawFn, name: str) -> Space:
    kind = draw(st.sampled_from(KINDS))
    cut = draw(st.sampled_from([None, None, 0.4, 0.05]))
    if kind == "interval":
        low, width = draw(numbers), draw(positive)
        return Interval(name, low, low + width, diameter=None if cut is None else cut * width)
    if kind == "geo":
        south, west, size = draw(st.sampled_from([(40.5, -74.2, 0.4), (-70.0, 10.0, 15.0), (50.0, 0.0, 30.0)]))
        box = (south, west, south + size, west + 2 * size)
        return Geo(name, f"{name}_lon", box=box, unit="km", diameter=None if cut is None else 60 * cut)
    if kind == "vector":
        columns = [f"{name}_{index}" for index in range(draw(st.integers(1, 3)))]
        if draw(st.booleans()):
            return Vector(columns, radius=draw(positive), diameter=cut)
        return Vector(columns, box=[(-1.0, 2.0)] * len(columns), diameter=None if cut is None else 2 * cut)
    if kind == "cycle":
        return Cycle(name, draw(st.sampled_from([1.0, 24.0])), diameter=cut)
    if kind == "categories":
        return Categories(name, LABELS[: draw(st.integers(2, 4))])
    if kind == "clusters":
        return Clusters(name, {"a": "p", "b": "p", "c": "q", "d": "q"}, draw(st.sampled_from([0.1, 0.6, 1.0])))
    rows = draw(st.lists(st.tuples(numbers, numbers), min_size=4, max_size=4, unique=True))
    if kind == "embedding":
        table = {"key": list(LABELS), "x": [row[0] for row in rows], "y": [row[1] for row in rows]}
        return Embedding(name, table, diameter=cut)
    points = np.array(rows)
    matrix = np.abs(points[:, None, :] - points[None, :, :]).sum(axis=2)
    return Distances(name, list(LABELS), matrix.tolist(), diameter=cut)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    chosen = [draw(parts(name)) for name in ("u", "v", "w")[: draw(st.integers(1, 3))]]
    if len(chosen) == 1 and draw(st.booleans()):
        return chosen[0]
    return Product(*(part.weighted(draw(st.sampled_from([1.0, 0.3, 5.0]))) for part in chosen))  # type: ignore[attr-defined]


def draw_part(part: Space, rng: np.random.Generator, count: int) -> np.ndarray:
    """Items of one part: anywhere, at the ends of its domain, in a small ball, and the neutral one."""
    if part.labels is not None:
        items = rng.integers(0, len(part.labels), (count, 1)).astype(float)
    elif isinstance(part, Cycle):
        items = rng.uniform(0, part.period, (count, 1))
        items[::5] = 0.0
        items[1::5] = np.nextafter(part.period, 0)
    elif isinstance(part, Vector) and part.radius is not None:
        items = rng.normal(size=(count, part.width))
        items *= part.radius * 0.999999 * rng.choice([1.0, 0.3], (count, 1)) / np.linalg.norm(items, axis=1)[:, None]
    else:
        lows, highs = bounds_of(part)
        shares = rng.uniform(size=(count, part.width))
        shares[::3] = rng.integers(0, 2, shares[::3].shape)
        shares[1::3] = 0.5 + 0.01 * (shares[1::3] - 0.5)
        items = np.clip(lows + shares * (highs - lows), lows, highs)
    items[-1] = part.neutral_item
    return items


def bounds_of(part: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(part, Interval):
        return np.array([part.low]), np.array([part.high])
    if isinstance(part, Geo):
        return np.array(part.box[:2]), np.array(part.box[2:])
    return np.array(part.box)[:, 0], np.array(part.box)[:, 1]


def draw_items(space: Space, rng: np.random.Generator, count: int) -> np.ndarray:
    return np.hstack([draw_part(part, rng, count)[rng.permutation(count)] for part in space.parts])


@st.composite
def scalars(draw: st.DrawFn, space: Space) -> Expression:
    """A function of one part, mostly not Lipschitz 0."""
    part = draw(st.sampled_from(space.parts))
    column = part.columns[0]
    if part.labels is not None:
        values = draw(st.lists(numbers, min_size=len(part.labels), max_size=len(part.labels)))
        pairs = tuple(zip(part.labels, values, strict=True))
        choices: list[Expression] = [
            LabelValue(pairs, draw(numbers), (column,)),
            ex.category_is(*draw(st.lists(st.sampled_from(part.labels), min_size=1, unique=True)), column=column),
            ex.distance_to(draw(st.sampled_from(part.labels)), column=column),
        ]
        return draw(st.sampled_from(choices))
    if isinstance(part, Cycle):
        return ex.distance_to(draw(numbers), column=column)
    if draw(st.booleans()):
        return ex.col(draw(st.sampled_from(part.columns)))
    middle = ((bounds_of(part)[0] + bounds_of(part)[1]) / 2).tolist() if not _is_ball(part) else [0.0] * part.width
    return ex.distance_to(middle[0] if len(middle) == 1 and isinstance(part, Interval) else middle, column=column)


def _is_ball(part: Any) -> bool:
    return isinstance(part, Vector) and part.radius is not None


@st.composite
def expressions(draw: st.DrawFn, space: Space) -> Expression:
    kind = draw(st.sampled_from(["one", "scalar", "ramp", "shifted", "product", "sum", "minus"]))
    if kind == "one":
        return Constant(draw(st.sampled_from([1.0, -2.0])))
    first = draw(scalars(space))
    if kind in ("scalar", "minus"):
        return first if kind == "scalar" else -first
    if kind == "ramp":
        start = draw(numbers)
        return ex.ramp(first, start, start + draw(st.sampled_from([-1, 1])) * draw(positive))
    second = draw(scalars(space))
    return {"shifted": first - draw(numbers), "product": first * second, "sum": first + second}[kind]


@st.composite
def axes_of(draw: st.DrawFn, space: Space, room: int) -> Axis:
    part = draw(st.sampled_from(space.parts))
    most = max(1, min(room, 12))
    if part.labels is not None and draw(st.booleans()):
        chosen = draw(st.lists(st.sampled_from(part.labels), min_size=1, unique=True))
        numbered = draw(st.lists(st.integers(0, 2), min_size=len(chosen), max_size=len(chosen)))
        cells = [tuple(v for v, n in zip(chosen, numbered, strict=True) if n == number) for number in range(3)]
        return LabelAxis(part.columns[0], tuple(cell for cell in cells if cell)[:most])
    if isinstance(part, Cycle) and most >= 3 and draw(st.booleans()):
        size = draw(st.integers(3, most))
        step = part.period / size
        return HatAxis(ex.col(part.column), start=0, step=step, size=size, is_periodic=True)
    expression = draw(scalars(space))
    low, high = expression.on(space).value_range
    width = max(high - low, 1e-3)
    step = width * draw(st.sampled_from([0.05, 0.2, 0.5, 2.0]))
    return HatAxis(expression, start=low + width * draw(st.sampled_from([-0.3, 0.0, 0.4])), step=step,
                   size=draw(st.integers(1, most)))  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> tuple[Space, Aggregation, tuple[float, ...], bool, int]:
    space = draw(spaces())
    values = tuple(draw(st.lists(expressions(space), min_size=1, max_size=3)))
    axes: list[Axis] = []
    for _ in range(draw(st.integers(0, 3))):
        axes.append(draw(axes_of(space, MOST_CELLS // Aggregation(values, tuple(axes)).cells)))
    scales = tuple(draw(positive) for _ in values)
    last = axes[-1] if axes else None
    is_cumulative = isinstance(last, HatAxis) and not last.is_periodic and draw(st.booleans())
    return space, Aggregation(values, tuple(axes)), scales, is_cumulative, draw(st.integers(0, 2**32))


def prepared(aggregation: Aggregation, scales: tuple[float, ...], rows: np.ndarray, is_cumulative: bool) -> np.ndarray:
    shaped = rows.reshape(len(rows), len(scales), -1)
    if is_cumulative:
        size = aggregation.axes[-1].size
        shaped = shaped.reshape(len(rows), len(scales), -1, size).cumsum(axis=3).reshape(shaped.shape)
    return (shaped * np.array(scales)[None, :, None]).reshape(len(rows), -1)


def slack_of(aggregation: Aggregation, scales: tuple[float, ...], space: Space, is_cumulative: bool) -> float:
    """How far two computed vectors may be apart although the exact ones are equal, in the 1-norm."""
    errors = aggregation_errors(replace(aggregation, cap=None, chosen=None), space, is_cumulative=is_cumulative)
    return 2 * aggregation.cells * sum(scale * error for scale, error in zip(scales, errors, strict=True))


def check_moves(
    space: Space,
    aggregation: Aggregation,
    scales: tuple[float, ...],
    is_cumulative: bool,
    seed: int,
    *,
    lipschitz: Any = aggregation_lipschitz,
) -> None:
    try:
        found = lipschitz(aggregation, scales, space, is_cumulative=is_cumulative)
    except NotLipschitzError as error:
        assume("distance 0" not in str(error) and "no finite Lipschitz constant" not in str(error))
        raise
    assert found[1] <= found[0]
    rng = np.random.default_rng(seed)
    items = draw_items(space, rng, 24)
    start = 0
    for part in space.parts:  # and near by: moves of one part alone
        columns = slice(start, start + part.width)
        start += part.width
        moved = items[:6].copy()
        moved[:, columns] = draw_part(part, rng, 6)
        items = np.concatenate([items, moved])
    rows = prepared(aggregation, scales, cell_values(aggregation, space, items), is_cumulative)
    slack = slack_of(aggregation, scales, space, is_cumulative)
    distances = space.distances(items, items) * (1 + 1e-9) + DISTANCE_ERROR
    change = np.abs(rows[:, None, :] - rows[None, :, :])
    assert (change.sum(axis=2) <= found[0] * distances + slack).all()
    assert (np.sqrt((change**2).sum(axis=2)) <= found[1] * distances + slack).all()


@pytest.mark.slow
@QUICK
@given(cases())
def test_a_record_s_vector_moves_by_at_most_its_constant(case: tuple[Any, ...]) -> None:
    check_moves(*case)


@pytest.mark.full
@LONG
@given(cases())
def test_a_record_s_vector_moves_by_at_most_its_constant_at_full_size(case: tuple[Any, ...]) -> None:
    check_moves(*case)


@st.composite
def spread_cases(draw: st.DrawFn) -> tuple[Any, ...]:
    space, aggregation, scales, is_cumulative, seed = draw(cases())
    cap = draw(st.sampled_from([None, 1, 3]))
    chosen = None
    if cap is not None and draw(st.booleans()):
        chosen = ex.ramp(draw(scalars(space)), draw(numbers), 5)
    return space, replace(aggregation, cap=cap, chosen=chosen), scales, is_cumulative, seed


@QUICK
@given(spread_cases())
def test_a_user_s_contribution_moves_by_at_most_its_spread(case: tuple[Any, ...]) -> None:
    space, aggregation, scales, is_cumulative, seed = case
    try:
        found = aggregation_spread(aggregation, scales, space, is_cumulative=is_cumulative)
    except NotLipschitzError:
        assume(False)
    assert found[1] <= found[0]
    rng = np.random.default_rng(seed)
    # bags of one record, or of copies of one, reach farther than mixed ones
    bags = [draw_items(space, rng, 2)[:1] for _ in range(8)]
    bags += [np.repeat(draw_items(space, rng, 2)[:1], 5, axis=0) for _ in range(6)]
    bags += [draw_items(space, rng, count) for count in (2, 4, 9)]
    bags.append(np.zeros((0, space.width)))
    rows = np.array([user_statistic(aggregation, space, [bag]) for bag in bags])
    rows = prepared(aggregation, scales, rows, is_cumulative)
    slack = (aggregation.cap or 1) * slack_of(aggregation, scales, space, is_cumulative)
    change = np.abs(rows[:, None, :] - rows[None, :, :])
    assert (change.sum(axis=2) <= found[0] * (1 + 1e-12) + slack).all()
    assert (np.sqrt((change**2).sum(axis=2)) <= found[1] * (1 + 1e-12) + slack).all()


@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_the_check_itself_notices_constants_that_are_too_small(factor: float) -> None:
    def scaled(*arguments: Any, **more: Any) -> tuple[float, ...]:
        return tuple(factor * constant for constant in aggregation_lipschitz(*arguments, **more))

    space = Interval("u", 0, 2)
    aggregation = Aggregation((Constant(1.0),), (HatAxis(ex.col("u"), start=0, step=0.1, size=21),))
    assert _is_accepted(space, aggregation, scaled) == (factor == 1)
    labels = Aggregation((Constant(1.0),), (LabelAxis("v", (("a",), ("b",))),))
    assert _is_accepted(Product(space, Categories("v", LABELS)), labels, scaled) == (factor == 1)


def _is_accepted(space: Space, aggregation: Aggregation, lipschitz: Any) -> bool:
    try:
        check_moves(space, aggregation, (1.0,), False, 3, lipschitz=lipschitz)
    except AssertionError:
        return False
    return True
