"""Spaces from JSON and from catalogs: one explicit table of kinds and of the keys that each takes."""

from collections.abc import Callable, Mapping
from typing import Any

from emdp.base.checks import shown
from emdp.base.errors import UsageError
from emdp.spaces.base import Space, noun_of
from emdp.spaces.combined.elsewhere import Elsewhere
from emdp.spaces.combined.grid import Grid
from emdp.spaces.combined.product import Product
from emdp.spaces.continuous.cycle import Cycle
from emdp.spaces.continuous.geo import Geo
from emdp.spaces.continuous.interval import Interval
from emdp.spaces.continuous.vector import Vector
from emdp.spaces.listed.categories import Categories
from emdp.spaces.listed.clusters import Clusters
from emdp.spaces.listed.distances import Distances
from emdp.spaces.listed.embedding import Embedding, Words
from emdp.spaces.listed.vector_table import from_inline
from emdp.spaces.part import Part, Weighted
from emdp.spaces.values import check_plain

__all__ = ["KINDS", "from_json"]

KINDS: Mapping[str, tuple[Callable[..., Part], str, str]] = {
    "interval": (Interval, "col low high", "diameter unit on_invalid neutral"),
    "cycle": (Cycle, "col period", "diameter unit on_invalid neutral"),
    "geo": (Geo, "lat lon box", "unit diameter on_invalid neutral as_given"),
    "vector": (Vector, "columns", "box radius diameter unit on_invalid neutral"),
    "grid": (Grid, "inner shape", "diameter"),
    "categories": (Categories, "col values", "on_invalid neutral"),
    "clusters": (Clusters, "col cluster_of within", "on_invalid neutral"),
    "distances": (Distances, "col values matrix", "diameter unit on_invalid neutral"),
    "embedding": (Embedding, "col vectors", "key vector diameter on_invalid neutral sha256"),
    "words": (Words, "col vectors", "key vector diameter on_invalid neutral sha256 tokenizer"),
}
"""Class, required and further keys of each kind but ``"product"``: the constructor's arguments."""


def from_json(data: object) -> Space:
    """Return the space that ``space.to_json()``, or an owner's catalog, describes.

    Parameters
    ----------
    data : mapping
        ``kind`` and the constructor's arguments under their names; a product has ``parts``, a list of
        such mappings, and may have ``weights``.

    Returns
    -------
    Space
        Equal to the space that was written.

    Raises
    ------
    UsageError
        If the kind or a key is unknown, a key is missing, or the space refuses a value.

    >>> from_json({"kind": "interval", "col": "price", "low": 0, "high": 10}).diameter
    10.0
    """
    if not isinstance(data, Mapping):
        raise UsageError(f"a space must be described by a mapping, not {type(data).__name__}; pass kind and its keys.")
    check_plain("the description of a space", data)
    kind = data.get("kind")
    arguments = {key: value for key, value in data.items() if key != "kind"}
    if not isinstance(kind, str) or kind not in (*KINDS, Product.kind, Elsewhere.kind):
        listed = ", ".join(map(repr, (*KINDS, Product.kind)))
        raise UsageError(f"kind must be one of {listed}, got {shown(kind)}; pass one of them.")
    if kind == Product.kind:
        return _product(arguments)
    if kind == Elsewhere.kind:
        _check_keys(kind, arguments, ["inner"], ["distance", "slots"])
        return Elsewhere(from_json(arguments["inner"]), arguments.get("distance", 1.0), arguments.get("slots"))
    build, required, optional = KINDS[kind]
    _check_keys(kind, arguments, required.split(), optional.split())
    vectors = arguments.get("vectors")
    if isinstance(vectors, Mapping):
        arguments["vectors"] = from_inline(vectors)
    if kind == Grid.kind:
        arguments["inner"] = from_json(arguments["inner"])
    return build(**arguments)


def _product(arguments: dict[str, Any]) -> Product:
    _check_keys(Product.kind, arguments, ["parts"], ["weights"])
    parts = arguments["parts"]
    if not isinstance(parts, list | tuple):
        raise UsageError(f"parts must be a list of spaces, not {type(parts).__name__}; pass a list.")
    weights = arguments.get("weights", [1.0] * len(parts))
    if not isinstance(weights, list | tuple) or len(weights) != len(parts):
        raise UsageError(f"weights must be {len(parts)} numbers, got {shown(weights)}; pass one for each part.")
    built = []
    for part, weight in zip(parts, weights, strict=True):
        kind = part.get("kind") if isinstance(part, Mapping) else None
        if isinstance(kind, str) and kind == Product.kind:
            raise UsageError("a part of a Product cannot be a Product; list all parts in one, with weights.")
        built.append(Weighted(from_json(part), weight))
    return Product(*built)


def _check_keys(kind: str, arguments: Mapping[str, Any], required: list[str], optional: list[str]) -> None:
    for key in arguments:
        if key not in (*required, *optional):
            listed = ", ".join(map(repr, (*required, *optional)))
            raise UsageError(f"{shown(key)} is no key of {noun_of(kind)}, only {listed}; remove or rename it.")
    for key in required:
        if key not in arguments:
            raise UsageError(f"the description of {noun_of(kind)} lacks {key!r}; add it.")
