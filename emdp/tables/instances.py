"""DuckDB instances of this process: to start and stop one takes as long as a small query.

A statement reads its source in an instance of its own, since DuckDB may remember of a file what is no longer true. That
instance may be opened ahead, in another thread, while the statement is planned, checked and charged (:func:`ahead`).
What reads no rows, the check of a statement before its charge, remembers nothing that could change: all checks of a
process have one instance, locked, each with a connection of its own and tables that go with it.
"""

import atexit
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Thread
from types import MappingProxyType
from typing import Any

from emdp.tables.base import CLOSED, lock

__all__ = ["WITHOUT_ROWS", "Settings", "ahead", "describing", "taken", "without_rows"]

Settings = Mapping[str, str | bool | int | float | list[str]]

WITHOUT_ROWS: Mapping[str, str] = MappingProxyType({**CLOSED, "threads": "1"})
"""Settings of an instance that reads no rows: more threads would only have to be started and stopped."""

_described: dict[int, Any] = {}
"""By process the last instance that described a file, for the first check."""

_empty: dict[int, Any] = {}
"""By process the instance of all checks. A child leaves alone what it got from its parent."""

_coming: dict[int, "_Opening"] = {}
"""By process the instance that is opened ahead."""


class _Opening(Thread):
    """Opens an instance; whoever takes it waits for the thread, and opens another one where this one failed."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(name="emdp-opens-duckdb")
        self.settings = dict(settings)
        self.connection: Any = None

    def run(self) -> None:
        import duckdb

        try:
            self.connection = duckdb.connect(":memory:", config=dict(self.settings))
        except duckdb.Error:
            self.connection = None


@atexit.register
def _close() -> None:
    for kept in (_described, _empty, _coming):
        kept.clear()


@contextmanager
def describing() -> Iterator[Any]:
    """Open a connection that describes a file and makes nothing in its instance.

    Where that succeeds the instance is kept for the first check, not for another file.
    """
    import duckdb

    connection = duckdb.connect(":memory:", config=dict(WITHOUT_ROWS))
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    if os.getpid() in _empty:
        connection.close()
    else:
        _described[os.getpid()] = connection


@contextmanager
def without_rows() -> Iterator[Any]:
    """Open a connection to the locked instance of all checks; what it makes must be temporary.

    After an error the instance goes, whatever it was: none is worth keeping one that DuckDB may have given up.
    """
    import duckdb

    own = os.getpid()
    if own not in _empty:
        instance = _described.pop(own, None)
        instance = duckdb.connect(":memory:", config=dict(WITHOUT_ROWS)) if instance is None else instance
        lock(instance)
        _empty[own] = instance
    connection = _empty[own].cursor()
    try:
        yield connection
    except BaseException:
        _empty.pop(own, None)
        raise
    finally:
        connection.close()


def ahead(settings: Settings) -> None:
    """Begin to open an instance for a statement that will run, where DuckDB is loaded and none is coming yet."""
    if "duckdb" not in sys.modules or os.getpid() in _coming:
        return
    opening = _Opening(settings)
    # Without room for a thread, the statement opens its own.
    with suppress(RuntimeError):
        opening.start()
        _coming[os.getpid()] = opening


def taken(settings: Settings) -> Any:
    """Return a connection to an instance that nothing else uses: the one that was opened ahead, if its settings fit."""
    import duckdb

    opening = _coming.pop(os.getpid(), None)
    if opening is not None:
        opening.join()
        if opening.connection is not None and opening.settings == dict(settings):
            return opening.connection
    return duckdb.connect(":memory:", config=dict(settings))
