"""``VALUES`` in FROM, JOIN and IN: a public table, or list, that the statement writes out.

What is written in a statement is public, so that a column of such a table lists groups as one of a declared table does.
"""

from dataclasses import replace

import polars as pl
from sqlglot import exp

from emdp.base.errors import UsageError
from emdp.questions.names import Names
from emdp.sql.context import Context
from emdp.sql.text.dialect import marked_text

__all__ = ["with_written_lists"]

LITERALS = (exp.Tuple, exp.Literal, exp.Null, exp.Boolean, exp.Neg, exp.Paren, exp.Cast, exp.DataType, exp.Values,
            exp.TableAlias, exp.Identifier)  # fmt: skip
"""What VALUES is made of."""


def with_written_lists(context: Context) -> Context:
    """Return a statement with a public table in the place of each VALUES, and the names that it then may use.

    Raises
    ------
    SqlError
        If a value is no literal, or rows or names do not fit one another.
    """
    tree, names = context.statement.tree, context.names
    if tree.find(exp.Values) is None:
        return context
    tree = tree.copy()
    taken = {name.lower() for name in (*names.public, *names.private)}
    taken |= {own.alias.lower() for own in tree.find_all(exp.CTE)}
    taken |= {own.name.lower() for own in tree.find_all(exp.Table)}
    for node in list(tree.find_all(exp.Values)):
        if isinstance(node.parent, exp.In):
            _put_into_list(context, node, node.parent)
            continue
        frame, kinds = _table(context, node)
        cte = node.parent
        if isinstance(cte, exp.CTE) and _is_alone(tree, cte, names):
            names = _named(names, cte.alias, frame, kinds)
            _without(cte)
            continue
        place = 1
        while f"values_{place}" in taken:
            place += 1
        taken.add(f"values_{place}")
        names = _named(names, f"values_{place}", frame, kinds)
        name = exp.to_identifier(f"values_{place}", quoted=True)
        alias = exp.TableAlias(this=exp.to_identifier(node.alias or f"values_{place}", quoted=True))
        made: exp.Expr = exp.Table(this=name, alias=alias)
        made.meta.update(node.meta)
        if isinstance(node.parent, exp.CTE):
            made = exp.Select(expressions=[exp.Star()], from_=exp.From(this=made))
            made.meta.update(node.meta)
        node.replace(made)
    return Context(replace(context.statement, tree=tree), names)


def _named(names: Names, name: str, frame: pl.DataFrame, kinds: object) -> Names:
    return replace(
        names,
        public={**names.public, name: frame},
        public_kinds={**names.public_kinds, name: kinds},  # type: ignore[dict-item]
    )


def _is_alone(tree: exp.Expr, cte: exp.CTE, names: Names) -> bool:
    """Say whether nothing else has the name of an entry of WITH, so that it is one of the statement's tables."""
    name = cte.alias.lower()
    others = [*names.public, *names.private, *(own.alias for own in tree.find_all(exp.CTE) if own is not cte)]
    return name not in (other.lower() for other in others)


def _without(cte: exp.CTE) -> None:
    """Take an entry out of its WITH, and the WITH away that has no other."""
    with_ = cte.parent
    cte.pop()
    if with_ is not None and not with_.expressions:
        with_.pop()


def _put_into_list(context: Context, node: exp.Values, around: exp.In) -> None:
    """Write ``e IN (VALUES (1), (2))`` as ``e IN (1, 2)``."""
    rows = node.expressions
    if len(around.expressions) != 1 or any(len(row.expressions) != 1 for row in rows):
        raise context.refusal(
            node, "IN compares with one column", remedy="write one value in each pair of parentheses", code="in-columns"
        )
    around.set("expressions", [row.expressions[0] for row in rows])


def _table(context: Context, node: exp.Values) -> tuple[pl.DataFrame, object]:
    """Return the table, and the kinds of its columns."""
    other = next((own for own in node.walk() if not isinstance(own, LITERALS)), None)
    if other is not None:
        raise context.refusal(
            other, "VALUES is a list of literals", remedy="write the values themselves", code="values-literals"
        )
    width = len(node.expressions[0].expressions)
    alias = (node.parent if isinstance(node.parent, exp.CTE) else node).args.get("alias")
    written = [own.name for own in (alias.args.get("columns") or ())] if alias is not None else []
    columns = [*written, *(f"col{place}" for place in range(len(written), width))]
    is_even = all(len(row.expressions) == width for row in node.expressions)
    if not is_even or len(columns) != width or len({name.lower() for name in columns}) < width:
        raise context.refusal(
            node,
            "rows and names of VALUES do not fit one another",
            remedy="write as many values in each row as there are names, as in (VALUES ('a', 1)) AS keys(k, v)",
            code="values-shape",
        )
    run = context.names.compute_public
    if run is None:
        raise context.refusal(
            node, "nothing here computes with public tables", remedy="ask through a session", code="no-engine"
        )
    plain = exp.Values(expressions=[row.copy() for row in node.expressions])
    quoted = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in columns)
    for part in plain.walk():
        part.meta.clear()
    try:
        frame, kinds = run(f"SELECT * FROM ({marked_text(plain)}) AS written({quoted})", {})
        numbers = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Decimal)]
        if numbers:
            frame = frame.with_columns(pl.col(numbers).cast(pl.Float64))
            frame, kinds = run("SELECT * FROM written", {"written": frame})
    except UsageError:
        raise context.refusal(
            node, "the values of a column are of several types", remedy="write them alike", code="values-types"
        ) from None
    return frame, kinds
