"""Functions of a row: from the tree of SQL to nodes of :mod:`emdp.rows`, or a refusal that says what to write instead.

Only what is listed here is read, with only the parts that are listed: whatever else a tree holds is refused by name.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from sqlglot import exp

from emdp.base.errors import SqlError, UsageError
from emdp.rows import building
from emdp.rows.functions import BY_SQL_NAME
from emdp.rows.nodes import Call, Cast, Column, Literal, Node
from emdp.rows.types import BIGINT_MAX, BIGINT_MIN, Kind
from emdp.sql.context import listed, near
from emdp.sql.rows.given import check_given
from emdp.sql.rows.intervals import steps_of
from emdp.sql.rows.refused import NODES, UNKNOWN, remedy_of
from emdp.sql.rows.sugar import SUGAR
from emdp.sql.rows.usual import usual
from emdp.sql.rows.written import Written

__all__ = ["Resolve", "read_row"]

Resolve = Callable[[exp.Column], Column]
"""What a column's name means; it raises where it means nothing."""

OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply", exp.Div: "divide", exp.IntDiv: "divide_whole",
    exp.Mod: "remainder", exp.Pow: "pow", exp.EQ: "equal", exp.NEQ: "differs", exp.LT: "less", exp.LTE: "at_most",
    exp.GT: "greater", exp.GTE: "at_least", exp.NullSafeNEQ: "is_distinct", exp.NullSafeEQ: "is_not_distinct",
    exp.And: "and", exp.Or: "or", exp.DPipe: "join_texts", exp.RegexpLike: "regexp_matches", exp.Like: "like",
    exp.ILike: "ilike",
}  # fmt: skip

TYPES: Mapping[exp.DType, Kind] = {
    **dict.fromkeys((exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT), Kind.BIGINT),
    **dict.fromkeys((exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL), Kind.DOUBLE),
    **dict.fromkeys((exp.DType.TEXT, exp.DType.VARCHAR), Kind.TEXT),
    **dict.fromkeys((exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ), Kind.TIMESTAMP),
    exp.DType.DATE: Kind.DATE,
    exp.DType.BOOLEAN: Kind.BOOLEAN,
}

PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    **{kind: frozenset({"this", "expression"}) for kind in OPERATORS},
    exp.DPipe: frozenset({"this", "expression", "safe"}),
    exp.Div: frozenset({"this", "expression", "typed", "safe"}),
    exp.Like: frozenset({"this", "expression", "negate"}),
    exp.ILike: frozenset({"this", "expression", "negate"}),
    exp.Paren: frozenset({"this"}),
    exp.Neg: frozenset({"this"}),
    exp.Not: frozenset({"this"}),
    exp.Is: frozenset({"this", "expression"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe", "requires_string"}),
    exp.Extract: frozenset({"this", "expression"}),
    exp.AtTimeZone: frozenset({"this", "zone"}),
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: frozenset({"this"}),
    exp.Null: frozenset(),
}
"""What is read, each with the parts that it may have."""


def read_row(node: exp.Expr, resolve: Resolve, statement: Written) -> Node:
    """Return the row expression that a part of a statement means.

    Parameters
    ----------
    node : sqlglot.exp.Expr
        The part, as :func:`emdp.sql.reader.parse` made it: every call is an ``exp.Anonymous``.
    resolve : callable
        What a column's name means; it raises its own refusals.
    """
    return _Reader(resolve, statement).read(node)


class _Reader:
    def __init__(self, resolve: Resolve, statement: Written) -> None:
        self._resolve = resolve
        self._statement = statement

    def read(self, node: exp.Expr) -> Node:
        if isinstance(node, exp.Column):
            return self._column(node)
        self._check(node)
        exact = _exact(node)
        if exact is not None:
            return self._number(node, exact)
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        return self._operator(node)

    def _column(self, node: exp.Column) -> Node:
        name = node.name.lower()
        # DuckDB has functions without parentheses: current_date is one, "current_date" a column.
        if name in NODES and name.startswith("current_") and not node.table and not node.this.args.get("quoted"):
            raise self._unknown(node, name)
        return self._resolve(node)

    def _check(self, node: exp.Expr) -> None:
        kind = type(node)
        reason = NODES.get(kind) or (UNKNOWN if kind not in PARTS else None)
        if reason is None and kind is exp.In and not node.expressions:
            reason = NODES[exp.Subquery]
        extra = [
            part for part, value in node.args.items() if part not in PARTS.get(kind, ()) and value not in (None, [])
        ]
        if reason is None and extra:
            reason = UNKNOWN
        if reason is not None:
            raise self._statement.refusal(node, reason.problem, remedy=reason.remedy, code=reason.code)

    def _operator(self, node: exp.Expr) -> Node:
        name = OPERATORS[type(node)]
        right = node.expression
        if isinstance(right, exp.Interval) and isinstance(node, exp.Add | exp.Sub):
            return self._interval(node, -1 if name == "subtract" else 1)
        if isinstance(node, exp.Add) and isinstance(node.this, exp.Interval):
            return self._interval(exp.Add(this=right, expression=node.this), 1)
        made = self._call(node, name, [self.read(node.this), self.read(right)], [node.this, right])
        return Call("not", (made,)) if node.args.get("negate") else made

    def _interval(self, node: exp.Expr, sign: int) -> Node:
        found = steps_of(node.expression)
        if found is None:
            problem, remedy = "this interval is not written out as one number of one unit", "write INTERVAL 7 DAYS"
            raise self._statement.refusal(node.expression, problem, remedy=remedy, code="interval")
        count, unit = found
        arguments = [self.read(node.this), Literal(unit, Kind.TEXT), Literal(sign * count, Kind.BIGINT)]
        return self._call(node, "add_interval", arguments, [node.this, node.expression, node.expression])

    def _call(self, node: exp.Expr, name: str, arguments: Sequence[Node], origins: Sequence[exp.Expr]) -> Node:
        if name in SUGAR:
            return self._built(node, lambda: SUGAR[name].build(arguments), name, origins)
        check_given(self._statement, node, name, arguments, origins)
        return self._built(node, lambda: building.call(name, *arguments), name, origins)

    def _built(self, node: exp.Expr, build: Callable[[], Node], name: str, origins: Sequence[exp.Expr] = ()) -> Node:
        try:
            return build()
        except UsageError as error:
            named = [self._statement.text_of(own) for own in origins if isinstance(own, exp.Column)]
            argument = named[0] if len(named) == 1 else "e"
            remedy = remedy_of(name, self._statement.text_of(node), own=error.remedy, argument=argument)
            raise self._statement.refusal(
                node, f"{name.upper()}: {error.problem}", remedy=remedy, code="kinds"
            ) from None

    def _function(self, node: exp.Expr) -> Node:
        written = usual(node)
        if written is not None:
            return self.read(written)
        name = node.name.lower()
        record = BY_SQL_NAME.get(name)
        if record is None and name not in SUGAR:
            raise self._unknown(node, name)
        starred = [part for part in node.expressions if isinstance(part, exp.Star | exp.Distinct | exp.PropertyEQ)]
        if starred:
            raise self._unknown(node, name)
        arguments = [self.read(part) for part in node.expressions]
        if name in SUGAR:
            sugar = SUGAR[name]
            if not sugar.least <= len(arguments) <= sugar.most:
                problem = f"{name.upper()} does not take {len(arguments)} arguments"
                raise self._statement.refusal(node, problem, remedy=f"write {sugar.form}", code="argument-count")
        return self._call(node, record.name if record and name not in SUGAR else name, arguments, node.expressions)

    def _unknown(self, node: exp.Expr, name: str) -> SqlError:
        reason = NODES.get(name)
        if reason is not None:
            return self._statement.refusal(
                node, f"{name.upper()} {reason.problem}", remedy=reason.remedy, code=reason.code
            )
        names = sorted({*BY_SQL_NAME, *SUGAR})
        alike = near(name, names)
        remedy = f"write {' or '.join(found.upper() for found in alike)}" if alike else (
            f"the functions are {listed(found.upper() for found in names)}"
        )  # fmt: skip
        problem = f"there is no function {name.upper()} of a row, or it is not known to give the same on every engine"
        return self._statement.refusal(node, problem, remedy=remedy, code="unknown-function")

    def _number(self, node: exp.Expr, exact: Decimal) -> Node:
        is_whole = exact == exact.to_integral_value() and "." not in str(exact) and "E" not in str(exact)
        if is_whole and BIGINT_MIN <= exact <= BIGINT_MAX:
            return Literal(int(exact), Kind.BIGINT)
        value = float(exact)
        if value in (float("inf"), float("-inf")):
            raise self._statement.refusal(node, "this number is no double", remedy="write a smaller one", code="number")
        return Literal(value, Kind.DOUBLE)

    def _literal(self, node: exp.Expr) -> Node:
        text = node.name
        if "\x00" in text:
            raise self._statement.refusal(node, "this text holds a zero", remedy="leave it out", code="text")
        return Literal(text, Kind.TEXT)

    def _cast(self, node: exp.Expr) -> Node:
        to = node.args["to"]
        kind = TYPES.get(to.this) if isinstance(to, exp.DataType) and not to.expressions else None
        if kind is None:
            name = to.sql()
            remedy = "write ROUND(e, 2)" if name.startswith("DECIMAL") else (
                "write BIGINT, DOUBLE, TEXT, DATE, TIMESTAMP or BOOLEAN"
            )  # fmt: skip
            raise self._statement.refusal(node, f"nothing is cast to {name} here", remedy=remedy, code="cast")
        argument = self.read(node.this)
        fitted = building.as_kind(argument, kind)
        if isinstance(argument, Literal) and fitted is not None:
            return fitted
        if argument.kind is kind:
            return argument
        if isinstance(argument, Literal) and kind.is_time and argument.kind is Kind.TEXT:
            remedy = f"write {'2020-12-31' if kind is Kind.DATE else '2020-12-31 23:59:59'} in quotes"
            raise self._statement.refusal(node, f"this is no {kind.value}", remedy=remedy, code="literal")
        try:
            return Cast(argument, kind)
        except UsageError:
            problem = f"there is no cast from {argument.kind.value} to {kind.value} that all engines agree on"
            remedy = remedy_of(f"{argument.kind.value}-{kind.value}", self._statement.text_of(node.this))
            raise self._statement.refusal(node, problem, remedy=remedy, code="cast") from None

    def _case(self, node: exp.Expr) -> Node:
        subject = None if node.this is None else self.read(node.this)
        branches = []
        for branch in node.args["ifs"]:
            self._check(branch)
            test, value = self.read(branch.this), self.read(branch.args["true"])
            if subject is not None:
                test = self._call(branch, "equal", [subject, test], [node.this, branch.this])
            branches.append((test, value))
        default = node.args.get("default")
        otherwise = None if default is None else self.read(default)
        return self._built(node, lambda: building.case(branches, otherwise), "case")

    def _between(self, node: exp.Expr) -> Node:
        value, low, high = (self.read(node.args[part]) for part in ("this", "low", "high"))
        ends = [node.this, node.args["low"]], [node.this, node.args["high"]]
        above = self._call(node, "at_least", [value, low], ends[0])
        return Call("and", (above, self._call(node, "at_most", [value, high], ends[1])))

    def _in(self, node: exp.Expr) -> Node:
        argument, values = self.read(node.this), [self.read(value) for value in node.expressions]
        return self._built(node, lambda: building.in_list(argument, values), "in")

    def _is(self, node: exp.Expr) -> Node:
        value = self.read(node.this)
        if isinstance(node.expression, exp.Null):
            return Call("is_null", (value,))
        return self._call(node, "is_not_distinct", [value, self.read(node.expression)], [node.this, node.expression])

    def _zone(self, node: exp.Expr) -> Node:
        zone = node.args["zone"]
        return self._call(node, "local_time", [self.read(node.this), self.read(zone)], [node.this, zone])

    def _extract(self, node: exp.Expr) -> Node:
        field = Literal(node.this.name.lower(), Kind.TEXT)
        return self._call(node, "date_part", [field, self.read(node.expression)], [node, node.expression])

    def _negated(self, node: exp.Expr) -> Node:
        return self._call(node, "negate", [self.read(node.this)], [node.this])

    def _not(self, node: exp.Expr) -> Node:
        return self._call(node, "not", [self.read(node.this)], [node.this])


_RULES: Mapping[type[exp.Expr], Callable[[_Reader, exp.Expr], Node]] = {
    exp.Paren: lambda reader, node: reader.read(node.this),
    exp.Literal: _Reader._literal,
    exp.Boolean: lambda reader, node: Literal(bool(node.this), Kind.BOOLEAN),
    exp.Null: lambda reader, node: Literal(None, Kind.TEXT),
    exp.Neg: _Reader._negated,
    exp.Not: _Reader._not,
    exp.Anonymous: _Reader._function,
    exp.Cast: _Reader._cast,
    exp.TryCast: _Reader._cast,
    exp.Case: _Reader._case,
    exp.Between: _Reader._between,
    exp.In: _Reader._in,
    exp.Is: _Reader._is,
    exp.AtTimeZone: _Reader._zone,
    exp.Extract: _Reader._extract,
}


def _exact(node: exp.Expr) -> Decimal | None:
    """Return the value of sums and products of numbers that are written out: ``0.06 + 0.01`` is 0.07, as in DuckDB."""
    if isinstance(node, exp.Literal) and not node.is_string:
        return Decimal(node.name.replace("_", ""))
    if isinstance(node, exp.Paren | exp.Neg):
        inner = _exact(node.this)
        return inner if inner is None or isinstance(node, exp.Paren) else -inner
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        left, right = _exact(node.this), _exact(node.expression)
        if left is None or right is None or "E" in f"{left}{right}":
            return None
        return (
            left + right if isinstance(node, exp.Add) else left - right if isinstance(node, exp.Sub) else left * right
        )
    return None
