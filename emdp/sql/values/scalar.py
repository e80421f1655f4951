"""Numeric expressions of one record: from the tree of the text to the nodes that Python's expressions are made of."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError, UsageError
from emdp.expressions.nodes.arithmetic import Add, Binary, Divide, Multiply, Negate, Subtract
from emdp.expressions.nodes.base import Column, Constant, Expression
from emdp.expressions.nodes.categories import Labelled
from emdp.expressions.nodes.lookup import LabelValue
from emdp.spaces import Space
from emdp.sql.context import Context, identifier, listed, quoted, unwrapped
from emdp.sql.names.columns import Computed, HiddenColumn, ItemColumn, LookupColumn, Resolved, UserColumn, UserKey
from emdp.sql.names.scope import Scope
from emdp.sql.values.cases import case
from emdp.sql.values.forms import distance_form
from emdp.sql.values.functions import call, misplaced, power
from emdp.sql.values.literals import number_of

__all__ = ["Scalars"]


@dataclass(frozen=True, eq=False)
class Scalars:
    """The translation of numeric expressions."""

    context: Context
    scope: Scope

    def number(self, node: exp.Expr) -> Expression:
        """Return a numeric expression, with constants folded."""
        try:
            inner = unwrapped(node)
            made = _BUILDERS.get(type(inner), _unsupported)(self, inner)
            return self.context.made(self._folded(made, inner), inner)
        except UsageError as error:
            raise self.context.refusal(
                node, error.problem, remedy="split or rescale the expression", code="expression"
            ) from None

    def constant(self, node: exp.Expr, what: str) -> float:
        """Return the value of an expression that must not depend on the record."""
        found = self.number(node)
        if isinstance(found, Constant):
            return found.value
        raise self.context.refusal(
            node,
            f"{what} must be a constant, and `{self.context.text(node)}` depends on the record",
            remedy="write a number",
            code="constant-needed",
        )

    def _folded(self, made: Expression, node: exp.Expr) -> Expression:
        """Return the number that a node of constants comes to, as a double; other nodes as they are."""
        constants = [operand.value for operand in made.operands if isinstance(operand, Constant)]
        if not made.operands or len(constants) < len(made.operands) or isinstance(made, Labelled):
            return made
        space = self.context.names.space
        operands = tuple(np.array([value]) for value in constants)
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
                value = float(made.values_on(space, np.zeros((1, space.width)), operands)[0])
        except FloatingPointError:
            value = math.nan
        if math.isfinite(value):
            return Constant(value)
        raise self.context.refusal(
            node,
            f"`{self.context.text(node)}` has no finite value",
            remedy="write another constant",
            code="constant-value",
        )


def _literal(scalars: Scalars, node: exp.Expr) -> Expression:
    if isinstance(node, exp.Literal) and not node.is_string:
        return Constant(number_of(scalars.context, node))
    column = scalars.scope.meant_by(node)
    raise scalars.context.refusal(
        node,
        f"{scalars.context.text(node)} is a text where a number should stand",
        remedy=f"write {column}, for a column stands in double quotes or in none"
        if column
        else "write the number without quotes, or compare a categorical column with the text in CASE or WHERE",
        code="text-as-number",
    )


def _negate(scalars: Scalars, node: exp.Expr) -> Expression:
    return Negate(scalars.number(node.this))


def _binary(make: type[Binary]) -> Callable[[Scalars, exp.Expr], Expression]:
    return lambda scalars, node: make(scalars.number(node.this), scalars.number(node.expression))


def _divide(scalars: Scalars, node: exp.Expr) -> Expression:
    left, right = scalars.number(node.this), scalars.number(node.expression)
    if isinstance(right, Constant) and right.value == 0:
        raise scalars.context.refusal(
            node, "this divides by 0", remedy="divide by a number other than 0", code="division-by-zero"
        )
    return Divide(left, right)


def _power(scalars: Scalars, node: exp.Expr) -> Expression:
    return power(scalars, node.this, node.expression)


def _call(scalars: Scalars, node: exp.Expr) -> Expression:
    if len(node.expressions) == 1 and scalars.scope.column(node) is not None:
        return _column(scalars, node)
    if not isinstance(node, exp.Anonymous):
        return _unsupported(scalars, node)
    return call(scalars, node)


def _case(scalars: Scalars, node: exp.Expr) -> Expression:
    return case(scalars, node) if isinstance(node, exp.Case) else _unsupported(scalars, node)


def _cast(scalars: Scalars, node: exp.Expr) -> Expression:
    inner = scalars.number(node.this)
    to = node.args["to"]
    if to.this == exp.DType.DOUBLE and not to.expressions and not node.args.get("format"):
        return inner
    raise scalars.context.refusal(
        node,
        "a cast rounds or re-reads its argument, and every number here is a double already",
        remedy=f"write {scalars.context.text(node.this)} alone",
        code="cast",
    )


def _column(scalars: Scalars, node: exp.Expr) -> Expression:
    found = scalars.scope.column(node)
    if isinstance(found, ItemColumn) and found.finite is None and not found.goes_round:
        return Column(found.name)
    if isinstance(found, Computed):
        return found.expression
    if isinstance(found, LookupColumn) and found.dtype.is_numeric():
        return _looked_up(scalars, node, found)
    raise _no_number(scalars.context, node, found)


def _looked_up(scalars: Scalars, node: exp.Expr, column: LookupColumn) -> Expression:
    values = column.load()
    if any(value is None for value in values.values()):
        raise scalars.context.refusal(
            node,
            f"{column.name} is NULL for some values of {column.part.column}, and NULL is no number",
            remedy="fill it in the public table, or write JOIN with one that leaves those rows out",
            code="lookup-null",
        )
    numbers = {label: float(value) for label, value in values.items()}
    # where the join leaves a value out, its records weigh 0, whatever number they have
    otherwise = min(numbers.values()) / 2 + max(numbers.values()) / 2
    pairs = tuple((label, numbers[label]) for label in column.part.labels if label in numbers)
    return LabelValue(pairs, otherwise, column.part.columns, scalars.context.text(node))


def _no_number(context: Context, node: exp.Expr, column: Resolved | None) -> SqlError:
    text = context.text(node)
    if isinstance(column, UserKey):
        problem, remedy, code = (
            f"{text} says whose record a row is, and is no part of an item",
            "use COUNT(DISTINCT " + text + ") for the public number of users, and leave it out elsewhere",
            "user-column",
        )
    elif isinstance(column, HiddenColumn):
        problem, remedy, code = (
            f"{text} is not part of the item space, so nothing bounds how it may change",
            f"use a column of it ({listed(map(identifier, context.names.space.columns))}), or have the owner declare "
            "this one",
            "column-outside-space",
        )
    elif isinstance(column, UserColumn):
        problem, remedy, code = (
            f"{text} is a public column of users, and this is an expression of one record",
            "name it in WHERE or GROUP BY",
            "user-column-as-number",
        )
    elif isinstance(column, ItemColumn) and column.goes_round:
        problem, remedy, code = (
            f"{text} goes round, so as a number it jumps where the cycle closes",
            f"use {_distance_around(text, column.part)}, or another point of the cycle",
            "cycle-as-number",
        )
    else:
        example = quoted(column.finite.labels[0]) if isinstance(column, ItemColumn) and column.finite else ".."
        distance = f", or DISTANCE({text}, {example}) where its values have distances" if example != ".." else ""
        problem, remedy, code = (
            f"{text} lists values, it is no number",
            f"write CASE {text} WHEN {example} THEN 1 ELSE 0 END{distance}",
            "category-as-number",
        )
    return context.refusal(node, problem, remedy=remedy, code=code)


def _distance_around(text: str, part: Space) -> str:
    """Return a distance to a point of a part with a column that goes round."""
    return f"DISTANCE({text}, {part.spans[0].high / 3:g})" if part.point_kind == "number" else distance_form(part)


def _null(scalars: Scalars, node: exp.Expr) -> Expression:
    raise scalars.context.refusal(
        node,
        "NULL is no number",
        remedy="write a number; invalid values of the records are replaced by the space's on_invalid rule",
        code="null-value",
    )


def _vector(scalars: Scalars, node: exp.Expr) -> Expression:
    raise misplaced(scalars.context, node, "VECTOR")


def _condition(scalars: Scalars, node: exp.Expr) -> Expression:
    raise scalars.context.refusal(
        node,
        "a condition is no number, and jumps in a continuous value",
        remedy="write CASE WHEN condition THEN 1 ELSE 0 END over a categorical column, a slope such as RAMP(e, a, b), "
        "or SHARE() with the condition in WHERE",
        code="condition-as-number",
    )


def _refused(code: str, problem: str, remedy: str) -> Callable[[Scalars, exp.Expr], Expression]:
    def refuse(scalars: Scalars, node: exp.Expr) -> Expression:
        raise scalars.context.refusal(node, problem, remedy=remedy, code=code)

    return refuse


_unsupported = _refused(
    "unsupported-expression",
    "this is no expression of the language",
    "write numbers, columns, + - * / **, CASE over categories and the functions of the language",
)
_jump = _refused(
    "jump-operator",
    "this jumps, so no noise could hide a small change of a record near the jump",
    "use the operands as they are, or a slope such as RAMP(e, a, b)",
)
_try = _refused("cast", "TRY_CAST gives NULL where it fails, and NULL is no number", "write the expression alone")
_texts = _refused(
    "like",
    "patterns of texts are no numbers",
    "list the values of a categorical column, as in CASE column WHEN 'a' THEN 1",
)

_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between, exp.Is, exp.And, exp.Or, exp.Not)

_BUILDERS: Mapping[type[exp.Expr], Callable[[Scalars, exp.Expr], Expression]] = {
    exp.Literal: _literal,
    exp.Neg: _negate,
    exp.Add: _binary(Add),
    exp.Sub: _binary(Subtract),
    exp.Mul: _binary(Multiply),
    exp.Div: _divide,
    exp.Pow: _power,
    exp.Anonymous: _call,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.TryCast: _try,
    exp.Column: _column,
    exp.Extract: _column,
    exp.Null: _null,
    exp.Like: _texts,
    exp.ILike: _texts,
    **dict.fromkeys((exp.IntDiv, exp.Mod), _jump),
    **dict.fromkeys((*_COMPARED, exp.Boolean, exp.NullSafeEQ, exp.NullSafeNEQ), _condition),
    exp.DataType: _vector,
}
"""How each kind of a part of the tree is translated; what is not listed is refused."""
