"""Statistics of a private table by whatever engine its source has: the same names, the same numbers.

An engine is chosen by its source alone. Spark is loaded where a source of Spark is, and nowhere else.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import polars as pl

from emdp.expressions import Expression
from emdp.expressions.aggregation import Aggregation
from emdp.forks import check_fork
from emdp.statistic import Statistic
from emdp.tables import duckdb
from emdp.tables.base import SPARK, Source
from emdp.tables.table import Table

__all__ = [
    "aggregate",
    "check_aggregation",
    "check_engine",
    "check_rules",
    "check_statement",
    "explain_cost",
    "fetch_bag",
    "fetch_public",
    "mean_of_user_means",
]


def mean_of_user_means(table: Table, expressions: Sequence[Expression]) -> Statistic:
    """Return, for each expression, the mean over the public users of the mean over their records.

    Users without records count with the value of the space's neutral item (EMD 8.1). Values are summed as integers (see
    ``expressions/fixed_point.py``), so that neither the order of rows nor the number of workers changes the result.
    """
    found: Statistic = _engine(table.source).mean_of_user_means(table, expressions)
    return found


def aggregate(table: Table, aggregation: Aggregation) -> tuple[Statistic, ...]:
    """Return what an aggregation asks for, exactly and in one scan: a statistic for each group of users.

    Returns
    -------
    tuple of Statistic
        Of ``aggregation.dimension`` coordinates each: value by value, the cells in order. Neither the order of rows
        nor the number of workers changes them.
    """
    found: tuple[Statistic, ...] = _engine(table.source).aggregate(table, aggregation)
    return found


def check_statement(table: Table, expressions: Sequence[Expression]) -> None:
    """Run the statement of some expressions on no rows, so that what the engine refuses is refused before a charge.

    Raises
    ------
    UsageError
        If the engine cannot compute the expressions at all.
    """
    _engine(table.source).check_statement(table, expressions)


def check_aggregation(table: Table, aggregation: Aggregation) -> None:
    """Run the statement of an aggregation on no rows, as :func:`check_statement` does.

    Raises
    ------
    UsageError
        If an axis does not fit the space, or the engine cannot compute the aggregation at all.
    """
    _engine(table.source).check_aggregation(table, aggregation)


def check_engine(table: Table) -> None:
    """Check what an answer needs besides the data: limits that make sense, a place for temporary files, and a process
    that has its threads.

    Then begin to open what a table will be read with, while the answer is checked and charged.
    """
    check_fork()
    duckdb.check_engine()
    if table.source.engine == SPARK:
        # A view may be another one by now, or gone.
        table.source.check_schema(table.schema, table.source_columns)
    else:
        duckdb.open_ahead()


def check_rules(table: Table) -> None:
    """Check the declared rules against the records; see :meth:`Table.validate`."""
    _engine(table.source).check_rules(table)


def fetch_bag(table: Table, user: Any) -> pl.DataFrame | None:
    """Return one user's items, None where there are none; see :meth:`Table.bag`."""
    found: pl.DataFrame | None = _engine(table.source).fetch_bag(table, user)
    return found


def fetch_public(source: Source) -> pl.DataFrame:
    """Return all rows of a public table."""
    found: pl.DataFrame = _engine(source).fetch_public(source)
    return found


def explain_cost(table: Table, aggregation: Aggregation) -> tuple[tuple[str, str], ...]:
    """Return what is public about the work that an aggregation will be: names and texts, for people to read.

    Of Spark: its stages (exchanges of its plan, and one), and a bound on the bytes that they exchange, from the number
    of users, the cells and the width of a row; how many rows there are is not public. Of DuckDB: nothing.
    """
    if table.source.engine != SPARK:
        return ()
    found: tuple[tuple[str, str], ...] = _engine(table.source).explain_cost(table, aggregation)
    return found


def _engine(source: Source) -> ModuleType:
    if source.engine != SPARK:
        return duckdb
    from emdp.tables import spark

    return spark
