"""Statements whose number of groups of a user is automatic: brute force of octaves, loss of both readings, answers."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from owned_octaves import bins_of

import emdp
from emdp.base.errors import SqlError, UsageError
from emdp.base.statistic import Statistic
from emdp.estimators.owned.automatic_groups import LARGEST, GroupsPlan, plan_groups_cap
from emdp.estimators.owned.unlisted_plan import UnlistedPlan
from emdp.mechanisms.contribution.octaves import OCTAVES, octave_of
from emdp.privacy.rounding import as_decimal
from emdp.questions.owned.octaves import OwnedOctaves
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import Key
from emdp.questions.price import Price
from emdp.rows.nodes import Column
from emdp.rows.types import Kind

K = Column("t", "k", Kind.TEXT)
LISTED = (Key("k", K, ("a", "b", None)),)
OPEN = (Key("k", K, (), is_listed=False),)
BAGS = [bag for size in range(4) for bag in itertools.combinations_with_replacement([None, "a", "b", "c"], size)]
PEOPLE = OwnedItem("users", "n")
ROWS = OwnedItem("rows", "c")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def planned(*items: OwnedItem, keys: Any = OPEN, neighbours: Any = "remove", **others: Any) -> GroupsPlan:
    price = Price("epsilon", others.pop("epsilon", 1.0), others.pop("delta", 1e-9), neighbours=neighbours)
    query = OwnedSelect(Private("t"), items or (PEOPLE,), price, keys, measures_groups=True, **others)
    return plan_groups_cap(query, users=None if neighbours == "remove" else 2000)


@pytest.mark.quarter
@pytest.mark.parametrize("keys", [LISTED, OPEN], ids=["listed", "open"])
def test_a_user_is_in_one_octave_of_the_groups_that_count(keys: Any) -> None:
    octaves = OwnedOctaves(Private("t"), keys, counts_users=True, of_groups=True)
    found = {bag: bins_of(octaves, bag) for bag in BAGS}
    for bag, own in found.items():
        groups = len(set(bag) - ({"c"} if keys is LISTED else set()))
        assert own == [int(groups > 0 and place == octave_of(groups)) for place in range(OCTAVES)]
    pairs = itertools.product(found.values(), repeat=2)
    assert max(sum(abs(a - b) for a, b in zip(one, other, strict=True)) for one, other in pairs) == 2


@pytest.mark.quarter
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize(
    ("items", "keys", "others"),
    [
        ((PEOPLE,), OPEN, {}),
        ((PEOPLE,), (Key("k", K, tuple(LETTERS)),), {"delta": 0.0}),
        ((PEOPLE, ROWS), OPEN, {"group_rows": 3}),
        ((ROWS,), OPEN, {"cap": 30}),
        ((PEOPLE, ROWS), (Key("k", K, tuple(LETTERS)),), {"group_rows": 3}),
    ],
)
def test_one_charge_covers_both_readings_at_every_number(items: Any, keys: Any, others: Any, neighbours: Any) -> None:
    plan = planned(*items, keys=keys, neighbours=neighbours, **others)
    first, rest = plan.rule.histogram.epsilon, plan.rule.query.price.level
    assert as_decimal(first) + as_decimal(rest) <= 1
    assert plan.guarantee.level == 1.0
    assert plan.guarantee.kind == emdp.UserDP(0.0, neighbours=neighbours)
    assert max(plan.rule.plans) == (LARGEST if keys is OPEN else 26)
    for cap, own in plan.rule.plans.items():
        assert own.event.guarantee.level <= rest
        assert own.event.guarantee.delta <= plan.guarantee.delta <= 1e-9
        assert own.event.slack_epsilon <= plan.event.slack_epsilon
        assert own.aggregation.groups_cap == cap
    for noisy in itertools.product((0, 500), repeat=6):
        assert plan.rule.cap([*noisy, *[0] * (OCTAVES - 6)]) in plan.rule.plans


def losses(plan: GroupsPlan, groups: tuple[int, int]) -> Iterator[tuple[float, float]]:
    """Yield the loss of single outcomes of both readings, in both orders, of a user in so many of the listed groups.

    The noisy bins of other users are fixed, which is any outcome; those that the user moves between are enumerated.
    Laplace densities differ by at most the distance of their centres over the scale, and reach it.
    """
    base = [40, 60, 90, 50, 12] + [0] * (OCTAVES - 5)
    scale = plan.rule.histogram.scale
    places = [octave_of(own) if own else None for own in groups]
    moved = sorted({place for place in places if place is not None})
    for steps in itertools.product(range(-14, 15), repeat=len(moved)):
        noisy = list(base)
        for place, step in zip(moved, steps, strict=True):
            noisy[place] += step
        cap = plan.rule.cap(noisy)
        own = plan.rule.plans[cap]
        # The first groups[0] groups, and the last groups[1] of them.
        cells = plan.rule.cells or 0
        shares = [min(1.0, cap / own) if own else 0.0 for own in groups]
        vectors = [
            [shares[0] * (place < groups[0]) for place in range(cells)],
            [shares[1] * (place >= cells - groups[1]) for place in range(cells)],
        ]
        apart = sum(abs(one - other) for one, other in zip(*vectors, strict=True))
        apart *= own.blocks[0][1].scales[0] / own.mechanisms[0].scale  # type: ignore[union-attr]
        log = [0.0, 0.0]
        for table in (0, 1):
            for place in moved:
                log[table] -= abs(noisy[place] - base[place] - int(places[table] == place)) / scale
        yield log[0] - log[1] + apart, log[1] - log[0] + apart


@pytest.mark.parametrize(
    ("neighbours", "groups"), [("remove", (16, 0)), ("remove", (1, 0)), ("replace", (16, 1)), ("replace", (8, 8))]
)
def test_the_loss_of_both_readings_is_at_most_epsilon_and_reaches_most_of_it(neighbours: Any, groups: Any) -> None:
    plan = planned(keys=(Key("k", K, tuple(LETTERS[:16])),), delta=0.0, epsilon=4.0, neighbours=neighbours)
    largest = max(max(own) for own in losses(plan, groups))
    assert largest <= 4.0 * (1 + 1e-9)
    if groups == (16, 0):
        assert largest >= 3.7


class Made:
    """Records of a made-up table: users' numbers of groups, and for the second reading nothing."""

    def __init__(self, totals: Any) -> None:
        self.totals, self.most_users = totals, 10**6
        self.asked: list[Any] = []

    def aggregate(self, aggregation: Any) -> tuple[Statistic]:
        self.asked.append(aggregation)
        if aggregation.cells == OCTAVES:
            counts = [Fraction(0)] * OCTAVES
            for total, users in self.totals.items():
                counts[octave_of(total)] += users
            return (Statistic(counts),)
        return (Statistic([Fraction(0)] * aggregation.dimension),)


def test_the_number_follows_from_released_numbers_and_is_good() -> None:
    keys = (Key("k", K, tuple(str(place) for place in range(200))),)
    chosen = {}
    for name, totals in {"one": {1: 3000}, "few": {1: 500, 2: 900, 4: 800, 6: 300}, "many": {150: 3000}}.items():
        plan, made, caps = planned(keys=keys), Made(totals), set()
        with emdp.testing.seeded(5):
            for _ in range(10):
                opened = [one.open() for one in plan.statistic(made, keep_exact=False)]  # type: ignore[arg-type]
                released, _ = plan.release(opened, made, keep_exact=False)  # type: ignore[arg-type]
                told = plan.finisher.diagnostics(released)  # type: ignore[attr-defined]
                assert told["users_by_groups"].get_column("users").to_list() == [int(own) for own in released[0]]
                assert made.asked[-1].groups_cap == told["max_groups_per_user"]
                caps.add(told["max_groups_per_user"])
        chosen[name] = caps
    assert max(chosen["one"]) <= 2
    assert {4, 6} & chosen["few"]
    assert max(chosen["few"]) <= 12
    assert min(chosen["many"]) >= 128


def session(place: Path, **others: Any) -> emdp.Session:
    users = [user for user in range(400) for _ in range(4)]
    rows = {"u": users, "k": [LETTERS[place % 4] for place in range(1600)], "x": [1.0] * 1600}
    table = emdp.read(rows, user="u", space=emdp.Interval("x", 0, 2), users=400, name="t")
    return emdp.Session(table, budget=emdp.UserDP(1e4, 0.1, **others), ledger=place / "l")


@pytest.mark.slow
def test_answers_of_statements_by_the_word(tmp_path: Path) -> None:
    head = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 90, delta = 1e-6, max_groups_per_user = 'auto'{}) "
    with emdp.testing.seeded(3), session(tmp_path) as asked:
        shown = asked.preview(head.format("") + "k, COUNT(DISTINCT u) AS n FROM t GROUP BY k")
        assert "automatic: known after the charge" in str(shown)
        assert asked.history().height == 0
        answer = asked.sql(head.format("") + "k, COUNT(DISTINCT u) AS n FROM t GROUP BY k")
        assert answer.frame.get_column("k").to_list() == list("abcd")
        assert answer.frame.get_column("n").to_list() == pytest.approx([400] * 4, abs=3)
        assert answer.diagnostics["max_groups_per_user"] in (4, 6)
        assert answer.diagnostics["users_by_groups"].get_column("users").to_list()[2] == pytest.approx(400, abs=3)
        assert asked.spent().level == 90
        text = "k, COUNT(*) AS c, COUNT(*) / COUNT(DISTINCT u) AS r FROM t WHERE k IN ('a', 'b', 'z') GROUP BY k"
        both = asked.sql(head.format(", max_records_per_group = 2") + text + " ORDER BY k")
        assert both.frame.get_column("c").to_list() == pytest.approx([400, 400, 0], abs=5)
        assert both.diagnostics["max_groups_per_user"] in (2, 3)
        named = asked.sql(head.format("") + "MAX(n) AS m FROM (SELECT k, COUNT(DISTINCT u) AS n FROM t GROUP BY k) q")
        assert named.frame.item(0, "m") == pytest.approx(400, abs=5)


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        ("epsilon = 1", "COUNT(DISTINCT u) FROM t WHERE x > 1", "without GROUP BY"),
        ("epsilon = 1, delta = 1e-9", "k FROM t GROUP BY k", "groups alone"),
        ("epsilon = 1", "k, COUNT(*) FROM t WHERE k IN ('a') GROUP BY k", "automatic or measured cap"),
        ("epsilon = 1", "k, COUNT(DISTINCT u) FROM t GROUP BY k", "delta"),
        ("rho = 1, delta = 1e-9", "k, COUNT(DISTINCT u) FROM t GROUP BY k", "other noise first"),
        ("epsilon = 1", "k, COUNT(DISTINCT u), COUNT(DISTINCT x) FROM t WHERE k IN ('a') GROUP BY k", "number beside"),
    ],
)
def test_where_a_number_is_needed_it_is_said(tmp_path: Path, options: str, text: str, message: str) -> None:
    with session(tmp_path) as asked, pytest.raises((SqlError, UsageError), match=message):
        asked.sql(f"SELECT WITH USER_PRIVACY OPTIONS ({options}, max_groups_per_user = 'auto') {text}")


def test_thresholds_are_those_of_the_number() -> None:
    plan = planned()
    assert isinstance(plan.typical, UnlistedPlan)
    needed = [own.keys.people for own in plan.rule.plans.values() if isinstance(own, UnlistedPlan)]
    assert needed == sorted(needed)
    assert math.isfinite(plan.rule.noises[1])
