"""The contract between estimators and engines refuses what it could not mean."""

import polars as pl
import pytest

from emdp.base.errors import UsageError
from emdp.expressions import col, lift
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis, UserGroups


def groups(keys: list[str], numbers: list[int], sizes: tuple[int, ...]) -> UserGroups:
    return UserGroups(pl.Series("key", keys), pl.Series("group", numbers, dtype=pl.Int64), sizes)


def test_coordinates_are_counted_over_all_axes() -> None:
    aggregation = Aggregation(
        (lift(1), col("x")), (LabelAxis("kind", (("a",), ("b", "c"))), HatAxis(col("x"), 0, 1, 3))
    )
    assert (aggregation.cells, aggregation.dimension, aggregation.is_plain) == (6, 12, False)
    assert Aggregation((col("x"),)).is_plain
    assert tuple(aggregation.group_sizes(7)) == (7,)
    assert tuple(Aggregation((lift(1),), users=groups(["a", "b", "c"], [0, 1, 1], (1, 2))).group_sizes(9)) == (1, 2)


@pytest.mark.parametrize("cells", [(), (("a",), ("a",)), (("a", "a"),)])
def test_cells_are_disjoint(cells: tuple[tuple[str, ...], ...]) -> None:
    with pytest.raises(UsageError, match="no value twice"):
        LabelAxis("kind", cells)


@pytest.mark.parametrize(("step", "size"), [(0.0, 3), (-1.0, 3), (float("inf"), 3), (float("nan"), 3), (1.0, 0)])
def test_an_axis_has_a_pitch_and_nodes(step: float, size: int) -> None:
    with pytest.raises(UsageError):
        HatAxis(col("x"), 0.0, step, size)
    with pytest.raises(UsageError, match="at least 3"):
        HatAxis(col("x"), 0.0, 1.0, 2, is_periodic=True)


@pytest.mark.parametrize(
    ("keys", "numbers", "sizes"),
    [
        (["a", "b"], [0, 0], ()),
        (["a", "b"], [0, 0], (2, 0)),
        (["a", "b"], [0, 1], (2,)),
        (["a", "b"], [0, 2], (1, 1)),
        (["a", "a"], [0, 1], (1, 1)),
        (["a", "b", "c"], [0, 1, 1], (2, 1)),
    ],
)
def test_groups_partition_their_users(keys: list[str], numbers: list[int], sizes: tuple[int, ...]) -> None:
    with pytest.raises(UsageError):
        groups(keys, numbers, sizes)


def test_a_weight_needs_a_cap_to_weigh_against() -> None:
    with pytest.raises(UsageError, match="needs a cap"):
        Aggregation((lift(1),), chosen=lift(1))
    with pytest.raises(UsageError, match="hold an expression"):
        Aggregation(())
