"""The ``on_invalid`` rule of a continuous part as SQL: which rows are valid, and what stands for the others.

The same rules as ``Space.encode`` in numpy; ``tests/tables`` compares the two on every kind of bad value. Comparisons
with NULL or NaN are never true, so a plain range test already says "invalid" for both (DuckDB orders NaN above
every number).

A cell of a ``Grid`` is found from the numbers after the rule of the space inside it, by the operations of
:class:`emdp.spaces.combined.grid.GridAxis` in their order, so that engine and numpy agree bit for bit.
"""

import sys
from collections.abc import Mapping, Sequence

from emdp.base.errors import InternalError
from emdp.spaces import Cycle, Geo, Grid, Interval, Space, Vector
from emdp.spaces.combined.grid import GridAxis
from emdp.spaces.rounding import UNIT_ROUNDOFF
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql

__all__ = ["Facts", "clean_columns", "first_facts", "second_facts"]

Facts = Mapping[str, Sql]
"""What the rule asks about a row: ``valid``, ``missing``, and for a ball ``largest``, ``endless``, ``length``."""


def first_facts(part: Space, raw: Mapping[str, Sql]) -> dict[str, Sql]:
    """Return the facts that follow from a part's columns alone.

    Parameters
    ----------
    part : Space
        An ``Interval``, ``Cycle``, ``Geo`` or ``Vector``, or a ``Grid`` over one.
    raw : mapping of str to Sql
        Each of the part's columns as a DOUBLE expression.
    """
    if isinstance(part, Grid):
        return first_facts(part.inner, raw)
    facts = {"valid": _valid(part, raw)}
    if part.on_invalid == "clamp":
        facts["missing"] = sql.either(_missing(value) for value in raw.values())
        if isinstance(part, Vector) and part.radius is not None:
            sizes = [sql.call("ABS", value) for value in raw.values()]
            facts["largest"] = sql.call("GREATEST", *sizes) if len(sizes) > 1 else sizes[0]
            facts["endless"] = sql.either(_is_infinite(value) for value in raw.values())
    return facts


def second_facts(part: Space, raw: Mapping[str, Sql], facts: Facts) -> dict[str, Sql]:
    """Return the facts that follow from the first ones: the length of a ball's rays."""
    if "largest" not in facts:
        return {}
    rays = _rays(raw, facts)
    return {"length": sql.call("SQRT", sql.total(sql.multiply(ray, ray) for ray in rays.values()))}


def clean_columns(part: Space, raw: Mapping[str, Sql], facts: Facts) -> dict[str, Sql]:
    """Return a part's columns after its rule.

    A valid row passes through the first branch of a CASE, and the rule is computed for the others alone. A ``Grid`` has
    one column, the number of the cell as a DOUBLE, under the name of its first one.
    """
    if isinstance(part, Grid):
        return {part.columns[0]: _cell(part, raw, facts)}
    valid = facts["valid"]
    neutral = dict(zip(part.columns, map(sql.number, part.neutral_item[0].tolist()), strict=True))
    if part.on_invalid != "clamp":
        # After validate() no row is invalid under "error"; should one slip in since, it counts as neutral,
        # because an error now would depend on the data (style.md rule 18).
        return {name: sql.case([(valid, raw[name])], neutral[name]) for name in part.columns}
    clamped = _clamped(part, raw, facts)
    branches = {name: [(valid, raw[name]), (facts["missing"], neutral[name])] for name in part.columns}
    return {name: sql.case(branches[name], clamped[name]) for name in part.columns}


def _cell(part: Grid, raw: Mapping[str, Sql], facts: Facts) -> Sql:
    neutral = sql.number(part.neutral_code)
    inner = part.inner
    columns = [raw[name] for name in inner.columns]
    # Nearly every row is below the last edge of each axis, where no minimum is needed: DuckDB takes one slowly.
    below = _within([(value, axis.low, axis.top) for value, axis in zip(columns, part.axes, strict=True)])
    branches = [(below, _cell_number(part, columns, is_below=True)), (facts["valid"], _cell_number(part, columns))]
    if part.on_invalid != "clamp":
        return sql.case(branches, neutral)
    clamped = _clamped(inner, raw, facts)
    moved = _cell_number(part, [clamped[name] for name in inner.columns])
    return sql.case([*branches, (facts["missing"], neutral)], moved)


def _cell_number(part: Grid, values: Sequence[Sql], *, is_below: bool = False) -> Sql:
    terms = []
    for value, axis, stride in zip(values, part.axes, part.strides, strict=True):
        cell = _axis_cell(value, axis, is_below=is_below)
        terms.append(cell if stride == 1 else sql.multiply(cell, sql.number(stride)))
    return sql.total(terms)


def _axis_cell(value: Sql, axis: GridAxis, *, is_below: bool) -> Sql:
    place = sql.multiply(sql.subtract(value, sql.number(axis.low)), sql.number(axis.scale))
    cell = sql.call("FLOOR", place)
    return cell if is_below else sql.call("LEAST", cell, sql.number(axis.count - 1))


def _valid(part: Space, raw: Mapping[str, Sql]) -> Sql:
    if isinstance(part, Interval):
        return _within([(raw[part.column], part.low, part.high)])
    if isinstance(part, Cycle):
        value = raw[part.column]
        return sql.both([sql.compare(value, ">=", sql.number(0)), sql.compare(value, "<", sql.number(part.period))])
    if isinstance(part, Geo):
        south, west, north, east = part.box
        return _within([(raw[part.lat], south, north), (raw[part.lon], west, east)])
    if isinstance(part, Vector):
        if part.box is not None:
            bounds = zip(part.columns, part.box, strict=True)
            return _within([(raw[name], low, high) for name, (low, high) in bounds])
        squares = sql.total(sql.multiply(value, value) for value in raw.values())
        return sql.compare(squares, "<=", sql.number(_radius(part) ** 2))
    raise InternalError(f"no SQL rule for a {part.kind} part.")


def _within(bounds: Sequence[tuple[Sql, float, float]]) -> Sql:
    # Each test "low <= x and not x > high" compares two truth values ("a > b" is "a and not b"), and so do the tests
    # among one another ("a > not b"): DuckDB's AND splits every block of rows that has a bad one, and costs four times
    # as much. NULL stays NULL, and NaN, which DuckDB orders above all numbers, is above every bound.
    tests = [
        sql.compare(sql.compare(value, ">=", sql.number(low)), ">", sql.compare(value, ">", sql.number(high)))
        for value, low, high in bounds
    ]
    return sql.combine(tests, lambda left, right: sql.compare(left, ">", sql.negate(right)))


def _clamped(part: Space, raw: Mapping[str, Sql], facts: Facts) -> dict[str, Sql]:
    if isinstance(part, Interval):
        return {part.column: _clamp(raw[part.column], part.low, part.high)}
    if isinstance(part, Cycle):
        return {part.column: _modulo(raw[part.column], part.period, part.neutral)}
    if isinstance(part, Geo):
        south, west, north, east = part.box
        return {part.lat: _clamp(raw[part.lat], south, north), part.lon: _clamp(raw[part.lon], west, east)}
    if isinstance(part, Vector):
        if part.box is not None:
            pairs = zip(part.columns, part.box, strict=True)
            return {name: _clamp(raw[name], low, high) for name, (low, high) in pairs}
        # As far inside as the space's own rule puts it.
        radius = sql.number(_radius(part) * (1 - 4 * (len(part.columns) + 4) * UNIT_ROUNDOFF))
        rays = _rays(raw, facts)
        return {name: sql.multiply(sql.divide(ray, facts["length"]), radius) for name, ray in rays.items()}
    raise InternalError(f"no SQL rule for a {part.kind} part.")


def _modulo(value: Sql, period: float, neutral: float) -> Sql:
    # An infinity has no remainder; that of a tiny negative number rounds up to the period itself, which is 0.
    left = sql.remainder(value, sql.number(period))
    lifted = sql.case([(sql.compare(left, "<", sql.number(0)), sql.add(left, sql.number(period)))], left)
    closed = sql.case([(sql.compare(lifted, ">=", sql.number(period)), sql.number(0))], lifted)
    return sql.case([(_is_infinite(value), sql.number(neutral))], closed)


def _rays(raw: Mapping[str, Sql], facts: Facts) -> dict[str, Sql]:
    # The limit of the ray where a coordinate is infinite, and scaled so that no square overflows.
    rays = {}
    for name, value in raw.items():
        limit = sql.case([(_is_infinite(value), sql.call("SIGN", value))], sql.number(0))
        rays[name] = sql.case([(facts["endless"], limit)], sql.divide(value, facts["largest"]))
    return rays


def _is_infinite(value: Sql) -> Sql:
    return sql.compare(sql.call("ABS", value), ">", sql.number(sys.float_info.max))


def _missing(value: Sql) -> Sql:
    return sql.either([sql.is_null(value), sql.call("ISNAN", value)])


def _clamp(value: Sql, low: float, high: float) -> Sql:
    return sql.call("LEAST", sql.call("GREATEST", value, sql.number(low)), sql.number(high))


def _radius(part: Vector) -> float:
    if part.radius is None:
        raise InternalError("a Vector part has neither box nor radius.")
    return float(part.radius)
