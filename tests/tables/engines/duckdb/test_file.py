"""A DuckDB file that others write: waited for, held against writers, and what its views may read."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, UsageError
from emdp.ledger import read_ledger
from emdp.tables import Table, mean_of_user_means, read
from emdp.tables.base import SourceBusyError
from emdp.tables.engines.duckdb import source as duckdb_source
from emdp.tables.files import read_lock

ROWS = {"user": [1, 1, 2, 3], "x": [0.5, 1.5, 4.0, 2.0]}
SPACE = emdp.Interval("x", 0, 5)

OTHER = """
import duckdb, sys
kept = None
for line in sys.stdin:
    act = line.strip()
    try:
        if act == "release":
            kept.close()
        else:
            kept = duckdb.connect(sys.argv[1], read_only=act == "read")
            if act == "write":
                kept.execute("CREATE OR REPLACE TABLE mark AS SELECT 1 AS x")
        print("done", flush=True)
    except duckdb.IOException:
        print("refused", flush=True)
"""


class Other:
    """Another process, which does one act at a time: "write" and "read" open the file, "release" closes it."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", OTHER, str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def does(self, act: str) -> bool:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(act, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline().strip()
        assert answer in {"done", "refused"}
        return answer == "done"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.communicate()


class Clock:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses = 0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds
        self.pauses += 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "city.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", pl.DataFrame(ROWS).to_arrow())
        connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
    return path


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    monkeypatch.setattr(duckdb_source, "time", clock)
    return clock


def declared(path: Path, wait: float = 10.0) -> Table:
    return read(f"{path}::visits", user="user", space=SPACE, users=3, wait=wait)


def value(table: Table) -> float:
    return float(mean_of_user_means(table, [emdp.col("x")]).open()[0])


@pytest.mark.slow
def test_a_file_that_is_being_written_is_waited_for_as_long_as_stated(path: Path, clock: Clock) -> None:
    with Other(path) as other:
        assert other.does("write")
        with pytest.raises(SourceBusyError, match=r"held by another process for writing; waited 10 s; nothing was"):
            declared(path)
        assert clock.now == pytest.approx(110)
        assert clock.pauses >= 10
        with pytest.raises(SourceBusyError, match=r"waited 0.25 s") as caught:
            declared(path, wait=0.25)
        assert (caught.value.exit_status, str(path) in str(caught.value)) == (2, True)
        assert clock.now == pytest.approx(110.25)
        with pytest.raises(SourceBusyError, match=r"waited 0 s"):
            declared(path, wait=0)
        assert clock.now == pytest.approx(110.25)
        assert other.does("release")
        assert value(declared(path, wait=0)) == pytest.approx(7 / 3)


def test_it_goes_on_as_soon_as_the_file_is_released(path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    with Other(path) as other:
        assert other.does("write")

        def sleep(seconds: float) -> None:
            clock.now += seconds
            if clock.now > 101:
                other.does("release")

        monkeypatch.setattr(clock, "sleep", sleep)
        table = declared(path)
        assert clock.now == pytest.approx(101.05, abs=0.051)
        clock.now = 100.0
        assert other.does("write")
        with table.held():
            assert clock.now == pytest.approx(101.05, abs=0.051)
            assert not other.does("write")


@pytest.mark.parametrize("wait", [-1, float("nan"), float("inf"), True, "10"])
def test_waits_that_are_none(path: Path, wait: float) -> None:
    with pytest.raises(UsageError, match="wait must be"):
        declared(path, wait=wait)


def test_while_it_is_held_no_other_process_can_write(path: Path) -> None:
    table = declared(path)
    with Other(path) as other:
        with table.held():
            version = table.data_version()
            assert not other.does("write")
            table.validate()
            # A statement opens the file a second time and lets go of it: the lock must not go with it.
            assert value(table) == pytest.approx(7 / 3)
            assert not other.does("write")
            with table.held(), declared(path).held():
                assert not other.does("write")
            assert not other.does("write")
            assert other.does("read")
            assert other.does("release")
            assert not other.does("write")
            assert table.data_version() == version
        assert other.does("write")
        assert other.does("release")


def test_it_is_free_again_after_an_error(path: Path) -> None:
    with Other(path) as other:
        with contextlib.suppress(KeyboardInterrupt), declared(path).held():
            assert not other.does("write")
            raise KeyboardInterrupt
        assert other.does("write")


def test_the_lock_itself_meets_the_writers(path: Path) -> None:
    with Other(path) as other, read_lock(str(path)) as is_locked:
        assert other.does("write")
        assert not is_locked()
        assert other.does("release")
        assert is_locked()
        assert not other.does("write")
        assert other.does("read")
        assert is_locked()


def test_a_writer_between_the_opening_and_the_lock_is_waited_for(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = iter([False, False, True])
    monkeypatch.setattr("emdp.tables.files._try_lock", lambda *_: next(tries))
    with declared(path).held():
        assert clock.pauses == 2
    monkeypatch.setattr("emdp.tables.files._try_lock", lambda *_: False)
    with pytest.raises(SourceBusyError, match="waited 10 s"), declared(path).held():
        pytest.fail("it was never locked")


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_where_the_system_has_no_such_lock_the_open_file_is_what_holds(
    platform: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if platform == "linux":
        monkeypatch.delattr("fcntl.F_OFD_SETLK", raising=False)
    else:
        # It has one, and would read what Linux is asked with as another range.
        monkeypatch.setattr("fcntl.F_OFD_SETLK", 90)
    monkeypatch.setattr("sys.platform", platform)
    table = declared(path)
    with Other(path) as other:
        with table.held():
            assert not other.does("write")
        assert other.does("write")


def test_a_writer_in_the_same_process_is_named_at_once_and_keeps_its_lock(path: Path, clock: Clock) -> None:
    table = declared(path)
    with Other(path) as other:
        with duckdb.connect(str(path)):
            for act in (lambda: declared(path), lambda: value(table), lambda: table.held().__enter__()):
                with pytest.raises(SourceBusyError, match="open for writing in this process; close"):
                    act()
            assert not other.does("read")
        assert other.does("write")
    assert clock.pauses == 0


def test_a_busy_file_costs_nothing(path: Path, tmp_path: Path, clock: Clock) -> None:
    ledger = tmp_path / "city.ledger"
    with emdp.Session(declared(path), budget=emdp.EmdDP(10), ledger=ledger) as session, Other(path) as other:
        assert other.does("write")
        with pytest.raises(SourceBusyError, match="waited 10 s; nothing was charged"):
            session.mean(emdp.col("x"), alpha=1)
        assert session.remaining() == emdp.EmdDP(10)
        assert other.does("release")
        session.mean(emdp.col("x"), alpha=1)
        assert session.remaining() == emdp.EmdDP(9)
    with read_ledger(ledger) as opened:
        assert len(opened.entries("visits", "charge")) == 1


def test_broken_files_are_not_waited_for(path: Path, tmp_path: Path, clock: Clock) -> None:
    whole = path.read_bytes()
    damaged = {"none": b"hello" * 2000, "empty": b"", "cut": whole[:5000], "changed": whole[:4100] + bytes(9000)}
    for name, content in damaged.items():
        (tmp_path / f"{name}.duckdb").write_bytes(content)
        with pytest.raises(DataRuleError, match="cannot be opened; check that it is a DuckDB file"):
            declared(tmp_path / f"{name}.duckdb")
    assert clock.pauses == 0


def test_other_sources_are_held_by_nothing(tmp_path: Path) -> None:
    pl.DataFrame(ROWS).write_parquet(tmp_path / "t.parquet")
    for source in (ROWS, tmp_path / "t.parquet"):
        table = read(source, user="user", space=SPACE, users=3)
        with table.held():
            assert value(table) == pytest.approx(7 / 3)


VIEWS = {
    "plain": "SELECT * FROM visits",
    "unqualified": "SELECT * FROM s.more",
    "nested": "SELECT * FROM plain",
    "catalogued": "SELECT * FROM city.main.visits",
    "macro": 'SELECT "user", same(x) AS x FROM visits',
    "of_a_query": "SELECT * FROM query('SELECT * FROM visits')",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*VIEWS, "s.inner", "S.Inner"])
def test_views_of_the_file_itself(path: Path, name: str) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.more AS SELECT * FROM visits")
        connection.execute("CREATE MACRO same(a) AS a; CREATE VIEW s.inner AS SELECT * FROM s.more")
        for view, query in VIEWS.items():
            connection.execute(f"CREATE VIEW {view} AS {query}")
    table = read(f"{path}::{name}", user="user", space=SPACE, users=3)
    table.validate()
    assert value(table) == pytest.approx(7 / 3)
    # By its marks it is the table that it reads, whatever the records are.
    base = "s.more" if name in {"unqualified", "s.inner", "S.Inner"} else "visits"
    kept, sought, states = table.source.marks()
    own, sought_of_base, _ = read(f"{path}::{base}", user="user", space=SPACE, users=3).source.marks()
    assert sought == sought_of_base
    # Beside them it keeps the state under its own name, for other periods of the table.
    assert {*kept} - {*states} == {*own} - {*states}


@pytest.mark.slow
def test_marks_of_a_view_are_of_all_that_it_reads(path: Path) -> None:
    odd = """'"Table": "visits"'"""
    name = '"a ""b"" : ""Table"": ""visits"""'
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE {name} AS FROM visits")
        connection.execute(f"CREATE VIEW odd AS SELECT *, {odd} AS t FROM {name}")
        connection.execute("CREATE VIEW pair AS SELECT * FROM odd UNION ALL SELECT *, 'x' FROM visits WHERE x > 99")
        for number in range(150):
            below = "visits" if number == 0 else f"v{number - 1}"
            connection.execute(f"CREATE VIEW v{number} AS SELECT * FROM {below}")
        connection.execute('CREATE VIEW of_none AS SELECT 1 AS "user", 1.0::DOUBLE AS x')
    marks = {
        name: set(read(f"{path}::{name}", user="user", space=SPACE, users=3).source.marks()[1])
        for name in ("visits", "odd", "pair", "v149", "of_none")
    }
    assert marks["odd"].isdisjoint(marks["visits"])
    assert marks["pair"] == marks["odd"] | marks["visits"]
    assert marks["v149"] == marks["visits"]
    assert marks["of_none"].isdisjoint(marks["visits"])


def test_a_guess_at_the_values_of_an_enum_is_not_answered(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("""CREATE TABLE k AS SELECT 1 AS "user", 'a'::ENUM('a', 'secret') AS kind""")
    space = emdp.Categories("kind", ["a", "b"], on_invalid="neutral")
    for kind in ("ENUM('a', 'secret')", "ENUM('a', 'guess')"):
        read(f"{path}::k", user="user", space=space, users=1, columns={"user": "INTEGER", "kind": kind}).validate()
    with pytest.raises(DataRuleError, match="no column 'kind' of type VARCHAR") as caught:
        read(f"{path}::k", user="user", space=space, users=1, columns={"user": "INTEGER", "kind": "VARCHAR"}).validate()
    assert "secret" not in str(caught.value)


@pytest.mark.quarter
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM '{folder}/t.parquet'",
        "SELECT * FROM 't.parquet'",
        "SELECT * FROM read_parquet('{folder}/*.parquet')",
        "SELECT * FROM read_parquet('{folder}/*/*.parquet', hive_partitioning = true)",
        "SELECT * FROM read_csv('{folder}/t.csv')",
        "SELECT 1 AS \"user\", size AS x FROM read_text('{folder}/t.csv')",
        "SELECT * FROM visits WHERE x > (SELECT min(x) FROM '{folder}/t.parquet')",
        "SELECT * FROM aside.visits",
        "SELECT * FROM aside.main.visits",
        "SELECT * FROM gone",
    ],
)
@pytest.mark.parametrize("name", ["reader", "s.around"])
def test_views_of_anything_else_are_refused_before_a_charge(
    path: Path, tmp_path: Path, query: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "week=2026-W47").mkdir()
    for file in ("t.parquet", "week=2026-W47/p.parquet"):
        pl.DataFrame(ROWS).write_parquet(tmp_path / file)
    pl.DataFrame(ROWS).write_csv(tmp_path / "t.csv")
    with duckdb.connect(str(tmp_path / "aside.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS FROM 't.parquet'")
    with duckdb.connect(str(path)) as connection:
        connection.execute("ATTACH 'aside.duckdb'; CREATE TABLE gone AS FROM visits; CREATE SCHEMA s")
        connection.execute(f"CREATE VIEW reader AS {query.format(folder=tmp_path)}")
        connection.execute("CREATE VIEW s.around AS FROM reader")
        connection.execute("DROP TABLE gone")
    with pytest.raises(
        UsageError, match=rf"view '{name}' of source .* reads what is not in that file.* name the files"
    ):
        read(f"{path}::{name}", user="user", space=SPACE, users=3)
    # Where the columns are declared, nothing is opened before the rules are validated.
    columns = {"user": "BIGINT", "x": "DOUBLE"}
    table = read(f"{path}::{name}", user="user", space=SPACE, users=3, columns=columns)
    with emdp.Session(table, budget=emdp.EmdDP(10), ledger=tmp_path / "x.ledger") as session:
        with pytest.raises(UsageError, match="reads what is not in that file"):
            session.mean(emdp.col("x"), alpha=1)
        assert session.remaining() == emdp.EmdDP(10)


def test_a_view_reaches_no_variable_of_python(path: Path) -> None:
    frame = pl.DataFrame(ROWS).to_arrow()  # noqa: F841  # a name that a replacement scan would find
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE frame AS FROM visits; CREATE VIEW bare AS SELECT * FROM frame")
        connection.execute("DROP TABLE frame")
    with pytest.raises(UsageError, match=r"view 'bare' of source .* reads what is not in that file"):
        read(f"{path}::bare", user="user", space=SPACE, users=3)


@pytest.mark.parametrize("name", ["nowhere", "s.visits", "main.nowhere"])
def test_a_table_that_is_not_there(path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"has no table '{name}'; name one it has"):
        read(f"{path}::{name}", user="user", space=SPACE, users=3)


def test_a_backslash_in_a_path_leads_to_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/b.duckdb", "c.duckdb"):
        with duckdb.connect(str(tmp_path / name)) as connection:
            connection.execute('CREATE TABLE t AS SELECT 1 AS "user", 0.5::DOUBLE AS x')
    (tmp_path / "c.duckdb").rename(tmp_path / "a\\b.duckdb")
    with pytest.raises(UsageError, match="has a backslash in its path, which DuckDB takes for a slash; rename it"):
        emdp.read(f"{tmp_path}/a\\b.duckdb::t", user="user", space=emdp.Interval("x", 0, 1), users=1)
    assert emdp.read(f"{tmp_path}/a/b.duckdb::t", user="user", space=emdp.Interval("x", 0, 1), users=1).n == 1
