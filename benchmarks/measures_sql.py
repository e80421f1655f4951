"""Twenty questions that nobody listed, asked of one measure of places and hours through SQL, beside asking them.

    python benchmarks/measures_sql.py [--structure joint|auto|..] [--data gowalla.parquet foursquare.parquet]

The measure is released once at `alpha` on place x hour, by the structure that is named. The questions are SQL over
`MEASURE(m)`, which costs nothing, and the same SQL over a sample of 20,000 records of it, as a public table: 6 shares
near sites (1 within 2 km, 0 beyond 3 km), 3 mean distances to sites, 3 windows of hours, 6 windows near sites, 2
quantiles of a distance. *Asked* is the expected error of each as a question of its own at `alpha/20`, so that both ways
cost the same. The tables and `alpha` are those of `benchmarks/measures.py`; hours are UTC, or drawn where a table has
none. Errors are means of absolute values against the exact records, which the tables' owner reads.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from measures import BOX, CHANGE, made

import emdp
from emdp.expressions import evaluate
from emdp.questions.measures import STRUCTURES

SITES, QUESTIONS, SAMPLED = 6, 20, 20_000
DISTANCE = (
    "2 * 6371.0088 * ASIN(SQRT(POWER(SIN(RADIANS(lat - {0}) / 2), 2) + COS(RADIANS({0})) * COS(RADIANS(lat)) "
    "* POWER(SIN(RADIANS(lon - {1}) / 2), 2)))"
)
HOURS = "LEAST(ABS(hour - {0}), 24 - ABS(hour - {0}))"


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--structure", choices=STRUCTURES, default="joint")
    wanted = parser.parse_args()
    print("| table | questions | measure, by SQL | sampled table, by SQL | asked at alpha/20 each |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in wanted.data or made(Path(folder)):
            compare(path, Path(folder), wanted.structure)


def compare(path: Path, folder: Path, structure: str) -> None:
    """Print the rows of one table."""
    rows = pl.read_parquet(path)
    rng = np.random.default_rng(5)
    drawn = pl.Series("hour", (18 + 4 * rng.normal(size=len(rows))) % 24)
    hour = pl.col("ts").dt.hour() + pl.col("ts").dt.minute() / 60.0 if "ts" in rows.columns else drawn
    rows = rows.select("user_id", "lat", "lon", hour.cast(pl.Float64).alias("hour")).with_columns(
        pl.col("lat").clip(BOX[0], BOX[2]), pl.col("lon").clip(BOX[1], BOX[3])
    )
    rows.write_parquet(folder / "trips.parquet")
    city = emdp.Geo("lat", "lon", box=BOX, unit="km", on_invalid="clamp")
    space = emdp.Product(city, emdp.Cycle("hour", 24))
    alpha, users = emdp.protect(CHANGE, space=city), rows.get_column("user_id").n_unique()
    table = emdp.read(str(folder / "trips.parquet"), user="user_id", space=space, users=users)
    ledger = folder / f"{path.stem}.sql.ledger"
    with emdp.Session(table, budget=emdp.EmdDP(alpha=1.001 * alpha), ledger=ledger) as session:
        measure = session.measure(alpha=alpha, name="m", structure=structure)  # type: ignore[arg-type]
        chosen = getattr(measure._rows, "structure", "joint")
        sampled = measure.sample(SAMPLED).with_columns(weight=pl.lit(1.0 / SAMPLED))
        weights = rows.select(1.0 / pl.len().over("user_id") / users).to_series().to_numpy()
        items = space.encode(rows.select("lat", "lon", "hour"))
        found: dict[str, list[tuple[float, float, float]]] = {}
        for kind, function, sql, level in questions(rows, rng):
            values = evaluate(function, space, items)
            order = np.argsort(values)
            place = np.searchsorted(np.cumsum(weights[order]), level or 0.0)
            truth = float(values[order[place]]) if level else float(weights @ values)
            told, drawn_of = session.sql(sql).frame.item(), over(session, sql, sampled)
            direct = alpha / QUESTIONS
            query = emdp.quantiles(function, [level], alpha=direct) if level else emdp.mean(function, alpha=direct)
            asked = session.preview(query).frame["expected_error"][0]
            found.setdefault(kind, []).append((abs(told - truth), abs(drawn_of - truth), asked))
        # the whole alpha went into the measure: a second release would have been refused
    for kind, errors in found.items():
        near, sample, asked = np.mean(np.array(errors, dtype=float), axis=0)
        name = f"{path.stem}, {users} users, {chosen}"
        print(f"| {name} | {len(errors)} {kind} | {near:.4f} | {sample:.4f} | {asked:.4f} |", flush=True)


def over(session: emdp.Session, sql: str, table: pl.DataFrame) -> float:
    """Answer SQL over a sampled table, which is a public one."""
    compute = session.names.compute_public
    assert compute is not None  # noqa: S101  # a session's names have it
    return float(compute(sql.replace("MEASURE(m)", "sampled"), {"sampled": table})[0].item())


def questions(rows: pl.DataFrame, rng: np.random.Generator) -> list[tuple[str, object, str, float | None]]:
    """Return for each question its kind, the function, the SQL, and of a quantile its level."""
    at = pl.Series(rng.integers(0, len(rows), SITES))
    sites = list(rows.select("lat", "lon").gather(at).iter_rows())
    windows = rng.uniform(0, 24, SITES).round(2).tolist()
    found: list[tuple[str, object, str, float | None]] = []

    def mean(kind: str, function: object, sql: str) -> None:
        found.append((kind, function, f"SELECT SUM(weight * ({sql})) FROM MEASURE(m)", None))

    for number, site in enumerate(sites):
        away = DISTANCE.format(*site)
        near, near_sql = emdp.ramp(emdp.distance_to(site), 3, 2), f"GREATEST(0, LEAST(1, 3 - {away}))"
        mean("shares near sites", near, near_sql)
        # 1 within two hours of its middle, 0 from three on
        window = emdp.ramp(emdp.distance_to(windows[number], column="hour"), 3, 2)
        window_sql = f"GREATEST(0, LEAST(1, 3 - {HOURS.format(windows[number])}))"
        if number < 3:
            mean("mean distances, km", emdp.distance_to(site), away)
            mean("windows of hours", window, window_sql)
        mean("windows near sites", near * window, f"{near_sql} * {window_sql}")
        if number < 2:
            level = (0.5, 0.9)[number]
            sql = (
                f"SELECT MIN(d) FROM (SELECT d, SUM(weight) OVER (ORDER BY d, hour, lat) AS c FROM (SELECT {away} "
                f"AS d, hour, lat, weight FROM MEASURE(m))) WHERE c >= {level}"
            )
            found.append(("quantiles of a distance, km", emdp.distance_to(site), sql, level))
    return found


if __name__ == "__main__":
    main()
