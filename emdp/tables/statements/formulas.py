"""Each expression node as SQL: the same operations in the same order as its numpy reference evaluation."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from sqlglot import exp

from emdp.base.errors import InternalError
from emdp.expressions import functions as table
from emdp.expressions.functions.record import ScalarFunction
from emdp.expressions.functions.shaping import Clamp, Ramp
from emdp.expressions.functions.smooth import Power
from emdp.expressions.nodes.arithmetic import Add, Divide, Multiply, Negate, Subtract
from emdp.expressions.nodes.base import Column, Constant, Expression
from emdp.expressions.nodes.leaves import DistanceTo, Dot
from emdp.spaces import Cycle, Geo, Interval, Space, Vector
from emdp.spaces.base import Floats
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql

__all__ = ["called_function", "leaf_formula", "node_formula"]

SHORT_ANGLE = 3.0
"""Radians: up to here the sine of half an angle is below 0.998, so that no rounding brings it above 1, where the arc
sine is an error. The columns are inside the box by then, and the bound is that of the box."""

NEAR_LATITUDES = 60.0
"""Degrees: where no latitude of the box differs from the point's by more, a cosine may come from a half-sine."""

BINARY: dict[type[Expression], Callable[[Sql, Sql], Sql]] = {
    Add: sql.add,
    Subtract: sql.subtract,
    Multiply: sql.multiply,
    Divide: sql.divide,
}


def node_formula(node: Expression, operands: Sequence[Sql]) -> Sql:
    """Return the SQL of a node that has operands, or of a constant."""
    kind = type(node)
    if isinstance(node, Constant):
        return sql.number(node.value)
    if kind in BINARY:
        return BINARY[kind](operands[0], operands[1])
    function = table.function_of(node)
    if function is not None and function.duckdb is not None:
        if function.takes_many and len(operands) == 1:
            return operands[0]
        return sql.call(function.duckdb, *operands, *map(sql.number, function.constants_of(node)))
    if isinstance(node, Negate):
        return exp.Paren(this=exp.Neg(this=operands[0]))
    if isinstance(node, Clamp):
        return _clamp(operands[0], node.low, node.high)
    if isinstance(node, Ramp):
        height = sql.divide(sql.subtract(operands[0], sql.number(node.a)), sql.number(node.b - node.a))
        return _clamp(height, 0.0, 1.0)
    if isinstance(node, Power):
        base = operands[0]
        if not node.exponent.is_integer():
            base = sql.call("GREATEST", base, sql.number(0))
        return sql.call("POWER", base, sql.number(node.exponent))
    raise InternalError(f"the engine has no formula for a {kind.__name__} expression; please report it.")


def called_function(node: Sql) -> ScalarFunction | None:
    """Return the record of the function of numbers that a node of a statement calls, if it calls one.

    >>> called_function(sql.call("LN", sql.number(2))).spark, called_function(sql.number(2))
    ('LN', None)
    """
    if not isinstance(node, exp.Func):
        return None
    names = (node.name.upper(),) if isinstance(node, exp.Anonymous) else type(node).sql_names()
    return next((one for one in table.FUNCTIONS.values() if one.duckdb in names), None)


def leaf_formula(leaf: Expression, space: Space, columns: Mapping[str, Sql]) -> Sql:
    """Return the SQL of a leaf on a continuous part, given that part's columns."""
    if isinstance(leaf, Column):
        return columns[leaf.name]
    if isinstance(leaf, DistanceTo):
        located = leaf.locate(space)
        distances = [_distance(located.part, point, columns) for point in located.found]
        return sql.call("LEAST", *distances) if len(distances) > 1 else distances[0]
    if isinstance(leaf, Dot):
        part = leaf.locate(space)
        return sql.total(
            sql.multiply(columns[name], sql.number(weight))
            for name, weight in zip(part.part.columns, part.found.tolist(), strict=True)
        )
    raise InternalError(f"the engine has no formula for a {type(leaf).__name__} leaf; please report it.")


def _distance(part: Space, point: Floats, columns: Mapping[str, Sql]) -> Sql:
    at = point[0].tolist()
    if isinstance(part, Interval):
        return sql.call("ABS", sql.subtract(columns[part.column], sql.number(at[0])))
    if isinstance(part, Cycle):
        gap = sql.call("ABS", sql.subtract(columns[part.column], sql.number(at[0])))
        return sql.call("LEAST", gap, sql.subtract(sql.number(part.period), gap))
    if isinstance(part, Geo):
        half = _half_angle(part, columns[part.lat], columns[part.lon], at[0], at[1])
        return sql.multiply(half, sql.number(2 * part.radius))
    if isinstance(part, Vector):
        steps = [sql.subtract(columns[name], sql.number(x)) for name, x in zip(part.columns, at, strict=True)]
        return sql.call("SQRT", sql.total(sql.multiply(step, step) for step in steps))
    raise InternalError(f"the engine has no distance on a {part.kind} part; please report it.")


def _half_angle(part: Geo, lat: Sql, lon: Sql, lat0: float, lon0: float) -> Sql:
    # The haversine of emdp.spaces.continuous.sphere, whose text bounds its error. Doubling and halving are exact,
    # wherever they are done, and radians are degrees times one constant.
    across = _half_sine(lon, lon0)
    along = _half_sine(lat, lat0)
    south, _, north, _ = part.box
    is_short = part.distance_bounds(np.array([[lat0, lon0]])).high < SHORT_ANGLE * part.radius
    if is_short and max(abs(south - lat0), abs(north - lat0)) <= NEAR_LATITUDES:
        cosine = _cosine_from_half_sine(along, math.radians(lat0))
    else:
        cosine = sql.call("COS", sql.multiply(lat, sql.number(math.radians(1))))
    cosines = sql.multiply(cosine, sql.number(math.cos(math.radians(lat0))))
    h = sql.add(sql.multiply(along, along), sql.multiply(cosines, sql.multiply(across, across)))
    root = sql.call("SQRT", h)
    return sql.call("ASIN", root if is_short else sql.call("LEAST", sql.number(1), root))


def _cosine_from_half_sine(half_sine: Sql, angle: float) -> Sql:
    """Return ``cos(angle + 2 asin(half_sine))`` by a root, which costs a third of a cosine."""
    square = sql.multiply(half_sine, half_sine)
    flat = sql.multiply(sql.number(math.cos(angle)), sql.subtract(sql.number(1), sql.multiply(sql.number(2), square)))
    steep = sql.multiply(half_sine, sql.call("SQRT", sql.subtract(sql.number(1), square)))
    return sql.subtract(flat, sql.multiply(sql.number(2 * math.sin(angle)), steep))


def _half_sine(angle: Sql, at: float) -> Sql:
    half = sql.multiply(sql.subtract(angle, sql.number(at)), sql.number(math.radians(1) / 2))
    return sql.call("SIN", half)


def _clamp(value: Sql, low: float, high: float) -> Sql:
    return sql.call("LEAST", sql.call("GREATEST", value, sql.number(low)), sql.number(high))
