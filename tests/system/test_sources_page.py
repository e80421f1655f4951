"""docs/sources.md names files and tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "sources.md").read_text()


def test_files_that_the_page_names_exist() -> None:
    named = re.findall(r"\b(?:tests|emdp)/[\w/]+(?:\.py)?", TEXT) + [
        f"docs/{page}" for page in re.findall(r"\]\((.*?\.md)\)", TEXT)
    ]
    assert len(named) > 80
    assert not [name for name in named if not (ROOT / name).exists()]


def test_tests_that_the_page_names_exist() -> None:
    file, found = "", 0
    for own, name in re.findall(r"`(?:(tests/[\w/]+\.py)::)?((?:test_|Test)\w+)`", TEXT):
        # A test without a file is of the file before it.
        file = own or file
        assert re.search(rf"^\s*(def|class) {name}\b", (ROOT / file).read_text(), re.MULTILINE), f"{file}::{name}"
        found += 1
    assert found > 40


def test_experiments_that_the_page_names_are_there() -> None:
    from emdp.experiments import NAMES

    named = set(re.findall(r"`emdp experiment ([\w-]+)`", TEXT))
    assert len(named) > 5
    assert named <= set(NAMES)
