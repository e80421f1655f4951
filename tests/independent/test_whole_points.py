"""Item-wise releases by planar Laplace noise as a whole, on coarse grids, against what they claim.

Claim: bounded ``(alpha, delta)`` d_EM-DP with the additive slack ``alpha s`` of the grid: part (b) of the theorem in
:mod:`emdp.mechanisms.items.planar_laplace`, from the randomizer to bags. Second method: the release's own code for
every lattice noise of every record (``exact_rounds``; noise beyond the domain ends on its edge, so that nothing is
cut), ``d_EM`` by a linear program, and the divergence over all pairs of bags. Every test shows that 0.7 times the noise
is seen: a coarse grid has slack, but less than that.
"""

import math
from typing import Any

import exact_releases as exact
import exact_rounds as rounds
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import emdp
from emdp.mechanisms.items import planar_laplace
from emdp.questions import itemwise
from emdp.randomizers import PlanarLaplace
from emdp.spaces import Elsewhere, Interval, Space, Vector
from emdp.tables.readings import read_items

Floats = npt.NDArray[np.float64]

SAFE = 1 + 1e-9
DELTA = 1e-4

LINE: tuple[Space, list[tuple[float, ...]]] = Interval("x", 0, 1), [(0.0,), (0.3,), (1.0,)]
PLANE: tuple[Space, list[tuple[float, ...]]] = (
    Vector(["x", "y"], box=[(0, 1), (0, 1)]),
    [(0.0, 0.0), (0.3, 0.1), (1.0, 1.0)],
)
"""Spaces, and three items of each, one of them beside the grid."""


def coarse(monkeypatch: Any, bits: int) -> None:
    """Make grids of about ``2^-bits`` of the reach."""
    monkeypatch.setattr(planar_laplace, "_REACH_BITS", bits)
    monkeypatch.setattr(planar_laplace, "_SCALE_BITS", 1)
    monkeypatch.setattr(planar_laplace, "_MOST_BITS", 1)


def metric_of(space: Space, points: list[tuple[float, ...]]) -> Floats:
    if math.isnan(points[-1][0]):
        # Elsewhere, at its distance of all others.
        found = np.full((len(points), len(points)), space.elsewhere)
        found[:-1, :-1], found[-1, -1] = metric_of(space, points[:-1]), 0.0
        return found
    apart = np.linalg.norm(np.array(points)[:, None] - np.array(points)[None], axis=2)
    assert space.diameter == pytest.approx(apart.max())
    return np.asarray(apart / apart.max())


def laws_of(
    replay: Any, plan: Any, where: tuple[Space, list[tuple[float, ...]]], tables: list[tuple[exact.Bag, ...]], size: int
) -> dict[tuple[exact.Bag, ...], exact.Law]:
    """Return the law of a release for each table, as the engine reads it."""
    found = {}
    for bags in tables:
        source = source_of(where, bags, size)
        read = read_items(source, plan.reading).open()
        blocks = read if isinstance(read, np.ndarray) else list(read)

        def run(blocks: Any = blocks, users: int = len(bags)) -> Any:
            given = blocks if isinstance(blocks, np.ndarray) else iter(blocks)
            return exact.seen(plan.releaser.release(given, users=users, keep_exact=False)[0])

        found[bags] = {outcome: chance for (outcome, _), chance in replay.law(run).items()}
    return found


def source_of(where: tuple[Space, list[tuple[float, ...]]], bags: tuple[exact.Bag, ...], size: int) -> emdp.Table:
    space, points = where
    rows = [(user, *points[item]) for user, bag in enumerate(bags) for item in bag]
    frame = pl.DataFrame(rows, schema=["user", *space.columns], orient="row")
    return emdp.read(
        frame, user="user", space=space.items_space, users=len(bags), records=size, elsewhere=space.elsewhere
    )


def check_points(
    monkeypatch: Any, where: Any, model: Any, tables: list[tuple[exact.Bag, ...]], alpha: float, bits: int
) -> float:
    """Check the price over all pairs of tables, without and with a planted fault; return the part that is reached."""
    coarse(monkeypatch, bits)
    size = len(tables[0][0])
    own = source_of(where, tables[0], size)
    plan = exact.planned(itemwise(PlanarLaplace, alpha=alpha, delta=DELTA, model=model), own)
    guarantee, (slack, _) = plan.event.guarantee, plan.event.slack
    randomizer = plan.releaser.randomizer
    assert slack >= guarantee.alpha * randomizer.slack_distance > 0.01
    assert (guarantee.sizes, guarantee.model) == ("bounded", model)
    replay = rounds.RoundsReplay(monkeypatch, reach=2**bits)
    P, Q, apart = exact.neighbours(laws_of(replay, plan, where, tables, size), metric_of(*where))
    levels = guarantee.alpha * apart + slack
    assert exact.hockey_stick(P, Q, levels * SAFE).max() <= guarantee.delta * SAFE + 1e-15
    stronger = PlanarLaplace(where[0], randomizer.alpha0 / rounds.WEAKER)
    weak = exact.planned(itemwise(stronger, delta=DELTA, model=model), own)
    P_weak, Q_weak, _ = exact.neighbours(laws_of(replay, weak, where, tables, size), metric_of(*where))
    assert exact.hockey_stick(P_weak, Q_weak, levels).max() > guarantee.delta + 1e-5
    reached = exact.smallest_alpha(P, Q, apart + randomizer.slack_distance, guarantee.delta)
    return float(reached / guarantee.alpha)


ELSEWHERE: list[tuple[float, ...]] = [(0.0,), (0.3,), (1.0,), (math.nan,)]


NEAR: list[tuple[exact.Bag, ...]] = [((2, 3),), ((2, 2),)]
WIDE: list[tuple[exact.Bag, ...]] = [((0, 3),), ((3, 3),)]


SHAPES = [
    pytest.param(NEAR, 1.0, id="bags1-1.0"),
    pytest.param(NEAR, 0.8, id="bags1-0.8", marks=pytest.mark.slow),
    pytest.param(WIDE, 1.0, id="bags0-1.0", marks=pytest.mark.slow),
    pytest.param(WIDE, 0.8, id="bags0-0.8", marks=pytest.mark.full),
]


@pytest.mark.slow
@pytest.mark.parametrize(("bags", "rho"), SHAPES)
def test_points_and_records_that_are_elsewhere_cost_what_they_claim(
    monkeypatch: Any, bags: list[tuple[exact.Bag, ...]], rho: float
) -> None:
    where = Elsewhere(Interval("x", 0, 1, on_invalid="elsewhere"), rho), ELSEWHERE
    # Half of alpha0 is the bit's, half the place's: of what both tell a pair reaches less than of one.
    assert check_points(monkeypatch, where, "central", bags, 4.0, 3) > 0.4


@pytest.mark.full
@pytest.mark.parametrize("model", ["central", "local"])
def test_points_and_records_elsewhere_cost_what_they_claim_over_all_tables(monkeypatch: Any, model: str) -> None:
    where = Elsewhere(Interval("x", 0, 1, on_invalid="elsewhere")), ELSEWHERE
    assert check_points(monkeypatch, where, model, [(bag,) for bag in exact.bags([2], items=4)], 4.0, 3) > 0.6


FAR: list[tuple[exact.Bag, ...]] = [((0, 1),), ((2, 2),)]


def test_points_on_a_line_cost_what_they_claim(monkeypatch: Any) -> None:
    assert check_points(monkeypatch, LINE, "central", FAR, 4.0, 3) > 0.7


@pytest.mark.full
@pytest.mark.parametrize("model", ["central", "local"])
def test_points_on_a_line_cost_what_they_claim_over_all_tables(monkeypatch: Any, model: str) -> None:
    assert check_points(monkeypatch, LINE, model, [(bag,) for bag in exact.bags([2])], 4.0, 3) > 0.8


@pytest.mark.full
@pytest.mark.parametrize("model", ["central", "shuffle"])
def test_points_of_two_users_cost_what_they_claim(monkeypatch: Any, model: str) -> None:
    tables = [(bag, (1,)) for bag in exact.bags([1])]
    assert check_points(monkeypatch, LINE, model, tables, 2.0, 3) > 0.5


@pytest.mark.full
def test_points_in_the_plane_cost_what_they_claim(monkeypatch: Any) -> None:
    assert check_points(monkeypatch, PLANE, "central", [(bag,) for bag in exact.bags([1])], 4.0, 3) > 0.5
