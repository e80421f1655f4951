"""Where rows may come from, and what is refused before a record is read."""

import gzip
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import emdp
from emdp.base.errors import DataRuleError, UsageError
from emdp.sessions.records import TableRecords
from emdp.tables import Table, mean_of_user_means, read
from emdp.tables.engines.duckdb.execution import opened
from emdp.tables.source import open_source

FRAME = pl.DataFrame({"user": [1, 1, 2, 3], "x": [0.5, 1.5, 4.0, 2.0], "text": ["a", "b", None, "d"]})
SPACE = emdp.Interval("x", 0, 5)


def value(source: object) -> float:
    table = read(source, user="user", space=SPACE, users=3)
    table.validate()
    return float(mean_of_user_means(table, [emdp.col("x")]).open()[0])


@pytest.mark.slow
def test_every_kind_of_source_gives_the_same(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "one.parquet")
    FRAME.write_csv(tmp_path / "one.csv")
    FRAME.write_csv(tmp_path / "one.tsv", separator="\t")
    (tmp_path / "one.csv.gz").write_bytes(gzip.compress((tmp_path / "one.csv").read_bytes()))
    many = tmp_path / "many"
    many.mkdir()
    FRAME[:2].write_parquet(many / "a.parquet")
    FRAME[2:].write_parquet(many / "b.parquet")
    with duckdb.connect(str(tmp_path / "city.duckdb")) as connection:
        connection.register("frame", FRAME.to_arrow())
        connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
        connection.execute('CREATE SCHEMA s; CREATE VIEW s."odd view" AS SELECT * FROM visits')
    sources = [
        tmp_path / "one.parquet", str(tmp_path / "one.csv"), tmp_path / "one.tsv", tmp_path / "one.csv.gz",
        many, f"{many}/*.parquet", f"{tmp_path}/city.duckdb::visits", f"{tmp_path}/city.duckdb::s.odd view",
        FRAME, FRAME.lazy(), FRAME.to_arrow(), FRAME.to_pandas(), FRAME.to_dict(as_series=False),
        pa.RecordBatchReader.from_batches(FRAME.to_arrow().schema, FRAME.to_arrow().to_batches()),
    ]  # fmt: skip
    for source in sources:
        assert value(source) == pytest.approx(7 / 3, abs=1e-12), source


def test_default_names(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "visits.2026.parquet")
    assert open_source(tmp_path / "visits.2026.parquet").default_name == "visits"
    assert open_source(f"{tmp_path}/*.parquet").default_name == tmp_path.name
    assert open_source(FRAME).default_name == "data"
    (tmp_path / "week=2026-W47").mkdir()
    for below in ("*/*.parquet", "**/*.parquet", "week=*/part-?.parquet", "week=2026-W47/*.parquet", "week=2026-W47/"):
        assert open_source(f"{tmp_path}/{below}").default_name == tmp_path.name


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("s3://bucket/visits.parquet", "remote address"),
        ("https://example.org/visits.parquet", "remote address"),
        ("absent.parquet", "names no file"),
        ("visits.xlsx", "no known kind"),
        ("city.duckdb::", "name both"),
        ("absent.duckdb::visits", "does not exist"),
        (3, "must be a frame"),
    ],
)
def test_refused_sources(source: object, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        read(source, user="user", space=SPACE, users=3)


@pytest.mark.parametrize("source", ["s3://ann:s3cret@bucket/v.csv", "postgresql:ann:s3cret@h", "a:s3cret@b.xlsx"])
def test_a_password_in_a_source_is_not_shown(source: str) -> None:
    with pytest.raises(UsageError, match="source") as caught:
        open_source(source)
    assert "s3cret" not in str(caught.value)


def test_missing_column_and_wrong_types() -> None:
    with pytest.raises(UsageError, match="no column 'who'; name one of 'user', 'x', 'text'"):
        read(FRAME, user="who", space=SPACE, users=3)
    with pytest.raises(UsageError, match="'text' is VARCHAR, but a space of kind 'interval' needs numbers"):
        read(FRAME, user="user", space=emdp.Interval("text", 0, 1), users=3)
    with pytest.raises(UsageError, match="'x' is DOUBLE, but a space of kind 'categories' needs text"):
        read(FRAME, user="user", space=emdp.Categories("x", ["a"]), users=3)
    with pytest.raises(UsageError, match="user column 'x' is DOUBLE"):
        read(FRAME, user="x", space=emdp.Interval("x", 0, 1), users=3)


@pytest.mark.parametrize(
    ("users", "message"),
    [
        (0, "at least 1"), (2.5, "whole number"), (True, "not a bool"), ([1, 1], "twice"), ([1, None], "empty key"),
        ([], "empty"), (pl.DataFrame({"a": [1], "b": [2]}), "no column 'user'"), ([1.5], "type float"),
        ([1, "a"], "type str"),
    ],
)  # fmt: skip
def test_refused_users(users: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(FRAME, user="user", space=SPACE, users=users)


def test_users_in_other_shapes() -> None:
    series = FRAME.get_column("user").unique()
    for users in (series, series.to_numpy(), series.to_pandas(), {1, 2, 3}, frozenset("123")):
        assert read(FRAME, user="user", space=SPACE, users=users).n == 3
    for users in ("many", "1e3"):
        with pytest.raises(UsageError, match="users must be a number, a list of keys"):
            read(FRAME, user="user", space=SPACE, users=users)


def test_a_csv_without_a_header_shows_no_record(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("alice,berlin\nbob,rome\n")
    with pytest.raises(UsageError, match="header row") as caught:
        read(tmp_path / "t.csv", user="user", space=SPACE, users=3)
    assert "alice" not in str(caught.value)


def test_users_from_files_and_frames(tmp_path: Path) -> None:
    pl.DataFrame({"user": [1, 2, 3, 4]}).write_parquet(tmp_path / "users.parquet")
    pl.DataFrame({"key": [1, 2, 3, 4]}).write_csv(tmp_path / "users.csv")
    for users in (tmp_path / "users.parquet", tmp_path / "users.csv", pl.DataFrame({"user": [4, 3, 2, 1]})):
        table = read(FRAME, user="user", space=SPACE, users=users)
        assert table.n == 4
        assert float(mean_of_user_means(table, [emdp.col("x")]).open()[0]) == pytest.approx((7 + 2.5) / 4)


def breaks(table: Table) -> str:
    with pytest.raises(DataRuleError) as caught:
        table.validate()
    assert caught.value.exit_status == 4
    return str(caught.value)


def test_validate_names_each_broken_rule_and_no_value() -> None:
    secret = FRAME.with_columns(x=pl.Series([0.5, 987.654, 4.0, 2.0]))
    assert "outside the space's domain" in (message := breaks(read(secret, user="user", space=SPACE, users=3)))
    assert "987" not in message
    assert "declared users" in breaks(read(FRAME, user="user", space=SPACE, users=2))
    assert "declared users" in breaks(read(FRAME, user="user", space=SPACE, users=[1, 2]))
    assert "without a user" in breaks(
        read(FRAME.with_columns(user=pl.Series([1, None, 2, 3])), user="user", space=SPACE, users=3)
    )
    assert "number of records" in breaks(read(FRAME, user="user", space=SPACE, users=3, records=1))
    assert "number of records" in breaks(read(FRAME[1:], user="user", space=SPACE, users=4, records=1))
    read(FRAME[1:], user="user", space=SPACE, users=3, records=1).validate()
    read(secret, user="user", space=emdp.Interval("x", 0, 5, on_invalid="clamp"), users=3).validate()


def test_validate_sees_nulls_and_nans_in_every_kind_of_space() -> None:
    frame = FRAME.with_columns(x=pl.Series([0.5, None, 4.0, 2.0]))
    assert "domain" in breaks(read(frame, user="user", space=SPACE, users=3))
    frame = FRAME.with_columns(x=pl.Series([0.5, float("nan"), 4.0, 2.0]))
    assert "domain" in breaks(read(frame, user="user", space=SPACE, users=3))
    assert "domain" in breaks(read(FRAME, user="user", space=emdp.Categories("text", ["a", "b", "d"]), users=3))


def test_text_that_is_no_number_is_invalid_in_a_csv(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,x\n1,0.5\n1,oops\n2,3\n")
    assert "domain" in breaks(read(tmp_path / "t.csv", user="user", space=SPACE, users=2))
    table = read(tmp_path / "t.csv", user="user", space=emdp.Interval("x", 0, 5, on_invalid="neutral"), users=2)
    assert float(mean_of_user_means(table, [emdp.col("x")]).open()[0]) == pytest.approx((1.5 + 3) / 2)


def test_damaged_and_mismatched_files_are_data_errors(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 this is not Parquet")
    with pytest.raises(DataRuleError, match="cannot be read"):
        read(tmp_path / "bad.parquet", user="user", space=SPACE, users=3)
    many = tmp_path / "many"
    many.mkdir()
    FRAME.write_parquet(many / "a.parquet")
    FRAME.rename({"x": "y"}).write_parquet(many / "b.parquet")
    assert "same columns" in breaks(read(many, user="user", space=SPACE, users=3))


def test_data_version_follows_the_files_and_needs_no_record(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet", user="user", space=SPACE, users=3)
    before = table.data_version()
    assert table.data_version() == before
    FRAME[1:].write_parquet(tmp_path / "t.parquet")
    assert table.data_version() != before


def test_a_declared_version_takes_the_fingerprints_place(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", FRAME):
        table = read(source, user="user", space=SPACE, users=3, version="2026-11-20")
        assert table.data_version() == "declared:2026-11-20"
        FRAME[1:].write_parquet(tmp_path / "t.parquet")
        assert table.data_version() == "declared:2026-11-20"
    assert read(FRAME, user="user", space=SPACE, users=3).data_version().startswith("frame:")


@pytest.mark.parametrize("version", ["", "a\nb", 20261120, "x" * 201])
def test_versions_that_are_none(version: str) -> None:
    with pytest.raises(UsageError, match="version must be a printable text of at most 200"):
        read(FRAME, user="user", space=SPACE, users=3, version=version)


def test_the_rules_are_validated_once_for_a_declared_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    validated = []
    monkeypatch.setattr(TableRecords, "check_rules", lambda records: validated.append(records.table.version))
    for version in ("one", "one", "two", None, None):
        table = read(FRAME, user="user", space=SPACE, users=3, version=version)
        with emdp.Session(table, budget=emdp.EmdDP(10), ledger=tmp_path / "x.ledger") as session:
            session.mean(emdp.col("x"), alpha=1)
            session.mean(emdp.col("x"), alpha=1)
    assert validated == ["one", "two", None, None]


def partitioned(folder: Path) -> Path:
    """Write a table as DuckDB does, by week and day: the values of both stand in the folders' names alone."""
    visits = FRAME.with_columns(week=pl.Series(["2026-W46", "2026-W46", "2026-W47", "2026-W47"]), day=1)
    with duckdb.connect() as connection:
        connection.register("visits", visits.to_arrow())
        connection.execute(f"COPY visits TO '{folder}/visits' (FORMAT parquet, PARTITION_BY (week, day))")
    return folder / "visits"


def test_partitioned_folders(tmp_path: Path) -> None:
    folder = partitioned(tmp_path)
    assert (folder / "week=2026-W47/day=1/data_0.parquet").is_file()
    for whole in (folder, f"{folder}/*/*/*.parquet", f"{folder}/**/*.parquet"):
        assert value(whole) == pytest.approx(7 / 3)
        assert list(read(whole, user="user", space=SPACE, users=3).schema) == ["user", "x", "text"]
    for one in (folder / "week=2026-W47", f"{folder}/week=2026-W47/*/*.parquet"):
        # Users 2 (4.0) and 3 (2.0), and one without records (2.5).
        assert value(one) == pytest.approx(8.5 / 3)


def test_columns_of_folder_names_are_refused_with_the_remedy(tmp_path: Path) -> None:
    folder = partitioned(tmp_path)
    for name in ("week", "day"):
        with pytest.raises(UsageError, match=f"no column '{name}'; it stands in the names of folders alone; write it"):
            read(folder, user="user", space=emdp.Categories(name, ["2026-W46", "2026-W47"]), users=3)
    with pytest.raises(UsageError, match="no column 'month'; name one of 'user', 'x', 'text'"):
        read(folder, user="user", space=emdp.Interval("month", 1, 12), users=3)
    (tmp_path / "texts/who=a").mkdir(parents=True)
    FRAME.write_csv(tmp_path / "texts/who=a/t.csv")
    with pytest.raises(UsageError, match="no column 'who'; it stands in the names of folders alone"):
        read(f"{tmp_path}/texts/*/*.csv", user="who", space=SPACE, users=3)
    with pytest.raises(UsageError, match="no column 'week'; name one"):
        read("/nowhere/week=1/*.parquet", user="week", space=SPACE, users=3, columns={"user": "BIGINT", "x": "DOUBLE"})


@pytest.mark.parametrize("kind", ["DOUBLE", "DECIMAL(18,3)", "BIGINT", "DATE", "ENUM('1.5')"])
def test_declared_types_that_no_csv_file_has_are_refused_at_once(tmp_path: Path, kind: str) -> None:
    FRAME.write_csv(tmp_path / "t.csv")
    columns = {"user": "VARCHAR", "x": "VARCHAR"}
    with pytest.raises(UsageError, match=r"columns gives 'x' the type .* CSV file is text; write VARCHAR"):
        read(tmp_path / "t.csv", user="user", space=SPACE, users=3, columns=columns | {"x": kind})
    with pytest.raises(UsageError, match=r"no column 'user'; columns leaves it out"):
        read(tmp_path / "t.csv", user="user", space=SPACE, users=3, columns={"x": "VARCHAR"})
    declared = read(tmp_path / "t.csv", user="user", space=SPACE, users=3, columns=columns)
    declared.validate()
    assert float(mean_of_user_means(declared, [emdp.col("x")]).open()[0]) == pytest.approx(7 / 3)


def test_a_column_of_the_files_wins_over_the_folders_name(tmp_path: Path) -> None:
    (tmp_path / "t/x=5").mkdir(parents=True)
    FRAME.write_parquet(tmp_path / "t/x=5/a.parquet")
    for source in (tmp_path / "t", f"{tmp_path}/t/*/*.parquet"):
        assert value(source) == pytest.approx(7 / 3)


@pytest.mark.parametrize("name", ["_temporary/0/part-0.parquet", "week=1/.part-0.parquet", "._a.parquet"])
def test_a_folder_with_unfinished_files_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "_kept" / "visits"
    (folder / "week=1").mkdir(parents=True)
    FRAME.write_parquet(folder / "week=1/a.parquet")
    (folder / "_SUCCESS").write_bytes(b"")
    assert value(folder) == pytest.approx(7 / 3)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    FRAME.write_parquet(folder / name)
    with pytest.raises(UsageError, match="begins with _ or a dot"):
        read(folder, user="user", space=SPACE, users=3)
    assert value(f"{folder}/week=1/a*.parquet") == pytest.approx(7 / 3)


def test_declared_columns_open_nothing() -> None:
    columns = {"user": "BIGINT", "x": "DOUBLE"}
    table = read("/nowhere/t.parquet", user="user", space=SPACE, users=3, columns=columns)
    assert table.schema == columns


def test_a_statement_reaches_nothing_but_the_declared_files(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "mine.parquet")
    FRAME.write_parquet(tmp_path / "other.parquet")
    local = FRAME  # noqa: F841  # a name that a replacement scan would find
    with opened(open_source(tmp_path / "mine.parquet"), {}, None) as connection:
        assert connection.execute("SELECT count(*) FROM source_rows").fetchall() == [(4,)]
        for forbidden in (
            f"SELECT * FROM read_parquet('{tmp_path}/other.parquet')",
            f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
            f"ATTACH '{tmp_path}/new.duckdb'",
            "SET enable_external_access = true",
            "SET threads = 1",
            "SELECT * FROM local",
            "INSTALL httpfs",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(forbidden)


def test_a_file_that_is_no_duckdb_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "broken.duckdb"
    path.write_bytes(b"not a database at all, but there")
    with pytest.raises(DataRuleError, match="cannot be opened"):
        read(f"{path}::visits", user="user", space=SPACE, users=3)
    with duckdb.connect(str(tmp_path / "fine.duckdb")) as connection:
        connection.execute("CREATE TABLE other AS SELECT 1 AS x")
    with pytest.raises(UsageError, match="has no table 'visits'"):
        read(f"{tmp_path}/fine.duckdb::visits", user="user", space=SPACE, users=3)


def test_the_private_table_is_no_list_of_users(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    (tmp_path / "link.parquet").symlink_to(tmp_path / "t.parquet")
    for users in (tmp_path / "t.parquet", str(tmp_path / "link.parquet")):
        with pytest.raises(UsageError, match="read off the private table"):
            read(tmp_path / "t.parquet", user="user", space=SPACE, users=users)
