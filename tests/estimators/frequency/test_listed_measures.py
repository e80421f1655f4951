"""Shares and measures of listed places with distances: the noise that is chosen, and how near what is released is."""

from pathlib import Path
from typing import Any

import numpy as np
import ot
import polars as pl
import pytest

import emdp
from emdp.audit import audit
from emdp.base.errors import UsageError
from emdp.estimators.frequency.listed_measures import listed_ways
from emdp.estimators.frequency.measures import plan_measure
from emdp.estimators.frequency.smoothed import plan_frequencies
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.mechanisms.central.edge_graph import GraphLaplaceMechanism
from emdp.mechanisms.central.edge_laws import EdgeLaplaceMechanism
from emdp.questions.price import Price
from emdp.questions.select import FrequencyQuery
from emdp.spaces import Distances, Interval, Product, Space
from emdp.spaces.combined.elsewhere import Elsewhere
from emdp.transport.simplex import project_to_simplex

ZONES = 40


def town(count: int = ZONES) -> tuple[list[str], np.ndarray]:
    """Centres of zones, denser in the middle, and their distances."""
    rng = np.random.default_rng(4)
    centres = 4.0 * rng.normal(size=(count, 2))
    return [f"z{own}" for own in range(count)], np.linalg.norm(centres[:, None] - centres[None], axis=2)


NAMES, APART = town()
SPACE = Distances("zone", NAMES, APART, unit="km")


def session_of(folder: Path, *, elsewhere: float | None = None) -> tuple[emdp.Session, np.ndarray]:
    """A session on records of 400 users, a tenth of whom are elsewhere if there is such a point, and true shares."""
    rng = np.random.default_rng(6)
    near = np.exp(-APART / 2.0)
    homes = rng.choice(ZONES, 400, p=rng.dirichlet(np.full(ZONES, 0.4)))
    at = np.array([rng.choice(ZONES, 5, p=near[home] / near[home].sum()) for home in homes])
    kept = 360 if elsewhere else 400
    rows = {"user": np.repeat(np.arange(400), 5)[: 5 * kept], "zone": [f"z{own}" for own in at[:kept].ravel()]}
    own: dict[str, Any] = {} if elsewhere is None else {"elsewhere": elsewhere}
    table = emdp.read(pl.DataFrame(rows), user="user", space=SPACE, users=list(range(400)), **own)
    session = emdp.Session(table, budget=emdp.EmdDP(alpha=1e6), ledger=folder / "z.ledger")
    return session, np.bincount(at[:kept].ravel(), minlength=ZONES) / 2000


def plan_of(space: Space, noise: str = "auto", users: int = 100) -> Any:
    part = next(own for own in space.parts if "zone" in own.columns)
    axis = LabelAxis("zone", tuple((label,) for label in part.labels or ()))
    query = FrequencyQuery(axis, Price("alpha", 2.0), noise=noise)  # type: ignore[arg-type]
    return plan_frequencies(query, space=space, users=users)


def test_the_least_noise_is_chosen_and_every_place_has_its_own_interval() -> None:
    plan, white = plan_of(SPACE), plan_of(SPACE, "laplace")
    mechanism = plan.mechanisms[0]
    assert isinstance(mechanism, GraphLaplaceMechanism)
    assert mechanism.root_mean_square < white.mechanisms[0].standard_deviation / 2
    assert "edges" in plan.choice
    assert plan.event.guarantee.alpha == 2.0
    assert len(set(mechanism.half_widths(0.95))) > ZONES / 2
    # places that are all as far apart are a list; what is too near for one grid of noise has no graph either
    alike = Distances("zone", NAMES, 1 - np.eye(ZONES))
    apart = np.abs(np.subtract.outer([0.0, 1e-6, 1.0], [0.0, 1e-6, 1.0]))
    for space in (alike, Distances("zone", NAMES[:3], apart)):
        plain, noise = plan_of(space).mechanisms[0], plan_of(space, "laplace").mechanisms[0].standard_deviation
        assert not isinstance(plain, GraphLaplaceMechanism)
        assert getattr(plain, "root_mean_square", plain.standard_deviation) <= noise


def test_a_part_of_a_product_counts_by_its_share() -> None:
    alone = plan_of(SPACE, "edges").mechanisms[0]
    both = plan_of(Product(SPACE.weighted(1.0), Interval("x", 0, 1).weighted(3.0)), "edges").mechanisms[0]
    assert both.sensitivity == pytest.approx(4 * alone.sensitivity)


def test_elsewhere_is_one_more_node() -> None:
    for rho in (1.0, 0.5):
        mechanism = plan_of(Elsewhere(SPACE, rho), "edges").mechanisms[0]
        assert mechanism.away == pytest.approx(1 / (100 * rho))
        assert mechanism.dimension == ZONES + 1


@pytest.mark.slow
def test_a_measure_is_as_near_as_expected_and_nearer_than_today(tmp_path: Path) -> None:
    with emdp.testing.seeded(8):
        session, truth = session_of(tmp_path)
        told = session.preview(emdp.measure(alpha=40.0))
        expected = told.comparison["expected_error"].min() * SPACE.diameter
        found, white = [], []
        for turn in range(4):
            answer = session.measure(alpha=40.0, name=f"m{turn}")
            assert isinstance(answer.noise, GraphLaplaceMechanism)
            assert answer.frame[f"m{turn}"].sum() == pytest.approx(1.0, abs=1e-9)
            found.append(off(answer.table(), "weight", truth))
            other = session.frequencies("zone", alpha=40.0, noise="laplace", name=f"f{turn}")
            white.append(off(other.frame, f"f{turn}", truth))
        assert 0.7 < expected / np.mean(found) < 1.4
        assert np.mean(found) < np.mean(white) / 2
        # the truth is in sure intervals: nothing is smoothed
        exact = np.array(answer.exact["m3"])
        assert exact == pytest.approx(truth)
        ends = answer.frame["m3_low"].to_numpy(), answer.frame["m3_high"].to_numpy()
        assert ((ends[0] <= exact) & (exact <= ends[1])).mean() > 0.85
        mean = answer.mean(emdp.distance_to("z3"), raw=True, level=1 - 1e-6)
        assert mean["low"].item() <= float(truth @ APART[3]) <= mean["high"].item()


def off(frame: pl.DataFrame, column: str, truth: np.ndarray) -> float:
    values = dict(frame.select("zone", column).iter_rows())
    shares = project_to_simplex(np.array([values.get(name, 0.0) for name in NAMES]))
    return float(ot.emd2(shares / shares.sum(), truth / truth.sum(), APART))


@pytest.mark.slow
def test_by_sql_and_with_people_elsewhere(tmp_path: Path) -> None:
    with emdp.testing.seeded(9):
        session, truth = session_of(tmp_path, elsewhere=0.5)
        answer = session.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 200) MEASURE(*) AS town FROM data")
        assert answer.frame.height == ZONES + 1
        assert answer.frame["town"].sum() == pytest.approx(1.0, abs=1e-9)
        table = session.sql("SELECT zone, elsewhere, weight FROM MEASURE(town)").frame
        assert table.filter(pl.col("elsewhere"))["weight"].sum() == pytest.approx(0.1, abs=0.03)
        assert off(table.filter(~pl.col("elsewhere")), "weight", truth) < 0.5
        assert session.remaining().alpha == pytest.approx(1e6 - 200)
        named = session.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 200, noise = 'edges') FREQUENCY(zone) FROM data")
        assert isinstance(named.noise, GraphLaplaceMechanism)


@pytest.mark.slow
@emdp.testing.seeded(5)
def test_all_areas_have_the_less_noise_and_their_preview_is_as_near_as_answers(tmp_path: Path) -> None:
    session, truth = session_of(tmp_path)
    header = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 40{}) FREQUENCY({}) FROM data"

    def asked(query: Any) -> emdp.Answer:
        return session.sql(query) if isinstance(query, str) else session.frequencies(alpha=40.0, noise=query.noise)

    for query in (emdp.frequencies(alpha=40.0), header.format("", "*"), header.format("", "zone")):
        told = session.preview(query).comparison.filter("is_chosen")["expected_error"].item()
        far = [off(asked(query).frame, "frequency", truth) / SPACE.diameter for _ in range(3)]
        assert 0.5 < told / np.mean(far) < 2.0
    for query in (
        emdp.frequencies(alpha=40.0),
        emdp.frequencies(alpha=40.0, noise="edges"),
        header.format(", noise = 'edges'", "*"),
    ):
        answer = asked(query)
        assert isinstance(answer.noise, GraphLaplaceMechanism)
        assert answer.frame.columns[:2] == ["zone", "frequency"]
        assert answer.frame["frequency"].sum() == pytest.approx(1.0)
    # a distribution beside the shares is made of the histogram's
    assert "frequency_adjusted" in session.frequencies(alpha=40.0, adjust="simplex").frame.columns
    covariance = plan_of(SPACE).mechanisms[0].covariance
    assert covariance.sum(axis=0) == pytest.approx(np.zeros(ZONES), abs=1e-9)
    variances = [plan_of(SPACE).mechanisms[0].linear_deviation(row) ** 2 for row in np.eye(ZONES)]
    assert np.diag(covariance) == pytest.approx(variances)


def test_what_is_refused() -> None:
    line = np.array([0.0, 1e-250, 1e100])
    tiny = Distances("zone", NAMES[:3], np.abs(np.subtract.outer(line, line)))
    with pytest.raises(UsageError, match="'z0' to 'z1' that is 0 beside diameter"):
        plan_measure(emdp.measure(alpha=1.0), space=tiny, users=100)
    with pytest.raises(UsageError, match="distance 0"):
        plan_measure(emdp.measure(alpha=1.0), space=Product(tiny, Interval("x", 0, 1)), users=100)
    large, apart = town(501)
    for query, space, match in (
        (emdp.measure(alpha=1.0, pitch=1.0), SPACE, "places are listed"),
        (emdp.measure(alpha=1.0, pairs=True), SPACE, "places are listed"),
        (emdp.measure(epsilon=1.0), SPACE, "under alpha"),
        (emdp.measure(alpha=1.0), Distances("zone", large, apart), "500 listed places"),
    ):
        with pytest.raises(UsageError, match=match):
            plan_measure(query, space=space, users=100)
    assert listed_ways(emdp.measure(alpha=1.0), Interval("x", 0, 1), 100) == []


@pytest.mark.quarter
@pytest.mark.parametrize("factor", [1.0, 0.6])
def test_an_audit_of_a_square_of_places_breaks_less_noise(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    square = [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]
    drawn = EdgeLaplaceMechanism._drawn
    monkeypatch.setattr(EdgeLaplaceMechanism, "_drawn", lambda self, units, size: drawn(self, factor * units, size))
    rows = pl.DataFrame({"user": [1, 2], "zone": ["z0", "z1"]})
    table = emdp.read(rows, user="user", space=Distances("zone", NAMES[:4], square), users=2)
    query = emdp.frequencies("zone", alpha=4.0, noise="edges")
    report = audit(table, query, trials=40_000, confidence=1 - 1e-6, end_to_end=0)
    assert report.is_sound == (factor == 1.0)
