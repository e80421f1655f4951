"""Makes ledgers, a catalog and a report that later versions must open: ``python -m tests.recorded.keep FOLDER``.

What it made once is not made again: that would show only that a version opens its own files.
"""

import base64
import contextlib
import json
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

import emdp
from emdp import randomizers

from .commands import run

__all__ = ["LOOKS", "laid_out", "looked_at"]

CATALOG = """
ledger = "city.ledger"
[tables.visits]
source = "visits.csv"
version = "1"
user = "user"
users = 5
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = [{ alpha = 60.0, delta = 1e-6 }, { epsilon = 9.0, delta = 1e-6 }]
[tables.weekly]
source = "visits.csv"
version = "1"
user = "user"
users = 5
space = { kind = "categories", col = "kind", values = ["a", "b", "c"] }
budget = { alpha = 20.0 }
"""
ROWS = "user,x,kind\n1,0.5,a\n1,2.5,b\n2,9.0,a\n2,4.0,c\n3,1.0,b\n3,7.5,b\n4,3.0,a\n4,6.0,c\n"
REPORT = """
title = "Kept"
catalog = "emdp.toml"
table = "weekly"
period = "2026-W47"
budget = { alpha = 9.0 }
reserve = "reports"
[[entry]]
title = "Kinds"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) FREQUENCY(kind) AS share FROM weekly"
picture = "none"
"""
MEAN = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) AVG(x) AS m FROM visits"
SEVERAL = """
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x * x) AS square FROM visits;
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 3, delta = 1e-8, noise = gaussian) AVG(x) AS m, AVG(EXP(-x)) AS e FROM visits;
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) COUNT(*) AS n FROM visits
"""
COMMANDS = (
    ["query", MEAN],
    ["query", SEVERAL],
    ["ledger", "reserve", "city.ledger", "visits", "reports", "--alpha", "10", "--delta", "1e-7"],
    ["query", "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) FREQUENCY(kind) FROM weekly", "--period", "2026-W46"],
    ["ledger", "reserve", "city.ledger", "weekly", "reports", "--alpha", "9"],
    ["report", "report.toml", "--out", "page"],
)
LOOKS = {
    "show": ["ledger", "show", "city.ledger"],
    "show as JSON": ["ledger", "show", "city.ledger", "--json"],
    "history": ["ledger", "history", "city.ledger"],
    "verify": ["ledger", "verify", "city.ledger"],
    "verify the manifest": ["ledger", "verify", "city.ledger", "--manifest", "page/manifest.json"],
    "a stored answer": ["query", MEAN],
    "stored answers": ["query", SEVERAL],
    "a report again": ["report", "report.toml", "--out", "page"],
}
"""What every version must show of what was kept."""


def make(folder: Path) -> None:
    """Fill a folder with a catalog, its table, a report's definition, charges of every kind, and a page."""
    (folder / "emdp.toml").write_text(CATALOG)
    (folder / "visits.csv").write_text(ROWS)
    (folder / "report.toml").write_text(REPORT)
    for words in COMMANDS:
        done = run(folder, words)
        if done["status"]:
            raise RuntimeError(f"{words}: {done['err']}")
    _ask(folder)


def _ask(folder: Path) -> None:
    """Charge what no command asks for: local and shuffled messages, releases item by item, Gaussian noise apart."""
    x = emdp.Interval("x", 0, 10)
    with emdp.load_catalog(folder / "emdp.toml").session("visits") as session:
        session.user_mean("x", epsilon=1, spread=2, between=1)
        session.mean(emdp.col("x"), epsilon=1, model="local")
    rest: dict[str, Any] = {"user": "user", "users": 5, "version": "1"}
    table = emdp.read(folder / "visits.csv", space=x, name="apart", **rest)
    with emdp.Session(table, budget=emdp.EmdDP(20, 1e-5), gaussian_share=0.5, ledger=folder / "city.ledger") as session:
        session.vector_mean([emdp.col("x")], alpha=1, delta=1e-7, noise="gaussian")
        session.vector_mean([emdp.col("x"), emdp.exp(-emdp.col("x"))], alpha=1, noise="k_norm")
    rows = {"user": [1, 1, 2, 2], "kind": ["a", "b", "a", "a"]}
    space = emdp.Categories("kind", ["a", "b"])
    table = emdp.read(rows, user="user", users=2, space=space, records=2, name="equal", version="1")
    budget = emdp.EmdDP(20, 1e-5, sizes="bounded")
    with emdp.Session(table, budget=budget, ledger=folder / "city.ledger") as session:
        session.itemwise(randomizers.KRR(space, 1.0), delta=1e-6)


def looked_at(folder: Path) -> dict[str, Any]:
    """Return what every look shows, word for word but for the folder's name."""
    found = {name: run(folder, words, is_verbatim=True) for name, words in LOOKS.items()}
    return json.loads(json.dumps(found).replace(str(folder), "<folder>"))  # type: ignore[no-any-return]


def laid_out(kept: Path, folder: Path) -> None:
    """Write what was kept into a folder, as it was: the ledger from its dump, the page from its files' texts."""
    for name, text in json.loads((kept / "files.json").read_text(encoding="utf-8")).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(base64.b64decode(text) if name.endswith(".parquet") else text.encode())
    with contextlib.closing(sqlite3.connect(folder / "city.ledger", isolation_level=None)) as connection:
        connection.executescript((kept / "ledger.sql").read_text(encoding="utf-8"))
        connection.execute("PRAGMA journal_mode = WAL")


def _keep(folder: Path, kept: Path) -> None:
    kept.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(folder / "city.ledger")) as connection:
        marks = [
            f"PRAGMA {name} = {connection.execute(f'PRAGMA {name}').fetchone()[0]};"
            for name in ("application_id", "user_version")
        ]
        (kept / "ledger.sql").write_text("\n".join([*marks, *connection.iterdump()]) + "\n", encoding="utf-8")
    files = {}
    for path in sorted(own for own in folder.rglob("*") if own.is_file() and ".ledger" not in own.name):
        packed = path.read_bytes()
        text = base64.b64encode(packed).decode() if path.suffix == ".parquet" else packed.decode()
        files[path.relative_to(folder).as_posix()] = text
    (kept / "files.json").write_text(json.dumps(files, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """Make what is kept, of a ledger that is private and of one of the test switch."""
    place = Path(sys.argv[1])
    for name, switch in (("private", contextlib.nullcontext()), ("switched", emdp.testing.seeded(1))):
        with tempfile.TemporaryDirectory() as made, switch:
            folder, kept = Path(made).resolve(), place / name
            shutil.rmtree(kept, ignore_errors=True)
            make(folder)
            _keep(folder, kept)
        with (
            tempfile.TemporaryDirectory() as again,
            emdp.testing.seeded(1) if name == "switched" else contextlib.nullcontext(),
        ):
            folder = Path(again).resolve()
            laid_out(kept, folder)
            (kept / "shown.json").write_text(
                json.dumps(looked_at(folder), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
            )


if __name__ == "__main__":
    main()
