"""Cases that an adversarial review found to break the engine: each gives the sound result or a refusal in time."""

import os
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import emdp
from emdp.base.errors import EmdpError
from emdp.expressions import evaluate
from emdp.tables import Table, mean_of_user_means, read
from emdp.tables.engines.duckdb import engine, instances

X = emdp.col("x")


def value(table: Table, expression: emdp.Expression) -> float:
    return float(mean_of_user_means(table, [expression]).open()[0])


def number(rule: str = "neutral") -> emdp.Interval:
    return emdp.Interval("x", 0, 10, on_invalid=rule, neutral=0.0)  # type: ignore[arg-type]


def declared(source: object, space: emdp.Space, users: object = 2) -> Table:
    return read(source, user="user", space=space, users=users)


@pytest.mark.quarter
@pytest.mark.parametrize("x", [5.0, 5.001, None])
def test_a_valid_vector_in_a_ball_stays_where_it_is_when_another_part_is_clamped(x: float | None) -> None:
    ball = emdp.Vector(["a", "b"], radius=1, on_invalid="clamp")
    space = emdp.Product(ball, emdp.Interval("x", 0, 5, on_invalid="clamp", neutral=5.0))
    for a in (0.1, 0.0, -1.0, 3.0):
        frame = pl.DataFrame({"user": [1], "a": [a], "b": [0.0], "x": [x]}, schema_overrides={"x": pl.Float64})
        table = read(frame, user="user", space=space, users=1)
        table.validate()
        expected = evaluate(emdp.col("a") + X, space, space.encode(frame))[0]
        assert value(table, emdp.col("a") + X) == pytest.approx(expected, abs=1e-12)


def test_a_bag_holds_valid_vectors_of_a_ball_as_they_are() -> None:
    space = emdp.Vector(["a", "b"], radius=1, on_invalid="clamp")
    table = read({"user": [1, 1], "a": [0.1, 0.0], "b": [0.2, 0.0]}, user="user", space=space, users=1)
    assert sorted(table.bag(1).rows()) == [(0.0, 0.0), (0.1, 0.2)]


def test_csv_files_with_another_column_order_are_not_read_by_position(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,x\n1,2\n2,4\n")
    (tmp_path / "b.csv").write_text("x,user\n9,1\n7,2\n")
    try:
        table = declared(f"{tmp_path}/*.csv", number(), users=10)
        table.validate()
    except EmdpError:
        return
    # (2 + 9)/2 and (4 + 7)/2 over ten users; by position, 9 and 7 would be users.
    assert value(table, X) == pytest.approx(1.1)


def test_csv_files_with_another_column_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,x\n1,2\n")
    (tmp_path / "b.csv").write_text("user,height\n2,9\n")
    with pytest.raises(EmdpError):
        declared(f"{tmp_path}/*.csv", number()).validate()


def test_users_of_a_later_file_are_not_rounded_into_one(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": [1], "x": [1.0]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"user": [1.4, 0.6], "x": [2.0, 9.0]}), tmp_path / "1.parquet")
    with pytest.raises(EmdpError):
        declared(str(tmp_path), number()).validate()


def _mixed_width(folder: Path) -> str:
    pq.write_table(pa.table({"user": [1], "x": pa.array([1], pa.int32())}), folder / "0.parquet")
    pq.write_table(pa.table({"user": [2], "x": pa.array([2**40], pa.int64())}), folder / "1.parquet")
    return str(folder)


def _mixed_text(folder: Path) -> str:
    pq.write_table(pa.table({"user": [1], "x": [1.0]}), folder / "0.parquet")
    pq.write_table(pa.table({"user": [2], "x": ["abc"]}), folder / "1.parquet")
    return str(folder)


def _late_bytes(folder: Path) -> str:
    (folder / "late.csv").write_bytes(b"user,x\n" + b"1,2\n" * 20_000 + b"2,\xff\n")
    return str(folder / "late.csv")


def _failing_view(folder: Path) -> str:
    with duckdb.connect(str(folder / "v.duckdb")) as connection:
        connection.execute("CREATE TABLE r AS SELECT * FROM (VALUES (1, '2'), (2, 'abc')) v(\"user\", x)")
        connection.execute('CREATE VIEW t AS SELECT "user", x::DOUBLE AS x FROM r')
    return f"{folder}/v.duckdb::t"


def _corrupt_page(folder: Path) -> str:
    path = folder / "p.parquet"
    rows = pa.table({"user": list(range(1000)), "x": [float(n % 7) for n in range(1000)]})
    pq.write_table(rows, path, compression="snappy", use_dictionary=False)
    start = pq.ParquetFile(path).metadata.row_group(0).column(1).data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 40] = b"\xee" * 40
    path.write_bytes(content)
    return str(path)


@pytest.mark.quarter
@pytest.mark.parametrize("write", [_mixed_width, _mixed_text, _late_bytes, _failing_view, _corrupt_page])
@pytest.mark.parametrize("rule", ["neutral", "clamp"])
def test_whatever_validate_accepts_can_be_computed(write: object, rule: str, tmp_path: Path) -> None:
    try:
        table = declared(write(tmp_path), number(rule), users=1000)  # type: ignore[operator]
        table.validate()
    except EmdpError:
        return
    mean_of_user_means(table, [X])


@pytest.mark.parametrize("name", ["label", "LABEL", "value_0"])
def test_a_column_may_be_named_like_one_of_ours(name: str) -> None:
    frame = {"user": [1, 1, 2], name: ["a", "b", "a"]}
    table = declared(frame, emdp.Categories(name, ["a", "b"]))
    table.validate()
    assert value(table, emdp.category_is("a")) == 0.75
    assert len(table.bag(1)) == 2


def test_a_collation_neither_doubles_rows_nor_merges_users(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute('CREATE TABLE t ("user" VARCHAR COLLATE NOCASE, kind VARCHAR COLLATE NOCASE)')
        connection.execute("INSERT INTO t VALUES ('A', 'bar'), ('A', 'zoo'), ('b', 'zoo')")
    space = emdp.Categories("kind", ["bar", "Bar", "zoo"], on_invalid="neutral")
    table = declared(f"{tmp_path}/c.duckdb::t", space)
    table.validate()
    assert value(table, emdp.category_is("bar", "Bar")) == 0.25


def test_a_ball_too_small_for_squares_is_refused_or_right() -> None:
    try:
        space = emdp.Vector(["a"], radius=1e-170, on_invalid="neutral")
    except EmdpError:
        return
    table = read({"user": [1], "a": [1e-163]}, user="user", space=space, users=1)
    assert abs(value(table, emdp.col("a"))) <= 1.1e-170


def test_a_file_name_with_brackets_names_that_file_only(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": [1], "x": [1.0]}), tmp_path / "v[1].parquet")
    pq.write_table(pa.table({"user": [1], "x": [9.0]}), tmp_path / "v1.parquet")
    try:
        table = declared(tmp_path / "v[1].parquet", number(), users=1)
    except EmdpError:
        return
    table.validate()
    assert value(table, X) == 1.0


def test_messages_of_a_wrong_type_show_no_listed_value(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "e.duckdb")) as connection:
        connection.execute("CREATE TYPE person AS ENUM ('alice@example.org')")
        connection.execute("CREATE TABLE t AS SELECT 1 AS \"user\", 'alice@example.org'::person AS x")
    with pytest.raises(EmdpError) as caught:
        declared(f"{tmp_path}/e.duckdb::t", number())
    assert "alice" not in str(caught.value)


def _dropped_column(folder: Path) -> str:
    with duckdb.connect(str(folder / "v.duckdb")) as connection:
        connection.execute('CREATE TABLE r (a INT, "user" INT, x DOUBLE)')
        connection.execute('CREATE VIEW t AS SELECT "user", x FROM r')
        connection.execute("ALTER TABLE r DROP COLUMN x")
    return f"{folder}/v.duckdb::t"


def _no_database(folder: Path) -> str:
    (folder / "v.csv").write_text("user,x\n1,2\n")
    return f"{folder}/v.csv::t"


@pytest.mark.parametrize("write", [_dropped_column, _no_database])
def test_no_error_text_of_duckdb_comes_out(write: object, tmp_path: Path) -> None:
    with pytest.raises(EmdpError):
        declared(write(tmp_path), number())  # type: ignore[operator]


def test_spilled_records_are_for_the_owner_s_eyes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[str] = []
    run = engine.run

    def watched(connection: Any, query: str) -> list[tuple[Any, ...]]:
        folders.append(connection.execute("SELECT current_setting('temp_directory')").fetchone()[0])
        assert os.path.isdir(folders[-1]), "DuckDB would make the folder itself, readable by everybody"
        assert os.stat(folders[-1]).st_mode & 0o077 == 0
        return run(connection, query)

    table = declared({"user": [1, 2], "x": [1.0, 2.0]}, number())
    monkeypatch.setattr(engine, "run", watched)
    table.validate()
    assert folders
    # The instance of frames is kept, and its folder with it.
    instances._let_go()
    assert not any(os.path.exists(folder) for folder in folders)


def test_a_user_column_may_be_named_like_the_column_of_words() -> None:
    vectors = {"word": ["cat", "dog"], "v": [[0.0, 1.0], [1.0, 0.0]]}
    space = emdp.Words("text", vectors, on_invalid="neutral")
    frame = {"item_token": ["a", "b"], "text": ["cat", "dog cat"]}
    table = read(frame, user="item_token", space=space, users=2)
    table.validate()
    assert value(table, emdp.similarity("dog")) == pytest.approx(0.25)
