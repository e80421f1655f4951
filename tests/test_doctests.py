"""Every example in a docstring of the package runs and prints what it says."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import emdp

NEED_SPARK = {"emdp.tables.engines.spark.errors"}
MODULES = ["emdp", *sorted(module.name for module in pkgutil.walk_packages(emdp.__path__, "emdp."))]


@pytest.mark.quarter
@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in NEED_SPARK:
        pytest.importorskip("pyspark", reason="SPARK IS NOT TESTED: pyspark absent")
    monkeypatch.chdir(str(tmp_path))
    module = importlib.import_module(name)
    # Most time goes into a look at objects of modules that have no example.
    if ">>> " not in Path(str(module.__file__)).read_text():
        return
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
