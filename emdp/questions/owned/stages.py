"""A statement in stages: aggregates of private rows whose noisy answers the rest of the statement reads.

A stage that aggregates private rows is a question of its own, with a share of the statement's price. Its answer is a
table that anybody may see, as a public one is. What reads such tables and public ones alone is free
(:class:`FreeSelect`); a later stage may read them beside private rows. So the rows that a stage aggregates are a
function of the private table and of tables that are fixed before the stage is computed: whatever these hold, the bound
of the stage's sensitivity is that of a statement with public tables (user-level-sql.md 0.9 and 3.1).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.questions.owned.parts import relations
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.relations import Public
from emdp.questions.price import Price
from emdp.rows.nodes import columns
from emdp.rows.types import Kind, Value

__all__ = ["DTYPES", "MOST_RELEASED_KEYS", "FreeSelect", "Stage", "StagedSelect", "Tables", "answer_schema", "filled"]

MOST_RELEASED_KEYS = 10_000
"""Most groups whose list an earlier stage releases."""

DTYPES: Mapping[Kind, pl.DataType] = {
    Kind.BOOLEAN: pl.Boolean(),
    Kind.BIGINT: pl.Int64(),
    Kind.DOUBLE: pl.Float64(),
    Kind.TEXT: pl.String(),
    Kind.DATE: pl.Date(),
    Kind.TIMESTAMP: pl.Datetime("us"),
}
"""Types of the columns of a stage's table."""

Tables = Mapping[str, pl.DataFrame]
"""Tables that anybody may see, by name."""


@dataclass(frozen=True, eq=False)
class FreeSelect:
    """A SELECT over public tables and noisy answers: post-processing."""

    sql: str  # In DuckDB's words, over tables by their names in `public` and `released`
    public: Tables  # Public tables that it reads
    released: Tables  # Tables of earlier stages that it reads, here without rows
    price: Price  # The statement's; nothing of it is spent
    text: str = ""

    def filled(self, tables: Tables) -> Tables:
        """Return all that it reads, tables of earlier stages with their rows."""
        return {**self.public, **{name: tables[name] for name in self.released}}


@dataclass(frozen=True, eq=False)
class Stage:
    """A step of a statement."""

    name: str
    label: str
    question: OwnedSelect | FreeSelect  # What it asks; of an OwnedSelect tables of earlier stages have no rows yet

    @property
    def is_private(self) -> bool:
        """Whether it reads private rows, and costs its share."""
        return isinstance(self.question, OwnedSelect)


@dataclass(frozen=True, eq=False)
class StagedSelect:
    """A statement in stages; the module says what they are."""

    stages: tuple[Stage, ...]  # In the order in which they are computed; the last one is the answer
    price: Price
    weights: tuple[float, ...]  # Shares of the price, one for each stage that reads private rows
    text: str = ""

    def __post_init__(self) -> None:
        if len(self.weights) != len([stage for stage in self.stages if stage.is_private]) or not self.weights:
            raise UsageError("weights must be one for each stage that reads private rows; pass as many.")
        if not all(0 < weight < float("inf") for weight in self.weights):
            raise UsageError("weights must be numbers above 0; pass 1 for equal shares.")


def answer_schema(query: OwnedSelect) -> Mapping[str, Kind]:
    """Return the columns of a question's answer, with what their values are.

    >>> from emdp.questions.owned.question import OwnedItem
    >>> from emdp.questions.owned.relations import Private
    >>> list(answer_schema(OwnedSelect(Private("t"), (OwnedItem("rows", "n"),), Price("epsilon", 1.0, 0.0), cap=1)))
    ['n', 'n_low', 'n_high']
    """
    items = {item.name for item in query.items}
    kinds = {key.name: key.node.kind for key in query.keys}
    kinds |= dict.fromkeys(items, Kind.DOUBLE) | {own.name: own.node.kind for own in query.computed}
    noisy = items | {
        own.name
        for own in query.computed
        if own.is_users or (own.node.kind.is_number and any(one.name in items for one in columns(own.node)))
    }
    beside = [name for name in kinds if name not in query.columns and name not in query.hidden]
    of_keys = [name for name in beside if name not in items]
    names = [*of_keys, *query.columns, *(name for name in beside if name in items)]
    return {
        f"{name}{end}": Kind.DOUBLE if end else kinds[name]
        for name in names
        for end in (("", "_low", "_high") if name in noisy else ("",))
    }


def filled(query: OwnedSelect, tables: Tables) -> OwnedSelect | None:
    """Return a question with the rows of tables of earlier stages; None where they leave it no group.

    Raises
    ------
    UsageError
        If they leave it more than :data:`MOST_RELEASED_KEYS` groups.
    """
    public = {name: tables.get(name, frame) for name, frame in query.public.items()}
    keys = tuple(
        key if key.source is None else replace(key, values=tuple(_values(tables[key.source[0]], key.source[1])))
        for key in query.keys
    )
    for own in relations(query.relation):
        if isinstance(own, Public) and own.is_single and len(public[own.source]) > 1:
            raise UsageError(
                "a sub-query that stands for one value has several rows, and what was charged stays charged; add "
                "LIMIT 1 to it, or an aggregate."
            )
    if any(not key.values and key.is_listed for key in keys):
        return None
    count = 1
    for key in keys:
        count *= len(key.values) if key.source is not None else 1
    if count > MOST_RELEASED_KEYS:
        raise UsageError(
            f"an earlier stage lists more than {MOST_RELEASED_KEYS} groups, and what was charged stays charged; add "
            "ORDER BY and LIMIT to that stage."
        )
    return replace(query, public=public, keys=keys)


def _values(frame: pl.DataFrame, column: str) -> Iterator[Value]:
    yield from frame.get_column(column).drop_nulls().unique(maintain_order=True).to_list()
