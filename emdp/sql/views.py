"""Views of an owner's own files, from text: ``SELECT user_id, CAST(x AS DOUBLE) AS x FROM source WHERE x <> ''``.

A cleaning step, row by row: a list of functions of a row (those of statements under USER_PRIVACY), ``FROM source``, and
WHERE. What looks at several rows, such as a join, GROUP BY, DISTINCT or a window, is refused, since a row of it could
belong to several users.
"""

from collections.abc import Mapping
from typing import NoReturn

from sqlglot import exp

from emdp.base.errors import UsageError
from emdp.rows.nodes import Column, Node
from emdp.rows.types import Kind
from emdp.rows.view import SOURCE, RowView
from emdp.sql.context import listed, near, one_by_name
from emdp.sql.reader import parse_plain
from emdp.sql.rows.reader import read_row
from emdp.sql.text.statement import Statement

__all__ = ["read_view"]

ROW_BY_ROW = "a view takes each row by itself, so that each belongs to one user"


def read_view(text: str, kinds: Mapping[str, Kind]) -> RowView:
    """Return the view that a text means.

    Parameters
    ----------
    text : str
        One SELECT without a header.
    kinds : mapping of str to Kind
        Columns of the source, each with what its values are read as.

    Raises
    ------
    SqlError
        If it is none, or looks at several rows; the part is underlined.

    >>> view = read_view("SELECT u, LENGTH(name) AS n FROM source WHERE u > 0", {"u": Kind.BIGINT, "name": Kind.TEXT})
    >>> [(name, node.kind.value) for name, node in view.columns], view.reads
    ([('u', 'BIGINT'), ('n', 'BIGINT')], ('name', 'u'))
    """
    statement = parse_plain(text)
    tree = statement.tree
    _check_shape(statement)

    def column(node: exp.Column) -> Column:
        if node.table and node.table.lower() != SOURCE:
            raise statement.refusal(
                node, f"there is no table {node.table}", remedy=f"write {SOURCE}", code="unknown-table"
            )
        found = one_by_name(node.name, kinds)
        if len(found) == 1:
            return Column(SOURCE, found[0], kinds[found[0]])
        alike = near(node.name, kinds)
        raise statement.refusal(
            node,
            f"the source has no column {node.name} that is read",
            remedy=f"write {' or '.join(alike)}" if alike else f"the columns are {listed(kinds)}",
            code="unknown-column",
        )

    columns: list[tuple[str, Node]] = []
    for entry in tree.expressions:
        if isinstance(entry, exp.Star):
            columns += [(name, Column(SOURCE, name, kind)) for name, kind in kinds.items()]
            continue
        body = entry.this if isinstance(entry, exp.Alias) else entry
        if not isinstance(entry, exp.Alias | exp.Column):
            raise statement.refusal(
                entry, "a column of a view needs a name", remedy="write AS name after it", code="view-name"
            )
        node = read_row(body, column, statement)
        columns.append((entry.alias if isinstance(entry, exp.Alias) else body.name, node))
    where = tree.args.get("where")
    condition = None if where is None else read_row(where.this, column, statement)
    try:
        return RowView(tuple(columns), condition, text.strip())
    except UsageError as error:
        raise statement.refusal(tree.expressions[0], error.problem, remedy=error.remedy, code="view") from None


def _check_shape(statement: Statement) -> None:
    tree = statement.tree
    if not isinstance(tree, exp.Select):
        _refuse(statement, tree, "write one SELECT")
    for part, value in tree.args.items():
        if part in ("expressions", "from_", "where") or value is None or value == []:
            continue
        shown = value[0] if isinstance(value, list) else value
        _refuse(
            statement, shown if isinstance(shown, exp.Expr) else tree, "leave it out: SELECT .. FROM source WHERE .."
        )
    from_ = tree.args.get("from_")
    table = None if from_ is None else from_.this
    has_more = isinstance(table, exp.Table) and any(value for part, value in table.args.items() if part != "this")
    if not isinstance(table, exp.Table) or has_more or table.name.lower() != SOURCE:
        raise statement.refusal(
            tree.expressions[0] if table is None else table,
            "a view reads the source of its own entry, and nothing else",
            remedy=f"write FROM {SOURCE}",
            code="view-source",
        )


def _refuse(statement: Statement, node: exp.Expr, remedy: str) -> NoReturn:
    raise statement.refusal(node, ROW_BY_ROW, remedy=remedy, code="view-rows")
