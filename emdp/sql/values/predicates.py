"""Conditions: comparisons of public columns and categories with literals, and AND, OR, NOT of them.

NOT is pushed down to the comparisons first (De Morgan's laws hold in SQL's logic of three values), so that what is
combined is only ever true or not: AND is a product of weights, OR is ``1 - (1 - a)(1 - b)``, and conditions on one
finite part are sets of its values, met and joined exactly.
"""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, SqlError
from emdp.expressions.nodes.base import Constant, Expression
from emdp.sql.context import Context, unwrapped
from emdp.sql.names.checking import checked
from emdp.sql.names.columns import Condition, Factor, PartCondition, UserCondition, indicator
from emdp.sql.names.scope import Numbers
from emdp.sql.values.comparisons import COMPARISONS, Comparisons, is_discrete, negated

__all__ = ["Predicates", "as_factor", "conjuncts", "merged", "no_category"]


@dataclass(frozen=True, eq=False)
class Predicates:
    """The translation of conditions."""

    numbers: Numbers
    is_case: bool = False

    @property
    def context(self) -> Context:
        """The statement."""
        return self.numbers.context

    def condition(self, node: exp.Expr, *, is_negated: bool = False) -> Condition:
        """Return what a condition comes down to.

        Raises
        ------
        SqlError
            If it jumps in a continuous column, joins users with records by OR, or is no condition.
        """
        inner = unwrapped(node)
        if isinstance(inner, exp.Not):
            return self.condition(inner.this, is_negated=not is_negated)
        if isinstance(inner, exp.And | exp.Or):
            operands = _operands(inner)
            conditions = [self.condition(operand, is_negated=is_negated) for operand in operands]
            return self._combined(inner, operands, conditions, is_and=isinstance(inner, exp.And) != is_negated)
        leaf = self._leaf(inner)
        return negated(leaf) if is_negated else leaf

    def _leaf(self, node: exp.Expr) -> Condition:
        compared = Comparisons(self.numbers, self.is_case)
        if type(node) in COMPARISONS:
            return compared.comparison(node)
        if isinstance(node, exp.In):
            return compared.membership(node)
        if isinstance(node, exp.Between):
            return compared.between(node)
        if isinstance(node, exp.Is):
            return compared.is_null(node)
        self._check_form(node)
        column = self.numbers.scope.column(node)
        if column is not None and is_discrete(column):
            return compared.truth(node, column)
        return self._soft(node)

    def _check_form(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Like | exp.ILike):
            problem, remedy, code = (
                "patterns are not part of this language",
                "list the values that match, as in column IN ('a', 'b')",
                "like",
            )
        elif isinstance(node, exp.Boolean):
            problem, remedy, code = (
                "TRUE and FALSE choose everything and nothing",
                "leave the condition out, or compare a column with a literal",
                "truth-value",
            )
        elif isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ):
            problem, remedy, code = (
                "IS DISTINCT FROM is not part of this language",
                "write = or <>, with IS NULL beside it where a public user column may be NULL",
                "null-safe",
            )
        else:
            return
        raise self.context.refusal(node, problem, remedy=remedy, code=code)

    def _soft(self, node: exp.Expr) -> Factor:
        if self.is_case:
            raise no_category(self.context, node)
        expression = self.numbers.number(node)
        if isinstance(expression, Constant):
            raise self.context.refusal(
                node,
                "this condition is a constant, the same for every record",
                remedy="leave it out, or compare a column with a literal",
                code="constant-condition",
            )
        known = checked(self.context, expression, node)
        if known.low >= 0 and known.high <= 1:
            return Factor(expression)
        text = self.context.text(node)
        raise self.context.refusal(
            node,
            f"`{text}` has the range [{known.low:.6g}, {known.high:.6g}], and a condition must lie in [0, 1]",
            remedy=f"write RAMP({text}, a, b), which climbs from 0 at a to 1 at b, or CLAMP({text}, 0, 1)",
            code="condition-range",
        )

    def _combined(
        self, node: exp.Expr, operands: Sequence[exp.Expr], conditions: Sequence[Condition], *, is_and: bool
    ) -> Condition:
        users = [condition for condition in conditions if isinstance(condition, UserCondition)]
        if len(users) == len(conditions):
            return UserCondition(reduce(and_ if is_and else or_, (condition.values for condition in users)))
        if users:
            raise self.context.refusal(
                node,
                "this joins a condition on users with one on records: the first changes the public number of users, "
                "the second weighs records",
                remedy="join the two by AND at the top of WHERE alone, or write two statements",
                code="mixed-conditions",
            )
        return _joined(self.context, node, list(zip(conditions, operands, strict=True)), is_and=is_and)


def no_category(context: Context, node: exp.Expr) -> SqlError:
    """Return the refusal of what CASE should choose by, but is no condition on one categorical column."""
    return context.refusal(
        node,
        f"CASE chooses by one categorical column of the records, which `{context.text(node)}` is not",
        remedy="compare a categorical column with its listed values, nest one CASE in another for two columns, name "
        "public user columns in WHERE or GROUP BY, and blend by RAMP(e, a, b) in a continuous value",
        code="case-condition",
    )


def conjuncts(node: exp.Expr) -> tuple[exp.Expr, ...]:
    """Return the conditions that AND joins at the top, from left to right.

    >>> import sqlglot
    >>> [part.sql() for part in conjuncts(sqlglot.parse_one("a AND (b AND c) AND (d OR e)"))]
    ['a', 'b', 'c', 'd OR e']
    """
    inner = unwrapped(node)
    return _operands(inner) if isinstance(inner, exp.And) else (inner,)


def merged(conditions: Sequence[tuple[Condition, exp.Expr]]) -> list[tuple[Condition, exp.Expr]]:
    """Return conditions that all must hold, with those on one finite part as one."""
    found: list[tuple[Condition, exp.Expr]] = []
    for condition, node in conditions:
        for place, (earlier, first) in enumerate(found):
            both = _both(earlier, condition)
            if both is not None:
                found[place] = (both, first)
                break
        else:
            found.append((condition, node))
    return found


def as_factor(context: Context, condition: PartCondition | Factor, node: exp.Expr) -> Expression:
    """Return a condition on records as a weight in [0, 1]; unknown counts as false."""
    if isinstance(condition, Factor):
        return condition.expression
    weight = indicator(condition.part, condition.holds)
    for part in (*weight.operands, weight):
        context.made(part, node)
    return weight


def _both(first: Condition, second: Condition) -> PartCondition | None:
    if not isinstance(first, PartCondition) or not isinstance(second, PartCondition) or first.part is not second.part:
        return None
    return first.both(second)


def _operands(node: exp.Expr) -> tuple[exp.Expr, ...]:
    kind = exp.And if isinstance(node, exp.And) else exp.Or
    found: list[exp.Expr] = []
    stack = [node]
    while stack:
        inner = unwrapped(stack.pop())
        if isinstance(inner, kind):
            stack += [inner.expression, inner.this]
        else:
            found.append(inner)
    return tuple(found)


def _joined(
    context: Context, node: exp.Expr, conditions: list[tuple[Condition, exp.Expr]], *, is_and: bool
) -> PartCondition | Factor:
    if not is_and:
        # a OR b is NOT (NOT a AND NOT b), also where sets of one part leave values unknown
        conditions = [(negated(condition), part) for condition, part in conditions]
    met = merged(conditions)
    first = met[0][0]
    if len(met) == 1 and isinstance(first, PartCondition):
        return first if is_and else first.negated()
    weights = [_weight(context, condition, part, is_and=is_and) for condition, part in met]
    product = reduce(lambda left, right: context.made(left * right, node), weights)
    return Factor(product if is_and else context.made(1 - product, node))


def _weight(context: Context, condition: Condition, node: exp.Expr, *, is_and: bool) -> Expression:
    if isinstance(condition, UserCondition):
        raise InternalError("a condition on users was taken for one on records; please report this.")
    if is_and or isinstance(condition, Factor):
        return as_factor(context, condition, node)
    # here the condition is NOT of a disjunct, whose weight is 1 where that disjunct is not true
    return context.made(1 - as_factor(context, condition.negated(), node), node)
