"""Choices in bulk, exact in law: indices, samples with replacement, coins and permutations.

*Below a limit.* For ``limit <= 2^32`` by Lemire's method: ``r`` is uniform on 32 bits, the draw is the upper half of
``r limit``, and ``r`` is refused where the lower half is below ``2^32 mod limit``. Of the ``2^32`` values of ``r``,
those whose product has upper half ``i`` have lower halves that are ``limit`` apart; exactly ``floor(2^32/limit)`` of
them are kept, for every ``i``. For larger limits the upper bits of a word, as many as ``limit - 1`` has, are the draw,
refused while not below the limit. Either is uniform, whatever was refused before.

*A coin and 32 bits from one word.* The coin with probability ``m/2^62``, ``m = T 2^30 + r`` with ``r < 2^30``, is
true where one half of the word is below ``T``, false where it is above; where it is ``T``, which has probability
``2^-32``, it is true if 30 bits more are below ``r``: ``T/2^32 + 2^-32 r/2^30 = m/2^62``. The other half decides
nothing of it, so it is uniform and independent.

*Samples with replacement* from entries with weights, counted, are one multinomial a user, drawn by halving
(:mod:`emdp.noise.multinomial`).

*Permutations.* Positions sorted by independent uniform 64-bit keys, all keys drawn anew while two are equal: given
that they differ, all orders are equally likely.

Reference: Lemire, "Fast random integer generation in an interval" (2019), algorithm 5.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count
from emdp.base.errors import UsageError
from emdp.noise.arrays import check_integer_array
from emdp.noise.binomial import MAX_ITEMS, MAX_WEIGHT
from emdp.noise.multinomial import draw_tree_counts
from emdp.noise.rng import random_words

__all__ = [
    "draw_below",
    "draw_bernoulli",
    "draw_coins_and_bits",
    "draw_indices",
    "draw_permutation",
    "draw_sample_counts",
]

_BLOCK = 2**13
# Draws made at once, so that the arrays of a step stay in the second-level cache.

_INDICES = 2**17
# Indices of whole users that are given out together, unless one user has more.

_ENTRIES = 2**17
# Entries of whole users that are sampled together, unless one user has more: some megabytes.

_MAX_BITS = 62
# Of a coin's probability.

_WORD_REACH = 2**32
# Largest limit for which half a word is multiplied.

Integers = npt.NDArray[np.int64]


def draw_below(limits: npt.ArrayLike) -> Integers:
    """Draw independent integers, the ``j``-th uniform on ``0, ..., limits[j] - 1``, exactly.

    Parameters
    ----------
    limits : array-like of int, shape (size,)
        Numbers of possible values, each from 1 to 2^62.

    >>> draw_below([1, 1]), bool(0 <= draw_below([2**62])[0] < 2**62)
    (array([0, 0]), True)
    """
    bound = check_integer_array("limits", limits, low=1, high=2**62)
    drawn = np.empty(bound.size, dtype=np.int64)
    for start in range(0, bound.size, _BLOCK):
        part = bound[start : start + _BLOCK]
        large = part > _WORD_REACH
        block = drawn[start : start + _BLOCK]
        if np.any(large):
            block[large] = _draw_below_masked(part[large])
            small = ~large
            block[small] = _multiply(_half_words(int(np.count_nonzero(small))), part[small].view(np.uint64))
        else:
            block[:] = _multiply(_half_words(part.size), part.view(np.uint64))
    return drawn


def draw_indices(sizes: npt.ArrayLike, samples: int) -> Iterator[Integers]:
    """Draw, for each user, ``samples`` independent uniform indices below its size, exactly.

    Parameters
    ----------
    sizes : array-like of int, shape (users,)
        Records of each user, from 1 to 2^32.
    samples : int
        Indices for each user, at least 1.

    Returns
    -------
    iterator of ndarray of int64, shape (users of the block, samples)
        Blocks of whole users in their order: about 2^17 indices each, or one user.

    References
    ----------
    EMD 5: sampling with replacement; the module's text proves exactness.

    >>> [block.shape for block in draw_indices([3, 1, 9], 4)]
    [(3, 4)]
    """
    bound = check_integer_array("sizes", sizes, low=1, high=_WORD_REACH)
    samples = check_count("samples", samples)
    return _index_blocks(bound, samples)


def draw_sample_counts(counts: npt.ArrayLike, offsets: npt.ArrayLike, samples: int) -> Integers:
    """Draw, for each user, how often each of its entries is met in ``samples`` draws with replacement, exactly.

    Parameters
    ----------
    counts : array-like of int, shape (entries,)
        Weights of all users' entries one after the other, at least 0: an entry is drawn with probability
        proportional to its weight among those of its user.
    offsets : array-like of int, shape (users + 1,)
        User ``u`` has the entries ``offsets[u]`` to ``offsets[u+1] - 1``: at least one, and one with a positive weight.
        The first offset is 0, the last the number of entries.
    samples : int
        Draws for each user, from 0 to ``MAX_ITEMS``.

    Returns
    -------
    ndarray of int64, shape (entries,)
        One multinomial draw for each user: its entries sum to ``samples``.

    Raises
    ------
    UsageError
        If an argument is malformed, a user has no entry to draw, or the weights are too large: the largest times
        the most entries of a user must be at most 2^62.

    References
    ----------
    EMD 5: the reduction to users with equally many records, on a finite space; the module's text proves exactness.

    >>> draw_sample_counts([3, 7, 0], [0, 1, 3], 10)
    array([10, 10,  0])
    """
    entries = check_integer_array("counts", counts, low=0, high=MAX_WEIGHT)
    ends = check_integer_array("offsets", offsets, low=0, high=entries.size)
    samples = check_count("samples", samples, minimum=0)
    if samples > MAX_ITEMS:
        raise UsageError(f"samples must be at most 2^40, got {samples}; pass a smaller number.")
    _check_offsets(entries, ends)
    result = np.empty_like(entries)
    for first, last in _user_blocks(ends):
        part = slice(ends[first], ends[last])
        roots = np.full(last - first, samples, dtype=np.int64)
        result[part] = draw_tree_counts(roots, entries[part], ends[first : last + 1] - ends[first])
    return result


def draw_bernoulli(numerators: npt.ArrayLike, bits: int) -> npt.NDArray[np.bool_]:
    """Draw independent coins, the ``j``-th true with probability exactly ``numerators[j]/2^bits``.

    Parameters
    ----------
    numerators : array-like of int, shape (size,)
        From 0 to ``2^bits``.
    bits : int
        From 1 to 62.

    >>> draw_bernoulli([0, 8], 3)
    array([False,  True])
    """
    bits = check_count("bits", bits)
    if bits > _MAX_BITS:
        raise UsageError(f"bits must be at most {_MAX_BITS}, got {bits}; round the probabilities.")
    upper = check_integer_array("numerators", numerators, low=0, high=2**bits)
    drawn = np.empty(upper.size, dtype=np.bool_)
    for start in range(0, upper.size, _BLOCK):
        part = upper[start : start + _BLOCK]
        uniform = (random_words(part.size) >> np.uint64(64 - bits)).view(np.int64)
        drawn[start : start + _BLOCK] = uniform < part
    return drawn


def draw_coins_and_bits(numerator: int, count: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint32]]:
    """Draw coins, each true with probability exactly ``numerator/2^62``, and 32 uniform bits beside each.

    All are independent of one another.

    Parameters
    ----------
    numerator : int
        From 0 to ``2^62``.
    count : int
        From 0.

    Returns
    -------
    ndarray of bool, ndarray of uint32, shape (count,)

    >>> coins, bits = draw_coins_and_bits(2**62, 3)
    >>> coins.tolist(), bits.dtype
    ([True, True, True], dtype('uint32'))
    """
    numerator, count = check_count("numerator", numerator, minimum=0), check_count("count", count, minimum=0)
    if numerator > 2**_MAX_BITS:
        raise UsageError(f"numerator must be at most 2^62, got {numerator}; pass a probability times 2^62.")
    halves = random_words(count).view(np.uint32).reshape(-1, 2)
    first, (threshold, rest) = halves[:, 0], divmod(numerator, 2**30)
    coins = first < np.uint32(threshold) if threshold < 2**32 else np.ones(count, dtype=np.bool_)
    edge = np.flatnonzero(first == threshold) if rest else ()
    if len(edge):
        coins[edge] = draw_bernoulli(np.full(len(edge), rest, dtype=np.int64), 30)
    return coins, halves[:, 1]


def draw_permutation(count: int) -> Integers:
    """Draw a uniform permutation of ``0, ..., count - 1``, exactly.

    Parameters
    ----------
    count : int
        From 0 to 2^32.

    >>> sorted(draw_permutation(4).tolist()), draw_permutation(0).size
    ([0, 1, 2, 3], 0)
    """
    count = check_count("count", count, minimum=0)
    if count > _WORD_REACH:
        # Beyond it two of the keys are likely to be equal.
        raise UsageError(f"count must be at most 2^32, got {count}; permute in parts.")
    while True:
        keys = random_words(count)
        order: Integers = np.argsort(keys).astype(np.int64, copy=False)
        ranked = keys[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order


def _half_words(count: int) -> npt.NDArray[np.uint64]:
    return random_words((count + 1) // 2).view(np.uint32)[:count].astype(np.uint64)


def _multiply(halves: npt.NDArray[np.uint64], limits: npt.NDArray[np.uint64]) -> Integers:
    # Lemire's method; `limits` broadcasts against the half words.
    product = halves * limits
    low = product & np.uint64(2**32 - 1)
    suspect = np.flatnonzero(low < limits)
    product >>= np.uint64(32)
    drawn = product.view(np.int64)
    if suspect.size:
        limit = np.broadcast_to(limits, halves.shape).ravel()[suspect]
        refused = suspect[low.ravel()[suspect] < np.uint64(2**32) % limit]
        if refused.size:
            again = np.broadcast_to(limits, halves.shape).ravel()[refused]
            drawn.reshape(-1)[refused] = _multiply(_half_words(refused.size), again)
    return drawn


def _draw_below_masked(limits: Integers) -> Integers:
    drawn = np.empty_like(limits)
    pending = np.arange(limits.size)
    # limit - 1 may round up to a power of two in float64: then a bit more is drawn, and refused more often.
    shifts = (64 - np.frexp((limits - 1).astype(np.float64))[1]).astype(np.uint64)
    while pending.size:
        values = (random_words(pending.size) >> shifts[pending]).view(np.int64)
        drawn[pending] = values
        pending = pending[values >= limits[pending]]
    return drawn


def _index_blocks(sizes: Integers, samples: int) -> Iterator[Integers]:
    step = max(1, _INDICES // samples)
    for start in range(0, sizes.size, step):
        limits = sizes[start : start + step, None].view(np.uint64)
        yield _multiply(_half_words(limits.size * samples).reshape(-1, samples), limits)


def _check_offsets(entries: Integers, ends: Integers) -> None:
    if ends.size == 0 or ends[0] != 0 or ends[-1] != entries.size:
        raise UsageError("offsets must begin with 0 and end with the number of counts; pass one more than users.")
    if ends.size == 1:
        return
    lengths = np.diff(ends)
    if np.any(lengths <= 0) or np.any(np.maximum.reduceat(entries, ends[:-1]) == 0):
        raise UsageError("offsets must give each user an entry of positive weight; one has none to draw.")
    if int(entries.max()) * int(lengths.max()) > MAX_WEIGHT:
        raise UsageError("counts must be at most 2^62 divided by the most entries of a user; scale the weights down.")


def _user_blocks(ends: Integers) -> Iterator[tuple[int, int]]:
    # Ranges of users with together at most _ENTRIES entries, or one user.
    first, users = 0, ends.size - 1
    while first < users:
        last = int(np.searchsorted(ends, ends[first] + _ENTRIES, side="right")) - 1
        last = min(max(last, first + 1), users)
        yield first, last
        first = last
