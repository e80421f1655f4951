"""Waiting for Spark: its jobs are cancelled where nobody waits for them any more."""

import uuid
from collections.abc import Callable
from typing import Any

from emdp.tables.engines.spark.errors import uninterrupted
from emdp.tables.engines.waiting import heard

__all__ = ["waited"]


def waited(session: Any, call: Callable[[], Any]) -> Any:
    """Return the result of a call that waits for Spark; Ctrl-C is heard meanwhile.

    Ctrl-C comes to the main thread, and PySpark's answer to it, which cancels all jobs, goes over that thread's
    connection to Spark: it could not while the call waits on it. The jobs have the tags that the session has here, the
    properties of this thread, such as a scheduler's pool, and a tag of the call's own, by which they are cancelled when
    nobody waits for them any more.
    """
    from pyspark import InheritableThread

    tag = f"emdp_{uuid.uuid4().hex}"
    with uninterrupted():
        tags = session.getTags()

    def tagged() -> Any:
        # The context's tag is on jobs of RDDs as well, the session's is not.
        session.sparkContext.addJobTag(tag)
        for own in tags:
            session.addTag(own)
        return call()

    return heard(
        tagged,
        lambda: session.sparkContext.cancelJobsWithTag(tag),
        thread_of=InheritableThread,
        guarded=uninterrupted,
    )
