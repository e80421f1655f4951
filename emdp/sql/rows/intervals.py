"""Intervals that are written out: ``INTERVAL 7 DAYS``, ``INTERVAL '1 month'``."""

from sqlglot import exp

from emdp.rows.records.times import MOST_STEPS

__all__ = ["steps_of"]


def steps_of(interval: exp.Expr) -> tuple[int, str] | None:
    """Return how many of which unit an interval has, None for another form.

    >>> steps_of(exp.Interval(this=exp.Literal.string("7"), unit=exp.Var(this="DAYS")))
    (7, 'day')
    """
    unit = interval.args.get("unit")
    number = interval.this
    if not isinstance(number, exp.Literal) or (unit is not None and not isinstance(unit, exp.Var)):
        return None
    words = number.name.split() + ([] if unit is None else [unit.name])
    if len(words) != 2 or not words[0].lstrip("-").isdigit() or not words[0].isascii() or len(words[0]) > 9:
        return None
    name = words[1].lower().removesuffix("s")
    return (int(words[0]), name) if name in MOST_STEPS else None
