"""Worker processes for many pairs of small bags, where the interpreter's lock would keep threads on one core.

A worker is a fresh interpreter that imports this module and nothing of the caller's program, so that no
script needs a ``__main__`` guard and no lock of a running thread is copied, as forking would. It gets the
prepared bags once, then lists of pairs, each answered by their distances or by the error that they raise; it
ends when its input does.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Self

import numpy as np

from emdp.base.errors import EmdpError, InternalError
from emdp.spaces.base import Floats, Space
from emdp.transport.bags import Ints, Measure
from emdp.transport.routes import distance

__all__ = ["WorkerProcesses", "serve"]

PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from emdp.transport.processes import serve; serve()"
READY = "ready"


class WorkerProcesses:
    """A number of worker processes; a context manager that ends them.

    Parameters
    ----------
    bags : sequence of Measure
        Bags as :func:`emdp.transport.routes.prepare` makes them.
    """

    def __init__(self, count: int, space: Space, bags: Sequence[Measure]) -> None:
        self._started: list[subprocess.Popen[bytes]] = []
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._count = count
        self._task = (space, bags)

    def __enter__(self) -> Self:
        """Return itself; :meth:`start` starts the processes."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes, at once where an error is on its way."""
        for process in self._started:
            if kind is not None:
                process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    _close(pipe)
            process.wait()

    def start(self) -> bool:
        """Start the processes and say whether all are ready; not so where a space cannot be pickled or imported."""
        try:
            task = pickle.dumps(self._task, protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError):
            return False
        if not sys.executable:
            return False
        command = [sys.executable, "-c", PROGRAM, *sys.path]
        for _ in range(self._count):
            self._started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        for process in self._started:
            if not _is_ready(process, task):
                return False
            self._idle.put(process)
        return True

    def distances(self, pairs: Ints) -> Floats:
        """Return the distances of pairs of positions in the bags, shape (n, 2), from the next idle process.

        Raises
        ------
        EmdpError
            What the distance of a pair raised, or ``InternalError`` if the process ended.
        """
        process = self._idle.get()
        try:
            _send(process, pickle.dumps(pairs))
            reply = pickle.load(_pipe(process.stdout))
        except (OSError, EOFError) as error:
            raise InternalError(
                "a worker process of d_em_pairs ended before its work; pass workers=1 to do without processes."
            ) from error
        finally:
            self._idle.put(process)
        if isinstance(reply, EmdpError):
            raise reply
        return np.asarray(reply, dtype=np.float64)


def serve() -> None:
    """Answer one caller through standard input and output, until the input ends: what a worker process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source = sys.stdin.buffer
    sink = os.fdopen(os.dup(1), "wb")
    # Whatever else is printed must not mix with the answers.
    os.dup2(2, 1)
    try:
        space, bags = pickle.load(source)
    except (AttributeError, ImportError):
        return
    reply: object = READY
    while True:
        pickle.dump(reply, sink)
        sink.flush()
        try:
            pairs = pickle.load(source)
        except EOFError:
            return
        try:
            reply = np.array([distance(bags[left], bags[right], space) for left, right in pairs.tolist()])
        except EmdpError as error:
            reply = error


def _is_ready(process: subprocess.Popen[bytes], task: bytes) -> bool:
    try:
        _send(process, task)
        return bool(pickle.load(_pipe(process.stdout)) == READY)
    except (OSError, EOFError):
        return False


def _send(process: subprocess.Popen[bytes], message: bytes) -> None:
    pipe = _pipe(process.stdin)
    pipe.write(message)
    pipe.flush()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise InternalError("a worker process was started without pipes; this is a bug in emdp.")
    return pipe


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        # What was not yet flushed to a process that has ended.
        return
