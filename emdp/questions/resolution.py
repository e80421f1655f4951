"""Queries of Python with names in them, made into the resolved ones that SQL comes down to as well."""

from dataclasses import replace

import polars as pl

from emdp.base.errors import UsageError
from emdp.expressions.analysis.checker import analyse
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.nodes.base import Expression
from emdp.questions.distributions import Frequencies, Quantiles
from emdp.questions.facts import Shares
from emdp.questions.heavy_hitters import HeavyHitters, check_listed, check_text_column
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.itemwise import Itemwise
from emdp.questions.linear_fit import LinearFit
from emdp.questions.means import Mean, VectorMean
from emdp.questions.measures import Measure
from emdp.questions.names import Names
from emdp.questions.narrowing import Where
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.stages import FreeSelect, StagedSelect
from emdp.questions.people import choose_people, group_labels
from emdp.questions.select import FrequencyQuery, Grid, GroupColumn, Item, People, QuantileQuery, Select
from emdp.questions.user_mean import UserMean
from emdp.spaces.listed.distances import Distances

__all__ = ["Query", "Resolved", "check_factor", "resolve_query"]

Plain = (
    Itemwise
    | HeavyHitters
    | UserMean
    | Measure
    | Shares
    | LinearFit
    | Select
    | OwnedSelect
    | StagedSelect
    | FreeSelect
    | FrequencyQuery
    | QuantileQuery
)
"""Queries with nothing in them to look up, which have a text."""

_NO_SHARE = (
    "share says which part of the records by= and where= choose, and these choose users, whose number is public; leave "
    "it out."
)

Query = Mean | VectorMean | Frequencies | Quantiles | Plain
Resolved = Mean | VectorMean | ItemFrequencies | Plain


def resolve_query(query: Query, names: Names) -> Resolved:
    """Return a query in which every name is looked up; plain means stay as they are.

    Raises
    ------
    UsageError
        If a column is unknown or does not fit, or a value is none of its public ones.
    """
    if isinstance(query, HeavyHitters):
        check_text_column(query, names)
        return query
    if isinstance(query, Plain):
        return query
    if not isinstance(query, Mean | VectorMean | Frequencies | Quantiles):
        raise UsageError(
            f"query must be made by emdp.mean and its like, not {type(query).__name__}; make one of these, or pass SQL."
        )
    if isinstance(query, Mean | VectorMean) and not _is_select(query, names):
        return query
    if isinstance(query, VectorMean) and query.bits is not None:
        raise UsageError("bits is for means of all records, none of which is elsewhere; leave it out.")
    if isinstance(query, Frequencies) and query.cells is None:
        if query.noise == "auto":
            return _of_items(query)
        query = replace(query, cells=_column_with_edges(names))
    where = query.where or Where()
    user_by = tuple(name for name in query.by if name in names.user_columns)
    people = choose_people(names, _conditions(where, names), user_by)
    groups = tuple(group_labels(names, name) for name in query.by if name not in names.user_columns)
    if where.factor is not None:
        check_factor(where.factor, names)
    if isinstance(query, Frequencies | Quantiles):
        return _distribution(query, names, people, groups, where.factor)
    if query.share is not None and where.factor is None and not groups:
        raise UsageError(_NO_SHARE)
    items = _items(query)
    noise = query.noise if isinstance(query, VectorMean) else "auto"
    return Select(
        items,
        query.price,
        groups,
        people,
        where.factor,
        text=describe(query),
        expected_share=query.share,
        noise=noise,
        model=query.model,
        messages=query.messages,
    )


def check_factor(factor: Expression, names: Names) -> None:
    """Raise ``UsageError`` unless an expression is a weight: its range on the space lies in [0, 1]."""
    analysis = analyse(factor, names.space)
    if analysis.low < 0 or analysis.high > 1:
        raise UsageError(
            f"where must have values in [0, 1], but `{factor}` has the range [{analysis.low:.6g}, "
            f"{analysis.high:.6g}]; pass a category, or a ramp of the expression."
        )


def describe(query: Query) -> str:
    """Return a query as text, for the ledger and for explanations."""
    if isinstance(query, Plain):
        return query.text
    if isinstance(query, Mean):
        inner = f"mean({query.expression}"
    elif isinstance(query, VectorMean):
        inner = f"vector_mean({', '.join(map(str, query.expressions))}"
    elif isinstance(query, Frequencies):
        inner = f"frequencies({query.cells!r}" if query.cells is not None else _item_text(query)
    else:
        inner = f"quantiles({query.expression}, {list(query.levels)}"
    if query.by:
        inner += f", by={list(query.by)}"
    if query.where is not None:
        shown = [str(query.where.factor)] if query.where.factor is not None else []
        inner += f", where={' and '.join([*shown, *(f'{name} in {values}' for name, values in query.where.users)])}"
    if isinstance(query, Mean | VectorMean) and query.model != "central":
        inner += f", model={query.model!r}"
    if isinstance(query, Mean | VectorMean) and query.messages != "auto":
        inner += f", messages={query.messages}"
    if isinstance(query, VectorMean) and query.bits is not None:
        inner += f", bits={query.bits}"
    if isinstance(query, Mean | VectorMean) and query.price.is_by_removal:
        inner += f", neighbours={query.price.neighbours!r}"
    if not isinstance(query, Frequencies) and query.share is not None:
        inner += f", share={query.share:g}"
    return f"{inner})"


def _is_select(query: Mean | VectorMean, names: Names) -> bool:
    """Say whether a mean is one among chosen records, or by removal; where records may be elsewhere every mean is."""
    if query.by or query.where or query.price.is_by_removal:
        return True
    return names.space.elsewhere is not None


def _conditions(where: Where, names: Names) -> pl.Series | None:
    if not where.users:
        return None
    frame = names.user_frame
    chosen: pl.Series | None = None
    for column, values in where.users:
        if frame is None or column not in names.user_columns:
            listed = ", ".join(map(repr, names.user_columns)) or "none"
            raise UsageError(
                f"where names {column!r}, which is no public user column (there are: {listed}); pass users= as a "
                "table with that column, or an expression for a column of the records."
            )
        try:
            own = frame.get_column(column).is_in(list(values))
        except pl.exceptions.PolarsError:
            raise UsageError(
                f"where has values for {column!r} of another type than the column; pass its own."
            ) from None
        chosen = own if chosen is None else chosen & own
    return chosen


def _items(query: Mean | VectorMean) -> tuple[Item, ...]:
    if isinstance(query, Mean):
        return (Item("avg", query.name or "mean", query.expression, text=str(query.expression)),)
    names = query.names or tuple(f"mean_{number}" for number in range(1, len(query.expressions) + 1))
    return tuple(
        Item("avg", name, expression, text=str(expression))
        for name, expression in zip(names, query.expressions, strict=True)
    )


def _distribution(
    query: Frequencies | Quantiles,
    names: Names,
    people: People | None,
    groups: tuple[GroupColumn, ...],
    factor: Expression | None,
) -> FrequencyQuery | QuantileQuery:
    if groups:
        raise UsageError(f"by={groups[0].name!r} is no public user column; choose records by where= instead.")
    if isinstance(query, Quantiles):
        if query.share is not None and factor is None:
            raise UsageError(_NO_SHARE)
        return QuantileQuery(
            query.expression,
            query.levels,
            query.price,
            people,
            factor,
            query.step,
            query.name,
            text=describe(query),
            expected_share=query.share,
            noise=query.noise,
        )
    if factor is not None:
        raise UsageError("where must name public user columns for frequencies; ask for means by category instead.")
    cells = _cells(query, names)
    return FrequencyQuery(cells, query.price, people, query.name, text=describe(query), noise=query.noise)


def _column_with_edges(names: Names) -> str:
    """Return the column of a space that is one list of values with given distances."""
    if not isinstance(names.space, Distances):
        raise UsageError(
            "noise='edges' without cells= is of listed values with distances; give cells=, or leave it out."
        )
    return names.space.columns[0]


def _of_items(query: Frequencies) -> ItemFrequencies:
    return ItemFrequencies(
        query.price,
        query.method,  # type: ignore[arg-type]  # "smoothed" needs cells
        query.model,
        query.sizes,
        query.name,
        describe(query),
        query.adjust,
        messages=query.messages,
    )


def _item_text(query: Frequencies) -> str:
    sizes = "" if query.sizes is None else f", sizes={query.sizes!r}"
    adjusted = "" if query.adjust == "none" else f", adjust={query.adjust!r}"
    sent = "" if query.messages == "auto" else f", messages={query.messages}"
    return f"frequencies(method={query.method!r}, model={query.model!r}{sizes}{adjusted}{sent}"


def _cells(query: Frequencies, names: Names) -> Grid | LabelAxis:
    if isinstance(query.cells, str):
        check_listed(query.cells, names)
        return group_labels(names, query.cells).axis
    return Grid(float(query.cells or 0.0), query.column)
