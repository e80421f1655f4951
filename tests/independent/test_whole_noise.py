"""Whole releases with added noise over all small tables, against what their plan claims.

Claim: the event's guarantee. Second method: DuckDB computes the statistic of every small table, the mechanism's own
``release`` rounds it with noise 0, and the output law is written out from the formula of the noise around that point.
The output matrix has a column for every point at which a log-probability bends and one far beyond them on every side,
so that its largest log-ratio is that of all outputs. ``d_EM`` is a linear program. Gaussian noise: the hockey-stick
divergence of two normals by scipy.
"""

import itertools
import math
from copy import copy
from fractions import Fraction
from typing import Any

import exact_releases as exact
import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm

from emdp.estimators import MessagePlan, Plan
from emdp.expressions import col, distance_to, ramp
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.privacy import EmdDP
from emdp.questions import frequencies, mean, quantiles, vector_mean
from emdp.spaces import Categories, Distances, Interval, Space
from emdp.tables import aggregate

Floats = npt.NDArray[np.float64]
Bag = tuple[int, ...]

LINE = Distances("item", list(exact.LABELS), exact.LINE)
LABELS = Categories("item", list(exact.LABELS))
NUMBERS = Interval("item", 0, 1, neutral=0.0)

SAFE = 1 + 1e-9

SQL = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2.0) {} FROM data"
PAIR = [distance_to("a"), distance_to("b")]
REQUESTS: dict[str, tuple[Any, Space, Floats | None, float]] = {
    "a mean in SQL": (SQL.format("AVG(DISTANCE('a'))"), LINE, exact.LINE, 0.999),
    "a mean at user level": (mean(distance_to("a"), epsilon=1.0), LINE, None, 0.999),
    "a vector, Laplace": (vector_mean(PAIR, alpha=2.0, noise="laplace"), LINE, exact.LINE, 0.999),
    "a vector, K-norm": (vector_mean(PAIR, alpha=2.0, noise="k_norm"), LINE, exact.LINE, 0.999),
    "a mean among some records": (
        mean(col("item"), alpha=2.0, where=ramp(col("item"), 0.2, 0.7)),
        NUMBERS,
        exact.LINE,
        0.4,
    ),
    "a share": (SQL.format("SHARE()") + " WHERE item = 'a'", LABELS, exact.ZERO_ONE, 0.999),
    "two aggregates": (SQL.format("AVG(item), AVG(RAMP(item, 0.2, 0.7))"), NUMBERS, exact.LINE, 0.8),
    "quantiles": (quantiles(col("item"), [0.5], alpha=2.0), NUMBERS, exact.LINE, 0.999),
    "frequencies": (frequencies(alpha=2.0), LABELS, exact.ZERO_ONE, 0.999),
    "frequencies at user level": (frequencies(epsilon=1.0), LABELS, None, 0.999),
}
"""Pure releases, with the part of the claim that is reached."""


def centres(plan: Plan | MessagePlan, users: tuple[Bag, ...], space: Space) -> list[Any]:
    """Return what each mechanism of a plan would release without noise, in grid steps."""
    if isinstance(plan, MessagePlan):
        silent: Any = copy(plan.releaser)
        vars(silent)["_draw"] = lambda items: np.zeros(items, dtype=np.int64)
        read = exact.blocks_of(space, users, None, plan.reading)
        return [silent.release(iter(read), users=len(users), keep_exact=False)[0][0] / silent.mechanism.grid]
    found = []
    statistics = [statistic.open() for statistic in aggregate(exact.table(space, users), plan.aggregation)]
    for mechanism, values in zip(plan.mechanisms, statistics, strict=True):
        silent = copy(mechanism)
        vars(silent)["_draw"] = lambda size=mechanism.dimension: (0,) * size
        grid = Fraction(1) if mechanism.is_exact else Fraction(mechanism.grid)
        found.append([value / grid for value in silent.release(plan.prepared(values))])
    return found


def mechanisms_of(plan: Any) -> tuple[AdditiveMechanism, ...]:
    return (plan.releaser.mechanism,) if isinstance(plan, MessagePlan) else plan.mechanisms


def loss(mechanism: AdditiveMechanism, first: Any, second: Any) -> float:
    """Return the largest log-ratio of two output laws over the columns of the matrix that decide."""
    shift = np.array([float(b - a) for a, b in zip(first, second, strict=True)])
    if mechanism.is_exact:
        assert not shift.any()
        return 0.0
    far = 4.0 * np.abs(shift).max() + 1.0
    if isinstance(mechanism, LaplaceMechanism):
        total = 0.0
        for step in shift:
            columns = np.array([-far, 0.0, step, far])
            total += np.abs(np.abs(columns - step) - np.abs(columns)).max()
        return float(total / mechanism.noise_units)
    columns = np.stack([sign * scale * shift for sign in (-1, 1) for scale in (0.0, 1.0, 4.0)])
    ratio = np.linalg.norm(columns - shift, axis=1) - np.linalg.norm(columns, axis=1)
    return float(np.abs(ratio).max() / mechanism.noise_units)


def tables_of(sizes: tuple[int, ...], others: list[Bag]) -> list[tuple[Bag, ...]]:
    return list(itertools.product(exact.bags(sizes), others))


def losses(
    request: Any, space: Space, users: list[tuple[Bag, ...]], metric: Floats | None
) -> tuple[Any, Floats, Floats]:
    """Return the plan, and the loss and the distance of all neighbouring tables."""
    plan = exact.planned(request, exact.table(space, users[0]))
    points = {bags: centres(plan, bags, space) for bags in users}
    found, apart = [], []
    for (own, other), (changed, same) in itertools.combinations(users, 2):
        if other != same:
            continue
        pairs = zip(mechanisms_of(plan), points[own, other], points[changed, other], strict=True)
        found.append(math.fsum(loss(*pair) for pair in pairs))
        apart.append(1.0 if metric is None else exact.d_em(own, changed, metric))
    return plan, np.array(found), np.array(apart)


def check_pure(name: str, users: list[tuple[Bag, ...]]) -> None:
    request, space, metric, reached = REQUESTS[name]
    plan, found, apart = losses(request, space, users, metric)
    guarantee, (slack, _) = plan.event.guarantee, plan.event.slack
    assert isinstance(guarantee, EmdDP) == (metric is not None)
    assert guarantee.delta == 0
    assert slack < 1e-10
    assert (found <= guarantee.level * apart * SAFE + slack).all()
    smallest = (found[apart > 1e-9] / apart[apart > 1e-9]).max()
    assert smallest > reached * guarantee.level


@pytest.mark.quarter
@pytest.mark.parametrize("name", REQUESTS)
def test_pure_noise_costs_what_it_claims(name: str) -> None:
    check_pure(name, tables_of((0, 1, 2), [(1,)]))


@pytest.mark.full
@pytest.mark.parametrize("name", REQUESTS)
def test_pure_noise_costs_what_it_claims_over_all_tables(name: str) -> None:
    check_pure(name, tables_of((0, 1, 2, 3), exact.bags((0, 1))))


@pytest.mark.parametrize(("alpha", "delta"), [(2.0, 1e-6), (20.0, 1e-3)])
def test_gaussian_noise_costs_what_it_claims(alpha: float, delta: float) -> None:
    request = vector_mean([distance_to("a")], alpha=alpha, delta=delta, noise="gaussian")
    users = tables_of((0, 1, 2), [(1,)])
    plan = exact.planned(request, exact.table(LINE, users[0]))
    (mechanism,) = plan.mechanisms
    assert isinstance(mechanism, GaussianMechanism)
    assert plan.event.guarantee == EmdDP(alpha, delta)
    points = {bags: centres(plan, bags, LINE)[0] for bags in users}
    worst = 0.0
    for one, two in itertools.combinations(users, 2):
        step = np.array([float(b - a) for a, b in zip(points[one], points[two], strict=True)])
        moved = float(np.linalg.norm(step)) / mechanism.noise_units
        level = alpha * exact.d_em(one[0], two[0]) + plan.event.slack[0]
        if moved > 0:
            stick = norm.sf(level / moved - moved / 2) - math.exp(level) * norm.sf(level / moved + moved / 2)
            worst = max(worst, float(stick))
    assert 0.99 * delta < worst <= delta
