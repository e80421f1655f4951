"""``model`` and ``messages`` of statements with means: who is trusted, and what users then cannot be asked."""

from collections.abc import Sequence

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError
from emdp.questions.means import MEAN_MODELS, MeanModel, Messages
from emdp.sql.clauses.aggregates import Aggregate
from emdp.sql.clauses.grouping import Grouping
from emdp.sql.context import Context
from emdp.sql.text.families import EXPECTED_SHARE, MESSAGES, MIXED, NEIGHBOURS, option_refusal

__all__ = ["Asked", "asked_model", "check_share"]


@dataclass(frozen=True)
class Asked:
    """Who sees what of a statement with means."""

    model: MeanModel = "central"
    messages: Messages = "auto"  # How many bits of each mean a user sends, in the shuffle model


def asked_model(context: Context, aggregates: Sequence[Aggregate], grouping: Grouping, tree: exp.Select) -> Asked:
    """Return the model of a statement with a select list, and refuse what has no answer in it.

    Parameters
    ----------
    tree : sqlglot.exp.Select
        The statement's tree, of which the clause that groups is underlined.
    """
    options = context.statement.options
    option, messages = options.get("model"), options.get(MESSAGES)
    model: MeanModel = next((word for word in MEAN_MODELS if option is not None and word == option.value), "central")
    if messages is not None and model != "shuffle":
        problem = "messages says how many bits of each mean a user sends to be mixed"
        raise option_refusal(
            context.statement, messages, problem, "add model = 'shuffle', or leave it out", "option-unused"
        )
    if option is None or model == "central":
        return Asked()
    _check_options(context, model)
    for aggregate in aggregates:
        if aggregate.function not in MIXED:
            raise context.refusal(
                aggregate.node,
                f"{aggregate.function} is not made of means that a user could send in the {model} model",
                remedy=f"ask for {', '.join(MIXED)}, or leave model out",
                code="model-aggregate",
            )
    if grouping.groups or grouping.people is not None:
        what = "group records" if grouping.groups else "choose or group users"
        blamed = grouping.node or tree.args.get("group") or tree.args.get("where") or aggregates[0].node
        raise context.refusal(
            blamed,
            f"in the {model} model every user sends the same messages, so that none can {what}",
            remedy="write one statement for each value, with a condition on the records in WHERE, or leave model out",
            code="model-groups",
        )
    count: Messages = "auto" if messages is None else int(messages.value)
    return Asked(model, count)


def check_share(context: Context, *, is_filtered: bool) -> None:
    """Refuse a share that is expected of records which nothing chooses."""
    option = context.statement.options.get(EXPECTED_SHARE)
    if option is not None and not is_filtered:
        problem = "expected_share says which part of the records WHERE or GROUP BY chooses, and neither does here"
        remedy = "leave it out, or add a condition on the records"
        raise option_refusal(context.statement, option, problem, remedy, "option-unused")


def _check_options(context: Context, model: MeanModel) -> None:
    statement, options = context.statement, context.statement.options
    if model == "shuffle" and not ("delta" in options and options["delta"].value):
        problem = "the shuffle model spends a delta above 0"
        raise _refused(context, "model", problem, "add delta = 1e-9 to OPTIONS")
    if "noise" in options and options["noise"].value != "auto":
        raise _refused(context, "noise", f"the {model} model takes the messages that are nearest", "leave noise out")
    if "max_records_per_user" in options:
        problem = f"in the {model} model every user weighs the same, and max_records_per_user weighs records"
        raise _refused(context, "max_records_per_user", problem, "leave it out")
    asked = options.get(NEIGHBOURS)
    if asked is not None and asked.value == "remove":
        problem = f"the number of messages of the {model} model tells the number of users"
        raise option_refusal(statement, asked, problem, "leave neighbours out, or take the central model", "removal")


def _refused(context: Context, name: str, problem: str, remedy: str) -> SqlError:
    return option_refusal(context.statement, context.statement.options[name], problem, remedy, "model-option")
