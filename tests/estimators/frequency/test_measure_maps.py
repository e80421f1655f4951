"""Measures of places beside hours or listed values as small maps: sums, intervals, parts, what is drawn."""

from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.answers import Answer
from emdp.estimators.frequency.measure_maps import SmallMaps
from emdp.spaces import Categories, Cycle, Geo, Product, Space

USERS, EACH = 200, 10
BOX = (40.5, -74.2, 40.9, -73.7)
CITY = Geo("lat", "lon", box=BOX, unit="km")
AWAY = Geo("lat", "lon", box=BOX, unit="km", on_invalid="elsewhere")
KINDS = [f"kind {number}" for number in range(9)]


def records(absent: bool) -> pl.DataFrame:
    """Mornings are in the north and evenings in the south; `kind 3` is the most frequent, `kind 8` of nobody."""
    rng = np.random.default_rng(5)
    morning = rng.random(USERS * EACH) < 0.5
    lat = np.where(morning, 40.8, 40.6) + 0.02 * rng.normal(size=USERS * EACH)
    kind = (3 + np.minimum(rng.geometric(0.4, USERS * EACH) - 1, 7)) % 9
    frame = pl.DataFrame(
        {
            "user": np.repeat(np.arange(USERS), EACH),
            "lat": lat.clip(40.5, 40.9),
            "lon": (-73.95 + 0.03 * rng.normal(size=USERS * EACH)).clip(-74.2, -73.7),
            "hour": np.where(morning, 8.0, 20.0) + 0.5 * rng.normal(size=USERS * EACH),
            "kind": np.array(KINDS)[kind],
        }
    )
    # a quarter has no place
    return frame.with_columns(pl.when(pl.int_range(pl.len()) % 4 > 0).then("lat").alias("lat")) if absent else frame


def measure(
    other: Space, folder: Path, *, absent: bool = False, structure: Literal["joint", "given zone"] = "joint"
) -> Answer:
    space = Product(AWAY if absent else CITY, other)
    table = emdp.read(
        records(absent), user="user", space=space, users=USERS, name="t", elsewhere=1 if absent else "neutral"
    )
    with emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=folder / "maps.ledger") as session:
        return session.measure(alpha=2000.0, name="m", structure=structure)


@pytest.mark.quarter
@pytest.mark.parametrize("absent", [False, True])
def test_maps_are_sums_of_nodes_with_the_intervals_of_the_sums(absent: bool, tmp_path: Path) -> None:
    with emdp.testing.seeded(3):
        answer = measure(Cycle("hour", 24), tmp_path, absent=absent)
    rows = answer._rows
    maps = rows._maps
    assert isinstance(maps, SmallMaps)
    assert (answer.shape.kind, answer.shape.keys, answer.shape.coordinates) == ("cells", ("hour",), ("lat", "lon"))
    drawn = answer._drawn(answer.frame)
    tall, wide, hours = (axis.size for axis in rows.grid.cells.axes)
    titles = drawn["hour"].unique(maintain_order=True).to_list()
    assert 3 <= len(titles) <= 6
    assert drawn.height == tall * wide * len(titles)
    # All maps together are the records that are somewhere.
    assert drawn["m"].sum() == pytest.approx(1.0, abs=1e-9)
    whole = rows.density(answer.released)["m"].to_numpy()
    rest = 1.0 - float(whole[tall * wide * hours :].sum())
    assert (rest < 0.8) is absent
    fit = whole[: tall * wide * hours].reshape(tall, wide, hours) / rest
    raw = np.array(answer.released[0], dtype=np.float64)[: tall * wide * hours].reshape(tall, wide, hours) / rest
    known = maps._parts(fit.sum((0, 1)))
    assert [title for title, _ in known] == titles
    assert sorted(node for _, nodes in known for node in nodes) == list(range(hours))
    for title, nodes in known:
        part = drawn.filter(pl.col("hour") == title)
        np.testing.assert_allclose(part["m"].to_numpy().reshape(tall, wide), fit[:, :, nodes].sum(2), atol=1e-12)
        low, high = (part[f"m_{end}"].to_numpy().reshape(tall, wide) for end in ("low", "high"))
        np.testing.assert_allclose((low + high) / 2, raw[:, :, nodes].sum(2), atol=1e-12)
        for row, column in ((0, 0), (0, 2), (1, 1), (tall // 2, wide - 1), (tall - 1, 1), (tall - 2, wide - 2)):
            weights = np.zeros((tall, wide, hours))
            weights[row, column, nodes] = 1.0
            own = np.append(weights.ravel(), np.zeros(int(rows.mechanism.dimension) - weights.size))
            expected = rows.mechanism.linear_half_width(own, 0.95) / rest
            assert (high - low)[row, column] / 2 == pytest.approx(expected, rel=1e-6)
    # Mornings are in the north.
    at_eight = drawn.filter(pl.col("hour") == next(title for title, nodes in known if round(hours / 3) in nodes))
    assert at_eight.sort("m", descending=True)["lat"][0] > 40.7
    assert answer.plot().text.startswith("Map of m by lat, lon in hour ")


@pytest.mark.slow
def test_listed_values_have_a_map_each_and_the_rare_ones_one_together(tmp_path: Path) -> None:
    with emdp.testing.seeded(4):
        answer = measure(Categories("kind", KINDS), tmp_path)
    drawn = answer._drawn(answer.frame)
    titles = drawn["kind"].unique(maintain_order=True).to_list()
    assert titles[0] == "kind 3"
    assert titles[-1] == "4 others"
    assert len(titles) == 6
    assert drawn["m"].sum() == pytest.approx(1.0, abs=1e-9)
    masses = drawn.group_by("kind", maintain_order=True).agg(pl.col("m").sum())["m"].to_list()
    assert masses[:5] == sorted(masses[:5], reverse=True)
    assert answer.plot("bar").svg


def test_a_measure_in_blocks_is_drawn_as_its_places(tmp_path: Path) -> None:
    with emdp.testing.seeded(5):
        answer = measure(Cycle("hour", 24), tmp_path, structure="given zone")
    assert (answer.shape.keys, answer.shape.coordinates, answer.shape.is_map) == ((), ("lat", "lon"), True)
    first = answer._rows.first
    assert answer._drawn(answer.frame).height == first.grid.cells.size
    assert answer.plot().text.startswith("Map of m by lat, lon, the largest first")
