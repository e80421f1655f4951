"""Waiting for an engine: Ctrl-C is heard at once, and what was asked of the engine is stopped."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import InternalError
from emdp.tables.engines import waiting
from emdp.tables.engines.duckdb import execution
from emdp.tables.engines.duckdb import items as item_reads
from emdp.tables.engines.waiting import heard, stoppable

LONG = "SELECT sum(sin(i)) FROM range(1_000_000_000_000) t(i)"
"""Takes hours."""


@pytest.fixture(autouse=True)
def _ctrl_c() -> Iterator[None]:
    """Python's answer to Ctrl-C, whatever the process was started with."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


class TestHeard:
    def test_it_is_what_the_call_gives_or_raises(self) -> None:
        assert heard(lambda: 3, pytest.fail) == 3
        with pytest.raises(ZeroDivisionError):
            heard(lambda: 1 / 0, pytest.fail)

    def test_a_call_is_stopped_until_it_ends(self) -> None:
        stops: list[int] = []
        enough = threading.Event()

        def call() -> None:
            press()
            assert enough.wait(60)

        def stop() -> None:
            stops.append(1)
            if len(stops) == 3:
                enough.set()
            raise RuntimeError("nothing runs")

        with pytest.raises(KeyboardInterrupt):
            heard(call, stop)
        assert len(stops) == 3
        assert enough.is_set()

    def test_one_that_does_not_end_is_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(waiting, "LAST_WAIT", 0.3)
        never = threading.Event()

        def call() -> None:
            press()
            never.wait()

        with pytest.raises(KeyboardInterrupt):
            heard(call, lambda: None)
        never.set()

    def test_a_thread_that_ends_without_a_result_is_a_bug(self) -> None:
        def nothing(**_: Any) -> threading.Thread:
            return threading.Thread(target=lambda: None, daemon=True)

        with pytest.raises(InternalError, match="without a result"):
            heard(lambda: 3, pytest.fail, thread_of=nothing)


class TestStoppable:
    def test_a_statement_of_hours_ends_at_once(self) -> None:
        with duckdb.connect() as connection:

            def call() -> Any:
                press()
                return connection.execute(LONG).fetchall()

            began = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                stoppable(connection, call)
            assert time.monotonic() - began < 30
            assert connection.execute("SELECT 1").fetchall() == [(1,)]

    def test_in_another_thread_it_runs_there(self) -> None:
        ran: list[threading.Thread] = []
        other = threading.Thread(target=lambda: stoppable(None, lambda: ran.append(threading.current_thread())))
        other.start()
        other.join()
        assert ran == [other]


QUESTIONS: dict[str, Callable[[emdp.Session], Any]] = {
    "mean": lambda session: session.mean(emdp.col("x"), alpha=1.0),
    "groups": lambda session: session.sql(
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) k, SHARE() AS s FROM t GROUP BY k"
    ),
    "user means": lambda session: session.user_mean(emdp.col("x"), epsilon=1.0, delta=1e-6, method="direct"),
    "strings": lambda session: session.heavy_hitters("k", threshold=0.5, epsilon=9.0, delta=1e-6, model="central"),
    "rules": lambda session: session.table.validate(),
    "bag": lambda session: session.table.bag(1),
}


@pytest.mark.quarter
@pytest.mark.parametrize("name", QUESTIONS)
def test_whatever_reads_records_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    rows = {"who": [*range(200)], "x": [0.25, 0.5] * 100, "k": ["a", "b"] * 100}
    pl.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
    space = emdp.Product(emdp.Interval("x", 0, 1), emdp.Categories("k", ["a", "b"]))
    table = emdp.read(tmp_path / "t.parquet", user="who", users=200, space=space)
    budgets = [emdp.EmdDP(100), emdp.UserDP(100, delta=1e-3)]
    with emdp.Session(table, budget=budgets, ledger=tmp_path / "t.ledger") as session:
        table.validate()

        def pressed(connection: Any, call: Callable[[], Any]) -> Any:
            del connection, call
            raise KeyboardInterrupt

        for module in (execution, item_reads):
            monkeypatch.setattr(module, "stoppable", pressed)
        with pytest.raises(KeyboardInterrupt):
            QUESTIONS[name](session)
