"""Parse, check and preview of every shipped statement: each should take less than 20 ms in a warm process.

Run `python benchmarks/sql.py` from the project's root (some seconds). What is measured, and what the references are,
stands in benchmarks/README.md. No record is read: queries/catalog.toml has the tables' columns. The queries on `irc`
need the word vectors in ../shared/data, and are left out, with a note, where they are absent.
"""

import argparse
import cProfile
import io
import pstats
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import sqlglot

import emdp
from emdp.answers import Preview
from emdp.sessions.planning import plan_request
from emdp.sessions.presentation import previewed
from emdp.sql import parse, translate

TARGET = 20.0
# Milliseconds for parse, check and preview of one file: issue 3, "Show".

HEADER = re.compile(r"WITH\s+(EMD|USER)_PRIVACY\s+OPTIONS\s*\([^)]*\)", re.IGNORECASE)

SUBJECTS = {
    "foursquare": "DISTANCE(POINT(40.7, -74))",
    "gowalla": "DISTANCE(POINT(40.7, -74))",
    "irc": "LEAST(SIMILARITY('coffee'), DISTANCE('coffee'))",
}
# An expression of each table, for the statements that warm the process up.

WARMING = (
    "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 3) AVG({e}) AS a FROM {t}",
    "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 3, delta = 1e-9) STDDEV({e}) AS a, AVG({e} / 7) AS b FROM {t}",
    "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 3) MEDIAN({e}) FROM {t}",
    "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 3, delta = 1e-9, max_records_per_user = 3) COUNT(*) FROM {t}",
)
# Not among the files, so that nothing remembered of a file's own statement is measured in its first run.


@dataclass(frozen=True)
class Times:
    """Times of one candidate on one file, in milliseconds, in order: by the clock, and of this thread's work alone."""

    runs: tuple[float, ...]
    worked: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.runs)

    @property
    def slowest(self) -> float:
        return max(self.runs)


def measure(candidates: dict[str, Callable[[], Any]], repeats: int) -> dict[str, Times]:
    """Return the times of interleaved repetitions; the first of each counts, too."""
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, candidate in candidates.items():
            wall, work = time.perf_counter(), time.thread_time()
            candidate()
            runs[name].append((1e3 * (time.perf_counter() - wall), 1e3 * (time.thread_time() - work)))
    return {name: Times(*zip(*own, strict=True)) for name, own in runs.items()}


def preview(text: str, table: emdp.Table, names: Any) -> Any:
    """Parse, check, price and describe: what `emdp preview` does without a ledger."""
    return Preview(tuple(previewed(planned, table) for planned in plan_request(text, names))).frame


def candidates_of(text: str, session: emdp.Session, names: Any) -> dict[str, Callable[[], Any]]:
    plain = HEADER.sub("", text)
    return {
        "preview": lambda: preview(text, session.table, names),
        "translate": lambda: translate(text, names),
        "parse": lambda: parse(text),
        "session.preview": lambda: session.preview(text).frame,
        "sqlglot": lambda: sqlglot.parse(plain, read="duckdb"),
        "DuckDB": lambda: duckdb.extract_statements(plain),
    }


def open_tables(catalog: emdp.Catalog, wanted: Iterable[str], folder: Path) -> dict[str, tuple[emdp.Session, Any]]:
    """Return a session and the public names of each table; those whose vectors are absent are left out."""
    found: dict[str, tuple[emdp.Session, Any]] = {}
    public = catalog.public()
    for name in wanted:
        vectors = catalog.tables[name]["space"].get("vectors")
        if vectors is not None and not (catalog.path.parent / vectors).exists():
            print(f"note: queries on {name} are left out, since {vectors} is absent")
            continue
        table = catalog.table(name)
        ledger = folder / f"{name}.ledger"
        session = emdp.Session(table, budget=catalog.budget(name), ledger=ledger, public=public)
        found[name] = session, table.names(public)
    return found


def table_of(path: Path) -> str:
    return path.stem.rpartition("_")[0]


def report(path: Path, times: dict[str, Times]) -> None:
    own = times["preview"]
    cells = [f"{value:.1f}" for value in (own.best, own.runs[0], own.slowest, min(own.worked))]
    cells += [f"{times[name].best:.1f}" for name in ("session.preview", "parse", "translate")]
    cells += [f"{times[name].best:.2f}" for name in ("sqlglot", "DuckDB")]
    print(f"| {path.stem} | {' | '.join(cells)} | {own.best / times['sqlglot'].best:.1f} |")


def profile(run: Callable[[], Any], lines: int) -> str:
    """Return where the time of ten runs goes: functions by their own time and that of what they call."""
    recorder = cProfile.Profile()
    recorder.enable()
    for _ in range(10):
        run()
    recorder.disable()
    text = io.StringIO()
    pstats.Stats(recorder, stream=text).sort_stats("cumulative").print_stats(r"emdp|sqlglot|polars|scipy", lines)
    return text.getvalue()


def compare(files: list[Path], tables: dict[str, tuple[emdp.Session, Any]], options: argparse.Namespace) -> None:
    print(f"milliseconds, {options.repeats} repetitions; DuckDB {duckdb.__version__}, sqlglot {sqlglot.__version__}\n")
    print("| query | best | first | slowest | CPU | session.preview | parse | translate | sqlglot | DuckDB | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    measured: list[tuple[Path, Times, Callable[[], Any]]] = []
    for path in files:
        candidates = candidates_of(path.read_text(encoding="utf-8"), *tables[table_of(path)])
        times = measure(candidates, options.repeats)
        report(path, times)
        measured.append((path, times["preview"], candidates["preview"]))
    best, first = [own.best for _, own, _ in measured], [own.runs[0] for _, own, _ in measured]
    print(f"\nbest of a text: median {statistics.median(best):.1f}, worst {max(best):.1f} (target: below {TARGET:g})")
    work = [own.worked[0] for _, own, _ in measured]
    print(f"first run of a text: median {statistics.median(first):.1f}, worst {max(first):.1f} (CPU {max(work):.1f})")
    for path, own, run in measured:
        if max(own.best, own.runs[0]) > TARGET:
            print(f"over the target: {path.stem}, best {own.best:.1f}, first {own.runs[0]:.1f}")
            if options.profile:
                print(profile(run, options.profile))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="*", help="statements; default: all beside the catalog")
    parser.add_argument("--catalog", type=Path, default=Path("queries/catalog.toml"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--profile", type=int, default=0, metavar="LINES", help="profile what is over the target")
    options = parser.parse_args()
    catalog = emdp.load_catalog(options.catalog)
    files = options.files or sorted(options.catalog.parent.glob("*_[0-9][0-9].sql"))
    with tempfile.TemporaryDirectory() as name:
        tables = open_tables(catalog, dict.fromkeys(map(table_of, files)), Path(name))
        for table, (_, names) in tables.items():
            for statement in WARMING:
                plan_request(statement.format(t=table, e=SUBJECTS[table]), names)
        compare([path for path in files if table_of(path) in tables], tables, options)
        for session, _ in tables.values():
            session.close()


if __name__ == "__main__":
    main()
