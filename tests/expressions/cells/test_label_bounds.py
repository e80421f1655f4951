"""The least distance at which an item's cell changes, against all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.cells.label_bounds import crossing_constant
from emdp.expressions.cells.reference import label_cells
from emdp.spaces import Categories, Clusters, Distances, Embedding, Interval, Space

LABELS = ("a", "b", "c", "d", "e", "f")


def finite_parts(rng: np.random.Generator) -> list[Space]:
    points = rng.normal(size=(6, 2))
    matrix = np.linalg.norm(points[:, None] - points[None], axis=2)
    table = {"key": list(LABELS), "x": points[:, 0], "y": points[:, 1]}
    groups = dict(zip(LABELS, rng.choice(["p", "q", "r"], 6).tolist(), strict=True))
    return [
        Categories("v", LABELS),
        Clusters("v", groups, 0.3),
        Distances("v", LABELS, matrix, diameter=1.0),
        Embedding("v", table),
        Embedding("v", table, neutral="c", diameter=0.5),
    ]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.lists(st.integers(-1, 2), min_size=6, max_size=6))
def test_the_constant_is_that_of_the_nearest_pair_in_different_cells(seed: int, numbers: list[int]) -> None:
    cells = [tuple(label for label, own in zip(LABELS, numbers, strict=True) if own == number) for number in range(3)]
    axis = LabelAxis("v", tuple(cell for cell in cells if cell) or (LABELS,))
    for part in finite_parts(np.random.default_rng(seed)):
        _, codes = label_cells(axis, part)
        items = np.arange(len(codes), dtype=float)[:, None]
        apart = np.not_equal.outer(codes, codes)
        if not apart.any():
            assert crossing_constant(axis, part) == 0
            continue
        least = part.natural_distances(items, items)[apart].min()
        assert crossing_constant(axis, part) == pytest.approx(part.diameter / least, rel=1e-12)
        assert crossing_constant(axis, part) >= part.diameter / least


def test_labels_at_distance_zero_in_one_cell_are_no_matter() -> None:
    table = {"key": ["a", "b", "c"], "u": [0.0, 0.0, 1.0]}
    part = Embedding("v", table, neutral="c")
    assert crossing_constant(LabelAxis("v", (("a", "b"),)), part) == pytest.approx(1)
    assert crossing_constant(LabelAxis("v", (("a",), ("b",))), part) == float("inf")


def test_blocks_of_a_long_list_hide_no_pair() -> None:
    count = 700
    places = np.arange(count, dtype=float)
    places[650] = places[3] + 0.25
    matrix = np.abs(places[:, None] - places[None])
    part = Distances("v", list(range(count)), matrix)
    axis = LabelAxis("v", ((3,), tuple(code for code in range(count) if code != 3)))
    assert crossing_constant(axis, part) == pytest.approx(part.diameter / 0.25)


def test_long_lists_of_a_simple_metric_are_quick_and_longer_ones_of_vectors_refused() -> None:
    labels = [f"word {number}" for number in range(50_000)]
    axis = LabelAxis("v", tuple((label,) for label in labels[:30_000]))
    clusters = Clusters("v", {label: number // 2 for number, label in enumerate(labels)}, 0.5)
    assert crossing_constant(axis, clusters) == 2
    assert crossing_constant(axis, Categories("v", labels)) == 1
    vectors = Embedding("v", {"key": labels, "u": np.arange(50_000.0)})
    with pytest.raises(UsageError, match="too many to compare"):
        crossing_constant(axis, vectors)


def test_an_axis_needs_a_finite_part() -> None:
    with pytest.raises(UsageError, match="no listed values"):
        crossing_constant(LabelAxis("v", ((1,),)), Interval("v", 0, 1))
