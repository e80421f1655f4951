"""Where ``emdp`` and ``python -m emdp`` start: a signal is answered from here on, while the rest is still loading."""

import os
import signal
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

    run()


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: nothing was begun, and raising in the middle of an import would leave text of Python's own."""
    del frame
    os.write(2, b"emdp: stopped before it began; nothing was charged.\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
