"""Mechanisms: additive noise on a public grid, each file opening with its theorem."""

from typing import TYPE_CHECKING

from emdp.lazy import lazy_names
from emdp.mechanisms.choose import Choice, choose

if TYPE_CHECKING:
    from emdp.mechanisms.base import AdditiveMechanism, float_at_least
    from emdp.mechanisms.gaussian import GaussianMechanism
    from emdp.mechanisms.k_norm import KNormMechanism
    from emdp.mechanisms.laplace import LaplaceMechanism
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.mechanisms.base": "AdditiveMechanism float_at_least",
            "emdp.mechanisms.gaussian": "GaussianMechanism",
            "emdp.mechanisms.k_norm": "KNormMechanism",
            "emdp.mechanisms.laplace": "LaplaceMechanism",
        },
    )

__all__ = [
    "AdditiveMechanism",
    "Choice",
    "GaussianMechanism",
    "KNormMechanism",
    "LaplaceMechanism",
    "choose",
    "float_at_least",
]
