"""``Categories``, ``Clusters`` and ``Distances``: lists, types, metrics refused."""

import math

import numpy as np
import polars as pl
import pytest

from emdp.base.errors import UsageError
from emdp.spaces import Categories, Clusters, Distances


def test_neutral_is_the_first_value_unless_given() -> None:
    assert Categories("kind", ["b", "a"]).neutral == "b"
    space = Categories("kind", ["b", "a"], on_invalid="neutral", neutral="a")
    assert space.decode(space.encode({"kind": ["zzz", None]})) == {"kind": ["a", "a"]}


def test_true_is_not_one() -> None:
    integers = Categories("kind", [0, 1])
    with pytest.raises(UsageError, match="True is none of the 2 values"):
        integers.encode_point(True)
    with pytest.raises(UsageError, match="must hold integers"):
        integers.encode({"kind": [True, False]})
    with pytest.raises(UsageError, match="must hold Booleans"):
        Categories("kind", [False, True]).encode({"kind": [0, 1]})
    with pytest.raises(UsageError, match="must hold strings"):
        Categories("kind", ["0", "1"]).encode({"kind": [0, 1]})
    assert integers.encode_point(np.int32(1)).tolist() == [[1.0]]


def test_column_types_of_one_kind_are_alike() -> None:
    space = Categories("kind", ["a", "b"], on_invalid="neutral")
    for dtype in (pl.String, pl.Categorical, pl.Enum(["b", "a", "c"])):
        frame = pl.DataFrame({"kind": pl.Series(["b", "c", None, "a"], dtype=dtype)})
        assert space.encode(frame)[:, 0].tolist() == [1.0, 0.0, 0.0, 0.0]
        assert space.valid_mask(frame).tolist() == [True, False, False, True]
    integers = Categories("kind", [7, 9], on_invalid="neutral")
    for dtype in (pl.Int8, pl.UInt64, pl.Int64):
        frame = pl.DataFrame({"kind": pl.Series([9, 8, None, 7], dtype=dtype)})
        assert integers.encode(frame)[:, 0].tolist() == [1.0, 0.0, 0.0, 0.0]
    huge = pl.DataFrame({"kind": pl.Series([2**64 - 1, 9], dtype=pl.UInt64)})
    assert integers.valid_mask(huge).tolist() == [False, True]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "is empty"),
        ("abc", "must be a sequence"),
        (["a", 1], "all strings, all integers or all Booleans"),
        ([1, True], "all strings, all integers or all Booleans"),
        ([1.5], "all strings, all integers or all Booleans"),
        (["a", None], "all strings, all integers or all Booleans"),
        (["a", "b", "a"], "lists 'a' 2 times"),
        ([2**63], "64-bit"),
    ],
)
def test_lists_are_checked(values: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Categories("kind", values)  # type: ignore[arg-type]


def test_labels_are_checked() -> None:
    space = Categories("kind", ["a", "b"])
    for label in ("c", 0, None, ["a"]):
        with pytest.raises(UsageError, match="is none of the 2 values"):
            space.label_bounds(label)
    with pytest.raises(UsageError, match="is none of the 2 values"):
        Categories("kind", ["a", "b"], neutral="c")
    with pytest.raises(UsageError, match="no numeric value"):
        space.column_bounds("kind")


def test_a_single_value_is_a_space() -> None:
    space = Categories("kind", ["only"])
    assert space.label_bounds("only").lipschitz == 1.0
    assert space.pairwise({"kind": ["only"]}, {"kind": ["only"]}).tolist() == [[0.0]]


def test_clusters() -> None:
    space = Clusters("kind", {"cat": "pet", "red": "hue", "dog": "pet"}, 0.25)
    items = space.encode({"kind": ["cat", "dog", "red"]})
    assert space.cluster_codes(items).tolist() == [0, 0, 1]
    assert space.within == 0.25
    assert space.cluster_of == {"cat": "pet", "red": "hue", "dog": "pet"}
    assert space.label_bounds("cat").lipschitz == 4.0
    assert space.label_bounds("red").lipschitz == 1.0
    assert space.diameter == 1
    assert Clusters("kind", [("cat", "pet"), ("red", "hue"), ("dog", "pet")], 0.25) == space


@pytest.mark.parametrize(
    ("cluster_of", "within", "message"),
    [
        ({"a": "x"}, 0, "within must be in"),
        ({"a": "x"}, 1.1, "within must be in"),
        ({}, 0.5, "must map each value"),
        ("ab", 0.5, "must map each value"),
        ([("a",)], 0.5, "must hold pairs"),
        ({"a": ["x"]}, 0.5, "the clusters of cluster_of"),
        ({"a": "x", "b": 1}, 0.5, "the clusters of cluster_of"),
        ([("a", "x"), ("a", "y")], 0.5, "lists 'a' 2 times"),
    ],
)
def test_clusters_are_checked(cluster_of: object, within: float, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Clusters("kind", cluster_of, within)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1], [1, 0]], "shape .3, 3."),
        ([[0, 1, 5], [1, 0, 1], [5, 1, 0]], "from 'A' to 'C' is longer than the detour by 'B'"),
        ([[0, 1, 2], [1, 0, 1], [2.1, 1, 0]], "from 'A' to 'C' is not symmetric"),
        ([[0, 1, 1], [1, 0.5, 1], [1, 1, 0]], "from 'B' to 'B' is not 0 on the diagonal"),
        ([[0, 0, 1], [0, 0, 1], [1, 1, 0]], "from 'A' to 'B' is not positive"),
        ([[0, -1, 1], [-1, 0, 1], [1, 1, 0]], "from 'A' to 'B' is not positive"),
        ([[0, math.nan, 1], [math.nan, 0, 1], [1, 1, 0]], "finite"),
        ([[0, math.inf, 1], [math.inf, 0, 1], [1, 1, 0]], "finite"),
        ([[0, "x", 1], [1, 0, 1], [1, 1, 0]], "rows of one length of numbers"),
        ([[0, 1], [1, 0, 1], [1, 1, 0]], "rows of one length of numbers"),
    ],
)
def test_matrices_that_are_no_metric_are_refused(matrix: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Distances("stop", ["A", "B", "C"], matrix)


def test_matrices_off_by_rounding_are_taken_and_their_constants_are_sound() -> None:
    excess = 2 * (1 + 1e-13)
    space = Distances("stop", ["A", "B", "C"], [[0, 1, 2], [1, 0, 1], [excess, 1, 0]])
    assert np.array_equal(space.matrix, space.matrix.T)
    assert space.diameter == excess
    bounds = space.distance_bounds(space.encode_point("A"))
    assert bounds.lipschitz >= space.diameter * (excess - 1) / 1
    assert bounds.lipschitz == pytest.approx(space.diameter, rel=1e-12)
    far, tiny = 1.0, 1e-11  # a triangle that fails by rounding of the long sides is 10 % off at the short one
    skewed = [[0, far, far + 1.1e-11], [far, 0, tiny], [far + 1.1e-11, tiny, 0]]
    thin = Distances("stop", ["A", "B", "C"], skewed)
    assert thin.distance_bounds(thin.encode_point("A")).lipschitz >= thin.diameter * 1.09


def test_distances_are_equal_by_value() -> None:
    first = Distances("stop", ["A", "B"], [[0, 1], [1, 0]])
    assert first == Distances("stop", ["A", "B"], np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert first != Distances("stop", ["A", "B"], [[0, 2], [2, 0]], diameter=1)
    assert not first.matrix.flags.writeable


def test_random_metrics_are_taken_and_broken_ones_refused() -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(40, 3))
    matrix = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))
    labels = [f"v{place}" for place in range(40)]
    assert Distances("stop", labels, matrix).diameter == matrix.max()
    i, j = np.unravel_index(int(matrix.argmax()), matrix.shape)
    matrix[i, j] = matrix[j, i] = 2.1 * matrix.max()
    with pytest.raises(UsageError, match="longer than the detour"):
        Distances("stop", labels, matrix)
