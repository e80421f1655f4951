"""Errors of emdp in place of Spark's, whose text may quote records, and nothing of that text in Python's log."""

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from emdp.base.errors import DataRuleError, EmdpError, InternalError, ResourceError, UsageError, raise_alone
from emdp.tables.base import OTHER_COLUMNS

__all__ = ["SESSION_STOPPED", "hidden_errors", "is_spark_error", "quiet_spark", "uninterrupted"]

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""What PySpark writes the text of its errors to."""

CANCELLED = ("CANCELLED", "cancelled")
NO_MEMORY = ("OutOfMemoryError", "UNABLE_TO_ACQUIRE_MEMORY", "Total size of serialized results")
STOPPED = ("stopped SparkContext", "SparkContext was shut down", "SparkContext has been shutdown")
DISK_FULL = ("No space left on device", "Disk quota exceeded")
"""What Spark's errors say."""

SESSION_STOPPED = "the Spark session of the source was stopped; read the source anew in a session that runs."


@contextmanager
def hidden_errors() -> Iterator[None]:
    """Raise errors of emdp in place of Spark's, with nothing of their text.

    Ctrl-C stays a KeyboardInterrupt: PySpark makes it one by itself.
    """
    error: EmdpError
    with quiet_spark():
        try:
            yield
            return
        except EmdpError:
            raise
        except Exception as cause:
            if not is_spark_error(cause):
                raise
            error = _meaning(cause)
    raise_alone(error)


@contextmanager
def quiet_spark() -> Iterator[None]:
    """Keep PySpark from writing the text of errors to Python's log meanwhile."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back while the main thread talks to Spark, and hand it on afterwards.

    A thread has one connection to Spark, with answers in the order of questions. PySpark's handler of Ctrl-C asks over
    it: where the thread itself waits for an answer, each would take the other's, and both might wait for ever. Only for
    questions that are answered at once; what takes long goes through :func:`emdp.tables.engines.spark.engine.waited`.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    held: list[int] = []

    def hold(number: int, _: Any) -> None:
        held.append(number)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            signal.raise_signal(signal.SIGINT)


def is_spark_error(error: BaseException) -> bool:
    """Say whether an error comes from Spark, or from the connection to it.

    >>> is_spark_error(ValueError("x"))
    False
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(error, arrow.ArrowException):
        return True
    return isinstance(error, PySparkException | Py4JError | ConnectionError | EOFError)


def _meaning(cause: Exception) -> EmdpError:
    from py4j.protocol import Py4JNetworkError
    from pyspark.errors import AnalysisException, ParseException

    if isinstance(cause, Py4JNetworkError | ConnectionError | EOFError):
        return EmdpError(
            "the connection to Spark was lost; start a new Spark session and ask again; what was charged stays charged."
        )
    text = str(cause)
    if any(mark in text for mark in STOPPED):
        return UsageError(SESSION_STOPPED)
    if isinstance(cause, ParseException):
        return InternalError("Spark cannot read a statement of emdp's own; please report it.")
    if isinstance(cause, AnalysisException):
        return DataRuleError(OTHER_COLUMNS)
    if any(mark in text for mark in NO_MEMORY):
        return ResourceError(
            "the query ran out of memory in Spark; give its executors more, or use more partitions; what was charged "
            "stays charged."
        )
    if any(mark in text for mark in DISK_FULL):
        return ResourceError(
            "the query found a disk of Spark's full; make room on it, or set spark.local.dir to another one; what was "
            "charged stays charged."
        )
    if any(mark in text for mark in CANCELLED):
        return EmdpError("the Spark jobs of the query were cancelled; ask again; what was charged stays charged.")
    return DataRuleError(
        "Spark could not read the source to its end with the declared columns and types; check that the DataFrame or "
        "table can be read whole."
    )
