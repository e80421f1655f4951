"""What to write in place of an aggregate of records that has no answer: SQL that can be pasted, of what was written."""

from collections.abc import Mapping

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.questions.owned.parts import relations
from emdp.questions.owned.relations import Private, Relation, names_user
from emdp.rows.nodes import Node
from emdp.rows.periods import period_of
from emdp.rows.ranges import range_of
from emdp.rows.types import Kind
from emdp.sql.context import Context, identifier, unwrapped
from emdp.sql.owned.ranges import ranges_in
from emdp.sql.owned.scopes import Scope, owners

__all__ = ["as_number", "as_whole", "by_one_user", "list_remedy", "owner_name", "per_user", "raw_rows", "remedy_of"]

EXTREMES: Mapping[str, str] = {"MIN": "0.05", "MAX": "0.95"}
LISTS = ("MODE", "STRING_AGG", "GROUP_CONCAT", "LISTAGG", "LIST", "ARRAY_AGG", "HISTOGRAM", "APPROX_TOP_K", "FIRST",
         "LAST", "ANY_VALUE", "ARBITRARY")  # fmt: skip
SAME: Mapping[str, str] = {
    "APPROX_COUNT_DISTINCT": "COUNT(DISTINCT {})",
    "MEAN": "AVG({})",
    "AVERAGE": "AVG({})",
    "COUNT_IF": "COUNT(*) FILTER (WHERE {})",
    "COUNTIF": "COUNT(*) FILTER (WHERE {})",
}
QUANTILES = ("APPROX_QUANTILE", "QUANTILE_CONT", "QUANTILE_DISC", "APPROX_PERCENTILE", "PERCENTILE_CONT")


MOST_NUMBERS = 1000
"""Widest known range of a key of whole numbers that its list is proposed with."""


def remedy_of(context: Context, scope: Scope, node: exp.Anonymous) -> str:
    """Return what to write in place of an aggregate; empty where nothing is known for it."""
    name = node.name.upper()
    if not node.expressions or isinstance(node.expressions[0], exp.Star | exp.Distinct):
        return ""
    written = node.expressions[0]
    text = context.text(written)
    if name in SAME:
        return f"write {SAME[name].format(text)}"
    try:
        value = scope.reader.read(written)
    except SqlError:
        return ""
    if name in LISTS or (name in EXTREMES and value.kind in (Kind.TEXT, Kind.BOOLEAN)):
        plain = (
            "" if context.statement.tree.args.get("group") is None else "leave it out; or, in a statement of its own, "
        )
        return f"{plain}write SELECT {text}, COUNT(*) AS n .. GROUP BY {text} ORDER BY n DESC LIMIT 1"
    if name in EXTREMES:
        return f"write QUANTILE({as_number(context, scope, text, value)}, {EXTREMES[name]})"
    if name in QUANTILES and len(node.expressions) == 2:
        return f"write QUANTILE({as_number(context, scope, text, value)}, {context.text(node.expressions[1])})"
    return ""


def as_number(context: Context, scope: Scope, text: str, value: Node) -> str:
    """Return a value as a number with a range, as SQL of its text."""
    if value.kind is Kind.TEXT:
        return f"CLAMP(TRY_CAST({text} AS DOUBLE), 0, 100)"
    if value.kind is Kind.BOOLEAN:
        return f"CASE WHEN {text} THEN 1 ELSE 0 END"
    if value.kind is Kind.DATE:
        return f"CLAMP({text} - DATE '1970-01-01', 0, 40000)"
    if value.kind is Kind.TIMESTAMP:
        return f"CLAMP(EPOCH({text}), 0, 4000000000)"
    known = range_of(value, ranges_in(value, scope.relation, context.names))
    return text if known is not None and known[1] - known[0] <= 2.0**53 else f"CLAMP({text}, 0, 100)"


def as_whole(context: Context, written: exp.Expr) -> str:
    """Return a DOUBLE as a whole number, of its text."""
    text, own = context.text(written), unwrapped(written)
    is_whole = isinstance(own, exp.Anonymous) and own.name.upper() in ("FLOOR", "CEIL", "ROUND", "TRUNC")
    return f"CAST({text} AS BIGINT)" if is_whole and len(own.expressions) == 1 else f"CAST(FLOOR({text}) AS BIGINT)"


def per_user(context: Context) -> str:
    """Return what to ask in place of a group for each user."""
    user, table = identifier(context.names.user), identifier(context.names.table)
    return (
        "sum the table of users up, in a sub-query: write SELECT n, COUNT(*) .. FROM (SELECT "
        f"{user}, COUNT(*) AS n FROM {table} GROUP BY {user}) q WHERE n BETWEEN 0 AND 50 GROUP BY n"
    )


def list_remedy(context: Context, scope: Scope, written: exp.Expr, node: Node) -> str:
    """Return the condition that lists the groups of a key, as it can be pasted with one's own values."""
    text, told = context.text(written), "values"
    unit, inner = period_of(node)
    if unit is not None:
        time, told = _text_of(context, scope, written, inner), "days"
        condition = f"{time} >= DATE '2024-01-01' AND {time} < DATE '2025-01-01'"
    elif node.kind is Kind.BIGINT:
        known = range_of(node, ranges_in(node, scope.relation, context.names))
        low, high = known if known is not None and known[1] - known[0] < MOST_NUMBERS else (1, 10)
        condition, told = f"{text} BETWEEN {low:.0f} AND {high:.0f}", "numbers"
    elif node.kind is Kind.TIMESTAMP:
        condition = f"{text} IN (TIMESTAMP '2024-01-31 00:00:00')"
    else:
        condition = f"{text} IN " + ("(TRUE, FALSE)" if node.kind is Kind.BOOLEAN else "('a', 'b')")
    where = "add to WHERE: " if context.statement.tree.args.get("where") else "add WHERE "
    return f"{where}{condition} with the {told} that you mean"


def _text_of(context: Context, scope: Scope, written: exp.Expr, node: Node) -> str:
    """Return the part of a key's text that says a node of it; all of the text where none does."""
    for part in written.find_all(exp.Column, exp.Cast, exp.TryCast, exp.AtTimeZone):
        try:
            if scope.reader.read(part) == node:
                return context.text(part)
        except SqlError:
            # Such as a word for a unit, which is no column.
            continue
    return context.text(written)


def raw_rows(context: Context, scope: Scope, written: list[exp.Expr]) -> str:
    """Return what to select in place of records as they are."""
    kept = []
    for node in written:
        body = node.this if isinstance(node, exp.Alias) else node
        try:
            value = scope.reader.read(body)
        except SqlError:
            return "add one, such as COUNT(*)"
        if not names_user(scope.relation, value) and value.kind is not Kind.DOUBLE:
            kept.append(context.text(body))
    if not kept:
        return "write COUNT(*) for them"
    listed = ", ".join(kept)
    return f"write SELECT {listed}, COUNT(*) .. GROUP BY {listed}"


def owner_name(context: Context, relation: Relation) -> str:
    """Return a column that says whose rows of a relation are: the user's, or a link where the table has none."""
    own = next((one for one in relations(relation) if isinstance(one, Private)), None)
    keys = [] if own is None else [own.user, *(column for column, _ in own.keys)]
    return identifier(next(filter(None, keys), context.names.user))


def by_one_user(scope: Scope, other: Scope, clause: str) -> str:
    """Return the condition by which rows of two tables meet by their user, or the table to join between them.

    ``clause`` is where it is to stand: ON; or WHERE, of tables that are listed or of a sub-query.
    """
    between, conditions = _meeting(scope, other)
    if not conditions:
        return f"add a condition on the user to {clause}"
    if not between:
        return f"add {conditions[0]} to {clause}"
    if clause == "ON":
        return f"write JOIN {between} ON {conditions[0]} before it, and add {conditions[1]} to ON"
    return f"add {between} to FROM, and {' AND '.join(conditions)} to {clause}"


def _meeting(scope: Scope, other: Scope) -> tuple[str, list[str]]:
    left, right = owners(scope), owners(other)
    for key, written in left.items():
        if key in right and right[key] != written:
            return "", [f"{written} = {right[key]}"]
        if key in right:
            # One table twice, whose names are to come.
            name = written.partition(".")[2]
            return "", [f"a.{name} = b.{name}, with a name for each of the two tables,"]
    taken = {alias.lower() for own in (scope, other) for alias, _ in own.tables}
    for table, described in scope.context.names.private.items():
        own = [(column, key) for column, key in described.keys.items() if key in left]
        further = [(column, key) for column, key in described.keys.items() if key in right]
        if own and further and table.lower() not in taken:
            name, (one, one_key), (two, two_key) = identifier(table), own[0], further[0]
            first = f"{left[one_key]} = {name}.{identifier(one)}"
            return name, [first, f"{name}.{identifier(two)} = {right[two_key]}"]
    return "", []
