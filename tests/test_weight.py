"""Weight of an install: megabytes of all packages that emdp asks for, and the libraries that a plain query loads."""

import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
MOST_MEGABYTES = 720
"""Megabytes of the packages without emdp's own."""

SYMBOLS = 171
"""What POT weighs more from 0.9.7 on, where the environment has that."""

NEVER = ("altair", "vl_convert", "pyspark", "pandas", "opendp", "ot", "scipy.optimize", "jinja2", "psycopg", "sphinx")
"""Libraries that a query without a picture does not load."""

QUERY = """
import sys
from emdp.cli import main
try:
    main(["query", "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS mean FROM t"])
except SystemExit as ended:
    assert not ended.code, ended.code
print(*sorted(sys.modules))
"""


def packages(wanted: list[str]) -> dict[str, int]:
    """Return the bytes of packages and of all that they ask for, by name."""
    found: dict[str, int] = {}
    while wanted:
        asked = Requirement(wanted.pop())
        if asked.name.lower() in found or not (asked.marker is None or asked.marker.evaluate({"extra": ""})):
            continue
        try:
            own = distribution(asked.name)
        except PackageNotFoundError:
            pytest.fail(f"{asked.name} is not installed")
        places = {Path(str(file.locate())) for file in own.files or ()}
        found[asked.name.lower()] = sum(place.stat().st_size for place in places if place.is_file())
        wanted += own.requires or []
    return found


@pytest.mark.slow
def test_an_install_is_not_heavy() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    sizes = packages(list(declared))
    most = MOST_MEGABYTES + (SYMBOLS if distribution("POT").version.startswith("0.9.7") else 0)
    table = sorted(((size // 10**6, name) for name, size in sizes.items()), reverse=True)
    assert sum(sizes.values()) <= most * 10**6, table
    assert {"opendp", "pyspark", "pandas"} & set(sizes) == set()


@pytest.mark.slow
def test_a_plain_query_loads_no_heavy_library(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,x\n1,0.5\n2,0.25\n")
    (tmp_path / "emdp.toml").write_text(
        'ledger = "l.ledger"\n[tables.t]\nsource = "t.csv"\nuser = "user"\nusers = 2\nbudget = { alpha = 2.0 }\n'
        'space = { kind = "interval", col = "x", low = 0, high = 1 }\n'
    )
    done = subprocess.run([sys.executable, "-c", QUERY], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "emdp" in loaded
    assert sorted(loaded & set(NEVER)) == []
