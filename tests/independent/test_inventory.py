"""docs/independent-checks.md has a row for every public name, and every test that it names is there."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import emdp.mechanisms
import emdp.privacy
import emdp.randomizers
import emdp.transport

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "independent-checks.md").read_text()

ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PAGE.splitlines() if line.startswith("| ")]
"""Cells of all tables."""

EXEMPT = {"float_at_least"}
"""A rounding that the names of emdp.privacy rest on; not a claim."""


def public_names() -> set[str]:
    """Return what is exported, and every mechanism that can be made and has a theorem."""
    names: set[str] = set()
    for package in (emdp.privacy, emdp.mechanisms, emdp.randomizers, emdp.transport):
        names |= set(package.__all__)
    for found in pkgutil.walk_packages(emdp.mechanisms.__path__, "emdp.mechanisms."):
        module = importlib.import_module(found.name)
        own = [getattr(module, name) for name in getattr(module, "__all__", ())]
        names |= {
            one.__name__
            for one in own
            if inspect.isclass(one)
            and hasattr(one, "theorem")
            and not inspect.isabstract(one)
            and not getattr(one, "_is_protocol", False)
        }
    assert len(names) > 100, "the search for names finds too few"
    return names - EXEMPT


def test_every_claim_has_a_row() -> None:
    listed = {name for row in ROWS for name in re.findall(r"`(\w+)`", row[0])}
    missing = sorted(public_names() - listed)
    assert not missing, f"docs/independent-checks.md has no row for {', '.join(missing)}"


def test_every_test_of_the_page_is_there() -> None:
    nodes = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(nodes) > 50
    for file, name in nodes:
        path = ROOT / file
        assert path.exists(), file
        assert re.search(rf"^\s*(def|class) {name}\b", path.read_text(), re.MULTILINE), f"{file}::{name}"


def test_every_row_has_a_test() -> None:
    for row in ROWS:
        if row[0] not in ("release", "name"):
            assert re.search(r"`tests/[\w/]+\.py::\w+`", row[3]), row[0]
