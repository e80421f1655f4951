"""Computing with what was released: functions of the columns of noisy frames, in an engine that reaches nothing else.

What is read here is public already, so that nothing of it is private, and no charge depends on it.
"""

from collections.abc import Mapping

import polars as pl

from emdp.base.errors import DataRuleError, InternalError, UsageError
from emdp.rows.nodes import Column, Node
from emdp.rows.types import Kind
from emdp.tables.base import lock
from emdp.tables.statements.fragments import Sql

__all__ = ["computed", "of_public"]

ROWS, ROW = "released_rows", "released_row"


def computed(frame: pl.DataFrame, nodes: Mapping[str, Node]) -> pl.DataFrame:
    """Return functions of the columns of a frame, row by row.

    Parameters
    ----------
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


def of_public(text: str, tables: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, Mapping[str, Kind]]:
    """Return the rows of a SELECT over frames, and the kinds of its columns.

    The instance of the engine sees the frames alone: no file, no private table, no setting, no extension. It divides by
    0 and computes beyond a function's domain without an error; where a cast of a value fails, one sentence says so.

    Raises
    ------
    UsageError
        If it fails: with none of the engine's words.

    >>> of_public("SELECT max(n) AS n FROM counts", {"counts": pl.DataFrame({"n": [3, 5]})})[0].rows()
    [(5,)]
    """
    # Loaded where they are needed.
    from emdp.tables.engines.duckdb.execution import fetch_frame
    from emdp.tables.engines.duckdb.instances import WITHOUT_ROWS, taken
    from emdp.tables.row_kinds import public_kinds

    settings = {**WITHOUT_ROWS, "error_on_division_by_zero": "false"}
    with taken(settings) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, frame in tables.items():
            connection.from_arrow(frame.to_arrow()).create_view(name)
        lock(connection)
        try:
            frame = fetch_frame(connection, text)
        except (DataRuleError, InternalError):
            raise UsageError(
                "the part of the statement that reads public tables and noisy answers fails on their values, or names "
                "what they lack; check its columns, and write TRY_CAST for CAST."
            ) from None
    return (frame := _plain(frame)), public_kinds(frame)


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with sums of whole numbers as such: the engine makes them DECIMAL(38, 0)."""
    whole = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Decimal) and dtype.scale == 0]
    return frame.with_columns([frame.get_column(name).cast(pl.Int64, strict=False) for name in whole])
