"""A bar on standard error for work that takes long, where that is a terminal."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["PATIENCE", "PLANNING", "progress_bar", "waiting"]

PATIENCE = 2.0
"""Seconds of work after which most commands show progress."""

PLANNING = "planning"
"""Title of the bar of a plan that takes long."""

PLANNING_PATIENCE = 1.0
"""Seconds after which a plan shows it."""


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


@contextmanager
def waiting(title: str, patience: float = PLANNING_PATIENCE) -> Iterator[None]:
    """Show a bar that moves, and the seconds so far, while work goes on that does not say how far it is."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()

    def show() -> None:
        if ended.wait(patience):
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            bar.add_task(title, total=None)
            ended.wait()

    beside = threading.Thread(target=show, name="emdp progress", daemon=True)
    beside.start()
    try:
        yield
    finally:
        ended.set()
        beside.join()
