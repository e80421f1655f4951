"""Public names for statements to be about: several item spaces, listed users with public columns, public tables."""

import datetime

import polars as pl
import pytest

from emdp.questions.names import Names
from emdp.spaces import (
    Categories,
    Clusters,
    Cycle,
    Distances,
    Embedding,
    Geo,
    Grid,
    Interval,
    Product,
    Space,
    Vector,
    Words,
)

BOX = (40.48, -74.26, 40.92, -73.70)
"""New York."""

USERS = pl.DataFrame(
    {
        "user_id": ["1", "2", "3", "4", "5", "6"],
        "plan": ["pro", "free", "free", None, "team", "pro"],
        "city": ["york", "york", "leeds", "leeds", "hull", "york"],
        "age": [31, 45, None, 27, 60, 18],
        "score": [0.5, 1.5, 2.5, -1.0, 0.0, 9.25],
        "is_staff": [True, False, None, False, True, False],
        "joined": [datetime.date(2025, month, 1) for month in range(1, 7)],
    }
)

PUBLIC = {
    "kinds": pl.DataFrame(
        {
            "category": ["cafe", "bar", "museum", "park", "zoo"],
            "sector": ["food", "food", "culture", None, "culture"],
            "rent": [30.0, 45.5, 10.0, 0.0, 99.0],
            "seats": [20, 60, None, 0, 5],
            "is_indoor": [True, True, True, False, None],
        }
    ),
    "sites": pl.DataFrame({"category": ["cafe", "bar"], "floor": [0, 2], "owner": ["ann", "bob"]}),
    "twice": pl.DataFrame({"category": ["cafe", "cafe", "bar", "museum", "park"], "x": [1, 2, 3, 4, 5]}),
    "demographics": pl.DataFrame(
        {"user_id": [1, 2, 3, 4, 5, 6, 7], "income": [10, 20, 30, 40, None, 60, 70], "district": list("aabbcca")}
    ),
    "partial": pl.DataFrame({"user_id": ["1", "2"], "level": ["gold", "tin"]}),
    "numbers": pl.DataFrame({"category": [1, 2], "x": [1.0, 2.0]}),
    "lines": pl.DataFrame({"gate": [1, 2, 3], "side": ["west", "west", "east"], "width": [1.5, 2.5, 4.0]}),
}

VECTORS = {
    "word": ["linux", "kernel", "cat", "dog", "red"],
    "x": [0.0, 0.0, 3.0, 3.0, 1.0],
    "y": [1.0, 2.0, 0.0, 1.0, 1.0],
}

GATES = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]

KINDS = ["cafe", "bar", "museum", "park"]


def _place() -> Geo:
    return Geo("lat", "lon", box=BOX, unit="km")


def _spaces() -> dict[str, Space]:
    return {
        "city": Product(
            _place(), Categories("category", KINDS), Interval("price", 0, 100, unit="dollars"), Cycle("hour(ts)", 24)
        ),
        "fq": Product(_place(), Categories("category", KINDS), Cycle("time(ts)", 24)),
        "plain": _place(),
        "shops": Product(_place(), Categories("category", KINDS)),
        "pair": Product(Interval("x", 0, 3), Interval("y", 0, 2)),
        "line": Interval("price", 0, 50),
        "clock": Cycle("hour", 24),
        "plane": Vector(["x", "y"], box=[(0, 3), (0, 4)]),
        "cells": Grid(_place(), (20, 30)),
        "kinds": Categories("category", KINDS),
        "words": Embedding("word", VECTORS),
        "text": Words("message", VECTORS),
        "trips": Product(
            Geo("start_lat", "start_lon", box=BOX, unit="km"),
            Geo("end_lat", "end_lon", box=BOX, unit="km"),
            Vector(["u", "v"], radius=2.0).weighted(2),
            Vector(["a", "b", "c"], box=[(-1, 1), (0, 2), (0, 1)]),
            Embedding("word", VECTORS, neutral="red"),
            Embedding("tag", VECTORS),
            Distances("gate", [1, 2, 3], GATES),
            Clusters("word_class", {"noun": "open", "verb": "open", "article": "closed"}, 0.25),
            Categories("is_paid", [True, False]),
            Interval("fare", 1, 20, diameter=5),
        ),
    }


def _names(space: Space) -> Names:
    own = {"user_id": "BIGINT", **dict.fromkeys(space.columns, "DOUBLE"), "ts": "TIMESTAMP", "note": "VARCHAR"}
    return Names("visits", "user_id", space, own, len(USERS), USERS, PUBLIC)


@pytest.fixture(scope="session")
def spaces() -> dict[str, Names]:
    """Public names of a table ``visits`` for several item spaces, by the space's name here."""
    return {name: _names(space) for name, space in _spaces().items()}


@pytest.fixture(scope="session")
def names(spaces: dict[str, Names]) -> Names:
    """Public names of check-ins: a place, a category, a price, the hour of a timestamp."""
    return spaces["city"]
