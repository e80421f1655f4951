"""Randomizers of single items, for :meth:`emdp.Session.itemwise`: one item in, one output out (EMD 3 and 4).

Each takes an item space and ``alpha0``, and says what it really achieves: ``randomizer.alpha0``. Those of a finite
space have ``matrix``, ``right_inverse`` and ``estimate``; ``draw`` randomizes single items, ``release`` whole
histograms.
"""

from emdp.mechanisms.exponential import Exponential
from emdp.mechanisms.finite_randomizer import FiniteRandomizer
from emdp.mechanisms.geometric import Geometric
from emdp.mechanisms.gkrr import GKRR
from emdp.mechanisms.hadamard_response import HadamardResponse
from emdp.mechanisms.krr import KRR
from emdp.mechanisms.one_bit import OneBit
from emdp.mechanisms.optimal import Optimal
from emdp.mechanisms.planar_laplace import PlanarLaplace
from emdp.mechanisms.randomizer import Randomizer

__all__ = [
    "GKRR",
    "KRR",
    "Exponential",
    "FiniteRandomizer",
    "Geometric",
    "HadamardResponse",
    "OneBit",
    "Optimal",
    "PlanarLaplace",
    "Randomizer",
]
