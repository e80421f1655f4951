"""Declared column types: which texts are types, and that none of them is ever a part of a statement."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.expressions import col
from emdp.spaces import Interval
from emdp.tables import engine
from emdp.tables.column_types import PLAIN, parsed_type, type_in_statement
from emdp.tables.engines.duckdb import execution
from emdp.tables.table import Table, read

SPLICED = [
    "DECIMAL(18,3)); CREATE TABLE spliced AS SELECT 42; CREATE TEMP TABLE rest(x DOUBLE",
    "DECIMAL(18,3) DEFAULT 7",
    "DOUBLE, y DOUBLE",
    "DOUBLE) --",
    "VARCHAR COLLATE NOCASE",
    "ENUM('a'); CREATE TABLE spliced AS SELECT 42 --",
    "ENUM('a\\'')",
    "ENUM((SELECT list(1)))",
    "DECIMAL(18,\u0663)",
]


def declared(kind: str, source: object = "/nowhere/a.parquet") -> Table:
    return read(source, user="u", space=Interval("x", 0, 1), users=3, columns={"u": "BIGINT", "x": kind})


def test_a_plain_type_is_what_duckdb_calls_it() -> None:
    with duckdb.connect() as connection:
        for name in [*sorted(PLAIN), "DECIMAL(18,3)", "DECIMAL(38,0)", "ENUM('a', 'it''s', ')')"]:
            (described,) = connection.execute(f"DESCRIBE SELECT CAST(NULL AS {name}) AS x").fetchall()
            assert parsed_type(described[1]) == described[1]
            assert parsed_type(f" {name} ") == described[1]
    assert parsed_type("timestamp  with time\tzone") == "TIMESTAMP WITH TIME ZONE"
    assert parsed_type("enum ( 'a','it''s' )") == "ENUM('a', 'it''s')"


@pytest.mark.parametrize(
    "text", [*SPLICED, "", "C", "A\nB", "INTEGER[]", "STRUCT(a INTEGER)", "DECIMAL(39,0)", "DECIMAL(3,4)", "ENUM()"]
)
def test_other_texts_are_no_types(text: str) -> None:
    assert parsed_type(text) is None
    with pytest.raises(UsageError, match=r"columns gives 'x' a type that is none of DuckDB's plain ones") as refused:
        declared(text)
    assert "spliced" not in str(refused.value)
    with pytest.raises(UsageError, match="columns gives 'x'"):
        declared(text, "/nowhere/a.csv")


@pytest.mark.parametrize("kind", SPLICED, ids=map(str, range(len(SPLICED))))
def test_no_statement_is_made_of_a_type(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Past the check of what is declared, as a type that a source itself gives would come.
    seen: list[Any] = []
    opened = execution.kept_open

    @contextmanager
    def watched(*given: Any) -> Iterator[Any]:
        with opened(*given) as connection:
            yield connection
            seen.extend(connection.execute("SELECT table_name FROM duckdb_tables()").fetchall())

    monkeypatch.setattr(execution, "kept_open", watched)
    table = declared("DOUBLE")
    object.__setattr__(table, "schema", {"u": "BIGINT", "x": kind})
    if kind.startswith("ENUM"):
        assert type_in_statement(kind) == "ENUM('a')"
    else:
        with pytest.raises(UsageError, match="column 'x' is of a type that no statement reads"):
            engine.check_statement(table, [col("x")])
    assert ("spliced",) not in seen


def test_values_of_an_enum_stay_out_of_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    opened = execution.kept_open

    class Watched:
        def __init__(self, connection: Any) -> None:
            self.connection = connection

        def execute(self, text: str) -> Any:
            texts.append(text)
            return self.connection.execute(text)

        def from_arrow(self, table: Any) -> Any:
            return self.connection.from_arrow(table)

    @contextmanager
    def watched(*given: Any) -> Iterator[Any]:
        with opened(*given) as connection:
            yield Watched(connection)

    monkeypatch.setattr(execution, "kept_open", watched)
    frame = pl.DataFrame({"u": ["secret-ann"], "kind": ["bar"]}, schema={"u": pl.Categorical, "kind": pl.Categorical})
    table = read(frame, user="u", space=emdp.Categories("kind", ["bar", "park"]), users=1)
    engine.check_statement(table, [emdp.category_is("bar")])
    assert texts
    assert not any("secret-ann" in text for text in texts)


def test_types_in_other_letters_are_those_of_the_file(tmp_path: Any) -> None:
    pl.DataFrame({"u": [1], "x": [0.5]}).cast({"x": pl.Decimal(18, 3)}).write_parquet(tmp_path / "t.parquet")
    declared("decimal(18, 3)", tmp_path / "t.parquet").validate()
