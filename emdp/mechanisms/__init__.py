"""Mechanisms: additive noise on a public grid, each file opening with its theorem."""

from typing import TYPE_CHECKING

from emdp.base.lazy import lazy_names
from emdp.mechanisms.central.choose import Choice, choose

if TYPE_CHECKING:
    from emdp.mechanisms.central.additive import AdditiveMechanism, float_at_least
    from emdp.mechanisms.central.gaussian import GaussianMechanism
    from emdp.mechanisms.central.k_norm import KNormMechanism
    from emdp.mechanisms.central.laplace import LaplaceMechanism
    from emdp.mechanisms.central.tiers import TieredNoise
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.mechanisms.central.additive": "AdditiveMechanism float_at_least",
            "emdp.mechanisms.central.gaussian": "GaussianMechanism",
            "emdp.mechanisms.central.k_norm": "KNormMechanism",
            "emdp.mechanisms.central.laplace": "LaplaceMechanism",
            "emdp.mechanisms.central.tiers": "TieredNoise",
        },
    )

__all__ = [
    "AdditiveMechanism",
    "Choice",
    "GaussianMechanism",
    "KNormMechanism",
    "LaplaceMechanism",
    "TieredNoise",
    "choose",
    "float_at_least",
]
