"""Lock for one run at a time on a ledger: the system takes it back when a process ends, however it ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from emdp.base.errors import UsageError
from emdp.ledger import Address, place_of
from emdp.ledger.runs import hold_runs

__all__ = ["SUFFIX", "run_lock"]

SUFFIX = ".lock"
"""Ending of the lock's file, behind the ledger's path; it is empty, and never deleted (that would be a race)."""

PAUSE_SECONDS = 0.05
"""Between two attempts."""


@contextmanager
def run_lock(ledger: str, *, wait: float) -> Iterator[None]:
    """Hold the lock of runs on a ledger.

    Raises
    ------
    UsageError
        If another run holds it for longer, or the file cannot be made. Nothing was charged then.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, run_lock(f"{folder}/x.ledger", wait=0):
    ...     os.listdir(folder)
    ['x.ledger.lock']
    """
    place = place_of(ledger)
    if isinstance(place, Address):
        with hold_runs(place, wait=wait):
            yield
        return
    path = os.path.realpath(place) + SUFFIX
    try:
        # Not inheritable: a child that lives on must not hold what its parent gave back.
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise UsageError(
            f"the lock {path!r} cannot be opened ({error.strerror}); allow writing to the ledger's folder."
        ) from None
    try:
        _wait(handle, ledger, wait)
        yield
    finally:
        os.close(handle)


def _wait(handle: int, ledger: str, wait: float) -> None:
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0:
                raise UsageError(
                    f"another report is running on ledger {ledger!r}; waited {wait:g} s, and nothing was charged, so "
                    "run it again when that one has finished, or wait longer with --wait."
                ) from None
            time.sleep(min(PAUSE_SECONDS, left))
