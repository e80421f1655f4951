"""Twenty users of some fifteen records each, and a session that all but answers them exactly."""

import random
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import emdp

SPACE = emdp.Product(emdp.Categories("cat", ["a", "b", "c"]), emdp.Interval("x", 0, 10))


@pytest.fixture(scope="module")
def records() -> pl.DataFrame:
    chance = random.Random(6)
    users = [*range(20), *(chance.randrange(20) for _ in range(280))]
    return pl.DataFrame(
        {
            "u": users,
            "x": [chance.uniform(0, 10) for _ in users],
            "cat": [chance.choice("aaabbc") for _ in users],
            "rating": [chance.choice([1, 2, 3, 4, 5]) for _ in users],
            "title": [chance.choice(["bar", "bar", "cafe", "zoo", None]) for _ in users],
        }
    )


@pytest.fixture
def session(tmp_path: Path, records: pl.DataFrame, zones: pl.DataFrame) -> Iterator[emdp.Session]:
    """A session on these records, and on the zones of the file that asks."""
    table = emdp.read(records, user="u", space=SPACE, users=20, name="t")
    with (
        emdp.testing.seeded(3),
        emdp.Session(table, budget=emdp.UserDP(1e9, 0.5), ledger=tmp_path / "l", public={"zones": zones}) as made,
    ):
        yield made
