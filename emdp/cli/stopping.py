"""Ends that come from outside: signals become one exception, and what a command keeps meanwhile is removed."""

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from types import FrameType
from typing import Any, NoReturn

from emdp.base.charged import CHARGED
from emdp.base.classes import dataclass
from emdp.base.temporary import HeldFolder

__all__ = ["SIGNALS", "Stop", "break_off_reads", "stoppable"]

SIGNALS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "left by its terminal"}
"""Signals that end a command in order, each with its word; Windows has no SIGHUP."""

PATIENCE = 2.0
"""Seconds after a signal in which others are left aside: a terminal and ``timeout`` may send two for one."""

SOON = 0.02
"""Seconds after which an exception that had to wait is tried again."""

ALARM = "SIGALRM"
"""Signal that ends the wait for a command that does not stop; Windows has none."""


@dataclass
class Stop:
    """Signal that stopped a command, if one did."""

    number: int | None = None  # The first signal
    since: float = 0.0
    is_over: bool = False
    is_clean: bool = False
    is_said: bool = False
    has_alarm: bool = False
    # Whether nothing comes after the command but the end of the process, at which a signal ends it at once.
    ends_process: bool = False
    begun: int = field(default_factory=lambda: CHARGED.begun)  # Charges that this process had begun before the command

    @property
    def status(self) -> int:
        """The exit status: 128 and the signal's number, as shells have it; of Ctrl-C where none came."""
        return 128 + int(signal.SIGINT if self.number is None else self.number)

    @property
    def word(self) -> str:
        """Word for what stopped the command."""
        return SIGNALS["SIGINT" if self.number is None else signal.Signals(self.number).name]

    @property
    def message(self) -> str:
        """Message that is true of the command whenever it was stopped."""
        if CHARGED.begun == self.begun:
            return f"{self.word}; nothing was charged, and no file is left half written."
        if CHARGED.begun == CHARGED.stored:
            return (
                f"{self.word}; what was charged is answered and stored, and no file is left half written; ask the same "
                "again, without --fresh, and the answer is given for nothing."
            )
        return (
            f"{self.word}; what was charged stays charged (`emdp ledger show` lists it), and no file is left half "
            "written; ask the same again, and what is stored is given for nothing."
        )

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Raise ``KeyboardInterrupt``: the handler of all these signals."""
        if self.is_clean and self.ends_process:
            self._leave(number)
        now = time.monotonic()
        is_second = self.number is not None and now - self.since < PATIENCE
        self.number = number if self.number is None else self.number
        if self.is_over or is_second:
            return
        self.since = now
        self._raise_in(frame)

    def insist(self, number: int, frame: FrameType | None) -> None:
        """Raise ``KeyboardInterrupt`` once more where the first one was lost: the handler of the alarm.

        What a signal raises is lost in a callback of Python's own (that of an import, which then keeps its lock for
        ever), and where DuckDB 2.0 begins a query; and who sends SIGTERM sends one. While an exception is on its way,
        whatever it is, things are being cleaned up, and are left alone.
        """
        del number
        if self.is_over:
            return
        if sys.exc_info()[0] is None:
            self._raise_in(frame)
        else:
            self._set_alarm()

    def _leave(self, number: int) -> NoReturn:
        """End the process, for all that is left is its end, and nothing in it may hold up whoever stops it."""
        self.number = number if self.number is None else self.number
        if not self.is_said:
            # Where nobody reads it, the next signal ends the process.
            self.is_said = True
            with suppress(OSError):
                os.write(2, f"emdp: {self.message}\n".encode())
        os._exit(self.status)

    def _raise_in(self, frame: FrameType | None) -> None:
        """Raise now, or soon: a compiled module in the making may end the process at an exception of Python code."""
        if self.has_alarm and _makes_compiled_module(frame):
            signal.setitimer(signal.ITIMER_REAL, SOON)
            return
        self._set_alarm()
        raise KeyboardInterrupt

    def _set_alarm(self) -> None:
        if self.has_alarm:
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)


@contextmanager
def stoppable(stop: Stop) -> Iterator[None]:
    """Let signals raise ``KeyboardInterrupt`` inside the block, and remove all that it leaves in temporary folders.

    A signal that the caller ignores, as under ``nohup``, stays ignored. In other threads than the main one, where
    Python has no signals, only the folder is looked after.
    """
    before, folder = tempfile.tempdir, HeldFolder()
    handlers: dict[int, Any] = {}
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
            # Where none can be made, few commands need one.
            with suppress(OSError):
                tempfile.tempdir = folder.make()
            yield
        finally:
            stop.is_over = True
    finally:
        stop.is_over = True
        tempfile.tempdir = before
        folder.remove()
        if stop.has_alarm and stop.number is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if not stop.ends_process:
            for heard, handler in handlers.items():
                signal.signal(heard, handler)
        stop.is_clean = True


def break_off_reads() -> None:
    """Let signals break off a read, to be called before one that waits for the keyboard.

    Polars, wherever it is loaded, puts a handler of its own in front, which restarts such a read: a prompt would go on
    waiting.
    """
    if hasattr(signal, "siginterrupt"):
        for number in _numbers():
            signal.siginterrupt(number, True)


def _makes_compiled_module(frame: FrameType | None) -> bool:
    """Say whether a compiled module is being made in a frame or in one that called it; DuckDB's calls Python's enum."""
    while frame is not None:
        is_maker = frame.f_code.co_name in ("create_module", "exec_module")
        if is_maker and type(frame.f_locals.get("self")).__name__ == "ExtensionFileLoader":
            return True
        frame = frame.f_back
    return False


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
