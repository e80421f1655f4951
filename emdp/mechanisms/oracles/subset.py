"""Subset selection: a set of ``d`` items that more likely holds the user's.

Theorem (Ye and Barg 2018; Wang et al. 2019; technical-notes.md 2.1). With probability ``P = d e^epsilon/(d e^epsilon +
k - d)`` a user sends its item and a uniform set of ``d - 1`` others, else a uniform set of ``d`` others. A set with the
item has probability ``P/C(k-1, d-1)``, one without ``(1 - P)/C(k-1, d)``: their quotient is ``P (k - d)/((1 - P) d) =
e^epsilon``. So the message is ``epsilon``-LDP, and the theorem of :mod:`emdp.mechanisms.oracles.oracle` holds. A set
supports its items: ``p = P`` and ``q = P (d - 1)/(k - 1) + (1 - P) d/(k - 1)``.

*The size.* For shares ``f`` of the items, ``n`` times the sum of all variances is

    (k - 1)^2/(k (E - 1)^2) (E sqrt(r) + 1/sqrt(r))^2 + 1/k - sum f_x^2,   E = e^epsilon,  r = d/(k - d):

with ``g = p - q`` it is ``(k q (1 - q) + g (1 - 2 q))/g^2 - sum f_x^2``, since ``sum f_x = 1``, and ``p`` and ``q`` put
in give the above. So one ``d`` is the best for all shares. The bracket falls in ``r`` up to ``r = 1/E`` and rises from
there on, and ``r`` rises in ``d``; so it is one of the two integers next to ``d = k/(E + 1)``, taken by the bracket. (A
rare item's variance alone, ``q (1 - q)/g^2``, prefers smaller sets, of up to 9 % more error in all.) ``d = 1`` is k-RR.

Subset selection is the best of all in the middle, e.g. ``k = 50``, ``epsilon = 2``; for many items
:class:`ProjectiveOracle` is as good, with messages of one symbol, while a set here takes ``k`` bits.

*Exact draws.* A uniform set of ``m`` of ``N`` others by Floyd's method: for ``j = N - m, ..., N - 1`` a uniform place
up to ``j`` is taken, or ``j`` itself if that place is taken already. After each step all sets of so many places up to
``j`` are equally likely. It costs ``m`` draws, ``e^epsilon + 1`` times fewer than there are items.

*The tally of many.* It takes ``n d`` draws so. By the above a set ``S`` has probability ``B + (A - B) [x in S]`` with
``B = (1 - P)/C(k-1, d)``. As ``C(k, d) B = (1 - P) k/(k - d)``, it is with that probability a uniform set of ``d`` of
all items, and with the rest, ``(k P - d)/(k - d) >= 0``, the item and a uniform set of ``d - 1`` others. So the tally
is that of uniform sets, some of which leave out an item, and :mod:`emdp.noise.sets` draws it without the sets.

Reference for the draws: Bentley and Floyd, "A sample of brilliance" (1987).
"""

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.unary import BitsOracle
from emdp.mechanisms.strength import inside_numerator, ratio_of
from emdp.mechanisms.weights import TOTAL, Integers
from emdp.noise.choices import draw_below, draw_bernoulli
from emdp.noise.multinomial import draw_multinomial_rows
from emdp.noise.sets import MAX_PLACES, draw_set_counts
from emdp.privacy.blanket.sets import SetLaw
from emdp.privacy.rounding import as_decimal

__all__ = ["SubsetOracle"]

_BITS = 62

_LARGEST_WORK = 2**33
# Bits, and 16 times draws, of a tally: seconds for few items, two minutes for many.

_BLOCK_BITS, _BLOCK_ROWS = 2**25, 256
# Bits drawn together, a byte each, and least users: every place is drawn for all of them at once.

_FEWEST_DRAWS, _FEWEST_FOR_EACH = 2**21, 2**12
# Draws of a tally, in all and for each item, from which on it takes longer than that without sets.


class SubsetOracle(BitsOracle):
    """Subset selection; see :class:`FrequencyOracle` for arguments and guarantee.

    Its work is ``n (k + 16 d)``: messages of more than 2^31 bits and tallies of more than 2^33 steps are
    refused.

    Attributes
    ----------
    size : int
        ``d``.

    >>> oracle = SubsetOracle(50, 10_000, 2.0)
    >>> oracle.size, oracle.epsilon
    (6, 2.0)
    """

    name: ClassVar[str] = "subset selection"
    theorem: ClassVar[str] = "a random set of d items, likely with one's own, is epsilon-LDP (technical-notes.md 2.1)"
    size: int
    numerator: int

    @property
    def ratio(self) -> Fraction:
        return ratio_of(self.numerator, self.size, self.items - self.size)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        return _chances(Fraction(self.numerator, TOTAL), self.items, self.size)

    @property
    def sets(self) -> SetLaw:
        """Of all sets of ``d`` items a part ``d/k`` holds an item, and ``d (d-1)/(k (k-1))`` hold two given ones."""
        share = Fraction(self.size, self.items)
        both = share * Fraction(self.size - 1, self.items - 1)
        return SetLaw(self.ratio, share, ((share - both, both),))

    def draw_tally(self, bags: Bags) -> Integers:
        """Return a draw of the tally of some users' messages, without keeping them: this spends.

        Raises
        ------
        RefusedError
            If ``users (items + 16 d)`` is more than 2^33.
        """
        bags.check_items(self.items)
        if bags.users * (self.items + 16 * self.size) > _LARGEST_WORK:
            raise RefusedError(
                f"sets of {self.size} of {self.items} items for {bags.users} users are minutes of work; use "
                "ProjectiveOracle or UnaryOracle, which are as accurate for many items."
            )
        items = bags.draw_items()
        is_large = items.size * self.size >= max(_FEWEST_DRAWS, _FEWEST_FOR_EACH * self.items)
        if is_large and self.items <= MAX_PLACES:
            return self._draw_counts(items)
        total = np.zeros(self.items, dtype=np.int64)
        for start in range(0, items.size, self._block):
            total += self._draw_bits(items[start : start + self._block]).sum(axis=0, dtype=np.int64)
        return total

    def _draw_counts(self, items: Integers) -> Integers:
        """Return the tally of messages for one item each, without any set."""
        others = self.items - self.size
        # With a chance of threshold + rest/others in 2^62 the set has the item for certain.
        threshold, rest = divmod(self.items * self.numerator - self.size * TOTAL, others)
        law = np.array([[threshold, TOTAL - threshold - 1, 1]])
        users = np.bincount(items, minlength=self.items)
        drawn = draw_multinomial_rows(users, np.repeat(law, self.items, axis=0))
        edge = np.repeat(np.arange(self.items), drawn[:, 2])
        above = edge[draw_below(np.full(edge.size, others, dtype=np.int64)) < rest]
        owned = drawn[:, 0] + np.bincount(above, minlength=self.items)
        sizes = np.full(self.items, self.size - 1, dtype=np.int64)
        unowned = {self.size: items.size - int(owned.sum())}
        return owned + draw_set_counts(self.items, np.arange(self.items), sizes, unowned, counts=owned)

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "size": self.size, "numerator": self.numerator}

    def _check_tally(self, tally: Integers) -> None:
        super()._check_tally(tally)
        if int(tally.sum()) != self.users * self.size:
            raise UsageError(f"tally must count the messages of all {self.users} users; add up those of all blocks.")

    def _prepare(self) -> None:
        ideal = self.items / (math.exp(self.requested) + 1.0)
        sizes = {min(max(round_(ideal), 1), self.items - 1) for round_ in (math.floor, math.ceil)}
        self.size = min(sorted(sizes), key=self._risk)
        self.numerator = self._numerator(self.size)

    def _numerator(self, size: int) -> int:
        return inside_numerator(as_decimal(self.requested), size, self.items - size)

    def _risk(self, size: int) -> float:
        """Return what the sum of the variances of all estimates grows with; see the module's text."""
        root = math.sqrt(size / (self.items - size))
        return math.exp(self.requested) * root + 1.0 / root

    @property
    def _block(self) -> int:
        return max(_BLOCK_ROWS, _BLOCK_BITS // self.items)

    def _draw_bits(self, items: Integers) -> npt.NDArray[np.bool_]:
        is_taken = draw_bernoulli(np.full(items.size, self.numerator, dtype=np.int64), _BITS)
        bits = np.zeros((items.size, self.items), dtype=np.bool_)
        bits[is_taken, items[is_taken]] = True
        for rows, size in ((np.flatnonzero(is_taken), self.size - 1), (np.flatnonzero(~is_taken), self.size)):
            self._take_others(bits.reshape(-1), rows * self.items, items[rows], size)
        return bits

    def _take_others(self, bits: npt.NDArray[np.bool_], starts: Integers, own: Integers, size: int) -> None:
        """Set ``size`` bits of uniform other items in every row of flat ``bits`` that begins at ``starts``."""
        for last in range(self.items - 1 - size, self.items - 1):
            places = draw_below(np.full(own.size, last + 1, dtype=np.int64))
            chosen = starts + places + (places >= own)
            chosen = np.where(bits[chosen], starts + last + (last >= own), chosen)
            bits[chosen] = True


def _chances(inside: Fraction, items: int, size: int) -> tuple[Fraction, Fraction]:
    return inside, (inside * (size - 1) + (1 - inside) * size) / (items - 1)
