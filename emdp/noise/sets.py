"""How many of many random sets hold each place, exact in law: the sets are halved together, and none is ever made.

Theorem. Let every row have a size ``h``, and be a uniform set of ``h`` of ``k`` places, or of those other than its
*owner*, one of them; rows are independent. :func:`draw_set_counts` returns the numbers of rows that hold each place,
with exactly their joint law.

Proof. Cut a block of places into two parts. Of a uniform set of ``h`` of ``b`` places the number ``g`` in a part of
``c`` places is hypergeometric, ``C(c, g) C(b - c, h - g)/C(b, h)``, and given ``g`` the two halves of the set are
independent uniform sets of ``g`` and of ``h - g`` places. The counts of a block are a sum over the rows, so given how
many rows have which size there they depend on nothing else: rows without an owner in the block are kept as numbers of
rows by size, and cut as multinomials. A row whose owner is in the block is a uniform set of ``b - 1`` places: it is
cut by itself, the part with the owner having one place less. A block of one place without owner has its count: the
rows of size 1. Cutting goes down to single places. ∎

*Hypergeometric chances are no multiples of* ``2^-62``. With ``P_g = floor(2^62 p_g)`` and ``A = 2^62 - sum P_g`` the
law is a mixture: ``P_g/2^62`` for each ``g``, and with ``A/2^62`` the law ``(2^62 p_g - P_g)/A``. The first is drawn by
:mod:`emdp.noise.multinomial`, the second, which some ``2^-55`` of the draws need, by whole numbers of any length.
The floors may be any smaller integers: the remainders make up for them.

Rows of one owner and size are cut together too, as a multinomial, where they are many: rows are exchangeable, so that
the numbers of them that have each half's size are all that the next cut needs. Where few rows share an owner and a size
each costs one outcome a level; all others together some ``k`` times the deviation of a size binomials for each owner,
however many they are.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Integers
from emdp.base.checks import check_count
from emdp.base.errors import InternalError, UsageError
from emdp.noise.arrays import check_integer_array
from emdp.noise.binomial import MAX_ITEMS
from emdp.noise.multinomial import draw_outcomes, draw_tree_counts
from emdp.noise.rng import random_below

__all__ = ["MAX_PLACES", "draw_set_counts"]

MAX_PLACES = 2**12
"""Most places: chances of larger sets are numbers of thousands of digits."""

_BITS = 62
# Weights of a row sum to 2^62.

_KEPT = 62
# Bits of a floor. Fewer would only send more draws to the remainders.

_ENTRIES = 2**19
# Leaves of multinomials that are drawn together: some megabytes.

_SHARED = 2
# Rows of one owner and size for each outcome from which on they are cut as a multinomial.

_FEW = 2**17
# Rows together up to which each is cut by itself: the trees of multinomials take longer, however few rows they have.


def draw_set_counts(
    places: int,
    owners: npt.ArrayLike,
    sizes: npt.ArrayLike,
    unowned: Mapping[int, int] | None = None,
    *,
    counts: npt.ArrayLike | None = None,
) -> Integers:
    """Draw how many of some random sets hold each place, exactly.

    Parameters
    ----------
    places : int
        ``k``, from 1 to ``MAX_PLACES``.
    owners : array-like of int, shape (rows,)
        The place that each set leaves out, from 0 to ``places - 1``.
    sizes : array-like of int, shape (rows,)
        How many of the other places each set has, from 0 to ``places - 1``.
    unowned : mapping of int to int, optional
        How many sets of all places there are of a size, besides.
    counts : array-like of int, shape (rows,), optional
        How many sets each row stands for, at most ``MAX_ITEMS``; 1 by default.

    Returns
    -------
    ndarray of int64, shape (places,)
        Their sum is that of the sizes.

    >>> draw_set_counts(3, [0, 2], [2, 2]), draw_set_counts(2, [], [], {2: 7})
    (array([1, 2, 1]), array([7, 7]))
    """
    if check_count("places", places) > MAX_PLACES:
        raise UsageError(f"places must be at most {MAX_PLACES}, got {places}; draw the sets themselves.")
    own = check_integer_array("owners", owners, low=0, high=places - 1)
    size = check_integer_array("sizes", sizes, low=0, high=places - 1)
    if own.size != size.size:
        raise UsageError("sizes must have one element for each of owners; pass arrays of one length.")
    many = np.ones(own.size, dtype=np.int64)
    if counts is not None:
        many = check_integer_array("counts", counts, low=0, high=MAX_ITEMS)
    if many.size != own.size:
        raise UsageError("counts must have one element for each of owners; pass arrays of one length.")
    rows = _Rows(own, np.zeros(own.size, dtype=np.int64), size, many).merged(places)
    edges = np.array([0, places])
    pool = np.zeros((1, places + 1), dtype=np.int64)
    for chosen, count in (unowned or {}).items():
        if check_count("unowned", chosen, minimum=0) > places:
            raise UsageError(f"unowned must have sizes of at most {places}, got {chosen}; pass sets of the places.")
        pool[0, chosen] = check_count("unowned", count, minimum=0)
    while (blocks := np.diff(edges)).max() > 1:
        halves = np.stack([(blocks + 1) >> 1, blocks >> 1], axis=1)
        below = np.zeros((2 * len(blocks), int(halves.max()) + 1), dtype=np.int64)
        _cut_pool(pool, blocks, halves, below)
        rows = _cut_rows(rows, edges, halves, below).merged(places)
        pool, edges = below, np.concatenate(([0], np.cumsum(halves.ravel())))
    found = np.zeros(places, dtype=np.int64)
    alone = np.flatnonzero(np.diff(edges))
    found[edges[alone]] = pool[alone, 1]
    return found


class _Rows(NamedTuple):
    """How many rows there are of some owners, each with the block that the owner is in, and the size there."""

    own: Integers
    node: Integers
    size: Integers
    counts: Integers

    def merged(self, places: int) -> "_Rows":
        """Return one entry for each owner and size, which alone say how a row is cut."""
        width = places + 1
        key = self.own * width + self.size
        filled = np.flatnonzero(self.counts)
        if not filled.size:
            return _Rows(*(part[:0] for part in self))
        total, node = np.zeros(places * width, dtype=np.int64), np.zeros(places, dtype=np.int64)
        np.add.at(total, key[filled], self.counts[filled])
        node[self.own] = self.node
        present = np.flatnonzero(total)
        own, size = np.divmod(present, width)
        return _Rows(own, node[own], size, total[present])


def _cut_rows(rows: _Rows, edges: Integers, halves: Integers, below: Integers) -> _Rows:
    """Cut rows at their owner's block: return them with their half and size there; the other half joins the pool."""
    own, node, size, many = rows
    right = (own >= (edges[:-1] + halves[:, 0])[node]).astype(np.int64)
    blocks, width = halves.sum(axis=1), below.shape[1]
    largest, span = int(blocks.max()), int(blocks.max()) + 1
    # Blocks of a level have at most two sizes, and an owner is in one of two halves.
    kind = (2 * (largest - blocks))[node] + right
    present = np.flatnonzero(np.bincount(kind * span + size, minlength=4 * span))
    code = np.empty(4 * span, dtype=np.int64)
    code[present] = np.arange(present.size)
    code = code[kind * span + size]
    asked = [_row_of(largest, *divmod(int(found), span)) for found in present]
    first, table = _table([_law(*one, _KEPT) for one in asked])
    drawn = _outcomes_of(code, many, table)
    at, place = np.nonzero(drawn[:, :-1])
    inside, times = first[code[at]] + place, drawn[at, place]
    for row in np.flatnonzero(drawn[:, -1]):
        rare = [_from_remainders(*asked[code[row]]) for _ in range(int(drawn[row, -1]))]
        at, inside = np.append(at, np.full(len(rare), row)), np.append(inside, rare)
        times = np.append(times, np.ones(len(rare), dtype=np.int64))
    np.add.at(below.reshape(-1), (2 * node + 1 - right)[at] * width + size[at] - inside, times)
    return _Rows(own[at], (2 * node + right)[at], inside, times)


def _outcomes_of(code: Integers, many: Integers, table: Integers) -> Integers:
    """Return how many of so many rows of each code have each outcome: one multinomial each, or outcomes one by one."""
    outcomes = table.shape[1]
    drawn = np.zeros((code.size, outcomes), dtype=np.int64)
    if not code.size:
        return drawn
    single = np.full(code.size, True) if int(many.sum()) <= _FEW else many < _SHARED * outcomes
    rows = np.repeat(np.flatnonzero(single), many[single])
    if rows.size:
        flat = rows * outcomes + draw_outcomes(code[rows], table)
        drawn += np.bincount(flat, minlength=drawn.size).reshape(drawn.shape)
    shared = np.flatnonzero(~single)
    step = max(1, _ENTRIES // outcomes)
    for start in range(0, shared.size, step):
        some = shared[start : start + step]
        offsets = outcomes * np.arange(some.size + 1)
        drawn[some] = draw_tree_counts(many[some], table[code[some]].ravel(), offsets).reshape(some.size, outcomes)
    return drawn


def _row_of(largest: int, kind: int, size: int) -> tuple[int, int, int]:
    """Return places without the owner, size, and places of the owner's half without it, of a kind of rows."""
    block = largest - kind // 2
    return block - 1, size, ((block + 1 - kind % 2) >> 1) - 1


def _cut_pool(pool: Integers, blocks: Integers, halves: Integers, below: Integers) -> None:
    """Cut rows without their owner, which are numbers of rows by block and size."""
    node, size = np.nonzero(pool)
    counts = pool[node, size]
    laws = [_law(int(blocks[at]), int(own), int(halves[at, 0]), _KEPT) for at, own in zip(node, size, strict=True)]
    step = max(1, _ENTRIES // (int(halves.max()) + 2))
    for start in range(0, len(laws), step):
        some = slice(start, start + step)
        first, table = _table(laws[some])
        drawn = _outcomes_of(np.arange(len(table)), counts[some], table)
        at, place = np.nonzero(drawn[:, :-1])
        _join(below, node[some][at], size[some][at], first[at] + place, drawn[at, place])
        for row in np.flatnonzero(drawn[:, -1]):
            own, block = int(size[start + row]), int(node[start + row])
            for _ in range(int(drawn[row, -1])):
                inside = _from_remainders(int(blocks[block]), own, int(halves[block, 0]))
                _join(below, np.array([block]), np.array([own]), np.array([inside]), np.array([1]))


def _join(below: Integers, node: Integers, size: Integers, left: Integers, counts: Integers) -> None:
    """Add rows of some blocks to their halves."""
    np.add.at(below, (2 * node, left), counts)
    np.add.at(below, (2 * node + 1, size - left), counts)


def _table(laws: list[tuple[int, tuple[int, ...]]]) -> tuple[Integers, Integers]:
    """Return the first outcome of each law, and the weights with what is left of 2^62 in the last column."""
    table = np.zeros((len(laws), max((len(weights) for _, weights in laws), default=0) + 1), dtype=np.int64)
    for row, (_, weights) in enumerate(laws):
        table[row, : len(weights)] = weights
        table[row, -1] = 2**_BITS - sum(weights)
    return np.array([first for first, _ in laws], dtype=np.int64), table


@lru_cache(maxsize=2**14)
def _law(places: int, chosen: int, part: int, kept: int) -> tuple[int, tuple[int, ...]]:
    """Return the first number in the part, of a set of so many places, with a positive weight, and the weights."""
    total, shift = math.comb(places, chosen), _BITS - kept
    least, most = max(0, chosen - (places - part)), min(chosen, part)
    mode = min(max((chosen + 1) * (part + 1) // (places + 2), least), most)
    ways = math.comb(part, mode) * math.comb(places - part, chosen - mode)
    upward, downward, number, here = [], [], mode, ways
    # The chances fall on both sides of the largest one, so a weight 0 is the end.
    while number <= most and (weight := (here << kept) // total):
        upward.append(weight << shift)
        here = here * (part - number) * (chosen - number) // ((number + 1) * (places - part - chosen + number + 1))
        number += 1
    number, here = mode, ways
    while number > least:
        here = here * number * (places - part - chosen + number) // ((part - number + 1) * (chosen - number + 1))
        number -= 1
        if not (weight := (here << kept) // total):
            break
        downward.append(weight << shift)
    return mode - len(downward), (*reversed(downward), *upward)


def _from_remainders(places: int, chosen: int, part: int) -> int:
    """Return a number in the part by the law of what the weights leave."""
    first, weights = _law(places, chosen, part, _KEPT)
    total = math.comb(places, chosen)
    below = random_below((2**_BITS - sum(weights)) * total)
    for number in range(max(0, chosen - (places - part)), min(chosen, part) + 1):
        weight = weights[number - first] if 0 <= number - first < len(weights) else 0
        ways = math.comb(part, number) * math.comb(places - part, chosen - number)
        below -= (ways << _BITS) - weight * total
        if below < 0:
            return number
    raise InternalError("the remainders of a law do not sum up to what its weights leave; please report it.")
