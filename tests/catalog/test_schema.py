"""The schema of catalogs for editors: it takes what catalogs take, and refuses keys that they refuse."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from emdp.catalog.entries import TABLE_KEYS
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


def test_the_schema_has_every_key_and_kind() -> None:
    text = json.dumps(catalog_schema())
    assert all(f'"{key}"' in text for key in (*TABLE_KEYS, *KINDS))


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
