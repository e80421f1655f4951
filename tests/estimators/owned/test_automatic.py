"""Statements whose cap is automatic or measured: brute force of octaves, loss of both readings, errors and coverage."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from owned_octaves import bins_of

import emdp
from emdp.base.errors import InternalError
from emdp.base.statistic import Statistic
from emdp.estimators.owned.automatic import LARGEST_CAP, MOST_MEASURED, MeasuredPlan, plan_measured
from emdp.mechanisms.contribution.octaves import OCTAVES, octave_of
from emdp.privacy.rounding import as_decimal
from emdp.questions.owned.octaves import octaves_of
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import Key, OwnedTotals
from emdp.questions.price import Price
from emdp.rows.nodes import Column
from emdp.rows.types import Kind

X = Column("t", "x", Kind.DOUBLE)
KEYS = (Key("k", Column("t", "k", Kind.TEXT), ("a", "b")),)
RECORDS = ["a", "b", "c"]
BAGS = [bag for size in range(5) for bag in itertools.combinations_with_replacement(RECORDS, size)]


def measured(
    *kinds: Any, neighbours: Any = "remove", keys: Any = (), delta: float = 0.0, **others: Any
) -> MeasuredPlan:
    items = tuple(OwnedItem(kind, kind, None if kind in ("rows", "users") else X, -1.0, 3.0) for kind in kinds)
    price = Price("epsilon", others.pop("epsilon", 1.0), delta, neighbours=neighbours)
    query = OwnedSelect(Private("t"), items, price, keys, measures_cap=True, **others)
    return plan_measured(query, users=None if neighbours == "remove" else 2000)


@pytest.mark.quarter
@pytest.mark.parametrize("keys", [(), KEYS])
def test_a_user_is_in_one_octave_of_the_rows_that_count(keys: Any) -> None:
    octaves = octaves_of(OwnedTotals(Private("t"), keys, counts_users=True))
    found = {bag: bins_of(octaves, bag) for bag in BAGS}
    for bag, own in found.items():
        rows = len(bag) if not keys else sum(key != "c" for key in bag)
        assert own == [int(rows > 0 and place == octave_of(rows)) for place in range(OCTAVES)]
    moves = [
        sum(abs(a - b) for a, b in zip(one, other, strict=True))
        for one, other in itertools.product(found.values(), repeat=2)
    ]
    assert max(moves) == 2
    assert max(map(sum, found.values())) == 1


def test_numbers_that_are_no_users_are_refused() -> None:
    octaves = octaves_of(OwnedTotals(Private("t"), counts_users=True))
    for wrong in ([Fraction(1, 2)] + [Fraction(0)] * 20, [Fraction(-1)] + [Fraction(0)] * 20, [Fraction(2)] * 21):
        with pytest.raises(InternalError):
            octaves.check(10, wrong)


@pytest.mark.quarter
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize(
    ("kinds", "keys"), [(["rows"], ()), (["rows", "sum", "avg"], KEYS), (["users", "variance"], KEYS)]
)
def test_one_charge_covers_both_readings_at_every_cap(kinds: Any, keys: Any, delta: float, neighbours: Any) -> None:
    plan = measured(*kinds, keys=keys, delta=delta, neighbours=neighbours)
    first, rest = plan.rule.histogram.epsilon, plan.rule.query.price.level
    assert as_decimal(first) + as_decimal(rest) <= 1
    assert plan.guarantee.level == 1.0
    assert plan.guarantee.kind == emdp.UserDP(0.0, neighbours=neighbours)
    caps = {math.ceil(2.0 ** (step / 4)) for step in range(0, 93, 5)} | {3, 5, 1000, LARGEST_CAP}
    for cap in sorted(caps):
        own = plan.rule.plan_at(cap, 17.0)
        assert own.event.guarantee.level <= rest
        assert own.event.guarantee.delta <= plan.guarantee.delta <= delta
        assert own.event.slack_epsilon <= plan.event.slack_epsilon
        assert own.aggregation.cap == cap
        # Proportional to the cap, so that another cap is no other law.
        if kinds == ["rows"]:
            assert own.mechanisms[0].scale / cap == pytest.approx(plan.typical.mechanisms[0].scale / 100, rel=1e-9)


def likelihoods(plan: MeasuredPlan, bins_of: tuple[int, int], totals: tuple[int, int]) -> tuple[float, float]:
    """Return the largest loss of single outcomes of both readings, in both orders.

    Two tables of COUNT(*) where a user has totals[0] or totals[1] rows (0: is not there). The noisy bins of other users
    are fixed, which is any outcome of noise that has one law on both; those that the user moves between are enumerated.
    """
    base = [40, 60, 90, 80, 30, 12, 3] + [0] * (OCTAVES - 7)
    scale, losses = plan.rule.histogram.scale, [0.0, 0.0]
    moved = sorted({place for place, total in zip(bins_of, totals, strict=True) if total})
    for steps in itertools.product(range(-14, 15), repeat=len(moved)):
        noisy = list(base)
        for place, step in zip(moved, steps, strict=True):
            noisy[place] += step
        cap = plan.rule.cap(noisy)
        noise = plan.rule.plan_at(cap).mechanisms[0].scale
        log = [0.0, 0.0]
        for table in (0, 1):
            for place in moved:
                there = base[place] + int(totals[table] > 0 and bins_of[table] == place)
                log[table] -= abs(noisy[place] - there) / scale
        # Of two Laplace densities the log of the quotient reaches the distance of their centres over the scale.
        apart = abs(min(totals[0], cap) - min(totals[1], cap)) / noise
        losses = [max(losses[0], log[0] - log[1] + apart), max(losses[1], log[1] - log[0] + apart)]
    return losses[0], losses[1]


@pytest.mark.parametrize(
    ("neighbours", "totals"), [("remove", (64, 0)), ("remove", (0, 3)), ("replace", (64, 1)), ("replace", (64, 0))]
)
def test_the_loss_of_both_readings_is_at_most_epsilon_and_reaches_most_of_it(
    neighbours: Any, totals: tuple[int, int]
) -> None:
    plan = measured("rows", neighbours=neighbours, epsilon=4.0)
    places = tuple(octave_of(total) if total else 0 for total in totals)
    largest = max(likelihoods(plan, (places[0], places[1]), totals))
    assert largest <= 4.0 * (1 + 1e-9)
    if 64 in totals and 1 not in totals:
        # What a cap of at most 64 leaves, and the whole of the histogram's share by removal.
        assert largest >= 3.7


class Made:
    """Records of a made-up table, for COUNT(*): totals of users, as an engine would compute them."""

    def __init__(self, totals: Any) -> None:
        self.totals = totals
        self.most_users = len(totals)

    def aggregate(self, aggregation: Any) -> tuple[Statistic]:
        if aggregation.cells == OCTAVES:
            counts = np.bincount([octave_of(int(total)) for total in self.totals], minlength=OCTAVES)
            return (Statistic([Fraction(int(count)) for count in counts]),)
        return (Statistic([Fraction(int(np.minimum(self.totals, aggregation.cap).sum()))]),)


def answers(plan: MeasuredPlan, totals: Any, runs: int, of: str = "truth") -> list[tuple[float, float, float]]:
    made, found = Made(totals), []
    finisher: Any = plan.finisher if of == "truth" else plan.finisher.of_capped()  # type: ignore[attr-defined]
    for _ in range(runs):
        opened = [one.open() for one in plan.statistic(made, keep_exact=False)]  # type: ignore[arg-type]
        released, _ = plan.release(opened, made, keep_exact=False)  # type: ignore[arg-type]
        found.append(finisher.frame(released, 0.95).row(0))
    return found


def lognormal(users: int) -> Any:
    """Return totals of users of median 7, without randomness: evenly spaced quantiles."""
    from scipy.stats import norm

    places = (np.arange(users) + 0.5) / users
    return np.maximum(1, np.rint(np.exp(2.0 + norm.ppf(places)))).astype(np.int64)


@pytest.mark.quarter
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_intervals_are_for_the_true_total(neighbours: Any) -> None:
    totals = lognormal(2000)
    plan, truth, runs = measured("rows", neighbours=neighbours), float(lognormal(2000).sum()), 150
    with emdp.testing.seeded(12):
        found = answers(plan, totals, runs)
        capped = answers(plan, totals, runs, of="capped")
    lower = sum(low <= truth for _, low, _ in found) / runs
    both = sum(low <= truth <= high for _, low, high in found) / runs
    of_noise = sum(low <= truth <= high for _, low, high in capped) / runs
    errors = [(value - truth) / truth for value, _, _ in found]
    # user-level-sql.md 1.4 has for 2,000 users 0.70 to 0.81 of the noise alone, 0.88 to 0.90 of both ends, 0.97 to 0.99
    # of the lower end. Power: 150 runs at a true 0.975 are below 0.93 once in 1,000, and at 0.85 almost always.
    assert lower >= 0.93
    assert both >= 0.85
    assert of_noise < both
    assert math.sqrt(float(np.mean(np.square(errors)))) < 0.025


def test_a_given_cap_is_priced() -> None:
    totals = lognormal(20_000)
    plan = measured("rows", cap=20)
    with emdp.testing.seeded(2):
        opened = [one.open() for one in plan.statistic(Made(totals), keep_exact=False)]  # type: ignore[arg-type]
        released, exact = plan.release(opened, Made(totals), keep_exact=True)  # type: ignore[arg-type]
    told = plan.finisher.diagnostics(released)  # type: ignore[attr-defined]
    left_out = float(np.maximum(totals - 20, 0).sum())
    assert told["cap"] == 20
    assert told["records_left_out"] == pytest.approx(left_out, rel=0.15)
    value, low, high = plan.finisher.frame(released, 0.95).row(0)
    assert low < value < value + told["records_left_out"] < high
    assert high - value == pytest.approx(value - low + 2 * told["records_left_out"], rel=1e-9)
    assert exact is not None
    assert plan.finisher.exact(exact).item() == float(np.minimum(totals, 20).sum())


@pytest.mark.parametrize(("is_of_amounts", "moves"), [(False, (2, 6)), (True, (6, 6))])
def test_ends_move_as_far_as_values_may(is_of_amounts: bool, moves: tuple[int, int]) -> None:
    cap = 10 if is_of_amounts else 2 * MOST_MEASURED
    plan = measured("sum", cap=cap)
    noisy = [0] * 8 + [500, 600, 900, 800, 700, 600, 500] + [0] * (OCTAVES - 15)
    assert plan.rule.query.amounts == is_of_amounts
    own = plan.rule.plan(noisy)
    (column,) = own.finisher.columns  # type: ignore[attr-defined]
    cut = plan.rule.cut(noisy)
    # Values lie in [-1, 3], and three records of -1 add what one of 3 does.
    assert cut is not None
    assert cut > 1000
    cut /= plan.rule.unit
    assert (column.below, column.above) == pytest.approx([own * cut for own in moves])
    assert plan.finisher.diagnostics([tuple(map(Fraction, noisy))])["cap"] == cap  # type: ignore[attr-defined]


def test_where_no_octave_stands_out_there_is_no_outer_end() -> None:
    plan = measured("rows", cap=10)
    noisy = [50, 60, 90, 80, 70, 60, 50] + [0] * (OCTAVES - 7)
    assert plan.rule.cut(noisy) is None
    head = tuple(map(Fraction, noisy))
    value, low, high = plan.finisher.frame((head, (Fraction(3000),)), 0.95).row(0)
    assert low < value == 3000
    assert high is None
    (remark,) = plan.finisher.remarks((head, (Fraction(3000),)))  # type: ignore[attr-defined]
    assert "nothing is known" in remark


def test_the_cap_follows_from_released_numbers() -> None:
    """What is shown of the octaves makes the cap: the same released numbers, the same law, whatever the records are."""
    plan, totals = measured("rows"), lognormal(300)
    made = Made(totals)
    caps = []
    with emdp.testing.seeded(7):
        for _ in range(12):
            opened = [one.open() for one in plan.statistic(made, keep_exact=False)]  # type: ignore[arg-type]
            released, exact = plan.release(opened, made, keep_exact=True)  # type: ignore[arg-type]
            assert exact is not None
            cap = plan.finisher.diagnostics(released)["cap"]  # type: ignore[attr-defined]
            assert exact[1] == (Fraction(int(np.minimum(totals, cap).sum())),)
            caps.append(cap)
    assert len(set(caps)) > 3
