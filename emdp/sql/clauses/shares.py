"""``SHARES``: which query it comes down to, and which clauses it does not have."""

from dataclasses import replace

from sqlglot import exp

from emdp.expressions.nodes.base import Expression
from emdp.questions.facts import SHARES_MODELS, Shares, SharesModel
from emdp.questions.select import Order
from emdp.sql.clauses.aggregates import Aggregate
from emdp.sql.clauses.conditions import Chosen, chosen, where_conditions
from emdp.sql.clauses.grouping import Grouping
from emdp.sql.context import Context
from emdp.sql.text.families import MESSAGES, option_refusal
from emdp.sql.values.scalar import Scalars

__all__ = ["FACT", "check_unchosen", "shares_query"]

FACT = "fact"
"""Column of the facts in an answer."""


def check_unchosen(context: Context, aggregate: Aggregate, grouping: Grouping, left: Chosen, tree: exp.Select) -> None:
    """Refuse conditions and a choice or groups of users, which facts of all records of all users do not have."""
    if left.factor is None and grouping.people is None:
        return
    raise context.refusal(
        left.node or tree.args.get("group") or tree.args.get("where") or aggregate.node,
        "SHARES is of all records of all public users, whose messages are alike",
        remedy="write the condition into each fact, joined by AND, or leave it out",
        code="shares-where",
    )


def shares_query(
    scalars: Scalars,
    node: exp.Anonymous,
    name: str,
    order: tuple[Order, ...],
    limits: tuple[int | None, int],
    written: str,
) -> Shares:
    """Return the query of a statement with ``SHARES``, its conditions type-checked.

    The local model spends no delta, so that one in the header is not handed on.
    """
    context = scalars.context
    if not node.expressions:
        raise context.refusal(
            node, "SHARES takes a condition or more", remedy="write SHARES(kind = 'cafe')", code="argument-count"
        )
    if not context.is_user_level:
        raise context.refusal(
            node,
            "one record turns a fact over, however near it moves, so that no metric bounds SHARES",
            remedy="write WITH USER_PRIVACY OPTIONS (epsilon = 1.0), or SHARE() with WHERE, the share of records",
            code="shares-under-emd",
        )
    options = context.statement.options
    conditions = tuple(_condition(scalars, entry) for entry in node.expressions)
    names = tuple(context.text(entry) for entry in node.expressions)
    if len(set(names)) < len(names):
        twice = next(entry for place, entry in enumerate(node.expressions) if names[place] in names[:place])
        raise context.refusal(twice, "the fact is asked for twice", remedy="leave it out", code="equal-facts")
    _check_options(context)
    asked = options["model"].value if "model" in options else "local"
    model: SharesModel = next(word for word in SHARES_MODELS if word == asked)
    return Shares(
        conditions,
        replace(context.price, delta=0.0) if model == "local" else context.price,
        model,
        int(options[MESSAGES].value) if MESSAGES in options else "auto",
        names,
        name,
        order,
        *limits,
        statement=context.statement.text,
        written=written,
    )


def _condition(scalars: Scalars, entry: exp.Expr) -> Expression:
    context = scalars.context
    left = chosen(context, where_conditions(scalars, entry))
    if left.factor is None or left.users is not None:
        raise context.refusal(
            entry,
            f"`{context.text(entry)}` is no condition on a record",
            remedy="write a condition on the space's columns, such as kind = 'cafe'",
            code="fact-condition",
        )
    return left.factor


def _check_options(context: Context) -> None:
    statement, options = context.statement, context.statement.options
    model = options.get("model")
    if model is not None and model.value == "shuffle" and not ("delta" in options and options["delta"].value):
        problem, remedy = "the shuffle model spends a delta above 0", "add delta = 1e-9 to OPTIONS"
        raise option_refusal(statement, model, problem, remedy, "model-option")
    if "noise" in options and options["noise"].value != "auto":
        problem, remedy = "SHARES is made of users' bits, and has no noise beside them", "leave noise out"
        raise option_refusal(statement, options["noise"], problem, remedy, "model-option")
