"""The command line: what is printed, what goes to standard error, what is written, and the exit status."""

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl

from emdp.cli import main

from . import tables
from .cases import Case
from .form import digest, without_moment

__all__ = ["CATALOG", "prepared", "run", "same"]

CATALOG = """
ledger = "city.ledger"
[tables.visits]
source = "visits.parquet"
version = "1"
user = "user_id"
users = 60
budget = [{ alpha = 80.0, delta = 1e-6 }, { epsilon = 6.0, delta = 1e-6 }]
protect = [{ part = "lat", fraction = 0.0333, distance = 5.0, epsilon = 0.2 }]
[tables.visits.space]
kind = "product"
weights = [2, 1]
parts = [
    { kind = "geo", lat = "lat", lon = "lon", box = [40.48, -74.26, 40.92, -73.70], unit = "km", on_invalid = "clamp" },
    { kind = "categories", col = "category", values = ["Other", "Office", "Bar", "Park"], on_invalid = "neutral" },
]
[tables.weekly]
source = "weeks/{period}.csv"
elsewhere = "neutral"
version = "1"
user = "user_id"
users = 60
budget = { alpha = 9.0 }
space = { kind = "cycle", col = "hour", period = 24, on_invalid = "neutral" }
[public.kinds]
source = "kinds.csv"
"""
KINDS = "category,sector\nOffice,work\nBar,fun\nPark,fun\nOther,\n"
GEO = "--user user_id --users 60 --geo lat,lon --box 40.48,-74.26,40.92,-73.70 --on-invalid clamp"
MIDTOWN = "DISTANCE(POINT(40.7484, -73.9857))"
MEAN = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 4) AVG({MIDTOWN}) AS km, SHARE() AS share FROM visits WHERE category = 'Bar'"  # noqa: E501
BY = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 9) sector, AVG({MIDTOWN}) AS km FROM visits JOIN kinds USING (category) GROUP BY sector"  # noqa: E501
COUNT = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 9) COUNT(*) AS n FROM visits"
WEEK = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 3) AVG(DISTANCE(hour, 8)) AS hours FROM weekly"

SCRIPTS: dict[str, Sequence[str | tuple[str, ...]]] = {
    "check": [("check", MEAN, "--table", "visits"), ("check", COUNT, "--explain"), ("check", BY)],
    "preview": [("preview", MEAN), ("preview", f"{MEAN};\n{COUNT}", "--explain")],
    "query": [("query", MEAN), ("query", MEAN), ("query", MEAN, "--fresh"), "ledger show city.ledger"],
    "query forms": [("query", BY, "--csv", "-"), ("query", BY, "--json", "by.json"), ("query", BY, "--csv", "by.csv")],
    "query batch": [("query", f"{MEAN}; {COUNT}"), "ledger history city.ledger", "ledger show city.ledger --json"],
    "query explained": [("query", COUNT, "--explain")],
    "period": [("query", WEEK, "--period", "W1"), ("query", WEEK, "--period", "W1"), ("query", WEEK)],
    "spent": [("query", WEEK, "--period", "W1"), *[("query", WEEK, "--period", "W1", "--fresh")] * 3],
    "refused": [
        ("query", "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(FLOOR(lat)) FROM visits"),
        ("query", "SELECT 1"),
        ("query", MEAN, "--table", "nothing"),
        ("query", MEAN, "-C", "nowhere.toml"),
        ("query", MEAN, "--csv", "no/such/folder.csv"),
        ("query",),
        ("query", MEAN, "--unknown"),
        ("nothing",),
    ],
    "mean": [
        f"mean visits.parquet {GEO} --distance-to 40.7484,-73.9857 --alpha 10 --budget 80 --ledger m.ledger",
        f"mean visits.parquet {GEO} --column lat --alpha 10 --budget 80 --ledger m.ledger --preview",
        f"mean visits.parquet {GEO} --column lat --alpha 90 --budget 80 --ledger m.ledger",
        "mean weeks/W1.csv --user user_id --users 60 --interval hour,0,24 --column hour --alpha 1 --budget 2 --ledger n.ledger",  # noqa: E501
        "mean -C emdp.toml --table visits --column lon --alpha 1",
        "mean visits.parquet --alpha 1",
    ],
    "mean of broken data": [
        "mean broken.csv --user user --users 2 --interval x,0,1 --column x --alpha 1 --budget 2 --ledger b.ledger",
        "ledger show b.ledger",
    ],
    "init": ["init visits.parquet --user user_id --users 60 --out own.toml", "init visits.parquet", ("check", MEAN, "-C", "own.toml")],  # noqa: E501
    "distance": [
        f"distance 1 2 --source visits.parquet {GEO}", "distance 1 2 -C emdp.toml --table visits", "distance 1 99 -C emdp.toml --table visits",  # noqa: E501
    ],
    "calibrate": [
        "calibrate --change 1/30,5,0.2 --change 1,0.15,0.2 --diameter 68",
        "calibrate --change 1/30,5,0.2 --diameter 68 --users 100000 --error 0.1",
        "calibrate --alpha 9 --delta 1e-9 --records 100 --users 10000",
        "calibrate --alpha0 2 --delta 1e-9 --records 100 --users 10000 --json",
        "calibrate --epsilon 1 --r 0.05 --delta 1e-9 --users 10000 --samples 200",
        "calibrate -C emdp.toml --table visits",
        "calibrate",
        "calibrate --change 2,5,0.2",
    ],
    "ledger": [
        ("query", MEAN),
        "ledger reserve city.ledger visits weekly --alpha 20 --delta 1e-7",
        "ledger show city.ledger",
        "ledger reserve city.ledger visits weekly --alpha 90",
        "ledger verify city.ledger",
        "ledger verify city.ledger --head 0000",
        "ledger reserve city.ledger visits weekly --release",
        "ledger history city.ledger",
        "ledger show nothing.ledger",
        "ledger verify visits.parquet",
    ],
    "generate": [
        "generate checkins --users 20 --records 100 --out own.parquet",
        "generate ratings --users 20 --records 100 --seed 3 --out own.csv",
        "generate messages --users 20 --records 50 --out texts.csv",
        "generate checkins --users 0 --records 100 --out own.parquet",
    ],
    "experiment": ["experiment nothing"],
    "audit": ["audit --trials 3", ("audit", COUNT, "--trials", "1000", "--sessions", "2")],
    "catalogs": [("check", MEAN, "-C", f"{name}.toml") for name in ("blank", "unknown", "syntax", "space")],
}  # fmt: skip
"""Commands by case; each runs in the folder that ``prepared`` makes."""

HELPED = (
    "", "init", "check", "preview", "query", "report", "mean", "distance", "calibrate", "experiment", "audit", "demo",
    "generate", "generate checkins", "generate messages", "generate ratings", "ledger", "ledger show",
    "ledger history", "ledger reserve", "ledger verify", "ledger copy",
)  # fmt: skip

VARYING = {
    re.compile(r"(?<![.\w])(?=[0-9]*[a-f])[0-9a-f]{12,64}(?!\w)"): "<hex>",
    re.compile(r"\d+\.\d s\b"): "<seconds>",
    re.compile(r"[\d,]+ bytes"): "<bytes>",
    re.compile(r"\b\d{4}-\d\d-\d\d\b(?! \d)"): "<today>",
}
"""What differs in every run, or with the version of a library that writes files: ledgers' names, times, days, sizes."""


def cases() -> Iterator[Case]:
    for name, script in SCRIPTS.items():
        yield Case(name, partial(_told, script))
    yield Case("help", _helped)


def prepared(folder: Path) -> None:
    """Write the tables and catalogs that commands find in their folder."""
    visits = tables.frames()["checkins"]
    visits.write_parquet(folder / "visits.parquet")
    (folder / "weeks").mkdir()
    visits.select("user_id", "hour").head(200).write_csv(folder / "weeks" / "W1.csv")
    (folder / "kinds.csv").write_text(KINDS)
    (folder / "broken.csv").write_text("user,x\n1,0.5\n1,7.5\n")
    for name, text in {
        "emdp": CATALOG,
        "blank": CATALOG.replace("users = 60", 'users = "<FILL IN>"', 1),
        "unknown": CATALOG.replace("version", "verson", 1),
        "syntax": CATALOG.replace("[tables.visits]", "[tables.visits", 1),
        "space": CATALOG.replace('kind = "geo"', 'kind = "globe"', 1),
    }.items():
        (folder / f"{name}.toml").write_text(text)


def run(folder: Path, words: Sequence[str], *, is_verbatim: bool = False) -> dict[str, Any]:
    """Run a command in a folder: what it printed, what it said on standard error, its exit status."""
    before, out, err = Path.cwd(), io.StringIO(), io.StringIO()
    os.chdir(folder)
    try:
        with (
            # From both a program's name is made.
            mock.patch.object(sys, "argv", ["emdp", *words]),
            mock.patch.object(sys.modules["__main__"], "__package__", None, create=True),
            mock.patch.dict(os.environ, {"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"}),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main(list(words))
        status: Any = 0
    except SystemExit as ending:
        status = ending.code or 0
    finally:
        os.chdir(before)
    texts = [own.getvalue() if is_verbatim else same(own.getvalue()) for own in (out, err)]
    return {"status": status, "out": texts[0], "err": texts[1]}


def _told(script: Sequence[str | tuple[str, ...]], folder: Path) -> dict[str, Any]:
    prepared(folder)
    found: dict[str, Any] = {}
    for number, command in enumerate(script, start=1):
        words = command.split() if isinstance(command, str) else list(command)
        there = {path.name for path in folder.iterdir()}
        found[f"{number} {words[0]}"] = run(folder, words)
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.name not in there and ".ledger" not in path.name:
                found[f"{number} {path.name}"] = _written(path)
    return found


def _written(path: Path) -> Any:
    if path.suffix == ".json":
        return json.loads(same(path.read_text()))
    if path.suffix == ".toml":
        return path.read_text()
    if path.name == "by.csv":
        return path.read_text()
    read = pl.read_parquet if path.suffix == ".parquet" else pl.read_csv
    return digest(str(read(path).select(pl.selectors.exclude(pl.selectors.float())).rows()))


def _helped(folder: Path) -> dict[str, Any]:
    told = {words: run(folder, [*words.split(), "--help"]) for words in HELPED}
    return {f"emdp {words}": digest(text["out"]) if words else text for words, text in told.items()}


def same(text: str) -> str:
    """Return what a command printed without what differs in every run."""
    found = without_moment(text)
    for pattern, name in VARYING.items():
        found = pattern.sub(name, found)
    return found
