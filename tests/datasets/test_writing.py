"""Layouts of a written table, and that nothing half-done ever stands under its name."""

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from emdp.base.errors import UsageError
from emdp.resources import load_dataset_module

writing = load_dataset_module("writing")

SCHEMA = pa.schema([("x", pa.int64()), ("s", pa.string())])


def table(*numbers):
    return pa.table({"x": pa.array(numbers, pa.int64()), "s": pa.array(["a"] * len(numbers))}, schema=SCHEMA)


def write(path, chunks):
    with writing.table_writer(writing.check_out("out", path), SCHEMA, dictionary=("s",)) as append:
        for chunk in chunks:
            append(chunk)


def test_a_parquet_file_has_a_row_group_a_chunk(tmp_path):
    write(tmp_path / "t.parquet", [table(1, 2, 3), table(4)])
    file = pq.ParquetFile(tmp_path / "t.parquet")
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [3, 1]
    assert file.read()["x"].to_pylist() == [1, 2, 3, 4]
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_csv_file(tmp_path):
    write(tmp_path / "t.csv", [table(1, 2), table(3)])
    assert pa_csv.read_csv(tmp_path / "t.csv")["x"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_has_a_part_a_chunk_and_older_parts_go(tmp_path, exists):
    folder = tmp_path / "t"
    if exists:
        write(folder, [table(9), table(9), table(9)])
    write(folder, [table(1, 2), table(3)])
    assert sorted(path.name for path in folder.iterdir()) == ["part-0000.parquet", "part-0001.parquet"]
    assert pq.read_table(folder)["x"].to_pylist() == [1, 2, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("before", [False, True])
def test_a_write_that_ends_early_leaves_what_was_there(tmp_path, name, error, before):
    if before:
        write(tmp_path / name, [table(7)])
    listing = sorted(tmp_path.rglob("*"))
    path = tmp_path / name

    def chunks():
        yield table(1)
        assert sorted(tmp_path.rglob("*")) != listing
        raise error

    with pytest.raises(error):
        write(path, chunks())
    assert sorted(tmp_path.rglob("*")) == listing
    if before and name != "t.csv":
        assert pq.read_table(tmp_path / name)["x"].to_pylist() == [7]


@pytest.mark.parametrize(
    ("out", "options", "words"),
    [
        ("t.txt", {}, "must end in .parquet or .csv, or have no suffix"),
        ("t.csv", {"csv": False}, "must end in .parquet, or"),
        ("t", {"folder": False}, "must end in .parquet or .csv, got"),
        ("missing/t.parquet", {}, "must lie in an existing folder"),
        (".", {}, "holds other files"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused(tmp_path, out, options, words):
    (tmp_path / "notes.txt").write_text("kept")
    with pytest.raises(UsageError, match=f"^vectors.*{words}"):
        writing.check_out("vectors", tmp_path / out, **options)
    assert (tmp_path / "notes.txt").read_text() == "kept"


def test_size_counts_files_and_parts(tmp_path):
    write(tmp_path / "t", [table(1), table(2)])
    assert writing.size_of(tmp_path / "t") == sum(path.stat().st_size for path in (tmp_path / "t").iterdir())
