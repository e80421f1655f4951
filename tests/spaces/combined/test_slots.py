"""Bags filled up to slots: exact distances, and what one record, or some, can be apart."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import emdp
from emdp.base.errors import UsageError
from emdp.privacy import Change, change_distance, epsilon_for, protect
from emdp.spaces import Categories, Distances, Elsewhere, Interval, Product, from_json
from emdp.transport import d_em, d_em_pairs, solve_points

LABELS = ("a", "b", "c", "d")


def random_space(rng: np.random.Generator) -> tuple[Distances, np.ndarray]:
    points = rng.random((len(LABELS), int(rng.integers(1, 4))))
    matrix = np.abs(points[:, None, :] - points[None, :, :]).sum(axis=2)
    inner = Distances("x", list(LABELS), matrix.tolist(), diameter=float(matrix.max()))
    return inner, matrix / float(matrix.max())


def frame(counts: np.ndarray) -> pl.DataFrame:
    """A bag by its numbers of each label, and of records that are elsewhere last."""
    names = [name for name, count in zip((*LABELS, None), counts.tolist(), strict=True) for _ in range(count)]
    return pl.DataFrame(
        {"x": ["a" if name is None else name for name in names], "elsewhere": [name is None for name in names]},
        schema={"x": pl.String, "elsewhere": pl.Boolean},
    )


def filled(counts: np.ndarray, slots: int) -> np.ndarray:
    """The same as a distribution over the labels and the point, by hand."""
    known = counts[:-1]
    most = max(int(known.sum()), slots)
    return np.append(known, most - known.sum()) / most


def by_linear_program(p: np.ndarray, q: np.ndarray, costs: np.ndarray) -> float:
    size = len(p)
    rows = np.vstack([np.kron(np.eye(size), np.ones(size)), np.kron(np.ones(size), np.eye(size))])
    return float(linprog(costs.ravel(), A_eq=rows, b_eq=np.concatenate([p, q])).fun)


def extended(matrix: np.ndarray, rho: float) -> np.ndarray:
    size = len(matrix)
    made = np.full((size + 1, size + 1), rho)
    made[:size, :size], made[size, size] = matrix, 0.0
    return made


SPACES = pytest.mark.parametrize("spaces", [75, pytest.param(300, marks=pytest.mark.slow)])


@pytest.mark.slow
@SPACES
def test_distances_of_filled_bags_are_those_of_a_linear_program_on_300_random_spaces(spaces: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(spaces):
        inner, matrix = random_space(rng)
        rho, slots = float(rng.choice([0.5, 1.0, rng.uniform(0.5, 1)])), int(rng.integers(1, 9))
        space = Elsewhere(inner, rho, slots)
        left, right = (rng.integers(0, 3, len(LABELS) + 1) for _ in range(2))
        expected = by_linear_program(filled(left, slots), filled(right, slots), extended(matrix, rho))
        assert d_em(frame(left), frame(right), space) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@SPACES
def test_one_record_is_at_most_its_share_of_the_slots_on_300_random_spaces(spaces: int) -> None:
    rng = np.random.default_rng(2)
    above = 0
    for _ in range(spaces):
        inner, matrix = random_space(rng)
        rho, slots = float(rng.choice([0.5, 1.0])), int(rng.integers(1, 6))
        space = Elsewhere(inner, rho, slots)
        before = rng.integers(0, 3, len(LABELS) + 1)
        place, other = rng.choice(len(LABELS), 2, replace=False)
        after = before.copy()
        after[place] += 1
        found = d_em(frame(before), frame(after), space)
        assert found <= max(rho, 1.0) / slots + 1e-9
        if after[:-1].sum() <= slots:
            assert found == pytest.approx(rho / slots, abs=1e-9)
        above += found > rho / slots + 1e-9
        moved = after.copy()
        moved[place] -= 1
        moved[other] += 1
        assert d_em(frame(after), frame(moved), space) <= matrix[place, other] / slots + 1e-9
        # A record that has no item takes no slot.
        gone = before.copy()
        gone[-1] += 1
        assert d_em(frame(before), frame(gone), space) == pytest.approx(0, abs=1e-9)
    # rho/M alone, which holds below the slots, is not enough above them at half the distance.
    assert above > 0


def test_some_records_are_at_most_what_a_protection_says() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        inner, _ = random_space(rng)
        space = Elsewhere(inner, float(rng.choice([0.5, 1.0])), int(rng.integers(1, 8)))
        before = rng.integers(0, 4, len(LABELS) + 1)
        after = before.copy()
        count = int(rng.integers(1, 5))
        for _ in range(count):
            place = int(rng.integers(len(LABELS)))
            after[place] = max(after[place] + int(rng.choice([-1, 1])), 0)
        claimed = change_distance(Change(records=count, distance=emdp.ELSEWHERE, epsilon=1.0), space=space)
        assert d_em(frame(before), frame(after), space) <= claimed + 1e-9


def test_known_answers() -> None:
    line = Elsewhere(Interval("x", 0, 100), slots=100)
    # One record of a week of 100 slots, moved by the whole diameter, at alpha 20: 0.2, where the bag alone lost 20.
    assert d_em({"x": [0]}, {"x": [100]}, line) == pytest.approx(0.01)
    assert epsilon_for(20.0, Change(records=1, distance=100, epsilon=1.0), space=line) == 0.2
    assert protect(Change(records=1, distance=100, epsilon=0.2), space=line) == 20.0
    assert protect(Change(records=3, distance=5, epsilon=0.2), space=line) == pytest.approx(0.2 / (0.03 * 0.05))
    assert protect(Change(1, emdp.ELSEWHERE, 1), space=line) == 1.0
    assert change_distance(Change(records=200, distance=5, epsilon=1.0), space=line) == 0.05
    listed = Elsewhere(Categories("x", ["a", "b"]), slots=2)
    assert listed.structure == "discrete"
    assert d_em({"x": ["a"]}, {"x": ["a", "b"]}, listed) == 0.5
    assert d_em({"x": ["a"]}, {"x": ["b", "b", "a", "a"]}, listed) == 0.5
    small = Elsewhere(Interval("x", 0, 10), slots=2)
    bags = [{"x": []}, {"x": [3]}, {"x": [3, 3]}, {"x": [3, 3, 3]}, {"x": [3, 3, 8]}]
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    assert d_em_pairs(bags, pairs, small).tolist() == pytest.approx([0.5, 0.5, 0, 1 / 6, 1])


def test_weights_are_numbers_of_records() -> None:
    space = Elsewhere(Interval("x", 0, 10), slots=4)
    assert d_em({"x": [2], "weight": [3]}, {"x": [2, 2, 2]}, space) == 0
    assert d_em({"x": [2], "weight": [1.5]}, {"x": [2]}, space) == pytest.approx(0.125)
    assert solve_points(np.array([[2.0]]), np.array([[2.0], [7.0]]), space) == pytest.approx(0.25)


def test_it_is_stated_and_rebuilt() -> None:
    space = Elsewhere(Product(Interval("x", 0, 1), Interval("y", 0, 1)), 0.5, 7)
    assert from_json(space.to_json()) == space
    assert from_json(space.to_json()) != Elsewhere(space.inner, 0.5)
    assert repr(space).endswith("0.5, 7)")
    assert space.slots == 7
    assert "slots" not in Elsewhere(Interval("x", 0, 1)).to_json()


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, math.nan, math.inf, 2**31, "3"])
def test_other_numbers_of_slots_are_refused(wrong: object) -> None:
    with pytest.raises(UsageError, match="slots"):
        Elsewhere(Interval("x", 0, 1), 1.0, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"fraction": 0.1, "records": 2}, "fraction and records"),
        ({"records": 0}, "records must be"),
        ({"records": 1.5}, "records must be"),
        ({}, "fraction must be"),
    ],
)
def test_changes_say_how_much_once(more: dict[str, float], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Change(distance=1.0, epsilon=1.0, **more)  # type: ignore[arg-type]


def test_records_need_slots() -> None:
    change = Change(records=3, distance=5, epsilon=0.2)
    for space in (Interval("x", 0, 10), Elsewhere(Interval("x", 0, 10))):
        with pytest.raises(UsageError, match="slots=20"):
            protect(change, space=space)
    assert Fraction(change.epsilon) > 0
