"""The select list under USER_PRIVACY: aggregates of functions of a row, each with its range."""

from collections.abc import Mapping

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError
from emdp.questions.owned.question import OwnedKind
from emdp.questions.owned.relations import names_user
from emdp.rows.building import case
from emdp.rows.nodes import Column, Literal, Node
from emdp.rows.ranges import range_of
from emdp.rows.types import Kind
from emdp.sql.clauses.aggregates import REFUSED_AGGREGATES
from emdp.sql.context import Context, identifier, unwrapped
from emdp.sql.owned.conditions import CONDITIONS, counted_if
from emdp.sql.owned.needed import and_options
from emdp.sql.owned.ranges import ranges_in, ranges_left
from emdp.sql.owned.remedies import as_number, remedy_of
from emdp.sql.owned.scopes import Scope
from emdp.sql.refusals.unsupported import UNSUPPORTED, aggregates
from emdp.sql.text.families import AUTOMATIC, RANGE, RHO
from emdp.sql.text.statement import Option
from emdp.sql.values.functions import first_argument

__all__ = ["OF_RECORDS", "OwnedAggregate", "is_aggregate", "is_elsewhere", "read_aggregate"]

KINDS: Mapping[str, OwnedKind] = {
    "COUNT": "count",
    "SUM": "sum",
    "AVG": "avg",
    "VARIANCE": "variance",
    "VAR_POP": "variance",
    "STDDEV": "stddev",
    "STDDEV_POP": "stddev",
}
"""Aggregates of this route."""

OF_RECORDS = ("QUANTILE", "MEDIAN")
"""Aggregates of this route where the statement caps the records of a user: else they weigh every user equally."""

AUTOMATIC_RANGE = f" (or, for a tenth of epsilon, have it chosen: {RANGE} = {AUTOMATIC} in OPTIONS)"
"""What else to write where a range is not known."""

MOST_WIDTH = 2.0**53
"""Widest range that is taken for one that somebody meant."""


def _elsewhere() -> tuple[str, ...]:
    """Return the aggregates that weigh every user equally, or stand alone: none of this route."""
    return tuple(name for name in aggregates() if name not in KINDS)


def is_elsewhere(options: Mapping[str, Option], name: str) -> bool:
    """Say whether an aggregate is none of this route under some options: quantiles are under a cap that is given."""
    cap = options.get("max_records_per_user")
    if name in OF_RECORDS and cap is not None and isinstance(cap.value, int) and "measure_cap" not in options:
        return False
    return name in _elsewhere()


@dataclass(frozen=True)
class OwnedAggregate:
    """One aggregate.

    Parameters
    ----------
    weight, most
        Of a mean by weights, as of :class:`emdp.questions.owned.question.OwnedItem`.
    """

    kind: OwnedKind  # As of `emdp.questions.owned.question.OwnedItem`
    node: Node | None
    low: float
    high: float
    function: str  # Its name, in capitals
    level: float | None = None  # Of a quantile
    condition: Node | None = None  # Of people, that of FILTER
    weight: Node | None = None
    most: float = 1.0
    is_ranged: bool = False  # Whether its range is to be chosen; what it has of it stands for none


def is_aggregate(node: exp.Expr) -> bool:
    """Say whether a node is a call of an aggregate, part of this route or not."""
    if isinstance(node, exp.Filter):
        return True
    return isinstance(node, exp.Anonymous) and (
        node.name.upper() in aggregates()
        or (node.name.upper() in UNSUPPORTED and _is_refused_aggregate(node.name.upper()))
    )


def read_aggregate(context: Context, scope: Scope, node: exp.Expr) -> OwnedAggregate:
    """Return an aggregate of the select list."""
    condition: Node | None = None
    if isinstance(node, exp.Filter):
        condition = scope.reader.condition(node.expression.this)
        node = unwrapped(node.this)
    name = node.name.upper()
    if isinstance(node, exp.Anonymous) and name in CONDITIONS:
        return OwnedAggregate("count", counted_if(scope, node, condition), 0.0, 1.0, name)
    if not isinstance(node, exp.Anonymous) or is_elsewhere(context.statement.options, name):
        raise _none(context, scope, node)
    if name in OF_RECORDS:
        return _quantile(context, scope, node, condition)
    if name not in KINDS:
        raise _none(context, scope, node)
    arguments = node.expressions
    if len(arguments) != 1:
        raise context.refusal(
            node, f"{name} takes one argument, not {len(arguments)}", remedy=f"write {name}(e)", code="argument-count"
        )
    if isinstance(arguments[0], exp.Distinct):
        return _distinct(context, scope, node, condition)
    if isinstance(arguments[0], exp.Star):
        if condition is None:
            return OwnedAggregate("rows", None, 0.0, 1.0, name)
        return OwnedAggregate("count", case([(condition, Literal(1, Kind.BIGINT))]), 0.0, 1.0, name)
    value = scope.reader.read(arguments[0])
    if condition is not None:
        value = case([(condition, value)])
    if name == "COUNT":
        return OwnedAggregate("count", value, 0.0, 1.0, name)
    if not value.kind.is_number:
        raise _no_number(context, scope, arguments[0], value, name)
    known = _known_range(context, scope, value)
    if known is None and RANGE in context.statement.options:
        return OwnedAggregate(KINDS[name], value, 0.0, 1.0, name, is_ranged=True)
    known = known or _range(context, scope, arguments[0], value, AUTOMATIC_RANGE)
    return OwnedAggregate(KINDS[name], value, *known, name)


def _distinct(context: Context, scope: Scope, node: exp.Anonymous, condition: Node | None) -> OwnedAggregate:
    """Return COUNT(DISTINCT e): people where ``e`` is the user's column, else different values."""
    user = context.names.user
    distinct = node.expressions[0]
    if node.name.upper() != "COUNT" or len(distinct.expressions) != 1:
        raise context.refusal(
            node,
            "DISTINCT is of one expression, in COUNT",
            remedy=f"write COUNT(DISTINCT {identifier(user)}), or COUNT(DISTINCT e)",
            code="count-distinct",
        )
    value = scope.reader.read(distinct.expressions[0])
    if names_user(scope.relation, value):
        return OwnedAggregate("users", None, 0.0, 1.0, "COUNT", condition=condition)
    if condition is not None:
        value = case([(condition, value)])
    return OwnedAggregate("distinct", value, 0.0, 1.0, "COUNT")


def _quantile(context: Context, scope: Scope, node: exp.Anonymous, condition: Node | None) -> OwnedAggregate:
    """Return QUANTILE(e, p) or MEDIAN(e) of records."""
    name, arguments = node.name.upper(), node.expressions
    if len(arguments) != (1 if name == "MEDIAN" else 2):
        usage = "MEDIAN(e)" if name == "MEDIAN" else "QUANTILE(e, 0.25), QUANTILE(e, 0.75)"
        raise context.refusal(
            node,
            f"{name} of records takes {'an expression' if name == 'MEDIAN' else 'an expression and one level'}",
            remedy=f"write {usage}",
            code="argument-count",
        )
    level = 0.5
    if name == "QUANTILE":
        written = arguments[1]
        level = float(written.name) if isinstance(written, exp.Literal) and not written.is_string else 0.0
        if not 0.0 < level < 1.0:
            raise context.refusal(
                written, "a level is a number between 0 and 1", remedy="write 0.9, for instance", code="level"
            )
    value = scope.reader.read(arguments[0])
    if not value.kind.is_number:
        raise _no_number(context, scope, arguments[0], value, name)
    low, high = _range(context, scope, arguments[0], value)
    if condition is not None:
        value = case([(condition, value)])
    return OwnedAggregate("quantile", value, low, high, name, level=level)


def _range(context: Context, scope: Scope, written: exp.Expr, value: Node, other: str = "") -> tuple[float, float]:
    found = _known_range(context, scope, value)
    if found is None:
        text = context.text(written)
        other = "" if RHO in context.statement.options else other
        raise context.refusal(
            written,
            f"the range of `{text}` is not known, and noise is for the largest value that one record may have",
            remedy=and_options(context, scope, f"write CLAMP({text}, 0, 100) with the range that you mean{other}"),
            code="range",
        )
    return found


def _known_range(context: Context, scope: Scope, value: Node) -> tuple[float, float] | None:
    found = range_of(value, declared_ranges(context, scope, value))
    # What is known of any whole number alone is no range: noise for 2**63 tells nothing.
    if found is None or found[1] - found[0] > MOST_WIDTH:
        # What no declaration says, conditions on the records may say: they are public.
        found = range_of(value, ranges_left(value, scope.relation, context.names))
    if found is None or found[1] - found[0] > MOST_WIDTH:
        return None
    low, high = found
    if low < high:
        return low, high
    # A constant: any range that holds it does.
    return min(low, 0.0), max(high, 0.0) or 1.0


def _no_number(context: Context, scope: Scope, written: exp.Expr, value: Node, name: str) -> SqlError:
    remedy = and_options(context, scope, f"write {as_number(context, scope, context.text(written), value)}")
    return context.refusal(written, f"{name} is of numbers", remedy=remedy, code="no-number")


def declared_ranges(context: Context, scope: Scope, value: Node) -> dict[Column, tuple[float, float]]:
    """Return the ranges that are known of columns."""
    return ranges_in(value, scope.relation, context.names)


def _is_refused_aggregate(name: str) -> bool:
    return UNSUPPORTED[name].code in REFUSED_AGGREGATES


def _none(context: Context, scope: Scope, node: exp.Expr) -> SqlError:
    name = node.name.upper()
    if name in _elsewhere():
        return context.refusal(
            node,
            f"{name} is not answered for records chosen or computed in this way",
            remedy="write COUNT, SUM, AVG, VARIANCE or STDDEV, or QUANTILE with max_records_per_user",
            code="owned-aggregate",
        )
    refused = UNSUPPORTED.get(name)
    if refused is None:
        return context.refusal(
            node, f"there is no aggregate {name}", remedy="write COUNT, SUM or AVG", code="unknown-function"
        )
    remedy = remedy_of(context, scope, node) if isinstance(node, exp.Anonymous) else ""
    remedy = remedy or refused.remedy_for(first_argument(context, node) if isinstance(node, exp.Anonymous) else "e")
    return context.refusal(node, f"{name} {refused.problem}", remedy=remedy, code=refused.code)
