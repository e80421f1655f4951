"""A private density of 0.5 km cells by every method that fits, at equal protection, in exact d_EM to the truth.

Run `python benchmarks/densities.py --data ../shared/data/gowalla_nyc.parquet ../shared/data/foursquare_nyc.parquet
--out densities` from the project's root, on a quiet machine: some minutes for each table and protection. Without
`--data` on a generated table. `--out` gets `densities.md`, `densities.parquet`, and an SVG for each table and
protection: the truth and what each method releases.

The box is the middle of New York, 22 km a side: 44 x 44 = 1936 cells. That many are feasible for all: item-wise
releases solve for a dense inverse of at most 2000 items. Records outside are clamped to its edge. `--corner 40.485
-74.255 --cells 98 95` is the whole city: item-wise releases of 9310 cells are refused, with the reason below the table.
Distances are exact there too, and take a second: a projected density has its mass on a few thousand cells, as the truth
has, and what they have in common cancels.

*Equal protection.* A protection is one stated change of a person's records, such as a thirtieth of them moved by 5 km
on average, which every method covers with the same epsilon. d_EM methods get alpha from `emdp.protect`, item-wise ones
epsilon at that change's d_EM (`sizes=emdp.BoundedReduction`), user-level methods the epsilon itself, which they hold
against every other change too. Records that move by 5 km move the centres of their cells by up to 5 km and a diagonal
of a cell: on a grid that is the change that is covered. The smoothed histogram has no need of it.

*The truth* is the average of everybody's normalised histogram of cells. The nodes of the smoothed histogram are the
centres of the cells, so that all are distributions on the same places. What is released is projected to a distribution,
once to the nearest in the 2-norm and once near in d_EM, and its exact d_EM to the truth is given in km, as the mean
over rounds with its standard error; beside it, for the first projection, what the plan expected at its public priors,
and what it would have at this truth, which nobody may ask; the 1-norm of the errors; the time of an answer after the
first. All draws are real;
the exact values are read by the tables' owner, who compares.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from xml.etree import ElementTree as ET

import duckdb
import numpy as np
import polars as pl
from densities_methods import CORNER, PITCH, City, Floats, Given, Method, methods

import emdp
from emdp.base.errors import EmdpError
from emdp.estimators.frequency.geometry import Geometry
from emdp.estimators.frequency.models import IndependentErrors
from emdp.estimators.frequency.planning import planned_errors
from emdp.pictures.cells import Colours, map_panel
from emdp.pictures.points import Point
from emdp.pictures.svg import Note, Panel, compose, picture_file
from emdp.resources import load_dataset_module
from emdp.tables import bag_blocks
from emdp.transport.projection import project_on_blocks
from emdp.transport.simplex import project_to_simplex

LEAST_ROUNDS, MOST_ROUNDS, CLOSE = 4, 40, 0.05
"""Rounds until the standard error is at most so large a part of the mean."""

LONGEST = 60.0
"""Seconds after which a method gets no further round, but for the least number of them."""

PROTECTIONS = (
    emdp.Change(fraction=1 / 30, distance=5.0, epsilon=0.2),
    emdp.Change(fraction=0.2, distance=5.0, epsilon=1.0),
    emdp.Change(fraction=1.0, distance=0.2, epsilon=1.0),
)

MAPS_A_ROW, MAP_WIDTH = 4, 230.0
"""Of the picture."""


@dataclass(frozen=True)
class Outcome:
    """A line of the table: distances in km, of the projection in the 2-norm and of the one near in d_EM."""

    data: str
    change: str
    method: str
    model: str
    guarantee: str
    price: str
    km: float | None = None
    km_error: float | None = None
    km_near: float | None = None
    km_near_error: float | None = None
    km_expected: float | None = None
    km_at_truth: float | None = None
    l1_raw: float | None = None
    l1_projected: float | None = None
    seconds: float | None = None
    rounds: int = 0
    refused: str = ""


def at_truth(deviation: float | None, given: Given) -> float | None:
    """Return what the planner would expect in km if it knew the truth, without smoothing."""
    if deviation is None:
        return None
    model, geometry = IndependentErrors(given.truth.size, deviation**2), Geometry.of(given.city.grid)
    return planned_errors(model, geometry, prior=given.truth).d_em * given.city.grid.diameter


def measure(
    method: Method, given: Given, change: str, wanted: argparse.Namespace, folder: Path
) -> tuple[Outcome, Floats | None]:
    """Return the line of a method, and one density for the picture."""
    line = Outcome(given.name, change, method.name, method.model, method.guarantee, method.price)
    shape = given.city.grid.shape
    found: dict[str, list[float]] = {name: [] for name in ("km", "near", "raw", "projected", "seconds")}
    drawn, last, asked, began = None, None, method.answers(given, folder), time.perf_counter()
    try:
        for _ in range(wanted.rounds):
            start = time.perf_counter()
            last = next(asked)
            found["seconds"].append(time.perf_counter() - start)
            estimates = last.estimates
            nearest = project_to_simplex(estimates)
            balanced = estimates + (1.0 - estimates.sum()) / estimates.size
            near = np.maximum(project_on_blocks(balanced.reshape(shape)).ravel(), 0.0)
            found["km"].append(given.distance(nearest))
            found["near"].append(given.distance(near / near.sum()))
            found["raw"].append(float(np.abs(estimates - given.truth).sum()))
            found["projected"].append(float(np.abs(nearest - given.truth).sum()))
            drawn = nearest if found["km"][-1] <= found["near"][-1] else near / near.sum()
            is_close = max(spread(found["km"]), spread(found["near"])) <= CLOSE
            is_late = time.perf_counter() - began > wanted.seconds
            if len(found["km"]) >= LEAST_ROUNDS and (is_close or is_late):
                break
    except EmdpError as error:
        return replace(line, refused=str(error)), None
    finally:
        asked.close()  # type: ignore[attr-defined]
    seconds = found["seconds"][1:] or found["seconds"]
    km, near_km = float(np.mean(found["km"])), float(np.mean(found["near"]))
    if last is None:
        return line, None
    return replace(
        line, km=km, km_error=km * spread(found["km"]), km_near=near_km, km_near_error=near_km * spread(found["near"]),
        km_expected=last.expected, km_at_truth=at_truth(last.deviation, given), l1_raw=float(np.mean(found["raw"])),
        l1_projected=float(np.mean(found["projected"])), seconds=min(seconds), rounds=len(found["km"]),
    ), drawn  # fmt: skip


def spread(values: Sequence[float]) -> float:
    """Return the standard error of a mean over the mean."""
    if len(values) < 2:
        return math.nan
    return float(np.std(values, ddof=1) / math.sqrt(len(values)) / np.mean(values))


def read(path: Path, city: City) -> Given:
    """Return a table with its truth."""
    # The number of users is public; here the table's owner counts them.
    users = duckdb.sql(f"SELECT count(DISTINCT user_id) FROM '{path}'").fetchall()[0][0]
    cells = emdp.read(path, user="user_id", users=users, space=city.grid)
    places = emdp.read(path, user="user_id", users=users, space=city.nodes)
    for table in (cells, places):
        table.validate()
    shares = np.zeros(city.grid.size)
    for block in bag_blocks(cells).open():
        sizes = np.add.reduceat(block.counts, block.offsets[:-1])
        np.add.at(shares, block.codes, block.counts / np.repeat(sizes, np.diff(block.offsets)))
    return Given(path.stem, city, cells, places, shares / users)


def picture(given: Given, title: str, drawn: Sequence[tuple[str, Floats]], notes: Sequence[str]) -> str:
    """Return maps of the truth and of what the methods release, in the colours of the truth, as SVG text."""
    colours = Colours(float(given.truth.max()), True)
    centres = given.city.grid.centres(given.city.grid.all_items)
    maps = []
    for heading, shares in drawn:
        points = [
            Point("", value or None, value or None, value, (float(place[0]), float(place[1])))
            for value, place in zip(shares.tolist(), centres, strict=True)
        ]
        maps.append((heading, map_panel(points, given.city.steps, width=MAP_WIDTH, heading="", colours=colours)))
    rows = [_row(maps[first : first + MAPS_A_ROW]) for first in range(0, len(maps), MAPS_A_ROW)]
    text = f"Maps of {given.name}: {'; '.join(heading for heading, _ in drawn)}."
    return picture_file(
        compose(rows, title=title, text=text, width=MAPS_A_ROW * MAP_WIDTH, notes=[Note(each) for each in notes])
    )


def _row(maps: Sequence[tuple[str, Panel]]) -> Panel:
    drawn, head = ET.Element("g"), 30.0
    for place, (heading, panel) in enumerate(maps):
        own = ET.SubElement(drawn, "g", {"transform": f"translate({place * MAP_WIDTH:g},0)"})
        for line, part in enumerate(heading.split(" | ")):
            label = ET.SubElement(own, "text", {"x": "4", "y": f"{12 + 13 * line}", "font-size": "10"})
            label.text = part
        shifted = ET.SubElement(own, "g", {"transform": f"translate(0,{head:g})"})
        shifted.append(panel.drawn)
    return Panel(drawn, head + max(panel.height for _, panel in maps))


def markdown(outcomes: Sequence[Outcome], uniform: float) -> str:
    """Return a table, the nearest first."""
    done = sorted((one for one in outcomes if one.km is not None), key=lambda one: min(one.km or 0, one.km_near or 0))
    head = (
        "| method | model | guarantee | price | d_EM, 2-norm projection (km) | d_EM, d_EM projection (km) | expected "
        "(km) | at the truth (km) | l1 raw | l1 projected | s | rounds |\n|---|---|---|---|---|---|---|---|---|---|---|"
        "---|\n"
    )
    lines = [
        f"| {one.method} | {one.model} | {one.guarantee} | {one.price} | {one.km:.3f} ± {one.km_error:.2g} | "
        f"{one.km_near:.3f} ± {one.km_near_error:.2g} | "
        f"{_shown(one.km_expected)} | {_shown(one.km_at_truth)} | {one.l1_raw:.4g} | {one.l1_projected:.3f} | "
        f"{one.seconds:.2f} | {one.rounds} |"
        for one in done
    ]
    refused = [f"- {one.method}, {one.model}, {one.guarantee}: {one.refused}" for one in outcomes if one.refused]
    beyond = f"\nWithout any data, all cells alike: {uniform:.3f} km.\n"
    return head + "\n".join(lines) + "\n" + beyond + ("\nRefused:\n\n" + "\n".join(refused) if refused else "") + "\n"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def compare(given: Given, change: emdp.Change, wanted: argparse.Namespace, number: int) -> tuple[list[Outcome], str]:
    """Measure all methods at one protection, draw the picture, and return the lines with their Markdown."""
    text = f"{change.fraction:.3g} of the records moved by {change.distance:g} km, epsilon = {change.epsilon:g}"
    outcomes, maps = [], [(f"{given.name} | the truth", given.truth)]
    uniform = given.distance(np.full(given.truth.size, 1.0 / given.truth.size))
    for method in methods(change, given.city, wanted.samples, is_patient=wanted.patient):
        with tempfile.TemporaryDirectory() as folder:
            outcome, density = measure(method, given, text, wanted, Path(folder))
        outcomes.append(outcome)
        told = outcome.refused or f"{outcome.km:.3f} km, {outcome.km_near:.3f} km, {outcome.rounds} rounds"
        print(f"  {method.name}, {method.model}, {method.guarantee}: {told}", flush=True)
        if density is not None:
            best = min(outcome.km or math.inf, outcome.km_near or math.inf)
            maps.append((f"{method.name}, {method.model} | {method.guarantee}: {best:.2f} km", density))
    title = f"{given.name}, {given.cells.n} users, {given.city.rows} x {given.city.columns} cells of {PITCH:g} km"
    notes = (f"equal protection: {text}", "colours by square root, up to the truth's largest cell; white: no share")
    svg = picture(given, title, maps, notes)
    (wanted.out / f"{given.name}-{number}.svg").write_text(svg, encoding="utf-8")
    return outcomes, f"## {title}: {text}\n\n{markdown(outcomes, uniform)}"


def main() -> None:
    """Measure, and write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="Parquet files with user_id, lat, lon")
    parser.add_argument("--out", type=Path, default=Path("densities"), help="folder for tables and pictures")
    parser.add_argument("--cells", type=int, nargs=2, default=(44, 44), help="rows and columns")
    parser.add_argument("--corner", type=float, nargs=2, default=CORNER, help="centre of the first cell, in degrees")
    parser.add_argument("--samples", type=int, default=200, help="records sampled from each user, item by item")
    parser.add_argument("--rounds", type=int, default=MOST_ROUNDS, help="most rounds of a method")
    parser.add_argument("--seconds", type=float, default=LONGEST, help="after which a method has no further round")
    parser.add_argument("--patient", action="store_true", help="also the local item-wise release, of at most 400 cells")
    parser.add_argument("--protections", type=int, nargs="*", default=range(len(PROTECTIONS)), help="which of them")
    wanted = parser.parse_args()
    wanted.out.mkdir(parents=True, exist_ok=True)
    city, outcomes, texts = City(*wanted.cells, *wanted.corner), [], []
    with tempfile.TemporaryDirectory() as folder:
        paths = wanted.data
        if not paths:
            paths = [Path(folder) / "checkins.parquet"]
            load_dataset_module("checkins").write_checkins(paths[0], users=5000, records=120_000)
        tables = [read(path, city) for path in paths]
        for number in wanted.protections:
            for given in tables:
                print(f"{given.name}, protection {number}", flush=True)
                found, text = compare(given, PROTECTIONS[number], wanted, number)
                outcomes += found
                texts.append(text)
                print(text, flush=True)
                rows = [asdict(one) for one in outcomes]
                pl.DataFrame(rows, infer_schema_length=None).write_parquet(wanted.out / "densities.parquet")
                (wanted.out / "densities.md").write_text("\n".join(texts), encoding="utf-8")


if __name__ == "__main__":
    main()
