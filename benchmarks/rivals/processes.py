"""Environments of the systems, and the processes that answer in them."""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import suppress
from pathlib import Path
from typing import Any

from systems import System

__all__ = ["RivalError", "Running", "environment"]

HERE = Path(__file__).parent


class RivalError(Exception):
    """A system that could not be installed or did not answer, with the reason for the table."""


def environment(system: System, folder: Path) -> Path:
    """Return the Python that has a system's packages; a new environment is made if it is not there yet.

    Parameters
    ----------
    system : System
        The system.
    folder : Path
        Where environments are kept, one a module.

    Raises
    ------
    RivalError
        If pip cannot install them.
    """
    if not system.requirements:
        return Path(sys.executable)
    home = folder / system.module
    python, marker = home / "bin" / "python", home / "installed"
    wanted = "\n".join(system.requirements)
    if marker.is_file() and marker.read_text() == wanted:
        return python
    venv.create(home, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *system.requirements]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RivalError(f"not installable here: {_last_line(done.stderr)}")
    marker.write_text(wanted)
    return python


class Running:
    """A system's process, which answers one question at a time.

    Parameters
    ----------
    system : System
        The system.
    python : Path
        Its interpreter.
    task : dict
        What :mod:`harness` wants, without `module`, `option` and `started`.
    patience : float
        Longest wait for one reply, in seconds.

    Raises
    ------
    RivalError
        If it does not start.
    """

    def __init__(self, system: System, python: Path, task: dict[str, Any], patience: float) -> None:
        self.patience = patience
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (read after the process has ended)
        self.process = subprocess.Popen(
            [str(python), str(HERE / "harness.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            cwd=task["folder"],
            env={**os.environ, "PYTHONPATH": "" if system.requirements else os.pathsep.join(sys.path[1:])},
        )
        self.start = self.ask({**task, "module": system.module, "option": system.option, "started": time.time()})

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a line.

        Raises
        ------
        RivalError
            If the process ends or is silent for too long; it is ended then.
        """
        stdin, stdout = self.process.stdin, self.process.stdout
        line, reason = "", ""
        if stdin is not None and stdout is not None:
            try:
                stdin.write(json.dumps(question) + "\n")
                stdin.flush()
                # A reply is one line, and there is none before the question: nothing waits in the buffer.
                if select.select([stdout], [], [], self.patience)[0]:
                    line = stdout.readline()
                else:
                    reason = f"no answer in {self.patience:g} s"
            except BrokenPipeError:
                pass
        if line:
            reply: dict[str, Any] = json.loads(line)
            return reply
        said = self.close()
        raise RivalError(f"failed here: {reason or _last_line(said)}")

    def close(self) -> str:
        """End the process, which ends by itself where its standard input does; return what it said of errors."""
        for stream in (self.process.stdin, self.process.stdout):
            # What could not be written to a process that has ended is flushed once more, in vain.
            with suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with self.errors:
            self.errors.seek(0)
            return self.errors.read()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"
