"""Many coins of one probability, exact in law, at a byte of randomness each.

Theorem. Let ``a`` be an integer from 0 to ``2^62``, ``a = h 2^54 + l`` with ``0 <= l < 2^54``. Draw a uniform byte
``b``; the coin is true if ``b < h``, false if ``b > h``; if ``b = h``, draw ``r`` uniform below ``2^54``, and the coin
is true if ``r < l``. It is true with probability ``h/256 + (1/256) l/2^54 = a/2^62``, exactly.

So one coin in 256 needs a word, the others an eighth of one: five times faster than a word each
(:func:`emdp.noise.choices.draw_bernoulli`, whose coins may all have different probabilities).
"""

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count
from emdp.base.errors import UsageError
from emdp.noise.rng import random_words

__all__ = ["draw_coins"]

_BLOCK = 2**18
# Coins made at once: a quarter of a megabyte, within the second-level cache.

_LOW_BITS = 54


def draw_coins(numerator: int, count: int) -> npt.NDArray[np.bool_]:
    """Draw independent coins, each true with probability exactly ``numerator/2^62``.

    Parameters
    ----------
    numerator : int
        From 0 to ``2^62``.
    count : int
        How many, at least 0.

    >>> bool(draw_coins(0, 9).any()), bool(draw_coins(2**62, 9).all())
    (False, True)
    """
    count = check_count("count", count, minimum=0)
    numerator = check_count("numerator", numerator, minimum=0)
    if numerator > 2**62:
        raise UsageError("numerator must be at most 2^62; pass a probability times 2^62.")
    if numerator == 2**62:
        return np.ones(count, dtype=np.bool_)
    high, low = np.uint8(numerator >> _LOW_BITS), np.uint64(numerator & (2**_LOW_BITS - 1))
    drawn = np.empty(count, dtype=np.bool_)
    for start in range(0, count, _BLOCK):
        block = drawn[start : start + _BLOCK]
        uniform = random_words(-(-block.size // 8)).view(np.uint8)[: block.size]
        np.less(uniform, high, out=block)
        ties = np.flatnonzero(uniform == high)
        block[ties] = random_words(ties.size) >> np.uint64(64 - _LOW_BITS) < low
    return drawn
