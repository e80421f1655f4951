"""Whole releases of messages over all small tables, against what their plan claims.

Claim: the guarantee of the event that a session would charge. Second method: the law of the release by running its own
code once for every outcome of every draw (``exact_releases.Replay``), ``d_EM`` by a linear program, and the smallest
price over all neighbouring tables, users without records among them where sizes are unbounded.
"""

import itertools
from typing import Any

import exact_releases as exact
import numpy as np
import numpy.typing as npt
import pytest

from emdp.expressions import distance_to
from emdp.privacy import BoundedReduction, DiscreteEmdDP, EmdDP
from emdp.questions import frequencies, itemwise, mean, user_mean, vector_mean
from emdp.randomizers import GKRR, KRR, Exponential, Geometric, HadamardResponse, OneBit, Optimal, Recoverable
from emdp.spaces import Categories, Clusters, Distances, Interval, Space

Floats = npt.NDArray[np.float64]

SAFE = 1 + 1e-9
"""Covers the float64 sums of these tests."""

LINE = Distances("item", list(exact.LABELS), exact.LINE)
LABELS = Categories("item", list(exact.LABELS))
CLUSTERS = Clusters("item", {"a": 0, "b": 0, "c": 1}, 0.25)
NUMBERS = Interval("item", 0, 1)

Bag = tuple[int, ...]


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch) -> Any:
    return exact.Replay(monkeypatch)


def all_laws(
    replay: Any, request: Any, space: Space, users: list[tuple[Bag, ...]], records: int | None = None
) -> tuple[Any, dict[tuple[Bag, ...], Any]]:
    """Return the plan of a request, and the law of its release for each table."""
    plan = exact.planned(request, exact.table(space, users[0], records))
    return plan, {bags: exact.release_law(replay, plan, space, bags, records) for bags in users}


def beside(own: list[Bag], others: list[Bag]) -> list[tuple[Bag, ...]]:
    """Return the tables of two users, the first with any bag, the second with some."""
    return list(itertools.product(own, others))


RANDOMIZERS: dict[str, tuple[Any, Space, Floats]] = {
    "KRR": (KRR, LABELS, exact.ZERO_ONE),
    "GKRR": (GKRR, CLUSTERS, exact.CLUSTERED),
    "Exponential": (Exponential, LINE, exact.LINE),
    "Geometric": (Geometric, LINE, exact.LINE),
    "HadamardResponse": (HadamardResponse, LABELS, exact.ZERO_ONE),
    "Recoverable": (Recoverable, LABELS, exact.ZERO_ONE),
    "Optimal": (Optimal, LINE, exact.LINE),
    "OneBit": (OneBit(LINE, 1.2, list(exact.NUMBERS)), LINE, exact.LINE),
}

ALPHA = 4.0
"""Of two or three records: strong enough for ``Optimal`` not to be constant."""


def check_itemwise(replay: Any, name: str, model: Any, delta: float, size: int, others: list[Bag]) -> float:
    """Check a plan's price over all tables; return the smallest true price as a part of it."""
    kind, space, metric = RANDOMIZERS[name]
    own = exact.bags([size])
    users = [(bag,) for bag in own] if model == "local" else beside(own, others)
    plan, laws = all_laws(replay, itemwise(kind, alpha=ALPHA, delta=delta, model=model), space, users, size)
    guarantee = plan.event.guarantee
    assert isinstance(guarantee, EmdDP)
    assert (guarantee.sizes, guarantee.model) == ("bounded", model)
    # 0 where composition is the best bound: the claim is then pure, and checked as such.
    assert guarantee.delta in (0.0, delta)
    assert plan.event.slack == (0.0, 0.0)
    P, Q, apart = exact.neighbours(laws, metric)
    assert exact.hockey_stick(P, Q, guarantee.alpha * apart * SAFE).max() <= guarantee.delta * SAFE + 1e-15
    return float(exact.smallest_alpha(P, Q, apart, guarantee.delta) / guarantee.alpha)


@pytest.mark.quarter
@pytest.mark.parametrize("name", RANDOMIZERS)
@pytest.mark.parametrize(("model", "size"), [("central", 2), ("local", 2)])
def test_item_wise_releases_cost_what_they_claim(replay: Any, name: str, model: str, size: int) -> None:
    ratio = check_itemwise(replay, name, model, 1e-4, size, [(1,) * (size - 1) + (2,)])
    assert 0.99 < ratio <= SAFE


@pytest.mark.full
@pytest.mark.parametrize("name", RANDOMIZERS)
@pytest.mark.parametrize(("model", "size"), [("central", 3), ("shuffle", 2), ("local", 3)])
@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.03])
def test_item_wise_releases_cost_what_they_claim_over_all_tables(
    replay: Any, name: str, model: str, size: int, delta: float
) -> None:
    ratio = check_itemwise(replay, name, model, delta, size, exact.bags([size]))
    assert 0.2 < ratio <= SAFE


def check_reduced(
    replay: Any, name: str, model: Any, samples: int, r: float, delta: float, user: tuple[int, ...]
) -> float:
    kind, space, metric = RANDOMIZERS[name]
    own = exact.bags(user)
    others: list[Bag] = [(), (1, 2)] if len(user) > 3 else [(1, 2)]
    users = [(bag,) for bag in own] if model == "local" else beside(own, others)
    sizes = BoundedReduction(samples=samples, r=r)
    plan, laws = all_laws(replay, itemwise(kind, epsilon=6.0, delta=delta, sizes=sizes, model=model), space, users)
    guarantee = plan.event.guarantee
    assert isinstance(guarantee, DiscreteEmdDP)
    assert (guarantee.sizes, guarantee.model, guarantee.r) == ("unbounded", model, r)
    P, Q, apart = exact.neighbours(laws, metric)
    near = apart <= r + 1e-12
    assert near.sum() > 20
    P, Q = P[near], Q[near]
    assert exact.hockey_stick(P, Q, np.full(len(P), guarantee.epsilon)).max() <= guarantee.delta * SAFE
    return float(exact.smallest_alpha(P, Q, np.ones(len(P)), guarantee.delta) / guarantee.epsilon)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("name", "model", "samples"), [("KRR", "central", 1), ("KRR", "central", 2), ("Exponential", "local", 2)]
)
def test_sampled_releases_cost_what_they_claim(replay: Any, name: str, model: str, samples: int) -> None:
    ratio = check_reduced(replay, name, model, samples, 0.5, 1e-4, (0, 1, 2))
    assert 0.5 < ratio <= SAFE


@pytest.mark.full
@pytest.mark.parametrize("name", RANDOMIZERS)
@pytest.mark.parametrize(("model", "samples"), [("central", 3), ("local", 2)])
@pytest.mark.parametrize(("r", "delta"), [(0.5, 1e-4), (0.34, 0.02)])
def test_sampled_releases_cost_what_they_claim_over_all_tables(
    replay: Any, name: str, model: str, samples: int, r: float, delta: float
) -> None:
    assert check_reduced(replay, name, model, samples, r, delta, (0, 1, 2, 3)) <= SAFE


UNBOUNDED: dict[str, tuple[Any, Space, Floats | None, float]] = {
    "one bit": (mean(distance_to("a"), alpha=0.5, model="local"), LINE, exact.LINE, 0.9),
    "one bit, user level": (mean(distance_to("a"), epsilon=0.5, model="local"), LINE, None, 0.999),
    "bits of two functions": (
        vector_mean([distance_to("a"), distance_to("b")], alpha=0.5, model="local"),
        LINE,
        exact.LINE,
        0.9,
    ),
    "frequencies, user level": (frequencies(epsilon=1.0, model="local"), LABELS, None, 0.999),
    "frequencies": (frequencies(alpha=3.0, model="local"), LABELS, exact.ZERO_ONE, 0.6),
    "range, then mean": (
        user_mean("item", epsilon=0.5, spread=0.05, between=0.05, records=3, model="local", method="range"),
        NUMBERS,
        None,
        0.9,
    ),
}
"""Local releases of users of any sizes, with the part of the claim that is reached."""


def check_local(replay: Any, name: str, sizes: tuple[int, ...]) -> float:
    """Check a plan's price over all bags; return the smallest true price as a part of it."""
    request, space, metric, _ = UNBOUNDED[name]
    plan, laws = all_laws(replay, request, space, [(bag,) for bag in exact.bags(sizes)])
    guarantee, (slack, _) = plan.event.guarantee, plan.event.slack
    assert guarantee.model == "local"
    assert guarantee.delta == 0
    assert slack < 1e-12
    assert isinstance(guarantee, EmdDP) == (metric is not None)
    P, Q, apart = exact.neighbours(laws, metric)
    found = exact.smallest_alpha(P, Q, apart, 0.0)
    assert found <= guarantee.level * SAFE + slack / apart.min()
    return float(found / guarantee.level)


@pytest.mark.quarter
@pytest.mark.parametrize("name", UNBOUNDED)
def test_local_releases_cost_what_they_claim(replay: Any, name: str) -> None:
    assert check_local(replay, name, (0, 1, 2)) > UNBOUNDED[name][3]


@pytest.mark.full
@pytest.mark.parametrize("name", UNBOUNDED)
def test_local_releases_cost_what_they_claim_over_larger_bags(replay: Any, name: str) -> None:
    assert check_local(replay, name, (0, 1, 2, 3, 4)) > UNBOUNDED[name][3]
