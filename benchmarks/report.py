"""A report of 25 entries against the plain DuckDB statements of the same: at most 1.1 times their sum, page included.

Run `python benchmarks/report.py` from the project's root (five minutes on two cores; `--rows 1000000 --users 10000` for
a quick look). What is compared stands in benchmarks/README.md.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
from startup import compiled

TARGET, PAGE = 1.1, 2.0
# 25 entries over 10 million rows at most 1.1 times the sum of the plain statements, and the page with its pictures 2 s.

CATEGORIES = ("Other", "Bar", "Coffee Shop", "Deli", "Gym", "Office", "Park", "Residential Building", "Subway")
LISTED = ", ".join(f"'{name}'" for name in CATEGORIES)

CATALOG = """
ledger = "{ledger}"
[tables.visits]
source  = "{source}"
user    = "user_id"
users   = {users}
budget  = {{ alpha = 1000.0 }}
[tables.visits.space]
kind = "product"
[[tables.visits.space.parts]]
kind = "geo"
lat = "lat"
lon = "lon"
box = [40.48, -74.26, 40.92, -73.70]
unit = "km"
on_invalid = "clamp"
[[tables.visits.space.parts]]
kind = "categories"
col = "category"
values = {values}
on_invalid = "neutral"
[[tables.visits.space.parts]]
kind = "cycle"
col = "hour"
period = 24
on_invalid = "neutral"
"""

MACROS = """
CREATE MACRO km(lat, lon, a, b) AS 2 * 6371.0088 * asin(sqrt(
    sin(radians(lat - a) / 2) * sin(radians(lat - a) / 2) + cos(radians(lat)) * cos(radians(a))
    * sin(radians(lon - b) / 2) * sin(radians(lon - b) / 2)));
CREATE MACRO ramp(x, zero, one) AS least(greatest((x - zero) / (one - zero), 0), 1);
CREATE MACRO hours(hour, a) AS least(abs(hour - a), 24 - abs(hour - a));
CREATE VIEW visits AS SELECT * FROM '{path}';
"""

MIDTOWN, WALL_STREET, BROOKLYN, QUEENS = (
    "40.7484, -73.9857",
    "40.7075, -74.0113",
    "40.6928, -73.9903",
    "40.7447, -73.9485",
)


@dataclass(frozen=True)
class Question:
    """One entry: what emdp is asked, and the plain statement."""

    title: str
    select: str
    plain: str
    rest: str = ""

    @property
    def query(self) -> str:
        return f"SELECT WITH EMD_PRIVACY {self.select} FROM visits {self.rest}"


def distance(place: str) -> tuple[str, str]:
    return f"DISTANCE(POINT({place}))", f"km(lat, lon, {place})"


def mean(title: str, *values: tuple[str, str]) -> Question:
    """The mean of user means of some expressions, each as emdp and as DuckDB spell it."""
    select = ", ".join(f"AVG({own}) AS v{place}" for place, (own, _) in enumerate(values))
    inner = ", ".join(f"avg({plain}) AS v{place}" for place, (_, plain) in enumerate(values))
    outer = ", ".join(f"avg(v{place})" for place in range(len(values)))
    return Question(title, select, f"SELECT {outer} FROM (SELECT {inner} FROM visits GROUP BY user_id)")


def spread(title: str, value: tuple[str, str]) -> Question:
    own, plain = value
    return Question(
        title,
        f"AVG({own}) AS mean, STDDEV({own}) AS spread",
        f"""SELECT avg(m), sqrt(avg(s) - avg(m) ** 2)
            FROM (SELECT avg(v) AS m, avg(v * v) AS s
                  FROM (SELECT user_id, {plain} AS v FROM visits) GROUP BY user_id)""",
    )


def chosen(title: str, value: tuple[str, str], condition: str) -> Question:
    own, plain = value
    return Question(
        title,
        f"AVG({own}) AS value, SHARE() AS share",
        f"""SELECT avg(s) / avg(c), avg(c) FROM (
            SELECT sum({plain}) FILTER ({condition}) / count(*) AS s, count(*) FILTER ({condition}) / count(*) AS c
            FROM visits GROUP BY user_id)""",
        f"WHERE {condition}",
    )


def grouped(title: str, select: str, value: str, rest: str = "") -> Question:
    """Statistics by category; `value` is summed up with the weights of records, one over the user's number of them."""
    return Question(
        title,
        select,
        f"""SELECT category, sum(s / n) / sum(c / n), sum(c / n) FROM (
            SELECT category, sum({value}) AS s, count(*) AS c, sum(count(*)) OVER (PARTITION BY user_id) AS n
            FROM (SELECT * REPLACE (CASE WHEN category IN ({LISTED}) THEN category ELSE 'Other' END AS category)
                  FROM visits)
            GROUP BY user_id, category) GROUP BY category""",
        rest,
    )


def shares(title: str, select: str, keys: str, weights: str) -> Question:
    """Shares of cells, to some of which each record counts: keys and weights are lists of the same length."""
    return Question(
        title,
        select,
        f"""SELECT cell, sum(w / n) FROM (
            SELECT cell, sum(w) AS w, sum(sum(w)) OVER (PARTITION BY user_id) AS n FROM (
                SELECT user_id, unnest({keys}) AS cell, unnest({weights}) AS w FROM visits)
            GROUP BY user_id, cell) GROUP BY cell""",
    )


def grid(title: str, kilometres: float) -> Question:
    north, east = f"((lat - 40.48) * 111.195 / {kilometres})", f"((lon + 74.26) * 84.57 / {kilometres})"
    row, column = f"floor({north})", f"floor({east})"
    up, right = f"({north} - floor({north}))", f"({east} - floor({east}))"
    keys = ", ".join(f"({row} + {i}) * 1000 + {column} + {j}" for i in (0, 1) for j in (0, 1))
    weights = ", ".join(f"{one} * {other}" for one in (f"(1 - {up})", up) for other in (f"(1 - {right})", right))
    return shares(title, f"FREQUENCY(GRID(POINT(lat, lon), {kilometres})) AS share", f"[{keys}]", f"[{weights}]")


def quantiles(title: str, value: tuple[str, str]) -> Question:
    own, plain = value
    # A histogram of 500 m, from which quantiles follow: the exact ones need all records in order, and take far longer.
    return Question(
        title,
        f"QUANTILE({own}, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95) AS value",
        f"""SELECT cell, sum(c / n) FROM (
            SELECT floor({plain} * 2) AS cell, count(*) AS c, sum(count(*)) OVER (PARTITION BY user_id) AS n
            FROM visits GROUP BY user_id, cell) GROUP BY cell ORDER BY cell""",
    )


def questions() -> list[Question]:
    """Return the 25 entries."""
    km = distance(MIDTOWN)
    nearest = (
        f"DISTANCE(POINT({MIDTOWN}), POINT({WALL_STREET}), POINT({BROOKLYN}))",
        f"least(km(lat, lon, {MIDTOWN}), km(lat, lon, {WALL_STREET}), km(lat, lon, {BROOKLYN}))",
    )
    short = (f"LEAST({km[0]}, 30)", f"least({km[1]}, 30)")
    near, around = ((f"RAMP({km[0]}, {a}, {b})", f"ramp({km[1]}, {a}, {b})") for a, b in ((2, 1), (6, 5)))
    four = [
        (f"RAMP({own}, 3, 1)", f"ramp({plain}, 3, 1)")
        for own, plain in map(distance, (MIDTOWN, WALL_STREET, BROOKLYN, QUEENS))
    ]
    noon = ("DISTANCE(hour, 13)", "hours(hour, 13)")
    night = ("RAMP(DISTANCE(hour, 1), 4, 2)", "ramp(hours(hour, 1), 4, 2)")
    drinks = (
        "CASE WHEN category IN ('Bar', 'Coffee Shop') THEN 1 ELSE 0 END",
        "CASE WHEN category IN ('Bar', 'Coffee Shop') THEN 1 ELSE 0 END",
    )
    by = "GROUP BY category"
    return [
        mean("Distance to midtown", km),
        mean("Distance to Wall Street", distance(WALL_STREET)),
        mean("Distance to Brooklyn", distance(BROOKLYN)),
        mean("Near midtown", near),
        mean("Around midtown", around),
        mean("Around four centres", *four),
        mean("Hours from one in the afternoon", noon),
        mean("Night life", night),
        mean("Drinks", drinks),
        mean("Place, kind and time", km, drinks, night),
        mean("Distance to a centre", nearest),
        mean("Short distances", short),
        spread("Spread of distances", short),
        spread("Spread of times", noon),
        grouped("Distance by category", f"category, AVG({km[0]}) AS value", km[1], by),
        grouped("Night life by category", f"category, AVG({night[0]}) AS value", night[1], by),
        grouped("Shares by category", "category, SHARE() AS share", "1", by),
        grouped("Categories", "FREQUENCY(category) AS share", "1"),
        grid("Map of 4 km", 4.0),
        grid("Map of 8 km", 8.0),
        shares(
            "Hours of the day",
            "FREQUENCY(GRID(hour, 1.0)) AS share",
            "[floor(hour), (floor(hour) + 1) % 24]",
            "[1 - (hour - floor(hour)), hour - floor(hour)]",
        ),
        quantiles("Distances to midtown", km),
        quantiles("Distances to a centre", nearest),
        chosen("Bars", km, "category = 'Bar'"),
        chosen("Coffee and Deli at night", night, "category IN ('Coffee Shop', 'Deli')"),
    ]


def definition(asked: Sequence[Question]) -> str:
    head = 'title = "Benchmark"\ncatalog = "emdp.toml"\nbudget = { alpha = 1000.0 }\n'
    return head + "".join(
        f"[[entry]]\ntitle = {json.dumps(one.title)}\nquery = {json.dumps(one.query)}\n" for one in asked
    )


def run_plain(asked: Sequence[Question], path: Path, options: argparse.Namespace) -> list["Spent"]:
    """Run the plain statements one after the other on one connection; return what each took."""
    taken = []
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {options.threads}; SET preserve_insertion_order = false")
        connection.execute(MACROS.format(path=path))
        for one in asked:
            began, cpu = time.perf_counter(), time.process_time()
            rows = connection.execute(one.plain).fetchall()
            taken.append(Spent(time.perf_counter() - began, time.process_time() - cpu))
            if options.show:
                print(one.title, rows[:3])
    return taken


def run_report(folder: Path, options: argparse.Namespace) -> "Spent":
    """Run the report as a process of its own, of modules compiled before as in an installed package; return what it
    took."""
    command = [sys.executable, "-c", "from emdp.cli import main; main()"]
    arguments = ["report", str(folder / "benchmark.toml"), "--out", str(folder / "page")]
    environment = {**compiled(folder), "EMDP_THREADS": str(options.threads)}
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, env=environment)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr)
    if options.show:
        print(done.stderr)
    return Spent(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock, and of all threads."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Round:
    """What the plain statements took, a run with a new ledger, and one for which all is stored."""

    plain: list[Spent]
    first: Spent
    again: Spent

    @property
    def sum_cpu(self) -> float:
        """Seconds of all threads of all plain statements."""
        return sum(one.cpu for one in self.plain)


def measure(asked: Sequence[Question], folder: Path, path: Path, options: argparse.Namespace) -> list[Round]:
    """Run both in turns, so that what else the machine does hits them alike."""
    rounds = []
    for repeat in range(options.repeat):
        catalog = CATALOG.format(
            ledger=folder / f"{repeat}.ledger", source=path, users=options.users, values=json.dumps(CATEGORIES)
        )
        (folder / "emdp.toml").write_text(catalog)
        plain = run_plain(asked, path, options)
        rounds.append(Round(plain, run_report(folder, options), run_report(folder, options)))
    return rounds


def tell(asked: Sequence[Question], rounds: Sequence[Round]) -> None:
    best = [min(one.cpu for one in own) for own in zip(*(one.plain for one in rounds), strict=True)]
    print(f"DuckDB {duckdb.__version__}\n\n| plain statement | CPU s |\n|---|---:|")
    for one, seconds in zip(asked, best, strict=True):
        print(f"| {one.title} | {seconds:.3f} |")
    first, again = min(one.first.cpu for one in rounds), min(one.again.cpu for one in rounds)
    clocks = [min(found) for found in zip(*map(clock, rounds), strict=True)]
    print(f"\n| | CPU s | by the clock |\n|---|---:|---:|\n| plain statements | {sum(best):.2f} | {clocks[0]:.2f} |")
    print(f"| report, first run | {first:.2f} | {clocks[1]:.2f} |\n| all stored | {again:.2f} | {clocks[2]:.2f} |")
    ratios = ", ".join(f"{one.first.cpu / one.sum_cpu:.2f}" for one in rounds)
    print(f"\nfirst run / sum, CPU: {first / sum(best):.2f} (target: at most {TARGET}; {ratios})")
    print(f"all stored, page and pictures: {again:.2f} CPU s (target: at most {PAGE:g})")


def clock(one: Round) -> tuple[float, float, float]:
    """Return the seconds by the clock of the plain statements, a first run, and a second one."""
    return sum(own.wall for own in one.plain), one.first.wall, one.again.wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--data", type=Path, help="Parquet file of such a table, made before; default: a new one")
    parser.add_argument("--show", action="store_true", help="print first rows of plain answers, and what emdp says")
    options = parser.parse_args()
    asked = questions()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = options.data.resolve() if options.data else folder / "visits.parquet"
        if options.data is None:
            sizes = ["--users", str(options.users), "--records", str(options.rows), "--out", str(path)]
            start = "from emdp.cli import main; main()"
            subprocess.run(
                [sys.executable, "-c", start, "generate", "checkins", *sizes], check=True, capture_output=True
            )
        (folder / "benchmark.toml").write_text(definition(asked))
        rounds = measure(asked, folder, path, options)
        (rows,) = duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0]
    print(f"{rows:,} rows, {len(asked)} entries, {options.threads} threads, best of {options.repeat}")
    tell(asked, rounds)


if __name__ == "__main__":
    main()
