"""``FREQUENCY``: which query it comes down to, and which options of the header it takes.

Where the cells of ``FREQUENCY`` are all items of the space, for all users, several methods estimate the same shares,
and the query is one of items: the best of them answers (:mod:`emdp.estimators.frequency.items`). Chosen or grouped
users, one part of several, and grids of a continuum have the smoothed or listed histogram alone.
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.means import CellNoise
from emdp.questions.select import FrequencyQuery, Grid, Order, People
from emdp.spaces import count_items
from emdp.spaces.combined.grid import can_be_cut
from emdp.spaces.listed.distances import Distances
from emdp.sql.clauses.distributions import Histogram
from emdp.sql.context import Context, identifier
from emdp.sql.text.families import MESSAGES, option_refusal
from emdp.sql.values.forms import grid_form

__all__ = ["frequency_query"]

SMOOTHED = ("auto", "smoothed", "histogram")
"""Methods that a histogram of cells or listed values is."""


def frequency_query(
    context: Context,
    node: exp.Expr,
    histogram: Histogram,
    *,
    noise: CellNoise,
    people: People | None,
    name: str,
    order: Sequence[Order],
    limit: int | None,
    offset: int,
    written: str,
) -> FrequencyQuery | ItemFrequencies:
    """Return the query of a statement with ``FREQUENCY``.

    Parameters
    ----------
    node : sqlglot.exp.Expr
        The call of ``FREQUENCY``.
    noise, people, name, order, limit, offset, written
        As of the queries.

    Raises
    ------
    SqlError
        If an option does not fit, or the items of a continuum are asked for.
    """
    text = context.statement.text
    if histogram.cells is None and noise == "edges" and isinstance(space := context.names.space, Distances):
        histogram = replace(histogram, cells=LabelAxis.alone(space.columns[0], space.values))
    if histogram.cells is None:
        _check_all_items(context, node, noise, people)
        return _of_items(context, name, None, tuple(order), limit, offset, written)
    listed = FrequencyQuery(
        cells=histogram.cells,
        price=context.price,
        noise=noise,
        people=people,
        name=name,
        order=tuple(order),
        limit=limit,
        offset=offset,
        text=text,
        written=written,
    )
    refusal = _why_alone(context, histogram.cells, noise, people)
    method, model = _word(context, "method", "auto"), _word(context, "model", "central")
    if refusal is None and method != "smoothed":
        return _of_items(context, name, listed, tuple(order), limit, offset, written)
    for option, value, fits in (("method", method, SMOOTHED), ("model", model, ("central",))):
        if value not in fits:
            problem, remedy = refusal or ("a smoothed histogram has the central model alone", "write model = 'central'")
            given = context.statement.options[option]
            raise option_refusal(context.statement, given, problem, remedy, "frequency-option")
    if MESSAGES in context.statement.options:
        given, problem = context.statement.options[MESSAGES], "a smoothed histogram has no messages"
        raise option_refusal(context.statement, given, problem, "leave it out", "frequency-option")
    return listed


def _of_items(
    context: Context,
    name: str,
    listed: FrequencyQuery | None,
    order: tuple[Order, ...],
    limit: int | None,
    offset: int,
    written: str,
) -> ItemFrequencies:
    options = context.statement.options
    if MESSAGES in options and _word(context, "model", "central") != "shuffle":
        problem = "messages says how many messages a user sends to be mixed"
        remedy = "add model = 'shuffle', or leave it out"
        raise option_refusal(context.statement, options[MESSAGES], problem, remedy, "option-unused")
    return ItemFrequencies(
        method=_word(context, "method", "auto"),  # type: ignore[arg-type]  # checked with the header
        model=_word(context, "model", "central"),  # type: ignore[arg-type]
        price=context.price,
        name=name,
        text=context.statement.text,
        listed=listed,
        order=order,
        limit=limit,
        offset=offset,
        written=written,
        messages=int(options[MESSAGES].value) if MESSAGES in options else "auto",
    )


def _word(context: Context, option: str, default: str) -> str:
    given = context.statement.options.get(option)
    return default if given is None else str(given.value)


def _why_alone(
    context: Context, cells: Grid | LabelAxis, noise: CellNoise, people: People | None
) -> tuple[str, str] | None:
    """Return why a histogram is the only method, and what to write instead; None where it is not."""
    space = context.names.space
    if isinstance(cells, Grid):
        return (
            "on a continuum the indicator of a cell has no Lipschitz constant, so cells of a pitch are smoothed, in "
            "the central model",
            "leave the option out"
            + (", or read the table with space=emdp.Grid(...) for cells as they are" if can_be_cut(space) else ""),
        )
    column = identifier(cells.column)
    if people is not None:
        return (
            "chosen or grouped users have the histogram in the central model alone",
            f"leave the option out, or write FREQUENCY({column}) of all users",
        )
    if len(space.parts) > 1 or count_items(space) != len(cells.cells):
        return (
            f"{column} alone does not tell all items apart, and of less than whole items there is the histogram in "
            "the central model alone",
            f"leave the option out, or ask for one value at a time by SHARE() with a condition on {column}",
        )
    if noise != "auto":
        return "the option noise chooses the law of a histogram's noise", "leave one of the two options out"
    # One item has the share 1, which the histogram says without noise.
    return None if len(cells.cells) > 1 else ("there is one item alone, whose share is 1", "leave the option out")


def _check_all_items(context: Context, node: exp.Expr, noise: CellNoise, people: People | None) -> None:
    space, statement = context.names.space, context.statement
    if count_items(space) is None:
        raise _continuum(context, node)
    if people is not None:
        columns = [identifier(part.columns[0]) for part in space.parts if part.labels is not None]
        instead = f"write FREQUENCY({columns[0]})" if len(columns) == 1 else "leave WHERE and GROUP BY out"
        problem = "FREQUENCY(*) is of all public users together"
        raise context.refusal(node, problem, remedy=instead, code="frequency-users")
    if noise != "auto":
        given, problem = statement.options["noise"], "FREQUENCY(*) takes the noise of its method"
        remedy = "leave noise out, or name a method such as method = 'histogram'"
        raise option_refusal(statement, given, problem, remedy, "frequency-option")
    method = statement.options.get("method")
    if method is not None and method.value == "smoothed":
        problem, remedy = "all items of a finite space are counted as they are", "write method = 'histogram'"
        raise option_refusal(statement, method, problem, remedy, "frequency-option")


def _continuum(context: Context, node: exp.Expr) -> SqlError:
    parts = [part for part in context.names.space.parts if count_items(part) is None]
    forms = [f"FREQUENCY({grid_form(part)})" for part in parts if part.grid_refusal() is None]
    finite = [f"FREQUENCY({identifier(p.columns[0])})" for p in context.names.space.parts if p.labels is not None]
    # A grid, and one column of several, have a histogram in the central model alone.
    first = "leave model out and write" if _word(context, "model", "central") != "central" else "write"
    written = [f"{first} {' or '.join([*forms[:1], *finite[:1]])}"] if forms or finite else []
    cut = ["read the table with space=emdp.Grid(...)"] if can_be_cut(context.names.space) else []
    return context.refusal(
        node,
        f"FREQUENCY(*) counts all items of a finite space, and {', '.join(parts[0].columns)} is a continuum, where the "
        "indicator of a cell has no Lipschitz constant",
        remedy=", or ".join([*written, *cut]) or "write AVG of ramps of distances to points instead",
        code="frequency-continuum",
    )
