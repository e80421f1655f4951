"""Statements of a table that are compiled and written for Spark once, and what Spark said of them.

All of it is public: what was asked, of which columns. It is forgotten with the table, or with the question.

A question that is asked again is not planned on no rows again: Spark would say what it said, in the same session with
the same settings. Functions that the session has in place of Spark's are looked for every time, before a charge as ever
(:mod:`emdp.tables.engines.spark.names`). Views and linked tables are of several sources, and are planned every time.

Of a DataFrame, whose own plan never changes, what Spark made of a statement's text is kept as well: the analysed plan,
in which each function is Spark's own, since they were looked for just before. It has no names of functions any more, so
that none that the session is given later can take a place in it, and nothing is looked for again. Each answer runs the
plan anew from the rows. Where settings are other ones, which Spark reads as it analyses, the text is read again.
"""

import re
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from emdp.base.classes import dataclass
from emdp.expressions.cells.aggregation import Aggregation
from emdp.questions.owned.totals import OwnedTotals
from emdp.tables.engines.spark.errors import hidden_errors, uninterrupted
from emdp.tables.engines.spark.execution import Translated, check_on_no_rows, spark_rows, spark_source, translated
from emdp.tables.engines.spark.names import check_functions
from emdp.tables.engines.spark.parts import parts_of
from emdp.tables.engines.spark.source import SparkSource, shown_plan
from emdp.tables.facts import TableFacts

__all__ = ["Compiled", "check_compiled", "compiled", "compiled_rows", "known_parts", "stages_of"]

MOST_KEPT = 2**20
"""Bytes of a public table that is kept in Spark's driver with a statement."""

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
    analysed : tuple or None
        The session and settings in which Spark analysed it on the rows of a DataFrame, and what it made; never run.
    """

    statement: Any
    query: Translated
    planned: "_State | None" = None
    stages: int | None = None
    analysed: "tuple[_State, Any] | None" = None

    @property
    def lookups(self) -> Any:
        return self.statement.lookups


@dataclass(frozen=True, eq=False)
class _State:
    """A session and its settings: Java's own objects, of which the second never changes."""

    session: Any
    settings: Any

    def is_same(self, other: "_State | None") -> bool:
        """Say whether both are of one session with equal settings, which Java compares one by one, not by a hash."""
        # An object of another Java would be taken for the one that has its number here.
        if other is None or self.session._gateway_client is not other.session._gateway_client:
            return False
        return bool(self.session.equals(other.session)) and bool(self.settings.equals(other.settings))


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
    found = _compiled.get(table, {}).get(asked)
    with hidden_errors(), uninterrupted():
        session = source.session()
        state = _state(session)
        if found is not None and found.analysed is not None and state.is_same(found.analysed[0]):
            return
        is_planned = found is not None and state.is_same(found.planned)
    if found is None or not is_planned:
        check_on_no_rows(table, lambda: compiled(table, asked, make))
        compiled(table, asked, make).planned = state
        return
    with hidden_errors(), uninterrupted():
        check_functions(session, found.query.texts)


@contextmanager
def compiled_rows(table: TableFacts, own: Compiled) -> Iterator[Any]:
    """Run a compiled statement on a table's rows, as :func:`emdp.tables.engines.spark.execution.spark_rows` does."""
    source, keys = spark_source(table.source), table.users.keys
    state, is_analysed = None, False
    if _is_steady(table, source, own):
        with hidden_errors(), uninterrupted():
            state = _state(source.session())
            is_analysed = own.analysed is not None and state.is_same(own.analysed[0])
    if own.analysed is None or not is_analysed:
        with spark_rows(table, own.query, own.lookups, keys) as frame:
            # Looked at again, since settings may have changed meanwhile.
            with uninterrupted():
                is_still = state is not None and state.is_same(_state(frame.sparkSession))
                own.analysed = (state, frame) if state is not None and is_still else None
            # Another one of the same plan: Spark keeps what one that has run has shuffled.
            yield frame if own.analysed is None else _anew(frame)
        return
    with hidden_errors():
        with uninterrupted():
            frame = _anew(own.analysed[1])
        yield frame


def _is_steady(table: TableFacts, source: SparkSource, own: Compiled) -> bool:
    """Say whether the plan of a statement stays what it is: of a DataFrame, with nothing kept beside it but little."""
    if type(source) is not SparkSource or source.given is None or table.linked or own.query.shared:
        return False
    read = own.query.read
    sizes = [int(frame.estimated_size()) for name, frame in own.lookups.items() if name in read]
    if "listed_users" in read and table.users.keys is not None:
        sizes.append(int(table.users.keys.estimated_size()))
    return max(sizes, default=0) <= MOST_KEPT


def _anew(frame: Any) -> Any:
    return frame.select("*")


def _state(session: Any) -> _State:
    """Return what tells sessions and settings apart."""
    own = session._jsparkSession
    return _State(own, own.conf().getAll())


def stages_of(frame: Any) -> int:
    """Return in how many stages Spark computes a DataFrame: the exchanges of its plan, and one."""
    return len(set(EXCHANGES.findall(shown_plan(frame, extended=False)))) + 1
