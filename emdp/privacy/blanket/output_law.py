"""The law of a randomizer's output for every item, and the distances of items: all that an accountant needs."""

from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats
from emdp.base.classes import dataclass

__all__ = ["KnownRandomizer", "OutputLaw"]


@dataclass(frozen=True, eq=False)
class OutputLaw:
    """The output law of a finite randomizer."""

    # Shape (items, outputs): the probabilities that the sampler really uses, times `2**62`; every row sums to that.
    weights: npt.NDArray[np.int64]
    # Shape (items, items): `d_X`, symmetric, 0 on the diagonal, each rounded down, so that what divides by it is safe.
    distances: Floats
    # Shape (pairs, 2): ordered pairs of items such that every ordered pair of distinct items can be carried to one of
    # them by a symmetry of both arrays; all ordered pairs by default.
    pairs: npt.NDArray[np.int64] | None = None
    # Shape (outputs,): what every item's law is at least, where `weights` and `distances` hold only the items that
    # `pairs` names, which must then be given; by default the smallest weight of each output.
    blanket: npt.NDArray[np.int64] | None = None
    # Shape (outputs,): how many outputs a column stands for, all with its weights; one by default. Rows then sum to
    # `2**62` with these multiplicities.
    counts: npt.NDArray[np.int64] | None = None
    # 1 where `pairs` are as above. Above 1 every ordered pair of distinct items has a path whose steps can be carried
    # to some of `pairs`, and whose distances add up to at most this many times its own; rounded up.
    stretch: float = 1.0


class KnownRandomizer(Protocol):
    """A randomizer whose law an accountant may use."""

    @property
    def alpha0(self) -> float:
        """Smallest bound with ``A[x, y] <= exp(alpha0 d_X(x, x')) A[x', y]``, rounded up."""

    @property
    def w_min(self) -> float:
        """Smallest positive distance of two items, rounded down; 0 on a continuum."""

    @property
    def law(self) -> OutputLaw | None:
        """The exact law, where it is finite."""

    def at(self, alpha0: float) -> Self:
        """Law of the same randomizer at another strength."""
