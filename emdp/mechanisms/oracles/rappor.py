"""Symmetric RAPPOR: every bit of a one-hot vector flipped alike, at half of epsilon.

Theorem (local-shuffle-userlevel.md 3.2; Erlingsson, Pihur and Korolova 2014; Duchi, Jordan and Wainwright 2013). A user
sends ``k`` bits, 1 for its item and 0 for others, each flipped with probability ``f = 1/(e^(epsilon/2) + 1)``. One-hot
vectors of two items differ in *two* bits, so that two items' probabilities of a message differ by a factor of up to
``((1 - f)/f)^2 = e^epsilon``: ``epsilon``-LDP, and the theorem of :mod:`emdp.mechanisms.oracles.oracle` holds. Flipping
with ``1/(e^epsilon + 1)``, as is often printed, is ``2 epsilon``-LDP.

A rare item's estimate has variance ``e^(epsilon/2)/(n (e^(epsilon/2) - 1)^2)``, never below the optimised encoding's.
"""

from typing import ClassVar

from emdp.mechanisms.oracles.unary import UnaryEncoding
from emdp.mechanisms.strength import inside_numerator
from emdp.mechanisms.weights import TOTAL
from emdp.privacy.rounding import as_decimal

__all__ = ["RapporOracle"]


class RapporOracle(UnaryEncoding):
    """Symmetric RAPPOR; see :class:`FrequencyOracle` for arguments and guarantee.

    >>> oracle = RapporOracle(100, 1000, 2.0)
    >>> oracle.epsilon, round(float(oracle.chances[1]), 6)
    (2.0, 0.268941)
    """

    name: ClassVar[str] = "symmetric RAPPOR"
    theorem: ClassVar[str] = (
        "one-hot bits flipped with 1/(e^(epsilon/2) + 1) are epsilon-LDP (local-shuffle-userlevel.md 3.2)"
    )

    def _prepare(self) -> None:
        self.one = inside_numerator(as_decimal(self.requested) / 2, 1, 1)
        self.zero = TOTAL - self.one
