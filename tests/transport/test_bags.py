"""Numbering, merging, normalising and cancelling: against plain dictionaries of fractions."""

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.transport.bags import bag_from_items, check_weights, common_units, item_ids, measures
from emdp.transport.cancel import cancel_common

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 4), st.sampled_from([1, 2, 5, 1000]))
@settings(deadline=None, max_examples=150)
def test_item_ids_number_equal_rows_alike(seed: int, width: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    items = rng.integers(-values, values, (rng.integers(1, 30), width)) / 8
    items[rng.random(items.shape) < 0.1] *= -0.0
    ids = item_ids(items)
    rows = [tuple(row) for row in (items + 0.0).tolist()]
    assert len(set(zip(ids.tolist(), rows, strict=True))) == len(set(rows)) == len(set(ids.tolist()))
    assert set(ids.tolist()) == set(range(len(set(rows))))


def exact_shares(bag: Any) -> dict[Any, Fraction]:
    shares: dict[Any, Fraction] = defaultdict(Fraction)
    for item, weight in zip((bag.items + 0.0).tolist(), bag.weights.tolist(), strict=True):
        shares[tuple(item)] += Fraction(weight)
    total = sum(shares.values())
    return {item: mass / total for item, mass in shares.items() if mass}


@given(seeds, st.booleans())
@settings(deadline=None, max_examples=150)
def test_what_is_left_is_the_difference_of_the_shares(seed: int, counts: bool) -> None:
    rng = np.random.default_rng(seed)
    bags = []
    for _ in range(2):
        n = int(rng.integers(1, 40))
        weights = rng.integers(0, 4, n) + (np.arange(n) == 0) if counts else rng.random(n)
        bags.append(bag_from_items("P", rng.integers(0, 5, (n, 2)).astype(float), weights))
    p, q = measures(bags)
    left = cancel_common(p, q)
    exact_p, exact_q = map(exact_shares, bags)
    for positions, masses, measure, one, other in (
        (left.sources, left.supply, p, exact_p, exact_q),
        (left.targets, left.demand, q, exact_q, exact_p),
    ):
        expected = {item: share - other.get(item, Fraction(0)) for item, share in one.items()}
        expected = {item: share for item, share in expected.items() if share > 0}
        found = {
            tuple(item): mass
            for item, mass in zip((measure.items[positions] + 0.0).tolist(), masses.tolist(), strict=True)
        }
        if counts:
            assert left.whole
            assert {item: Fraction(mass) / Fraction(left.total) for item, mass in found.items()} == expected
        else:
            for item in set(found) | set(expected):
                assert found.get(item, 0.0) == pytest.approx(float(expected.get(item, 0)), abs=1e-15)
    assert left.supply.sum() == pytest.approx(left.moved, rel=1e-14)
    assert left.demand.sum() == pytest.approx(left.moved, rel=1e-14)


def test_many_bags_of_few_items_each_are_merged_alike() -> None:
    # More numbers than a table for each bag would be good for.
    rng = np.random.default_rng(0)
    bags = [bag_from_items("P", rng.integers(0, 3000, (3, 1)).astype(float), None) for _ in range(1000)]
    together = measures(bags)
    numbers: dict[float, int] = {}
    for bag, measure in zip(bags, together, strict=True):
        own = dict(zip(measure.items[:, 0].tolist(), measure.masses.tolist(), strict=True))
        assert own == {float(v): float((bag.items == v).sum()) for v in np.unique(bag.items)}
        for value, number in zip(measure.items[:, 0].tolist(), measure.ids.tolist(), strict=True):
            assert numbers.setdefault(value, number) == number
        assert (np.diff(measure.ids) > 0).all()
    assert len(set(numbers.values())) == len(numbers)


def test_units_stay_whole_only_where_floats_hold_them() -> None:
    assert common_units(6.0, 4.0, True) == (2.0, 3.0, 12.0, True)
    assert common_units(1.0, 1.0, True) == (1.0, 1.0, 1.0, True)
    primes = 94906249.0, 94906267.0
    assert common_units(*primes, True).whole
    assert not common_units(primes[0] * 8, primes[1] * 9, True).whole


def test_weights_are_whole_only_where_their_sum_is_exact() -> None:
    assert check_weights("w", [2, 3], 2)[1]
    assert not check_weights("w", [2.0**52, 2.0**52], 2)[1]
    assert not check_weights("w", [0.5, 1], 2)[1]
    scaled, whole = check_weights("w", [1e308, 5e307], 2)
    assert (scaled.tolist(), whole) == ([1.0, 0.5], False)
