"""Readers of what owners and analysts write: lists of users, public tables, vectors, catalogs, reports, SQL, spaces."""

import contextlib
import io
import json
import random
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import sql_mutants
import sql_worlds
from expectations import MARKERS, check_private, need
from mutator import ODD_VALUES, mutated_bytes, mutated_text, mutated_tree
from table_readers import arrow_columns, records

import emdp
from emdp.base.errors import EmdpError
from emdp.catalog.catalog import load_catalog
from emdp.reports.checking import check_definition
from emdp.reports.definition import load_report
from emdp.spaces import from_json
from emdp.tables.public import make_user_list, read_public

PUBLIC = {
    "who": [f"p-{number}" for number in range(12)],
    "plan": ["pro", None, "free", "free"] * 3,
    "age": [20 + number for number in range(12)],
    "share": [number / 7 for number in range(12)],
    "is_staff": [number % 2 == 0 for number in range(12)],
}
VECTORS = {
    "word": list("abcdefgh"),
    "x": [number / 3 for number in range(8)],
    "y": [1 - number / 8 for number in range(8)],
}


def files_of(frame: pl.DataFrame) -> dict[str, bytes]:
    """Return a table as files of each kind."""
    packed = io.BytesIO()
    frame.write_parquet(packed)
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    return {"parquet": packed.getvalue(), "csv": frame.drop(nested).write_csv().encode()}


class UserReader:
    """A list of users: a file, a frame, a list of keys, a number."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, files_of(pl.DataFrame(PUBLIC))

    def feed(self, rng: random.Random) -> str:
        way = rng.random()
        if way < 0.35:
            suffix, content = rng.choice(list(self.files.items()))
            path = self.folder / f"users.{suffix}"
            path.write_bytes(mutated_bytes(rng, content, tail=600))
            made = make_user_list(path, "who")
        elif way < 0.6:
            keys: list[Any] = list(rng.choice((PUBLIC["who"], PUBLIC["age"])))
            for _ in range(rng.choice((1, 1, 3))):
                keys[rng.randrange(len(keys))] = rng.choice((*ODD_VALUES, "p-1", 21))
            held: Any = rng.choice((list, tuple, np.array, pl.Series, set))
            try:
                given = held(keys)
            except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
                given = keys
            made = make_user_list(given, "who")
        elif way < 0.8:
            made = make_user_list(mutated_tree(rng, PUBLIC), "who")
        elif way < 0.9:
            made = make_user_list(pa.table([rng.choice(arrow_columns(rng)) for _ in range(2)], ["who", "plan"]), "who")
        else:
            given = rng.choice(ODD_VALUES)
            made = make_user_list(given, "who")
            if given is None:
                need(made.count is None and made.keys is None, "something public about users of whom nothing is")
                return "read"
        need(made.count >= 1 and (made.keys is None or len(made.keys) == made.count), "a list of users that is none")
        made.digest()
        return "read"


class PublicReader:
    """A public table: a file or a frame of any types."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, files_of(pl.DataFrame(PUBLIC))

    def feed(self, rng: random.Random) -> str:
        way = rng.random()
        if way < 0.5:
            suffix, content = rng.choice(list(self.files.items()))
            path = self.folder / f"public.{suffix}"
            path.write_bytes(mutated_bytes(rng, content, tail=600))
            source: Any = path
        elif way < 0.7:
            names = [rng.choice(("a", "b", "", "c", "\x00", "é")) for _ in range(3)]
            source = pa.Table.from_arrays([rng.choice(arrow_columns(rng)) for _ in names], names)
        elif way < 0.9:
            source = mutated_tree(rng, PUBLIC)
        else:
            source = rng.choice(ODD_VALUES)
        need(isinstance(read_public("public", source), pl.DataFrame), "a public table that is no frame")
        return "read"


class VectorReader:
    """A table of vectors: Parquet, CSV, a frame, JSON with numbers in base 64."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rows = list(zip(VECTORS["x"], VECTORS["y"], strict=True))
        types = {"word": pl.String, "vector": pl.List(pl.Float32)}
        nested = pl.DataFrame({"word": VECTORS["word"], "vector": rows}, schema=types)
        arrays = nested.with_columns(pl.col("vector").list.to_array(2))
        self.nested = {"word": VECTORS["word"], "vector": [list(row) for row in rows]}
        self.files = list(files_of(pl.DataFrame(VECTORS)).items())
        self.files += [("parquet", files_of(made)["parquet"]) for made in (nested, arrays)]
        self.json = emdp.Embedding("word", VECTORS).to_json()
        # All of it is public, the columns that are borrowed from private tables too.
        self.own = " ".join(MARKERS)

    def feed(self, rng: random.Random) -> str:
        way = rng.random()
        if way < 0.6:
            suffix, content = rng.choice(self.files)
            path = self.folder / f"vectors.{suffix}"
            path.write_bytes(mutated_bytes(rng, content, [own for _, own in self.files], tail=600))
            space = emdp.Embedding("word", path)
        elif way < 0.75:
            space = emdp.Embedding("word", mutated_tree(rng, rng.choice((VECTORS, self.nested))))
        elif way < 0.85:
            key, other = rng.choice(arrow_columns(rng)), rng.choice(arrow_columns(rng))
            space = emdp.Embedding("word", pa.table({"word": key, "vector": other}))
        else:
            space = from_json(mutated_tree(rng, self.json))  # type: ignore[assignment]
        need(0 < space.diameter < float("inf"), "a space without a diameter")
        return "read"


SPACES: tuple[Any, ...] = (
    emdp.Interval("x", 0, 30, on_invalid="clamp"), emdp.Cycle("hour", 24),
    emdp.Geo("lat", "lon", box=(40, -75, 41, -73)),
    emdp.Vector(["x", "y"], box=[(0, 3), (0, 4)]), emdp.Vector(["u", "v"], radius=2.0, on_invalid="clamp"),
    emdp.Grid(emdp.Geo("lat", "lon", box=(40, -75, 41, -73)), (4, 5)), emdp.Categories("kind", ["a", "b", "c"]),
    emdp.Clusters("word", {"noun": "open", "verb": "open", "article": "closed"}, 0.25),
    emdp.Distances("gate", [1, 2, 3], [[0, 1, 3], [1, 0, 2], [3, 2, 0]]), emdp.Embedding("word", VECTORS),
    emdp.Words("text", VECTORS, on_invalid="neutral"),
    emdp.Product(emdp.Interval("x", 0, 1).weighted(2), emdp.Categories("kind", ["a", "b"])),
)  # fmt: skip


class SpaceReader:
    """The JSON of a space; what is read is written and read again."""

    def __init__(self, folder: Path) -> None:
        self.trees = [space.to_json() for space in SPACES]

    def feed(self, rng: random.Random) -> str:
        space = from_json(mutated_tree(rng, rng.choice(self.trees)))
        again = from_json(json.loads(json.dumps(space.to_json())))
        need(again.to_json() == space.to_json(), "a space that reads otherwise than it was written")
        need(0 < space.diameter < float("inf"), "a space without a diameter")
        return "read"


CATALOG = """
ledger = "city.ledger"

[tables.visits]
source = "visits.csv"
user = "who"
users = 40
budget = [{ alpha = 60.0, delta = 1e-8 }, { epsilon = 4.0 }]
protect = [{ fraction = 0.5, distance = 3.0, epsilon = 1.0 }]
space = { kind = "product", parts = [
  { kind = "interval", col = "x", low = 0, high = 30, on_invalid = "neutral" },
  { kind = "categories", col = "kind", values = ["a", "b"], on_invalid = "neutral" } ], weights = [2, 1] }

[tables.weeks]
source = "week-{period}.csv"
elsewhere = "neutral"
version = "2026-11-20"
user = "who"
users = "users.csv"
records = 3
budget = { alpha = 3.0 }
columns = { who = "VARCHAR", x = "DOUBLE" }
[tables.weeks.space]
kind = "interval"
col = "x"
low = 0.0
high = 30.0

[tables.words]
source = "visits.csv"
user = "who"
users = ["ann", "bob"]
wait = 0
budget = { epsilon = 2.0, r = 0.1 }
space = { kind = "words", col = "note", vectors = "vectors.csv", on_invalid = "neutral" }

[public.kinds]
source = "kinds.csv"
"""
REPORT = '''
title = "Visits"
catalog = "emdp.toml"
table = "visits"
period = "2026-W47"
budget = { alpha = 2.0, delta = 1e-9 }
retention = 30
reserve = "weekly"
text = """
What people do,
each weighing the same."""

[[entry]]
title = "Mean"
query = """
SELECT WITH EMD_PRIVACY
       AVG(x) AS m
FROM visits
"""
picture = "bar"
weight = 2

[[entry]]
title = "Kinds"
query = "SELECT WITH EMD_PRIVACY FREQUENCY(kind) AS share FROM visits"
target_error = 0.5

[[entry]]
title = "From a file"
file = "mean.sql"
'''


def write_world(folder: Path) -> None:
    """Write a catalog, and all that it names, into a folder."""
    pl.DataFrame(records()).write_csv(folder / "visits.csv")
    pl.DataFrame(records()).write_csv(folder / "week-2026-W47.csv")
    pl.DataFrame(PUBLIC).write_csv(folder / "users.csv")
    pl.DataFrame({"kind": ["a", "b"], "group": ["c", "d"]}).write_csv(folder / "kinds.csv")
    pl.DataFrame(VECTORS).write_csv(folder / "vectors.csv")
    (folder / "emdp.toml").write_text(CATALOG)
    (folder / "visits.toml").write_text(REPORT)
    (folder / "mean.sql").write_text("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.1) AVG(x * x) AS m FROM visits")


def as_toml(value: Any) -> str:
    """Return a value as TOML has it in one line, or what comes nearest to it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {as_toml(own)}" for key, own in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    with contextlib.suppress(ValueError):  # an integer of too many digits
        return json.dumps(value)
    return "9" * 5000


def write_changed(path: Path, text: str, rng: random.Random) -> None:
    """Write a changed copy of a TOML file: changed as text, as bytes or as a tree."""
    way = rng.random()
    if way < 0.1:
        path.write_bytes(mutated_bytes(rng, text.encode()))
        return
    if way < 0.5:
        changed = mutated_text(rng, text)
    else:
        tree = mutated_tree(rng, tomllib.loads(text))
        held = tree if isinstance(tree, dict) else {"x": tree}
        changed = "\n".join(f"{json.dumps(str(key))} = {as_toml(own)}" for key, own in held.items())
    path.write_bytes(changed.encode("utf-8", "surrogatepass"))


class CatalogReader:
    """A catalog: every table of it with its budgets, public tables and paths."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_world(folder)

    def feed(self, rng: random.Random) -> str:
        path = self.folder / "changed.toml"
        write_changed(path, CATALOG, rng)
        try:
            catalog = load_catalog(path)
            catalog.paths()
            refusal = None
            for name in catalog.tables:
                for ask in (catalog.budgets, catalog.protections, catalog.table):
                    try:
                        ask(name) if ask != catalog.table else catalog.table(name, period="2026-W47")
                    except EmdpError as error:
                        refusal = error
            if rng.random() < 0.1:
                catalog.public()
            if refusal is not None:
                raise refusal
        finally:
            need(not (self.folder / "city.ledger").exists(), "a ledger made by reading a catalog")
        return "read"


class ReportReader:
    """A report's definition; one in five is checked with its statements, too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_world(folder)

    def feed(self, rng: random.Random) -> str:
        path = self.folder / "changed.toml"
        write_changed(path, REPORT, rng)
        try:
            if rng.random() < 0.2:
                check_definition(path)
            else:
                load_report(path)
        finally:
            need(not (self.folder / "city.ledger").exists(), "a ledger made by checking a report")
        return "read"


class SqlReader:
    """Mutated statements of tests/sql and queries, previewed in a session whose ledger stays as it is."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.own = folder, ""
        self.sessions: dict[str, Any] = {}

    def _session(self, name: str) -> Any:
        if name not in self.sessions:
            world = sql_worlds.WORLDS[name]
            budget = [emdp.EmdDP(1e6, 0.5), emdp.UserDP(1e6, 0.5)]
            path = self.folder / f"{name}.ledger"
            session = emdp.Session(world.declared, budget=budget, ledger=path, public=sql_worlds.PUBLIC)
            self.sessions[name] = session, session.ledger.head()
        return self.sessions[name]

    def feed(self, rng: random.Random) -> str:
        base = rng.choice(sql_mutants.corpus())
        pieces = list(base.pieces)
        for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
            sql_mutants._mutated(rng, pieces, rng.choice(sql_mutants.WAYS))
            pieces = pieces or [" "]
        self.own = "".join(pieces)[:150_000]
        if rng.random() < 0.1:
            self.own = mutated_text(rng, self.own)
        session, head = self._session(base.world)
        try:
            preview = session.preview(self.own)
        finally:
            need(session.ledger.head() == head, "a preview or a refusal that was charged")
        check_private(preview.explain(), own=self.own)
        return "previewed"
