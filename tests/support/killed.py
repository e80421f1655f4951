"""What tests of kills share: a fork that is killed (SIGKILL) at a line of code, and one that asks afterwards."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["child", "killed_at", "run_script", "states_left"]


def run_script(script: str, folder: Path, places: Sequence[float], *more: str) -> Any:
    """Run a script in a fresh process on a folder, places and texts; return what it printed last."""
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), json.dumps(places), *more],
        capture_output=True, text=True, timeout=900, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def child(work: Callable[[], Any]) -> Any:
    """Run work in a fork; return what it said, or None where it was killed."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.write(writer, json.dumps(work()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        said = stream.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(said) if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 else None


def killed_at(watched: tuple[str, ...], work: Callable[[], Any], place: int) -> Any:
    """Run work in a fork that dies at its ``place``-th line in watched files; return what it said, and how many ran."""
    left = [place]

    def trace(frame: Any, event: str, argument: object) -> Any:
        if event == "line" and frame.f_code.co_filename.endswith(watched):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace if frame.f_code.co_filename.endswith(watched) or event == "call" else None

    def traced() -> list[Any]:
        sys.settrace(trace)
        found = work()
        sys.settrace(None)
        return [found, place - left[0]]

    return child(traced)


def states_left(package: str, writers: tuple[str, ...], folder: str, copies: str, work: Callable[[], Any]) -> Any:
    """Run work in a fork, and copy a folder whenever a line of those who write finds its files changed.

    A process that is killed (SIGKILL) at a line leaves the bytes that its files have there, and no lock: so a copy of
    them is what a kill leaves at every line of the package from there to the next change. Lines of other files than the
    writers' stand between two of theirs, and leave what these leave.

    Returns
    -------
    list
        What the work said, and at which line, of how many, each copy was made.
    """
    seen: list[Any] = [None, [], 0]

    def look() -> None:
        found = {}
        for name in sorted(os.listdir(folder)):
            try:
                with open(os.path.join(folder, name), "rb") as stream:
                    found[name] = stream.read()
            except FileNotFoundError:
                # Gone since the folder was listed: by the same process, so that it is seen at the next line.
                continue
        if found != seen[0]:
            seen[0] = found
            place = os.path.join(copies, str(len(seen[1])))
            os.makedirs(place)
            for name, content in found.items():
                with open(os.path.join(place, name), "wb") as stream:
                    stream.write(content)
                shutil.copymode(os.path.join(folder, name), os.path.join(place, name))
            seen[1].append(seen[2])

    def trace(frame: Any, event: str, argument: object) -> Any:
        if event == "line" and frame.f_code.co_filename.startswith(package):
            seen[2] += 1
            if frame.f_code.co_filename.startswith(writers):
                look()
        return trace if frame.f_code.co_filename.startswith(package) or event == "call" else None

    def traced() -> list[Any]:
        sys.settrace(trace)
        found = work()
        sys.settrace(None)
        look()
        return [found, seen[1], seen[2]]

    return child(traced)
