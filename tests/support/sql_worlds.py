"""The tables that the fuzzer of SQL asks about: small, with marked private values, invalid and missing ones.

Private values that no public declaration holds are ``MARKERS``.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

import emdp
from emdp.questions.names import Names
from emdp.tables import Table

MARKERS = ("1234.5678", "SECRETLABEL", "SECRETNOTE", "secret-user-7", "1987-06-05", "7777777")

BOX = (40.48, -74.26, 40.92, -73.70)
KINDS = ["cafe", "bar", "museum", "park"]
VENUES = ["Other", "Bar", "Coffee Shop", "Gym / Fitness Center", "Home (private)", "Office", "Park", "Subway"]
WORDS = (
    "linux", "kernel", "cat", "dog", "red", "windows", "computer", "please", "thanks", "thank", "good", "bad",
    "hello", "the", "ubuntu", "coffee",
)  # fmt: skip
VECTORS = {"word": list(WORDS), "x": [float(k % 5) for k in range(16)], "y": [1 - k / 16 for k in range(16)]}
GATES = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
USERS = pl.DataFrame(
    {
        "user_id": [1, 2, 3, 4, 5, 6],
        "plan": ["pro", "free", "free", None, "team", "pro"],
        "city": ["york", "york", "leeds", "leeds", "hull", "york"],
        "age": [31, 45, None, 27, 60, 18],
        "score": [0.5, 1.5, 2.5, -1.0, 0.0, 9.25],
        "is_staff": [True, False, None, False, True, False],
        "joined": [date(2025, month, 1) for month in range(1, 7)],
    }
)
PUBLIC = {
    "kinds": pl.DataFrame(
        {
            "category": ["cafe", "bar", "museum", "park", "Bar", "Office"],
            "kind": ["food", "food", "culture", None, "food", "work"],
            "sector": ["food", "food", "culture", None, "food", "work"],
            "rent": [30.0, 45.5, 10.0, 0.0, 1.0, 2.0],
            "seats": [20, 60, None, 0, 5, 6],
            "is_indoor": [True, True, True, False, None, True],
        }
    ),
    "demographics": pl.DataFrame(
        {"user_id": [1, 2, 3, 4, 5, 6], "income": [10, 20, 30, 40, None, 60], "district": list("aabbcc")}
    ),
    "partial": pl.DataFrame({"user_id": ["1", "2"], "level": ["gold", "tin"]}),
    "sites": pl.DataFrame({"category": ["cafe", "bar"], "floor": [0, 2], "owner": ["ann", "bob"]}),
    "lines": pl.DataFrame({"gate": [1, 2, 3], "side": ["west", "west", "east"], "width": [1.5, 2.5, 4.0]}),
}

RANGES = {
    "lat": BOX[::2], "lon": BOX[1::2], "start_lat": BOX[::2], "start_lon": BOX[1::2], "end_lat": BOX[::2],
    "end_lon": BOX[1::2], "price": (0, 100), "x": (0, 3), "y": (0, 2), "hour": (0, 24), "u": (-1.4, 1.4),
    "v": (-1.4, 1.4), "a": (-1, 1), "b": (0, 2), "c": (0, 1), "fare": (1, 20),
}  # fmt: skip
"""Columns of numbers, with the valid range; some values of the table lie outside, some are NULL, NaN or infinite."""

LISTED: dict[str, list[Any]] = {
    "category": [*KINDS, *VENUES, "SECRETLABEL", None],
    "word": [*WORDS, "SECRETLABEL", None],
    "tag": [*WORDS, "SECRETLABEL", None],
    "gate": [1, 2, 3, 7777777, None],
    "is_paid": [True, False, None],
    "word_class": ["noun", "verb", "article", "SECRETLABEL", None],
    "message": ["linux good", "the cat, SECRETLABEL", "", None, "kernel red red"],
}
"""Columns of listed values, with values that are not."""


@dataclass(frozen=True, eq=False)
class World:
    """A table, and what the grammar may say about it.

    Parameters
    ----------
    table : str
        Its name.
    space : emdp.Space
        Its item space.
    users : object
        Its public users.
    numbers : tuple of str
        Numeric expressions to begin with.
    labels : mapping of str to sequence
        Columns of listed values, as they are written, with some of the values.
    """

    table: str
    space: Any
    users: Any
    numbers: tuple[str, ...] = ()
    labels: Any = ()

    def rows(self, seed: int, count: int = 60) -> pl.DataFrame:
        """Return records, marked and invalid ones among them."""
        rng = np.random.default_rng(seed)
        users: list[Any] = ["secret-user-7", "ann", "bob"] if self.users == 40 else list(range(1, 7))
        data: dict[str, Any] = {"user_id": pl.Series([users[k] for k in rng.integers(0, len(users), count)])}
        for name in self.space.columns:
            source = re.sub(r"^\w+\((\w+)\)$", r"\1", name)
            if source in RANGES:
                values = rng.uniform(*RANGES[source], count).tolist()
                values[:5] = [1234.5678, None, float("nan"), float("-inf"), RANGES[source][0]]
                data[source] = pl.Series(values, dtype=pl.Float64)
            elif source == "ts":
                data[source] = [datetime(2012, 4, 1, tzinfo=UTC) + timedelta(hours=7.3 * k) for k in range(count)]
                data[source][:2] = [datetime(1987, 6, 5, 4, 3, 21, tzinfo=UTC), None]
            else:
                listed = LISTED["message" if source == "text" else source]
                data[source] = [listed[k] for k in rng.integers(0, len(listed), count)]
        return pl.DataFrame({**data, "note": ["SECRETNOTE"] * count})

    def items(self, seed: int) -> Any:
        """Return encoded items of the domain, its neutral item among them."""
        rows = self.rows(seed)
        if isinstance(self.space, emdp.Words):
            words = [WORDS[k] for k in np.random.default_rng(seed).integers(0, len(WORDS), 40)]
            rows = pl.DataFrame({self.space.column: words})
        elif self.space.on_invalid == "error":
            rows = rows.filter(self.space.valid_mask(rows))
        return np.concatenate([self.space.encode(rows), self.space.neutral_item])

    @cached_property
    def declared(self) -> Table:
        """The table, as its owner declares it."""
        users = USERS if self.users == "listed" else self.users
        return emdp.read(self.rows(1), user="user_id", space=self.space, users=users, name=self.table)

    @cached_property
    def names(self) -> Names:
        """All that is public."""
        return self.declared.names(PUBLIC)


def _geo(prefix: str = "") -> Any:
    return emdp.Geo(f"{prefix}lat", f"{prefix}lon", box=BOX, unit="km", on_invalid="clamp")


NEUTRAL: Any = {"on_invalid": "neutral"}
NEAR = ("DISTANCE(POINT(40.7484, -73.9857))", "DISTANCE(POINT(lat, lon), POINT(40.7, -74))", "lat", "lon")
MEANINGS = ("SIMILARITY('linux')", "DISTANCE('cat')", "DOT(VECTOR[1, -0.5])")
HOURS = ('DISTANCE("hour(ts)", 8)', "EXTRACT(HOUR FROM ts)")


def _cities() -> dict[str, World]:
    kinds, labels = emdp.Categories("category", KINDS, **NEUTRAL), {"category": ["cafe", "bar"]}
    price, hour = emdp.Interval("price", 0, 100, **NEUTRAL), emdp.Cycle("hour(ts)", 24, **NEUTRAL)
    venues = emdp.Categories("category", VENUES, **NEUTRAL)
    checkins = emdp.Product(_geo().weighted(2), venues, emdp.Cycle("time(ts)", 24, **NEUTRAL))
    week = emdp.Product(_geo(), emdp.Categories("dow(ts)", list(range(7)), **NEUTRAL))
    return {
        "city": World("visits", emdp.Product(_geo(), kinds, price, hour), "listed", (*NEAR, "price", *HOURS), labels),
        "shops": World("visits", emdp.Product(_geo(), kinds), "listed", NEAR, labels),
        "plain": World("visits", _geo(), "listed", NEAR),
        "foursquare": World("foursquare", checkins, 1083, NEAR, {"category": ["Bar", "Office"]}),
        "kinds": World("visits", kinds, "listed", ("CASE category WHEN 'cafe' THEN 2 ELSE 0 END",), labels),
        "cells": World("visits", emdp.Grid(_geo(), (20, 30)), "listed", NEAR),
        "gowalla": World("gowalla", week, 7115, NEAR, {'"dow(ts)"': [0, 6]}),
    }


def _lines() -> dict[str, World]:
    clamped = emdp.Interval("price", 0, 50, on_invalid="clamp")
    pair = emdp.Product(emdp.Interval("x", 0, 3, **NEUTRAL), emdp.Interval("y", 0, 2, **NEUTRAL))
    plane = emdp.Vector(["x", "y"], box=[(0, 3), (0, 4)], on_invalid="clamp")
    return {
        "line": World("visits", clamped, "listed", ("price",)),
        "count": World("visits", clamped, 40, ("price",)),
        "strict": World("visits", emdp.Interval("price", 0, 50), 40, ("price",)),
        "pair": World("visits", pair, "listed", ("x", "y")),
        "clock": World("visits", emdp.Cycle("hour", 24, **NEUTRAL), "listed", ("DISTANCE(hour, 3)",)),
        "plane": World("visits", plane, "listed", ("x", "DOT(VECTOR[3, 4])", "DISTANCE(VECTOR[0, 0])")),
    }


def _words() -> dict[str, World]:
    word = emdp.Embedding("word", VECTORS, **NEUTRAL)
    message, text = emdp.Words("message", VECTORS, **NEUTRAL), emdp.Words("text", VECTORS, **NEUTRAL)
    return {
        "words": World("visits", word, "listed", MEANINGS, {"word": ["cat", "dog"]}),
        "text": World("visits", message, "listed", MEANINGS, {"message": ["cat", "dog"]}),
        "irc": World("irc", text, 17803, MEANINGS, {"text": ["linux", "please"]}),
    }


def _trips() -> dict[str, World]:
    classes = {"noun": "open", "verb": "open", "article": "closed"}
    space = emdp.Product(
        _geo("start_"),
        _geo("end_"),
        emdp.Vector(["u", "v"], radius=2.0, on_invalid="clamp").weighted(2),
        emdp.Vector(["a", "b", "c"], box=[(-1, 1), (0, 2), (0, 1)], on_invalid="clamp"),
        emdp.Embedding("word", VECTORS, neutral="red", **NEUTRAL),
        emdp.Embedding("tag", VECTORS, **NEUTRAL),
        emdp.Distances("gate", [1, 2, 3], GATES, **NEUTRAL),
        emdp.Clusters("word_class", classes, 0.25, **NEUTRAL),
        emdp.Categories("is_paid", [True, False], **NEUTRAL),
        emdp.Interval("fare", 1, 20, diameter=5, **NEUTRAL),
    )
    numbers = ("DISTANCE(gate, 2)", "DISTANCE(POINT(start_lat, start_lon), POINT(40.7, -74))", "fare", "u")
    labels = {"is_paid": [True], "gate": [1, 3], "word_class": ["noun", "verb"]}
    return {"trips": World("visits", space, "listed", numbers, labels)}


WORLDS = {**_cities(), **_lines(), **_words(), **_trips()}
"""By name: those of the files in tests/sql and queries, one with a mere number of users, one with invalid records."""
