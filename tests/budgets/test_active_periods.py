"""Why no cap on active periods is kept: what it would promise, checked by enumeration, and what breaks it.

A cap keeps a person's first ``k`` periods with records, and takes the rest for elsewhere. It reads what somebody did
before, period by period, for ever.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from emdp.base.errors import ReportError
from emdp.reports.checking import check_definition

AWAY = None
Bag = tuple[float | None, ...]


def distance(one: Bag, other: Bag) -> float:
    """Return the distance of two bags, of one size each after repeating; the point elsewhere is at distance 1."""
    size = int(np.lcm(max(len(one), 1), max(len(other), 1)))
    left, right = (
        [value for value in (bag or (AWAY,)) for _ in range(size // max(len(bag), 1))] for bag in (one, other)
    )
    cost = np.array([[0.0 if x is y else 1.0 if x is None or y is None else abs(x - y) for y in right] for x in left])
    return float(cost[linear_sum_assignment(cost)].sum() / size)


def capped(history: tuple[Bag, ...], most: int) -> tuple[Bag, ...]:
    found, active = [], 0
    for bag in history:
        is_kept = any(value is not AWAY for value in bag) and active < most
        active += is_kept
        found.append(bag if is_kept else tuple(AWAY for _ in bag))
    return tuple(found)


BAGS: tuple[Bag, ...] = ((), (0.0,), (1.0,))
HISTORIES = list(itertools.product(BAGS, repeat=4))


@pytest.mark.parametrize("most", [1, 2])
def test_the_sum_is_that_of_twice_as_many_periods(most: int) -> None:
    """Of any two histories: at most the 2k largest levels, which is attained."""
    levels = (3.0, 1.0, 2.0, 5.0)
    bound = sum(sorted(levels)[-2 * most :])
    largest = 0.0
    for one, other in itertools.product(HISTORIES, repeat=2):
        pairs = zip(levels, capped(one, most), capped(other, most), strict=True)
        loss = sum(level * distance(left, right) for level, left, right in pairs)
        largest = max(largest, loss)
    assert largest == bound


def test_one_more_active_period_moves_two() -> None:
    """Without slots the sum of distances grows to twice its size at most; with M slots to M + 1 times."""
    worst = 0.0
    for one, other in itertools.product(HISTORIES, repeat=2):
        before = sum(distance(left, right) for left, right in zip(one, other, strict=True))
        after = sum(distance(left, right) for left, right in zip(capped(one, 1), capped(other, 1), strict=True))
        worst = max(worst, after / before if before else 0.0)
    assert worst == 2.0
    for slots in (2, 3):
        # One record of the first period is there or not, a share of 1/M; the second, full, is in or out, all of it.
        empty, full = (AWAY,) * slots, (0.0,) * slots
        one, other = (((0.0, *empty[1:]), full), (empty, full))
        before = sum(distance(left, right) for left, right in zip(one, other, strict=True))
        after = sum(distance(left, right) for left, right in zip(capped(one, 1), capped(other, 1), strict=True))
        assert after / before == pytest.approx(slots + 1)


def test_what_is_read_again_may_have_changed() -> None:
    """Cap 1: W1 is answered, then its file is corrected, and W2 finds nobody active before: two periods are told of."""
    as_answered, as_corrected = ((0.0,), (0.5,)), ((), (0.5,))
    told = (capped(as_answered, 1)[0], capped(as_corrected, 1)[1])
    assert sum(any(value is not AWAY for value in bag) for bag in told) == 2


def test_a_report_that_asks_for_one_is_told_why(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "r.toml").write_text(
        'title = "T"\ncatalog = "emdp.toml"\n[[stream]]\ntitle = "S"\nquery = "SELECT 1"\nperiods = ["W1"]\n'
        'unit = "user"\nactive = 30\n'
    )
    with pytest.raises(ReportError, match="cap on active periods"):
        check_definition(tmp_path / "r.toml", period="W1")
