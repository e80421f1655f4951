"""Options of a statement over rows with owners: caps, noise, and what needs which."""

from collections.abc import Sequence

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.questions.owned.question import OwnedItem
from emdp.questions.owned.totals import Key
from emdp.rows.nodes import Node
from emdp.sql.context import Context
from emdp.sql.owned.needed import missing_options, needs_lists
from emdp.sql.owned.outputs import Asked
from emdp.sql.owned.remedies import list_remedy
from emdp.sql.owned.scopes import Scope
from emdp.sql.text.families import (
    AUTOMATIC,
    CAP,
    EXPECTED_SHARE,
    FAMILIES,
    FAR_POINT,
    GROUP_CAP,
    GROUPS_CAP,
    MEASURE_CAP,
    RANGE,
    RHO,
)

__all__ = [
    "check_cap",
    "check_distinct_cap",
    "check_listed",
    "check_options",
    "check_unlisted",
    "is_automatic",
    "is_measured",
    "ranged",
    "record_cap",
    "whole_option",
]

UNCAPPED = ("users", "distinct")
"""Kinds that no cap of records is for."""

TOTALS = ("rows", "count", "sum")
"""Kinds of aggregates that need some cap, which is automatic where none is given."""


def check_options(context: Context) -> None:
    """Refuse options of other aggregates, and two that do not go together."""
    statement = context.statement
    if RHO in statement.options and is_automatic(context, GROUPS_CAP):
        raise context.refusal(
            None,
            "rho is of Gaussian noise alone, and an automatic max_groups_per_user has other noise first",
            remedy="write max_groups_per_user = 5, or the number that fits, or write epsilon in place of rho",
            code="rho-cap",
        )
    for name, option in statement.options.items():
        if name in FAMILIES or name in (EXPECTED_SHARE, FAR_POINT):
            raise SqlError(
                f"the option {name} is for other aggregates",
                remedy="leave it out",
                code="option-family",
                sql=statement.sql,
                start=option.start,
                end=option.end,
            )


def record_cap(context: Context, scope: Scope, items: Sequence[OwnedItem]) -> int | None:
    """Return the cap: 1 where each user has one row at most, which bounds nothing away."""
    if scope.relation.is_per_user:
        return 1 if any(item.kind not in UNCAPPED for item in items) else None
    return whole_option(context, CAP)


def is_measured(context: Context, scope: Scope, items: Sequence[OwnedItem]) -> bool:
    """Return whether a part of epsilon buys what a cap leaves out, or the cap itself where none is given."""
    is_capped = record_cap(context, scope, items) is not None or GROUP_CAP in context.statement.options
    needs_one = not is_capped and any(item.kind not in UNCAPPED for item in items)
    return not scope.relation.is_per_user and (needs_one or _measures(context))


def check_cap(context: Context, scope: Scope, asked: Sequence[Asked]) -> None:
    """Refuse sums over records that nothing bounds, and a cap that bounds nothing."""
    capped = [own for own in asked if own.aggregate.kind not in UNCAPPED]
    options = context.statement.options
    totals = [own for own in capped if own.aggregate.kind in TOTALS or own.aggregate.weight is not None]
    if GROUP_CAP in options:
        _check_group_cap(context, bool(capped))
        return
    if capped and not totals and CAP not in options:
        # Of means alone it must be said, since other means without a cap weigh every user equally.
        missing = missing_options(context, scope)
        is_auto = missing[-1:] == [f"{CAP} = {AUTOMATIC}"]
        raise context.refusal(
            capped[0].body,
            f"{capped[0].aggregate.function} over these rows weighs a user by how many records they have, and nothing "
            "bounds that",
            remedy=f"add {', '.join(missing)} to OPTIONS{', or the number that fits, such as 50' if is_auto else ''}",
            code="cap-missing",
        )
    is_measured = bool(capped) and (options[CAP].value == AUTOMATIC if CAP in options else True)
    if RHO in options and (is_measured or _measures(context)):
        raise context.refusal(
            None,
            "rho is of Gaussian noise alone, and an automatic or measured cap has other noise first",
            remedy="add max_records_per_user = 50, or the number that fits, or write epsilon in place of rho",
            code="rho-cap",
        )
    if not capped and (CAP in options or _measures(context)):
        raise context.refusal(
            None,
            "max_records_per_user has no use here, for no record is counted",
            remedy="leave max_records_per_user out",
            code="cap-unused",
        )


def _check_group_cap(context: Context, is_capped: bool) -> None:
    """Refuse a cap of each group beside another cap, or without what it needs."""
    options = context.statement.options
    problem, remedy = "", ""
    if not is_capped or context.statement.tree.args.get("group") is None:
        problem, remedy = "has no use here, for no records are counted by groups", "leave max_records_per_group out"
    elif CAP in options or _measures(context):
        problem, remedy = "is a cap of its own", f"leave {CAP if CAP in options else MEASURE_CAP} out"
    elif GROUPS_CAP not in options:
        problem = "leaves open in how many groups a user counts"
        remedy = "add max_groups_per_user = 5, or the number that fits"
    if problem:
        raise context.refusal(None, f"max_records_per_group {problem}", remedy=remedy, code="group-cap")


def ranged(context: Context, items: Sequence[OwnedItem], *, is_stage: bool) -> tuple[Node, ...]:
    """Return the arguments whose ranges are chosen; an option that chooses none is refused, but in stages."""
    found = tuple(dict.fromkeys(item.node for item in items if item.is_ranged and item.node is not None))
    if RANGE not in context.statement.options:
        return found
    if not found and not is_stage:
        raise context.refusal(
            None,
            f"{RANGE} has no use here, for the range of every number that is summed up is known",
            remedy=f"leave {RANGE} out",
            code="range-unused",
        )
    if found and RHO in context.statement.options:
        raise context.refusal(
            None,
            "rho is of Gaussian noise alone, and an automatic range has other noise first",
            remedy="write CLAMP with the range that you mean, or write epsilon in place of rho",
            code="rho-cap",
        )
    return found


def check_distinct_cap(context: Context, asked: Sequence[Asked]) -> None:
    """Refuse a cap of values where none are counted."""
    kinds = {own.aggregate.kind for own in asked}
    if "max_distinct_per_user" in context.statement.options and "distinct" not in kinds:
        raise context.refusal(
            None,
            "max_distinct_per_user has no use here, for no different values are counted",
            remedy="leave max_distinct_per_user out",
            code="cap-unused",
        )


def check_listed(context: Context, asked: Sequence[Asked], keys: tuple[Key, ...]) -> None:
    """Refuse what is answered by listed keys alone."""
    if all(key.is_listed for key in keys):
        return
    for own in asked:
        if own.aggregate.kind in ("quantile", "distinct") or own.aggregate.condition is not None:
            raise context.refusal(
                own.body,
                f"this is answered by groups of a public list alone, and `{keys[0].name}` has none",
                remedy="list the groups in WHERE, or leave this column out",
                code="listed-groups-alone",
            )


def check_unlisted(context: Context, scope: Scope, written: exp.Expr, node: Node, *, is_user: bool) -> None:
    """Refuse a key without a public list where the options do not allow for thresholds; ``is_user``: the users."""
    options, text = context.statement.options, context.text(written)
    if context.price.delta > 0 and GROUPS_CAP in options:
        return
    if is_user:
        raise context.refusal(
            written,
            "a group of one user would show what that user has",
            remedy=f"ask it of all of them: AVG(CLAMP(n, 0, 100)) FROM (SELECT {text}, COUNT(*) AS n "
            f"FROM {context.names.table} GROUP BY {text}) q",
            code="group-user",
        )
    listed = f"{list_remedy(context, scope, written, node)}, or join a public table that lists them"
    missing = f"add {', '.join(missing_options(context, scope))} to OPTIONS"
    raise context.refusal(
        written,
        f"which values `{text}` has is known from the records alone, so that either a public list says it, or only "
        "groups of many users are shown",
        remedy=listed if needs_lists(context, scope) else f"{missing} for groups of many users; or {listed}",
        code="unlisted-groups",
    )


def _measures(context: Context) -> bool:
    option = context.statement.options.get(MEASURE_CAP)
    return option is not None and option.value == "true"


def whole_option(context: Context, name: str) -> int | None:
    """Return an option that is a whole number, where it is given as one."""
    option = context.statement.options.get(name)
    return None if option is None or option.value == AUTOMATIC else int(option.value)


def is_automatic(context: Context, name: str) -> bool:
    """Return whether an option is chosen from the data."""
    option = context.statement.options.get(name)
    return option is not None and option.value == AUTOMATIC
