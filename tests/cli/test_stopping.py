import os
import signal
import tempfile
import threading
from pathlib import Path

import pytest

from emdp.cli.stopping import Stop, stoppable


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("number", "word"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "left by its terminal")],
)
def test_a_signal_is_an_interrupt_with_its_own_status(place: Path, number: signal.Signals, word: str) -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with pytest.raises(KeyboardInterrupt), stoppable(stop := Stop()):
        os.kill(os.getpid(), number)
    assert (stop.status, stop.word) == (128 + number, word)
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_temporary_folders_go_with_the_block(place: Path) -> None:
    with stoppable(Stop()):
        folder = Path(tempfile.mkdtemp())
        (folder / "x").write_text("x")
        assert place in folder.parents
        assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert list(place.iterdir()) == []
    assert tempfile.gettempdir() == str(place)


def test_of_two_signals_the_second_does_not_break_off_what_the_first_cleans_up(place: Path) -> None:
    cleaned = []

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt), stoppable(stop := Stop()):
        work()
    assert (cleaned, stop.status) == ([True], 143)


def test_a_signal_that_comes_long_after_the_first_is_heard_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    stop = Stop()
    with pytest.raises(KeyboardInterrupt):
        stop.receive(signal.SIGTERM, None)
    stop.receive(signal.SIGINT, None)
    now[0] = 103.0
    with pytest.raises(KeyboardInterrupt):
        stop.receive(signal.SIGINT, None)
    assert stop.status == 143


def test_an_interrupt_that_is_lost_is_raised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emdp.cli.stopping.PATIENCE", 0.05)

    class Losing:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            sum(range(1000))

    lost: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda args: lost.append(args.exc_type))
    before = signal.getsignal(signal.SIGALRM)

    def work() -> None:
        Losing()
        assert lost == [KeyboardInterrupt]
        threading.Event().wait(60)

    with pytest.raises(KeyboardInterrupt), stoppable(stop := Stop()):
        work()
    assert stop.status == 143
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_what_is_cleaned_up_for_long_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emdp.cli.stopping.PATIENCE", 0.01)
    alarms: list[int] = []
    original = Stop.insist

    def counted(self: Stop, number: int, frame: object) -> None:
        alarms.append(number)
        original(self, number, None)

    monkeypatch.setattr(Stop, "insist", counted)

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            while len(alarms) < 3:
                sum(range(1000))

    with pytest.raises(KeyboardInterrupt), stoppable(Stop()):
        work()
    assert len(alarms) == 3


def test_nothing_is_raised_while_a_compiled_module_is_made() -> None:
    """DuckDB's ends the process where Python code that it calls raises."""

    made = []

    class ExtensionFileLoader:
        def exec_module(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            made.append(self)

    def load() -> None:
        ExtensionFileLoader().exec_module()
        # Not signal.pause: an alarm just before it would be slept through for ever.
        while True:
            sum(range(1000))

    stop = Stop()
    with pytest.raises(KeyboardInterrupt), stoppable(stop):
        load()
    assert (len(made), stop.status) == (1, 130)


def test_a_signal_that_the_caller_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable(stop := Stop()):
            os.kill(os.getpid(), signal.SIGHUP)
        assert stop.number is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_have_no_signals_but_a_folder(place: Path) -> None:
    found = []

    def work() -> None:
        with stoppable(Stop()):
            found.append(Path(tempfile.mkdtemp()).exists())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]
    assert list(place.iterdir()) == []


def test_a_command_runs_where_no_temporary_folder_can_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with stoppable(stop := Stop()):
        pass
    assert stop.number is None
