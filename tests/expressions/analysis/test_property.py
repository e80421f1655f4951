"""Random spaces, expressions, bags: |change of the mean| <= lipschitz x d_em, and values lie in the range."""

import math
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import emdp.expressions as ex
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions import Expression, analyse, analyse_vector, evaluate, final_lipschitz, truncated_parts
from emdp.expressions.nodes.arithmetic import Divide
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
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
LONG = settings(QUICK, max_examples=1200)

DISTANCE_ERROR = 1e-10
"""Far above the error of a computed d_X in [0, 1], far below what a wrong constant would change."""

LABELS = ("a", "b", "c", "d")
numbers = st.floats(-4, 4).map(lambda value: round(value, 3))
positive = st.floats(0.05, 3).map(lambda value: round(value, 3))


# ------------------------------------------------ spaces and items


@st.composite
def single_spaces(draw: st.DrawFn, name: str) -> Space:
    kind = draw(
        st.sampled_from(["interval", "cycle", "geo", "vector", "categories", "clusters", "distances", "embedding"])
    )
    shrink = draw(st.sampled_from([None, None, 0.4]))
    if kind == "interval":
        low, width = draw(numbers), draw(positive)
        return Interval(name, low, low + width, diameter=None if shrink is None else shrink * width)
    if kind == "cycle":
        return Cycle(name, draw(st.sampled_from([1.0, 24.0])), diameter=shrink)
    if kind == "geo":
        south, west = draw(st.sampled_from([(40.48, -74.26), (-70.0, 10.0), (-5.0, -60.0)]))
        size = draw(st.sampled_from([0.4, 20.0]))
        return Geo(
            name,
            f"{name}_lon",
            box=(south, west, south + size, west + 1.5 * size),
            unit="km",
            diameter=None if shrink is None else 40 * shrink,
            as_given=True,
        )
    if kind == "vector":
        columns = [f"{name}_{index}" for index in range(draw(st.integers(1, 3)))]
        if draw(st.booleans()):
            return Vector(columns, radius=draw(positive))
        return Vector(columns, box=[(-1.0, 2.0)] * len(columns), diameter=None if shrink is None else 2 * shrink)
    if kind == "categories":
        return Categories(name, LABELS[: draw(st.integers(2, 4))])
    if kind == "clusters":
        return Clusters(name, {"a": "p", "b": "p", "c": "q", "d": "q"}, draw(st.sampled_from([0.1, 0.6, 1.0])))
    rows = draw(st.lists(st.tuples(numbers, numbers), min_size=4, max_size=4, unique=True))
    if kind == "embedding":
        table = {"key": list(LABELS), "x": [row[0] for row in rows], "y": [row[1] for row in rows]}
        return Embedding(name, table, diameter=shrink)
    points = np.array(rows)
    matrix = np.abs(points[:, None, :] - points[None, :, :]).sum(axis=2)
    return Distances(name, list(LABELS), matrix.tolist(), diameter=shrink)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    names = ("u", "v", "w")[: draw(st.integers(1, 3))]
    parts = [draw(single_spaces(name)) for name in names]
    if len(parts) == 1 and draw(st.booleans()):
        return parts[0]
    return Product(*(part.weighted(draw(st.sampled_from([1.0, 0.3, 5.0]))) for part in parts))  # type: ignore[attr-defined]


def draw_part(part: Space, rng: np.random.Generator, count: int) -> np.ndarray:
    """Items of one part: inside, at the ends of its domain, and the neutral one."""
    if part.labels is not None:
        items = rng.integers(0, len(part.labels), (count, 1)).astype(float)
    elif isinstance(part, Cycle):
        items = rng.uniform(0, part.period, (count, 1))
        items[::5] = 0.0
    elif isinstance(part, Vector) and part.radius is not None:
        items = rng.normal(size=(count, part.width))
        items *= part.radius * 0.999999 * rng.choice([1.0, 0.3], (count, 1)) / np.linalg.norm(items, axis=1)[:, None]
    else:
        if isinstance(part, Interval):
            lows, highs = np.array([part.low]), np.array([part.high])
        elif isinstance(part, Geo):
            lows, highs = np.array(part.box[:2]), np.array(part.box[2:])
        else:
            lows, highs = np.array(part.box).T  # type: ignore[attr-defined]
        shares = rng.uniform(size=(count, part.width))
        shares[::3] = rng.integers(0, 2, shares[::3].shape)
        items = np.clip(lows + shares * (highs - lows), lows, highs)
    items[-1] = part.neutral_item
    return items


def draw_items(space: Space, rng: np.random.Generator, count: int) -> np.ndarray:
    return np.hstack([draw_part(part, rng, count)[rng.permutation(count)] for part in space.parts])


# ------------------------------------------------ expressions


@st.composite
def leaves(draw: st.DrawFn, space: Space) -> Expression:
    part = draw(st.sampled_from(space.parts))
    column = part.columns[0]
    choices = ["constant"]
    if isinstance(part, Interval | Vector | Geo):
        choices += ["column", "distance", "distances"]
    if isinstance(part, Cycle):
        choices += ["distance", "distances"]
    if isinstance(part, Vector | Embedding):
        choices += ["dot"]
    if part.labels is not None:
        choices += ["category", "category", "case", "distance"]
    kind = draw(st.sampled_from(choices))
    if kind == "column":
        return ex.col(draw(st.sampled_from(part.columns)))
    if kind in ("distance", "distances"):
        points = draw(st.lists(points_of(part), min_size=1, max_size=1 if kind == "distance" else 3))
        return ex.distance_to(*points, column=column, far_point=True)
    if kind == "dot":
        width = part.dimension if isinstance(part, Embedding) else part.width
        return ex.dot(draw(st.lists(numbers, min_size=width, max_size=width)), column=column)
    if kind == "category":
        chosen = draw(st.lists(st.sampled_from(part.labels), min_size=1, max_size=3, unique=True))
        return ex.category_is(*chosen, column=column)
    if kind == "case":
        chosen = draw(st.lists(st.sampled_from(part.labels), min_size=1, max_size=3, unique=True))
        return ex.case({label: draw(numbers) for label in chosen}, otherwise=draw(numbers), column=column)
    return ex.col(column) * 0 + draw(numbers) if isinstance(part, Interval) else ex.clamp(draw(numbers), -1, 1)


def points_of(part: Space) -> st.SearchStrategy[Any]:
    if part.labels is not None:
        return st.sampled_from(part.labels)
    if isinstance(part, Geo):
        return st.tuples(st.floats(part.box[0] - 1, part.box[2] + 1), st.floats(part.box[1] - 1, part.box[3] + 1))
    if isinstance(part, Vector):
        return st.tuples(*([numbers] * part.width))
    return numbers


UNARY = (
    "neg", "abs", "exp", "log", "sqrt", "sin", "cos", "tanh",
    "ramp", "clamp", "square", "cube", "power", "inverse", "scale",
)  # fmt: skip


@st.composite
def unary(draw: st.DrawFn, e: Expression) -> Expression:
    kind, c = draw(st.sampled_from(UNARY)), draw(positive)
    direct = {"neg": lambda: -e, "abs": lambda: abs(e), "sin": lambda: ex.sin(e), "cos": lambda: ex.cos(e)}
    if kind in direct:
        return direct[kind]()
    if kind == "ramp":
        a = draw(numbers)
        return ex.ramp(e, a, a + draw(st.sampled_from([-1, 1])) * c)
    if kind == "clamp":
        low = draw(numbers)
        return ex.clamp(e, low, low + c)
    return {
        "exp": lambda: ex.exp(ex.clamp(e, -2, c)),
        "log": lambda: ex.log(ex.maximum(abs(e), c)),
        "sqrt": lambda: ex.sqrt(abs(e) + c),
        "tanh": lambda: ex.tanh(e / 3),
        "square": lambda: e**2,
        "cube": lambda: ex.power(ex.clamp(e, -3, 3), 3),
        "power": lambda: ex.power(abs(e) + 0.0, 1 + c),
        "inverse": lambda: 1 / (abs(e) + c),
        "scale": lambda: e * draw(numbers) + draw(numbers),
    }[kind]()


@st.composite
def expressions(draw: st.DrawFn, space: Space, depth: int = 6) -> Expression:
    if depth == 1 or draw(st.integers(0, 4)) == 0:
        return draw(leaves(space))
    kind = draw(st.sampled_from(["unary", "add", "subtract", "multiply", "divide", "minimum", "maximum", "case"]))
    first = draw(expressions(space, depth - 1))
    if kind == "unary":
        return draw(unary(first))
    second = draw(expressions(space, depth - 1))
    if kind == "case":
        finite = [part for part in space.parts if part.labels is not None]
        if finite:
            part = draw(st.sampled_from(finite))
            chosen = draw(st.lists(st.sampled_from(part.labels), min_size=1, max_size=3, unique=True))
            return ex.case({tuple(chosen): first}, otherwise=second, column=part.columns[0])
    return {
        "add": lambda: first + second,
        "subtract": lambda: first - second,
        "multiply": lambda: first * second,
        "divide": lambda: first / (abs(second) + 0.3),
        "minimum": lambda: ex.minimum(first, second),
        "maximum": lambda: ex.maximum(first, second),
        "case": lambda: first * second,
    }[kind]()


# ------------------------------------------------ what must hold


def d_em_by_lp(space: Space, left: np.ndarray, right: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    costs = space.distances(left, right)
    n, m = costs.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    solved = linprog(costs.ravel(), A_eq=np.vstack([rows, columns])[:-1], b_eq=np.concatenate([p, q])[:-1])
    assert solved.status == 0
    return float(solved.fun)


def rounding_reaches_zero(expression: Expression, space: Space) -> bool:
    """Say whether some divisor, though at least 0.3, may be computed as 0: its values are so large that they round."""
    divisors = [node.right for node in ex.walk(expression) if isinstance(node, Divide)]
    for divisor in divisors:
        with suppress(NotLipschitzError):
            analysis = analyse(divisor, space)
            if analysis.low > 0 and analysis.computed_low <= 0 <= analysis.computed_high:
                return True
    return False


def check_expression(space: Space, expression: Expression, seed: int) -> None:
    try:
        analysis = analyse(expression, space)
    except NotLipschitzError as error:
        if "beyond the largest double" not in str(error) and not rounding_reaches_zero(expression, space):
            raise
        assume(False)
    assume(final_lipschitz(analysis, space) < 1e9)
    rng = np.random.default_rng(seed)
    items = draw_items(space, rng, 24)
    values = evaluate(expression, space, items)
    assert (values >= analysis.computed_low).all()
    assert (values <= analysis.computed_high).all()
    check_pairs(space, analysis, items, values)
    check_one_part_at_a_time(space, expression, analysis, items, rng)
    check_bags(space, analysis, items, values, rng)


def check_pairs(space: Space, analysis: ex.Analysis, items: np.ndarray, values: np.ndarray) -> None:
    lipschitz = final_lipschitz(analysis, space)
    change = np.abs(values[:, None] - values[None, :])
    allowed = lipschitz * (space.distances(items, items) * (1 + 1e-12) + DISTANCE_ERROR)
    assert (change <= allowed + 2 * analysis.rounding).all()


def check_one_part_at_a_time(
    space: Space, expression: Expression, analysis: ex.Analysis, items: np.ndarray, rng: np.random.Generator
) -> None:
    start = 0
    for constant, part in zip(truncated_parts(analysis, space), space.parts, strict=True):
        columns = slice(start, start + part.width)
        start += part.width
        moved = items.copy()
        moved[:, columns] = draw_part(part, rng, len(items))
        change = np.abs(evaluate(expression, space, moved) - evaluate(expression, space, items))
        distances = np.diagonal(part.distances(items[:, columns], moved[:, columns]))
        assert (change <= constant * (distances * (1 + 1e-12) + DISTANCE_ERROR) + 2 * analysis.rounding).all()


def check_bags(
    space: Space, analysis: ex.Analysis, items: np.ndarray, values: np.ndarray, rng: np.random.Generator
) -> None:
    for _ in range(2):
        first, second = (
            rng.integers(0, len(items), rng.integers(1, 7)),
            rng.integers(0, len(items), rng.integers(1, 7)),
        )
        p, q = rng.dirichlet(np.ones(len(first))), rng.dirichlet(np.ones(len(second)))
        change = abs(values[first] @ p - values[second] @ q)
        distance = d_em_by_lp(space, items[first], items[second], p, q)
        lipschitz = final_lipschitz(analysis, space)
        slack = lipschitz * 1e-7 + 2 * analysis.rounding + 1e-15 * analysis.magnitude * 20
        assert change <= lipschitz * distance + slack


@st.composite
def cases(draw: st.DrawFn) -> tuple[Space, Expression, int]:
    space = draw(spaces())
    return space, draw(expressions(space)), draw(st.integers(0, 2**32))


@pytest.mark.slow
@QUICK
@given(cases())
def test_a_change_of_the_mean_is_at_most_lipschitz_times_d_em(case: tuple[Space, Expression, int]) -> None:
    check_expression(*case)


@pytest.mark.full
@LONG
@given(cases())
def test_a_change_of_the_mean_is_at_most_lipschitz_times_d_em_at_full_size(
    case: tuple[Space, Expression, int],
) -> None:
    check_expression(*case)


@st.composite
def vector_cases(draw: st.DrawFn) -> tuple[Space, list[Expression], int]:
    space = draw(spaces())
    entries: list[Expression] = []
    for part in space.parts:
        if part.labels is not None:
            factor = draw(expressions(space, 2))
            for label in part.labels:
                other = draw(st.sampled_from([factor, factor, factor * 0.5, -factor]))
                entries.append(ex.category_is(label, column=part.columns[0]) * other)
    entries += draw(st.lists(expressions(space, 2), min_size=0 if entries else 1, max_size=2))
    return space, entries, draw(st.integers(0, 2**32))


@pytest.mark.slow
@settings(QUICK, max_examples=50)
@given(vector_cases())
def test_a_change_of_a_vector_is_at_most_its_constant_in_either_norm(
    case: tuple[Space, list[Expression], int],
) -> None:
    space, entries, seed = case
    known = analyse_vector(entries, space)
    items = draw_items(space, np.random.default_rng(seed), 24)
    values = np.column_stack([evaluate(entry, space, items) for entry in entries])
    rounding = 2 * sum(entry.rounding for entry in known.entries)
    allowed = space.distances(items, items) * (1 + 1e-12) + DISTANCE_ERROR
    change = np.abs(values[:, None, :] - values[None, :, :])
    assert (change.sum(axis=2) <= known.lipschitz(1) * allowed + rounding).all()
    assert (np.sqrt((change**2).sum(axis=2)) <= known.lipschitz(2) * allowed + rounding).all()
    assert known.lipschitz(2) <= known.lipschitz(1) * (1 + 1e-12)


def test_the_check_itself_notices_a_constant_that_is_too_small() -> None:
    space = Product(Interval("u", 0, 2), Categories("v", LABELS))
    expression = ex.col("u") * ex.category_is("a")
    analysis = analyse(expression, space)
    items = draw_items(space, np.random.default_rng(1), 24)
    values = evaluate(expression, space, items)
    check_pairs(space, analysis, items, values)
    small = ex.Analysis(tuple(0.9 * part for part in analysis.parts), analysis.low, analysis.high, 0.0)
    with pytest.raises(AssertionError):
        check_pairs(space, small, items, values)


@pytest.mark.parametrize(
    ("space", "expression", "left", "right"),
    [
        (Interval("u", -1, 3), ex.col("u"), {"u": [-1.0]}, {"u": [3.0]}),
        (Interval("u", 0, 4), ex.ramp(ex.col("u"), 2, 1), {"u": [1.0]}, {"u": [2.0]}),
        (Interval("u", 0, 1), ex.exp(ex.col("u")), {"u": [0.99]}, {"u": [1.0]}),
        (Interval("u", 1, 2), 1 / ex.col("u"), {"u": [1.0]}, {"u": [1.005]}),
        (
            Product(Interval("u", 0, 3), Interval("v", 0, 2)),
            ex.col("u") + ex.col("v"),
            {"u": [0.0], "v": [1.0]},
            {"u": [3.0], "v": [1.0]},
        ),
        (
            Product(Interval("u", 0, 3), Categories("v", LABELS).weighted(2)),
            ex.category_is("a") * ex.col("u"),
            {"u": [0.0], "v": ["a"]},
            {"u": [3.0], "v": ["a"]},
        ),
        (
            Interval("u", 0, 10, diameter=2),
            ex.col("u"),
            {"u": [0.0]},
            {"u": [10.0]},
        ),
        (
            Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km"),
            ex.ramp(ex.distance_to((40.7484, -73.9857)), 2, 1),
            {"lat": [40.7484 + math.degrees(1 / 6371.0088)], "lon": [-73.9857]},
            {"lat": [40.7484 + math.degrees(2 / 6371.0088)], "lon": [-73.9857]},
        ),
    ],
)  # fmt: skip
def test_the_constant_is_attained_within_one_per_cent(
    space: Space, expression: Expression, left: dict[str, Any], right: dict[str, Any]
) -> None:
    bound = expression.on(space)
    change = abs(evaluate(expression, space, space.encode(left)) - evaluate(expression, space, space.encode(right)))[0]
    one = np.ones(1)
    distance = d_em_by_lp(space, space.encode(left), space.encode(right), one, one)
    assert 0.99 * bound.lipschitz * distance <= change <= bound.lipschitz * distance * (1 + 1e-9)


EXTREME = st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1e-308, 1e-160, 1e-16, 1e16, 1e150, 1e160, 1e308, -1e308, -1e-300])


@st.composite
def extreme_expressions(draw: st.DrawFn, depth: int = 4) -> Expression:
    if depth == 1:
        return draw(st.one_of(st.just(ex.col("x")), EXTREME.map(ex.lift), EXTREME.map(ex.distance_to)))
    first, second, c = draw(extreme_expressions(depth - 1)), draw(extreme_expressions(depth - 1)), draw(EXTREME)
    builders = [
        lambda: first + second,
        lambda: first - c,
        lambda: first * second,
        lambda: first / second,
        lambda: ex.exp(first),
        lambda: ex.log(abs(first) + c),
        lambda: ex.sqrt(abs(first) + c),
        lambda: ex.sin(first) + ex.cos(second),
        lambda: ex.tanh(first),
        lambda: first**c,
        lambda: ex.power(abs(first), draw(st.sampled_from([-1.5, -1, 0.3, 1.5, 2, 3, 1e308]))),
        lambda: ex.ramp(first, c, 3.0),
        lambda: ex.clamp(first, -abs(c), 1e200),
    ]
    return draw(st.sampled_from(builders))()


@pytest.mark.slow
@settings(QUICK, max_examples=120)
@given(extreme_expressions(), st.sampled_from([(0.0, 1.0), (1e-150, 1e-149), (-1e150, 1e150), (1.0, 1.0 + 2**-52)]))
def test_extreme_numbers_are_analysed_or_refused_never_a_crash(
    expression: Expression, ends: tuple[float, float]
) -> None:
    space = Interval("x", *ends)
    try:
        known = analyse(expression, space)
    except (NotLipschitzError, UsageError):
        return
    assert known.is_finite
    items = np.array([[ends[0]], [ends[1]], [space.neutral]])
    values = evaluate(expression, space, items)
    assert (values >= known.computed_low).all()
    assert (values <= known.computed_high).all()
    allowed = known.parts[0] * space.distances(items, items) * (1 + 1e-12) + 2 * known.rounding
    assert (np.abs(values[:, None] - values[None, :]) <= allowed).all()
