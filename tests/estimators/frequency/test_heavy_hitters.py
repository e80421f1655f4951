"""Lists of frequent items: every statement tried on all frequencies within intervals, and coverage of whole lists."""

import itertools

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.estimators.frequency.heavy_hitters import FrequentItems, items_above, top_items
from emdp.estimators.frequency.rows import top_rows
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.subset import SubsetOracle
from emdp.mechanisms.oracles.unary import UnaryOracle
from emdp.testing import seeded

Floats = npt.NDArray[np.float64]

eighths = st.integers(0, 8).map(lambda x: x / 8)
items = st.lists(st.tuples(eighths, eighths, st.sampled_from([-1.0, 0.0, 0.25, 1.0])), min_size=1, max_size=5)


def wrong_of_top(top: FrequentItems, truth: Floats, count: int) -> bool:
    """Say whether some statement on the top is wrong of these frequencies."""
    listed = set(top.codes.tolist())
    missed = set(np.flatnonzero(truth > top.complete_above).tolist()) - listed
    below = (truth[top.codes] < top.none_below).any()
    unsure = any((truth >= truth[code]).sum() > count for code in top.codes[top.is_certain])
    return bool(missed or below or unsure)


@given(items, st.integers(1, 5), st.integers(0, 8).map(lambda x: x / 8))
@settings(deadline=None, max_examples=100)
def test_statements_hold_for_all_frequencies_within_the_intervals(
    found: list[tuple[float, float, float]], count: int, threshold: float
) -> None:
    # The statements are of orders alone, so that frequencies at the ends and between them are all that there are.
    ends, other, place = np.array(found).T
    low, high, count = np.minimum(ends, other), np.maximum(ends, other), min(count, len(found))
    # Some estimates lie outside their intervals, as where these are cut off at 0.
    estimates = low + place * (high - low + 0.125)
    top = top_items(estimates, low, high, count=count, failure=0.1)
    above = items_above(estimates, low, high, threshold=threshold, failure=0.1)
    assert len(top.codes) == count
    assert (np.diff(top.estimates) <= 0).all()
    for each in itertools.product(*zip(low, (low + high) / 2, high, strict=True)):
        truth = np.array(each)
        assert not wrong_of_top(top, truth, count)
        assert set(np.flatnonzero(truth >= threshold)) <= set(above.codes.tolist())
        assert (truth[above.codes] >= above.none_below).all()
        assert (truth[above.codes[above.is_certain]] >= threshold).all()


@given(items, st.integers(1, 5), st.integers(0, 8).map(lambda x: x / 8))
@settings(deadline=None, max_examples=100)
def test_nothing_that_is_sure_is_left_unsaid(
    found: list[tuple[float, float, float]], count: int, threshold: float
) -> None:
    """Every bound is attained, and an item without a mark is not among the top of some frequencies."""
    ends, other, _ = np.array(found).T
    low, high, count = np.minimum(ends, other), np.maximum(ends, other), min(count, len(found))
    top = top_items((low + high) / 2, low, high, count=count, failure=0.1)
    above = items_above((low + high) / 2, low, high, threshold=threshold, failure=0.1)
    rest = np.setdiff1d(np.arange(len(found)), top.codes)
    assert top.none_below == low[top.codes].min()
    assert top.complete_above == (high[rest].max() if rest.size else -np.inf)
    for code in top.codes[~top.is_certain]:
        worst = np.where(np.arange(len(found)) == code, low, high)
        assert (worst >= worst[code]).sum() > count
    assert (low[above.codes[~above.is_certain]] < threshold).all()
    assert (high[above.codes] >= threshold).all()


def test_one_width_says_what_a_common_bound_of_errors_does() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        estimates, width, count = rng.integers(0, 64, 6) / 64, float(rng.integers(1, 8)) / 64, int(rng.integers(1, 6))
        top = top_items(estimates, estimates - width, estimates + width, count=count, failure=0.1)
        falling = np.sort(estimates)[::-1]
        np.testing.assert_array_equal(top.is_certain, top.estimates - falling[count] > 2 * width)
        assert top.complete_above == falling[count] + width <= top.estimates[-1] + width
        assert top.none_below == top.estimates[-1] - width
        found = items_above(estimates, estimates - width, estimates + width, threshold=0.5, failure=0.1)
        assert (found.estimates >= 0.5 - width).all()
        assert found.none_below >= 0.5 - 2 * width


def test_each_item_has_its_own_width() -> None:
    """A frequent item with a wide interval costs the rare ones nothing, as the widest interval for all did."""
    estimates, width = np.array([0.7, 0.1, 0.05, 0.01]), np.array([0.2, 0.01, 0.01, 0.01])
    frame = pl.DataFrame({"f": estimates, "f_low": estimates - width, "f_high": estimates + width})
    top = top_rows(frame, "f", 2, 0.05)
    assert top.frame["f_is_certain"].to_list() == [True, True]
    assert [top.complete_above, top.none_below] == pytest.approx([0.06, 0.09])
    widest = top_items(estimates, estimates - 0.2, estimates + 0.2, count=2, failure=0.05)
    assert widest.is_certain.tolist() == [True, False]
    assert [widest.complete_above, widest.none_below] == pytest.approx([0.25, -0.1])


def test_an_empty_list_says_nothing() -> None:
    found = items_above([0.1, 0.2], [0.0, 0.1], [0.2, 0.3], threshold=0.5, failure=0.1)
    assert found.codes.size == found.is_certain.size == 0
    assert (found.complete_above, found.none_below) == (0.5, 0.5)


@pytest.mark.parametrize("kind", [UnaryOracle, SubsetOracle])
def test_lists_from_an_oracle_hold_more_often_than_stated(kind: type[UnaryOracle] | type[SubsetOracle]) -> None:
    """With failure = 0.2, of 200 lists 40 may be wrong in any statement; with two fifths of the width most are."""
    oracle, count = kind(20, 5000, 3.0), 6
    frequencies = np.floor(5000 * 0.8 ** np.arange(20) / (0.8 ** np.arange(20)).sum())
    frequencies[0] += 5000 - frequencies.sum()
    bags, truth = Bags.of_items(np.repeat(np.arange(20), frequencies.astype(int))), frequencies / 5000
    failed = narrow = certain = widest = 0
    width = oracle.interval(0.8, together=True)
    with seeded(1):
        for _ in range(200):
            tally = oracle.draw_tally(bags)
            estimates = oracle.decode(tally)
            low, high = oracle.intervals(estimates, 0.8, together=True)
            top = top_items(estimates, low, high, count=count, failure=0.2)
            failed += wrong_of_top(top, truth, count)
            certain += int(top.is_certain.sum())
            reach = np.where(truth < estimates, estimates - low, high - estimates)
            narrow += bool((np.abs(truth - estimates) > 0.4 * reach).any())
            common = top_items(estimates, estimates - width, estimates + width, count=count, failure=0.2)
            widest += int(common.is_certain.sum())
    assert failed <= 40
    assert narrow > 100
    assert certain > widest > 0


def test_lists_fail_as_often_as_their_intervals() -> None:
    """Power: of intervals that each fail with a known chance, a list says something wrong nearly as often.

    Two items, apart by less than the noise: where the interval of the listed one fails, ``none_below`` is wrong.
    """
    rng, failures, narrow = np.random.default_rng(3), 0, 0
    width = -np.log(0.05)
    for _ in range(4000):
        estimates = np.array([0.5, 0.5]) + rng.laplace(size=2)
        for factor in (1.0, 0.5):
            top = top_items(estimates, estimates - factor * width, estimates + factor * width, count=1, failure=0.0975)
            wrong = wrong_of_top(top, np.array([0.5, 0.5]), 1)
            failures, narrow = failures + wrong * (factor == 1.0), narrow + wrong * (factor == 0.5)
    # 0.0975 of 4000 are 390, with a standard deviation of 19.
    assert failures <= 390 + 4 * 19
    assert narrow > 390 + 10 * 19


def test_a_list_of_all_items_misses_none() -> None:
    top = top_items([0.5, 0.5], [0.4, 0.4], [0.6, 0.6], count=2, failure=0.1)
    assert top.complete_above == -np.inf
    assert top.is_certain.all()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"count": 3}, "count"), ({"count": 0}, "count"), ({"failure": 0}, "failure"),
        ({"low": [0.4]}, "low must be 2"),
        ({"high": [0.5, np.nan]}, "high must be 2"), ({"low": [0.4, 0.7]}, "low must be at most high"),
        ({"estimates": [0.5, np.inf]}, "estimates"),
    ],
)  # fmt: skip
def test_refusals(changed: dict[str, object], named: str) -> None:
    ends = {"estimates": [0.5, 0.5], "low": [0.4, 0.4], "high": [0.6, 0.6]}
    with pytest.raises(UsageError, match=named):
        top_items(**{**ends, "count": 1, "failure": 0.1, **changed})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="threshold"):
        items_above(**ends, threshold=np.nan, failure=0.1)
