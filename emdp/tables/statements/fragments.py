"""Small builders of sqlglot trees, so that every name and literal of a statement is emitted, never pasted."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import sqlglot
from sqlglot import exp

from emdp.base.errors import InternalError
from emdp.base.versions import check_version

check_version("sqlglot", sqlglot.__version__)

__all__ = [
    "ABSENT",
    "Sql",
    "add",
    "both",
    "bounded",
    "call",
    "case",
    "cast",
    "column",
    "combine",
    "compare",
    "divide",
    "either",
    "integer",
    "is_null",
    "multiply",
    "negate",
    "number",
    "remainder",
    "select",
    "shift",
    "subtract",
    "text",
    "total",
    "written",
]

DIALECT = "duckdb"

TYPE_NAMES = {
    "DOUBLE": exp.DataType.Type.DOUBLE,
    "BIGINT": exp.DataType.Type.BIGINT,
    "HUGEINT": exp.DataType.Type.INT128,
    "TEXT": exp.DataType.Type.TEXT,
}

Sql = exp.Expr

ABSENT = "emdp_absent"
"""What is noted of a sum or mean: see :func:`bounded`."""


def number(value: float) -> Sql:
    """Return a DOUBLE literal that reads back as exactly ``value`` (a plain 40.7 would be a DECIMAL in DuckDB).

    >>> number(40.7).sql("duckdb"), number(-2).sql("duckdb")
    ('40.7e0', '(-2.0e0)')
    """
    value = float(value)
    if not math.isfinite(value):
        raise InternalError("a statement was about to hold a number that is not finite.")
    digits = repr(abs(value))
    literal = exp.Literal.number(digits if "e" in digits else f"{digits}e0")
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def integer(value: int) -> Sql:
    """Return a literal of a whole number.

    >>> integer(3).sql("duckdb"), integer(-1).sql("duckdb")
    ('3', '(-1)')
    """
    literal = exp.Literal.number(abs(value))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def text(value: str) -> Sql:
    """Return a string literal."""
    return exp.Literal.string(value)


def column(name: str, table: str | None = None) -> Sql:
    """Return a quoted column, so that no name can be read as anything else."""
    return exp.column(exp.to_identifier(name, quoted=True), table=table, copy=False)


def call(name: str, *arguments: Sql) -> Sql:
    """Return a function call; sqlglot spells it for each dialect."""
    return exp.func(name, *arguments)


def cast(value: Sql, type_name: str, *, safe: bool = False) -> Sql:
    """Return a cast to one of ``TYPE_NAMES``; a ``safe`` one gives NULL where the text is no such value."""
    kind = exp.DataType(this=TYPE_NAMES[type_name])
    return exp.TryCast(this=value, to=kind, safe=True) if safe else exp.Cast(this=value, to=kind)


def add(left: Sql, right: Sql) -> Sql:
    """Return ``left + right``."""
    return exp.Paren(this=exp.Add(this=left, expression=right))


def subtract(left: Sql, right: Sql) -> Sql:
    """Return ``left - right``."""
    return exp.Paren(this=exp.Sub(this=left, expression=right))


def multiply(left: Sql, right: Sql) -> Sql:
    """Return ``left * right``."""
    return exp.Paren(this=exp.Mul(this=left, expression=right))


def shift(value: Sql, exponent: int) -> Sql:
    """Return ``value * 2**exponent``, exactly; a product with a constant takes the power into the constant.

    >>> shift(multiply(column("x"), number(3)), 2).sql("duckdb"), shift(column("x"), -1).sql("duckdb")
    ('("x" * 12.0e0)', '("x" * 0.5e0)')
    """
    product = value.this if isinstance(value, exp.Paren) else value
    if isinstance(product, exp.Mul) and isinstance(product.expression, exp.Literal):
        constant = float(product.expression.name)
        scaled = math.ldexp(constant, exponent)
        # Only where nothing is lost: neither factor nor any product may be subnormal or infinite.
        if 2.0**-500 < abs(constant) < 2.0**500 and -400 < exponent < 400:
            return multiply(product.this, number(scaled))
    return multiply(value, number(2.0**exponent))


def divide(left: Sql, right: Sql) -> Sql:
    """Return ``left / right`` on doubles."""
    return exp.Paren(this=exp.Div(this=left, expression=right, typed=False, safe=False))


def bounded(aggregate: Sql, absent: int = 0) -> Sql:
    """Note of a sum or mean that it is of integers of at most 51 bits, and return it.

    A sum counts NULL as 0. A mean may take it for ``absent``, which is as good as leaving it out: it is one of the
    values that the operand may have, and the operand of a row that keeps the declared rules is never NULL.

    >>> bounded(exp.Sum(this=column("x"))).meta[ABSENT]
    0
    """
    aggregate.meta[ABSENT] = absent
    return aggregate


def combine(terms: Sequence[Sql], join: Callable[[Sql, Sql], Sql]) -> Sql:
    """Return at least one term joined by an associative operation, nested no deeper than needed.

    A chain of a hundred terms would nest a hundred deep, and the tools that walk it recurse.
    """
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return join(combine(terms[:middle], join), combine(terms[middle:], join))


def total(terms: Iterable[Sql]) -> Sql:
    """Return the sum of at least one term, nested no deeper than needed.

    >>> total([column("a"), column("b"), column("c")]).sql("duckdb")
    '("a" + ("b" + "c"))'
    """
    return combine(list(terms), add)


def remainder(left: Sql, right: Sql) -> Sql:
    """Return the rest of ``left`` after whole multiples of ``right``, with the sign of ``left``."""
    return exp.Paren(this=exp.Mod(this=left, expression=right))


def compare(left: Sql, operator: str, right: Sql) -> Sql:
    """Return a comparison: one of <, <=, >, >=, =.

    >>> compare(column("x"), "<=", number(1)).sql("duckdb")
    '("x" <= 1.0e0)'
    """
    kinds = {"<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE, "=": exp.EQ}
    return exp.Paren(this=kinds[operator](this=left, expression=right))


def both(conditions: Iterable[Sql]) -> Sql:
    """Return the conjunction of at least one condition."""
    return combine(list(conditions), lambda left, right: exp.Paren(this=exp.And(this=left, expression=right)))


def either(conditions: Iterable[Sql]) -> Sql:
    """Return the disjunction of at least one condition."""
    return combine(list(conditions), lambda left, right: exp.Paren(this=exp.Or(this=left, expression=right)))


def negate(condition: Sql) -> Sql:
    """Return ``NOT condition``."""
    return exp.Paren(this=exp.Not(this=condition))


def is_null(value: Sql) -> Sql:
    """Return ``value IS NULL``."""
    return exp.Paren(this=exp.Is(this=value, expression=exp.Null()))


def case(branches: Iterable[tuple[Sql, Sql]], default: Sql) -> Sql:
    """Return ``CASE WHEN condition THEN value ... ELSE default END``.

    >>> case([(compare(column("x"), ">", number(0)), number(1))], number(0)).sql("duckdb")
    'CASE WHEN ("x" > 0.0e0) THEN 1.0e0 ELSE 0.0e0 END'
    """
    clauses = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(ifs=clauses, default=default)


def select(columns: Mapping[str, Sql], relation: Sql) -> exp.Select:
    """Return ``SELECT`` of some named values ``FROM`` a relation.

    >>> select({"y": column("x")}, exp.to_table("t")).sql("duckdb")
    'SELECT "x" AS "y" FROM t'
    """
    named = [exp.alias_(value, name, quoted=True, copy=False) for name, value in columns.items()]
    return exp.Select(expressions=named).from_(relation, copy=False)


def written(query: Sql) -> str:
    """Return the text of a statement for DuckDB, which may change the tree: for what is not looked at again.

    A copy of the tree would take as long as its text.

    >>> written(select({"y": column("x")}, exp.to_table("t")))
    'SELECT "x" AS "y" FROM "t"'
    """
    return query.sql(DIALECT, identify=True, copy=False)
