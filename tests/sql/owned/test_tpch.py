"""TPC-H's questions, the customer as the unit: 12 and 2 in stages as they stand behind a header, 3 on public tables."""

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from tpch_texts import TEXTS, made_up

import emdp
from emdp.base.errors import SqlError

ROOT = Path(__file__).resolve().parents[3]
OPTIONS = "epsilon = 100, neighbours = 'remove'"
AS_THEY_ARE = (1, 4, 5, 6, 7, 8, 9, 12, 13, 14, 19, 21)
PUBLIC_ALONE = (2, 11, 16)


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("tpch", ROOT / "benchmarks" / "tpch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tpch"] = module
    spec.loader.exec_module(module)
    return module


tpch = _loaded()


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    return made_up(1)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, tables: dict[str, pl.DataFrame]) -> Iterator[emdp.Session]:
    folder = tmp_path_factory.mktemp("tpch")
    for name in tpch.PRIVATE:
        tables[name].write_parquet(folder / f"{name}.parquet")
    table = tpch.customers(folder, tables["customer"].height / 150_000)
    public = {name: tables[name] for name in tpch.PUBLIC}
    budget = emdp.UserDP(1e9, 0.1, neighbours="remove")
    with emdp.testing.seeded(3), emdp.Session(table, budget=budget, ledger=folder / "l", public=public) as made:
        yield made


@pytest.fixture(scope="module")
def plain(tables: dict[str, pl.DataFrame]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name, frame in tables.items():
            connection.register(name, frame)
        yield connection


def headed(number: int, options: str = f"{OPTIONS}, max_records_per_user = 200") -> str:
    """Return a text with the header in place of its first SELECT, and nothing else changed."""
    text = TEXTS[number]
    assert text.startswith("SELECT ")
    return f"SELECT WITH USER_PRIVACY OPTIONS ({options}){text.removeprefix('SELECT')}"


def test_there_are_22() -> None:
    assert list(TEXTS) == list(range(1, 23))
    assert tuple(sorted(tpch.KEYS)) == AS_THEY_ARE


@pytest.mark.quarter
@pytest.mark.parametrize("number", AS_THEY_ARE)
def test_a_text_is_answered_as_it_stands(session: emdp.Session, plain: duckdb.DuckDBPyConnection, number: int) -> None:
    """Before noise the answer is DuckDB's; groups that are listed and have no rows are 0."""
    counted = f"{OPTIONS}, delta = 1e-9, max_groups_per_user = 1"
    answer = session.sql(headed(number, counted) if number == 13 else headed(number))
    keys = tpch.KEYS[number]
    exact = plain.sql(TEXTS[number]).pl()
    assert exact.height
    found = {tuple(row[key] for key in keys): row for row in answer.exact_frame.iter_rows(named=True)}
    right = {tuple(row[key] for key in keys): row for row in exact.iter_rows(named=True)}
    if number != 13:
        assert right.keys() <= found.keys()
    for key, row in found.items():
        for name in exact.columns:
            if name not in keys:
                truth = float(right[key][name] or 0) if key in right else 0.0
                assert float(row[name] or 0) == pytest.approx(truth, rel=1e-4, abs=1.0), (key, name)
    assert answer.guarantee.level == pytest.approx(100)


def test_text_22_is_answered_in_two_stages_as_it_stands(
    session: emdp.Session, plain: duckdb.DuckDBPyConnection
) -> None:
    answer = session.sql(headed(22))
    assert [part.label for part in answer.parts] == ["value", "answer"]
    assert answer.guarantee.level == pytest.approx(100)
    listed = answer.frame.get_column("cntrycode").to_list()
    exact = plain.sql(TEXTS[22]).pl()
    assert exact.height > 2
    assert listed == ["13", "17", "18", "23", "29", "30", "31"]
    assert set(exact.get_column("cntrycode")) <= set(listed)


def test_text_15_is_answered_in_two_stages_as_it_stands(session: emdp.Session) -> None:
    options = f"{OPTIONS}, delta = 1e-6, max_groups_per_user = 5, max_records_per_user = 100"
    head = f"SELECT WITH USER_PRIVACY OPTIONS ({options}) "
    answer = session.sql(" ".join(TEXTS[15].split()).replace(") SELECT ", f") {head}", 1))
    assert [part.label for part in answer.parts] == ["revenue"]
    assert answer.frame.height == 1


@pytest.mark.parametrize("number", PUBLIC_ALONE)
def test_a_text_on_public_tables_alone_costs_nothing(
    session: emdp.Session, plain: duckdb.DuckDBPyConnection, number: int
) -> None:
    answer = session.sql(headed(number, OPTIONS))
    assert answer.guarantee.level == 0
    exact = plain.sql(TEXTS[number]).pl()
    assert exact.height
    for name in exact.columns:
        assert answer.frame.get_column(name).to_list() == pytest.approx(exact.get_column(name).to_list()), name


@pytest.mark.parametrize(
    ("number", "sources", "below"), [(17, "FROM lineitem, part ", "0.2"), (20, "FROM partsupp ", "0.5")]
)
def test_the_refusal_of_a_correlated_aggregate_has_its_stages_to_paste(
    session: emdp.Session, plain: duckdb.DuckDBPyConnection, number: int, sources: str, below: str
) -> None:
    options = "epsilon = 1, neighbours = 'remove', max_records_per_user = 200"
    text = " ".join(headed(number, options).split())
    with pytest.raises(SqlError) as refused:
        session.preview(text)
    assert refused.value.code == "correlated-answer"
    found = re.fullmatch(
        r"write (WITH [ab] AS \(.*\)) before, (JOIN a ON .*) behind FROM, and a\.v in place of the sub-query",
        refused.value.remedy,
    )
    assert found is not None
    begun = text.index(f"(SELECT {below}")
    ended, depth = begun, 0
    for ended in range(begun, len(text)):
        depth += {"(": 1, ")": -1}.get(text[ended], 0)
        if depth == 0:
            break
    pasted = text[:begun].replace(sources, f"{sources}{found[2]} ", 1) + "a.v" + text[ended + 1 :]
    answer = session.sql(f"{found[1]} {pasted}")
    assert answer.guarantee.level == pytest.approx(1)
    assert answer.parts[0].label == "a"
    # As many groups as the table has rows, not as many as there are pairs of their keys.
    pairs = plain.sql(
        "SELECT DISTINCT ps_partkey, ps_suppkey FROM partsupp, part WHERE p_partkey = ps_partkey "
        "AND p_name LIKE 'forest%'"
    ).fetchall()
    assert number == 17 or answer.stages["a"].height == len(pairs)
    # Without noise it is the text's own answer.
    header = re.compile(r" WITH USER_PRIVACY OPTIONS \(.*?\)")
    own = plain.sql(header.sub("", f"{found[1]} {pasted}")).pl()
    assert own.rows() == plain.sql(TEXTS[number]).pl().rows()


@pytest.mark.parametrize("number", [3, 10, 17, 18, 20])
def test_a_text_that_names_customers_or_orders_is_refused_with_a_remedy(session: emdp.Session, number: int) -> None:
    text = TEXTS[number].replace(
        "SELECT ", f"SELECT WITH USER_PRIVACY OPTIONS ({OPTIONS}, max_records_per_user = 9) ", 1
    )
    with pytest.raises(SqlError) as refused:
        session.sql(text)
    assert refused.value.remedy
