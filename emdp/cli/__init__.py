"""The command line ``emdp``: one command a file; the only part of the package that prints or exits."""

import gc
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from emdp.base.errors import EmdpError, UsageError, resource_error
from emdp.cli.stopping import Stop, stoppable

__all__ = ["main"]

COLLECTED = 200_000
"""Objects made between two searches for rings of dead ones: what a start loads stays, and is looked through less."""

HINT = "emdp explain {number}"
"""Last line of an error on a terminal: the command that says more of it."""

INTERRUPTED = 130
"""Exit status of Typer after Ctrl-C, without a word."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0, 2 refused, 3 budget spent, 4 data breaks a rule, 1 no memory or disk space.

    After Ctrl-C it is 130, after SIGTERM 143, where its terminal is gone 129, whenever that comes: nothing temporary is
    left then, and no file half written.

    Parameters
    ----------
    arguments : list of str, optional
        Words after ``emdp``; the process's own by default, which then has nothing to do but to end.
    """
    stop = Stop(ends_process=arguments is None)
    try:
        with stoppable(stop):
            if arguments is None:
                _run(sys.argv[1:])
            else:
                with _thawed():
                    _run(arguments)
    except (KeyboardInterrupt, SystemExit) as ending:
        if isinstance(ending, SystemExit) and ending.code != INTERRUPTED and stop.number is None:
            raise
        _end_stopped(stop)
    except Exception as error:
        if stop.number is not None:
            # Engines make errors of their own of a signal that comes while they work.
            _end_stopped(stop)
        if isinstance(error, OSError | MemoryError):
            _end(_reason(error), 1)
        if isinstance(error, EmdpError):
            _end(f"{error}{_hint(error)}", error.exit_status)
        raise


def _run(words: list[str]) -> None:
    threshold = gc.get_threshold()
    gc.set_threshold(COLLECTED, *threshold[1:])
    try:
        from emdp.cli.app import make_app

        _prepare()
        try:
            make_app(words)(args=words)
        finally:
            # What cannot be written must show here, not when the process ends.
            sys.stdout.flush()
    finally:
        gc.set_threshold(*threshold)


@contextmanager
def _thawed() -> Iterator[None]:
    """Let go in the end what a command froze, for the process goes on; see ``query``."""
    # With DuckDB loaded a command freezes nothing; and what somebody else froze, which takes long to count, stays.
    may_freeze = "duckdb" not in sys.modules and not gc.get_freeze_count()
    try:
        yield
    finally:
        if may_freeze:
            gc.unfreeze()


def _prepare() -> None:
    """See to it that what is charged can be shown."""
    if sys.stdout is None:
        raise UsageError("standard output is closed, so no answer could be shown; open it, or send it to a file.")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal's encoding lacks must not cost an answer.
            stream.reconfigure(errors="backslashreplace")


def _reason(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return str(resource_error(error))
    # Nothing more can be written, so Python must not try again when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    remedy = "" if resource_error(error) is None else " make room on the disk;"
    return f"output cannot be written ({error.strerror});{remedy} what was charged stays charged."


def _hint(error: EmdpError) -> str:
    """Return the last line of a message on a terminal; what goes to a file or a program stays one sentence."""
    is_shown = sys.stderr is not None and sys.stderr.isatty()
    return f"\n({HINT.format(number=error.number)})" if is_shown else ""


def _end_stopped(stop: Stop) -> NoReturn:
    _say(stop.message)
    stop.is_said = True
    raise SystemExit(stop.status) from None


def _end(message: str, status: int) -> NoReturn:
    _say(message)
    raise SystemExit(status) from None


def _say(message: str) -> None:
    # A terminal that is gone takes no message, and the status says it too.
    with suppress(OSError, ValueError):
        print(f"emdp: {message}", file=sys.stderr, flush=True)
