"""Means of a table whose people may be elsewhere: what the share costs, and how often intervals hold."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import emdp
from emdp.sessions.planning import plan_request

NEW_YORK = (40.48, -74.26, 40.92, -73.70)
MIDTOWN = "(40.7484, -73.9857)"


def test_the_share_costs_the_mean_of_the_readme_3_percent_at_most() -> None:
    """Noise of the numerator, and of the quotient at a mean of 8 km (root mean square), beside a neutral item's."""
    noise = []
    for elsewhere in ("neutral", 1):
        rule = "neutral" if elsewhere == "neutral" else "elsewhere"
        space = emdp.Geo("lat", "lon", NEW_YORK, unit="km", on_invalid=rule)
        frame = {"taxi": [1], "lat": [40.7], "lon": [-74.0]}
        table = emdp.read(frame, user="taxi", space=space, users=10_000, name="trips", elsewhere=elsewhere)
        statement = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20) AVG(DISTANCE(POINT{MIDTOWN})) AS km FROM trips"
        (planned,) = plan_request(statement, table.names())
        own = planned.plan
        middle = (own.columns[0].low + own.columns[0].high) / 2
        noise.append([own.mechanisms[0].scale / scale for scale in own.scales])
    (plain,), (above, below) = noise
    assert above <= plain * (1 + 1e-9)
    quotient = np.hypot(above, (8.0 - middle) * below)
    assert 1.0 < quotient / plain <= 1.03


@pytest.mark.slow
@pytest.mark.parametrize("absent", [0.04, 0.3])
def test_intervals_hold_in_200_repetitions(tmp_path: Path, absent: float) -> None:
    """8 % of the records outside of the box, 4 % or 30 % of the people without a record: 95 % intervals hold as often.

    Of 200 intervals at 95 % fewer than 177 hold with a probability below 1e-4; one around a neutral item's answer holds
    in none, since that answer is off by many times its noise.
    """
    random = np.random.default_rng(7)
    taxis, rides = 800, 10
    there = np.repeat(np.flatnonzero(random.uniform(size=taxis) >= absent), rides)
    lat, lon = random.normal(40.72, 0.03, len(there)), random.normal(-73.95, 0.03, len(there))
    outside = random.uniform(size=len(there)) < 0.08
    frame = pl.DataFrame({"taxi": there, "lat": np.where(outside, 41.5, lat), "lon": lon})
    held = {}
    for rule in ("elsewhere", "neutral"):
        space = emdp.Geo("lat", "lon", NEW_YORK, unit="km", on_invalid=rule)
        more = 1 if rule == "elsewhere" else "neutral"
        table = emdp.read(frame, user="taxi", space=space, users=taxis, name="trips", elsewhere=more)
        with (
            emdp.testing.seeded(11),
            emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=tmp_path / f"{rule}.ledger") as session,
        ):
            distance = emdp.distance_to((40.6413, -73.7781))
            answers = [session.mean(distance, alpha=20.0, name="km") for _ in range(200 if more == 1 else 20)]
        # The truth: each user by own records that are somewhere, as much as the share of these.
        truth = _truth(frame, outside, taxis)
        rows = [one.frame.row(0, named=True) for one in answers]
        held[rule] = sum(row["km_low"] <= truth <= row["km_high"] for row in rows)
    assert held["elsewhere"] >= 177
    assert held["neutral"] == 0


def _truth(frame: pl.DataFrame, outside: npt.NDArray[np.bool_], taxis: int) -> float:
    p, q = np.radians(frame["lat"].to_numpy()), np.radians(40.6413)
    across = np.radians(frame["lon"].to_numpy() + 73.7781)
    chord = np.sin((p - q) / 2) ** 2 + np.cos(p) * np.cos(q) * np.sin(across / 2) ** 2
    far = 2 * 6371.0088 * np.arcsin(np.sqrt(chord))
    sizes = np.bincount(frame["taxi"].to_numpy(), minlength=taxis)
    weights = np.where(outside, 0.0, 1.0 / np.maximum(sizes[frame["taxi"].to_numpy()], 1))
    return float(weights @ far / weights.sum())
