"""The catalog: what it may say, that paths are its own folder's, and that every mistake is named."""

from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.errors import UsageError

GOOD = """
ledger = "city.ledger"
[tables.visits]
source = "data/visits.parquet"
user = "user_id"
users = "data/users.csv"
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = { alpha = 60.0, delta = 1e-8 }
"""


def catalog(folder: Path, text: str = GOOD) -> emdp.Catalog:
    (folder / "emdp.toml").write_text(text)
    return emdp.load_catalog(folder / "emdp.toml")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    pl.DataFrame({"user_id": [1, 1, 2], "x": [1.0, 2.0, 3.0]}).write_parquet(tmp_path / "data/visits.parquet")
    (tmp_path / "data/users.csv").write_text("user_id\n1\n2\n3\n")
    return tmp_path


def test_a_session_from_a_catalog(place: Path) -> None:
    opened = catalog(place).session()
    assert opened.table.name == "visits"
    assert opened.table.n == 3
    opened.mean(emdp.col("x"), alpha=1)
    assert opened.remaining() == emdp.EmdDP(59.0, 1e-8)
    assert (place / "city.ledger").is_file()


def test_alpha_may_be_left_to_the_protections(place: Path) -> None:
    words = "protect = [{ fraction = 0.1, distance = 5.0, epsilon = 0.2 }]\nbudget = { delta = 1e-8 }"
    found = catalog(place, GOOD.replace("budget = { alpha = 60.0, delta = 1e-8 }", words)).budget()
    assert found == emdp.EmdDP(0.2 / (0.1 * 5 / 10), 1e-8)


def test_a_user_level_budget(place: Path) -> None:
    assert catalog(place, GOOD.replace("alpha = 60.0", "epsilon = 2")).budget() == emdp.UserDP(2.0, 1e-8)


def test_a_product_space_with_weights_and_vectors_beside_the_catalog(place: Path) -> None:
    pl.DataFrame({"word": ["a", "b"], "v": [[0.0, 1.0], [1.0, 0.0]]}).write_parquet(place / "words.parquet")
    space = """{ kind = "product", weights = [1, 2], parts = [
        { kind = "interval", col = "x", low = 0, high = 10 },
        { kind = "embedding", col = "w", vectors = "words.parquet" }] }"""
    text = GOOD.replace('{ kind = "interval", col = "x", low = 0, high = 10 }', space.replace("\n", " "))
    text += 'columns = { user_id = "BIGINT", x = "DOUBLE", w = "VARCHAR" }\n'
    found = catalog(place, text).table().space
    assert found.shares == (1 / 3, 2 / 3)


def test_previews_work_without_the_data_where_the_catalog_has_the_types(place: Path) -> None:
    (place / "data/visits.parquet").unlink()
    with pytest.raises(UsageError, match="names no file"):
        catalog(place).session()
    opened = catalog(place, GOOD + 'columns = { user_id = "BIGINT", x = "DOUBLE" }\n').session()
    assert opened.preview(emdp.mean(emdp.col("x"), alpha=1)).affordable == 60


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('user = "user_id"', "", "lacks 'user'"),
        ('user = "user_id"', 'user = "user_id"\nusrs = 3', "unknown key 'usrs'"),
        ('ledger = "city.ledger"', 'leger = "x"', "unknown key 'leger'"),
        ('ledger = "city.ledger"', "", "names no ledger"),
        ("[tables.visits]", "[tables.visits", "as TOML"),
        ("alpha = 60.0, ", "alpa = 60.0, ", "unknown key 'alpa'"),
        ("budget = { alpha = 60.0, delta = 1e-8 }", "", "needs budget"),
        ('kind = "interval"', 'kind = "intervall"', "intervall"),
        ("low = 0, ", "", "low"),
        ("high = 10 }", 'high = 10, colour = "red" }', "colour"),
        ("users = ", "users = -3 #", "at least 1"),
    ],
)
def test_mistakes_are_named(place: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        catalog(place, GOOD.replace(old, new)).session()


def test_a_missing_catalog_or_table(place: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        emdp.load_catalog(place / "nowhere.toml")
    with pytest.raises(UsageError, match=r"has no \[tables"):
        catalog(place, 'ledger = "x"')
    two = GOOD + GOOD.split("[tables.visits]")[1].join(["[tables.second]", ""])
    with pytest.raises(UsageError, match="must be named"):
        catalog(place, two).table()
    with pytest.raises(UsageError, match="'third' is not in"):
        catalog(place, two).table("third")
