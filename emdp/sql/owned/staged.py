"""The stages of a statement put together: what each is asked with, and how they share its price."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from sqlglot import exp

from emdp.base.errors import InternalError
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.stages import FreeSelect, Stage, StagedSelect
from emdp.questions.owned.totals import Key
from emdp.sql.context import Context
from emdp.sql.owned.aggregates import is_aggregate
from emdp.sql.owned.exists import with_values
from emdp.sql.owned.options import UNCAPPED
from emdp.sql.owned.outputs import Asked
from emdp.sql.owned.scopes import Scope, Tables
from emdp.sql.owned.sources import Sources
from emdp.sql.owned.stages import Stages
from emdp.sql.text.families import CAP, GROUP_CAP, GROUPS_CAP, MEASURE_CAP, RANGE, RHO, STAGE_WEIGHTS

__all__ = ["OwnedQuestion", "of_stage", "staged", "with_inner_values"]

OwnedQuestion: TypeAlias = OwnedSelect | StagedSelect | FreeSelect
"""What a statement over rows with owners asks."""

DISTINCT = "max_distinct_per_user"


def of_stage(context: Context, asked: Sequence[Asked], keys: Sequence[Key]) -> Context:
    """Return a stage with the options that are of use for it: an option is for the stages that have a use for it."""
    kinds = {own.aggregate.kind for own in asked}
    unused = {STAGE_WEIGHTS}
    if kinds <= set(UNCAPPED):
        unused |= {CAP, MEASURE_CAP, GROUP_CAP}
    if not keys:
        unused.add(GROUP_CAP)
    is_capped = GROUP_CAP in context.statement.options and GROUP_CAP not in unused
    if all(key.is_listed for key in keys) and ("users" not in kinds or not keys) and not is_capped:
        unused.add(GROUPS_CAP)
    if "distinct" not in kinds:
        unused.add(DISTINCT)
    options = {name: option for name, option in context.statement.options.items() if name not in unused}
    return Context(replace(context.statement, options=options), context.names)


def staged(context: Context, stages: Stages, last: OwnedSelect | FreeSelect) -> OwnedQuestion:
    """Return the question of a statement: its last step alone, or all stages."""
    options = context.statement.options
    steps = tuple(own.stage for own in stages.made.values())
    if all(stage.question is not last for stage in steps):
        steps = (*steps, Stage("answer", "answer", last))
    private = [stage for stage in steps if stage.is_private]
    weights = _weights(context, private)
    if not private:
        if not isinstance(last, FreeSelect):
            raise InternalError("a statement without private stages reads private rows; please report this.")
        return replace(last, text=context.statement.text)
    if len(steps) == 1 and isinstance(last, OwnedSelect):
        return last
    _check_used(context, [stage.question for stage in private if isinstance(stage.question, OwnedSelect)])
    if RHO in options:
        raise context.refusal(
            None,
            "rho is the price of one draw, and this statement has several stages",
            remedy="write epsilon and delta in place of rho",
            code="rho-stages",
        )
    return StagedSelect(steps, context.price, weights, context.statement.text)


def _check_used(context: Context, questions: Sequence[OwnedSelect]) -> None:
    """Refuse an option that no stage has a use for."""
    kinds = {item.kind for own in questions for item in own.items}
    used = {
        CAP: bool(kinds - set(UNCAPPED)),
        GROUPS_CAP: any(own.groups_cap is not None or own.measures_groups for own in questions),
        DISTINCT: "distinct" in kinds,
        RANGE: any(own.ranged for own in questions),
    }
    for name, is_used in used.items():
        if name in context.statement.options and not is_used:
            raise context.refusal(
                None,
                f"{name} has no use here, in no stage of the statement",
                remedy=f"leave {name} out",
                code="cap-unused",
            )


def _weights(context: Context, private: Sequence[Stage]) -> tuple[float, ...]:
    option = context.statement.options.get(STAGE_WEIGHTS)
    if option is None:
        return (1.0,) * len(private)
    found = tuple(float(part) for part in str(option.value).split(","))
    if len(found) != len(private) or len(found) < 2:
        listed = ", ".join(stage.label for stage in private)
        many = f"{len(private)} stages read private rows ({listed})" if private else "no stage reads private rows"
        raise context.refusal(
            None,
            f"stage_weights has {len(found)} numbers, and {many}",
            remedy="write one number for each, in this order" if len(private) > 1 else "leave stage_weights out",
            code="stage-weights",
        )
    return found


def with_inner_values(sources: Sources, scope: Scope, tree: exp.Select, tables: Tables) -> tuple[exp.Select, Scope]:
    """Return a SELECT whose aggregates have columns in the places of sub-queries that stand for one value.

    Raises
    ------
    SqlError
        For one around an aggregate: what is computed of an answer has columns of that answer alone.
    """
    parts = [*tree.expressions, *(tree.args.get(part) for part in ("group", "having", "order"))]
    if not any(part is not None and part.find(exp.Subquery) for part in parts):
        return tree, scope
    known = sources.around.known(tree, tables)
    select = tree.copy()
    for part in (*select.expressions, *(select.args.get(name) for name in ("group", "having", "order"))):
        for node in () if part is None else list(part.find_all(exp.Subquery)):
            outer = node.parent
            while outer is not None and outer is not select and not is_aggregate(outer):
                outer = outer.parent
            if outer is None or outer is select:
                raise sources.context.refusal(
                    node,
                    "a sub-query around an aggregate is an answer beside another one",
                    remedy="write WITH a AS (SELECT ..), b AS (SELECT ..) and SELECT a.x / b.y FROM a CROSS JOIN b",
                    code="value-around",
                )
        if part is not None:
            scope = with_values(sources, scope, part, known)
    return select, scope
