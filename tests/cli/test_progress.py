"""The bar of work that takes long: on a terminal's standard error alone, and gone when the work is."""

import io
import sys
import threading
import time

import pytest

from emdp.cli.progress import waiting


class Terminal(io.StringIO):
    """Text that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def drawn(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, patience: float, *, until: str = "") -> str:
    """Return what is written while work goes on until that appears, or a short while."""
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting("planning", patience):
        end = time.monotonic() + (60.0 if until else 0.05)
        while time.monotonic() < end and (not until or until not in stream.getvalue()):
            time.sleep(0.005)
    return stream.getvalue()


def test_a_bar_appears_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert "planning" in drawn(monkeypatch, Terminal(), 0.0, until="planning")
    assert not any(thread.name == "emdp progress" for thread in threading.enumerate())


def test_quick_work_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, Terminal(), 600.0) == ""


def test_nothing_is_written_to_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, io.StringIO(), 0.0) == ""


def test_an_error_of_the_work_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(KeyboardInterrupt), waiting("planning", 600.0):
        raise KeyboardInterrupt
    assert not any(thread.name == "emdp progress" for thread in threading.enumerate())
