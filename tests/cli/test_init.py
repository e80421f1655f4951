"""``emdp init``: what a starter catalog says of each type of column."""

import tomllib
from datetime import datetime
from pathlib import Path

import polars as pl

from emdp.catalog import load_catalog
from emdp.cli.init import starter_catalog
from emdp.spaces import Categories
from emdp.tables.source import open_source


def test_a_column_of_truth_values_has_its_values_already(tmp_path: Path) -> None:
    columns = {"user": [1, 2], "is_paid": [True, None], "kind": ["a", "b"], "ts": [datetime(2026, 1, 1, 8)] * 2}
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    text = starter_catalog("t.parquet", open_source(str(tmp_path / "t.parquet")), name="t", user="user", users="2")
    (line,) = (line for line in text.splitlines() if "is_paid" in line)
    written = line.removeprefix("# ").removesuffix(" is true or false")
    assert tomllib.loads(f"space = {written}") == {
        "space": {"kind": "categories", "col": "is_paid", "values": [False, True]}
    }
    (kind,) = (line for line in text.splitlines() if '"kind"' in line)
    assert 'values = ["..."]' in kind
    # pasted as it stands, it is a space of the table's
    lines = [line for line in text.splitlines() if not line.startswith(("space", "budget", "#"))]
    lines += [f"space = {written}", "budget = { alpha = 1.0 }"]
    (tmp_path / "emdp.toml").write_text("\n".join(lines))
    space = load_catalog(tmp_path / "emdp.toml").table("t").space
    assert isinstance(space, Categories)
    assert space.labels == (False, True)
