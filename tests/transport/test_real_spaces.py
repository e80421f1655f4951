"""The distances of emdp's own spaces: every route against the full problem on ``pairwise``."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.spaces import (
    Categories,
    Clusters,
    Cycle,
    Distances,
    Embedding,
    Geo,
    Interval,
    Product,
    Space,
    Vector,
    Words,
)
from emdp.transport import d_em, d_em_bounds, plan, solve

LETTERS = list("abcdefgh")
_table = np.random.default_rng(4).normal(size=(8, 3))
VECTORS = {"word": LETTERS, "vector": _table.tolist()}
MATRIX = np.sqrt(((_table[:, None] - _table[None]) ** 2).sum(axis=2))
PLACES = np.random.default_rng(5).uniform((40.5, -74.2), (40.9, -73.8), (12, 2))

SPACES: dict[str, Space] = {
    "interval": Interval("x", -3, 5),
    "truncated interval": Interval("x", -3, 5, diameter=1.5),
    "cycle": Cycle("hour", 24),
    "geo": Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km"),
    "geo, truncated": Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="mi", diameter=5),
    "vector": Vector(["x", "y"], box=[(-3, 5), (0, 1)]),
    "categories": Categories("letter", LETTERS),
    "clusters": Clusters("letter", {letter: i // 3 for i, letter in enumerate(LETTERS)}, 0.4),
    "distances": Distances("letter", LETTERS, MATRIX),
    "embedding": Embedding("letter", VECTORS),
    "words": Words("letter", VECTORS),
    "product": Product(Cycle("hour", 24).weighted(3), Categories("letter", LETTERS)),
}


def draw_bag(rng: np.random.Generator) -> dict[str, Any]:
    n = int(rng.integers(1, 14))
    at = PLACES[rng.integers(0, 12, n)]
    return {
        "x": np.round(rng.uniform(-3, 5, n), 1),
        "y": np.round(rng.random(n), 1),
        "hour": np.round(rng.uniform(0, 23.5, n)),
        "lat": at[:, 0],
        "lon": at[:, 1],
        "letter": rng.choice(LETTERS, n).tolist(),
        "weight": rng.integers(1, 4, n),
    }


@pytest.mark.quarter
@pytest.mark.parametrize("name", SPACES)
@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_every_space(name: str, seed: int) -> None:
    space, rng = SPACES[name], np.random.default_rng(seed)
    P, Q = draw_bag(rng), draw_bag(rng)
    value = d_em(P, Q, space)
    assert value == pytest.approx(solve(P["weight"], Q["weight"], space.pairwise(P, Q)), abs=2e-9)
    coupling = plan(P, Q, space)
    assert (coupling["mass"] * coupling["distance"]).sum() == pytest.approx(value, abs=2e-9)
    low, high = d_em_bounds(P, Q, space)
    assert low - 1e-9 <= value <= high + 1e-9
    assert d_em(P, P, space) == 0


@pytest.mark.parametrize("name", SPACES)
def test_the_bag_of_a_user_without_records_is_the_neutral_item(name: str) -> None:
    space = SPACES[name]
    bag = draw_bag(np.random.default_rng(1))
    none: dict[str, list[Any]] = {column: [] for column in bag}
    weight = bag["weight"] / bag["weight"].sum()
    expected = float(weight @ space.distances(space.encode(bag), space.neutral_item)[:, 0])
    assert d_em(none, bag, space, empty="neutral") == pytest.approx(expected, abs=1e-12)
    assert d_em(none, none, space, empty="neutral") == 0


def test_a_protected_change_has_its_distance() -> None:
    # EMD 1: a fraction tau of the records moved by q natural units costs tau q / diameter.
    space = SPACES["geo"]
    home, away = [(40.7, -74.0)] * 30, [(40.7, -74.0)] * 29 + [(40.745, -74.0)]
    km = space.natural_distances(np.array(home[:1]), np.array(away[-1:]))[0, 0]
    assert 4.9 < km < 5.1
    P, Q = (dict(zip(("lat", "lon"), map(list, zip(*bag, strict=True)), strict=True)) for bag in (home, away))
    assert d_em(P, Q, space) == pytest.approx(km / 30 / space.diameter, rel=1e-12)
