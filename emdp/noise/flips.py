"""Permute-and-flip: an index with a small cost, drawn exactly.

In random order index ``i`` is taken with probability ``exp(-rate (cost_i - min cost))``; an index of least cost is
taken for certain, so the end of the order is never passed. Equivalently all coins are flipped first, and the first
index in the order whose coin fell is taken; that is how it is done here.

Each coin is decided exactly. The first 64 bits of its uniform variable are in a word ``b``; where ``[b, b + 1]`` and
``2^64 exp(-rate excess)`` are further apart than a factor ``1 + 2^-30``, float64 settles it, which supposes
``numpy.exp`` accurate to a relative ``2^-40`` up to an argument of 700, thousands of times its documented error. The
rest, and what underflows, goes to rational bounds of the exponential, with more bits of the same variable
(:mod:`emdp.noise.exact`).

Reference: McKenna and Sheldon, "Permute-and-flip: a new mechanism for differentially private selection" (2020).
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from emdp.base.errors import InternalError, UsageError
from emdp.noise.arrays import check_integer_array
from emdp.noise.choices import draw_permutation
from emdp.noise.exact import LazyUniform
from emdp.noise.rng import random_words

__all__ = ["draw_permute_and_flip"]

_LARGEST_COST = 2**52
# Costs and their differences are exact in float64.

_FLOAT_MARGIN = 2.0**-30
# Relative gap at which float64 settles a coin: see the module's text.


def draw_permute_and_flip(costs: npt.ArrayLike, rate: Fraction) -> int:
    """Draw an index: in random order, take ``i`` with probability ``exp(-rate (costs[i] - min))``, exactly.

    Parameters
    ----------
    costs : array-like of int, shape (size,)
        At least one, each from 0 to 2^52.
    rate : fractions.Fraction
        Positive, at most 2^20.

    Returns
    -------
    int
        From 0 to ``size - 1``.

    References
    ----------
    McKenna and Sheldon 2020; the module's text proves exactness.

    >>> draw_permute_and_flip([10**6, 0, 10**6], Fraction(1))
    1
    """
    array = check_integer_array("costs", costs, low=0, high=_LARGEST_COST)
    if array.size == 0:
        raise UsageError("costs must hold at least one number; pass one for each index.")
    if not 0 < rate <= 2**20:
        raise UsageError(f"rate must be above 0 and at most 2^20, got {float(rate)}; pass such a fraction.")
    order = draw_permutation(array.size)
    excess = (array - array.min())[order]
    words = random_words(array.size)
    real = words.astype(np.float64)
    chance = np.exp(-float(rate) * excess) * 2.0**64
    for index in np.flatnonzero(real <= chance * (1.0 + _FLOAT_MARGIN)).tolist():
        if (real[index] + 1.0) * (1.0 + _FLOAT_MARGIN) < chance[index]:
            return int(order[index])
        if LazyUniform(int(words[index]), 64).is_below_exp(rate * int(excess[index])):
            return int(order[index])
    raise InternalError("no index was taken, although the cheapest is taken for certain; please report it.")
