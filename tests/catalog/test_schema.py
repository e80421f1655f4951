"""The schema of catalogs for editors: it takes what catalogs take, and refuses keys that they refuse."""

import datetime
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

from emdp.base.errors import UsageError
from emdp.catalog.budgets import BUDGET_KEYS, HISTORY_KEYS, PER_PERIOD_KEYS
from emdp.catalog.catalog import CATALOG_KEYS, load_catalog
from emdp.catalog.entries import LINK_KEYS, LINKED_KEYS, PUBLIC_KEYS, TABLE_KEYS
from emdp.catalog.schema import catalog_schema
from emdp.cli import main
from emdp.spaces.registry import KINDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/command-line.md", "docs/tutorial/first-map.md", "docs/tutorial/own-file.md")
VISITS = """
ledger = "l.ledger"
[tables.visits]
source = "v.parquet"
user = "user_id"
users = 3
budget = [{ alpha = 80.0 }, { epsilon = 2.0, delta = 1e-8 }]
space = { kind = "interval", col = "x", low = 0, high = 1 }
"""


def catalogs() -> dict[str, dict[str, Any]]:
    """Return catalogs that are known to be whole."""
    found = {}
    for page in PAGES:
        for place, text in enumerate(re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)):
            found[f"{page} {place}"] = tomllib.loads(text)
    for path in (ROOT / "queries").rglob("catalog*.toml"):
        found[path.name] = tomllib.loads(path.read_text())
    return {name: data for name, data in found.items() if "tables" in data}


@pytest.mark.parametrize("name", catalogs())
def test_whole_catalogs_fit(name: str) -> None:
    jsonschema.validate(catalogs()[name], catalog_schema())


@pytest.mark.parametrize(
    "change",
    [
        ("users = 3", "usrs = 3"),
        ("users = 3", "users = 1.5"),
        ('source = "v.parquet"', ""),
        ("alpha = 80.0", "alhpa = 80.0"),
        ("high = 1", "hihg = 1"),
        ('"interval"', '"intervall"'),
        ("ledger", "legder"),
    ],
)
def test_what_a_catalog_refuses_is_underlined(change: tuple[str, str]) -> None:
    jsonschema.validate(tomllib.loads(VISITS), catalog_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(VISITS.replace(*change, 1)), catalog_schema())


DEEP = """
ledger = "l.ledger"
[tables.orders]
source = "o-{period}.parquet"
user = "user_id"
users = 3
elsewhere = 1
budget = { alpha = 80.0, per_period = { alpha = 2.0, delta = 1e-9 } }
slots = 4
protect = [
    { fraction = 0.1, distance = 1.0, epsilon = 0.2, part = "x" },
    { records = 2, distance = "elsewhere", epsilon = 0.1 },
]
[tables.orders.space]
kind = "product"
weights = [2, 1]
parts = [
    { kind = "grid", shape = [4], inner = { kind = "interval", col = "x", low = 0, high = 1 } },
    { kind = "cycle", col = "time(ts)", period = 24 },
]
[tables.items]
source = "i-{period}.parquet"
space = { kind = "interval", col = "y", low = 0, high = 1 }
link = { column = "order", table = "orders", key = "order" }
[public.zones]
source = "z.csv"
header = true
"""


@pytest.mark.quarter
@pytest.mark.parametrize(
    "change",
    [
        ('kind = "cycle", col', 'kind = "cycle", cols'),
        ('kind = "grid"', 'kind = "product"'),
        ("low = 0, high = 1 } }", "low = 0 } }"),
        ("per_period = { alpha", "per_period = { epsilon"),
        ("per_period = { alpha = 2.0, delta = 1e-9 }", "history = { alpha = 2.0, weeks = 52 }"),
        ("fraction = 0.1", "share = 0.1"),
        ('distance = "elsewhere", ', ""),
        ('key = "order"', 'keys = "order"'),
        ("header = true", 'headers = "yes"'),
    ],
)
def test_what_lies_deeper_is_underlined_too_where_the_catalog_refuses_it(
    change: tuple[str, str], tmp_path: Path
) -> None:
    """The schema takes and refuses what the catalog itself takes and refuses."""

    def is_taken(text: str) -> bool:
        (tmp_path / "emdp.toml").write_text(text)
        try:
            catalog = load_catalog(tmp_path / "emdp.toml")
            catalog.table("orders", period="w1")
            catalog.budgets("orders")
            catalog.protections("orders")
            assert catalog.public()
        except UsageError:
            return False
        return True

    rows = {"user_id": [1], "x": [0.5], "ts": [datetime.datetime(2026, 1, 5)], "order": [1]}
    pl.DataFrame(rows).write_parquet(tmp_path / "o-w1.parquet")
    pl.DataFrame({"y": [0.5], "order": [1]}).write_parquet(tmp_path / "i-w1.parquet")
    (tmp_path / "z.csv").write_text("zone\n1\n")
    wrong = DEEP.replace(*change, 1)
    assert wrong != DEEP
    jsonschema.validate(tomllib.loads(DEEP), catalog_schema())
    assert is_taken(DEEP)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(wrong), catalog_schema())
    assert not is_taken(wrong)


def test_the_schema_has_every_key_and_kind() -> None:
    """Every table by which the catalog checks keys has its place, with these keys and no other."""
    schema = catalog_schema()
    assert set(schema["properties"]) == CATALOG_KEYS
    table, linked = schema["properties"]["tables"]["additionalProperties"]["anyOf"]
    assert set(table["properties"]) == set(TABLE_KEYS)
    assert set(linked["properties"]) == set(LINKED_KEYS)
    assert set(linked["properties"]["link"]["properties"]) == set(LINK_KEYS)
    assert set(schema["properties"]["public"]["additionalProperties"]["properties"]) == set(PUBLIC_KEYS)
    budget = table["properties"]["budget"]["anyOf"][0]
    assert set(budget["properties"]) == set(BUDGET_KEYS)
    assert set(budget["properties"]["per_period"]["properties"]) == PER_PERIOD_KEYS
    assert set(budget["properties"]["history"]["properties"]) == HISTORY_KEYS
    for place in ("part", "space"):
        kinds = {
            one["properties"]["kind"]["const"]: set(one["properties"]) for one in schema["definitions"][place]["anyOf"]
        }
        assert kinds.keys() - {"product", "elsewhere"} == KINDS.keys()
        for name, (_, needed, further) in KINDS.items():
            assert kinds[name] == {"kind", *needed.split(), *further.split()}


def test_a_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "emdp.schema.json"
    with pytest.raises(SystemExit) as ended:
        main(["init", "--schema", str(place)])
    assert not ended.value.code, capsys.readouterr().err
    assert json.loads(place.read_text()) == catalog_schema()
    with pytest.raises(SystemExit) as ended:
        main(["init"])
    assert ended.value.code == 2
    assert "SOURCE is missing" in capsys.readouterr().err
