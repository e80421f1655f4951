"""Indicators of listed values and cases over them, on every finite space, against brute force over all pairs."""

from typing import Any

import numpy as np
import pytest

import emdp.expressions as ex
from emdp.expressions import analyse, evaluate
from emdp.expressions.nodes.categories import covers_domain
from emdp.spaces import Categories, Clusters, Distances, Embedding, Interval, Product, Space

ANIMALS = {"cat": "animal", "dog": "animal", "red": "colour", "blue": "colour"}
LABELS = tuple(ANIMALS)
MATRIX = [[0, 0.2, 0.9, 1], [0.2, 0, 0.8, 1], [0.9, 0.8, 0, 0.5], [1, 1, 0.5, 0]]
TABLE = {"word": list(LABELS), "u": [0.0, 0.5, 3.0, 5.0], "v": [0.0, 0.0, 1.0, -1.0]}

SPACES: dict[str, Space] = {
    "categories": Categories("word", LABELS),
    "clusters": Clusters("word", ANIMALS, 0.25),
    "distances": Distances("word", list(LABELS), MATRIX),
    "truncated distances": Distances("word", list(LABELS), MATRIX, diameter=0.6),
    "embedding": Embedding("word", TABLE),
    "embedding, neutral key": Embedding("word", TABLE, neutral="red"),
}
SETS: list[tuple[str, ...]] = [("cat",), ("cat", "dog"), ("dog", "red"), ("cat", "dog", "red"), LABELS]


def steepest(space: Space, expression: ex.Expression) -> float:
    """Largest |difference| per untruncated distance over all pairs of items, the neutral one included."""
    codes = {*range(len(space.labels or ())), int(space.neutral_item[0, 0])}
    items = np.array(sorted(codes), dtype=float)[:, None]
    values = evaluate(expression, space, items)
    distances = space.natural_distances(items, items) / space.diameter
    apart = distances > 0
    return float((np.abs(values[:, None] - values[None, :])[apart] / distances[apart]).max())


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("chosen", SETS)
def test_an_indicator_has_the_constant_of_the_gap_around_its_set(name: str, chosen: tuple[str, ...]) -> None:
    space, indicator = SPACES[name], ex.category_is(*chosen)
    known = analyse(indicator, space)
    exact = steepest(space, indicator)
    assert exact <= known.parts[0] * (1 + 1e-12)
    if not name.startswith("embedding") or len(chosen) == 1:
        assert known.parts[0] == pytest.approx(exact, rel=1e-9)
    assert (known.high, known.rounding) == (1, 0)


def test_a_whole_cluster_is_far_from_the_rest() -> None:
    space = SPACES["clusters"]
    assert analyse(ex.category_is("cat"), space).parts == (4,)
    assert analyse(ex.category_is("cat", "dog"), space).parts == (1,)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize(
    "branches",
    [
        {"cat": 1.0},
        {"cat": 3.0, "red": -2.0},
        {("cat", "dog"): 1.0, "red": 2.0},
        {"cat": 1.0, "dog": 1.0, "red": 4.0, "blue": 5.0},
    ],
)
def test_a_case_of_constants_is_bounded_by_its_jumps(name: str, branches: dict[Any, float]) -> None:
    space, expression = SPACES[name], ex.case(branches, otherwise=0.5)
    known = analyse(expression, space)
    exact = steepest(space, expression)
    assert exact <= known.parts[0] * (1 + 1e-12)
    if name == "categories":
        assert known.parts[0] == exact


@pytest.mark.parametrize("name", SPACES)
def test_a_case_is_the_sum_of_its_branches(name: str) -> None:
    space = Product(Interval("x", 0, 3), SPACES[name])
    x = ex.col("x")
    branches = {"cat": x, ("dog", "red"): 3 - x}
    as_case = ex.case(branches, otherwise=1)
    as_sum = ex.category_is("cat") * x + ex.category_is("dog", "red") * (3 - x) + ex.category_is("blue")
    rng = np.random.default_rng(3)
    items = np.column_stack([rng.uniform(0, 3, 50), rng.integers(0, 4, 50).astype(float)])
    np.testing.assert_allclose(evaluate(as_case, space, items), evaluate(as_sum, space, items), atol=1e-12)
    case_parts, sum_parts = analyse(as_case, space).parts, analyse(as_sum, space).parts
    assert case_parts[0] == 3
    assert case_parts[0] <= sum_parts[0]
    assert case_parts[1] <= sum_parts[1] * (1 + 1e-12)


def test_a_case_that_names_every_value_ignores_otherwise() -> None:
    space = Categories("kind", ["a", "b"])
    known = analyse(ex.case({"a": 1, "b": 2}, otherwise=100), space)
    assert (known.low, known.high, known.parts) == (1, 2, (1,))
    with_mean = Embedding("word", {"key": ["a", "b"], "u": [0.0, 1.0]})
    assert analyse(ex.case({"a": 1, "b": 2}, otherwise=100), with_mean).high == 100


def test_a_domain_is_covered_only_with_its_neutral_item() -> None:
    assert covers_domain(Categories("kind", ["a", "b"]), (0.0, 1.0))
    assert not covers_domain(Categories("kind", ["a", "b"]), (0.0,))
    assert not covers_domain(SPACES["embedding"], (0.0, 1.0, 2.0, 3.0))
    assert covers_domain(SPACES["embedding, neutral key"], (0.0, 1.0, 2.0, 3.0))


def test_integer_and_boolean_values_are_kept_apart() -> None:
    assert analyse(ex.category_is(1), Categories("stars", [1, 2, 3])).parts == (1,)
    assert analyse(ex.category_is(True), Categories("open", [True, False])).parts == (1,)
