"""Ends that come from outside: signals become one exception, and what a command keeps meanwhile is removed."""

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

__all__ = ["SIGNALS", "Stop", "break_off_reads", "stoppable"]

SIGNALS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "left by its terminal"}
"""What ends a command in order, and the word for it; Windows has no SIGHUP."""

PATIENCE = 2.0
"""Seconds after a signal in which others are left aside: a terminal and ``timeout`` may send two for one."""


ALARM = "SIGALRM"
"""What says that the patience is over; Windows has none."""


@dataclass
class Stop:
    """Which signal stopped a command, if one did.

    Attributes
    ----------
    number : int or None
        The first signal.
    """

    number: int | None = None
    since: float = 0.0
    is_over: bool = False
    has_alarm: bool = False

    @property
    def status(self) -> int:
        """The exit status: 128 and the signal's number, as shells have it; of Ctrl-C where none came."""
        return 128 + int(signal.SIGINT if self.number is None else self.number)

    @property
    def word(self) -> str:
        """What happened to the command."""
        return SIGNALS["SIGINT" if self.number is None else signal.Signals(self.number).name]

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Raise ``KeyboardInterrupt``: the handler of all these signals."""
        del frame
        now = time.monotonic()
        if self.is_over or (self.number is not None and now - self.since < PATIENCE):
            return
        self.number = number if self.number is None else self.number
        self.since = now
        self._set_alarm()
        raise KeyboardInterrupt

    def insist(self, number: int, frame: FrameType | None) -> None:
        """Raise ``KeyboardInterrupt`` once more where the first one was lost: the handler of the alarm.

        What a signal raises is lost in a callback of Python's own (that of an import, which then keeps its lock for
        ever), and where DuckDB 2.0 begins a query; and who sends SIGTERM sends one. While an exception is on its way,
        whatever it is, things are being cleaned up, and are left alone.
        """
        del number, frame
        if self.is_over:
            return
        self._set_alarm()
        if sys.exc_info()[0] is None:
            raise KeyboardInterrupt

    def _set_alarm(self) -> None:
        if self.has_alarm:
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Let signals raise ``KeyboardInterrupt`` inside the block, and remove all that it leaves in temporary folders.

    A signal that the caller ignores, as under ``nohup``, stays ignored. In other threads than the main one, where
    Python has no signals, only the folder is looked after.
    """
    stop = Stop()
    before, folder = tempfile.tempdir, None
    handlers = {}
    try:
        try:
            if threading.current_thread() is threading.main_thread():
                for number in _numbers():
                    # None: a handler that was not made by Python, and cannot be put back.
                    if signal.getsignal(number) not in {signal.SIG_IGN, None}:
                        handlers[number] = signal.signal(number, stop.receive)
                if handlers and hasattr(signal, ALARM):
                    handlers[signal.SIGALRM] = signal.signal(signal.SIGALRM, stop.insist)
                    stop.has_alarm = True
            folder = _folder_name()
            if folder is not None:
                os.mkdir(folder, 0o700)
                tempfile.tempdir = folder
            yield stop
        finally:
            stop.is_over = True
    finally:
        stop.is_over = True
        if folder is not None:
            tempfile.tempdir = before
            shutil.rmtree(folder, ignore_errors=True)
        if stop.has_alarm and stop.number is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def break_off_reads() -> None:
    """Let signals break off a read, to be called before one that waits for the keyboard.

    Polars, wherever it is loaded, puts a handler of its own in front, which restarts such a read: a prompt would go on
    waiting.
    """
    if hasattr(signal, "siginterrupt"):
        for number in _numbers():
            signal.siginterrupt(number, True)


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]


def _folder_name() -> str | None:
    """Return the name of a folder that does not exist yet; None where no folder can be made, which few commands need.

    The name is known before the folder is made, so that no signal can come between.
    """
    try:
        place = tempfile.gettempdir()
    except OSError:
        return None
    return os.path.join(place, f"emdp-{os.getpid()}-{os.urandom(8).hex()}") if os.access(place, os.W_OK) else None
