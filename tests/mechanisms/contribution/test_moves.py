"""How far one user moves a statistic: all pairs of small bags, no bound exceeded, all attained."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.contribution.moves import (
    Move,
    layout_move,
    norm_cap_move,
    sparse_move,
    sum_move,
)
from emdp.privacy.guarantees.kinds import Neighbours

Row = tuple[int, int]
"""A key and a value of a record."""
Vector = Sequence[Fraction]

KEYS = (0, 1, 2)
CAP = 2


def bags(keys: Sequence[int], values: Sequence[int], most: int) -> list[tuple[Row, ...]]:
    rows = list(product(keys, values))
    return [bag for size in range(most + 1) for bag in combinations_with_replacement(rows, size)]


def moved(statistic: Callable[[tuple[Row, ...]], Vector], known: list[tuple[Row, ...]], neighbours: Neighbours) -> Move:
    """Return the largest moves over all pairs, of which by removal one bag is empty."""
    vectors = [statistic(bag) for bag in known]
    others = [statistic(())] if neighbours == "remove" else vectors
    first = max(sum(abs(x - y) for x, y in zip(v, w, strict=True)) for v in vectors for w in others)
    square = max(sum((x - y) ** 2 for x, y in zip(v, w, strict=True)) for v in vectors for w in others)
    return Move(Fraction(first), Fraction(square))


def weight(bag: tuple[Row, ...]) -> Fraction:
    return min(Fraction(1), Fraction(CAP, len(bag))) if bag else Fraction(1)


def by_key(bag: tuple[Row, ...]) -> Vector:
    return [weight(bag) * sum(key == own for own, _ in bag) for key in KEYS]


def ends(bag: tuple[Row, ...]) -> Vector:
    """Ends of values in [-1, 2] by key: e - a and b - e, together 3 a record."""
    parts = [[value + 1 if end else 2 - value for own, value in bag if own == key] for key in KEYS for end in (0, 1)]
    return [weight(bag) * sum(part) for part in parts]


def bernstein(bag: tuple[Row, ...]) -> Vector:
    """Bernstein sums of degree 2 of values in [-1, 2] by key."""
    found = []
    for key, j in product(KEYS, range(3)):
        shares = [Fraction(value + 1, 3) for own, value in bag if own == key]
        found.append(weight(bag) * sum((math.comb(2, j) * x**j * (1 - x) ** (2 - j) for x in shares), Fraction(0)))
    return found


def simplex(bag: tuple[Row, ...]) -> Vector:
    """Simplex layout of two arguments: a value, and the value of the record's key."""
    pairs = [(Fraction(value + 1, 3), Fraction(key, 2)) for key, value in bag]
    return [
        weight(bag) * sum((x / 2 for x, _ in pairs), Fraction(0)),
        weight(bag) * sum((y / 2 for _, y in pairs), Fraction(0)),
        weight(bag) * sum((1 - (x + y) / 2 for x, y in pairs), Fraction(0)),
    ]


def total(bag: tuple[Row, ...]) -> Vector:
    return [weight(bag) * sum(value for _, value in bag)]


def count(bag: tuple[Row, ...]) -> Vector:
    return [weight(bag) * len(bag)]


def people(bag: tuple[Row, ...]) -> Vector:
    """The first two keys of a user, 1 each."""
    chosen = sorted({own for own, _ in bag})[:2]
    return [Fraction(key in chosen) for key in KEYS]


def people_by_weights(bag: tuple[Row, ...]) -> Vector:
    own = {key for key, _ in bag}
    return [min(Fraction(1), Fraction(2, len(own))) if key in own else Fraction(0) for key in KEYS]


def records_of_keys(bag: tuple[Row, ...]) -> Vector:
    """The first two keys, at most three records in each."""
    chosen = sorted({own for own, _ in bag})[:2]
    return [Fraction(min(3, sum(own == key for own, _ in bag)) if key in chosen else 0) for key in KEYS]


LAYOUT = {"remove": (2, 2), "replace": (4, math.sqrt(8))}
CASES: list[
    tuple[Callable[[tuple[Row, ...]], Vector], int, Callable[[Neighbours], Move], dict[str, tuple[float, float]]]
]
CASES = [
    (by_key, 3, lambda relation: layout_move(CAP, 3, relation), LAYOUT),
    (count, 3, lambda relation: layout_move(CAP, 1, relation), {"remove": (2, 2), "replace": (2, 2)}),
    (ends, 2, lambda relation: layout_move(3 * CAP, 6, relation), {"remove": (6, 6), "replace": (12, math.sqrt(72))}),
    (bernstein, 2, lambda relation: layout_move(CAP, 9, relation), LAYOUT),
    (simplex, 2, lambda relation: layout_move(CAP, 3, relation), {}),
    (
        total,
        3,
        lambda relation: sum_move(CAP, Fraction(-1), Fraction(2), relation),
        {"remove": (4, 4), "replace": (6, 6)},
    ),
    (
        people,
        3,
        lambda relation: sparse_move(1, 2, 3, relation),
        {"remove": (2, math.sqrt(2)), "replace": (3, math.sqrt(3))},
    ),
    (people_by_weights, 3, lambda relation: sparse_move(1, 2, 3, relation), {}),
]


@pytest.mark.quarter
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_moves_are_those_of_all_pairs_of_bags(case: tuple, neighbours: Neighbours) -> None:
    statistic, most, bound, known = case
    reached, claimed = (
        moved(statistic, bags(KEYS, (-1, 0, 2) if most < 3 else (-1, 2), most), neighbours),
        bound(neighbours),
    )
    assert reached.first <= claimed.first
    assert reached.square <= claimed.square
    if known:
        assert reached == claimed
        assert claimed.norms == pytest.approx(known[neighbours], rel=1e-12)
        assert claimed.norms >= known[neighbours]


@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_records_of_some_keys(neighbours: Neighbours) -> None:
    reached = moved(records_of_keys, bags(KEYS, (0,), 6), neighbours)
    assert reached == sparse_move(3, 2, 3, neighbours)
    assert sparse_move(3, 2, None, "replace") == Move(Fraction(12), Fraction(36))


def test_a_cap_of_the_second_norm() -> None:
    capped = [
        (Fraction(2), Fraction(0)),
        (Fraction(0), Fraction(2)),
        (Fraction(6, 5), Fraction(8, 5)),
        (Fraction(1), Fraction(0)),
    ]
    assert all(x * x + y * y <= 4 for x, y in capped)
    moves = [(x - a) ** 2 + (y - b) ** 2 for x, y in capped for a, b in capped]
    assert max(moves) == norm_cap_move(2, 2, "replace").square == 8
    assert norm_cap_move(2, 2, "remove").square == 4
    assert max(abs(x - a) + abs(y - b) for x, y in capped for a, b in capped) <= norm_cap_move(2, 2, "replace").first
    assert norm_cap_move(2, 1, "replace").square == 4


def test_the_weights_of_records_do_not_cap_the_number_of_keys() -> None:
    # A cap on records bounds the 1-norm alone: all of them may be of one key.
    assert layout_move(50, 100, "remove").square == 2500


def test_refusals() -> None:
    for call in (
        lambda: layout_move(2.0, 3, "replace"),  # type: ignore[arg-type]
        lambda: layout_move(-1, 3, "replace"),
        lambda: layout_move(2, 3, "add"),  # type: ignore[arg-type]
        lambda: sparse_move(1, 0, 3, "replace"),
        lambda: sum_move(1, Fraction(1), Fraction(0), "replace"),
    ):
        with pytest.raises(UsageError):
            call()
