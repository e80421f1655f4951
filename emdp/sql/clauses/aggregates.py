"""The select list: which aggregates it holds, of what expressions, under what names."""

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, SqlError
from emdp.expressions.nodes.base import Expression
from emdp.questions.families import ALONE
from emdp.questions.item_kinds import KINDS, Setting, kind_of_function
from emdp.sql.context import Context, near, unwrapped
from emdp.sql.names.checking import checked
from emdp.sql.names.columns import UserKey
from emdp.sql.refusals.unsupported import SHAPES, UNSUPPORTED, aggregates
from emdp.sql.values.functions import first_argument, functions
from emdp.sql.values.scalar import Scalars

__all__ = ["Aggregate", "Entry", "expression_of", "is_aggregate", "read_entry", "refused_kind"]


REFUSED_AGGREGATES = (
    "mean", "quantile-function", "extreme", "one-record", "all-records", "sample-variance", "two-columns",
    "sum-variant", "logic-aggregate", "moment", "window-function",
)  # fmt: skip
"""Codes of refusals of aggregates."""


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a select list."""

    function: str  # Its name, in capitals
    kind: str | None  # Kind of item; None for those that stand alone
    expression: Expression | None
    weight: float
    node: exp.Anonymous  # The call, without `WEIGHT` around it


@dataclass(frozen=True)
class Entry:
    """One entry of a select list.

    Parameters
    ----------
    node : sqlglot.exp.Expr
        It, with its alias.
    body : sqlglot.exp.Expr
        It, without.
    alias : str
        Its alias, or empty.
    aggregate : Aggregate or None
        What it is, unless it is a column to group by.
    """

    node: exp.Expr
    body: exp.Expr
    alias: str
    aggregate: Aggregate | None


def is_aggregate(name: str) -> bool:
    """Say whether a function ranges over records, part of the language or not.

    >>> is_aggregate("AVG"), is_aggregate("max"), is_aggregate("ABS")
    (True, True, False)
    """
    refused = UNSUPPORTED.get(name.upper())
    return name.upper() in aggregates() or (refused is not None and refused.code in REFUSED_AGGREGATES)


def read_entry(scalars: Scalars, node: exp.Expr) -> Entry:
    """Return an entry of the select list, its expression type-checked."""
    body = unwrapped(node.this if isinstance(node, exp.Alias) else node)
    alias = node.alias if isinstance(node, exp.Alias) else ""
    if isinstance(body, exp.Anonymous) and body.name.upper() == "WEIGHT":
        inner, weight = _weight(scalars, body)
        return Entry(node, body, alias, _aggregate(scalars, inner, weight))
    if isinstance(body, exp.Anonymous) and is_aggregate(body.name):
        return Entry(node, body, alias, _aggregate(scalars, body, 1.0))
    # Of a component that the space lacks GROUP BY says more, if it stands there.
    if scalars.scope.component(body) is not None or scalars.scope.column(body) is not None:
        return Entry(node, body, alias, None)
    raise _no_entry(scalars, body)


def refused_kind(context: Context, aggregate: Aggregate, *, has_cap: bool, is_filtered: bool) -> SqlError | None:
    """Return the refusal of an aggregate that its statement's guarantee, cap or filter does not allow, if any."""
    if aggregate.kind is None:
        return None
    found = KINDS[aggregate.kind].refusal(
        Setting(context.is_user_level, has_cap, is_filtered, context.names.space.slots is not None)
    )
    if found is None:
        return None
    problem = found.problem.format(name=aggregate.function)
    return context.refusal(aggregate.node, problem, remedy=found.remedy, code=found.code)


def expression_of(scalars: Scalars, node: exp.Expr) -> Expression:
    """Return an argument of an aggregate, type-checked by EMD 2's rules."""
    expression = scalars.number(node)
    checked(scalars.context, expression, node)
    return expression


def _weight(scalars: Scalars, node: exp.Anonymous) -> tuple[exp.Anonymous, float]:
    context = scalars.context
    if len(node.expressions) != 2:
        raise context.refusal(
            node, "WEIGHT takes an aggregate and a number", remedy="write WEIGHT(AVG(e), 2)", code="argument-count"
        )
    inner = unwrapped(node.expressions[0])
    if not isinstance(inner, exp.Anonymous) or not is_aggregate(inner.name) or inner.name.upper() in ("WEIGHT", *ALONE):
        raise context.refusal(
            node.expressions[0],
            "WEIGHT stands around an aggregate that shares its statement's alpha with others",
            remedy="write WEIGHT(AVG(e), 2)",
            code="weight",
        )
    weight = scalars.constant(node.expressions[1], "a weight")
    if weight <= 0:
        raise context.refusal(
            node.expressions[1],
            f"a weight is above 0, got {weight:g}",
            remedy="write how many times more of the statement's alpha this column gets, such as 2",
            code="weight",
        )
    return inner, weight


def _aggregate(scalars: Scalars, node: exp.Anonymous, weight: float) -> Aggregate:
    name = node.name.upper()
    context = scalars.context
    if name not in aggregates() or name == "WEIGHT":
        refused = UNSUPPORTED[name]
        remedy = refused.remedy_for(first_argument(context, node))
        raise context.refusal(node, f"{name} {refused.problem}", remedy=remedy, code=refused.code)
    if name in ALONE:
        return Aggregate(name, None, None, weight, node)
    if name == "COUNT":
        return _count(scalars, node, weight)
    kind = kind_of_function(name)
    if kind is None:
        raise InternalError(f"{name} is an aggregate of no kind; please report this.")
    if kind == "share" and _is_elsewhere(node):
        if context.names.space.elsewhere is None:
            raise context.refusal(
                node.expressions[0],
                "no record is elsewhere in this table, and users without records have the neutral item",
                remedy="declare elsewhere = 1 in the catalog, or elsewhere=1 in emdp.read",
                code="no-elsewhere",
            )
        return Aggregate(name, "elsewhere", None, weight, node)
    if not KINDS[kind].has_expression:
        _check_count(context, node, 0, name + KINDS[kind].form)
        return Aggregate(name, kind, None, weight, node)
    _check_count(context, node, 1, name + KINDS[kind].form)
    return Aggregate(name, kind, expression_of(scalars, node.expressions[0]), weight, node)


def _is_elsewhere(node: exp.Anonymous) -> bool:
    """Say whether the one argument is the word ELSEWHERE."""
    arguments = node.expressions
    if len(arguments) != 1 or not isinstance(arguments[0], exp.Column) or arguments[0].table:
        return False
    identifier = arguments[0].this
    return isinstance(identifier, exp.Identifier) and not identifier.quoted and identifier.name.upper() == "ELSEWHERE"


def _check_count(context: Context, node: exp.Anonymous, count: int, form: str) -> None:
    if len(node.expressions) != count:
        name = node.name.upper()
        raise context.refusal(
            node,
            f"{name} takes {count or 'no'} argument{'' if count == 1 else 's'}, not {len(node.expressions)}",
            remedy=f"write {form}",
            code="argument-count",
        )


def _count(scalars: Scalars, node: exp.Anonymous, weight: float) -> Aggregate:
    context, arguments = scalars.context, node.expressions
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        return Aggregate("COUNT", "count", None, weight, node)
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        distinct = arguments[0]
        if isinstance(scalars.scope.column(distinct.expressions[0]), UserKey):
            return Aggregate("COUNT", "users", None, weight, node)
        raise context.refusal(
            node,
            "how many values occur depends on single records, but for the public number of users",
            remedy=f"write COUNT(DISTINCT {context.names.user}), or FREQUENCY(column)",
            code="count-distinct",
        )
    raise context.refusal(
        node,
        "COUNT of an expression counts what is not NULL, and no item is NULL",
        remedy="write COUNT(*) under USER_PRIVACY, or SHARE() with the condition in WHERE",
        code="count-expression",
    )


def _no_entry(scalars: Scalars, body: exp.Expr) -> SqlError:
    context, text = scalars.context, scalars.context.text(body)
    if isinstance(body, exp.Anonymous) and body.name.upper() not in {*functions(), *SHAPES, *UNSUPPORTED}:
        alike = near(body.name, aggregates())
        return context.refusal(
            body,
            f"there is no aggregate {body.name}",
            remedy=f"write {' or '.join(alike)}" if alike else f"the aggregates are {', '.join(aggregates())}",
            code="unknown-function",
        )
    inner = next((part for part in body.walk() if isinstance(part, exp.Anonymous) and is_aggregate(part.name)), None)
    if inner is not None:
        return context.refusal(
            body,
            "arithmetic of aggregates is done on the answer: noise has no scale for it beforehand",
            remedy=f"ask for {context.text(inner)} by itself, with constants moved inside it, and compute the rest "
            "from the answer",
            code="aggregate-arithmetic",
        )
    try:
        scalars.number(body)
    except SqlError as error:
        return error
    return context.refusal(
        body,
        f"`{text}` has a value for each record, and an answer has one for each group",
        remedy=f"write AVG({text})",
        code="no-aggregate",
    )
