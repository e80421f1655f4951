"""Waiting for an engine: what takes long runs in a thread of its own, so that Ctrl-C is heard, and is stopped then."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from emdp.base.errors import InternalError

__all__ = ["heard", "stoppable"]

PAUSE = 0.2
"""Seconds after which a thread that waits for another looks up."""

LAST_WAIT = 10.0
"""Seconds that a stopped call has to end; Spark kills a worker that does not listen after about two."""


def heard(
    call: Callable[[], Any],
    stop: Callable[[], object],
    *,
    thread_of: Callable[..., threading.Thread] = threading.Thread,
    guarded: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Any:
    """Return the result of a call that waits for an engine; Ctrl-C is heard meanwhile.

    Parameters
    ----------
    call : callable
        What takes long; it runs in a thread of its own.
    stop : callable
        Makes it end soon. It is called again and again, since the call may be between two things that take long.
    thread_of : callable
        Makes the thread.
    guarded : callable
        Returns a context in which the thread is started, and the call stopped.
    """
    made: list[Any] = []
    failed: list[BaseException] = []
    ended = threading.Event()

    def work() -> None:
        try:
            made.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits.
            failed.append(error)
        finally:
            ended.set()

    thread = thread_of(target=work, daemon=True)
    try:
        with guarded():
            thread.start()
        # Not by join(): interrupted, it takes the thread for one that has ended (CPython 3.11).
        while not ended.wait(PAUSE) and thread.is_alive():
            pass
    except BaseException:
        with guarded():
            _stop(stop, thread, ended)
        raise
    if failed:
        raise failed[0]
    if not made:
        raise InternalError("a thread that waits for an engine ended without a result; please report it.")
    return made[0]


def stoppable(connection: Any, call: Callable[[], Any]) -> Any:
    """Return the result of a call of a DuckDB connection; Ctrl-C stops it at once.

    DuckDB 2.0 looks for signals only where its main thread has nothing to do, which may be after the whole scan.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    return heard(call, connection.interrupt)


def _stop(stop: Callable[[], object], thread: threading.Thread, ended: threading.Event) -> None:
    """Stop a call until it has ended, or a deadline has passed."""
    end = time.monotonic() + LAST_WAIT
    while thread.is_alive() and not ended.is_set() and time.monotonic() < end:
        with suppress(Exception):
            stop()
        ended.wait(PAUSE)
