"""SQL of expression nodes: the same operations in the same order as its numpy reference evaluation."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from sqlglot import exp

from emdp.base.errors import InternalError
from emdp.expressions import functions as table
from emdp.expressions.functions.record import ScalarFunction
from emdp.expressions.functions.shaping import Clamp, Ramp
from emdp.expressions.functions.smooth import Power
from emdp.expressions.nodes.arithmetic import Add, Divide, Multiply, Negate, Subtract
from emdp.expressions.nodes.base import Column, Constant, Expression
from emdp.expressions.nodes.leaves import DistanceTo, Dot
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.kinds import sql_of

__all__ = ["called_function", "choice_formula", "label_formulas", "label_values", "leaf_formula", "node_formula"]


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
        distances = [sql_of(located.part).distance(located.part, point, columns) for point in located.found]
        return sql.call("LEAST", *distances) if len(distances) > 1 else distances[0]
    if isinstance(leaf, Dot):
        part = leaf.locate(space)
        return sql.total(
            sql.multiply(columns[name], sql.number(weight))
            for name, weight in zip(part.part.columns, part.found.tolist(), strict=True)
        )
    raise InternalError(f"the engine has no formula for a {type(leaf).__name__} leaf; please report it.")


def label_values(leaf: Expression, part: Space, items: Floats) -> Floats:
    """Return a leaf's values on items of a finite part; of a case the number of the branch that each chooses.

    The branches of a case are compiled apart.
    """
    branches = tuple(np.full(len(items), float(number)) for number in range(len(leaf.operands)))
    return leaf.values_on(part, items, branches)


def label_formulas(label: Sql, values: pl.DataFrame, neutral: Sequence[float]) -> list[Sql]:
    r"""Return the SQL of leaves on a finite part by comparisons of its label, that of no label and of NULL as neutral.

    Parameters
    ----------
    label : Sql
        The text of a record's label.
    values : polars.DataFrame
        The labels, and the values of each leaf in a column ``value_0`` and so on.
    neutral : sequence of float
        The leaves' values at the neutral item.

    >>> frame = pl.DataFrame({"label": ["a", "b", "c"], "value_0": [1.0, 2.0, 1.0]})
    >>> label_formulas(sql.column("kind"), frame, [2.0])[0].sql("duckdb")
    'CASE WHEN (("kind" = \'a\') OR ("kind" = \'c\')) THEN 1.0e0 ELSE 2.0e0 END'
    """
    found = []
    for position, other in enumerate(neutral):
        labels: dict[str, list[Sql]] = {}
        for name, value in values.select("label", f"value_{position}").rows():
            # By its text, which tells -0.0 from 0.0.
            if repr(value) != repr(other):
                labels.setdefault(repr(value), []).append(sql.text(name))
        tests = [
            (sql.either(sql.compare(label.copy(), "=", one) for one in own), sql.number(float(text)))
            for text, own in labels.items()
        ]
        found.append(sql.case(tests, sql.number(other)) if tests else sql.number(other))
    return found


def choice_formula(branch: Sql, values: Sequence[Sql]) -> Sql:
    """Return the SQL of the value that a whole number from 0 chooses."""
    tests = [sql.compare(branch.copy(), "=", sql.number(number)) for number in range(len(values) - 1)]
    return sql.case(zip(tests, values[:-1], strict=True), values[-1])


def _clamp(value: Sql, low: float, high: float) -> Sql:
    return sql.call("LEAST", sql.call("GREATEST", value, sql.number(low)), sql.number(high))
