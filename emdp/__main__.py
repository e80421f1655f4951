"""Start and end of ``emdp`` and ``python -m emdp``: a signal is answered from the first line to the last.

Before the first line, and never after the last, a signal ends Python itself: shells show the same number for that.
"""

import atexit
import os
import signal
import sys
from contextlib import suppress
from types import FrameType

__all__ = ["main"]


def main() -> None:
    """Run the command line on the process's own words; see :func:`emdp.cli.main`."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # What the caller ignores, as under nohup, stays ignored.
        if number is not None and signal.getsignal(number) not in {signal.SIG_IGN, None}:
            signal.signal(number, _leave)
    from emdp.cli import main as run

    status = 1
    try:
        run()
        status = 0
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:  # noqa: BLE001
        # A bug in emdp, shown as Python shows it.
        sys.excepthook(*sys.exc_info())
    finally:
        _end(status)


def _end(status: int) -> None:
    """End the process here: while Python takes itself down, a signal would end it in its own way."""
    with suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # What could not be written was said before.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status & 0xFF)


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: nothing was begun, and raising in the middle of an import would leave text of Python's own."""
    del frame
    os.write(2, b"emdp: stopped before it began; nothing was charged.\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
