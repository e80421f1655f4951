"""What tests of kills share: a fork that is killed (SIGKILL) at a line of code, and one that asks afterwards."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["child", "killed_at", "run_script"]


def run_script(script: str, folder: Path, places: Sequence[float]) -> Any:
    """Run a script in a fresh process on a folder and places; return what it printed last."""
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), json.dumps(places)],
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
