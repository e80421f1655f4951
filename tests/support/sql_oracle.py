"""Tables for statements to be about, and what plain DuckDB answers on them (``sql_writer.py`` writes the statements).

DuckDB gets a statement with its aggregate taken apart, into sums and counts a user, and with what it does not have,
DISTANCE and the like, as formulas; all names, conditions, CASEs, joins and sub-queries reach it as they are.
"""

import datetime
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import numpy as np
import polars as pl

import emdp
from emdp.base.errors import EmdpError
from emdp.estimators import Plan
from emdp.questions.names import Names
from emdp.sessions.planning import plan_request
from emdp.tables import Table
from emdp.tables.source import quote_name

HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1)"
SEED = "EMDP_FUZZ_SEED"
"""The seed of a run is drawn anew; this one repeats it."""

BOX = (40.48, -74.26, 40.92, -73.70)
KINDS = ["cafe", "bar", "it's", "Größe", "park"]
WORDS = {
    "word": ["linux", "kernel", "cat", "dog", "red"],
    "x": [0.0, 0.0, 3.0, 3.0, 1.0],
    "y": [1.0, 2.0, 0.0, 1.0, 1.0],
}
GATES = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
CLASSES = {"noun": "open", "verb": "open", "article": "closed"}
UNLISTED = "(no listed word)"

SPACE = emdp.Product(
    emdp.Geo("lat", "lon", box=BOX, unit="km"),
    emdp.Categories("category", KINDS),
    emdp.Interval("price", 0, 100),
    emdp.Cycle("hour(ts)", 24),
    emdp.Embedding("word", WORDS, on_invalid="neutral"),
    emdp.Distances("gate", [1, 2, 3], GATES),
    emdp.Categories("is_paid", [True, False]),
    emdp.Clusters("word_class", CLASSES, 0.25),
    emdp.Interval('odd "c".d', -2, 3),
    emdp.Interval("Größe", 1, 4),
)
USERS = pl.DataFrame(
    {
        "user_id": list(range(1, 10)),
        "plan": ["pro", "free", "free", None, "team", "pro", "free", None, "team"],
        "city": ["york", "york", "leeds", "leeds", "hull", "york", "hull", "Hull", "leeds"],
        "age": [31, 45, None, 27, 60, 18, 45, 33, None],
        "score": [0.5, 1.5, 2.5, -1.0, 0.0, 9.25, None, 0.1, 2.0],
        "is_staff": [True, False, None, False, True, False, None, True, True],
        "joined": [datetime.date(2025, month, 1) for month in range(1, 10)],
        "seen": [datetime.datetime(2025, 1, day, day, 30) if day != 4 else None for day in range(1, 10)],
        'User "x".y': list(range(1, 10)),
    }
)
PUBLIC = {
    "kinds": pl.DataFrame(
        {
            "category": [*KINDS, "zoo"],
            "sector": ["food", "food", "culture", None, "culture", "food"],
            "rent": [30.0, 45.5, 10.0, 0.0, 99.0, 1.0],
            "seats": [20, 60, None, 0, 5, 7],
            "is_indoor": [True, True, True, False, None, True],
        }
    ),
    "sites": pl.DataFrame({"category": ["cafe", "bar", "zoo"], "floor": [0, 2, 3], "owner": ["ann", "bob", "x"]}),
    "lines": pl.DataFrame({"gate": [1, 2, 3], "side": ["west", "west", "east"], "width": [1.5, 2.5, 4.0]}),
    "paid": pl.DataFrame({"is_paid": [True, False], "fee": [2.0, 5.0], "label": ["yes", "no"]}),
    "words": pl.DataFrame({"word": WORDS["word"][:4], "length": [5, 6, 3, 3], "kind": ["os", "os", "pet", None]}),
    'My "Pub".t': pl.DataFrame({"gate": [1, 2, 3], "Ünï": [3.0, 2.0, 1.0]}),
    "demographics": pl.DataFrame(
        {"user_id": range(1, 11), "income": [10, 20, 30, 40, None, 60, 70, 5, 6, 7], "district": list("aabbccaabb")}
    ),
}


def rows(seed: int = 3, count: int = 80) -> pl.DataFrame:
    """Return records of seven of the nine users."""
    rng, pick = np.random.default_rng(seed), random.Random(seed).choice

    def some(values: Sequence[Any]) -> list[Any]:
        return [pick(values) for _ in range(count)]

    start = datetime.datetime(2025, 1, 1)
    return pl.DataFrame(
        {
            "user_id": some([1, 2, 3, 4, 5, 6, 8]),
            "lat": rng.uniform(BOX[0], BOX[2], count),
            "lon": rng.uniform(BOX[1], BOX[3], count),
            "category": some(KINDS),
            "price": rng.uniform(0, 100, count),
            "ts": [start + datetime.timedelta(minutes=minutes) for minutes in some(range(40_000))],
            "word": some([*WORDS["word"], "unlisted"]),
            "gate": some([1, 2, 3]),
            "is_paid": some([True, False]),
            "word_class": some(list(CLASSES)),
            'odd "c".d': rng.uniform(-2, 3, count),
            "Größe": rng.uniform(1, 4, count),
        }
    )


@cache
def table() -> Table:
    """Return the private table."""
    return emdp.read(rows(), user="user_id", space=SPACE, users=USERS, name="visits")


def engine() -> duckdb.DuckDBPyConnection:
    """Return DuckDB with all tables; a user without records has one, the neutral item."""
    records = rows().with_columns(
        pl.lit(value=True).alias("zz_real"), pl.col("ts").dt.hour().cast(float).alias("zz_hour")
    )
    neutral = {name: values[0] for name, values in SPACE.decode(SPACE.neutral_item).items()}
    missing = [user for user in USERS["user_id"] if user not in records["user_id"].to_list()]
    own = {**neutral, "zz_real": False, "zz_hour": neutral["hour(ts)"], "ts": None}
    absent = pl.DataFrame(
        {name: missing if name == "user_id" else [own[name]] * len(missing) for name in records.columns},
        schema=records.schema,
    )
    vectors = pl.DataFrame({"word": WORDS["word"], "zz_x": WORDS["x"], "zz_y": WORDS["y"]})
    means = {name: float(vectors[name].mean()) for name in ("zz_x", "zz_y")}  # type: ignore[arg-type]
    records = pl.concat([records, absent]).join(vectors, on="word", how="left").join(USERS, on="user_id", how="left")
    is_listed = pl.col("word").is_in(WORDS["word"]).fill_null(value=False)
    records = records.with_columns(
        *(pl.col(name).fill_null(value) for name, value in means.items()),
        pl.when(is_listed).then("word").otherwise(pl.lit(UNLISTED)).alias("word"),
        *(pl.col(name).alias(f"zz_{name}") for name in ("lat", "lon")),
        pl.col("user_id").alias("zz_user"),
    )
    connection = duckdb.connect(":memory:")
    for name, frame in {"visits": records, **PUBLIC}.items():
        connection.register("frame", frame.to_arrow())
        connection.execute(f"CREATE TABLE {quote_name(name)} AS SELECT * FROM frame")
        connection.unregister("frame")
    for macro in (
        "ramp(e, a, b) AS least(greatest((e - a)::DOUBLE / (b - a)::DOUBLE, 0), 1)",
        "clamp(e, a, b) AS least(greatest(e, a), b)",
        "far(lat, lon, a, b) AS 2 * 6371.0088 * asin(least(1, sqrt(sin(radians((lat - a) / 2)) ** 2 + cos(radians(a)) "
        "* cos(radians(lat)) * sin(radians((lon - b) / 2)) ** 2)))",
        "round_trip(h, p) AS least(((h - p) % 24 + 24) % 24, 24 - ((h - p) % 24 + 24) % 24)",
    ):
        connection.execute(f"CREATE MACRO {macro}")
    return connection


Sums = dict[tuple[Any, ...], dict[int, tuple[float, float, float, bool]]]
"""By group and user the sum, the sum of squares and the number of the chosen records, and whether they are real."""


@dataclass(frozen=True)
class Oracle:
    """What DuckDB answers."""

    connection: duckdb.DuckDBPyConnection

    def expected(self, asked: Any) -> dict[tuple[Any, ...], tuple[float | None, float | None]]:
        """Return the aggregate and the share for every group that DuckDB knows, by its key.

        Raises
        ------
        duckdb.Error
            If DuckDB refuses the statement.
        """
        width = len(asked.groups)
        sums: Sums = {}
        for *key, user, total, squares, count, is_real in self._rows(asked.theirs()):
            sums.setdefault(tuple(key), {})[user] = (float(total or 0), float(squares or 0), count, is_real)
        everybody: dict[tuple[Any, ...], set[int]] = {}
        for *key, user in self._rows(asked.everybody()):
            everybody.setdefault(tuple(key), set()).add(user)
        of_users = [place for place in range(width) if asked.groups[place][2]]
        found = {}
        for key, users in sums.items():
            people = everybody[tuple(key[place] for place in of_users)]
            found[key] = self._total(asked, key, sums) if asked.is_total else self._mean(asked, users, len(people))
        return found

    def _mean(self, asked: Any, users: dict[int, Any], people: int) -> tuple[float | None, float | None]:
        records = dict(self._rows("SELECT zz_user, count(*) FROM visits GROUP BY ALL"))
        total, squares, share = (
            sum(own[place] / records[user] for user, own in users.items()) / people for place in range(3)
        )
        if asked.kind == "PART":
            return total, share
        mean = total / share
        return (mean if asked.kind == "AVG" else squares / share - mean**2), share

    def _total(self, asked: Any, key: tuple[Any, ...], sums: Sums) -> tuple[float | None, float | None]:
        of_users = [place for place, group in enumerate(asked.groups) if group[2]]
        same = [other for other in sums if all(other[place] == key[place] for place in of_users)]
        total = count = 0.0
        for user, (own, _, chosen, is_real) in sums[key].items():
            if is_real:
                records = sum(sums[other][user][2] for other in same if user in sums[other])
                total += own * min(1.0, asked.cap / records)
                count += chosen * min(1.0, asked.cap / records)
        if asked.kind == "MEAN":
            return (total / count if count else None), None
        return (count if asked.kind == "COUNT" else total), None

    def _rows(self, text: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(text).fetchall()


@cache
def names() -> Names:
    return table().names(PUBLIC)


def seeded(check: Callable[[random.Random], None]) -> None:
    """Run a check, and name its seed if it fails."""
    seed = int(os.environ.get(SEED, random.SystemRandom().randrange(2**32)))
    try:
        check(random.Random(seed))
    except BaseException as error:
        error.add_note(f"run again with {SEED}={seed}")
        raise


def planned(text: str) -> Plan | None:
    """Return the plan of a statement, None where it is refused."""
    try:
        (one,) = plan_request(text, names())
    except EmdpError:
        return None
    # Statements over rows with owners have an oracle of their own.
    return one.plan if isinstance(one.plan, Plan) else None


def is_constant(plan: Plan) -> bool:
    return all(mechanism.is_exact for mechanism in plan.mechanisms)
