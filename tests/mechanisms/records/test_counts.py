"""Numbers of different values by group: moves on all small instances, the noise's law, the choice of l."""

from itertools import combinations, product

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import UsageError
from emdp.mechanisms.records.counts import CANDIDATES, DistinctCounts
from emdp.mechanisms.records.distinct import assign_distinct, count_distinct
from emdp.noise.discrete_laplace import discrete_laplace_log_pmf
from emdp.privacy.events.table import event_from_json
from emdp.privacy.guarantees.kinds import Neighbours, UserDP
from emdp.testing import seeded

GROUPS = {0: 0, 1: 0, 2: 1, 3: 1}
"""Group of each value."""

SETS = [chosen for size in range(5) for chosen in combinations(GROUPS, size)]


def counts(table: dict[int, tuple[int, ...]], cap: int) -> np.ndarray:  # type: ignore[type-arg]
    pairs = [(user, value) for user, values in sorted(table.items()) for value in values]
    taken = assign_distinct([user for user, _ in pairs], [value for _, value in pairs], cap)
    return np.bincount([GROUPS[pairs[place][1]] for place in taken.tolist()], minlength=2)


@pytest.mark.quarter
@pytest.mark.parametrize("cap", [1, 2])
def test_groups_move_by_the_cap_together_on_all_small_instances(cap: int) -> None:
    removed = replaced = 0
    for others in product(SETS, repeat=2):
        for place in range(3):
            rest = dict(zip([user for user in range(3) if user != place], others, strict=True))
            without = counts(rest, cap)
            found = [counts({**rest, place: own}, cap) for own in SETS]
            assert all(np.all(one >= without) for one in found)
            removed = max(removed, *(int((one - without).sum()) for one in found))
            replaced = max(replaced, *(int(np.abs(x - y).sum()) for x, y in combinations(found, 2)))
    assert (removed, replaced) == (cap, 2 * cap)


def test_an_assignment_gives_each_value_once_and_each_user_no_more_than_the_cap() -> None:
    chance = np.random.default_rng(3)
    users, values = np.sort(chance.integers(0, 30, 300)), chance.integers(0, 40, 300)
    for cap in (1, 2, 5):
        taken = assign_distinct(users, values, cap)
        assert len(np.unique(values[taken])) == len(taken) == count_distinct(users, values, (cap,))[0]
        assert np.bincount(users[taken]).max() <= cap


@pytest.mark.parametrize(
    ("neighbours", "groups", "moved"), [("remove", 1, 3), ("remove", 4, 3), ("replace", 1, 3), ("replace", 4, 6)]
)
def test_the_scale_is_the_move_over_the_price(neighbours: Neighbours, groups: int, moved: int) -> None:
    asked = DistinctCounts(0.5, neighbours, groups, 3)
    assert asked.scale(3) == moved / 0.5
    assert asked.event(UserDP(0.0, neighbours=neighbours)).guarantee == UserDP(0.5, neighbours=neighbours)
    # A fifth of the price chooses.
    assert DistinctCounts(0.5, neighbours, groups).scale(3) == pytest.approx(moved / 0.4, rel=1e-12)


def test_the_law_of_a_count_with_power() -> None:
    asked = DistinctCounts(0.5, "remove", 1, 1)
    with seeded(2):
        drawn = np.array([asked.release([1, 2], [0, 5], [0, 0]).counts[0] for _ in range(6000)]) - 2

    def p_value(factor: float) -> float:
        inside = np.arange(-8, 9)
        chances = np.exp([discrete_laplace_log_pmf(int(k), 2.0 * factor) for k in inside])
        expected = np.append(chances, 1 - chances.sum()) * drawn.size
        observed = np.append([np.sum(drawn == k) for k in inside], np.sum(np.abs(drawn) > 8))
        return float(scipy.stats.chisquare(observed, expected).pvalue)

    assert p_value(1.0) > 1e-6
    assert p_value(0.7) < 1e-6
    assert p_value(1.3) < 1e-6


def test_a_larger_number_is_chosen_where_users_have_many_values_of_their_own() -> None:
    users = np.repeat(np.arange(50), 40)
    with seeded(4):
        many = DistinctCounts(4.0, "remove", 1).release(users, np.arange(2000), np.zeros(2000, dtype=np.int64))
        few = DistinctCounts(4.0, "remove", 1).release(np.arange(50), np.arange(50), np.zeros(50, dtype=np.int64))
    assert many.cap in CANDIDATES
    assert many.cap >= 20
    assert abs(many.counts[0] - 2000) < 400
    assert few.cap <= 3


def test_known_answer_of_one_who_holds_all() -> None:
    # user-level-sql.md 6.6: fifty users with one value of their own each, and one who holds all fifty.
    for extra in ([], list(range(50))):
        users = np.array([*range(50), *([99] * len(extra))])
        assert count_distinct(users, [*range(50), *extra], (1,)) == (50,)


def test_events_and_refusals() -> None:
    event = DistinctCounts(0.5, "replace", 3).event()
    assert event_from_json(event.to_json()) == event
    with seeded(1):
        assert len(DistinctCounts(0.5, "replace", 3).release([], [], []).counts) == 3
    for call in (
        lambda: DistinctCounts(0.0, "replace", 1),
        lambda: DistinctCounts(1e4, "replace", 1),
        lambda: DistinctCounts(1.0, "replace", 0),
        lambda: DistinctCounts(1.0, "replace", 1, 0),
        lambda: DistinctCounts(1.0, "replace", 1, 2**32),
        lambda: DistinctCounts(1.0, "replace", 1).release([1], [1], [1]),
        lambda: DistinctCounts(1.0, "remove", 1).event(UserDP(0.0)),
    ):
        with pytest.raises(UsageError):
            call()
