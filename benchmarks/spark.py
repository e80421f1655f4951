"""What statements cost on Spark: CPU seconds by million records, and shuffled rows and bytes as Spark itself reports.

`python benchmarks/spark.py` makes a table of check-ins with Spark, asks seven questions of it in local mode, and prints
a Markdown table. CPU seconds are of this process and all below it (Spark, its Python workers), so that they hold on a
busy machine too; stages, tasks, rows and bytes come from Spark's event log. docs/spark.md derives larger sizes from it.
`--against FILE` asks statements of ten kinds in turns with the same sums in plain Spark SQL, prints both with what they
shuffle and send to the driver, and what each further million records costs; CPU seconds go to the file as JSON. Half of
the check-ins have a note of their own, the others one of 50.
"""

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import scale_cases

import emdp
import emdp.learn

BOX = (40.48, -74.26, 40.92, -73.70)
TEN = ", ".join(f"AVG(RAMP(DISTANCE(POINT(40.75, -73.98)), {2 * k + 2}, {2 * k + 1})) AS r{k}" for k in range(10))
HEAD = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)"
STATEMENTS = {
    "mean": f"{HEAD} AVG(DISTANCE(POINT(40.7484, -73.9857))) AS km FROM visits",
    "10 aggregates": f"{HEAD} {TEN} FROM visits",
    "smoothed histogram": f"{HEAD} FREQUENCY(GRID(4.0)) FROM visits",
}
NEAR = emdp.distance_to((40.7484, -73.9857))
QUESTIONS: dict[str, Callable[[emdp.Session], object]] = {
    **{name: lambda asking, text=text: asking.sql(text) for name, text in STATEMENTS.items()},
    "item-wise points": lambda asking: asking.itemwise(
        emdp.randomizers.PlanarLaplace(asking.table.space, 20.0), delta=1e-9
    ),
    "user mean": lambda asking: asking.user_mean(NEAR, epsilon=1.0, spread=1.0, between=0.1, method="range"),
    "linear fit": lambda asking: emdp.learn.fit_linear(
        asking, NEAR, emdp.distance_to((40.64, -73.78)), epsilon=1.0, delta=1e-9, rounds=5
    ),
    "frequent notes": lambda asking: asking.heavy_hitters("note", count=50, epsilon=4.0, delta=1e-9),
}
KINDS, CAP = [f"k{number}" for number in range(8)], 20
RENTS = pl.DataFrame(
    {"kind": KINDS, "zone": [f"z{number % 3}" for number in range(8)], "rent": [1.5 * n for n in range(8)]}
)
BY_USER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0"
CAPPED = f"{BY_USER}, max_records_per_user = {CAP})"
BESIDE: dict[str, Any] = {
    **STATEMENTS,
    "smoothed histogram": f"{HEAD} FREQUENCY(GRID(POINT(lat, lon), 4.0)) FROM visits",
    "histogram of kinds": f"{HEAD} FREQUENCY(kind) FROM visits",
    "quantiles": lambda asking: asking.quantiles(NEAR, [0.1, 0.5, 0.9], alpha=1.0, step=scale_cases.STEP_KM),
    "filter": f"{HEAD} AVG(DISTANCE(POINT(40.7484, -73.9857))) AS km FROM visits WHERE kind = 'k1'",
    "join of a public table": f"{HEAD} AVG(rent) AS rent FROM visits JOIN rents USING (kind)",
    "count by group": f"{CAPPED} kind, COUNT(*) AS n FROM visits GROUP BY kind",
    "sum with a cap": f"{CAPPED} SUM(CLAMP(spent, 0, 100)) AS s FROM visits",
    "count distinct": f"{BY_USER}) COUNT(DISTINCT user_id) AS n FROM visits WHERE kind = 'k1'",
}
"""What is asked beside plain Spark SQL, as a text or of a session."""

SHARE = f"LEAST(1D, {CAP} / n)"
"""Of a user's records that a cap keeps."""

PLAIN = {
    "mean": scale_cases.PLAIN["plain mean"],
    "10 aggregates": scale_cases.two_level(
        [scale_cases.ramp(scale_cases.km((40.75, -73.98)), 2 * k + 2, 2 * k + 1) for k in range(10)]
    ),
    "smoothed histogram": scale_cases.PLAIN["plain map"],
    "histogram of kinds": scale_cases.by_user("kind", ["1"], "SELECT user_id, kind FROM visits"),
    "quantiles": scale_cases.PLAIN["plain distribution, by user"],
    "filter": scale_cases.two_level(
        [f"IF(kind = 'k1', {scale_cases.km((40.7484, -73.9857))}, 0)", "IF(kind = 'k1', 1, 0)"]
    ),
    "join of a public table": scale_cases.two_level(["rent"]).replace(
        "FROM visits", "FROM visits JOIN rents USING (kind)"
    ),
    "count by group": f"""SELECT kind, SUM(one * {SHARE}) FROM (
        SELECT kind, COUNT(*) AS one, SUM(COUNT(*)) OVER (PARTITION BY user_id) AS n FROM visits GROUP BY user_id, kind)
        GROUP BY kind""",
    "sum with a cap": f"SELECT SUM(s * {SHARE}) FROM "
    "(SELECT SUM(spent) AS s, COUNT(*) AS n FROM visits GROUP BY user_id)",
    "count distinct": "SELECT COUNT(DISTINCT user_id) FROM visits WHERE kind = 'k1'",
}
"""What one writes in Spark SQL for the same sums: no rule for rows that are wrong, doubles, no noise."""

PLAIN = {name: text.replace("AS MATERIALIZED", "AS").replace("::DOUBLE", "D") for name, text in PLAIN.items()}

NOTES = 50
"""Notes that many check-ins have."""

WARM_UP = 50_000
TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Work:
    """What Spark's event log says of one statement."""

    tasks: int = 0
    shuffled_rows: int = 0
    shuffled_bytes: int = 0
    result_bytes: int = 0
    stages: int = 0


def started(folder: Path, partitions: int) -> Any:
    """Return a session on two cores that writes an event log, and shuffles into so many partitions."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": folder.as_uri(),
    }
    builder = SparkSession.builder.master("local[2]").appName("emdp benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def write_visits(session: Any, path: Path, rows: int, users: int, files: int, *, by_user: bool) -> None:
    """Write ``rows`` check-ins of ``users`` people; each person's stand together, or in all files."""
    owner = f"id DIV {rows // users}" if by_user else f"id % {users}"
    lat, lon = (
        f"{low}D + {high - low}D * (pmod(xxhash64(id, {salt}), 1000003) / 1000003D)"
        for salt, (low, high) in enumerate(((BOX[0], BOX[2]), (BOX[1], BOX[3])))
    )
    session.sparkContext.setJobGroup("write", "write")
    note = f"concat('note ', IF(pmod(xxhash64(id, 2), 2) = 0, pmod(xxhash64(id, 3), {NOTES}), id + {NOTES})) AS note"
    kind = f"concat('k', pmod(xxhash64(id, 4), {len(KINDS)})) AS kind"
    spent = "pmod(xxhash64(id, 5), 10007) / 100D AS spent"
    position = (f"{owner} AS user_id", f"{lat} AS lat", f"{lon} AS lon")
    made = session.range(0, rows, 1, files).selectExpr(*position, note, kind, spent)
    made.write.parquet(str(path))


_own: dict[tuple[int, str], int] = {}
"""Ticks that each process below this one took by itself when it was last looked at, by its number and start."""


def tree_seconds() -> float:
    """Return the CPU seconds of this process and all below it, those that have ended among them if they were seen.

    A worker that Spark ends as idle is waited for by nobody, so that no parent is told its time.
    """
    stats = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            stats[int(entry.name)] = (int(fields[1]), fields[19], sum(map(int, fields[11:13])))
    ours, grown = {os.getpid()}, True
    while grown:
        more = {pid for pid, (parent, *_) in stats.items() if parent in ours} - ours
        ours, grown = ours | more, bool(more)
    _own.update({(pid, stats[pid][1]): stats[pid][2] for pid in ours if pid in stats})
    return sum(_own.values()) / TICK


def asked(session: Any, rows: Any, groups: list[str], users: int, records: int, ledger: Path) -> dict[str, float]:
    """Ask questions, each with its jobs in the group of its name, and return their CPU seconds.

    The declared rules are checked and the ledger is made with a statement before them that does not count.
    """
    space = emdp.Geo("lat", "lon", box=BOX, unit="km", on_invalid="clamp")
    table = emdp.read(rows, user="user_id", space=space, users=users, records=records, name="visits", version="1")
    budget = (emdp.EmdDP(1e9, 1e-3, sizes="bounded"), emdp.UserDP(1e9, 1e-3))
    seconds = {}
    with emdp.Session(table, budget=budget, ledger=ledger) as asking:
        session.sparkContext.setJobGroup("first", "first")
        asking.sql(STATEMENTS["mean"])
        for group in groups:
            before = tree_seconds()
            session.sparkContext.setJobGroup(group, group)
            QUESTIONS[group.split(" ", 1)[1]](asking)
            seconds[group] = tree_seconds() - before
            print(f"{group}: {seconds[group]:.1f} CPU s", file=sys.stderr, flush=True)
    return seconds


def compared(
    session: Any, rows: Any, users: int, records: int, ledger: Path, options: argparse.Namespace
) -> dict[str, list[float]]:
    """Return the least CPU seconds of statements, emdp's and the plain one's, in turns after one not counted."""
    space = emdp.Product(
        emdp.Geo("lat", "lon", box=BOX, unit="km", on_invalid="clamp"),
        emdp.Categories("kind", KINDS, on_invalid="neutral"),
    )
    table = emdp.read(rows, user="user_id", space=space, users=users, records=records, name="visits", version="1")
    rows.createOrReplaceTempView("visits")
    session.createDataFrame(RENTS.rows(), RENTS.columns).createOrReplaceTempView("rents")
    names = [name for name in PLAIN if options.kinds is None or name in options.kinds]
    best = {name: [math.inf, math.inf] for name in names}
    size, repeats = users * records, options.repeats
    budget = (emdp.EmdDP(1e9, sizes="bounded"), emdp.UserDP(1e9))
    with emdp.Session(table, budget=budget, ledger=ledger, public={"rents": RENTS}) as asking:
        for repeat in range(repeats + 1):
            for name in names:
                plain = PLAIN[name]
                asked = BESIDE[name]
                ask = asked if callable(asked) else partial(emdp.Session.sql, text=asked)
                for place, run in enumerate((partial(ask, asking), lambda plain=plain: session.sql(plain).collect())):
                    is_last = repeat == repeats
                    session.sparkContext.setJobGroup(f"{size} {name} {place}" if is_last else "other", name)
                    before = tree_seconds()
                    run()
                    spent = tree_seconds() - before
                    if repeat:
                        best[name][place] = min(best[name][place], spent)
    return best


def works(folder: Path) -> dict[str, Work]:
    """Return what each group's completed stages did, from the event log."""
    groups: dict[int, str] = {}
    found: dict[str, Work] = {}
    for event in _events(folder):
        if event["Event"] == "SparkListenerJobStart":
            group = (event.get("Properties") or {}).get("spark.jobGroup.id", "")
            groups.update(dict.fromkeys(event["Stage IDs"], group))
        elif event["Event"] == "SparkListenerStageCompleted":
            found.setdefault(groups.get(event["Stage Info"]["Stage ID"], ""), Work()).stages += 1
        elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
            work = found.setdefault(groups.get(event["Stage ID"], ""), Work())
            written = event["Task Metrics"]["Shuffle Write Metrics"]
            work.tasks += 1
            work.shuffled_rows += written["Shuffle Records Written"]
            work.shuffled_bytes += written["Shuffle Bytes Written"]
            work.result_bytes += event["Task Metrics"]["Result Size"]
    return found


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    for path in folder.iterdir():
        if path.is_file() and not path.name.startswith("."):
            with path.open() as stream:
                yield from map(json.loads, stream)


def compare(options: argparse.Namespace) -> None:
    """Print CPU seconds of emdp and of plain Spark SQL with their ratio, and write them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "events").mkdir()
        session = started(folder / "events", options.partitions)
        found = {}
        for rows in options.rows:
            users, path = rows // options.records, folder / f"{rows}.parquet"
            write_visits(session, path, rows, users, options.files, by_user=options.by_user)
            frame, ledger = session.read.parquet(str(path)), folder / f"{rows}.ledger"
            found[rows] = compared(session, frame, users, options.records, ledger, options)
            options.against.write_text(json.dumps(found[rows]))
            print(rows, found[rows], file=sys.stderr, flush=True)
        session.stop()
        work = works(folder / "events")
    print("| rows | statement | CPU s | plain Spark SQL, CPU s | ratio | shuffled rows, bytes | of the plain one | "
          "bytes to the driver | of the plain one |\n|--:|:--|--:|--:|--:|--:|--:|--:|--:|")  # fmt: skip
    for rows, best in found.items():
        for statement, (own, plain) in best.items():
            works_of = [work.get(f"{rows} {statement} {place}", Work()) for place in range(2)]
            shuffled = [f"{one.shuffled_rows:,}, {one.shuffled_bytes:,}" for one in works_of]
            given = [f"{one.result_bytes:,}" for one in works_of]
            columns = [f"{rows:,}", statement, f"{own:.2f}", f"{plain:.2f}", f"{own / plain:.2f}", *shuffled, *given]
            print(f"| {' | '.join(columns)} |")
    (least, low), (most, high) = min(found.items()), max(found.items())
    if least < most:
        print("\n| statement | each further million rows, CPU s | of the plain one | ratio |\n|:--|--:|--:|--:|")
        for statement in low:
            more = [(high[statement][place] - low[statement][place]) / (most - least) * 1e6 for place in range(2)]
            print(f"| {statement} | {more[0]:.3f} | {more[1]:.3f} | {more[0] / more[1]:.2f} |")


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--records", type=int, default=100, help="of every user")
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--partitions", type=int, default=8, help="of a shuffle; Spark's own default is 200")
    parser.add_argument("--by-user", action="store_true", help="each user's records stand in one file")
    parser.add_argument("--statements", nargs="+", default=[*QUESTIONS])
    parser.add_argument("--against", type=Path, help="compare with plain Spark SQL, and write this file")
    parser.add_argument("--kinds", nargs="+", help="statements of a comparison; all unless named")
    parser.add_argument("--repeats", type=int, default=3, help="of a comparison")
    options = parser.parse_args()
    if options.against is not None:
        compare(options)
        return
    print("| rows | statement | CPU s | CPU s a million rows | stages | tasks | shuffled rows | shuffled bytes | "
          "bytes a shuffled row | bytes to the driver |")  # fmt: skip
    print("|--:|:--|--:|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        events = folder / "events"
        events.mkdir()
        session = started(events, options.partitions)
        seconds = {}
        # A small table first, so that Java has compiled what is measured.
        for rows in (WARM_UP, *options.rows):
            users, path = rows // options.records, folder / f"{rows}.parquet"
            write_visits(session, path, rows, users, options.files, by_user=options.by_user)
            frame = session.read.parquet(str(path))
            groups = [f"{rows} {statement}" for statement in options.statements]
            seconds |= asked(session, frame, groups, users, options.records, folder / f"{rows}.ledger")
        session.stop()
        found = works(events)
    for group, spent in seconds.items():
        rows, statement = group.split(" ", 1)
        if int(rows) == WARM_UP:
            continue
        work = found[group]
        each = work.shuffled_bytes / work.shuffled_rows if work.shuffled_rows else 0.0
        print(f"| {int(rows):,} | {statement} | {spent:.1f} | {spent / int(rows) * 1e6:.2f} | {work.stages} | "
              f"{work.tasks} | {work.shuffled_rows:,} | {work.shuffled_bytes:,} | {each:.1f} | "
              f"{work.result_bytes:,} |")  # fmt: skip


if __name__ == "__main__":
    main()
