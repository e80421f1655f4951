"""A bar on standard error for work that takes long, where that is a terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["PATIENCE", "progress_bar"]

PATIENCE = 2.0
"""Seconds of work after which most commands show progress."""


@contextmanager
def progress_bar(patience: float) -> Iterator[Callable[[int, int, str], None]]:
    """Yield a function that takes how much is done of how much, and what comes next; it shows nothing elsewhere.

    Parameters
    ----------
    patience : float
        Seconds after which the bar appears; 0: at once.
    """
    if not sys.stderr.isatty():
        yield lambda done, total, title: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    bar, start = Progress(console=Console(stderr=True), transient=True), time.monotonic()
    task = bar.add_task("", total=None)

    def show(done: int, total: int, title: str) -> None:
        bar.update(task, completed=done, total=total, description=escape(title))
        if time.monotonic() - start > patience:
            bar.start()

    try:
        if patience == 0:
            bar.start()
        yield show
    finally:
        bar.stop()
