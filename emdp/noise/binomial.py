"""Binomial draws in bulk, exact in law: ``Bin(n, 1/2)`` for any ``n``, and ``Bin(n, p)`` for rational ``p``.

**Bin(n, 1/2).** Up to ``_POPCOUNT_REACH``, ``n`` random bits are counted. Above it, ``n = 2N`` (an odd ``n`` is
``n - 1`` and one fair bit more), and ``i = X - N`` is drawn by rejection. Let ``M = N + 1/2`` and

    r(i) = P(X = N + i)/P(X = N) = prod_{j=1}^{|i|} (N - j + 1)/(N + j) = prod_j (1 - x_j)/(1 + x_j),
    x_j = (j - 1/2)/M.

Since ``log((1-x)/(1+x)) = -2 (x + x^3/3 + x^5/5 + ...)`` and ``sum_j (j - 1/2) = i^2/2``, ``r(i) <= exp(-i^2/M)``.

*Proposal.* Let ``c = 1/8`` and ``w`` the least integer with ``w^2 >= c^2 M``, compared as integers. Block ``k >= 0``
is ``{k w, ..., (k+1) w - 1}`` for ``i >= 0`` and the same for ``-1 - i`` where ``i < 0``; so every ``i`` lies in one
block of one sign, and there ``r(i) <= exp(-(k w)^2/M) <= exp(-c^2 k^2)``. A block is chosen with probability
``_HEIGHTS[k]/2^16``, integers that sum to ``2^16 - 1``, with ``_HEIGHTS[k] >= S exp(-c^2 k^2)`` for ``k < K = 28``;
the last chance in ``2^16`` goes to the tail, block ``K + j`` with chance ``2^-(j+1)``. There too the weight is at least
``S exp(-c^2 k^2)``: ``2^-(j+1) >= S exp(-c^2 (K + j)^2)`` holds at ``j = 0``, and the right side falls by more than a
factor 2 with each ``j``, as ``2 c^2 K > log 2``. A test checks all three in rational arithmetic.
Sign and offset in the block are uniform (the offset by Lemire's method: what would bias it is refused as a whole).

*Acceptance*, with probability ``S r(i)/weight(k) <= 1``, 0 beyond ``|i| = N``. An accepted ``i`` therefore has law
proportional to ``r(i)``, whatever was refused before. Of the proposals 0.69 to 0.94 are accepted. The decision ``U < S
r(i)/weight`` is exact:

1. 64 bits leave ``U`` in ``[b, b+1)/2^64``. With ``a = |i|`` and ``z = (a/M)^2`` the series gives ``log r = -(a^2/M)
   (1 + (2 z - M^-2)/12 + (16 z^2 - 20 z M^-2 + 7 M^-4)/240) - rest``, as ``sum (j-1/2)^3 = a^2 (2 a^2 - 1)/8`` and
   ``sum (j-1/2)^5 = a^2 (16 a^4 - 20 a^2 + 7)/96``. As ``sum (j-1/2)^7 <= a^8/8``, ``0 <= rest <= (2/7) (a^8/8)
   M^-7/(1 - z) <= a^8 M^-7/20`` where ``z <= 1/4``. Where ``a^2/M <= 2^5``, as it is below block ``K``, ``z <= 1/16``
   for ``n >= _POPCOUNT_REACH``, and float64 evaluates the rest with an error below ``2^-40``. Where the interval of
   ``U`` and the chance are further apart than a factor ``1 + 2^-30 + a^8 M^-7/10`` the comparison is settled; that
   supposes ``numpy.exp`` accurate to a relative ``2^-32``, a million times its documented error.
2. The rest, and all beyond ``a^2/M = 2^5``, goes to :func:`_is_accepted`: rational bounds of ``r(i)`` from Stirling's
   series in correctly rounded decimal arithmetic, with more bits of ``U`` until decided.

**Bin(n, p)**, ``p = numerator/denominator = 0.b_1 b_2 ...`` in binary: each of ``n`` items has uniform bits and wins if
they are below ``p``. At bit ``l`` the undecided items split in two by ``h ~ Bin(undecided, 1/2)``, the ``h`` whose bit
differs from ``b_l`` being decided: they win if ``b_l = 1`` and lose otherwise. The bits of ``p`` come from long
division, which is exact; where the remainder is 0 the undecided lose, as their bits are at least ``p``. At 64 items or
fewer each item is one bit of a word, and a level is some operations on words.

References: Bringmann et al., "Internal DLA: efficient simulation of a physical growth model" (ICALP 2014), for the
block proposal; Lemire, "Fast random integer generation in an interval" (2019).
"""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Integers
from emdp.base.errors import UsageError
from emdp.noise.arrays import check_integer_array
from emdp.noise.exact import LazyUniform, exact_context, log_factorial_bounds
from emdp.noise.rng import random_words

__all__ = ["MAX_ITEMS", "MAX_WEIGHT", "draw_binomials", "half_binomials"]

MAX_ITEMS = 2**40
# Largest count of one binomial: the squared widths of blocks are then far from the end of int64.

MAX_WEIGHT = 2**62
# Largest denominator of a probability: twice a remainder still fits in a signed word.

_POPCOUNT_REACH = 2**10
# Up to here the bits are counted; above it rejection is faster, and the float64 bounds of the module's text hold.

_BLOCK = 2**13
# Binomials drawn at once: a dozen arrays of this length stay in the second-level cache, and none is so large that
# the allocator asks the operating system for it.

_LANES = 64
# Items that one word holds, a bit each.

_SCALE, _STEPS = 8632, 28
# S and K of the module's text.

_HEIGHTS = np.array([math.ceil(_SCALE * math.exp(-((k / 8) ** 2)) + 1e-6) for k in range(_STEPS)], dtype=np.int64)
_HEIGHTS[0] += 2**16 - 1 - int(_HEIGHTS.sum())
# Of the blocks, in units of 2^-16; what is left over goes to block 0.

_BLOCK_OF = np.append(np.repeat(np.arange(_STEPS, dtype=np.int64), _HEIGHTS), _STEPS)
# From 16 bits to a block; the last entry stands for the tail.

_FACTOR = np.concatenate((_SCALE / _HEIGHTS, _SCALE * 2.0 ** np.arange(1, 40))) * 2.0**64
# S/weight in units of the last of 64 bits, for the first blocks of the tail too.

_FLOAT_REACH = 2.0**5
# Largest a^2/M that float64 decides.

_FLOAT_MARGIN = 2.0**-30
# Relative gap that float64 needs: see the module's text.

Words = npt.NDArray[np.uint64]


def draw_binomials(counts: npt.ArrayLike, numerators: npt.ArrayLike, denominators: npt.ArrayLike) -> Integers:
    """Draw independent ``X_j ~ Bin(counts[j], numerators[j]/denominators[j])``, exactly.

    Parameters
    ----------
    counts : array-like of int, shape (size,)
        Numbers of items, each from 0 to ``MAX_ITEMS``.
    numerators, denominators : array-like of int, shape (size,)
        The probabilities: ``0 <= numerator <= denominator``, ``1 <= denominator <= MAX_WEIGHT``.

    Returns
    -------
    ndarray of int64, shape (size,)
        The numbers of items that win. Time for each grows with the logarithm of its count.

    >>> draw_binomials([5, 5, 0], [0, 3, 1], [3, 3, 3])
    array([0, 5, 0])
    """
    items = check_integer_array("counts", counts, low=0, high=MAX_ITEMS)
    upper = check_integer_array("numerators", numerators, low=0, high=MAX_WEIGHT)
    lower = check_integer_array("denominators", denominators, low=1, high=MAX_WEIGHT)
    if not items.size == upper.size == lower.size:
        raise UsageError("counts, numerators and denominators must be equally long; pass one of each for a draw.")
    if np.any(upper > lower):
        raise UsageError("numerators must be at most their denominators; pass probabilities.")
    return binomials(items, upper, lower)


def half_binomials(counts: Integers) -> Integers:
    """Draw independent ``X_j ~ Bin(counts[j], 1/2)``, exactly, of counts from 0 to ``MAX_ITEMS``: about 60 ns each."""
    drawn = np.empty_like(counts)
    large = counts > _POPCOUNT_REACH
    if not np.any(large):
        _count_bits(counts, drawn)
        return drawn
    if not np.all(large):
        drawn[~large] = half_binomials(counts[~large])
        drawn[large] = _reject(counts[large])
        return drawn
    return _reject(counts)


def binomials(counts: Integers, numerators: Integers, denominators: Integers) -> Integers:
    """:func:`draw_binomials` for arrays that are known to be sound."""
    drawn = np.where(numerators == denominators, counts, 0)
    open_ = np.flatnonzero((counts > 0) & (numerators > 0) & (numerators < denominators))
    for start in range(0, open_.size, _BLOCK):
        index = open_[start : start + _BLOCK]
        drawn[index] = _binomial_block(counts[index], numerators[index], denominators[index])
    return drawn


def _count_bits(counts: Integers, drawn: Integers) -> None:
    filled = np.flatnonzero(counts > 0)
    drawn[...] = 0
    longest = int(counts.max(initial=1)) // 64 + 1
    step = max(_BLOCK // 8, min(_BLOCK, 4 * _BLOCK // longest))
    for start in range(0, filled.size, step):
        index = filled[start : start + step]
        part = counts[index]
        words_of = (part + 63) >> 6
        ends = np.cumsum(words_of)
        words = random_words(int(ends[-1]))
        words[ends - 1] >>= (64 * words_of - part).astype(np.uint64)
        ones = np.bitwise_count(words)
        drawn[index] = ones if words.size == part.size else np.add.reduceat(ones, ends - words_of, dtype=np.int64)


def _reject(counts: Integers) -> Integers:
    drawn = np.empty_like(counts)
    pending = np.arange(counts.size)
    even = counts & ~1
    while pending.size:
        refused = []
        for start in range(0, pending.size, _BLOCK):
            index = pending[start : start + _BLOCK]
            n = even[index]
            offsets, accepted = _propose(n)
            drawn[index] = (n >> 1) + offsets
            refused.append(index[~accepted])
        pending = np.concatenate(refused)
    odd = np.flatnonzero(counts & 1)
    drawn[odd] += (random_words(odd.size) & np.uint64(1)).view(np.int64)
    return drawn


def _propose(n: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
    # For even n above the reach: a proposal i for each, and whether it is accepted.
    bits, uniform = random_words(n.size), random_words(n.size)
    width = _widths(n)
    block = _BLOCK_OF[(bits >> np.uint64(48)).view(np.int64)]
    for index in np.flatnonzero(block == _STEPS).tolist():
        block[index] += _draw_tail_step()
    sign = ((bits >> np.uint64(47)) & np.uint64(1)).view(np.int64)
    product = ((bits >> np.uint64(15)) & np.uint64(2**32 - 1)) * width.view(np.uint64)
    distance = block * width + (product >> np.uint64(32)).view(np.int64)
    chance, gap = _float_chances(n, distance + sign, block)
    real = uniform.astype(np.float64)
    accepted = (real + 1.0) * gap < chance
    # A chance that is no number fails both comparisons.
    for index in np.flatnonzero(~(accepted | (real > chance * gap))).tolist():
        drawn = LazyUniform(int(uniform[index]), 64)
        accepted[index] = _is_accepted(int(n[index]), int(distance[index] + sign[index]), int(block[index]), drawn)
    low = (product & np.uint64(2**32 - 1)).view(np.int64)
    for index in np.flatnonzero(low < width).tolist():
        accepted[index] &= low[index] >= 2**32 % int(width[index])
    return distance ^ -sign, accepted


def _widths(n: Integers) -> Integers:
    # Least w with w^2 >= M/64 = (n+1)/128.
    width: Integers = np.sqrt((n + 1) / 128.0).astype(np.int64)
    width += 128 * width * width < n + 1
    return width


def _float_chances(
    n: Integers, reach: Integers, block: Integers
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    # S r/weight times 2^64, and the factor by which a uniform must miss it (module's text).
    inverse = 2.0 / (n + 1.0)
    square = reach.astype(np.float64) ** 2
    main = square * inverse
    z = main * inverse
    inverse *= inverse
    series = 1.0 + (2.0 * z - inverse) / 12.0 + (z * (16.0 * z - 20.0 * inverse) + 7.0 * inverse * inverse) / 240.0
    chance = np.exp(-main * series) * _FACTOR[np.minimum(block, _FACTOR.size - 1)]
    chance[~(main <= _FLOAT_REACH)] = math.nan
    return chance, 1.0 + _FLOAT_MARGIN + z * z * z * main * 0.1


def _draw_tail_step() -> int:
    # j with chance 2^-(j+1).
    j = 0
    while True:
        word = int(random_words(1)[0])
        if word:
            return j + (word & -word).bit_length() - 1
        j += 64


def _is_accepted(n: int, reach: int, block: int, uniform: LazyUniform) -> bool:
    # Whether the uniform is below S r(reach)/weight of the block.
    half = n // 2
    if reach > half:
        return False
    weight = Fraction(int(_HEIGHTS[block])) if block < _STEPS else Fraction(1, 2 ** (block - _STEPS + 1))

    def bounds(count: int) -> tuple[Fraction, Fraction]:
        digits = count // 3 + 2 * len(str(n)) + 40
        context = exact_context(digits)
        middle, error = log_factorial_bounds(half, digits)
        left, left_error = log_factorial_bounds(half - reach, digits)
        right, right_error = log_factorial_bounds(half + reach, digits)
        exponent = context.subtract(context.subtract(context.add(middle, middle), left), right)
        # Four roundings, of numbers below 10^17 and of the exponential.
        slack = 2 * error + left_error + right_error + Fraction(1, 10 ** (digits - 20))
        value = Fraction(context.exp(exponent)) * _SCALE / weight
        return value * (1 - 2 * slack), value * (1 + 2 * slack)

    return uniform.is_below(bounds)


def _binomial_block(counts: Integers, numerators: Integers, denominators: Integers) -> Integers:
    drawn = np.zeros_like(counts)
    undecided, rest = counts.copy(), numerators.copy()
    many = np.flatnonzero(undecided > _LANES)
    while many.size:
        limit = denominators[many]
        left = rest[many] * 2 - limit
        digit = left >= 0
        left += np.where(digit, 0, limit)
        decided = half_binomials(undecided[many])
        drawn[many] += decided * digit
        rest[many] = left
        still = undecided[many] - decided
        undecided[many] = still
        many = many[(still > _LANES) & (left > 0)]
    few = np.flatnonzero((undecided > 0) & (rest > 0))
    drawn[few] += _draw_lanes(undecided[few], rest[few], denominators[few])
    return drawn


def _draw_lanes(counts: Integers, numerators: Integers, denominators: Integers) -> Integers:
    # At most 64 items each, a bit each: those undecided, and those that have lost. int64 throughout, for the shift of
    # a sign into a mask; only bits matter.
    drawn = np.zeros_like(counts)
    index = np.arange(counts.size)
    start = (np.uint64(2**64 - 1) >> (_LANES - counts).astype(np.uint64)).view(np.int64)
    undecided, lost, rest, limit = start.copy(), np.zeros_like(start), numerators.copy(), denominators
    while index.size:
        # After these levels one of sixteen is open, unless few digits are left.
        for level in range(4 + int(counts[index].max()).bit_length()):
            if level % 4 == 1 and not rest.any():
                break
            rest += rest
            rest -= limit
            losing = rest >> 63
            rest += limit & losing
            decided = random_words(index.size).view(np.int64)
            decided &= undecided
            undecided ^= decided
            decided &= losing
            lost |= decided
        drawn[index] = np.bitwise_count((start ^ lost ^ undecided).view(np.uint64))
        open_ = np.flatnonzero((undecided != 0) & (rest != 0))
        index, start, undecided, lost = index[open_], start[open_], undecided[open_], lost[open_]
        rest, limit = rest[open_], limit[open_]
    return drawn
