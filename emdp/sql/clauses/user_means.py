"""``USER_MEAN``: which query it comes down to, and which options of the header it takes."""

from dataclasses import replace

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.expressions.nodes.base import Expression
from emdp.questions.itemwise import MODELS
from emdp.questions.user_mean import MEAN_METHODS, UserMean
from emdp.sql.clauses.aggregates import expression_of
from emdp.sql.context import Context
from emdp.sql.names.checking import checked
from emdp.sql.text.families import option_refusal
from emdp.sql.values.scalar import Scalars

__all__ = ["check_all_users", "user_mean_query"]

MOST_COORDINATES = 24
"""Longest vector of a statement: ways to release longer ones take seconds to compare."""

NEEDS_SPREAD = ("between_users", "records_per_user", "failure")
"""Options that say something of the range, which nothing but ``spread`` makes a statement look for."""


def user_mean_query(
    scalars: Scalars, node: exp.Anonymous, *, alias: str, limit: int | None, offset: int, written: str
) -> UserMean:
    """Return the query of a statement with ``USER_MEAN``, its expressions type-checked.

    The bounds of each expression are its range in the space. The local model spends no delta, so that one in the header
    is not handed on.
    """
    context = scalars.context
    count = len(node.expressions)
    if not 1 <= count <= MOST_COORDINATES:
        longer = ", or ask for longer vectors in Python by session.user_mean" if count else ""
        raise context.refusal(
            node,
            f"USER_MEAN takes an expression, or up to {MOST_COORDINATES} that are one vector, not {count}",
            remedy=f"write USER_MEAN(e){longer}",
            code="argument-count",
        )
    expressions = tuple(_varying(scalars, entry) for entry in node.expressions)
    if not context.is_user_level:
        raise _no_user_level(context, node)
    options = context.statement.options
    values = {name: option.value for name, option in options.items()}
    _check_options(context)
    model = next(law for law in MODELS if law == values.get("model", "central"))
    spread, between = values.get("spread"), values.get("between_users", 0.0)
    return UserMean(
        expressions=expressions,
        price=replace(context.price, delta=0.0) if model == "local" else context.price,
        model=model,
        spread=None if spread is None else (float(spread),),
        between=(float(between),),
        records=int(values["records_per_user"]) if "records_per_user" in values else None,
        failure=float(values.get("failure", 0.01)),
        method=next(method for method in MEAN_METHODS if method == values.get("method", "auto")),
        names=_names(alias, len(expressions)),
        limit=limit,
        offset=offset,
        statement=context.statement.text,
        written=written,
    )


def check_all_users(
    context: Context, node: exp.Anonymous, *, chosen: exp.Expr | None, users: exp.Expr | None, is_grouped: bool
) -> None:
    """Refuse groups and conditions, which ``USER_MEAN`` does not have."""
    blamed = chosen if chosen is not None else users
    if blamed is not None:
        clause = "groups" if is_grouped else "conditions"
        raise context.refusal(
            blamed,
            f"USER_MEAN is of all records of all public users, and has no {clause}",
            remedy=f"leave it out, or ask for AVG({context.text(node.expressions[0])}), which has {clause}",
            code="user-mean-groups" if is_grouped else "user-mean-where",
        )


def _varying(scalars: Scalars, entry: exp.Expr) -> Expression:
    context = scalars.context
    expression = expression_of(scalars, entry)
    if checked(context, expression, entry).spread == 0:
        raise context.refusal(
            entry,
            f"`{context.text(entry)}` is the same for every item, and its mean is public",
            remedy="ask for an expression that varies",
            code="constant-user-mean",
        )
    return expression


def _no_user_level(context: Context, node: exp.Anonymous) -> SqlError:
    means = ", ".join(f"AVG({context.text(entry)})" for entry in node.expressions)
    return context.refusal(
        node,
        "USER_MEAN looks for a range at the user level, and under EMD_PRIVACY the metric bounds the change already",
        remedy=f"write {means}, which needs no range, or WITH USER_PRIVACY OPTIONS (epsilon = 1.0, spread = 2.0)",
        code="user-mean-under-emd",
    )


def _check_options(context: Context) -> None:
    statement = context.statement
    options = statement.options
    method, model, noise = options.get("method"), options.get("model"), options.get("noise")
    if noise is not None and noise.value != "auto":
        problem = "USER_MEAN takes the noise or the messages that are expected to be nearest"
        raise option_refusal(statement, noise, problem, "leave noise out", "user-mean-option")
    if model is not None and model.value == "shuffle" and not ("delta" in options and options["delta"].value):
        problem, remedy = "the shuffle model spends a delta above 0", "add delta = 1e-9 to OPTIONS"
        raise option_refusal(statement, model, problem, remedy, "user-mean-option")
    if "spread" in options:
        return
    remedy = "add spread = 2.0, or how far a user's records lie from their own mean"
    if method is not None and method.value == "range":
        problem = "no range is found without spread, which says how far a user's records lie from their own mean"
        raise option_refusal(statement, method, problem, f"{remedy}, or write method = 'direct'", "user-mean-option")
    for name in NEEDS_SPREAD:
        if name in options:
            problem = f"the option {name} does nothing without spread, for no range is looked for"
            raise option_refusal(statement, options[name], problem, f"{remedy}, or leave it out", "user-mean-option")


def _names(alias: str, count: int) -> tuple[str, ...] | None:
    if not alias:
        return None
    return (alias,) if count == 1 else tuple(f"{alias}_{number}" for number in range(1, count + 1))
