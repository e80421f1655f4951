"""Item spaces: one file a space, each a public domain with a ground metric (EMD 1)."""

from typing import TYPE_CHECKING

from emdp.base.lazy import lazy_names

if TYPE_CHECKING:
    from emdp.spaces.base import ON_INVALID, Floats, FunctionBounds, Mask, OnInvalid, Space
    from emdp.spaces.combined.elsewhere import Elsewhere
    from emdp.spaces.combined.grid import Grid
    from emdp.spaces.combined.product import Product
    from emdp.spaces.continuous.cycle import Cycle
    from emdp.spaces.continuous.geo import Geo
    from emdp.spaces.continuous.interval import Interval
    from emdp.spaces.continuous.vector import Vector
    from emdp.spaces.items import count_items, finite_items, item_codes, neutral_code
    from emdp.spaces.listed.categories import Categories
    from emdp.spaces.listed.clusters import Clusters
    from emdp.spaces.listed.distances import Distances
    from emdp.spaces.listed.embedding import Embedding, Words
    from emdp.spaces.part import Weighted
    from emdp.spaces.registry import from_json
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.spaces.base": "ON_INVALID Floats FunctionBounds Mask OnInvalid Space",
            "emdp.spaces.listed.categories": "Categories",
            "emdp.spaces.listed.clusters": "Clusters",
            "emdp.spaces.continuous.cycle": "Cycle",
            "emdp.spaces.listed.distances": "Distances",
            "emdp.spaces.listed.embedding": "Embedding Words",
            "emdp.spaces.continuous.geo": "Geo",
            "emdp.spaces.combined.elsewhere": "Elsewhere",
            "emdp.spaces.combined.grid": "Grid",
            "emdp.spaces.continuous.interval": "Interval",
            "emdp.spaces.items": "count_items finite_items item_codes neutral_code",
            "emdp.spaces.part": "Weighted",
            "emdp.spaces.combined.product": "Product",
            "emdp.spaces.registry": "from_json",
            "emdp.spaces.continuous.vector": "Vector",
        },
    )

__all__ = [
    "ON_INVALID",
    "Categories",
    "Clusters",
    "Cycle",
    "Distances",
    "Elsewhere",
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
