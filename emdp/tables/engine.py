"""Statistics of a private table by whatever engine its source has: the same names, the same numbers.

An engine is chosen by its source alone (:mod:`emdp.tables.registry`).
"""

from collections.abc import Sequence
from dataclasses import replace

from emdp.base.errors import DataRuleError
from emdp.base.forks import check_fork
from emdp.base.statistic import Statistic
from emdp.expressions import Expression
from emdp.expressions.cells.aggregation import Aggregation
from emdp.questions.owned.totals import OwnedTotals
from emdp.spaces import Geo
from emdp.tables.base import Source
from emdp.tables.engines.base import Engine
from emdp.tables.engines.duckdb.execution import check_limits
from emdp.tables.facts import TableFacts
from emdp.tables.registry import ENGINES
from emdp.tables.statements.rules import Breach, Rule

__all__ = [
    "aggregate",
    "aggregate_checked",
    "broken_rules",
    "check_aggregation",
    "check_engine",
    "check_rules",
    "check_statement",
    "count_breaches",
    "engine_of",
    "mean_of_user_means",
    "turned_boxes",
]


def engine_of(source: Source) -> Engine:
    """Return the engine that reads a source."""
    return ENGINES[source.engine].make()


def mean_of_user_means(table: TableFacts, expressions: Sequence[Expression]) -> Statistic:
    """Return, for each expression, the mean over the public users of the mean over their records.

    As :func:`aggregate` of the expressions alone.
    """
    (found,) = aggregate(table, Aggregation(tuple(expressions)))
    return found


def aggregate(table: TableFacts, aggregation: Aggregation | OwnedTotals) -> tuple[Statistic, ...]:
    """Return the statistics that an aggregation asks for; see :meth:`emdp.tables.engines.base.Engine.aggregate`."""
    return engine_of(table.source).aggregate(table, aggregation)


def aggregate_checked(table: TableFacts, aggregation: Aggregation | OwnedTotals) -> tuple[Statistic, ...] | None:
    """Return an aggregation if every declared rule holds, by one scan; None wherever that was not done.

    See :meth:`emdp.tables.engines.base.Engine.aggregate_checked`; rules of linked tables are about several sources.
    """
    return None if table.linked else engine_of(table.source).aggregate_checked(table, aggregation)


def check_statement(table: TableFacts, expressions: Sequence[Expression]) -> None:
    """Run the statement of some expressions on no rows, as :func:`check_aggregation` does."""
    check_aggregation(table, Aggregation(tuple(expressions)))


def check_aggregation(table: TableFacts, aggregation: Aggregation | OwnedTotals, is_new: bool = False) -> bool:
    """Run a statement on no rows; see :meth:`emdp.tables.engines.base.Engine.check_aggregation`."""
    return engine_of(table.source).check_aggregation(table, aggregation, is_new and not table.linked)


def check_engine(table: TableFacts) -> None:
    """Check what an answer needs besides the data: limits that make sense, a place for temporary files, and a process
    that has its threads.

    Then have the engine prepare itself, while the answer is checked and charged.
    """
    check_fork()
    # Public tables are read by DuckDB, whatever engine has the private one.
    check_limits()
    engine_of(table.source).prepare(table)


def check_rules(table: TableFacts) -> None:
    """Check the declared rules against the records, and say of the first broken one which it is, and no count.

    Raises
    ------
    DataRuleError
        Naming the rule, its column and the remedy.
    """
    broken = broken_rules(table)
    if broken:
        raise DataRuleError(broken[0].sentence())


def broken_rules(table: TableFacts) -> tuple[Rule, ...]:
    """Return the broken rules of a table and of those linked to it, links among them.

    Raises
    ------
    DataRuleError
        If a source has other columns than were declared, or cannot be read to its end.
    """
    found = [engine_of(table.source).broken_rules(table)]
    found += [engine_of(own.source).broken_rules(replace(own, view=table.view)) for own in table.linked.values()]
    return tuple(rule for rules in found for rule in rules) + tuple(breach.rule for breach in _of_links(table))


def count_breaches(table: TableFacts) -> tuple[Breach, ...]:
    """Return how many records and users break each rule of a table and of those linked to it: for the owner."""
    found = [engine_of(table.source).count_breaches(table)]
    found += [engine_of(own.source).count_breaches(replace(own, view=table.view)) for own in table.linked.values()]
    return tuple(breach for breaches in found for breach in breaches) + _of_links(table)


def turned_boxes(table: TableFacts) -> tuple[Geo, ...]:
    """Return the places of a table's space whose box has fewer records than the same box the wrong way round.

    For the owner, as :func:`count_breaches`: each is the space of these places as it should probably be.
    """
    found = []
    for part in table.space.items_space.parts:
        if not isinstance(part, Geo) or max(map(abs, part.box[1::2])) > 90:
            continue
        south, west, north, east = part.box
        boxes = (part.box, (west, south, east, north))
        lat, lon = part.columns
        own, other = (Geo(lat, lon, box, on_invalid="error", as_given=True) for box in boxes)
        outside = _outside(table, own)
        if outside and _outside(table, other) < outside:
            found.append(other)
    return tuple(found)


def _outside(table: TableFacts, space: Geo) -> int:
    breaches = engine_of(table.source).count_breaches(replace(table, space=space))
    return next((breach.records or 0 for breach in breaches if breach.rule.columns == space.columns), 0)


def _of_links(table: TableFacts) -> tuple[Breach, ...]:
    check = ENGINES[table.source.engine].broken_links if table.linked else None
    return () if check is None else check(table)
