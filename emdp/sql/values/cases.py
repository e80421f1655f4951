"""``CASE`` over categories: which branch each listed value takes, the first that holds, as one node (EMD 2)."""

from collections.abc import Sequence

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.expressions.nodes.base import Expression
from emdp.expressions.nodes.categories import Case
from emdp.spaces.listed.finite import FinitePart
from emdp.sql.names.columns import PartCondition, Values
from emdp.sql.names.scope import Numbers
from emdp.sql.values.comparisons import is_discrete
from emdp.sql.values.predicates import Predicates, no_category

__all__ = ["case"]


@dataclass(frozen=True)
class Branch:
    """One ``WHEN``: the values of a finite part that choose it, and what it gives."""

    part: FinitePart
    values: Values
    result: Expression


def case(numbers: Numbers, node: exp.Case) -> Expression:
    """Return what ``CASE`` means.

    Raises
    ------
    SqlError
        If a condition is not on one categorical column, or ``ELSE`` is missing.
    """
    context = numbers.context
    if node.args.get("default") is None:
        raise context.refusal(
            node,
            "CASE without ELSE is NULL where no branch holds, and NULL is no number",
            remedy="add ELSE 0, or the number that is meant",
            code="case-else",
        )
    branches = [_branch(numbers, node, when) for when in node.args["ifs"]]
    result = numbers.number(node.args["default"])
    # runs of branches on one part make one node, from the last to the first
    while branches:
        start = len(branches) - 1
        while start > 0 and branches[start - 1].part is branches[-1].part:
            start -= 1
        result = context.made(_one_case(branches[start:], result), node)
        branches = branches[:start]
    return result


def _branch(numbers: Numbers, node: exp.Case, when: exp.If) -> Branch:
    subject = node.this
    test = when.this if subject is None else exp.EQ(this=subject, expression=when.this)
    condition = _condition(numbers, test, blamed=when.this, subject=subject)
    return Branch(condition.part, condition.holds, numbers.number(when.args["true"]))


def _condition(numbers: Numbers, test: exp.Expr, *, blamed: exp.Expr, subject: exp.Expr | None) -> PartCondition:
    if subject is not None:
        column = numbers.scope.column(subject)
        if not is_discrete(column):
            raise no_category(numbers.context, subject)
    condition = Predicates(numbers, is_case=True).condition(test)
    if isinstance(condition, PartCondition):
        return condition
    raise no_category(numbers.context, blamed if subject is None else subject)


def _one_case(branches: Sequence[Branch], otherwise: Expression) -> Expression:
    """Return the node for conditions on one part: each value takes the first branch that holds it."""
    part = branches[0].part
    named = {label for branch in branches for label in branch.values.named}
    results = [*(branch.result for branch in branches), otherwise]
    rest = next((place for place, branch in enumerate(branches) if branch.values.is_rest), len(branches))
    groups: dict[int, list[object]] = {}
    for label in sorted(named, key=part.code_of):
        place = next((place for place, branch in enumerate(branches) if label in branch.values), len(branches))
        if place != rest:
            groups.setdefault(place, []).append(label)
    if not groups:
        return results[rest]
    places = sorted(groups)
    return Case(
        tuple(tuple(groups[place]) for place in places),
        tuple(results[place] for place in places),
        results[rest],
        part.columns,
    )
