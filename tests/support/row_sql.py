"""SQL of a row expression to its node, with columns of every kind."""

from sqlglot import exp

from emdp.rows.nodes import Column, Node
from emdp.rows.types import Kind
from emdp.sql.rows.reader import read_row
from emdp.sql.text.dialect import parse_tokens, tokenise
from emdp.sql.text.spans import locate
from emdp.sql.text.statement import Statement

COLUMNS = {
    "x": Kind.BIGINT, "y": Kind.DOUBLE, "s": Kind.TEXT, "d": Kind.DATE, "ts": Kind.TIMESTAMP, "b": Kind.BOOLEAN,
    **{f"c{place}": Kind.BOOLEAN for place in range(4)},
}  # fmt: skip


def read(text: str, kinds: dict[str, Kind] | None = None) -> Node:
    """Return the node of an expression; columns are ``x``, ``y``, ``s``, ``d``, ``ts`` and ``b``, or those given."""
    known = COLUMNS if kinds is None else kinds
    statement = f"SELECT {text}"
    tokens = tokenise(statement)
    (tree,) = parse_tokens(tokens, statement)
    assert isinstance(tree, exp.Select)
    locate(tree, tokens)
    written = Statement(statement, 0, len(statement), "USER_PRIVACY", {}, (0, 6), tree)
    return read_row(tree.expressions[0], lambda column: Column("t", column.name, known[column.name]), written)
