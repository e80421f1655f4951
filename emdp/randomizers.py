"""Randomizers of single items, for :meth:`emdp.Session.itemwise`: one item in, one output out (EMD 3 and 4).

Beside them stand three for users who send few bits (``encode`` on their side, ``tally`` and ``release`` or ``decode``
on the other): :class:`SampledCoordinates` and :class:`SampledHadamard` to a curator, :class:`SignRounds` through
shufflers. They save bandwidth alone: data that are with a curator already are answered better by a session.

Each takes an item space and ``alpha0``, and says what it really achieves: ``randomizer.alpha0``. Those of a finite
space have ``matrix``, ``right_inverse`` and ``estimate``; ``draw`` randomizes single items, ``release`` whole
histograms.
"""

from emdp.mechanisms.compressed.coordinates import SampledCoordinates
from emdp.mechanisms.compressed.hadamard import SampledHadamard
from emdp.mechanisms.compressed.signs import SignRounds
from emdp.mechanisms.items.exponential import Exponential
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.geometric import Geometric
from emdp.mechanisms.items.gkrr import GKRR
from emdp.mechanisms.items.hadamard_response import HadamardResponse
from emdp.mechanisms.items.krr import KRR
from emdp.mechanisms.items.one_bit import OneBit
from emdp.mechanisms.items.optimal import Optimal
from emdp.mechanisms.items.planar_laplace import PlanarLaplace
from emdp.mechanisms.items.randomizer import Randomizer
from emdp.mechanisms.items.recoverable import Recoverable
from emdp.mechanisms.items.tiered import TieredResponse

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
    "Recoverable",
    "SampledCoordinates",
    "SampledHadamard",
    "SignRounds",
    "TieredResponse",
]
