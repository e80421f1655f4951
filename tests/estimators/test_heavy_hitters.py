"""Lists of frequent items: every statement tried on all errors within the width, and coverage of an oracle's lists."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.errors import UsageError
from emdp.estimators.heavy_hitters import items_above, top_items, top_of_tally
from emdp.mechanisms.oracle_bags import Bags
from emdp.mechanisms.oracle_hadamard_bit import OneBitHadamardOracle
from emdp.testing import seeded

shares = st.lists(st.integers(0, 20).map(lambda x: x / 20), min_size=1, max_size=6)


@given(shares, st.integers(0, 4).map(lambda x: x / 20), st.integers(1, 6), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=300)
def test_statements_hold_for_every_error_within_the_width(
    truth: list[float], width: float, count: int, seed: int
) -> None:
    frequencies, rng, count = np.array(truth), np.random.default_rng(seed), min(count, len(truth))
    # Errors at the ends are the worst ones.
    estimates = frequencies + width * rng.choice([-1, -0.5, 0, 1], size=len(truth))
    slack = 1e-12
    top = top_items(estimates, width + slack, count=count, failure=0.1)
    assert len(top.codes) == count
    assert set(np.flatnonzero(frequencies > top.complete_above)) <= set(top.codes.tolist())
    assert (frequencies[top.codes] >= top.none_below).all()
    for code in top.codes[top.is_certain]:
        assert (frequencies > frequencies[code]).sum() < count
        assert (frequencies >= frequencies[code]).sum() <= count
    for threshold in (0.1, 0.3, 0.5):
        found = items_above(estimates, width + slack, threshold=threshold, failure=0.1)
        assert set(np.flatnonzero(frequencies >= threshold)) <= set(found.codes.tolist())
        assert (frequencies[found.codes] >= found.none_below).all()
        assert found.none_below == pytest.approx(threshold - 2 * width, abs=1e-9)
        assert (frequencies[found.codes[found.is_certain]] >= threshold).all()


def test_the_bounds_are_attained() -> None:
    # Signs of all errors are tried: the least frequent listed item is 2 w below the threshold, and no less.
    truth, width, least = np.array([0.5, 0.3, 0.2, 0.1]), 0.1, 1.0
    for signs in itertools.product((-1, 1), repeat=4):
        found = items_above(truth + width * np.array(signs), width, threshold=0.4 - 1e-9, failure=0.1)
        least = min(least, truth[found.codes].min())
    assert least == 0.2


def test_lists_from_an_oracle_hold_more_often_than_stated() -> None:
    # failure = 0.2 of 200 lists: 40 may fail; a width of half of it fails in most of them.
    oracle = OneBitHadamardOracle(64, 5000, 1.0)
    frequencies = 0.9 ** np.arange(64)
    frequencies = np.floor(5000 * frequencies / frequencies.sum())
    frequencies[0] += 5000 - frequencies.sum()
    bags, truth = Bags.of_items(np.repeat(np.arange(64), frequencies.astype(int))), frequencies / 5000
    failed = narrow = 0
    with seeded(1):
        for _ in range(200):
            tally = oracle.draw_tally(bags)
            top = top_of_tally(oracle, tally, count=5, failure=0.2)
            errors = np.abs(oracle.decode(tally) - truth).max()
            narrow += errors > top.half_width / 2
            missed = set(np.flatnonzero(truth > top.complete_above)) - set(top.codes.tolist())
            failed += bool(missed) or bool((truth[top.codes] < top.none_below).any())
    assert failed <= 40
    assert narrow > 100


def test_a_list_of_all_items_misses_none() -> None:
    top = top_items([0.5, 0.5], 0.1, count=2, failure=0.1)
    assert top.complete_above == -np.inf
    assert top.is_certain.all()


@pytest.mark.parametrize(
    ("changed", "named"),
    [({"count": 3}, "count"), ({"count": 0}, "count"), ({"failure": 0}, "failure"), ({"half_width": -1}, "half_width")],
)
def test_refusals(changed: dict[str, float], named: str) -> None:
    arguments = {"half_width": 0.1, "count": 1, "failure": 0.1, **changed}
    with pytest.raises(UsageError, match=named):
        top_items([0.5, 0.5], **arguments)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="threshold"):
        items_above([0.5], 0.1, threshold=np.nan, failure=0.1)
