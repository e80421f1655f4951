"""Limits from the environment: kept to by the engine, and refused before a charge where they make no sense."""

from pathlib import Path

import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.tables import Table, read
from emdp.tables.engines.duckdb.execution import check_limits, opened
from emdp.tables.engines.duckdb.limits import MEMORY_VARIABLE, MOST_THREADS, THREADS_VARIABLE, engine_limits


def small() -> Table:
    return read({"user": [0, 1, 1], "x": [0.1, 0.5, 0.9]}, user="user", space=emdp.Interval("x", 0, 1), users=2)


@pytest.mark.parametrize(("variable", "setting", "given", "shown"), [
    (MEMORY_VARIABLE, "memory_limit", "1GB", "953.6 MiB"),
    (MEMORY_VARIABLE, "memory_limit", "512 MiB", "512.0 MiB"),
    (THREADS_VARIABLE, "threads", "3", 3),
])  # fmt: skip
def test_the_engine_keeps_to_its_limits(
    variable: str, setting: str, given: str, shown: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, given)
    table = small()
    with opened(table.source, {}, None) as connection:
        assert connection.execute(f"SELECT current_setting('{setting}')").fetchall() == [(shown,)]


@pytest.mark.parametrize("given", ["", "4", "GB", "-1GB", "0GB", "99MB", "1e9GB", "4 gigs", "4GB; SELECT 1", "80%"])
def test_no_memory_limit_but_a_size(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, given)
    with pytest.raises(UsageError, match=MEMORY_VARIABLE):
        check_limits()


@pytest.mark.parametrize("given", ["", "0", "-1", "2.0", "two", str(MOST_THREADS + 1), "99999"])
def test_no_threads_but_a_count(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, given)
    with pytest.raises(UsageError, match=THREADS_VARIABLE):
        engine_limits()


def test_a_wrong_limit_is_refused_before_the_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with emdp.Session(small(), budget=emdp.EmdDP(1.0), ledger=tmp_path / "l.ledger") as session:
        monkeypatch.setenv(THREADS_VARIABLE, "all")
        with pytest.raises(UsageError, match=THREADS_VARIABLE):
            session.mean(emdp.col("x"), alpha=0.5)
        assert len(session.history()) == 0
