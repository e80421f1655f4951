"""ARCHITECTURE.md and CONTRIBUTING.md speak of what is there: paths, modules, functions, and every room once."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = {name: (ROOT / name).read_text() for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")}
TREE = re.findall(r"^( +)(\w+(?:/|\.py)) ", PAGES["ARCHITECTURE.md"].split("```")[1], re.MULTILINE)
"""Indentation and name of each line of the tree."""

PATH = r"(?<![\w/.-])((?:emdp|tests|docs|queries|datasets|examples|benchmarks)/[\w./-]*)"
NAMES = r"((?:(?:, | and )?`[\w.]+`)+) in\s+`((?:emdp|tests)/[\w/]+\.py)`"


def rooms() -> list[str]:
    """Return what the tree names, folders and files of the top, from the root of the project."""
    found, above = [], ["emdp"]
    for indent, name in TREE:
        above = [*above[: len(indent) // 2], name.rstrip("/")]
        found.append("/".join(above))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_path_exists(page: str) -> None:
    named = set(re.findall(PATH, PAGES[page]))
    assert len(named) > 20
    assert sorted(path for path in named if not (ROOT / path.rstrip(".")).exists()) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_dotted_name_imports(page: str) -> None:
    for name in re.findall(r"`(emdp(?:\.\w+)+)`", PAGES[page]):
        found = importlib.import_module("emdp")
        for part in name.split(".")[1:]:
            if not hasattr(found, part):
                found = importlib.import_module(f"{found.__name__}.{part}")
            else:
                found = getattr(found, part)


@pytest.mark.parametrize("page", PAGES)
def test_every_name_in_a_file_is_defined_there(page: str) -> None:
    found = re.findall(NAMES, PAGES[page])
    assert len(found) > 10
    for names, file in found:
        for name in re.findall(r"`([\w.]+)`", names):
            assert set(name.split(".")) <= defined(ROOT / file), f"{page}: {file} does not define {name}"


def test_the_tree_names_every_room_once() -> None:
    named = rooms()
    there = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "emdp").rglob("*.py")} - {"emdp"}
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "emdp").glob("*.py")} - {"emdp/__init__.py"}
    assert sorted(named) == sorted(there | files)


def test_rooms_of_the_tree_import_downwards() -> None:
    order = [Path(name).stem for name in rooms() if name.count("/") == 1]
    for path in (ROOT / "emdp").rglob("*.py"):
        own = path.relative_to(ROOT / "emdp").parts[0].removesuffix(".py")
        for other in re.findall(r"^\s*from emdp\.(\w+)", path.read_text(), re.MULTILINE):
            if own != "__init__" and other != own:
                assert order.index(own) < order.index(other), f"{path} imports emdp.{other}, which stands above it"


def defined(path: Path) -> set[str]:
    """Return the names of classes, functions and constants of a file, methods included."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names
