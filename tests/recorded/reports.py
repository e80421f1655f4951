"""Reports: what a run says and writes, its page without pictures, styles and times, the manifest, a second run."""

import json
import re
from collections.abc import Iterator
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

from emdp.resources import find

from . import tables
from .cases import Case
from .commands import run, same
from .form import digest

CATALOG = """
ledger = "reports.ledger"
[tables.checkins]
source = "checkins.parquet"
version = "1"
user = "user_id"
users = 60
budget = { alpha = 500.0, delta = 1e-8 }
protect = [{ part = "lat", fraction = 0.0333, distance = 1.0, epsilon = 0.2 }]
[tables.checkins.space]
kind = "product"
parts = [
    { kind = "geo", lat = "lat", lon = "lon", box = [40.48, -74.26, 40.92, -73.70], unit = "km", on_invalid = "clamp" },
    { kind = "categories", col = "category", values = ["Other", "Office", "Bar", "Park"], on_invalid = "neutral" },
]
[tables.ratings]
source = "ratings.parquet"
version = "1"
user = "user_id"
users = 60
budget = { alpha = 500.0, delta = 1e-8 }
[tables.ratings.space]
kind = "product"
parts = [
    { kind = "interval", col = "stars", low = 1, high = 5, on_invalid = "clamp" },
    { kind = "categories", col = "genre", values = ["Drama", "Action", "Comedy"], on_invalid = "neutral" },
]
[tables.weekly]
source = "checkins.parquet"
version = "1"
user = "user_id"
users = 60
budget = { alpha = 50.0 }
space = { kind = "cycle", col = "hour", period = 24, on_invalid = "neutral" }
"""
WEEKLY = """
title = "Hours"
text = "A line a week."
catalog = "reports.toml"
table = "weekly"
budget = { alpha = 9.0 }
[[entry]]
title = "Morning"
query = "SELECT WITH EMD_PRIVACY AVG(DISTANCE(hour, 8)) AS hours FROM weekly"
picture = "line"
[[entry]]
title = "Too much"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 4) FREQUENCY(GRID(hour, 6)) AS share FROM weekly"
"""
WRONG = """
title = "Wrong"
catalog = "reports.toml"
table = "weekly"
budget = { alpha = 9.0 }
colour = "red"
[[entry]]
title = "No query"
[[entry]]
title = "Two levels"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 4) AVG(hour) FROM weekly"
weight = 2
[[entry]]
title = "Refused"
query = "SELECT WITH EMD_PRIVACY AVG(FLOOR(hour)) FROM weekly"
"""

UNSEEN = re.compile(r"<(style|svg|head)\b.*?</\1>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
BLANK = re.compile(r"\s+")
MADE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
VERSIONS = re.compile(r"^Versions .*$", re.MULTILINE)


def cases() -> Iterator[Case]:
    for name in ("places", "ratings"):
        text = (find("queries") / f"{name}.toml").read_text(encoding="utf-8").replace("generated.toml", "reports.toml")
        # Sixty people need more than the two thousand that the definitions are for.
        text = text.replace("target_error = 0.05", "target_error = 0.2").replace(
            "target_error = 0.005", "target_error = 0.02"
        )
        yield Case(name, partial(_reported, text, []))
    weeks = [["--period", "W1"], ["--period", "W2"], ["--period", "W2", "--fresh"]]
    yield Case("weeks", partial(_reported, WEEKLY, weeks))
    yield Case(
        "nothing set aside", partial(_reported, WEEKLY.replace("[[entry]]", 'reserve = "weekly"\n[[entry]]', 1), [])
    )
    yield Case("wrong", partial(_reported, WRONG, []))


def prepared(folder: Path, definition: str) -> None:
    """Write a definition, its catalog and its tables into a folder."""
    for name in ("checkins", "ratings"):
        tables.frames()[name].write_parquet(folder / f"{name}.parquet")
    (folder / "reports.toml").write_text(CATALOG)
    (folder / "own.toml").write_text(definition)


def page_text(html: str) -> str:
    """Return what a page says, without what is drawn, when it was made, and by which versions of packages."""
    blocks = re.split(r"</(?:p|h\d|tr|div|li|caption|section|dd)>", UNSEEN.sub(" ", html))
    lines = (BLANK.sub(" ", unescape(TAG.sub(" ", block))).strip() for block in blocks)
    # Derivations are those of answers, which other cases keep.
    said = "\n".join(line for line in lines if line and not line.startswith("Derivation"))
    return VERSIONS.sub("Versions of <packages>", MADE.sub("<time>", same(said)))


def manifest_of(text: str) -> dict[str, Any]:
    """Return a manifest without what differs in every run: times, hashes, versions, digests of pages."""
    found = json.loads(same(text))
    for name in ("versions", "files"):
        found[name] = sorted(found[name])
    return dict(found)


def _reported(definition: str, more: list[list[str]], folder: Path) -> dict[str, Any]:
    prepared(folder, definition)
    found: dict[str, Any] = {}
    for words in more or [["--dry-run"], [], []]:
        shown = " ".join(words) or ("again" if "written" in found else "written")
        found[shown] = run(folder, ["report", "own.toml", "--out", "page", *words])
    for path in sorted((folder / "page").iterdir()) if (folder / "page").is_dir() else ():
        if path.suffix == ".csv":
            text = path.read_text()
            found[path.name] = text if len(text) < 1000 else digest(text)
    if (folder / "page").is_dir():
        found["page"] = page_text((folder / "page" / "index.html").read_text(encoding="utf-8"))
        manifest = manifest_of((folder / "page" / "manifest.json").read_text(encoding="utf-8"))
        entries = manifest.pop("entries")
        found["manifest"] = manifest
        found |= {f"manifest {number}": entry for number, entry in enumerate(entries, start=1)}
        found["verified"] = run(folder, ["ledger", "verify", "reports.ledger", "--manifest", "page/manifest.json"])
    return found
