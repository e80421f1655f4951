"""DuckDB instances: one of a description for the first check, one for all checks, one opened ahead of a statement."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.errors import DataRuleError, UsageError
from emdp.expressions import col
from emdp.tables import instances
from emdp.tables.base import CLOSED
from emdp.tables.duckdb import check_on_no_rows, check_statement
from emdp.tables.instances import ahead, describing, taken, without_rows
from emdp.tables.source import ParquetSource
from emdp.tables.table import Table


@pytest.fixture(autouse=True)
def _none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_described", "_empty", "_coming"):
        monkeypatch.setattr(instances, name, {})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "visits.parquet"
    pl.DataFrame({"who": [1, 2], "x": [0.25, 0.5]}).write_parquet(path)
    return path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The instances that are opened."""
    found: list[Any] = []
    connect = duckdb.connect

    def counted(*words: Any, **settings: Any) -> Any:
        found.append(connect(*words, **settings))
        return found[-1]

    monkeypatch.setattr(duckdb, "connect", counted)
    return found


def table_of(file: Path) -> Table:
    return emdp.read(str(file), user="who", users=2, space=emdp.Interval("x", 0, 1))


def is_closed(connection: Any) -> bool:
    try:
        connection.execute("SELECT 1")
    except duckdb.ConnectionException:
        return True
    return False


class TestWithoutRows:
    def test_all_checks_have_the_instance_of_the_first_description(self, file: Path, opened: list[Any]) -> None:
        table = table_of(file)
        for factor in range(1, 4):
            check_statement(table, (factor * col("x"),))
        assert len(opened) == 1
        assert not instances._described
        assert list(instances._empty.values()) == opened

    def test_every_description_has_an_instance_of_its_own(self, file: Path, opened: list[Any]) -> None:
        source = ParquetSource(str(file), "visits")
        assert source.schema() == source.schema() == {"who": "BIGINT", "x": "DOUBLE"}
        assert len(opened) == 2
        assert list(instances._described.values()) == opened[1:]
        check_statement(table_of(file), (col("x"),))
        source.schema()
        assert list(instances._empty.values()) == opened[2:3]
        assert is_closed(opened[3])

    def test_nothing_is_left_by_a_description_or_by_another_check(self, file: Path) -> None:
        ParquetSource(str(file), "visits").schema()
        for _ in range(2):
            with without_rows() as connection:
                assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
                assert connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]
                connection.execute("CREATE TEMP TABLE source_rows (x DOUBLE)")
                connection.register("listed_users", pl.DataFrame({"key": [1]}).to_arrow())

    def test_checks_of_several_threads_do_not_see_one_another(self, file: Path) -> None:
        table, both = table_of(file), threading.Barrier(2, timeout=60)
        other = emdp.read(pl.DataFrame({"who": ["a"], "y": [1.5]}), user="who", users=1, space=emdp.Interval("y", 0, 2))

        def check(one: Table, name: str) -> None:
            for _ in range(20):
                both.wait()
                check_statement(one, (col(name),))

        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(check, table, "x"), pool.submit(check, other, "y")]:
                done.result()
        assert len(instances._empty) == 1

    @pytest.mark.parametrize("is_described", [True, False])
    def test_it_is_locked_before_a_statement_runs(self, file: Path, opened: list[Any], *, is_described: bool) -> None:
        table = table_of(file)
        if not is_described:
            instances._described.clear()
        nothing: Any = SimpleNamespace(lookups={})
        for text in (f"SELECT * FROM read_parquet('{file}')", "SET threads = 2", "SET enable_external_access = true"):
            with pytest.raises(UsageError, match="more than the engine can compute"):
                check_on_no_rows(table, lambda text=text: (nothing, text))
            # What refused a statement is not used again.
            assert not instances._empty

    def test_one_that_failed_or_was_interrupted_is_closed(self, file: Path, tmp_path: Path, opened: list[Any]) -> None:
        broken = tmp_path / "broken.parquet"
        broken.write_text("no Parquet")
        with pytest.raises(DataRuleError, match="cannot be read as a Parquet file"):
            ParquetSource(str(broken), "broken").schema()
        with pytest.raises(KeyboardInterrupt), describing():
            raise KeyboardInterrupt
        assert len(opened) == 2
        assert all(map(is_closed, opened))
        assert not instances._described
        with pytest.raises(KeyboardInterrupt), without_rows():
            raise KeyboardInterrupt
        assert not instances._empty

    def test_a_child_of_the_process_opens_its_own(
        self, file: Path, opened: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = table_of(file)
        check_statement(table, (col("x"),))
        own = os.getpid()
        with monkeypatch.context() as child:
            child.setattr(os, "getpid", lambda: own + 1)
            check_statement(table, (2 * col("x"),))
            assert list(instances._empty.values()) == opened
        check_statement(table, (3 * col("x"),))
        assert len(opened) == 2


class TestAhead:
    def test_what_was_opened_ahead_is_taken_once(self, opened: list[Any]) -> None:
        ahead(CLOSED)
        ahead(CLOSED)
        with taken(CLOSED) as first, taken(CLOSED) as second:
            assert opened == [first, second]

    def test_other_settings_open_another(self, opened: list[Any]) -> None:
        ahead(CLOSED)
        with taken({**CLOSED, "threads": "1"}) as connection:
            assert connection is opened[1]
            assert connection.execute("SELECT current_setting('threads')").fetchall() == [(1,)]
        assert not instances._coming

    def test_one_that_cannot_be_opened_fails_where_it_is_taken(self) -> None:
        broken = {**CLOSED, "threads": "-3"}
        ahead(broken)
        instances._coming[os.getpid()].join()
        with pytest.raises(duckdb.Error):
            taken(broken)

    def test_without_room_for_a_thread_another_is_opened(
        self, opened: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", full)
        ahead(CLOSED)
        with taken(CLOSED) as connection:
            assert opened == [connection]

    def test_an_answer_reads_in_the_one_that_was_opened_ahead(
        self, file: Path, tmp_path: Path, opened: list[Any]
    ) -> None:
        with emdp.Session(table_of(file), budget=emdp.EmdDP(alpha=100), ledger=tmp_path / "a.ledger") as session:
            session.mean(col("x"), alpha=1.0)
            before = len(opened)
            session.mean(2 * col("x"), alpha=1.0)
        assert len(opened) == before + 1
        assert not instances._coming

    def test_one_that_nobody_took_does_not_keep_the_process_or_say_anything(self, file: Path) -> None:
        program = (
            "import duckdb, emdp\nfrom emdp.tables.instances import ahead, without_rows\n"
            "from emdp.tables.base import CLOSED\nahead(CLOSED)\nwith without_rows():\n    pass\nprint('done')"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
        assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_signal_that_stops_the_check_is_no_refusal(file: Path) -> None:
    def interrupted() -> Any:
        raise RuntimeError("INTERRUPT Error: Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        check_on_no_rows(table_of(file), interrupted)
