"""Calls as other systems write them, as BigQuery's ``DATE_TRUNC(ts, MONTH)``, in the form that is read here."""

from sqlglot import exp

from emdp.rows.records.times import MOST_STEPS

__all__ = ["usual"]

TRUNCATIONS = frozenset(("date_trunc", "datetrunc", "timestamp_trunc", "datetime_trunc"))
DIFFERENCES = frozenset(("date_diff", "datediff", "timestamp_diff", "datetime_diff"))
ADDITIONS = frozenset(("date_add", "timestamp_add", "datetime_add"))
SUBTRACTIONS = frozenset(("date_sub", "timestamp_sub", "datetime_sub"))


def usual(node: exp.Expr) -> exp.Expr | None:
    """Return what a call of another system means here, None for one that is read as it is.

    A unit is a bare word behind the times, and a difference is from the second time to the first.

    >>> call = exp.Anonymous(this="DATE_TRUNC", expressions=[exp.column("ts"), exp.column("MONTH")])
    >>> usual(call).sql()
    "DATE_TRUNC('month', ts)"
    """
    name, parts = node.name.lower(), node.expressions
    unit = _unit(parts[-1]) if parts else None
    if unit is not None and name in TRUNCATIONS and len(parts) == 2:
        return exp.Anonymous(this="date_trunc", expressions=[exp.Literal.string(unit), parts[0]])
    if unit is not None and name in DIFFERENCES and len(parts) == 3:
        return exp.Anonymous(this="date_diff", expressions=[exp.Literal.string(unit), parts[1], parts[0]])
    if len(parts) == 2 and isinstance(parts[1], exp.Interval) and name in ADDITIONS | SUBTRACTIONS:
        kind = exp.Add if name in ADDITIONS else exp.Sub
        return kind(this=parts[0], expression=parts[1])
    return None


def _unit(node: exp.Expr) -> str | None:
    if not isinstance(node, exp.Column) or node.table or node.this.args.get("quoted"):
        return None
    name = node.name.lower()
    return name if name in MOST_STEPS or name == "quarter" else None
