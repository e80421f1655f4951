"""Conditions: comparisons, AND, OR, NOT, NULL, and the choice among values."""

from emdp.rows.record import Form, RowFunction
from emdp.rows.rules import extremes, hull, same
from emdp.rows.types import Kind, Value

__all__ = ["BOOLEANS", "RECORDS"]

BOOLEANS: tuple[Value, ...] = (False, True)
NUMBERS = (Kind.BIGINT, Kind.DOUBLE)


def _compared(name: str, operator: str, spark: str | None = None) -> RowFunction:
    text = f"{{0}} {operator} {{1}}"
    forms = (Form((kind, kind), Kind.BOOLEAN, text, spark or text, values=lambda values: BOOLEANS) for kind in Kind)
    return RowFunction(name, tuple(forms), operator=operator)


def _condition(name: str, text: str, operator: str) -> RowFunction:
    count = 2 if "{1}" in text else 1
    form = Form((Kind.BOOLEAN,) * count, Kind.BOOLEAN, text, text, values=lambda values: BOOLEANS)
    return RowFunction(name, (form,), operator=operator)


def _least_or_greatest(name: str, chosen: object) -> RowFunction:
    text = f"{name}({{0}}, {{1}})"
    forms = (
        Form((kind, kind), kind, text, text, range_rule=extremes(min) if kind in NUMBERS else None)
        for kind in (Kind.BIGINT, Kind.DOUBLE, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP)
    )
    return RowFunction(name, tuple(forms))


RECORDS = (
    _compared("equal", "="),
    _compared("differs", "<>"),
    _compared("less", "<"),
    _compared("at_most", "<="),
    _compared("greater", ">"),
    _compared("at_least", ">="),
    _compared("is_distinct", "IS DISTINCT FROM", "NOT equal_null({0}, {1})"),
    _compared("is_not_distinct", "IS NOT DISTINCT FROM", "equal_null({0}, {1})"),
    _condition("and", "{0} AND {1}", "AND"),
    _condition("or", "{0} OR {1}", "OR"),
    _condition("not", "NOT {0}", "NOT"),
    RowFunction(
        "is_null",
        tuple(
            Form((kind,), Kind.BOOLEAN, "{0} IS NULL", "{0} IS NULL", values=lambda values: BOOLEANS)
            for kind in Kind
        ),
        names=("isnull",),
    ),
    RowFunction(
        "is_nan",
        (Form((Kind.DOUBLE,), Kind.BOOLEAN, "isnan({0})", "nullif({0} IS NULL, TRUE) OR isnan({0})"),),
        names=("isnan",),
    ),
    _least_or_greatest("least", min),
    _least_or_greatest("greatest", max),
    RowFunction(
        "coalesce",
        tuple(
            Form(
                (kind, kind),
                kind,
                "coalesce({0}, {1})",
                "coalesce({0}, {1})",
                range_rule=(lambda ranges, values: hull(ranges)) if kind in NUMBERS else None,
            )
            for kind in Kind
        ),
        names=("ifnull", "nvl"),
    ),
    RowFunction(
        "nullif",
        tuple(
            Form(
                (kind, kind), kind, "nullif({0}, {1})", "nullif({0}, {1})",
                range_rule=same if kind in NUMBERS else None,
            )
            for kind in Kind
        ),
    ),
)  # fmt: skip
