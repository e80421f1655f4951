"""k-ary randomised response of one sampled record a user.

Theorem (local-shuffle-userlevel.md 3.2; Warner 1965; Kairouz, Oh and Viswanath 2014). The user's item is sent with
probability ``e^epsilon/(e^epsilon + k - 1)``, every other one with ``1/(e^epsilon + k - 1)``: ``epsilon``-LDP, and the
theorem of :mod:`emdp.mechanisms.oracles.oracle` holds. Sent items support themselves, ``p`` and ``q`` being these
probabilities. It is the best oracle for about ``k < 3 e^epsilon + 2``, and far from it beyond; where messages are
mixed, and ``epsilon`` grows with what mixing hides, up to about as many items as users
(:mod:`emdp.privacy.blanket.sets`).

Proof. The normaliser is the same for all items, so two items' probabilities of one message are equal or differ by the
factor ``e^epsilon``; a user with several records is a mixture of items.
"""

from fractions import Fraction
from typing import ClassVar

import numpy as np

from emdp.mechanisms.oracles.symbol import SymbolOracle
from emdp.mechanisms.weights import Floats, Integers
from emdp.privacy.blanket.sets import SetLaw

__all__ = ["KRROracle"]


class KRROracle(SymbolOracle):
    """k-ary randomised response: the symbol is an item; see :class:`FrequencyOracle` for arguments and guarantee.

    >>> from emdp.mechanisms.oracles.bags import Bags
    >>> oracle = KRROracle(5, 100_000, 2.0)
    >>> estimates = oracle.decode(oracle.tally(oracle.encode(Bags.of_items(np.full(100_000, 3)))))
    >>> abs(float(estimates[3]) - 1) < 0.05, oracle.epsilon
    (True, 2.0)
    """

    name: ClassVar[str] = "k-ary randomised response"
    theorem: ClassVar[str] = "k-RR of one uniform record a user is epsilon-LDP (local-shuffle-userlevel.md 3.2)"

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        same = self._inside_chance
        return same, (1 - same) / self.outside

    @property
    def sets(self) -> SetLaw:
        return SetLaw(self.ratio, Fraction(1, self.items), ((Fraction(1, self.items), Fraction(0)),))

    def _choose(self) -> None:
        self.inside, self.outside = 1, self.items - 1

    def _inside_symbols(self, items: Integers, places: Integers) -> Integers:
        return items + places

    def _outside_symbols(self, items: Integers, places: Integers) -> Integers:
        return places + (places >= items)

    def _supporters(self, tally: Integers) -> Floats:
        return tally.astype(np.float64)
