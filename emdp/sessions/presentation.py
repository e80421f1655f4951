"""The public part of an answer, from a plan and its table; and statistics that are the same on every table."""

from fractions import Fraction
from typing import Any

from emdp.answers import PreviewedStatement
from emdp.base.statistic import Statistic
from emdp.estimators import MessagePlan, Plan
from emdp.expressions.cells.reference import cell_values
from emdp.privacy.guarantees.kinds import is_by_removal
from emdp.sessions.planning import Planned
from emdp.tables import Table
from emdp.tables.engine import explain_cost
from emdp.tables.readings import explain_reading

__all__ = ["constant_statistics", "previewed", "public_part"]

COUNTED = "the public list or number of users is right, and does not come from the private records"
LISTED = "a list of users, where one is declared, holds everybody who has records, and does not come from them"
SPACE = "the item space (domain, metric, diameter) was fixed without looking at the private records"


def public_part(planned: Planned, table: Table) -> dict[str, Any]:
    """Return the arguments of a ``Description``: what is said of an answer without looking at the data."""
    plan = planned.plan
    is_removal = is_by_removal(plan.guarantee)
    absent = plan.without_records or _neutral(table)
    users = f"a public user without records has {absent}"
    return {
        "query": planned.text,
        "columns": plan.columns,
        "mechanisms": plan.mechanisms,
        "guarantee": plan.guarantee,
        "choice": plan.choice,
        "users": None if is_removal else table.n,
        "groups": tuple(plan.group_sizes(table.most_users)),
        "assumptions": (
            LISTED if is_removal else COUNTED,
            SPACE,
            *plan.assumptions,
            "a user without records counts nothing" if is_removal else users,
        ),
        "notes": (*plan.notes, *_work(plan, table)),
        "finisher": plan.finisher,
        "weighing": plan.weighing,
        "compared": plan.comparison,
    }


def previewed(planned: Planned, table: Table, *, affordable: int | None = None) -> PreviewedStatement:
    """Return one statement of a preview."""
    return PreviewedStatement(**public_part(planned, table), affordable=affordable)


def constant_statistics(plan: Plan, table: Table) -> tuple[Statistic, ...]:
    """Return the statistics of a plan whose answer is the same on every table: its values at the neutral item."""
    values = cell_values(plan.aggregation, table.space, table.space.neutral_item)[0].tolist()
    statistic = Statistic([Fraction(value) for value in values])
    return (statistic,) * len(plan.mechanisms)


def _work(plan: Plan | MessagePlan, table: Table) -> tuple[str, ...]:
    """Return what is public about the work of a plan where an engine says it, as one note."""
    if isinstance(plan, MessagePlan):
        facts = explain_reading(table, plan.reading)
    else:
        facts = () if plan.is_constant else explain_cost(table, plan.aggregation)
    return ("work: " + ", ".join(f"{name} {text}" for name, text in facts),) if facts else ()


def _neutral(table: Table) -> str:
    columns = table.space.decode(table.space.neutral_item)
    shown = (f"{name} = {'the mean vector' if value is None else value!r}" for name, (value,) in columns.items())
    return f"the neutral item, {', '.join(shown)}"
