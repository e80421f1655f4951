"""The point elsewhere: a metric at any distance in [1/2, 1], exact distances of bags, rows of frames that are there."""

import pickle

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

from emdp.base.errors import InvalidItemError, UsageError
from emdp.spaces import (
    Categories,
    Clusters,
    Distances,
    Elsewhere,
    Interval,
    Product,
    count_items,
    finite_items,
    from_json,
    item_codes,
)
from emdp.transport import d_em, d_em_pairs, plan

LABELS = ("a", "b", "c", "d", "e")


def random_space(rng: np.random.Generator) -> Distances:
    points = rng.random((len(LABELS), int(rng.integers(1, 4))))
    matrix = np.abs(points[:, None, :] - points[None, :, :]).sum(axis=2)
    largest = float(matrix.max())
    return Distances("x", list(LABELS), matrix.tolist(), diameter=largest * float(rng.choice([1.0, 1.0, 0.6])))


def violates(matrix: np.ndarray) -> bool:
    return bool((matrix[:, None, :] > matrix[:, :, None] + matrix[None, :, :] + 1e-12).any())


def extended(matrix: np.ndarray, rho: float) -> np.ndarray:
    """The matrix with one more point, by hand."""
    size = len(matrix)
    made = np.full((size + 1, size + 1), rho)
    made[:size, :size], made[size, size] = matrix, 0.0
    return made


SPACES = pytest.mark.parametrize("spaces", [75, pytest.param(300, marks=pytest.mark.slow)])


def test_the_lemma_on_300_random_spaces() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        inner = random_space(rng)
        items = finite_items(inner)
        assert items is not None
        matrix = inner.distances(items, items)
        half = float(matrix.max()) / 2
        for rho in (half * 0.999, half * 1.001, 0.5, float(rng.uniform(0.5, 1)), 1.0):
            assert violates(extended(matrix, rho)) == (rho < half)
        rho = float(rng.uniform(0.5, 1))
        space = Elsewhere(inner, rho)
        both = finite_items(space)
        assert both is not None
        assert np.array_equal(space.distances(both, both), extended(matrix, rho))


@pytest.mark.slow
@SPACES
def test_distances_of_bags_are_those_of_a_linear_program_on_300_random_spaces(spaces: int) -> None:
    rng = np.random.default_rng(2)
    for _ in range(spaces):
        inner = random_space(rng)
        rho = float(rng.choice([0.5, 1.0, rng.uniform(0.5, 1)]))
        space = Elsewhere(inner, rho)
        items = finite_items(inner)
        assert items is not None
        costs = extended(inner.distances(items, items), rho)
        left, right = (rng.integers(0, 4, len(LABELS) + 1) for _ in range(2))
        left[rng.integers(6)] += 1
        right[rng.integers(6)] += 1
        p, q = left / left.sum(), right / right.sum()
        found = d_em(bag(left), bag(right), space)
        assert found == pytest.approx(by_linear_program(p, q, costs), abs=1e-9)
        moves = plan(bag(left), bag(right), space)
        assert (moves.get_column("mass") * moves.get_column("distance")).sum() == pytest.approx(found, abs=1e-9)


def bag(counts: np.ndarray) -> dict[str, list[object]]:
    names = [name for name, count in zip((*LABELS, None), counts.tolist(), strict=True) for _ in range(count)]
    return {"x": ["a" if name is None else name for name in names], "elsewhere": [name is None for name in names]}


def by_linear_program(p: np.ndarray, q: np.ndarray, costs: np.ndarray) -> float:
    size = len(p)
    rows = np.vstack([np.kron(np.eye(size), np.ones(size)), np.kron(np.ones(size), np.eye(size))])
    return float(linprog(costs.ravel(), A_eq=rows, b_eq=np.concatenate([p, q])).fun)


def test_inside_the_space_nothing_changes() -> None:
    rng = np.random.default_rng(3)
    inner = Interval("x", 0, 10)
    for rho in (0.5, 1.0):
        for _ in range(20):
            one, two = {"x": 10 * rng.random(4)}, {"x": 10 * rng.random(3)}
            assert d_em(one, two, Elsewhere(inner, rho)) == pytest.approx(d_em(one, two, inner), abs=1e-12)


def test_known_answers() -> None:
    space = Elsewhere(Interval("x", 0, 1, on_invalid="elsewhere"))
    assert d_em({"x": [0, 0, None]}, {"x": [0, None, None]}, space) == pytest.approx(1 / 3)
    for rho in (0.5, 0.75, 1.0):
        space = Elsewhere(Interval("x", 0, 1, on_invalid="elsewhere"), rho)
        assert d_em({"x": []}, {"x": [0, 0.3, 1]}, space) == pytest.approx(rho)
        assert d_em({"x": []}, {"x": [None, 7, -1]}, space) == 0
        bags = [{"x": []}, {"x": [0.5]}, {"x": [0.5, None]}]
        assert d_em_pairs(bags, [(0, 1), (1, 2)], space).tolist() == pytest.approx([rho, rho / 2])


@pytest.mark.parametrize("rho", [0.4999, 1.0001, -1, 0, float("nan"), float("inf")])
def test_other_distances_are_refused(rho: float) -> None:
    with pytest.raises(UsageError, match="elsewhere must be"):
        Elsewhere(Interval("x", 0, 1), rho)


def test_it_is_declared_once_and_for_whole_items() -> None:
    space = Elsewhere(Interval("x", 0, 1))
    with pytest.raises(UsageError, match="declare it once"):
        Elsewhere(space)
    with pytest.raises(UsageError, match="wrap the Product"):
        Product(space, Interval("y", 0, 1))
    with pytest.raises(UsageError, match=r"emdp\.Space"):
        Elsewhere("x")  # type: ignore[arg-type]


def test_a_part_that_is_invalid_takes_the_whole_record_there_and_others_are_mended_first() -> None:
    parts = (Interval("x", 0, 10, on_invalid="elsewhere"), Categories("kind", ["a", "b"], on_invalid="neutral"))
    space = Elsewhere(Product(*parts))
    items = space.encode({"x": [1, 99, None, 3], "kind": ["b", "b", "zoo", None]})
    assert space.is_elsewhere(items).tolist() == [False, True, True, False]
    assert items[[0, 3]].tolist() == [[1.0, 1.0], [3.0, 0.0]]
    assert space.decode(items) == {
        "x": [1.0, None, None, 3.0],
        "kind": ["b", None, None, "a"],
        "elsewhere": [False, True, True, False],
    }
    assert np.array_equal(space.encode(pl.DataFrame(space.decode(items))), items, equal_nan=True)


def test_a_space_that_is_not_told_refuses_the_rows() -> None:
    with pytest.raises(InvalidItemError, match="elsewhere=1"):
        Interval("x", 0, 1, on_invalid="elsewhere").encode({"x": [2]})
    with pytest.raises(UsageError, match="true or false"):
        Elsewhere(Interval("x", 0, 1)).encode({"x": [0.5], "elsewhere": [None]})
    with pytest.raises(InvalidItemError, match="repair them"):
        Elsewhere(Interval("x", 0, 1)).encode({"x": [2]})


def test_it_survives_json_and_pickling() -> None:
    space = Elsewhere(Product(Interval("x", 0, 10, on_invalid="elsewhere").weighted(9), Categories("k", ["a"])), 0.75)
    assert from_json(space.to_json()) == space == pickle.loads(pickle.dumps(space))
    assert space != Elsewhere(space.inner)
    assert hash(space) == hash(from_json(space.to_json()))
    assert repr(space) == f"Elsewhere({space.inner!r}, 0.75)"
    with pytest.raises(UsageError, match="is no key"):
        from_json({"kind": "elsewhere", "inner": space.inner.to_json(), "rho": 1})


def test_listed_values_stay_discrete_at_distance_1_alone() -> None:
    kinds = Categories("kind", ["a", "b"])
    assert Elsewhere(kinds).structure == "discrete"
    assert Elsewhere(kinds, 0.5).structure == "general"
    assert Elsewhere(Clusters("x", {"a": "p", "b": "p"}, 0.2)).structure == "general"


def test_it_is_the_last_of_the_items() -> None:
    space = Elsewhere(Product(Categories("a", [1, 2]), Categories("b", ["x", "y"])))
    items = finite_items(space)
    assert items is not None
    assert count_items(space) == len(items) == 5
    assert item_codes(space, items).tolist() == [0, 1, 2, 3, 4]
    assert item_codes(space, space.neutral_item).tolist() == [4]
