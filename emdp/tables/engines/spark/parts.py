"""Aggregations of many values in several statements, all on the same rows.

What a statement costs Spark's driver to plan and compile grows with its sums, whatever the rows: 0.1 CPU seconds and
1.5 MB for a mean of a distance (``benchmarks/spark_columns.py``; of 256 means 411 MB are left after a collection, and a
driver has 1 GB unless it is told otherwise). Above :data:`MOST_SUMS` the values are dealt out in order
to several statements. The sums of a value are the same integers whichever values stand beside it, so nothing of the
result changes.

Why the rows are kept in between. A vector's sensitivity is that of a function of *one* table: the coordinates of a user
move together, as one bag moves, and their joint bound may be far less than the bounds of the parts added up (of a
hundred categories' shares each moved record changes two, wherever these stand). Let two statements read other rows,
since somebody wrote to the source in between: a user's coordinates then come from two bags, each of which may have
moved by the full ``d_em``, and what holds is the sum of the parts' bounds, up to as many times the one that was paid
for as there are parts. So the declared columns are read once, by one job, and written to the disks of Spark's workers
as a *local checkpoint*. Unlike rows that are merely persisted, those of a checkpoint have no lineage: a part that is
lost cannot be read anew from the source, the statement fails then, and its charge stays. All statements read these same
rows, hence the statistic is one table's, and the bound is the one that was claimed. The rows are gone after the last
statement.

(With speculation Spark may write a partition in two places, by two runs of its task. They are equal if the source did
not change while it was read, which any single scan relies on as well.)
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import prod
from typing import Any

from emdp.expressions.cells.aggregation import Aggregation, HatAxis
from emdp.tables.engines.spark.errors import uninterrupted
from emdp.tables.engines.spark.source import SparkSource
from emdp.tables.engines.spark.wait import waited
from emdp.tables.facts import TableFacts

__all__ = ["MOST_SUMS", "parts_of", "read_once"]

MOST_SUMS = 256
"""Sums of one statement, unless one value alone has more."""


def parts_of(aggregation: Aggregation) -> tuple[Aggregation, ...]:
    """Return an aggregation as some that follow each other, value by value, each narrow enough for a statement.

    >>> from emdp.expressions import col
    >>> [len(part.values) for part in parts_of(Aggregation((col("x"),) * 600))]
    [256, 256, 88]
    >>> tents = HatAxis(col("x"), start=0, step=1, size=3)
    >>> [len(part.values) for part in parts_of(Aggregation((col("x"),) * 130, (tents,)))]
    [128, 2]
    """
    corners = prod(2 for axis in aggregation.axes if isinstance(axis, HatAxis) and axis.size > 1)
    most = max(1, MOST_SUMS // corners)
    if len(aggregation.values) <= most:
        return (aggregation,)
    starts = range(0, len(aggregation.values), most)
    return tuple(replace(aggregation, values=aggregation.values[start : start + most]) for start in starts)


@contextmanager
def read_once(source: SparkSource, table: TableFacts) -> Iterator[Any]:
    """Read a table's declared columns once, and keep them for several statements: a pyspark DataFrame."""
    from pyspark import StorageLevel

    with uninterrupted():
        rows = source.rows({name: table.schema[name] for name in table.source_columns})
    kept = waited(rows.sparkSession, lambda: rows.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY))
    try:
        yield kept
    finally:
        with uninterrupted(), suppress(Exception):
            # It is no DataFrame of Spark's cache: its plan is the kept rows themselves.
            kept._jdf.queryExecution().logical().rdd().unpersist(False)
