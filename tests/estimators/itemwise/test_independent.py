"""An adversarial reading of the item-wise release: faults found, then the strongest independent checks that passed."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy.stats import binom

import emdp
from emdp import randomizers
from emdp.base.errors import UsageError
from emdp.estimators.mean.local import LocalMeans, plan_local_means
from emdp.expressions import col
from emdp.mechanisms.items.planar_charts import chart_of
from emdp.mechanisms.local.one_bit import LocalOneBit
from emdp.privacy import EmdDP
from emdp.privacy.reduction import reduction_split
from emdp.privacy.sampling import reduction_quantile
from emdp.privacy.shuffle.clone_pair import delta_step
from emdp.privacy.shuffle.clones import clone_alpha
from emdp.privacy.tradeoff.composition import tradeoff_alpha
from emdp.questions import mean
from emdp.questions.itemwise import itemwise
from emdp.spaces import Categories, Geo, Interval, Space

Floats = npt.NDArray[np.float64]

# Faults: each of these failed when it was written.


@pytest.mark.parametrize(
    ("alpha0", "others", "delta"),
    [
        (1e-9, 10**12, 8e-20),
        (1.226156025011706e-9, 516_509_543_897, 4.81e-40),
        (4.47e-9, 878_911_566_589, 1.1e-42),
        (1.65e-9, 1_063_574_363_311, 1.678e-17),
    ],
)
def test_alpha_is_rounded_up_where_it_is_tiny(alpha0: float, others: int, delta: float) -> None:
    """The flow's exponents are differences of numbers up to 700: known to 1e-13, not to a relative 1e-9.

    They gave 9.6, 8.9 and 9.1 times delta with the first lines, 4978, 1.04 and 38 times with the next.
    """
    alpha = tradeoff_alpha(alpha0, 1, others, delta)
    # the exact law of the one step of length 1 that a single item can make
    assert delta_step(alpha, others=others - 1, tilt=alpha0, clone_probability=math.exp(-alpha0)) <= delta


@pytest.mark.parametrize(
    ("column", "kind", "model"),
    [
        ("user", randomizers.PlanarLaplace, "central"),
        ("user", randomizers.PlanarLaplace, "local"),
        ("user", randomizers.KRR, "local"),
        ("count", randomizers.KRR, "local"),
        ("output", randomizers.KRR, "local"),
    ],
)
def test_a_column_with_a_name_of_the_answer_s_own(column: str, kind: Any, model: Any, tmp_path: Path) -> None:
    """It is answered rightly, or refused before the charge; it was charged, and then polars failed."""
    listed = kind is randomizers.KRR
    space: Space = Categories(column, ["a", "b"]) if listed else Interval(column, 0, 1)
    rows = {"key": np.repeat(np.arange(10), 4), column: ["a", "b"] * 20 if listed else np.linspace(0, 1, 40)}
    table = emdp.read(pl.DataFrame(rows), user="key", space=space, users=10, records=4)
    with emdp.Session(table, budget=EmdDP(10, 1e-3, sizes="bounded"), ledger=tmp_path / "x.ledger") as session:
        try:
            frame = session.answer(itemwise(kind, alpha=3.0, delta=1e-6, model=model)).frame
        except UsageError:
            assert session.spent().level == 0
            return
    assert column in frame.columns
    # numbers of users stood under the name of the item
    assert frame.get_column(column).dtype == (pl.String if listed else pl.Float64)


def test_planar_noise_that_delta_alone_covers(tmp_path: Path) -> None:
    """Where delta covers the whole change alpha is 0, which KRR releases; here no argument named alpha was given."""
    space = Interval("x", 0, 1)
    rows = {"key": np.repeat(np.arange(10), 4), "x": np.linspace(0, 1, 40)}
    table = emdp.read(pl.DataFrame(rows), user="key", space=space, users=10, records=4)
    with emdp.Session(table, budget=EmdDP(10, 0.5, sizes="bounded"), ledger=tmp_path / "x.ledger") as session:
        query = itemwise(randomizers.PlanarLaplace(space, 0.01), delta=0.3)
        assert len(session.answer(query).frame) == 40


@pytest.mark.parametrize(("alpha0", "shuffled"), [(2.0, 10**9), (1.0, 10**10)])
def test_the_lines_are_close_where_many_are_shuffled(alpha0: float, shuffled: int) -> None:
    """Cells of 2^-10 of a count are wider than its deviation from 10^7 clones on: then all mass stood at 0 clones."""
    assert tradeoff_alpha(alpha0, 1000, shuffled, 1e-12) <= 1.005 * clone_alpha(alpha0, 1000, shuffled, 1e-12, 0.0)


# Independent checks that pass.


def power_curve(alpha0: float, shuffled: int, w: float) -> tuple[Floats, Floats]:
    """Return the corners of ``u -> sup P(S)`` over events with ``Q(S) <= u``, of the clone pair of a move by ``w``."""
    low = 1 / (1 + math.exp(alpha0 * w))
    before, after = [], []
    for count in range(shuffled):
        heads = binom.pmf(np.arange(count + 1), count, 0.5)
        first, second = np.append(0, heads), np.append(heads, 0)
        mass = binom.pmf(count, shuffled - 1, math.exp(-alpha0))
        before.append(mass * ((1 - low) * first + low * second))
        after.append(mass * (low * first + (1 - low) * second))
    p, q = np.concatenate(before), np.concatenate(after)
    order = np.argsort(-p / np.maximum(q, 1e-300))
    return np.append(0, np.cumsum(q[order])), np.append(0, np.cumsum(p[order]))


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("alpha0", "m", "shuffled", "delta", "w_min", "tight"),
    [
        (0.3, 20, 50, 1e-4, 0.0, 0.7),
        (0.05, 50, 200, 1e-6, 0.3, 0.9),
        (0.1, 12, 12, 1e-2, 1.0, 0.9),
        (1.0, 4, 30, 1e-3, 0.3, 0.1),
    ],
)
def test_exact_composition_of_power_curves(
    alpha0: float, m: int, shuffled: int, delta: float, w_min: float, tight: float
) -> None:
    """Composing the exact curves step by step is the best that any proof by steps can do: alpha covers it, closely."""
    alpha = tradeoff_alpha(alpha0, m, shuffled, delta, w_min)
    worst = 0.0
    start = np.append(0.0, np.geomspace(1e-14, 1, 4000))
    for distance in (1 / m, 0.1, 0.3, 0.6, 1.0):
        moves = {max(w_min, 0.3): int(distance * m / max(w_min, 0.3)), 1.0: int(distance * m)}
        if distance >= w_min:
            moves[distance] = m
        for w, times in moves.items():
            curve, reached = power_curve(alpha0, shuffled, w), start
            for _ in range(min(times, m)):
                reached = np.interp(reached, *curve)
            apart = min(times, m) * w / m
            worst = max(worst, float(np.max(reached - math.exp(alpha * apart) * start)))
    assert tight * delta <= worst <= delta


@pytest.mark.slow
def test_part_two_of_the_reduction_on_binomial_samples() -> None:
    """``E (1 - exp(-alpha (D - q)))_+`` for items that differ by 1 with chance r, the largest law of ``s D``."""
    closest = 0.0
    for r in (0.001, 0.1, 0.5):
        for samples in (3, 100, 3000):
            places = np.arange(samples + 1)
            chances = binom.pmf(places, samples, r)
            for delta in (0.1, 1e-9):
                for alpha in (0.01, 0.5, 3.0, 30.0):
                    q = reduction_quantile(r, samples, delta, alpha=alpha)
                    beyond = np.maximum(0.0, -np.expm1(-alpha * np.maximum(places / samples - q, 0.0)))
                    spent = float(chances @ beyond)
                    assert spent <= delta * (1 + 1e-9)
                    closest = max(closest, spent / delta)
                split = reduction_split(1.0, r, samples, delta)
                # a mechanism that spends less of alpha than was planned for keeps the promise
                less = 0.7 * split.alpha
                assert less * reduction_quantile(r, samples, split.delta_sampling, alpha=less) <= 1.0
    assert closest > 0.85


@pytest.mark.parametrize(("low", "width"), [(0.0, 1.0), (1e6, 1e-3), (1e9, 1.7e-5), (-1e-9, 3.0)])
@pytest.mark.parametrize("price", [{"alpha": 0.01}, {"alpha": 0.5}, {"epsilon": 0.1}, {"epsilon": 1.0}])
def test_the_chances_of_one_bit_as_integers(
    low: float, width: float, price: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The 62-bit numerators that the coins are thrown with keep the price, with the slack that is stated."""
    space = Interval("x", low, low + width)
    plan = plan_local_means(mean(col("x"), model="local", **price), space=space, users=9)
    releaser = plan.mechanisms[0]
    assert isinstance(releaser, LocalMeans)
    bit = releaser.mechanism
    if not isinstance(bit, LocalOneBit):
        pytest.fail("one bit was not the better choice")
    thrown: list[npt.NDArray[np.int64]] = []

    def throw(numerators: npt.NDArray[np.int64], bits: int) -> npt.NDArray[np.bool_]:
        assert bits == 62
        thrown.append(numerators)
        return np.zeros(len(numerators), dtype=np.bool_)

    monkeypatch.setattr("emdp.mechanisms.local.one_bit.draw_bernoulli", throw)
    values = np.linspace(space.low, space.high, 9)
    units = np.rint(np.ldexp(values, releaser.exponents[0])).astype(np.int64)[:, None]
    bit.encode(units, releaser.exponents, np.zeros(9, dtype=np.int64))
    (plus,) = thrown
    minus = 2**62 - plus
    loss = np.maximum(*(np.log(np.divide.outer(one, one.astype(float))) for one in (plus, minus)))
    apart = np.abs(np.subtract.outer(values, values)) / space.diameter
    allowed = price["alpha"] * apart if "alpha" in price else price["epsilon"]
    assert (loss <= allowed + bit.slack_epsilon + 1e-15).all()


def test_charts_lengthen_no_distance() -> None:
    """Random boxes, with the pairs on their northern and southern edges, against angles between unit vectors."""
    rng = np.random.default_rng(5)
    kinds = set()
    for number in range(120):
        south, north = np.sort(rng.uniform(-50, 60, 2) if number % 2 else rng.uniform(-90, 90, 2))
        west = rng.uniform(-180, 100)
        east = west + (rng.uniform(0.001, 60) if number % 2 else rng.uniform(0.001, min(360 - west, 360)))
        space = Geo("lat", "lon", box=(south, west, north, east), as_given=True)
        chart = chart_of(space)
        kinds.add(type(chart).__name__)
        ends = rng.uniform([south, west], [north, east], (2, 1500, 2))
        ends[:, :500, 0], ends[:, 500:1000, 0], ends[0, :50, 1], ends[1, :50, 1] = north, south, west, east
        units = np.stack([_unit(one) for one in ends])
        cross = np.linalg.norm(np.cross(units[0], units[1]), axis=1)
        arcs = space.radius * np.arctan2(cross, (units[0] * units[1]).sum(axis=1))
        mapped = [chart.to_plane(one) for one in ends]
        assert (np.linalg.norm(mapped[0] - mapped[1], axis=1) <= arcs + 1e-10).all()
        assert np.linalg.norm(mapped[0], axis=1).max() <= chart.radius * (1 + 1e-12)
    assert kinds == {"GeoPlane", "GeoSphere"}


def _unit(places: Floats) -> Floats:
    lat, lon = np.radians(places).T
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
