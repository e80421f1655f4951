"""Moves of symbols with keys: what a tier keeps of the truth, and which weights are refused."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.items.moves import GivenMoves, move_weights
from emdp.mechanisms.weights import TOTAL
from emdp.testing import seeded


@pytest.mark.parametrize("items", [2, 3, 10])
def test_no_tier_keeps_more_than_its_part_and_hardly_less(items: int) -> None:
    parts = [Fraction(9, 10), Fraction(1, 2), Fraction(499, 1000), Fraction(1, 10**9)]
    moves = GivenMoves(items, move_weights(items, parts))
    for tier, part in enumerate(parts, 1):
        assert 0 <= part - moves.kept(tier) < Fraction(4 * items, TOTAL)


@pytest.mark.parametrize(
    "parts", [[1], [Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 2), 1], [0], [-1], [Fraction(1, 2**70)]]
)
def test_parts_that_no_weights_have_are_refused(parts: Any) -> None:
    with pytest.raises(RefusedError):
        move_weights(2, parts)


@pytest.mark.parametrize("weights", [(), (0,), (TOTAL,), (1.0,)])
def test_weights_that_are_none_are_refused(weights: Any) -> None:
    with pytest.raises(UsageError):
        GivenMoves(2, weights)


def test_each_call_has_keys_of_its_own() -> None:
    moves = GivenMoves(7, move_weights(7, [Fraction(1, 2), Fraction(1, 4)]))
    with seeded(1):
        (one, (first,)), (other, (second,)) = (moves.encode(np.zeros(2000, dtype=np.int64)) for _ in range(2))
    # Independent keys of seven symbols agree in about a third of the places, for half of them are 0.
    assert 0.2 < float((first == second).mean()) < 0.6
    assert 0.1 < float((one == other).mean()) < 0.5
