"""Computing with what was released: functions of the columns of noisy frames, in an engine that reaches nothing else.

What is read here is public already, so that nothing of it is private, and no charge depends on it.
"""

from collections.abc import Mapping

import polars as pl

from emdp.rows.nodes import Column, Node
from emdp.tables.statements.fragments import Sql

__all__ = ["computed"]

ROWS, ROW = "released_rows", "released_row"


def computed(frame: pl.DataFrame, nodes: Mapping[str, Node]) -> pl.DataFrame:
    """Return functions of the columns of a frame, row by row.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns of the kinds that the functions read.
    nodes : mapping of str to Node
        By name; they read columns by their names alone. None raises on any value.

    >>> from emdp.rows.nodes import Call, Literal
    >>> from emdp.rows.types import Kind
    >>> n = Column("answer", "n", Kind.DOUBLE)
    >>> half = Call("divide", (n, Literal(2.0, Kind.DOUBLE)))
    >>> computed(pl.DataFrame({"n": [3.0, None]}), {"half": half}).rows()
    [(1.5,), (None,)]
    """
    # Loaded where they are needed.
    from sqlglot import exp

    from emdp.tables.engines.duckdb.execution import DIALECT, fetch_frame
    from emdp.tables.engines.duckdb.instances import without_rows
    from emdp.tables.statements import fragments as sql
    from emdp.tables.statements.rows import row_expression

    names = {name: f"c{place}" for place, name in enumerate(frame.columns)}

    def column(own: Column) -> Sql:
        return sql.column(names[own.name])

    trees = [row_expression(node, column) for node in nodes.values()]
    made = [exp.alias_(tree, f"f{place}", quoted=True) for place, tree in enumerate(trees)]
    text = exp.select(*made).from_(ROWS).order_by(exp.column(ROW)).sql(DIALECT, identify=True)
    rows = pl.DataFrame([frame.get_column(name).alias(own) for name, own in names.items()]).with_row_index(ROW)
    with without_rows() as connection:
        connection.register(ROWS, rows)
        found = fetch_frame(connection, text)
    return pl.DataFrame([found.get_column(f"f{place}").alias(name) for place, name in enumerate(nodes)])
