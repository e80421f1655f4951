"""The integers of records at the corners of cells, against their definition in plain Python, bit for bit."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Mapping

import duckdb
import polars as pl
import pytest
from sqlglot import exp

import emdp
from emdp.expressions import Expression, analyse, lift
from emdp.expressions.cells.aggregation import Aggregation, HatAxis
from emdp.expressions.nodes.base import Column
from emdp.expressions.numbers.fixed_point import WEIGHT_BITS, fixed_point_exponent
from emdp.tables import read
from emdp.tables.statements.cells import SHARED_BITS, cell_statement
from emdp.tables.statements.layout import layout_of
from emdp.tables.statements.spread import record_columns, spread_records

SPACE = emdp.Product(
    emdp.Interval("x", -1, 5, on_invalid="clamp"),
    emdp.Interval("y", 0, 3, on_invalid="clamp"),
    emdp.Cycle("hour", 24, on_invalid="neutral"),
)
X_WITHIN = HatAxis(emdp.col("x"), -1.0, 0.75, 9)
X_BEYOND = HatAxis(emdp.col("x"), 0.5, 0.7, 4)
Y_TO_THE_EDGE = HatAxis(emdp.col("y"), 0.0, 0.5, 7)
HOURS = HatAxis(Column("hour"), 0.0, 6.0, 4, is_periodic=True)
AXES: tuple[tuple[HatAxis, ...], ...] = (
    (X_WITHIN,),
    (X_BEYOND,),
    (HOURS,),
    (X_BEYOND, Y_TO_THE_EDGE),
    (HOURS, X_WITHIN, Y_TO_THE_EDGE),
    (Y_TO_THE_EDGE, HatAxis(emdp.col("x"), -2.0, 2.0, 5), X_BEYOND, HOURS),
)
VALUES: tuple[Expression, ...] = (lift(1.0), 3 * emdp.col("x") - 1, lift(-0.3), emdp.col("y") / 7)


def frame_of(seed: int, count: int = 300) -> pl.DataFrame:
    """One record a user; the edges of every axis are among the numbers."""
    source = random.Random(seed)

    def numbers(low: float, high: float) -> list[float]:
        odd = [float(low), math.nextafter(low, high), (low + high) / 2, math.nextafter(high, low)]
        return [source.choice(odd) if source.random() < 0.2 else source.uniform(low, high) for _ in range(count)]

    columns = {"x": numbers(-1, 5), "y": numbers(0, 3), "hour": numbers(0, 24)}
    return pl.DataFrame({"user": list(range(count)), **columns})


def whole(value: Expression, row: Mapping[str, float]) -> int:
    texts = dict(zip(map(str, VALUES), (1.0, 3 * row["x"] - 1, -0.3, row["y"] / 7), strict=True))
    return round(texts[str(value)] * 2.0 ** fixed_point_exponent(analyse(value, SPACE)))


def corners(integer: int, row: Mapping[str, float], axes: tuple[HatAxis, ...]) -> tuple[tuple[int, ...], list[int]]:
    """The definition: along every axis in turn ``hi = round(a f)`` goes to the upper node, ``a - hi`` to the lower."""
    nodes, parts = [], [integer]
    for axis in axes:
        last = axis.size if axis.is_periodic else axis.size - 1
        place = min(max((row[str(axis.expression)] - axis.start) / axis.step, 0.0), float(last))
        node = min(math.floor(place), axis.size - 1) if axis.is_periodic else math.floor(place)
        halves = [(part - upper, upper) for part, upper in ((part, round(part * (place - node))) for part in parts)]
        parts = [half for pair in halves for half in pair]
        nodes.append(node)
    return tuple(nodes), parts


def sums_of(frame: pl.DataFrame, aggregation: Aggregation) -> dict[int, list[int]]:
    """What the statement gives for each base cell, by DuckDB itself."""
    table = read(frame, user="user", space=SPACE, users=len(frame))
    statement = cell_statement(table, aggregation)
    with duckdb.connect() as connection:
        connection.register("source_rows", frame.to_arrow())
        for name, lookup in statement.lookups.items():
            connection.register(name, lookup.to_arrow())
        found = connection.execute(statement.query.sql("duckdb", identify=True)).fetchall()
    return {row[1]: list(row[3:]) for row in found if row[1] is not None}


@pytest.mark.quarter
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("bits", [SHARED_BITS, WEIGHT_BITS], ids=["means", "totals"])
def test_sums_are_of_the_integers_of_the_definition(axes: tuple[HatAxis, ...], bits: int) -> None:
    frame = frame_of(len(axes) + bits)
    cap = None if bits == SHARED_BITS else 2
    expected: dict[int, Counter[int]] = {}
    for row in frame.iter_rows(named=True):
        own = [corners(whole(value, row), row, axes) for value in VALUES]
        base = 0
        for axis, node in zip(axes, own[0][0], strict=True):
            base = base * axis.size + node
        sums = expected.setdefault(base, Counter())
        for place, part in enumerate(part for _, parts in own for part in parts):
            sums[place] += part * 2**bits
    found = sums_of(frame, Aggregation(VALUES, axes, cap=cap))
    width = len(VALUES) * 2 ** len(axes)
    assert found == {base: [sums[place] for place in range(width)] for base, sums in expected.items()}


@pytest.mark.quarter
@pytest.mark.parametrize("axes", AXES[:5])
def test_weights_multiply_the_same_integers(axes: tuple[HatAxis, ...]) -> None:
    frame, chosen = frame_of(7), emdp.ramp(emdp.col("y"), 0, 3)
    expected: Counter[tuple[int, int]] = Counter()
    for row in frame.iter_rows(named=True):
        weight = round(min(max(row["y"] / 3, 0.0), 1.0) * 2.0**WEIGHT_BITS)
        for value, own in enumerate(VALUES):
            nodes, parts = corners(whole(own, row), row, axes)
            for corner, part in zip(itertools.product((0, 1), repeat=len(axes)), parts, strict=True):
                at = 0
                for axis, node, step in zip(axes, nodes, corner, strict=True):
                    at = at * axis.size + (node + step) % axis.size
                expected[value, at] += part * weight
    found: Counter[tuple[int, int]] = Counter()
    from emdp.tables.statements.corners import corner_cells

    aggregation = Aggregation(VALUES, axes, cap=3, chosen=chosen)
    sums = sums_of(frame, aggregation)
    for cells, row_sums in zip(corner_cells(aggregation, list(sums)), sums.values(), strict=True):
        for place, total in enumerate(row_sums):
            found[place // len(cells), cells[place % len(cells)]] += total
    assert {key: total for key, total in found.items() if total} == {k: v for k, v in expected.items() if v}


def clamps(axis: HatAxis, space: emdp.Space) -> tuple[bool, bool]:
    table = read(pl.DataFrame({"user": [1], "x": [0.0], "y": [0.0], "hour": [0.0]}), user="user", space=space, users=1)
    rows, _ = spread_records(table, layout_of(Aggregation((lift(1.0),), (axis,)), space))
    columns = [column for select in rows.find_all(exp.Select) for column in select.expressions]
    (place,) = (column for column in columns if column.alias == "place_0" and not isinstance(column.this, exp.Column))
    return place.find(exp.Greatest) is not None, place.find(exp.Least) is not None


@pytest.mark.parametrize(
    ("axis", "needed"),
    [
        (X_WITHIN, (False, False)),
        (Y_TO_THE_EDGE, (False, False)),
        (X_BEYOND, (True, True)),
        (HatAxis(emdp.col("x"), -1.0, 0.5, 12), (False, True)),
        (HatAxis(emdp.col("x"), math.nextafter(-1.0, 0), 1.0, 9), (True, False)),
        (HatAxis(emdp.col("x"), -1.5, 1.0, 9), (False, False)),
        (HOURS, (True, True)),
        (HatAxis(emdp.col("x") + emdp.col("y"), -1.0, 1.0, 10), (True, True)),
    ],
    ids=str,
)
def test_places_are_clamped_just_where_they_may_leave_the_axis(axis: HatAxis, needed: tuple[bool, bool]) -> None:
    # The last one: its bounds as computed are beyond the nodes by a rounding.
    assert clamps(axis, SPACE) == needed


def test_a_constant_has_no_column() -> None:
    layout = layout_of(Aggregation(VALUES, (X_WITHIN,)), SPACE)
    assert layout.constants == {0: 2**51, 2: round(-0.3 * 2**52)}
    assert record_columns(layout) == (
        *("user_key", "base_cell", "split_0_1", "split_1_0"),
        *("split_1_1", "split_2_1", "split_3_0", "split_3_1"),
    )
