"""Forked processes: one that lacks the threads of Polars is told so, where it would wait for them for ever.

Polars starts threads where it first needs them, and a fork does not copy threads. A child whose parent had none starts
its own.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

from emdp.base.errors import UsageError

__all__ = ["check_fork"]

THREAD = re.compile(r"polars-\d+")
"""Name of a thread of Polars' pool."""

_forks = {"has_threads": False, "is_stuck": False}
"""Whether Polars had threads at the last fork, and whether this process is the child of such a one."""


def check_fork() -> None:
    """Raise where this process cannot work with frames: it was forked off one in which Polars had threads.

    Raises
    ------
    UsageError
        Before anything is asked of Polars, or charged.

    >>> check_fork()
    """
    if _forks["is_stuck"]:
        raise UsageError(
            "this process was forked off one that had worked with frames, whose threads it lacks; start processes that "
            'ask questions with multiprocessing.get_context("spawn"), or before the first question.'
        )


def _look_for_threads() -> None:
    found = False
    # Where there is no such folder nothing is known, and nothing refused.
    for path in Path("/proc/self/task").glob("*/comm"):
        # A thread may end meanwhile.
        with suppress(OSError):
            found |= THREAD.match(path.read_text()) is not None
    _forks["has_threads"] = found


def _note_fork() -> None:
    _forks["is_stuck"] |= _forks["has_threads"]


os.register_at_fork(before=_look_for_threads, after_in_child=_note_fork)
