"""A space in SQL: validity, clamping and distance of a continuous part, one entry a kind.

:class:`StatedSql` serves every space that is a box of ranges (``spans``) and states its distance; ``SPECIAL``
has the kinds that need something else. The operations are those of the space's numpy methods in their order;
``tests/tables`` compares the two on every kind of bad value. Comparisons with NULL or NaN are never true, so a plain
range test already says "invalid" for both (DuckDB orders NaN above every number).
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from emdp.base.errors import InternalError, UsageError
from emdp.spaces import Geo, Space, Vector
from emdp.spaces.base import Floats
from emdp.spaces.ranges import Span
from emdp.spaces.rounding import UNIT_ROUNDOFF
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql

__all__ = ["SPECIAL", "Facts", "StatedSql", "sql_of", "within"]

Facts = Mapping[str, Sql]
"""Facts about a row for the rule: ``valid``, ``missing``, and for a ball ``largest``, ``endless``, ``length``."""

SHORT_ANGLE = 3.0
"""Radians: up to here the sine of half an angle is below 0.998, so that no rounding brings it above 1, where the arc
sine is an error. The columns are inside the box by then, and the bound is that of the box."""

NEAR_LATITUDES = 60.0
"""Degrees: where no latitude of the box differs from the point's by more, a cosine may come from a half-sine."""

P = TypeVar("P", bound=Space)


class SqlArithmetic:
    """The operations of a stated formula (:class:`emdp.spaces.formulas.Arithmetic`) as SQL."""

    def number(self, value: float) -> Sql:
        return sql.number(value)

    def subtract(self, left: Sql, right: Sql) -> Sql:
        return sql.subtract(left, right)

    def multiply(self, left: Sql, right: Sql) -> Sql:
        return sql.multiply(left, right)

    def absolute(self, value: Sql) -> Sql:
        return sql.call("ABS", value)

    def root(self, value: Sql) -> Sql:
        return sql.call("SQRT", value)

    def least(self, values: Iterable[Sql]) -> Sql:
        return _chosen("LEAST", values)

    def greatest(self, values: Iterable[Sql]) -> Sql:
        return _chosen("GREATEST", values)

    def total(self, values: Iterable[Sql]) -> Sql:
        return sql.total(values)


ARITHMETIC = SqlArithmetic()


class StatedSql(Generic[P]):
    """A box of ranges, with the distance that the space states.

    Raises
    ------
    UsageError
        From ``valid`` and ``clamped`` if the domain is no box, from ``distance`` if the space states no formula.
    """

    def valid(self, part: P, raw: Mapping[str, Sql]) -> Sql:
        """Return whether a part's columns hold an item of its domain."""
        closed = [(raw[span.column], span.low, span.high) for span in _spans(part) if not span.goes_round]
        tests = [within(closed)] if closed else []
        for span in _spans(part):
            if span.goes_round:
                value = raw[span.column]
                tests += [
                    sql.compare(value, ">=", sql.number(span.low)),
                    sql.compare(value, "<", sql.number(span.high)),
                ]
        return sql.both(tests)

    def missing(self, part: P, raw: Mapping[str, Sql]) -> Sql:
        """Return whether no value of the domain is near, so that the neutral item stands for the row."""
        tests = [_missing(value) for value in raw.values()]
        if len(raw) > 1:
            # An infinity has no remainder. Of one column alone the clamp itself puts the neutral number in its place.
            tests += [_is_infinite(raw[span.column]) for span in part.spans if span.goes_round]
        return sql.either(tests)

    def first(self, part: P, raw: Mapping[str, Sql]) -> dict[str, Sql]:
        """Return further facts of the rule that follow from the columns alone."""
        return {}

    def second(self, part: P, raw: Mapping[str, Sql], facts: Facts) -> dict[str, Sql]:
        """Return further facts that follow from the first ones."""
        return {}

    def clamped(self, part: P, raw: Mapping[str, Sql], facts: Facts) -> dict[str, Sql]:
        """Return the columns of an invalid row, none of them missing, moved into the domain."""
        neutral = part.neutral_item[0].tolist()
        return {
            span.column: _modulo(raw[span.column], span.high, number)
            if span.goes_round
            else _clamp(raw[span.column], span.low, span.high)
            for span, number in zip(_spans(part), neutral, strict=True)
        }

    def distance(self, part: P, point: Floats, columns: Mapping[str, Sql]) -> Sql:
        """Return the natural distance of an item of the domain to an encoded point."""
        left = [columns[name] for name in part.columns]
        return part.distance_formula(ARITHMETIC, left, [sql.number(value) for value in point[0].tolist()])


class VectorSql(StatedSql[Vector]):
    """A box, or a ball about 0: whether the norm is small enough, and along its ray where it is not."""

    def valid(self, part: Vector, raw: Mapping[str, Sql]) -> Sql:
        """Return the range tests of a box, or whether the squares add up to little enough."""
        if part.radius is None:
            return super().valid(part, raw)
        squares = sql.total(sql.multiply(value, value) for value in raw.values())
        return sql.compare(squares, "<=", sql.number(part.radius**2))

    def first(self, part: Vector, raw: Mapping[str, Sql]) -> dict[str, Sql]:
        """Return for a ball the largest coordinate, and whether one is infinite."""
        if part.radius is None:
            return {}
        sizes = [sql.call("ABS", value) for value in raw.values()]
        return {"largest": _chosen("GREATEST", sizes), "endless": sql.either(map(_is_infinite, raw.values()))}

    def second(self, part: Vector, raw: Mapping[str, Sql], facts: Facts) -> dict[str, Sql]:
        """Return the length of a ball's rays."""
        if "largest" not in facts:
            return {}
        rays = _rays(raw, facts)
        return {"length": sql.call("SQRT", sql.total(sql.multiply(ray, ray) for ray in rays.values()))}

    def clamped(self, part: Vector, raw: Mapping[str, Sql], facts: Facts) -> dict[str, Sql]:
        """Return the nearest point of a box; of a ball that on the ray."""
        if part.radius is None:
            return super().clamped(part, raw, facts)
        # As far inside as the space's own rule puts it.
        radius = sql.number(part.radius * (1 - 4 * (len(part.columns) + 4) * UNIT_ROUNDOFF))
        rays = _rays(raw, facts)
        return {name: sql.multiply(sql.divide(ray, facts["length"]), radius) for name, ray in rays.items()}


class GeoSql(StatedSql[Geo]):
    """A box of latitudes and longitudes with the great-circle distance."""

    def distance(self, part: Geo, point: Floats, columns: Mapping[str, Sql]) -> Sql:
        lat0, lon0 = point[0].tolist()
        half = _half_angle(part, columns[part.lat], columns[part.lon], lat0, lon0)
        return sql.multiply(half, sql.number(2 * part.radius))


STATED: StatedSql[Any] = StatedSql()

SPECIAL: Mapping[str, StatedSql[Any]] = {"geo": GeoSql(), "vector": VectorSql()}
"""Kinds whose domain is no box of ranges, or whose distance takes other operations than a stated formula has."""


def sql_of(part: Space) -> StatedSql[Any]:
    """Return how a continuous part is written in SQL."""
    return SPECIAL.get(part.kind, STATED)


def within(bounds: Sequence[tuple[Sql, float, float]]) -> Sql:
    """Return whether numbers lie in their ranges, ends included."""
    # Each test "low <= x and not x > high" compares two truth values ("a > b" is "a and not b"), and so do the tests
    # among one another ("a > not b"): DuckDB's AND splits every block of rows that has a bad one, and costs four times
    # as much. NULL stays NULL, and NaN, which DuckDB orders above all numbers, is above every bound.
    tests = [
        sql.compare(sql.compare(value, ">=", sql.number(low)), ">", sql.compare(value, ">", sql.number(high)))
        for value, low, high in bounds
    ]
    return sql.combine(tests, lambda left, right: sql.compare(left, ">", sql.negate(right)))


def _spans(part: Space) -> tuple[Span, ...]:
    if not part.is_box:
        raise UsageError(
            f"{part.noun} has no rule that an engine can follow: its domain is no box of ranges; use another space."
        )
    if tuple(span.column for span in part.spans) != part.columns:
        raise InternalError(f"the spans of {part.noun} are not those of its columns; please report this.")
    return part.spans


def _chosen(name: str, values: Iterable[Sql]) -> Sql:
    found = list(values)
    return sql.call(name, *found) if len(found) > 1 else found[0]


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
