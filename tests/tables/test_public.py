"""What is public beside a private table: users with columns, tables to join, and the types of a CSV file."""

import hashlib
import json
import math
import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, EmdpError, InternalError, UsageError
from emdp.questions.names import Names
from emdp.tables import Table, UserList, mean_of_user_means, read, read_public
from emdp.tables.engines.duckdb.engine import DuckDBEngine
from emdp.tables.public import is_same_source, typed_columns

FRAME = pl.DataFrame({"user": [1, 1, 2, 3], "x": [0.5, 1.5, 4.0, 2.0]})
SPACE = emdp.Interval("x", 0, 5)
USERS = pl.DataFrame({"city": ["Rome", None, "Bonn"], "user": [3, 1, 2], "age": [30, 41, None]})


def declared(users: object, source: object = FRAME) -> Table:
    return read(source, user="user", space=SPACE, users=users, name="visits")


def test_further_columns_of_the_users_are_kept_in_their_types_with_the_key_as_text_first(tmp_path: Path) -> None:
    USERS.write_parquet(tmp_path / "users.parquet")
    USERS.write_csv(tmp_path / "users.csv")
    with duckdb.connect(str(tmp_path / "city.duckdb")) as connection:
        connection.register("frame", USERS.to_arrow())
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    sources = [
        USERS, USERS.lazy(), USERS.to_arrow(), USERS.to_dict(as_series=False),
        tmp_path / "users.parquet", tmp_path / "users.csv", f"{tmp_path}/city.duckdb::people",
    ]  # fmt: skip
    for source in sources:
        users = declared(source).users
        assert users.count == 3
        assert users.frame is not None
        assert users.frame.schema == {"user": pl.String, "city": pl.String, "age": pl.Int64}, source
        assert users.frame.sort("user").rows() == [("1", None, 41), ("2", "Bonn", None), ("3", "Rome", 30)]
        assert users.keys is not None
        assert users.keys.to_list() == users.frame.get_column("user").to_list()


def test_a_list_without_further_columns_has_no_frame() -> None:
    for users in ([1, 2, 3], FRAME.get_column("user").unique(), pl.DataFrame({"who": [1, 2, 3]}), 3, {1, 2, 3}):
        assert declared(users).users.frame is None


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ({"user": [1, 1], "city": ["a", "b"]}, "twice"),
        ({"user": [1, None], "city": ["a", "b"]}, "empty key"),
        ({"user": [1.0, 2.0], "city": ["a", "b"]}, "keys of type Float64"),
        ({"who": [1, 2], "city": ["a", "b"]}, "no column 'user'"),
        ({"user": [], "city": []}, "empty"),
        (pl.DataFrame({"user": [1, 2], "city": [object(), object()]}), "'city' of Python objects"),
    ],
)
def test_the_rules_of_keys_hold_with_further_columns_too(users: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        declared(users)


def test_keys_of_a_csv_file_stay_text_whatever_else_is_converted(tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text("user,zone,code\n007,1,007\n7,2,12\n1e1,,3\n")
    frame = declared(tmp_path / "users.csv").users.frame
    assert frame is not None
    assert frame.sort("zone").rows() == [("1e1", None, "3"), ("007", 1, "007"), ("7", 2, "12")]
    for keys in ("1.5 2.50", "true FALSE", "007 008"):
        first, second = keys.split()
        (tmp_path / "keys.csv").write_text(f"key\n{first}\n{second}\n")
        (tmp_path / "users.csv").write_text(f"user,zone\n{first},1\n{second},2\n")
        for name in ("keys.csv", "users.csv"):
            found = declared(tmp_path / name).users.keys
            assert found is not None
            assert set(found) == {first, second}


def old_digest(users: UserList) -> str:
    keys = [] if users.keys is None else users.keys.sort().to_list()
    return hashlib.sha256(json.dumps([users.count, keys]).encode()).hexdigest()


def test_the_digest_is_what_it_was_without_columns_and_depends_on_them_otherwise() -> None:
    for users in (7, [3, 1, 2], pl.DataFrame({"who": [1, 2, 3]})):
        assert declared(users).users.digest() == old_digest(declared(users).users)
    # Ledgers remember it, so it may not change.
    assert declared([9, 10]).users.digest() == "69a00ad8fc9ed7da5b1567a7d84ae62facb710f833d2fef7cbda8f486d3b4b4f"
    first = declared(USERS).users.digest()
    assert first == declared(USERS.reverse()).users.digest()
    changes: list[Any] = [
        USERS.drop("age", "city"),
        USERS.drop("age"),
        USERS.rename({"age": "years"}),
        USERS.with_columns(pl.col("age").cast(pl.Int32)),
        USERS.with_columns(pl.col("age").cast(pl.String)),
        USERS.with_columns(city=pl.Series(["Rome", "Bonn", None])),
        USERS.with_columns(city=pl.Series(["Rome", "", "Bonn"])),
        USERS.with_columns(user=pl.Series([3, 2, 1])),
    ]
    assert len({first, *(declared(other).users.digest() for other in changes)}) == 1 + len(changes)


def test_the_digest_sees_what_pythons_own_values_would_lose() -> None:
    stamps = [pl.Series([second], dtype=pl.Int64).cast(pl.Datetime("ns")) for second in (10**18, 10**18 + 1)]
    categories = [pl.Series([name], dtype=pl.Categorical) for name in ("Rome", "Bonn")]
    numbers = [pl.Series([Decimal("1.5")], dtype=pl.Decimal(10, scale)) for scale in (1, 2)]
    for pair in (stamps, categories, numbers, [pl.Series([0.1]), pl.Series([math.nextafter(0.1, 1)])]):
        digests = {declared(pl.DataFrame({"user": [1], "own": own})).users.digest() for own in pair}
        assert len(digests) == 2, pair[0].dtype


def test_a_list_that_disagrees_with_its_columns_is_a_bug() -> None:
    with pytest.raises(InternalError):
        UserList(1, pl.Series(["1"]), pl.DataFrame({"user": ["2"], "city": ["Rome"]}))


def test_public_columns_change_no_answer() -> None:
    plain, wide = declared([1, 2, 3, 4]), declared({"user": [4, 3, 2, 1], "x": [9, 9, 9, 9], "city": list("abcd")})
    for table in (plain, wide):
        table.validate()
    expressions = [emdp.col("x")]
    assert mean_of_user_means(plain, expressions).open() == mean_of_user_means(wide, expressions).open()


def test_names_hold_all_that_is_public() -> None:
    table = declared(USERS)
    names = table.names({"stations": {"stop": ["A"], "zone": [1]}})
    assert isinstance(names, Names)
    assert (names.table, names.user, names.space, names.users) == ("visits", "user", SPACE, 3)
    assert dict(names.columns) == {"user": "BIGINT", "x": "DOUBLE"}
    assert names.user_columns == ("city", "age")
    assert names.user_frame is table.users.frame
    assert {name: frame.rows() for name, frame in names.public.items()} == {"stations": [("A", 1)]}
    assert declared(3).names().user_frame is None
    assert declared(3).names().user_columns == ()
    alone = declared([2, 1]).names().user_frame
    assert alone is not None
    assert alone.to_dict(as_series=False) == {"user": ["2", "1"]}


@pytest.mark.parametrize("name", ["", "visits", "VISITS", 3])
def test_names_that_are_taken(name: Any) -> None:
    with pytest.raises(UsageError, match="no name or taken"):
        declared(3).names({name: {"a": [1]}})


def test_two_public_tables_differ_in_more_than_capitals() -> None:
    with pytest.raises(UsageError, match="'Stops', which is no name or taken"):
        declared(3).names({"stops": {"a": [1]}, "Stops": {"a": [1]}})
    with pytest.raises(UsageError, match="public must map names"):
        declared(3).names([{"a": [1]}])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("absent.csv", UsageError, "public table 'p': source .* names no file"),
        ("https://example.org/a.csv", UsageError, "public table 'p': .*remote address"),
        ("damaged.parquet", DataRuleError, "public table 'p': .*cannot be read"),
        (3, UsageError, "public table 'p': source must be a frame"),
        (pl.DataFrame({"a": [object()]}), UsageError, "public table 'p' has a column 'a' of Python objects"),
    ],
)
def test_public_tables_that_cannot_be_read(
    source: object, kind: type[EmdpError], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(kind, match=message):
        read_public("p", source)


def test_every_kind_of_public_table(tmp_path: Path) -> None:
    frame = pl.DataFrame({"stop": ["A", "B", "C"], "zone": [1, None, 3], "lat": [40.5, 41.25, None]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    with duckdb.connect(str(tmp_path / "city.duckdb")) as connection:
        connection.register("frame", frame.to_arrow())
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")
    for source in (
        frame,
        tmp_path / "t.parquet",
        tmp_path / "t.csv",
        str(tmp_path / "t.tsv"),
        f"{tmp_path}/city.duckdb::t",
    ):
        found = read_public("t", source)
        assert found.schema == frame.schema, source
        assert found.sort("stop").equals(frame)


def test_text_of_a_parquet_file_or_a_frame_stays_text(tmp_path: Path) -> None:
    frame = pl.DataFrame({"code": ["1", "2"], "empty": ["", "a"]})
    frame.write_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        assert sorted(read_public("t", source).rows()) == [("1", ""), ("2", "a")]


def test_times_of_a_public_table_are_in_utc_whatever_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pl.DataFrame({"ts": [datetime(2024, 1, 1, tzinfo=UTC)]}).write_parquet(tmp_path / "t.parquet")
    assert read_public("t", tmp_path / "t.parquet").schema == {"ts": pl.Datetime("us", "UTC")}
    real = DuckDBEngine.fetch_public
    moved = lambda engine, source: real(engine, source).with_columns(pl.col("ts").dt.convert_time_zone("Asia/Tokyo"))  # noqa: E731
    monkeypatch.setattr(DuckDBEngine, "fetch_public", moved)
    assert read_public("t", tmp_path / "t.parquet").schema == {"ts": pl.Datetime("us", "UTC")}


TYPED: dict[str, tuple[list[str | None], pl.DataType | type[pl.DataType], list[Any]]] = {
    "whole": (["1", "-20", "0", ""], pl.Int64, [1, -20, 0, None]),
    "largest": (["9223372036854775807", "-9223372036854775808"], pl.Int64, [2**63 - 1, -(2**63)]),
    "leading zero": (["007", "12"], pl.String, ["007", "12"]),
    "leading zeros of a fraction": (["00.5", "1"], pl.String, ["00.5", "1"]),
    "negative zero": (["-0", "1"], pl.Float64, [0.0, 1.0]),
    "plus": (["+49", "1"], pl.String, ["+49", "1"]),
    "too long": (["12345678901234567890", "1"], pl.String, ["12345678901234567890", "1"]),
    "real": (["1.5", "-.25", "3", "1e-3", "2.", None], pl.Float64, [1.5, -0.25, 3.0, 0.001, 2.0, None]),
    "printed double": (["40.71277600000001", "0.1"], pl.Float64, [40.71277600000001, 0.1]),
    "long fraction": (["0.12345678901234567890", "0.1"], pl.String, ["0.12345678901234567890", "0.1"]),
    "beyond doubles": (["9007199254740993.0", "0.5"], pl.String, ["9007199254740993.0", "0.5"]),
    "infinite": (["1e400", "1"], pl.String, ["1e400", "1"]),
    "vanishing": (["1e-400", "1"], pl.String, ["1e-400", "1"]),
    "absurd": (["1e99999999999999999999", "1"], pl.String, ["1e99999999999999999999", "1"]),
    "not a number": (["nan", "1.5"], pl.String, ["nan", "1.5"]),
    "infinity": (["inf", "1.5"], pl.String, ["inf", "1.5"]),
    "truth": (["true", "False", "", "TRUE"], pl.Boolean, [True, False, None, True]),
    "half a truth": (["true", "1"], pl.String, ["true", "1"]),
    "words": (["yes", "no"], pl.String, ["yes", "no"]),
    "space": ([" 1", "2"], pl.String, [" 1", "2"]),
    "separator": (["1_000", "2"], pl.String, ["1_000", "2"]),
    "other digits": (["١", "2"], pl.String, ["١", "2"]),
    "line end": (["1\n", "2"], pl.String, ["1\n", "2"]),
    "hexadecimal": (["0x10", "2"], pl.String, ["0x10", "2"]),
    "nothing": (["", None], pl.String, [None, None]),
    "mixed": (["1", "two"], pl.String, ["1", "two"]),
}


@pytest.mark.parametrize("name", TYPED)
def test_a_csv_column_becomes_what_all_its_values_are_without_loss(name: str) -> None:
    texts, kind, values = TYPED[name]
    found = typed_columns(pl.DataFrame({"own": texts}, schema={"own": pl.String}))
    assert found.schema == {"own": kind}
    assert found.get_column("own").to_list() == values


def test_types_come_from_a_file_as_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('stop,zone,open,code\nA,1,true,"007"\nB,,false,\nC,"",,"8"\n')
    found = read_public("t", tmp_path / "t.csv").sort("stop")
    assert found.rows() == [("A", 1, True, "007"), ("B", None, False, None), ("C", None, None, "8")]


def test_the_private_table_is_no_public_one(tmp_path: Path) -> None:
    folder = tmp_path / "visits"
    folder.mkdir()
    FRAME.write_parquet(folder / "a.parquet")
    FRAME.write_parquet(folder / "b.parquet")
    FRAME.write_csv(tmp_path / "t.csv")
    FRAME.write_parquet(tmp_path / "other.parquet")
    (tmp_path / "link.parquet").symlink_to(folder / "a.parquet")
    os.link(folder / "b.parquet", tmp_path / "hard.parquet")
    with duckdb.connect(str(tmp_path / "city.duckdb")) as connection:
        connection.register("frame", FRAME.to_arrow())
        connection.execute("CREATE TABLE visits AS SELECT * FROM frame; CREATE TABLE people AS SELECT * FROM frame")
    same = {
        folder: [
            folder, f"{folder}/*.parquet", folder / "a.parquet", tmp_path / "link.parquet", tmp_path / "hard.parquet",
        ],
        tmp_path / "t.csv": [tmp_path / "t.csv", f"{folder}/../t.csv"],
        f"{tmp_path}/city.duckdb::visits": [f"{tmp_path}/city.duckdb::VISITS", f"{tmp_path}/city.duckdb::main.visits"],
    }  # fmt: skip
    for source, others in same.items():
        table = read(source, user="user", space=SPACE, users=3, name="private")
        for other in others:
            with pytest.raises(UsageError, match="public table 'p' is the private table"):
                table.names({"p": other})
            with pytest.raises(UsageError, match="read off the private table"):
                read(source, user="user", space=SPACE, users=other)
        different = tmp_path / "other.parquet" if "duckdb" not in str(source) else f"{tmp_path}/city.duckdb::people"
        assert table.names({"p": different}).public["p"].height == 4
    assert not is_same_source(folder / "a.parquet", folder / "b.parquet")
    assert is_same_source("/nowhere/t.parquet", "/nowhere/x/../t.parquet")
    assert not is_same_source("/nowhere/t.parquet", "t.xlsx")
    assert not is_same_source(FRAME, FRAME)
