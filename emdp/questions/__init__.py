"""Frozen questions: what a session prices, charges and answers, and what an engine reads for them."""

from typing import TYPE_CHECKING

from emdp.base.lazy import lazy_names
from emdp.questions.heavy_hitters import HeavyHitters, heavy_hitters
from emdp.questions.itemwise import Itemwise, itemwise
from emdp.questions.price import Price
from emdp.questions.user_mean import UserMean, user_mean

if TYPE_CHECKING:
    from emdp.questions.distributions import Frequencies, Quantiles, frequencies, quantiles
    from emdp.questions.facts import Shares, shares
    from emdp.questions.means import Mean, VectorMean, mean, vector_mean
    from emdp.questions.measures import Measure, measure
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.questions.distributions": "Frequencies Quantiles frequencies quantiles",
            "emdp.questions.measures": "Measure measure",
            "emdp.questions.means": "Mean VectorMean mean vector_mean",
            "emdp.questions.facts": "Shares shares",
        },
    )

__all__ = [
    "Frequencies",
    "HeavyHitters",
    "Itemwise",
    "Mean",
    "Measure",
    "Price",
    "Quantiles",
    "Shares",
    "UserMean",
    "VectorMean",
    "frequencies",
    "heavy_hitters",
    "itemwise",
    "mean",
    "measure",
    "quantiles",
    "shares",
    "user_mean",
    "vector_mean",
]
