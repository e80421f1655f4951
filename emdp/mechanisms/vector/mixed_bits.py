"""Mixed bits of many facts: every user sends some of the own bits, each to a shuffler of its own.

Theorem (multimessage-shuffle.md 1; :mod:`emdp.privacy.shuffle.users` has the accountant). As
:mod:`emdp.mechanisms.vector.bits`, of which it is the mixed form: ``d`` bits in ``s`` blocks, of each block one bit
of a uniform place with a sign of ``epsilon'``. Bit ``b`` of all ``n`` users is mixed by shuffler ``b``, or carries
that number. A message is a place and a sign, the place drawn whatever the bits are: its mixing has the clone mass
``2/(e^epsilon' + 1)``, and given the user's bits the ``s`` messages are independent, so that all together are priced
as ``s`` rounds of place-sign messages. The mean squared error over all bits is exactly ``(sum_b a_b^2
coth(epsilon'/2)^2 - d)/(4 n)``.

Proof of the error: that of :mod:`emdp.mechanisms.vector.bits` with ``epsilon/s`` for ``epsilon'``.

Of one bit, in a block of ``a``, the report is ``a c/2`` times a sign or nothing, and 1/2 more: a variance of ``(a c^2 -
1)/4`` a user, whatever the bits are. Whoever collects a user's messages before they are mixed has ``s epsilon'``.
"""

from fractions import Fraction
from typing import ClassVar

from emdp.base.checks import check_range
from emdp.base.errors import UsageError
from emdp.mechanisms.strength import LARGEST_EPSILON, SMALLEST_EPSILON, epsilon_of_ratio
from emdp.mechanisms.vector.bits import VectorBits
from emdp.mechanisms.vector.cube import PlaneSigns, plane_gains
from emdp.mechanisms.vector.randomizer import SignStrength
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["MixedBits"]


class MixedBits(VectorBits):
    """Bits of sampled places, each mixed apart.

    Parameters
    ----------
    dimension : int
        ``d``, the number of bits of a user.
    each : float
        ``epsilon'`` of one message, from 1e-6 to 40.
    users : int
        The public number of users.
    blocks : int
        ``s``: how many bits a user sends.

    Guarantee
    ---------
    What :func:`emdp.privacy.shuffle.users.shuffle_total` says of ``blocks`` rounds of place-sign messages of ``each``.

    >>> bits = MixedBits(100, 3.4265, 10_000, blocks=10)
    >>> round(bits.squared_error(), 5)
    0.02597
    """

    name: ClassVar[str] = "mixed bits of sampled facts"
    theorem: ClassVar[str] = "s place-sign messages, each mixed apart, priced as s rounds (multimessage-shuffle.md 1)"

    def __init__(self, dimension: int, each: float, users: int, *, blocks: int) -> None:
        self.each = check_range("each", each, SMALLEST_EPSILON, LARGEST_EPSILON)
        if blocks > dimension:
            raise UsageError(f"blocks must be at most the {dimension} bits, got {blocks}; pass fewer.")
        super().__init__(dimension, self.each, users, blocks=blocks)

    @property
    def epsilon(self) -> float:
        """The epsilon of all messages of a user together, for whoever sees them before they are mixed; rounded up."""
        own = min(epsilon_of_ratio(self.signs[0].strength.ratio), self.each)
        return float_up(as_decimal(own) * self.blocks)

    def _signs_at(self, planes: int, blocks: int) -> tuple[PlaneSigns, ...]:
        del blocks
        strength = SignStrength.of(Fraction(as_decimal(self.each)))
        return tuple(PlaneSigns(gain, strength) for gain in plane_gains(planes))
