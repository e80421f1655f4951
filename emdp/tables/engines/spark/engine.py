"""The Spark engine: the statements of the DuckDB engine in Spark SQL, run in the session that the rows belong to."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import polars as pl

from emdp.base.errors import DataRuleError, InternalError
from emdp.base.statistic import Hidden, HiddenBlocks, Statistic
from emdp.expressions.cells.aggregation import Aggregation
from emdp.questions.owned.grids import OwnedFrame
from emdp.questions.owned.totals import Key, OwnedTotals
from emdp.questions.reading import BlockEncoder, Reading
from emdp.tables.base import Source
from emdp.tables.engines.spark.compiled import Compiled, check_compiled, compiled, compiled_rows, known_parts, stages_of
from emdp.tables.engines.spark.errors import hidden_errors
from emdp.tables.engines.spark.execution import check_on_no_rows, spark_rows, spark_source, statement_rows
from emdp.tables.engines.spark.items import check_items, explain_reading, read_items
from emdp.tables.engines.spark.links import check_columns
from emdp.tables.engines.spark.parts import read_once
from emdp.tables.engines.spark.rows import SPARK_ROWS, in_numbers, with_times
from emdp.tables.engines.spark.wait import waited
from emdp.tables.facts import TableFacts
from emdp.tables.statements.bags import BREACH, bag_statement
from emdp.tables.statements.cells import CellStatement, cell_statement
from emdp.tables.statements.cells_twice import TwiceStatement, has_changed, twice_statement
from emdp.tables.statements.corners import coordinates
from emdp.tables.statements.items import user_keys_statement
from emdp.tables.statements.linear import LinearStatement, finished_means, linear_statement
from emdp.tables.statements.owned import OwnedStatement, owned_coordinates, owned_statement
from emdp.tables.statements.owned_frames import frame_statement, in_order
from emdp.tables.statements.rules import Breach, Rule, breaches_statement, invalid_items, rules_statement

__all__ = ["SparkEngine"]

CHANGED = (
    "the source changed while a statement read it twice; leave it as it is while it is read, and ask again; what was "
    "charged stays charged."
)
"""Error of a statement whose two scans saw other records."""


class SparkEngine:
    """Statistics and blocks that Spark computes; see :class:`emdp.tables.engines.base.Engine`."""

    def prepare(self, table: TableFacts) -> None:
        # A view may be another one by now, or gone.
        for own in table.private_tables().values():
            own.source.check_schema(own.schema, own.source_columns)

    def aggregate(self, table: TableFacts, aggregation: Aggregation | OwnedTotals) -> tuple[Statistic, ...]:
        """Return the statistics that an aggregation asks for, exactly: a statistic for each group of users.

        Of many values in several statements, all on the same rows; see :mod:`emdp.tables.engines.spark.parts`.
        """
        if isinstance(aggregation, OwnedTotals):
            rows = _collected(table, _owned(table, aggregation), None)
            return (Statistic(owned_coordinates(aggregation, rows)),)
        parts = known_parts(aggregation)
        if len(parts) == 1:
            return tuple(map(Statistic, _coordinates(table, aggregation, None)))
        with hidden_errors(), read_once(spark_source(table.source), table) as rows:
            found = [_coordinates(table, part, rows) for part in parts]
        return tuple(Statistic([value for own in group for value in own]) for group in zip(*found, strict=True))

    def aggregate_checked(
        self, table: TableFacts, aggregation: Aggregation | OwnedTotals
    ) -> tuple[Statistic, ...] | None:
        """Return what is computed in one scan with the rules; None of all else, whose rules have a scan of their own.

        These are means, totals and cells whose records are added up by user. Others are read twice, and what that
        costs less in all has no row of the rules; so have pairs, statements in several parts, and sums of rows with
        owners.
        """
        if isinstance(aggregation, OwnedTotals) or aggregation.pairs or len(known_parts(aggregation)) > 1:
            return None
        # Data are checked once, and asked often.
        from emdp.tables.statements.cell_rules import may_be_checked, rows_if_held
        from emdp.tables.statements.checked import checked_statement

        if not may_be_checked(table, aggregation):
            return None
        if not aggregation.is_plain and twice_statement(table, aggregation) is not None:
            return None
        table.source.check_schema(table.schema, table.source_columns)
        if aggregation.is_plain:
            statement = checked_statement(table, aggregation.values)
            (row,) = _found(table, statement.means)
            means = statement.found(row, table.n)
            return None if means is None else (Statistic(means),)
        over_cells = cell_statement(table, aggregation, is_checked=True)
        rows = rows_if_held(_found(table, over_cells))
        if rows is None:
            return None
        return tuple(map(Statistic, coordinates(over_cells, aggregation, rows, table.most_users)))

    def check_aggregation(
        self, table: TableFacts, aggregation: Aggregation | OwnedTotals, is_new: bool = False
    ) -> bool:
        del is_new
        if isinstance(aggregation, OwnedTotals):
            check_columns(table, aggregation)
            check_compiled(table, aggregation, lambda: _owned_statement(table, aggregation))
            return False
        for part in known_parts(aggregation):
            check_compiled(table, part, partial(_statement, table, part))
        return False

    def read_owned(self, table: TableFacts, wanted: OwnedFrame) -> Hidden[pl.DataFrame]:
        statement = _framed(table, wanted)
        with spark_rows(table, statement.query, statement.lookups, table.users.keys) as frame:
            found = pl.DataFrame(waited(frame.sparkSession, frame.toArrow))
        return Hidden(in_order(with_times(found, wanted), wanted))

    def check_owned(self, table: TableFacts, wanted: OwnedFrame) -> None:
        check_columns(table, wanted)
        check_on_no_rows(table, lambda: _framed(table, wanted))

    def broken_rules(self, table: TableFacts) -> tuple[Rule, ...]:
        table.source.check_schema(table.schema, table.source_columns)
        statement = rules_statement(table)
        with spark_rows(table, statement.query, statement.lookups, table.users.keys) as frame:
            return statement.broken(waited(frame.sparkSession, frame.collect)[0])

    def count_breaches(self, table: TableFacts) -> tuple[Breach, ...]:
        statement = breaches_statement(table)
        with spark_rows(table, statement.query, statement.lookups, table.users.keys) as frame:
            return statement.breaches(waited(frame.sparkSession, frame.collect)[0])

    def fetch_bag(self, table: TableFacts, user: Any) -> pl.DataFrame | None:
        query, lookups = bag_statement(table, str(user))
        with spark_rows(table, query, lookups, table.users.keys) as frame:
            items = pl.DataFrame(waited(frame.sparkSession, frame.toArrow))
        if items.get_column(BREACH).any():
            raise DataRuleError(invalid_items(table).sentence())
        return items.drop(BREACH) if len(items) else None

    def fetch_users(self, table: TableFacts) -> Hidden[pl.Series]:
        with spark_rows(table, user_keys_statement(table), {}, table.users.keys) as frame:
            return Hidden(pl.DataFrame(waited(frame.sparkSession, frame.toArrow)).to_series())

    def fetch_public(self, source: Source) -> pl.DataFrame:
        with hidden_errors():
            frame = spark_source(source).frame()
            return pl.DataFrame(waited(frame.sparkSession, frame.toArrow))

    def explain_cost(self, table: TableFacts, aggregation: Aggregation | OwnedTotals) -> tuple[tuple[str, str], ...]:
        """Return public facts about the work that an aggregation will be.

        These are its stages (exchanges of its plan, and one), and a bound on the bytes that they exchange, from the
        number of users, the cells and the width of a row; how many rows there are is not public.
        """
        if isinstance(aggregation, OwnedTotals):
            return ()
        parts = known_parts(aggregation)
        stages = sum(_stages(table, _compiled(table, part)) for part in parts)
        sums = len(aggregation.values) * math.prod(2 for axis in aggregation.axes if axis.size > 1)
        # Of each statement a header of 16 bytes, the key and a count; of each sum its two halves, and the mean's count.
        row = (16 + 8 * 2) * len(parts) + 8 * 3 * sums
        cells = aggregation.cells
        if isinstance(_compiled(table, parts[0]).statement, TwiceStatement):
            # Users are counted apart, and a hash of theirs goes with each sum.
            cells, row = cells + 1, row + 8 * 4
        users = "N" if table.users.count is None else str(table.n)
        bound = f"{users} users x {cells} cells x P x {row} bytes" if cells > 1 else f"{users} users x P x {row} bytes"
        whole = "N x " if table.users.count is None else ""
        size = (table.users.count or 1) * cells * row
        facts = (
            ("engine", "Spark"),
            # One more for the rows that several statements read.
            ("stages", str(stages) if len(parts) == 1 else f"at most {stages + 1}"),
            (
                "shuffle",
                f"at most {bound} = P x {whole}{size} bytes, P the partitions that the source is read in",
            ),
        )
        return facts if len(parts) == 1 else (*facts, ("statements", f"{len(parts)} on rows kept on Spark's disks"))

    def read_items(
        self, table: TableFacts, reading: Reading, encoder: BlockEncoder | None = None
    ) -> Hidden[Any] | HiddenBlocks[Any]:
        return read_items(table, reading, encoder)

    def check_items(self, table: TableFacts, reading: Reading) -> None:
        check_items(table, reading)

    def explain_reading(self, table: TableFacts, reading: Reading) -> tuple[tuple[str, str], ...]:
        return explain_reading(table, reading)


def _coordinates(table: TableFacts, aggregation: Aggregation, rows: Any | None) -> list[list[Fraction]]:
    """Return the coordinates of each group of users, by one statement; of the source where no rows are given."""
    own = _compiled(table, aggregation)
    found, statement = _collected(table, own, rows), own.statement
    if isinstance(statement, TwiceStatement):
        if has_changed(found):
            raise DataRuleError(CHANGED)
        found = [row[:-1] for row in found]
    if isinstance(statement, CellStatement):
        return coordinates(statement, aggregation, found, table.most_users)
    if len(found) != 1:
        raise InternalError("a statement for one row gave another number of rows.")
    return [finished_means(statement, found[0], table.n)]


def _stages(table: TableFacts, own: Compiled) -> int:
    if own.stages is None:
        with spark_rows(table, own.query, own.lookups, table.users.keys) as frame:
            own.stages = stages_of(frame)
    return own.stages


def _compiled(table: TableFacts, aggregation: Aggregation) -> Compiled:
    return compiled(table, aggregation, lambda: _statement(table, aggregation))


def _statement(table: TableFacts, aggregation: Aggregation) -> LinearStatement | CellStatement:
    if aggregation.is_plain:
        return linear_statement(table, aggregation.values)
    return twice_statement(table, aggregation) or cell_statement(table, aggregation)


def _owned(table: TableFacts, totals: OwnedTotals) -> Compiled:
    return compiled(table, totals, lambda: _owned_statement(table, totals))


def _owned_statement(table: TableFacts, totals: OwnedTotals) -> OwnedStatement:
    return _with_numbers(owned_statement(table, totals, SPARK_ROWS), totals.keys)


def _framed(table: TableFacts, wanted: OwnedFrame) -> OwnedStatement:
    return _with_numbers(frame_statement(table, wanted, SPARK_ROWS), wanted.keys)


def _with_numbers(statement: OwnedStatement, keys: Sequence[Key]) -> OwnedStatement:
    lists = {f"listed_{place}" for place in range(len(keys))}
    lookups = {name: in_numbers(frame, is_list=name in lists) for name, frame in statement.lookups.items()}
    return OwnedStatement(statement.query, lookups)


def _found(table: TableFacts, statement: LinearStatement | CellStatement) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that is run once."""
    with spark_rows(table, statement.query, statement.lookups, table.users.keys) as frame:
        found: list[tuple[Any, ...]] = waited(frame.sparkSession, frame.collect)
    return found


def _collected(table: TableFacts, own: Compiled, rows: Any | None) -> list[tuple[Any, ...]]:
    """Return the rows of a statement on a table's rows, or on those that are given."""
    query, lookups, keys = own.query, own.lookups, table.users.keys
    given = compiled_rows(table, own) if rows is None else statement_rows(rows, table, query, lookups, keys)
    with given as frame:
        if own.stages is None and rows is None:
            # The plan is what is run below: Spark plans a DataFrame once.
            own.stages = stages_of(frame)
        found: list[tuple[Any, ...]] = waited(frame.sparkSession, frame.collect)
    return found
