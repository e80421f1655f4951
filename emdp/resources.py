"""Finding ``queries/`` and ``datasets/``: beside the package in a checkout, inside it in a wheel."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Literal

import emdp
from emdp.base.errors import InternalError

__all__ = ["find", "load_dataset_module"]

_DATASETS = "emdp._datasets"
"""Name of the datasets package, in a wheel and in a checkout alike."""


def find(name: Literal["queries", "datasets"]) -> Path:
    """Return the folder ``queries`` or ``datasets``, from an installed wheel or from a checkout.

    Parameters
    ----------
    name : str
        ``"queries"`` (shipped query and report definitions) or ``"datasets"`` (generators of tables).

    Raises
    ------
    InternalError
        If neither place has it: the installation is incomplete.

    >>> (find("datasets") / "checkins.py").is_file()
    True
    """
    package = Path(emdp.__file__).resolve().parent
    installed = package / f"_{name}"
    if installed.is_dir():
        return installed
    checkout = package.parent
    # Beside an installed package such a folder would be somebody else's; pyproject.toml marks a checkout.
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise InternalError(f"emdp's folder {name!r} is neither in {package} nor beside it; reinstall emdp.")


def load_dataset_module(name: str) -> ModuleType:
    """Import a module of ``datasets/``, as ``emdp._datasets.<name>`` wherever it lies.

    Parameters
    ----------
    name : str
        ``"checkins"``, ``"messages"`` or ``"ratings"``.

    Raises
    ------
    InternalError
        If there is no such module.

    >>> load_dataset_module("checkins").city_box()
    (40.48, -74.26, 40.92, -73.7)
    """
    folder = find("datasets")
    if not (folder / f"{name}.py").is_file():
        raise InternalError(f"emdp has no generator {name!r} in {folder}; reinstall emdp.")
    if _DATASETS not in sys.modules:
        _register(folder)
    return importlib.import_module(f"{_DATASETS}.{name}")


def _register(folder: Path) -> None:
    spec = importlib.util.spec_from_file_location(
        _DATASETS, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise InternalError(f"emdp's folder {folder} cannot be imported; reinstall emdp.")
    package = importlib.util.module_from_spec(spec)
    sys.modules[_DATASETS] = package
    spec.loader.exec_module(package)
