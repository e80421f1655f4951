"""docs/guarantees.md names every public function, and commands that exist."""

import re
from pathlib import Path

import pytest

import emdp

PAGE = Path(__file__).parents[2] / "docs" / "guarantees.md"
ROOT = PAGE.parents[1]

# What makes no promise of its own: errors, modules, and the values that a promise is stated with.
PLAIN = {
    "Answer", "BoundedReduction", "Catalog", "Expression", "Frequencies", "Guarantee", "HeavyHitters", "Itemwise",
    "Mean", "Preview", "Quantiles", "Session", "Space", "Table", "UserMean", "VectorMean", "load_catalog", "privacy",
    "randomizers", "testing",
}  # fmt: skip
PLAIN_PRIVACY = {
    "UNLIMITED", "BatchEvent", "BoundedReduction", "Event", "GaussianEvent", "Guarantee", "GuaranteeEvent",
    "KNormEvent", "LaplaceEvent", "MetricTotal", "Reduction", "ShuffleBound", "ShuffleRound", "ShuffleStrength",
    "UserShuffleBound", "change_distance", "change_metric", "event_from_json", "guarantee_from_json",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(emdp.__all__) - PLAIN))
def test_every_public_name_has_its_promise(name: str) -> None:
    if not name.endswith("Error"):
        assert re.search(rf"\b{name}\b", PAGE.read_text()), f"{name} is missing on the page of guarantees"


@pytest.mark.parametrize("name", sorted(set(emdp.privacy.__all__) - PLAIN_PRIVACY))
def test_every_accountant_has_its_promise(name: str) -> None:
    assert re.search(rf"\b{name}\b", PAGE.read_text()), f"{name} is missing on the page of guarantees"


def test_files_that_the_page_names_exist() -> None:
    text = PAGE.read_text()
    named = re.findall(r"\b(?:tests|emdp)/[\w/]+(?:\.py)?", text) + [
        f"docs/{page}" for page in re.findall(r"\]\((.*?\.md)\)", text)
    ]
    assert len(named) > 40
    assert not [name for name in named if not (ROOT / name).exists()]
