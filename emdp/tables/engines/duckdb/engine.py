"""The DuckDB engine: one statement a statistic, pushed down to the files, and deterministic."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import DataRuleError, InternalError, UsageError
from emdp.base.statistic import Hidden, HiddenBlocks, Statistic
from emdp.expressions import Expression
from emdp.expressions.cells.aggregation import Aggregation
from emdp.questions.owned.grids import OwnedFrame
from emdp.questions.owned.totals import OwnedTotals
from emdp.questions.reading import BlockEncoder, Reading
from emdp.tables.base import Source, check_types
from emdp.tables.engines.duckdb.execution import (
    check_on_no_rows,
    fetch_frame,
    hidden_errors,
    open_ahead,
    opened,
    run,
)
from emdp.tables.facts import TableFacts
from emdp.tables.statements.bags import BREACH, bag_statement
from emdp.tables.statements.cells import CellStatement, cell_statement
from emdp.tables.statements.corners import coordinates
from emdp.tables.statements.fragments import Sql, written
from emdp.tables.statements.linear import LinearStatement, finished_means, linear_statement
from emdp.tables.statements.rules import Breach, Rule, breaches_statement, invalid_items, rules_statement

if TYPE_CHECKING:
    from emdp.tables.statements.owned import OwnedStatement

__all__ = ["DuckDBEngine"]

MOST_STATEMENTS = 32
"""Compiled statements that are remembered of a table: they hold public facts alone."""

_statements: MutableMapping[TableFacts, dict[tuple[Expression, ...], tuple[LinearStatement, str]]] = WeakKeyDictionary()

_cells: MutableMapping[TableFacts, MutableMapping[Aggregation, tuple[CellStatement, str]]] = WeakKeyDictionary()
"""Statements by the aggregation object: a statement is forgotten with it."""

_owned: "MutableMapping[TableFacts, MutableMapping[OwnedTotals, tuple[OwnedStatement, str]]]" = WeakKeyDictionary()
"""The same of sums of rows with owners: one is checked before the charge, and asked after it."""

Rows = list[tuple[Any, ...]]
"""Rows of a result."""


@dataclass(frozen=True, eq=False)
class _WithRules:
    """A statement that holds every record against the rules, too."""

    lookups: Mapping[str, pl.DataFrame]  # Public tables that it joins
    found: Callable[[Rows, TableFacts], tuple[Statistic, ...] | None]  # None where a rule is broken


_checked_next: "MutableMapping[TableFacts, tuple[Aggregation | OwnedTotals, tuple[_WithRules, str]]]" = (
    WeakKeyDictionary()
)
"""The statement with the rules that ran on no rows, until it runs on the records: each is run once."""


class DuckDBEngine:
    """Statistics and blocks that DuckDB computes; see :class:`emdp.tables.engines.base.Engine`."""

    def prepare(self, table: TableFacts) -> None:
        open_ahead(table.source)

    def aggregate(self, table: TableFacts, aggregation: Aggregation | OwnedTotals) -> tuple[Statistic, ...]:
        if isinstance(aggregation, OwnedTotals):
            owned, text = _compiled_owned(table, aggregation)
            with opened(table.source, owned.lookups, table.users.keys, linked=_linked(table)) as connection:
                rows = run(connection, text)
            from emdp.tables.statements.owned import owned_coordinates

            return (Statistic(owned_coordinates(aggregation, rows)),)
        if not aggregation.is_plain:
            over_cells, text = _compiled_cells(table, aggregation)
            with opened(table.source, over_cells.lookups, table.users.keys) as connection:
                rows = run(connection, text)
            return tuple(map(Statistic, coordinates(over_cells, aggregation, rows, table.most_users)))
        statement, text = _compiled(table, aggregation.values)
        with opened(table.source, statement.lookups, table.users.keys) as connection:
            rows = run(connection, text)
        if len(rows) != 1:
            raise InternalError("a statement for one row gave another number of rows.")
        return (Statistic(finished_means(statement, rows[0], table.n)),)

    def aggregate_checked(
        self, table: TableFacts, aggregation: Aggregation | OwnedTotals
    ) -> tuple[Statistic, ...] | None:
        if not _may_have_rules(table, aggregation):
            return None
        statement, text = _with_rules(table, aggregation)
        # Data are checked once, and asked often.
        _checked_next.pop(table, None)
        return statement.found(_with_declared(table, text, statement.lookups), table)

    def check_aggregation(
        self, table: TableFacts, aggregation: Aggregation | OwnedTotals, is_new: bool = False
    ) -> bool:
        others: Sequence[str] = ()
        if isinstance(aggregation, OwnedTotals):
            from emdp.tables.statements.owned import private_columns

            others = private_columns(aggregation)
        in_one = False
        if is_new and _may_have_rules(table, aggregation):
            # It is the longer one: what it is refused for is no reason to refuse the other.
            with suppress(UsageError):
                check_on_no_rows(table, partial(_with_rules, table, aggregation), others)
                in_one = True
        if not in_one:
            check_on_no_rows(table, partial(_compiled_any, table, aggregation), others)
        if isinstance(aggregation, OwnedTotals):
            _check_columns(table, aggregation, others)
        return in_one

    def read_owned(self, table: TableFacts, wanted: OwnedFrame) -> Hidden[pl.DataFrame]:
        from emdp.tables.statements.owned_frames import in_order

        statement, text = _compiled_frame(table, wanted)
        with opened(table.source, statement.lookups, table.users.keys, linked=_linked(table)) as connection:
            return Hidden(in_order(fetch_frame(connection, text), wanted))

    def check_owned(self, table: TableFacts, wanted: OwnedFrame) -> None:
        from emdp.tables.statements.owned import private_columns

        others = private_columns(wanted)
        check_on_no_rows(table, lambda: _compiled_frame(table, wanted), others)
        _check_columns(table, wanted, others)

    def broken_rules(self, table: TableFacts) -> tuple[Rule, ...]:
        table.source.check_files(table.source_columns)
        statement = rules_statement(table)
        with opened(table.source, statement.lookups, table.users.keys) as connection:
            if not table.source.is_opened_anew:
                open_ahead(table.source)
            _check_declared(connection, table)
            row = run(connection, written(statement.query))[0]
        return statement.broken(row)

    def count_breaches(self, table: TableFacts) -> tuple[Breach, ...]:
        statement = breaches_statement(table)
        with opened(table.source, statement.lookups, table.users.keys) as connection:
            return statement.breaches(run(connection, written(statement.query))[0])

    def fetch_bag(self, table: TableFacts, user: Any) -> pl.DataFrame | None:
        query, lookups = bag_statement(table, str(user))
        with opened(table.source, lookups, table.users.keys) as connection:
            frame = fetch_frame(connection, written(query))
        if frame.get_column(BREACH).any():
            raise DataRuleError(invalid_items(table).sentence())
        return frame.drop(BREACH) if len(frame) else None

    def fetch_users(self, table: TableFacts) -> Hidden[pl.Series]:
        from emdp.tables.statements.items import user_keys_statement

        text = written(user_keys_statement(table))
        with opened(table.source, {}, table.users.keys) as connection:
            return Hidden(fetch_frame(connection, text).to_series())

    def fetch_public(self, source: Source) -> pl.DataFrame:
        with opened(source, {}, None) as connection:
            return fetch_frame(connection, "SELECT * FROM source_rows")

    def explain_cost(self, table: TableFacts, aggregation: Aggregation | OwnedTotals) -> tuple[tuple[str, str], ...]:
        del table, aggregation
        return ()

    def read_items(
        self, table: TableFacts, reading: Reading, encoder: BlockEncoder | None = None
    ) -> Hidden[Any] | HiddenBlocks[Any]:
        # Sums, which are most of what is asked, need none of it.
        from emdp.tables.engines.duckdb.items import read_items

        return read_items(table, reading, encoder)

    def check_items(self, table: TableFacts, reading: Reading) -> None:
        from emdp.tables.engines.duckdb.items import check_items

        check_items(table, reading)

    def explain_reading(self, table: TableFacts, reading: Reading) -> tuple[tuple[str, str], ...]:
        del table, reading
        return ()


def _compiled(table: TableFacts, expressions: tuple[Expression, ...]) -> tuple[LinearStatement, str]:
    known = _statements.setdefault(table, {})
    found = known.get(expressions)
    if found is None:
        statement = linear_statement(table, expressions)
        found = statement, written(statement.query)
        if len(known) >= MOST_STATEMENTS:
            known.clear()
        known[expressions] = found
    return found


def _compiled_any(table: TableFacts, aggregation: Aggregation | OwnedTotals) -> tuple[Any, str]:
    """Return the statement of an aggregation, and its text."""
    if isinstance(aggregation, OwnedTotals):
        return _compiled_owned(table, aggregation)
    return _compiled(table, aggregation.values) if aggregation.is_plain else _compiled_cells(table, aggregation)


def _may_have_rules(table: TableFacts, aggregation: Aggregation | OwnedTotals) -> bool:
    if isinstance(aggregation, OwnedTotals):
        from emdp.tables.statements import owned_rules

        return owned_rules.may_be_checked(table, aggregation)
    from emdp.tables.statements import cell_rules

    return cell_rules.may_be_checked(table, aggregation)


def _with_rules(table: TableFacts, aggregation: Aggregation | OwnedTotals) -> tuple[_WithRules, str]:
    """Return the statement of an aggregation that holds every record against the rules, and its text."""
    asked, compiled = _checked_next.get(table, (None, None))
    if compiled is None or asked is not aggregation:
        statement, query = _made_with_rules(table, aggregation)
        compiled = statement, written(query)
        _checked_next[table] = aggregation, compiled
    return compiled


def _made_with_rules(table: TableFacts, aggregation: Aggregation | OwnedTotals) -> tuple[_WithRules, Sql]:
    if isinstance(aggregation, OwnedTotals):
        from emdp.tables.statements import owned_rules
        from emdp.tables.statements.owned import owned_coordinates

        owned = owned_rules.checked_owned(table, aggregation)

        def totals(found: Rows, own: TableFacts) -> tuple[Statistic, ...] | None:
            rows = owned_rules.rows_if_held(found)
            return None if rows is None else (Statistic(owned_coordinates(aggregation, rows)),)

        return _WithRules(owned.lookups, totals), owned.query
    if aggregation.is_plain:
        from emdp.tables.statements.checked import checked_statement

        checked = checked_statement(table, aggregation.values)

        def means(found: Rows, own: TableFacts) -> tuple[Statistic, ...] | None:
            (row,) = found
            exact = checked.found(row, own.n)
            return None if exact is None else (Statistic(exact),)

        return _WithRules(checked.means.lookups, means), checked.means.query
    from emdp.tables.statements.cell_rules import rows_if_held

    over_cells = cell_statement(table, aggregation, is_checked=True)

    def cells(found: Rows, own: TableFacts) -> tuple[Statistic, ...] | None:
        rows = rows_if_held(found)
        return (
            None if rows is None else tuple(map(Statistic, coordinates(over_cells, aggregation, rows, own.most_users)))
        )

    return _WithRules(over_cells.lookups, cells), over_cells.query


def _compiled_owned(table: TableFacts, totals: OwnedTotals) -> "tuple[OwnedStatement, str]":
    from emdp.tables.statements.owned import owned_statement

    known = _owned.setdefault(table, WeakKeyDictionary())
    found = known.get(totals)
    if found is None:
        statement = owned_statement(table, totals)
        found = known[totals] = statement, written(statement.query)
    return found


def _compiled_frame(table: TableFacts, wanted: OwnedFrame) -> "tuple[OwnedStatement, str]":
    from emdp.tables.statements.owned_frames import frame_statement

    statement = frame_statement(table, wanted)
    return statement, written(statement.query)


def _with_declared(table: TableFacts, text: str, lookups: Mapping[str, pl.DataFrame]) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that checks the rules: of the declared columns, or none at all."""
    table.source.check_files(table.source_columns)
    # An interrupt is one wherever it comes; of all else nothing is said.
    with hidden_errors(), opened(table.source, lookups, table.users.keys) as connection:
        _check_declared(connection, table)
        return run(connection, text)


def _check_declared(connection: Any, table: TableFacts) -> None:
    """Check that the source has the declared columns, of their types."""
    found = {row[0]: row[1] for row in run(connection, "DESCRIBE source_rows")}
    check_types(found, table.schema, table.source_columns)


def _linked(table: TableFacts) -> dict[str, Source]:
    return {own.view: own.source for own in table.linked.values()}


def _check_columns(table: TableFacts, wanted: OwnedTotals | OwnedFrame, others: Sequence[str]) -> None:
    """Check that the sources still have the columns that a statement reads, of their types."""
    _check_others(table, others)
    if table.linked:
        from emdp.tables.engines.duckdb.links import check_linked
        from emdp.tables.statements.owned import linked_columns

        check_linked(table, linked_columns(wanted))


def _check_others(table: TableFacts, columns: Sequence[str]) -> None:
    """Check that the source still has some columns of their types: a table's rules are about the space's."""
    others = [name for name in columns if name not in table.source_columns]
    if not others:
        return
    table.source.check_files((*table.source_columns, *others))
    with opened(table.source, {}, None) as connection:
        found = {row[0]: row[1] for row in run(connection, "DESCRIBE source_rows")}
    check_types(found, table.schema, others)


def _compiled_cells(table: TableFacts, aggregation: Aggregation) -> tuple[CellStatement, str]:
    known = _cells.setdefault(table, WeakKeyDictionary())
    found = known.get(aggregation)
    if found is None:
        statement = cell_statement(table, aggregation)
        found = known[aggregation] = statement, written(statement.query)
    return found
