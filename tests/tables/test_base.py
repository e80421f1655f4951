"""The one instance of DuckDB that is handed from a file's description to the check of a statement."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.errors import DataRuleError, UsageError
from emdp.expressions import col
from emdp.tables import base
from emdp.tables.base import describing, open_without_rows
from emdp.tables.duckdb import check_on_no_rows, check_statement
from emdp.tables.source import ParquetSource
from emdp.tables.table import Table


@pytest.fixture(autouse=True)
def _none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_spares", {})


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


def test_a_check_after_a_description_opens_no_instance_and_closes_that_one(file: Path, opened: list[Any]) -> None:
    table = table_of(file)
    check_statement(table, (col("x"),))
    assert len(opened) == 1
    assert is_closed(opened[0])
    # There is one no more, so that a second check has to open its own.
    check_statement(table, (2 * col("x"),))
    assert len(opened) == 2
    assert all(map(is_closed, opened))


def test_every_description_has_an_instance_of_its_own_and_one_is_kept(file: Path, opened: list[Any]) -> None:
    source = ParquetSource(str(file), "visits")
    assert source.schema() == source.schema() == {"who": "BIGINT", "x": "DOUBLE"}
    assert len(opened) == 2
    assert list(base._spares.values()) == opened[1:]


def test_nothing_is_left_in_what_is_handed_on(file: Path) -> None:
    ParquetSource(str(file), "visits").schema()
    with open_without_rows() as connection:
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
        assert connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]
        described = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    with open_without_rows() as connection:
        assert dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall()) == described


@pytest.mark.parametrize("is_described", [True, False])
def test_it_is_locked_before_a_statement_runs(file: Path, opened: list[Any], *, is_described: bool) -> None:
    table = table_of(file)
    if not is_described:
        base._spares.clear()
    nothing: Any = SimpleNamespace(lookups={})
    for text in (f"SELECT * FROM read_parquet('{file}')", "SET threads = 2", "SET enable_external_access = true"):
        with pytest.raises(UsageError, match="more than the engine can compute"):
            check_on_no_rows(table, lambda text=text: (nothing, text))
        assert is_closed(opened[-1])
        assert not base._spares


def test_one_that_failed_or_was_interrupted_is_closed(file: Path, tmp_path: Path, opened: list[Any]) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_text("no Parquet")
    with pytest.raises(DataRuleError, match="cannot be read as a Parquet file"):
        ParquetSource(str(broken), "broken").schema()
    with pytest.raises(KeyboardInterrupt), describing():
        raise KeyboardInterrupt
    assert len(opened) == 2
    assert all(map(is_closed, opened))
    assert not base._spares


def test_a_child_of_the_process_opens_its_own(file: Path, opened: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    ParquetSource(str(file), "visits").schema()
    own = os.getpid()
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: own + 1)
        with open_without_rows() as connection:
            assert connection is opened[1]
    assert not is_closed(opened[0])
    with open_without_rows() as connection:
        assert connection is opened[0]


def test_a_signal_that_stops_the_check_is_no_refusal(file: Path) -> None:
    def interrupted() -> Any:
        raise RuntimeError("INTERRUPT Error: Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        check_on_no_rows(table_of(file), interrupted)
