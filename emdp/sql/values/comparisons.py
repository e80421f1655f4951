"""Comparisons with literals: of public user columns, of categories, and the refusal of those that would jump."""

import datetime
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeGuard

import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, SqlError, UsageError
from emdp.spaces.listed.finite import FinitePart
from emdp.sql.context import Context, identifier, listed, near, one_by_name, quoted, unwrapped
from emdp.sql.names.columns import (
    Condition,
    Factor,
    ItemColumn,
    LookupColumn,
    PartCondition,
    Resolved,
    UserColumn,
    UserCondition,
    Values,
)
from emdp.sql.names.scope import Numbers
from emdp.sql.values.literals import Literal, read_literal
from emdp.sql.values.thresholds import TURNED, range_refusal, threshold_refusal

__all__ = ["COMPARISONS", "Comparisons", "is_discrete", "negated"]

Test = Callable[[Any, Any], Any]

COMPARISONS: Mapping[type[exp.Expr], tuple[str, Test]] = {
    exp.EQ: ("=", operator.eq),
    exp.NEQ: ("<>", operator.ne),
    exp.LT: ("<", operator.lt),
    exp.LTE: ("<=", operator.le),
    exp.GT: (">", operator.gt),
    exp.GTE: (">=", operator.ge),
}
"""Comparisons with two sides."""

Discrete = ItemColumn | LookupColumn | UserColumn


def is_discrete(column: Resolved | None) -> TypeGuard[Discrete]:
    """Say whether a column has listed values, or belongs to public users, so that conditions may jump in it."""
    if isinstance(column, ItemColumn):
        return column.finite is not None
    return isinstance(column, LookupColumn | UserColumn)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """The translation of comparisons, IN, BETWEEN and IS NULL."""

    numbers: Numbers
    is_case: bool = False

    @property
    def context(self) -> Context:
        """The statement."""
        return self.numbers.context

    def comparison(self, node: exp.Expr) -> Condition:
        """Return ``column < literal`` and the like."""
        symbol, _ = COMPARISONS[type(node)]
        left, right = node.this, node.expression
        column, other = self.numbers.scope.column(left), right
        if not is_discrete(column):
            turned = self.numbers.scope.column(right)
            if not is_discrete(turned):
                raise threshold_refusal(self.numbers, node, symbol, (left, right), is_case=self.is_case)
            column, other, symbol = turned, left, TURNED.get(symbol, symbol)
        literal = self._literal(column, other)
        if symbol in ("=", "<>"):
            among = self._among(column, [literal])
            return among if symbol == "=" else negated(among)
        test = next(test for text, test in COMPARISONS.values() if text == symbol)
        return self._tested(column, [(test, literal)])

    def membership(self, node: exp.In) -> Condition:
        """Return ``column IN (literals)``."""
        column = self.numbers.scope.column(node.this)
        if not is_discrete(column):
            raise threshold_refusal(self.numbers, node, "=", (node.this, node.expressions[0]), is_case=self.is_case)
        literals = [self._literal(column, entry) for entry in node.expressions]
        return self._among(column, literals)

    def between(self, node: exp.Between) -> Condition:
        """Return ``column BETWEEN literal AND literal``."""
        column = self.numbers.scope.column(node.this)
        low, high = node.args["low"], node.args["high"]
        if not is_discrete(column):
            raise range_refusal(self.numbers, node, is_case=self.is_case)
        ends = self._literal(column, low), self._literal(column, high)
        return self._tested(column, [(operator.ge, ends[0]), (operator.le, ends[1])])

    def is_null(self, node: exp.Is) -> Condition:
        """Return ``column IS NULL``."""
        if not isinstance(node.expression, exp.Null):
            raise self.context.refusal(
                node, "IS takes NULL alone here", remedy="write column = TRUE or column = FALSE", code="is-truth"
            )
        column = self.numbers.scope.column(node.this)
        if isinstance(column, UserColumn):
            return UserCondition(column.values.is_null())
        if isinstance(column, LookupColumn):
            values = column.load()
            missing = frozenset(label for label, value in values.items() if value is None)
            return PartCondition(column.part, Values(missing), Values(frozenset(values) - missing))
        if column is None:
            self.numbers.number(node.this)
        raise self.context.refusal(
            node,
            f"`{self.context.text(node.this)}` is never NULL: the space's on_invalid rule has replaced every invalid "
            "value before a statement sees it",
            remedy="leave the condition out",
            code="null-condition",
        )

    def truth(self, node: exp.Expr, column: Discrete) -> Condition:
        """Return a column of truth values as a condition."""
        if self._kind(column) != "truth value":
            raise self.context.refusal(
                node,
                f"`{self.context.text(node)}` is a column of {self._kind(column)}s, no condition",
                remedy=f"compare it with a literal, as in {self.context.text(node)} = {self._example(column)}",
                code="no-condition",
            )
        return self._among(column, [Literal(True, node)])

    def _among(self, column: Discrete, literals: Sequence[Literal]) -> Condition:
        self._check_listed(column, literals)
        wanted = [_plain(literal.value) for literal in literals]
        if isinstance(column, UserColumn):
            own = _comparable(column.values)
            return UserCondition(reduce(operator.or_, (own == value for value in wanted)))
        if isinstance(column, LookupColumn):
            return _looked_up(column, lambda value: value in wanted)
        labels = [column.part.encode_point(_label(value)) for value in wanted]
        named = Values(frozenset((column.part.labels or ())[int(label[0, 0])] for label in labels))
        return PartCondition(_finite(column), named, ~named)

    def _tested(self, column: Discrete, tests: Sequence[tuple[Test, Literal]]) -> Condition:
        if self._kind(column) == "truth value":
            raise self.context.refusal(
                tests[0][1].node,
                f"{column.name} holds truth values, which have no order",
                remedy=f"write {identifier(column.name)} = TRUE or {identifier(column.name)} = FALSE",
                code="truth-order",
            )
        pairs = [(test, _plain(literal.value)) for test, literal in tests]
        if isinstance(column, UserColumn):
            own = _comparable(column.values)
            return UserCondition(reduce(operator.and_, (test(own, value) for test, value in pairs)))
        if isinstance(column, LookupColumn):
            return _looked_up(column, lambda value: all(test(value, other) for test, other in pairs))
        part = _finite(column)
        named = Values(
            frozenset(label for label in part.labels if all(test(_plain(label), other) for test, other in pairs))
        )
        return PartCondition(part, named, ~named)

    def _literal(self, column: Discrete, node: exp.Expr) -> Literal:
        literal = read_literal(self.context, node)
        if literal is None:
            raise self._no_literal(column, node)
        kind = self._kind(column)
        if literal.kind != kind:
            raise self.context.refusal(
                node,
                f"{column.name} holds {kind}s, `{self.context.text(node)}` is a {literal.kind}, and nothing is cast "
                "unasked",
                remedy=f"write a {kind}, such as {self._example(column)}",
                code="implicit-cast",
            )
        return literal

    def _no_literal(self, column: Discrete, node: exp.Expr) -> SqlError:
        remedy = f"compare {identifier(column.name)} with a literal, such as {self._example(column)}"
        inner = unwrapped(node)
        if isinstance(inner, exp.Column) and not inner.table and self._kind(column) == "text":
            values = _values(column)
            if alike := one_by_name(inner.name, values)[:1] or near(inner.name, values):
                remedy = f"write {' or '.join(map(quoted, alike))}, since a text stands in single quotes"
        return self.context.refusal(
            node, f"`{self.context.text(node)}` is no literal", remedy=remedy, code="literal-needed"
        )

    def _kind(self, column: Discrete) -> str:
        dtype = _dtype(column)
        if dtype == pl.Boolean:
            return "truth value"
        if dtype.is_numeric():
            return "number"
        if dtype == pl.Date or (isinstance(dtype, pl.Datetime) and dtype.time_zone is None):
            return "date"
        return "text" if dtype in (pl.String, pl.Categorical, pl.Enum) else f"{dtype} value"

    def _example(self, column: Discrete) -> str:
        if self._kind(column) == "date":
            return "DATE '2026-11-20'"
        if self._kind(column) not in ("text", "number", "truth value"):
            return "a literal"
        return quoted(next(iter(_values(column)), "text"))

    def _check_listed(self, column: Discrete, literals: Sequence[Literal]) -> None:
        if isinstance(column, UserColumn) and self._kind(column) != "text":
            return
        for literal in literals:
            if _is_listed(column, literal):
                continue
            values = _values(column)
            alike = near(str(literal.value), values)
            raise self.context.refusal(
                literal.node,
                f"{self.context.text(literal.node)} is none of the {len(values)} values of {column.name}",
                remedy=f"write {' or '.join(map(quoted, alike))}"
                if alike
                else f"the values are {listed(map(quoted, values))}",
                code="unlisted-value",
            )


def negated(condition: Condition) -> Condition:
    """Return NOT of a condition."""
    if isinstance(condition, PartCondition):
        return condition.negated()
    if isinstance(condition, UserCondition):
        return UserCondition(~condition.values)
    return Factor(1 - condition.expression)


def _looked_up(column: LookupColumn, test: Callable[[Any], bool]) -> PartCondition:
    known = {label: _plain(value) for label, value in column.load().items() if value is not None}
    holds = frozenset(label for label, value in known.items() if test(value))
    return PartCondition(column.part, Values(holds), Values(frozenset(known) - holds))


def _finite(column: ItemColumn) -> FinitePart:
    if column.finite is None:
        raise InternalError(f"column {column.name!r} has no listed values, yet was compared; please report this.")
    return column.finite


def _label(value: Any) -> Any:
    return int(value) if isinstance(value, float) else value


def _is_listed(column: Discrete, literal: Literal) -> bool:
    value = _plain(literal.value)
    if isinstance(column, ItemColumn):
        try:
            column.part.encode_point(_label(value))
        except UsageError:
            return False
        return bool(_label(value) == value)
    return value in map(_plain, _values(column))


def _dtype(column: Discrete) -> pl.DataType:
    if isinstance(column, UserColumn):
        return column.values.dtype
    if isinstance(column, LookupColumn):
        return column.dtype
    return pl.Series(_finite(column).labels[:1]).dtype


def _values(column: Discrete) -> dict[Any, None]:
    if isinstance(column, ItemColumn):
        return dict.fromkeys(_finite(column).labels)
    if isinstance(column, LookupColumn):
        return dict.fromkeys(value for value in column.load().values() if value is not None)
    return dict.fromkeys(_comparable(column.values).drop_nulls().unique(maintain_order=True))


def _comparable(series: pl.Series) -> pl.Series:
    if series.dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if series.dtype == pl.Date:
        return series.cast(pl.Datetime("us"))
    if series.dtype.is_integer():
        return series.cast(pl.Int128)  # a literal may not fit the column's own type
    return series.cast(pl.Float64) if isinstance(series.dtype, pl.Decimal) else series


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value
