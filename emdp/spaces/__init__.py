"""Item spaces: one file a space, each a public domain with a ground metric (EMD 1)."""

from typing import TYPE_CHECKING

from emdp.lazy import lazy_names

if TYPE_CHECKING:
    from emdp.spaces.base import ON_INVALID, Floats, FunctionBounds, Mask, OnInvalid, Space
    from emdp.spaces.categories import Categories
    from emdp.spaces.clusters import Clusters
    from emdp.spaces.cycle import Cycle
    from emdp.spaces.distances import Distances
    from emdp.spaces.embedding import Embedding, Words
    from emdp.spaces.geo import Geo
    from emdp.spaces.grid import Grid
    from emdp.spaces.interval import Interval
    from emdp.spaces.items import count_items, finite_items, item_codes, neutral_code
    from emdp.spaces.part import Weighted
    from emdp.spaces.product import Product
    from emdp.spaces.serial import from_json
    from emdp.spaces.vector import Vector
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.spaces.base": "ON_INVALID Floats FunctionBounds Mask OnInvalid Space",
            "emdp.spaces.categories": "Categories",
            "emdp.spaces.clusters": "Clusters",
            "emdp.spaces.cycle": "Cycle",
            "emdp.spaces.distances": "Distances",
            "emdp.spaces.embedding": "Embedding Words",
            "emdp.spaces.geo": "Geo",
            "emdp.spaces.grid": "Grid",
            "emdp.spaces.interval": "Interval",
            "emdp.spaces.items": "count_items finite_items item_codes neutral_code",
            "emdp.spaces.part": "Weighted",
            "emdp.spaces.product": "Product",
            "emdp.spaces.serial": "from_json",
            "emdp.spaces.vector": "Vector",
        },
    )

__all__ = [
    "ON_INVALID",
    "Categories",
    "Clusters",
    "Cycle",
    "Distances",
    "Embedding",
    "Floats",
    "FunctionBounds",
    "Geo",
    "Grid",
    "Interval",
    "Mask",
    "OnInvalid",
    "Product",
    "Space",
    "Vector",
    "Weighted",
    "Words",
    "count_items",
    "finite_items",
    "from_json",
    "item_codes",
    "neutral_code",
]
