"""Every mechanism and every randomizer stands its audit, on spaces of all kinds."""

import polars as pl
import pytest

import emdp
from emdp.audit import audit_mechanisms, audit_randomizer
from emdp.audit.suite import suite
from emdp.base.errors import UsageError
from emdp.randomizers import (
    GKRR,
    KRR,
    Exponential,
    Geometric,
    HadamardResponse,
    OneBit,
    Optimal,
    PlanarLaplace,
    Recoverable,
)
from emdp.spaces import Categories, Clusters, Cycle, Elsewhere, Geo, Grid, Interval, Product, Vector

CERTAIN = 1.0 - 1e-6

LABELS = Categories("kind", ["bar", "home", "office", "park", "station"])
LINE = Grid(Interval("x", 0, 1), 6)
RANDOMIZERS = {
    "KRR": KRR(LABELS, 2.0),
    "GKRR": GKRR(Clusters("c", {"a": "p", "b": "p", "c": "q", "d": "q"}, within=0.25), 2.0),
    "Exponential": Exponential(LINE, 2.0),
    "Geometric": Geometric(LINE, 2.0),
    "Optimal": Optimal(LINE, 2.0),
    "OneBit": OneBit(LABELS, 2.0, [0.0, 1.0, 2.0, 3.0, 4.0]),
    "HadamardResponse": HadamardResponse(LABELS, 2.0),
    "Recoverable": Recoverable(LABELS, 2.0),
    "PlanarLaplace on a line": PlanarLaplace(Interval("x", 0, 1), 2.0),
    "PlanarLaplace on a line or elsewhere": PlanarLaplace(Elsewhere(Interval("x", 0, 1), 0.9), 2.0),
    "PlanarLaplace in the plane": PlanarLaplace(Vector(["x", "y"], box=[(0, 1), (0, 1)]), 2.0),
    "PlanarLaplace on the globe": PlanarLaplace(Geo("lat", "lon", box=(40, -75, 41, -73)), 2.0),
}
TIGHT = {"KRR", "GKRR", "OneBit", "HadamardResponse", "Optimal"}
"""Randomizers of which some event has the whole loss with a large probability."""


@pytest.mark.quarter
@pytest.mark.parametrize("kind", RANDOMIZERS)
def test_every_randomizer_stands_and_is_seen_to_lose(kind: str) -> None:
    report = audit_randomizer(RANDOMIZERS[kind], trials=20_000, confidence=CERTAIN)
    assert report.is_sound
    best = max(row.ratio for row in report.rows)
    assert best > (0.75 if kind in TIGHT else 0.3)


@pytest.mark.full
@pytest.mark.parametrize("kind", RANDOMIZERS)
def test_every_randomizer_stands_at_a_million_draws(kind: str) -> None:
    report = audit_randomizer(RANDOMIZERS[kind], trials=1_000_000, confidence=CERTAIN)
    assert report.is_sound
    assert max(row.ratio for row in report.rows) > (0.9 if kind in TIGHT else 0.5)


@pytest.mark.full
def test_every_mechanism_stands_at_many_draws() -> None:
    """At 10,000 draws in ``tests/disclosure/test_attackers.py``, with attackers on the same draws."""
    report = audit_mechanisms(trials=100_000, confidence=CERTAIN, end_to_end=40)
    assert report.skipped == ()
    assert report.is_sound, report.frame


@pytest.mark.full
@pytest.mark.parametrize(
    "space",
    [
        Vector(["a", "b"], radius=1.0),
        Product(Cycle("h", 24), Interval("x", 0, 1)),
        Clusters("c", {"a": "p", "b": "p", "c": "q", "d": "q"}, within=0.25),
    ],
    ids=lambda space: space.kind,
)
def test_a_suite_fits_its_space(space: emdp.Space) -> None:
    """Every query of it can be planned; what there is no place for says why."""
    row = {name: [0.5] if space.labels is None else [space.labels[0]] for name in space.columns}
    table = emdp.read(pl.DataFrame({"user": [1], **row}), user="user", space=space, users=2000)
    from emdp.sessions.planning import plan_request

    cases = suite(table)
    assert len(cases) > 12
    for case in cases:
        if case.table is not None and case.query is not None:
            plan_request(case.query, case.table.names())
        elif case.randomizer is not None:
            assert case.randomizer().alpha0 > 0
        else:
            assert case.reason


def test_what_is_no_randomizer_or_table_is_refused() -> None:
    with pytest.raises(UsageError, match="Session or a Table"):
        audit_mechanisms("visits")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="at least 100"):
        audit_randomizer(RANDOMIZERS["KRR"], trials=10)
    with pytest.raises(UsageError, match="near as distances"):
        audit_randomizer(RANDOMIZERS["KRR"], distances=[0.5], trials=100)
