"""Waiting for Spark: what takes long runs in a thread of its own, so that Ctrl-C is heard, and is cancelled then."""

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from emdp.errors import InternalError
from emdp.tables.spark_errors import uninterrupted

__all__ = ["waited"]

PAUSE = 0.2
"""Seconds after which a thread that waits for another looks up."""

LAST_WAIT = 10.0
"""Seconds that a cancelled call has to end; Spark kills a worker that does not listen after about two."""


def waited(session: Any, call: Callable[[], Any]) -> Any:
    """Return what a call gives that waits for Spark; Ctrl-C is heard meanwhile.

    The call runs in a thread of its own. Ctrl-C comes to the main thread, and PySpark's answer to it, which cancels all
    jobs, goes over that thread's connection to Spark: it could not while the call waits on it. The jobs have the tags
    that the session has here, the properties of this thread, such as a scheduler's pool, and a tag of the call's own,
    by which they are cancelled when nobody waits for them any more.
    """
    from pyspark import InheritableThread

    tag = f"emdp_{uuid.uuid4().hex}"
    made: list[Any] = []
    failed: list[BaseException] = []
    ended = threading.Event()

    def work() -> None:
        try:
            # The context's tag is on jobs of RDDs as well, the session's is not.
            session.sparkContext.addJobTag(tag)
            for own in tags:
                session.addTag(own)
            made.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits.
            failed.append(error)
        finally:
            ended.set()

    thread = InheritableThread(work, daemon=True)
    try:
        with uninterrupted():
            tags = session.getTags()
            thread.start()
        # Not by join(): interrupted, it takes the thread for one that has ended (CPython 3.11).
        while not ended.wait(PAUSE) and thread.is_alive():
            pass
    except BaseException:
        with uninterrupted():
            _cancel(session, tag, ended)
        raise
    if failed:
        raise failed[0]
    if not made:
        raise InternalError("a thread that waits for Spark ended without a result; please report it.")
    return made[0]


def _cancel(session: Any, tag: str, ended: threading.Event) -> None:
    """Cancel the jobs of a tag until the call that starts them has ended, or a deadline has passed."""
    end = time.monotonic() + LAST_WAIT
    while not ended.is_set() and time.monotonic() < end:
        # A statement may be between two jobs, and would start the next.
        with suppress(Exception):
            session.sparkContext.cancelJobsWithTag(tag)
        ended.wait(PAUSE)
