"""Statements of a table that are compiled and written for Spark once, and what Spark said of them.

All of it is public: what was asked, of which columns. It is forgotten with the table, or with the question.

A question that is asked again is not planned on no rows again: Spark would say what it said, in the same session with
the same settings. Functions that the session has in place of Spark's are looked for every time, before a charge as ever
(:mod:`emdp.tables.engines.spark.names`). Views and linked tables are of several sources, and are planned every time.
"""

import re
from collections.abc import Callable, MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

from emdp.base.classes import dataclass
from emdp.expressions.cells.aggregation import Aggregation
from emdp.questions.owned.totals import OwnedTotals
from emdp.tables.engines.spark.errors import hidden_errors, uninterrupted
from emdp.tables.engines.spark.execution import Translated, check_on_no_rows, spark_source, translated
from emdp.tables.engines.spark.names import check_functions
from emdp.tables.engines.spark.parts import parts_of
from emdp.tables.engines.spark.source import SparkSource, shown_plan
from emdp.tables.facts import TableFacts

__all__ = ["Compiled", "check_compiled", "compiled", "known_parts", "stages_of"]

EXCHANGES = re.compile(r"(?<!Broadcast)(?<!Reused)Exchange (?:hash|range|Single|RoundRobin).*plan_id=(\d+)")


@dataclass(eq=False)
class Compiled:
    """A statement of a table, with its text for Spark.

    Parameters
    ----------
    statement : Any
        It has the public tables that it joins as ``lookups``.
    query : Translated
        Its text.
    planned : object
        The session and settings in which Spark could plan it; None before.
    stages : int or None
        In how many stages Spark computes it; None before it was asked.
    """

    statement: Any
    query: Translated
    planned: object = None
    stages: int | None = None

    @property
    def lookups(self) -> Any:
        return self.statement.lookups


_compiled: MutableMapping[TableFacts, MutableMapping[Aggregation | OwnedTotals, Compiled]] = WeakKeyDictionary()
_parts: MutableMapping[Aggregation, tuple[Aggregation, ...]] = WeakKeyDictionary()


def known_parts(aggregation: Aggregation) -> tuple[Aggregation, ...]:
    """Return the parts of an aggregation, the same each time; see :func:`emdp.tables.engines.spark.parts.parts_of`."""
    found = _parts.get(aggregation)
    if found is None:
        found = parts_of(aggregation)
        if len(found) == 1:
            # Kept by itself, it would never be forgotten.
            return found
        _parts[aggregation] = found
    return found


def compiled(table: TableFacts, asked: Aggregation | OwnedTotals, make: Callable[[], Any]) -> Compiled:
    """Return the statement that ``make`` returns for a question, compiled once."""
    known = _compiled.setdefault(table, WeakKeyDictionary())
    found = known.get(asked)
    if found is None:
        statement = make()
        query = translated(table, statement.query, statement.lookups, table.users.keys)
        found = known[asked] = Compiled(statement, query)
    return found


def check_compiled(table: TableFacts, asked: Aggregation | OwnedTotals, make: Callable[[], Any]) -> None:
    """Have Spark plan a statement on no rows, unless it has; see :func:`check_on_no_rows`.

    Raises
    ------
    UsageError
        If Spark cannot compute it at all, or the session has a function of its own in place of Spark's.
    """
    source = spark_source(table.source)
    if type(source) is not SparkSource or table.linked:
        check_on_no_rows(table, lambda: compiled(table, asked, make))
        return
    with hidden_errors(), uninterrupted():
        session = source.session()
        own = session._jsparkSession
        # Numbers, since an object of a Spark that was stopped can no longer be asked what it is.
        state = (own.hashCode(), own.conf().getAll().hashCode())
    found = _compiled.get(table, {}).get(asked)
    if found is None or found.planned != state:
        check_on_no_rows(table, lambda: compiled(table, asked, make))
        compiled(table, asked, make).planned = state
        return
    with hidden_errors(), uninterrupted():
        check_functions(session, found.query.texts)


def stages_of(frame: Any) -> int:
    """Return in how many stages Spark computes a DataFrame: the exchanges of its plan, and one."""
    return len(set(EXCHANGES.findall(shown_plan(frame, extended=False)))) + 1
