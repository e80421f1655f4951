"""Finding queries/ and datasets/ from a checkout and from what a wheel installs."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import emdp
from emdp import resources
from emdp.base.errors import InternalError

ROOT = Path(__file__).resolve().parents[1]

PROBE = """
from emdp.resources import find, load_dataset_module
checkins, messages = load_dataset_module("checkins"), load_dataset_module("messages")
print(find("datasets"), find("queries"), checkins.__file__, checkins.__name__, messages.__name__, sep="\\n")
written = checkins.write_checkins("t.parquet", users=5, records=10)
print(written.rows)
"""


def probe(path, cwd):
    environment = os.environ | {"PYTHONPATH": str(path)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_checkout_has_both_beside_the_package(tmp_path):
    names = probe(ROOT, tmp_path)
    assert names[:3] == [
        str(ROOT / "datasets"),
        str(ROOT / "queries"),
        str(ROOT / "datasets" / "checkins.py"),
    ]
    assert names[3:] == ["emdp._datasets.checkins", "emdp._datasets.messages", "10"]


@pytest.mark.slow
def test_an_installed_package_has_both_inside(tmp_path):
    installed = tmp_path / "site"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "emdp", installed / "emdp", ignore=ignore)
    shutil.copytree(ROOT / "datasets", installed / "emdp" / "_datasets", ignore=ignore)
    shutil.copytree(ROOT / "queries", installed / "emdp" / "_queries", ignore=ignore)
    names = probe(installed, tmp_path)
    inside = installed / "emdp"
    assert names[:3] == [
        str(inside / "_datasets"),
        str(inside / "_queries"),
        str(inside / "_datasets" / "checkins.py"),
    ]
    assert names[3:] == ["emdp._datasets.checkins", "emdp._datasets.messages", "10"]


@pytest.mark.full
def test_the_built_wheel_has_both_inside(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in ("emdp", "datasets", "queries"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, source / name)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--target",
        str(tmp_path / "site"),
        str(source),
    ]
    subprocess.run(pip, check=True, capture_output=True)
    names = probe(tmp_path / "site", tmp_path)
    inside = tmp_path / "site" / "emdp"
    assert names[:2] == [str(inside / "_datasets"), str(inside / "_queries")]


def test_pyproject_lists_every_package_of_the_wheel():
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "emdp").rglob("__init__.py")}
    assert set(setuptools["packages"]) == found | {"emdp._datasets", "emdp._queries"}
    assert setuptools["package-dir"] == {"emdp._datasets": "datasets", "emdp._queries": "queries"}


def test_somebody_elses_folder_is_not_taken(tmp_path, monkeypatch):
    for name in ("emdp", "datasets", "queries"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(emdp, "__file__", str(tmp_path / "emdp" / "__init__.py"))
    for name in ("datasets", "queries"):
        with pytest.raises(InternalError, match=f"'{name}' is neither in .* reinstall emdp"):
            resources.find(name)


def test_a_module_that_is_not_there_is_named():
    with pytest.raises(InternalError, match="no generator 'prices'"):
        resources.load_dataset_module("prices")


def test_a_module_is_loaded_once():
    assert resources.load_dataset_module("checkins") is resources.load_dataset_module("checkins")
    assert resources.load_dataset_module("city") is sys.modules["emdp._datasets.city"]
