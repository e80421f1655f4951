"""Aggregates and windows of sub-queries: values of the rows of one user."""

import math
from collections.abc import Mapping

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.questions.owned.relations import owner_key
from emdp.questions.owned.summaries import MOST_OFFSET, Summary, SummaryFunction, Window
from emdp.rows.building import as_kind, case
from emdp.rows.nodes import Literal, Node
from emdp.rows.ranges import bounds_of
from emdp.rows.types import Kind
from emdp.sql.context import listed, unwrapped
from emdp.sql.owned.conditions import CONDITIONS, counted_if
from emdp.sql.owned.ranges import ranges_in
from emdp.sql.owned.remedies import owner_name
from emdp.sql.owned.scopes import Scope

__all__ = ["is_summary", "read_summary", "read_window"]

NAMES: Mapping[str, SummaryFunction] = {
    "COUNT": "count",
    "MIN": "min",
    "MAX": "max",
    "SUM": "sum",
    "AVG": "avg",
    "MEAN": "avg",
    "BOOL_AND": "all",
    "BOOL_OR": "any",
    "MEDIAN": "median",
    "QUANTILE": "quantile",
    "QUANTILE_DISC": "quantile",
}
"""Aggregates of rows of one user, by what SQL calls them."""

OPEN = ("FIRST", "LAST", "ANY_VALUE", "ARG_MIN", "ARG_MAX", "STRING_AGG", "LIST", "ARRAY_AGG", "MODE", "STDDEV",
        "STDDEV_POP", "VARIANCE", "VAR_POP", "QUANTILE_CONT", "FSUM", "PRODUCT")  # fmt: skip
"""Aggregates that are none of these: of open order, or with rounding that depends on it."""

FUNCTIONS = ("ROW_NUMBER", "RANK", "DENSE_RANK", "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE")
PLAIN_WINDOW = frozenset({"this", "partition_by", "order", "spec", "over"})


def is_summary(node: exp.Expr) -> bool:
    """Say whether a node is a call of an aggregate, allowed or not."""
    if isinstance(node, exp.Filter):
        return True
    return isinstance(node, exp.Anonymous) and node.name.upper() in (*NAMES, *OPEN, *CONDITIONS)


def read_summary(scope: Scope, node: exp.Expr) -> Summary:
    """Return an aggregate of a sub-query's groups."""
    context = scope.context
    condition: Node | None = None
    if isinstance(node, exp.Filter):
        condition = scope.reader.condition(node.expression.this)
        node = unwrapped(node.this)
    name = node.name.upper()
    if isinstance(node, exp.Anonymous) and name in CONDITIONS:
        return Summary("count", counted_if(scope, node, condition))
    if not isinstance(node, exp.Anonymous) or name not in NAMES:
        raise context.refusal(
            node,
            f"{name} is no aggregate of a sub-query here: it depends on the order of rows, or rounds in that order",
            remedy=f"write one of {listed(NAMES)}",
            code="subquery-aggregate",
        )
    function, arguments = NAMES[name], node.expressions
    wanted = 2 if function == "quantile" else 1
    if len(arguments) != wanted:
        raise context.refusal(
            node,
            f"{name} takes {wanted} argument{'s' if wanted > 1 else ''}, not {len(arguments)}",
            remedy=f"write {name}(e{', 0.5' if wanted > 1 else ''})",
            code="argument-count",
        )
    if isinstance(arguments[0], exp.Star):
        if condition is None:
            return Summary("rows")
        return Summary("count", case([(condition, Literal(1, Kind.BIGINT))]))
    written = arguments[0]
    if isinstance(written, exp.Distinct):
        function, written = "distinct", written.expressions[0]
    value = scope.reader.read(written)
    if condition is not None:
        value = case([(condition, value)])
    _check_kind(scope, written, function, name, value)
    level = _level(scope, arguments[1]) if function == "quantile" else 0.5
    return Summary(function, value, level, _size(scope, written, function, value))


def _check_kind(scope: Scope, written: exp.Expr, function: str, name: str, value: Node) -> None:
    needs = {"all": "conditions", "any": "conditions", "sum": "numbers", "avg": "numbers", "median": "numbers"}
    wanted = needs.get(function)
    fits = value.kind is Kind.BOOLEAN if wanted == "conditions" else wanted is None or value.kind.is_number
    if not fits:
        raise scope.context.refusal(
            written, f"{name} is of {wanted}", remedy="cast it, or compare it with something", code="kinds"
        )


def _level(scope: Scope, node: exp.Expr) -> float:
    found = scope.reader.read(node)
    value = found.value if isinstance(found, Literal) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise scope.context.refusal(
            node, "a level is a number from 0 to 1, written out", remedy="write 0.5", code="quantile-level"
        )
    return float(value)


def _size(scope: Scope, written: exp.Expr, function: str, value: Node) -> float | None:
    """Return a power of two that bounds what is summed up, where rounding depends on it."""
    if function not in ("sum", "avg") or value.kind is not Kind.DOUBLE:
        return None
    known = bounds_of(value, ranges_in(value, scope.relation, scope.context.names))
    most = math.inf if known is None else max(abs(known[0]), abs(known[1]))
    if most >= 2.0**53:
        text = scope.context.text(written)
        raise scope.context.refusal(
            written,
            f"the range of `{text}` is not known, and sums of such numbers depend on the order of rows",
            remedy=f"write CLAMP({text}, 0, 100) with the range that you mean",
            code="range",
        )
    return float(2.0 ** math.ceil(math.log2(max(most, 2.0**-20))))


def read_window(scope: Scope, node: exp.Window) -> Window:
    """Return a value among rows of one user.

    Raises
    ------
    SqlError
        If its rows are of several users, or it is none of the language.
    """
    context = scope.context
    extra = [part for part, value in node.args.items() if part not in PLAIN_WINDOW and value not in (None, [])]
    if extra or str(node.args.get("over") or "OVER") != "OVER":
        raise context.refusal(
            node, "this part of a window is not read", remedy="write OVER (PARTITION BY .. ORDER BY ..)", code="window"
        )
    partition = tuple(scope.reader.read(own) for own in node.args.get("partition_by") or ())
    if all(owner_key(scope.relation, own) is None for own in partition):
        raise context.refusal(
            node,
            "this window looks at rows of several users, so that one user's records change the rows of others",
            remedy=f"add {owner_name(context, scope.relation)} to PARTITION BY",
            code="window",
        )
    written = node.args.get("order")
    order = () if written is None else tuple(_ordered(scope, own) for own in written.expressions)
    called = unwrapped(node.this)
    frame = _frame(scope, node.args.get("spec"))
    if frame is not None and not order:
        raise context.refusal(node, "a frame needs an order", remedy="add ORDER BY to the window", code="window-order")
    if is_summary(called):
        return _summary_window(scope, node, read_summary(scope, called), (partition, order, frame))
    return _function_window(scope, node, called, (partition, order, frame))


Parts = tuple[tuple[Node, ...], tuple[tuple[Node, bool, bool], ...], tuple[int | None, int | None] | None]


def _summary_window(scope: Scope, node: exp.Expr, summary: Summary, parts: Parts) -> Window:
    if summary.function not in ("rows", "count", "min", "max", "sum", "avg"):
        raise _no_window(scope, node)
    return Window(summary, *parts)


def _function_window(scope: Scope, node: exp.Expr, called: exp.Expr, parts: Parts) -> Window:
    name = called.name.upper()
    if not isinstance(called, exp.Anonymous) or name not in FUNCTIONS:
        raise _no_window(scope, node)
    partition, order, frame = parts
    arguments = called.expressions
    most = {"LAG": 3, "LEAD": 3, "FIRST_VALUE": 1, "LAST_VALUE": 1}.get(name, 0)
    if not min(most, 1) <= len(arguments) <= most or (most == 0 and arguments):
        raise scope.context.refusal(
            called, f"{name} does not take {len(arguments)} arguments", remedy=f"write {name}{'(e)' if most else '()'}",
            code="argument-count",
        )  # fmt: skip
    if not order:
        raise scope.context.refusal(
            node, f"{name} needs an order", remedy="add ORDER BY to the window", code="window-order"
        )
    if frame is not None and name not in ("FIRST_VALUE", "LAST_VALUE"):
        raise scope.context.refusal(node, f"{name} has no frame", remedy="leave ROWS out", code="window-frame")
    if frame is None and name == "LAST_VALUE":
        raise scope.context.refusal(
            node,
            "LAST_VALUE without a frame is of the row's last peer, which ties leave open",
            remedy="add ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
            code="window-frame",
        )
    argument = scope.reader.read(arguments[0]) if arguments else None
    offset = _count(scope, arguments[1]) if len(arguments) > 1 else 1
    default = _default(scope, arguments[2], argument) if len(arguments) > 2 and argument is not None else None
    return Window(name.lower(), partition, order, frame, argument, offset, default)


def _no_window(scope: Scope, node: exp.Expr) -> SqlError:
    return scope.context.refusal(
        node,
        "this is no function of windows here",
        remedy=f"write one of {listed(FUNCTIONS)}, or COUNT, SUM, AVG, MIN, MAX",
        code="window-function",
    )


def _ordered(scope: Scope, node: exp.Expr) -> tuple[Node, bool, bool]:
    return scope.reader.read(node.this), bool(node.args.get("desc")), bool(node.args.get("nulls_first"))


def _frame(scope: Scope, spec: exp.Expr | None) -> tuple[int | None, int | None] | None:
    if spec is None:
        return None
    kind = str(spec.args.get("kind") or "").upper()
    if kind != "ROWS":
        raise scope.context.refusal(
            spec,
            f"a frame of {kind or 'this kind'} is not read",
            remedy="write ROWS BETWEEN 6 PRECEDING AND CURRENT ROW",
            code="window-frame",
        )
    first = _end(scope, spec, "start")
    last = _end(scope, spec, "end") if spec.args.get("end") is not None else 0
    if first is not None and last is not None and first > last:
        raise scope.context.refusal(
            spec, "this frame ends before it begins", remedy="swap its ends", code="window-frame"
        )
    return first, last


def _end(scope: Scope, spec: exp.Expr, part: str) -> int | None:
    end, side = spec.args.get(part), str(spec.args.get(f"{part}_side") or "").upper()
    word = end.upper() if isinstance(end, str) else ""
    if word == "CURRENT ROW":
        return 0
    if word == "UNBOUNDED":
        if side != ("PRECEDING" if part == "start" else "FOLLOWING"):
            raise scope.context.refusal(
                spec, "this frame has no rows", remedy="write UNBOUNDED PRECEDING first", code="window-frame"
            )
        return None
    count = _count(scope, end) if isinstance(end, exp.Expr) else 0
    return -count if side == "PRECEDING" else count


def _count(scope: Scope, node: exp.Expr) -> int:
    found = scope.reader.read(node)
    value = found.value if isinstance(found, Literal) else None
    if type(value) is not int or not 0 <= value <= MOST_OFFSET:
        raise scope.context.refusal(
            node,
            f"this is no whole number from 0 to {MOST_OFFSET}, written out",
            remedy="write 1",
            code="window-offset",
        )
    return value


def _default(scope: Scope, node: exp.Expr, argument: Node) -> Literal:
    found = as_kind(scope.reader.read(node), argument.kind)
    if not isinstance(found, Literal):
        raise scope.context.refusal(
            node,
            "what stands for a missing row is a value of the column's kind, written out",
            remedy="write COALESCE around the window, or cast the column",
            code="window-default",
        )
    return found
