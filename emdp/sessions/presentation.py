"""The public part of an answer, from a plan and its table."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from emdp.answers import PreviewedStatement
from emdp.base.frames import find_component
from emdp.estimators.columns.true_totals import among_somewhere
from emdp.privacy import EmdDP, Guarantee, UserDP
from emdp.privacy.guarantees.kinds import is_by_removal
from emdp.sessions.planning import Planned
from emdp.sessions.records import TableRecords
from emdp.spaces import Space
from emdp.tables import Table
from emdp.tables.statements.compile import elsewhere_parts

__all__ = [
    "LEAVING_OUT",
    "filled_columns",
    "gone_columns",
    "notes_of",
    "notes_of_table",
    "previewed",
    "public_part",
]

LEAVING_OUT = (
    "records of {table} that its space sends elsewhere are left out: those without a value of {columns} that the "
    "space takes (on_invalid = 'elsewhere'); counts, sums, means and quantiles are of the records that are somewhere, "
    "and people count by these (a public number of users stays); all records count only in a table that is declared "
    "with another on_invalid there, 'neutral' or 'clamp'"
)
"""What a reader must know of answers over the records themselves, where a space sends some elsewhere."""

FILLING = {"neutral": "without a value of {} that the space takes", "clamp": "with a NULL or NaN in {}"}
"""Rules by which records count with the neutral item's value, and which records these are."""

ALL_ITEMS, LISTED_ITEMS = r"(?<!COUNT)\(\s*\*|\b(?:frequencies|itemwise|measure)\b", r"\bcategory_is\b"
"""Words of statements that read columns which they do not name: all of them, or those of listed values."""

COUNTED = "the public list or number of users is right, and does not come from the private records"
LISTED = "a list of users, where one is declared, holds everybody who has records, and does not come from them"
SPACE = "the item space (domain, metric, diameter) was fixed without looking at the private records"


def public_part(planned: Planned, table: Table, period: str | None = None) -> dict[str, Any]:
    """Return the arguments of a ``Description``: what is said of an answer without looking at the data.

    ``period`` names the part of the table that is read.
    """
    plan = planned.plan
    work = plan.work(TableRecords(table))
    is_removal, gone = is_by_removal(plan.guarantee), ", ".join(gone_columns(table.space, table.schema))
    users = f"a public user without records {_absent(plan, table)}"
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
            *_linked(table, plan.guarantee),
            "a user without records counts nothing" if is_removal else users,
            *_compared(plan.guarantee, table.space.slots, period),
        ),
        "notes": (
            *(among_somewhere(note) if gone else note for note in plan.notes),
            *notes_of(planned, table),
            *([f"work: {', '.join(f'{name} {text}' for name, text in work)}"] if work else []),
        ),
        "of_table": notes_of_table(table, plan),
        "finisher": plan.finisher,
        "weighing": among_somewhere(plan.weighing) if gone else plan.weighing,
        "compared": plan.comparison,
        "parts": getattr(plan, "stages", ()),
    }


def notes_of(planned: Planned, table: Table) -> tuple[str, ...]:
    """Say which records are left out, and as what people without records and missing values count."""
    gone = ", ".join(gone_columns(table.space, table.schema))
    return (
        *([LEAVING_OUT.format(table=table.name, columns=gone)] if gone and _is_of_rows(planned.plan) else []),
        *notes_of_table(table, planned.plan),
        *_taken_for(table, planned),
    )


def gone_columns(space: Space, schema: Mapping[str, str]) -> tuple[str, ...]:
    """Return the table's columns whose invalid values take a whole record elsewhere, each once."""
    return _columns_of([space.parts[index] for index in elsewhere_parts(space)], schema)


def _columns_of(parts: Iterable[Space], schema: Mapping[str, str]) -> tuple[str, ...]:
    """Return the table's columns that some parts of a space are made of, each once."""
    named = [name for part in parts for name in part.columns]
    made = [(name, find_component(name, schema)) for name in named]
    return tuple(dict.fromkeys(name if component is None else component.column for name, component in made))


def previewed(planned: Planned, table: Table, *, affordable: int | None = None) -> PreviewedStatement:
    """Return one statement of a preview."""
    return PreviewedStatement(**public_part(planned, table), affordable=affordable)


def _is_of_rows(plan: Any) -> bool:
    """Say whether a plan is over records in place of bags: then those that are elsewhere are none."""
    cap = getattr(getattr(plan, "aggregation", None), "cap", None)
    return cap is not None or getattr(plan, "is_of_rows", False)


def _linked(table: Table, guarantee: Guarantee) -> tuple[str, ...]:
    """Return what is assumed of linked tables, where one user's rows in all of them are hidden together."""
    if not table.linked or not isinstance(guarantee, UserDP):
        return ()
    names = ", ".join(table.linked)
    return (f"links say whose the rows of {names} are; hidden together are a user's rows of these and of {table.name}",)


def _compared(guarantee: Guarantee, slots: int | None, period: str | None) -> tuple[str, ...]:
    """Say what the distances of a promise compare, and what holds of all answers of the ledger."""
    if not isinstance(guarantee, EmdDP):
        return ()
    records = "a user's records" if period is None else f"a user's records of {period}"
    one = "1/m where there are m" if slots is None else f"at most 1/{slots}, whoever has how many"
    return (
        f"d compares {records}, of which one is {one}; all answers of the ledger together are exp(alpha d) with d the "
        "largest distance in any period and data version read",
    )


def _absent(plan: Any, table: Table) -> str:
    if plan.without_records:
        return f"has {plan.without_records}"
    if table.space.elsewhere is not None:
        filled = "" if (slots := table.space.slots) is None else f"; bags are filled with it up to {slots} records"
        return (
            "is elsewhere, like a record that the space's rules send there: in no mean, map or group, whose shares add "
            f"up to what SHARE(ELSEWHERE) leaves of 1{filled}"
        )
    return "counts nowhere" if _is_of_rows(plan) else f"has the neutral item, {_neutral(table.space)}"


def notes_of_table(table: Table, plan: Any) -> tuple[str, ...]:
    """Say what share of the people a neutral item may stand for; nothing where nobody can be without records."""
    is_neutral = table.space.elsewhere is None and not plan.without_records and not _is_of_rows(plan)
    if not is_neutral or table.records is not None or is_by_removal(plan.guarantee):
        return ()
    people = "people" if table.users.count is None else f"{table.n} people"
    return (
        f"people without records count with the neutral item, {_neutral(table.space)}, and may be any share of all "
        f"{people}; with elsewhere = 1 they are left out, and SHARE(ELSEWHERE) tells the share",
    )


def _neutral(space: Space) -> str:
    columns = space.decode(space.neutral_item)
    return ", ".join(
        f"{name} = {'the mean vector' if value is None else value!r}" for name, (value,) in columns.items()
    )


def filled_columns(space: Space, schema: Mapping[str, str]) -> tuple[str, ...]:
    """Return the table's columns whose missing values count as the neutral item's, each once."""
    return _columns_of([part for part in space.parts if part.on_invalid in FILLING], schema)


def _taken_for(table: Table, planned: Planned) -> tuple[str, ...]:
    """Say as what invalid values of columns count that a statement reads; it may read some that it does not name."""
    if planned.text.startswith("heavy_hitters"):
        # Texts as they are.
        return ()
    text = f"{planned.text} {' '.join(column.expression for column in planned.plan.columns)}"
    reads_all = len(table.space.parts) == 1 and not _is_of_rows(planned.plan)
    said = []
    for part in table.space.parts:
        columns = _columns_of([part], table.schema) if part.on_invalid in FILLING else ()
        words = [ALL_ITEMS, *(rf"\b{re.escape(name)}\b" for name in columns)]
        words += [LISTED_ITEMS] if part.labels is not None else []
        if not columns or not (reads_all or re.search("|".join(words), text, re.IGNORECASE)):
            continue
        border = _clamped(part) if part.on_invalid == "clamp" else ""
        said.append(
            f"records of {table.name} {FILLING[part.on_invalid].format(', '.join(columns))} count as {_neutral(part)}"
            f"{border} (on_invalid = '{part.on_invalid}'), and may be any share of them; where on_invalid is "
            "'elsewhere' they are left out"
        )
    return tuple(said)


def _clamped(part: Space) -> str:
    """Say as what values outside of a part's domain count that are moved into it."""
    names, (span, *more) = ", ".join(part.columns), part.spans
    if more or not part.is_box:
        return f", those with {names} outside of the space as the nearest point of its border"
    if span.goes_round:
        return f", those with {names} outside of [{span.low:.12g}, {span.high:.12g}) as what is left of whole rounds"
    low, high = f"{span.low:.12g}", f"{span.high:.12g}"
    return f", those with {names} below {low} as {low} and above {high} as {high}"
