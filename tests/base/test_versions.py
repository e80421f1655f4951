"""Another version of a package on which a guarantee rests is refused in one sentence, before anything is charged."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version as installed
from pathlib import Path

import pytest

from emdp.base.errors import EmdpError, UnsupportedError
from emdp.base.versions import CHECKED_WITH, check_version

ROOT = Path(__file__).parents[2]

IMPORTS = """
import importlib, sys
import sqlglot
sqlglot.__version__ = sys.argv[1]
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
    except ImportError as refusal:
        print(name, "refused" if str(refusal).startswith("sqlglot 30.8.0 is not a version") else refusal)
    else:
        print(name, "imported")
"""
"""Whatever is refused is imported anew for the next name."""

ENGINE = """
import pathlib
import polars as pl
import duckdb
duckdb.__version__ = "1.5.6"
import emdp
from emdp.base.errors import UnsupportedError
from emdp.ledger import read_ledger
frame = pl.DataFrame({"user": [1, 2], "x": [0.0, 1.0]})
try:
    table = emdp.read(frame, user="user", users=2, space=emdp.Interval("x", 0, 1))
    session = emdp.Session(table, budget=emdp.EmdDP(alpha=10), ledger="x.ledger")
    session.mean(emdp.col("x"), alpha=1)
except UnsupportedError as refusal:
    print(refusal)
print([entry.kind for entry in read_ledger("x.ledger").entries()] if pathlib.Path("x.ledger").exists() else [])
"""


def modules_with(package: str) -> list[str]:
    """Return the modules of emdp that import a package when they are imported themselves."""
    found = []
    for path in sorted((ROOT / "emdp").rglob("*.py")):
        if re.search(rf"^(import|from) {package}\b", path.read_text(), re.MULTILINE):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


@pytest.mark.parametrize(
    ("package", "version", "remedy"),
    [
        ("sqlglot", "30.8.0", "sqlglot>=30.27,<30.31"),
        ("sqlglot", "30.26.9", "sqlglot>=30.27,<30.31"),
        ("sqlglot", "30.31.0", "sqlglot>=30.27,<30.31"),
        ("sqlglot", "31.0.0.dev1", "sqlglot>=30.27,<30.31"),
        ("sqlglot", "unknown", "sqlglot>=30.27,<30.31"),
        ("duckdb", "1.5.6", "duckdb>=2.0,<3"),
    ],
)
def test_another_version_is_refused_with_the_remedy(package: str, version: str, remedy: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        check_version(package, version)
    assert str(caught.value) == (
        f"{package} {version} is not a version that emdp was checked with, so a guarantee may not hold; run "
        f"pip install '{remedy}'."
    )
    assert isinstance(caught.value, EmdpError)
    assert isinstance(caught.value, ImportError)


@pytest.mark.parametrize(
    ("package", "version"),
    [("sqlglot", "30.27.0"), ("sqlglot", "30.30.4"), ("duckdb", "2.0.0"), ("duckdb", "2.9.1.dev7")],
)
def test_a_version_of_the_range_passes(package: str, version: str) -> None:
    check_version(package, version)


@pytest.mark.parametrize("package", CHECKED_WITH)
def test_what_is_installed_passes(package: str) -> None:
    check_version(package, installed(package))


def test_installers_are_told_the_same_ranges() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for package, (first, beyond) in CHECKED_WITH.items():
        assert f"{package}>={first},<{beyond}" in project["dependencies"]


def test_every_module_that_takes_sqlglot_refuses_another_version() -> None:
    names = modules_with("sqlglot")
    assert len(names) > 40
    command = [sys.executable, "-c", IMPORTS, "30.8.0", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{name} refused" for name in names]


def test_the_engine_is_loaded_where_it_is_checked() -> None:
    assert modules_with("duckdb") == []


@pytest.mark.slow
def test_an_engine_of_another_version_is_refused_before_a_charge(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", ENGINE], capture_output=True, text=True, check=True, cwd=tmp_path)
    refusal, kinds = done.stdout.splitlines()
    assert refusal.startswith("duckdb 1.5.6 is not a version that emdp was checked with")
    assert "charge" not in kinds


def test_instances_are_opened_in_one_place() -> None:
    opening = [path for path in (ROOT / "emdp").rglob("*.py") if "duckdb.connect(" in path.read_text()]
    assert opening == [ROOT / "emdp/tables/engines/duckdb/instances.py"]


@pytest.mark.parametrize(("which", "sign"), [("lowest", "=="), ("any", ">=")])
def test_ci_tries_what_is_declared(which: str, sign: str) -> None:
    command = [sys.executable, str(ROOT / ".ci/packages.py"), which]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {re.split("[=<>]", text)[0] for text in project["dependencies"]}
    assert named <= {line.partition(sign)[0] for line in lines}
    assert all(sign in line for line in lines)


def test_pythons_and_systems_are_those_that_are_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    minors = [minor for minor in range(30) if f"Programming Language :: Python :: 3.{minor}" in project["classifiers"]]
    assert project["requires-python"] == f">=3.{minors[0]},<3.{minors[-1] + 1}"
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert sys.version_info[1] in minors
    systems = [text for text in project["classifiers"] if text.startswith("Operating System")]
    assert systems == ["Operating System :: MacOS", "Operating System :: POSIX :: Linux"]
    assert f"Linux or macOS with Python 3.{minors[0]} to 3.{minors[-1]}" in (ROOT / "README.md").read_text()
