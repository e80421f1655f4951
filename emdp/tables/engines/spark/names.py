"""Names in Spark statements: each function is Spark's own, or the statement is refused.

A session may have functions of its own. In Spark 4.1, and in 4.3 where ``spark.sql.functionResolution.sessionOrder`` is
``first``, one called ``sum`` or ``+`` stands in place of Spark's, in SQL and in expressions of DataFrames. No way of
writing a name tells the two apart in both versions, so Spark is asked which one it would take. What the owner's views
and DataFrames call is the owner's. Views and tables need no such question: those of a statement have names that nobody
can guess (:mod:`emdp.tables.engines.spark.engine`).
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from emdp.base.errors import UsageError

__all__ = ["check_functions"]

CALL = re.compile(r"`([^`]+)`\(|\b([A-Za-z_]\w*)\(")
"""A name before a parenthesis; sqlglot puts a space after a keyword, but for casts and types."""

OF_ROWS = (
    "+", "*", "<", ">", "!", "when", "hour", "minute", "extract", "unix_date", "unix_micros", "is_valid_utf8",
    "isnotnull", "count",
)  # fmt: skip
"""What rows are computed, chosen and counted with as expressions of DataFrames, beside a statement."""

NO_FUNCTIONS = {"try_cast"}
"""What else stands before a parenthesis."""

BUILT_IN = "built-in"
"""What Spark calls the source of its own functions."""


def check_functions(session: Any, text: str) -> None:
    """Check that a statement's functions, and those of the rows that it reads, are Spark's own.

    Raises
    ------
    UsageError
        Naming a function that the session has in place of Spark's.
    """
    from pyspark.errors import AnalysisException

    catalog = session._jsparkSession.sessionState().catalog()
    identifier = session._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    called = {(quoted or plain).lower() for quoted, plain in CALL.findall(text)}
    with _active(session):
        for name in sorted(called.union(OF_ROWS) - NO_FUNCTIONS):
            try:
                source = catalog.lookupFunctionInfo(identifier(name)).getSource()
            except AnalysisException:
                # Spark knows none, and would not take a statement that calls it.
                continue
            if source != BUILT_IN:
                raise UsageError(
                    f"the Spark session has a function of its own in place of Spark's {name!r}; read the table in a "
                    "session without it, such as spark.newSession()."
                )


@contextmanager
def _active(session: Any) -> Iterator[None]:
    """Have the settings of a session hold meanwhile, as they do for its statements: a lookup takes the active one's."""
    sessions = session._jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()
