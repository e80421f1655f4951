"""Mechanisms: additive noise on a public grid, each file opening with its theorem."""

from emdp.mechanisms.base import AdditiveMechanism, float_at_least
from emdp.mechanisms.choose import Choice, choose
from emdp.mechanisms.gaussian import GaussianMechanism
from emdp.mechanisms.k_norm import KNormMechanism
from emdp.mechanisms.laplace import LaplaceMechanism

__all__ = [
    "AdditiveMechanism",
    "Choice",
    "GaussianMechanism",
    "KNormMechanism",
    "LaplaceMechanism",
    "choose",
    "float_at_least",
]
