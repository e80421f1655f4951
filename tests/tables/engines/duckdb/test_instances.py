"""DuckDB instances: to describe, for checks, kept to read frames and files, opened ahead; none over a fork."""

import gc
import os
import subprocess
import sys
import tempfile
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, UsageError
from emdp.expressions import col
from emdp.tables import check_statement
from emdp.tables.base import CLOSED
from emdp.tables.engines.duckdb import execution, instances
from emdp.tables.engines.duckdb.execution import check_on_no_rows
from emdp.tables.engines.duckdb.instances import ahead, describing, taken, without_rows
from emdp.tables.source import DuckDBSource, ParquetSource
from emdp.tables.table import Table


@pytest.fixture(autouse=True)
def _none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "_kept", {})
    # What another test has checked needs no instance.
    monkeypatch.setattr(execution, "_checked", set())


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


@pytest.fixture
def database(file: Path) -> Path:
    path = file.with_suffix(".duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE visits AS FROM '{file}'")
    instances._kept.clear()
    return path


def table_of(file: Path) -> Table:
    return emdp.read(
        f"{file}::visits" if file.suffix == ".duckdb" else str(file),
        user="who",
        users=2,
        space=emdp.Interval("x", 0, 1),
    )


def kept(*names: str) -> list[Any]:
    return [instances._kept.get(name) for name in names]


def reads() -> Any:
    """The instance that is kept to read."""
    return instances._kept["reads"].connection


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
        assert (kept("describes", "checks"), reads()) == ([None, None], opened[0])

    def test_descriptions_share_an_instance_that_the_first_check_takes(self, file: Path, opened: list[Any]) -> None:
        source = ParquetSource(str(file), "visits")
        assert source.schema() == source.schema() == {"who": "BIGINT", "x": "DOUBLE"}
        assert kept("describes", "reads") == [opened[0], None]
        check_statement(table_of(file), (col("x"),))
        assert (kept("describes"), reads()) == ([None], opened[0])
        source.schema()
        source.schema()
        check_statement(table_of(file), (2 * col("x"),))
        assert len(opened) == 2
        assert (kept("describes"), reads()) == ([opened[1]], opened[0])

    def test_a_description_remembers_nothing_of_a_file(self, file: Path) -> None:
        source, sizes = ParquetSource(str(file), "visits"), set()
        for one, other in (("a", "b"), ("b", "a")):
            pl.DataFrame({one: [1, 2], other: [0.25, 0.5]}).write_parquet(file)
            os.utime(file, (1e9, 1e9))
            sizes.add(file.stat().st_size)
            assert source.schema() == {one: "BIGINT", other: "DOUBLE"}
        assert len(sizes) == 1
        with describing() as connection:
            kept = connection.execute("SELECT current_setting('parquet_metadata_cache')").fetchall()
        assert kept == [(False,)]

    def test_descriptions_of_several_threads_do_not_see_one_another(self, file: Path) -> None:
        frames = [pl.DataFrame({"who": [1], name: [0.5]}) for name in ("x", "y", "z")]
        both = threading.Barrier(len(frames), timeout=60)

        def described(frame: pl.DataFrame) -> list[list[str]]:
            both.wait()
            return [list(emdp.tables.source.open_source(frame).schema()) for _ in range(20)]

        with ThreadPoolExecutor(len(frames)) as pool:
            for frame, found in zip(frames, pool.map(described, frames), strict=True):
                assert found == [frame.columns] * 20

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
        assert kept("reads") != [None]

    @pytest.mark.parametrize("is_described", [True, False])
    def test_it_is_locked_before_a_statement_runs(self, file: Path, opened: list[Any], *, is_described: bool) -> None:
        table = table_of(file)
        if not is_described:
            instances._kept.clear()
        nothing: Any = SimpleNamespace(lookups={})
        other = file.with_name("other.parquet")
        other.write_bytes(file.read_bytes())
        for text in (f"SELECT * FROM read_parquet('{other}')", "SET threads = 2", "SET enable_external_access = true"):
            with pytest.raises(UsageError, match="more than the engine can compute"):
                check_on_no_rows(table, lambda text=text: (nothing, text))
            # What refused a statement is not used again.
            assert kept("checks", "reads") == [None, None]

    def test_one_that_failed_or_was_interrupted_is_closed(self, file: Path, tmp_path: Path, opened: list[Any]) -> None:
        broken = tmp_path / "broken.parquet"
        broken.write_text("no Parquet")
        with pytest.raises(DataRuleError, match="cannot be read as a Parquet file"):
            ParquetSource(str(broken), "broken").schema()
        with pytest.raises(KeyboardInterrupt), describing():
            raise KeyboardInterrupt
        assert len(opened) == 2
        assert all(map(is_closed, opened))
        with pytest.raises(KeyboardInterrupt), without_rows():
            raise KeyboardInterrupt
        assert not instances._kept

    def test_the_same_statement_is_run_on_no_rows_once(self, file: Path, opened: list[Any]) -> None:
        table, ran = table_of(file), []
        nothing: Any = SimpleNamespace(lookups={})

        def check(one: Table, statement: Any, text: str) -> None:
            instances._kept.clear()
            check_on_no_rows(one, lambda: (statement, text))
            ran.append(bool(instances._kept))

        check(table, nothing, "SELECT sum(x) FROM source_rows -- once")
        check(table_of(file), nothing, "SELECT sum(x) FROM source_rows -- once")
        assert ran == [True, False]
        # Another text, other types of columns, another public table, other users: another check.
        check(table, nothing, "SELECT sum(x) FROM source_rows -- twice")
        words = emdp.read({"who": ["a"], "x": [1.5]}, user="who", users=1, space=emdp.Interval("x", 0, 2))
        check(words, nothing, "SELECT sum(x) FROM source_rows -- once")
        listed = SimpleNamespace(lookups={"lookup_0": pl.DataFrame({"label": [1]})})
        check(table, listed, "SELECT sum(x) FROM source_rows -- once")
        named = emdp.read(str(file), user="who", users=[1, 2], space=emdp.Interval("x", 0, 1))
        check(named, nothing, "SELECT sum(x) FROM source_rows -- once")
        assert ran[2:] == [True] * 4

    def test_what_was_refused_is_refused_again(self, file: Path) -> None:
        nothing: Any = SimpleNamespace(lookups={})
        for _ in range(2):
            with pytest.raises(UsageError, match="more than the engine can compute"):
                check_on_no_rows(table_of(file), lambda: (nothing, "SELECT gone FROM source_rows"))


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
        assert kept("coming") == [None]

    def test_one_that_cannot_be_opened_fails_where_it_is_taken(self) -> None:
        broken = {**CLOSED, "threads": "-3"}
        ahead(broken)
        instances._kept["coming"].join()
        with pytest.raises(duckdb.Error), taken(broken):
            pass

    def test_without_room_for_a_thread_another_is_opened(
        self, opened: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", full)
        ahead(CLOSED)
        with taken(CLOSED) as connection:
            assert opened == [connection]

    @pytest.mark.slow
    def test_an_answer_reads_a_database_in_the_one_that_was_opened_ahead(
        self, database: Path, tmp_path: Path, opened: list[Any]
    ) -> None:
        table = table_of(database)
        described = len(opened)
        with emdp.Session(table, budget=emdp.EmdDP(alpha=100), ledger=tmp_path / "a.ledger") as session:
            for factor in (1, 2, 3):
                session.mean(factor * col("x"), alpha=1.0)
        instances._kept["coming"].join()
        coming, checks = instances._kept["coming"].connection, kept("checks")[0]
        assert len(opened) > described
        assert [one for one in opened if not is_closed(one)] == [
            one for one in opened if one is checks or one is coming
        ]

    def test_an_answer_that_failed_opens_no_other(self, opened: list[Any]) -> None:
        for _ in range(2 * instances.SEVERAL):
            with pytest.raises(KeyboardInterrupt), taken(CLOSED):
                raise KeyboardInterrupt
        assert not instances._kept
        assert all(map(is_closed, opened))

    def test_a_single_question_of_a_database_opens_none_ahead(self, database: Path, tmp_path: Path) -> None:
        with emdp.Session(table_of(database), budget=emdp.EmdDP(alpha=100), ledger=tmp_path / "a.ledger") as session:
            session.mean(col("x"), alpha=1.0)
            assert kept("coming") == [None]
            for _ in range(instances.SEVERAL - 1):
                session.mean(col("x"), alpha=1.0)
            assert kept("coming") != [None]

    def test_one_that_nobody_took_does_not_keep_the_process_or_say_anything(self, file: Path) -> None:
        program = (
            "import duckdb, emdp\nfrom emdp.tables.engines.duckdb.instances import ahead, without_rows\n"
            "from emdp.tables.base import CLOSED\nahead(CLOSED)\nwith without_rows():\n    pass\nprint('done')"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
        assert (done.stdout, done.stderr) == ("done\n", "")


FRAME = {"who": [1, 2], "x": [0.25, 0.5]}


def opened_frame(frame: Any) -> Any:
    return execution.opened(emdp.tables.source.open_source(frame), {}, None)


class TestKeptOpen:
    def test_statements_of_frames_share_an_instance(self, opened: list[Any]) -> None:
        for values in ([0.25, 0.5], [1.0, 2.0], ["a", "b"]):
            with opened_frame({"x": values}) as connection:
                assert connection.execute("SELECT x FROM source_rows ORDER BY x").fetchall() == [(x,) for x in values]
        assert kept("reads", "coming") != [None, None]
        assert opened == [kept("reads")[0].connection]

    def test_a_session_over_a_frame_opens_one_for_its_checks_and_one_for_its_rows(
        self, tmp_path: Path, opened: list[Any]
    ) -> None:
        for number in range(4):
            table = emdp.read(FRAME, user="who", users=2, space=emdp.Interval("x", 0, 1))
            budget, ledger = emdp.EmdDP(alpha=100), tmp_path / f"{number}.ledger"
            with emdp.Session(table, budget=budget, ledger=ledger) as session:
                session.mean((number + 1) * col("x"), alpha=1.0)
        assert [is_closed(one) for one in opened] == [False] * len(opened)
        # Before the first check another one describes frames.
        assert len(opened) <= 3

    def test_nothing_is_left_of_a_frame(self) -> None:
        for _ in range(2):
            with opened_frame(FRAME) as connection:
                connection.execute("CREATE TEMP TABLE other AS SELECT * FROM source_rows")
            left = kept("reads")[0].connection
            assert left.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]
            assert left.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]

    @pytest.mark.slow
    def test_the_rows_of_a_frame_are_not_held(self) -> None:
        source = emdp.tables.source.open_source(pl.DataFrame(FRAME))
        with execution.opened(source, {}, None) as connection:
            assert connection.execute("SELECT count(*) FROM source_rows").fetchall() == [(2,)]
        held = weakref.ref(source.table)  # type: ignore[attr-defined]
        del source
        gc.collect()
        assert held() is None

    def test_it_is_locked_before_each_statement(self, file: Path) -> None:
        wrong = (
            f"SELECT * FROM read_parquet('{file}')", "SET enable_external_access = true", "SET threads = 2",
            f"ATTACH '{file.parent / 'other.duckdb'}'", "SET allowed_paths = ['/']", "SELECT * FROM opened",
        )  # fmt: skip
        for is_kept in (False, True):
            for text in wrong:
                instances._kept.clear()
                if is_kept:
                    with opened_frame(FRAME):
                        pass
                with pytest.raises(duckdb.Error), opened_frame(FRAME) as connection:
                    connection.execute(text)
                assert kept("reads") == [None], text

    def test_one_that_failed_goes_with_its_folder(self, opened: list[Any], tmp_path: Path, monkeypatch: Any) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with opened_frame(FRAME):
            assert len(os.listdir(tmp_path)) == 1
        for stop in (KeyboardInterrupt, ValueError):
            with pytest.raises(stop), opened_frame(FRAME):
                raise stop
            assert kept("reads") == [None]
            assert all(map(is_closed, opened))
            assert os.listdir(tmp_path) == []

    def test_other_limits_or_another_place_for_temporary_files_open_another(
        self, opened: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = []
        for _ in range(2):
            with opened_frame(FRAME) as connection:
                found.append(connection.execute("SELECT current_setting('temp_directory')").fetchall()[0][0])
        assert found[0] == found[1]
        monkeypatch.setenv("EMDP_THREADS", "1")
        with opened_frame(FRAME) as connection:
            assert connection.execute("SELECT current_setting('threads')").fetchall() == [(1,)]
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with opened_frame(FRAME) as connection:
            (place,) = connection.execute("SELECT current_setting('temp_directory')").fetchall()[0]
            assert Path(place).parent == tmp_path
        assert [is_closed(one) for one in opened] == [True, True, False]

    @pytest.mark.slow
    def test_it_ends_with_its_folder_before_a_fork_and_at_the_end(self, tmp_path: Path, monkeypatch: Any) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with opened_frame(FRAME):
            pass
        instances._let_go()
        assert not instances._kept
        assert os.listdir(tmp_path) == []
        program = (
            "import emdp\nfrom emdp.tables.engines.duckdb.execution import opened\n"
            "from emdp.tables.source import open_source\n"
            "with opened(open_source({'x': [1]}), {}, None) as c:\n    print(c.execute('FROM source_rows').fetchall())"
        )
        words, place = [sys.executable, "-W", "error", "-c", program], {**os.environ, "TMPDIR": str(tmp_path)}
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True, env=place)
        assert (done.stdout, done.stderr, os.listdir(tmp_path)) == ("[(1,)]\n", "", [])

    @pytest.mark.slow
    def test_threads_have_each_their_own(self) -> None:
        both = threading.Barrier(4, timeout=60)

        def asked(number: int) -> list[Any]:
            found = []
            for _ in range(10):
                both.wait()
                with opened_frame({"x": [number, number + 1]}) as connection:
                    found.append(connection.execute("SELECT sum(x) FROM source_rows").fetchall()[0][0])
            return found

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(asked, range(4))) == [[2 * number + 1] * 10 for number in range(4)]
        assert kept("reads") != [None]

    def test_databases_and_rows_in_order_have_instances_of_their_own(self, database: Path, opened: list[Any]) -> None:
        frame, attached = emdp.tables.source.open_source(FRAME), DuckDBSource(str(database), "visits", "visits")
        for source, linked, in_order in ((attached, {}, False), (frame, {"other": attached}, False), (frame, {}, True)):
            with execution.opened(source, {}, None, in_order=in_order, linked=linked) as connection:
                assert connection.execute("SELECT count(*) FROM source_rows").fetchall() == [(2,)]
            assert kept("reads") == [None]
            instances._let_go()
        assert all(map(is_closed, opened))


def write(path: Path, values: list[float]) -> None:
    """Write a file of two rows, its size and time those of any other two."""
    path.write_bytes(b"")
    frame = pl.DataFrame({"who": [1, 2], "x": values})
    frame.write_parquet(path, compression="uncompressed") if path.suffix == ".parquet" else frame.write_csv(path)
    os.utime(path, (1e9, 1e9))


class TestKeptForFiles:
    @pytest.mark.parametrize("suffix", [".parquet", ".csv"])
    @pytest.mark.parametrize("is_same_file", [True, False])
    def test_nothing_of_a_file_is_remembered(
        self, tmp_path: Path, opened: list[Any], suffix: str, *, is_same_file: bool
    ) -> None:
        path, sizes = tmp_path / f"visits{suffix}", set()
        for values in ([0.25, 0.5], [0.75, 0.5], [0.25, 0.5]):
            if not is_same_file:
                path.unlink(missing_ok=True)
            write(path, values)
            sizes.add(path.stat().st_size)
            with execution.opened(emdp.tables.source.open_source(str(path)), {}, None) as connection:
                found = connection.execute("SELECT CAST(x AS DOUBLE) FROM source_rows ORDER BY who").fetchall()
                assert found == [(value,) for value in values]
        assert len(sizes) == len(opened) == 1
        settings = "SELECT value FROM duckdb_settings() WHERE name IN ('{}', '{}')"
        names = ("enable_external_file_cache", "parquet_metadata_cache")
        assert set(reads().execute(settings.format(*names)).fetchall()) == {("false",)}

    def test_a_link_is_read_where_it_leads_now(self, tmp_path: Path) -> None:
        path, read = tmp_path / "link.parquet", []
        for value in (0.25, 0.75):
            write(kept := tmp_path / f"{value}.parquet", [value] * 2)
            path.unlink(missing_ok=True)
            path.symlink_to(kept)
            with execution.opened(emdp.tables.source.open_source(str(path)), {}, None) as connection:
                read += connection.execute("SELECT DISTINCT x FROM source_rows").fetchall()
        assert read == [(0.25,), (0.75,)]

    def test_it_opens_its_own_files_alone(self, file: Path, opened: list[Any]) -> None:
        other = file.with_name("other.parquet")
        write(other, [1.0, 0.5])
        own = emdp.tables.source.open_source(str(file))
        for text in (f"SELECT * FROM '{other}'", "SET enable_external_access = true", f"COPY source_rows TO '{file}'"):
            with pytest.raises(duckdb.Error), execution.opened(own, {}, None) as connection:
                connection.execute(text)
            assert kept("reads") == [None], text
        for path, total in ((file, 0.75), (other, 1.5), (file, 0.75)):
            with execution.opened(emdp.tables.source.open_source(str(path)), {}, None) as connection:
                assert connection.execute("SELECT sum(x) FROM source_rows").fetchall() == [(total,)]
        # Another file, another instance; and the last one is closed.
        assert [is_closed(one) for one in opened].count(False) == 1

    def test_a_session_over_files_opens_one_instance(self, file: Path, tmp_path: Path, opened: list[Any]) -> None:
        for number in range(3):
            budget, ledger = emdp.EmdDP(alpha=100), tmp_path / f"{number}.ledger"
            with emdp.Session(table_of(file), budget=budget, ledger=ledger) as session:
                for factor in (1, 2):
                    session.mean((number + factor) * col("x"), alpha=1.0)
        # Descriptions of the later tables have one, too.
        assert len(opened) <= 2

    @pytest.mark.parametrize("limits", [{}, {"EMDP_THREADS": "1"}, {"EMDP_MEMORY_LIMIT": "200MB"}])
    def test_one_that_described_has_the_settings_of_one_that_did_not(
        self, file: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, str]
    ) -> None:
        for name, value in limits.items():
            monkeypatch.setenv(name, value)
        source, found = ParquetSource(str(file), "visits"), []
        for _ in range(2):
            with execution.opened(source, {}, None) as connection:
                rows = connection.execute(
                    "SELECT name, value FROM duckdb_settings() WHERE value NOT LIKE '%emdp-held%'"
                )
                # How much memory is free for a writer depends on what is in use.
                found.append({row for row in rows.fetchall() if not row[0].startswith("write_buffer")})
            instances._let_go()
            source.schema()
        assert found[0] == found[1]


FORKED = """
import os, sys, emdp
table = emdp.read({"who": [1, 2], "x": [0.25, 0.5]}, user="who", users=2, space=emdp.Interval("x", 0, 1))
session = emdp.Session(table, budget=emdp.EmdDP(alpha=100), ledger=sys.argv[1])
for _ in range(3):
    session.mean(emdp.col("x"), alpha=1.0)
child = os.fork()
session.mean(emdp.col("x"), alpha=1.0)
if child:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), session.spent().alpha)
"""


def test_a_forked_child_answers_and_ends_as_its_parent_does(tmp_path: Path) -> None:
    words = [sys.executable, "-W", "error", "-c", FORKED, str(tmp_path / "a.ledger")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 5.0\n", "")


def test_a_signal_that_stops_the_check_is_no_refusal(file: Path) -> None:
    def interrupted() -> Any:
        raise RuntimeError("INTERRUPT Error: Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        check_on_no_rows(table_of(file), interrupted)
