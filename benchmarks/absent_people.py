"""What users without records, and records outside of the box, do to a map, a share and a mean: before and after.

Run `python benchmarks/absent_people.py` from the project's root (some minutes on two cores); `--repeat 20` is quicker.
Taxis are generated: each has rides of a day around a few places of New York, 4 % or 30 % of them have none, and 8 % of
the rides begin outside of the box. *Before* is the table with a neutral item, or with places moved to the border of the
box; *after* is `elsewhere=1`. The truth is that of the rides inside of the box, a taxi weighing what share of its rides
that is.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import emdp
from emdp.sessions.planning import plan_request

BOX = (40.48, -74.26, 40.92, -73.70)
MIDTOWN, AIRPORT = (40.7484, -73.9857), (40.6413, -73.7781)
TAXIS, RIDES, ALPHA = 5000, 20, 20.0
PITCH = 2.0
"""Of the map, in km."""

PLACES = np.array([[40.755, -73.985, 0.012], [40.71, -74.01, 0.008], [40.645, -73.785, 0.006], [40.77, -73.87, 0.006]])
WEIGHTS = (0.55, 0.25, 0.12, 0.08)
RUSH = 9
"""The hour whose share is asked for; 12 is the neutral one."""


def rides(absent: float, rng: np.random.Generator) -> pl.DataFrame:
    """Return the rides of those who have any: taxi, place, hour."""
    working = rng.permutation(TAXIS)[: round(TAXIS * (1 - absent))]
    taxi = np.repeat(working, rng.integers(1, 2 * RIDES, len(working)))
    chosen = PLACES[rng.choice(len(PLACES), len(taxi), p=WEIGHTS)]
    place = chosen[:, :2] + rng.normal(size=(len(taxi), 2)) * chosen[:, 2:]
    outside = rng.random(len(taxi)) < 0.08
    place[outside] = np.column_stack([rng.uniform(41.0, 41.6, len(taxi)), rng.uniform(-74.9, -74.3, len(taxi))])[
        outside
    ]
    hour = np.floor(
        np.where(rng.random(len(taxi)) < 0.5, rng.normal(9, 2, len(taxi)), rng.normal(18, 3, len(taxi))) % 24
    )
    return pl.DataFrame({"taxi": taxi, "lat": place[:, 0], "lon": place[:, 1], "hh": hour.astype(np.int64)})


def declared(frame: pl.DataFrame, rule: Any, elsewhere: Any) -> emdp.Table:
    place = emdp.Geo("lat", "lon", BOX, unit="km", on_invalid=rule)
    hours = emdp.Categories("hh", list(range(24)), neutral=12)
    space = emdp.Product(place, hours)
    return emdp.read(frame, user="taxi", space=space, users=TAXIS, name="trips", elsewhere=elsewhere)


def truth(frame: pl.DataFrame) -> dict[str, Any]:
    """Return the mean distance and the shares of two hours among rides inside, with their places and weights."""
    south, west, north, east = BOX
    inside = pl.col("lat").is_between(south, north) & pl.col("lon").is_between(west, east)
    away = emdp.Geo("lat", "lon", BOX, unit="km").natural_distances
    weighted = frame.with_columns(w=1 / pl.len().over("taxi")).filter(inside)
    weights = weighted["w"].to_numpy() / weighted["w"].sum()
    places = weighted.select("lat", "lon").to_numpy()
    return {
        "km": float(weights @ away(places, np.array([AIRPORT]))[:, 0]),
        "hour": float(weights @ (weighted["hh"].to_numpy() == RUSH)),
        "noon": float(weights @ (weighted["hh"].to_numpy() == 12)),
        "places": places,
        "weights": weights,
    }


def asked(session: emdp.Session, repeat: int) -> dict[str, Any]:
    """Return what a map, a share and a mean answer, and the intervals of repeated means."""
    head = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = {ALPHA})"
    cells = session.sql(f"{head} FREQUENCY(GRID(lat, {PITCH})) FROM trips").frame
    if "elsewhere" in cells.columns:
        rest = 1 - cells.filter("elsewhere")["frequency"].sum()
        cells = cells.filter(~pl.col("elsewhere")).with_columns(pl.col("frequency") / rest)
    south, west, north, east = BOX
    away = (cells["lat"] - (south + north) / 2) ** 2 + (0.76 * (cells["lon"] - (west + east) / 2)) ** 2
    middle = cells[int(away.arg_min() or 0)].row(0, named=True)
    steps = [float(np.diff(np.unique(cells[name].to_numpy())).max()) for name in ("lat", "lon")]
    darkest = cells.sort("frequency", descending=True).row(0, named=True)
    hours = session.sql(f"{head} hh, SHARE() AS part FROM trips GROUP BY hh").frame
    whole = hours["part"].sum()
    means = [session.sql(f"{head} AVG(DISTANCE(POINT{AIRPORT})) AS km FROM trips").frame.row(0) for _ in range(repeat)]
    return {
        "darkest": darkest,
        "middle": middle,
        "steps": steps,
        "hour": float(hours.filter(pl.col("hh") == RUSH)["part"][0] / whole),
        "noon": float(hours.filter(pl.col("hh") == 12)["part"][0] / whole),
        "means": means,
    }


def weight_in(cell: dict[str, float], steps: list[float], right: dict[str, Any]) -> float:
    """Return the true share of a smoothed cell."""
    away = np.abs(right["places"] - np.array([cell["lat"], cell["lon"]])) / np.array(steps)
    return float(right["weights"] @ np.prod(np.maximum(0.0, 1.0 - away), axis=1))


def noise_of_the_default() -> None:
    """Print what the share costs the mean of the README, in noise: of the numerator, and of the quotient at 8 km."""
    noise = []
    for elsewhere in ("neutral", 1):
        rule = "neutral" if elsewhere == "neutral" else "elsewhere"
        space = emdp.Geo("lat", "lon", BOX, unit="km", on_invalid=rule)
        frame = pl.DataFrame({"taxi": [1], "lat": [40.7], "lon": [-74.0]})
        table = emdp.read(frame, user="taxi", space=space, users=10_000, name="trips", elsewhere=elsewhere)
        statement = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = {ALPHA}) AVG(DISTANCE(POINT{MIDTOWN})) AS km FROM trips"
        (planned,) = plan_request(statement, table.names())
        plan = planned.plan
        middle = (plan.columns[0].low + plan.columns[0].high) / 2
        noise.append([plan.mechanisms[0].scale / scale for scale in plan.scales])
    (plain,), (above, below) = noise
    quotient = np.hypot(above, (8.0 - middle) * below)
    print(f"README's mean of 10,000 taxis: noise of the numerator {above / plain:.4f} of before,")
    print(f"of the quotient {quotient / plain:.4f} (root mean square, at 8 km)")


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--repeat", type=int, default=200)
    repeat = arguments.parse_args().repeat
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        noise_of_the_default()
        for absent in (0.04, 0.3):
            frame = rides(absent, np.random.default_rng(7))
            right = truth(frame)
            print(f"\n{absent:.0%} of {TAXIS} taxis without a ride, 8 % of the rides outside; the truth:")
            print(
                f"mean {right['km']:.3f} km, share of hour {RUSH} {right['hour']:.4f}, of hour 12 {right['noon']:.4f}"
            )
            print("| table | darkest cell, times its truth | middle of the box, times its truth | ", end="")
            print("hour 9 | hour 12 | mean km | covered |")
            print("|---|---|---|---|---|---|---|")
            for label, rule, elsewhere in (
                ("neutral", "neutral", None),
                ("clamp", "clamp", None),
                ("elsewhere", "elsewhere", 1),
            ):
                table = declared(frame, rule, elsewhere)
                with emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=folder / f"{label}{absent}.ledger") as session:
                    found = asked(session, repeat)
                means = np.array(found["means"], dtype=np.float64)
                covered = float(((means[:, 1] <= right["km"]) & (right["km"] <= means[:, 2])).mean())
                cells = []
                for cell in (found["darkest"], found["middle"]):
                    own = weight_in(cell, found["steps"], right)
                    cells.append(f"{cell['frequency']:.4f}, x {cell['frequency'] / own:.2f}")
                hours = [f"{found[own]:.4f} ({found[own] / right[own] - 1:+.1%})" for own in ("hour", "noon")]
                mean = float(means[:, 0].mean())
                print(
                    f"| {label} | {' | '.join([*cells, *hours])} | {mean:.3f} ({mean / right['km'] - 1:+.1%}) ", end=""
                )
                print(f"| {covered:.3f} |")


if __name__ == "__main__":
    main()
