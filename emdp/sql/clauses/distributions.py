"""``FREQUENCY``, ``QUANTILE`` and ``MEDIAN``: what they are of, and the columns of their answers."""

from collections.abc import Mapping

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError, UsageError
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.nodes.base import Expression
from emdp.questions.people import group_labels
from emdp.questions.select import Grid
from emdp.spaces import Grid as CellGrid
from emdp.spaces import Space, count_items
from emdp.sql.clauses.aggregates import expression_of
from emdp.sql.clauses.unlisted import unlisted_text
from emdp.sql.context import Context, listed, unwrapped
from emdp.sql.names.checking import checked
from emdp.sql.names.columns import ItemColumn, LookupColumn, Resolved, UserColumn
from emdp.sql.values.forms import call_form, few_values_remedy, grid_form
from emdp.sql.values.points import chosen_part, named_part
from emdp.sql.values.scalar import Scalars

__all__ = ["Histogram", "Quantiles", "read_frequency", "read_quantiles"]

EXAMPLES: Mapping[str, str] = {"QUANTILE": "QUANTILE(e, 0.5, 0.9)", "MEDIAN": "MEDIAN(e)"}
"""How quantiles are written."""


@dataclass(frozen=True)
class Histogram:
    """``FREQUENCY``."""

    cells: Grid | LabelAxis | None  # Its cells; None for all items of a finite space
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Quantiles:
    """``QUANTILE`` or ``MEDIAN``.

    Parameters
    ----------
    expression : Expression
        What it is of.
    levels : tuple of float
        In (0, 1), distinct.
    """

    expression: Expression
    levels: tuple[float, ...]


def read_frequency(scalars: Scalars, node: exp.Anonymous) -> Histogram:
    """Return what a call of ``FREQUENCY`` asks for.

    Raises
    ------
    SqlError
        If its argument is neither a star, nor a grid of a continuous part, nor a categorical column.
    """
    context = scalars.context
    if len(node.expressions) != 1:
        form = call_form("GRID", context.names.space.parts)
        raise context.refusal(
            node,
            f"FREQUENCY takes 1 argument, not {len(node.expressions)}",
            remedy=f"write {form} or FREQUENCY(column)" if form else "write FREQUENCY(column)",
            code="argument-count",
        )
    argument = unwrapped(node.expressions[0])
    if isinstance(argument, exp.Star):
        return Histogram(None, context.names.space.columns)
    if isinstance(argument, exp.Anonymous) and argument.name.upper() == "GRID":
        return _grid(scalars, argument)
    column = scalars.scope.column(argument)
    if isinstance(column, ItemColumn) and column.finite is not None:
        return Histogram(_values(context, argument, column), (column.name,))
    raise _no_values(scalars, argument, column)


def _values(context: Context, node: exp.Expr, column: ItemColumn) -> LabelAxis:
    """Return one cell a listed value, or refuse a list that is too long."""
    try:
        return group_labels(context.names, column.name, made="rows").axis
    except UsageError as error:
        raise context.refusal(
            node,
            error.problem,
            remedy="write FREQUENCY(*)" if _is_whole(context) else few_values_remedy(column.part),
            code="groups",
        ) from None


def _is_whole(context: Context) -> bool:
    """Say whether the space is one finite part, so that its column and all items are the same."""
    return len(context.names.space.parts) == 1 and count_items(context.names.space) is not None


def _no_values(scalars: Scalars, node: exp.Expr, column: Resolved | None) -> SqlError:
    """Return the refusal of ``FREQUENCY`` of what lists no values."""
    context, text = scalars.context, scalars.context.text(node)
    unlisted = unlisted_text(context, node, column)
    if unlisted is not None:
        return unlisted
    if isinstance(column, LookupColumn):
        remedy = f"write SHARE() and GROUP BY {text}"
    elif isinstance(column, UserColumn):
        remedy = f"GROUP BY {text} instead"
    elif isinstance(column, ItemColumn):
        is_cells = isinstance(column.part, CellGrid)
        remedy = f"write FREQUENCY({'*' if is_cells and _is_whole(context) else grid_form(column.part)})"
    else:
        scalars.number(node)
        remedy = f"write QUANTILE({text}, 0.5, 0.9), or FREQUENCY of a column or a GRID"
    return context.refusal(
        node,
        f"FREQUENCY counts the listed values of a categorical column, which `{text}` is not",
        remedy=remedy,
        code="frequency-column",
    )


def _grid(scalars: Scalars, node: exp.Anonymous) -> Histogram:
    context = scalars.context
    if not 1 <= len(node.expressions) <= 2:
        raise context.refusal(
            node,
            f"GRID takes a pitch, and perhaps a column before it, not {len(node.expressions)} arguments",
            remedy=_gridded(context, node, None),
            code="argument-count",
        )
    *named, last = node.expressions
    part = named_part(scalars, named[0]) if named else None
    if named and (part is None or not part.has_grid):
        raise context.refusal(
            named[0],
            f"`{context.text(named[0])}` has no cells of a pitch",
            remedy=_gridded(context, named[0], part),
            code="grid-part",
        )
    step = scalars.constant(last, "the pitch of GRID")
    part = part or chosen_part(context, node, lambda own: own.has_grid, "has cells of a pitch", grid_form)
    if not 0 < step <= part.domain_diameter:
        raise context.refusal(
            last,
            f"the pitch of GRID is above 0 and at most {part.domain_diameter:.6g}, the largest distance in "
            f"{listed(part.columns)}, got {step:g}",
            remedy=f"write a pitch such as {part.domain_diameter / 30:.2g}",
            code="grid-pitch",
        )
    return Histogram(Grid(step, part.columns[0] if len(context.names.space.parts) > 1 else None), part.columns)


def _gridded(context: Context, node: exp.Expr, part: Space | None) -> str:
    """Return what to write for what has no grid: the values of a categorical part, or a grid of another one."""
    if part is not None:
        return f"write FREQUENCY({context.text(node)})"
    forms = [grid_form(own) for own in context.names.space.parts if own.has_grid]
    return f"write {' or '.join(forms)}" if forms else "write FREQUENCY(column)"


def read_quantiles(scalars: Scalars, node: exp.Anonymous) -> Quantiles:
    """Return what a call of ``QUANTILE`` or ``MEDIAN`` asks for.

    Raises
    ------
    SqlError
        If a level is no constant in (0, 1), or the expression has no finite constant, or does not vary.
    """
    context, name = scalars.context, node.name.upper()
    count = len(node.expressions)
    if count != 1 if name == "MEDIAN" else count < 2:
        raise context.refusal(
            node,
            f"{name} takes an expression{'' if name == 'MEDIAN' else ' and one level or more'}, not {count} "
            f"argument{'' if count == 1 else 's'}",
            remedy=f"write {EXAMPLES[name]}",
            code="argument-count",
        )
    expression = expression_of(scalars, node.expressions[0])
    if checked(context, expression, node.expressions[0]).spread == 0:
        is_turned = any(scalars.scope.column(entry) is not None for entry in node.expressions[1:])
        raise context.refusal(
            node.expressions[0],
            f"`{context.text(node.expressions[0])}` is the same for every item, and so are all its quantiles",
            remedy="write the expression first and the levels after it" if is_turned else "ask for one that varies",
            code="constant-quantile",
        )
    levels: list[float] = []
    for entry in node.expressions[1:]:
        level = scalars.constant(entry, "a level of QUANTILE")
        if not 0 < level < 1 or level in levels:
            raise context.refusal(
                entry,
                f"a level is in (0, 1), got {level:g}" if level not in levels else f"the level {level:g} comes twice",
                remedy="write levels such as 0.5, 0.9; the smallest and the largest value are those of one record",
                code="quantile-level",
            )
        levels.append(level)
    return Quantiles(expression, tuple(levels) or (0.5,))
