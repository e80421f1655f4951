"""CONTRIBUTING.md, "How to add an engine": a toy engine is its folder and one line of the table of engines."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

import emdp
from emdp import load_catalog
from emdp.base.errors import UsageError
from emdp.tables.engine import engine_of
from emdp.tables.public import is_same_source
from emdp.tables.registry import ENGINES, frame_opener, named_table
from emdp.testing import seeded

TOY = Path(__file__).parent / "toys" / "rows_engine.py"

LISTED = [{"who": who, "x": (7 * who + place) % 10 / 10} for who in range(20) for place in range(3)]
LINE = emdp.Interval("x", 0, 1)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The toy engine, registered by one line for the duration of a test."""
    spec = importlib.util.spec_from_file_location("rows_engine", TOY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "rows_engine", module)
    spec.loader.exec_module(module)
    monkeypatch.setitem(ENGINES, module.NAME, module.KIND)  # type: ignore[arg-type]
    return module


def answers(source: object, folder: Path) -> list[pl.DataFrame]:
    """Return answers by Python, by SQL, and by messages, with the noise of one seed."""
    table = emdp.read(source, user="who", space=LINE, users=20, name="visits")
    with seeded(3), emdp.Session(table, budget=emdp.EmdDP(50.0), ledger=folder / "spent.ledger") as session:
        return [
            session.mean(emdp.col("x"), alpha=2.0).frame,
            session.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) AVG(x) AS m FROM visits").frame,
            session.mean(emdp.col("x"), alpha=2.0, model="local").frame,
        ]


@pytest.mark.slow
def test_a_toy_engine_answers_questions(toy: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "duckdb").mkdir()
    rows = toy.Rows(LISTED)
    found = answers(rows, tmp_path / "toy")
    # The first answer is of the scan that checked the rules.
    assert len(toy.RowsEngine.asked) == 1
    for own, other in zip(found, answers(pl.DataFrame(LISTED), tmp_path / "duckdb"), strict=True):
        assert own.equals(other)
    # By name, as a catalog names it.
    toy.TABLES["visits"] = rows
    table = emdp.read("rows::visits", user="who", space=LINE, users=20)
    assert (table.name, type(table.engine)) == ("visits", toy.RowsEngine)
    assert len(table.bag(3)) == 3


def test_private_and_public_rows_of_a_toy_engine_are_told_apart(toy: ModuleType, tmp_path: Path) -> None:
    rows, copy = toy.Rows(LISTED), toy.Rows(LISTED)
    toy.TABLES.update({"visits": rows, "people": toy.Rows([{"who": who} for who in range(20)])})
    assert is_same_source(rows, "rows::visits")
    assert not is_same_source(rows, copy)
    assert not is_same_source(rows, "rows.csv")
    written = (
        'ledger = "spent.ledger"\n[tables.visits]\nsource = "rows::visits"\nuser = "who"\nusers = "rows::{}"\n'
        'space = {{ kind = "interval", col = "x", low = 0, high = 1 }}\nbudget = {{ kind = "EmdDP", alpha = 1.0 }}\n'
    )
    path = tmp_path / "emdp.toml"
    path.write_text(written.format("people"))
    assert load_catalog(path).table("visits").n == 20
    assert not any("::" in place or place.endswith("rows") for place in load_catalog(path).paths())
    path.write_text(written.format("visits"))
    with pytest.raises(UsageError, match="users"):
        load_catalog(path).table("visits")


def test_the_toy_engine_is_gone_after_its_test() -> None:
    assert "rows" not in ENGINES
    assert named_table("rows::visits") is None
    with pytest.raises(UsageError):
        emdp.read("rows::visits", user="who", space=LINE, users=20)


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_is_listed_by_the_name_that_its_sources_give(name: str) -> None:
    opener = ENGINES[name].opener
    source = emdp.read({"who": [1], "x": [0.5]}, user="who", space=LINE, users=1).source
    if opener is not None:
        source = opener.open_table("visits")
        assert opener.is_same(source, opener.open_table("visits"))
    assert source.engine == name
    assert frame_opener(source) is None
    assert type(engine_of(source)) is type(ENGINES[name].make())
