"""Arithmetic and elementary functions of numbers.

What has no value is NULL: a quotient by 0, a logarithm of 0 or less, an integer beyond 64 bits. A DOUBLE may be
infinite, or NaN (``inf - inf``, ``sqrt(-1)``), which every sum takes for NULL. A logarithm's argument is cut by
``nullif(greatest(x, 0), 0)``, which is NULL for NULL since GREATEST skips NULL.

Spark drops the fraction where it makes integers and has no FLOOR of a DOUBLE that is one: ``rint`` is exact, and one is
taken off where it rounded up. Java's ``pow`` differs from C's at 1, -1 and infinity alone.
"""

import math
from collections.abc import Callable, Sequence

from emdp.expressions.functions import FUNCTIONS
from emdp.expressions.functions.record import Misfit
from emdp.rows import rules
from emdp.rows.record import Form, Given, RangeRule, RowFunction
from emdp.rows.records.times import DATE_FORMS
from emdp.rows.types import BIGINT_MIN, Kind, Value

__all__ = ["RECORDS"]

MOST_DIGITS = 15
"""Of ROUND: a double has no more."""

EXACT = "4503599627370496"
"""2**52: a double of at least that size is a whole number."""

LEAST = f"({BIGINT_MIN + 1} - 1)"
"""The least BIGINT: its digits without a sign would be no BIGINT."""

ZERO, ONE = "CAST(0 AS DOUBLE)", "CAST(1 AS BIGINT)"
EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth: International Union of Geodesy and Geophysics."""


def _both(name: str, operator: str, spark: str, rule: RangeRule) -> RowFunction:
    text = f"{{0}} {operator} {{1}}"
    two = (Kind.BIGINT, Kind.BIGINT)
    return RowFunction(
        name,
        (
            Form(two, Kind.BIGINT, text, f"{spark}({{0}}, {{1}})", raises=True, range_rule=rules.whole(rule)),
            Form((Kind.DOUBLE, Kind.DOUBLE), Kind.DOUBLE, text, text, range_rule=rule),
            *DATE_FORMS.get(name, ()),
        ),
        operator=operator,
    )


def _real(name: str, rule: RangeRule, *, duckdb: str = "", spark: str = "", names: tuple[str, ...] = ()) -> RowFunction:
    duckdb = duckdb or f"{name}({{0}})"
    form = Form((Kind.DOUBLE,), Kind.DOUBLE, duckdb, spark or duckdb, range_rule=rule)
    return RowFunction(name, (form,), names=names)


def _floor(argument: str) -> str:
    return f"rint({argument}) - CASE WHEN rint({argument}) > {argument} THEN CAST(1 AS DOUBLE) ELSE {ZERO} END"


def _ceiling(argument: str) -> str:
    return f"rint({argument}) + CASE WHEN rint({argument}) < {argument} THEN CAST(1 AS DOUBLE) ELSE {ZERO} END"


def _whole_number(name: str, spark: str, function: Callable[[float], float], names: tuple[str, ...]) -> RowFunction:
    rule = rules.increasing(function, exact=True)
    return RowFunction(
        name,
        (
            Form((Kind.DOUBLE,), Kind.DOUBLE, f"{name}({{0}})", spark, range_rule=rule),
            Form((Kind.BIGINT,), Kind.BIGINT, "{0}", "{0}", range_rule=rules.whole(rules.same)),
        ),
        names=names,
    )


def _round_to(values: Sequence[Value]) -> str:
    unit = f"CAST('1e{values[1]}' AS DOUBLE)"
    size = f"abs(emdp_0) * {unit} < {EXACT}"
    return f"CASE WHEN {size} THEN round(emdp_0 * {unit}) / {unit} ELSE emdp_0 END"


def _clamp(form_kind: Kind) -> Form:
    def spelling(values: Sequence[Value]) -> str:
        test = (
            "WHEN emdp_0 > emdp_2 AND NOT isnan(emdp_0) THEN emdp_2"
            if form_kind is Kind.DOUBLE
            else "WHEN emdp_0 > emdp_2 THEN emdp_2"
        )
        return f"CASE WHEN emdp_0 < emdp_1 THEN emdp_1 WHEN emdp_0 <= emdp_2 THEN emdp_0 {test} END"

    end = Given(
        form_kind, "an end", _is_missing, "write a number", (-3, 7) if form_kind is Kind.BIGINT else (-1.5, 2.5)
    )
    return Form((form_kind, end, end), form_kind, spelling, spelling, range_rule=rules.clamped)


def _clamp_misfit(values: Sequence[Value]) -> Misfit | None:
    # An engine would make a constant of each side; the words are those of the metric's CLAMP.
    both = FUNCTIONS["clamp"].misfit
    return both(*values[1:]) if both else None


def _is_missing(value: Value) -> str | None:
    return "is NULL" if value is None else None


def _digits(value: Value) -> str | None:
    is_good = isinstance(value, int) and 0 <= value <= MOST_DIGITS
    return None if is_good else f"is no whole number from 0 to {MOST_DIGITS}"


def _exponent(value: Value) -> str | None:
    return None if isinstance(value, float) and abs(value) <= 1e6 else "is no number of at most a million in size"


def _haversine(values: Sequence[Value]) -> str:
    half = "pow(sin(radians(emdp_{} - emdp_{}) / CAST(2 AS DOUBLE)), CAST(2 AS DOUBLE))"
    part = f"{half.format(2, 0)} + cos(radians(emdp_0)) * cos(radians(emdp_2)) * {half.format(3, 1)}"
    return f"CAST('{2 * EARTH_RADIUS_KM}' AS DOUBLE) * atan2(sqrt({part}), sqrt(abs(CAST(1 AS DOUBLE) - ({part}))))"


_ATAN2 = f"atan2({{0}} + {ZERO}, {{1}} + {ZERO})"
"""Of -0.0 Spark makes 0.0 first."""
_EXPONENT = Given(Kind.DOUBLE, "an exponent", _exponent, "write POW(e, 2)", (2.0, 0.5, -1.0, 3.0, 0.0))
_ANGLE = rules.constant(-math.pi, math.nextafter(math.pi, 4))
_POSITIVE = "nullif(greatest({0}, " + ZERO + "), " + ZERO + ")"
_ANY = rules.constant(-math.inf, math.inf)
_SMALL = rules.constant(-1.0, 1.0)


def _logarithm(name: str, function: Callable[[float], float], *names: str) -> RowFunction:
    text = f"{name}({_POSITIVE})"
    rule = rules.on_domain(rules.increasing(function), 0.0, math.inf)

    def cut(ranges: Sequence[tuple[float, float] | None], values: Sequence[Value]) -> tuple[float, float] | None:
        own = ranges[0]
        found = rule(ranges, values)
        return found if (own is not None and own[0] > 0) or found is None else (-math.inf, found[1])

    return _real(name, cut, duckdb=text, names=names)


RECORDS = (
    _both("add", "+", "try_add", rules.added),
    _both("subtract", "-", "try_subtract", rules.subtracted),
    _both("multiply", "*", "try_multiply", rules.multiplied),
    RowFunction(
        "negate",
        (
            Form((Kind.BIGINT,), Kind.BIGINT, "0 - {0}", "try_subtract(CAST(0 AS BIGINT), {0})", raises=True,
                 range_rule=rules.whole(rules.negated)),
            Form((Kind.DOUBLE,), Kind.DOUBLE, "-{0}", "-{0}", range_rule=rules.negated),
        ),
    ),
    RowFunction(
        "divide",
        (
            Form((Kind.DOUBLE, Kind.DOUBLE), Kind.DOUBLE, f"{{0}} / nullif({{1}}, {ZERO})",
                 f"{{0}} / nullif({{1}}, {ZERO})", range_rule=rules.divided),
        ),
        operator="/",
    ),
    RowFunction(
        "divide_whole",
        (
            Form((Kind.BIGINT, Kind.BIGINT), Kind.BIGINT, "{0} // {1}",
                 "CASE WHEN {1} = -1 THEN try_subtract(CAST(0 AS BIGINT), {0}) "
                 "ELSE {0} // nullif(nullif({1}, 0), -1) END",
                 raises=True, range_rule=rules.whole(rules.divided_whole)),
        ),
        operator="//",
    ),
    RowFunction(
        "remainder",
        (
            # The remainder by 1 is that by -1, where DuckDB 2.0.1 has 0 for columns and an overflow for constants.
            Form((Kind.BIGINT, Kind.BIGINT), Kind.BIGINT, f"{{0}} % CASE WHEN {{1}} = -1 THEN {ONE} ELSE {{1}} END",
                 f"{{0}} % CASE WHEN {{1}} = -1 THEN {ONE} ELSE nullif({{1}}, 0) END",
                 raises=True, range_rule=rules.whole(rules.remainder)),
            Form((Kind.DOUBLE, Kind.DOUBLE), Kind.DOUBLE, f"{{0}} % nullif({{1}}, {ZERO})",
                 f"{{0}} % nullif({{1}}, {ZERO})", range_rule=rules.remainder),
        ),
        names=("mod", "fmod"),
        operator="%",
    ),
    RowFunction(
        "abs",
        (
            Form((Kind.BIGINT,), Kind.BIGINT, "abs({0})", f"abs(nullif({{0}}, {LEAST}))", raises=True,
                 range_rule=rules.whole(rules.parity)),
            Form((Kind.DOUBLE,), Kind.DOUBLE, "abs({0})", "abs({0})", range_rule=rules.parity),
        ),
    ),
    _whole_number("floor", _floor("{0}"), rules.floored, ()),
    _whole_number("ceil", _ceiling("{0}"), rules.raised, ("ceiling",)),
    _whole_number("trunc", f"CASE WHEN {{0}} < 0 THEN {_ceiling('{0}')} ELSE {_floor('{0}')} END", rules.cut_off, ()),
    RowFunction(
        "round",
        (
            Form((Kind.DOUBLE,), Kind.DOUBLE, "round({0})", "round({0})", range_rule=rules.rounded_to),
            Form((Kind.BIGINT,), Kind.BIGINT, "{0}", "{0}", range_rule=rules.whole(rules.same)),
            Form((Kind.DOUBLE, Given(Kind.BIGINT, "a number of digits", _digits, "write ROUND(e, 2)", (0, 2, 15))),
                 Kind.DOUBLE, _round_to, _round_to, range_rule=rules.rounded_to),
        ),
    ),
    RowFunction(
        "sign",
        tuple(
            Form((kind,), Kind.BIGINT, "CAST(sign({0}) AS BIGINT)", "CASE WHEN {0} IS NULL THEN NULL "
                 f"WHEN {{0}} < 0 THEN CAST(-1 AS BIGINT) WHEN {{0}} > 0{also} THEN CAST(1 AS BIGINT) "
                 "ELSE CAST(0 AS BIGINT) END",
                 range_rule=_SMALL, values=lambda values: (-1, 0, 1))
            for kind, also in ((Kind.BIGINT, ""), (Kind.DOUBLE, " AND NOT isnan({0})"))
        ),
    ),
    _real("sqrt", rules.root),
    _real("cbrt", _ANY),
    _real("exp", rules.increasing(math.exp, floor=0.0)),
    _logarithm("ln", math.log),
    _logarithm("log2", math.log2),
    _logarithm("log10", math.log10, "log"),
    RowFunction(
        "pow",
        (
            Form((Kind.DOUBLE, _EXPONENT), Kind.DOUBLE, "pow({0}, {1})",
                 "CASE WHEN {0} = 1 THEN CAST(1 AS DOUBLE) ELSE pow({0}, {1}) END",
                 range_rule=rules.power),
        ),
        names=("power",),
        operator="**",
    ),
    _real("sin", _SMALL),
    _real("cos", _SMALL),
    _real("tan", _ANY),
    _real("asin", rules.constant(-2.0, 2.0)),
    _real("acos", rules.constant(0.0, 4.0)),
    _real("atan", rules.constant(-2.0, 2.0)),
    RowFunction(
        "atan2",
        (Form((Kind.DOUBLE, Kind.DOUBLE), Kind.DOUBLE, _ATAN2, _ATAN2, range_rule=_ANGLE),),
    ),
    _real("tanh", _SMALL),
    _real("degrees", rules.increasing(math.degrees)),
    _real("radians", rules.increasing(math.radians)),
    RowFunction("clamp", (_clamp(Kind.BIGINT), _clamp(Kind.DOUBLE)), misfit=_clamp_misfit),
    RowFunction(
        "haversine",
        (Form((Kind.DOUBLE,) * 4, Kind.DOUBLE, _haversine, _haversine, range_rule=rules.constant(0.0, 20_038.0)),),
    ),
)  # fmt: skip
"""HAVERSINE(lat1, lon1, lat2, lon2) is in kilometres: half the Earth's circumference at most."""
