"""Files: tables with a log of their own are refused, and by its marks a file is known under another name."""

import os
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import emdp
from emdp.base.errors import EmdpError, UsageError
from emdp.catalog.catalog import load_catalog
from emdp.tables import Table, read, read_public
from emdp.tables.files import file_marks
from emdp.tables.source import open_source

SPACE = emdp.Interval("x", 0, 5)
FRAME = pl.DataFrame({"user": [1, 1, 2, 3], "x": [0.5, 1.5, 4.0, 2.0]})

LOGS = {
    "Delta Lake": "_delta_log/00000000000000000000.json",
    "Iceberg": "metadata/00001-8d2f.metadata.json",
    "Iceberg ": "metadata/v3.metadata.json.gz",
    "Iceberg  ": "metadata/version-hint.text",
    "Paimon": "snapshot/snapshot-1",
    "Hudi": ".hoodie/hoodie.properties",
}


def made(folder: Path, log: str) -> Path:
    table = folder / "city" / "visits"
    for part in ("week=1", "week=2"):
        (table / "data" / part).mkdir(parents=True)
        FRAME.write_parquet(table / "data" / part / "part-0.parquet")
    (table / log).parent.mkdir(parents=True)
    (table / log).write_text("{}")
    return table


def opened(source: object) -> Table:
    return read(source, user="user", space=SPACE, users=3)


@pytest.mark.quarter
@pytest.mark.parametrize("kind", LOGS)
def test_a_table_with_a_log_is_refused_wherever_its_files_are_named(tmp_path: Path, kind: str) -> None:
    table = made(tmp_path, LOGS[kind])
    (tmp_path / "link.parquet").symlink_to(table / "data/week=1/part-0.parquet")
    (tmp_path / "linked").symlink_to(table / "data")
    FRAME.write_parquet(tmp_path / "own.parquet")
    sources = [
        table, table.parent, tmp_path, table / "data", table / "data/week=1", table / "data/week=1/part-0.parquet",
        f"{table}/data/*/*.parquet", f"{table}/**/*.parquet", f"{tmp_path}/*/visits/data/week=2/part-?.parquet",
        tmp_path / "link.parquet", tmp_path / "linked", f"{tmp_path}/linked/week=*/*.parquet",
        os.path.relpath(table),
    ]  # fmt: skip
    says = f"source is of the {kind.strip()} table .*visits', whose log says .*; write a snapshot of it"
    for source in sources:
        with pytest.raises(UsageError, match=says):
            opened(source)
        with pytest.raises(EmdpError, match=says):
            read_public("visits", source)
    with pytest.raises(UsageError, match=says):
        read(FRAME, user="user", space=SPACE, users=table / "data/week=1/part-0.parquet")
    # A file beside the table is none of its own.
    assert opened(tmp_path / "own.parquet").n == 3


def test_a_checkpoint_of_a_log_is_no_unfinished_file(tmp_path: Path) -> None:
    table = made(tmp_path, LOGS["Delta Lake"])
    FRAME.write_parquet(table / "_delta_log/00000000000000000010.checkpoint.parquet")
    with pytest.raises(UsageError, match="is of the Delta Lake table"):
        opened(table)


def test_files_of_a_ducklake_are_refused_by_their_names(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "ducklake-019a.parquet")
    for source in (tmp_path, tmp_path / "ducklake-019a.parquet"):
        with pytest.raises(UsageError, match="is of the DuckLake table"):
            opened(source)


def test_a_log_that_comes_after_opening_is_seen_before_the_records_are(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "part-0.parquet")
    table = read(tmp_path, user="user", space=SPACE, users=3)
    (tmp_path / "_delta_log").mkdir()
    for asked in (table.data_version, table.validate):
        with pytest.raises(UsageError, match="is of the Delta Lake table"):
            asked()


def test_periods_of_a_catalog(tmp_path: Path) -> None:
    table = made(tmp_path, LOGS["Iceberg"])
    (tmp_path / "emdp.toml").write_text(
        f"""
        [tables.visits]
        source = "{table}/data/week={{period}}"
        user = "user"
        users = 3
        elsewhere = 1
        space = {{ kind = "interval", col = "x", low = 0, high = 5 }}
        [public.stations]
        source = "{table}/data/week=1"
        """
    )
    catalog = load_catalog(tmp_path / "emdp.toml")
    with pytest.raises(UsageError, match="is of the Iceberg table"):
        catalog.table(period="2")


def test_a_view_of_a_duckdb_file_cannot_read_one(tmp_path: Path) -> None:
    table = made(tmp_path, LOGS["Delta Lake"])
    with duckdb.connect(str(tmp_path / "city.duckdb")) as connection:
        connection.execute(f"CREATE VIEW visits AS SELECT * FROM '{table}/data/*/*.parquet'")
    with pytest.raises(UsageError, match="reads what is not in that file"):
        opened(f"{tmp_path}/city.duckdb::visits")


def test_a_frame_of_a_library_that_knows_the_log_is_a_source(tmp_path: Path) -> None:
    class Snapshot:
        """What deltalake and pyiceberg give: something with Arrow's stream interface."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table(FRAME.to_arrow()).__arrow_c_stream__(requested_schema)

    assert open_source(Snapshot()).schema() == {"user": "BIGINT", "x": "DOUBLE"}


def is_known(before: list[str], path: Path) -> bool:
    return not set(before).isdisjoint(file_marks([str(path)])[1])


def written(path: Path, text: str = "1") -> Path:
    path.write_text(text)
    return path


def test_a_file_is_known_by_its_place_whatever_becomes_of_it(tmp_path: Path) -> None:
    kept, sought = file_marks([str(written(tmp_path / "a"))])
    assert (len(kept), len(sought)) == (3, 2)
    written(tmp_path / "a", "other")
    assert is_known(kept, tmp_path / "a")
    (tmp_path / "a").unlink()
    assert is_known(kept, tmp_path / "a")


def test_links_and_new_names_are_seen_through(tmp_path: Path) -> None:
    kept, _ = file_marks([str(written(tmp_path / "a"))])
    (tmp_path / "soft").symlink_to("a")
    (tmp_path / "hard").hardlink_to(tmp_path / "a")
    for name in ("soft", "hard"):
        assert is_known(kept, tmp_path / name)
    written(tmp_path / "a", "changed in place")
    for name in ("soft", "hard"):
        assert is_known(kept, tmp_path / name)
    kept, _ = file_marks([str(written(tmp_path / "b"))])
    (tmp_path / "b").rename(tmp_path / "c")
    assert is_known(kept, tmp_path / "c")


def test_another_file_is_not_known_not_even_by_a_number_that_was_given_out_again(tmp_path: Path) -> None:
    kept, _ = file_marks([str(written(tmp_path / "a"))])
    assert not is_known(kept, written(tmp_path / "copy"))
    number = os.stat(tmp_path / "a").st_ino
    os.utime(tmp_path / "a", (1, 1))
    # As a new file in the place of a deleted one: the same number, another time.
    (tmp_path / "a").rename(tmp_path / "new")
    assert os.stat(tmp_path / "new").st_ino == number
    assert not is_known(kept, tmp_path / "new")


def test_tables_of_a_file_have_marks_of_their_own(tmp_path: Path) -> None:
    path = str(written(tmp_path / "a"))
    one, other, both = (file_marks([path], tables)[0] for tables in (["x"], ["y"], ["x", "y"]))
    assert set(one).isdisjoint(other)
    assert set(both) == {*one, *other}
