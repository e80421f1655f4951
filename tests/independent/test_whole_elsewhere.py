"""Whole releases where records and users may be elsewhere, over all small tables, against what their plan claims.

Claim: the event's guarantee. Second method: DuckDB computes the statistic of all tables of two users, one with all bags
of up to two records, some of them invalid; the mechanism's own ``release`` rounds it with noise 0, and the largest
log-ratio of two outputs is written out from the formula of Laplace noise. ``d_EM`` is a linear program over the items
and one more, whose distances stand here. With slots bags are filled up with that point here, too.
"""

import itertools
import math
from copy import copy
from fractions import Fraction
from functools import lru_cache
from typing import Any

import exact_releases as exact
import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import emdp
from emdp.estimators.mean.local import plan_local_means
from emdp.expressions import col, ramp
from emdp.mechanisms import LaplaceMechanism
from emdp.mechanisms.local.one_bit import LocalOneBit
from emdp.questions import VectorMean, itemwise
from emdp.questions import mean as mean_of
from emdp.questions.price import Price
from emdp.randomizers import KRR, HadamardResponse
from emdp.spaces import Categories, Interval, Space
from emdp.tables import aggregate
from emdp.tables.readings import read_items

Bag = tuple[int, ...]

ABSENT = 3
"""Number of the record that is elsewhere, after three items."""

NUMBERS = Interval("item", 0, 1, on_invalid="elsewhere")
LABELS = Categories("item", list(exact.LABELS), on_invalid="elsewhere")
SQL = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2.0) {} FROM data"
USER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2.0) {} FROM data"
REQUESTS: dict[str, tuple[Any, Space, bool, float]] = {
    "a mean": (SQL.format("AVG(item)"), NUMBERS, True, 0.99),
    "a mean in Python": (mean_of(col("item"), alpha=2.0), NUMBERS, True, 0.99),
    "a mean and the share": (SQL.format("AVG(item), SHARE(ELSEWHERE)"), NUMBERS, True, 0.99),
    "a part": (SQL.format("PART(item)"), NUMBERS, True, 0.99),
    "the share elsewhere": (SQL.format("SHARE(ELSEWHERE)"), NUMBERS, True, 0.99),
    "a deviation": (SQL.format("STDDEV(item)"), NUMBERS, True, 0.4),
    "a mean among some records": (
        mean_of(col("item"), alpha=2.0, where=ramp(col("item"), 0.2, 0.7)),
        NUMBERS,
        True,
        0.3,
    ),
    "quantiles": (SQL.format("QUANTILE(item, 0.5)"), NUMBERS, True, 0.9),
    "cells of a pitch": (
        SQL.format("FREQUENCY(GRID(0.35))").replace("OPTIONS (", "OPTIONS (noise = 'laplace', "),
        NUMBERS,
        True,
        0.9,
    ),
    "listed values": (SQL.format("FREQUENCY(item)"), LABELS, True, 0.99),
    "shares by group": (SQL.format("item, SHARE()") + " GROUP BY item", LABELS, True, 0.99),
    "a mean, user level": (USER.format("AVG(item)"), NUMBERS, False, 0.99),
    "listed values, user level": (USER.format("FREQUENCY(item)"), LABELS, False, 0.99),
}
"""Releases, whether ``d_em`` is what they are priced by, and the part of the claim that the tables reach."""

SLOTTED: dict[str, tuple[Any, Space, bool, float]] = {
    **{name: REQUESTS[name] for name in ("a mean", "a part", "quantiles", "listed values", "a mean, user level")},
    "a count": (SQL.format("COUNT(*)"), NUMBERS, True, 0.99),
    "a sum": (SQL.format("SUM(item)"), NUMBERS, True, 0.99),
    "all of these": (SQL.format("COUNT(*), SUM(item), AVG(item), SHARE(ELSEWHERE)"), NUMBERS, True, 0.7),
    "counts by group": (SQL.format("item, COUNT(*)") + " GROUP BY item", LABELS, True, 0.99),
    "a count of some": (SQL.format("COUNT(*)") + f" WHERE item = '{exact.LABELS[1]}'", LABELS, True, 0.99),
}
"""Releases of a table with slots: bags of more and of fewer records."""


def metric(space: Space, rho: float) -> np.ndarray:
    found = np.full((4, 4), rho)
    found[:3, :3] = exact.LINE if space is NUMBERS else exact.ZERO_ONE
    found[3, 3] = 0.0
    return found


def shares(bag: Bag, slots: int | None = None) -> np.ndarray:
    if slots is None:
        return np.bincount(bag or (ABSENT,), minlength=4) / max(len(bag), 1)
    known = [item for item in bag if item != ABSENT]
    return np.bincount((*known, *[ABSENT] * (slots - len(known))), minlength=4) / max(len(known), slots)


@lru_cache(maxsize=4096)
def d_em(one: Bag, two: Bag, costs: bytes, slots: int | None = None) -> float:
    rows = np.vstack([np.kron(np.eye(4), np.ones(4)), np.kron(np.ones(4), np.eye(4))])
    right = np.concatenate([shares(one, slots), shares(two, slots)])
    return max(float(linprog(np.frombuffer(costs), A_eq=rows, b_eq=right, method="highs").fun), 0.0)


def table(space: Space, users: tuple[Bag, ...], rho: float, slots: int | None = None) -> emdp.Table:
    values: tuple[Any, ...] = (*exact.NUMBERS, None) if space is NUMBERS else (*exact.LABELS, None)
    kind = pl.Float64 if space is NUMBERS else pl.String
    rows = [(user, values[item]) for user, bag in enumerate(users) for item in bag]
    frame = pl.DataFrame(rows, schema={"user": pl.Int64, "item": kind}, orient="row")
    return emdp.read(frame, user="user", space=space, users=len(users), elsewhere=rho, slots=slots)


def centres(plan: Any, source: emdp.Table) -> list[Any]:
    (mechanism,), (statistic,) = plan.mechanisms, aggregate(source, plan.aggregation)
    silent = copy(mechanism)
    vars(silent)["_draw"] = lambda size=mechanism.dimension: (0,) * size
    return [value / Fraction(mechanism.grid) for value in silent.release(plan.prepared(statistic.open()))]


@pytest.mark.quarter
@pytest.mark.parametrize("rho", [1.0, pytest.param(0.5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", REQUESTS)
def test_releases_cost_what_they_claim(name: str, rho: float) -> None:
    check_release(*REQUESTS[name], rho, None)


@pytest.mark.quarter
@pytest.mark.parametrize("slots", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SLOTTED)
def test_releases_over_slots_cost_what_they_claim(name: str, slots: int) -> None:
    # Bags have up to 2 records: with one slot some have more, with three none fills them.
    request, space, is_metric, reached = SLOTTED[name]
    # Nobody can change a slot that no bag here fills.
    check_release(request, space, is_metric, reached * min(1.0, 2 / slots if not is_metric else 1.0), 1.0, slots)


def check_release(request: Any, space: Space, is_metric: bool, reached: float, rho: float, slots: int | None) -> None:
    bags = exact.bags((0, 1, 2), items=4)
    plan = exact.planned(request, table(space, (bags[0], (1,)), rho, slots))
    (mechanism,) = plan.mechanisms
    assert isinstance(mechanism, LaplaceMechanism)
    points = {bag: centres(plan, table(space, (bag, (1,)), rho, slots)) for bag in bags}
    guarantee, (slack, delta) = plan.event.guarantee, plan.event.slack
    assert delta == guarantee.delta == 0
    assert slack < 1e-9
    smallest, costs = 0.0, metric(space, rho).ravel().tobytes()
    for one, two in itertools.combinations(bags, 2):
        moved = math.fsum(abs(float(a - b)) for a, b in zip(points[one], points[two], strict=True))
        loss = moved / float(mechanism.noise_units)
        apart = d_em(one, two, costs, slots) if is_metric else 1.0
        assert loss <= guarantee.level * apart * (1 + 1e-9) + slack
        smallest = max(smallest, loss / apart if apart > 1e-9 else 0.0)
    # At half the distance a share costs twice as much as in the constant of its cells, which then is not reached.
    assert smallest > reached * guarantee.level * (1.0 if rho == 1 or not is_metric else 0.4)


MESSAGES: dict[str, tuple[Any, bool, float]] = {
    "bits of a mean": (mean_of(col("item"), alpha=0.7, model="local"), True, 0.6),
    "a bit of a part": (SQL.replace("2.0)", "0.7, model = 'local')").format("PART(item)"), True, 0.6),
    "bits of a mean, user level": (mean_of(col("item"), epsilon=0.7, model="local"), False, 0.75),
}
"""Local releases of messages, and the part of the claim that the tables reach."""

FURTHER = [(1.0, None), pytest.param(0.5, None, marks=pytest.mark.slow), (1.0, 2)]


@pytest.mark.quarter
@pytest.mark.parametrize(("rho", "slots"), FURTHER, ids=str)
@pytest.mark.parametrize("name", MESSAGES)
def test_messages_cost_what_they_claim(
    name: str, rho: float, slots: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, is_metric, reached = MESSAGES[name]
    replay, bags = exact.Replay(monkeypatch), exact.bags((0, 1, 2), items=4)
    plan: Any = exact.planned(request, table(NUMBERS, (bags[0], (1,)), rho, slots))
    laws = []
    for bag in bags:
        # Of two users each is dealt one of the two numbers.
        blocks = list(read_items(table(NUMBERS, (bag, (1,)), rho, slots), plan.reading).open())

        def run(blocks: list[Any] = blocks) -> Any:
            return exact.seen(plan.releaser.release(iter(blocks), users=2, keep_exact=False)[0])

        laws.append(replay.law(run))
    rows, guarantee = exact.aligned(laws), plan.event.guarantee
    assert (guarantee.model, guarantee.delta, plan.event.slack[1]) == ("local", 0, 0)
    assert isinstance(plan.releaser.mechanism, LocalOneBit)
    check_losses(
        [lambda other, own=own: float(np.log(own / other).max()) for own in rows],
        rows,
        bags,
        plan.event,
        is_metric,
        reached,
        rho,
        slots,
    )


@pytest.mark.quarter
@pytest.mark.parametrize(("rho", "slots"), FURTHER, ids=str)
@pytest.mark.parametrize("level", ["alpha", "epsilon"])
def test_noise_of_every_user_costs_what_it_claims(level: str, rho: float, slots: int | None) -> None:
    bags = exact.bags((0, 1, 2), items=4)
    request: Any = mean_of(col("item"), model="local", **{level: 0.7})
    asked: Any = exact.planned(request, table(NUMBERS, (bags[0],), rho, slots))
    # Noise on the two numbers that a mean is made of, whether or not bits would be better.
    numbers = VectorMean(asked.reading.expressions, Price(level, 0.7), model="local", noise="laplace")
    space = table(NUMBERS, (bags[0],), rho, slots).space
    plan: Any = plan_local_means(numbers, space=space, users=1)
    noise = plan.releaser.mechanism.mechanism
    means = []
    for bag in bags:
        blocks = list(read_items(table(NUMBERS, (bag,), rho, slots), plan.reading).open())
        own = np.concatenate([block.means for block in blocks]) if blocks else np.zeros((1, noise.dimension))
        means.append(own[0] / 2.0 ** np.array(plan.releaser.exponents))
    # The density of the noise falls by the exponential of its norm.
    losses = [lambda other, own=own: float(np.linalg.norm(own - other, noise.norm)) / noise.scale for own in means]
    check_losses(losses, means, bags, plan.event, level == "alpha", 0.9, rho, slots)


def check_losses(
    losses: Any, rows: Any, bags: list[Bag], event: Any, is_metric: bool, reached: float, rho: float, slots: int | None
) -> None:
    """Hold the losses of all pairs against what an event claims; some pair must reach a part of it."""
    costs, largest = metric(NUMBERS, rho).ravel().tobytes(), 0.0
    for one, two in itertools.permutations(range(len(bags)), 2):
        apart = d_em(bags[one], bags[two], costs, slots) if is_metric else 1.0
        loss = losses[one](rows[two])
        assert loss <= event.guarantee.level * apart * (1 + 1e-9) + event.slack[0]
        largest = max(largest, loss / apart if apart > 1e-9 else 0.0)
    assert largest > reached * event.guarantee.level * (1.0 if rho == 1 or not is_metric else 0.4)


@pytest.mark.parametrize(
    ("kind", "model"),
    [*(pytest.param(KRR, own, marks=pytest.mark.slow) for own in ("local", "central")), (HadamardResponse, "central")],
)
def test_draws_of_filled_bags_cost_what_they_claim(kind: Any, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bags of none, one and three records in two slots: some are filled up, others are longer."""
    replay, found = exact.Replay(monkeypatch), [*exact.bags((0, 1), items=4), *exact.bags((3,))]
    plan: Any = exact.planned(itemwise(kind, alpha=1.0, model=model), table(LABELS, (found[0],), 1.0, 2))
    guarantee, laws = plan.event.guarantee, []
    assert (guarantee.sizes, guarantee.model, guarantee.delta) == ("unbounded", model, 0.0)
    assert 0.99 < guarantee.alpha <= 1.0
    for bag in found:
        blocks = list(read_items(table(LABELS, (bag,), 1.0, 2), plan.reading).open())

        def run(blocks: list[Any] = blocks) -> Any:
            return exact.seen(plan.releaser.release(iter(blocks), users=1, keep_exact=False)[0])

        laws.append(replay.law(run))
    rows, costs, largest = exact.aligned(laws), metric(LABELS, 1.0).ravel().tobytes(), 0.0
    for one, two in itertools.combinations(range(len(found)), 2):
        apart = d_em(found[one], found[two], costs, 2)
        if apart < 1e-9:
            assert np.abs(rows[one] - rows[two]).max() < 1e-12
            continue
        own = rows[:, (rows[one] + rows[two]) > 0]
        largest = max(largest, float(np.abs(np.log(own[one]) - np.log(own[two])).max()) / apart)
    assert 0.8 * guarantee.alpha < largest <= guarantee.alpha * (1 + 1e-9)
