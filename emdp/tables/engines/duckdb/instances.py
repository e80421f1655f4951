"""DuckDB instances of this process: to start and stop one takes as long as a small query.

What reads frames, Parquet and CSV files alone has an instance that is kept (:func:`kept_open`), locked to these files
before its first statement. DuckDB's caches of files are off in it, so that each statement opens and reads a file as it
is then; and what a statement makes is rolled back at its end. The check of such a statement before its charge, on no
rows, is run there, too. After an error it goes. Another one describes sources, and remembers nothing of them; the first
statement takes it, where there is none that reads. The check of the rules compares what it said with what they see.

What attaches a database file reads it in an instance of its own, which may be opened ahead, in another thread, while
the statement is planned, checked and charged (:func:`ahead`); in a process that asks again and again the next one is
opened where the last one is closed. The checks of statements of such files have one instance, locked, each with a
connection of its own and tables that go with it.

A fork would copy instances without their threads, and the child would crash when it ends: before one all are let go.
"""

import atexit
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from threading import Thread
from types import MappingProxyType
from typing import Any

from emdp.base.errors import UnsupportedError
from emdp.base.versions import check_version
from emdp.tables.base import CLOSED, lock, quote_text

__all__ = ["WITHOUT_ROWS", "Settings", "ahead", "connect", "describing", "kept_open", "taken", "without_rows"]

Settings = Mapping[str, str | bool | int | float | list[str]]

WITHOUT_ROWS: Mapping[str, str] = MappingProxyType({**CLOSED, "threads": "1", "enable_external_file_cache": "false"})
"""Settings of an instance that reads no rows: more threads would only have to be started and stopped."""

DESCRIBES, CHECKS, COMING, ENDED, READS = "describes", "checks", "coming", "ended", "reads"

_kept: dict[str, Any] = {}
"""The instance that describes sources (the first statement takes it), the one of checks, the one that is opened ahead,
how many statements have ended, and the one that reads."""

SEVERAL = 3
"""Statements after which more are likely: a single question of new data is at most two, the check of the rules and its
own."""


def connect(settings: Settings) -> Any:
    """Return a connection to a new instance in memory: the one way to open one, so that every version is checked.

    Raises
    ------
    UnsupportedError
        If DuckDB is of another version than emdp was checked with.
    """
    import duckdb

    check_version("duckdb", duckdb.__version__)
    return duckdb.connect(":memory:", config=dict(settings))


class _Opening(Thread):
    """Opens an instance; whoever takes it waits for the thread, and opens another one where this one failed."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(name="emdp-opens-duckdb")
        self.settings = dict(settings)
        self.connection: Any = None

    def run(self) -> None:
        import duckdb

        try:
            self.connection = connect(self.settings)
        except (duckdb.Error, UnsupportedError):
            self.connection = None


@atexit.register
def _let_go() -> None:
    opening = _kept.pop(COMING, None)
    if opening is not None:
        opening.join()
    reads = _kept.pop(READS, None)
    if reads is not None:
        reads.close()
    _kept.clear()


os.register_at_fork(before=_let_go)


@contextmanager
def describing() -> Iterator[Any]:
    """Open a connection to the instance that describes sources; what it makes must be temporary.

    After an error the instance goes.
    """
    instance = _without_rows()
    try:
        with instance.cursor() as connection:
            yield connection
    except BaseException:
        instance.close()
        raise
    # Another thread's may have come meanwhile.
    _kept.setdefault(DESCRIBES, instance)


@contextmanager
def without_rows() -> Iterator[Any]:
    """Open a connection to the locked instance of checks; what it makes must be temporary.

    After an error the instance goes, whatever it was: none is worth keeping one that DuckDB may have given up.
    """
    instance = _kept.get(CHECKS)
    if instance is None:
        instance = _without_rows()
        lock(instance)
        _kept[CHECKS] = instance
    connection = instance.cursor()
    try:
        yield connection
    except BaseException:
        _kept.pop(CHECKS, None)
        raise
    finally:
        connection.close()


def _without_rows() -> Any:
    """Return the instance that describes sources, for nobody else meanwhile, or a new one."""
    instance = _kept.pop(DESCRIBES, None)
    if instance is None:
        instance = connect(WITHOUT_ROWS)
        instance.execute("SET parquet_metadata_cache = false")
    return instance


def ahead(settings: Settings, *, is_kept: bool = False) -> None:
    """Begin to open an instance for a statement that will run, where DuckDB is loaded and none is coming.

    With ``is_kept`` for :func:`kept_open`, which needs none where there is one.
    """
    if "duckdb" not in sys.modules or COMING in _kept or (is_kept and _kept.keys() & {READS, DESCRIBES}):
        return
    opening = _Opening(settings)
    # Without room for a thread, the statement opens its own.
    with suppress(RuntimeError):
        opening.start()
        _kept[COMING] = opening


@contextmanager
def taken(settings: Settings) -> Iterator[Any]:
    """Open a connection to an instance that nothing else uses: the one that was opened ahead, if its settings fit.

    Where more are likely, the next one is opened when this one is closed.
    """
    with _opened(settings, _kept.pop(COMING, None)) as connection:
        yield connection
    _kept[ENDED] = _kept.get(ENDED, 0) + 1
    if _kept[ENDED] >= SEVERAL:
        ahead(settings)


@contextmanager
def kept_open(
    settings: Settings,
    files: Sequence[str],
    folder: Callable[[], AbstractContextManager[str]],
    prepare: Callable[[Any, str], None],
) -> Iterator[Any]:
    """Open the kept connection of statements that read some files, or none, or a new one; what a statement makes is
    undone.

    Parameters
    ----------
    settings : mapping
        Settings of the instance; with others it is opened anew.
    files : sequence of str
        What it may open; for others it is opened anew.
    folder : callable
        Makes the folder for what memory does not hold, which goes with the instance.
    prepare : callable
        Called once with the connection and the folder: must lock it.
    """
    # What a link leads to is locked with it.
    places = [os.path.realpath(one) for one in files]
    known = {**settings, "files": [*files, *places], "temporary files": tempfile.gettempdir()}
    kept = _kept.pop(READS, None)
    if kept is not None and kept.known != known:
        kept.close()
        kept = None
    if kept is None:
        kept = _Kept(known)
        kept.open(settings, folder, prepare)
    try:
        kept.connection.begin()
        yield kept.connection
        kept.connection.rollback()
    except BaseException:
        kept.close()
        raise
    # Another thread's may have come meanwhile.
    if _kept.setdefault(READS, kept) is not kept:
        kept.close()


class _Kept:
    """An instance with the folder that goes with it."""

    def __init__(self, known: Settings) -> None:
        self.known = known
        self.connection: Any = None
        self._held = ExitStack()

    def open(
        self, settings: Settings, folder: Callable[[], AbstractContextManager[str]], prepare: Callable[[Any, str], None]
    ) -> None:
        try:
            place = self._held.enter_context(folder())
            self.connection = self._held.enter_context(_to_read(settings))
            prepare(self.connection, place)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._held.close()


def _to_read(settings: Settings) -> Any:
    """Return the instance that was opened ahead, the one that describes sources with other settings, or a new one."""
    opening = _kept.pop(COMING, None)
    described = None if opening is not None else _kept.pop(DESCRIBES, None)
    if described is None:
        return _opened(settings, opening)
    for name in WITHOUT_ROWS.keys() - settings.keys():
        described.execute(f"RESET {name}")
    for name, value in settings.items():
        if WITHOUT_ROWS.get(name) != value:
            described.execute(f"SET {name} = {quote_text(str(value))}")
    return described


def _opened(settings: Settings, opening: _Opening | None) -> Any:
    if opening is not None:
        opening.join()
        if opening.connection is not None and opening.settings == dict(settings):
            return opening.connection
    return connect(settings)
