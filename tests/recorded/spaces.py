"""Item spaces: their JSON, diameters, distances of items, encoded items, and distances of bags."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import emdp

from .cases import Case

VECTORS = {"word": ["linux", "kernel", "cat", "dog"], "x": [0.0, 0.0, 3.0, 3.0], "y": [1.0, 2.0, 0.0, 1.0]}
BOX = (40.48, -74.26, 40.92, -73.70)
CLASSES = {"noun": "open", "verb": "open", "article": "closed"}

SPACES: dict[str, tuple[emdp.Space, Mapping[str, list[Any]]]] = {
    "interval": (emdp.Interval("x", 0, 10, on_invalid="clamp"), {"x": [0.0, 2.5, 99.0]}),
    "interval diameter": (emdp.Interval("x", 0, 10, diameter=20, neutral=3, on_invalid="neutral"), {"x": [0.5, None]}),
    "cycle": (emdp.Cycle("hour", 24), {"hour": [23.0, 1.0, 13.0]}),
    "geo": (emdp.Geo("lat", "lon", BOX), {"lat": [40.5, 40.7], "lon": [-74.0, -73.9]}),
    "geo miles": (
        emdp.Geo("lat", "lon", BOX, unit="mi", on_invalid="clamp"), {"lat": [40.5, 50.0], "lon": [-74.0, 9.0]},
    ),
    "vector box": (emdp.Vector(["a", "b"], box=[(0, 3), (0, 4)]), {"a": [0.0, 3.0], "b": [4.0, 0.0]}),
    "vector radius": (emdp.Vector(["a", "b"], radius=2, on_invalid="clamp"), {"a": [0.5, 3.0], "b": [1.0, 4.0]}),
    "embedding": (emdp.Embedding("word", VECTORS), {"word": ["cat", "linux"]}),
    "words": (emdp.Words("text", VECTORS, on_invalid="neutral"), {"text": ["cat", "dog"]}),
    "categories": (emdp.Categories("k", ["a", "b", "c"], on_invalid="neutral"), {"k": ["b", "z", None]}),
    "booleans": (emdp.Categories("k", [True, False]), {"k": [True, False]}),
    "clusters": (emdp.Clusters("k", CLASSES, 0.25), {"k": ["noun", "verb", "article"]}),
    "distances": (emdp.Distances("k", [1, 2, 3], [[0, 1, 3], [1, 0, 2], [3, 2, 0]]), {"k": [1, 2, 3]}),
    "grid": (emdp.Grid(emdp.Geo("lat", "lon", BOX), (2, 3)), {"lat": [40.5, 40.9], "lon": [-74.0, -73.9]}),
    "grid line": (emdp.Grid(emdp.Interval("x", 0, 10), 4), {"x": [0.0, 2.5, 9.0]}),
    "product": (
        emdp.Product(emdp.Interval("x", 0, 10).weighted(3), emdp.Cycle("hour(ts)", 24), emdp.Categories("k", ["a", "b"])),  # noqa: E501
        {"x": [1.0, 9.0], "hour(ts)": [2.0, 23.0], "k": ["a", "b"]},
    ),
}  # fmt: skip
"""Spaces by name, each with some items."""

BAGS: dict[str, tuple[str, Mapping[str, list[Any]], Mapping[str, list[Any]]]] = {
    "line": ("interval", {"x": [1.0, 2.0, 7.0]}, {"x": [1.5, 9.0]}),
    "line weights": ("interval", {"x": [1.0, 2.0], "weight": [1, 3]}, {"x": [1.5, 9.0], "weight": [2, 2]}),
    "cycle": ("cycle", {"hour": [23.0, 1.0]}, {"hour": [1.5, 9.0, 12.0]}),
    "place": ("geo", {"lat": [40.5, 40.7], "lon": [-74.0, -73.9]}, {"lat": [40.6, 40.9, 40.5], "lon": [-74.0] * 3}),
    "categories": ("categories", {"k": ["a", "a", "b"]}, {"k": ["c", "a"]}),
    "clusters": ("clusters", {"k": ["noun", "noun", "article"]}, {"k": ["verb", "article"]}),
    "words": ("embedding", {"word": ["cat", "dog", "linux"]}, {"word": ["kernel", "dog"]}),
    "product": (
        "product",
        {"x": [1.0, 2.0, 5.0], "hour(ts)": [1.0, 3.0, 20.0], "k": ["a", "a", "b"]},
        {"x": [4.0, 2.0], "hour(ts)": [5.0, 3.0], "k": ["b", "a"]},
    ),
}
"""Pairs of bags by name, each with its space."""


def cases() -> Iterator[Case]:
    for name in SPACES:
        yield Case(name, partial(_described, name))
    for name in BAGS:
        yield Case(f"bags {name}", partial(_moved, name))
    yield Case("pairs", _pairs)
    yield Case("tokens", _tokens)


def _described(name: str, folder: Path) -> dict[str, Any]:
    space, rows = SPACES[name]
    told = {
        "json": {key: value for key, value in space.to_json().items() if key != "vectors"},
        "diameter": space.diameter,
        "shown": repr(space),
        "columns": space.columns,
        "labels": space.labels,
        "neutral": space.neutral_item,
        "encoded": space.encode(rows),
        "pairwise": space.pairwise(rows, rows),
        "decoded": space.decode(space.encode(rows)),
    }
    expressions = [emdp.col(own) for own in space.columns] if name in ("interval", "geo", "vector box") else []
    if name in ("interval", "cycle"):
        expressions.append(emdp.distance_to(2.0))
    if name.startswith("vector"):
        expressions += [emdp.dot([3.0, 4.0]), emdp.distance_to([0.0, 0.0])]
    if name in ("embedding", "words"):
        expressions += [emdp.dot([3.0, 4.0]), emdp.similarity("cat"), emdp.distance_to("cat")]
    bound = [expression.on(space) for expression in expressions]
    return told | {"constants": [[str(own), own.lipschitz, own.value_range] for own in bound]}


def _moved(name: str, folder: Path) -> dict[str, Any]:
    space, first, second = BAGS[name]
    own = SPACES[space][0]
    return {
        "d_em": emdp.d_em(first, second, own),
        "bounds": emdp.d_em_bounds(first, second, own),
        "plan": emdp.plan(first, second, own),
    }


def _pairs(folder: Path) -> dict[str, Any]:
    space, first, second = BAGS["line"]
    bags = {"one": first, "two": second, "none": {"x": []}}
    pairs = [("one", "two"), ("two", "none"), ("one", "one")]
    return {"d_em": emdp.d_em_pairs(bags, pairs, SPACES[space][0], empty="neutral")}


def _tokens(folder: Path) -> dict[str, Any]:
    texts = ["I DON'T know!", "cat  dog, a_b", "", "ÄÖ linux2"]
    split = emdp.Words("text", VECTORS, on_invalid="neutral", tokenizer="whitespace")
    words = SPACES["words"][0]
    assert isinstance(words, emdp.Words)
    return {"words": [words.tokenize(text) for text in texts], "whitespace": [split.tokenize(text) for text in texts]}
