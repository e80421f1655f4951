"""Numbers of different values: greedy moves by l on all small instances, other rules do not; the choice of l."""

import math
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
import scipy.stats
from exact_laws import flip_law
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from emdp.base.errors import UsageError
from emdp.mechanisms.records.distinct import count_distinct
from emdp.mechanisms.records.generalised import GeneralisedChoice
from emdp.privacy.events.table import event_from_json
from emdp.privacy.guarantees.kinds import UserDP
from emdp.testing import seeded

Table = dict[int, tuple[int, ...]]
"""Values of users, who come in the order of their numbers."""


def greedy(table: Table, cap: int) -> int:
    pairs = [(user, value) for user, values in sorted(table.items()) for value in values]
    return count_distinct([user for user, _ in pairs], [value for _, value in pairs], (cap,))[0]


def best(table: Table, cap: int) -> int:
    """Return the largest assignment, by matching values to ``cap`` copies of each user."""
    values = sorted({value for own in table.values() for value in own})
    if not values:
        return 0
    held = [[value in own for value in values] for own in table.values() for _ in range(cap)]
    return int((maximum_bipartite_matching(csr_matrix(np.array(held, dtype=int)), perm_type="column") >= 0).sum())


def owner_rule(table: Table, cap: int, places: dict[int, int]) -> int:
    """Give each value to its holder of the least hash, who keeps at most ``cap``."""
    owners: dict[int, int] = {}
    for user, values in table.items():
        for value in values:
            if value not in owners or places[user] < places[owners[value]]:
                owners[value] = user
    kept = [list(owners.values()).count(user) for user in table]
    return sum(min(cap, own) for own in kept)


SETS = [chosen for size in range(5) for chosen in combinations(range(4), size)]


@pytest.mark.quarter
@pytest.mark.parametrize("cap", [1, 2])
def test_greedy_moves_by_the_cap_on_all_small_instances(cap: int) -> None:
    worst = 0
    for others in product(SETS, repeat=2):
        for place in range(3):
            rest = dict(zip([user for user in range(3) if user != place], others, strict=True))
            without = greedy(rest, cap)
            found = [greedy({**rest, place: own}, cap) for own in SETS]
            assert all(without <= one <= without + cap for one in found)
            worst = max(worst, max(found) - min(found))
    assert worst == cap


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_greedy_is_at_least_half_the_best(cap: int) -> None:
    generator = np.random.default_rng(1)
    for _ in range(150):
        table = {user: tuple(np.flatnonzero(generator.random(9) < 0.4).tolist()) for user in range(4)}
        found, most = greedy(table, cap), best(table, cap)
        assert most / 2 <= found <= most <= len({value for own in table.values() for value in own})


def test_known_answers() -> None:
    own: Table = {user: (user,) for user in range(1, 51)}
    for place in (0, 51):
        table = {**own, place: tuple(range(1, 51))}
        assert greedy(own, 1) == greedy(table, 1) == best(own, 1) == best(table, 1) == 50


def test_the_owner_rule_moves_without_bound() -> None:
    own: Table = {user: (user,) for user in range(1, 51)}
    places = {user: user for user in range(51)}
    assert owner_rule(own, 1, places) == 50
    assert owner_rule({**own, 0: tuple(range(1, 51))}, 1, places) == 1


def test_what_is_there_twice_and_how_it_is_ordered() -> None:
    assert count_distinct([1, 1, 1, 2], [7, 7, 3, 3], (1, 2, 5)) == (1, 2, 2)
    assert count_distinct([], [], (1,)) == (0,)
    # Pairs of a user in any order: the values' own order counts.
    for order in permutations([(1, 4), (1, 2), (1, 9)]):
        pairs = [*order, (2, 2), (2, 4)]
        assert count_distinct([u for u, _ in pairs], [v for _, v in pairs], (1, 2)) == (2, 2)
    for call in (
        lambda: count_distinct([2, 1], [1, 1], (1,)),
        lambda: count_distinct([1], [1, 2], (1,)),
        lambda: count_distinct([1], [-1], (1,)),
        lambda: count_distinct([1], [1], (0,)),
    ):
        with pytest.raises(UsageError):
            call()


def test_order_of_one_user_alone() -> None:
    # A user's first values are taken in the order of values, whatever others do later.
    assert count_distinct([1, 1, 2], [2, 4, 2], (1,)) == (1,)
    assert count_distinct([1, 1, 2], [2, 4, 4], (1,)) == (2,)


def test_normalised_scores_move_by_one() -> None:
    generator, choice = np.random.default_rng(2), GeneralisedChoice((1, 3, 10, 40), 0.5, "replace")
    worst = 0
    for _ in range(2000):
        scores = generator.integers(-300, 300, 4)
        moved = scores + generator.choice([-1, 1], 4) * np.array(choice.sensitivities)
        one, other = choice.normalised(scores.tolist()), choice.normalised(moved.tolist())
        worst = max(worst, *(abs(a - b) for a, b in zip(one, other, strict=True)))
    assert 0.99 * 2**20 < worst <= 2**20


def test_the_choice_of_a_cap_costs_what_it_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    laws: list[list[float]] = []

    def keep(costs: np.ndarray, rate: Fraction) -> int:
        laws.append(flip_law([int(cost) for cost in costs], float(rate)))
        return 0

    monkeypatch.setattr("emdp.mechanisms.records.generalised.draw_permute_and_flip", keep)
    choice, worst = GeneralisedChoice((1, 2, 3), 0.9, "replace"), 0.0
    for others in product(SETS, repeat=2):
        laws.clear()
        for own in SETS:
            table = dict(enumerate((others[0], own, others[1])))
            choice.release([2 * cap - greedy(table, cap) for cap in choice.sensitivities])
        worst = max(
            worst,
            *(abs(math.log(p / q)) for one, other in product(laws, laws) for p, q in zip(one, other, strict=True)),
        )
    assert 0.15 < worst <= 0.9


def test_the_law_of_the_choice_with_power() -> None:
    choice, scores = GeneralisedChoice((1, 2, 4), 1.0, "remove"), [-3, -9, -20]
    with seeded(4):
        drawn = np.bincount([choice.release(scores) for _ in range(8_000)], minlength=3)

    def p_value(factor: float) -> float:
        law = np.array(flip_law(list(choice.normalised(scores)), 0.5 * factor / 2**20))
        return float(scipy.stats.chisquare(drawn, law * drawn.sum()).pvalue)

    assert p_value(1.0) > 1e-6
    assert p_value(0.7) < 1e-6
    assert p_value(1.3) < 1e-6


def test_a_coarse_candidate_is_taken_where_it_pays() -> None:
    choice = GeneralisedChoice((1, 10, 100), 1.0, "remove")
    with seeded(5):
        few = [choice.release([100 - 900, 1000 - 950, 10_000 - 960]) for _ in range(50)]
        many = [choice.release([100 - 900, 1000 - 9000, 10_000 - 90_000]) for _ in range(50)]
    assert few.count(2) == 0
    assert many.count(2) == 50


def test_events_and_refusals() -> None:
    event = GeneralisedChoice((1, 2), 0.3, "replace").event()
    assert event_from_json(event.to_json()) == event
    assert event.guarantee == UserDP(0.3)
    for call in (
        lambda: GeneralisedChoice((), 1.0, "remove"),
        lambda: GeneralisedChoice((0,), 1.0, "remove"),
        lambda: GeneralisedChoice((1,), 0.0, "remove"),
        lambda: GeneralisedChoice((1,), 1e4, "remove"),
        lambda: GeneralisedChoice((1,), 1.0, "remove", 1.0),
        lambda: GeneralisedChoice((1,), 1.0, "remove").event(),
        lambda: GeneralisedChoice((1,), 1.0, "remove").release([1, 2]),
        lambda: GeneralisedChoice((1,), 1.0, "remove").release([2**61]),
    ):
        with pytest.raises(UsageError):
            call()
