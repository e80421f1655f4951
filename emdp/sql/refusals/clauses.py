"""The clauses of a statement: what the language has no use for is refused by name, what is unknown is refused too.

A tree passes only if each of its nodes, and each part of each node, is on the lists of
:mod:`emdp.sql.refusals.constructs`; what names and expressions mean is for the translation.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.sql.context import is_comma
from emdp.sql.refusals.constructs import AROUND_JOINS, AROUND_PARTS, OWNED_PARTS, PARTS
from emdp.sql.refusals.reasons import ARGUMENTS, DISTINCT_ON, JOINS, NODES, SUBQUERY, UNPIVOT, Reason
from emdp.sql.text.reserved import is_plain_name, is_reserved
from emdp.sql.text.spans import is_located
from emdp.sql.text.statement import Statement

__all__ = ["check_around", "check_clauses", "check_owned_clauses", "check_stage"]

Check = Callable[[Statement, exp.Expr], None]

STARRED = ("COUNT", "FREQUENCY", "MEASURE")
"""Aggregates that take a star: of all records, of all items, and of all parts of the space."""

_FILES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".gz", ".zst", ".db", ".duckdb")
"""Endings of names that DuckDB would read as files."""


def check_clauses(statement: Statement) -> None:
    """Refuse a statement with a construct that the language does not have."""
    _check(statement, PARTS)


def check_owned_clauses(statement: Statement, refused: SqlError) -> None:
    """Refuse a statement with a construct that statements over rows with owners do not have either.

    Raises
    ------
    SqlError
        What it was refused with at first, if that is about the same construct; else as :func:`check_clauses`.
    """
    try:
        _check(statement, OWNED_PARTS)
        _check_top(statement)
    except SqlError as error:
        raise (refused if (error.start, error.code) == (refused.start, refused.code) else error) from None


def check_stage(statement: Statement, is_closed: Callable[[exp.Expr], bool]) -> None:
    """Refuse a stage of a statement with a construct that statements over rows with owners do not have.

    Parameters
    ----------
    statement : Statement
        Its tree is the stage's.
    is_closed : callable
        Whether a node is a sub-query that is a stage itself, which is checked as such.
    """
    _check(statement, OWNED_PARTS, is_closed)
    _check_top(statement)


def check_around(statement: Statement) -> None:
    """Refuse a statement with a construct that neither private rows nor public tables and noisy answers are read with.

    What is allowed here and not with private rows is refused there, stage by stage (:func:`check_stage`).
    """
    _check(statement, AROUND_PARTS, checks=AROUND_CHECKS)


def _check(
    statement: Statement,
    parts: Mapping[type[exp.Expr], frozenset[str]],
    is_closed: Callable[[exp.Expr], bool] | None = None,
    checks: "Mapping[type[exp.Expr], Check] | None" = None,
) -> None:
    for node in statement.tree.walk(bfs=False, prune=is_closed):
        if is_closed is not None and is_closed(node):
            continue
        kind = type(node)
        if (reason := NODES.get(kind)) and kind not in parts:
            raise _refused(statement, node, reason)
        is_row = kind is exp.Tuple and isinstance(node.parent, exp.Values)
        if kind not in parts or (kind is exp.Tuple and parts is OWNED_PARTS and not is_row):
            reason = NODES.get(kind)
            raise _unknown(statement, node) if reason is None else _refused(statement, node, reason)
        for part, value in node.args.items():
            if part not in parts[kind] and value is not None and value != []:
                _refuse_part(statement, node, part, value)
        is_listed = parts is OWNED_PARTS and kind is exp.Join and is_comma(node)
        if (check := (_CHECKS if checks is None else checks).get(kind)) and not is_listed:
            check(statement, node)
    if not isinstance(statement.tree, exp.Select):
        reason = NODES.get(type(statement.tree))
        raise _unknown(statement, statement.tree) if reason is None else _refused(statement, statement.tree, reason)


def _check_top(statement: Statement) -> None:
    """Refuse what sub-queries have, and the statement itself has not: its own groups are answers."""
    tree = statement.tree
    if tree.args.get("qualify") is not None:
        _refuse_part(statement, tree, "qualify", tree.args["qualify"])
    window = next((node for node in tree.find_all(exp.Window) if node.parent_select is tree), None)
    if window is not None:
        raise _refused(statement, window, NODES[exp.Window])


def _refusal(statement: Statement, node: exp.Expr, reason: Reason) -> SqlError:
    return statement.refusal(node, reason.problem, remedy=reason.remedy, code=reason.code)


def _unknown(statement: Statement, node: exp.Expr) -> SqlError:
    text = " ".join(statement.text_of(node).split())
    shown = f"`{text if len(text) <= 40 else text[:37] + '...'}`"
    problem = f"{shown if is_located(node) else 'what stands around ' + shown} is not part of the language"
    return statement.refusal(node, problem, remedy="write it another way, or leave it out", code="unsupported")


def _refused(statement: Statement, node: exp.Expr, reason: Reason) -> SqlError:
    """Return the refusal of a construct; of a set operation its word is underlined, which stands between two nodes."""
    if isinstance(node, exp.SetOperation):
        start, end = statement.span(node.this)[1], statement.span(node.expression)[0]
        between = statement.sql[start:end]
        start, end = start + len(between) - len(between.lstrip()), start + len(between.rstrip())
        return SqlError(
            reason.problem, remedy=reason.remedy, code=reason.code, sql=statement.sql, start=start, end=max(start, end)
        )
    if isinstance(node, exp.Pivot) and node.args.get("unpivot"):
        reason = UNPIVOT
    return _refusal(statement, node, reason)


def _refuse_part(statement: Statement, node: exp.Expr, part: str, value: Any) -> None:
    first = value[0] if isinstance(value, list) else value
    shown = first if isinstance(first, exp.Expr) and not isinstance(node, exp.Star | exp.Limit | exp.CTE) else node
    reason = ARGUMENTS.get((type(node), part)) or NODES.get(type(shown))
    if isinstance(shown, exp.Distinct) and shown.args.get("on") is not None:
        reason = DISTINCT_ON
    raise _unknown(statement, shown) if reason is None else _refused(statement, shown, reason)


def _check_select(statement: Statement, node: exp.Expr) -> None:
    if not node.expressions:
        reason = Reason("no-columns", "the select list is empty", "write AVG(..) or another aggregate")
        raise _refusal(statement, node, reason)
    if node.args.get("from_") is None:
        problem = "the statement asks about no table"
        raise _refusal(statement, node.expressions[-1], Reason("no-from", problem, "write FROM and the table's name"))


def _check_star(statement: Statement, node: exp.Expr) -> None:
    parent = node.parent
    if isinstance(parent, exp.Anonymous) and parent.name.upper() in STARRED and len(parent.expressions) == 1:
        return
    if isinstance(parent, exp.Anonymous):
        remedy = f"name a column; only {', '.join(STARRED[:-1])} and {STARRED[-1]} take a star"
        reason = Reason("star", f"{parent.name} takes an expression", remedy)
        raise _refusal(statement, parent, reason)
    shown = parent if isinstance(parent, exp.Column) else node
    if isinstance(shown.parent, exp.Select) and shown.parent is not statement.tree:
        return
    problem = "records as they are have no guarantee"
    raise _refusal(statement, shown, Reason("star", problem, "write aggregates such as AVG(column)"))


def _check_call(statement: Statement, node: exp.Expr) -> None:
    if not isinstance(node.this, str):
        reason = Reason("quoted-function", "the name of a function stands without quotes", "remove the quotes")
        raise _refusal(statement, node, reason)
    if not node.this.isascii():
        problem, remedy = f"there is no function {node.this}", "write a function of the language, in plain letters"
        raise _refusal(statement, node, Reason("unknown-function", problem, remedy))
    if node.this.upper() == "COLUMNS":
        reason = Reason("columns", "COLUMNS stands for columns that it does not name", "name the columns")
        raise _refusal(statement, node, reason)
    if node.this.upper() in ("UNNEST", "EXPLODE"):
        raise _refusal(statement, node, NODES[exp.Unnest])
    for argument in node.expressions:
        if type(argument) is exp.Order:
            problem = "the order of the records within an aggregate means nothing here"
            raise _refusal(statement, argument, Reason("aggregate-order", problem, "leave ORDER BY out"))


def _check_distinct(statement: Statement, node: exp.Expr) -> None:
    parent = node.parent
    if isinstance(parent, exp.Select) and node.args.get("on") is None:
        return
    if not isinstance(parent, exp.Anonymous) or parent.name.upper() != "COUNT" or len(node.expressions) != 1:
        problem = "DISTINCT inside an aggregate depends on which private values occur"
        remedy = "leave DISTINCT out; only COUNT(DISTINCT user) takes it"
        is_count = isinstance(parent, exp.Anonymous) and parent.name.upper() == "COUNT" and len(node.expressions) > 1
        if is_count and statement.privacy == "USER_PRIVACY":
            texts = (f"CAST({' '.join(statement.text_of(own).split())} AS TEXT)" for own in node.expressions)
            remedy = f"write COUNT(DISTINCT {' || '.join(texts)})".replace(" || ", " || '|' || ")
        reason = Reason("distinct-aggregate", problem, remedy)
        raise _refusal(statement, node, reason)


def _check_table(statement: Statement, node: exp.Expr) -> None:
    if not isinstance(node.this, exp.Identifier):
        if isinstance(node.this, exp.Anonymous) and node.this.name.upper() == "MEASURE":
            problem = "what reads a released measure costs nothing, and needs no guarantee of its own"
            raise _refusal(statement, node, Reason("measure-source", problem, "leave the header out"))
        problem = "a function in FROM reads what nobody has declared"
        raise _refusal(statement, node, Reason("table-function", problem, "write the name of a declared table"))
    name = node.this.name
    is_path = any(sign in name for sign in "/\\*?") or name.lower().endswith(_FILES)
    if statement.text_of(node.this).startswith("'") or (node.this.args.get("quoted") and is_path):
        problem = "a statement reads declared tables, never a file"
        raise _refusal(statement, node, Reason("file", problem, "declare the file in emdp.toml, and write its name"))


def _check_join(statement: Statement, node: exp.Expr) -> None:
    words = [str(node.args.get(part) or "").upper() for part in ("method", "side", "kind")]
    kind = [word for phrase in words for word in phrase.split()]
    if kind not in ([], ["INNER"], ["LEFT"], ["LEFT", "OUTER"]):
        reason = next((JOINS[word] for word in kind if word in JOINS), None)
        raise _unknown(statement, node) if reason is None else _refusal(statement, node, reason)
    if node.args.get("on") is None and not node.args.get("using") and type(node.this) not in NODES:
        raise _refusal(statement, node, JOINS[""])


def _check_subquery(statement: Statement, node: exp.Expr) -> None:
    if isinstance(node.this, exp.SetOperation):
        return
    is_compared = isinstance(node.parent, exp.In) and node.arg_key == "query"
    if not is_compared and not isinstance(node.parent, exp.From | exp.Join):
        raise _refusal(statement, node, SUBQUERY)
    if isinstance(node.this, exp.Select):
        return
    inner = node.this
    while isinstance(inner, exp.Subquery | exp.Paren):
        inner = inner.this
    if not isinstance(inner, exp.Table):
        raise _unknown(statement, node)
    has_joins = bool(inner.args.get("joins") or node.args.get("joins"))
    problem = f"{'the tables of a JOIN stand' if has_joins else 'the name of a table stands'} without parentheses"
    remedy = "remove them" if has_joins else f"write FROM {statement.text_of(inner)}"
    raise _refusal(statement, node, Reason("table-parentheses", problem, remedy))


def _check_cte(statement: Statement, node: exp.Expr) -> None:
    if not isinstance(node.this, exp.Select | exp.SetOperation | exp.Values):
        raise _unknown(statement, node.this)


def _check_alias(statement: Statement, node: exp.Expr) -> None:
    if not isinstance(node.parent, exp.Select):
        problem = "a name is given to a column of the answer only"
        raise _refusal(statement, node, Reason("alias", problem, "leave AS out here"))


def _check_rows(statement: Statement, node: exp.Expr) -> None:
    count = node.args.get("expression")
    if not isinstance(count, exp.Literal) or count.is_string or not count.name.isdigit():
        reason = ARGUMENTS[exp.Limit, "limit_options"]
        raise _refusal(statement, count if isinstance(count, exp.Expr) else node, reason)


def _check_ordered(statement: Statement, node: exp.Expr) -> None:
    if isinstance(node.this, exp.Var):
        problem = "the columns to order by are named one by one"
        raise _refusal(statement, node, Reason("order-by-all", problem, "name them"))


def _check_name(statement: Statement, node: exp.Expr) -> None:
    name, parent = node.name, node.parent
    if node.args.get("quoted"):
        return
    if not is_plain_name(name):
        problem, remedy = f"`{name}` is no name", "write letters, digits and _, or the name in double quotes"
        raise _refusal(statement, node, Reason("name", problem, remedy))
    # Of FROM t AS LEFT JOIN u, whose alias was forgotten, sqlglot makes an inner join.
    if is_reserved(name) and isinstance(parent, exp.Table | exp.TableAlias):
        problem = f"`{name}` is a word of SQL, and no name without quotes"
        raise _refusal(statement, node, Reason("reserved-word", problem, f'write "{name}", or another name'))


def _check_var(statement: Statement, node: exp.Expr) -> None:
    if not node.name.isascii():
        raise _unknown(statement, node)
    if not isinstance(
        node.parent, exp.Extract | exp.Interval | exp.Ordered | exp.DataTypeParam | exp.DataType | exp.Limit
    ):
        raise _unknown(statement, node)


def _check_type(statement: Statement, node: exp.Expr) -> None:
    if isinstance(node.parent, exp.Cast | exp.DataType):
        return
    inner = node.expressions[0] if node.expressions else None
    if not isinstance(inner, exp.DataType) or inner.this != exp.DType.VECTOR or inner.expressions:
        raise _unknown(statement, node)


def _check_join_around(statement: Statement, node: exp.Expr) -> None:
    words = [str(node.args.get(part) or "").upper() for part in ("method", "side", "kind")]
    kind = [word for phrase in words for word in phrase.split()]
    if " ".join(kind) not in AROUND_JOINS:
        reason = next((JOINS[word] for word in kind if word in JOINS), None)
        raise _unknown(statement, node) if reason is None else _refusal(statement, node, reason)


def _check_star_around(statement: Statement, node: exp.Expr) -> None:
    parent = node.parent
    if isinstance(parent, exp.Anonymous) and (parent.name.upper() not in STARRED or len(parent.expressions) != 1):
        _check_star(statement, node)


_CHECKS: Mapping[type[exp.Expr], Check] = {
    exp.Select: _check_select,
    exp.Identifier: _check_name,
    exp.Star: _check_star,
    exp.Anonymous: _check_call,
    exp.Distinct: _check_distinct,
    exp.Table: _check_table,
    exp.Join: _check_join,
    exp.Subquery: _check_subquery,
    exp.CTE: _check_cte,
    exp.Alias: _check_alias,
    exp.Limit: _check_rows,
    exp.Offset: _check_rows,
    exp.Ordered: _check_ordered,
    exp.Var: _check_var,
    exp.DataType: _check_type,
}
"""What else must hold of a construct of the language."""

AROUND_CHECKS: Mapping[type[exp.Expr], Check] = {
    **{kind: check for kind, check in _CHECKS.items() if kind not in (exp.Distinct, exp.Subquery)},
    exp.Join: _check_join_around,
    exp.Star: _check_star_around,
}
"""The same around private rows, where joins, sub-queries and DISTINCT are as in any SQL."""
